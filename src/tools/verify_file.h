/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A report's file. One that is regular, or not there yet, is written beside its place and put there
 * as a whole, so that it is never half a report, whatever ends this program or the machine. What is
 * more than a name for one file (a pipe, a device, the standard output, several links) is written
 * as it is; a symbolic link stays one. Called by whoever has a report: begin, write, end.
 */
#ifndef ROCE_TOOLS_VERIFY_FILE_H
#define ROCE_TOOLS_VERIFY_FILE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

struct roce_verify_file {
	const char *path; /* borrowed */
	FILE *stream;	  /* NULL: it cannot be written */
	int error;	  /* why; or set by the writer, who could not end it */
	char *target;	  /* what is replaced in the end; NULL: it is written in place */
	char *temporary;
};

/* "-". */
bool roce_verify_is_on_stdout(const char *path);
/* A file that cannot be written is better known before the run than after it. NULL: none. An exit
 * status; nothing is left of a file that was not there, unless a link leads to it. */
int roce_verify_check_writable(const char *command, const char *path);
/* Whether a later report takes the place of an earlier one, in place of coming behind it. */
bool roce_verify_is_replaced(const char *path);

/* False: it cannot be written, as the end will say. "-" is standard output. */
bool roce_verify_file_begin(struct roce_verify_file *file, const char *path);
/* An exit status; `command` is whose line says what went wrong, NULL: none does. */
int roce_verify_file_end(struct roce_verify_file *file, const char *command);

/* Takes the reference. Numbers have nine digits that count, and whole ones all of theirs. An exit
 * status, as above. */
int roce_verify_write_json(const char *command, const char *path, json_t *json);

#endif
