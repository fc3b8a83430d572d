/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kind `edges`: the bounds of a memory window. The target binds one to the middle of a region. The
 * initiator writes to all of it, which must succeed, and then one byte beyond it, or where it may
 * not: REM_ACCESS_ERR there, nothing changed here, and this side's queue pair in error with its
 * receive flushed. Binding what may not be bound ends with MW_BIND_ERR, or is refused by the call.
 */
#include "verify/agent/edges.h"

#include <string.h>

#define REGION_BYTES 4096u
#define WINDOW_AT    512u
#define WINDOW_BYTES 1024u
#define FILLER	     0x33

static const struct attempt {
	const char *what;
	enum ibv_wr_opcode opcode;
	uint32_t at; /* of the region */
	uint32_t length;
	bool is_right;
	unsigned int rights; /* of the window */
} attempts[] = {
	{"a WRITE to all of a window", IBV_WR_RDMA_WRITE, WINDOW_AT, WINDOW_BYTES, true,
	 IBV_ACCESS_REMOTE_WRITE},
	{"a READ of all of a window", IBV_WR_RDMA_READ, WINDOW_AT, WINDOW_BYTES, true,
	 IBV_ACCESS_REMOTE_READ},
	{"a WRITE one byte beyond a window", IBV_WR_RDMA_WRITE, WINDOW_AT, WINDOW_BYTES + 1, false,
	 IBV_ACCESS_REMOTE_WRITE},
	{"a WRITE one byte in front of a window", IBV_WR_RDMA_WRITE, WINDOW_AT - 1, WINDOW_BYTES,
	 false, IBV_ACCESS_REMOTE_WRITE},
	{"a READ one byte beyond a window", IBV_WR_RDMA_READ, WINDOW_AT, WINDOW_BYTES + 1, false,
	 IBV_ACCESS_REMOTE_READ},
	{"a WRITE to a window that may be read", IBV_WR_RDMA_WRITE, WINDOW_AT, 1, false,
	 IBV_ACCESS_REMOTE_READ},
	{"a READ of a window that may be written to", IBV_WR_RDMA_READ, WINDOW_AT, 1, false,
	 IBV_ACCESS_REMOTE_WRITE},
};

/* Posts the bind. What ibv_post_send() returns, or the status of the completion. */
static int bind_window(struct va_run *run, struct va_endpoint *endpoint, struct ibv_mw *mw,
		       struct ibv_mr *mr, uint64_t address, uint64_t length, unsigned int rights)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = {.mw = mw,
			    .rkey = ibv_inc_rkey(mw->rkey),
			    .bind_info = {.mr = mr,
					  .addr = address,
					  .length = length,
					  .mw_access_flags = rights}},
	};
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	int rc = ibv_post_send(endpoint->qp, &wr, &bad);

	if (rc)
		return rc;
	va_wait(run, endpoint->send_cq, "the bind of a window", &wc);
	if (wc.status == IBV_WC_SUCCESS)
		mw->rkey = wr.bind_mw.rkey;
	else if (wc.status != IBV_WC_MW_BIND_ERR)
		va_fail(run, "a wrong bind ended with status %d (%s), expected %d", (int)wc.status,
			ibv_wc_status_str(wc.status), IBV_WC_MW_BIND_ERR);
	return (int)wc.status;
}

static struct ibv_mw *make_window(struct va_run *run, struct va_edges *e)
{
	struct ibv_mw *mw = ibv_alloc_mw(e->device.pd, IBV_MW_TYPE_2);

	va_need(run, mw != NULL, "ibv_alloc_mw");
	return mw;
}

/* ---- the target's part ---- */

static void must_be_flushed(struct va_run *run, const struct va_endpoint *endpoint,
			    const struct attempt *a)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_wc wc;

	va_wait(run, endpoint->recv_cq, "the receive of a queue pair in error", &wc);
	if (wc.status != IBV_WC_WR_FLUSH_ERR)
		va_fail(run, "after %s the target's receive ended with status %d (%s), expected %d",
			a->what, (int)wc.status, ibv_wc_status_str(wc.status), IBV_WC_WR_FLUSH_ERR);
	va_need(run, !ibv_query_qp(endpoint->qp, &attr, IBV_QP_STATE, &init), "ibv_query_qp");
	if (attr.qp_state != IBV_QPS_ERR)
		va_fail(run, "after %s the target's queue pair is in state %d, expected %d",
			a->what, (int)attr.qp_state, IBV_QPS_ERR);
}

/* Soft-RoCE looks at the bounds of the region only. */
static bool is_known_to_fail(const struct va_run *run, const struct attempt *a)
{
	return va_accepts(run, "rxe") &&
	       (a->at < WINDOW_AT || a->at + a->length > WINDOW_AT + WINDOW_BYTES);
}

static void answer(struct va_run *run, struct va_edges *e, struct va_endpoint *endpoint,
		   struct va_buffer *memory, const struct attempt *a)
{
	struct ibv_mw *mw;
	int rc;

	if (is_known_to_fail(run, a)) {
		va_send(run, json_null());
		return;
	}
	mw = make_window(run, e);
	memset(memory->at, FILLER, memory->bytes);
	if (a->opcode == IBV_WR_RDMA_READ)
		va_pattern_fill(memory->at + a->at, a->length, run->seed, 0);
	va_post_receive(run, endpoint, memory, 0, 0, 0);
	rc = bind_window(run, endpoint, mw, memory->mr, (uintptr_t)memory->at + WINDOW_AT,
			 WINDOW_BYTES, a->rights);
	if (rc)
		va_fail(run, "a right bind was refused: %d", rc);
	va_send(run, json_integer((json_int_t)mw->rkey));
	va_barrier(run, "asked");
	if (!a->is_right) {
		must_be_flushed(run, endpoint, a);
	}
	for (uint32_t i = 0; i < memory->bytes; i++) {
		bool is_in = i >= a->at && i < a->at + a->length;
		bool is_changed = a->opcode == IBV_WR_RDMA_WRITE ? a->is_right && is_in : is_in;
		uint8_t right = is_changed ? va_pattern_byte(run->seed, i - a->at) : FILLER;

		if (memory->at[i] != right)
			va_fail(run, "%s left byte %u of the region as 0x%02x, expected 0x%02x",
				a->what, i, memory->at[i], right);
	}
	va_barrier(run, "checked");
	/* before its queue pair: Soft-RoCE's waits for windows */
	va_need(run, !ibv_dealloc_mw(mw), "ibv_dealloc_mw");
}

/* Binds that no device may do; each has a queue pair of its own, for it may go to the error state.
 */
static void refuse_binds(struct va_run *run, struct va_edges *e, struct va_buffer *memory)
{
	struct va_buffer plain; /* a region that may have no windows */

	va_buffer_create(run, &e->device, REGION_BYTES, VA_ACCESS_ALL, &plain);
	for (int i = 0; i < 2; i++) {
		struct va_buffer *of = i ? &plain : memory;
		struct ibv_mw *mw = make_window(run, e);
		struct va_endpoint endpoint;

		va_endpoint_create(run, &e->device, &(struct va_endpoint_config){0}, &endpoint);
		va_endpoint_connect(run, &endpoint);
		va_edges_refused(run, e,
				 bind_window(run, &endpoint, mw, of->mr, (uintptr_t)of->at,
					     of->bytes + !i, IBV_ACCESS_REMOTE_READ),
				 i ? "a window of a region that may have none"
				   : "a window one byte longer than its region",
				 of->bytes + !i);
		va_need(run, !ibv_dealloc_mw(mw), "ibv_dealloc_mw");
		va_endpoint_destroy(run, &endpoint);
	}
	va_buffer_destroy(run, &plain);
}

/* ---- the initiator's part ---- */

static void ask(struct va_run *run, struct va_edges *e, struct va_endpoint *endpoint,
		struct va_buffer *memory, const struct va_remote *region, const struct attempt *a)
{
	json_t *key = va_receive(run);
	struct va_remote window = {region->address, (uint32_t)json_integer_value(key), 0};
	struct va_request request = {
		.opcode = a->opcode,
		.local = memory,
		.length = a->length,
		.remote = &window,
		.remote_offset = a->at,
	};
	enum ibv_wc_status expected = a->is_right ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR;
	struct ibv_wc wc;

	if (json_is_null(key)) /* the target's device is known not to refuse it */
		return;
	json_decref(key);
	va_pattern_fill(memory->at, a->length, run->seed, 0);
	if (a->opcode == IBV_WR_RDMA_READ)
		memset(memory->at, 0, a->length);
	va_post(run, endpoint, &request);
	va_wait(run, endpoint->send_cq, a->what, &wc);
	if (wc.status != expected)
		va_fail(run, "%s ended with status %d (%s), expected %d", a->what, (int)wc.status,
			ibv_wc_status_str(wc.status), (int)expected);
	if (a->is_right && a->opcode == IBV_WR_RDMA_READ)
		va_pattern_must(run, memory->at, a->length, run->seed, 0,
				"what READ brought from a window");
	e->checked++;
	va_barrier(run, "asked");
	va_barrier(run, "checked");
}

void va_edges_bind(struct va_run *run, struct va_edges *e)
{
	struct va_buffer memory;
	struct va_remote region;

	if (!va_is(run, "transport", "rc"))
		va_skip(run, "windows are bound by queue pairs of RC");
	if (e->device.attr.max_mw < 1 ||
	    !(e->device.attr.device_cap_flags &
	      (IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B)))
		va_skip(run, "the device has no memory windows of type 2");
	va_buffer_create(run, &e->device, REGION_BYTES, VA_ACCESS_ALL | IBV_ACCESS_MW_BIND,
			 &memory);
	va_buffer_exchange(run, &memory, &region);
	for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
		struct va_endpoint endpoint;

		va_endpoint_create(run, &e->device, &(struct va_endpoint_config){0}, &endpoint);
		va_endpoint_connect(run, &endpoint);
		if (run->is_initiator)
			ask(run, e, &endpoint, &memory, &region, &attempts[i]);
		else
			answer(run, e, &endpoint, &memory, &attempts[i]);
		va_endpoint_destroy(run, &endpoint);
	}
	if (run->is_initiator) {
		for (int i = 0; i < 2; i++) { /* partners of the other side's */
			struct va_endpoint endpoint;

			va_endpoint_create(run, &e->device, &(struct va_endpoint_config){0},
					   &endpoint);
			va_endpoint_connect(run, &endpoint);
			va_endpoint_destroy(run, &endpoint);
		}
	} else {
		refuse_binds(run, e, &memory);
	}
	e->edge = WINDOW_BYTES;
	va_barrier(run, "over");
	va_buffer_destroy(run, &memory);
}
