/* SPDX-License-Identifier: BSD-2-Clause */
/* Making queue pairs and bringing them to RTS; facts go as JSON {qpn, psn, gid, mtu, reads}. */
#include "verify/agent/endpoint.h"

#include "base/prng.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define READS_MAX 16

static uint32_t at_least_one(uint32_t n)
{
	return n ? n : 1;
}

static struct ibv_cq *make_cq(struct va_run *run, struct va_device *device, uint32_t depth)
{
	struct ibv_cq *cq = ibv_create_cq(device->context, (int)depth, NULL, NULL, 0);

	va_need(run, cq != NULL, "ibv_create_cq");
	return cq;
}

int va_endpoint_try(struct va_run *run, struct va_device *device,
		    const struct va_endpoint_config *config, struct va_endpoint *out)
{
	static uint64_t made;
	struct roce_prng prng = {run->seed + ++made + run->is_initiator * UINT64_C(1000003)};
	uint32_t sends = at_least_one(config->send_depth);
	uint32_t receives = at_least_one(config->receive_depth);
	struct ibv_qp_init_attr attr = {0};

	*out = (struct va_endpoint){.config = *config, .device = device};
	if (!out->config.type)
		out->config.type = IBV_QPT_RC;
	if (!out->config.timeout)
		out->config.timeout = (uint8_t)roce_json_integer(run->where, "qp_timeout");
	out->send_cq = config->send_cq ? config->send_cq : make_cq(run, device, sends);
	out->recv_cq = config->recv_cq ? config->recv_cq : make_cq(run, device, receives);
	attr.qp_type = out->config.type;
	attr.send_cq = out->send_cq;
	attr.recv_cq = out->recv_cq;
	attr.srq = config->srq;
	attr.cap.max_send_wr = sends;
	attr.cap.max_recv_wr = config->srq ? 0 : receives;
	attr.cap.max_send_sge = at_least_one(config->pieces_max);
	attr.cap.max_recv_sge = at_least_one(config->pieces_max);
	attr.cap.max_inline_data = config->inline_max;
	out->srq = config->srq;
	out->own_psn = (uint32_t)roce_prng_below(&prng, 1u << 24);
	if (out->config.type == IBV_QPT_XRC_SEND)
		return va_endpoint_xrc_try(run, out, &attr);
	out->qp = ibv_create_qp(device->pd, &attr);
	if (!out->qp && config->inline_max) { /* a device need not have as much, or any */
		attr.cap.max_inline_data = 0;
		out->qp = ibv_create_qp(device->pd, &attr);
	}
	if (!out->qp)
		return errno;
	out->inline_max = attr.cap.max_inline_data;
	return 0;
}

void va_endpoint_create(struct va_run *run, struct va_device *device,
			const struct va_endpoint_config *config, struct va_endpoint *out)
{
	int error = va_endpoint_try(run, device, config, out);

	if (error)
		va_fail(run, "ibv_create_qp: %s", strerror(error));
}

/* READs and atomics that this side answers at once, as it tells the other one. */
static uint8_t reads_answered(const struct va_device *device)
{
	int reads = device->attr.max_qp_rd_atom;

	return (uint8_t)(reads > READS_MAX ? READS_MAX : reads);
}

json_t *va_endpoint_facts(const struct va_endpoint *endpoint)
{
	const struct va_device *device = endpoint->device;
	char gid[33];

	for (int i = 0; i < 16; i++)
		snprintf(gid + 2 * i, 3, "%02x", device->gid.raw[i]);
	return json_pack("{s:i, s:i, s:s, s:i, s:i, s:i, s:I}", "qpn", (int)endpoint->qp->qp_num,
			 "psn", (int)endpoint->own_psn, "gid", gid, "mtu", (int)device->mtu_bytes,
			 "reads", reads_answered(device), "target_qpn",
			 endpoint->target_qp ? (int)endpoint->target_qp->qp_num : 0, "srqn",
			 (json_int_t)va_endpoint_xrc_srqn(endpoint));
}

void va_endpoint_take(struct va_run *run, struct va_endpoint *endpoint, const json_t *facts)
{
	const char *gid = roce_json_text(facts, "gid");
	uint32_t mtu = (uint32_t)roce_json_integer(facts, "mtu");

	if (strlen(gid) != 32 || mtu < 256 || mtu > 4096)
		va_fail(run, "the other side sent no facts of a queue pair");
	for (int i = 0; i < 16; i++) {
		unsigned int byte = 0;

		if (sscanf(gid + 2 * i, "%2x", &byte) != 1)
			va_fail(run, "the other side sent no GID");
		endpoint->peer_gid.raw[i] = (uint8_t)byte;
	}
	endpoint->peer_qpn = (uint32_t)roce_json_integer(facts, "qpn") & 0xffffff;
	endpoint->peer_psn = (uint32_t)roce_json_integer(facts, "psn") & 0xffffff;
	endpoint->peer_target_qpn = (uint32_t)roce_json_integer(facts, "target_qpn") & 0xffffff;
	endpoint->peer_srqn = (uint32_t)roce_json_integer(facts, "srqn");
	endpoint->peer_reads = (uint32_t)roce_json_integer(facts, "reads");
	endpoint->mtu_bytes = mtu < endpoint->device->mtu_bytes ? mtu : endpoint->device->mtu_bytes;
	if (endpoint->config.mtu_bytes && endpoint->config.mtu_bytes < endpoint->mtu_bytes)
		endpoint->mtu_bytes = endpoint->config.mtu_bytes;
}

enum ibv_qp_type va_transport_type(const char *word)
{
	if (strcmp(word, "uc") == 0)
		return IBV_QPT_UC;
	if (strcmp(word, "ud") == 0)
		return IBV_QPT_UD;
	return strcmp(word, "xrc") == 0 ? IBV_QPT_XRC_SEND : IBV_QPT_RC;
}

uint32_t va_endpoint_receive_qpn(const struct va_endpoint *endpoint)
{
	return endpoint->target_qp ? endpoint->target_qp->qp_num : endpoint->qp->qp_num;
}

static bool is_ud(const struct va_endpoint *endpoint)
{
	return endpoint->config.type == IBV_QPT_UD;
}

/* What a queue pair does decides which attributes it must be given: those of a requester, of a
 * responder, or both. */
static bool is_requester(const struct va_endpoint *endpoint, const struct ibv_qp *qp)
{
	return endpoint->config.type == IBV_QPT_RC || (endpoint->target_qp && qp == endpoint->qp);
}

static bool is_responder(const struct va_endpoint *endpoint, const struct ibv_qp *qp)
{
	return endpoint->config.type == IBV_QPT_RC || (qp && qp == endpoint->target_qp);
}

static int to_init(const struct va_endpoint *endpoint, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = endpoint->device->port,
		.qkey = VA_QKEY,
	};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	if (!endpoint->config.no_remote_access)
		attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	if (is_responder(endpoint, qp) && !endpoint->config.no_remote_access)
		attr.qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	return ibv_modify_qp(qp, &attr,
			     mask | (is_ud(endpoint) ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
}

/* XRC has two queue pairs to be moved. */
static int each(const struct va_endpoint *endpoint,
		int (*to_state)(const struct va_endpoint *endpoint, struct ibv_qp *qp))
{
	int rc = endpoint->target_qp ? to_state(endpoint, endpoint->target_qp) : 0;

	return rc ? rc : to_state(endpoint, endpoint->qp);
}

int va_endpoint_to_init(struct va_endpoint *endpoint)
{
	return each(endpoint, to_init);
}

static struct ibv_ah_attr path(const struct va_endpoint *endpoint)
{
	return (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = endpoint->device->port,
		.grh =
			{
				.dgid = endpoint->peer_gid,
				.sgid_index = endpoint->device->gid_index,
				.hop_limit = 64,
			},
	};
}

static enum ibv_mtu mtu_code(uint32_t bytes)
{
	enum ibv_mtu code = IBV_MTU_256;

	while (code < IBV_MTU_4096 && (256u << (unsigned int)code) <= bytes)
		code++;
	return code;
}

static int to_rtr(const struct va_endpoint *endpoint, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu_code(endpoint->mtu_bytes),
		.dest_qp_num = endpoint->peer_qpn,
		.rq_psn = endpoint->peer_psn,
		.max_dest_rd_atomic = reads_answered(endpoint->device),
		.min_rnr_timer = 12,
		.ah_attr = path(endpoint),
	};
	int mask = IBV_QP_STATE;

	if (endpoint->target_qp && qp == endpoint->qp)
		attr.dest_qp_num = endpoint->peer_target_qpn;
	if (!is_ud(endpoint))
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (is_responder(endpoint, qp))
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return ibv_modify_qp(qp, &attr, mask);
}

int va_endpoint_to_rtr(struct va_endpoint *endpoint)
{
	return each(endpoint, to_rtr);
}

static int to_rts(const struct va_endpoint *endpoint, struct ibv_qp *qp)
{
	const struct va_endpoint_config *config = &endpoint->config;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = endpoint->own_psn,
		.timeout = config->timeout ? config->timeout : 14,
		.retry_cnt = (uint8_t)(7 - config->retry_count_less),
		.rnr_retry = 7,
		.max_rd_atomic = (uint8_t)endpoint->peer_reads,
	};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (attr.max_rd_atomic > endpoint->device->attr.max_qp_init_rd_atom)
		attr.max_rd_atomic = (uint8_t)endpoint->device->attr.max_qp_init_rd_atom;
	if (is_requester(endpoint, qp))
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	else if (qp == endpoint->target_qp)
		mask |= IBV_QP_TIMEOUT;
	return ibv_modify_qp(qp, &attr, mask);
}

int va_endpoint_to_rts(struct va_endpoint *endpoint)
{
	return each(endpoint, to_rts);
}

static void must(struct va_run *run, int rc, const char *what)
{
	if (rc)
		va_fail(run, "ibv_modify_qp to %s: %s", what, strerror(rc));
}

void va_endpoint_address(struct va_run *run, struct va_endpoint *endpoint)
{
	struct ibv_ah_attr ah = path(endpoint);

	endpoint->ah = ibv_create_ah(endpoint->device->pd, &ah);
	va_need(run, endpoint->ah != NULL, "ibv_create_ah");
}

void va_endpoint_connect(struct va_run *run, struct va_endpoint *endpoint)
{
	json_t *facts;

	if (endpoint->config.by_cm) {
		va_endpoint_cm_connect(run, endpoint);
		return;
	}
	facts = va_exchange(run, va_endpoint_facts(endpoint));
	va_endpoint_take(run, endpoint, facts);
	json_decref(facts);
	must(run, va_endpoint_to_init(endpoint), "INIT");
	must(run, va_endpoint_to_rtr(endpoint), "RTR");
	must(run, va_endpoint_to_rts(endpoint), "RTS");
	if (is_ud(endpoint))
		va_endpoint_address(run, endpoint);
	va_barrier(run, "connected");
}

void va_endpoint_connect_to_itself(struct va_run *run, struct va_endpoint *endpoint)
{
	json_t *facts = va_endpoint_facts(endpoint);

	va_endpoint_take(run, endpoint, facts);
	endpoint->peer_psn = endpoint->own_psn;
	json_decref(facts);
	must(run, va_endpoint_to_init(endpoint), "INIT");
	must(run, va_endpoint_to_rtr(endpoint), "RTR");
	must(run, va_endpoint_to_rts(endpoint), "RTS");
}

static void destroyed(struct va_run *run, int rc, const char *what)
{
	if (rc)
		va_fail(run, "%s: %s", what, strerror(rc));
}

void va_endpoint_destroy(struct va_run *run, struct va_endpoint *endpoint)
{
	if (endpoint->id)
		va_endpoint_cm_disconnect(run, endpoint);
	if (endpoint->ah)
		destroyed(run, ibv_destroy_ah(endpoint->ah), "ibv_destroy_ah");
	destroyed(run, ibv_destroy_qp(endpoint->qp), "ibv_destroy_qp");
	if (endpoint->target_qp)
		va_endpoint_xrc_destroy(run, endpoint);
	if (!endpoint->config.send_cq)
		destroyed(run, ibv_destroy_cq(endpoint->send_cq), "ibv_destroy_cq");
	if (!endpoint->config.recv_cq)
		destroyed(run, ibv_destroy_cq(endpoint->recv_cq), "ibv_destroy_cq");
	*endpoint = (struct va_endpoint){0};
}
