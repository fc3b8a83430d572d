/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How two queue pairs meet, with verbs alone: each side tells the other its queue pair's number,
 * its first packet number and its address over a TCP socket, and takes the queue pair through INIT,
 * RTR and RTS with them. The client then sends lines, and the server answers each in capitals.
 *
 *     cc rc_send_recv.c -o rc_send_recv -libverbs
 *     rc_send_recv DEVICE GID_INDEX            # server
 *     rc_send_recv DEVICE GID_INDEX HOST       # client
 *
 * To see: a receive must be there before the message comes, so each side posts it before it lets
 * the other one send. A completion of a send says that the peer has the message, not that it has
 * read it; and the answer may come before the completion of the message that it answers.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PORT	 "18515"
#define MESSAGES 10
#define BYTES	 256
#define RECEIVE	 1u /* wr_id: tells completions apart */
#define SEND	 2u

struct end { /* what a side must know of the other; numbers in network order */
	uint32_t qpn;
	uint32_t psn;
	union ibv_gid gid;
};

static char in[BYTES], out[BYTES]; /* received, sent; one region each */
static struct ibv_mr *in_mr, *out_mr;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;

static void need(int is_right, const char *what)
{
	if (is_right)
		return;
	perror(what);
	exit(2);
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	for (int i = 0; list && list[i]; i++) {
		if (strcmp(ibv_get_device_name(list[i]), name) == 0)
			context = ibv_open_device(list[i]);
	}
	need(context != NULL, name);
	ibv_free_device_list(list);
	return context;
}

static void make_objects(struct ibv_context *context)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.sq_sig_all = 1,
	};

	pd = ibv_alloc_pd(context);
	need(pd != NULL, "ibv_alloc_pd");
	in_mr = ibv_reg_mr(pd, in, sizeof(in), IBV_ACCESS_LOCAL_WRITE);
	out_mr = ibv_reg_mr(pd, out, sizeof(out), 0);
	cq = ibv_create_cq(context, 2, NULL, NULL, 0);
	need(in_mr && out_mr && cq, "ibv_reg_mr, ibv_create_cq");
	attr.send_cq = attr.recv_cq = cq;
	qp = ibv_create_qp(pd, &attr);
	need(qp != NULL, "ibv_create_qp");
}

/* One connection for both roles: to the host, or from the first one that comes. */
static int connect_tcp(const char *host)
{
	struct addrinfo hints = {.ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM};
	struct addrinfo *to;
	int listener, one = 1, fd;

	need(getaddrinfo(host ? host : "0.0.0.0", PORT, &hints, &to) == 0, "getaddrinfo");
	fd = socket(to->ai_family, to->ai_socktype, 0);
	if (host) {
		need(connect(fd, to->ai_addr, to->ai_addrlen) == 0, host);
	} else {
		listener = fd;
		setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		need(bind(listener, to->ai_addr, to->ai_addrlen) == 0, "bind");
		need(listen(listener, 1) == 0, "listen");
		fd = accept(listener, NULL, NULL);
		need(fd >= 0, "accept");
		close(listener);
	}
	freeaddrinfo(to);
	return fd;
}

/* Both write first and read then; also a barrier. */
static void exchange(int fd, const void *mine, void *theirs, size_t bytes)
{
	need(write(fd, mine, bytes) == (ssize_t)bytes, "write");
	need(recv(fd, theirs, bytes, MSG_WAITALL) == (ssize_t)bytes, "the peer has left");
}

static void bring_up(uint8_t gid_index, const struct end *mine, const struct end *theirs)
{
	struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	struct ibv_qp_attr rtr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = ntohl(theirs->qpn),
		.rq_psn = ntohl(theirs->psn),
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12, /* 0.64 ms until a sender without a receive tries again */
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.dgid = theirs->gid, .sgid_index = gid_index, .hop_limit = 64}},
	};
	struct ibv_qp_attr rts = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = ntohl(mine->psn),
		.timeout = 14, /* 67 ms until a packet is sent again */
		.retry_cnt = 7,
		.rnr_retry = 7, /* for ever */
		.max_rd_atomic = 1,
	};

	need(ibv_modify_qp(qp, &init,
			   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) ==
		     0,
	     "INIT");
	need(ibv_modify_qp(qp, &rtr,
			   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				   IBV_QP_MIN_RNR_TIMER) == 0,
	     "RTR");
	need(ibv_modify_qp(qp, &rts,
			   IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				   IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0,
	     "RTS");
}

static void post_receive(void)
{
	struct ibv_sge sge = {(uintptr_t)in, sizeof(in), in_mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = RECEIVE, .sg_list = &sge, .num_sge = 1}, *bad;

	need(ibv_post_recv(qp, &wr, &bad) == 0, "ibv_post_recv");
}

static void post_send(void)
{
	struct ibv_sge sge = {(uintptr_t)out, (uint32_t)strlen(out) + 1, out_mr->lkey};
	struct ibv_send_wr wr = {.wr_id = SEND,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND},
			   *bad;

	need(ibv_post_send(qp, &wr, &bad) == 0, "ibv_post_send");
}

/* Until the completion was there; the other one may come before it, and is kept. */
static void wait_for(uint64_t wanted)
{
	static uint64_t seen;
	struct ibv_wc wc;

	while (!(seen & wanted)) {
		int count = ibv_poll_cq(cq, 1, &wc);

		need(count >= 0, "ibv_poll_cq");
		if (count == 0)
			continue;
		if (wc.status != IBV_WC_SUCCESS) {
			fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc.status));
			exit(1);
		}
		seen |= wc.wr_id;
	}
	seen &= ~wanted;
}

static void serve(void)
{
	for (int i = 0; i < MESSAGES; i++) {
		wait_for(RECEIVE);
		for (int k = 0; k < BYTES; k++)
			out[k] = (char)toupper((unsigned char)in[k]);
		post_receive(); /* before the answer, which makes the client send again */
		post_send();
		wait_for(SEND);
	}
	printf("answered %d messages\n", MESSAGES);
}

static void ask(void)
{
	for (int i = 0; i < MESSAGES; i++) {
		snprintf(out, sizeof(out), "message %d", i);
		post_send();
		wait_for(SEND);
		wait_for(RECEIVE);
		if (i + 1 < MESSAGES)
			post_receive();
	}
	printf("%d messages, the last answer is \"%s\"\n", MESSAGES, in);
}

int main(int argc, char **argv)
{
	const char *host = argc > 3 ? argv[3] : NULL;
	struct ibv_context *context;
	struct end mine, theirs;
	uint8_t gid_index;
	int fd;

	if (argc < 3) {
		fprintf(stderr, "usage: rc_send_recv DEVICE GID_INDEX [HOST]\n");
		return 2;
	}
	gid_index = (uint8_t)atoi(argv[2]);
	context = open_device(argv[1]);
	make_objects(context);
	mine = (struct end){.qpn = htonl(qp->qp_num), .psn = htonl((uint32_t)getpid() & 0xffffff)};
	need(ibv_query_gid(context, 1, gid_index, &mine.gid) == 0, "ibv_query_gid");

	fd = connect_tcp(host);
	exchange(fd, &mine, &theirs, sizeof(mine));
	bring_up(gid_index, &mine, &theirs);
	post_receive();
	exchange(fd, "ready", (char[6]){0}, 6); /* now the peer can receive, too */
	if (host)
		ask();
	else
		serve();
	exchange(fd, "done.", (char[6]){0}, 6); /* nobody leaves while the other needs an ACK */
	ibv_destroy_qp(qp);
	ibv_destroy_cq(cq);
	ibv_dereg_mr(in_mr);
	ibv_dereg_mr(out_mr);
	ibv_dealloc_pd(pd);
	ibv_close_device(context);
	close(fd);
	return 0;
}
