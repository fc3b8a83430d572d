/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The options of `uroce perf`. Recipes for perftest should work: its letters and long names, its
 * defaults, `ib_write_lat` for write_lat. What it has and we have not is refused, not passed over,
 * but for what changes no figure.
 *
 * A server without a token is open to whoever reaches it, so it listens on loopback only unless an
 * address was named. It runs nothing but measurements in any case.
 */
#include "tools/command.h"
#include "tools/perf.h"

#include "verify/auth.h"
#include "verify/protocol.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define LATENCY	       "latency"
#define BANDWIDTH      "bandwidth"
#define SIZE_MAX_BYTES (UINT64_C(1) << 30)
#define SIZE_LATENCY   2
#define SIZE_BANDWIDTH 65536
#define DEPTH_DEFAULT  128
#define MESSAGES_MAX   10000000
#define LATENCY_N      10000 /* messages of a single size, and of each of all */
#define LATENCY_ALL_N  1000
#define BANDWIDTH_MS   1000
#define BANDWIDTH_ALL  300
#define LINK_MTU       1500
#define LINK_HEADERS   104 /* at most, around a packet's payload, below the link's MTU */

enum {
	OPT_TOKEN = 256,
	OPT_NO_TOKEN,
	OPT_PERSISTENT,
	OPT_BIND,
	OPT_LOCAL,
	OPT_SYSTEM,
	OPT_TARGET_DEVICE,
	OPT_JSON,
	OPT_IGNORED,
};

static const char short_options[] = ":d:i:x:p:s:n:D:aq:bt:m:I:c:A:RF";

static const struct option long_options[] = {
	{"ib-dev", required_argument, NULL, 'd'},
	{"ib-port", required_argument, NULL, 'i'},
	{"gid-index", required_argument, NULL, 'x'},
	{"port", required_argument, NULL, 'p'},
	{"size", required_argument, NULL, 's'},
	{"iters", required_argument, NULL, 'n'},
	{"duration", required_argument, NULL, 'D'},
	{"all", no_argument, NULL, 'a'},
	{"qp", required_argument, NULL, 'q'},
	{"bidirectional", no_argument, NULL, 'b'},
	{"tx-depth", required_argument, NULL, 't'},
	{"mtu", required_argument, NULL, 'm'},
	{"inline_size", required_argument, NULL, 'I'},
	{"connection", required_argument, NULL, 'c'},
	{"atomic_type", required_argument, NULL, 'A'},
	{"rdma_cm", no_argument, NULL, 'R'},
	{"CPU-freq", no_argument, NULL, 'F'},
	{"report_gbits", no_argument, NULL, OPT_IGNORED},
	{"token", required_argument, NULL, OPT_TOKEN},
	{"no-token", no_argument, NULL, OPT_NO_TOKEN},
	{"persistent", no_argument, NULL, OPT_PERSISTENT},
	{"bind", required_argument, NULL, OPT_BIND},
	{"local", no_argument, NULL, OPT_LOCAL},
	{"system", no_argument, NULL, OPT_SYSTEM},
	{"target-device", required_argument, NULL, OPT_TARGET_DEVICE},
	{"json", required_argument, NULL, OPT_JSON},
	{NULL, 0, NULL, 0},
};

static const struct roce_perf_test tests[] = {
	{"write_lat", LATENCY, "write"},	  {"write_bw", BANDWIDTH, "write"},
	{"write_imm_bw", BANDWIDTH, "write_imm"}, {"read_lat", LATENCY, "read"},
	{"read_bw", BANDWIDTH, "read"},		  {"send_lat", LATENCY, "send"},
	{"send_bw", BANDWIDTH, "send"},		  {"atomic_lat", LATENCY, NULL},
	{"atomic_bw", BANDWIDTH, NULL},		  {"ud_send_lat", LATENCY, "ud_send"},
	{"ud_send_bw", BANDWIDTH, "ud_send"},
};

static const char test_names[] = "write_lat, write_bw, write_imm_bw, read_lat, read_bw, send_lat, "
				 "send_bw, atomic_lat, atomic_bw, ud_send_lat, ud_send_bw";

bool roce_perf_is_bandwidth(const struct roce_perf_options *o)
{
	return strcmp(o->test->kind, BANDWIDTH) == 0;
}

static bool is_op(const struct roce_perf_options *o, const char *op)
{
	return o->test->op && strcmp(o->test->op, op) == 0;
}

bool roce_perf_is_ud(const struct roce_perf_options *o)
{
	return strcmp(o->transport, "ud") == 0;
}

bool roce_perf_is_reliable(const struct roce_perf_options *o)
{
	return strcmp(o->transport, "rc") == 0 || strcmp(o->transport, "xrc") == 0;
}

bool roce_perf_is_to_completion(const struct roce_perf_options *o)
{
	return !o->test->op || is_op(o, "read");
}

static const struct roce_perf_test *find_test(const char *name)
{
	if (strncmp(name, "ib_", 3) == 0)
		name += 3;
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (strcmp(tests[i].name, name) == 0)
			return &tests[i];
	}
	return NULL;
}

/* ---- values ---- */

static int parse_number(const char *option, uint64_t least, uint64_t most, uint64_t *out)
{
	return roce_usage_number("perf", option, optarg, least, most, out);
}

/* 4096, 64K, 1M, 4KiB */
static int parse_size(uint64_t *out)
{
	static const char suffixes[] = "KMG";
	char *end;
	unsigned long long value;
	const char *suffix;

	errno = 0;
	value = strtoull(optarg, &end, 10);
	suffix = *end ? strchr(suffixes, *end) : NULL;
	if (suffix && value <= SIZE_MAX_BYTES) {
		value <<= 10 * (suffix - suffixes + 1);
		end++;
		end += strcmp(end, "iB") == 0 ? 2 : 0;
	}
	if (errno || *end || end == optarg || *optarg == '-' || !value || value > SIZE_MAX_BYTES)
		return roce_usage_error("perf", "-s: found %s, expected a size up to 1G, as 64K",
					optarg);
	*out = value;
	return ROCE_EXIT_OK;
}

static int parse_duration(uint64_t *out_ms)
{
	char *end;
	double seconds = strtod(optarg, &end);

	if (*end || end == optarg || !(seconds >= 0.05 && seconds <= 1000))
		return roce_usage_error("perf", "-D: found %s, expected seconds from 0.05 to 1000",
					optarg);
	*out_ms = (uint64_t)(seconds * 1000 + 0.5);
	return ROCE_EXIT_OK;
}

static int parse_mtu(uint64_t *out)
{
	static const char *const words[] = {"256", "512", "1024", "2048", "4096"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(words[i], optarg) == 0) {
			*out = UINT64_C(256) << i;
			return ROCE_EXIT_OK;
		}
	}
	return roce_usage_error("perf", "-m: found %s, expected 256, 512, 1024, 2048 or 4096",
				optarg);
}

static int parse_word(const char *option, const char *const *words, const char *const *values,
		      const char *expected, const char **out)
{
	for (int i = 0; words[i]; i++) {
		if (strcmp(words[i], optarg) == 0) {
			*out = values[i];
			return ROCE_EXIT_OK;
		}
	}
	return roce_usage_error("perf", "%s: found %s, expected %s", option, optarg, expected);
}

static int parse_transport(const char **out)
{
	static const char *const words[] = {"RC", "UC", "UD", "XRC", NULL};
	static const char *const values[] = {"rc", "uc", "ud", "xrc"};

	return parse_word("-c", words, values, "RC, UC, UD or XRC", out);
}

static int parse_atomic(const char **out)
{
	static const char *const words[] = {"FETCH_AND_ADD", "CMP_AND_SWAP", NULL};
	static const char *const values[] = {"fetch_add", "cmp_swap"};

	return parse_word("-A", words, values, "FETCH_AND_ADD or CMP_AND_SWAP", out);
}

/* ---- options ---- */

static int take_value(int c, struct roce_perf_options *o)
{
	switch (c) {
	case 'd':
		o->sides.device[ROCE_VERIFY_INITIATOR] = optarg;
		return ROCE_EXIT_OK;
	case OPT_TARGET_DEVICE:
		o->sides.device[ROCE_VERIFY_TARGET] = optarg;
		return ROCE_EXIT_OK;
	case OPT_TOKEN:
		o->sides.token = optarg;
		return ROCE_EXIT_OK;
	case OPT_BIND:
		o->sides.bind_to = optarg;
		return ROCE_EXIT_OK;
	case OPT_JSON:
		o->sides.json = optarg;
		return ROCE_EXIT_OK;
	case 'i':
		return parse_number("-i", 1, 255, &o->sides.ib_port);
	case 'x':
		return parse_number("-x", 0, 255, &o->sides.gid_index);
	case 'p':
		return parse_number("-p", 1, 65535, &o->sides.port);
	case 's':
		return parse_size(&o->size);
	case 'n':
		return parse_number("-n", 10, MESSAGES_MAX, &o->messages);
	case 'D':
		return parse_duration(&o->duration_ms);
	case 'q':
		return parse_number("-q", 1, 1024, &o->qps);
	case 't':
		return parse_number("-t", 1, 4096, &o->depth);
	case 'm':
		return parse_mtu(&o->mtu);
	case 'I':
		return parse_number("-I", 0, 1024, &o->inline_max);
	case 'c':
		return parse_transport(&o->transport);
	default:
		return parse_atomic(&o->atomic);
	}
}

/* True: it is one without a value. */
static bool take_flag(int c, struct roce_perf_options *o)
{
	switch (c) {
	case 'a':
		return o->has_all_sizes = true;
	case 'b':
		return o->is_both = true;
	case 'R':
		return o->is_by_cm = true;
	case OPT_NO_TOKEN:
		return o->is_open = true;
	case OPT_PERSISTENT:
		o->sides.is_once = false;
		return true;
	case OPT_LOCAL:
		return o->is_local = true;
	case OPT_SYSTEM:
		return o->sides.is_system = true;
	case 'F':
	case OPT_IGNORED:
		return true;
	default:
		return false;
	}
}

static int take_options(int argc, char **argv, struct roce_perf_options *o)
{
	int c;

	optind = 0; /* anew, also for a second time */
	opterr = 0;
	while ((c = getopt_long(argc, argv, short_options, long_options, NULL)) != -1) {
		int rc;

		if (c == ':')
			return roce_usage_error("perf", "%s: its value is missing",
						argv[optind - 1]);
		if (c == '?')
			return roce_usage_error("perf", "no option %s", argv[optind - 1]);
		if (take_flag(c, o))
			continue;
		rc = take_value(c, o);
		if (rc)
			return rc;
	}
	return ROCE_EXIT_OK;
}

static int take_arguments(int argc, char **argv, struct roce_perf_options *o)
{
	if (optind == argc)
		return roce_usage_error("perf", "which test? One of %s", test_names);
	if (argc - optind > 2)
		return roce_usage_error("perf", "a test and a peer at most, got %s too",
					argv[optind + 2]);
	o->test = find_test(argv[optind]);
	if (!o->test)
		return roce_usage_error("perf", "no test %s, expected one of %s", argv[optind],
					test_names);
	if (argc - optind == 2)
		o->sides.peer = argv[optind + 1];
	o->is_server = !o->sides.peer && !o->is_local;
	return ROCE_EXIT_OK;
}

/* ---- what goes together ---- */

static int check_transport(struct roce_perf_options *o)
{
	bool is_ud_test = is_op(o, "ud_send");

	if (!o->transport)
		o->transport = is_ud_test ? "ud" : "rc";
	if (is_ud_test && !roce_perf_is_ud(o))
		return roce_usage_error("perf", "%s is a test of UD", o->test->name);
	if (roce_perf_is_ud(o) && !is_ud_test && !is_op(o, "send"))
		return roce_usage_error("perf", "%s: UD has SEND only", o->test->name);
	if (strcmp(o->transport, "uc") == 0 && roce_perf_is_to_completion(o))
		return roce_usage_error("perf", "%s: UC has WRITE and SEND only", o->test->name);
	if (o->is_by_cm && (strcmp(o->transport, "rc") != 0 || o->mtu))
		return roce_usage_error("perf",
					"-R: rdma_cm connects RC, and chooses the path MTU itself");
	if (roce_perf_is_ud(o) && o->size > 4096)
		return roce_usage_error("perf",
					"-s: UD messages end at the path MTU, 4096 at most");
	return ROCE_EXIT_OK;
}

static int check_shape(const struct roce_perf_options *o)
{
	if (o->messages && o->duration_ms)
		return roce_usage_error("perf", "-n and -D: one of them");
	if (o->size && o->has_all_sizes)
		return roce_usage_error("perf", "-s and -a: one of them");
	if (!o->test->op && (o->has_all_sizes || (o->size && o->size != 8)))
		return roce_usage_error("perf", "%s: atomics have 8 bytes", o->test->name);
	if (!roce_perf_is_bandwidth(o) && (o->qps || o->depth || o->is_both))
		return roce_usage_error("perf", "%s: -q, -t and -b are for bandwidth",
					o->test->name);
	if (o->atomic && o->test->op)
		return roce_usage_error("perf", "%s: -A is for atomics", o->test->name);
	return ROCE_EXIT_OK;
}

static int check_ends(struct roce_perf_options *o)
{
	bool is_client = o->sides.peer != NULL;

	if (o->is_local && is_client)
		return roce_usage_error("perf", "--local has both sides here, and no peer");
	if (!o->is_server && (o->is_open || !o->sides.is_once || o->sides.bind_to))
		return roce_usage_error("perf",
					"--no-token, --persistent and --bind belong to the server");
	if (o->is_server && o->sides.json)
		return roce_usage_error("perf", "--json: the figures are the client's");
	if (o->sides.token && (o->is_local || o->is_open))
		return roce_usage_error("perf", "--token: there is none with %s",
					o->is_local ? "--local" : "--no-token");
	if (o->sides.device[ROCE_VERIFY_TARGET] && !o->is_local)
		return roce_usage_error("perf",
					"--target-device belongs to --local; a server has its -d");
	if (o->sides.token && !roce_verify_token_is_good(o->sides.token))
		return roce_usage_error("perf", "--token: expected %d to %d characters",
					ROCE_VERIFY_TOKEN_MIN, ROCE_VERIFY_TOKEN_MAX);
	return ROCE_EXIT_OK;
}

/* ---- what was not said ---- */

static void fill_sides(struct roce_perf_options *o)
{
	struct roce_verify_options *s = &o->sides;

	if (!s->token && !o->is_local && !o->is_open)
		s->token = getenv("UROCE_VERIFY_TOKEN");
	if (!s->token && (s->peer || o->is_open))
		s->token = ROCE_VERIFY_TOKEN_OPEN;
	if (o->is_open && !s->bind_to)
		s->bind_to = "127.0.0.1";
	if (o->is_local && !s->device[ROCE_VERIFY_TARGET])
		s->device[ROCE_VERIFY_TARGET] = s->device[ROCE_VERIFY_INITIATOR];
	/* a link that carries the path MTU that was asked for */
	s->mtu = o->mtu + LINK_HEADERS > LINK_MTU ? o->mtu + LINK_HEADERS : LINK_MTU;
}

static void fill_shape(struct roce_perf_options *o)
{
	bool is_bandwidth = roce_perf_is_bandwidth(o);

	if (!o->test->op)
		o->size = 8;
	if (!o->size)
		o->size = is_bandwidth ? SIZE_BANDWIDTH : SIZE_LATENCY;
	if (roce_perf_is_ud(o) && o->size > 4096)
		o->size = o->mtu ? o->mtu : 1024;
	if (!o->qps)
		o->qps = 1;
	if (!o->depth)
		o->depth = DEPTH_DEFAULT;
	if (!o->atomic)
		o->atomic = "fetch_add";
	if (o->inline_max == UINT64_MAX)
		o->inline_max = is_bandwidth ? 0 : roce_perf_is_ud(o) ? 188 : 220;
	if (is_bandwidth && !o->messages && !o->duration_ms)
		o->duration_ms = o->has_all_sizes ? BANDWIDTH_ALL : BANDWIDTH_MS;
	if (!is_bandwidth && !o->messages)
		o->messages = o->duration_ms	 ? MESSAGES_MAX
			      : o->has_all_sizes ? LATENCY_ALL_N
						 : LATENCY_N;
}

int roce_perf_options_parse(int argc, char **argv, struct roce_perf_options *out)
{
	int rc;

	*out = (struct roce_perf_options){
		.sides =
			{
				.command = "perf",
				.kinds = LATENCY "," BANDWIDTH,
				.profile = "soft",
				.port = ROCE_VERIFY_PORT,
				.seed = 1,
				.repeat = 1,
				.gid_index = UINT64_MAX,
				.ib_port = UINT64_MAX,
				.is_once = true,
			},
		.inline_max = UINT64_MAX,
	};
	rc = take_options(argc, argv, out);
	if (!rc)
		rc = take_arguments(argc, argv, out);
	if (!rc)
		rc = check_transport(out);
	if (!rc)
		rc = check_shape(out);
	if (!rc)
		rc = check_ends(out);
	if (rc)
		return rc;
	fill_sides(out);
	fill_shape(out);
	return ROCE_EXIT_OK;
}
