/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kind `stream`: bytes from the initiator to the target through one plain socket, for a while. The
 * rate is what arrived, over the time in which it did; UDP leaves in batches (UDP_SEGMENT) where
 * the kernel can, as uroce's packets do. That UDP pauses tells nothing, for the sender may stand
 * still: it has ended when the sender has said so and nothing comes any more.
 */
#include "verify/agent/kind.h"
#include "verify/agent/socket.h"

#include "base/clock.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define BATCH_BYTES_MAX 61440u
#define QUIET_MS	300

struct stream {
	struct va_device device;
	bool is_udp;
	int fd;
	size_t size; /* handed over at once */
	uint8_t *buffer;
	bool is_batched;
};

static void set_batches(struct stream *s)
{
	int payload = (int)s->device.mtu_bytes;

	if (setsockopt(s->fd, IPPROTO_UDP, UDP_SEGMENT, &payload, sizeof(payload)) == 0) {
		s->is_batched = true;
		s->size = s->size < BATCH_BYTES_MAX ? s->size : BATCH_BYTES_MAX;
	} else if (s->size > (size_t)payload) {
		s->size = (size_t)payload;
	}
}

/* An interface without checksum offload says so at the first batch only. */
static bool end_batches(struct stream *s)
{
	int none = 0;

	if (!s->is_batched || setsockopt(s->fd, IPPROTO_UDP, UDP_SEGMENT, &none, sizeof(none)))
		return false;
	s->is_batched = false;
	s->size = s->size < s->device.mtu_bytes ? s->size : s->device.mtu_bytes;
	return true;
}

static void set_up(struct va_run *run, struct stream *s)
{
	*s = (struct stream){
		.is_udp = va_is(run, "protocol", "udp"),
		.size = (size_t)va_number(run, "size"),
	};
	va_device_open(run, VA_ANY_FAMILY, &s->device);
	s->fd = va_socket_pair(run, &s->device, s->is_udp ? SOCK_DGRAM : SOCK_STREAM);
	if (s->is_udp)
		set_batches(s);
	s->buffer = calloc(1, s->size > 65536 ? s->size : 65536);
	va_need(run, s->buffer != NULL, "calloc");
	va_barrier(run, "sockets");
}

static void tear_down(struct va_run *run, struct stream *s)
{
	close(s->fd);
	free(s->buffer);
	va_device_close(run, &s->device);
}

void va_stream_initiator(struct va_run *run)
{
	struct stream s;
	roce_ns_t begun;
	roce_ns_t duration = va_number(run, "duration");
	double sent = 0;
	double arrived;
	json_t *theirs;

	set_up(run, &s);
	begun = roce_clock_now();
	while (roce_clock_now() - begun < duration) {
		ssize_t n = send(s.fd, s.buffer, s.size, MSG_NOSIGNAL);

		if (n > 0)
			sent += (double)n;
		else if (errno != ENOBUFS && errno != EINTR && errno != ECONNREFUSED)
			va_need(run, errno == EIO && end_batches(&s), "send");
		va_progress(run, (double)(roce_clock_now() - begun) / (double)duration);
	}
	if (!s.is_udp)
		va_need(run, shutdown(s.fd, SHUT_WR) == 0, "shutdown");
	theirs = va_exchange(run, json_real(sent));
	arrived = roce_json_number(theirs, "bytes");
	if (arrived <= 0 || roce_json_number(theirs, "ns") <= 0)
		va_fail(run, "nothing arrived");
	va_value(run, "rate", arrived * 8 / roce_json_number(theirs, "ns"));
	va_value(run, "lost", sent > arrived ? 100 * (sent - arrived) / sent : 0);
	va_detail(run, "batches", json_boolean(s.is_batched));
	json_decref(theirs);
	tear_down(run, &s);
}

void va_stream_target(struct va_run *run)
{
	struct timeval quiet = {.tv_usec = QUIET_MS * 1000};
	struct stream s;
	roce_ns_t first = 0;
	roce_ns_t last = 0;
	double bytes = 0;

	set_up(run, &s);
	va_socket_await(run, s.fd, "data");
	if (s.is_udp)
		va_need(run, setsockopt(s.fd, SOL_SOCKET, SO_RCVTIMEO, &quiet, sizeof(quiet)) == 0,
			"SO_RCVTIMEO");
	for (;;) {
		ssize_t n = recv(s.fd, s.buffer, 65536, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && s.is_udp && errno == EAGAIN && !va_is_heard(run) &&
		    roce_clock_now() < run->deadline)
			continue;
		va_need(run, n >= 0 || (s.is_udp && errno == EAGAIN), "recv");
		if (n <= 0)
			break;
		last = roce_clock_now();
		first = first ? first : last;
		bytes += (double)n;
	}
	json_decref(va_exchange(
		run, json_pack("{s:f, s:f}", "bytes", bytes, "ns", (double)(last - first))));
	tear_down(run, &s);
}
