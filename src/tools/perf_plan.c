/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options to a plan, as text that the reader of plans takes: so that no parameter gets past the
 * limits of its kind, and that the report shows the case as `uroce verify` would write it.
 */
#include "tools/perf.h"

#include <stdlib.h>
#include <string.h>

#define ALL_SHIFT_MAX	  23 /* 8 MiB, as perftest's -a */
#define UD_SHIFT_MAX	  12
#define TIMEOUT_S	  60
#define TIMEOUT_MAX_S	  3600
#define MESSAGES_A_SECOND 2000 /* of the slowest that is waited for, at the largest size */

static const char *op_of(const struct roce_perf_options *o)
{
	if (!o->test->op)
		return o->atomic;
	return roce_perf_is_ud(o) ? "ud_send" : o->test->op;
}

static uint64_t timeout_s(const struct roce_perf_options *o)
{
	uint64_t s = TIMEOUT_S + 2 * o->duration_ms / 1000 +
		     (o->duration_ms ? 0 : o->messages / MESSAGES_A_SECOND);

	return s < TIMEOUT_MAX_S ? s : TIMEOUT_MAX_S;
}

static void write_case(const struct roce_perf_options *o, uint64_t size, FILE *f)
{
	bool is_bandwidth = roce_perf_is_bandwidth(o);
	unsigned long long takes_ms = o->duration_ms + 1000; /* a guess, where messages count */
	unsigned long long duration_ms = o->duration_ms;

	if (is_bandwidth && !duration_ms)
		duration_ms = timeout_s(o) * 1000; /* by messages alone */
	fprintf(f,
		"  - name: perf/%s_%llu\n"
		"    kind: %s\n"
		"    proves: nothing, it is a measurement\n"
		"    takes: %llums\n"
		"    timeout: %llus\n"
		"    parameters: {op: %s, size: %llu, mtu: %llu, inline: %llu, duration: %llums, ",
		o->test->name, (unsigned long long)size, o->test->kind, takes_ms,
		(unsigned long long)timeout_s(o), op_of(o), (unsigned long long)size,
		(unsigned long long)o->mtu, (unsigned long long)o->inline_max, duration_ms);
	if (!roce_perf_is_ud(o))
		fprintf(f, "transport: %s, connect: %s, ", o->transport,
			o->is_by_cm ? "rdma_cm" : "relay");
	if (is_bandwidth)
		fprintf(f, "qps: %llu, depth: %llu, both: %s, messages: %llu}\n",
			(unsigned long long)o->qps, (unsigned long long)o->depth,
			o->is_both ? "true" : "false", (unsigned long long)o->messages);
	else
		fprintf(f, "in_turn: true, iterations: %llu}\n", (unsigned long long)o->messages);
}

static char *write_plan(const struct roce_perf_options *o, size_t *out_length)
{
	int most = roce_perf_is_ud(o) ? UD_SHIFT_MAX : ALL_SHIFT_MAX;
	char *text = NULL;
	FILE *f = open_memstream(&text, out_length);

	if (!f)
		return NULL;
	fprintf(f, "name: uroce perf %s\ncases:\n", o->test->name);
	for (int shift = 1; o->has_all_sizes && shift <= most; shift++)
		write_case(o, UINT64_C(1) << shift, f);
	if (!o->has_all_sizes)
		write_case(o, o->size, f);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

struct roce_verify_plan *roce_perf_plan(const struct roce_perf_options *o)
{
	struct roce_verify_plan *plan = NULL;
	struct roce_problems problems;
	size_t length = 0;
	char *text = write_plan(o, &length);

	roce_problems_init(&problems, "options");
	if (text)
		plan = roce_verify_plan_load(text, length, "options", &problems);
	if (!plan)
		fprintf(stderr, "uroce perf: %s\n",
			text && problems.count ? problems.text[0] : "out of memory");
	else
		(void)roce_verify_plan_select(plan, NULL, NULL, o->sides.profile);
	free(text);
	return plan;
}
