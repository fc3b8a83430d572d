/* SPDX-License-Identifier: BSD-2-Clause */
/* From a file descriptor to its rsocket, without a lock: for descriptors below 65536. */
#ifndef ROCE_RSOCKET_TABLE_H
#define ROCE_RSOCKET_TABLE_H

#define ROCE_RS_FD_MAX 65535

struct roce_rs;

/* NULL: not an rsocket. */
struct roce_rs *roce_rs_table_get(int fd);
/* 0, -EMFILE for a descriptor that is too large, -ENOMEM. */
int roce_rs_table_put(int fd, struct roce_rs *rs);
void roce_rs_table_remove(int fd);

#endif
