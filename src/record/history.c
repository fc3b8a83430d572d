/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of counters that changed; see history.h. */
#include "record/record_internal.h"

#include <errno.h>
#include <stdlib.h>

#define INTERVAL_PS_DEFAULT UINT64_C(100000000) /* 100 us */
#define PS_PER_US	    1e6
#define OF_PRIOS	    (ROCE_FABRIC_PRIOS * (uint32_t)ROCE_FABRIC_PRIO_COUNTER_COUNT)
#define OF_PORT		    (OF_PRIOS + (uint32_t)ROCE_FABRIC_PORT_COUNTER_COUNT)

int roce_history_begin(struct roce_record *r)
{
	struct roce_history *h = &r->history;

	*h = (struct roce_history){.out = r->cfg.counters};
	if (!h->out)
		return 0;
	h->interval_ps = r->cfg.sample_ps ? r->cfg.sample_ps : INTERVAL_PS_DEFAULT;
	h->next_ps = roce_fabric_now_ps(r->fabric) + h->interval_ps;
	h->last = calloc((size_t)roce_record_port_total(r) * OF_PORT + 1, sizeof(*h->last));
	if (!h->last)
		return -ENOMEM;
	fputs("time_us,node,neighbour,port,counter,value\n", h->out);
	return 0;
}

void roce_history_fini(struct roce_history *h)
{
	free(h->last);
	*h = (struct roce_history){0};
}

uint64_t roce_history_next_ps(const struct roce_history *h)
{
	return h->out ? h->next_ps : ROCE_FABRIC_NEVER;
}

struct place {
	double us;
	const char *node;
	const char *neighbour;
	uint32_t port;
};

static void write_changed(FILE *out, const struct place *at, const char *counter, uint64_t value,
			  uint64_t *last)
{
	if (value == *last)
		return;
	*last = value;
	fprintf(out, "%.3f,", at->us);
	roce_record_put_cell(out, at->node);
	fputc(',', out);
	roce_record_put_cell(out, at->neighbour);
	fprintf(out, ",%u,%s,%llu\n", at->port, counter, (unsigned long long)value);
}

static void take_port(struct roce_record *r, uint32_t node, uint32_t port)
{
	struct roce_history *h = &r->history;
	uint64_t *last = h->last + (size_t)roce_record_port_index(r, node, port) * OF_PORT;
	struct roce_fabric_port_view view;
	char name[ROCE_FABRIC_COUNTER_NAME_MAX];
	struct place at = {(double)roce_fabric_now_ps(r->fabric) / PS_PER_US, r->names[node], NULL,
			   port};

	if (roce_fabric_port_view(r->fabric, node, port, &view) != 0)
		return;
	at.neighbour = r->names[view.peer_node];
	for (uint32_t i = 0; i < OF_PRIOS; i++) {
		uint32_t prio = i / (uint32_t)ROCE_FABRIC_PRIO_COUNTER_COUNT;
		uint32_t c = i % (uint32_t)ROCE_FABRIC_PRIO_COUNTER_COUNT;

		if (view.prio_counters[prio][c] == last[i])
			continue;
		roce_fabric_prio_counter_name((enum roce_fabric_prio_counter)c, prio, name);
		write_changed(h->out, &at, name, view.prio_counters[prio][c], &last[i]);
	}
	for (uint32_t c = 0; c < (uint32_t)ROCE_FABRIC_PORT_COUNTER_COUNT; c++)
		write_changed(h->out, &at,
			      roce_fabric_port_counter_str((enum roce_fabric_port_counter)c),
			      view.port_counters[c], &last[OF_PRIOS + c]);
}

void roce_history_take(struct roce_record *r)
{
	for (uint32_t node = 0; node < r->node_count; node++) {
		for (uint32_t port = 0; port < roce_fabric_port_count(r->fabric, node); port++)
			take_port(r, node, port);
	}
	r->history.next_ps += r->history.interval_ps;
}
