/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which fault is planted, and when. Of each block of N opportunities one is taken, which one is
 * drawn: a run of N messages has one fault, not "about one", and another seed has it elsewhere.
 */
#include "plant.h"

#include "base/prng.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct {
	const char *name;
	uint32_t period;
	const char *what;
	const char *where;
} table[] = {
#define X(id, name, period, what, where) {name, period, what, where},
#include "faults.def"
#undef X
};

static struct {
	enum plant_id id; /* PLANT_COUNT: none */
	uint64_t period;
	struct roce_prng prng;
	uint64_t in_block; /* opportunities of this block so far */
	uint64_t chosen;   /* the one to be taken */
	uint64_t opportunities;
	uint64_t planted;
	pthread_mutex_t lock;
	/* PLANT_REPORT: this process's line, written when something changes, for a program may end
	   by _exit() or by a signal */
	int report; /* -1: not open */
	off_t line;
	pid_t owner;
} active = {.id = PLANT_COUNT, .lock = PTHREAD_MUTEX_INITIALIZER, .report = -1};

static void print_table(void)
{
	for (uint32_t i = 0; i < PLANT_COUNT; i++)
		printf("%s\t1/%u\t%s\t%s\n", table[i].name, table[i].period, table[i].what,
		       table[i].where);
	fflush(stdout);
}

static void refuse(const char *text)
{
	fprintf(stderr,
		"PLANT: cannot understand '%s'; expected NAME[,1/N or P%%[,SEED]], or list\n",
		text);
	_exit(2);
}

/* "1/10000" or "0.01%" as 10000; 0 when it is neither. */
static uint64_t parse_rate(const char *text)
{
	char *end;
	double percent;
	unsigned long long period;

	if (strncmp(text, "1/", 2) == 0) {
		period = strtoull(text + 2, &end, 10);
		return *end == '\0' ? period : 0;
	}
	percent = strtod(text, &end);
	if (end == text || strcmp(end, "%") != 0 || !(percent > 0 && percent <= 100))
		return 0;
	return (uint64_t)(100 / percent + 0.5);
}

static void begin_block(void)
{
	active.in_block = 0;
	active.chosen = roce_prng_below(&active.prng, active.period);
}

__attribute__((constructor)) static void read_environment(void)
{
	const char *text = getenv("PLANT");
	char copy[200], *rest = copy, *name, *rate, *seed, *end;

	if (!text || !*text)
		return;
	if (strcmp(text, "list") == 0) {
		print_table();
		_exit(0);
	}
	if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
		refuse(text);
	name = strsep(&rest, ",");
	rate = strsep(&rest, ",");
	seed = strsep(&rest, ",");
	for (uint32_t i = 0; i < PLANT_COUNT; i++) {
		if (strcmp(table[i].name, name) == 0)
			active.id = (enum plant_id)i;
	}
	if (active.id == PLANT_COUNT || rest)
		refuse(text);
	active.period = rate ? parse_rate(rate) : table[active.id].period;
	active.prng.state = seed ? strtoull(seed, &end, 0) : 1;
	if (active.period == 0 || (seed && (*end || !*seed)))
		refuse(text);
	begin_block();
}

/* All lines are as long, so that each can be written again in its place. */
static void write_report(void)
{
	const char *path = getenv("PLANT_REPORT");
	char line[80];
	int n = snprintf(line, sizeof(line), "%-24s %20llu %20llu\n", table[active.id].name,
			 (unsigned long long)active.planted,
			 (unsigned long long)active.opportunities);

	if (!path)
		return;
	if (active.report >= 0 && active.owner == getpid()) {
		(void)!pwrite(active.report, line, (size_t)n, active.line);
		return;
	}
	active.owner = getpid();
	active.report = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (active.report < 0)
		return;
	(void)!write(active.report, line, (size_t)n);
	active.line = lseek(active.report, 0, SEEK_CUR) - n;
	(void)fcntl(active.report, F_SETFL, 0); /* else pwrite() would append */
}

__attribute__((destructor)) static void report_end(void)
{
	if (active.opportunities)
		write_report();
}

bool plant_is(enum plant_id id)
{
	return active.id == id;
}

bool plant_is_any(void)
{
	return active.id != PLANT_COUNT;
}

bool plant_draw(enum plant_id id)
{
	bool is_taken;

	if (active.id != id)
		return false;
	pthread_mutex_lock(&active.lock);
	is_taken = active.in_block == active.chosen;
	active.opportunities++;
	active.planted += is_taken;
	if (is_taken || active.opportunities == 1)
		write_report();
	if (++active.in_block == active.period)
		begin_block();
	pthread_mutex_unlock(&active.lock);
	return is_taken;
}

/* Processor time, not time: what is planted is the same on a busy machine. */
void plant_spin(uint64_t ns)
{
	struct timespec from, t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while ((uint64_t)((t.tv_sec - from.tv_sec) * 1000000000 + t.tv_nsec - from.tv_nsec) < ns);
}
