/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures the engine between two processes without the verbs ABI on top: bandwidth of WRITE, SEND
 * and READ, and the latency of a ping-pong by SEND (polling or events) or by WRITE. To see where
 * time goes, run it under perf.
 *
 *     engine-pair -d lo -o write -s 65536 -t 2
 */
#include "end.h"

#include "base/clock.h"

#include <argp.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fcntl.h>
#include <sched.h>

#define LATENCY_ROUNDS_MAX 200000u
#define WINDOW_BYTES	   (8u << 20)

struct options {
	const char *device;
	const char *peer_netns; /* path, or NULL: same namespace */
	const char *peer_device;
	const char *operation;
	uint32_t size;
	uint32_t depth;
	double seconds;
	uint32_t rounds;
	uint32_t mtu;
	bool is_latency;
	bool has_events;
	int peer_gid;
	int gid;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'd':
		o->device = arg;
		break;
	case 'D':
		o->peer_device = arg;
		break;
	case 'N':
		o->peer_netns = arg;
		break;
	case 'o':
		o->operation = arg;
		break;
	case 's':
		o->size = (uint32_t)strtoul(arg, NULL, 0);
		break;
	case 'q':
		o->depth = (uint32_t)strtoul(arg, NULL, 0);
		break;
	case 't':
		o->seconds = strtod(arg, NULL);
		break;
	case 'n':
		o->rounds = (uint32_t)strtoul(arg, NULL, 0);
		break;
	case 'm':
		o->mtu = (uint32_t)strtoul(arg, NULL, 0);
		break;
	case 'l':
		o->is_latency = true;
		break;
	case 'e':
		o->has_events = true;
		break;
	case 'g':
		o->gid = atoi(arg);
		break;
	case 'G':
		o->peer_gid = atoi(arg);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_option option_list[] = {
	{"device", 'd', "NETDEV", 0, "network device (lo)", 0},
	{"peer-device", 'D', "NETDEV", 0, "of the other process (the same)", 0},
	{"peer-netns", 'N', "PATH", 0, "network namespace of the other process", 0},
	{"operation", 'o', "write|send|read", 0, "what to measure (write)", 0},
	{"size", 's', "BYTES", 0, "message size (65536)", 0},
	{"depth", 'q', "COUNT", 0, "requests on their way (64)", 0},
	{"seconds", 't', "SECONDS", 0, "length of a bandwidth run (1)", 0},
	{"rounds", 'n', "COUNT", 0, "of a latency run (20000)", 0},
	{"mtu", 'm', "CODE", 0, "path MTU, 1 (256) to 5 (4096) (5)", 0},
	{"latency", 'l', NULL, 0, "ping-pong (send, write) instead of bandwidth", 0},
	{"events", 'e', NULL, 0, "wait for events instead of polling", 0},
	{"gid", 'g', "INDEX", 0, "GID index (0)", 0},
	{"peer-gid", 'G', "INDEX", 0, "GID index of the other process (0)", 0},
	{0},
};

static const struct argp parser = {
	option_list, parse_option, NULL, "Measures the engine between two processes.",
	NULL,	     NULL,	   NULL};

static bool next(struct end *e, const struct options *o, struct roce_cqe *out)
{
	bool is_there = o->has_events ? end_wait(e, out) : end_poll(e, out, 10 * ROCE_NS_PER_S);

	if (!is_there || out->status != ROCE_WC_SUCCESS) {
		fprintf(stderr, "completion: %s %u\n", is_there ? "status" : "none",
			is_there ? out->status : 0);
		exit(1);
	}
	return true;
}

/* ---- bandwidth ---- */

static uint8_t opcode_of(const struct options *o)
{
	if (strcmp(o->operation, "send") == 0)
		return ROCE_WR_SEND;
	return strcmp(o->operation, "read") == 0 ? ROCE_WR_RDMA_READ : ROCE_WR_RDMA_WRITE;
}

static size_t place(const struct options *o, uint64_t number)
{
	uint64_t places = WINDOW_BYTES / (o->size ? o->size : 1);

	return (size_t)((places ? number % places : 0) * o->size);
}

static void stream(struct end *e, const struct options *o, int fd)
{
	roce_ns_t begin = roce_clock_now();
	roce_ns_t end = begin + (roce_ns_t)(o->seconds * 1e9);
	uint64_t posted = 0, done = 0;
	struct roce_cqe cqe;
	double elapsed;

	while (roce_clock_now() < end || done < posted) {
		while (posted - done < o->depth && roce_clock_now() < end) {
			if (end_post(e, opcode_of(o), posted, place(o, posted), o->size,
				     ROCE_SEND_SIGNALED) != ROCE_POST_OK)
				break;
			posted++;
		}
		if (posted > done && next(e, o, &cqe))
			done++;
	}
	elapsed = (double)(roce_clock_now() - begin) / 1e9;
	printf("%s %u bytes: %.2f Gb/s, %.3f Mmsg/s\n", o->operation, o->size,
	       (double)done * o->size * 8 / elapsed / 1e9, (double)done / elapsed / 1e6);
	end_meet(fd);
}

/* SENDs want receives; their number is unknown, so the receiver goes on until the other side says
 * that it has finished. */
static void receive(struct end *e, const struct options *o, int fd)
{
	struct roce_cqe cqe;
	char byte;

	if (strcmp(o->operation, "send") != 0) {
		end_meet(fd);
		return;
	}
	while (recv(fd, &byte, 1, MSG_DONTWAIT) != 1) {
		if (end_poll(e, &cqe, ROCE_NS_PER_MS)) {
			if (cqe.status != ROCE_WC_SUCCESS)
				exit(1);
			end_post_recv(e, cqe.wr_id, (size_t)cqe.wr_id * o->size, o->size);
		}
	}
	if (send(fd, &byte, 1, 0) != 1)
		exit(1);
}

/* ---- latency ---- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void print_latency(const char *what, const struct options *o, double *us, bool is_first)
{
	qsort(us, o->rounds, sizeof(*us), compare);
	if (is_first)
		printf("%s ping-pong %u bytes%s, one way: p50 %.2f us, p99 %.2f, max %.1f\n", what,
		       o->size, o->has_events ? " by events" : "", us[o->rounds / 2],
		       us[(size_t)o->rounds * 99 / 100], us[o->rounds - 1]);
}

static void ping_pong(struct end *e, const struct options *o, bool is_first)
{
	double *us = calloc(o->rounds, sizeof(*us));
	struct roce_cqe cqe;

	if (!us)
		exit(1);
	for (uint32_t i = 0; i < o->rounds; i++) {
		roce_ns_t begin = roce_clock_now();
		bool is_sent = false, is_received = false;

		if (is_first)
			end_post(e, ROCE_WR_SEND, i, 0, o->size,
				 ROCE_SEND_SIGNALED | ROCE_SEND_INLINE);
		while (!is_received || (is_first && !is_sent)) {
			next(e, o, &cqe);
			is_received |= cqe.opcode == ROCE_WC_RECV;
			is_sent |= cqe.opcode == ROCE_WC_SEND;
		}
		us[i] = (double)(roce_clock_now() - begin) / 2e3;
		end_post_recv(e, 0, 0, o->size);
		if (!is_first)
			end_post(e, ROCE_WR_SEND, i, 0, o->size,
				 ROCE_SEND_SIGNALED | ROCE_SEND_INLINE);
	}
	if (!is_first)
		next(e, o, &cqe);
	print_latency("send", o, us, is_first);
	free(us);
}

/* The shape of ib_write_lat: WRITE, poll for the completion, then watch memory for the answer. */
static void write_ping_pong(struct end *e, const struct options *o, bool is_first)
{
	const volatile uint8_t *in = e->buffer + o->size - 1;
	uint8_t *out = e->buffer + WINDOW_BYTES / 2 + o->size - 1;
	double *us = calloc(o->rounds, sizeof(*us));
	struct roce_cqe cqe;

	if (!us)
		exit(1);
	for (uint32_t i = 0; i < o->rounds; i++) {
		roce_ns_t begin = roce_clock_now();

		while (!is_first && *in != (uint8_t)(i + 2))
			;
		*out = (uint8_t)(i + 2);
		end_post_to(e, ROCE_WR_RDMA_WRITE, WINDOW_BYTES / 2, 0, o->size);
		next(e, o, &cqe);
		while (is_first && *in != (uint8_t)(i + 2))
			;
		us[i] = (double)(roce_clock_now() - begin) / 2e3;
	}
	print_latency("write", o, us, is_first);
	free(us);
}

/* ---- both processes ---- */

static void print_counters(const struct end *e, const char *who)
{
	int fd;
	const struct roce_shared_counters *c = roce_engine_counters(e->engine, &fd);

	if (!getenv("ENGINE_PAIR_COUNTERS"))
		return;
	for (uint32_t i = 0; i < ROCE_COUNTER_COUNT; i++) {
		if (c->transport.v[i])
			printf("  %s %s %llu\n", who, roce_counter_str(i),
			       (unsigned long long)c->transport.v[i]);
	}
#define X(field, text)       \
	if (c->engine.field) \
		printf("  %s %s %llu\n", who, #field, (unsigned long long)c->engine.field);
	ROCE_ENGINE_STATS(X)
#undef X
#define X(field, text)      \
	if (c->pktio.field) \
		printf("  %s %s %llu\n", who, #field, (unsigned long long)c->pktio.field);
	ROCE_PKTIO_STATS(X)
#undef X
}

static void run_end(const struct options *o, bool is_first, int fd)
{
	static struct end e;
	const char *device = !is_first && o->peer_device ? o->peer_device : o->device;
	struct end_config cfg = {.gid_index = (uint8_t)(is_first ? o->gid : o->peer_gid),
				 .mtu = (uint8_t)o->mtu,
				 .depth = o->depth,
				 .buffer_bytes = WINDOW_BYTES + (size_t)o->depth * o->size,
				 .has_events = o->has_events,
				 .timeout = 14,
				 .retry_count = 7};

	if (!is_first && o->peer_netns) {
		int ns = open(o->peer_netns, O_RDONLY);

		if (ns < 0 || setns(ns, CLONE_NEWNET) < 0) {
			perror(o->peer_netns);
			exit(1);
		}
		close(ns);
	}
	cfg.ifindex = if_nametoindex(device);
	end_open(&e, &cfg, fd);
	memset(e.buffer, 1, cfg.buffer_bytes);
	for (uint32_t i = 0; i < (o->is_latency ? 8 : o->depth); i++)
		end_post_recv(&e, i, o->is_latency ? 0 : (size_t)i * o->size, o->size);
	end_meet(fd);
	if (o->is_latency && opcode_of(o) == ROCE_WR_RDMA_WRITE)
		write_ping_pong(&e, o, is_first);
	else if (o->is_latency)
		ping_pong(&e, o, is_first);
	else if (is_first)
		stream(&e, o, fd);
	else
		receive(&e, o, fd);
	end_meet(fd);
	print_counters(&e, is_first ? "first" : "second");
	end_close(&e);
}

int main(int argc, char **argv)
{
	struct options o = {.device = "lo",
			    .operation = "write",
			    .size = 65536,
			    .depth = 64,
			    .seconds = 1,
			    .rounds = 20000,
			    .mtu = 5};
	int fds[2];
	int status;
	pid_t child;

	argp_parse(&parser, argc, argv, 0, NULL, &o);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
		return 1;
	child = fork();
	if (child < 0)
		return 1;
	if (child == 0) {
		close(fds[0]);
		run_end(&o, false, fds[1]);
		return 0;
	}
	close(fds[1]);
	run_end(&o, true, fds[0]);
	return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}
