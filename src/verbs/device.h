/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device as verbs see it: one transport, one lock, and the environment that the engine installs
 * (verbs does not include the engine, so that the simulator can put its own in place).
 *
 * Locking: `lock` guards the transport and every object of the device. Verbs calls take it, the
 * engine's progress thread takes it, and every function of struct roce_device_env but where noted
 * is called with it held. Comp channels and async event queues have locks of their own, taken
 * inside it, never around it.
 */
#ifndef ROCE_VERBS_DEVICE_H
#define ROCE_VERBS_DEVICE_H

#include "base/addr.h"
#include "base/ns.h"
#include "transport/qp.h"
#include "transport/transport.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct roce_device;

struct roce_port_info {
	bool is_up;
	uint32_t netdev_mtu; /* bytes of IP packet */
	uint8_t active_mtu;  /* enum ibv_mtu that fits it */
	uint32_t speed_mbps; /* 0 if the netdev does not say */
	uint32_t gid_count;  /* one behind the last GID entry in use; some before may be empty */
	uint8_t mac[6];
};

/* What became of the port since the last time that this was told. */
struct roce_port_change {
	bool was_up;
	bool is_up;
	bool is_flapped; /* it was the opposite of `is_up` in between */
	bool is_gid_changed;
	bool is_mtu_changed;
	bool is_gone; /* the network device, for good */
};

struct roce_device_env {
	roce_ns_t (*now)(void *ctx);			     /* lock not needed */
	void (*random)(void *ctx, void *out, size_t length); /* lock not needed */

	/* Receives, transmits and runs timers once, without blocking. `is_polling`: a program asks
	 * in poll_cq and found nothing; the engine steers its progress thread by it. */
	void (*progress)(void *ctx, bool is_polling);
	/* Work was posted or a QP changed state: transmit what is due now or soon. */
	void (*kick)(void *ctx);
	/* The program is about to block on a channel or has armed a CQ: the thread takes over. */
	void (*arm)(void *ctx);
	/* poll_cq hands out completions: ACKs may wait for the next call (the program's answer goes
	 * first), the thread sees to it that they do not wait long. */
	void (*on_completions)(void *ctx);

	/* The receive slot of this process, leased at the first QP. 0 or -errno. */
	int (*acquire_slot)(void *ctx, uint8_t *out_slot);
	/* Opens the local address for receiving and sending; counted. 0 or -errno. */
	int (*open_address)(void *ctx, const struct roce_gid *sgid);
	void (*close_address)(void *ctx, const struct roce_gid *sgid);
	/* Receives what is sent to a multicast group; counted. 0 or -errno. */
	int (*join_group)(void *ctx, const struct roce_gid *mgid);
	void (*leave_group)(void *ctx, const struct roce_gid *mgid);

	/* Fresh facts; lock not needed. */
	int (*query_port)(void *ctx, struct roce_port_info *out);
	/* -ENOENT for an empty entry. */
	int (*query_gid)(void *ctx, uint32_t index, struct roce_gid *out, uint32_t *out_ifindex);
	/* Until it is released the index is no other address's, even when this one leaves the port.
	 * -ENOENT when it is not, or not any more, this address; lock not needed. */
	int (*hold_gid)(void *ctx, uint32_t index, const struct roce_gid *gid);
	void (*release_gid)(void *ctx, uint32_t index);
};

/* What the engine gives when it makes a device; verbs fills the rest. */
struct roce_device {
	pthread_mutex_t lock;
	struct roce_transport transport;
	struct roce_counters *counters; /* in memory that the daemon may map */
	const struct roce_device_env *env;
	void *env_ctx;
	uint8_t slot; /* 0 until acquired */
	uint32_t context_count;
	struct roce_list contexts; /* verbs: open contexts, for async events */

	/* verbs only */
	uint32_t pd_count;
	uint32_t ah_count;
	uint32_t mr_count;
	uint32_t mw_count;
	uint32_t cq_count;
	uint32_t srq_count;
	uint64_t dm_bytes;	   /* device memory given out */
	uint32_t mcast_count;	   /* attachments */
	struct roce_list xrcds;	   /* struct roce_xrcd */
	uint8_t random_bytes[256]; /* drawn in advance, random_left of them unused at the end */
	uint32_t random_left;
	struct roce_device_tables *tables;
	struct roce_qp **grown_qps; /* tables that have moved, or NULL */
	struct roce_timer **grown_timers;
	void *mapping;
	size_t mapping_bytes;
};

/* Prepares lock, transport and tables. 0 or -ENOMEM. `cfg` has the transport's tuning only:
 * window, read_*, ack_*, burst_packets, mem_ops, ctx of mem_ops; and, should they not be 0,
 * qp_table_mask and mr_bucket_count, with which the tables begin instead of their largest sizes
 * (that of queue pairs grows, in the other chains become longer). */
int roce_device_init(struct roce_device *dev, const struct roce_device_env *env, void *env_ctx,
		     const struct roce_transport_config *tuning, struct roce_counters *counters);
void roce_device_fini(struct roce_device *dev);

/* Makes room for one more queue pair, of this number, or one more completion queue; lock held. 0 or
 * -ENOMEM. */
int roce_device_fit_qp(struct roce_device *dev, uint32_t number);
int roce_device_fit_timers(struct roce_device *dev);

/* 32 bits of the environment's randomness; lock held. */
uint32_t roce_device_random(struct roce_device *dev);

/* The port has changed: datagram queue pairs follow it, and every context of the device hears of it
 * (PORT_ACTIVE, PORT_ERR, GID_CHANGE, DEVICE_FATAL); lock held. */
void roce_device_on_port_change(struct roce_device *dev, const struct roce_port_change *change);

#endif
