/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which message is it, and is every byte right? Reliable: the next one of its flow and pool. UC:
 * whole, in order and once, unless the link reorders or duplicates. UD: whole and once, unless it
 * duplicates. In the end each byte of memory that no message may have touched is as it was.
 */
#include "open_run.h"

#include "wire/mtu.h"

#include <stdlib.h>
#include <string.h>

static const uint8_t *bytes_at(const struct open_run *run, unsigned int host, size_t at)
{
	return run->pair.hosts[host].arena + at;
}

static bool holds(const struct open_run *run, unsigned int host, size_t at,
		  const struct open_op *op)
{
	return memcmp(bytes_at(run, host, at), bytes_at(run, !host, op->source), op->length) == 0;
}

static size_t slot_at(const struct open_plan *plan, unsigned int host, uint32_t pool, uint32_t recv)
{
	return plan->pools[host][pool].at + (size_t)recv * plan->pools[host][pool].stride;
}

static bool fits(const struct open_run *run, unsigned int host, uint32_t pool, uint32_t recv,
		 const struct open_op *op, const struct roce_cqe *cqe)
{
	bool is_ud = run->plan->type == ROCE_QP_UD;
	uint32_t head = is_ud ? OPEN_GRH_BYTES : 0;
	bool has_imm =
		op->opcode == ROCE_WR_SEND_WITH_IMM || op->opcode == ROCE_WR_RDMA_WRITE_WITH_IMM;
	uint8_t flags = (uint8_t)((has_imm ? ROCE_WC_WITH_IMM : 0) | (is_ud ? ROCE_WC_GRH : 0));
	uint8_t opcode = open_is_write(op->opcode) ? ROCE_WC_RECV_RDMA_WITH_IMM : ROCE_WC_RECV;

	if (cqe->opcode != opcode || cqe->wc_flags != flags || cqe->byte_len != op->length + head ||
	    (has_imm && cqe->imm_be != op->imm))
		return false;
	if (open_is_write(op->opcode))
		return holds(run, host, op->target, op);
	return holds(run, host, slot_at(run->plan, host, pool, recv) + head, op);
}

/* The message of flow `conn` that this is; false when there is none. */
static bool find_message(struct open_run *run, unsigned int host, uint32_t conn, uint32_t pool,
			 uint32_t recv, const struct roce_cqe *cqe, uint32_t *out_op)
{
	const struct open_plan *plan = run->plan;
	const struct open_flow *flow = &plan->flows[!host][conn];
	struct open_host *h = &run->hosts[host];
	bool is_ordered = open_is_reliable(plan) ||
			  (plan->type == ROCE_QP_UC && !plan->may_reorder && !plan->may_duplicate);
	uint32_t first = is_ordered ? h->cursors[conn][pool] : 0;

	for (uint32_t i = first; i < run->hosts[!host].posted[conn]; i++) {
		const struct open_op *op = &flow->ops[i];

		if (!open_takes_recv(op->opcode) || op->is_void ||
		    open_pool_of(plan, !host, conn, op) != pool ||
		    (h->seen[conn][i] && !plan->may_duplicate))
			continue;
		if (fits(run, host, pool, recv, op, cqe)) {
			*out_op = i;
			return true;
		}
		if (open_is_reliable(plan))
			return false;
	}
	return false;
}

static bool find_conn(const struct open_run *run, unsigned int host, const struct roce_cqe *cqe,
		      uint32_t *out_conn)
{
	const struct open_host *own = &run->hosts[host];
	const struct open_host *peer = &run->hosts[!host];

	for (uint32_t c = 0; c < run->plan->conn_count; c++) {
		uint32_t qpn = own->qps[c]->qp.cfg.qpn.v;

		if (run->plan->type == ROCE_QP_XRC_INI)
			qpn = own->targets[c]->qp.cfg.qpn.v;
		*out_conn = c;
		if (run->plan->type == ROCE_QP_UD ? peer->qps[c]->qp.cfg.qpn.v == cqe->src_qp
						  : qpn == cqe->qp_num)
			return true;
	}
	return false;
}

static void on_failed_recv(struct open_run *run, unsigned int host, uint32_t pool, uint32_t recv,
			   const struct roce_cqe *cqe)
{
	/* UC: a receive of a shared queue is gone with the message that was not completed. */
	if (run->plan->type != ROCE_QP_UC || !run->plan->is_shared ||
	    cqe->status != ROCE_WC_LOC_QP_OP_ERR)
		open_run_fail(run, "host %u: receive %u of pool %u ends with %s", host, recv, pool,
			      sim_text_status(cqe->status));
}

void open_on_recv(struct open_run *run, unsigned int host, const struct roce_cqe *cqe)
{
	struct open_host *h = &run->hosts[host];
	uint32_t pool = (uint32_t)(cqe->wr_id >> 32 & 0xff);
	uint32_t recv = (uint32_t)cqe->wr_id;
	struct open_taken *taken;
	uint32_t conn = 0;
	uint32_t op = 0;

	if (pool >= run->plan->pool_count[host] || recv >= h->recv_posted[pool] ||
	    h->taken[pool][recv].is_done) {
		open_run_fail(run, "host %u: completion of unknown receive 0x%lx", host,
			      (unsigned long)cqe->wr_id);
		return;
	}
	if (!run->plan->is_shared && recv != h->recv_done[pool])
		open_run_fail(run, "host %u: receive %u of QP %u completes, not %u", host, recv,
			      pool, h->recv_done[pool]);
	taken = &h->taken[pool][recv];
	taken->is_done = true;
	h->recv_done[pool]++;
	if (cqe->status != ROCE_WC_SUCCESS) {
		on_failed_recv(run, host, pool, recv, cqe);
		return;
	}
	if (!find_conn(run, host, cqe, &conn) ||
	    !find_message(run, host, conn, pool, recv, cqe, &op)) {
		open_run_fail(run,
			      "host %u: receive %u of pool %u got %lu bytes that are no message "
			      "of flow %u from %u on",
			      host, recv, pool, (unsigned long)cqe->byte_len, conn,
			      h->cursors[conn][pool]);
		return;
	}
	h->cursors[conn][pool] = op + 1;
	h->seen[conn][op] = true;
	taken->is_filled = true;
	taken->conn = conn;
	taken->op = op;
	run->message_count++;
}

/* ---- the end ---- */

static void put(const struct open_run *run, uint8_t *image, unsigned int host, size_t at,
		const struct open_op *op, uint32_t length)
{
	memcpy(image + at, bytes_at(run, !host, op->source), length);
}

/* The packets up to the first one lost; of a reliable transport all. */
static void put_write(const struct open_run *run, uint8_t *image, unsigned int host, uint32_t conn,
		      const struct open_op *op)
{
	uint32_t mtu = roce_mtu_bytes(run->plan->conns[conn].path_mtu);
	uint32_t done = 0;

	if (op->is_void)
		return;
	while (done < op->length) {
		uint32_t part = op->length - done < mtu ? op->length - done : mtu;

		if (!open_is_reliable(run->plan) &&
		    memcmp(bytes_at(run, host, op->target + done),
			   bytes_at(run, !host, op->source + done), part) != 0)
			break;
		done += part;
	}
	put(run, image, host, op->target, op, done);
}

static void put_pool(const struct open_run *run, uint8_t *image, unsigned int host, uint32_t p)
{
	const struct open_plan *plan = run->plan;
	uint32_t head = plan->type == ROCE_QP_UD ? OPEN_GRH_BYTES : 0;

	for (uint32_t i = 0; i < run->hosts[host].recv_posted[p]; i++) {
		const struct open_taken *taken = &run->hosts[host].taken[p][i];
		size_t at = slot_at(plan, host, p, i);
		const struct open_op *op;

		/* UC: messages that broke off have used it before. */
		if (plan->type == ROCE_QP_UC)
			memcpy(image + at, bytes_at(run, host, at),
			       plan->pools[host][p].slot_bytes);
		if (!taken->is_filled)
			continue;
		op = &plan->flows[!host][taken->conn].ops[taken->op];
		memcpy(image + at, bytes_at(run, host, at), head);
		if (!open_is_write(op->opcode))
			put(run, image, host, at + head, op, op->length);
	}
}

static void check_memory(struct open_run *run, unsigned int host)
{
	const struct open_plan *plan = run->plan;
	size_t size = plan->arena_size[host];
	uint8_t *image = malloc(size);

	if (!image)
		abort();
	for (size_t i = 0; i < size; i++)
		image[i] = open_fill(host, i);
	for (uint32_t c = 0; c < plan->conn_count; c++)
		for (uint32_t i = 0; i < plan->flows[!host][c].op_count; i++)
			if (open_is_write(plan->flows[!host][c].ops[i].opcode))
				put_write(run, image, host, c, &plan->flows[!host][c].ops[i]);
	for (uint32_t p = 0; p < plan->pool_count[host]; p++)
		put_pool(run, image, host, p);
	for (size_t i = 0; i < size; i++) {
		if (image[i] == run->pair.hosts[host].arena[i])
			continue;
		open_run_fail(run, "host %u: byte %zu of memory is 0x%02x, not 0x%02x", host, i,
			      run->pair.hosts[host].arena[i], image[i]);
		break;
	}
	free(image);
}

/* Once when a queue fell below its limit, else never. */
static void check_limits(struct open_run *run, unsigned int host)
{
	for (uint32_t p = 0; run->plan->is_shared && p < run->plan->pool_count[host]; p++) {
		const struct sim_srq *srq = run->hosts[host].srqs[p];
		uint32_t limit = run->plan->pools[host][p].limit;

		/* Receives that come later may keep it above for good. */
		if (srq->limit_count > (limit ? 1 : 0) ||
		    (limit && !srq->limit_count && roce_srq_count(&srq->srq) < limit))
			open_run_fail(run, "host %u: %u limit events of queue %u, limit %u", host,
				      srq->limit_count, p, limit);
	}
}

void open_check_end(struct open_run *run)
{
	const struct open_plan *plan = run->plan;

	for (unsigned int host = 0; host < 2 && !run->is_failed; host++) {
		const struct sim_stack *s = &run->pair.hosts[host];

		if (s->stray_count)
			open_run_fail(run, "host %u: %lu accesses outside every region", host,
				      (unsigned long)s->stray_count);
		check_memory(run, host);
		check_limits(run, host);
		for (uint32_t p = 0; open_is_reliable(plan) && p < plan->pool_count[host]; p++)
			if (run->hosts[host].recv_done[p] != plan->pools[host][p].count)
				open_run_fail(run, "host %u: %u of %u messages came to pool %u",
					      host, run->hosts[host].recv_done[p],
					      plan->pools[host][p].count, p);
	}
}
