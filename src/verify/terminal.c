/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The time left goes by the plan's estimates, scaled by how they have held so far. The bar is drawn
 * at most ten times a second and wiped before anything else is written.
 */
#include "verify/terminal.h"

#include "base/clock.h"
#include "verify/kind.h"
#include "verify/primitives.h"
#include "verify/sides.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WIDTH	       24
#define BETWEEN_DRAW   0.1
#define INTERRUPTED_MS 500
#define COLUMNS_MAX    1000
#define TABLE_WIDTH    172 /* columns of the operations side by side, with their uses */
#define WIPE_LINE      "\r\033[K"

static double clock_s(void)
{
	return (double)roce_clock_now() / 1e9;
}

void roce_verify_terminal_init(struct roce_verify_terminal *t, FILE *out,
			       const struct roce_verify_record *record, bool is_quiet)
{
	*t = (struct roce_verify_terminal){
		.has_bar = isatty(STDERR_FILENO) && !is_quiet,
		.has_colours = isatty(fileno(out)) && !getenv("NO_COLOR"),
		.is_quiet = is_quiet,
		.begun = clock_s(),
	};
	roce_verify_outlet_init(&t->outlet, out);
	for (uint32_t i = 0; i < record->plan->case_count; i++)
		t->takes_all += record->plan->cases[i].is_wanted * record->plan->cases[i].takes_s *
				record->repeat;
}

/* What is no terminal breaks no lines. */
static int columns_of(FILE *to)
{
	struct winsize size = {0};

	return ioctl(fileno(to), TIOCGWINSZ, &size) || !size.ws_col ? COLUMNS_MAX : size.ws_col;
}

static void format_left(double seconds, char *out, size_t size)
{
	if (seconds >= 90)
		snprintf(out, size, "%.0f min", seconds / 60);
	else
		snprintf(out, size, "%.0f s", seconds < 1 ? 1 : seconds);
}

static void wipe(const struct roce_verify_terminal *t)
{
	if (t->has_bar && t->drawn > 0 && roce_verify_outlet_has_room(stderr))
		fprintf(stderr, WIPE_LINE);
}

/* Lines take the place of the bar, which is drawn anew below them. */
static void push(struct roce_verify_terminal *t)
{
	if (!roce_verify_outlet_can_push(&t->outlet))
		return;
	wipe(t);
	roce_verify_outlet_push(&t->outlet);
}

static void draw(struct roce_verify_terminal *t, const struct roce_verify_record *record)
{
	double now = clock_s();
	double done = t->takes_done + t->part * (t->c ? t->c->takes_s : 0);
	double share = t->takes_all > 0 ? done / t->takes_all : 0;
	char marks[WIDTH + 1];
	char left[32] = "";
	char line[160];
	int filled = (int)(share * WIDTH);

	push(t);
	if (!t->has_bar || now - t->drawn < BETWEEN_DRAW || !roce_verify_outlet_has_room(stderr))
		return;
	t->drawn = now;
	filled = filled > WIDTH ? WIDTH : filled;
	memset(marks, '.', WIDTH);
	memset(marks, '#', (size_t)filled);
	marks[WIDTH] = '\0';
	/* Before anything has ended the estimates are all there is. */
	format_left(done > 1 ? (t->takes_all - done) * (now - t->begun) / done : t->takes_all, left,
		    sizeof(left));
	snprintf(line, sizeof(line), "[%s] %u of %u  %.40s, %s left", marks, record->outcome_count,
		 record->outcome_size, t->c ? t->c->name : "devices", left);
	/* a line that is broken in two could not be wiped */
	fprintf(stderr, WIPE_LINE "%.*s", columns_of(stderr) - 1, line);
	fflush(stderr);
}

/* Above the first case: who they are is known by then. */
static void print_sides(struct roce_verify_terminal *t, const struct roce_verify_record *record)
{
	char text[512];

	if (t->has_told_sides || t->is_quiet)
		return;
	t->has_told_sides = true;
	for (int side = 0; side < ROCE_VERIFY_SIDES; side++) {
		roce_verify_side_text(record, (enum roce_verify_side)side, text, sizeof(text));
		if (*text)
			fprintf(t->outlet.text, "%-9s %s\n",
				roce_verify_side_str((enum roce_verify_side)side), text);
	}
	push(t);
}

static void on_begun(void *context, const struct roce_verify_record *record,
		     const struct roce_verify_case *c, uint32_t round)
{
	struct roce_verify_terminal *t = context;

	t->c = c;
	(void)round;
	t->part = 0;
	print_sides(t, record);
	draw(t, record);
}

static void on_progress(void *context, const struct roce_verify_record *record, double part)
{
	struct roce_verify_terminal *t = context;

	if (part >= 0 && part <= 1)
		t->part = part;
	draw(t, record);
}

static const char *colour(const struct roce_verify_terminal *t, enum roce_verify_verdict verdict)
{
	static const char *const colours[] = {
		[ROCE_VERIFY_PASS] = "\033[32m",
		[ROCE_VERIFY_FAIL] = "\033[1;31m",
		[ROCE_VERIFY_SKIPPED] = "\033[33m",
		[ROCE_VERIFY_MEASURED] = "",
	};

	return t->has_colours ? colours[verdict] : "";
}

static void print_outcome(const struct roce_verify_terminal *t,
			  const struct roce_verify_record *record,
			  const struct roce_verify_outcome *o)
{
	const char *end = t->has_colours ? "\033[0m" : "";
	char name[128];
	char value[96] = "";
	char number[192] = "";
	char threshold[256];

	snprintf(name, sizeof(name), record->repeat > 1 ? "%s (%u)" : "%s", o->c->name, o->round);
	fprintf(t->outlet.text, "%s%-8s%s %-32s", colour(t, o->verdict),
		o->verdict == ROCE_VERIFY_FAIL ? "FAIL" : roce_verify_verdict_str(o->verdict), end,
		name);
	roce_verify_threshold_text(o, threshold, sizeof(threshold));
	if (o->has_value) {
		roce_verify_unit_format(o->c->kind->numbers[o->c->value].unit, o->value, value,
					sizeof(value));
		snprintf(number, sizeof(number), "%s %s", o->c->kind->numbers[o->c->value].name,
			 value);
	}
	if (o->reason)
		fprintf(t->outlet.text, " %s\n", o->reason);
	else if (*threshold)
		fprintf(t->outlet.text, " %-20s %s\n", number, threshold);
	else
		fprintf(t->outlet.text, " %s\n", number);
}

static void on_ended(void *context, const struct roce_verify_record *record,
		     const struct roce_verify_outcome *outcome)
{
	struct roce_verify_terminal *t = context;

	t->takes_done += outcome->c->takes_s;
	t->part = 0;
	if (t->is_quiet && outcome->verdict != ROCE_VERIFY_FAIL)
		return;
	print_outcome(t, record, outcome);
	push(t);
}

struct roce_verify_watcher roce_verify_terminal_watcher(struct roce_verify_terminal *t)
{
	return (struct roce_verify_watcher){
		.context = t,
		.begun = on_begun,
		.progress = on_progress,
		.ended = on_ended,
	};
}

void roce_verify_terminal_summary(struct roce_verify_terminal *t,
				  const struct roce_verify_record *record)
{
	struct roce_verify_others_sum others = roce_verify_record_others(record);
	uint32_t unjudged = roce_verify_record_unjudged(record);
	char text[256];

	wipe(t);
	t->drawn = 0;
	if (!t->is_quiet)
		roce_verify_primitives_print(record, columns_of(t->outlet.to) >= TABLE_WIDTH,
					     t->outlet.text);
	if (record->broken_off)
		fprintf(t->outlet.text, "broken off: %s\n", record->broken_off);
	if (roce_verify_others_are_many(&others)) {
		roce_verify_others_text(&others, "this machine's", text, sizeof(text));
		fprintf(t->outlet.text, "%s\n", text);
	}
	if (unjudged)
		fprintf(t->outlet.text,
			"%u of those measured %s not judged by the threshold: this machine was "
			"busy with other programs, is not fast enough for it, or a case that is "
			"the measure has failed\n",
			unjudged, unjudged == 1 ? "was" : "were");
	fprintf(t->outlet.text,
		"%u passed, %u failed, %u skipped, %u measured in %.0f s (seed %llu)\n",
		roce_verify_record_count(record, ROCE_VERIFY_PASS),
		roce_verify_record_count(record, ROCE_VERIFY_FAIL),
		roce_verify_record_count(record, ROCE_VERIFY_SKIPPED),
		roce_verify_record_count(record, ROCE_VERIFY_MEASURED), record->seconds,
		(unsigned long long)record->seed);
	push(t);
}

void roce_verify_terminal_end(struct roce_verify_terminal *t, bool was_interrupted)
{
	push(t);
	roce_verify_outlet_end(&t->outlet, was_interrupted ? INTERRUPTED_MS : -1);
}
