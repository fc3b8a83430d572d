/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kind `edges`: shared queues that an XRC request must not name: one that is not there, and one of
 * another domain. The request ends with REM_INV_REQ_ERR, the target queue pair is in error, and no
 * receive has been taken: those of a shared queue are no queue pair's own, so none is flushed.
 */
#include "verify/agent/edges.h"

#include "base/clock.h"

#include <string.h>

#define MESSAGE_BYTES 64u
#define FILLER	      0x21
#define NOBODYS	      0xabcdefu /* the number of no queue, but for a chance of one in millions */
#define QUIET_NS      (20 * ROCE_NS_PER_MS)

static void must_be_untouched(struct va_run *run, struct va_endpoint *endpoint,
			      const struct va_buffer *memory, const char *what)
{
	roce_ns_t end = roce_clock_now() + QUIET_NS;
	struct ibv_wc wc;

	while (roce_clock_now() < end) {
		if (ibv_poll_cq(endpoint->recv_cq, 1, &wc) == 1)
			va_fail(run, "%s took a receive, status %d (%s)", what, (int)wc.status,
				ibv_wc_status_str(wc.status));
	}
	va_filler_must(run, memory->at, memory->bytes, FILLER, what);
}

static void must_be_in_error(struct va_run *run, const struct va_endpoint *endpoint,
			     const char *what)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	va_need(run, !ibv_query_qp(endpoint->target_qp, &attr, IBV_QP_STATE, &init),
		"ibv_query_qp");
	if (attr.qp_state != IBV_QPS_ERR)
		va_fail(run, "after %s the target queue pair is in state %d, expected %d", what,
			(int)attr.qp_state, IBV_QPS_ERR);
}

static void ask(struct va_run *run, struct va_edges *e, struct va_endpoint *endpoint,
		const struct va_buffer *memory, enum ibv_wr_opcode opcode, uint32_t queue,
		const char *what)
{
	struct va_request request = {
		.opcode = opcode,
		.local = memory,
		.length = MESSAGE_BYTES,
	};
	struct ibv_wc wc;

	endpoint->peer_srqn = queue;
	va_post(run, endpoint, &request);
	va_wait(run, endpoint->send_cq, what, &wc);
	if (wc.status != IBV_WC_REM_INV_REQ_ERR)
		va_fail(run, "%s ended with status %d (%s), expected %d", what, (int)wc.status,
			ibv_wc_status_str(wc.status), IBV_WC_REM_INV_REQ_ERR);
	e->checked++;
}

static void try_queue(struct va_run *run, struct va_edges *e, struct va_buffer *memory,
		      enum ibv_wr_opcode opcode, bool is_other_domain)
{
	const char *what = is_other_domain ? "a SEND to a shared queue of another domain"
					   : "a SEND to a shared queue that is not there";
	struct va_endpoint_config config = {.type = IBV_QPT_XRC_SEND};
	struct va_endpoint endpoint;
	struct va_endpoint other; /* whose domain is another */

	va_endpoint_create(run, &e->device, &config, &endpoint);
	va_endpoint_connect(run, &endpoint);
	va_endpoint_create(run, &e->device, &config, &other);
	va_endpoint_connect(run, &other);
	memset(memory->at, FILLER, memory->bytes);
	if (!run->is_initiator) {
		va_post_receive(run, &endpoint, memory, 0, MESSAGE_BYTES, 0);
		va_post_receive(run, &other, memory, 0, MESSAGE_BYTES, 0);
	}
	va_barrier(run, "ready");
	if (run->is_initiator)
		ask(run, e, &endpoint, memory, opcode, is_other_domain ? other.peer_srqn : NOBODYS,
		    what);
	va_barrier(run, "asked");
	if (!run->is_initiator) {
		must_be_untouched(run, &endpoint, memory, what);
		must_be_untouched(run, &other, memory, what);
		must_be_in_error(run, &endpoint, what);
	}
	va_barrier(run, "checked");
	va_endpoint_destroy(run, &endpoint);
	va_endpoint_destroy(run, &other);
}

void va_edges_xrc(struct va_run *run, struct va_edges *e)
{
	struct va_buffer memory;

	if (!(e->device.attr.device_cap_flags & IBV_DEVICE_XRC))
		va_skip(run, "the device has no XRC");
	va_buffer_create(run, &e->device, MESSAGE_BYTES, VA_ACCESS_ALL, &memory);
	for (int i = 0; i < 4; i++)
		try_queue(run, e, &memory, i / 2 ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND, i % 2);
	va_buffer_destroy(run, &memory);
}
