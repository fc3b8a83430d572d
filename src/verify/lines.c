/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The buffer grows up to the longest line there may be. Sockets may block or not: reading asks for
 * MSG_DONTWAIT, writing waits for room itself.
 */
#include "verify/lines.h"

#include "base/clock.h"
#include "base/plain.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FIRST_SIZE  4096u
#define SEND_WAIT_S 10
#define DIGITS	    9

void roce_lines_init(struct roce_lines *lines, int fd, size_t line_max)
{
	*lines = (struct roce_lines){.fd = fd, .line_max = line_max};
}

void roce_lines_fini(struct roce_lines *lines)
{
	free(lines->buffer);
	if (lines->fd >= 0)
		close(lines->fd);
	*lines = (struct roce_lines){.fd = -1};
}

static int make_room(struct roce_lines *lines)
{
	size_t size = lines->size ? 2 * lines->size : FIRST_SIZE;
	char *buffer;

	if (lines->begin + lines->used < lines->size)
		return 0;
	if (lines->begin) {
		memmove(lines->buffer, lines->buffer + lines->begin, lines->used);
		lines->begin = 0;
		return 0;
	}
	if (lines->size >= lines->line_max)
		return -EMSGSIZE;
	if (size > lines->line_max)
		size = lines->line_max;
	buffer = realloc(lines->buffer, size);
	if (!buffer)
		return -ENOMEM;
	lines->buffer = buffer;
	lines->size = size;
	return 0;
}

int roce_lines_fill(struct roce_lines *lines)
{
	for (;;) {
		int rc = make_room(lines);
		size_t end;
		ssize_t n;

		if (rc) /* whole lines that wait are no mistake */
			return lines->used && memchr(lines->buffer, '\n', lines->used) ? 0 : rc;
		end = lines->begin + lines->used;
		n = recv(lines->fd, lines->buffer + end, lines->size - end, MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return 0;
		if (n < 0)
			return errno == ECONNRESET ? -EPIPE : -errno;
		if (n == 0)
			return -EPIPE;
		lines->used += (size_t)n;
	}
}

/* Lines are not moved one by one: a peer may send a million in one go. */
int roce_lines_take(struct roce_lines *lines, json_t **out)
{
	const char *begin = lines->buffer + lines->begin;
	const char *end = lines->used > lines->scanned ? memchr(begin + lines->scanned, '\n',
								lines->used - lines->scanned)
						       : NULL;
	json_t *object;
	size_t length;

	if (!end) {
		lines->scanned = lines->used;
		return 0;
	}
	length = (size_t)(end - begin);
	object = json_loadb(begin, length, JSON_REJECT_DUPLICATES, NULL);
	lines->used -= length + 1;
	lines->begin = lines->used ? lines->begin + length + 1 : 0;
	lines->scanned = 0;
	if (!json_is_object(object)) {
		json_decref(object);
		return -EBADMSG;
	}
	*out = object;
	return 1;
}

bool roce_lines_has(const struct roce_lines *lines)
{
	return lines->used && memchr(lines->buffer + lines->begin, '\n', lines->used);
}

static int wait_for(int fd, short events, roce_ns_t deadline)
{
	for (;;) {
		roce_ns_t now = roce_clock_now();
		bool is_over = now >= deadline;
		struct pollfd p = {.fd = fd, .events = events};
		/* When the time is over it is looked once more: who stood still may be we. */
		int n = poll(&p, 1,
			     is_over ? 0 : (int)((deadline - now) / ROCE_NS_PER_MS % 1000000 + 1));

		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (is_over)
			return -ETIMEDOUT;
	}
}

int roce_lines_receive(struct roce_lines *lines, roce_ns_t deadline, json_t **out)
{
	int rc = 0;

	/* What came before the end is still good. */
	for (;;) {
		int taken = roce_lines_take(lines, out);

		if (taken)
			return taken > 0 ? 0 : taken;
		if (rc)
			return rc;
		rc = wait_for(lines->fd, POLLIN, deadline);
		if (!rc)
			rc = roce_lines_fill(lines);
	}
}

static int send_all(int fd, const char *text, size_t size)
{
	roce_ns_t deadline = roce_clock_now() + SEND_WAIT_S * ROCE_NS_PER_S;

	while (size) {
		ssize_t n = send(fd, text, size, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n > 0) {
			text += n;
			size -= (size_t)n;
			deadline = roce_clock_now() + SEND_WAIT_S * ROCE_NS_PER_S;
		} else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			int rc = wait_for(fd, POLLOUT, deadline);

			if (rc)
				return rc;
		} else if (n < 0 && errno != EINTR) {
			return errno == ECONNRESET ? -EPIPE : -errno;
		}
	}
	return 0;
}

int roce_lines_send(struct roce_lines *lines, json_t *object)
{
	char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
	size_t length = text ? strlen(text) : 0;
	int rc = -ENOMEM;

	if (text) {
		text[length] = '\n'; /* in place of the 0 */
		rc = length + 1 > lines->line_max ? -EMSGSIZE
						  : send_all(lines->fd, text, length + 1);
	}
	free(text);
	json_decref(object);
	return rc;
}

const char *roce_json_text(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

double roce_json_number(const json_t *object, const char *name)
{
	return json_number_value(json_object_get(object, name));
}

json_int_t roce_json_integer(const json_t *object, const char *name)
{
	return json_integer_value(json_object_get(object, name));
}

void roce_json_format(const json_t *value, char *out, size_t size)
{
	*out = '\0';
	if (json_is_string(value))
		snprintf(out, size, "%s", json_string_value(value));
	else if (json_is_integer(value))
		snprintf(out, size, "%lld", (long long)json_integer_value(value));
	else if (json_is_real(value))
		snprintf(out, size, "%.4g", json_real_value(value));
	else if (json_is_boolean(value))
		snprintf(out, size, "%s", json_is_true(value) ? "yes" : "no");
	roce_plain_make(out); /* one that is cut may end within a character */
}

json_t *roce_json_plain(const char *text)
{
	char *copy = text ? strdup(text) : NULL;
	json_t *json;

	if (!copy)
		return json_null();
	roce_plain_make(copy);
	json = json_string(copy);
	free(copy);
	return json;
}

static double round_to_digits(double value)
{
	char text[40];

	if (!isfinite(value) || floor(value) == value)
		return value;
	snprintf(text, sizeof(text), "%.*g", DIGITS, value);
	return strtod(text, NULL);
}

/* As deep as the reader of JSON lets it be, and the agents' words have come through that. */
void roce_json_round(json_t *json)
{
	const char *name;
	json_t *value;
	size_t i;

	if (json_is_real(json))
		(void)json_real_set(json, round_to_digits(json_real_value(json)));
	json_array_foreach(json, i, value) roce_json_round(value);
	json_object_foreach(json, name, value)
	{
		roce_json_round(value);
	}
}

json_t *roce_json_real(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}
