/* SPDX-License-Identifier: BSD-2-Clause */
/* See one_host.h. Time only goes on as the input says, so each run is the same. */
#include "one_host.h"

#define ROUNDS_MAX 100000u

struct roce_gid fuzz_peer_gid(const struct sim_stack *host)
{
	struct roce_gid gid = host->gid;

	gid.raw[15] = 0x99;
	return gid;
}

bool fuzz_may_have_written(enum roce_verdict verdict)
{
	return verdict == ROCE_RX_ACCEPTED || verdict == ROCE_RX_CQ_OVERRUN ||
	       verdict == ROCE_RX_RECV_BAD_SGE || verdict == ROCE_RX_BAD_INVALIDATE ||
	       verdict == ROCE_RX_MEMORY_FAULT;
}

void fuzz_step_time(struct fuzz_input *in, struct sim_stack *host, roce_ns_t *now)
{
	uint8_t how = fuzz_u8(in);
	roce_ns_t deadline = roce_deadline(&host->transport);

	if (how < 0x80 || deadline == ROCE_NEVER)
		*now += UINT64_C(1) << (how & 31);
	else if (deadline > *now)
		*now = deadline;
	roce_on_deadline(&host->transport, *now);
	fuzz_require(roce_deadline(&host->transport) > *now, "no deadline stays in the past");
}

void fuzz_run_out(struct sim_stack *host, roce_ns_t *now, size_t (*take)(size_t max, bool is_fault))
{
	uint32_t rounds = 0;

	for (;;) {
		fuzz_require(++rounds < ROUNDS_MAX, "the host comes to rest");
		host->event_count = 0;
		if (take(16, false))
			continue;
		if (roce_deadline(&host->transport) == ROCE_NEVER)
			return;
		*now = roce_deadline(&host->transport);
		roce_on_deadline(&host->transport, *now);
	}
}

void fuzz_require_books_ended(const struct sim_stack *host, const struct fuzz_book *sends,
			      const struct fuzz_book *recvs)
{
	for (uint32_t i = 0; i < host->qp_count; i++) {
		const struct roce_qp *qp = &host->qps[i]->qp;

		if (qp->cfg.send_cq->is_overrun || qp->cfg.recv_cq->is_overrun)
			continue;
		if (qp->attr.state == ROCE_QP_RTS || qp->attr.state == ROCE_QP_ERR)
			fuzz_book_require_ended(&sends[i]);
		if (qp->attr.state == ROCE_QP_ERR)
			fuzz_book_require_ended(&recvs[i]);
	}
}
