/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UD: one packet, one message, to anybody. Refusals are silent and cost no receive WQE; what the
 * sender gets wrong leads to SQE; multicast reaches every attached QP.
 */
#include "fixture.h"

#include "wire/grh.h"
#include "wire/opcode.h"

#include <string.h>

#define QKEY	      0x11111111u
#define QPN_MULTICAST 0xffffffu

static struct fixture f;
static struct roce_path path;

static void start_with(bool has_srq, uint8_t port_mtu)
{
	fixture_init(&f);
	f.types[0] = f.types[1] = ROCE_QP_UD;
	f.srq_depth = has_srq ? 8 : 0;
	f.caps.port_mtu = port_mtu;
	fixture_start(&f, true);
	path = (struct roce_path){.sgid = f.pair.hosts[0].gid,
				  .dgid = f.pair.hosts[1].gid,
				  .pkey = 0xffff,
				  .traffic_class = 0x6a,
				  .hop_limit = 63};
}

static void start(bool has_srq)
{
	start_with(has_srq, 0);
}

static struct roce_send_wr datagram(uint8_t opcode, uint64_t wr_id, uint32_t length,
				    struct roce_sge *sge)
{
	struct roce_send_wr wr = fixture_wr(&f, 0, opcode, wr_id, length, sge);

	wr.path = &path;
	wr.remote_qpn = f.b->cfg.qpn.v;
	wr.remote_qkey = QKEY;
	return wr;
}

static void send_datagram(uint8_t opcode, uint64_t wr_id, uint32_t length)
{
	struct roce_sge sge;
	struct roce_send_wr wr = datagram(opcode, wr_id, length, &sge);

	assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
}

static void require_silence(void)
{
	assert_int_equal(f.pair.link.ends[1].fates[ROCE_LINK_SENT], 0);
	assert_int_equal(f.b->attr.state, ROCE_QP_RTS);
	assert_int_equal(f.pair.hosts[1].event_count, 0);
}

/* ---- what goes well ---- */

static void send__every_kind(void **state)
{
	(void)state;
	for (unsigned int has_srq = 0; has_srq < 2; has_srq++) {
		start(has_srq);
		fixture_recv(&f, 1, 9, 100000, 8192);
		fixture_recv(&f, 1, 10, 120000, 8192);
		fixture_recv(&f, 1, 11, 140000, 40);
		memset(fixture_bytes(&f, 0, 0), 0x5a, 4096);
		send_datagram(ROCE_WR_SEND, 1, 4096);
		send_datagram(ROCE_WR_SEND_WITH_IMM, 2, 5);
		send_datagram(ROCE_WR_SEND, 3, 0);
		fixture_expect(&f, "> UD_SEND_ONLY psn 10 len 4096\n"
				   "> UD_SEND_ONLY_IMM psn 11 len 5\n"
				   "> UD_SEND_ONLY psn 12 len 0\n"
				   "0 cqe 1 SEND SUCCESS\n"
				   "0 cqe 2 SEND SUCCESS\n"
				   "0 cqe 3 SEND SUCCESS\n"
				   "1 cqe 9 RECV SUCCESS len 4136\n"
				   "1 cqe 10 RECV SUCCESS len 45 imm 0x1234\n"
				   "1 cqe 11 RECV SUCCESS len 40\n");
		assert_memory_equal(fixture_bytes(&f, 1, 100040), fixture_bytes(&f, 0, 0), 4096);
		assert_memory_equal(fixture_bytes(&f, 1, 120040), fixture_bytes(&f, 0, 0), 5);
		assert_int_equal(f.pair.hosts[1].placed_bytes, 4136 + 45 + 40);
		require_silence();
		fixture_stop(&f);
	}
}

/* The completion names the sender; the 40 bytes are the IPv6 header of the packet. */
static void recv__case_032_v6(void **state)
{
	static const uint8_t head[8] = {0x66, 0xa0, 0, 0, 0, 8 + 20 + 5 + 3 + 4, 17, 63};
	struct roce_cqe cqe;

	(void)state;
	start(false);
	fixture_recv(&f, 1, 9, 0, 100);
	send_datagram(ROCE_WR_SEND, 1, 5);
	roce_event_queue_run(&f.pair.queue, f.pair.queue.now_ps + 100000 * ROCE_PS_PER_NS);
	assert_int_equal(roce_cq_poll(&f.recv_cq[1]->cq, &cqe, 1), 1);
	assert_int_equal(cqe.status, ROCE_WC_SUCCESS);
	assert_int_equal(cqe.src_qp, f.a->cfg.qpn.v);
	assert_int_equal(cqe.qp_num, f.b->cfg.qpn.v);
	assert_int_equal(cqe.wc_flags, ROCE_WC_GRH);
	assert_memory_equal(fixture_bytes(&f, 1, 0), head, 8);
	assert_memory_equal(fixture_bytes(&f, 1, 8), path.sgid.raw, 16);
	assert_memory_equal(fixture_bytes(&f, 1, 24), path.dgid.raw, 16);
	fixture_stop(&f);
}

/* IPv4: the header lies in the last 20 bytes, its checksum is right, the first 20 are zero. */
static void recv__case_032_v4(void **state)
{
	static const uint8_t zero[20];
	static const uint8_t head[10] = {0x45, 0x6a, 0, 20 + 8 + 24 + 6 + 2 + 4, 0, 0, 0x40,
					 0,    63,   17};
	const uint8_t *ip;
	struct roce_cqe cqe;
	uint32_t sum = 0;

	(void)state;
	start(false);
	path.sgid =
		(struct roce_gid){{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 168, 255, 254}};
	path.dgid = (struct roce_gid){{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1}};
	fixture_recv(&f, 1, 9, 0, 100);
	memset(fixture_bytes(&f, 1, 0), 0xee, 100);
	send_datagram(ROCE_WR_SEND_WITH_IMM, 1, 6);
	roce_event_queue_run(&f.pair.queue, f.pair.queue.now_ps + 100000 * ROCE_PS_PER_NS);
	assert_int_equal(roce_cq_poll(&f.recv_cq[1]->cq, &cqe, 1), 1);
	assert_int_equal(cqe.wc_flags, ROCE_WC_GRH | ROCE_WC_WITH_IMM);
	assert_int_equal(cqe.byte_len, 46);
	ip = fixture_bytes(&f, 1, 20);
	assert_memory_equal(fixture_bytes(&f, 1, 0), zero, 20);
	assert_memory_equal(ip, head, 10);
	assert_memory_equal(ip + 12, path.sgid.raw + 12, 4);
	assert_memory_equal(ip + 16, path.dgid.raw + 12, 4);
	for (unsigned int i = 0; i < 20; i += 2)
		sum += (uint32_t)(ip[i] << 8 | ip[i + 1]);
	assert_int_equal((sum & 0xffff) + (sum >> 16), 0xffff);
	fixture_stop(&f);
}

/* The address handle is copied: it may go, or change, once the request is posted. */
static void post_send__copies_the_path(void **state)
{
	struct roce_tx_pkt pkt;
	struct roce_path first;
	struct roce_sge sge;
	struct roce_send_wr wr;

	(void)state;
	start(false);
	path.pkey = 0x7fff;
	first = path;
	wr = datagram(ROCE_WR_SEND, 1, 64, &sge);
	assert_int_equal(roce_post_send(f.a, &wr, 0), ROCE_POST_OK);
	memset(&path, 0xee, sizeof(path));
	assert_int_equal(roce_tx(&f.pair.hosts[0].transport, &pkt, 1, 0), 1);
	assert_memory_equal(pkt.path, &first, sizeof(first));
	assert_int_equal(pkt.hdr.dest_qpn.v, f.b->cfg.qpn.v);
	assert_int_equal(pkt.hdr.src_qpn.v, f.a->cfg.qpn.v);
	assert_int_equal(pkt.hdr.pkey, 0x7fff);
	assert_false(pkt.hdr.ack_req);
	fixture_stop(&f);
}

/* A Q_Key with its top bit set is not the program's to use: the QP's own is sent instead. */
static void send_datagram__privileged_qkey(void **state)
{
	static const struct {
		uint32_t given;
		uint32_t sent;
	} cases[] = {{0, 0},
		     {0x7fffffff, 0x7fffffff},
		     {0x80000000, QKEY},
		     {0x80010000, QKEY},
		     {0xffffffff, QKEY}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct roce_tx_pkt pkt;
		struct roce_sge sge;
		struct roce_send_wr wr;

		start(false);
		wr = datagram(ROCE_WR_SEND, 1, 64, &sge);
		wr.remote_qkey = cases[i].given;
		assert_int_equal(roce_post_send(f.a, &wr, 0), ROCE_POST_OK);
		assert_int_equal(roce_tx(&f.pair.hosts[0].transport, &pkt, 1, 0), 1);
		assert_int_equal(pkt.hdr.qkey, cases[i].sent);
		fixture_stop(&f);
	}
}

/* ---- what the sender gets wrong ---- */

static void post_send__refuses(void **state)
{
	static const uint8_t refused[] = {ROCE_WR_RDMA_WRITE,	      ROCE_WR_RDMA_WRITE_WITH_IMM,
					  ROCE_WR_RDMA_READ,	      ROCE_WR_ATOMIC_WRITE,
					  ROCE_WR_ATOMIC_CMP_AND_SWP, ROCE_WR_ATOMIC_FETCH_AND_ADD,
					  ROCE_WR_LOCAL_INV,	      ROCE_WR_BIND_MW,
					  ROCE_WR_SEND_WITH_INV};
	struct roce_sge sge;
	struct roce_send_wr wr;

	(void)state;
	start(false);
	for (size_t i = 0; i < sizeof(refused); i++) {
		wr = datagram(refused[i], 1, 8, &sge);
		assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_BAD_OPCODE);
	}
	wr = datagram(ROCE_WR_SEND, 1, 8, &sge);
	wr.path = NULL;
	assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_BAD_PATH);
	fixture_expect(&f, "");
	fixture_stop(&f);
}

/* One byte above the port's MTU: nothing is sent, the rest is flushed, receiving goes on. */
static void sqe__message_above_the_port_mtu(void **state)
{
	(void)state;
	for (uint8_t mtu = 1; mtu <= 5; mtu++) {
		uint32_t bytes = 128u << mtu;

		start_with(false, mtu);
		f.pair.is_quiet = true;
		fixture_recv(&f, 1, 9, 100000, 8192);
		fixture_recv(&f, 1, 10, 100000, 8192);
		fixture_recv(&f, 0, 7, 100000, 8192);
		send_datagram(ROCE_WR_SEND, 1, bytes);
		send_datagram(ROCE_WR_SEND, 2, bytes + 1);
		send_datagram(ROCE_WR_SEND, 3, 1);
		sim_pair_run(&f.pair, ROCE_NS_PER_MS);
		assert_non_null(strstr(f.pair.log.s, "0 cqe 1 SEND SUCCESS\n"
						     "0 cqe 2 LOC_LEN_ERR\n"
						     "0 cqe 3 WR_FLUSH_ERR\n"
						     "1 cqe 9 RECV SUCCESS"));
		sim_text_clear(&f.pair.log);
		assert_int_equal(f.a->attr.state, ROCE_QP_SQE);
		assert_int_equal(f.pair.link.ends[0].fates[ROCE_LINK_SENT], 1);

		send_datagram(ROCE_WR_SEND, 4, 1);
		fixture_expect(&f, "0 cqe 4 WR_FLUSH_ERR\n");
		assert_int_equal(sim_pair_set_state(&f.pair, 0, f.a, ROCE_QP_RTS), ROCE_MODIFY_OK);
		send_datagram(ROCE_WR_SEND, 5, 1);
		fixture_expect(&f, "0 cqe 5 SEND SUCCESS\n1 cqe 10 RECV SUCCESS len 41\n");
		fixture_stop(&f);
	}
}

/* In SQE, and on its way there, datagrams arrive as before. */
static void sqe__still_receives(void **state)
{
	struct roce_sge sge;
	struct roce_send_wr wr;

	(void)state;
	start(false);
	f.pair.is_quiet = true;
	wr = datagram(ROCE_WR_SEND, 1, 64, &sge);
	sge.lkey ^= 0x100;
	assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
	fixture_expect(&f, "0 cqe 1 LOC_PROT_ERR\n");
	assert_int_equal(f.a->attr.state, ROCE_QP_SQE);
	fixture_recv(&f, 0, 7, 0, 8192);
	wr = fixture_wr(&f, 1, ROCE_WR_SEND, 2, 8, &sge);
	wr.path = &path;
	wr.remote_qpn = f.a->cfg.qpn.v;
	wr.remote_qkey = QKEY;
	assert_int_equal(sim_pair_send(&f.pair, 1, f.b, &wr), ROCE_POST_OK);
	fixture_expect(&f, "0 cqe 7 RECV SUCCESS len 48\n1 cqe 2 SEND SUCCESS\n");
	fixture_stop(&f);
}

/* ---- refusals ---- */

static void set_qkey(struct roce_link_pkt *pkt)
{
	pkt->hdr.qkey ^= 1;
}

static void set_pad(struct roce_link_pkt *pkt)
{
	pkt->hdr.pad_count ^= 1;
}

static void set_pkey(struct roce_link_pkt *pkt)
{
	pkt->hdr.pkey = 0x8001;
}

static void set_rc(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode = roce_opcode_make(ROCE_RC_SEND_ONLY);
}

static void set_uc(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode = roce_opcode_make(ROCE_UC_SEND_ONLY);
}

static void set_long(struct roce_link_pkt *pkt)
{
	pkt->payload_len = 61; /* 40 + 61 is one more than the receive has */
	pkt->hdr.pad_count = 3;
}

static void set_unknown_group(struct roce_link_pkt *pkt)
{
	pkt->hdr.dest_qpn.v = QPN_MULTICAST;
}

static const struct {
	const char *name;
	void (*change)(struct roce_link_pkt *pkt);
	enum roce_verdict verdict;
} drop_cases[] = {
	{"Q_Key", set_qkey, ROCE_RX_BAD_QKEY},
	{"pad", set_pad, ROCE_RX_BAD_LENGTH},
	{"P_Key", set_pkey, ROCE_RX_BAD_PKEY},
	{"RC packet", set_rc, ROCE_RX_WRONG_TRANSPORT},
	{"UC packet", set_uc, ROCE_RX_WRONG_TRANSPORT},
	{"longer than the receive", set_long, ROCE_RX_RECV_TOO_SMALL},
	{"multicast without a group", set_unknown_group, ROCE_RX_NO_GROUP},
};

static void (*change_packet)(struct roce_link_pkt *pkt);

static bool tamper_first(struct sim_pair *p, unsigned int from, struct roce_link_pkt *pkt)
{
	if (from == 0 && ++p->tampered == 1)
		change_packet(pkt);
	return true;
}

static void roce_ud_rx__drops_in_silence(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * sizeof(drop_cases) / sizeof(drop_cases[0]); i++) {
		print_message("  %s%s\n", drop_cases[i / 2].name, i & 1 ? ", SRQ" : "");
		start(i & 1);
		f.pair.is_quiet = true;
		fixture_recv(&f, 1, 9, 0, 100);
		change_packet = drop_cases[i / 2].change;
		f.pair.tamper = tamper_first;
		send_datagram(ROCE_WR_SEND, 1, 60);
		fixture_expect(&f, "0 cqe 1 SEND SUCCESS\n");
		assert_int_equal(f.pair.last_verdict[1], drop_cases[i / 2].verdict);
		assert_int_equal(sim_counter(&f.pair.hosts[1], (uint32_t)drop_cases[i / 2].verdict),
				 1);
		assert_int_equal(f.pair.hosts[1].placed_bytes, 0);
		require_silence();
		/* the receive is still there */
		send_datagram(ROCE_WR_SEND, 2, 60);
		fixture_expect(&f, "0 cqe 2 SEND SUCCESS\n1 cqe 9 RECV SUCCESS len 100\n");
		require_silence();
		fixture_stop(&f);
	}
}

static void roce_ud_rx__no_recv(void **state)
{
	(void)state;
	for (unsigned int has_srq = 0; has_srq < 2; has_srq++) {
		start(has_srq);
		f.pair.is_quiet = true;
		send_datagram(ROCE_WR_SEND, 1, 60);
		fixture_expect(&f, "0 cqe 1 SEND SUCCESS\n");
		assert_int_equal(f.pair.last_verdict[1], ROCE_RX_NO_RECV);
		fixture_recv(&f, 1, 9, 0, 100);
		fixture_expect(&f, "");
		require_silence();
		fixture_stop(&f);
	}
}

/* Receive memory without the right, or gone: this side's fault, and the QP goes to ERR. */
static void place__bad_receive(void **state)
{
	(void)state;
	for (uint32_t fault = 0; fault < 3; fault++) {
		start(false);
		f.pair.is_quiet = true;
		fixture_recv(&f, 1, 9, 0, 100);
		fixture_recv(&f, 1, 10, 0, 100);
		if (fault)
			f.pair.hosts[1].copy_fault_in = fault; /* in the GRH, in the message */
		else
			f.mr[1]->access = 0;
		send_datagram(ROCE_WR_SEND, 1, 60);
		fixture_expect(
			&f, "0 cqe 1 SEND SUCCESS\n1 cqe 9 LOC_PROT_ERR\n1 cqe 10 WR_FLUSH_ERR\n");
		assert_int_equal(f.pair.last_verdict[1], ROCE_RX_RECV_BAD_SGE);
		assert_int_equal(f.b->attr.state, ROCE_QP_ERR);
		fixture_stop(&f);
	}
}

static void roce_ud_rx__cq_overrun(void **state)
{
	(void)state;
	start(false);
	f.pair.is_quiet = true;
	f.b->cfg.recv_cq = &sim_stack_add_cq(&f.pair.hosts[1], 1)->cq;
	fixture_recv(&f, 1, 9, 0, 100);
	fixture_recv(&f, 1, 10, 0, 100);
	send_datagram(ROCE_WR_SEND, 1, 60);
	send_datagram(ROCE_WR_SEND, 2, 60);
	sim_pair_run(&f.pair, ROCE_NS_PER_MS);
	assert_int_equal(f.pair.last_verdict[1], ROCE_RX_CQ_OVERRUN);
	assert_int_equal(f.b->attr.state, ROCE_QP_ERR);
	assert_int_equal(sim_stack_event_count(&f.pair.hosts[1], ROCE_EVENT_QP_FATAL), 1);
	fixture_stop(&f);
}

static void roce_rx__datagrams_by_state(void **state)
{
	static const bool is_taken[] = {
		[ROCE_QP_RESET] = false, [ROCE_QP_INIT] = false, [ROCE_QP_RTR] = true,
		[ROCE_QP_RTS] = true,	 [ROCE_QP_SQD] = true,	 [ROCE_QP_SQE] = true,
		[ROCE_QP_ERR] = false,
	};

	(void)state;
	for (uint8_t s = 0; s < sizeof(is_taken); s++) {
		start(false);
		fixture_recv(&f, 1, 9, 0, 100);
		f.b->attr.state = s;
		send_datagram(ROCE_WR_SEND, 1, 60);
		sim_pair_run(&f.pair, 10 * ROCE_NS_PER_US);
		assert_int_equal(f.pair.last_verdict[1],
				 is_taken[s] ? ROCE_RX_ACCEPTED : ROCE_RX_WRONG_STATE);
		assert_int_equal(f.pair.hosts[1].placed_bytes, is_taken[s] ? 100 : 0);
		fixture_stop(&f);
	}
}

/* ---- multicast ---- */

static struct roce_qp *add_receiver(uint64_t wr_id)
{
	struct sim_stack *s = &f.pair.hosts[1];
	struct roce_qp *qp = &sim_stack_add_qp(s, &f.caps, f.send_cq[1], f.recv_cq[1])->qp;
	struct roce_sge sge = {fixture_va(&f, 1, wr_id * 1000), 100, f.mr[1]->lkey.v};

	qp->attr = f.b->attr;
	if (wr_id)
		assert_int_equal(roce_post_recv(qp, wr_id, &sge, 1, 0), ROCE_POST_OK);
	return qp;
}

/* Two members get it; not the one with another Q_Key, nor one that is in no or another group. */
static void multicast__reaches_every_member(void **state)
{
	struct roce_gid group = {{0xff, 0x0e, [15] = 7}};
	struct roce_gid other_group = {{0xff, 0x0e, [15] = 8}};
	struct roce_group_member members[4];
	struct roce_transport *t;
	struct roce_qp *other_qkey;
	struct roce_sge sge;
	struct roce_send_wr wr;

	(void)state;
	start(false);
	t = &f.pair.hosts[1].transport;
	f.pair.is_quiet = true;
	fixture_recv(&f, 1, 9, 0, 100);
	other_qkey = add_receiver(4);
	other_qkey->attr.qkey ^= 1;
	roce_group_attach(t, &members[0], &group, f.b);
	roce_group_attach(t, &members[1], &group, add_receiver(3));
	roce_group_attach(t, &members[2], &group, other_qkey);
	roce_group_attach(t, &members[3], &other_group, add_receiver(5));
	add_receiver(6);
	path.dgid = group;
	wr = datagram(ROCE_WR_SEND, 1, 60, &sge);
	wr.remote_qpn = QPN_MULTICAST;
	assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
	fixture_expect(&f, "0 cqe 1 SEND SUCCESS\n"
			   "1 cqe 9 RECV SUCCESS len 100\n"
			   "1 cqe 3 RECV SUCCESS len 100\n");
	assert_int_equal(f.pair.last_verdict[1], ROCE_RX_BAD_QKEY); /* of the last member */
	/* the GRH names the group */
	assert_memory_equal(fixture_bytes(&f, 1, 3024), group.raw, 16);
	assert_memory_equal(fixture_bytes(&f, 1, 24), group.raw, 16);

	assert_ptr_equal(roce_group_find(t, &group, f.b), &members[0]);
	assert_null(roce_group_find(t, &other_group, f.b));
	roce_group_detach(&members[0]);
	assert_null(roce_group_find(t, &group, f.b));
	fixture_recv(&f, 1, 10, 0, 100);
	assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
	fixture_expect(&f, "0 cqe 1 SEND SUCCESS\n"); /* nobody is left with a receive */
	roce_group_detach(&members[1]);
	roce_group_detach(&members[2]);
	assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
	fixture_expect(&f, "0 cqe 1 SEND SUCCESS\n");
	assert_int_equal(f.pair.last_verdict[1], ROCE_RX_NO_GROUP);
	fixture_stop(&f);
}

/* A packet to QP 0xFFFFFF that is no datagram finds only UD QPs and is refused by each. */
static void multicast__no_datagram(void **state)
{
	struct roce_group_member member;

	(void)state;
	start(false);
	roce_group_attach(&f.pair.hosts[1].transport, &member, &f.pair.hosts[1].gid, f.b);
	fixture_recv(&f, 1, 9, 0, 100);
	change_packet = set_rc;
	f.pair.tamper = tamper_first;
	f.pair.is_quiet = true;
	{
		struct roce_sge sge;
		struct roce_send_wr wr = datagram(ROCE_WR_SEND, 1, 60, &sge);

		wr.remote_qpn = QPN_MULTICAST;
		assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
	}
	fixture_expect(&f, "0 cqe 1 SEND SUCCESS\n");
	assert_int_equal(f.pair.last_verdict[1], ROCE_RX_WRONG_TRANSPORT);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(send__every_kind),
		cmocka_unit_test(recv__case_032_v6),
		cmocka_unit_test(recv__case_032_v4),
		cmocka_unit_test(post_send__copies_the_path),
		cmocka_unit_test(send_datagram__privileged_qkey),
		cmocka_unit_test(post_send__refuses),
		cmocka_unit_test(sqe__message_above_the_port_mtu),
		cmocka_unit_test(sqe__still_receives),
		cmocka_unit_test(roce_ud_rx__drops_in_silence),
		cmocka_unit_test(roce_ud_rx__no_recv),
		cmocka_unit_test(place__bad_receive),
		cmocka_unit_test(roce_ud_rx__cq_overrun),
		cmocka_unit_test(roce_rx__datagrams_by_state),
		cmocka_unit_test(multicast__reaches_every_member),
		cmocka_unit_test(multicast__no_datagram),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
