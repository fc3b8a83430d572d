/* SPDX-License-Identifier: BSD-2-Clause */
/* Sentences about a run; see story.h. */
#include "record/record_internal.h"

#include "report/axis.h"
#include "wire/opcode.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

/* Told of each port in full; more of the same is counted. */
#define DROPS_TOLD  5u
#define PAUSES_TOLD 20u
/* Of all flows. */
#define WRONGS_TOLD 50u

int roce_story_init(struct roce_story *s, FILE *out, uint32_t port_count)
{
	*s = (struct roce_story){.out = out};
	if (!out)
		return 0;
	s->tallies = calloc((size_t)port_count + 1, sizeof(*s->tallies));
	return s->tallies ? 0 : -ENOMEM;
}

void roce_story_fini(struct roce_story *s)
{
	free(s->tallies);
	*s = (struct roce_story){0};
}

/* ---- the shape of a line ---- */

static void __attribute__((format(printf, 3, 4)))
tell(const struct roce_record *r, uint64_t ps, const char *fmt, ...)
{
	va_list args;

	fprintf(r->story.out, "%14.3f us  ", (double)ps / 1e6);
	va_start(args, fmt);
	vfprintf(r->story.out, fmt, args);
	va_end(args);
	fputc('\n', r->story.out);
}

static struct roce_story_tally *tally_of(struct roce_record *r, uint32_t node, uint32_t port)
{
	return &r->story.tallies[roce_record_port_index(r, node, port)];
}

static uint32_t neighbour(const struct roce_record *r, uint32_t node, uint32_t port)
{
	struct roce_fabric_port_view view;

	if (roce_fabric_port_view(r->fabric, node, port, &view) != 0)
		return node;
	return view.peer_node;
}

static const char *duration(uint64_t ps, char out[ROCE_AXIS_LABEL_MAX])
{
	roce_quantity_format(ROCE_QUANTITY_SECONDS, (double)ps / ROCE_RECORD_PS_PER_S, out);
	return out;
}

static const char *frame_name(const struct roce_fabric_frame_view *frame)
{
	return roce_opcode_str(frame->hdr.opcode);
}

/* ---- frames ---- */

void roce_story_dropped(struct roce_record *r, uint64_t ps, uint32_t node, uint32_t port,
			const struct roce_fabric_frame_view *frame, enum roce_fabric_drop why)
{
	char label[ROCE_RECORD_LABEL_MAX];

	if (!r->story.out || ++tally_of(r, node, port)->drops[why] > DROPS_TOLD)
		return;
	roce_record_port_label(r, node, port, label);
	tell(r, ps, "%s drops %s of %s for %s (%u bytes, priority %u, PSN %u): %s", label,
	     frame_name(frame), r->names[frame->src], r->names[frame->dst], frame->wire_bytes,
	     frame->prio, frame->hdr.psn.v, roce_fabric_drop_str(why));
}

void roce_story_marked(struct roce_record *r, uint64_t ps, uint32_t node, uint32_t port,
		       const struct roce_fabric_frame_view *frame)
{
	char label[ROCE_RECORD_LABEL_MAX];

	if (!r->story.out || tally_of(r, node, port)->marks++)
		return;
	roce_record_port_label(r, node, port, label);
	tell(r, ps, "%s marks its first frame CE: %s of %s for %s", label, frame_name(frame),
	     r->names[frame->src], r->names[frame->dst]);
}

/* ---- PFC ---- */

void roce_story_pause_sent(struct roce_record *r, uint64_t ps, uint32_t node, uint32_t port,
			   uint8_t prios, const uint16_t quanta[ROCE_STORY_PRIOS])
{
	struct roce_story_tally *tally;
	uint32_t to;

	if (!r->story.out)
		return;
	tally = tally_of(r, node, port);
	to = neighbour(r, node, port);
	for (uint32_t p = 0; p < ROCE_STORY_PRIOS; p++) {
		bool was_xoff = tally->xoff >> p & 1;

		if (!(prios >> p & 1) || was_xoff == (quanta[p] != 0))
			continue;
		tally->xoff ^= (uint8_t)(1u << p);
		if (!was_xoff && ++tally->pauses_sent[p] <= PAUSES_TOLD)
			tell(r, ps, "%s stops %s on priority %u (XOFF, %u quanta)", r->names[node],
			     r->names[to], p, quanta[p]);
		else if (was_xoff && tally->pauses_sent[p] <= PAUSES_TOLD)
			tell(r, ps, "%s lets %s go on with priority %u (XON)", r->names[node],
			     r->names[to], p);
	}
}

void roce_story_paused(struct roce_record *r, uint64_t ps, uint32_t node, uint32_t port,
		       uint32_t prio, bool is_paused, uint64_t lasted_ps)
{
	struct roce_story_tally *tally;
	char label[ROCE_RECORD_LABEL_MAX], length[ROCE_AXIS_LABEL_MAX];

	if (!r->story.out)
		return;
	tally = tally_of(r, node, port);
	tally->paused[prio] += is_paused;
	if (tally->paused[prio] > PAUSES_TOLD)
		return;
	roce_record_port_label(r, node, port, label);
	if (is_paused)
		tell(r, ps, "%s is paused on priority %u", label, prio);
	else
		tell(r, ps, "%s goes on with priority %u after %s", label, prio,
		     duration(lasted_ps, length));
}

void roce_story_storm(struct roce_record *r, uint64_t ps, uint32_t node, uint32_t port,
		      uint32_t prio, bool is_stormed)
{
	char label[ROCE_RECORD_LABEL_MAX];

	if (!r->story.out)
		return;
	roce_record_port_label(r, node, port, label);
	tell(r, ps,
	     is_stormed ? "PFC storm: the watchdog takes queue %2$u of %1$s out of service"
			: "the storm is over: the watchdog restores queue %2$u of %1$s",
	     label, prio);
}

void roce_story_link(struct roce_record *r, uint64_t ps, uint32_t node, uint32_t port, bool is_up)
{
	uint32_t to;

	if (!r->story.out)
		return;
	to = neighbour(r, node, port);
	if (node < to) /* both ends tell of it */
		tell(r, ps, "the link %s - %s goes %s", r->names[node], r->names[to],
		     is_up ? "up" : "down");
}

void roce_story_host_stormed(struct roce_record *r, uint64_t ps, uint32_t node, bool is_begin)
{
	if (!r->story.out)
		return;
	tell(r, ps, "%s %s", r->names[node],
	     is_begin ? "begins to pause its switch, whatever it receives"
		      : "is mended: it pauses no more than it must");
}

void roce_story_host_drained(struct roce_record *r, uint64_t ps, uint32_t node, uint64_t drain_bps)
{
	char rate[ROCE_AXIS_LABEL_MAX];

	if (!r->story.out)
		return;
	roce_quantity_format(ROCE_QUANTITY_BITS_RATE, (double)drain_bps, rate);
	tell(r, ps, "%s takes packets from its receive buffer %s%s", r->names[node],
	     drain_bps ? "at " : "as fast as they come", drain_bps ? rate : "");
}

/* ---- flows ---- */

void roce_story_flow_started(struct roce_record *r, uint64_t ps, uint32_t flow)
{
	const struct roce_fabric_flow_config *cfg;
	char bytes[ROCE_AXIS_LABEL_MAX];

	if (!r->story.out)
		return;
	cfg = roce_fabric_flow_config(r->fabric, flow);
	roce_quantity_format(ROCE_QUANTITY_BYTES, (double)cfg->bytes, bytes);
	tell(r, ps, "flow %u starts: %s %s of %s, %s to %s, priority %u", flow,
	     roce_fabric_transport_str((enum roce_fabric_transport)cfg->transport),
	     roce_fabric_operation_str((enum roce_fabric_operation)cfg->operation), bytes,
	     r->names[cfg->src], r->names[cfg->dst], cfg->prio);
}

void roce_story_flow_done(struct roce_record *r, uint64_t ps, uint32_t flow)
{
	struct roce_fabric_flow_result result;
	const struct roce_fabric_flow_config *cfg;
	char length[ROCE_AXIS_LABEL_MAX], repeated[64] = "";

	if (!r->story.out)
		return;
	cfg = roce_fabric_flow_config(r->fabric, flow);
	roce_fabric_flow_result(r->fabric, flow, &result);
	if (result.packets_repeated)
		snprintf(repeated, sizeof(repeated), ", %llu packets were repeated",
			 (unsigned long long)result.packets_repeated);
	if (result.state == ROCE_FABRIC_FLOW_DONE)
		tell(r, ps, "flow %u is done: %s to %s took %s%s", flow, r->names[cfg->src],
		     r->names[cfg->dst], duration(ps - result.started_ps, length), repeated);
	else
		tell(r, ps, "flow %u ends %s: %s to %s, %llu of %llu bytes arrived, status %u%s",
		     flow, roce_fabric_flow_state_str((enum roce_fabric_flow_state)result.state),
		     r->names[cfg->src], r->names[cfg->dst],
		     (unsigned long long)result.bytes_delivered, (unsigned long long)cfg->bytes,
		     result.status, repeated);
}

void roce_story_payload_wrong(struct roce_record *r, uint64_t ps,
			      const struct roce_fabric_wrong *wrong)
{
	const struct roce_fabric_flow_config *cfg;
	char text[ROCE_FABRIC_WRONG_TEXT_MAX];

	if (!r->story.out || ++r->story.wrongs > WRONGS_TOLD)
		return;
	cfg = roce_fabric_flow_config(r->fabric, wrong->flow);
	tell(r, ps, "flow %u, %s to %s, is wrong at %s: %s", wrong->flow, r->names[cfg->src],
	     r->names[cfg->dst], r->names[wrong->node], roce_fabric_wrong_text(wrong, text));
}

/* ---- ends ---- */

void roce_story_deadlock(struct roce_record *r, uint64_t ps, const struct roce_fabric_cycle *cycle,
			 uint32_t count)
{
	if (!r->story.out)
		return;
	tell(r, ps, "deadlock: %u ports wait for each other", count);
	for (uint32_t i = 0; i < count; i++) {
		char label[ROCE_RECORD_LABEL_MAX];

		roce_record_port_label(r, cycle[i].node, cycle[i].port, label);
		tell(r, ps, "  %s is paused on priority %u and waits for %s", label, cycle[i].prio,
		     r->names[cycle[(i + 1) % count].node]);
	}
}

static void tell_counts(struct roce_record *r, uint64_t ps, uint32_t node, uint32_t port)
{
	const struct roce_story_tally *tally = tally_of(r, node, port);
	char label[ROCE_RECORD_LABEL_MAX];

	roce_record_port_label(r, node, port, label);
	for (uint32_t why = 0; why < ROCE_FABRIC_DROP_COUNT; why++) {
		if (tally->drops[why] > DROPS_TOLD)
			tell(r, ps, "%s dropped %u frames in all: %s", label, tally->drops[why],
			     roce_fabric_drop_str((enum roce_fabric_drop)why));
	}
	for (uint32_t p = 0; p < ROCE_STORY_PRIOS; p++) {
		if (tally->paused[p] > PAUSES_TOLD)
			tell(r, ps, "%s was paused on priority %u %u times in all", label, p,
			     tally->paused[p]);
		if (tally->pauses_sent[p] > PAUSES_TOLD)
			tell(r, ps, "%s sent XOFF for priority %u %u times in all", label, p,
			     tally->pauses_sent[p]);
	}
	if (tally->marks > 1)
		tell(r, ps, "%s marked %u frames CE in all", label, tally->marks);
}

static void tell_payload(struct roce_record *r, uint64_t ps)
{
	struct roce_fabric_totals totals;

	roce_fabric_totals(r->fabric, &totals);
	if (totals.messages_checked)
		tell(r, ps, "%llu messages were compared, %llu were wrong",
		     (unsigned long long)totals.messages_checked,
		     (unsigned long long)totals.messages_wrong);
}

void roce_story_end(struct roce_record *r, uint64_t ps, const char *reason)
{
	if (!r->story.out)
		return;
	tell(r, ps, "the run ends: %s", reason);
	tell_payload(r, ps);
	for (uint32_t node = 0; node < r->node_count; node++) {
		for (uint32_t port = 0; port < roce_fabric_port_count(r->fabric, node); port++)
			tell_counts(r, ps, node, port);
	}
}
