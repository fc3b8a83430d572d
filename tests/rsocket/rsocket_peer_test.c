/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An rsocket and a peer that is none: it connects by the connection manager with connection data of
 * its own making, and writes what it likes.
 */
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "rsocket/wire.h"
#include "sockets.h"

struct stranger {
	struct rdma_cm_id *id;
	struct ibv_mr *mr;		  /* of `list` */
	uint8_t list[64];		  /* the rsocket publishes halves of its ring here */
	struct roce_rs_connect_data peer; /* what the rsocket told */
	int listener;
	int fd; /* the rsocket's end */
};

static int connect_stranger(struct stranger *s, uint8_t version)
{
	struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP}, *res;
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = {.max_send_wr = 64,
			.max_recv_wr = 64,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = 64},
	};
	struct roce_rs_connect_data own = {
		.version = version, .credits = 16, .list = {.length = ROCE_RS_LIST_LENGTH}};
	struct ibv_recv_wr *bad, receive = {.num_sge = 0};
	uint8_t data[ROCE_RS_CONNECT_BYTES];
	struct rdma_conn_param param = {.private_data = data,
					.private_data_len = sizeof(data),
					.retry_count = 7,
					.rnr_retry_count = 7};
	uint16_t port = next_port();
	char text[8];
	int result;

	snprintf(text, sizeof(text), "%u", port);
	s->listener = listen_at(port, 0);
	s->fd = -1;
	assert_int_equal(rdma_getaddrinfo("127.0.0.1", text, &hints, &res), 0);
	assert_int_equal(rdma_create_ep(&s->id, res, NULL, &attr), 0);
	rdma_freeaddrinfo(res);
	s->mr = ibv_reg_mr(s->id->pd, s->list, sizeof(s->list),
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	assert_non_null(s->mr);
	for (int i = 0; i < 16; i++)
		assert_int_equal(ibv_post_recv(s->id->qp, &receive, &bad), 0);
	own.list.address = (uintptr_t)s->list;
	own.list.rkey = s->mr->rkey;
	roce_rs_connect_encode(&own, data);
	result = rdma_connect(s->id, &param) ? errno : 0;
	if (result)
		return result;
	roce_rs_connect_decode(s->id->event->param.conn.private_data, &s->peer);
	s->fd = raccept(s->listener, NULL, NULL);
	assert_true(s->fd >= 0);
	return 0;
}

static void say_goodbye(struct stranger *s)
{
	ibv_dereg_mr(s->mr);
	rdma_destroy_ep(s->id);
	if (s->fd >= 0)
		assert_int_equal(rclose(s->fd), 0);
	assert_int_equal(rclose(s->listener), 0);
}

/* A message as its immediate data, with bytes for the beginning of the ring. */
static void write_message(struct stranger *s, const char *bytes, uint32_t imm)
{
	struct ibv_sge sge = {.addr = (uintptr_t)bytes, .length = (uint32_t)strlen(bytes)};
	struct ibv_send_wr *bad,
		wr = {
			.sg_list = &sge,
			.num_sge = sge.length ? 1 : 0,
			.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
			.send_flags = IBV_SEND_INLINE,
			.imm_data = htonl(imm),
			.wr.rdma = {.remote_addr = s->peer.ring.address, .rkey = s->peer.ring.rkey},
		};

	assert_int_equal(ibv_post_send(s->id->qp, &wr, &bad), 0);
}

static void message__of_no_bytes_is_no_end(void **state)
{
	struct stranger s;
	char buffer[8];

	(void)state;
	assert_int_equal(connect_stranger(&s, ROCE_RS_VERSION), 0);
	write_message(&s, "", roce_rs_imm(ROCE_RS_OP_DATA, 0));
	for (int i = 0; i < 100; i++) {
		assert_int_equal(rrecv(s.fd, buffer, sizeof(buffer), MSG_DONTWAIT), -1);
		assert_int_equal(errno, EAGAIN);
		usleep(500);
	}
	write_message(&s, "data", roce_rs_imm(ROCE_RS_OP_DATA, 4));
	assert_int_equal(rrecv(s.fd, buffer, sizeof(buffer), 0), 4);
	assert_memory_equal(buffer, "data", 4);
	say_goodbye(&s);
}

/* More than the ring holds cannot be: the rest of the stream is not to be trusted. */
static void message__larger_than_the_ring(void **state)
{
	struct stranger s;
	char buffer[8];
	int error = 0;
	socklen_t length = sizeof(error);

	(void)state;
	assert_int_equal(connect_stranger(&s, ROCE_RS_VERSION), 0);
	write_message(&s, "", roce_rs_imm(ROCE_RS_OP_DATA, ROCE_RS_VALUE_MASK));
	assert_int_equal(rrecv(s.fd, buffer, sizeof(buffer), 0), 0);
	assert_int_equal(rgetsockopt(s.fd, SOL_SOCKET, SO_ERROR, &error, &length), 0);
	assert_int_equal(error, EPROTO);
	assert_int_equal(rsend(s.fd, "x", 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	say_goodbye(&s);
}

/* Operations that say nothing to us. */
static void message__without_a_meaning(void **state)
{
	struct stranger s;
	char buffer[8];

	(void)state;
	assert_int_equal(connect_stranger(&s, ROCE_RS_VERSION), 0);
	write_message(&s, "", roce_rs_imm(ROCE_RS_OP_WRITE, 1));
	write_message(&s, "", roce_rs_imm(ROCE_RS_OP_MAPPING, 60000));
	write_message(&s, "", roce_rs_imm(ROCE_RS_OP_CONTROL, 99));
	write_message(&s, "still", roce_rs_imm(ROCE_RS_OP_DATA, 5));
	assert_int_equal(rrecv(s.fd, buffer, sizeof(buffer), 0), 5);
	assert_memory_equal(buffer, "still", 5);
	say_goodbye(&s);
}

static void connect__other_version_is_refused(void **state)
{
	struct stranger s;

	(void)state;
	assert_int_equal(connect_stranger(&s, ROCE_RS_VERSION + 1), ECONNREFUSED);
	say_goodbye(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(message__of_no_bytes_is_no_end),
		cmocka_unit_test(message__larger_than_the_ring),
		cmocka_unit_test(message__without_a_meaning),
		cmocka_unit_test(connect__other_version_is_refused),
	};

	enter_namespace();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
