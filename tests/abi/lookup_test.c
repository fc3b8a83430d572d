/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library as programs load it at run time: under both of its file names, symbols by name and
 * version, and calls through the pointers. usage: lookup_test LIBRARY_DIR EXPORTS.TSV
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void check(int is_right, const char *what)
{
	if (is_right)
		return;
	printf("wrong: %s\n", what);
	failures++;
}

static void *open_library(const char *dir, const char *name)
{
	char path[4096];
	void *lib;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		printf("%s\n", dlerror());
		exit(1);
	}
	return lib;
}

static int look_up_all(void *lib, const char *table)
{
	FILE *rows = fopen(table, "r");
	char row[256];
	int count = 0;

	if (!rows)
		return 0;
	while (fgets(row, sizeof(row), rows)) {
		char symbol[128];
		char version[64];

		if (row[0] == '#' || sscanf(row, "%127s %63s", symbol, version) != 2)
			continue;
		check(dlvsym(lib, symbol, version) != NULL, row);
		count++;
	}
	fclose(rows);
	return count;
}

/* A program of 2006 finds no device, and is told why. */
static void call_version_1_0(void *lib)
{
	void **(*get_list)(int *) =
		(void **(*)(int *))(uintptr_t)dlvsym(lib, "ibv_get_device_list", "IBVERBS_1.0");
	void *(*open_device)(void *) =
		(void *(*)(void *))(uintptr_t)dlvsym(lib, "ibv_open_device", "IBVERBS_1.0");
	int (*poll_qp)(void *, void *, int, void *) = (int (*)(void *, void *, int, void *))(
		uintptr_t)dlvsym(lib, "ibv_query_qp", "IBVERBS_1.0");
	int count = 7;

	if (!get_list || !open_device || !poll_qp)
		return;
	errno = 0;
	check(get_list(&count) == NULL && errno == ENOSYS && count == 0, "1.0 device list");
	errno = 0;
	check(open_device(NULL) == NULL && errno == ENOSYS, "1.0 open_device");
	check(poll_qp(NULL, NULL, 0, NULL) == ENOSYS, "1.0 query_qp");
}

/* What libraries of devices that are not here do when they are loaded. */
static void call_private(void *lib)
{
	static const char *const nodes[] = {"25", "33", "34", "57", "59", "64"};
	int (*command)(void *, void *) = (int (*)(void *, void *))(uintptr_t)dlvsym(
		lib, "ibv_cmd_alloc_pd", "IBVERBS_PRIVATE_34");
	const uint8_t *flag = dlvsym(lib, "verbs_allow_disassociate_destroy", "IBVERBS_PRIVATE_34");

	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		char symbol[64];
		char version[64];
		void (*reg)(const void *);

		snprintf(symbol, sizeof(symbol), "verbs_register_driver_%s", nodes[i]);
		snprintf(version, sizeof(version), "IBVERBS_PRIVATE_%s", nodes[i]);
		reg = (void (*)(const void *))(uintptr_t)dlvsym(lib, symbol, version);
		check(reg != NULL, symbol);
		if (reg)
			reg(NULL);
	}
	check(command && command(NULL, NULL) == EOPNOTSUPP, "ibv_cmd_alloc_pd");
	check(flag && *flag == 0, "verbs_allow_disassociate_destroy");
}

int main(int argc, char **argv)
{
	void *lib;
	int count;

	if (argc != 3)
		return 2;
	lib = open_library(argv[1], "libibverbs.so");
	check(open_library(argv[1], "libibverbs.so.1") == lib, "two names, one library");
	count = look_up_all(lib, argv[2]);
	check(count > 180, "the table is complete");
	check(dlvsym(lib, "ibv_open_device", "IBVERBS_1.99") == NULL, "an unknown version");
	check(dlsym(lib, "roce_verbs_cq_poll") == NULL, "our own functions stay inside");
	call_version_1_0(lib);
	call_private(lib);
	printf("%d symbols looked up, %d wrong\n", count, failures);
	return failures ? 1 : 0;
}
