/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs and what travels over them: a question of the client, which the server sends back
 * with all bits turned. One completion queue and one region a device; a slot of the region belongs
 * to a connection, and its number is the work request's.
 */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#define CQES	 32767 /* what Soft-RoCE has at most */
#define SEND_BIT (UINT64_C(1) << 32)

static struct device *get_device(struct check *k, struct ibv_context *verbs)
{
	struct device *d;
	struct epoll_event e = {.events = EPOLLIN};

	for (unsigned i = 0; i < k->device_count; i++)
		if (k->device[i].verbs == verbs)
			return &k->device[i];
	if (k->device_count == DEVICES_MAX)
		return NULL;
	d = &k->device[k->device_count];
	d->verbs = verbs;
	d->pd = ibv_alloc_pd(verbs);
	d->channel = ibv_create_comp_channel(verbs);
	if (!d->pd || !d->channel)
		return NULL;
	d->cq = ibv_create_cq(verbs, CQES, NULL, d->channel, 0);
	d->mr = ibv_reg_mr(d->pd, k->memory, sizeof(k->memory), IBV_ACCESS_LOCAL_WRITE);
	e.data.fd = d->channel->fd;
	if (!d->cq || !d->mr || ibv_req_notify_cq(d->cq, 0) ||
	    fcntl(d->channel->fd, F_SETFL, O_NONBLOCK) ||
	    epoll_ctl(k->epoll, EPOLL_CTL_ADD, d->channel->fd, &e))
		return NULL;
	k->device_count++;
	return d;
}

static int post_recv(struct check *k, struct conn *c)
{
	struct ibv_sge sge = {(uintptr_t)k->memory[c->slot][0], MESSAGE_SIZE, c->device->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = c->slot, .sg_list = &sge, .num_sge = 1}, *bad;

	return ibv_post_recv(c->id->qp, &wr, &bad);
}

int device_make_qp(struct check *k, struct conn *c)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.sq_sig_all = 1,
	};
	struct device *d = get_device(k, c->id->verbs);

	if (!d) {
		errno = ENOMEM;
		return -1;
	}
	init.send_cq = init.recv_cq = d->cq;
	if (rdma_create_qp(c->id, d->pd, &init))
		return -1;
	c->device = d;
	if (post_recv(k, c)) {
		complain(k, c, "ibv_post_recv");
		return -1;
	}
	return 0;
}

void device_drop_qp(struct conn *c)
{
	if (c->device)
		rdma_destroy_qp(c->id);
	c->device = NULL;
}

static void send_slot(struct check *k, struct conn *c)
{
	struct ibv_sge sge = {(uintptr_t)k->memory[c->slot][1], MESSAGE_SIZE, c->device->mr->lkey};
	struct ibv_send_wr wr = {.wr_id = c->slot | SEND_BIT,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND},
			   *bad;

	if (ibv_post_send(c->id->qp, &wr, &bad))
		complain(k, c, "ibv_post_send");
}

void device_ask(struct check *k, struct conn *c)
{
	char *question = (char *)k->memory[c->slot][1];

	memset(question, (int)(c->number & 0xff), MESSAGE_SIZE);
	snprintf(question, MESSAGE_SIZE, "%s %u %lu", k->options.tag, c->number,
		 k->count[COUNT_answers]);
	c->has_asked = true;
	send_slot(k, c);
}

static void turn_bits(uint8_t *to, const uint8_t *from)
{
	for (unsigned i = 0; i < MESSAGE_SIZE; i++)
		to[i] = (uint8_t)~from[i];
}

/* As if the program had lost its state: the peer hears nothing of it. */
static void break_qp(struct check *k, struct conn *c)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	if (ibv_modify_qp(c->id->qp, &attr, IBV_QP_STATE))
		complain(k, c, "ibv_modify_qp");
}

static void on_message(struct check *k, struct conn *c)
{
	uint8_t turned[MESSAGE_SIZE];

	turn_bits(turned, k->memory[c->slot][0]);
	if (!c->is_active && k->options.breaks_data) {
		break_qp(k, c);
		return;
	}
	if (!c->is_active) {
		memcpy(k->memory[c->slot][1], turned, MESSAGE_SIZE);
		if (post_recv(k, c))
			complain(k, c, "ibv_post_recv");
		send_slot(k, c);
		return;
	}
	if (memcmp(turned, k->memory[c->slot][1], MESSAGE_SIZE) != 0)
		complain(k, c, "a wrong answer");
	c->has_asked = false;
	k->count[COUNT_answers]++;
	if (k->options.is_held) {
		if (post_recv(k, c))
			complain(k, c, "ibv_post_recv");
		if (k->count[COUNT_answers] % k->count[COUNT_established] == 0)
			printf("all answered: %lu\n", k->count[COUNT_answers]);
	} else if (k->options.closer != CLOSE_SERVER && c->stage == STAGE_UP) {
		conn_close(k, c);
	}
}

/* The data path of a connection is broken: it is closed as any other. */
static void on_broken(struct check *k, struct conn *c, enum ibv_wc_status status)
{
	if (status == IBV_WC_WR_FLUSH_ERR)
		return;
	if (!k->options.breaks_data || status != IBV_WC_RETRY_EXC_ERR) {
		complain(k, c, "%s", ibv_wc_status_str(status));
		return;
	}
	k->count[COUNT_broken]++;
	if (c->stage == STAGE_UP)
		conn_close(k, c);
}

static void on_answered(struct check *k, struct conn *c)
{
	c->has_answered = true;
	if (k->options.closer != CLOSE_CLIENT && !k->options.is_held && c->stage == STAGE_UP)
		conn_close(k, c);
}

static void on_completion(struct check *k, const struct ibv_wc *wc)
{
	struct conn *c = k->of_slot[wc->wr_id & (SLOTS_MAX - 1)];

	/* What was flushed of a connection that has gone since; its slot may have another. */
	if (!c || !c->device || c->id->qp->qp_num != wc->qp_num)
		return;
	if (wc->status != IBV_WC_SUCCESS)
		on_broken(k, c, wc->status);
	else if (!(wc->wr_id & SEND_BIT))
		on_message(k, c);
	else if (!c->is_active)
		on_answered(k, c);
	else if (k->options.breaks_data) /* until one fails */
		device_ask(k, c);
}

void device_poll(struct check *k)
{
	struct ibv_wc wc[16];
	struct ibv_cq *cq;
	void *context;
	int n;

	for (unsigned i = 0; i < k->device_count; i++) {
		struct device *d = &k->device[i];

		while (ibv_get_cq_event(d->channel, &cq, &context) == 0) {
			ibv_ack_cq_events(cq, 1);
			ibv_req_notify_cq(cq, 0);
		}
		while ((n = ibv_poll_cq(d->cq, 16, wc)) > 0)
			for (int j = 0; j < n; j++)
				on_completion(k, &wc[j]);
	}
}
