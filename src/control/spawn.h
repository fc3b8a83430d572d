/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starts uroced from inside an application, so that the application cannot notice: no SIGCHLD, no
 * child for its wait() to find, no zombie when the daemon leaves. Called by the client only.
 */
#ifndef ROCE_CONTROL_SPAWN_H
#define ROCE_CONTROL_SPAWN_H

#include <stddef.h>

/*
 * Finds the program: UROCE_UROCED, then ../bin/uroced or uroced beside the library or program that
 * this code is in, then the install path. -ENOENT: nowhere.
 */
int roce_spawn_find(char *out_path, size_t size);

/*
 * Runs it with `--report-fd`, and `--socket socket` unless NULL. `*out_report`: the daemon writes
 * one byte '+' when somebody listens (itself or an earlier one), else '-' and one line of text, and
 * closes. 0 or -errno.
 */
int roce_spawn_start(const char *path, const char *socket, int *out_report);

#endif
