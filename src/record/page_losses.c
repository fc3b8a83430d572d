/* SPDX-License-Identifier: BSD-2-Clause */
/* Where frames were lost, by the counters of the ports. */
#include "record/page.h"

#include "report/page.h"

#define LOSSES_SHOWN ROCE_PAGE_PORTS_MAX

static const enum roce_fabric_prio_counter loss_counters[] = {
	ROCE_FABRIC_RX_DISCARDS, ROCE_FABRIC_TX_DISCARDS, ROCE_FABRIC_TX_WRED_DISCARDS,
	ROCE_FABRIC_TX_STORM_DISCARDS};

#define LOSS_COUNTERS (sizeof(loss_counters) / sizeof(loss_counters[0]))

static const char *const columns[] = {"Port", "Counter", "#Frames"};

static bool is_loss(uint32_t port_counter)
{
	return port_counter != ROCE_FABRIC_PORT_LINK_DOWN_EVENTS;
}

static double losses(const struct roce_record *r, uint32_t index)
{
	struct roce_fabric_port_view view;
	uint64_t sum = 0;

	roce_page_view(r, index, &view);
	for (uint32_t p = 0; p < ROCE_FABRIC_PRIOS; p++) {
		for (size_t i = 0; i < LOSS_COUNTERS; i++)
			sum += view.prio_counters[p][loss_counters[i]];
	}
	for (uint32_t i = 0; i < ROCE_FABRIC_PORT_COUNTER_COUNT; i++)
		sum += is_loss(i) ? view.port_counters[i] : 0;
	return (double)sum;
}

static void loss_row(FILE *out, const char *port, const char *counter, uint64_t value)
{
	char number[24];
	const char *cells[] = {port, counter, number};

	if (!value)
		return;
	snprintf(number, sizeof(number), "%llu", (unsigned long long)value);
	roce_page_table_row(out, ROCE_TONE_PLAIN, columns, cells, 3);
}

void roce_page_losses(const struct roce_record *r, FILE *out)
{
	uint32_t ports[LOSSES_SHOWN];
	uint32_t count = roce_page_top_ports(r, losses, ports, LOSSES_SHOWN);

	roce_page_section(out, "losses", "Losses", NULL);
	if (!count) {
		roce_page_message(out, ROCE_TONE_GOOD, "No frame was lost.");
		return;
	}
	roce_page_table_begin(out, columns, 3);
	for (uint32_t i = 0; i < count; i++) {
		struct roce_fabric_port_view view;
		char label[ROCE_RECORD_LABEL_MAX];

		roce_page_view(r, ports[i], &view);
		roce_page_label(r, ports[i], label);
		for (uint32_t p = 0; p < ROCE_FABRIC_PRIOS; p++) {
			for (size_t k = 0; k < LOSS_COUNTERS; k++) {
				char name[ROCE_FABRIC_COUNTER_NAME_MAX];

				roce_fabric_prio_counter_name(loss_counters[k], p, name);
				loss_row(out, label, name, view.prio_counters[p][loss_counters[k]]);
			}
		}
		for (uint32_t k = 0; k < ROCE_FABRIC_PORT_COUNTER_COUNT; k++) {
			const char *name =
				roce_fabric_port_counter_str((enum roce_fabric_port_counter)k);

			if (is_loss(k))
				loss_row(out, label, name, view.port_counters[k]);
		}
	}
	roce_page_table_end(out);
}
