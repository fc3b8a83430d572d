/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Wiring of the pair, and its transcript.
 */
#include "pair.h"

#include "base/assert.h"

static bool on_filter(void *ctx, unsigned int from, struct roce_link_pkt *pkt)
{
	struct sim_pair *p = ctx;
	bool goes_on = !p->tamper || p->tamper(p, from, pkt);
	char line[SIM_LINE_MAX];

	if (!p->is_quiet) {
		sim_text_packet(line, &pkt->hdr, pkt->payload_len);
		sim_text_add(&p->log, "%c %s\n", goes_on ? (from ? '<' : '>') : (from ? 'y' : 'x'),
			     line);
	}
	return goes_on;
}

static void on_fate(void *ctx, enum roce_link_fate fate, unsigned int from,
		    const struct roce_link_pkt *pkt, enum roce_verdict verdict)
{
	struct sim_pair *p = ctx;

	if (fate == ROCE_LINK_DELIVERED)
		p->last_verdict[!from] = verdict;
	if (p->observe)
		p->observe(p->observe_ctx, fate, from, pkt, verdict);
}

struct sim_conn sim_conn_default(void)
{
	return (struct sim_conn){
		.qkey = 0x11111111,
		.path_mtu = 3,
		.psn = {10, 5000},
		.max_rd_atomic = {4, 4},
		.max_dest_rd_atomic = {4, 4},
		.min_rnr_timer = {12, 12},
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.access_flags = ROCE_ACCESS_LOCAL_WRITE | ROCE_ACCESS_REMOTE_WRITE |
				ROCE_ACCESS_REMOTE_READ | ROCE_ACCESS_REMOTE_ATOMIC,
	};
}

void sim_pair_init_with(struct sim_pair *p, const size_t arena_size[2],
			const struct roce_transport_config tuning[2],
			const struct roce_link_config *link_cfg, uint64_t seed)
{
	struct roce_link_hooks hooks = {.filter = on_filter, .observe = on_fate, .ctx = p};

	*p = (struct sim_pair){0};
	sim_text_init(&p->log);
	roce_event_queue_init(&p->queue);
	for (unsigned int i = 0; i < 2; i++)
		sim_stack_init(&p->hosts[i], i + 1, seed * 2 + i, arena_size[i], &tuning[i]);
	roce_link_init(&p->link, &p->queue, link_cfg, &hooks, &p->hosts[0].transport,
		       &p->hosts[1].transport);
}

void sim_pair_init(struct sim_pair *p, size_t arena_size,
		   const struct roce_transport_config *tuning,
		   const struct roce_link_config *link_cfg)
{
	const struct roce_transport_config base = tuning ? *tuning : sim_tuning_default();
	const struct roce_link_config default_link = {.delay_ps = 1000 * ROCE_PS_PER_NS};
	const struct roce_transport_config both[2] = {base, base};
	const size_t sizes[2] = {arena_size, arena_size};

	sim_pair_init_with(p, sizes, both, link_cfg ? link_cfg : &default_link, 100);
}

void sim_pair_fini(struct sim_pair *p)
{
	roce_link_fini(&p->link);
	for (unsigned int i = 0; i < 2; i++)
		sim_stack_fini(&p->hosts[i]);
	roce_event_queue_fini(&p->queue);
	sim_text_fini(&p->log);
}

void sim_conn_attr(struct sim_pair *p, unsigned int i, const struct roce_qp *own,
		   const struct roce_qp *other, const struct sim_conn *conn,
		   struct roce_qp_attr *out)
{
	(void)own;
	*out = (struct roce_qp_attr){
		.path_mtu = conn->path_mtu,
		.port_num = 1,
		.max_rd_atomic = conn->max_rd_atomic[i],
		.max_dest_rd_atomic = conn->max_dest_rd_atomic[i],
		.min_rnr_timer = conn->min_rnr_timer[i],
		.timeout = conn->timeout,
		.retry_cnt = conn->retry_cnt,
		.rnr_retry = conn->rnr_retry,
		.access_flags = conn->access_flags,
		.qkey = conn->qkey,
		.dest_qpn = other->cfg.qpn.v,
		.rq_psn = conn->psn[!i],
		.sq_psn = conn->psn[i],
		.path = {.sgid = p->hosts[i].gid,
			 .dgid = p->hosts[!i].gid,
			 .pkey = 0xffff,
			 .traffic_class = 0x6a,
			 .hop_limit = 64,
			 .sl = conn->sl},
		.peer = sim_stack_peer(&p->hosts[i], &p->hosts[!i].gid,
				       roce_qpn_slot(other->cfg.qpn)),
	};
}

uint32_t sim_mask(uint8_t type, uint8_t state)
{
	uint32_t mask = state == ROCE_QP_INIT  ? SIM_MASK_INIT
			: state == ROCE_QP_RTR ? SIM_MASK_RTR
					       : SIM_MASK_RTS;

	switch ((enum roce_qp_type)type) {
	case ROCE_QP_RC:
		return mask;
	case ROCE_QP_UD:
		if (state == ROCE_QP_INIT)
			return ROCE_ATTR_STATE | ROCE_ATTR_PKEY_INDEX | ROCE_ATTR_PORT |
			       ROCE_ATTR_QKEY;
		return ROCE_ATTR_STATE | (state == ROCE_QP_RTS ? (uint32_t)ROCE_ATTR_SQ_PSN : 0);
	case ROCE_QP_UC:
		if (state == ROCE_QP_RTS)
			return ROCE_ATTR_STATE | ROCE_ATTR_SQ_PSN;
		break;
	case ROCE_QP_XRC_INI:
		break;
	case ROCE_QP_XRC_TGT:
		return state == ROCE_QP_RTS ? ROCE_ATTR_STATE | ROCE_ATTR_TIMEOUT | ROCE_ATTR_SQ_PSN
					    : mask;
	}
	return mask & ~(uint32_t)(ROCE_ATTR_MAX_DEST_RD_ATOMIC | ROCE_ATTR_MIN_RNR_TIMER);
}

static bool bring_up(struct sim_pair *p, unsigned int i, struct roce_qp *own,
		     const struct roce_qp *other, const struct sim_conn *conn)
{
	const uint8_t states[] = {ROCE_QP_INIT, ROCE_QP_RTR, ROCE_QP_RTS};
	struct roce_qp_attr attr;
	uint32_t bad_mask;

	sim_conn_attr(p, i, own, other, conn, &attr);
	for (size_t k = 0; k < sizeof(states); k++) {
		attr.state = states[k];
		if (roce_qp_modify(own, &attr, sim_mask(own->cfg.type, states[k]), sim_pair_now(p),
				   &bad_mask) != ROCE_MODIFY_OK)
			return false;
	}
	return true;
}

bool sim_pair_connect(struct sim_pair *p, struct roce_qp *a, struct roce_qp *b,
		      const struct sim_conn *conn)
{
	return bring_up(p, 0, a, b, conn) && bring_up(p, 1, b, a, conn);
}

enum roce_modify_result sim_pair_set_state(struct sim_pair *p, unsigned int i, struct roce_qp *qp,
					   enum roce_qp_state state)
{
	struct roce_qp_attr attr = {.state = (uint8_t)state};
	uint32_t bad_mask;
	enum roce_modify_result result =
		roce_qp_modify(qp, &attr, ROCE_ATTR_STATE, sim_pair_now(p), &bad_mask);

	roce_link_kick(&p->link, i);
	return result;
}

roce_ns_t sim_pair_now(const struct sim_pair *p)
{
	return roce_event_queue_now_ns(&p->queue);
}

static void log_completions(struct sim_pair *p, unsigned int i)
{
	struct roce_cqe cqe;

	for (uint32_t k = 0; k < p->hosts[i].cq_count; k++) {
		while (roce_cq_poll(&p->hosts[i].cqs[k]->cq, &cqe, 1)) {
			sim_text_add(&p->log, "%u cqe %lu ", i, (unsigned long)cqe.wr_id);
			if (cqe.status == ROCE_WC_SUCCESS)
				sim_text_add(&p->log, "%s ", sim_text_wc_opcode(cqe.opcode));
			sim_text_add(&p->log, "%s", sim_text_status(cqe.status));
			if (cqe.status == ROCE_WC_SUCCESS && cqe.opcode >= ROCE_WC_RECV)
				sim_text_add(&p->log, " len %lu", (unsigned long)cqe.byte_len);
			if (cqe.wc_flags & (ROCE_WC_WITH_IMM | ROCE_WC_WITH_INV))
				sim_text_add(&p->log, " %s 0x%x",
					     cqe.wc_flags & ROCE_WC_WITH_IMM ? "imm" : "inv",
					     cqe.imm_be);
			sim_text_add(&p->log, "\n");
		}
	}
	for (; p->events_told[i] < p->hosts[i].event_count; p->events_told[i]++)
		sim_text_add(&p->log, "%u event %s\n", i,
			     sim_text_event(p->hosts[i].events[p->events_told[i]].event));
}

void sim_pair_run(struct sim_pair *p, roce_ns_t ns)
{
	for (unsigned int i = 0; i < 2; i++)
		roce_link_kick(&p->link, i);
	roce_event_queue_run(&p->queue, p->queue.now_ps + ns * ROCE_PS_PER_NS);
	for (unsigned int i = 0; i < 2; i++)
		log_completions(p, i);
}

enum roce_post_result sim_pair_send(struct sim_pair *p, unsigned int i, struct roce_qp *qp,
				    const struct roce_send_wr *wr)
{
	enum roce_post_result result = roce_post_send(qp, wr, sim_pair_now(p));

	roce_link_kick(&p->link, i);
	return result;
}

enum roce_post_result sim_pair_recv(struct sim_pair *p, unsigned int i, struct roce_qp *qp,
				    uint64_t wr_id, const struct roce_sge *sge, uint32_t sge_count)
{
	enum roce_post_result result = roce_post_recv(qp, wr_id, sge, sge_count, sim_pair_now(p));

	roce_link_kick(&p->link, i);
	return result;
}
