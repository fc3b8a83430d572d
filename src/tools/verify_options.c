/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of `uroce verify`; what excludes each other is refused here. */
#include "tools/command.h"
#include "tools/verify.h"

#include "verify/auth.h"
#include "verify/protocol.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum {
	OPT_PLAN = 256,
	OPT_ONLY,
	OPT_SKIP,
	OPT_LIST,
	OPT_PRINT_PLAN,
	OPT_EXPLAIN,
	OPT_REPEAT,
	OPT_SEED,
	OPT_PROFILE,
	OPT_JSON,
	OPT_JUNIT,
	OPT_HTML,
	OPT_SYSTEM,
	OPT_SELF_TEST,
	OPT_DEVICE,
	OPT_TARGET_DEVICE,
	OPT_GID_INDEX,
	OPT_QUIRKS,
	OPT_QP_TIMEOUT,
	OPT_MTU,
	OPT_SERVER,
	OPT_ONCE,
	OPT_PEER,
	OPT_TOKEN,
	OPT_PORT,
	OPT_BIND,
};

static const struct option long_options[] = {
	{"plan", required_argument, NULL, OPT_PLAN},
	{"only", required_argument, NULL, OPT_ONLY},
	{"skip", required_argument, NULL, OPT_SKIP},
	{"list", no_argument, NULL, OPT_LIST},
	{"print-plan", no_argument, NULL, OPT_PRINT_PLAN},
	{"explain", no_argument, NULL, OPT_EXPLAIN},
	{"repeat", required_argument, NULL, OPT_REPEAT},
	{"seed", required_argument, NULL, OPT_SEED},
	{"profile", required_argument, NULL, OPT_PROFILE},
	{"json", required_argument, NULL, OPT_JSON},
	{"junit", required_argument, NULL, OPT_JUNIT},
	{"html", required_argument, NULL, OPT_HTML},
	{"system", no_argument, NULL, OPT_SYSTEM},
	{"self-test", no_argument, NULL, OPT_SELF_TEST},
	{"device", required_argument, NULL, OPT_DEVICE},
	{"target-device", required_argument, NULL, OPT_TARGET_DEVICE},
	{"gid-index", required_argument, NULL, OPT_GID_INDEX},
	{"quirks", required_argument, NULL, OPT_QUIRKS},
	{"qp-timeout", required_argument, NULL, OPT_QP_TIMEOUT},
	{"mtu", required_argument, NULL, OPT_MTU},
	{"server", no_argument, NULL, OPT_SERVER},
	{"once", no_argument, NULL, OPT_ONCE},
	{"peer", required_argument, NULL, OPT_PEER},
	{"token", required_argument, NULL, OPT_TOKEN},
	{"port", required_argument, NULL, OPT_PORT},
	{"bind", required_argument, NULL, OPT_BIND},
	{"quiet", no_argument, NULL, 'q'},
	{NULL, 0, NULL, 0},
};

static int parse_number(const char *option, uint64_t least, uint64_t most, uint64_t *out)
{
	return roce_usage_number("verify", option, optarg, least, most, out);
}

/* The place of an option that takes a text; NULL: it is another kind of option. */
static const char **text_of(int c, struct roce_verify_options *o)
{
	switch (c) {
	case OPT_PLAN:
		return &o->plan;
	case OPT_ONLY:
		return &o->only;
	case OPT_SKIP:
		return &o->skip;
	case OPT_PROFILE:
		return &o->profile;
	case OPT_JSON:
		return &o->json;
	case OPT_JUNIT:
		return &o->junit;
	case OPT_HTML:
		return &o->html;
	case OPT_DEVICE:
		return &o->device[ROCE_VERIFY_INITIATOR];
	case OPT_TARGET_DEVICE:
		return &o->device[ROCE_VERIFY_TARGET];
	case OPT_QUIRKS:
		return &o->quirks;
	case OPT_PEER:
		return &o->peer;
	case OPT_TOKEN:
		return &o->token;
	case OPT_BIND:
		return &o->bind_to;
	default:
		return NULL;
	}
}

static bool *flag_of(int c, struct roce_verify_options *o)
{
	switch (c) {
	case OPT_LIST:
		return &o->is_list;
	case OPT_EXPLAIN:
		return &o->is_explained;
	case OPT_PRINT_PLAN:
		return &o->is_plan_printed;
	case OPT_SYSTEM:
		return &o->is_system;
	case OPT_SELF_TEST:
		return &o->is_self_test;
	case OPT_SERVER:
		return &o->is_server;
	case OPT_ONCE:
		return &o->is_once;
	case 'q':
		return &o->is_quiet;
	default:
		return NULL;
	}
}

static int take_option(int c, const char *given, struct roce_verify_options *o)
{
	const char **text = text_of(c, o);
	bool *flag = flag_of(c, o);

	if (text)
		*text = optarg;
	else if (flag)
		*flag = true;
	else if (c == OPT_REPEAT)
		return parse_number("--repeat", 1, 1000, &o->repeat);
	else if (c == OPT_SEED)
		return parse_number("--seed", 0, UINT64_MAX >> 12, &o->seed);
	else if (c == OPT_GID_INDEX)
		return parse_number("--gid-index", 0, 255, &o->gid_index);
	else if (c == OPT_QP_TIMEOUT)
		return parse_number("--qp-timeout", 1, 31, &o->qp_timeout);
	else if (c == OPT_MTU)
		return parse_number("--mtu", 1280, 65535, &o->mtu);
	else if (c == OPT_PORT)
		return parse_number("--port", 1, 65535, &o->port);
	else if (c == ':')
		return roce_usage_error("verify", "%s: its value is missing", given);
	else
		return roce_usage_error("verify", "no option %s", given);
	return ROCE_EXIT_OK;
}

static bool is_same_file(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

static int check_reports(const struct roce_verify_options *o)
{
	if (roce_verify_is_on_stdout(o->json) + roce_verify_is_on_stdout(o->junit) +
		    roce_verify_is_on_stdout(o->html) >
	    1)
		return roce_usage_error("verify", "one report at most goes to the standard output");
	if (is_same_file(o->json, o->junit) || is_same_file(o->json, o->html) ||
	    is_same_file(o->junit, o->html))
		return roce_usage_error("verify", "two reports in one file: one would be lost");
	return ROCE_EXIT_OK;
}

static int check_together(const struct roce_verify_options *o)
{
	if (o->is_self_test && (o->plan || o->is_system || o->peer || o->is_server))
		return roce_usage_error("verify",
					"--self-test is a plan of its own, on this machine");
	if (o->is_plan_printed && (o->plan || o->is_server))
		return roce_usage_error("verify", "--print-plan prints the plan that is built in");
	if (o->quirks && strcmp(o->quirks, "rxe") != 0)
		return roce_usage_error("verify", "--quirks: found %s, expected rxe", o->quirks);
	if (o->is_server && o->qp_timeout)
		return roce_usage_error("verify", "--qp-timeout is for the other end to say");
	if (o->is_server && o->peer)
		return roce_usage_error("verify", "--server and --peer are the two ends");
	if (o->is_server &&
	    (o->plan || o->json || o->junit || o->html || o->only || o->skip || o->is_list))
		return roce_usage_error("verify", "--server: plan and reports are the other end's");
	if (!o->is_server && (o->bind_to || o->is_once))
		return roce_usage_error("verify", "--bind and --once belong to --server");
	if (o->peer && !o->token)
		return roce_usage_error("verify",
					"--peer needs the --token that the server has printed");
	if (o->token && !o->peer && !o->is_server)
		return roce_usage_error("verify", "--token belongs to --peer and --server");
	if (o->token && !roce_verify_token_is_good(o->token))
		return roce_usage_error("verify", "--token: expected %d to %d characters",
					ROCE_VERIFY_TOKEN_MIN, ROCE_VERIFY_TOKEN_MAX);
	return check_reports(o);
}

int roce_verify_options_parse(int argc, char **argv, struct roce_verify_options *out)
{
	int c;

	*out = (struct roce_verify_options){
		.command = "verify",
		.client = "verify --peer",
		.ib_port = UINT64_MAX,
		.profile = "soft",
		.port = ROCE_VERIFY_PORT,
		.seed = 1,
		.repeat = 1,
		.mtu = ROCE_VERIFY_MTU_DEFAULT,
		.gid_index = UINT64_MAX,
	};
	optind = 1;
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":q", long_options, NULL)) != -1) {
		int rc = take_option(c, argv[optind - 1], out);

		if (rc)
			return rc;
	}
	if (out->is_explained && optind < argc)
		out->explained = argv[optind++];
	if (optind < argc)
		return roce_usage_error("verify", "takes no argument, got %s", argv[optind]);
	/* Arguments can be seen by other users, variables cannot. */
	if (!out->token && (out->peer || out->is_server))
		out->token = getenv("UROCE_VERIFY_TOKEN");
	return check_together(out);
}
