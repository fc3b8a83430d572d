/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writing into a peer's memory, and telling it: the server lends the client a region (its address
 * and rkey travel in the connection's private data); the client fills it by RDMA WRITEs, of which
 * the last one carries an immediate. Only that one costs the server a receive and a completion, and
 * when it comes all writes before it are in place.
 *
 *     cc rc_write_imm.c -o rc_write_imm -lrdmacm -libverbs
 *     rc_write_imm ADDRESS              # server, listens there
 *     rc_write_imm ADDRESS client
 *
 * To see: the rkey is the whole permission, so it is given to whom one trusts, with the rights that
 * are needed and no more. Bytes of a WRITE must not be looked at before a completion says that they
 * are there: the last byte is no sign that the others came.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <rdma/rdma_verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORT	     "18516"
#define BLOCK_BYTES  65536u
#define BLOCKS	     16u
#define REGION_BYTES (BLOCK_BYTES * BLOCKS)

struct lent { /* in network order */
	uint64_t address;
	uint32_t rkey;
	uint32_t bytes;
};

static void need(int is_right, const char *what)
{
	if (is_right)
		return;
	perror(what);
	exit(2);
}

static uint8_t expected_byte(uint32_t at)
{
	return (uint8_t)(at * 7 + at / BLOCK_BYTES);
}

static struct rdma_cm_id *make_id(const char *address, int flags)
{
	struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP, .ai_flags = flags}, *info;
	struct ibv_qp_init_attr attr = {
		.cap = {.max_send_wr = BLOCKS,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};
	struct rdma_cm_id *id;

	need(rdma_getaddrinfo(address, PORT, &hints, &info) == 0, "rdma_getaddrinfo");
	need(rdma_create_ep(&id, info, NULL, &attr) == 0, "rdma_create_ep");
	rdma_freeaddrinfo(info);
	return id;
}

static void check_success(const struct ibv_wc *wc)
{
	if (wc->status == IBV_WC_SUCCESS)
		return;
	fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc->status));
	exit(1);
}

static int serve(const char *address)
{
	struct rdma_cm_id *listener = make_id(address, RAI_PASSIVE);
	uint8_t *region = calloc(1, REGION_BYTES);
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	struct ibv_wc wc;
	struct lent lent;
	uint32_t wrong = 0;

	need(region && rdma_listen(listener, 1) == 0, "rdma_listen");
	need(rdma_get_request(listener, &id) == 0, "rdma_get_request");
	mr = ibv_reg_mr(id->pd, region, REGION_BYTES,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	need(mr != NULL, "ibv_reg_mr");
	/* The immediate needs a receive; it brings no bytes, so there is no buffer. */
	need(ibv_post_recv(id->qp, &(struct ibv_recv_wr){.wr_id = 1}, &(struct ibv_recv_wr *){0}) ==
		     0,
	     "ibv_post_recv");
	lent = (struct lent){htobe64((uintptr_t)region), htonl(mr->rkey), htonl(REGION_BYTES)};
	need(rdma_accept(id, &(struct rdma_conn_param){.private_data = &lent,
						       .private_data_len = sizeof(lent),
						       .rnr_retry_count = 7}) == 0,
	     "rdma_accept");

	need(rdma_get_recv_comp(id, &wc) == 1, "rdma_get_recv_comp");
	check_success(&wc);
	for (uint32_t i = 0; i < REGION_BYTES; i++)
		wrong += region[i] != expected_byte(i);
	printf("the client says %u blocks; %u of %u bytes are wrong\n", ntohl(wc.imm_data), wrong,
	       REGION_BYTES);
	rdma_disconnect(id);
	ibv_dereg_mr(mr);
	rdma_destroy_ep(id);
	rdma_destroy_ep(listener);
	free(region);
	return wrong != 0;
}

static void post_block(struct rdma_cm_id *id, const uint8_t *data, const struct ibv_mr *mr,
		       const struct lent *to, uint32_t block)
{
	int is_last = block == BLOCKS - 1;
	struct ibv_sge sge = {(uintptr_t)data + block * BLOCK_BYTES, BLOCK_BYTES, mr->lkey};
	struct ibv_send_wr wr = {
		.wr_id = block,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = is_last ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE,
		.send_flags = is_last ? IBV_SEND_SIGNALED : 0, /* it speaks for all before */
		.imm_data = htonl(BLOCKS),
		.wr.rdma = {.remote_addr = be64toh(to->address) + block * BLOCK_BYTES,
			    .rkey = ntohl(to->rkey)},
	};

	need(ibv_post_send(id->qp, &wr, &(struct ibv_send_wr *){0}) == 0, "ibv_post_send");
}

static int write_all(const char *address)
{
	struct rdma_cm_id *id = make_id(address, 0);
	uint8_t *data = malloc(REGION_BYTES);
	struct ibv_mr *mr;
	struct ibv_wc wc;
	struct lent lent;

	need(data != NULL, "malloc");
	for (uint32_t i = 0; i < REGION_BYTES; i++)
		data[i] = expected_byte(i);
	mr = ibv_reg_mr(id->pd, data, REGION_BYTES, 0); /* it is only read, and only by us */
	need(mr != NULL, "ibv_reg_mr");
	need(rdma_connect(id, &(struct rdma_conn_param){.retry_count = 7, .rnr_retry_count = 7}) ==
		     0,
	     "rdma_connect");
	need(id->event->param.conn.private_data_len >= sizeof(lent), "private data");
	memcpy(&lent, id->event->param.conn.private_data, sizeof(lent));
	need(ntohl(lent.bytes) >= REGION_BYTES, "the server's region is smaller");

	for (uint32_t block = 0; block < BLOCKS; block++)
		post_block(id, data, mr, &lent, block);
	need(rdma_get_send_comp(id, &wc) == 1, "rdma_get_send_comp");
	check_success(&wc);
	printf("wrote %u blocks of %u bytes\n", BLOCKS, BLOCK_BYTES);
	rdma_disconnect(id);
	ibv_dereg_mr(mr);
	rdma_destroy_ep(id);
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: rc_write_imm ADDRESS [client]\n");
		return 2;
	}
	return argc > 2 ? write_all(argv[1]) : serve(argv[1]);
}
