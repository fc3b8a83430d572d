/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs as verbs see them: made with checked capabilities and an unguessable number, moved
 * through their states with everything that a state needs outside the transport (the local address
 * opened, the peer's entry held), and taken down again.
 *
 * Posting is in two steps so that a list of work requests is converted one by one under one lock:
 * roce_verbs_qp_lock(), roce_post_send() or roce_post_recv() for each, roce_verbs_qp_unlock_send()
 * or _recv().
 */
#ifndef ROCE_VERBS_QP_VERBS_H
#define ROCE_VERBS_QP_VERBS_H

#include "verbs/av.h"
#include "verbs/cq_verbs.h"
#include "verbs/limits.h"
#include "verbs/qpn_pool.h"
#include "verbs/srq_verbs.h"

struct roce_qp_caps {
	uint32_t max_send_wr;
	uint32_t max_recv_wr;
	uint32_t max_send_sge;
	uint32_t max_recv_sge;
	uint32_t max_inline; /* bytes */
};

struct roce_qp_request {
	uint8_t type; /* enum roce_qp_type */
	bool sq_sig_all;
	struct roce_pd *pd;
	struct roce_verbs_cq *send_cq;
	struct roce_verbs_cq *recv_cq;		/* not with XRC */
	struct roce_verbs_srq *srq;		/* or NULL */
	struct roce_xrcd *xrcd;			/* XRC targets; they have no pd of their own */
	const struct roce_allocator *allocator; /* or NULL */
	struct roce_qp_caps caps;
	void *owner; /* program-side object, found as events.owner */
};

struct roce_verbs_qp {
	struct roce_qp qp;
	struct roce_context *ctx;
	struct roce_list link; /* ctx->qps; alone when detached */
	struct roce_event_source events;
	struct roce_verbs_cq *send_cq; /* or NULL, as the type demands */
	struct roce_verbs_cq *recv_cq;
	struct roce_verbs_srq *srq;
	struct roce_xrcd *xrcd;
	struct roce_cq no_cq;	 /* in the place of one that the type does not have */
	struct roce_pd no_pd;	 /* the same for XRC targets */
	struct roce_peer *peer;	 /* held while the QP has an address vector */
	struct roce_gid local;	 /* opened together with it */
	uint8_t local_index;	 /* and held there in the GID table */
	bool has_locals;	 /* UD: it receives, on all addresses of the port */
	struct roce_gid *locals; /* UD: opened addresses */
	uint32_t local_count;
	struct roce_list groups;   /* UD: attachments to multicast groups */
	struct roce_block storage; /* rings, and the WQE held from an SRQ */
};

/* Fills in qp.cfg with what was granted. -EINVAL: an argument; -EOPNOTSUPP: type; -ENOMEM; else
 * what the environment says when it cannot give a receive slot. */
int roce_verbs_qp_init(struct roce_verbs_qp *vqp, struct roce_context *ctx,
		       const struct roce_qp_request *req);
/* -EBUSY while it is attached to a group. Its completions leave the CQs; waits until its events
 * have been acknowledged. */
int roce_verbs_qp_fini(struct roce_verbs_qp *vqp);

/* `attr` without path and peer: those come from `av`, with ROCE_ATTR_AV. Nothing changes on
 * failure. */
int roce_verbs_qp_modify(struct roce_verbs_qp *vqp, const struct roce_qp_attr *attr, uint32_t mask,
			 const struct roce_av *av);

/* Limits what its send queue sends; 0 kbit/s: no limit, 0 bytes: a burst of our choice. -EINVAL. */
int roce_verbs_qp_limit_rate(struct roce_verbs_qp *vqp, uint32_t kbit_per_s, uint32_t burst_bytes);

void roce_verbs_qp_query(struct roce_verbs_qp *vqp, struct roce_qp_attr *out_attr,
			 bool *out_is_draining);

/* A UD request's local address is opened if need be; device lock held. */
enum roce_post_result roce_verbs_qp_post_datagram(struct roce_verbs_qp *vqp,
						  const struct roce_send_wr *wr, roce_ns_t now);

/* Takes the device lock and the time; unlock makes the engine send what was posted. */
static inline roce_ns_t roce_verbs_qp_lock(struct roce_verbs_qp *vqp)
{
	struct roce_device *dev = vqp->ctx->dev;

	pthread_mutex_lock(&dev->lock);
	return dev->env->now(dev->env_ctx);
}

static inline void roce_verbs_qp_unlock_send(struct roce_verbs_qp *vqp)
{
	struct roce_device *dev = vqp->ctx->dev;

	dev->env->kick(dev->env_ctx);
	pthread_mutex_unlock(&dev->lock);
}

static inline void roce_verbs_qp_unlock_recv(struct roce_verbs_qp *vqp)
{
	pthread_mutex_unlock(&vqp->ctx->dev->lock);
}

/* The errno (positive) of a refused post; names the reason when debugging is on. `what` is the
 * opcode, or the unknown flags with _BAD_FLAGS. */
int roce_verbs_qp_refuse_post(const struct roce_verbs_qp *vqp, const char *call,
			      enum roce_post_result result, uint32_t what, int sge_count);

void roce_verbs_qp_on_async_event(struct roce_verbs_qp *vqp, enum roce_async_event event);

/* Out of the transport, address closed, peer released; device lock held. */
void roce_verbs_qp_detach(struct roce_verbs_qp *vqp);

/* ---- qp_modify.c; device lock held ---- */

/* Out of the transport, with everything that its state holds on to. */
void roce_verbs_qp_leave(struct roce_verbs_qp *vqp);
/* The longest datagram now, as enum ibv_mtu; lock not needed. 0 or -errno. */
int roce_port_mtu(struct roce_device *dev, uint8_t *out_mtu);

/* ---- multicast.c ---- */

/* UD only. Attaching twice is attaching once. -EINVAL: another type, no multicast GID, or (detach)
 * not attached; -ENOMEM: too many; else what joining the group on the network gave. */
int roce_verbs_qp_attach(struct roce_verbs_qp *vqp, const struct roce_gid *mgid);
int roce_verbs_qp_detach_group(struct roce_verbs_qp *vqp, const struct roce_gid *mgid);
/* All of them; device lock held. */
void roce_verbs_qp_leave_groups(struct roce_verbs_qp *vqp);

/* ---- locals.c: the addresses of a UD queue pair; device lock held ---- */

/* The addresses of a port. */
struct roce_locals {
	uint32_t count;
	struct roce_gid gids[ROCE_GID_TABLE];
};

/* 0 or -errno: the port cannot be asked; then there are none. */
int roce_locals_read(struct roce_device *dev, struct roce_locals *out);
/* The source of a datagram, should it not be open yet. */
void roce_locals_open(struct roce_verbs_qp *vqp, const struct roce_path *path);
/* -errno when not even one can be opened. */
int roce_locals_open_all(struct roce_verbs_qp *vqp);
/* The port has these now. */
void roce_locals_follow(struct roce_verbs_qp *vqp, const struct roce_locals *now);
void roce_locals_close(struct roce_verbs_qp *vqp);

/* Defined by device.c: the numbers in use. */
struct roce_qpn_pool *roce_device_qpns(struct roce_device *dev);

#endif
