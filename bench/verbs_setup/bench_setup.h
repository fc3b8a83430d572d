/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench-setup measures what a program pays before its first message: bringing a QP to RTS, and
 * registering memory. One file for each; latency.c turns samples into percentiles.
 */
#ifndef BENCH_SETUP_H
#define BENCH_SETUP_H

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

struct bench_target {
	struct ibv_context *context;
	struct ibv_pd *pd;
	union ibv_gid gid;
	uint8_t gid_index;
	enum ibv_mtu mtu;
};

struct bench_percentiles {
	double p50_us;
	double p99_us;
	double max_us;
};

uint64_t bench_now_ns(void);
/* Sorts the samples (nanoseconds). */
struct bench_percentiles bench_percentiles(uint64_t *samples, size_t count);

/* Create to RTS of `count` QPs that all stay. 0, or -1 after a line on standard error. */
int bench_qp_setup(const struct bench_target *target, size_t count);

/* Registration of `count` regions on pages of 4 KiB and 2 MiB, by one thread and by several. */
int bench_mr_setup(const struct bench_target *target, size_t count);

#endif
