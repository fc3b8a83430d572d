/* SPDX-License-Identifier: BSD-2-Clause */
/* Parsed by argp; called once by main(). Every refusal names the option and what it takes. */
#include "tools/verbs_check/options.h"

#include <argp.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/verbs_check/program.h"
#include "tools/verbs_check/report.h"
#include "tools/verbs_check/transport.h"

enum { SEEDS = 100, CONTROL_FD_MAX = 1 << 20 };

enum {
	OPTION_OPS = 256,
	OPTION_MAX_SIZE,
	OPTION_QPS,
	OPTION_ONLY,
	OPTION_JSON,
	OPTION_LOOPBACK,
	OPTION_QUIRKS,
	OPTION_PEER_QUIRKS,
	OPTION_FAULTS,
	OPTION_STALL,
	OPTION_TIMEOUT,
	OPTION_LOSSY,
	OPTION_TRANSPORT,
	OPTION_FEATURES,
	OPTION_LINK,
	OPTION_SCENARIO,
	OPTION_SCENARIOS,
	OPTION_CONTROL_FD,
};

static const struct argp_option rows[] = {
	{"device", 'd', "NAME", 0, "verbs device (default: the first)", 0},
	{"gid-index", 'g', "N", 0, "GID index (default: a RoCEv2 one, IPv4 first)", 0},
	{"ib-port", 'i', "N", 0, "port of the device (1)", 0},
	{"port", 'p', "PORT", 0, "TCP port of the control connection (18700)", 0},
	{"control-fd", OPTION_CONTROL_FD, "N", 0,
	 "the control connection is this descriptor; with HOST, of any name, it is the client", 0},
	{"mtu", 'm', "BYTES", 0, "path MTU 256, 512, 1024, 2048 or 4096 (default: drawn)", 1},
	{"seed", 's', "N", 0, "first seed (1)", 1},
	{"seeds", 'n', "COUNT", 0, "how many seeds (100; of each scenario 1)", 1},
	{"ops", OPTION_OPS, "N", 0, "operations of a seed (96)", 1},
	{"max-size", OPTION_MAX_SIZE, "BYTES", 0, "longest message (1048576)", 1},
	{"qps", OPTION_QPS, "N", 0, "most QPs of a seed, 1 to 16 (4)", 1},
	{"only", OPTION_ONLY, "OP,...", 0,
	 "of send, send-imm, send-inv, write, write-imm, read, cmp-swap, fetch-add, atomic-write",
	 1},
	{"transport", OPTION_TRANSPORT, "NAME,...", 0, "of rc, uc, ud, xrc (all)", 1},
	{"features", OPTION_FEATURES, "NAME,...", 0,
	 "ways of using the API, none or of the list below (all)", 1},
	{"faults", OPTION_FAULTS, "N", 0, "each N-th seed provokes an error (8); 0: none", 1},
	{"link", OPTION_LINK, "KIND,...", 0,
	 "what the network does to packets: loss, dup, reorder (nothing)", 1},
	{"lossy", OPTION_LOSSY, NULL, 0, "the same as --link loss", 1},
	{"scenario", OPTION_SCENARIO, "NAME,...", 0,
	 "written programs instead of drawn ones: by name, rc, uc, ud or all", 1},
	{"scenarios", OPTION_SCENARIOS, NULL, 0, "list them", 1},
	{"events", 'e', NULL, 0, "sleep on completion channels", 1},
	{"stall", OPTION_STALL, "SECONDS", 0, "give up after so long without progress (20)", 1},
	{"timeout", OPTION_TIMEOUT, "CODE", 0,
	 "local ACK timeout, 4.096 us times two to this power (14)", 1},
	{"quirks", OPTION_QUIRKS, "rxe", 0, "accept known deviations of the own device", 2},
	{"peer-quirks", OPTION_PEER_QUIRKS, "rxe", 0, "the same for the other side's device", 2},
	{"loopback", OPTION_LOOPBACK, NULL, 0, "both sides in this process", 2},
	{"json", OPTION_JSON, NULL, 0, "result as a JSON object on standard output", 2},
	{"verbose", 'v', NULL, 0, "counts of each operation and error", 2},
	{0},
};

static uint64_t parse_number(struct argp_state *state, const char *name, const char *text,
			     uint64_t low, uint64_t high)
{
	char *end = NULL;
	unsigned long long value = strtoull(text, &end, 0);

	if (!*text || *end || *text == '-' || value < low || value > high)
		argp_error(state, "%s: '%s' is not a number from %llu to %llu", name, text,
			   (unsigned long long)low, (unsigned long long)high);
	return value;
}

static uint32_t parse_mtu(struct argp_state *state, const char *text)
{
	for (uint32_t mtu = IBV_MTU_256; mtu <= IBV_MTU_4096; mtu++)
		if (strtoul(text, NULL, 10) == vc_mtu_bytes((enum ibv_mtu)mtu))
			return mtu;
	argp_error(state, "--mtu: '%s' is not 256, 512, 1024, 2048 or 4096", text);
	return 0;
}

static const char *op_name(uint32_t op)
{
	return vc_op_str((enum vc_op)op);
}

static uint32_t parse_names(struct argp_state *state, const char *option, const char *text,
			    vc_name_function *name, uint32_t count)
{
	uint32_t mask = 0;
	char bad[64];

	if (strcmp(text, "none") == 0)
		return 0;
	if (!vc_names_parse(text, name, count, &mask, bad, sizeof(bad)))
		argp_error(state, "%s: there is no '%s'", option, bad);
	return mask;
}

static void parse_scenarios(struct argp_state *state, const char *text,
			    struct vc_scenario_set *out_set)
{
	char bad[64];

	if (!vc_scenarios_parse(text, out_set, bad, sizeof(bad)))
		argp_error(state, "--scenario: there is no '%s'; --scenarios lists them", bad);
}

static uint32_t parse_quirks(struct argp_state *state, const char *name, const char *text)
{
	uint32_t quirks = 0;

	if (!vc_quirks_parse(text, &quirks))
		argp_error(state, "%s: '%s' is not rxe or none", name, text);
	return quirks;
}

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
	struct vc_options *options = state->input;

	switch (key) {
	case 'd':
		options->device = arg;
		break;
	case 'g':
		options->gid_index = (int)parse_number(state, "--gid-index", arg, 0, 255);
		break;
	case 'i':
		options->port = (uint8_t)parse_number(state, "--ib-port", arg, 1, 255);
		break;
	case 'p':
		(void)parse_number(state, "--port", arg, 1, 65535);
		options->control_port = arg;
		break;
	case 'm':
		options->mtu = parse_mtu(state, arg);
		break;
	case 's':
		options->seed = parse_number(state, "--seed", arg, 0, UINT64_MAX);
		break;
	case 'n':
		options->seed_count = parse_number(state, "--seeds", arg, 1, UINT64_MAX);
		break;
	case OPTION_OPS:
		options->ops = (uint32_t)parse_number(state, "--ops", arg, 1, VC_OPTION_OPS_MAX);
		break;
	case OPTION_MAX_SIZE:
		options->size_max =
			(uint32_t)parse_number(state, "--max-size", arg, 1, VC_OPTION_SIZE_MAX);
		break;
	case OPTION_QPS:
		options->qp_max = (uint32_t)parse_number(state, "--qps", arg, 1, VC_QP_MAX);
		break;
	case OPTION_ONLY:
		options->op_mask = parse_names(state, "--only", arg, op_name, VC_OP_COUNT);
		if (!options->op_mask)
			argp_error(state, "--only: names no operation");
		break;
	case OPTION_FAULTS:
		options->fault_every =
			(uint32_t)parse_number(state, "--faults", arg, 0, VC_OPTION_FAULTS_MAX);
		break;
	case OPTION_STALL:
		options->stall_s = (unsigned int)parse_number(state, "--stall", arg, 1, 86400);
		break;
	case OPTION_TIMEOUT:
		options->timeout = (uint32_t)parse_number(state, "--timeout", arg, 1, 31);
		break;
	case OPTION_QUIRKS:
		options->own_quirks = parse_quirks(state, "--quirks", arg);
		break;
	case OPTION_PEER_QUIRKS:
		options->peer_quirks = parse_quirks(state, "--peer-quirks", arg);
		break;
	case 'e':
		options->events = true;
		break;
	case OPTION_LOOPBACK:
		options->loopback = true;
		break;
	case OPTION_LOSSY:
		options->links |= 1u << VC_LINK_LOSS;
		break;
	case OPTION_LINK:
		options->links |= parse_names(state, "--link", arg, vc_link_str, VC_LINK_COUNT);
		break;
	case OPTION_TRANSPORT:
		options->transports = parse_names(state, "--transport", arg, vc_transport_str,
						  VC_TRANSPORT_COUNT);
		if (!options->transports)
			argp_error(state, "--transport: names no transport");
		break;
	case OPTION_FEATURES:
		options->features =
			parse_names(state, "--features", arg, vc_feature_str, VC_FEATURE_COUNT);
		break;
	case OPTION_SCENARIO:
		parse_scenarios(state, arg, &options->scenarios);
		break;
	case OPTION_CONTROL_FD:
		options->control_fd =
			(int)parse_number(state, "--control-fd", arg, 0, CONTROL_FD_MAX);
		break;
	case OPTION_SCENARIOS:
		vc_scenarios_list();
		exit(0);
	case OPTION_JSON:
		options->json = true;
		break;
	case 'v':
		options->verbose = true;
		break;
	case ARGP_KEY_ARG:
		if (options->host)
			argp_error(state, "'%s': only one host can be given", arg);
		options->host = arg;
		break;
	case ARGP_KEY_END:
		if (options->host && options->loopback)
			argp_error(state, "--loopback takes no host");
		if (options->control_fd >= 0 && options->loopback)
			argp_error(state, "--loopback takes no control connection");
		if (!options->seed_count)
			options->seed_count =
				vc_scenario_set_is_empty(&options->scenarios) ? SEEDS : 1;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct vc_options defaults = {
	.control_port = "18700",
	.control_fd = -1,
	.gid_index = -1,
	.port = 1,
	.seed = 1,
	.ops = 96,
	.size_max = 1u << 20,
	.qp_max = 4,
	.op_mask = (1u << VC_OP_COUNT) - 1,
	.fault_every = 8,
	.timeout = 14,
	.transports = (1u << VC_TRANSPORT_COUNT) - 1,
	.features = (1u << VC_FEATURE_COUNT) - 1,
	.stall_s = 20,
};

static void append(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void append(char *text, size_t size, const char *format, ...)
{
	size_t length = strlen(text);
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text + length, size - length, format, args);
	va_end(args);
}

static void append_names(char *text, size_t size, const char *option, uint32_t mask,
			 vc_name_function *name)
{
	const char *separator = option;

	if (!mask)
		append(text, size, "%snone", option);
	for (uint32_t i = 0; i < 32; i++) {
		if (!vc_mask_has(mask, i))
			continue;
		append(text, size, "%s%s", separator, name(i));
		separator = ",";
	}
}

void vc_options_replay(const struct vc_options *options, bool client, uint64_t seed,
		       const char *scenario, char *text, size_t size)
{
	uint32_t own = client ? options->own_quirks : options->peer_quirks;
	uint32_t peer = client ? options->peer_quirks : options->own_quirks;

	(void)snprintf(text, size, "verbs-check --seed %" PRIu64 " --seeds 1", seed);
	if (scenario)
		append(text, size, " --scenario %s", scenario);
	if (options->ops != defaults.ops)
		append(text, size, " --ops %u", options->ops);
	if (options->size_max != defaults.size_max)
		append(text, size, " --max-size %u", options->size_max);
	if (options->qp_max != defaults.qp_max)
		append(text, size, " --qps %u", options->qp_max);
	if (options->fault_every != defaults.fault_every)
		append(text, size, " --faults %u", options->fault_every);
	if (options->timeout != defaults.timeout)
		append(text, size, " --timeout %u", options->timeout);
	if (options->mtu)
		append(text, size, " --mtu %u", vc_mtu_bytes((enum ibv_mtu)options->mtu));
	if (options->op_mask != defaults.op_mask)
		append_names(text, size, " --only ", options->op_mask, op_name);
	if (options->transports != defaults.transports)
		append_names(text, size, " --transport ", options->transports, vc_transport_str);
	if (options->features != defaults.features)
		append_names(text, size, " --features ", options->features, vc_feature_str);
	if (options->links)
		append_names(text, size, " --link ", options->links, vc_link_str);
	if (own)
		append(text, size, " --quirks rxe");
	if (peer)
		append(text, size, " --peer-quirks rxe");
	append(text, size, "%s %s", options->events ? " --events" : "",
	       options->loopback ? "--loopback" : (options->host ? options->host : "HOST"));
}

#define VC_LISTED(id, name) " " name

void vc_options_parse(struct vc_options *options, int argc, char **argv)
{
	static const struct argp argp = {
		.options = rows,
		.parser = parse_one,
		.args_doc = "[HOST]",
		.doc = "Checks every byte, immediate, status and count of RDMA operations drawn "
		       "from "
		       "seeds.\vWithout HOST it is the server, whose client decides what is run. "
		       "Features:" VC_FEATURES(VC_LISTED) ". Exit "
							  "status: 0 all right, 1 wrong data or "
							  "status, 2 usage or environment.",
	};

	argp_err_exit_status = VC_UNUSABLE;
	*options = defaults;
	(void)argp_parse(&argp, argc, argv, 0, NULL, options);
}
