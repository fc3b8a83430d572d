/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The responder's memory of READs and atomics: the newest max_dest_rd_atomic of them are kept, so
 * that a duplicate request gets the same answer again (IBTA: a READ is read anew, an atomic is
 * never executed twice). Entries live in a ring in PSN order. The number kept is rounded up to a
 * power of two: Linux Soft-RoCE rounds its max_rd_atomic so, and has more under way than was
 * agreed.
 */
#include "transport/roles.h"

#include "base/assert.h"

static struct roce_resp_resource *at(struct roce_responder *resp, uint32_t index)
{
	return &resp->resources[index % ROCE_MAX_RD_ATOMIC];
}

static uint32_t oldest(const struct roce_responder *resp)
{
	return resp->resource_head - resp->resource_count;
}

/* At most ROCE_MAX_RD_ATOMIC, a power of two itself; a peer that may ask for nothing gets nothing.
 */
static uint32_t room(const struct roce_qp *qp)
{
	uint32_t entries = 1;

	while (entries < qp->attr.max_dest_rd_atomic)
		entries *= 2;
	return qp->attr.max_dest_rd_atomic ? entries : 0;
}

/* A peer that asks anew has seen the answers to all but as many of its newest requests, so
 * an entry that is only being repeated may go; one that was never answered may not. */
bool roce_resp_resource_has_room(struct roce_qp *qp)
{
	struct roce_responder *resp = &qp->resp;
	const struct roce_resp_resource *res;

	if (resp->resource_count < room(qp))
		return true;
	if (qp->attr.max_dest_rd_atomic == 0)
		return false;
	res = at(resp, oldest(resp));
	return !res->is_pending || res->is_answered;
}

struct roce_resp_resource *roce_resp_resource_add(struct roce_qp *qp)
{
	struct roce_responder *resp = &qp->resp;
	struct roce_resp_resource *res;

	ROCE_ASSERT(roce_resp_resource_has_room(qp));
	while (resp->resource_count >= room(qp)) {
		roce_resp_resource_set_pending(qp, at(resp, oldest(resp)), false);
		resp->resource_count--;
	}
	res = at(resp, resp->resource_head++);
	resp->resource_count++;
	*res = (struct roce_resp_resource){0};
	return res;
}

/* An entry from half a PSN space ago would look like a future one: it is out of the game. */
static bool is_recent(const struct roce_responder *resp, const struct roce_resp_resource *res)
{
	return roce_psn_diff(res->first_psn, resp->expected_psn) < 0;
}

struct roce_resp_resource *roce_resp_resource_find(struct roce_qp *qp, roce_psn_t psn)
{
	struct roce_responder *resp = &qp->resp;

	/* Newest first: one of a whole PSN space ago may have the same PSN. */
	for (uint32_t i = resp->resource_head; i != oldest(resp); i--) {
		struct roce_resp_resource *res = at(resp, i - 1);

		if (is_recent(resp, res) && roce_psn_diff(psn, res->first_psn) >= 0 &&
		    roce_psn_diff(psn, res->last_psn) <= 0)
			return res;
	}
	return NULL;
}

struct roce_resp_resource *roce_resp_resource_pending(struct roce_qp *qp)
{
	struct roce_responder *resp = &qp->resp;

	if (resp->pending_count == 0)
		return NULL;
	for (uint32_t i = oldest(resp); i != resp->resource_head; i++)
		if (at(resp, i)->is_pending)
			return at(resp, i);
	return NULL;
}

struct roce_resp_resource *roce_resp_resource_after(struct roce_qp *qp, roce_psn_t psn)
{
	struct roce_responder *resp = &qp->resp;

	for (uint32_t i = oldest(resp); i != resp->resource_head; i++) {
		struct roce_resp_resource *res = at(resp, i);

		if (is_recent(resp, res) && roce_psn_diff(res->first_psn, psn) > 0)
			return res;
	}
	return NULL;
}

void roce_resp_resource_set_pending(struct roce_qp *qp, struct roce_resp_resource *res,
				    bool is_pending)
{
	if (res->is_pending == is_pending)
		return;
	res->is_pending = is_pending;
	if (is_pending)
		qp->resp.pending_count++;
	else
		qp->resp.pending_count--;
}
