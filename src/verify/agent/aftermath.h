/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a case changes outside its process must be put right however the case ends: it may be
 * killed. A process of its own waits for that and does it.
 */
#ifndef VERIFY_AGENT_AFTERMATH_H
#define VERIFY_AGENT_AFTERMATH_H

#include <stddef.h>

#define VA_AFTERMATH_BYTES 64u

/* Calls `restore` with a copy of `what` (up to VA_AFTERMATH_BYTES) when this process has ended.
 * What it returns is for va_put_right(). */
int va_when_gone(void (*restore)(const void *what), const void *what, size_t size);

/* This process has put it right itself: nothing is done when it has ended, for by then the next
 * case may have changed it again. */
void va_put_right(int aftermath);

#endif
