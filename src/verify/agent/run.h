/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One case as its code sees it: parameters in, relay to the other side, a result out. Each case
 * runs in a process of its own (agent/main.c), on each side one, so whoever finds that it cannot go
 * on calls va_fail() or va_skip(), which do not come back; the kernel cleans up.
 *
 * Numbers, details and pictures may be given by either side; what the initiator says goes first.
 */
#ifndef VERIFY_AGENT_RUN_H
#define VERIFY_AGENT_RUN_H

#include "verify/lines.h"

#include <stdbool.h>
#include <stdint.h>

struct va_run {
	struct roce_lines up;
	bool is_initiator;
	uint64_t seed;
	uint32_t number;
	roce_ns_t deadline; /* the orchestrator gives up then */
	roce_ns_t progress_at;
	const json_t *parameters;
	const json_t *where; /* what of verify/protocol.h is known */
	bool has_namespace;  /* this process is in one that was made for the run */
	json_t *result;
};

/* Parameters by name: a quantity, a flag, or a word. */
uint64_t va_number(const struct va_run *run, const char *name);
bool va_flag(const struct va_run *run, const char *name);
const char *va_word(const struct va_run *run, const char *name);
bool va_is(const struct va_run *run, const char *name, const char *word);

/* Whether the known departures of these devices ("rxe") are accepted of this side's. */
bool va_accepts(const struct va_run *run, const char *quirks);

/* Results. `name` of a value is one of the kind's numbers, in its unit. The others take the
 * reference. */
void va_value(struct va_run *run, const char *name, double value);
void va_detail(struct va_run *run, const char *name, json_t *value);
/* "histogram" and "curves" have a form that reports know (verify/README.md). */
void va_picture(struct va_run *run, const char *name, json_t *value);
void va_progress(struct va_run *run, double part);

/* The other side of the case. All end in va_fail() when nothing comes in time. */
void va_send(struct va_run *run, json_t *data);
json_t *va_receive(struct va_run *run); /* for json_decref() */
/* Whether va_receive() would return at once. */
bool va_is_heard(struct va_run *run);
json_t *va_exchange(struct va_run *run, json_t *data);
/* Both sides have come to the point of this name. */
void va_barrier(struct va_run *run, const char *name);

/* The end. */
__attribute__((noreturn)) void va_finish(struct va_run *run);
__attribute__((noreturn, format(printf, 2, 3))) void va_fail(struct va_run *run, const char *fmt,
							     ...);
__attribute__((noreturn, format(printf, 2, 3))) void va_skip(struct va_run *run, const char *fmt,
							     ...);
/* va_fail() with the call and errno unless `is_right`. */
void va_need(struct va_run *run, bool is_right, const char *call);

#endif
