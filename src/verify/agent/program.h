/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs of uroce that a case runs, under the environment of the agent. */
#ifndef VERIFY_AGENT_PROGRAM_H
#define VERIFY_AGENT_PROGRAM_H

#include "verify/agent/run.h"

#include <stddef.h>

#define VA_PATH_BYTES 4352u

/* The path of a program beside this one, or where examples are. False: it is not there, and `out`
 * is where it should be. */
bool va_program_find(struct va_run *run, const char *name, char out[VA_PATH_BYTES]);

/* Runs it to its end. Its exit status, with what it printed (both streams) up to `size`; va_fail()
 * when it ends by a signal or not in the time of the case. */
int va_program_run(struct va_run *run, char *const argv[], char *text, size_t size);

#endif
