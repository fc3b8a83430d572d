/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the library remembers of contexts, queues and requests. Contexts are hooked when they are
 * opened: their tables of operations get our functions, and keep the real ones beside.
 *
 * Requests are remembered only where the planted fault needs them at their completion; see
 * post.c. An unsignaled send is forgotten when a later one of its queue completes.
 */
#include "plant.h"

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define FIFO_ROOM_FIRST 64u
#define SEND_PIECES	2u

struct scratch {
	struct scratch *next;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	uint8_t *bytes;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct plant_context *contexts;
static struct scratch *scratches;

void plant_lock(void)
{
	pthread_mutex_lock(&mutex);
}

void plant_unlock(void)
{
	pthread_mutex_unlock(&mutex);
}

/* ---- lists ---- */

struct plant_context *plant_context_find(struct ibv_context *context)
{
	struct plant_context *pc = contexts;

	while (pc && pc->context != context)
		pc = pc->next;
	return pc;
}

struct plant_qp *plant_qp_find(struct plant_context *pc, uint32_t qp_num)
{
	struct plant_qp *q = pc->qps;

	while (q && q->qp->qp_num != qp_num)
		q = q->next;
	return q;
}

struct plant_srq *plant_srq_find(struct plant_context *pc, struct ibv_srq *srq)
{
	struct plant_srq *s = pc->srqs;

	while (s && s->srq != srq)
		s = s->next;
	return s;
}

struct plant_cq *plant_cq_get(struct plant_context *pc, struct ibv_cq *cq)
{
	struct plant_cq *c = pc->cqs;

	while (c && c->cq != cq)
		c = c->next;
	if (c)
		return c;
	c = calloc(1, sizeof(*c));
	if (!c)
		abort();
	c->cq = cq;
	c->next = pc->cqs;
	pc->cqs = c;
	return c;
}

struct plant_fifo *plant_receives_of(struct plant_context *pc, struct plant_qp *q)
{
	struct plant_srq *s = q->qp->srq ? plant_srq_find(pc, q->qp->srq) : NULL;

	return s ? &s->receives : &q->receives;
}

void plant_qp_enlist(struct ibv_qp *qp, bool is_sig_all, bool has_extra_pieces)
{
	struct plant_context *pc;
	struct plant_qp *q = calloc(1, sizeof(*q));

	if (!q)
		abort();
	q->qp = qp;
	q->is_sig_all = is_sig_all;
	q->has_extra_pieces = has_extra_pieces;
	plant_lock();
	pc = plant_context_find(qp->context);
	if (pc) {
		q->next = pc->qps;
		pc->qps = q;
	}
	plant_unlock();
	if (!pc)
		free(q);
}

void plant_qp_delist(struct ibv_qp *qp)
{
	struct plant_context *pc;
	struct plant_qp **at, *q = NULL;

	plant_lock();
	pc = plant_context_find(qp->context);
	for (at = pc ? &pc->qps : NULL; at && *at; at = &(*at)->next) {
		if ((*at)->qp != qp)
			continue;
		q = *at;
		*at = q->next;
		break;
	}
	plant_unlock();
	if (!q)
		return;
	plant_fifo_fini(&q->sends);
	plant_fifo_fini(&q->receives);
	free(q);
}

void plant_srq_enlist(struct ibv_srq *srq, bool has_extra_piece)
{
	struct plant_context *pc;
	struct plant_srq *s = calloc(1, sizeof(*s));

	if (!s)
		abort();
	s->srq = srq;
	s->has_extra_piece = has_extra_piece;
	plant_lock();
	pc = plant_context_find(srq->context);
	if (pc) {
		s->next = pc->srqs;
		pc->srqs = s;
	}
	plant_unlock();
	if (!pc)
		free(s);
}

void plant_srq_delist(struct ibv_srq *srq)
{
	struct plant_context *pc;
	struct plant_srq **at, *s = NULL;

	plant_lock();
	pc = plant_context_find(srq->context);
	for (at = pc ? &pc->srqs : NULL; at && *at; at = &(*at)->next) {
		if ((*at)->srq != srq)
			continue;
		s = *at;
		*at = s->next;
		break;
	}
	plant_unlock();
	if (!s)
		return;
	plant_fifo_fini(&s->receives);
	free(s);
}

void plant_cq_delist(struct ibv_cq *cq)
{
	struct plant_context *pc;
	struct plant_cq **at, *c = NULL;

	plant_lock();
	pc = plant_context_find(cq->context);
	for (at = pc ? &pc->cqs : NULL; at && *at; at = &(*at)->next) {
		if ((*at)->cq != cq)
			continue;
		c = *at;
		*at = c->next;
		break;
	}
	plant_unlock();
	free(c);
}

/* ---- contexts ---- */

void plant_context_hook(struct ibv_context *context)
{
	struct verbs_context *vctx = verbs_get_ctx(context);
	struct plant_context *pc = calloc(1, sizeof(*pc));

	if (!pc)
		abort();
	pc->context = context;
	pc->real = context->ops;
	context->ops.post_send = plant_post_send;
	context->ops.post_recv = plant_post_recv;
	context->ops.post_srq_recv = plant_post_srq_recv;
	context->ops.poll_cq = plant_poll_cq;
	context->ops.req_notify_cq = plant_req_notify_cq;
	if (vctx) {
		pc->create_qp_ex = vctx->create_qp_ex;
		pc->create_srq_ex = vctx->create_srq_ex;
		pc->query_device_ex = vctx->query_device_ex;
		if (vctx->create_qp_ex)
			vctx->create_qp_ex = plant_create_qp_ex;
		if (vctx->create_srq_ex)
			vctx->create_srq_ex = plant_create_srq_ex;
		if (vctx->query_device_ex)
			vctx->query_device_ex = plant_query_device_ex;
	}
	plant_lock();
	pc->next = contexts;
	contexts = pc;
	plant_unlock();
}

void plant_context_forget(struct ibv_context *context)
{
	struct plant_context **at = &contexts, *pc = NULL;

	plant_lock();
	while (*at && (*at)->context != context)
		at = &(*at)->next;
	if (*at) {
		pc = *at;
		*at = pc->next;
	}
	plant_unlock();
	free(pc); /* what was made in it is gone, or leaked on purpose */
}

/* ---- requests ---- */

struct plant_request *plant_fifo_push(struct plant_fifo *f)
{
	if (f->end == f->room && f->begin > 0) {
		memmove(f->requests, f->requests + f->begin,
			(f->end - f->begin) * sizeof(*f->requests));
		f->end -= f->begin;
		f->begin = 0;
	}
	if (f->end == f->room) {
		f->room = f->room ? f->room * 2 : FIFO_ROOM_FIRST;
		f->requests = realloc(f->requests, f->room * sizeof(*f->requests));
		if (!f->requests)
			abort();
	}
	f->requests[f->end] = (struct plant_request){0};
	return &f->requests[f->end++];
}

void plant_fifo_pop_newest(struct plant_fifo *f)
{
	free(f->requests[--f->end].saved);
}

bool plant_fifo_take(struct plant_fifo *f, uint64_t wr_id, bool is_send, struct plant_request *out)
{
	uint32_t i = f->begin;

	while (i < f->end &&
	       (f->requests[i].wr_id != wr_id || (is_send && !f->requests[i].is_signaled)))
		i++;
	if (i == f->end)
		return false;
	*out = f->requests[i];
	if (is_send) {
		for (uint32_t k = f->begin; k < i; k++)
			free(f->requests[k].saved);
		f->begin = i + 1;
	} else {
		memmove(f->requests + f->begin + 1, f->requests + f->begin,
			(i - f->begin) * sizeof(*f->requests));
		f->begin++;
	}
	return true;
}

void plant_fifo_fini(struct plant_fifo *f)
{
	for (uint32_t i = f->begin; i < f->end; i++)
		free(f->requests[i].saved);
	free(f->requests);
	*f = (struct plant_fifo){0};
}

/* ---- scratch memory ---- */

struct ibv_mr *plant_scratch(struct ibv_pd *pd)
{
	struct scratch *s = scratches;

	while (s && s->pd != pd)
		s = s->next;
	if (s)
		return s->mr;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->pd = pd;
	s->bytes = calloc(1, PLANT_SCRATCH);
	s->mr = s->bytes ? ibv_reg_mr(pd, s->bytes, PLANT_SCRATCH, IBV_ACCESS_LOCAL_WRITE) : NULL;
	if (!s->mr) {
		free(s->bytes);
		free(s);
		return NULL;
	}
	s->next = scratches;
	scratches = s;
	return s->mr;
}

void plant_scratch_release(struct ibv_pd *pd)
{
	struct scratch **at = &scratches, *s = NULL;

	plant_lock();
	while (*at && (*at)->pd != pd)
		at = &(*at)->next;
	if (*at) {
		s = *at;
		*at = s->next;
	}
	plant_unlock();
	if (!s)
		return;
	ibv_dereg_mr(s->mr);
	free(s->bytes);
	free(s);
}

/* ---- room for what faults add ---- */

bool plant_cap_raise(struct ibv_qp_cap *cap, bool has_srq)
{
	if (plant_is(PLANT_WRONG_BYTE)) {
		cap->max_send_sge += SEND_PIECES;
		return true;
	}
	if (plant_is(PLANT_SHORT_BUFFER_ACCEPTED) && !has_srq) {
		cap->max_recv_sge++;
		return true;
	}
	if (plant_is(PLANT_DOUBLED_DATAGRAM) || plant_is(PLANT_BANDWIDTH_CAP) ||
	    plant_is(PLANT_TORN_ATOMIC) || plant_is(PLANT_DOUBLED_ATOMIC)) {
		cap->max_send_wr *= 2;
		return true;
	}
	return false;
}

void plant_cap_lower(struct ibv_qp_cap *cap, const struct ibv_qp_cap *asked)
{
	if (plant_is(PLANT_WRONG_BYTE))
		cap->max_send_sge -= SEND_PIECES;
	if (plant_is(PLANT_SHORT_BUFFER_ACCEPTED) && cap->max_recv_sge > asked->max_recv_sge)
		cap->max_recv_sge--;
	if (plant_is(PLANT_DOUBLED_DATAGRAM) || plant_is(PLANT_BANDWIDTH_CAP) ||
	    plant_is(PLANT_TORN_ATOMIC) || plant_is(PLANT_DOUBLED_ATOMIC))
		cap->max_send_wr /= 2;
}
