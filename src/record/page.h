/* SPDX-License-Identifier: BSD-2-Clause */
/* The sections of the page of a run; page.c puts them in order. */
#ifndef ROCE_RECORD_PAGE_H
#define ROCE_RECORD_PAGE_H

#include "record/record_internal.h"

/* Indices of at most `max` ports with the largest values above 0, largest first. */
uint32_t roce_page_top_ports(const struct roce_record *r,
			     double (*value)(const struct roce_record *r, uint32_t index),
			     uint32_t *out, uint32_t max);

void roce_page_flows(const struct roce_record *r, const struct roce_record_page *page, FILE *out);
void roce_page_links(const struct roce_record *r, FILE *out);
void roce_page_queues(const struct roce_record *r, FILE *out);
void roce_page_pauses(const struct roce_record *r, FILE *out);
void roce_page_losses(const struct roce_record *r, FILE *out);

#endif
