/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `uroce perf`: server, client, or both. The server does what `uroce verify --server` does, for
 * measurements only and for one client; the client runs a plan of its own making.
 */
#include "tools/perf.h"
#include "tools/command.h"
#include "tools/verify_partial.h"

#include <stdlib.h>
#include <string.h>

struct shown {
	const struct roce_perf_options *o;
	struct roce_perf_text text;
};

static json_t *make_json(const void *context, const struct roce_verify_record *record)
{
	const struct roce_perf_options *o = context;
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
	const char *json = s->o->sides.json;
	struct roce_verify_partial partial = {.make = make_json, .context = s->o};
	struct roce_verify_run_options run = *options;
	struct roce_verify_watcher as_text;
	struct roce_verify_watcher watcher;

	run.ends_at_failure = true;
	/* A report on the standard output stays alone there. */
	roce_perf_text_init(&s->text, s->o, roce_verify_is_on_stdout(json) ? stderr : stdout);
	as_text = roce_perf_text_watcher(&s->text);
	watcher = roce_verify_partial_watcher(&partial, json, &as_text);
	roce_verify_run(&run, &watcher, record);
}

static int report(void *context, const struct roce_verify_record *record)
{
	struct shown *s = context;
	const char *json = s->o->sides.json;
	int status = roce_verify_exit_status(record);
	int rc = ROCE_EXIT_OK;

	roce_perf_text_summary(&s->text, record);
	if (json)
		rc = roce_verify_write_json("perf", json, make_json(s->o, record));
	roce_perf_text_end(&s->text, status == ROCE_EXIT_INTERRUPTED);
	return status ? status : rc;
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
