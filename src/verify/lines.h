/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * JSON objects over a stream socket, one a line. Used by both ends; a line that is too long or no
 * object is an error for good, for what follows it cannot be trusted.
 */
#ifndef ROCE_VERIFY_LINES_H
#define ROCE_VERIFY_LINES_H

#include "base/ns.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct roce_lines {
	int fd; /* the caller's; -1: closed */
	size_t line_max;
	char *buffer;
	size_t begin; /* what was taken stands before it, and goes when room is needed */
	size_t used;  /* behind it */
	size_t size;
	size_t scanned; /* of what is behind it: there is no end of line */
};

void roce_lines_init(struct roce_lines *lines, int fd, size_t line_max);
/* Frees the buffer, and closes the descriptor. */
void roce_lines_fini(struct roce_lines *lines);

/* Reads what has come, without waiting. 0, -EPIPE at the end, -EMSGSIZE, -ENOMEM, or read's. */
int roce_lines_fill(struct roce_lines *lines) __attribute__((warn_unused_result));
/* The next line that has come. 1 and the object (for json_decref()); 0: none; -EBADMSG. */
int roce_lines_take(struct roce_lines *lines, json_t **out) __attribute__((warn_unused_result));
/* Whether a whole line has come that was not taken yet. */
bool roce_lines_has(const struct roce_lines *lines);
/* Waits for one until `deadline` of roce_clock_now(); what is there by then is taken, however late
 * we look. 0, -ETIMEDOUT, or what the two above say. */
int roce_lines_receive(struct roce_lines *lines, roce_ns_t deadline, json_t **out)
	__attribute__((warn_unused_result));
/* Takes the reference. 0; -ETIMEDOUT when the other side takes nothing for 10 s; -EPIPE, ... */
int roce_lines_send(struct roce_lines *lines, json_t *object);

/* Members; "" or 0 where there is none of that type. */
const char *roce_json_text(const json_t *object, const char *name);
double roce_json_number(const json_t *object, const char *name);
/* A text, a number or yes and no as people read it; "" for anything else. */
void roce_json_format(const json_t *value, char *out, size_t size);
/* A text that need not be UTF-8, which JSON is (a path, say), made plain; null for NULL. */
json_t *roce_json_plain(const char *text);
/* Numbers all the way down as people want to read them, 3.14 for 3.1400000000000001: nine digits
 * that count, which is a nanosecond of a second, and all those of whole numbers. To be written with
 * ROCE_JSON_DIGITS_MAX digits, which show each of them. */
#define ROCE_JSON_DIGITS_MAX 15
void roce_json_round(json_t *json);
/* null for what JSON has no number for. */
json_t *roce_json_real(double value);
/* Of a whole number only: a peer's 1e300 is none, and fits no type of ours. */
json_int_t roce_json_integer(const json_t *object, const char *name);

#endif
