/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests and answers over UD, right in spite of lost, doubled, reordered and damaged messages.
 * The client fetches a file of blocks; each message carries a sequence number and a checksum of its
 * own; what is damaged is treated as lost, and what has no answer in time is asked for again.
 *
 *     cc ud_checked.c -o ud_checked -lrdmacm -libverbs
 *     ud_checked [--unchecked] server ADDRESS            # ends when its client is done
 *     ud_checked [--unchecked] client ADDRESS [BLOCKS]   # exit status 1: the file is wrong
 *
 * To see: the packets' own checksum (ICRC) ends at the adapter, and adapters were seen that put
 * bytes of one datagram into another behind it. With --unchecked on both sides the checksum is not
 * looked at, and such damage is in the file. On uroce UROCE_IMPAIR=faulty-ud,reorder=1% is such an
 * adapter. A short message may be exchanged as a whole, with its checksum: the sequence number
 * tells then.
 *
 * A request may be carried out twice, since its answer may be what was lost: reading a block stands
 * that, an addition would need the sequence number to be remembered.
 */
#include <arpa/inet.h>
#include <rdma/rdma_verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PORT	      "18519"
#define BLOCK_BYTES   768u /* with the header less than the smallest usual path MTU, 1024 */
#define GRH_BYTES     40u  /* in front of every received UD message */
#define WINDOW	      16u  /* requests under way */
#define BUFFERS	      64u
#define RETRIES	      12u
#define WAIT_NS_MIN   20000000u /* 20 ms for an answer, doubled with each retry */
#define WAIT_NS_MAX   1000000000u
#define BLOCKS_MAX    1000000u
#define END_OF_BLOCKS UINT32_MAX

struct message {	   /* in network order */
	uint32_t checksum; /* of all behind it */
	uint32_t block;	   /* the sequence number: an answer has that of its request */
	uint32_t bytes;
	uint8_t data[BLOCK_BYTES];
};
#define HEADER_BYTES offsetof(struct message, data)

struct buffer {
	uint8_t grh[GRH_BYTES];
	struct message message;
};

static struct buffer received[BUFFERS], sent[BUFFERS];
static struct ibv_mr *received_mr, *sent_mr;
static struct rdma_cm_id *id;
static uint32_t sends, sends_completed;
static int is_checked = 1;

static void need(int is_right, const char *what)
{
	if (is_right)
		return;
	perror(what);
	exit(2);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* CRC-32C; a CRC of another polynomial than the packets', so that it finds what theirs does not. */
static uint32_t checksum(const struct message *m)
{
	const uint8_t *p = (const uint8_t *)&m->block;
	size_t bytes = HEADER_BYTES - sizeof(m->checksum) + ntohl(m->bytes);
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < bytes; i++) {
		crc ^= p[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return htonl(~crc);
}

static uint8_t file_byte(uint32_t block, uint32_t at)
{
	return (uint8_t)(block * 131 + at * 7 + (block >> 8));
}

/* ---- messages in and out ---- */

static void post_receive(uint32_t index)
{
	need(rdma_post_recv(id, (void *)(uintptr_t)index, &received[index], sizeof(struct buffer),
			    received_mr) == 0,
	     "rdma_post_recv");
}

/* Until no more than so many have not left; UD completes when the message is on its way. */
static void wait_for_sends(uint32_t most)
{
	struct ibv_wc wc;

	while (sends - sends_completed > most) {
		int count = ibv_poll_cq(id->send_cq, 1, &wc);

		need(count >= 0 && (count == 0 || wc.status == IBV_WC_SUCCESS), "a send");
		sends_completed += (uint32_t)count;
	}
}

/* Buffers are used in turn, and completions of sends come in order. */
static struct message *next_buffer(void)
{
	wait_for_sends(BUFFERS - 1);
	return &sent[sends % BUFFERS].message;
}

/* To `to`, from the buffer that next_buffer() gave. */
static void send_message(struct ibv_ah *ah, uint32_t qpn)
{
	struct message *m = &sent[sends++ % BUFFERS].message;

	m->checksum = checksum(m);
	need(rdma_post_ud_send(id, NULL, m, HEADER_BYTES + ntohl(m->bytes), sent_mr,
			       IBV_SEND_SIGNALED, ah, qpn) == 0,
	     "rdma_post_ud_send");
}

/* Lengths are checked in any case: they decide what memory is touched. */
static int is_usable(const struct ibv_wc *wc, const struct message *m)
{
	uint32_t bytes = wc->byte_len - GRH_BYTES;

	if (wc->byte_len < GRH_BYTES + HEADER_BYTES || ntohl(m->bytes) > BLOCK_BYTES ||
	    bytes != HEADER_BYTES + ntohl(m->bytes))
		return 0;
	return !is_checked || m->checksum == checksum(m);
}

static void make_buffers(void)
{
	received_mr = ibv_reg_mr(id->pd, received, sizeof(received), IBV_ACCESS_LOCAL_WRITE);
	sent_mr = ibv_reg_mr(id->pd, sent, sizeof(sent), 0);
	need(received_mr && sent_mr, "ibv_reg_mr");
	for (uint32_t i = 0; i < BUFFERS; i++)
		post_receive(i);
}

static void clean_up(void)
{
	rdma_destroy_qp(id); /* it holds receives in the region */
	ibv_dereg_mr(received_mr);
	ibv_dereg_mr(sent_mr);
	rdma_destroy_ep(id);
}

static struct rdma_cm_id *make_id(const char *address, int flags)
{
	struct rdma_addrinfo hints = {
		.ai_port_space = RDMA_PS_UDP, .ai_qp_type = IBV_QPT_UD, .ai_flags = flags};
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_UD,
		.cap = {.max_send_wr = BUFFERS,
			.max_recv_wr = BUFFERS,
			.max_send_sge = 1,
			.max_recv_sge = 1},
	};
	struct rdma_addrinfo *info;
	struct rdma_cm_id *new_id;

	need(rdma_getaddrinfo(address, PORT, &hints, &info) == 0, "rdma_getaddrinfo");
	need(rdma_create_ep(&new_id, info, NULL, &attr) == 0, "rdma_create_ep");
	rdma_freeaddrinfo(info);
	return new_id;
}

/* ---- the server: it remembers nothing of what it answered ---- */

static int serve(const char *address)
{
	struct rdma_cm_id *listener = make_id(address, RAI_PASSIVE);
	uint32_t requests = 0, damaged = 0, block = 0;
	struct ibv_ah *ah = NULL;

	need(rdma_listen(listener, 1) == 0, "rdma_listen");
	need(rdma_get_request(listener, &id) == 0, "rdma_get_request");
	make_buffers();
	need(rdma_accept(id, NULL) == 0, "rdma_accept");
	while (block != END_OF_BLOCKS) {
		struct buffer *b;
		struct message *answer;
		struct ibv_wc wc;

		need(rdma_get_recv_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS, "a receive");
		b = &received[wc.wr_id];
		requests++;
		if (is_usable(&wc, &b->message)) {
			block = ntohl(b->message.block);
			if (!ah) /* the way back, from the request's own header */
				ah = ibv_create_ah_from_wc(id->pd, &wc, (struct ibv_grh *)b->grh,
							   id->port_num);
			need(ah != NULL, "ibv_create_ah_from_wc");
			answer = next_buffer();
			answer->block = htonl(block);
			answer->bytes = htonl(BLOCK_BYTES);
			for (uint32_t i = 0; i < BLOCK_BYTES; i++)
				answer->data[i] = file_byte(block, i);
			send_message(ah, wc.src_qp);
		} else {
			damaged++;
		}
		post_receive((uint32_t)wc.wr_id);
	}
	wait_for_sends(0);
	printf("server: %u requests, %u damaged\n", requests, damaged);
	ibv_destroy_ah(ah);
	clean_up();
	rdma_destroy_ep(listener);
	return 0;
}

/* ---- the client ---- */

struct request {
	int is_open;
	uint32_t block;
	uint32_t retries;
	uint64_t wait_ns;
	uint64_t deadline_ns;
};

static struct request requests[WINDOW];
static struct {
	uint32_t damaged, retried, repaired, stale;
} counts;

static void ask(struct request *r, struct ibv_ah *ah, uint32_t qpn)
{
	struct message *m = next_buffer();

	m->block = htonl(r->block);
	m->bytes = 0;
	r->deadline_ns = now_ns() + r->wait_ns;
	send_message(ah, qpn);
}

static void ask_again(struct request *r, struct ibv_ah *ah, uint32_t qpn)
{
	if (r->retries++ == RETRIES) {
		fprintf(stderr, "no answer for block %u\n", r->block);
		exit(1);
	}
	counts.retried++;
	r->wait_ns = r->wait_ns * 2 < WAIT_NS_MAX ? r->wait_ns * 2 : WAIT_NS_MAX;
	ask(r, ah, qpn);
}

/* An answer that nobody waits for is the second one to a request that was repeated. */
static void on_answer(const struct ibv_wc *wc, uint8_t *file)
{
	const struct message *m = &received[wc->wr_id].message;

	if (!is_usable(wc, m)) {
		counts.damaged++;
		return;
	}
	for (uint32_t i = 0; i < WINDOW; i++) {
		struct request *r = &requests[i];

		if (!r->is_open || r->block != ntohl(m->block))
			continue;
		memcpy(file + (size_t)r->block * BLOCK_BYTES, m->data, BLOCK_BYTES);
		counts.repaired += r->retries > 0;
		r->is_open = 0;
		return;
	}
	counts.stale++;
}

static void fetch(uint8_t *file, uint32_t blocks, struct ibv_ah *ah, uint32_t qpn)
{
	uint32_t next = 0, open;
	struct ibv_wc wc;

	do {
		uint64_t now = now_ns();

		open = 0;
		for (uint32_t i = 0; i < WINDOW; i++) {
			struct request *r = &requests[i];

			if (r->is_open && now > r->deadline_ns) {
				ask_again(r, ah, qpn);
			} else if (!r->is_open && next < blocks) {
				*r = (struct request){1, next++, 0, WAIT_NS_MIN, 0};
				ask(r, ah, qpn);
			}
			open += (uint32_t)r->is_open;
		}
		while (ibv_poll_cq(id->recv_cq, 1, &wc) == 1) {
			need(wc.status == IBV_WC_SUCCESS, "a receive");
			on_answer(&wc, file);
			post_receive((uint32_t)wc.wr_id);
		}
	} while (open);
}

static uint32_t count_wrong_blocks(const uint8_t *file, uint32_t blocks)
{
	uint32_t wrong = 0;

	for (uint32_t block = 0; block < blocks; block++) {
		for (uint32_t i = 0; i < BLOCK_BYTES; i++) {
			if (file[(size_t)block * BLOCK_BYTES + i] != file_byte(block, i)) {
				wrong++;
				break;
			}
		}
	}
	return wrong;
}

static int run_client(const char *address, uint32_t blocks)
{
	uint8_t *file = calloc(blocks, BLOCK_BYTES);
	const struct rdma_ud_param *peer;
	uint32_t lost, wrong;
	struct ibv_ah *ah;

	id = make_id(address, 0);
	make_buffers();
	need(file && rdma_connect(id, NULL) == 0, "rdma_connect");
	peer = &id->event->param.ud;
	ah = ibv_create_ah(id->pd, (struct ibv_ah_attr *)&peer->ah_attr);
	need(ah != NULL, "ibv_create_ah");
	fetch(file, blocks, ah, peer->qp_num);

	for (int i = 0; i < 3; i++) { /* no answer is awaited; one of them will come */
		requests[0].block = END_OF_BLOCKS;
		ask(&requests[0], ah, peer->qp_num);
	}
	wait_for_sends(0);
	lost = counts.retried > counts.damaged ? counts.retried - counts.damaged : 0;
	wrong = count_wrong_blocks(file, blocks);
	printf("client: %u blocks, %u answers damaged, %u lost or late, %u blocks repaired, "
	       "%u answers came twice, %u blocks wrong\n",
	       blocks, counts.damaged, lost, counts.repaired, counts.stale, wrong);
	ibv_destroy_ah(ah);
	clean_up();
	free(file);
	return wrong != 0;
}

int main(int argc, char **argv)
{
	uint32_t blocks = 4000;

	if (argc > 1 && strcmp(argv[1], "--unchecked") == 0) {
		is_checked = 0;
		argv++;
		argc--;
	}
	if (argc > 3)
		blocks = (uint32_t)strtoul(argv[3], NULL, 10);
	if (argc == 3 && strcmp(argv[1], "server") == 0)
		return serve(argv[2]);
	if (argc >= 3 && strcmp(argv[1], "client") == 0 && blocks && blocks <= BLOCKS_MAX)
		return run_client(argv[2], blocks);
	fprintf(stderr, "usage: ud_checked [--unchecked] server|client ADDRESS [BLOCKS]\n");
	return 2;
}
