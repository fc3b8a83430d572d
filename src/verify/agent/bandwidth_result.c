/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the traffic of kind `bandwidth` left in memory, compared, and the figures: what each side
 * counted goes to the other, as in one direction the sender knows what completed, and of what may
 * be lost the receiver what came.
 */
#include "verify/agent/bandwidth.h"

#include <string.h>

#define GIGA		 1e9
#define RETH_BYTES	 16
#define IMM_BYTES	 4
#define AETH_BYTES	 4
#define DETH_BYTES	 8
#define XRCETH_BYTES	 4
#define LINE_PERCENT_MAX 105 /* the shaper's burst comes on top */
#define PAUSED		 0.97

/* ---- what it left ---- */

static void check_fetched(struct va_run *run, const struct va_bandwidth *b, uint32_t lane)
{
	uint64_t posted = b->lanes[lane].posted;
	uint64_t first = posted > b->slots ? posted - b->slots : 0;
	uint64_t found;

	for (uint64_t m = first; m < posted; m++) {
		if (!b->is_atomic) {
			va_pattern_must(run, va_bandwidth_slot(b, lane, m), b->size,
					va_seed(run, false), (uint64_t)lane * b->size,
					"what READ brought");
			continue;
		}
		memcpy(&found, va_bandwidth_slot(b, lane, m), sizeof(found));
		if (found != m)
			va_fail(run, "atomic %llu of queue pair %u returned %llu",
				(unsigned long long)m, lane, (unsigned long long)found);
	}
}

static void check_cells(struct va_run *run, const struct va_bandwidth *b)
{
	const json_t *lanes = json_object_get(b->theirs, "lanes");
	uint64_t found;

	for (uint32_t i = 0; i < b->lane_count; i++) {
		uint64_t posted = (uint64_t)json_integer_value(json_array_get(lanes, i));

		memcpy(&found, b->out.at + (size_t)i * b->size, sizeof(found));
		if (found != posted)
			va_fail(run, "%llu atomics of queue pair %u left %llu",
				(unsigned long long)posted, i, (unsigned long long)found);
	}
}

/* What came by SEND lies in the places of its receives, what came by WRITE where it was sent. */
static void check_arrived(struct va_run *run, const struct va_bandwidth *b, uint32_t lane)
{
	const json_t *posted = json_array_get(json_object_get(b->theirs, "lanes"), lane);
	uint64_t count = b->opcode == IBV_WR_SEND ? b->lanes[lane].received
						  : (uint64_t)json_integer_value(posted);

	for (uint64_t m = 0; m < count && m < b->slots; m++)
		va_pattern_must(run, va_bandwidth_slot(b, lane, m) + (b->is_ud ? VA_GRH_BYTES : 0),
				b->size, va_seed(run, false), (uint64_t)lane * b->size,
				b->opcode == IBV_WR_SEND ? "what SEND brought" : "what WRITE left");
}

void va_bandwidth_check(struct va_run *run, const struct va_bandwidth *b)
{
	/* a WRITE of UC may have been lost, or a part of it, and nothing tells which */
	bool is_whole = b->is_reliable || b->opcode == IBV_WR_SEND;

	if (b->is_receiver && b->is_atomic)
		check_cells(run, b);
	for (uint32_t i = 0; i < b->lane_count; i++) {
		if (b->is_sender && b->is_fetching)
			check_fetched(run, b, i);
		if (b->is_receiver && !b->is_fetching && is_whole)
			check_arrived(run, b, i);
	}
}

/* ---- the result ---- */

struct flow {
	double messages;
	double seconds;
	const json_t *parts; /* messages per second, one after another */
};

static struct flow flow_of(const json_t *object, const char *count, const char *ns,
			   const char *parts)
{
	double spent = roce_json_number(object, ns);

	return (struct flow){roce_json_number(object, count), (spent > 0 ? spent : 1) / 1e9,
			     json_object_get(object, parts)};
}

/* One direction: of RC what completed, of the others what arrived. */
static struct flow direction(const struct va_bandwidth *b, const json_t *sender,
			     const json_t *receiver)
{
	if (b->is_reliable || !b->has_receives)
		return flow_of(sender, "completed", "sent_ns", "sent_parts");
	return flow_of(receiver, "received", "received_ns", "received_parts");
}

/* What one message takes on the Ethernet, as a shaper counts it: packets with all headers. */
static double bytes_on_line(const struct va_bandwidth *b)
{
	uint32_t mtu = b->lanes[0].endpoint.mtu_bytes;
	uint32_t packets = (b->size + mtu - 1) / mtu;
	bool is_ipv4 = b->device.address.ss_family == AF_INET;
	uint32_t headers = 14 + (is_ipv4 ? 20u : 40u) + 8 + 12 + 4; /* Ethernet IP UDP BTH ICRC */
	double once = 0;

	if (b->opcode == IBV_WR_RDMA_WRITE || b->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		once = RETH_BYTES;
	if (b->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		once += IMM_BYTES;
	if (b->opcode == IBV_WR_RDMA_READ) /* of the answer: its first packet and its last */
		once = packets > 1 ? 2 * AETH_BYTES : AETH_BYTES;
	if (b->lanes[0].endpoint.target_qp && !b->is_fetching)
		headers += XRCETH_BYTES;
	if (b->is_ud)
		headers += DETH_BYTES;
	return b->size + (double)packets * headers + once;
}

static json_t *rates_of(const struct va_parts *parts)
{
	double rates[VA_PARTS];
	uint32_t count = va_parts_rates(parts, rates);
	json_t *out = json_array();

	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(out, json_real(rates[i]));
	return out;
}

/* In percent of the line; a curve of its parts, over when they began, comes behind the others. */
static double median_percent(const struct flow *flow, double line, double seconds, const char *name,
			     json_t *curves)
{
	double percents[VA_PARTS];
	uint32_t count = (uint32_t)json_array_size(flow->parts);
	json_t *points = json_array();
	double median;

	for (uint32_t i = 0; i < count && i < VA_PARTS; i++) {
		percents[i] = 100 * json_number_value(json_array_get(flow->parts, i)) / line;
		json_array_append_new(points,
				      json_pack("[f, f]", seconds * i / VA_PARTS, percents[i]));
	}
	json_array_append_new(curves,
			      json_pack("{s:s, s:s, s:s, s:s, s:o}", "name", name, "x", "time",
					"x_unit", "s", "unit", "%", "points", points));
	median = va_parts_median(percents, count < VA_PARTS ? count : VA_PARTS);
	return median > 0 ? median : 100 * flow->messages / flow->seconds / line;
}

/*
 * Of the slower direction. More than the line can carry over the whole while proves that there was
 * none; much less than in most of its parts is worth a picture.
 */
static void report_line(struct va_run *run, const struct va_bandwidth *b, const struct flow *flows,
			uint32_t count)
{
	static const char *const names[] = {"to the target", "to the initiator"};
	double bits = (double)va_number(run, "shape");
	double line = bits / 8 / bytes_on_line(b); /* messages per second */
	double seconds = (double)va_number(run, "duration") / ROCE_NS_PER_S;
	json_t *curves = json_array();
	double least = 0, least_median = 0;

	for (uint32_t i = 0; i < count; i++) {
		double whole = 100 * flows[i].messages / flows[i].seconds / line;
		double median =
			median_percent(&flows[i], line, seconds, names[i ^ b->is_fetching], curves);

		if (whole > LINE_PERCENT_MAX)
			va_fail(run,
				"the line of %.3g Gb/s carried %.0f %% of that: it is not shaped",
				bits / GIGA, whole);
		least = i && least < whole ? least : whole;
		least_median = i && least_median < median ? least_median : median;
	}
	va_value(run, "line", least);
	va_value(run, "line_median", least_median);
	if (run->is_initiator && least < least_median * PAUSED)
		va_picture(run, "curves", curves);
	else
		json_decref(curves);
}

void va_bandwidth_report(struct va_run *run, struct va_bandwidth *b)
{
	json_t *own = json_pack(
		"{s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "cpu_ns",
		(json_int_t)(b->cpu_after_ns - b->cpu_before_ns), "span_ns",
		(json_int_t)(b->ended - b->begun), "completed", (json_int_t)b->completed, "sent_ns",
		(json_int_t)(b->sent_at - b->begun), "received", (json_int_t)b->received,
		"received_ns", (json_int_t)(b->received_at - b->begun), "sent_parts",
		rates_of(&b->sent_in_parts), "received_parts", rates_of(&b->received_in_parts));
	json_t *theirs = va_exchange(run, json_deep_copy(own));
	struct flow flows[2] = {direction(b, own, theirs), direction(b, theirs, own)};
	double sent = roce_json_number(own, "completed") + roce_json_number(theirs, "completed");
	double arrived = roce_json_number(own, "received") + roce_json_number(theirs, "received");
	double messages = 0;
	uint32_t directions = va_flag(run, "both") ? 2 : 1;
	double span;

	for (uint32_t i = 0; i < directions; i++)
		messages += flows[i].messages / flows[i].seconds;
	va_value(run, "rate", messages * b->size * 8 / GIGA);
	va_value(run, "messages", messages);
	span = roce_json_number(theirs, "span_ns");
	va_value(run, "target_cpu",
		 100 * roce_json_number(theirs, "cpu_ns") / (span > 0 ? span : 1));
	/* of WRITEs of UC nobody knows what came through */
	if (va_number(run, "shape") && (b->is_reliable || b->has_receives))
		report_line(run, b, flows, directions);
	if (b->has_receives && !b->is_reliable)
		va_value(run, "lost", sent > 0 ? 100 * (1 - arrived / sent) : 0);
	va_detail(run, "counts", own);
	va_detail(run, "inline", json_boolean(b->flags != 0));
	va_detail(run, "mtu", json_integer(b->lanes[0].endpoint.mtu_bytes));
	va_device_report(run, &b->device);
	json_decref(theirs);
}
