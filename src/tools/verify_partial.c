/* SPDX-License-Identifier: BSD-2-Clause */
/* Each so often, and before a case that lasts. One that cannot be written is left to the report of
 * the whole run, whose error is told. */
#include "tools/verify_partial.h"

#include "tools/verify_file.h"

#include "base/clock.h"

#define BETWEEN_S      1
#define OVERDUE_FACTOR 2
#define OVERDUE_S      1
#define SHARE	       50 /* times as long as one took there is no other, */
#define SHARE_S_MAX    10 /* but for one that took so long because of others */

static double clock_s(void)
{
	return (double)roce_clock_now() / 1e9;
}

static bool is_due(const struct roce_verify_partial *partial, const struct roce_verify_case *c)
{
	double now = clock_s();

	return partial->path && now >= partial->allowed &&
	       (now >= partial->written + BETWEEN_S || c->takes_s >= BETWEEN_S);
}

static void write_report(struct roce_verify_partial *partial,
			 const struct roce_verify_record *record)
{
	double begun = clock_s();
	double pause;

	if (roce_verify_write_json(NULL, partial->path, partial->make(partial->context, record)))
		partial->path = NULL;
	partial->has_more = false;
	partial->written = clock_s();
	pause = SHARE * (partial->written - begun);
	partial->allowed = partial->written + (pause < SHARE_S_MAX ? pause : SHARE_S_MAX);
}

static void on_begun(void *context, const struct roce_verify_record *record,
		     const struct roce_verify_case *c, uint32_t round)
{
	struct roce_verify_partial *partial = context;

	partial->has_more = true;
	partial->overdue = clock_s() + OVERDUE_FACTOR * c->takes_s + OVERDUE_S;
	if (is_due(partial, c))
		write_report(partial, record);
	if (partial->shown->begun)
		partial->shown->begun(partial->shown->context, record, c, round);
}

static void on_progress(void *context, const struct roce_verify_record *record, double part)
{
	struct roce_verify_partial *partial = context;
	const struct roce_verify_watcher *shown = partial->shown;
	double now = clock_s();

	if (partial->path && partial->has_more && now > partial->overdue && now > partial->allowed)
		write_report(partial, record);
	if (shown->progress)
		shown->progress(shown->context, record, part);
}

static void on_ended(void *context, const struct roce_verify_record *record,
		     const struct roce_verify_outcome *outcome)
{
	const struct roce_verify_watcher *shown = ((struct roce_verify_partial *)context)->shown;

	if (shown->ended)
		shown->ended(shown->context, record, outcome);
}

struct roce_verify_watcher roce_verify_partial_watcher(struct roce_verify_partial *partial,
						       const char *path,
						       const struct roce_verify_watcher *shown)
{
	partial->path = path && roce_verify_is_replaced(path) ? path : NULL;
	partial->shown = shown;
	return (struct roce_verify_watcher){
		.context = partial,
		.begun = on_begun,
		.progress = on_progress,
		.ended = on_ended,
	};
}
