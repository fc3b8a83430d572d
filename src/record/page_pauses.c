/* SPDX-License-Identifier: BSD-2-Clause */
/* Who was paused when, and for how long. */
#include "record/page.h"

#include "report/chart.h"
#include "report/page.h"

#include <stdlib.h>

#define LANES_SHOWN 24u

struct lane {
	uint32_t port;
	uint32_t prio;
};

/* Each priority of the ports that were paused longest. */
static uint32_t choose_lanes(const struct roce_record *r, struct lane *lanes, uint32_t max)
{
	uint32_t ports[LANES_SHOWN];
	uint32_t count = roce_page_top_ports(r, roce_page_paused_seconds, ports, LANES_SHOWN);
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
		.to = roce_page_run_seconds(r),
	};

	for (uint32_t i = 0; i < count; i++) {
		char label[ROCE_RECORD_LABEL_MAX];

		roce_page_label(r, lanes[i].port, label);
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
