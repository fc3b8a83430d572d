/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the engine draws are keys and PSNs. Without any source of random bytes the program ends: a
 * guessable rkey would open its memory to everybody on the network.
 */
#include "control/random.h"
#include "engine/engine_internal.h"

#include <stdio.h>
#include <stdlib.h>

void roce_engine_random(void *out, size_t length)
{
	if (roce_random_fill(out, length) == 0)
		return;
	fprintf(stderr,
		"uroce: neither getrandom() nor /dev/urandom gives random bytes: keys would be "
		"guessable, the program ends\n");
	abort();
}
