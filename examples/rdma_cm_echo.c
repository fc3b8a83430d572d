/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A server that serves many, with the events of rdma_cm: connections come, go and fail while others
 * are being served, all in one thread that sleeps until there is something to do. What a client
 * sends comes back.
 *
 *     cc rdma_cm_echo.c -o rdma_cm_echo -lrdmacm -libverbs
 *     rdma_cm_echo ADDRESS CLIENTS              # server, ends when so many have come and gone
 *     rdma_cm_echo ADDRESS TEXT...              # client: each word is a message
 *
 * To see: the order in which a completion channel is used (arm, then poll once more, then sleep),
 * or a completion that comes in between is slept over; the next receive is there before the answer
 * makes the client send again; a queue pair is destroyed when its DISCONNECTED event was there, and
 * its id after the event was acknowledged.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORT		"18518"
#define BYTES		256u
#define CLIENTS_AT_ONCE 64
#define CQ_DEPTH	(2 * CLIENTS_AT_ONCE)

struct client {
	struct rdma_cm_id *id;
	struct ibv_mr *mr; /* of this struct */
	int is_sending;
	int is_leaving;
	uint32_t waiting_bytes; /* received, and not yet sent back */
	char in[BYTES];
	char out[BYTES];
};

/* All clients of a device share these; made with the first one. */
static struct ibv_comp_channel *channel;
static struct ibv_cq *cq;
static int here, gone, echoed;

static void need(int is_right, const char *what)
{
	if (is_right)
		return;
	perror(what);
	exit(2);
}

static struct ibv_qp_init_attr qp_attr(void)
{
	return (struct ibv_qp_init_attr){
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.sq_sig_all = 1,
	};
}

/* ---- the server ---- */

static void make_shared_objects(struct ibv_context *device)
{
	channel = ibv_create_comp_channel(device);
	need(channel != NULL, "ibv_create_comp_channel");
	need(fcntl(channel->fd, F_SETFL, O_NONBLOCK) == 0, "fcntl");
	cq = ibv_create_cq(device, CQ_DEPTH, NULL, channel, 0);
	need(cq && ibv_req_notify_cq(cq, 0) == 0, "ibv_create_cq");
}

/* A request for a connection: its receive is posted before the client can send. */
static void on_request(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = {.rnr_retry_count = 7};
	struct ibv_qp_init_attr attr;
	struct client *c;

	if (here == CLIENTS_AT_ONCE) { /* no place in the CQ: the client is told so */
		rdma_reject(id, NULL, 0);
		rdma_destroy_id(id);
		return;
	}
	if (!cq)
		make_shared_objects(id->verbs);
	attr = qp_attr();
	c = calloc(1, sizeof(*c));
	need(c != NULL, "calloc");
	need(rdma_create_qp(id, NULL, &attr) == 0, "rdma_create_qp");
	c->id = id;
	c->mr = rdma_reg_msgs(id, c, sizeof(*c));
	need(c->mr != NULL, "rdma_reg_msgs");
	id->context = c;
	need(rdma_post_recv(id, c, c->in, BYTES, c->mr) == 0, "rdma_post_recv");
	need(rdma_accept(id, &param) == 0, "rdma_accept");
	here++;
}

/* Sends back what waits, when what was sent before has arrived. The next receive comes first: the
 * client may send as soon as it has the answer, and a message without a receive costs a pause. */
static void echo(struct client *c)
{
	uint32_t bytes = c->waiting_bytes;

	if (c->is_sending || bytes == 0)
		return;
	memcpy(c->out, c->in, bytes);
	c->waiting_bytes = 0;
	c->is_sending = 1;
	need(rdma_post_recv(c->id, c, c->in, BYTES, c->mr) == 0, "rdma_post_recv");
	need(rdma_post_send(c->id, c, c->out, bytes, c->mr, 0) == 0, "rdma_post_send");
	echoed++; /* not with its completion: a client that has it may leave before that is here */
}

static void on_completion(const struct ibv_wc *wc)
{
	struct client *c = (struct client *)(uintptr_t)wc->wr_id;

	if (wc->status != IBV_WC_SUCCESS || c->is_leaving)
		return; /* what was posted when the client left; its event tells */
	if (wc->opcode == IBV_WC_RECV) {
		c->waiting_bytes = wc->byte_len;
	} else {
		c->is_sending = 0;
	}
	echo(c);
}

static void drain_cq(void)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(cq, 1, &wc) > 0)
		on_completion(&wc);
}

static void on_completion_event(void)
{
	struct ibv_cq *which;
	void *context;

	if (ibv_get_cq_event(channel, &which, &context) != 0)
		return;
	ibv_ack_cq_events(which, 1);
	need(ibv_req_notify_cq(which, 0) == 0, "ibv_req_notify_cq");
	drain_cq(); /* after arming: what came before it makes no event */
}

/* Its flushed requests are taken out of the CQ before their client is freed. */
static void forget(struct rdma_cm_id *id)
{
	struct client *c = id->context;

	if (c) {
		c->is_leaving = 1; /* a message that came before it went has no answer any more */
		rdma_destroy_qp(id);
		drain_cq();
		ibv_dereg_mr(c->mr);
		free(c);
		here--;
		gone++;
	}
	rdma_destroy_id(id);
}

static void on_cm_event(struct rdma_event_channel *events)
{
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;
	struct rdma_cm_id *id;

	need(rdma_get_cm_event(events, &event) == 0, "rdma_get_cm_event");
	type = event->event;
	id = event->id;
	rdma_ack_cm_event(event); /* first: destroying an id waits for that */
	switch ((int)type) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		on_request(id);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		rdma_disconnect(id);
		forget(id);
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR: /* it left before it was connected */
	case RDMA_CM_EVENT_UNREACHABLE:
		forget(id);
		break;
	default: /* ESTABLISHED, TIMEWAIT_EXIT: nothing to do */
		break;
	}
}

static int serve(struct rdma_addrinfo *info, int clients)
{
	struct rdma_event_channel *events = rdma_create_event_channel();
	struct rdma_cm_id *listener;

	need(events != NULL, "rdma_create_event_channel");
	need(rdma_create_id(events, &listener, NULL, RDMA_PS_TCP) == 0, "rdma_create_id");
	need(rdma_bind_addr(listener, info->ai_src_addr) == 0, "rdma_bind_addr");
	need(rdma_listen(listener, CLIENTS_AT_ONCE) == 0, "rdma_listen");
	while (gone < clients) {
		struct pollfd fds[2] = {{.fd = events->fd, .events = POLLIN},
					{.fd = channel ? channel->fd : -1, .events = POLLIN}};

		need(poll(fds, 2, -1) > 0 || errno == EINTR, "poll");
		if (fds[1].revents)
			on_completion_event();
		if (fds[0].revents)
			on_cm_event(events);
	}
	printf("%d clients, %d messages echoed\n", gone, echoed);
	rdma_destroy_id(listener);
	rdma_destroy_event_channel(events);
	return 0;
}

/* ---- the client: an id without a channel waits by itself ---- */

static void expect(int count, const struct ibv_wc *wc)
{
	need(count == 1, "waiting for a completion");
	if (wc->status == IBV_WC_SUCCESS)
		return;
	fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc->status));
	exit(1);
}

static int talk(struct rdma_addrinfo *info, char **words)
{
	struct rdma_conn_param param = {.retry_count = 7, .rnr_retry_count = 7};
	struct ibv_qp_init_attr attr = qp_attr();
	char sent[BYTES], received[BYTES];
	struct ibv_mr *sent_mr, *received_mr;
	struct rdma_cm_id *id;
	struct ibv_wc wc;

	need(rdma_create_ep(&id, info, NULL, &attr) == 0, "rdma_create_ep");
	sent_mr = rdma_reg_msgs(id, sent, sizeof(sent));
	received_mr = rdma_reg_msgs(id, received, sizeof(received));
	need(sent_mr && received_mr, "rdma_reg_msgs");
	need(rdma_connect(id, &param) == 0, "rdma_connect");
	for (; *words; words++) {
		int bytes = snprintf(sent, sizeof(sent), "%s", *words) + 1;

		if (bytes > (int)sizeof(sent))
			bytes = sizeof(sent);
		need(rdma_post_recv(id, NULL, received, BYTES, received_mr) == 0, "rdma_post_recv");
		need(rdma_post_send(id, NULL, sent, (size_t)bytes, sent_mr, 0) == 0,
		     "rdma_post_send");
		expect(rdma_get_send_comp(id, &wc), &wc);
		expect(rdma_get_recv_comp(id, &wc), &wc);
		if (wc.byte_len != (uint32_t)bytes || strcmp(sent, received) != 0) {
			fprintf(stderr, "sent \"%s\", received \"%s\"\n", sent, received);
			return 1;
		}
		printf("%s\n", received);
	}
	rdma_disconnect(id);
	ibv_dereg_mr(sent_mr);
	ibv_dereg_mr(received_mr);
	rdma_destroy_ep(id);
	return 0;
}

int main(int argc, char **argv)
{
	int is_server = argc == 3 && isdigit((unsigned char)argv[2][0]);
	struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP,
				      .ai_flags = is_server ? RAI_PASSIVE : 0};
	struct rdma_addrinfo *info;
	int status;

	if (argc < 3) {
		fprintf(stderr, "usage: rdma_cm_echo ADDRESS CLIENTS|TEXT...\n");
		return 2;
	}
	need(rdma_getaddrinfo(argv[1], PORT, &hints, &info) == 0, "rdma_getaddrinfo");
	status = is_server ? serve(info, atoi(argv[2])) : talk(info, argv + 2);
	rdma_freeaddrinfo(info);
	return status;
}
