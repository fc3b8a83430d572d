/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Linked into every unit test of a debug build: when the program ends, appends the names of the
 * marks it hit (base/marks.h) to a file of its own in the folder $UROCE_MARKS, if that is set.
 */
#include "base/marks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Around the section, from the linker. */
extern struct roce_mark *const marks_start[] __asm__("__start_roce_marks");
extern struct roce_mark *const marks_stop[] __asm__("__stop_roce_marks");

/* Never hit: it makes the section exist in a program without marks. */
static struct roce_mark placeholder;
static struct roce_mark *const placeholder_entry __attribute__((section("roce_marks"), used)) =
	&placeholder;

__attribute__((destructor)) static void write_marks(void)
{
	const char *folder = getenv("UROCE_MARKS");
	char path[4096];
	FILE *file;

	if (!folder)
		return;
	if (mkdir(folder, 0777) != 0 && errno != EEXIST)
		return;
	snprintf(path, sizeof(path), "%s/%s", folder, program_invocation_short_name);
	file = fopen(path, "a");
	if (!file)
		return;
	for (struct roce_mark *const *m = marks_start; m < marks_stop; m++) {
		if ((*m)->is_hit)
			fprintf(file, "%s\n", (*m)->name);
	}
	fclose(file);
}
