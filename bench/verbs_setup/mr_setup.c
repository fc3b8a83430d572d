/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registration of regions: count of them at once, of 64 KiB and of all the memory there is, on
 * pages of 4 KiB and on huge ones, by one thread and by eight at the same time. The memory is
 * present (written to) before, so that no page fault is measured.
 */
#include "bench_setup.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE    (2u << 20)
#define MEMORY_BYTES (256u << 20)
#define THREADS_MAX  8

struct memory {
	uint8_t *mapped;
	size_t mapped_bytes;
	uint8_t *start; /* aligned to HUGE_PAGE, MEMORY_BYTES of it */
	const char *pages;
};

struct worker {
	pthread_t thread;
	const struct bench_target *target;
	const struct memory *memory;
	size_t region_bytes;
	size_t count;
	uint64_t *samples;
	struct ibv_mr **regions;
	pthread_barrier_t *start;
	size_t made;
	int error;
};

static bool map_hugetlb(struct memory *m)
{
	void *at = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	if (at == MAP_FAILED)
		return false;
	*m = (struct memory){at, MEMORY_BYTES, at, "2 MiB (hugetlb)"};
	return true;
}

/* huge: transparent huge pages, where no hugetlb pages are set aside */
static bool map_plain(struct memory *m, bool huge)
{
	size_t bytes = (size_t)MEMORY_BYTES + HUGE_PAGE;
	uint8_t *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *start;

	if (at == MAP_FAILED)
		return false;
	start = (uint8_t *)(((uintptr_t)at + HUGE_PAGE - 1) & ~((uintptr_t)HUGE_PAGE - 1));
	if (madvise(start, MEMORY_BYTES, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) && huge) {
		munmap(at, bytes);
		return false;
	}
	*m = (struct memory){at, bytes, start, huge ? "2 MiB (transparent)" : "4 KiB"};
	return true;
}

static void *register_regions(void *arg)
{
	struct worker *w = arg;
	size_t places = MEMORY_BYTES / w->region_bytes;

	pthread_barrier_wait(w->start);
	for (; w->made < w->count; w->made++) {
		void *at = w->memory->start + w->made % places * w->region_bytes;
		uint64_t start = bench_now_ns();

		w->regions[w->made] = ibv_reg_mr(w->target->pd, at, w->region_bytes,
						 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
		w->samples[w->made] = bench_now_ns() - start;
		if (!w->regions[w->made]) {
			w->error = errno;
			break;
		}
	}
	return NULL;
}

static void run_workers(struct worker *workers, size_t thread_count)
{
	for (size_t i = 1; i < thread_count; i++) {
		if (pthread_create(&workers[i].thread, NULL, register_regions, &workers[i]))
			abort(); /* the others wait at the barrier for ever */
	}
	register_regions(&workers[0]);
	for (size_t i = 1; i < thread_count; i++)
		pthread_join(workers[i].thread, NULL);
}

static int measure(const struct bench_target *target, const struct memory *memory,
		   size_t region_bytes, size_t thread_count, size_t count, bool is_first)
{
	struct worker workers[THREADS_MAX] = {0};
	uint64_t *samples = calloc(count, sizeof(*samples));
	struct ibv_mr **regions = calloc(count, sizeof(*regions));
	size_t share = count / thread_count;
	struct bench_percentiles p;
	pthread_barrier_t start;
	int error = samples && regions ? 0 : ENOMEM;

	pthread_barrier_init(&start, NULL, (unsigned int)thread_count);
	for (size_t i = 0; !error && i < thread_count; i++) {
		workers[i] = (struct worker){
			.target = target,
			.memory = memory,
			.region_bytes = region_bytes,
			.count = share,
			.samples = samples + i * share,
			.regions = regions + i * share,
			.start = &start,
		};
	}
	if (!error)
		run_workers(workers, thread_count);
	for (size_t i = 0; i < thread_count; i++)
		error = error ? error : workers[i].error;
	for (size_t i = 0; regions && i < count; i++) {
		if (regions[i])
			ibv_dereg_mr(regions[i]);
	}
	pthread_barrier_destroy(&start);
	if (error) {
		fprintf(stderr, "bench-setup: registering %zu bytes: %s\n", region_bytes,
			strerror(error));
	} else {
		p = bench_percentiles(samples, share * thread_count);
		printf("%s\n  {\"pages\": \"%s\", \"bytes\": %zu, \"threads\": %zu, \"count\": "
		       "%zu, "
		       "\"p50_us\": %.2f, \"p99_us\": %.2f, \"max_us\": %.2f}",
		       is_first ? "" : ",", memory->pages, region_bytes, thread_count,
		       share * thread_count, p.p50_us, p.p99_us, p.max_us);
	}
	free(samples);
	free(regions);
	return error ? -1 : 0;
}

static int measure_memory(const struct bench_target *target, const struct memory *memory,
			  size_t count, bool is_first)
{
	static const size_t sizes[] = {64u << 10, MEMORY_BYTES};
	static const size_t threads[] = {1, THREADS_MAX};

	memset(memory->start, 1, MEMORY_BYTES);
	for (size_t s = 0; s < 2; s++) {
		for (size_t t = 0; t < 2; t++) {
			if (measure(target, memory, sizes[s], threads[t], count, is_first))
				return -1;
			is_first = false;
		}
	}
	return 0;
}

int bench_mr_setup(const struct bench_target *target, size_t count)
{
	struct memory memory;
	int rc;

	printf("\"mr\": [");
	if (!map_plain(&memory, false)) {
		perror("bench-setup: mmap");
		return -1;
	}
	rc = measure_memory(target, &memory, count, true);
	munmap(memory.mapped, memory.mapped_bytes);
	if (!rc && (map_hugetlb(&memory) || map_plain(&memory, true))) {
		rc = measure_memory(target, &memory, count, false);
		munmap(memory.mapped, memory.mapped_bytes);
	}
	printf("]");
	return rc;
}
