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

static json_t *report(const struct roce_perf_options *o, const struct roce_verify_record *record)
{
	json_t *json = roce_verify_record_json(record);

	if (json)
		json_object_set_new(json, "perf",
				    json_pack("{s:s, s:o}", "test", o->test->name, "hints",
					      roce_perf_hints(o, record)));
	return json;
}

static int run_between(const struct roce_perf_options *o, struct roce_verify_sides *sides,
		       int signal_fd, struct roce_verify_record *record)
{
	const char *json = o->sides.json;
	struct roce_verify_run_options run = {
		.fds = {sides->place.fds[0], sides->place.fds[1]},
		.signal_fd = signal_fd,
		.where = {sides->where[0], sides->where[1]},
		.ends_at_failure = true,
	};
	struct roce_perf_text text = {
		.o = o,
		/* A report on the standard output stays alone there. */
		.out = json && strcmp(json, "-") == 0 ? stderr : stdout,
		.has_progress = isatty(STDERR_FILENO),
	};
	struct roce_verify_watcher watcher = roce_perf_text_watcher(&text);
	int rc = ROCE_EXIT_OK;

	sides->place.fds[0] = sides->place.fds[1] = -1; /* the run closes them */
	roce_verify_run(&run, &watcher, record);
	roce_perf_text_end(&text, record);
	if (json)
		rc = roce_verify_write_json("perf", json, report(o, record));
	return roce_verify_exit_status(record) ? roce_verify_exit_status(record) : rc;
}

static int run_plan(const struct roce_perf_options *o, struct roce_verify_plan *plan)
{
	struct roce_verify_record record;
	struct roce_verify_sides sides;
	int peer_fd = -1;
	int signal_fd;
	int rc;

	/* Before the signals are taken: Ctrl-C still ends a connection that does not come about. */
	if (o->sides.peer) {
		peer_fd = roce_verify_peer_connect(&o->sides);
		if (peer_fd < 0)
			return ROCE_EXIT_USAGE;
	}
	if (!roce_verify_record_init(&record, plan, 1)) {
		fprintf(stderr, "uroce perf: out of memory\n");
		return ROCE_EXIT_USAGE;
	}
	record.profile = o->sides.profile;
	record.seed = o->sides.seed;
	signal_fd = roce_verify_take_signals();
	rc = roce_verify_sides_open(&o->sides, peer_fd, &sides, &record);
	if (!rc)
		rc = run_between(o, &sides, signal_fd, &record);
	roce_verify_sides_close(&sides, !record.is_complete);
	close(signal_fd);
	roce_verify_record_fini(&record);
	return rc;
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
		rc = run_plan(&o, plan);
	roce_verify_plan_destroy(plan);
	return rc;
}
