/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `uroce verify`: options, files, places; the run itself is src/verify. Whatever goes wrong before
 * the first case is a usage error; a run that was begun has a report, also when it is broken off.
 */
#include "tools/command.h"
#include "tools/environment.h"
#include "tools/place.h"

#include "verify/kind.h"
#include "verify/place.h"
#include "verify/run.h"
#include "verify/terminal.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define MTU_DEFAULT	 1500
#define EXIT_INTERRUPTED 130
#define PLAN_BYTES_MAX	 (4u << 20)

struct options {
	const char *plan;
	const char *only;
	const char *skip;
	const char *profile;
	const char *json;
	const char *junit;
	const char *device[ROCE_VERIFY_SIDES];
	uint64_t seed;
	uint64_t repeat;
	uint64_t mtu;
	uint64_t gid_index; /* UINT64_MAX: chosen */
	bool is_list;
	bool is_self_test;
	bool is_system;
	bool is_quiet;
};

enum {
	OPT_PLAN = 256,
	OPT_ONLY,
	OPT_SKIP,
	OPT_LIST,
	OPT_REPEAT,
	OPT_SEED,
	OPT_PROFILE,
	OPT_JSON,
	OPT_JUNIT,
	OPT_SYSTEM,
	OPT_SELF_TEST,
	OPT_DEVICE,
	OPT_TARGET_DEVICE,
	OPT_GID_INDEX,
	OPT_MTU,
};

static const struct option long_options[] = {
	{"plan", required_argument, NULL, OPT_PLAN},
	{"only", required_argument, NULL, OPT_ONLY},
	{"skip", required_argument, NULL, OPT_SKIP},
	{"list", no_argument, NULL, OPT_LIST},
	{"repeat", required_argument, NULL, OPT_REPEAT},
	{"seed", required_argument, NULL, OPT_SEED},
	{"profile", required_argument, NULL, OPT_PROFILE},
	{"json", required_argument, NULL, OPT_JSON},
	{"junit", required_argument, NULL, OPT_JUNIT},
	{"system", no_argument, NULL, OPT_SYSTEM},
	{"self-test", no_argument, NULL, OPT_SELF_TEST},
	{"device", required_argument, NULL, OPT_DEVICE},
	{"target-device", required_argument, NULL, OPT_TARGET_DEVICE},
	{"gid-index", required_argument, NULL, OPT_GID_INDEX},
	{"mtu", required_argument, NULL, OPT_MTU},
	{"quiet", no_argument, NULL, 'q'},
	{NULL, 0, NULL, 0},
};

static int parse_number(const char *option, const char *text, uint64_t least, uint64_t most,
			uint64_t *out)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *end || end == text || *text == '-' || value < least || value > most)
		return roce_usage_error(
			"verify", "--%s: found %s, expected a number from %llu to %llu", option,
			text, (unsigned long long)least, (unsigned long long)most);
	*out = value;
	return ROCE_EXIT_OK;
}

static int parse_option(int c, struct options *o)
{
	switch (c) {
	case OPT_PLAN:
		o->plan = optarg;
		break;
	case OPT_ONLY:
		o->only = optarg;
		break;
	case OPT_SKIP:
		o->skip = optarg;
		break;
	case OPT_LIST:
		o->is_list = true;
		break;
	case OPT_REPEAT:
		return parse_number("repeat", optarg, 1, 1000, &o->repeat);
	case OPT_SEED:
		return parse_number("seed", optarg, 0, UINT64_MAX >> 12, &o->seed);
	case OPT_PROFILE:
		o->profile = optarg;
		break;
	case OPT_JSON:
		o->json = optarg;
		break;
	case OPT_JUNIT:
		o->junit = optarg;
		break;
	case OPT_SYSTEM:
		o->is_system = true;
		break;
	case OPT_SELF_TEST:
		o->is_self_test = true;
		break;
	case OPT_DEVICE:
		o->device[ROCE_VERIFY_INITIATOR] = optarg;
		break;
	case OPT_TARGET_DEVICE:
		o->device[ROCE_VERIFY_TARGET] = optarg;
		break;
	case OPT_GID_INDEX:
		return parse_number("gid-index", optarg, 0, 255, &o->gid_index);
	case OPT_MTU:
		return parse_number("mtu", optarg, 1280, 65535, &o->mtu);
	case 'q':
		o->is_quiet = true;
		break;
	default:
		return -1;
	}
	return ROCE_EXIT_OK;
}

static int parse_options(int argc, char **argv, struct options *o)
{
	int c;

	optind = 1;
	opterr = 0;
	while ((c = getopt_long(argc, argv, "q", long_options, NULL)) != -1) {
		int rc = parse_option(c, o);

		if (rc == -1)
			return roce_usage_error("verify", "no option %s, or its value is missing",
						argv[optind - 1]);
		if (rc)
			return rc;
	}
	if (optind < argc)
		return roce_usage_error("verify", "takes no argument, got %s", argv[optind]);
	if (o->is_self_test && (o->plan || o->is_system))
		return roce_usage_error("verify", "--self-test is a plan of its own, on uroce");
	return ROCE_EXIT_OK;
}

/* ---- the plan ---- */

static char *read_file(const char *path, size_t *out_length)
{
	FILE *f = fopen(path, "re");
	char *text = f ? malloc(PLAN_BYTES_MAX + 1) : NULL;

	if (!text) {
		fprintf(stderr, "uroce verify: %s: %s\n", path, strerror(errno));
		if (f)
			fclose(f);
		return NULL;
	}
	*out_length = fread(text, 1, PLAN_BYTES_MAX + 1, f);
	if (ferror(f) || *out_length > PLAN_BYTES_MAX) {
		fprintf(stderr, "uroce verify: %s: %s\n", path,
			ferror(f) ? strerror(errno) : "longer than 4 MiB");
		free(text);
		text = NULL;
	}
	fclose(f);
	return text;
}

static struct roce_verify_plan *load_plan(const struct options *o)
{
	struct roce_verify_text text =
		o->is_self_test ? roce_verify_self_test_plan() : roce_verify_default_plan();
	const char *name = o->plan ? o->plan : o->is_self_test ? "self-test" : "default plan";
	char *from_file = NULL;
	struct roce_problems problems;
	struct roce_verify_plan *plan;

	if (o->plan) {
		from_file = read_file(o->plan, &text.length);
		if (!from_file)
			return NULL;
		text.text = from_file;
	}
	roce_problems_init(&problems, name);
	plan = roce_verify_plan_load(text.text, text.length, name, &problems);
	free(from_file);
	for (uint32_t i = 0; i < roce_problems_kept(&problems); i++)
		fprintf(stderr, "%s\n", problems.text[i]);
	if (problems.count > ROCE_PROBLEMS_MAX)
		fprintf(stderr, "uroce verify: and %u more\n", problems.count - ROCE_PROBLEMS_MAX);
	return plan;
}

static void print_list(const struct roce_verify_plan *plan, const char *profile)
{
	for (uint32_t i = 0; i < plan->case_count; i++) {
		const struct roce_verify_case *c = &plan->cases[i];
		struct roce_verify_outcome o = {
			.c = c,
			.threshold = roce_verify_case_threshold(c, profile),
		};
		char threshold[256];

		if (!c->is_wanted)
			continue;
		roce_verify_threshold_text(&o, threshold, sizeof(threshold));
		printf("%-32s %s%s%s%s\n", c->name, c->proves, *threshold ? " [" : "", threshold,
		       *threshold ? "]" : "");
	}
}

/* ---- places ---- */

static int set_environment(void *context)
{
	struct roce_environment_extras extras = {0};

	return roce_environment_set(context, &extras);
}

static int find_agent(const struct roce_place *place, char *out, size_t size)
{
	const char *slash = strrchr(place->self, '/');

	snprintf(out, size, "%.*s/verify-agent", (int)(slash - place->self), place->self);
	if (access(out, X_OK) == 0)
		return ROCE_EXIT_OK;
	fprintf(stderr, "uroce verify: %s: %s\n", out, strerror(errno));
	return ROCE_EXIT_USAGE;
}

static int open_place(const struct options *o, struct roce_verify_place *out,
		      struct roce_verify_record *record)
{
	static struct roce_place place;
	char agent[PATH_MAX + 32];
	char err[256];
	struct roce_verify_launch launch = {.agent = agent};
	int rc = roce_place_find(&place, err, sizeof(err));

	if (!rc) {
		rc = find_agent(&place, agent, sizeof(agent));
		if (rc)
			return rc;
		if (!o->is_system) {
			launch.prepare = set_environment;
			launch.context = &place;
		}
		record->place = o->is_system ? "system" : o->is_self_test ? "here" : "namespaces";
		rc = o->is_system || o->is_self_test
			     ? roce_verify_place_here(out, &launch, true, err, sizeof(err))
			     : roce_verify_place_namespaces(out, &launch, (uint32_t)o->mtu, err,
							    sizeof(err));
	}
	if (!rc)
		return ROCE_EXIT_OK;
	fprintf(stderr, "uroce verify: %s\n", err);
	return ROCE_EXIT_USAGE;
}

static json_t *make_where(const struct options *o, int side)
{
	json_t *where = json_object();
	const char *device = o->device[side];

	if (o->is_self_test && !device)
		device = "uroce_lo";
	if (device)
		json_object_set_new(where, "device", json_string(device));
	if (o->gid_index != UINT64_MAX)
		json_object_set_new(where, "gid_index", json_integer((json_int_t)o->gid_index));
	return where;
}

/* ---- reports ---- */

static int write_json(const char *path, const struct roce_verify_record *record)
{
	json_t *json = roce_verify_record_json(record);
	int rc = -1;

	errno = ENOMEM;
	if (json)
		rc = strcmp(path, "-") == 0 ? json_dumpf(json, stdout, JSON_INDENT(1))
					    : json_dump_file(json, path, JSON_INDENT(1));
	if (rc)
		fprintf(stderr, "uroce verify: %s: %s\n", path, strerror(errno));
	else if (strcmp(path, "-") == 0)
		putchar('\n');
	json_decref(json);
	return rc ? ROCE_EXIT_FAILED : ROCE_EXIT_OK;
}

static int write_junit(const char *path, const struct roce_verify_record *record)
{
	FILE *f = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");

	if (f)
		roce_verify_record_junit(record, f);
	if (!f || ferror(f) || (f != stdout && fclose(f))) {
		fprintf(stderr, "uroce verify: %s: %s\n", path, strerror(errno));
		return ROCE_EXIT_FAILED;
	}
	return ROCE_EXIT_OK;
}

static int write_reports(const struct options *o, const struct roce_verify_record *record)
{
	int rc = ROCE_EXIT_OK;

	if (o->json && write_json(o->json, record))
		rc = ROCE_EXIT_FAILED;
	if (o->junit && write_junit(o->junit, record))
		rc = ROCE_EXIT_FAILED;
	return rc;
}

/* A file that cannot be written is better known before the run than after it. */
static int check_writable(const char *path)
{
	FILE *f;

	if (!path || strcmp(path, "-") == 0)
		return ROCE_EXIT_OK;
	f = fopen(path, "ae");
	if (!f) {
		fprintf(stderr, "uroce verify: %s: %s\n", path, strerror(errno));
		return ROCE_EXIT_USAGE;
	}
	fclose(f);
	return ROCE_EXIT_OK;
}

/* ---- the run ---- */

static int take_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int exit_status(const struct roce_verify_record *record)
{
	if (record->broken_off && strcmp(record->broken_off, "interrupted") == 0)
		return EXIT_INTERRUPTED;
	return record->broken_off || roce_verify_record_count(record, ROCE_VERIFY_FAIL)
		       ? ROCE_EXIT_FAILED
		       : ROCE_EXIT_OK;
}

static bool is_on_stdout(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

static int run_in_place(const struct options *o, const struct roce_verify_place *place,
			int signal_fd, struct roce_verify_record *record)
{
	struct roce_verify_run_options run = {
		.fds = {place->fds[0], place->fds[1]},
		.signal_fd = signal_fd,
		.where = {make_where(o, 0), make_where(o, 1)},
	};
	/* JSON on the standard output stays alone there. */
	FILE *out = is_on_stdout(o->json) || is_on_stdout(o->junit) ? stderr : stdout;
	struct roce_verify_terminal terminal;
	struct roce_verify_watcher watcher;
	int rc;

	roce_verify_terminal_init(&terminal, out, record, o->is_quiet);
	watcher = roce_verify_terminal_watcher(&terminal);
	roce_verify_run(&run, &watcher, record);
	roce_verify_terminal_summary(&terminal, record);
	rc = write_reports(o, record);
	for (int side = 0; side < ROCE_VERIFY_SIDES; side++)
		json_decref(run.where[side]);
	return exit_status(record) ? exit_status(record) : rc;
}

static int run_plan(const struct options *o, struct roce_verify_plan *plan)
{
	struct roce_verify_record record;
	struct roce_verify_place place;
	int signal_fd;
	int rc;

	if (!roce_verify_record_init(&record, plan, (uint32_t)o->repeat)) {
		fprintf(stderr, "uroce verify: out of memory\n");
		return ROCE_EXIT_USAGE;
	}
	record.profile = o->profile;
	record.seed = o->seed;
	signal_fd = take_signals();
	rc = open_place(o, &place, &record);
	if (!rc) {
		rc = run_in_place(o, &place, signal_fd, &record);
		place.fds[0] = place.fds[1] = -1;
		roce_verify_place_close(&place);
	}
	close(signal_fd);
	roce_verify_record_fini(&record);
	return rc;
}

static int select_cases(const struct options *o, struct roce_verify_plan *plan)
{
	if (!roce_verify_plan_select(plan, o->only, o->skip)) {
		fprintf(stderr, "uroce verify: no case is left (--list shows their names)\n");
		return ROCE_EXIT_USAGE;
	}
	if (strcmp(o->profile, "soft") != 0 && !roce_verify_plan_has_profile(plan, o->profile)) {
		fprintf(stderr,
			"uroce verify: no case of the plan has a threshold for profile %s\n",
			o->profile);
		return ROCE_EXIT_USAGE;
	}
	return ROCE_EXIT_OK;
}

int roce_cmd_verify(int argc, char **argv)
{
	struct options o = {
		.profile = "soft",
		.seed = 1,
		.repeat = 1,
		.mtu = MTU_DEFAULT,
		.gid_index = UINT64_MAX,
	};
	struct roce_verify_plan *plan;
	int rc = parse_options(argc, argv, &o);

	if (rc)
		return rc;
	plan = load_plan(&o);
	if (!plan)
		return ROCE_EXIT_USAGE;
	rc = select_cases(&o, plan);
	if (!rc && o.is_list) {
		print_list(plan, o.profile);
	} else if (!rc) {
		rc = check_writable(o.json);
		if (!rc)
			rc = check_writable(o.junit);
		if (!rc)
			rc = run_plan(&o, plan);
	}
	roce_verify_plan_destroy(plan);
	return rc;
}
