/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that the engine starts inside a program that does not know of them. */
#ifndef ROCE_ENGINE_THREAD_H
#define ROCE_ENGINE_THREAD_H

#include <pthread.h>

/* All signals are blocked in it but those of its own faults: a handler of the program never runs
 * there, yet memory that is gone must raise something that guard.c can catch. 0 or -errno. */
int roce_thread_create(pthread_t *out, const char *name, void *(*run)(void *), void *arg);

#endif
