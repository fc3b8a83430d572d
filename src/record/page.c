/* SPDX-License-Identifier: BSD-2-Clause */
/* The page of a run: what matters first, then how it came to be. */
#include "record/page.h"

#include "report/axis.h"
#include "report/page.h"

static void tile_count(FILE *out, enum roce_tone tone, uint64_t value, const char *label,
		       const char *note)
{
	char text[ROCE_AXIS_LABEL_MAX];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	roce_page_tile(out, tone, text, label, note);
}

static void tiles(const struct roce_record *r, FILE *out)
{
	struct roce_fabric_totals totals;
	uint64_t drops = 0, now_ps = roce_fabric_now_ps(r->fabric);
	uint32_t flows = roce_fabric_flow_count(r->fabric);
	char value[ROCE_AXIS_LABEL_MAX], note[64];

	roce_fabric_totals(r->fabric, &totals);
	for (uint32_t i = 0; i < ROCE_FABRIC_DROP_COUNT; i++)
		drops += totals.drops[i];
	roce_page_tiles_begin(out);
	snprintf(value, sizeof(value), "%u of %u", totals.flows_done, flows);
	snprintf(note, sizeof(note), "%u failed", totals.flows_failed);
	roce_page_tile(out,
		       totals.flows_failed || r->cycle_count ? ROCE_TONE_BAD
		       : totals.flows_done == flows	     ? ROCE_TONE_GOOD
							     : ROCE_TONE_WARN,
		       value, "Flows done", totals.flows_failed ? note : NULL);
	roce_quantity_format(ROCE_QUANTITY_SECONDS, (double)now_ps / ROCE_RECORD_PS_PER_S, value);
	roce_page_tile(out, ROCE_TONE_PLAIN, value, "Simulated", roce_fabric_end_str(r->end));
	roce_quantity_format(ROCE_QUANTITY_BITS_RATE,
			     now_ps ? (double)totals.bytes_delivered * 8 * ROCE_RECORD_PS_PER_S /
					      (double)now_ps
				    : 0,
			     value);
	roce_page_tile(out, ROCE_TONE_PLAIN, value, "Goodput", "all flows, mean of the run");
	tile_count(out, drops ? ROCE_TONE_BAD : ROCE_TONE_GOOD, drops, "Frames lost", NULL);
	if (totals.messages_checked) {
		snprintf(note, sizeof(note), "of %llu compared",
			 (unsigned long long)totals.messages_checked);
		tile_count(out, totals.messages_wrong ? ROCE_TONE_BAD : ROCE_TONE_GOOD,
			   totals.messages_wrong, "Messages wrong", note);
	}
	tile_count(out, totals.pause_frames ? ROCE_TONE_WARN : ROCE_TONE_GOOD, totals.pause_frames,
		   "Pause frames", NULL);
	tile_count(out, ROCE_TONE_PLAIN, totals.ecn_marks, "ECN marks", NULL);
	tile_count(out, ROCE_TONE_PLAIN, totals.cnps, "CNPs", NULL);
	roce_quantity_format(ROCE_QUANTITY_COUNT, (double)totals.packet_hops, value);
	roce_page_tile(out, ROCE_TONE_PLAIN, value, "Packet hops", NULL);
	roce_page_tiles_end(out);
}

static void deadlock(const struct roce_record *r, FILE *out)
{
	char line[2 * ROCE_RECORD_LABEL_MAX + 64], when[ROCE_AXIS_LABEL_MAX];

	if (!r->cycle_count)
		return;
	roce_page_section(out, "deadlock", "Deadlock", NULL);
	roce_quantity_format(ROCE_QUANTITY_SECONDS, (double)r->cycle_ps / ROCE_RECORD_PS_PER_S,
			     when);
	snprintf(line, sizeof(line),
		 "Found at %s: %u ports wait for each other and none can go on.", when,
		 r->cycle_count);
	roce_page_message(out, ROCE_TONE_BAD, line);
	fputs("<ol>", out);
	for (uint32_t i = 0; i < r->cycle_count; i++) {
		char label[ROCE_RECORD_LABEL_MAX];

		roce_record_port_label(r, r->cycle[i].node, r->cycle[i].port, label);
		snprintf(line, sizeof(line), "%s is paused on priority %u and waits for %s", label,
			 r->cycle[i].prio, r->names[r->cycle[(i + 1) % r->cycle_count].node]);
		fputs("<li>", out);
		roce_page_text(out, line);
		fputs("</li>\n", out);
	}
	fputs("</ol>\n", out);
}

void roce_record_write_page(struct roce_record *r, const struct roce_record_page *page, FILE *out)
{
	roce_page_begin(out, page->title, page->subtitle);
	tiles(r, out);
	deadlock(r, out);
	roce_page_latency(r, page, out);
	roce_page_flows(r, page, out);
	roce_page_payload(r, page, out);
	roce_page_rates(r, out);
	roce_page_links(r, out);
	roce_page_queues(r, out);
	roce_page_pauses(r, out);
	roce_page_losses(r, out);
	roce_page_end(out, page->footer);
}
