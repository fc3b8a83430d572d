/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One line about a refused call: verbs answer a wrong argument with a bare EINVAL, so with
 * UROCE_DEBUG=1 in the environment the place that refuses names the field, its value and what was
 * expected. Without it nothing is printed. Never used on the data path of a correct program.
 */
#ifndef ROCE_VERBS_REFUSE_H
#define ROCE_VERBS_REFUSE_H

#include <stdbool.h>

bool roce_debug_is_on(void);

/* Prints "uroce: <text>" to standard error when debugging is on; returns -err. */
int roce_refuse(int err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
