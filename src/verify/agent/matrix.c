/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kind `matrix`: scenarios of verbs-check, each with either side as requester and over both address
 * families, as one table. A session of verbs-check runs all that are left and ends at the first
 * fault; what is behind it is for the next session, so that a fault costs one cell. Both sides put
 * together what both saw, and so know alike what is left.
 */
#include "verify/agent/checker.h"
#include "verify/agent/kind.h"
#include "verify/agent/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_MAX   16384
#define REASON_MAX 900
/* how cells begin */
#define RIGHT	 "right"
#define SKIPPED	 "skipped"
#define WRONG	 "WRONG"
#define TOLD_MAX 3 /* faults that the reason tells in full */

struct matrix {
	json_t *names; /* of the scenarios, in order */
	json_t *rows;  /* the table: objects, in that order */
	uint32_t faults;
	char reason[REASON_MAX]; /* of those */
};

/* ---- which scenarios ---- */

/* Of a list with commas: the name, its transport, or all. */
static bool is_wanted(const char *list, const char *name)
{
	size_t transport = strcspn(name, "/");

	while (*list) {
		size_t n = strcspn(list, ",");

		if ((n == strlen(name) && strncmp(list, name, n) == 0) ||
		    (n == transport && strncmp(list, name, n) == 0) ||
		    (n == 3 && strncmp(list, "all", n) == 0))
			return true;
		list += n + (list[n] == ',');
	}
	return false;
}

static void list_names(struct va_run *run, struct matrix *m)
{
	static char text[LIST_MAX];
	char path[VA_PATH_BYTES];
	char *argv[] = {path, (char[]){"--scenarios"}, NULL};
	char *rest = text;

	if (!va_program_find(run, "verbs-check", path))
		va_fail(run, "%s is not there", path);
	if (va_program_run(run, argv, text, sizeof(text)))
		va_fail(run, "verbs-check --scenarios: %.300s", text);
	m->names = json_array();
	m->rows = json_array();
	for (char *line; (line = strsep(&rest, "\n"));) {
		line[strcspn(line, " ")] = '\0';
		if (!strchr(line, '/') || !is_wanted(va_word(run, "scenarios"), line))
			continue;
		json_array_append_new(m->names, json_string(line));
		json_array_append_new(m->rows, json_pack("{s:s}", "scenario", line));
	}
	if (!json_array_size(m->names))
		va_fail(run, "verbs-check has no scenario %s", va_word(run, "scenarios"));
}

/* ---- one column ---- */

struct column {
	enum va_family family;
	bool is_reversed; /* the target requests */
	char title[64];
	json_t *left; /* names */
};

static void set_cell(struct matrix *m, const struct column *column, const char *name,
		     const char *text)
{
	size_t i;
	json_t *row;

	json_array_foreach(m->rows, i, row)
	{
		if (strcmp(roce_json_text(row, "scenario"), name) == 0)
			json_object_set_new(row, column->title, json_string(text));
	}
	json_array_foreach(column->left, i, row)
	{
		if (strcmp(json_string_value(row), name) == 0) {
			json_array_remove(column->left, i);
			break;
		}
	}
}

static void set_wrong(struct matrix *m, const struct column *column, const char *name,
		      const char *why)
{
	size_t used = strlen(m->reason);

	set_cell(m, column, name, WRONG);
	if (m->faults++ < TOLD_MAX)
		snprintf(m->reason + used, sizeof(m->reason) - used, "%s%s (%s): %.180s",
			 used ? "; " : "", name, column->title, why);
	else if (used + 80 < sizeof(m->reason))
		snprintf(m->reason + used, sizeof(m->reason) - used, "; %s (%s)", name,
			 column->title);
}

/* One that one side calls right and the other does not is in neither's list of results. */
static void take_right(struct matrix *m, const struct column *column, const json_t *result)
{
	bool is_skipped = strcmp(roce_json_text(result, "result"), "skipped") == 0;
	const char *ended = roce_json_text(result, is_skipped ? "reason" : "request");
	char text[160];

	snprintf(text, sizeof(text), "%s%s%s", is_skipped ? SKIPPED : RIGHT, *ended ? ": " : "",
		 ended);
	set_cell(m, column, roce_json_text(result, "scenario"), text);
}

static bool has_result(const json_t *results, const char *name)
{
	size_t i;
	const json_t *result;

	json_array_foreach(results, i, result)
	{
		if (strcmp(roce_json_text(result, "scenario"), name) == 0)
			return true;
	}
	return false;
}

/* What a session has come to; both sides say the same, {results, reason}, each its own. */
static void take_session(struct va_run *run, struct matrix *m, struct column *column,
			 struct va_checked *checked)
{
	json_t *results = json_object_get(checked->found, "results");
	json_t *theirs = va_exchange(
		run, json_pack("{s:O?, s:s}", "results", results, "reason", checked->reason));
	json_t *requester = run->is_initiator != column->is_reversed
				    ? results
				    : json_object_get(theirs, "results");
	json_t *responder = requester == results ? json_object_get(theirs, "results") : results;
	const char *reason = *checked->reason ? checked->reason : roce_json_text(theirs, "reason");
	size_t i;
	const json_t *result;

	json_array_foreach(requester, i, result)
	{
		if (has_result(responder, roce_json_text(result, "scenario")))
			take_right(m, column, result);
	}
	/* Whoever broke off did so in the next one; behind the last there is what concerns all. */
	if (json_array_size(column->left))
		set_wrong(m, column, json_string_value(json_array_get(column->left, 0)),
			  *reason ? reason : "verbs-check ended before it");
	else if (*reason)
		set_wrong(
			m, column,
			json_string_value(json_array_get(m->names, json_array_size(m->names) - 1)),
			reason);
	json_decref(theirs);
	json_decref(checked->found);
}

/* A right result of nothing is none. */
static void must_have_worked(struct va_checked *checked)
{
	if (!*checked->reason && roce_json_number(checked->found, "scenarios") > 0 &&
	    roce_json_number(checked->found, "operations") <= 0)
		snprintf(checked->reason, sizeof(checked->reason),
			 "verbs-check carried out no operation");
}

static char *join(const json_t *names)
{
	char *text = calloc(1, LIST_MAX);
	size_t i;
	const json_t *name;

	json_array_foreach(names, i, name)
	{
		if (text)
			snprintf(text + strlen(text), LIST_MAX - strlen(text), "%s%s", i ? "," : "",
				 json_string_value(name));
	}
	return text;
}

static void run_column(struct va_run *run, struct matrix *m, struct column *column, double share)
{
	column->left = json_copy(m->names);
	while (json_array_size(column->left)) {
		char *scenarios = join(column->left);
		const struct va_check check = {
			.scenarios = scenarios,
			.seeds = 1,
			.family = column->family,
			.is_requester = run->is_initiator != column->is_reversed,
		};
		struct va_checked checked;

		va_need(run, scenarios != NULL, "calloc");
		va_check_run(run, &check, &checked);
		free(scenarios);
		must_have_worked(&checked);
		take_session(run, m, column, &checked);
		if (run->is_initiator)
			va_detail(run, "matrix", json_incref(m->rows));
		va_progress(run, share);
	}
	json_decref(column->left);
}

/* ---- all of them ---- */

/* Whether both sides have an address of the family. */
static bool is_common(struct va_run *run, enum va_family family)
{
	struct va_device device;
	char why[200];
	bool is_here = va_device_find(run->where, family, &device, why, sizeof(why));
	json_t *theirs = va_exchange(run, json_boolean(is_here));
	bool is_there = json_is_true(theirs);

	json_decref(theirs);
	if (is_here)
		(void)ibv_close_device(device.context);
	return is_here && is_there;
}

static void run_family(struct va_run *run, struct matrix *m, enum va_family family)
{
	const char *name = family == VA_IPV4 ? "IPv4" : "IPv6";

	if (!is_common(run, family))
		return;
	for (int way = 0; way < 2; way++) {
		struct column column = {.family = family, .is_reversed = way == 1};

		snprintf(column.title, sizeof(column.title), "%s, %s requests", name,
			 way ? "target" : "initiator");
		run_column(run, m, &column, (family == VA_IPV4 ? 0.25 : 0.75) + 0.25 * way);
	}
}

static uint32_t count_cells(const struct matrix *m, const char *word)
{
	uint32_t count = 0;
	size_t i;
	json_t *row;
	const char *column;
	json_t *cell;

	json_array_foreach(m->rows, i, row)
	{
		json_object_foreach(row, column, cell)
		{
			const char *text = json_string_value(cell);

			count += strcmp(column, "scenario") != 0 && text &&
				 strncmp(text, word, strlen(word)) == 0;
		}
	}
	return count;
}

static void run_side(struct va_run *run)
{
	struct matrix m = {0};
	uint32_t right;
	uint32_t wrong;
	uint32_t skipped;

	list_names(run, &m);
	run_family(run, &m, VA_IPV4);
	run_family(run, &m, VA_IPV6);
	right = count_cells(&m, RIGHT);
	wrong = count_cells(&m, WRONG);
	skipped = count_cells(&m, SKIPPED);
	va_value(run, "right", right);
	va_value(run, "skipped", skipped);
	va_value(run, "wrong", wrong);
	/* What the target has to say is in it. */
	if (wrong && run->is_initiator)
		va_fail(run, "%u of %u are wrong: %s", wrong, right + wrong + skipped, m.reason);
	if (!right && !wrong)
		va_skip(run, "%s",
			skipped ? "none of these is offered by both devices"
				: "the sides have no address family in common");
	json_decref(m.names);
	json_decref(m.rows);
}

void va_matrix_initiator(struct va_run *run)
{
	run_side(run);
}

void va_matrix_target(struct va_run *run)
{
	run_side(run);
}
