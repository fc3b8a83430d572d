/* SPDX-License-Identifier: BSD-2-Clause */
/* Building and using the connected pair. */
#include "fixture.h"

void fixture_init(struct fixture *f)
{
	*f = (struct fixture){
		.conn = sim_conn_default(),
		.caps = sim_caps_default(),
		.tuning = sim_tuning_default(),
		.link = {.delay_ps = 1000 * ROCE_PS_PER_NS},
		.region_bytes = BUF,
	};
}

void fixture_start(struct fixture *f, bool is_connected)
{
	struct roce_qp *qps[2];

	sim_pair_init(&f->pair, REGION + f->region_bytes + REGION, &f->tuning, &f->link);
	for (unsigned int i = 0; i < 2; i++) {
		struct sim_stack *s = &f->pair.hosts[i];

		f->mr[i] = sim_stack_add_mr(s, REGION, f->region_bytes,
					    ROCE_ACCESS_LOCAL_WRITE | ROCE_ACCESS_REMOTE_WRITE |
						    ROCE_ACCESS_REMOTE_READ |
						    ROCE_ACCESS_REMOTE_ATOMIC);
		f->send_cq[i] = sim_stack_add_cq(s, 64);
		f->recv_cq[i] = sim_stack_add_cq(s, 64);
		f->caps.type = f->types[i];
		if (i == 1 && f->srq_depth)
			f->caps.srq = f->srq = sim_stack_add_srq(s, f->srq_depth, NULL);
		qps[i] = &sim_stack_add_qp(s, &f->caps, f->send_cq[i], f->recv_cq[i])->qp;
	}
	f->a = qps[0];
	f->b = qps[1];
	if (is_connected)
		assert_true(sim_pair_connect(&f->pair, f->a, f->b, &f->conn));
}

void fixture_stop(struct fixture *f)
{
	assert_int_equal(f->pair.hosts[0].stray_count, 0);
	assert_int_equal(f->pair.hosts[1].stray_count, 0);
	sim_pair_fini(&f->pair);
}

uint8_t *fixture_bytes(const struct fixture *f, unsigned int host, size_t offset)
{
	return f->pair.hosts[host].arena + REGION + offset;
}

uint64_t fixture_va(const struct fixture *f, unsigned int host, size_t offset)
{
	return (uint64_t)(uintptr_t)fixture_bytes(f, host, offset);
}

struct roce_send_wr fixture_wr(const struct fixture *f, unsigned int i, uint8_t opcode,
			       uint64_t wr_id, uint32_t length, struct roce_sge *sge)
{
	*sge = (struct roce_sge){fixture_va(f, i, 0), length, f->mr[i]->lkey.v};
	return (struct roce_send_wr){
		.wr_id = wr_id,
		.sge = sge,
		.sge_count = 1,
		.opcode = opcode,
		.flags = ROCE_SEND_SIGNALED,
		.imm_be = 0x1234,
		.remote_addr = fixture_va(f, !i, 0),
		.rkey = f->mr[!i]->rkey.v,
		.compare_add = 1,
		.swap = 2,
	};
}

void fixture_post(struct fixture *f, unsigned int i, uint8_t opcode, uint64_t wr_id,
		  uint32_t length, uint8_t flags)
{
	struct roce_sge sge;
	struct roce_send_wr wr = fixture_wr(f, i, opcode, wr_id, length, &sge);

	wr.flags |= flags;
	assert_int_equal(sim_pair_send(&f->pair, i, i ? f->b : f->a, &wr), ROCE_POST_OK);
}

void fixture_recv(struct fixture *f, unsigned int i, uint64_t wr_id, size_t offset, uint32_t length)
{
	struct roce_sge sge = {fixture_va(f, i, offset), length, f->mr[i]->lkey.v};

	if (i == 1 && f->srq)
		assert_true(sim_srq_post(f->srq, wr_id, &sge, 1));
	else
		assert_int_equal(sim_pair_recv(&f->pair, i, i ? f->b : f->a, wr_id, &sge, 1),
				 ROCE_POST_OK);
}

static bool lose(struct sim_pair *p, unsigned int from, struct roce_link_pkt *pkt)
{
	struct fixture *f = roce_container_of(p, struct fixture, pair);
	uint32_t n = f->sent[from]++;

	(void)pkt;
	return n >= 64 || !(f->drops[from] >> n & 1);
}

void fixture_lose(struct fixture *f, uint64_t of_host_0, uint64_t of_host_1)
{
	f->drops[0] = of_host_0;
	f->drops[1] = of_host_1;
	f->sent[0] = f->sent[1] = 0;
	f->pair.tamper = lose;
}
