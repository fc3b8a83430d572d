/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A device's tables and its transport. The tables are one mapping, not touched: pages appear as
 * queue pairs and regions do, so a device that is only listed costs address space and nothing else.
 *
 * They have the sizes for the limits of limits.h, or begin small where a process has thousands of
 * devices with few queue pairs each: then all that a packet looks at is on one page, and a table
 * that has become too small moves to a larger one of its own.
 */
#include "verbs/device.h"

#include "base/assert.h"
#include "base/pow2.h"
#include "verbs/cq_verbs.h"
#include "verbs/limits.h"
#include "verbs/qp_verbs.h"
#include "verbs/srq_verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MR_BUCKETS (1u << 17)
#define TIMERS	   (ROCE_MAX_QP + ROCE_MAX_CQ)

/* Where the tables begin that may be small stands behind them. */
struct roce_device_tables {
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

/* Counts of entries, as the device begins. */
struct sizes {
	uint32_t qps;
	uint32_t mrs;
	uint32_t timers;
};

static struct sizes choose_sizes(const struct roce_transport_config *tuning)
{
	struct sizes s = {ROCE_QPN_NUMBERS, MR_BUCKETS, TIMERS};

	if (tuning->qp_table_mask) {
		s.qps = tuning->qp_table_mask + 1;
		s.timers = s.qps;
	}
	if (tuning->mr_bucket_count)
		s.mrs = tuning->mr_bucket_count;
	ROCE_ASSERT(s.qps <= ROCE_QPN_NUMBERS && roce_pow2_round_up(s.qps) == s.qps);
	return s;
}

int roce_device_init(struct roce_device *dev, const struct roce_device_env *env, void *env_ctx,
		     const struct roce_transport_config *tuning, struct roce_counters *counters)
{
	struct roce_transport_config cfg = *tuning;
	struct sizes sizes = choose_sizes(tuning);
	size_t pointers = (size_t)sizes.qps + sizes.mrs + sizes.timers;
	size_t bytes = pointers * sizeof(void *) + sizeof(struct roce_device_tables);
	void **mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (mem == MAP_FAILED)
		return -ENOMEM;
	*dev = (struct roce_device){.counters = counters,
				    .env = env,
				    .env_ctx = env_ctx,
				    .mapping = mem,
				    .mapping_bytes = bytes,
				    .tables = (void *)(mem + pointers)};
	pthread_mutex_init(&dev->lock, NULL);
	roce_list_init(&dev->contexts);
	roce_list_init(&dev->xrcds);
	cfg.ops = &transport_ops;
	cfg.counters = counters;
	cfg.qp_table = (void *)mem;
	cfg.qp_table_mask = sizes.qps - 1;
	cfg.mr_buckets = (void *)(mem + sizes.qps);
	cfg.mr_bucket_count = sizes.mrs;
	roce_transport_init(&dev->transport, &cfg);
	roce_timer_heap_init(&dev->transport.timers, (void *)(mem + sizes.qps + sizes.mrs),
			     sizes.timers);
	return 0;
}

void roce_device_fini(struct roce_device *dev)
{
	free(dev->grown_qps);
	free(dev->grown_timers);
	munmap(dev->mapping, dev->mapping_bytes);
	dev->tables = NULL;
	pthread_mutex_destroy(&dev->lock);
}

/* ---- growing ---- */

int roce_device_fit_timers(struct roce_device *dev)
{
	struct roce_timer_heap *heap = &dev->transport.timers;
	uint32_t need = dev->transport.qp_count + dev->cq_count;
	struct roce_timer **items;

	if (need < heap->capacity)
		return 0;
	items = calloc(2 * (size_t)heap->capacity, sizeof(*items));
	if (!items)
		return -ENOMEM;
	memcpy(items, heap->items, heap->count * sizeof(*items));
	free(dev->grown_timers);
	dev->grown_timers = items;
	heap->items = items;
	heap->capacity *= 2;
	return 0;
}

/* Each entry goes where its number says. */
static int grow_qps(struct roce_device *dev)
{
	struct roce_transport_config *cfg = &dev->transport.cfg;
	uint32_t mask = cfg->qp_table_mask * 2 + 1;
	struct roce_qp **table = calloc((size_t)mask + 1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	for (uint32_t i = 0; i <= cfg->qp_table_mask; i++)
		if (cfg->qp_table[i])
			table[cfg->qp_table[i]->cfg.qpn.v & mask] = cfg->qp_table[i];
	free(dev->grown_qps);
	dev->grown_qps = table;
	cfg->qp_table = table;
	cfg->qp_table_mask = mask;
	return 0;
}

int roce_device_fit_qp(struct roce_device *dev, uint32_t number)
{
	const struct roce_transport_config *cfg = &dev->transport.cfg;
	int err = roce_device_fit_timers(dev);

	while (!err && cfg->qp_table[number & cfg->qp_table_mask] &&
	       cfg->qp_table_mask < ROCE_QPN_NUMBERS - 1)
		err = grow_qps(dev);
	return err;
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
