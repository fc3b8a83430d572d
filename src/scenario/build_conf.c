/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Key by key into the fabric's structs. Ports are filled into zeroed memory, since the fabric keeps
 * one copy of all that are equal byte by byte.
 */
#include "scenario/build_conf.h"

#include "base/assert.h"
#include "scenario/build.h"

#include <string.h>

/* Fractions of 10^15 as parts of a million. */
static uint32_t ppm_of(uint64_t fraction)
{
	return (uint32_t)(fraction / (ROCE_FRACTION_ONE / 1000000));
}

static uint32_t bytes_of(uint64_t bytes)
{
	return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX - 1;
}

/* alpha = 2^th, in parts of 1024 */
static uint32_t alpha_of(int32_t th)
{
	return th >= 0 ? ROCE_FABRIC_ALPHA_ONE << th : ROCE_FABRIC_ALPHA_ONE >> -th;
}

/* ---- ports ---- */

struct qos_keys {
	uint32_t trust;
	const struct roce_words *dscp_prio;
	const struct roce_eight *pcp_prio;
	uint64_t default_prio;
	const struct roce_eight *pfc;
	const struct roce_eight *prio_tc;
	const struct roce_eight *tsa;
	const struct roce_eight *tcbw;
	uint64_t pause_quanta;
	bool pause_endless;
	uint64_t pause_refresh;
	uint64_t pause_response;
};

static void set_qos(const struct qos_keys *k, struct roce_fabric_port_config *out)
{
	struct roce_fabric_qos *qos = &out->qos;

	qos->trust = k->trust == ROCE_TRUST_PCP ? ROCE_FABRIC_TRUST_PCP : ROCE_FABRIC_TRUST_DSCP;
	qos->default_prio = (uint8_t)k->default_prio;
	for (uint32_t dscp = 0; dscp < ROCE_FABRIC_DSCPS; dscp++)
		qos->dscp_to_prio[dscp] = (uint8_t)(dscp / 8);
	for (uint32_t i = 0; i < k->dscp_prio->count; i++) {
		uint8_t dscp;
		uint8_t prio;

		if (roce_dscp_prio_parse(k->dscp_prio->at[i], &dscp, &prio))
			qos->dscp_to_prio[dscp] = prio;
	}
	out->pfc = (struct roce_fabric_pfc){
		.quanta = (uint16_t)k->pause_quanta,
		.is_unlimited = k->pause_endless,
		.refresh_ps = k->pause_refresh == ROCE_AUTO ? 0 : k->pause_refresh,
		.response_ps = k->pause_response,
	};
	for (uint32_t i = 0; i < ROCE_FABRIC_PRIOS; i++) {
		out->pfc.prios |= (uint8_t)(k->pfc->at[i] << i);
		qos->pcp_to_prio[i] = k->pcp_prio->at[i];
		qos->prio_to_tc[i] = k->prio_tc->at[i];
		qos->tc_scheduler[i] = k->tsa->at[i] ? ROCE_FABRIC_STRICT : ROCE_FABRIC_DWRR;
		/* A class without a share lives on what is left over. */
		qos->tc_weight[i] = k->tcbw->at[i] ? k->tcbw->at[i] : 1;
	}
}

void roce_build_switch_port(const struct roce_switch_conf *c, struct roce_fabric_port_config *out)
{
	memset(out, 0, sizeof(*out));
	out->mtu_bytes = (uint32_t)c->mtu;
	set_qos(&(struct qos_keys){c->trust, &c->dscp_prio, &c->pcp_prio, c->default_prio, &c->pfc,
				   &c->prio_tc, &c->tsa, &c->tcbw, c->pause_quanta,
				   c->pause_endless, c->pause_refresh, c->pause_response},
		out);
	memcpy(out->qos.remark, c->remark.at, sizeof(out->qos.remark));
	for (uint32_t i = 0; i < ROCE_FABRIC_PRIOS; i++) {
		struct roce_fabric_buffer *buffer = &out->buffer[i];
		struct roce_fabric_ecn *ecn = &out->ecn[i];

		ecn->is_enabled = c->ecn && c->ecn_tc.at[i];
		if (ecn->is_enabled) {
			ecn->is_mark_only = !c->red;
			ecn->is_at_dequeue = c->mark_at == ROCE_MARK_AT_DEQUEUE;
			ecn->kmin_bytes = bytes_of(c->kmin);
			ecn->kmax_bytes = bytes_of(c->kmax);
			ecn->pmax_ppm = ppm_of(c->pmax);
		}
		if (c->uncounted.at[i]) {
			buffer->kind = ROCE_FABRIC_UNCOUNTED;
			continue;
		}
		if (!c->pfc.at[i]) {
			buffer->kind = ROCE_FABRIC_LOSSY;
			buffer->reserve_bytes = bytes_of(c->q_size);
			buffer->egress_limit_bytes = bytes_of(c->q_static_th);
			buffer->egress_alpha = alpha_of(c->q_dynamic_th);
			continue;
		}
		buffer->kind = ROCE_FABRIC_LOSSLESS;
		buffer->reserve_bytes = bytes_of(c->pg_size);
		buffer->headroom_bytes =
			c->pg_xoff == ROCE_AUTO ? ROCE_FABRIC_COMPUTED : bytes_of(c->pg_xoff);
		buffer->xoff_bytes = bytes_of(c->pg_static_th);
		buffer->alpha = alpha_of(c->pg_dynamic_th);
		buffer->xon_bytes =
			c->pg_xon == ROCE_AUTO ? ROCE_FABRIC_COMPUTED : bytes_of(c->pg_xon);
		buffer->xon_offset_bytes = bytes_of(c->pg_xon_offset);
		buffer->egress_limit_bytes = bytes_of(c->q_lossless_th);
	}
}

/* A NIC marks nothing; its buffers are the fabric's defaults, its lossless ones those that PFC
 * says.
 */
void roce_build_host_port(const struct roce_host_conf *c, struct roce_fabric_port_config *out)
{
	struct roce_fabric_port_config defaults;

	memset(&defaults, 0, sizeof(defaults));
	roce_fabric_port_defaults(&defaults);
	memset(out, 0, sizeof(*out));
	out->mtu_bytes = (uint32_t)c->mtu;
	set_qos(&(struct qos_keys){c->trust, &c->dscp_prio, &c->pcp_prio, c->default_prio, &c->pfc,
				   &c->prio_tc, &c->tsa, &c->tcbw, c->pause_quanta,
				   c->pause_endless, c->pause_refresh, c->pause_response},
		out);
	memcpy(out->qos.remark, defaults.qos.remark, sizeof(out->qos.remark));
	for (uint32_t i = 0; i < ROCE_FABRIC_PRIOS; i++)
		out->buffer[i] = defaults.buffer[c->pfc.at[i] ? 3 : 0];
}

/* ---- nodes and links ---- */

void roce_build_switch(const struct roce_switch_conf *c, int rank,
		       struct roce_fabric_switch_config *out)
{
	memset(out, 0, sizeof(*out));
	roce_fabric_switch_defaults(out);
	roce_build_switch_port(c, &out->port);
	out->buffer_bytes = c->buffer_size;
	out->headroom_pool_bytes = c->headroom_pool;
	out->egress_lossless_bytes = c->egress_lossless == ROCE_AUTO ? 0 : c->egress_lossless;
	out->egress_lossy_bytes = c->egress_lossy == ROCE_AUTO ? 0 : c->egress_lossy;
	out->latency_ps = c->latency;
	out->is_cut_through = c->forwarding == ROCE_CUT_THROUGH;
	out->hash = c->hash ? ROCE_FABRIC_HASH_MURMUR3 : ROCE_FABRIC_HASH_MIXED;
	out->watchdog = (struct roce_fabric_watchdog){
		.is_enabled = c->watchdog,
		.is_forwarding = c->watchdog_action == ROCE_WATCHDOG_FORWARD,
		.poll_ps = c->watchdog_poll,
		.detect_ps = c->watchdog_detection,
		.restore_ps = c->watchdog_restoration,
	};
	out->rank = rank;
}

/* 10.x.y.z or fd00::x:y:z, z from 1 on. */
static void set_gid(uint32_t node, bool is_v6, struct roce_gid *out)
{
	uint32_t number = node + 1;

	memset(out, 0, sizeof(*out));
	if (is_v6) {
		out->raw[0] = 0xfd;
	} else {
		out->raw[10] = 0xff;
		out->raw[11] = 0xff;
		out->raw[12] = 10;
	}
	out->raw[13] = (uint8_t)(number >> 16);
	out->raw[14] = (uint8_t)(number >> 8);
	out->raw[15] = (uint8_t)number;
}

/* The preset, and over it what the scenario says. */
static void set_cc(const struct roce_host_conf *c, struct roce_fabric_host_config *out)
{
	const struct roce_cc_ops *ops = &roce_cc_dcqcn;
	const struct roce_cc_set *set;
	char name[32];

	out->cc = NULL;
	if (c->cc == ROCE_HOST_CC_NONE)
		return;
	roce_words_at(ROCE_DCQCN_PRESET_WORDS, c->dcqcn_preset, name, sizeof(name));
	set = roce_cc_find_set(ops, name, strlen(name));
	ROCE_ASSERT(set != NULL);
	out->cc = ops;
	out->cc_params = set->params;
	for (uint32_t i = 0; i < ROCE_DCQCN_PARAM_COUNT; i++) {
		if (c->dcqcn[i] != ROCE_AUTO)
			out->cc_params.v[i] = (uint32_t)c->dcqcn[i];
	}
	out->is_reaction_off = !c->reaction;
	out->is_notification_off = !c->notification;
}

void roce_build_host(const struct roce_plan *plan, uint32_t node,
		     struct roce_fabric_host_config *out)
{
	const struct roce_host_conf *c = plan->hosts[node];

	memset(out, 0, sizeof(*out));
	roce_fabric_host_defaults(out);
	roce_build_host_port(c, &out->port);
	set_gid(node, c->address == ROCE_HOST_IPV6, &out->gid);
	out->tx_delay_ps = c->tx_delay;
	out->rx_delay_ps = c->rx_delay;
	out->ack_prio = (int8_t)c->ack_prio;
	if (c->ack_prio >= 0)
		out->ack_dscp = (uint8_t)(c->ack_prio * 8);
	out->window_bytes = bytes_of(c->window);
	out->is_window_by_rate = c->window_by_rate;
	out->ack_turn = (uint8_t)c->ack_first;
	set_cc(c, out);
	out->segment_bytes = (uint32_t)c->segment;
	out->drain_bps = c->drain_rate;
	out->rx_buffer_bytes = bytes_of(c->rx_buffer);
	out->timing = c->timing ? "cx6" : "spec";
	out->ack_interval_packets = (uint32_t)c->ack_interval;
	out->is_go_back_0 = c->recovery;
	out->cnp_delay_ps = c->cnp_delay;
	out->is_ud_faulty = c->nic == ROCE_HOST_NIC_FAULTY_UD;
	out->is_pausing_forever = c->pause_storm;
	out->is_tagged = c->vlan || c->trust == ROCE_TRUST_PCP;
	out->vlan_id = (uint16_t)c->vlan;
}

void roce_build_link(const struct roce_link_conf *c, struct roce_fabric_link_config *out)
{
	const struct roce_fabric_faults faults = {
		.loss_ppm = ppm_of(c->loss),
		.duplicate_ppm = ppm_of(c->duplicate),
		.reorder_ppm = ppm_of(c->reorder),
		.reorder_ps_max = c->reorder ? c->reorder_delay : 0,
		.bit_errors_per_1e15 = bytes_of(c->ber),
	};

	memset(out, 0, sizeof(*out));
	out->rate_bps = c->rate;
	out->delay_ps = roce_link_delay_ps(c);
	out->faults[0] = faults;
	out->faults[1] = faults;
}

/* ---- filters ---- */

void roce_build_acl_rule(const struct roce_acl_conf *c, struct roce_fabric_acl_rule *out)
{
	static const uint8_t families[] = {
		[ROCE_ACL_ANY] = 0, [ROCE_ACL_IPV4] = 4, [ROCE_ACL_IPV6] = 6};

	memset(out, 0, sizeof(*out));
	out->in_port = ROCE_FABRIC_PORT_ANY;
	out->family = families[c->family];
	out->udp_dport = (uint16_t)c->udp_port;
}

void roce_build_acl_host(const struct roce_plan *plan, uint32_t node, struct roce_gid *out_gid,
			 uint8_t *out_bits)
{
	set_gid(node, plan->hosts[node]->address == ROCE_HOST_IPV6, out_gid);
	*out_bits = 128;
}

/* ---- flows ---- */

static uint8_t operation_of(uint8_t op)
{
	return op == ROCE_OP_READ   ? ROCE_FABRIC_READ
	       : op == ROCE_OP_SEND ? ROCE_FABRIC_SEND
				    : ROCE_FABRIC_WRITE;
}

static uint8_t transport_of(uint8_t service)
{
	return service == ROCE_SERVICE_UC   ? ROCE_FABRIC_UC
	       : service == ROCE_SERVICE_UD ? ROCE_FABRIC_UD
					    : ROCE_FABRIC_RC;
}

/* What both ends can. */
static uint32_t path_mtu_of(const struct roce_plan *plan, const struct roce_flow *flow)
{
	uint32_t a = plan->hosts[flow->src]->path_mtu;
	uint32_t b = plan->hosts[flow->dst]->path_mtu;

	return 256u << (a < b ? a : b);
}

void roce_build_flow(const struct roce_plan *plan, const struct roce_flow *flow,
		     struct roce_fabric_flow_config *out)
{
	const struct roce_host_conf *host = plan->hosts[flow->src];

	roce_fabric_flow_defaults(out);
	out->src = flow->src;
	out->dst = flow->dst;
	out->operation = operation_of(flow->op);
	out->transport = transport_of(flow->service);
	out->bytes = flow->bytes;
	out->message_bytes = flow->message_bytes;
	out->response_bytes = flow->response_bytes;
	out->qp_count = flow->queue_pairs;
	if (flow->depth)
		out->depth = flow->depth;
	out->path_mtu = path_mtu_of(plan, flow);
	if (flow->service == ROCE_SERVICE_UD && out->message_bytes > out->path_mtu)
		out->message_bytes = out->path_mtu;
	if (flow->after_count)
		out->after_ps = flow->start_ps;
	else
		out->start_ps = flow->start_ps;
	out->is_after_delivery = flow->is_after_delivery;
	out->prio = flow->prio;
	out->dscp = flow->dscp;
	out->is_not_ecn = flow->is_not_ecn;
	out->udp_sport = flow->sport;
	out->interval_ps = flow->interval_ps;
	out->is_poisson = flow->is_poisson;
	out->timeout = (uint8_t)host->retry_timeout;
	out->retry_cnt = (uint8_t)host->retry_count;
	out->after = flow->after_count ? &plan->flows.after[flow->after_at] : NULL;
	out->after_count = flow->after_count;
	out->tag = roce_build_tag(flow->workload);
	out->is_real = roce_build_is_real(plan->scenario, flow->workload);
}

/* ---- the whole ---- */

void roce_build_fabric(const struct roce_plan *plan, struct roce_fabric_config *out)
{
	const struct roce_general_conf *c = &plan->scenario->general;

	roce_fabric_defaults(out);
	out->seed = c->seed;
	out->deadlock_check_ps = c->stall;
	if (c->profile == ROCE_PROFILE_HPCC_NS3)
		out->framing = (struct roce_fabric_framing){
			.preamble_gap_bytes = 0,
			.data_extra_bytes = 48,
			.ack_bytes = 60,
			.pause_bytes = 43,
			.is_whole_ns = true,
		};
}
