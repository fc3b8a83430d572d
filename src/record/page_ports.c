/* SPDX-License-Identifier: BSD-2-Clause */
/* The network side of a run: busy links, long queues, pauses, and where frames were lost. */
#include "record/page.h"

#include "report/chart.h"
#include "report/page.h"

#include <math.h>
#include <stdlib.h>

#define CURVES_SHOWN   6u
#define LANES_SHOWN    24u
#define LOSSES_SHOWN   40u
#define PICTURE_NODES  1500u

#define RATE_POINTS    200u
#define RATE_WINDOW_PS UINT64_C(2000000)

static double run_seconds(const struct roce_record *r)
{
	return (double)roce_fabric_now_ps(r->fabric) / ROCE_RECORD_PS_PER_S;
}

static void view_of(const struct roce_record *r, uint32_t index, struct roce_fabric_port_view *out)
{
	struct roce_record_port at = roce_record_port_at(r, index);

	(void)roce_fabric_port_view(r->fabric, at.node, at.port, out);
}

static void label_of(const struct roce_record *r, uint32_t index, char out[ROCE_RECORD_LABEL_MAX])
{
	struct roce_record_port at = roce_record_port_at(r, index);

	roce_record_port_label(r, at.node, at.port, out);
}

/* ---- the largest by some measure ---- */

uint32_t roce_page_top_ports(const struct roce_record *r,
			     double (*value)(const struct roce_record *r, uint32_t index),
			     uint32_t *out, uint32_t max)
{
	double values[LOSSES_SHOWN > LANES_SHOWN ? LOSSES_SHOWN : LANES_SHOWN];
	uint32_t count = 0;

	for (uint32_t i = 0; i < roce_record_port_total(r); i++) {
		double v = value(r, i);
		uint32_t at = count;

		if (v <= 0 || (count == max && v <= values[count - 1]))
			continue;
		if (count < max)
			count++;
		else
			at--;
		for (; at > 0 && values[at - 1] < v; at--) {
			values[at] = values[at - 1];
			out[at] = out[at - 1];
		}
		values[at] = v;
		out[at] = i;
	}
	return count;
}

static double busyness(const struct roce_record *r, uint32_t index)
{
	struct roce_fabric_port_view view;
	double seconds = run_seconds(r);

	view_of(r, index, &view);
	if (seconds <= 0 || !view.rate_bps)
		return 0;
	return (double)roce_record_tx_bytes(&view) * 8 / seconds / (double)view.rate_bps;
}

static double longest_queue(const struct roce_record *r, uint32_t index)
{
	struct roce_fabric_port_view view;
	double sum = 0;

	view_of(r, index, &view);
	for (uint32_t tc = 0; tc < ROCE_FABRIC_PRIOS; tc++)
		sum += view.queue_bytes_max[tc];
	return sum;
}

static double paused_seconds(const struct roce_record *r, uint32_t index)
{
	uint64_t now_ps = roce_fabric_now_ps(r->fabric);
	uint64_t longest = 0;

	for (uint32_t p = 0; p < ROCE_SPANS_PRIOS; p++) {
		uint64_t ps = roce_spans_total_ps(
			roce_spans_lane(&r->spans, ROCE_SPAN_PAUSED, index, p), now_ps);

		longest = ps > longest ? ps : longest;
	}
	return (double)longest / ROCE_RECORD_PS_PER_S;
}

/* ---- links ---- */

/* Hosts are 0; a switch is one above its nearest host. */
static void find_ranks(const struct roce_record *r, struct roce_chart_node *nodes)
{
	bool has_changed = true;

	for (uint32_t i = 0; i < r->node_count; i++) {
		nodes[i] = (struct roce_chart_node){r->names[i], UINT32_MAX, false};
		if (roce_fabric_is_host(r->fabric, i))
			nodes[i] = (struct roce_chart_node){r->names[i], 0, true};
	}
	for (uint32_t rank = 0; has_changed; rank++) {
		has_changed = false;
		for (uint32_t i = 0; i < r->node_count; i++) {
			for (uint32_t p = 0;
			     nodes[i].rank == rank && p < roce_fabric_port_count(r->fabric, i);
			     p++) {
				struct roce_fabric_port_view view;

				(void)roce_fabric_port_view(r->fabric, i, p, &view);
				if (nodes[view.peer_node].rank == UINT32_MAX) {
					nodes[view.peer_node].rank = rank + 1;
					has_changed = true;
				}
			}
		}
	}
	for (uint32_t i = 0; i < r->node_count; i++) {
		if (nodes[i].rank == UINT32_MAX)
			nodes[i].rank = 0; /* no host hangs anywhere near */
	}
}

/* All switches have hosts and there are many: a ring, a mesh, a dragonfly. */
static bool is_flat(const struct roce_chart_node *nodes, uint32_t count)
{
	uint32_t switches = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (nodes[i].rank > 1)
			return false;
		switches += !nodes[i].is_host;
	}
	return switches > 2;
}

/* Links of a deadlock stand out, idle as they are. */
static bool is_in_cycle(const struct roce_record *r, uint32_t node, uint32_t port)
{
	for (uint32_t i = 0; i < r->cycle_count; i++) {
		if (r->cycle[i].node == node && r->cycle[i].port == port)
			return true;
	}
	return false;
}

static void draw_network(const struct roce_record *r, struct roce_chart_node *nodes,
			 struct roce_chart_link *links, char (*notes)[64], FILE *out)
{
	struct roce_chart_network net = {.title = "Busy links (mean of the run, busier direction)",
					 .nodes = nodes,
					 .node_count = r->node_count,
					 .links = links};

	find_ranks(r, nodes);
	for (uint32_t i = 0; i < roce_record_port_total(r); i++) {
		struct roce_record_port at = roce_record_port_at(r, i);
		struct roce_chart_link *link = &links[net.link_count];
		struct roce_fabric_port_view view;
		uint32_t peer;
		double there, back;

		view_of(r, i, &view);
		peer = roce_record_port_index(r, view.peer_node, view.peer_port);
		if (peer < i)
			continue; /* the other end has drawn it */
		there = busyness(r, i);
		back = busyness(r, peer);
		snprintf(notes[net.link_count], sizeof(notes[0]), "%.0f%% and %.0f%% busy%s",
			 there * 100, back * 100, view.is_up ? "" : ", down");
		*link = (struct roce_chart_link){
			at.node, view.peer_node,
			is_in_cycle(r, at.node, at.port) ||
					is_in_cycle(r, view.peer_node, view.peer_port)
				? 1
				: fmax(there, back),
			paused_seconds(r, i) > 0 || paused_seconds(r, peer) > 0,
			notes[net.link_count]};
		net.link_count++;
	}
	if (r->cycle_count)
		net.title = "Links that wait for each other, in dark red";
	net.is_ring = is_flat(nodes, r->node_count);
	roce_chart_network(out, &net);
}

void roce_page_links(const struct roce_record *r, FILE *out)
{
	uint32_t ports = roce_record_port_total(r);
	struct roce_chart_node *nodes;
	struct roce_chart_link *links;
	char(*notes)[64];

	roce_page_section(out, "network", "Network", NULL);
	if (r->node_count > PICTURE_NODES) {
		roce_page_message(out, ROCE_TONE_PLAIN,
				  "The network is too large for a picture; the busiest ports are "
				  "listed below.");
		return;
	}
	nodes = calloc((size_t)r->node_count + 1, sizeof(*nodes));
	links = calloc((size_t)ports + 1, sizeof(*links));
	notes = calloc((size_t)ports + 1, sizeof(*notes));
	if (nodes && links && notes)
		draw_network(r, nodes, links, notes, out);
	else
		roce_page_message(out, ROCE_TONE_BAD, "out of memory for the network's picture");
	free(nodes);
	free(links);
	free(notes);
}

/* ---- queues and rates ---- */

static double sample_time(const struct roce_series *s, uint32_t sample)
{
	return (double)(s->from_ps + sample * s->interval_ps) / ROCE_RECORD_PS_PER_S;
}

static uint32_t queue_points(const struct roce_series *s, uint32_t port,
			     struct roce_chart_point *out)
{
	const struct roce_series_sample *samples = roce_series_of(s, port);

	for (uint32_t i = 0; i < s->count; i++)
		out[i] = (struct roce_chart_point){sample_time(s, i + 1), samples[i].queue_bytes};
	return s->count;
}

/* A rate over less than a few packets is either that of the line or nothing; and since a packet
 * counts as sent when it begins, a short time may seem to have more than the line takes. */
static uint32_t rate_points(const struct roce_series *s, uint32_t port, double line_bps,
			    struct roce_chart_point *out)
{
	const struct roce_series_sample *samples = roce_series_of(s, port);
	uint32_t by_window = (uint32_t)(RATE_WINDOW_PS / s->interval_ps) + 1;
	uint32_t by_count = s->count / RATE_POINTS + 1;
	uint32_t group = by_window > by_count ? by_window : by_count;
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->count; i += group) {
		uint32_t end = i + group < s->count ? i + group : s->count;
		double sum = 0;

		for (uint32_t k = i; k < end; k++)
			sum += (double)samples[k].rate_bps;
		out[n++] = (struct roce_chart_point){sample_time(s, end),
						     fmin(sum / (end - i), line_bps)};
	}
	return n;
}

static void curves_of(const struct roce_record *r, const uint32_t *ports, uint32_t count,
		      const char *title, bool is_rate, FILE *out)
{
	const struct roce_series *s = &r->series;
	struct roce_chart_point *points = calloc((size_t)count * s->count + 1, sizeof(*points));
	struct roce_chart_series series[CURVES_SHOWN];
	char labels[CURVES_SHOWN][ROCE_RECORD_LABEL_MAX];
	struct roce_chart chart = {
		.title = title,
		.x_name = "Time",
		.y_name = is_rate ? "Sent" : "Queue",
		.x_quantity = ROCE_QUANTITY_SECONDS,
		.y_quantity = is_rate ? ROCE_QUANTITY_BITS_RATE : ROCE_QUANTITY_BYTES,
		.series = series,
		.series_count = count,
	};

	if (!points) {
		roce_page_message(out, ROCE_TONE_BAD, "out of memory for a picture");
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct roce_chart_point *mine = points + (size_t)i * s->count;
		struct roce_fabric_port_view view;
		uint32_t n;

		view_of(r, ports[i], &view);
		n = is_rate ? rate_points(s, ports[i], (double)view.rate_bps, mine)
			    : queue_points(s, ports[i], mine);
		label_of(r, ports[i], labels[i]);
		series[i] = (struct roce_chart_series){labels[i], mine, n, false};
	}
	roce_chart_curves(out, &chart);
	free(points);
}

static void busiest_table(const struct roce_record *r, FILE *out)
{
	static const char *const columns[] = {"Port",	 "#Line",      "#Busy",	  "#Longest queue",
					      "#Paused", "#Marked CE", "#Dropped"};
	uint32_t ports[LANES_SHOWN];
	uint32_t count = roce_page_top_ports(r, busyness, ports, LANES_SHOWN);

	roce_page_table_begin(out, columns, 7);
	for (uint32_t i = 0; i < count; i++) {
		struct roce_fabric_port_view view;
		char label[ROCE_RECORD_LABEL_MAX], line[ROCE_AXIS_LABEL_MAX];
		char busy[16], queue[ROCE_AXIS_LABEL_MAX], paused[ROCE_AXIS_LABEL_MAX];
		char marked[24], dropped[24];
		const char *cells[] = {label, line, busy, queue, paused, marked, dropped};
		uint64_t marks = 0, drops = 0;

		view_of(r, ports[i], &view);
		for (uint32_t p = 0; p < ROCE_FABRIC_PRIOS; p++) {
			marks += view.prio_counters[p][ROCE_FABRIC_TX_ECN_MARKED];
			drops += view.prio_counters[p][ROCE_FABRIC_TX_DISCARDS] +
				 view.prio_counters[p][ROCE_FABRIC_RX_DISCARDS];
		}
		label_of(r, ports[i], label);
		roce_quantity_format(ROCE_QUANTITY_BITS_RATE, (double)view.rate_bps, line);
		snprintf(busy, sizeof(busy), "%.1f%%", busyness(r, ports[i]) * 100);
		roce_quantity_format(ROCE_QUANTITY_BYTES, longest_queue(r, ports[i]), queue);
		roce_quantity_format(ROCE_QUANTITY_SECONDS, paused_seconds(r, ports[i]), paused);
		snprintf(marked, sizeof(marked), "%llu", (unsigned long long)marks);
		snprintf(dropped, sizeof(dropped), "%llu", (unsigned long long)drops);
		roce_page_table_row(out, drops ? ROCE_TONE_BAD : ROCE_TONE_PLAIN, cells, 7);
	}
	roce_page_table_end(out);
}

void roce_page_queues(const struct roce_record *r, FILE *out)
{
	uint32_t ports[CURVES_SHOWN];
	uint32_t count;

	roce_page_section(out, "queues", "Queues and rates",
			  "The ports with the longest queues and those that sent most.");
	if (r->cfg.has_series && r->series.count) {
		roce_page_charts_begin(out);
		count = roce_page_top_ports(r, longest_queue, ports, CURVES_SHOWN);
		curves_of(r, ports, count, "Egress queues", false, out);
		count = roce_page_top_ports(r, busyness, ports, CURVES_SHOWN);
		curves_of(r, ports, count, "Rates on the line", true, out);
		roce_page_charts_end(out);
	}
	busiest_table(r, out);
}

/* ---- pauses ---- */

struct lane {
	uint32_t port;
	uint32_t prio;
};

/* Each priority of the ports that were paused longest. */
static uint32_t choose_lanes(const struct roce_record *r, struct lane *lanes, uint32_t max)
{
	uint32_t ports[LANES_SHOWN];
	uint32_t count = roce_page_top_ports(r, paused_seconds, ports, LANES_SHOWN);
	uint32_t n = 0;

	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t p = 0; p < ROCE_SPANS_PRIOS && n < max; p++) {
			if (roce_spans_lane(&r->spans, ROCE_SPAN_PAUSED, ports[i], p)->count)
				lanes[n++] = (struct lane){ports[i], p};
		}
	}
	return n;
}

static void draw_pauses(const struct roce_record *r, const struct lane *lanes, uint32_t count,
			struct roce_chart_span *spans, FILE *out)
{
	static const char *const kinds[] = {"paused", "out of service by the watchdog"};
	char labels[LANES_SHOWN][ROCE_RECORD_LABEL_MAX + 16];
	const char *names[LANES_SHOWN];
	uint64_t now_ps = roce_fabric_now_ps(r->fabric);
	struct roce_chart_timeline timeline = {
		.title = "Pauses of the ports that stood still longest",
		.lanes = names,
		.lane_count = count,
		.kinds = kinds,
		.kind_count = 2,
		.spans = spans,
		.from = 0,
		.to = run_seconds(r),
	};

	for (uint32_t i = 0; i < count; i++) {
		char label[ROCE_RECORD_LABEL_MAX];

		label_of(r, lanes[i].port, label);
		snprintf(labels[i], sizeof(labels[i]), "%s, prio %u", label, lanes[i].prio);
		names[i] = labels[i];
	}
	for (uint32_t i = 0; i < r->spans.count; i++) {
		const struct roce_span *span = &r->spans.spans[i];
		uint64_t to_ps = span->to_ps == ROCE_SPANS_OPEN ? now_ps : span->to_ps;

		for (uint32_t k = 0; k < count; k++) {
			if (lanes[k].port == span->port && lanes[k].prio == span->prio)
				spans[timeline.span_count++] = (struct roce_chart_span){
					k, span->kind, (double)span->from_ps / ROCE_RECORD_PS_PER_S,
					(double)to_ps / ROCE_RECORD_PS_PER_S};
		}
	}
	roce_chart_timeline(out, &timeline);
}

void roce_page_pauses(const struct roce_record *r, FILE *out)
{
	struct lane lanes[LANES_SHOWN];
	uint32_t count = choose_lanes(r, lanes, LANES_SHOWN);
	struct roce_chart_span *spans;

	roce_page_section(out, "pauses", "Pauses (PFC)", NULL);
	if (!count) {
		roce_page_message(out, ROCE_TONE_GOOD, "No port was paused.");
		return;
	}
	spans = calloc((size_t)r->spans.count + 1, sizeof(*spans));
	if (spans)
		draw_pauses(r, lanes, count, spans, out);
	else
		roce_page_message(out, ROCE_TONE_BAD, "out of memory for the pauses");
	free(spans);
	if (r->spans.left_out) {
		char text[96];

		snprintf(text, sizeof(text), "%llu later pauses are not drawn.",
			 (unsigned long long)r->spans.left_out);
		roce_page_message(out, ROCE_TONE_WARN, text);
	}
}

/* ---- losses ---- */

static const enum roce_fabric_prio_counter loss_counters[] = {
	ROCE_FABRIC_RX_DISCARDS, ROCE_FABRIC_TX_DISCARDS, ROCE_FABRIC_TX_WRED_DISCARDS,
	ROCE_FABRIC_TX_STORM_DISCARDS};

#define LOSS_COUNTERS (sizeof(loss_counters) / sizeof(loss_counters[0]))

static bool is_loss(uint32_t port_counter)
{
	return port_counter != ROCE_FABRIC_PORT_LINK_DOWN_EVENTS;
}

static double losses(const struct roce_record *r, uint32_t index)
{
	struct roce_fabric_port_view view;
	uint64_t sum = 0;

	view_of(r, index, &view);
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
	roce_page_table_row(out, ROCE_TONE_PLAIN, cells, 3);
}

void roce_page_losses(const struct roce_record *r, FILE *out)
{
	static const char *const columns[] = {"Port", "Counter", "#Frames"};
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

		view_of(r, ports[i], &view);
		label_of(r, ports[i], label);
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
