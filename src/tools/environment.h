/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The variables that put our libraries in place of the system's: `uroce run` sets them, `uroce env`
 * prints them.
 */
#ifndef ROCE_TOOLS_ENVIRONMENT_H
#define ROCE_TOOLS_ENVIRONMENT_H

#include "tools/place.h"

#include <stdbool.h>

/* Puts them into this process's environment, before what is there. 0 or -ENOMEM. */
int roce_environment_set(const struct roce_place *place, bool preload);

#endif
