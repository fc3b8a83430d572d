/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A device's port as it is now: the network device's facts and the GID table, brought up to date at
 * each question with what the kernel has told since, and the list of what changed that nobody has
 * taken yet. A question reads netlink only when there is news of this device.
 *
 * Who takes the changes (watch.h) waits for `news.fd`, and for `wake_fd`, which a question makes
 * readable when it found news before him.
 *
 * Any thread may call; the lock is innermost.
 */
#ifndef ROCE_ENGINE_PORT_STATE_H
#define ROCE_ENGINE_PORT_STATE_H

#include "engine/gid_table.h"
#include "engine/netdev.h"
#include "engine/netdev_news.h"
#include "verbs/device.h"

#include <pthread.h>

struct roce_port_state {
	pthread_mutex_t lock;
	uint32_t ifindex;
	int wake_fd;
	struct roce_netdev_source *source;
	struct roce_netdev_news news;
	struct roce_netdev facts; /* gids: as they were read; the table is the port's */
	struct roce_gid_table table;
	bool must_read;			/* reading failed */
	bool is_gone;			/* for good */
	struct roce_port_change change; /* not taken yet; was_up: what was told */
};

/* 0 or -errno: ENODEV when there is no such device. */
int roce_port_state_open(struct roce_port_state *p, uint32_t ifindex);
/* Also after a failed open. */
void roce_port_state_close(struct roce_port_state *p);
/* In a forked child: closes its copies of the descriptors, nothing else. */
void roce_port_state_abandon(struct roce_port_state *p);

/* 0 or -errno: the facts could not be read. A device that is gone is a port that is down. */
int roce_port_state_query(struct roce_port_state *p, struct roce_port_info *out);
/* -ENOENT for an empty entry, else as above. */
int roce_port_state_gid(struct roce_port_state *p, uint32_t index, struct roce_gid *out);
/* The index is no other address's until it is released. -ENOENT: it is not, or not any more, this
 * address. */
int roce_port_state_hold_gid(struct roce_port_state *p, uint32_t index, const struct roce_gid *gid);
void roce_port_state_release_gid(struct roce_port_state *p, uint32_t index);

/* What has changed since the last call; false when nothing has. */
bool roce_port_state_take(struct roce_port_state *p, struct roce_port_change *out);
/* News could not be followed up: take again, soon. */
bool roce_port_state_must_read(struct roce_port_state *p);
bool roce_port_state_is_gone(struct roce_port_state *p);

#endif
