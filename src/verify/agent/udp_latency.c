/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kind `udp_latency`: what a datagram takes through the kernel here, below which nothing on sockets
 * can be. Both sides spin, as programs on verbs do; with `asleep` the target is woken for each, as
 * the thread that answers for a program which does not poll. A datagram that is lost is given up
 * after a while and is no sample. On a busy machine, where spinning processes wait for each other,
 * it ends after a while with fewer samples: their median is the same.
 */
#include "verify/agent/kind.h"
#include "verify/agent/measure.h"
#include "verify/agent/socket.h"

#include "base/clock.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define SIZE_MAX_BYTES 1400
#define AGAIN_NS       (100 * ROCE_NS_PER_MS)
#define BUDGET_NS      (3 * ROCE_NS_PER_S)
#define SAMPLES_MIN    100
#define WARMUP	       200
#define LOSSES_MAX     100
#define LAST	       UINT64_MAX

struct floor {
	struct va_device device;
	int fd;
	bool is_asleep; /* the target, between datagrams */
	size_t size;
	uint8_t datagram[SIZE_MAX_BYTES];
};

static void set_up(struct va_run *run, struct floor *f)
{
	*f = (struct floor){
		.size = (size_t)va_number(run, "size"),
		.is_asleep = !run->is_initiator && va_flag(run, "asleep"),
	};
	va_device_open(run, VA_ANY_FAMILY, &f->device);
	f->fd = va_socket_pair(run, &f->device, SOCK_DGRAM);
	va_barrier(run, "sockets");
}

static void tear_down(struct va_run *run, struct floor *f)
{
	va_barrier(run, "measured");
	close(f->fd);
	va_device_close(run, &f->device);
}

static void send_number(struct va_run *run, struct floor *f, uint64_t number)
{
	memcpy(f->datagram, &number, sizeof(number));
	/* An ICMP error of an earlier one is told here; the next attempt tells whether it lasts. */
	va_need(run, send(f->fd, f->datagram, f->size, 0) >= 0 || errno == ECONNREFUSED, "send");
}

/* The number that came, or false when none did in time. */
static bool take_number(struct va_run *run, struct floor *f, roce_ns_t until, uint64_t *out)
{
	for (uint32_t i = 0;; i++) {
		ssize_t n;

		if (f->is_asleep)
			va_socket_await(run, f->fd, "datagram");
		n = recv(f->fd, f->datagram, f->size, MSG_DONTWAIT);

		if (n >= (ssize_t)sizeof(*out)) {
			memcpy(out, f->datagram, sizeof(*out));
			return true;
		}
		va_need(run, n >= 0 || errno == EAGAIN || errno == ECONNREFUSED || errno == EINTR,
			"recv");
		if (i % 64 == 0 && roce_clock_now() >= until)
			return false;
	}
}

void va_udp_latency_initiator(struct va_run *run)
{
	uint64_t total = va_number(run, "iterations") + WARMUP;
	uint64_t losses = 0;
	roce_ns_t enough;
	struct va_samples samples;
	struct floor f;

	set_up(run, &f);
	enough = roce_clock_now() + BUDGET_NS;
	va_need(run, va_samples_init(&samples, (size_t)total), "calloc");
	for (uint64_t i = 0; i < total; i++) {
		roce_ns_t begun = roce_clock_now();
		uint64_t number = LAST;

		send_number(run, &f, i);
		while (number != i && take_number(run, &f, begun + AGAIN_NS, &number))
			;
		if (number != i && ++losses > LOSSES_MAX)
			va_fail(run, "no answers from the other side");
		if (number == i && i >= WARMUP)
			va_samples_add(&samples, (roce_clock_now() - begun) / 2);
		if (samples.count >= SAMPLES_MIN && begun > enough)
			break;
		if (i % 1024 == 0)
			va_progress(run, (double)i / (double)total);
	}
	/* Three, for one may be lost. */
	for (int i = 0; i < 3; i++)
		send_number(run, &f, LAST);
	va_report_latency(run, &samples);
	va_detail(run, "lost", json_integer((json_int_t)losses));
	va_samples_fini(&samples);
	tear_down(run, &f);
}

void va_udp_latency_target(struct va_run *run)
{
	struct floor f;
	uint64_t number = 0;

	set_up(run, &f);
	while (number != LAST) {
		/* Were all of the last ones lost, the orchestrator would stop us. */
		if (take_number(run, &f, run->deadline, &number) && number != LAST)
			send_number(run, &f, number);
		else if (number != LAST)
			va_fail(run, "no word from the other side in the time of the case");
	}
	tear_down(run, &f);
}
