/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The public interface with data on its way: both ways of posting and of reading completions,
 * events, errors of every call, the order of destruction, and a forked child.
 */
#include "lo_device.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

struct pair {
	struct lo_device lo;
	struct ibv_qp *a;
	struct ibv_qp *b;
};

static int set_up(void **state)
{
	struct pair *p = calloc(1, sizeof(*p));

	lo_open(&p->lo);
	p->a = lo_make_qp(&p->lo);
	p->b = lo_make_qp(&p->lo);
	assert_int_equal(lo_bring(&p->lo, p->a, p->b->qp_num, IBV_QPS_RTS), 0);
	assert_int_equal(lo_bring(&p->lo, p->b, p->a->qp_num, IBV_QPS_RTS), 0);
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct pair *p = *state;

	assert_int_equal(ibv_destroy_qp(p->a), 0);
	assert_int_equal(ibv_destroy_qp(p->b), 0);
	lo_close(&p->lo);
	free(p);
	return 0;
}

static struct ibv_sge sge_at(struct pair *p, size_t offset, uint32_t length)
{
	return (struct ibv_sge){
		.addr = (uintptr_t)p->lo.mem + offset, .length = length, .lkey = p->lo.mr->lkey};
}

static void post_recv(struct ibv_qp *qp, uint64_t wr_id, struct ibv_sge *sge)
{
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = sge, .num_sge = sge ? 1 : 0};
	struct ibv_recv_wr *bad;

	assert_int_equal(ibv_post_recv(qp, &wr, &bad), 0);
}

/* ---- posting ---- */

static void post_send__list_stops_at_the_bad_one(void **state)
{
	struct pair *p = *state;
	struct ibv_sge sge = sge_at(p, 0, 64);
	struct ibv_send_wr wrs[3] = {
		{.wr_id = 1,
		 .next = &wrs[1],
		 .sg_list = &sge,
		 .num_sge = 1,
		 .opcode = IBV_WR_RDMA_WRITE,
		 .wr.rdma = {.remote_addr = (uintptr_t)p->lo.mem + 4096, .rkey = p->lo.mr->rkey}},
		{.wr_id = 2,
		 .next = &wrs[2],
		 .sg_list = &sge,
		 .num_sge = 3,
		 .opcode = IBV_WR_RDMA_WRITE},
		{.wr_id = 3, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE},
	};
	struct ibv_send_wr *bad = NULL;
	struct ibv_wc wc;

	memset(p->lo.mem, 0x5a, 64);
	assert_int_equal(ibv_post_send(p->a, wrs, &bad), EINVAL);
	assert_ptr_equal(bad, &wrs[1]);
	assert_true(lo_poll(&p->lo, &wc));
	assert_int_equal(wc.wr_id, 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RDMA_WRITE);
	assert_int_equal(wc.qp_num, p->a->qp_num);
	assert_memory_equal(p->lo.mem, p->lo.mem + 4096, 64);
	assert_int_equal(ibv_poll_cq(p->lo.cq, 1, &wc), 0);
}

/* Standard error, kept in a file meanwhile. */
struct capture {
	FILE *file;
	int saved;
};

static void start_capture(struct capture *c)
{
	c->file = tmpfile();
	assert_non_null(c->file);
	c->saved = dup(STDERR_FILENO);
	assert_true(dup2(fileno(c->file), STDERR_FILENO) >= 0);
}

static void end_capture(struct capture *c, char *out, size_t size)
{
	assert_true(dup2(c->saved, STDERR_FILENO) >= 0);
	close(c->saved);
	rewind(c->file);
	out[fread(out, 1, size - 1, c->file)] = 0;
	fclose(c->file);
}

static void post_send__refusals(void **state)
{
	struct pair *p = *state;
	struct ibv_sge sge = sge_at(p, 0, 65);
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_INLINE};
	struct ibv_send_wr *bad;
	struct ibv_qp *fresh = lo_make_qp(&p->lo);
	struct capture c;
	char line[200];

	assert_int_equal(ibv_post_send(p->a, &wr, &bad), EINVAL); /* inline above 64 */
	wr.send_flags = IBV_SEND_SIGNALED | IBV_SEND_IP_CSUM;
	start_capture(&c);
	assert_int_equal(ibv_post_send(p->a, &wr, &bad), EINVAL);
	end_capture(&c, line, sizeof(line));
	assert_non_null(strstr(line, "send flag 0x10 is unknown"));
	wr.send_flags = 0;
	wr.opcode = IBV_WR_TSO;
	assert_int_equal(ibv_post_send(p->a, &wr, &bad), EINVAL);
	wr.opcode = (enum ibv_wr_opcode)(256 + IBV_WR_SEND);
	assert_int_equal(ibv_post_send(p->a, &wr, &bad), EINVAL);
	wr.opcode = IBV_WR_SEND;
	wr.num_sge = -1;
	assert_int_equal(ibv_post_send(p->a, &wr, &bad), EINVAL);
	wr.num_sge = 1;
	assert_int_equal(ibv_post_send(fresh, &wr, &bad), EINVAL); /* state RESET */
	assert_int_equal(ibv_destroy_qp(fresh), 0);
}

static void post_send__full_queue_is_enomem(void **state)
{
	struct pair *p = *state;
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND};
	struct ibv_send_wr *bad = NULL;
	struct ibv_recv_wr recv = {.num_sge = 0};
	struct ibv_recv_wr *bad_recv = NULL;
	int posted = 0;
	struct ibv_wc wc;

	/* Nobody has posted a receive: the sends stay. */
	while (ibv_post_send(p->a, &wr, &bad) == 0)
		assert_in_range(++posted, 1, 8);
	assert_int_equal(posted, 8);
	assert_int_equal(ibv_post_send(p->a, &wr, &bad), ENOMEM);
	assert_ptr_equal(bad, &wr);
	for (int i = 0; i < 8; i++)
		assert_int_equal(ibv_post_recv(p->b, &recv, &bad_recv), 0);
	/* A slot is free again when its completion has been polled. */
	for (int i = 0; i < 16; i++) {
		assert_true(lo_poll(&p->lo, &wc));
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
	}
	for (int i = 0; i < 8; i++)
		assert_int_equal(ibv_post_recv(p->a, &recv, &bad_recv), 0);
	assert_int_equal(ibv_post_recv(p->a, &recv, &bad_recv), ENOMEM);
	assert_ptr_equal(bad_recv, &recv);
}

/* ---- the extended interfaces ---- */

static void qp_ex__builds_and_aborts(void **state)
{
	struct pair *p = *state;
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = p->lo.cq,
		.recv_cq = p->lo.cq,
		.cap = {.max_send_wr = 4,
			.max_recv_wr = 4,
			.max_send_sge = 2,
			.max_recv_sge = 1,
			.max_inline_data = 32},
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = p->lo.pd,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND_WITH_IMM |
				  IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_RDMA_READ,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(p->lo.context, &attr);
	struct ibv_qp_ex *ex;
	struct ibv_sge sge = sge_at(p, 1024, 256);
	uint64_t there = (uintptr_t)p->lo.mem + 8192;
	uint64_t word = 40;
	struct ibv_wc wc;

	assert_non_null(qp);
	ex = ibv_qp_to_qp_ex(qp);
	assert_non_null(ex);
	/* b is reset and connected to this one */
	assert_int_equal(
		ibv_modify_qp(p->b, &(struct ibv_qp_attr){.qp_state = IBV_QPS_RESET}, IBV_QP_STATE),
		0);
	assert_int_equal(lo_bring(&p->lo, p->b, qp->qp_num, IBV_QPS_RTS), 0);
	assert_int_equal(lo_bring(&p->lo, qp, p->b->qp_num, IBV_QPS_RTS), 0);
	post_recv(p->b, 77, &sge);
	memcpy(p->lo.mem + 8192 + 64, &word, sizeof(word));

	ibv_wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(ex, p->lo.mr->rkey, there);
	ibv_wr_set_inline_data(ex, (char[]){"inline"}, 6);
	ibv_wr_abort(ex);
	assert_int_equal(ibv_poll_cq(p->lo.cq, 1, &wc), 0);

	ibv_wr_start(ex);
	ex->wr_id = 2;
	ibv_wr_rdma_write(ex, p->lo.mr->rkey, there);
	ibv_wr_set_inline_data(ex, (char[]){"inline"}, 6);
	ex->wr_id = 3;
	ibv_wr_atomic_fetch_add(ex, p->lo.mr->rkey, there + 64, 2);
	ibv_wr_set_sge(ex, p->lo.mr->lkey, (uintptr_t)p->lo.mem, 8);
	ex->wr_id = 4;
	ibv_wr_send_imm(ex, 0x01020304);
	ibv_wr_set_sge(ex, p->lo.mr->lkey, (uintptr_t)p->lo.mem, 16);
	assert_int_equal(ibv_wr_complete(ex), 0);
	for (int i = 0; i < 4; i++) {
		assert_true(lo_poll(&p->lo, &wc));
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		if (wc.wr_id != 77)
			continue;
		assert_int_equal(wc.opcode, IBV_WC_RECV);
		assert_int_equal(wc.byte_len, 16);
		assert_int_equal(wc.wc_flags, IBV_WC_WITH_IMM);
		assert_int_equal(wc.imm_data, 0x01020304);
	}
	assert_memory_equal(p->lo.mem + 8192, "inline", 6);
	memcpy(&word, p->lo.mem, sizeof(word));
	assert_int_equal(word, 40);
	memcpy(&word, p->lo.mem + 8192 + 64, sizeof(word));
	assert_int_equal(word, 42);

	/* A mistake anywhere takes all of them along. */
	ibv_wr_start(ex);
	ibv_wr_rdma_write(ex, p->lo.mr->rkey, there);
	ibv_wr_set_sge(ex, p->lo.mr->lkey, (uintptr_t)p->lo.mem, 8);
	ibv_wr_rdma_read(ex, p->lo.mr->rkey, there);
	ibv_wr_set_inline_data(ex, p->lo.mem, 33);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	ibv_wr_start(ex);
	for (int i = 0; i < 5; i++) {
		ibv_wr_rdma_write(ex, p->lo.mr->rkey, there);
		ibv_wr_set_sge(ex, p->lo.mr->lkey, (uintptr_t)p->lo.mem, 8);
	}
	assert_int_equal(ibv_wr_complete(ex), ENOMEM);
	ibv_wr_start(ex);
	ibv_wr_send_tso(ex, p->lo.mem, 0, 0);
	assert_int_equal(ibv_wr_complete(ex), EOPNOTSUPP);
	assert_int_equal(ibv_poll_cq(p->lo.cq, 1, &wc), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);

	attr.send_ops_flags = IBV_QP_EX_WITH_TSO;
	assert_null(ibv_create_qp_ex(p->lo.context, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	attr.qp_type = IBV_QPT_UD; /* which cannot write */
	attr.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE;
	assert_null(ibv_create_qp_ex(p->lo.context, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	attr.comp_mask |= IBV_QP_INIT_ATTR_RX_HASH;
	assert_null(ibv_create_qp_ex(p->lo.context, &attr));
}

static void cq_ex__reads_every_field(void **state)
{
	struct pair *p = *state;
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 8,
		.cq_context = p,
		.wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK};
	struct ibv_poll_cq_attr poll_attr = {0};
	struct ibv_cq_ex *ex = ibv_create_cq_ex(p->lo.context, &attr);
	struct ibv_values_ex values = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};
	struct ibv_sge sge = sge_at(p, 0, 32);
	struct ibv_send_wr wr = {.wr_id = 5,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND_WITH_IMM,
				 .imm_data = 0x0a0b0c0d};
	struct ibv_send_wr *bad;
	struct ibv_qp_init_attr qp_attr = {.send_cq = p->lo.cq,
					   .cap = {.max_recv_wr = 2, .max_recv_sge = 1},
					   .qp_type = IBV_QPT_RC};
	struct ibv_qp *qp;
	uint64_t stamp;
	int err = ENOENT;

	assert_non_null(ex);
	qp_attr.recv_cq = ibv_cq_ex_to_cq(ex);
	qp = ibv_create_qp(p->lo.pd, &qp_attr);
	assert_non_null(qp);
	assert_int_equal(
		ibv_modify_qp(p->a, &(struct ibv_qp_attr){.qp_state = IBV_QPS_RESET}, IBV_QP_STATE),
		0);
	assert_int_equal(lo_bring(&p->lo, p->a, qp->qp_num, IBV_QPS_RTS), 0);
	assert_int_equal(lo_bring(&p->lo, qp, p->a->qp_num, IBV_QPS_RTS), 0);
	assert_int_equal(ibv_start_poll(ex, &poll_attr), ENOENT);
	poll_attr.comp_mask = 1;
	assert_int_equal(ibv_start_poll(ex, &poll_attr), EINVAL);
	poll_attr.comp_mask = 0;
	post_recv(qp, 6, &sge);
	assert_int_equal(ibv_post_send(p->a, &wr, &bad), 0);
	for (time_t end = time(NULL) + LO_PATIENCE_S; err == ENOENT && time(NULL) < end;)
		err = ibv_start_poll(ex, &poll_attr);
	assert_int_equal(err, 0);
	assert_int_equal(ex->wr_id, 6);
	assert_int_equal(ex->status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_wc_read_opcode(ex), IBV_WC_RECV);
	assert_int_equal(ibv_wc_read_byte_len(ex), 32);
	assert_int_equal(ibv_wc_read_imm_data(ex), 0x0a0b0c0d);
	assert_int_equal(ibv_wc_read_wc_flags(ex), IBV_WC_WITH_IMM);
	assert_int_equal(ibv_wc_read_qp_num(ex), qp->qp_num);
	assert_int_equal(ibv_wc_read_slid(ex), 0);
	stamp = ibv_wc_read_completion_ts(ex);
	assert_int_equal(ibv_query_rt_values_ex(p->lo.context, &values), 0);
	assert_in_range((uint64_t)values.raw_clock.tv_sec * 1000000000 +
				(uint64_t)values.raw_clock.tv_nsec - stamp,
			0, UINT64_C(1000000000) * 2 * LO_PATIENCE_S);
	assert_in_range(ibv_wc_read_completion_wallclock_ns(ex) / 1000000000,
			(uint64_t)time(NULL) - 2 * LO_PATIENCE_S, (uint64_t)time(NULL) + 1);
	assert_int_equal(ibv_next_poll(ex), ENOENT);
	ibv_end_poll(ex);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(ex)), 0);

	attr.wc_flags = IBV_WC_EX_WITH_CVLAN;
	assert_null(ibv_create_cq_ex(p->lo.context, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
}

/* ---- events ---- */

static void channel__fd_is_the_programs(void **state)
{
	struct pair *p = *state;
	struct ibv_sge sge = sge_at(p, 0, 32);
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};
	struct ibv_send_wr *bad;
	struct pollfd fd = {.fd = p->lo.channel->fd, .events = POLLIN};
	struct ibv_cq *cq;
	void *context;

	assert_int_equal(poll(&fd, 1, 0), 0);
	fcntl(fd.fd, F_SETFL, fcntl(fd.fd, F_GETFL) | O_NONBLOCK);
	errno = 0;
	assert_int_equal(ibv_get_cq_event(p->lo.channel, &cq, &context), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(ibv_req_notify_cq(p->lo.cq, 0), 0);
	post_recv(p->b, 1, &sge);
	assert_int_equal(ibv_post_send(p->a, &wr, &bad), 0);
	/* Nobody polls: the progress thread brings the completion. */
	assert_int_equal(poll(&fd, 1, LO_PATIENCE_S * 1000), 1);
	assert_int_equal(poll(&fd, 1, 0), 1);
	assert_int_equal(ibv_get_cq_event(p->lo.channel, &cq, &context), 0);
	assert_ptr_equal(cq, p->lo.cq);
	assert_ptr_equal(context, &p->lo);
	assert_int_equal(poll(&fd, 1, 0), 0);
	ibv_ack_cq_events(cq, 1);
	assert_int_equal(ibv_destroy_comp_channel(p->lo.channel), EBUSY);
}

static void async__error_of_the_responder(void **state)
{
	struct pair *p = *state;
	struct ibv_sge sge = sge_at(p, 0, 32);
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = {.remote_addr = (uintptr_t)p->lo.mem, .rkey = p->lo.mr->lkey}};
	struct ibv_send_wr *bad;
	struct ibv_async_event event;
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;
	struct ibv_wc wc;

	fcntl(p->lo.context->async_fd, F_SETFL, O_NONBLOCK);
	assert_int_equal(ibv_get_async_event(p->lo.context, &event), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(ibv_post_send(p->a, &wr, &bad), 0);
	assert_true(lo_poll(&p->lo, &wc));
	assert_int_equal(wc.status, IBV_WC_REM_ACCESS_ERR);
	do {
		assert_int_equal(ibv_get_async_event(p->lo.context, &event), 0);
		assert_ptr_equal(event.element.qp, p->b);
		ibv_ack_async_event(&event);
	} while (event.event_type != IBV_EVENT_QP_ACCESS_ERR);
	assert_int_equal(ibv_query_qp(p->b, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_ERR);
	assert_string_equal(ibv_event_type_str(event.event_type),
			    "local access violation work queue error");
}

/* ---- arguments ---- */

static void queries__edges(void **state)
{
	struct pair *p = *state;
	struct ibv_context *context = p->lo.context;
	struct ibv_port_attr port;
	struct ibv_device_attr device;
	struct ibv_gid_entry entry;
	struct ibv_gid_entry table[8];
	union ibv_gid gid;
	__be16 pkey;

	assert_int_equal(ibv_query_device(context, &device), 0);
	assert_int_equal(device.max_pkeys, 1);
	assert_true(device.node_guid != 0); /* case_048 */
	assert_int_equal(ibv_query_port(context, 1, &port), 0);
	assert_int_equal(port.state, IBV_PORT_ACTIVE);
	assert_int_equal(port.active_mtu, IBV_MTU_4096);
	assert_int_equal(port.link_layer, IBV_LINK_LAYER_ETHERNET);
	assert_int_equal(port.flags & IBV_QPF_GRH_REQUIRED, IBV_QPF_GRH_REQUIRED);
	assert_int_equal(port.max_msg_sz, 1u << 31);
	assert_int_equal(ibv_query_port(context, 0, &port), EINVAL);
	assert_int_equal(ibv_query_port(context, 2, &port), EINVAL);

	assert_int_equal(ibv_query_gid(context, 1, 0, &gid), 0);
	assert_int_equal(gid.raw[12], 127);
	assert_int_equal(ibv_query_gid(context, 1, 100, &gid), 0); /* empty: zero, as ever */
	assert_int_equal(gid.global.interface_id, 0);
	assert_int_equal(ibv_query_gid(context, 1, 100000, &gid), -1);
	assert_int_equal(ibv_query_gid(context, 1, -1, &gid), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_query_gid(context, 2, 0, &gid), -1);
	assert_int_equal(ibv_query_gid_ex(context, 1, 0, &entry, 0), 0);
	assert_int_equal(entry.gid_type, IBV_GID_TYPE_ROCE_V2);
	assert_int_equal(entry.ndev_ifindex, 1);
	assert_int_equal(ibv_query_gid_ex(context, 1, 100, &entry, 0), ENODATA);
	assert_int_equal(ibv_query_gid_ex(context, 1, 0, &entry, 1), EOPNOTSUPP);
	assert_in_range(ibv_query_gid_table(context, table, 8, 0), 1, 2);
	assert_int_equal(table[0].gid.raw[12], 127);

	assert_int_equal(ibv_query_pkey(context, 1, 0, &pkey), 0);
	assert_int_equal(pkey, 0xffff);
	assert_int_equal(ibv_query_pkey(context, 1, 1, &pkey), -1);
	assert_int_equal(ibv_get_pkey_index(context, 1, pkey), 0);
	assert_int_equal(ibv_get_pkey_index(context, 1, 0x1234), -1);
}

static void create__refusals(void **state)
{
	struct pair *p = *state;
	struct ibv_context *context = p->lo.context;
	struct ibv_qp_init_attr attr = {.send_cq = p->lo.cq, .recv_cq = p->lo.cq};
	struct ibv_ah_attr ah_attr = lo_ah_attr(&p->lo);
	struct ibv_ah *ah;

#define GIVES_NULL(call, err)                 \
	do {                                  \
		errno = 0;                    \
		assert_null(call);            \
		assert_int_equal(errno, err); \
	} while (0)
	GIVES_NULL(ibv_create_cq(context, 0, NULL, NULL, 0), EINVAL);
	GIVES_NULL(ibv_create_cq(context, -1, NULL, NULL, 0), EINVAL);
	GIVES_NULL(ibv_create_cq(context, 1 << 23, NULL, NULL, 0), EINVAL);
	GIVES_NULL(ibv_create_cq(context, 1, NULL, NULL, context->num_comp_vectors), EINVAL);
	GIVES_NULL(ibv_create_cq(context, 1, NULL, NULL, -1), EINVAL);
	attr.qp_type = IBV_QPT_RAW_PACKET;
	GIVES_NULL(ibv_create_qp(p->lo.pd, &attr), EOPNOTSUPP);
	attr.qp_type = IBV_QPT_RC;
	attr.cap.max_send_wr = 1 << 20;
	GIVES_NULL(ibv_create_qp(p->lo.pd, &attr), EINVAL);
	GIVES_NULL(ibv_reg_mr(p->lo.pd, p->lo.mem, 64, IBV_ACCESS_REMOTE_WRITE), EINVAL);
	GIVES_NULL(ibv_reg_mr(p->lo.pd, NULL, 64, 0), EFAULT);
	ah_attr.is_global = 0;
	GIVES_NULL(ibv_create_ah(p->lo.pd, &ah_attr), EINVAL);
	ah_attr.is_global = 1;
	ah = ibv_create_ah(p->lo.pd, &ah_attr);
	assert_non_null(ah);
	assert_int_equal(ibv_dealloc_pd(p->lo.pd), EBUSY);
	assert_int_equal(ibv_destroy_cq(p->lo.cq), EBUSY);
	assert_int_equal(ibv_destroy_ah(ah), 0);
}

static void rereg_mr__styles(void **state)
{
	struct pair *p = *state;

	errno = 0;
	assert_int_equal(ibv_rereg_mr(p->lo.mr, 0, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_rereg_mr(p->lo.mr, IBV_REREG_MR_CHANGE_PD, NULL, NULL, 0, 0),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(
		ibv_rereg_mr(p->lo.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, p->lo.mem, 128, 0),
		0);
	assert_int_equal(p->lo.mr->length, 128);
}

static void advise_mr__case_044(void **state)
{
	struct pair *p = *state;
	struct ibv_mr *mr = ibv_reg_mr(p->lo.pd, p->lo.mem, 4096, IBV_ACCESS_ON_DEMAND);
	struct ibv_sge sge = {.addr = (uintptr_t)p->lo.mem, .length = 64};

	assert_non_null(mr);
	sge.lkey = mr->lkey;
	assert_int_equal(ibv_advise_mr(p->lo.pd, IBV_ADVISE_MR_ADVICE_PREFETCH,
				       IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1),
			 0);
	assert_int_equal(ibv_advise_mr(p->lo.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
				       IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1),
			 EPERM);
	sge.length = 5000;
	assert_int_equal(ibv_advise_mr(p->lo.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1),
			 EFAULT);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

/* Mappings are not split by registering. */
static void reg_mr__case_041(void **state)
{
	struct pair *p = *state;
	size_t bytes = (size_t)64 << 20;
	unsigned char *mem =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int lines[2];

	assert_ptr_not_equal(mem, MAP_FAILED);
	for (int round = 0; round < 2; round++) {
		FILE *maps = fopen("/proc/self/maps", "r");

		lines[round] = 0;
		for (int c = fgetc(maps); c != EOF; c = fgetc(maps))
			lines[round] += c == '\n';
		fclose(maps);
		for (size_t i = 0; round == 0 && i < 100000; i++) {
			size_t at = i * 4099 % (bytes / 2);
			struct ibv_mr *mr = ibv_reg_mr(p->lo.pd, mem + at, 1 + i % 30000,
						       IBV_ACCESS_LOCAL_WRITE);

			assert_non_null(mr);
			assert_int_equal(ibv_dereg_mr(mr), 0);
		}
	}
	assert_in_range(lines[1], 1, lines[0] + 10);
	munmap(mem, bytes);
}

/* ---- fork ---- */

/* Every call on an object of the parent's is refused; the number of the first that is not. */
static int call_everything(struct pair *p)
{
	struct ibv_context *context = p->lo.context;
	struct ibv_qp_init_attr init = {.send_cq = p->lo.cq, .recv_cq = p->lo.cq};
	struct ibv_srq_init_attr srq_init = {.attr = {.max_wr = 1}};
	struct ibv_modify_cq_attr moderate = {.attr_mask = IBV_CQ_ATTR_MODERATE};
	struct ibv_qp_rate_limit_attr rate = {.rate_limit = 1};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	struct ibv_ah_attr ah_attr = {.is_global = 1, .port_num = 1};
	struct ibv_recv_wr recv = {0};
	struct ibv_recv_wr *bad;
	struct ibv_async_event event;
	struct ibv_cq *cq;
	void *own;
	const bool is_refused[] = {
		ibv_create_cq(context, 1, NULL, NULL, 0) == NULL,
		ibv_create_comp_channel(context) == NULL,
		ibv_resize_cq(p->lo.cq, 200) != 0,
		ibv_modify_cq(p->lo.cq, &moderate) != 0,
		ibv_req_notify_cq(p->lo.cq, 0) != 0,
		ibv_get_cq_event(p->lo.channel, &cq, &own) != 0,
		ibv_get_async_event(context, &event) != 0,
		ibv_reg_mr(p->lo.pd, p->lo.mem, 8, 0) == NULL,
		ibv_alloc_null_mr(p->lo.pd) == NULL,
		ibv_rereg_mr(p->lo.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0) != 0,
		ibv_alloc_mw(p->lo.pd, IBV_MW_TYPE_1) == NULL,
		ibv_create_ah(p->lo.pd, &ah_attr) == NULL,
		ibv_create_srq(p->lo.pd, &srq_init) == NULL,
		ibv_create_qp(p->lo.pd, &init) == NULL,
		ibv_modify_qp(p->a, &attr, IBV_QP_STATE) != 0,
		ibv_modify_qp_rate_limit(p->a, &rate) != 0,
		ibv_query_qp(p->a, &attr, IBV_QP_STATE, &init) != 0,
		ibv_post_recv(p->a, &recv, &bad) != 0,
		ibv_dereg_mr(p->lo.mr) != 0,
		ibv_destroy_cq(p->lo.cq) != 0,
		ibv_destroy_comp_channel(p->lo.channel) != 0,
		ibv_dealloc_pd(p->lo.pd) != 0,
	};

	for (int i = 0; i < (int)(sizeof(is_refused) / sizeof(is_refused[0])); i++)
		if (!is_refused[i])
			return 100 + i;
	return 0;
}

/* The parent's objects answer with an error in a child, which can open the device anew. */
static int run_child(struct pair *p)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND};
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	struct lo_device own;
	struct ibv_qp *qp;

	if (ibv_poll_cq(p->lo.cq, 1, &wc) >= 0)
		return 1;
	if (ibv_post_send(p->a, &wr, &bad) == 0 || bad != &wr)
		return 2;
	if (ibv_alloc_pd(p->lo.context) || ibv_destroy_qp(p->a) == 0)
		return 3;
	if (call_everything(p))
		return call_everything(p);
	if (ibv_close_device(p->lo.context) != 0)
		return 4;
	lo_open(&own);
	qp = lo_make_qp(&own);
	return qp && ibv_destroy_qp(qp) == 0 ? 0 : 5;
}

static void fork__child_is_refused_and_parent_goes_on(void **state)
{
	struct pair *p = *state;
	struct ibv_sge sge = sge_at(p, 0, 32);
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(run_child(p));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	post_recv(p->b, 1, &sge);
	assert_int_equal(ibv_post_send(p->a, &wr, &bad), 0);
	for (int i = 0; i < 2; i++) {
		assert_true(lo_poll(&p->lo, &wc));
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(post_send__list_stops_at_the_bad_one),
		TEST(post_send__refusals),
		TEST(post_send__full_queue_is_enomem),
		TEST(qp_ex__builds_and_aborts),
		TEST(cq_ex__reads_every_field),
		TEST(channel__fd_is_the_programs),
		TEST(async__error_of_the_responder),
		TEST(queries__edges),
		TEST(create__refusals),
		TEST(rereg_mr__styles),
		TEST(advise_mr__case_044),
		TEST(reg_mr__case_041),
		TEST(fork__child_is_refused_and_parent_goes_on),
	};

	setenv("UROCE_DEBUG", "1", 1); /* refusals are read */
	lo_enter_namespace();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
