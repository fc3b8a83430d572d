/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stands in for libFuzzer in ordinary builds: gives every file of the named folders (or the named
 * files) to the target, whole and cut at every length up to 256 bytes, in exactly sized memory so
 * that the sanitizers see any read beyond the end. A folder without inputs is an error.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_MAX 65536
#define CUTS_MAX  256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run_exact(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		exit(1);
	memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static int run_file(const char *path)
{
	static uint8_t data[INPUT_MAX];
	FILE *file = fopen(path, "rb");
	size_t size;

	if (!file) {
		perror(path);
		return 0;
	}
	size = fread(data, 1, sizeof(data), file);
	fclose(file);
	for (size_t cut = 0; cut < size && cut < CUTS_MAX; cut++)
		run_exact(data, cut);
	run_exact(data, size);
	return 1;
}

static int run_folder(const char *path)
{
	char name[4096];
	struct dirent *entry;
	DIR *dir = opendir(path);
	int ran = 0;

	if (!dir)
		return run_file(path);
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		ran += run_file(name);
	}
	closedir(dir);
	return ran;
}

int main(int argc, char **argv)
{
	int ran = 0;

	for (int i = 1; i < argc; i++) {
		int here = run_folder(argv[i]);

		if (here == 0) {
			fprintf(stderr, "%s: no inputs\n", argv[i]);
			return 1;
		}
		ran += here;
	}
	printf("%d inputs replayed\n", ran);
	return ran ? 0 : 2;
}
