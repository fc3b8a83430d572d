/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the public functions of <rdma/rsocket.h> (api.c, options.c, poll.c). The public names
 * alone are visible outside of the library.
 */
#ifndef ROCE_RSOCKET_API_H
#define ROCE_RSOCKET_API_H

#include <errno.h>
#include <stddef.h>

struct roce_rs;

/* -1 and errno for a negative error, else the value. */
static inline long roce_rs_result(long value)
{
	if (value >= 0)
		return value;
	errno = (int)-value;
	return -1;
}

/* NULL and EBADF. */
struct roce_rs *roce_rs_find(int fd);

#endif
