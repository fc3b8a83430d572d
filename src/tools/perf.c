/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `uroce perf`: server, client, or both. The server does what `uroce verify --server` does, for
 * measurements only and for one client; the client runs a plan of its own making.
 */
#include "tools/perf.h"
#include "tools/command.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct shown {
	const struct roce_perf_options *o;
	struct roce_perf_text text;
};

static json_t *make_json(const struct roce_perf_options *o, const struct roce_verify_record *record)
{
	json_t *json = roce_verify_record_json(record);

	if (json)
		json_object_set_new(json, "perf",
				    json_pack("{s:s, s:o}", "test", o->test->name, "hints",
					      roce_perf_hints(o, record)));
	return json;
}

static void run_shown(void *context, const struct roce_verify_run_options *options,
		      struct roce_verify_record *record)
{
	struct shown *s = context;
	struct roce_verify_run_options run = *options;
	struct roce_verify_watcher watcher;

	s->text = (struct roce_perf_text){
		.o = s->o,
		/* A report on the standard output stays alone there. */
		.out = roce_verify_is_on_stdout(s->o->sides.json) ? stderr : stdout,
		.has_progress = isatty(STDERR_FILENO),
	};
	watcher = roce_perf_text_watcher(&s->text);
	run.ends_at_failure = true;
	roce_verify_run(&run, &watcher, record);
}

static int report(void *context, const struct roce_verify_record *record)
{
	struct shown *s = context;
	const char *json = s->o->sides.json;
	int rc = ROCE_EXIT_OK;

	roce_perf_text_end(&s->text, record);
	if (json)
		rc = roce_verify_write_json("perf", json, make_json(s->o, record));
	return roce_verify_exit_status(record) ? roce_verify_exit_status(record) : rc;
}

static int serve(struct roce_perf_options *o)
{
	char client[64];

	snprintf(client, sizeof(client), "perf %s", o->test->name);
	o->sides.client = client;
	return roce_verify_serve_command(&o->sides);
}

int roce_cmd_perf(int argc, char **argv)
{
	struct roce_perf_options o;
	struct shown shown = {.o = &o};
	const struct roce_verify_between between = {&shown, run_shown, report};
	struct roce_verify_plan *plan;
	int rc = roce_perf_options_parse(argc, argv, &o);

	if (rc)
		return rc;
	if (o.is_server)
		return serve(&o);
	plan = roce_perf_plan(&o);
	if (!plan)
		return ROCE_EXIT_USAGE;
	rc = roce_verify_check_writable("perf", o.sides.json);
	if (!rc)
		rc = roce_verify_run_plan(&o.sides, plan, &between);
	roce_verify_plan_destroy(plan);
	return rc;
}
