/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One counter for many: the server lends eight bytes to some clients, which add to it at the same
 * time by FETCH_ADD, each addition one request on the wire and no work for the server. What a
 * client gets back is the value before its addition, so each ticket is drawn once.
 *
 *     cc atomic_counter.c -o atomic_counter -lrdmacm -libverbs
 *     atomic_counter ADDRESS CLIENTS            # server, ends when so many have come and gone
 *     atomic_counter ADDRESS client             # in several terminals
 *
 * To see: the adapter's atomics are atomic among themselves. A processor that changes the same
 * bytes takes no part in that unless the device says IBV_ATOMIC_GLOB.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <rdma/rdma_verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORT	    "18517"
#define ADDITIONS   1000u
#define CLIENTS_MAX 64

struct lent { /* in network order */
	uint64_t address;
	uint32_t rkey;
};

static void need(int is_right, const char *what)
{
	if (is_right)
		return;
	perror(what);
	exit(2);
}

static struct rdma_cm_id *make_id(const char *address, int flags)
{
	struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP, .ai_flags = flags}, *info;
	struct ibv_qp_init_attr attr = {
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	struct rdma_cm_id *id;

	need(rdma_getaddrinfo(address, PORT, &hints, &info) == 0, "rdma_getaddrinfo");
	need(rdma_create_ep(&id, info, NULL, &attr) == 0, "rdma_create_ep");
	rdma_freeaddrinfo(info);
	return id;
}

static void expect(int count, const struct ibv_wc *wc)
{
	need(count == 1, "waiting for a completion");
	if (wc->status == IBV_WC_SUCCESS)
		return;
	fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc->status));
	exit(1);
}

static int serve(const char *address, int clients)
{
	static uint64_t counter __attribute__((aligned(8))); /* atomics need that */
	struct rdma_cm_id *listener = make_id(address, RAI_PASSIVE), *ids[CLIENTS_MAX];
	struct ibv_mr *mr = NULL;
	struct ibv_wc wc;
	int is_right;

	need(rdma_listen(listener, clients) == 0, "rdma_listen");
	for (int i = 0; i < clients; i++) {
		struct lent lent;

		need(rdma_get_request(listener, &ids[i]) == 0, "rdma_get_request");
		if (!mr) /* all connections of a device share its protection domain here */
			mr = ibv_reg_mr(ids[i]->pd, &counter, sizeof(counter),
					IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
		need(mr && mr->pd == ids[i]->pd, "ibv_reg_mr");
		need(rdma_post_recvv(ids[i], NULL, NULL, 0) == 0, "rdma_post_recvv");
		lent = (struct lent){htobe64((uintptr_t)&counter), htonl(mr->rkey)};
		need(rdma_accept(ids[i], &(struct rdma_conn_param){.private_data = &lent,
								   .private_data_len = sizeof(lent),
								   .responder_resources = 1,
								   .rnr_retry_count = 7}) == 0,
		     "rdma_accept");
	}
	for (int i = 0; i < clients; i++) { /* an empty message is a client's goodbye */
		int count = rdma_get_recv_comp(ids[i], &wc);

		expect(count, &wc);
	}
	is_right = counter == (uint64_t)clients * ADDITIONS;
	printf("%d clients, the counter is %lu: %s\n", clients, (unsigned long)counter,
	       is_right ? "right" : "wrong");
	for (int i = 0; i < clients; i++)
		rdma_disconnect(ids[i]);
	ibv_dereg_mr(mr);
	for (int i = 0; i < clients; i++)
		rdma_destroy_ep(ids[i]);
	rdma_destroy_ep(listener);
	return !is_right;
}

/* One more; the value before. */
static uint64_t draw_ticket(struct rdma_cm_id *id, const struct lent *to, uint64_t *result,
			    const struct ibv_mr *mr)
{
	struct ibv_sge sge = {(uintptr_t)result, sizeof(*result), mr->lkey};
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		.wr.atomic = {.remote_addr = be64toh(to->address),
			      .rkey = ntohl(to->rkey),
			      .compare_add = 1},
	};
	struct ibv_wc wc;
	int count;

	need(ibv_post_send(id->qp, &wr, &(struct ibv_send_wr *){0}) == 0, "ibv_post_send");
	count = rdma_get_send_comp(id, &wc);
	expect(count, &wc);
	return *result; /* in this machine's byte order */
}

static int draw_all(const char *address)
{
	struct rdma_cm_id *id = make_id(address, 0);
	struct rdma_conn_param param = {
		.initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7};
	uint64_t result, first = 0, before = 0;
	uint32_t wrong = 0, shared = 0;
	struct ibv_mr *mr = ibv_reg_mr(id->pd, &result, sizeof(result), IBV_ACCESS_LOCAL_WRITE);
	struct ibv_wc wc;
	struct lent lent;
	int count;

	need(mr != NULL, "ibv_reg_mr");
	need(rdma_connect(id, &param) == 0, "rdma_connect");
	need(id->event->param.conn.private_data_len >= sizeof(lent), "private data");
	memcpy(&lent, id->event->param.conn.private_data, sizeof(lent));
	for (uint32_t i = 0; i < ADDITIONS; i++) {
		uint64_t ticket = draw_ticket(id, &lent, &result, mr);

		if (i == 0)
			first = ticket;
		else if (ticket <= before)
			wrong++; /* a ticket that we have, or one of the past */
		else
			shared += ticket != before + 1; /* somebody else came between */
		before = ticket;
	}
	printf("%u tickets, %lu to %lu; others came between %u times; %u wrong\n", ADDITIONS,
	       (unsigned long)first, (unsigned long)before, shared, wrong);
	need(rdma_post_sendv(id, NULL, NULL, 0, 0) == 0, "rdma_post_sendv");
	count = rdma_get_send_comp(id, &wc);
	expect(count, &wc);
	rdma_disconnect(id);
	ibv_dereg_mr(mr);
	rdma_destroy_ep(id);
	return wrong != 0;
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: atomic_counter ADDRESS CLIENTS|client\n");
		return 2;
	}
	if (strcmp(argv[2], "client") == 0)
		return draw_all(argv[1]);
	if (atoi(argv[2]) < 1 || atoi(argv[2]) > CLIENTS_MAX) {
		fprintf(stderr, "atomic_counter: 1 to %d clients\n", CLIENTS_MAX);
		return 2;
	}
	return serve(argv[1], atoi(argv[2]));
}
