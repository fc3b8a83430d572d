/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parameters, relay and result of one case, over the socket to the agent's supervisor. A wait for
 * the other side ends with the case's time, never later.
 */
#include "verify/agent/run.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRESS_NS (200 * ROCE_NS_PER_MS)

/* ---- parameters ---- */

static const json_t *parameter(const struct va_run *run, const char *name)
{
	const json_t *value = json_object_get(run->parameters, name);

	if (!value) {
		fprintf(stderr, "verify-agent: parameter %s is missing\n", name);
		abort();
	}
	return value;
}

uint64_t va_number(const struct va_run *run, const char *name)
{
	return (uint64_t)json_integer_value(parameter(run, name));
}

bool va_flag(const struct va_run *run, const char *name)
{
	return json_is_true(parameter(run, name));
}

const char *va_word(const struct va_run *run, const char *name)
{
	const char *text = json_string_value(parameter(run, name));

	return text ? text : "";
}

bool va_is(const struct va_run *run, const char *name, const char *word)
{
	return strcmp(va_word(run, name), word) == 0;
}

bool va_accepts(const struct va_run *run, const char *quirks)
{
	return strcmp(roce_json_text(run->where, "quirks"), quirks) == 0;
}

/* ---- results ---- */

static json_t *group(struct va_run *run, const char *name)
{
	json_t *found = json_object_get(run->result, name);

	if (found)
		return found;
	json_object_set_new(run->result, name, json_object());
	return json_object_get(run->result, name);
}

void va_value(struct va_run *run, const char *name, double value)
{
	json_object_set_new(group(run, "values"), name, json_real(value));
}

void va_detail(struct va_run *run, const char *name, json_t *value)
{
	json_object_set_new(group(run, "detail"), name, value);
}

void va_picture(struct va_run *run, const char *name, json_t *value)
{
	json_object_set_new(run->result, name, value);
}

static void send_up(struct va_run *run, json_t *message)
{
	/* Without a supervisor there is nobody to tell. */
	if (roce_lines_send(&run->up, message))
		_exit(1);
}

void va_progress(struct va_run *run, double part)
{
	roce_ns_t now = roce_clock_now();

	if (now < run->progress_at)
		return;
	run->progress_at = now + PROGRESS_NS;
	send_up(run, json_pack("{s:s, s:f}", "is", "progress", "part", part));
}

/* ---- the other side ---- */

void va_send(struct va_run *run, json_t *data)
{
	send_up(run, json_pack("{s:s, s:o}", "is", "relay", "data", data));
}

json_t *va_receive(struct va_run *run)
{
	json_t *message;
	json_t *data;
	int rc = roce_lines_receive(&run->up, run->deadline, &message);

	if (rc == -ETIMEDOUT)
		va_fail(run, "no word from the other side in the time of the case");
	if (rc)
		_exit(1);
	data = json_incref(json_object_get(message, "data"));
	json_decref(message);
	return data;
}

bool va_is_heard(struct va_run *run)
{
	struct pollfd readable = {.fd = run->up.fd, .events = POLLIN};

	return run->up.used > 0 || poll(&readable, 1, 0) == 1;
}

json_t *va_exchange(struct va_run *run, json_t *data)
{
	va_send(run, data);
	return va_receive(run);
}

void va_barrier(struct va_run *run, const char *name)
{
	json_t *theirs = va_exchange(run, json_string(name));
	const char *text = json_string_value(theirs);

	if (!text || strcmp(text, name) != 0)
		va_fail(run, "the sides are at different points: %s here, %s there", name,
			text ? text : "data");
	json_decref(theirs);
}

/* ---- the end ---- */

/* Of several threads that have something to tell the first one does; the process ends with it. */
static void end(struct va_run *run, const char *verdict, const char *reason)
{
	static atomic_flag is_ending = ATOMIC_FLAG_INIT;

	while (atomic_flag_test_and_set(&is_ending))
		pause();
	json_object_set_new(run->result, "is", json_string("result"));
	json_object_set_new(run->result, "verdict", json_string(verdict));
	if (reason)
		json_object_set_new(run->result, "reason",
				    json_stringn_nocheck(reason, strlen(reason)));
	send_up(run, json_incref(run->result));
}

void va_finish(struct va_run *run)
{
	end(run, "ok", NULL);
	exit(0);
}

static char *format(const char *fmt, va_list ap)
{
	char *text;

	if (vasprintf(&text, fmt, ap) < 0)
		_exit(1);
	for (char *p = text; *p; p++) {
		if ((unsigned char)*p < 0x20 || (unsigned char)*p > 0x7e)
			*p = '?';
	}
	return text;
}

void va_fail(struct va_run *run, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	end(run, "fail", format(fmt, ap));
	va_end(ap);
	_exit(0);
}

void va_skip(struct va_run *run, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	end(run, "skip", format(fmt, ap));
	va_end(ap);
	_exit(0);
}

void va_need(struct va_run *run, bool is_right, const char *call)
{
	if (!is_right)
		va_fail(run, "%s: %s", call, strerror(errno));
}
