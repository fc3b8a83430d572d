/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The variables that put our libraries in place of the system's: `uroce run` sets them, `uroce env`
 * prints them.
 */
#ifndef ROCE_TOOLS_ENVIRONMENT_H
#define ROCE_TOOLS_ENVIRONMENT_H

#include "tools/place.h"

#include <stdbool.h>

struct roce_environment_extras {
	bool preload_verbs; /* the program's RPATH would find another libibverbs.so.1 */
	bool sockets;	    /* its TCP and UDP sockets become rsockets */
};

/* Puts them into this process's environment, before what is there. 0, -ENOMEM, or -ENOENT: this
 * installation has no librspreload.so. */
int roce_environment_set(const struct roce_place *place,
			 const struct roce_environment_extras *extras);

#endif
