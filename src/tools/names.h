/* SPDX-License-Identifier: BSD-2-Clause */
/* Says what is wrong with UROCE_NAME before a program only misses its device. */
#ifndef ROCE_TOOLS_NAMES_H
#define ROCE_TOOLS_NAMES_H

#include <stddef.h>

/* Looks at "NAME=INTERFACE,..." and puts the first mistake into `err`: 0, or -1 with one line. */
int roce_names_check(const char *names, char *err, size_t err_size);

#endif
