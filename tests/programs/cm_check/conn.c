/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One connection: its beginning on either side, and its end. The private data of request and answer
 * has the server's tag, so that a connection that went to another server is noticed on both sides.
 */
#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RESOLVE_MS 5000
#define BACKLOG	   1024

/* What travels as private data, padded with zeros on the way. */
struct greeting {
	char tag[TAG_MAX];
	uint32_t number;
};

static void link_conn(struct check *k, struct conn *c)
{
	c->next = k->first;
	c->prev = NULL;
	if (k->first)
		k->first->prev = c;
	k->first = c;
	k->of_slot[c->slot] = c;
	k->alive++;
	if (k->alive > k->alive_max)
		k->alive_max = k->alive;
	k->open++;
}

static struct conn *make_conn(struct check *k, struct rdma_cm_id *id, bool is_active)
{
	struct conn *c = k->free_slots ? calloc(1, sizeof(*c)) : NULL;

	if (!c)
		return NULL;
	c->id = id;
	c->is_active = is_active;
	c->slot = k->free_slot[--k->free_slots];
	link_conn(k, c);
	return c;
}

void conn_destroy(struct check *k, struct conn *c)
{
	device_drop_qp(c);
	if (c->stage != STAGE_TIMEWAIT && c->stage != STAGE_ENDED)
		k->open--;
	if (c->id && rdma_destroy_id(c->id))
		complain(k, c, "rdma_destroy_id: %s", strerror(errno));
	if (c->next)
		c->next->prev = c->prev;
	if (c->prev)
		c->prev->next = c->next;
	else
		k->first = c->next;
	k->of_slot[c->slot] = NULL;
	k->free_slot[k->free_slots++] = c->slot;
	k->alive--;
	k->count[COUNT_ended]++;
	free(c);
}

void conn_end(struct check *k, struct conn *c)
{
	if (c->stage != STAGE_TIMEWAIT && c->stage != STAGE_ENDED) {
		k->open--;
		c->stage = STAGE_ENDED;
	}
	conn_destroy(k, c);
}

static void set_options(struct check *k, struct rdma_cm_id *id)
{
	uint8_t timeout = (uint8_t)k->options.ack_timeout;
	int one = 1;

	if (timeout && rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout,
				       sizeof(timeout)))
		complain(k, NULL, "RDMA_OPTION_ID_ACK_TIMEOUT: %s", strerror(errno));
	if (k->options.may_reuse &&
	    rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &one, sizeof(one)))
		complain(k, NULL, "RDMA_OPTION_ID_REUSEADDR: %s", strerror(errno));
}

void conn_start(struct check *k)
{
	struct rdma_cm_id *id;
	struct conn *c;

	k->count[COUNT_started]++;
	if (rdma_create_id(k->channel, &id, NULL, RDMA_PS_TCP)) {
		complain(k, NULL, "rdma_create_id: %s", strerror(errno));
		return;
	}
	c = make_conn(k, id, true);
	if (!c) {
		complain(k, NULL, "no more connections");
		rdma_destroy_id(id);
		return;
	}
	id->context = c;
	c->number = (unsigned)k->count[COUNT_started];
	c->stage = STAGE_ADDRESS;
	set_options(k, id);
	if (rdma_resolve_addr(id, NULL, (struct sockaddr *)&k->options.address, RESOLVE_MS)) {
		complain(k, c, "rdma_resolve_addr: %s", strerror(errno));
		conn_end(k, c);
	}
}

/* How many READs the client answers at once, and how many it sends; two numbers, so that nobody can
 * take one for the other. Each side offers what the other one wants. */
#define CLIENT_ANSWERS 3
#define CLIENT_ASKS    2

static struct rdma_conn_param parameters(const struct conn *c, const struct greeting *g)
{
	return (struct rdma_conn_param){
		.private_data = g,
		.private_data_len = sizeof(*g),
		.responder_resources = c->is_active ? CLIENT_ANSWERS : CLIENT_ASKS,
		.initiator_depth = c->is_active ? CLIENT_ASKS : CLIENT_ANSWERS,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
}

static struct greeting greeting_of(const struct check *k, const struct conn *c)
{
	struct greeting g = {.number = c->number};

	memcpy(g.tag, k->options.tag, sizeof(g.tag));
	return g;
}

void conn_connect(struct check *k, struct conn *c)
{
	struct greeting g = greeting_of(k, c);
	struct rdma_conn_param p = parameters(c, &g);

	if (k->options.breaks_data)
		p.retry_count = 1;
	c->stage = STAGE_CONNECT;
	if (device_make_qp(k, c) || rdma_connect(c->id, &p)) {
		complain(k, c, "rdma_connect: %s", strerror(errno));
		conn_end(k, c);
	}
}

void conn_check_depths(struct check *k, const struct conn *c, const struct rdma_conn_param *p)
{
	uint8_t answers = c->is_active ? CLIENT_ANSWERS : CLIENT_ASKS;
	uint8_t asks = c->is_active ? CLIENT_ASKS : CLIENT_ANSWERS;

	/* An event tells what its reader is asked for, not what the peer has. */
	if (p->responder_resources != answers || p->initiator_depth != asks)
		complain(k, c, "is to answer %u READs and may send %u, instead of %u and %u",
			 p->responder_resources, p->initiator_depth, answers, asks);
}

static bool is_for_us(struct check *k, const struct conn *c, const struct rdma_conn_param *p)
{
	struct greeting g = {.number = 0};

	if (p->private_data_len >= sizeof(g))
		memcpy(&g, p->private_data, sizeof(g));
	if (p->private_data_len >= sizeof(g) && memcmp(g.tag, k->options.tag, TAG_MAX) == 0)
		return true;
	k->count[COUNT_strangers]++;
	if (!k->options.knows_strangers)
		complain(k, c, "a request of %u bytes for \"%.*s\"", p->private_data_len, TAG_MAX,
			 g.tag);
	return false;
}

void conn_on_request(struct check *k, struct rdma_cm_id *id, const struct rdma_conn_param *p)
{
	struct conn *c = make_conn(k, id, false);
	struct rdma_conn_param answer;
	struct greeting g;

	k->count[COUNT_requests]++;
	if (!c) {
		complain(k, NULL, "no more connections");
		rdma_destroy_id(id);
		return;
	}
	id->context = c;
	c->number = (unsigned)k->count[COUNT_requests];
	c->stage = STAGE_ACCEPTED;
	if (!is_for_us(k, c, p)) {
		conn_end(k, c);
		return;
	}
	conn_check_depths(k, c, p);
	g = greeting_of(k, c);
	answer = parameters(c, &g);
	if (k->options.reject && c->number % k->options.reject == 0) {
		if (rdma_reject(id, &g, sizeof(g)))
			complain(k, c, "rdma_reject: %s", strerror(errno));
		k->count[COUNT_refused]++;
		conn_end(k, c);
		return;
	}
	if (device_make_qp(k, c)) {
		complain(k, c, "no queue pair: %s", strerror(errno));
		conn_end(k, c);
	} else if (rdma_accept(id, &answer)) {
		if (errno != EINVAL) /* what it is when the peer has gone meanwhile */
			complain(k, c, "rdma_accept: %s", strerror(errno));
		k->count[COUNT_gone]++;
		conn_end(k, c);
	}
}

void conn_close(struct check *k, struct conn *c)
{
	c->stage = STAGE_CLOSING;
	/* The peer may have been faster: its event is under way. */
	if (rdma_disconnect(c->id) && errno != EINVAL)
		complain(k, c, "rdma_disconnect: %s", strerror(errno));
}

void conn_listen(struct check *k)
{
	if (rdma_create_id(k->channel, &k->listener, NULL, RDMA_PS_TCP)) {
		perror("rdma_create_id");
		exit(1);
	}
	set_options(k, k->listener);
	if (rdma_bind_addr(k->listener, (struct sockaddr *)&k->options.address)) {
		perror("rdma_bind_addr");
		exit(3);
	}
	if (rdma_listen(k->listener, BACKLOG)) {
		perror("rdma_listen");
		exit(3);
	}
	printf("listening on port %u\n", ntohs(rdma_get_src_port(k->listener)));
}
