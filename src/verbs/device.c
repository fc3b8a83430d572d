/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A device's tables and its transport. The tables are sized for the limits of limits.h once and
 * mapped, not touched: pages appear as queue pairs and regions do, so a device that is only listed
 * costs address space and nothing else.
 */
#include "verbs/device.h"

#include "verbs/cq_verbs.h"
#include "verbs/limits.h"
#include "verbs/qp_verbs.h"
#include "verbs/srq_verbs.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define MR_BUCKETS (1u << 17)
#define TIMERS	   (ROCE_MAX_QP + ROCE_MAX_CQ)

struct roce_device_tables {
	struct roce_qp *qps[ROCE_QPN_NUMBERS];
	struct roce_mr *mrs[MR_BUCKETS];
	struct roce_timer *timers[TIMERS];
	struct roce_qpn_pool qpns;
	struct roce_qpn_pool srqns;
	struct roce_verbs_srq *srqs[ROCE_QPN_NUMBERS]; /* XRC, by the low bits of the number */
};

static void on_async_event(void *ctx, enum roce_async_event event, struct roce_qp *qp,
			   struct roce_cq *cq)
{
	(void)ctx; /* belongs to the memory operations; the objects know their context */
	if (qp)
		roce_verbs_qp_on_async_event(qp->cfg.owner, event);
	if (cq)
		roce_verbs_cq_on_async_event(cq->owner, event);
}

static struct roce_srq *find_xrc_srq(void *ctx, const struct roce_qp *qp, uint32_t srqn)
{
	const struct roce_verbs_qp *vqp = qp->cfg.owner;
	struct roce_verbs_srq *found = roce_verbs_srq_find(vqp->ctx->dev, vqp->xrcd, srqn);

	(void)ctx;
	return found ? &found->srq : NULL;
}

static const struct roce_transport_ops transport_ops = {
	.async_event = on_async_event,
	.find_xrc_srq = find_xrc_srq,
};

int roce_device_init(struct roce_device *dev, const struct roce_device_env *env, void *env_ctx,
		     const struct roce_transport_config *tuning, struct roce_counters *counters)
{
	struct roce_transport_config cfg = *tuning;
	void *mem = mmap(NULL, sizeof(struct roce_device_tables), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (mem == MAP_FAILED)
		return -ENOMEM;
	*dev = (struct roce_device){
		.counters = counters, .env = env, .env_ctx = env_ctx, .tables = mem};
	pthread_mutex_init(&dev->lock, NULL);
	roce_list_init(&dev->contexts);
	roce_list_init(&dev->xrcds);
	cfg.ops = &transport_ops;
	cfg.counters = counters;
	cfg.qp_table = dev->tables->qps;
	cfg.qp_table_mask = ROCE_QPN_NUMBERS - 1;
	cfg.mr_buckets = dev->tables->mrs;
	cfg.mr_bucket_count = MR_BUCKETS;
	roce_transport_init(&dev->transport, &cfg);
	roce_timer_heap_init(&dev->transport.timers, dev->tables->timers, TIMERS);
	return 0;
}

void roce_device_fini(struct roce_device *dev)
{
	munmap(dev->tables, sizeof(*dev->tables));
	dev->tables = NULL;
	pthread_mutex_destroy(&dev->lock);
}

struct roce_qpn_pool *roce_device_qpns(struct roce_device *dev)
{
	return &dev->tables->qpns;
}

struct roce_qpn_pool *roce_device_srqns(struct roce_device *dev)
{
	return &dev->tables->srqns;
}

struct roce_verbs_srq **roce_device_srq_entry(struct roce_device *dev, uint32_t number)
{
	return &dev->tables->srqs[number % ROCE_QPN_NUMBERS];
}

uint32_t roce_device_random(struct roce_device *dev)
{
	uint32_t value;

	if (dev->random_left < sizeof(value)) {
		dev->env->random(dev->env_ctx, dev->random_bytes, sizeof(dev->random_bytes));
		dev->random_left = sizeof(dev->random_bytes);
	}
	dev->random_left -= (uint32_t)sizeof(value);
	memcpy(&value, dev->random_bytes + dev->random_left, sizeof(value));
	/* Used numbers name live objects: they need not stay readable here. */
	memset(dev->random_bytes + dev->random_left, 0, sizeof(value));
	return value;
}
