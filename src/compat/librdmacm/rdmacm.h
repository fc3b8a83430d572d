/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The objects behind the pointers that librdmacm hands out: the public struct of rdma_cma.h first,
 * our fields behind it, so each conversion is a cast. Addresses, routes and multicast membership
 * are this library's own work; dialogues are run by the connection manager in uroced, to which
 * cm_client.h speaks; queue pairs are moved through the public verbs.
 *
 * Locks: cm_lock guards ids, channels, their queues and the counts of unacknowledged events. It is
 * taken inside the lock of the cm client (which calls cm_on_event with its own held), so no request
 * is sent with cm_lock held. One id's calls are the program's to serialise, as with the real one.
 */
#ifndef ROCE_COMPAT_LIBRDMACM_RDMACM_H
#define ROCE_COMPAT_LIBRDMACM_RDMACM_H

#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "control/cm_client.h"

#define CM_PRIVATE_TCP_MAX	56
#define CM_PRIVATE_REP_MAX	196
#define CM_PRIVATE_REJ_MAX	148
#define CM_PRIVATE_SIDR_REQ_MAX 180
#define CM_PRIVATE_SIDR_REP_MAX 136

#define CM_IDS_BUCKETS		1024

struct cm_device {
	struct roce_list link; /* of all devices that were ever used; contexts stay open */
	struct ibv_context *verbs;
	struct ibv_pd *pd;     /* while use_count is not 0 */
	struct ibv_xrcd *xrcd; /* made when one is asked for; goes with pd */
	uint32_t use_count;    /* ids bound to it */
	uint8_t max_qp_rd_atomic;
	uint8_t max_qp_init_rd_atomic;
	uint8_t ack_delay; /* local_ca_ack_delay */
};

struct cm_channel {
	struct rdma_event_channel channel;
	struct roce_list events;
	uint32_t wake; /* futex: changes with every event */
	uint32_t waiters;
	bool is_destroyed;
	struct roce_list dead_link;
};

enum cm_state {
	CM_IDLE,
	CM_BOUND,
	CM_ADDR_QUERY,
	CM_ADDR_RESOLVED,
	CM_ROUTE_RESOLVED, /* also while its event is still to be read */
	CM_LISTENING,
	CM_CONNECTING, /* and everything after it: the daemon knows more */
	CM_CHILD,      /* came with a CONNECT_REQUEST */
};

struct cm_id {
	struct rdma_cm_id id;
	struct roce_list link; /* of its bucket, by handle */
	uint32_t handle;
	enum cm_state state;
	bool is_sync;
	bool is_bound;	       /* the daemon has a port for it */
	bool is_removed;       /* DEVICE_REMOVAL was posted */
	bool has_failed;       /* CONNECT_ERROR was reported: what follows is swallowed */
	bool is_source_chosen; /* by the route: another destination may have another */
	bool is_responded;     /* the active side got its REP */
	uint32_t unacked;      /* events in the program's hands */
	struct cm_device *dev;
	uint32_t ifindex; /* of the local address */
	uint32_t backlog;

	/* options */
	uint8_t tos;
	bool has_reuse, af_only, has_ack_timeout;
	uint8_t ack_timeout;

	/* of the connection */
	struct roce_cm_path path;
	struct roce_cm_conn peer; /* what REQ or REP said */
	uint32_t own_psn;
	uint8_t responder_resources, initiator_depth; /* of our queue pair */
	uint8_t retry_count;
	uint8_t own_timeout; /* local ACK timeout that our REQ says */
	uint32_t qkey;
	struct ibv_ece local_ece;

	/* rdma_create_ep */
	struct ibv_qp_init_attr *qp_attr; /* of a listener: for each child */
	void *connect_data;
	size_t connect_length;

	struct roce_list groups; /* struct cm_group */
};

struct cm_group {
	struct roce_list link;
	struct sockaddr_storage addr;
	void *context;
	int sock; /* holds the membership; -1: send only */
	bool is_attached;
	union ibv_gid mgid;
	uint32_t unacked;
};

struct cm_event {
	struct rdma_cm_event event;
	struct roce_list link; /* of a channel's queue */
	struct cm_id *id;      /* counts it, also when event.id is a child */
	struct cm_group *group;
	struct roce_cm_event raw; /* event.param's private data is in here */
};

extern pthread_mutex_t cm_lock;
/* An event was acknowledged. */
extern pthread_cond_t cm_acked;

static inline struct cm_id *cm_id_of(struct rdma_cm_id *id)
{
	return (struct cm_id *)id;
}

static inline struct cm_channel *cm_channel_of(struct rdma_event_channel *channel)
{
	return (struct cm_channel *)channel;
}

/* -1 with errno. */
int cm_fail(int err);

/* library.c */

/* 0 or -errno when there is no device at all. */
int cm_library_init(void);
/* The request, its errno; the daemon is found or started when it is the first. */
int cm_request(const struct roce_cm_request *r, struct roce_cm_ok *out_ok);
int cm_new_handle(uint32_t *out_handle);
/* A thread without signals that nobody joins. 0 or -errno. */
int cm_start_thread(void *(*run)(void *arg), void *arg, const char *name);

/* id.c */
struct cm_id *cm_id_create(struct cm_channel *channel, void *context, enum rdma_port_space ps,
			   enum ibv_qp_type qp_type, uint32_t handle);
/* With cm_lock. */
struct cm_id *cm_id_find(uint32_t handle);
/* Posts DEVICE_REMOVAL to every id of the interface's device. */
void cm_ids_on_removal(uint32_t ifindex);
int cm_id_default_qp_type(enum rdma_port_space ps, enum ibv_qp_type *out);
bool cm_is_datagram(const struct cm_id *id);

/* channel.c */
struct cm_channel *cm_channel_create(void);
void cm_channel_destroy(struct cm_channel *ch);
/* With cm_lock. */
void cm_channel_push(struct cm_channel *ch, struct cm_event *ev);
/* Takes out what is not delivered of an id, or of one group of it, into `out`. With cm_lock. */
void cm_channel_take(struct cm_channel *ch, const struct cm_id *id, const struct cm_group *group,
		     struct roce_list *out);
/* The next event, counted as delivered; waits as the descriptor's O_NONBLOCK says. 0 or -errno. */
int cm_channel_pop(struct cm_channel *ch, struct cm_event **out);

/* event.c */
/* From the cm client, with its lock. */
void cm_on_event(void *ctx, const struct roce_cm_event *e);
struct cm_event *cm_event_make(struct cm_id *id, enum rdma_cm_event_type type, int status);
/* Queues an event of our own; with cm_lock. */
void cm_event_post(struct cm_event *ev);

/* address.c */
bool cm_gid_from_sockaddr(const struct sockaddr *addr, struct roce_gid *out);
void cm_sockaddr_from_gid(const struct roce_gid *gid, uint16_t port, uint32_t scope,
			  struct sockaddr_storage *out);
socklen_t cm_sockaddr_length(const struct sockaddr *addr);
uint16_t cm_sockaddr_port(const struct sockaddr *addr);
void cm_sockaddr_set_port(struct sockaddr *addr, uint16_t port);
bool cm_sockaddr_is_zero(const struct sockaddr *addr);
bool cm_sockaddr_is_loopback(const struct sockaddr *addr);
bool cm_sockaddr_is_multicast(const struct sockaddr *addr);
bool cm_gid_is_link_local(const struct roce_gid *gid);
/* The interface that has the address; scope 0: any. 0 or -EADDRNOTAVAIL. */
int cm_address_find(const struct sockaddr *addr, uint32_t *out_ifindex);

/* bind.c */
/* Gets the id a port of this address (NULL: any, of the family), without the device. */
uint32_t cm_bind_flags(const struct cm_id *id);
int cm_bind(struct cm_id *id, const struct sockaddr *addr, int family);

/* device.c */
/* Binds the id to the device of an interface: verbs, pd, port_num. 0, -ENODEV, ... */
int cm_device_bind(struct cm_id *id, uint32_t ifindex);
void cm_device_unbind(struct cm_id *id);
/* In a forked child: the parent's contexts are of no use there. */
void cm_devices_forget(void);
/* The GID's index in the device's table, or -ENODEV. */
int cm_device_gid_index(const struct cm_device *dev, const struct roce_gid *gid);
/* The address by which this host reaches itself: of the first device that has one of the family. */
int cm_device_for_loopback(bool is_v4, struct roce_gid *out_gid, uint32_t *out_ifindex);
int cm_device_xrcd(struct cm_id *id, struct ibv_xrcd **out);

/* removal.c */
void cm_removal_watch(void);

/* netroute.c */
struct cm_next_hop {
	struct roce_gid source; /* the kernel's choice; zero: none */
	struct roce_gid neighbour;
	uint32_t ifindex;
	bool is_local; /* the destination is this host, or needs no neighbour */
};
int cm_next_hop_find(const struct sockaddr *dst, const struct sockaddr *src,
		     struct cm_next_hop *out);
/* 1 known, 0 not yet, or -errno. */
int cm_neighbour_is_known(const struct cm_next_hop *hop);
/* Makes the kernel look for the neighbour. */
void cm_neighbour_probe(const struct cm_next_hop *hop);

/* route.c */
void cm_route_fill(struct cm_id *id);
int cm_route_set_paths(struct cm_id *id, const struct ibv_path_data *paths, size_t count);

/* qp.c */
int cm_qp_to_rtr(struct cm_id *id, uint8_t responder_resources);
int cm_qp_to_rts(struct cm_id *id, uint8_t initiator_depth);
int cm_qp_to_error(struct cm_id *id);
void cm_qp_fill_ah_attr(const struct cm_id *id, struct ibv_ah_attr *out);
int cm_cqs_create(struct cm_id *id, uint32_t send_size, uint32_t recv_size);
void cm_cqs_destroy(struct cm_id *id);
uint8_t cm_ack_timeout(uint8_t ack_delay, uint8_t packet_life);

/* multicast.c */
void cm_groups_leave(struct cm_id *id);
/* What reading a MULTICAST_JOIN does. 0 or -errno. */
int cm_group_attach(struct cm_event *ev);

/* sync.c */
/* Of a sync id: waits for its next event; of others 0 at once. As an rdma_*() call returns. */
int cm_complete(struct cm_id *id);

#endif
