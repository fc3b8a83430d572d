/* SPDX-License-Identifier: BSD-2-Clause */
/* Trials of what must fail, and of waiting: each with the status that both sides owe. */
#include "probe.h"

#include <stdlib.h>

#define MESSAGE	    100u
#define RNR_HOLD_MS 50

static const struct pieces message = {.bytes = MESSAGE, .count = 1};

static struct ibv_send_wr write_to(const struct ends *e, uint32_t rkey, uint32_t offset)
{
	return (struct ibv_send_wr){.opcode = IBV_WR_RDMA_WRITE,
				    .wr.rdma = {(uintptr_t)e->b.mem + offset, rkey}};
}

static void try_rkey(void)
{
	struct ends_options options = ends_rc();
	struct ibv_wc wc;
	struct ends e;

	ends_open(&e, &options);
	post_send(&e.a, write_to(&e, e.b.mr->rkey ^ 0x5a, 0), message);
	if (!wait_for(e.a.cq, &wc, probe_patience_ms(PROBE_WAIT_MS)))
		complain("missing completion", 0);
	else if (wc.status == IBV_WC_SUCCESS)
		complain("wrong rkey accepted", 0);
	else if (wc.status != IBV_WC_REM_ACCESS_ERR)
		complain("status", wc.status);
	ends_close(&e);
}

static void try_access(void)
{
	struct ends_options options = ends_rc();
	struct ends e;

	options.b_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
	ends_open(&e, &options);
	post_send(&e.a, write_to(&e, e.b.mr->rkey, 0), message);
	expect_error(e.a.cq, "written without the right to");
	ends_close(&e);
}

static void try_qp_access(void)
{
	struct ends_options options = ends_rc();
	struct ends e;

	options.b_qp_access = IBV_ACCESS_REMOTE_READ;
	ends_open(&e, &options);
	post_send(&e.a, write_to(&e, e.b.mr->rkey, 0), message);
	expect_error(e.a.cq, "written where the queue pair forbids it");
	ends_close(&e);
}

static void try_last_byte(void)
{
	struct ends_options options = ends_rc();
	struct ibv_wc wc;
	struct ends e;

	ends_open(&e, &options);
	post_send(&e.a, write_to(&e, e.b.mr->rkey, PROBE_BYTES - MESSAGE), message);
	expect(e.a.cq, &wc);
	ends_close(&e);
}

/* Longer than any message, and than its memory, of which nothing may be touched. */
static void try_too_long(void)
{
	struct ends_options options = ends_rc();
	struct ibv_sge list[4];
	struct ibv_send_wr wr, *bad;
	struct ibv_wc wc;
	struct ends e;

	ends_open(&e, &options);
	for (int i = 0; i < 4; i++)
		list[i] = (struct ibv_sge){(uintptr_t)e.a.mem, 0x20000001, e.a.mr->lkey};
	wr = write_to(&e, e.b.mr->rkey, 0);
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.sg_list = list;
	wr.num_sge = 4;
	if (!ibv_post_send(e.a.qp, &wr, &bad) &&
	    wait_for(e.a.cq, &wc, probe_patience_ms(PROBE_WAIT_MS)) && wc.status == IBV_WC_SUCCESS)
		complain("a message too long was taken", 0x80000004);
	ends_close(&e);
}

static void try_short_buffer_with(uint32_t limit)
{
	struct ends_options options = ends_rc();
	struct ends e;

	options.b_limit = limit;
	ends_open(&e, &options);
	post_receive(&e.b, 0, (struct pieces){.bytes = MESSAGE / 2, .count = 1});
	post_send(&e.a, (struct ibv_send_wr){.opcode = IBV_WR_SEND}, message);
	expect_error(e.a.cq, "too long a message was sent");
	expect_error(e.b.cq, "too long a message was received");
	ends_close(&e);
}

static void try_short_buffer(void)
{
	try_short_buffer_with(0);
	try_short_buffer_with(1);
}

static void try_flush(void)
{
	struct ends_options options = ends_rc();
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	struct ends e;

	ends_open(&e, &options);
	for (uint32_t i = 0; i < PROBE_MESSAGES; i++)
		post_receive(&e.b, i, message);
	need(ibv_modify_qp(e.b.qp, &attr, IBV_QP_STATE) == 0, "ERR");
	for (uint32_t i = 0; i < PROBE_MESSAGES; i++) {
		struct ibv_wc wc;

		if (!wait_for(e.b.cq, &wc, probe_patience_ms(1000))) {
			complain("not flushed", PROBE_MESSAGES - i);
			break;
		}
	}
	ends_close(&e);
}

static void try_rnr(void)
{
	struct ends_options options = ends_rc();
	struct ibv_wc wc;
	struct ends e;

	ends_open(&e, &options);
	post_send(&e.a, (struct ibv_send_wr){.opcode = IBV_WR_SEND}, message);
	/* Polling moves the packets of both ends: by then it was refused, and sent again. */
	if (wait_for(e.a.cq, &wc, RNR_HOLD_MS)) {
		complain("status", wc.status);
	} else {
		post_receive(&e.b, 0, message);
		expect(e.a.cq, &wc);
	}
	ends_close(&e);
}

static void try_gone(void)
{
	struct ends_options options = ends_rc();
	struct ends e;

	options.is_peer_missing = true;
	ends_open(&e, &options);
	post_send(&e.a, write_to(&e, e.b.mr->rkey, 0), message);
	expect_error(e.a.cq, "nobody has it, and it was done");
	ends_close(&e);
}

static void try_qkey(void)
{
	struct ends_options options = {.type = IBV_QPT_UD, .b_access = PROBE_RIGHTS};
	struct ibv_ah *ah;
	struct ends e;

	ends_open(&e, &options);
	ah = ends_make_ah(&e, &e.gid);
	post_receive(&e.b, 0, (struct pieces){.bytes = 2 * MESSAGE, .count = 1});
	post_send(&e.a,
		  (struct ibv_send_wr){.opcode = IBV_WR_SEND,
				       .wr.ud = {ah, e.b.qp->qp_num, PROBE_QKEY + 1}},
		  message);
	expect_quiet(e.b.cq);
	ibv_destroy_ah(ah);
	ends_close(&e);
}

const struct trial error_trials[] = {
	{"rkey", try_rkey},
	{"access", try_access},
	{"qp-access", try_qp_access},
	{"last-byte", try_last_byte},
	{"flush", try_flush},
	{"too-long", try_too_long},
	{"short-buffer", try_short_buffer},
	{"rnr", try_rnr},
	{"gone", try_gone},
	{"qkey", try_qkey},
	{NULL, NULL},
};
