/* SPDX-License-Identifier: BSD-2-Clause */
/* The sections of the page of a run; page.c puts them in order. */
#ifndef ROCE_RECORD_PAGE_H
#define ROCE_RECORD_PAGE_H

#include "record/record_internal.h"

#define ROCE_PAGE_PORTS_MAX 40u

/* Indices of at most `max` (ROCE_PAGE_PORTS_MAX) ports with the largest values above 0, largest
 * first. */
uint32_t roce_page_top_ports(const struct roce_record *r,
			     double (*value)(const struct roce_record *r, uint32_t index),
			     uint32_t *out, uint32_t max);

double roce_page_run_seconds(const struct roce_record *r);
void roce_page_view(const struct roce_record *r, uint32_t index, struct roce_fabric_port_view *out);
void roce_page_label(const struct roce_record *r, uint32_t index, char out[ROCE_RECORD_LABEL_MAX]);

/* Share of the line that was used, 0 to 1; bytes in all classes' queues at most; of the priority
 * that stood still longest. */
double roce_page_busyness(const struct roce_record *r, uint32_t index);
double roce_page_longest_queue(const struct roce_record *r, uint32_t index);
double roce_page_paused_seconds(const struct roce_record *r, uint32_t index);

void roce_page_flows(const struct roce_record *r, const struct roce_record_page *page, FILE *out);
void roce_page_latency(const struct roce_record *r, const struct roce_record_page *page, FILE *out);
void roce_page_rates(const struct roce_record *r, FILE *out);
void roce_page_links(const struct roce_record *r, FILE *out);
void roce_page_queues(const struct roce_record *r, FILE *out);
void roce_page_pauses(const struct roce_record *r, FILE *out);
void roce_page_payload(const struct roce_record *r, const struct roce_record_page *page, FILE *out);
void roce_page_losses(const struct roce_record *r, FILE *out);

#endif
