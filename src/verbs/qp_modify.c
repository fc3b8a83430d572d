/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Changing a queue pair's state. The transport decides about transitions and attribute masks; here
 * are the checks that need the port (GID index, path MTU), and what an address vector holds on to:
 * the opened local address, its GID index, and the entry of the peer's receive queue. A new vector
 * is acquired before the transport is asked and the old one let go after it agreed, so nothing
 * changes on failure.
 */
#include "verbs/qp_verbs.h"

#include "verbs/privilege.h"
#include "verbs/refuse.h"
#include "wire/mtu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define QKEY_CONTROLLED 0x80000000u

/* X(flag, name in struct ibv_qp_attr) */
#define ATTR_NAMES(X)                                 \
	X(STATE, "qp_state")                          \
	X(CUR_STATE, "cur_qp_state")                  \
	X(EN_SQD_ASYNC_NOTIFY, "en_sqd_async_notify") \
	X(ACCESS_FLAGS, "qp_access_flags")            \
	X(PKEY_INDEX, "pkey_index")                   \
	X(PORT, "port_num")                           \
	X(QKEY, "qkey")                               \
	X(AV, "ah_attr")                              \
	X(PATH_MTU, "path_mtu")                       \
	X(TIMEOUT, "timeout")                         \
	X(RETRY_CNT, "retry_cnt")                     \
	X(RNR_RETRY, "rnr_retry")                     \
	X(RQ_PSN, "rq_psn")                           \
	X(MAX_QP_RD_ATOMIC, "max_rd_atomic")          \
	X(ALT_PATH, "alt_ah_attr")                    \
	X(MIN_RNR_TIMER, "min_rnr_timer")             \
	X(SQ_PSN, "sq_psn")                           \
	X(MAX_DEST_RD_ATOMIC, "max_dest_rd_atomic")   \
	X(PATH_MIG_STATE, "path_mig_state")           \
	X(CAP, "cap")                                 \
	X(DEST_QPN, "dest_qp_num")                    \
	X(RATE_LIMIT, "rate_limit")

static const char *state_str(uint32_t state)
{
	static const char *const names[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}

/* "path_mtu, timeout" for a mask; a bit without a name shows as a number. */
static void attr_list(char *out, size_t size, uint32_t mask)
{
	static const struct {
		uint32_t bit;
		const char *name;
	} names[] = {
#define X(flag, name) {ROCE_ATTR_##flag, name},
		ATTR_NAMES(X)
#undef X
	};
	size_t at = 0;

	out[0] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && at < size; i++) {
		if (!(mask & names[i].bit))
			continue;
		at += (size_t)snprintf(out + at, size - at, "%s%s", at ? ", " : "", names[i].name);
		mask &= ~names[i].bit;
	}
	if (mask && at < size)
		snprintf(out + at, size - at, "%smask bits 0x%x", at ? ", " : "", mask);
}

static uint32_t attr_value(const struct roce_qp_attr *a, uint32_t bit)
{
	switch (bit) {
	case ROCE_ATTR_PATH_MTU:
		return a->path_mtu;
	case ROCE_ATTR_TIMEOUT:
		return a->timeout;
	case ROCE_ATTR_RETRY_CNT:
		return a->retry_cnt;
	case ROCE_ATTR_RNR_RETRY:
		return a->rnr_retry;
	case ROCE_ATTR_MIN_RNR_TIMER:
		return a->min_rnr_timer;
	case ROCE_ATTR_MAX_QP_RD_ATOMIC:
		return a->max_rd_atomic;
	case ROCE_ATTR_MAX_DEST_RD_ATOMIC:
		return a->max_dest_rd_atomic;
	case ROCE_ATTR_DEST_QPN:
		return a->dest_qpn;
	default:
		return 0;
	}
}

static int refuse(enum roce_modify_result result, const struct roce_verbs_qp *vqp,
		  const struct roce_qp_attr *attr, uint32_t mask, uint32_t bad)
{
	uint32_t qpn = vqp->qp.cfg.qpn.v;
	uint32_t from = vqp->qp.attr.state;
	uint32_t to = mask & ROCE_ATTR_STATE ? attr->state : from;
	char list[256];

	if (!roce_debug_is_on())
		return -EINVAL;
	attr_list(list, sizeof(list), bad);
	switch (result) {
	case ROCE_MODIFY_OK:
		return 0;
	case ROCE_MODIFY_BAD_TRANSITION:
		return roce_refuse(EINVAL, "modify_qp: QP 0x%06x: qp_state: no way from %s to %s",
				   qpn, state_str(from), state_str(to));
	case ROCE_MODIFY_WRONG_CUR_STATE:
		return roce_refuse(EINVAL, "modify_qp: QP 0x%06x: cur_qp_state says %s, it is %s",
				   qpn, state_str(attr->cur_state), state_str(from));
	case ROCE_MODIFY_MISSING:
		return roce_refuse(EINVAL, "modify_qp: QP 0x%06x: %s to %s needs %s in the mask",
				   qpn, state_str(from), state_str(to), list);
	case ROCE_MODIFY_UNEXPECTED:
		return roce_refuse(EINVAL, "modify_qp: QP 0x%06x: %s to %s does not take %s", qpn,
				   state_str(from), state_str(to), list);
	case ROCE_MODIFY_BAD_VALUE:
		return roce_refuse(EINVAL, "modify_qp: QP 0x%06x: value %u of %s is out of range",
				   qpn, attr_value(attr, bad & (~bad + 1)), list);
	}
	return -EINVAL;
}

int roce_port_mtu(struct roce_device *dev, uint8_t *out_mtu)
{
	struct roce_port_info port;
	int err = dev->env->query_port(dev->env_ctx, &port);

	if (!err)
		*out_mtu = port.active_mtu;
	return err;
}

/* A controlled Q_Key is not every program's to choose. */
static int check_qkey(const struct roce_qp_attr *attr, uint32_t mask)
{
	if (!(mask & ROCE_ATTR_QKEY) || !(attr->qkey & QKEY_CONTROLLED) || roce_may_control_qkeys())
		return 0;
	return roce_refuse(EPERM, "modify_qp: qkey 0x%08x: bit 31 needs CAP_NET_RAW", attr->qkey);
}

/* What only the port and the device know. */
static int check_port_values(struct roce_verbs_qp *vqp, const struct roce_qp_attr *attr,
			     uint32_t mask)
{
	struct roce_device *dev = vqp->ctx->dev;

	if ((mask & ROCE_ATTR_PORT) && attr->port_num != 1)
		return roce_refuse(EINVAL, "modify_qp: port_num %u, the only port is 1",
				   attr->port_num);
	if ((mask & ROCE_ATTR_PKEY_INDEX) && attr->pkey_index != 0)
		return roce_refuse(EINVAL, "modify_qp: pkey_index %u, the only entry is 0",
				   attr->pkey_index);
	if (mask & ROCE_ATTR_ALT_PATH)
		return roce_refuse(EINVAL, "modify_qp: alt_ah_attr: no path migration here");
	if (mask & ROCE_ATTR_PATH_MTU) {
		struct roce_port_info port;
		int err = dev->env->query_port(dev->env_ctx, &port);

		if (err)
			return err;
		if (attr->path_mtu > port.active_mtu)
			return roce_refuse(EINVAL,
					   "modify_qp: path_mtu %u is above the port's active MTU "
					   "%u (network device MTU %u)",
					   roce_mtu_bytes(attr->path_mtu),
					   roce_mtu_bytes(port.active_mtu), port.netdev_mtu);
	}
	return 0;
}

/* ---- what an address vector holds ---- */

static struct roce_peer *get_peer(struct roce_device *dev, const struct roce_gid *dgid,
				  uint8_t slot)
{
	struct roce_peer *peer = roce_peer_find(&dev->transport, dgid, slot);

	if (!peer) {
		peer = malloc(sizeof(*peer));
		if (!peer)
			return NULL;
		roce_peer_add(&dev->transport, peer, dgid, slot);
	}
	peer->use_count++;
	return peer;
}

static void put_peer(struct roce_peer *peer)
{
	if (!peer || --peer->use_count)
		return;
	roce_peer_remove(peer);
	free(peer);
}

static void release_path(struct roce_device *dev, struct roce_peer *peer,
			 const struct roce_gid *local, uint8_t local_index)
{
	if (!peer)
		return;
	put_peer(peer);
	dev->env->close_address(dev->env_ctx, local);
	dev->env->release_gid(dev->env_ctx, local_index);
}

static int acquire_path(struct roce_verbs_qp *vqp, struct roce_qp_attr *attr, uint32_t mask)
{
	struct roce_device *dev = vqp->ctx->dev;
	uint32_t dest_qpn = mask & ROCE_ATTR_DEST_QPN ? attr->dest_qpn : vqp->qp.attr.dest_qpn;
	int err;

	attr->peer = get_peer(dev, &attr->path.dgid, roce_qpn_slot((roce_qpn_t){dest_qpn}));
	if (!attr->peer)
		return -ENOMEM;
	err = roce_av_hold(dev, "modify_qp", &attr->path);
	if (err)
		goto drop_peer;
	err = dev->env->open_address(dev->env_ctx, &attr->path.sgid);
	if (err) {
		err = roce_refuse(-err, "modify_qp: GID index %u cannot be opened (error %d)",
				  attr->path.sgid_index, -err);
		goto release_gid;
	}
	return 0;
release_gid:
	dev->env->release_gid(dev->env_ctx, attr->path.sgid_index);
drop_peer:
	put_peer(attr->peer);
	return err;
}

/* What the queue pair still owes its peer (the ACK of a message whose completion the program has
 * just polled) leaves before it forgets; hardware would have sent it long ago. */
static void send_what_is_due(struct roce_device *dev)
{
	if (roce_tx_is_pending(&dev->transport))
		dev->env->progress(dev->env_ctx, false);
}

static int apply(struct roce_verbs_qp *vqp, struct roce_qp_attr *attr, uint32_t mask)
{
	struct roce_device *dev = vqp->ctx->dev;
	struct roce_qp *qp = &vqp->qp;
	enum roce_modify_result result;
	uint32_t bad;

	if ((mask & ROCE_ATTR_STATE) &&
	    (attr->state == ROCE_QP_RESET || attr->state == ROCE_QP_ERR))
		send_what_is_due(dev);
	if (mask & ROCE_ATTR_AV) {
		int err = acquire_path(vqp, attr, mask);

		if (err)
			return err;
	}
	if (qp->cfg.type == ROCE_QP_UD && (mask & ROCE_ATTR_STATE) && attr->state == ROCE_QP_RTR) {
		int err = roce_locals_open_all(vqp);

		if (err) {
			if (mask & ROCE_ATTR_AV)
				release_path(dev, attr->peer, &attr->path.sgid,
					     attr->path.sgid_index);
			return roce_refuse(-err,
					   "modify_qp: no address of the device can be opened");
		}
	}
	result = roce_qp_modify(qp, attr, mask, dev->env->now(dev->env_ctx), &bad);
	if (result != ROCE_MODIFY_OK) {
		if (mask & ROCE_ATTR_AV)
			release_path(dev, attr->peer, &attr->path.sgid, attr->path.sgid_index);
		return refuse(result, vqp, attr, mask, bad);
	}
	if (qp->attr.state == ROCE_QP_RESET) {
		roce_locals_close(vqp);
		if (vqp->xrcd)
			roce_xrcd_reset_qp(vqp->xrcd, qp);
	}
	if ((mask & ROCE_ATTR_AV) || qp->attr.state == ROCE_QP_RESET) {
		release_path(dev, vqp->peer, &vqp->local, vqp->local_index);
		vqp->peer = qp->peer;
		vqp->local = attr->path.sgid;
		vqp->local_index = attr->path.sgid_index;
	}
	return 0;
}

/* Programs treat both ends of an XRC connection alike, and Linux lets them: what the other end only
 * has is left out. */
static uint32_t mask_for_type(uint8_t type, uint32_t mask)
{
	if (type == ROCE_QP_XRC_INI)
		return mask & ~(uint32_t)(ROCE_ATTR_MAX_DEST_RD_ATOMIC | ROCE_ATTR_MIN_RNR_TIMER);
	if (type == ROCE_QP_XRC_TGT)
		return mask & ~(uint32_t)(ROCE_ATTR_MAX_QP_RD_ATOMIC | ROCE_ATTR_RETRY_CNT |
					  ROCE_ATTR_RNR_RETRY);
	return mask;
}

int roce_verbs_qp_modify(struct roce_verbs_qp *vqp, const struct roce_qp_attr *attr, uint32_t mask,
			 const struct roce_av *av)
{
	struct roce_device *dev = vqp->ctx->dev;
	struct roce_qp_attr wanted = *attr;
	uint8_t port_mtu = 0;
	int err;

	mask = mask_for_type(vqp->qp.cfg.type, mask);
	err = check_port_values(vqp, attr, mask);
	if (!err)
		err = check_qkey(attr, mask);
	if (!err && (mask & ROCE_ATTR_AV))
		err = roce_av_resolve(dev, "modify_qp", av, &wanted.path);
	if (err)
		return err;
	if (vqp->qp.cfg.type == ROCE_QP_UD && (mask & ROCE_ATTR_STATE))
		err = roce_port_mtu(dev, &port_mtu);
	if (err)
		return err;
	pthread_mutex_lock(&dev->lock);
	if (port_mtu)
		vqp->qp.cfg.port_mtu = port_mtu;
	err = apply(vqp, &wanted, mask);
	if (!err)
		dev->env->kick(dev->env_ctx);
	pthread_mutex_unlock(&dev->lock);
	return err;
}

/* Completions in the CQ of an XRC receive queue stay: that queue is the program's, not the QP's. */
void roce_verbs_qp_leave(struct roce_verbs_qp *vqp)
{
	struct roce_device *dev = vqp->ctx->dev;

	send_what_is_due(dev);
	roce_verbs_qp_leave_groups(vqp);
	roce_qp_fini(&vqp->qp);
	roce_cq_clean(vqp->qp.cfg.send_cq, &vqp->qp);
	roce_cq_clean(vqp->qp.cfg.recv_cq, &vqp->qp);
	if (vqp->xrcd)
		roce_xrcd_disown_qp(vqp->xrcd, &vqp->qp);
	release_path(dev, vqp->peer, &vqp->local, vqp->local_index);
	vqp->peer = NULL;
	roce_locals_close(vqp);
}
