/* SPDX-License-Identifier: BSD-2-Clause */
/* Trials of operations that must go well: contents, completions, events. */
#include "probe.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE	    150u
#define STRIDE	    256u
#define SLOT	    1024u /* of memory for each message */
#define WR_ID_STEP  2u	  /* wr_ids between are nobody's */
#define RECEIVE_ID  1000u
#define GRH_BYTES   40u
#define VOLUME	    64u
#define READ_OFFSET 8192u
#define FENCES	    30u
#define MANY_PIECES 32u /* queue pairs of these trials have room for fewer */

static const struct pieces whole = {.bytes = 2 * PIECE, .count = 1};

/* The completions of one queue: `count` of them in order. */
static void check_completions(const struct side *s, uint32_t count, uint64_t first_id,
			      enum ibv_wc_opcode opcode, struct ibv_wc *out)
{
	for (uint32_t i = 0; i < count; i++) {
		uint64_t id = first_id + i * WR_ID_STEP;

		if (!expect(s->cq, &out[i]))
			return;
		if (out[i].opcode != opcode)
			complain("opcode", out[i].opcode);
		if (out[i].qp_num != s->qp->qp_num)
			complain("qp_num", out[i].qp_num);
		if (out[i].wr_id == id)
			continue;
		complain(out[i].wr_id % WR_ID_STEP || out[i].wr_id - first_id >= count * WR_ID_STEP
				 ? "wr_id"
				 : "order",
			 out[i].wr_id);
	}
	expect_quiet(s->cq);
}

static void try_send(void)
{
	struct ends_options options = ends_rc();
	struct ibv_wc wc[PROBE_MESSAGES];
	struct ends e;

	ends_open(&e, &options);
	for (uint32_t i = 0; i < PROBE_MESSAGES; i++) {
		struct pieces pieces = {i * SLOT, PIECE, STRIDE, 2};

		post_receive(&e.b, RECEIVE_ID + i * WR_ID_STEP, pieces);
		fill(e.a.mem + i * SLOT, PIECE, i);
		fill(e.a.mem + i * SLOT + STRIDE, PIECE, i + 100);
	}
	for (uint32_t i = 0; i < PROBE_MESSAGES; i++)
		post_send(&e.a,
			  (struct ibv_send_wr){.wr_id = i * WR_ID_STEP,
					       .opcode = IBV_WR_SEND_WITH_IMM,
					       .imm_data = htonl(i)},
			  (struct pieces){i * SLOT, PIECE, STRIDE, 2});
	check_completions(&e.a, PROBE_MESSAGES, 0, IBV_WC_SEND, wc);
	memset(wc, 0, sizeof(wc));
	check_completions(&e.b, PROBE_MESSAGES, RECEIVE_ID, IBV_WC_RECV, wc);
	for (uint32_t i = 0; i < PROBE_MESSAGES; i++) {
		if (wc[i].byte_len != 2 * PIECE)
			complain("byte_len", wc[i].byte_len);
		if (!(wc[i].wc_flags & IBV_WC_WITH_IMM))
			complain("no immediate", i);
		else if (ntohl(wc[i].imm_data) != i)
			complain("immediate", ntohl(wc[i].imm_data));
		check(e.b.mem + i * SLOT, PIECE, i, "content");
		check(e.b.mem + i * SLOT + STRIDE, PIECE, i + 100, "content");
	}
	ends_close(&e);
}

static void try_inline(void)
{
	struct ends_options options = ends_rc();
	struct ibv_wc wc;
	struct ends e;

	ends_open(&e, &options);
	post_receive(&e.b, 0, whole);
	fill(e.a.mem, 48, 1);
	post_send(&e.a, (struct ibv_send_wr){.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_INLINE},
		  (struct pieces){.bytes = 48, .count = 1});
	memset(e.a.mem, 0, 48);
	if (expect(e.b.cq, &wc))
		check(e.b.mem, 48, 1, "inline content");
	ends_close(&e);
}

static struct ibv_send_wr to_b(const struct ends *e, enum ibv_wr_opcode opcode, uint32_t offset)
{
	return (struct ibv_send_wr){
		.opcode = opcode,
		.wr.rdma = {(uintptr_t)e->b.mem + offset, e->b.mr->rkey},
	};
}

static void try_write(void)
{
	struct ends_options options = ends_rc();
	struct ibv_wc wc;
	struct ends e;

	ends_open(&e, &options);
	fill(e.a.mem, 2 * PIECE + 1, 3); /* what stands behind must not come */
	post_send(&e.a, to_b(&e, IBV_WR_RDMA_WRITE, SLOT), whole);
	if (expect(e.a.cq, &wc)) {
		check(e.b.mem + SLOT, 2 * PIECE, 3, "written content");
		if (e.b.mem[SLOT - 1] || e.b.mem[SLOT + 2 * PIECE])
			complain("written beside", 0);
	}
	ends_close(&e);
}

static void try_read(void)
{
	struct ends_options options = ends_rc();
	struct ibv_wc wc;
	struct ends e;

	ends_open(&e, &options);
	for (uint32_t i = 0; i < 2; i++) { /* what is read the second time has changed */
		fill(e.b.mem, 2 * PIECE, i);
		post_send(&e.a, to_b(&e, IBV_WR_RDMA_READ, 0), whole);
		if (expect(e.a.cq, &wc))
			check(e.a.mem, 2 * PIECE, i, "read content");
	}
	ends_close(&e);
}

static void post_atomic(struct ends *e, enum ibv_wr_opcode opcode, uint64_t compare_add,
			uint64_t swap, uint32_t result)
{
	post_send(&e->a,
		  (struct ibv_send_wr){.opcode = opcode,
				       .wr.atomic = {.remote_addr = (uintptr_t)e->b.mem,
						     .compare_add = compare_add,
						     .swap = swap,
						     .rkey = e->b.mr->rkey}},
		  (struct pieces){.offset = result, .bytes = 8, .count = 1});
}

static void check_value(const uint8_t *at, uint64_t expected, const char *what)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	if (value != expected)
		complain(what, value);
}

static void try_atomic(void)
{
	struct ends_options options = ends_rc();
	struct ibv_wc wc;
	struct ends e;

	ends_open(&e, &options);
	memcpy(e.b.mem, &(uint64_t){1000}, 8);
	post_atomic(&e, IBV_WR_ATOMIC_FETCH_AND_ADD, 5, 0, 0);
	if (expect(e.a.cq, &wc) && wc.opcode == IBV_WC_FETCH_ADD)
		check_value(e.a.mem, 1000, "value before the addition");
	check_value(e.b.mem, 1005, "sum");
	post_atomic(&e, IBV_WR_ATOMIC_CMP_AND_SWP, 1005, 7, 8);
	if (expect(e.a.cq, &wc))
		check_value(e.a.mem + 8, 1005, "value before the swap");
	check_value(e.b.mem, 7, "swapped value");
	ends_close(&e);
}

/* A WRITE and a SEND behind it: the WRITE is the first to be done. */
static void try_order(void)
{
	struct ends_options options = ends_rc();
	struct ibv_send_wr write;
	struct ibv_wc wc;
	struct ends e;

	ends_open(&e, &options);
	post_receive(&e.b, 0, whole);
	write = to_b(&e, IBV_WR_RDMA_WRITE, SLOT);
	write.wr_id = 1;
	post_send(&e.a, write, whole);
	post_send(&e.a, (struct ibv_send_wr){.wr_id = 2, .opcode = IBV_WR_SEND}, whole);
	for (uint64_t id = 1; id <= 2; id++) {
		if (expect(e.a.cq, &wc) && wc.wr_id != id)
			complain("order of requests", wc.wr_id);
	}
	ends_close(&e);
}

/* Two at once: both count. */
static void try_atomics(void)
{
	struct ends_options options = ends_rc();
	struct ibv_wc wc;
	struct ends e;

	ends_open(&e, &options);
	post_atomic(&e, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0, 0);
	post_atomic(&e, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0, 8);
	for (int i = 0; i < 2; i++) {
		if (expect(e.a.cq, &wc) && (wc.opcode != IBV_WC_FETCH_ADD || wc.byte_len != 8))
			complain("completion of an atomic", wc.opcode);
	}
	check_value(e.b.mem, 2, "sum of two");
	expect_quiet(e.a.cq);
	ends_close(&e);
}

/* A fenced SEND of what a READ brings; without the fence the READ may still be the faster one. */
static void try_fence(void)
{
	struct ends_options options = ends_rc();
	struct pieces pieces = {.bytes = READ_OFFSET, .count = 1};
	struct ibv_wc wc;
	struct ends e;

	ends_open(&e, &options);
	for (uint32_t i = 0; i < FENCES; i++) {
		fill(e.b.mem + READ_OFFSET, READ_OFFSET, i);
		post_receive(&e.b, 0, pieces);
		post_send(&e.a, to_b(&e, IBV_WR_RDMA_READ, READ_OFFSET), pieces);
		post_send(&e.a,
			  (struct ibv_send_wr){.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_FENCE},
			  pieces);
		if (expect(e.b.cq, &wc))
			check(e.b.mem, READ_OFFSET, i, "fenced content");
		expect(e.a.cq, &wc);
		expect(e.a.cq, &wc);
	}
	ends_close(&e);
}

/* Two ends, and a window of the second on its first PIECE bytes, which may be written to. */
static struct ibv_mw *open_with_window(struct ends *e)
{
	struct ends_options options = ends_rc();
	struct ibv_send_wr bind = {.opcode = IBV_WR_BIND_MW};
	struct ibv_mw *mw;
	struct ibv_wc wc;

	options.b_access |= IBV_ACCESS_MW_BIND;
	ends_open(e, &options);
	mw = ibv_alloc_mw(e->pd, IBV_MW_TYPE_2);
	need(mw != NULL, "ibv_alloc_mw");
	bind.bind_mw.mw = mw;
	bind.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	bind.bind_mw.bind_info.mr = e->b.mr;
	bind.bind_mw.bind_info.addr = (uintptr_t)e->b.mem;
	bind.bind_mw.bind_info.length = PIECE;
	bind.bind_mw.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_WRITE;
	post_send(&e->b, bind, (struct pieces){0});
	need(wait_for(e->b.cq, &wc, probe_patience_ms(PROBE_WAIT_MS)) &&
		     wc.status == IBV_WC_SUCCESS,
	     "bind");
	mw->rkey = bind.bind_mw.rkey;
	return mw;
}

static void close_with_window(struct ends *e, struct ibv_mw *mw)
{
	need(ibv_destroy_qp(e->b.qp) == 0 && ibv_dealloc_mw(mw) == 0, "ibv_dealloc_mw");
	e->b.qp = ends_make_qp(e->pd, e->b.cq, IBV_QPT_RC, NULL);
	ends_close(e);
}

static void try_invalidate(void)
{
	struct ends e;
	struct ibv_mw *mw = open_with_window(&e);
	struct ibv_wc wc;

	post_receive(&e.b, 0, whole);
	post_send(&e.a,
		  (struct ibv_send_wr){.opcode = IBV_WR_SEND_WITH_INV, .invalidate_rkey = mw->rkey},
		  whole);
	if (expect(e.b.cq, &wc) &&
	    (!(wc.wc_flags & IBV_WC_WITH_INV) || wc.invalidated_rkey != mw->rkey))
		complain("nothing invalidated", wc.wc_flags);
	expect(e.a.cq, &wc);
	close_with_window(&e, mw);
}

static void try_window(void)
{
	struct ends e;
	struct ibv_mw *mw = open_with_window(&e);
	struct ibv_send_wr write = to_b(&e, IBV_WR_RDMA_WRITE, 0);

	write.wr.rdma.rkey = mw->rkey;
	post_send(&e.a, write, (struct pieces){.bytes = PIECE + 1, .count = 1});
	expect_error(e.a.cq, "written beyond a window");
	close_with_window(&e, mw);
}

/* More pieces than any device takes. */
static void try_refusal(void)
{
	struct ends_options options = ends_rc();
	struct ibv_sge list[MANY_PIECES] = {{0}};
	struct ibv_send_wr send = {.sg_list = list, .num_sge = MANY_PIECES, .opcode = IBV_WR_SEND};
	struct ibv_recv_wr receive = {.sg_list = list, .num_sge = MANY_PIECES};
	struct ibv_send_wr *bad_send;
	struct ibv_recv_wr *bad_receive;
	struct ends e;

	ends_open(&e, &options);
	for (uint32_t i = 0; i < MANY_PIECES; i++)
		list[i] = (struct ibv_sge){(uintptr_t)e.a.mem + i, 1, e.a.mr->lkey};
	if (ibv_post_send(e.a.qp, &send, &bad_send) == 0)
		complain("too many pieces were taken", MANY_PIECES);
	if (ibv_post_recv(e.a.qp, &receive, &bad_receive) == 0)
		complain("too many pieces were taken", MANY_PIECES);
	ends_close(&e);
}

static void try_datagrams(void)
{
	struct ends_options options = {.type = IBV_QPT_UD, .b_access = PROBE_RIGHTS};
	struct ibv_wc wc[PROBE_MESSAGES];
	struct ibv_ah *ah;
	struct ends e;

	ends_open(&e, &options);
	ah = ends_make_ah(&e, &e.gid);
	memset(wc, 0, sizeof(wc));
	memset(e.b.mem, 0xff, PROBE_BYTES);
	for (uint32_t i = 0; i < PROBE_MESSAGES + 4; i++) /* room for some that come twice */
		post_receive(&e.b, RECEIVE_ID + i * WR_ID_STEP,
			     (struct pieces){.offset = i * SLOT, .bytes = SLOT, .count = 1});
	for (uint32_t i = 0; i < PROBE_MESSAGES; i++) {
		fill(e.a.mem + i * SLOT, PIECE, i);
		post_send(&e.a,
			  (struct ibv_send_wr){.wr_id = i * WR_ID_STEP,
					       .opcode = IBV_WR_SEND,
					       .wr.ud = {ah, e.b.qp->qp_num, PROBE_QKEY}},
			  (struct pieces){.offset = i * SLOT, .bytes = PIECE, .count = 1});
	}
	check_completions(&e.b, PROBE_MESSAGES, RECEIVE_ID, IBV_WC_RECV, wc);
	for (uint32_t i = 0; i < PROBE_MESSAGES; i++) {
		const uint8_t *message = e.b.mem + i * SLOT;

		if (!(wc[i].wc_flags & IBV_WC_GRH) || message[20] >> 4 != 4)
			complain("no IP header", i);
		if (wc[i].src_qp != e.a.qp->qp_num)
			complain("src_qp", wc[i].src_qp);
		check(message + GRH_BYTES, PIECE, i, "content of a datagram");
	}
	ibv_destroy_ah(ah);
	ends_close(&e);
}

/* An armed queue, a message, an event. */
static void try_event_with(int solicited_only)
{
	struct ends_options options = ends_rc();
	struct ibv_cq *which;
	struct pollfd fd;
	struct ibv_wc wc;
	struct ends e;
	void *context;

	ends_open(&e, &options);
	post_receive(&e.b, 0, whole);
	need(ibv_req_notify_cq(e.b.cq, solicited_only) == 0, "ibv_req_notify_cq");
	post_send(&e.a,
		  (struct ibv_send_wr){.opcode = IBV_WR_SEND,
				       .send_flags = solicited_only ? IBV_SEND_SOLICITED : 0},
		  whole);
	expect(e.a.cq, &wc); /* it has arrived */
	fd = (struct pollfd){.fd = e.b.channel->fd, .events = POLLIN};
	if (poll(&fd, 1, probe_patience_ms(1000)) == 1) {
		need(ibv_get_cq_event(e.b.channel, &which, &context) == 0, "ibv_get_cq_event");
		ibv_ack_cq_events(which, 1);
	} else {
		complain(solicited_only ? "no solicited event" : "no event", 0);
	}
	ends_close(&e);
}

static void try_event(void)
{
	try_event_with(0);
}

static void try_solicited(void)
{
	try_event_with(1);
}

/* The least processor time of a poll that brings a completion. */
static void try_latency(void)
{
	struct ends_options options = ends_rc();
	double least = 1e9;
	struct ends e;

	ends_open(&e, &options);
	for (uint32_t i = 0; i < VOLUME; i++) {
		struct ibv_wc wc;
		double from;
		int count;

		post_send(&e.a, to_b(&e, IBV_WR_RDMA_WRITE, 0), whole);
		do {
			from = cpu_us();
			count = ibv_poll_cq(e.a.cq, 1, &wc);
		} while (count == 0);
		if (cpu_us() - from < least)
			least = cpu_us() - from;
	}
	measure("poll_us", least);
	ends_close(&e);
}

static double bytes_on_loopback(void)
{
	FILE *f = fopen("/proc/thread-self/net/dev", "re");
	char line[300];
	unsigned long long bytes = 0;

	need(f != NULL, "/proc/thread-self/net/dev");
	while (fgets(line, sizeof(line), f))
		(void)sscanf(line, " lo: %llu", &bytes);
	fclose(f);
	return (double)bytes;
}

static void try_volume(void)
{
	struct ends_options options = ends_rc();
	double before;
	struct ends e;

	ends_open(&e, &options);
	before = bytes_on_loopback();
	for (uint32_t i = 0; i < VOLUME; i++) {
		struct ibv_wc wc;

		post_send(&e.a, to_b(&e, IBV_WR_RDMA_WRITE, 0),
			  (struct pieces){.bytes = READ_OFFSET, .count = 1});
		expect(e.a.cq, &wc);
	}
	measure("times_on_the_wire", (bytes_on_loopback() - before) / (VOLUME * READ_OFFSET));
	ends_close(&e);
}

const struct trial data_trials[] = {
	{"send", try_send},
	{"inline", try_inline},
	{"write", try_write},
	{"read", try_read},
	{"atomic", try_atomic},
	{"atomics", try_atomics},
	{"fence", try_fence},
	{"invalidate", try_invalidate},
	{"order", try_order},
	{"window", try_window},
	{"refusal", try_refusal},
	{"datagrams", try_datagrams},
	{"event", try_event},
	{"solicited", try_solicited},
	{"latency", try_latency},
	{"volume", try_volume},
	{NULL, NULL},
};
