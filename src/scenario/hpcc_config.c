/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The configuration: "KEY value" lines. One table says what each key is: a number that goes
 * somewhere, a value that must be what it is since anything else is not simulated, or nothing that
 * changes results.
 */
#include "scenario/hpcc_internal.h"

#include "scenario/key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum how {
	IGNORED, /* names of files, traces, other controllers' settings */
	ONLY,	 /* must have the value that is given */
	NUMBER,	 /* uint64_t at `offset` */
	FLAG,	 /* bool at `offset` */
	FRACTION,
	SECONDS,
	MAP,
	PARAM,	    /* of DCQCN: whole numbers */
	PARAM_MBPS, /* of DCQCN: a rate */
	PARAM_GAIN, /* of DCQCN: 1024 (1 - g) */
	DOWN,
};

struct entry {
	const char *key;
	enum how how;
	size_t offset;
	const char *only;
};

#define AT(field)      offsetof(struct roce_hpcc_config, field)
#define DCQCN_AT(name) offsetof(struct roce_hpcc_config, dcqcn[ROCE_DCQCN_##name])

static const struct entry entries[] = {
	{"ENABLE_QCN", FLAG, AT(has_qcn), NULL},
	{"USE_DYNAMIC_PFC_THRESHOLD", ONLY, 0, "1"},
	{"PACKET_PAYLOAD_SIZE", NUMBER, AT(payload_bytes), NULL},
	{"SIMULATOR_STOP_TIME", SECONDS, AT(stop_ps), NULL},
	{"CC_MODE", NUMBER, AT(cc_mode), NULL},
	{"ALPHA_RESUME_INTERVAL", PARAM, DCQCN_AT(dce_tcp_rtt), NULL},
	{"RATE_DECREASE_INTERVAL", PARAM, DCQCN_AT(rate_reduce_monitor_period), NULL},
	{"CLAMP_TARGET_RATE", PARAM, DCQCN_AT(clamp_tgt_rate), NULL},
	{"RP_TIMER", PARAM, DCQCN_AT(rpg_time_reset), NULL},
	{"EWMA_GAIN", PARAM_GAIN, DCQCN_AT(dce_tcp_g), NULL},
	{"FAST_RECOVERY_TIMES", PARAM, DCQCN_AT(rpg_threshold), NULL},
	{"RATE_AI", PARAM_MBPS, DCQCN_AT(rpg_ai_rate), NULL},
	{"RATE_HAI", PARAM_MBPS, DCQCN_AT(rpg_hai_rate), NULL},
	{"MIN_RATE", PARAM_MBPS, DCQCN_AT(rpg_min_rate), NULL},
	{"ERROR_RATE_PER_LINK", FRACTION, AT(loss), NULL},
	{"L2_ACK_INTERVAL", NUMBER, AT(ack_interval), NULL},
	{"L2_BACK_TO_ZERO", FLAG, AT(is_go_back_0), NULL},
	{"L2_WAIT_FOR_ACK", ONLY, 0, "0"},
	{"HAS_WIN", FLAG, AT(has_window), NULL},
	{"GLOBAL_T", FLAG, AT(has_global_window), NULL},
	{"VAR_WIN", FLAG, AT(is_window_by_rate), NULL},
	{"L2_CHUNK_SIZE", NUMBER, AT(chunk_bytes), NULL},
	{"ACK_HIGH_PRIO", FLAG, AT(is_ack_strict), NULL},
	{"LINK_DOWN", DOWN, 0, NULL},
	{"KMAX_MAP", MAP, AT(kmax), NULL},
	{"KMIN_MAP", MAP, AT(kmin), NULL},
	{"PMAX_MAP", MAP, AT(pmax), NULL},
	{"BUFFER_SIZE", NUMBER, AT(buffer_mib), NULL},
	{"TOPOLOGY_FILE", IGNORED, 0, NULL},
	{"FLOW_FILE", IGNORED, 0, NULL},
	{"TRACE_FILE", IGNORED, 0, NULL},
	{"TRACE_OUTPUT_FILE", IGNORED, 0, NULL},
	{"FCT_OUTPUT_FILE", IGNORED, 0, NULL},
	{"PFC_OUTPUT_FILE", IGNORED, 0, NULL},
	{"QLEN_MON_FILE", IGNORED, 0, NULL},
	{"QLEN_MON_START", IGNORED, 0, NULL},
	{"QLEN_MON_END", IGNORED, 0, NULL},
	{"QLEN_MON_DUMP_INTERVAL", IGNORED, 0, NULL},
	{"QLEN_MON_INTERVAL", IGNORED, 0, NULL},
	{"ENABLE_TRACE", IGNORED, 0, NULL},
	{"FAST_REACT", IGNORED, 0, NULL}, /* of HPCC */
	{"U_TARGET", IGNORED, 0, NULL},
	{"MI_THRESH", IGNORED, 0, NULL},
	{"INT_MULTI", IGNORED, 0, NULL},
	{"MULTI_RATE", IGNORED, 0, NULL},
	{"SAMPLE_FEEDBACK", IGNORED, 0, NULL},
	{"PINT_LOG_BASE", IGNORED, 0, NULL},
	{"PINT_PROB", IGNORED, 0, NULL},
	{"RATE_BOUND", IGNORED, 0, NULL},
	{"DCTCP_RATE_AI", IGNORED, 0, NULL},
};

#define ENTRY_COUNT (sizeof(entries) / sizeof(entries[0]))

static const struct entry *find_entry(const char *key)
{
	for (size_t i = 0; i < ENTRY_COUNT; i++) {
		if (strcmp(entries[i].key, key) == 0)
			return &entries[i];
	}
	return NULL;
}

static void add_unknown(struct roce_hpcc_cursor *c)
{
	const char *best = NULL;
	uint32_t best_distance = 4;

	for (size_t i = 0; i < ENTRY_COUNT; i++) {
		uint32_t distance = roce_text_distance(c->word, entries[i].key);

		if (distance < best_distance) {
			best_distance = distance;
			best = entries[i].key;
		}
	}
	roce_problem_add(c->problems, c->line, "unknown key %.40s%s%s%s", c->word,
			 best ? "; did you mean " : "", best ? best : "", best ? "?" : "");
}

static bool read_map(struct roce_hpcc_cursor *c, const char *key, struct roce_hpcc_map *out)
{
	uint64_t count;

	if (!roce_hpcc_number(c, key, ROCE_HPCC_RATES_MAX, &count))
		return false;
	for (out->count = 0; out->count < count; out->count++) {
		char *end;

		if (!roce_hpcc_number(c, "rate of a map", UINT64_MAX, &out->rates[out->count]) ||
		    !roce_hpcc_word(c, "value of a map"))
			return false;
		out->values[out->count] = strtod(c->word, &end);
		if (*end || !(out->values[out->count] >= 0) || out->values[out->count] > 1e9) {
			roce_problem_add(c->problems, c->line,
					 "%s: found \"%.40s\", expected a number", key, c->word);
			return false;
		}
	}
	return true;
}

static bool read_down(struct roce_hpcc_cursor *c, struct roce_hpcc_config *out)
{
	uint64_t us;
	uint64_t a;
	uint64_t b;

	if (!roce_hpcc_number(c, "LINK_DOWN time", UINT64_C(1000000000000), &us) ||
	    !roce_hpcc_number(c, "LINK_DOWN first node", UINT32_MAX, &a) ||
	    !roce_hpcc_number(c, "LINK_DOWN second node", UINT32_MAX, &b))
		return false;
	/* It counts from 2 s on, when flows begin there. */
	out->down_ps = us ? 2 * ROCE_PS_PER_S + us * ROCE_PS_PER_US : 0;
	out->down_a = (uint32_t)a;
	out->down_b = (uint32_t)b;
	return true;
}

static bool read_value(struct roce_hpcc_cursor *c, const struct entry *e,
		       struct roce_hpcc_config *out)
{
	uint64_t *place = (uint64_t *)(void *)((char *)out + e->offset);
	uint64_t value;

	switch (e->how) {
	case IGNORED:
		roce_hpcc_skip_line(c);
		return true;
	case ONLY:
		if (!roce_hpcc_word(c, e->key))
			return false;
		if (strcmp(c->word, e->only) != 0)
			roce_problem_add(c->problems, c->line,
					 "%s %.20s is not simulated, expected %s", e->key, c->word,
					 e->only);
		return true;
	case NUMBER:
	case PARAM:
		return roce_hpcc_number(c, e->key, UINT32_MAX, place);
	case FLAG:
		if (!roce_hpcc_number(c, e->key, 1, &value))
			return false;
		*(bool *)place = value;
		return true;
	case FRACTION:
		return roce_hpcc_quantity(c, e->key, ROCE_UNIT_FRACTION, place);
	case SECONDS:
		if (!roce_hpcc_word(c, e->key))
			return false;
		strncat(c->word, "s", sizeof(c->word) - strlen(c->word) - 1);
		if (roce_unit_parse(ROCE_UNIT_TIME, c->word, place) == 0)
			return true;
		roce_problem_add(c->problems, c->line, "%s: expected seconds", e->key);
		return false;
	case MAP:
		return read_map(c, e->key, (struct roce_hpcc_map *)(void *)place);
	case PARAM_MBPS:
		if (!roce_hpcc_quantity(c, e->key, ROCE_UNIT_RATE, &value))
			return false;
		*place = value / 1000000;
		return true;
	case PARAM_GAIN:
		if (!roce_hpcc_quantity(c, e->key, ROCE_UNIT_FRACTION, &value))
			return false;
		value = value < ROCE_FRACTION_ONE ? ROCE_FRACTION_ONE - value : 0;
		*place = (value + ROCE_FRACTION_ONE / 2048) / (ROCE_FRACTION_ONE / 1024);
		return true;
	case DOWN:
		return read_down(c, out);
	}
	return false;
}

static void check_config(const struct roce_hpcc_config *config, struct roce_problems *problems)
{
	if (config->cc_mode > 1)
		roce_problem_add(problems, 0,
				 "CC_MODE %llu%s is not simulated, expected 1 (DCQCN) or 0 (none)",
				 (unsigned long long)config->cc_mode,
				 config->cc_mode == 3	 ? " (HPCC)"
				 : config->cc_mode == 7	 ? " (TIMELY)"
				 : config->cc_mode == 8	 ? " (DCTCP)"
				 : config->cc_mode == 10 ? " (HPCC-PINT)"
							 : "");
	if (config->has_window && !config->has_global_window)
		roce_problem_add(problems, 0,
				 "GLOBAL_T 0 (a window for each pair of hosts) is not simulated, "
				 "expected 1 with HAS_WIN 1");
	if (config->is_go_back_0 && config->chunk_bytes == 0)
		roce_problem_add(problems, 0,
				 "L2_CHUNK_SIZE: found 0, expected bytes with L2_BACK_TO_ZERO 1");
	if (config->payload_bytes == 0 || config->payload_bytes > 4096)
		roce_problem_add(problems, 0, "PACKET_PAYLOAD_SIZE: found %llu, expected 1 to 4096",
				 (unsigned long long)config->payload_bytes);
	if (config->buffer_mib == 0 || config->buffer_mib > 4096)
		roce_problem_add(problems, 0, "BUFFER_SIZE: found %llu MiB, expected 1 to 4096",
				 (unsigned long long)config->buffer_mib);
	if (config->ack_interval == 0 || config->ack_interval > 1024)
		roce_problem_add(problems, 0, "L2_ACK_INTERVAL: found %llu, expected 1 to 1024",
				 (unsigned long long)config->ack_interval);
	for (uint32_t i = 0; i < ROCE_DCQCN_PARAM_COUNT; i++) {
		const struct roce_cc_param *p = &roce_cc_dcqcn.params[i];

		if (config->dcqcn[i] != ROCE_AUTO &&
		    (config->dcqcn[i] < p->min || config->dcqcn[i] > p->max))
			roce_problem_add(problems, 0, "%s is %llu %s, expected %u to %u", p->name,
					 (unsigned long long)config->dcqcn[i], p->unit, p->min,
					 p->max);
	}
}

bool roce_hpcc_read_config(const char *text, struct roce_hpcc_config *out,
			   struct roce_problems *problems)
{
	struct roce_hpcc_cursor c = {.at = text, .line = 1, .problems = problems};
	uint32_t before = problems->count;

	*out = (struct roce_hpcc_config){
		.payload_bytes = 1000,
		.buffer_mib = 32,
		.ack_interval = 1,
		.cc_mode = 1,
		.has_qcn = true,
		.is_ack_strict = true,
		.has_global_window = true,
	};
	for (uint32_t i = 0; i < ROCE_DCQCN_PARAM_COUNT; i++)
		out->dcqcn[i] = ROCE_AUTO;
	while (roce_hpcc_word(&c, NULL)) {
		const struct entry *e = find_entry(c.word);

		if (!e) {
			add_unknown(&c);
			roce_hpcc_skip_line(&c);
		} else if (!read_value(&c, e, out)) {
			roce_hpcc_skip_line(&c);
		}
	}
	if (problems->count == before)
		check_config(out, problems);
	return problems->count == before;
}
