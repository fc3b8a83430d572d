/* SPDX-License-Identifier: BSD-2-Clause */
/* The socket behind a multicast group. */
#ifndef ROCE_ENGINE_GROUP_H
#define ROCE_ENGINE_GROUP_H

#include "base/addr.h"

#include <stdint.h>

/* Non-blocking, bound to the group and port 4791, joined on the interface. 0 or -errno. */
int roce_group_socket(const struct roce_gid *mgid, uint32_t ifindex, int *out_fd);

#endif
