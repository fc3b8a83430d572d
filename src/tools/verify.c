/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `uroce verify`: options, files, places; the run itself is src/verify. Whatever goes wrong before
 * the first case is a usage error; a run that was begun has a report, also when it is broken off.
 */
#include "tools/command.h"
#include "tools/verify.h"
#include "tools/verify_partial.h"

#include "verify/kind.h"
#include "verify/page.h"
#include "verify/run.h"
#include "verify/terminal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- reports ---- */

static int write_junit(const char *path, const struct roce_verify_record *record)
{
	struct roce_verify_file file;

	if (roce_verify_file_begin(&file, path))
		roce_verify_record_junit(record, file.stream);
	return roce_verify_file_end(&file, "verify");
}

static int write_html(const char *path, const struct roce_verify_record *record)
{
	struct roce_verify_file file;

	if (roce_verify_file_begin(&file, path) && !roce_verify_page(record, file.stream))
		file.error = ENOMEM;
	return roce_verify_file_end(&file, "verify");
}

static json_t *make_json(const void *context, const struct roce_verify_record *record)
{
	(void)context;
	return roce_verify_record_json(record);
}

static int write_reports(const struct roce_verify_options *o,
			 const struct roce_verify_record *record)
{
	int rc = ROCE_EXIT_OK;

	if (o->json && roce_verify_write_json("verify", o->json, roce_verify_record_json(record)))
		rc = ROCE_EXIT_FAILED;
	if (o->junit && write_junit(o->junit, record))
		rc = ROCE_EXIT_FAILED;
	if (o->html && write_html(o->html, record))
		rc = ROCE_EXIT_FAILED;
	return rc;
}

/* ---- the run ---- */

struct shown {
	const struct roce_verify_options *o;
	struct roce_verify_terminal terminal;
};

static void run_shown(void *context, const struct roce_verify_run_options *run,
		      struct roce_verify_record *record)
{
	struct shown *s = context;
	const struct roce_verify_options *o = s->o;
	/* A report on the standard output stays alone there. */
	bool is_taken = roce_verify_is_on_stdout(o->json) || roce_verify_is_on_stdout(o->junit) ||
			roce_verify_is_on_stdout(o->html);
	struct roce_verify_partial partial = {.make = make_json};
	struct roce_verify_watcher on_terminal;
	struct roce_verify_watcher watcher;

	roce_verify_terminal_init(&s->terminal, is_taken ? stderr : stdout, record, o->is_quiet);
	on_terminal = roce_verify_terminal_watcher(&s->terminal);
	watcher = roce_verify_partial_watcher(&partial, o->json, &on_terminal);
	roce_verify_run(run, &watcher, record);
	roce_verify_terminal_summary(&s->terminal, record);
}

static int report(void *context, const struct roce_verify_record *record)
{
	struct shown *s = context;
	int status = roce_verify_exit_status(record);
	int rc = write_reports(s->o, record);

	roce_verify_terminal_end(&s->terminal, status == ROCE_EXIT_INTERRUPTED);
	return status ? status : rc;
}

int roce_cmd_verify(int argc, char **argv)
{
	struct roce_verify_options o;
	struct shown shown = {.o = &o};
	const struct roce_verify_between between = {&shown, run_shown, report};
	struct roce_verify_plan *plan;
	int rc;

	if (argc > 1 && strcmp(argv[1], "diff") == 0)
		return roce_verify_diff_command(argc - 1, argv + 1);
	rc = roce_verify_options_parse(argc, argv, &o);
	if (rc)
		return rc;
	if (o.is_server)
		return roce_verify_serve_command(&o);
	if (o.is_plan_printed) {
		roce_verify_plan_print_text(&o);
		return ROCE_EXIT_OK;
	}
	plan = roce_verify_plan_open(&o);
	if (!plan)
		return ROCE_EXIT_USAGE;
	if (o.is_explained) {
		rc = roce_verify_explain(plan, o.explained);
	} else if (o.is_list) {
		roce_verify_plan_print(plan, o.profile);
	} else {
		rc = roce_verify_check_writable("verify", o.json);
		if (!rc)
			rc = roce_verify_check_writable("verify", o.junit);
		if (!rc)
			rc = roce_verify_check_writable("verify", o.html);
		if (!rc)
			rc = roce_verify_run_plan(&o, plan, &between);
	}
	roce_verify_plan_destroy(plan);
	return rc;
}
