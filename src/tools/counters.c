/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `uroce counters`: what a process on uroce has counted, read from the memory that its engine keeps
 * the counters in, without disturbing it. The argument is a process, or the memory itself as a file
 * (a script that opened it while the process ran can read it after the end).
 */
#include "tools/command.h"
#include "tools/json.h"

#include "engine/counters.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEMORY_NAME "uroce-counters" /* of a file, or of memory without one */

struct printer {
	bool json;
	bool all; /* counters of 0 too */
	unsigned int device_count;
	bool is_first; /* counter of a device */
};

static void print_counter(void *printer, const char *name, uint64_t value)
{
	struct printer *p = printer;

	if (!value && !p->all && !p->json)
		return;
	if (p->json)
		printf("%s\n  \"%s\": %" PRIu64, p->is_first ? "" : ",", name, value);
	else
		printf("  %-34s %" PRIu64 "\n", name, value);
	p->is_first = false;
}

static void print_counters(struct printer *p, const struct roce_shared_counters *c)
{
	char name[sizeof(c->device_name)];

	/* The memory is another process's: it may change, and need not end. */
	memcpy(name, c->device_name, sizeof(name));
	name[sizeof(name) - 1] = '\0';
	if (p->json) {
		printf("%s{\"pid\": %u, \"device\": ", p->device_count ? ",\n " : "", c->pid);
		roce_json_print_string(name);
		printf(", \"counters\": {");
	} else {
		printf("%s, pid %u\n", name, c->pid);
	}
	p->device_count++;
	p->is_first = true;
	roce_shared_counters_each(c, print_counter, p);
	if (p->json)
		printf("}}");
}

/* ROCE_EXIT_OK, or ROCE_EXIT_FAILED after a line. */
static int print_file(struct printer *p, const char *path)
{
	const struct roce_shared_counters *c = MAP_FAILED;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const char *wrong = NULL;
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		wrong = strerror(errno);
	else if (st.st_size != sizeof(*c))
		wrong = "no counters of this version of uroce";
	else
		c = mmap(NULL, sizeof(*c), PROT_READ, MAP_SHARED, fd, 0);
	if (!wrong && c == MAP_FAILED)
		wrong = strerror(errno);
	if (fd >= 0)
		close(fd);
	if (!wrong &&
	    (c->magic != ROCE_SHARED_COUNTERS_MAGIC || c->version != ROCE_SHARED_COUNTERS_VERSION))
		wrong = "no counters of this version of uroce";
	if (!wrong)
		print_counters(p, c);
	else
		fprintf(stderr, "uroce counters: %s: %s\n", path, wrong);
	if (c != MAP_FAILED)
		munmap((void *)(uintptr_t)c, sizeof(*c));
	return wrong ? ROCE_EXIT_FAILED : ROCE_EXIT_OK;
}

static bool is_counter_memory(int dir_fd, const char *name)
{
	char target[256];
	ssize_t n = readlinkat(dir_fd, name, target, sizeof(target) - 1);

	if (n <= 0)
		return false;
	target[n] = '\0';
	return strstr(target, "/memfd:" MEMORY_NAME) || strstr(target, "/" MEMORY_NAME "-");
}

static int print_process(struct printer *p, const char *pid)
{
	char path[512];
	struct dirent *entry;
	DIR *dir;
	int rc = ROCE_EXIT_OK;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	dir = opendir(path);
	if (!dir) {
		fprintf(stderr, "uroce counters: process %s: %s\n", pid,
			errno == ENOENT ? "there is none" : strerror(errno));
		return ROCE_EXIT_FAILED;
	}
	while (rc == ROCE_EXIT_OK && (entry = readdir(dir))) {
		if (!is_counter_memory(dirfd(dir), entry->d_name))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/fd/%s", pid, entry->d_name);
		rc = print_file(p, path);
	}
	closedir(dir);
	if (rc == ROCE_EXIT_OK && !p->device_count) {
		fprintf(stderr, "uroce counters: process %s has no device of uroce open\n", pid);
		rc = ROCE_EXIT_FAILED;
	}
	return rc;
}

static bool is_number(const char *s)
{
	if (!*s)
		return false;
	while (isdigit((unsigned char)*s))
		s++;
	return !*s;
}

int roce_cmd_counters(int argc, char **argv)
{
	static const struct option options[] = {
		{"all", no_argument, NULL, 'a'},
		{"json", no_argument, NULL, 'j'},
		{NULL, 0, NULL, 0},
	};
	struct printer p = {0};
	const char *what;
	int rc;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "a", options, NULL)) != -1) {
		if (c == 'a')
			p.all = true;
		else if (c == 'j')
			p.json = true;
		else
			return roce_usage_error("counters", "no option %s", argv[optind - 1]);
	}
	if (optind + 1 != argc)
		return roce_usage_error("counters", "expected one process id");
	what = argv[optind];
	if (!is_number(what) && access(what, F_OK))
		return roce_usage_error("counters", "%s is neither a process id nor a file", what);
	if (p.json)
		putchar('[');
	rc = is_number(what) ? print_process(&p, what) : print_file(&p, what);
	if (p.json)
		printf("]\n");
	return rc;
}
