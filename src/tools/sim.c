/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `uroce sim`: a scenario is loaded, checked, planned, built, run and told about. What is wrong
 * with it is said line by line, with exit status 2; a run that ends in a deadlock or with failed
 * flows has done what it is for, and has status 0. One whose messages arrived wrong has status 1:
 * whoever asks for bytes to be compared asks whether they are right. SIGINT, SIGTERM and SIGHUP end
 * the run where it is: what there is by then is told, and the status is 128 and the signal's
 * number. A second one ends the program.
 */
#include "tools/command.h"
#include "tools/sim.h"
#include "tools/sim_record.h"

#include "base/memory_left.h"
#include "scenario/explain.h"
#include "scenario/hpcc.h"

#include <errno.h>
#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define SLICE_PS_FIRST (10 * ROCE_PS_PER_US)
#define SLICE_PS_LAST  (UINT64_C(1) << 60)
#define SLICE_SECONDS  0.05

/* What is so large comes from the system, page by page as it is touched: the tables of a host, of
 * which a small network touches next to nothing. glibc raises this when a large block is freed, as
 * a scenario's text, and then clears a part of every table. */
#define MAPPED_BYTES (1 << 20)

/* A run stops when so little is left: more than one slice of it takes. Where there was little from
 * the start, in a small container, that is a part of it. */
#define MEMORY_LEAST	  (UINT64_C(256) << 20)
#define MEMORY_LEAST_PART 8

struct options {
	bool is_check;
	bool is_explain;
	bool is_schema;
	const char *seed;
	const char *until;
	const char *key;
	const char *file;
	bool is_hpcc;
	struct roce_hpcc_files hpcc;
	struct roce_sim_record_options record;
};

enum {
	OPT_CHECK = 256,
	OPT_EXPLAIN,
	OPT_SCHEMA,
	OPT_JSON,
	OPT_SEED,
	OPT_UNTIL,
	OPT_HPCC,
	OPT_HTML,
	OPT_LOG,
	OPT_CAPTURE,
	OPT_PORTS,
	OPT_SAMPLES,
	OPT_COUNTERS
};

static const struct option long_options[] = {
	{"check", no_argument, NULL, OPT_CHECK},
	{"explain", no_argument, NULL, OPT_EXPLAIN},
	{"schema", no_argument, NULL, OPT_SCHEMA},
	{"json", required_argument, NULL, OPT_JSON},
	{"seed", required_argument, NULL, OPT_SEED},
	{"until", required_argument, NULL, OPT_UNTIL},
	{"hpcc", no_argument, NULL, OPT_HPCC},
	{"html", required_argument, NULL, OPT_HTML},
	{"log", required_argument, NULL, OPT_LOG},
	{"capture", required_argument, NULL, OPT_CAPTURE},
	{"ports", required_argument, NULL, OPT_PORTS},
	{"samples", required_argument, NULL, OPT_SAMPLES},
	{"counters", required_argument, NULL, OPT_COUNTERS},
	{NULL, 0, NULL, 0},
};

static int parse_options(int argc, char **argv, struct options *o)
{
	int c;

	optind = 1;
	opterr = 0;
	while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		switch (c) {
		case OPT_CHECK:
			o->is_check = o->record.is_check = true;
			break;
		case OPT_EXPLAIN:
			o->is_explain = true;
			break;
		case OPT_SCHEMA:
			o->is_schema = true;
			break;
		case OPT_JSON:
			o->record.json = optarg;
			break;
		case OPT_SEED:
			o->seed = optarg;
			break;
		case OPT_UNTIL:
			o->until = optarg;
			break;
		case OPT_HPCC:
			o->is_hpcc = true;
			break;
		case OPT_HTML:
			o->record.html = optarg;
			break;
		case OPT_LOG:
			o->record.log = optarg;
			break;
		case OPT_CAPTURE:
			o->record.capture = optarg;
			break;
		case OPT_PORTS:
			o->record.ports = optarg;
			break;
		case OPT_SAMPLES:
			o->record.samples = optarg;
			break;
		case OPT_COUNTERS:
			o->record.counters = optarg;
			break;
		default:
			return roce_usage_error("sim", "no option %s, or its value is missing",
						argv[optind - 1]);
		}
	}
	argc -= optind;
	argv += optind;
	if (o->is_hpcc && argc != 3)
		return roce_usage_error(
			"sim", "--hpcc: expected TOPOLOGY FLOWS CONFIG, got %d files", argc);
	if (!o->is_hpcc && argc > 1)
		return roce_usage_error("sim", "one argument, got %s too", argv[1]);
	o->file = argv[0];
	for (int i = 0; i < argc; i++)
		o->record.inputs[i] = argv[i];
	if (o->is_hpcc)
		o->hpcc = (struct roce_hpcc_files){argv[0], argv[1], argv[2]};
	return ROCE_EXIT_OK;
}

/* ---- explaining ---- */

static int explain(const char *key)
{
	char nearest[128];

	if (!key) {
		roce_explain_list(stdout);
		return ROCE_EXIT_OK;
	}
	if (roce_explain_key(stdout, key, nearest) == 0)
		return ROCE_EXIT_OK;
	return roce_usage_error("sim", "no key %s%s%s%s", key, *nearest ? "; did you mean " : "",
				nearest, *nearest ? "?" : "");
}

static int print_schema(void)
{
	if (roce_explain_schema(stdout) == 0)
		return ROCE_EXIT_OK;
	fprintf(stderr, "uroce sim: out of memory\n");
	return ROCE_EXIT_FAILED;
}

/* ---- running ---- */

static int print_problems(const struct roce_problems *problems)
{
	uint32_t kept = roce_problems_kept(problems);

	for (uint32_t i = 0; i < kept; i++)
		fprintf(stderr, "%s\n", problems->text[i]);
	if (kept < problems->count)
		fprintf(stderr, "%s: and %u more\n", problems->file, problems->count - kept);
	return ROCE_EXIT_USAGE;
}

/* What the command line says over the file. */
static int apply_options(const struct options *o, struct roce_general_conf *general)
{
	if (o->seed && roce_unit_parse(ROCE_UNIT_COUNT, o->seed, &general->seed))
		return roce_usage_error("sim", "--seed %s: expected %s", o->seed,
					roce_unit_expected(ROCE_UNIT_COUNT));
	if (o->until && roce_unit_parse(ROCE_UNIT_TIME, o->until, &general->until))
		return roce_usage_error("sim", "--until %s: expected %s", o->until,
					roce_unit_expected(ROCE_UNIT_TIME));
	return ROCE_EXIT_OK;
}

static volatile sig_atomic_t interrupted_by;

static void on_signal(int number)
{
	interrupted_by = number;
}

static void catch_signals(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
	struct sigaction was;

	for (unsigned int i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		/* nohup and `&` in scripts want them ignored. */
		if (sigaction(numbers[i], NULL, &was) == 0 && was.sa_handler != SIG_IGN)
			(void)sigaction(numbers[i], &action, NULL);
	}
}

/* In slices of about SLICE_SECONDS, so that the bar moves, a signal is heeded, and back for what is
 * to be done then. */
static enum roce_fabric_end run(struct roce_built *built, struct roce_sim_record *record,
				uint64_t until_ps, struct roce_sim_bar *bar)
{
	enum roce_fabric_end end = ROCE_FABRIC_END_TIME;
	uint64_t slice = SLICE_PS_FIRST;
	uint64_t now = 0;
	uint64_t least = roce_memory_left() / MEMORY_LEAST_PART;
	double looked = roce_sim_clock(); /* at the memory */

	if (least > MEMORY_LEAST)
		least = MEMORY_LEAST;
	while (end == ROCE_FABRIC_END_TIME && now < until_ps && !interrupted_by) {
		uint64_t stop = roce_build_next_stop(built, now);
		uint64_t sample = roce_sim_record_next_stop(record);
		uint64_t to = stop < until_ps ? stop : until_ps;
		double begun = roce_sim_clock();

		if (begun - looked >= SLICE_SECONDS) {
			if (roce_memory_left() < least)
				return ROCE_FABRIC_END_MEMORY;
			looked = begun;
		}
		if (to - now > slice)
			to = now + slice;
		if (sample < to)
			to = sample;
		end = roce_fabric_run(built->fabric, to);
		now = roce_fabric_now_ps(built->fabric);
		if (now == stop)
			roce_build_reroute(built);
		roce_sim_record_look(record);
		if (roce_sim_clock() - begun >= SLICE_SECONDS)
			slice = slice / 2 + 1;
		else if (slice < SLICE_PS_LAST)
			slice *= 2;
		roce_sim_bar_draw(bar);
	}
	return end == ROCE_FABRIC_END_TIME && now < until_ps ? ROCE_FABRIC_END_STOPPED : end;
}

static int report(struct roce_outcome *outcome, struct roce_sim_record *sr)
{
	bool has_rates = sr->record && outcome->built->plan->scenario->output.rates;
	const struct roce_rates *rates = has_rates ? roce_record_rates(sr->record) : NULL;
	const char *path = sr->options->json;
	int r = 0;

	if (sr->json != stdout)
		roce_sim_print_table(outcome, stdout);
	if (sr->json)
		r = roce_sim_write_json(outcome, rates, sr->json);
	if (!r)
		return roce_sim_record_close_json(sr);
	fprintf(stderr, "uroce sim: %s: %s\n", path, strerror(-r));
	return ROCE_EXIT_FAILED;
}

static int judge(enum roce_fabric_end end, const struct roce_fabric_totals *totals)
{
	if (end == ROCE_FABRIC_END_MEMORY) {
		fprintf(stderr, "uroce sim: the memory is nearly used up: stopped\n");
		return ROCE_EXIT_FAILED;
	}
	if (!totals->messages_wrong)
		return ROCE_EXIT_OK;
	fprintf(stderr, "uroce sim: %llu of %llu messages arrived wrong\n",
		(unsigned long long)totals->messages_wrong,
		(unsigned long long)totals->messages_checked);
	return ROCE_EXIT_FAILED;
}

/* Frees the text, which may be NULL. */
static void warn(const struct roce_built *built, char *text)
{
	if (text)
		fprintf(stderr, "%s: warning: %s\n", built->plan->scenario->file, text);
	free(text);
}

/* Deadlocks and loops are built on purpose, too: this refuses nothing. */
static int warn_of_routes(struct roce_built *built)
{
	if (roce_build_find_circle(built)) {
		fprintf(stderr, "uroce sim: out of memory\n");
		return ROCE_EXIT_FAILED;
	}
	warn(built, roce_build_circle_text(built));
	warn(built, roce_build_way_text(built));
	return ROCE_EXIT_OK;
}

/* Runs what is built, and tells of it. */
static int run_built(struct roce_built *built, struct roce_sim_record *record)
{
	uint64_t until = built->plan->scenario->general.until;
	struct roce_outcome outcome;
	struct roce_sim_bar bar;
	enum roce_fabric_end end;
	double begun;
	int rc = roce_sim_record_begin(record, built);

	if (rc != ROCE_EXIT_OK)
		return rc;
	until = until ? until : ROCE_FABRIC_NEVER;
	roce_sim_bar_init(&bar, built, until);
	begun = roce_sim_clock();
	end = run(built, record, until, &bar);
	roce_sim_bar_end(&bar);
	if (roce_outcome_init(&outcome, built, end)) {
		fprintf(stderr, "uroce sim: out of memory\n");
		return ROCE_EXIT_FAILED;
	}
	outcome.wall_seconds = roce_sim_clock() - begun;
	rc = roce_sim_record_end(record, end);
	if (rc == ROCE_EXIT_OK)
		rc = report(&outcome, record);
	if (rc == ROCE_EXIT_OK)
		rc = judge(end, &outcome.totals);
	roce_outcome_fini(&outcome);
	if (rc == ROCE_EXIT_OK && end == ROCE_FABRIC_END_STOPPED)
		rc = 128 + (int)interrupted_by;
	return rc;
}

static int run_plan(const struct options *o, const struct roce_plan *plan,
		    struct roce_problems *problems)
{
	struct roce_sim_record record;
	struct roce_built built = {0};
	int rc;

	catch_signals();
	if (!roce_build_check_memory(plan, roce_memory_left(), problems))
		return print_problems(problems);
	rc = roce_sim_record_init(&record, &o->record, plan);

	if (rc == ROCE_EXIT_OK) {
		if (!roce_build(&built, plan, roce_sim_record_observer(&record), record.record,
				problems))
			rc = print_problems(problems);
		else
			rc = warn_of_routes(&built);
		if (rc == ROCE_EXIT_OK && !o->is_check)
			rc = run_built(&built, &record);
		roce_build_fini(&built);
	}
	roce_sim_record_fini(&record);
	return rc;
}

/* Files that a scenario names are looked for beside it. */
static int run_scenario(const struct options *o)
{
	static struct roce_problems problems;
	struct roce_scenario *scenario;
	struct roce_plan plan;
	const char *slash = strrchr(o->file, '/');
	char *folder = slash ? strndup(o->file, (size_t)(slash - o->file)) : strdup(".");
	int rc;

	roce_problems_init(&problems, o->file);
	scenario = roce_scenario_load_file(o->file, &problems);
	if (!scenario || !folder) {
		free(folder);
		roce_scenario_destroy(scenario);
		return print_problems(&problems);
	}
	rc = apply_options(o, &scenario->general);
	if (rc == ROCE_EXIT_OK) {
		if (roce_plan_init(&plan, scenario, folder, &problems))
			rc = run_plan(o, &plan, &problems);
		else
			rc = print_problems(&problems);
		roce_plan_fini(&plan);
	}
	roce_scenario_destroy(scenario);
	free(folder);
	return rc;
}

static int run_hpcc(const struct options *o)
{
	static struct roce_problems problems;
	struct roce_scenario *scenario = roce_scenario_create(o->hpcc.config);
	struct roce_plan plan;
	int rc;

	if (!scenario) {
		fprintf(stderr, "uroce sim: out of memory\n");
		return ROCE_EXIT_FAILED;
	}
	roce_problems_init(&problems, o->hpcc.config);
	if (!roce_hpcc_plan(&plan, scenario, &o->hpcc, &problems))
		rc = print_problems(&problems);
	else
		rc = apply_options(o, &scenario->general);
	if (rc == ROCE_EXIT_OK)
		rc = run_plan(o, &plan, &problems);
	roce_plan_fini(&plan);
	roce_scenario_destroy(scenario);
	return rc;
}

int roce_cmd_sim(int argc, char **argv)
{
	struct options o = {0};
	int rc = parse_options(argc, argv, &o);

	(void)mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
	if (rc != ROCE_EXIT_OK)
		return rc;
	if (o.is_schema && o.file)
		return roce_usage_error("sim", "--schema takes no argument, got %s", o.file);
	if (o.is_schema)
		return print_schema();
	if (o.is_explain)
		return explain(o.file);
	if (!o.file)
		return roce_usage_error("sim", "no scenario given");
	return o.is_hpcc ? run_hpcc(&o) : run_scenario(&o);
}
