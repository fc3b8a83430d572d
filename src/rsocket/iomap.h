/* SPDX-License-Identifier: BSD-2-Clause */
/* riomap() and riounmap(); lock of the socket held. */
#ifndef ROCE_RSOCKET_IOMAP_H
#define ROCE_RSOCKET_IOMAP_H

#include <stddef.h>
#include <sys/types.h>

struct roce_rs;

/* The offset under which the peer writes there, or -errno: EINVAL no connection yet, or other
 * protection than PROT_WRITE and PROT_NONE; ENOMEM the peer's table is full. offset -1: its
 * address. */
off_t roce_rs_map(struct roce_rs *rs, void *buffer, size_t length, int prot, off_t offset);
/* -EINVAL: not exactly one that was mapped. */
int roce_rs_unmap(struct roce_rs *rs, const void *buffer, size_t length);

#endif
