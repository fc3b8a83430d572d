/* SPDX-License-Identifier: BSD-2-Clause */
/* Pieces are so small that a pipe which can be written to takes one without waiting: there it is a
 * page at least. A reader who has gone is an error of `to`, for whoever ends the program to tell.
 */
#include "verify/outlet.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#define PIECE_BYTES 1024u

void roce_verify_outlet_init(struct roce_verify_outlet *outlet, FILE *to)
{
	*outlet = (struct roce_verify_outlet){.to = to};
	(void)fflush(to);
	outlet->text = open_memstream(&outlet->buffer, &outlet->size);
	if (!outlet->text)
		outlet->text = to;
}

static bool is_held(const struct roce_verify_outlet *outlet)
{
	return outlet->text != outlet->to;
}

/* Below 0: without end. */
static bool await_room(FILE *to, int ms)
{
	struct pollfd p = {.fd = fileno(to), .events = POLLOUT};
	int n;

	do {
		n = poll(&p, 1, ms);
	} while (n < 0 && errno == EINTR);
	return n != 0;
}

bool roce_verify_outlet_has_room(FILE *to)
{
	return await_room(to, 0);
}

static bool has_more(struct roce_verify_outlet *outlet)
{
	if (!is_held(outlet))
		return false;
	(void)fflush(outlet->text);
	return outlet->sent < outlet->size;
}

bool roce_verify_outlet_can_push(struct roce_verify_outlet *outlet)
{
	return has_more(outlet) && roce_verify_outlet_has_room(outlet->to);
}

static void send_piece(struct roce_verify_outlet *outlet)
{
	size_t left = outlet->size - outlet->sent;
	size_t n = left < PIECE_BYTES ? left : PIECE_BYTES;

	if (fwrite(outlet->buffer + outlet->sent, 1, n, outlet->to) == n && !fflush(outlet->to))
		outlet->sent += n;
	else
		outlet->sent = outlet->size; /* nobody will take the rest */
}

void roce_verify_outlet_push(struct roce_verify_outlet *outlet)
{
	while (roce_verify_outlet_can_push(outlet))
		send_piece(outlet);
}

static int left_ms(roce_ns_t deadline)
{
	roce_ns_t now = roce_clock_now();

	return now < deadline ? (int)((deadline - now) / ROCE_NS_PER_MS) + 1 : 0;
}

void roce_verify_outlet_end(struct roce_verify_outlet *outlet, int wait_ms)
{
	roce_ns_t deadline =
		wait_ms < 0 ? 0 : roce_clock_now() + (roce_ns_t)wait_ms * ROCE_NS_PER_MS;

	while (has_more(outlet) && await_room(outlet->to, wait_ms < 0 ? -1 : left_ms(deadline)))
		send_piece(outlet);
	if (is_held(outlet)) {
		(void)fclose(outlet->text);
		free(outlet->buffer);
	}
	*outlet = (struct roce_verify_outlet){0};
}
