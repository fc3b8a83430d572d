/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether this machine has the memory that a case wants. */
#ifndef VERIFY_AGENT_ROOM_H
#define VERIFY_AGENT_ROOM_H

#include "verify/agent/buffer.h"

/* Called on both sides: va_skip() with what is missing unless `bytes` on each side are free, and
 * more for whatever else runs. Two sides on one machine share what it has. */
void va_room_need(struct va_run *run, uint64_t bytes);

/* The same of this side alone, and of its memory alone. */
void va_room_need_here(struct va_run *run, uint64_t bytes);

/* va_buffer_create() that skips where there is no such memory, or where locked memory is limited
 * (ulimit -l) and the device minds. */
void va_room_buffer(struct va_run *run, struct va_device *device, size_t bytes, unsigned int access,
		    struct va_buffer *out);

#endif
