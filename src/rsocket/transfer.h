/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes in and out of a stream. Return bytes, or -errno when there are none. Locks are taken. */
#ifndef ROCE_RSOCKET_TRANSFER_H
#define ROCE_RSOCKET_TRANSFER_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

struct roce_rs;

ssize_t roce_rs_send(struct roce_rs *rs, const struct iovec *iov, int count, int flags);
ssize_t roce_rs_receive(struct roce_rs *rs, const struct iovec *iov, int count, int flags);
/* riowrite(). */
ssize_t roce_rs_write_mapped(struct roce_rs *rs, const void *data, size_t length, off_t offset,
			     int flags);

#endif
