/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues and channels. compat_poll_cq() is the hottest function of the library: it takes
 * entries in small batches on its stack and converts them in place.
 */
#include "compat/libibverbs/compat.h"

#include "verbs/refuse.h"

#include <stdlib.h>

#define POLL_BATCH 16

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct roce_context *ctx = compat_roce_of(context);
	struct compat_channel *channel;
	int err;

	if (roce_context_is_forked(ctx))
		return compat_null(-COMPAT_FORKED);
	channel = calloc(1, sizeof(*channel));
	if (!channel)
		return compat_null(-ENOMEM);
	err = roce_comp_channel_init(&channel->rchannel, ctx);
	if (err) {
		free(channel);
		return compat_null(err);
	}
	channel->channel.context = context;
	channel->channel.fd = channel->rchannel.events.fd;
	return &channel->channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	int err;

	if (roce_context_is_forked(compat_roce_of(channel->context)))
		return COMPAT_FORKED;
	err = roce_comp_channel_fini(&compat_channel_of(channel)->rchannel);
	if (err)
		return -err;
	free(compat_channel_of(channel));
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	struct roce_verbs_cq *vcq;
	int err;

	if (roce_context_is_forked(compat_roce_of(channel->context)))
		return compat_minus_one(-COMPAT_FORKED);
	err = roce_comp_channel_get(&compat_channel_of(channel)->rchannel, &vcq);
	if (err)
		return compat_minus_one(err);
	*cq = vcq->comp_events.owner;
	*cq_context = (*cq)->cq_context;
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	struct roce_verbs_cq *vcq = &compat_cq_of(cq)->vcq;

	if (vcq->channel && !roce_context_is_forked(vcq->ctx))
		roce_event_source_ack(&vcq->channel->events, &vcq->comp_events, nevents);
}

static struct compat_cq *create_cq(struct ibv_context *context, uint32_t cqe, void *cq_context,
				   struct ibv_comp_channel *channel, uint32_t comp_vector,
				   struct ibv_pd *parent)
{
	struct roce_context *ctx = compat_roce_of(context);
	struct compat_cq *cq;
	int err;

	if (roce_context_is_forked(ctx))
		return compat_null(-COMPAT_FORKED);
	if (comp_vector >= (uint32_t)context->num_comp_vectors)
		return compat_null(roce_refuse(EINVAL, "create_cq: comp_vector %u is not below %d",
					       comp_vector, context->num_comp_vectors));
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return compat_null(-ENOMEM);
	err = roce_verbs_cq_init(&cq->vcq, ctx, cqe,
				 channel ? &compat_channel_of(channel)->rchannel : NULL,
				 compat_allocator_of(parent), cq);
	if (err) {
		free(cq);
		return compat_null(err);
	}
	cq->parent = parent;
	compat_pd_hold(parent);
	cq->ex.context = context;
	cq->ex.channel = channel;
	cq->ex.cq_context = cq_context;
	cq->ex.handle = compat_next_handle();
	cq->ex.cqe = (int)cq->vcq.cq.depth;
	pthread_mutex_init(&cq->ex.mutex, NULL);
	pthread_cond_init(&cq->ex.cond, NULL);
	if (channel)
		__atomic_fetch_add(&channel->refcnt, 1, __ATOMIC_RELAXED);
	compat_fill_cq_ex(cq);
	return cq;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int comp_vector)
{
	struct compat_cq *cq =
		create_cq(context, cqe < 0 ? 0 : (uint32_t)cqe, cq_context, channel,
			  comp_vector < 0 ? UINT32_MAX : (uint32_t)comp_vector, NULL);

	return cq ? ibv_cq_ex_to_cq(&cq->ex) : NULL;
}

struct ibv_cq_ex *compat_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	const uint64_t known = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			       IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
	struct compat_cq *cq;

	if (attr->comp_mask & ~(uint32_t)(IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD))
		return compat_null(
			roce_refuse(EOPNOTSUPP, "create_cq_ex: comp_mask 0x%x", attr->comp_mask));
	if (attr->wc_flags & ~known)
		return compat_null(roce_refuse(EOPNOTSUPP, "create_cq_ex: wc_flags 0x%llx",
					       (unsigned long long)attr->wc_flags));
	/* Both flags promise something of the program that we need not make use of. */
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
	    (attr->flags &
	     ~(uint32_t)(IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN)))
		return compat_null(roce_refuse(EINVAL, "create_cq_ex: flags 0x%x", attr->flags));
	cq = create_cq(context, attr->cqe, attr->cq_context, attr->channel, attr->comp_vector,
		       attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD ? attr->parent_domain : NULL);
	return cq ? &cq->ex : NULL;
}

int compat_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
	struct roce_verbs_cq *vcq = &compat_cq_of(cq)->vcq;

	if (roce_context_is_forked(vcq->ctx))
		return COMPAT_FORKED;
	if (attr->attr_mask & ~(uint32_t)IBV_CQ_ATTR_MODERATE)
		return -roce_refuse(EINVAL, "modify_cq: attr_mask 0x%x", attr->attr_mask);
	if (attr->attr_mask & IBV_CQ_ATTR_MODERATE)
		roce_verbs_cq_moderate(vcq, attr->moderate.cq_count, attr->moderate.cq_period);
	return 0;
}

int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	struct compat_cq *cc = compat_cq_of(cq);
	int err;

	if (roce_context_is_forked(cc->vcq.ctx))
		return COMPAT_FORKED;
	err = roce_verbs_cq_resize(&cc->vcq, cqe < 0 ? 0 : (uint32_t)cqe);
	if (!err)
		cq->cqe = (int)cc->vcq.cq.depth;
	return -err;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	struct compat_cq *cc = compat_cq_of(cq);
	int err;

	if (roce_context_is_forked(cc->vcq.ctx))
		return COMPAT_FORKED;
	err = roce_verbs_cq_fini(&cc->vcq);
	if (err)
		return -err;
	compat_pd_drop(cc->parent);
	if (cq->channel)
		__atomic_fetch_sub(&cq->channel->refcnt, 1, __ATOMIC_RELAXED);
	pthread_cond_destroy(&cq->cond);
	pthread_mutex_destroy(&cq->mutex);
	free(cc);
	return 0;
}

static void wc_from_cqe(struct ibv_wc *wc, const struct roce_cqe *cqe)
{
	wc->wr_id = cqe->wr_id;
	wc->status = (enum ibv_wc_status)cqe->status;
	wc->opcode = (enum ibv_wc_opcode)cqe->opcode;
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = (uint32_t)cqe->byte_len;
	wc->imm_data = cqe->imm_be;
	wc->qp_num = cqe->qp_num;
	wc->src_qp = cqe->src_qp;
	wc->wc_flags = cqe->wc_flags;
	wc->pkey_index = 0;
	wc->slid = 0;
	wc->sl = cqe->sl;
	wc->dlid_path_bits = 0;
}

int compat_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)
{
	struct roce_verbs_cq *vcq = &compat_cq_of(cq)->vcq;
	struct roce_cqe cqes[POLL_BATCH];
	int done = 0;

	if (roce_context_is_forked(vcq->ctx))
		return compat_minus_one(-COMPAT_FORKED);
	while (done < num_entries) {
		int want = num_entries - done < POLL_BATCH ? num_entries - done : POLL_BATCH;
		int n = roce_verbs_cq_poll(vcq, cqes, (uint32_t)want);

		if (n < 0)
			return done ? done : compat_minus_one(n);
		for (int i = 0; i < n; i++)
			wc_from_cqe(&wc[done + i], &cqes[i]);
		done += n;
		if (n < want)
			break;
	}
	return done;
}

int compat_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	struct roce_verbs_cq *vcq = &compat_cq_of(cq)->vcq;

	if (roce_context_is_forked(vcq->ctx))
		return COMPAT_FORKED;
	roce_verbs_cq_arm(vcq, solicited_only != 0);
	return 0;
}
