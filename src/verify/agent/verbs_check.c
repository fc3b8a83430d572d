/* SPDX-License-Identifier: BSD-2-Clause */
/* Kind `verbs_check`: the program of that name does the checking (checker.h); its JSON is the
 * result. */
#include "verify/agent/checker.h"
#include "verify/agent/kind.h"
#include "verify/agent/trouble.h"

static void judge(struct va_run *run, struct va_checked *checked)
{
	const json_t *found = checked->found;
	const char *scenario = roce_json_text(found, "scenario");

	if (json_is_true(json_object_get(found, "not_offered")))
		va_skip(run, "%s", checked->reason);
	if (*checked->reason)
		va_fail(run, "%s%s%s", scenario, *scenario ? ": " : "", checked->reason);
	if (roce_json_number(found, "scenarios_skipped") > 0 &&
	    roce_json_number(found, "scenarios") <= 0)
		va_skip(run, "%s", roce_json_text(found, "skip_reason"));
	if (roce_json_number(found, "operations") <= 0)
		va_fail(run, "verbs-check carried out no operation");
	va_value(run, "operations", roce_json_number(found, "operations"));
	va_value(run, "bytes", roce_json_number(found, "bytes"));
	va_value(run, "checked",
		 roce_json_number(found, "seeds") - roce_json_number(found, "scenarios_skipped"));
	va_detail(run, "verbs-check", checked->found);
}

static void run_program(struct va_run *run)
{
	const struct va_check check = {
		.scenarios = va_word(run, "scenario"),
		.transport = va_word(run, "transport"),
		.link = va_word(run, "link"),
		.seeds = va_number(run, "seeds"),
		.family = va_check_family(va_word(run, "gid")),
		.is_requester = run->is_initiator != va_flag(run, "reverse"),
	};
	struct va_checked checked;

	va_impair(run);
	va_check_run(run, &check, &checked);
	judge(run, &checked);
	va_impair_check(run, !va_is(run, "transport", "ud"));
}

void va_verbs_check_initiator(struct va_run *run)
{
	run_program(run);
}

void va_verbs_check_target(struct va_run *run)
{
	run_program(run);
}
