/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests that come a moment before their listener. Programs close a listener and open it again
 * for the next connection while the peer, who was told first, asks already (perftest with -R does
 * so for its second connection). So a request for a service whose listener has just gone is kept
 * for half a second: a listener that opens meanwhile gets it, else it is refused as any
 * other. A service that nobody has listened to lately is refused at once.
 */
#include "cm/rx.h"

#include "base/marks.h"

#include <string.h>

static uint64_t service_of(const struct roce_cm_message *m)
{
	return m->attr == ROCE_CM_REQ ? m->req.service_id : m->sidr_req.service_id;
}

void roce_cm_early_on_unlisten(struct roce_cm *cm, uint64_t service_id, roce_ns_t now)
{
	/* The oldest note goes: then that service's requests are refused at once. */
	cm->closed[cm->closed_next++ % ROCE_CM_CLOSED_MAX] =
		(struct roce_cm_closed){service_id, now + ROCE_CM_CLOSED_NS};
}

static bool is_closed_lately(const struct roce_cm *cm, uint64_t service_id, roce_ns_t now)
{
	for (unsigned i = 0; i < ROCE_CM_CLOSED_MAX; i++)
		if (cm->closed[i].service_id == service_id && cm->closed[i].until > now)
			return true;
	return false;
}

static struct roce_cm_early *find_free(struct roce_cm *cm)
{
	for (unsigned i = 0; i < ROCE_CM_EARLY_MAX; i++)
		if (!cm->early[i].until)
			return &cm->early[i];
	return NULL;
}

bool roce_cm_early_keep(const struct roce_cm_rx *rx, const uint8_t *mad)
{
	struct roce_cm *cm = rx->cm;
	struct roce_cm_early *e;

	if ((rx->m->attr != ROCE_CM_REQ && rx->m->attr != ROCE_CM_SIDR_REQ) ||
	    !is_closed_lately(cm, service_of(rx->m), rx->now) ||
	    roce_cm_lookup_listener(cm, service_of(rx->m), rx->route))
		return false;
	e = find_free(cm);
	if (!e)
		return false;
	ROCE_MARK(early_kept);
	e->route = *rx->route;
	e->service_id = service_of(rx->m);
	e->since = rx->now;
	e->until = rx->now + ROCE_CM_EARLY_NS;
	memcpy(e->mad, mad, sizeof(e->mad));
	return true;
}

void roce_cm_early_on_listen(struct roce_cm *cm, uint64_t service_id)
{
	for (unsigned i = 0; i < ROCE_CM_EARLY_MAX; i++)
		if (cm->early[i].until && cm->early[i].service_id == service_id)
			cm->early[i].until = cm->early[i].since; /* it is due */
}

roce_ns_t roce_cm_early_deadline(const struct roce_cm *cm)
{
	roce_ns_t deadline = ROCE_NEVER;

	for (unsigned i = 0; i < ROCE_CM_EARLY_MAX; i++)
		if (cm->early[i].until && cm->early[i].until < deadline)
			deadline = cm->early[i].until;
	return deadline;
}

void roce_cm_early_on_deadline(struct roce_cm *cm, roce_ns_t now)
{
	for (unsigned i = 0; i < ROCE_CM_EARLY_MAX; i++) {
		struct roce_cm_early *e = &cm->early[i];

		if (!e->until || e->until > now)
			continue;
		e->until = 0;
		roce_cm_rx_again(cm, &e->route, e->mad, now);
	}
}
