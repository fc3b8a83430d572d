/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the fabric refuses, and for which reason: settings that cannot be meant. The caller, who
 * knows file and line, makes the message. What needs the whole network (buffers, reachability) is
 * checked where it is computed.
 */
#include "fabric/state.h"

#include "wire/mtu.h"

#include <errno.h>

#define MTU_MIN	     256u
#define MTU_MAX	     9978u
#define PPM	     1000000u
#define MESSAGE_MAX  (1u << 31)
#define QP_COUNT_MAX 4096u

int roce_fabric_refuse(struct roce_fabric *f, enum roce_fabric_fault fault, uint32_t node,
		       uint32_t port, uint32_t prio)
{
	f->fault = fault;
	f->fault_node = node;
	f->fault_port = port;
	f->fault_prio = prio;
	return -EINVAL;
}

enum roce_fabric_fault roce_fabric_fault(const struct roce_fabric *f, uint32_t *out_node,
					 uint32_t *out_port, uint32_t *out_prio)
{
	if (out_node)
		*out_node = f->fault_node;
	if (out_port)
		*out_port = f->fault_port;
	if (out_prio)
		*out_prio = f->fault_prio;
	return (enum roce_fabric_fault)f->fault;
}

/* ---- ports ---- */

static enum roce_fabric_fault check_qos(const struct roce_fabric_qos *qos)
{
	if (qos->default_prio >= ROCE_FABRIC_PRIOS)
		return ROCE_FABRIC_FAULT_PRIO;
	for (uint32_t i = 0; i < ROCE_FABRIC_DSCPS; i++)
		if (qos->dscp_to_prio[i] >= ROCE_FABRIC_PRIOS)
			return ROCE_FABRIC_FAULT_PRIO;
	for (uint32_t i = 0; i < ROCE_FABRIC_PRIOS; i++) {
		if (qos->prio_to_tc[i] >= ROCE_FABRIC_PRIOS ||
		    qos->pcp_to_prio[i] >= ROCE_FABRIC_PRIOS || qos->remark[i] >= ROCE_FABRIC_PRIOS)
			return ROCE_FABRIC_FAULT_PRIO;
		if (qos->tc_scheduler[i] == ROCE_FABRIC_DWRR && qos->tc_weight[i] == 0)
			return ROCE_FABRIC_FAULT_WEIGHT;
	}
	return ROCE_FABRIC_FAULT_NONE;
}

static enum roce_fabric_fault check_prio(const struct roce_fabric_port_config *cfg, uint32_t prio)
{
	const struct roce_fabric_buffer *buffer = &cfg->buffer[prio];
	const struct roce_fabric_ecn *ecn = &cfg->ecn[prio];

	if (ecn->is_enabled && (ecn->kmin_bytes > ecn->kmax_bytes || ecn->pmax_ppm > PPM))
		return ROCE_FABRIC_FAULT_ECN;
	if (buffer->kind == ROCE_FABRIC_LOSSLESS && !buffer->xoff_bytes && !buffer->alpha)
		return ROCE_FABRIC_FAULT_ALPHA;
	if (buffer->kind == ROCE_FABRIC_LOSSY && !buffer->egress_alpha)
		return ROCE_FABRIC_FAULT_ALPHA;
	if ((cfg->pfc.prios >> prio & 1) && buffer->kind != ROCE_FABRIC_LOSSLESS)
		return ROCE_FABRIC_FAULT_PFC_LOSSY;
	return ROCE_FABRIC_FAULT_NONE;
}

int roce_fabric_check_port(struct roce_fabric *f, const struct roce_fabric_port_config *cfg,
			   uint32_t node, uint32_t port)
{
	enum roce_fabric_fault fault = check_qos(&cfg->qos);
	uint32_t prio;

	if (cfg->mtu_bytes < MTU_MIN || cfg->mtu_bytes > MTU_MAX)
		fault = ROCE_FABRIC_FAULT_MTU;
	if (fault != ROCE_FABRIC_FAULT_NONE)
		return roce_fabric_refuse(f, fault, node, port, ROCE_FABRIC_NONE);
	for (prio = 0; prio < ROCE_FABRIC_PRIOS; prio++) {
		fault = check_prio(cfg, prio);
		if (fault != ROCE_FABRIC_FAULT_NONE)
			return roce_fabric_refuse(f, fault, node, port, prio);
	}
	return 0;
}

/* ---- flows ---- */

static enum roce_fabric_fault check_ends(const struct roce_fabric *f,
					 const struct roce_fabric_flow_config *cfg)
{
	if (!f->is_prepared)
		return ROCE_FABRIC_FAULT_UNPREPARED;
	if (cfg->src >= f->node_count || cfg->dst >= f->node_count)
		return ROCE_FABRIC_FAULT_NO_SUCH_NODE;
	if (cfg->via != ROCE_FABRIC_DIRECT &&
	    (cfg->via >= f->node_count || !f->nodes[cfg->via].host))
		return ROCE_FABRIC_FAULT_NOT_HOST;
	if (cfg->src == cfg->dst || !f->nodes[cfg->src].host || !f->nodes[cfg->dst].host)
		return ROCE_FABRIC_FAULT_NOT_HOST;
	return ROCE_FABRIC_FAULT_NONE;
}

static bool is_operation_ok(const struct roce_fabric_flow_config *cfg)
{
	if (cfg->operation >= ROCE_FABRIC_OPERATION_COUNT ||
	    cfg->transport >= ROCE_FABRIC_TRANSPORT_COUNT)
		return false;
	if (cfg->response_bytes && cfg->operation != ROCE_FABRIC_SEND)
		return false;
	if (cfg->transport == ROCE_FABRIC_UC)
		return cfg->operation != ROCE_FABRIC_READ;
	return cfg->transport != ROCE_FABRIC_UD || cfg->operation == ROCE_FABRIC_SEND;
}

static bool is_path_mtu_ok(const struct roce_fabric *f, const struct roce_fabric_flow_config *cfg)
{
	uint8_t code = roce_mtu_code(cfg->path_mtu);

	return code && roce_mtu_bytes(code) == cfg->path_mtu &&
	       code <= roce_fabric_host_mtu_code(&f->nodes[cfg->src]);
}

static bool is_message_ok(const struct roce_fabric_flow_config *cfg)
{
	if (cfg->transport == ROCE_FABRIC_UD)
		return cfg->message_bytes <= cfg->path_mtu && cfg->response_bytes <= cfg->path_mtu;
	return cfg->message_bytes <= MESSAGE_MAX && cfg->response_bytes <= MESSAGE_MAX;
}

int roce_fabric_check_flow(struct roce_fabric *f, const struct roce_fabric_flow_config *cfg)
{
	enum roce_fabric_fault fault = check_ends(f, cfg);

	if (fault != ROCE_FABRIC_FAULT_NONE)
		return roce_fabric_refuse(f, fault, cfg->src, ROCE_FABRIC_NONE, ROCE_FABRIC_NONE);
	if (!is_operation_ok(cfg))
		fault = ROCE_FABRIC_FAULT_OPERATION;
	else if (!is_path_mtu_ok(f, cfg))
		fault = ROCE_FABRIC_FAULT_PATH_MTU;
	else if (!is_message_ok(cfg))
		fault = ROCE_FABRIC_FAULT_MESSAGE;
	else if (cfg->bytes == 0)
		fault = ROCE_FABRIC_FAULT_BYTES;
	else if (cfg->qp_count == 0 || cfg->qp_count > QP_COUNT_MAX)
		fault = ROCE_FABRIC_FAULT_QUEUE_PAIRS;
	else if (cfg->prio >= ROCE_FABRIC_PRIOS || cfg->dscp >= ROCE_FABRIC_DSCPS)
		fault = ROCE_FABRIC_FAULT_PRIO;
	for (uint32_t i = 0; i < cfg->after_count; i++)
		if (cfg->after[i] >= f->flow_count)
			fault = ROCE_FABRIC_FAULT_AFTER;
	return fault == ROCE_FABRIC_FAULT_NONE
		       ? 0
		       : roce_fabric_refuse(f, fault, f->flow_count, ROCE_FABRIC_NONE,
					    ROCE_FABRIC_NONE);
}
