/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of samples; see samples.h. */
#include "record/record_internal.h"

#include <errno.h>
#include <stdlib.h>

#define INTERVAL_PS_DEFAULT UINT64_C(10000000) /* 10 us */
#define PS_PER_US	    1e6

int roce_samples_begin(struct roce_record *r)
{
	struct roce_samples *s = &r->samples;

	*s = (struct roce_samples){.out = r->cfg.samples};
	if (!s->out)
		return 0;
	s->interval_ps = r->cfg.sample_ps ? r->cfg.sample_ps : INTERVAL_PS_DEFAULT;
	s->next_ps = roce_fabric_now_ps(r->fabric) + s->interval_ps;
	s->last_tx_bytes = calloc((size_t)roce_record_port_total(r) + 1, sizeof(*s->last_tx_bytes));
	if (!s->last_tx_bytes)
		return -ENOMEM;
	fputs("time_us,node,neighbour,port,queue_bytes,tx_bps,paused_prios\n", s->out);
	return 0;
}

void roce_samples_fini(struct roce_samples *s)
{
	free(s->last_tx_bytes);
	*s = (struct roce_samples){0};
}

static void write_row(struct roce_record *r, uint32_t node, uint32_t port)
{
	struct roce_samples *s = &r->samples;
	uint64_t *last = &s->last_tx_bytes[roce_record_port_index(r, node, port)];
	struct roce_fabric_port_view view;
	uint64_t sent, queue;

	if (roce_fabric_port_view(r->fabric, node, port, &view) != 0)
		return;
	queue = roce_record_queue_bytes(&view);
	sent = roce_record_tx_bytes(&view) - *last;
	*last += sent;
	if (!sent && !queue && !view.paused)
		return;
	fprintf(s->out, "%.3f,", (double)s->next_ps / PS_PER_US);
	roce_record_put_cell(s->out, r->names[node]);
	fputc(',', s->out);
	roce_record_put_cell(s->out, r->names[view.peer_node]);
	fprintf(s->out, ",%u,%llu,%.0f,%u\n", port, (unsigned long long)queue,
		(double)sent * 8 * ROCE_RECORD_PS_PER_S / (double)s->interval_ps, view.paused);
}

void roce_samples_take(struct roce_record *r)
{
	for (uint32_t node = 0; node < r->node_count; node++) {
		for (uint32_t port = 0; port < roce_fabric_port_count(r->fabric, node); port++)
			write_row(r, node, port);
	}
	r->samples.next_ps += r->samples.interval_ps;
}
