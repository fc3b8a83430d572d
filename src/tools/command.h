/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The subcommands of `uroce`. Each is one function in the file of its name, called by main.c with
 * argv[0] being the subcommand's name; what it returns is the exit status: ROCE_EXIT_OK,
 * ROCE_EXIT_FAILED when the thing asked for could not be had, ROCE_EXIT_USAGE after one line on
 * standard error that names the argument and what was expected.
 *
 * Output goes to standard output, complaints to standard error as `uroce SUBCOMMAND: what`.
 */
#ifndef ROCE_TOOLS_COMMAND_H
#define ROCE_TOOLS_COMMAND_H

#include <stdint.h>

enum {
	ROCE_EXIT_OK = 0,
	ROCE_EXIT_FAILED = 1,
	ROCE_EXIT_USAGE = 2,
	ROCE_EXIT_INTERRUPTED = 130,
	ROCE_EXIT_CANNOT_RUN = 126, /* `uroce run`: as env(1) and the shells have it */
	ROCE_EXIT_NOT_FOUND = 127,
};

int roce_cmd_run(int argc, char **argv);
int roce_cmd_env(int argc, char **argv);
int roce_cmd_perf(int argc, char **argv);
int roce_cmd_devices(int argc, char **argv);
int roce_cmd_counters(int argc, char **argv);
int roce_cmd_status(int argc, char **argv);
int roce_cmd_sim(int argc, char **argv);
int roce_cmd_stop(int argc, char **argv);
int roce_cmd_verify(int argc, char **argv);

/* One line `uroce COMMAND: text`, and a pointer to `uroce help COMMAND`; returns ROCE_EXIT_USAGE.
 */
__attribute__((format(printf, 2, 3))) int roce_usage_error(const char *command, const char *fmt,
							   ...);
/* The value of an option as a number: ROCE_EXIT_OK, or that line. */
int roce_usage_number(const char *command, const char *option, const char *text, uint64_t least,
		      uint64_t most, uint64_t *out);

#endif
