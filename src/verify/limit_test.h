/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For tests of what must not take without end: a bound on the processor's time. On a machine that
 * has others to serve the time of a clock says nothing.
 */
#ifndef ROCE_VERIFY_LIMIT_TEST_H
#define ROCE_VERIFY_LIMIT_TEST_H

#include <stddef.h>
#include <sys/time.h>

/* This program ends by a signal when it has used so much more. 0: no end. */
static inline void limit_processor_seconds(int seconds)
{
	struct itimerval timer = {.it_value = {.tv_sec = seconds}};

	(void)setitimer(ITIMER_PROF, &timer, NULL);
}

#endif
