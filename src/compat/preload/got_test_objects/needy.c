/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls libc for got_test.c. Built twice: as an object that needs libgot_test_needed.so, and as one
 * that does not.
 */
#include <sys/stat.h>
#include <unistd.h>

int needy_access(const char *path);
int needy_stat(const char *path);
int needy_access_by_pointer(const char *path);

__attribute__((visibility("default"))) int needy_access(const char *path)
{
	return access(path, F_OK);
}

__attribute__((visibility("default"))) int needy_stat(const char *path)
{
	struct stat st;

	return stat(path, &st);
}

__attribute__((visibility("default"))) int needy_access_by_pointer(const char *path)
{
	int (*volatile function)(const char *, int) = access;

	return function(path, F_OK);
}
