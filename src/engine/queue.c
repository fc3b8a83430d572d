/* SPDX-License-Identifier: BSD-2-Clause */
/* The slot's addresses: opened with the first queue pair that sends from one, closed with the last.
 */
#include "engine/queue.h"

#include "control/message.h"
#include "engine/group.h"

#include "pktio/udp/udp.h"
#include "verbs/limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Every GID that a device lists can be used, also by one process. */
_Static_assert(ROCE_CONTROL_SLOT_ADDR_MAX >= ROCE_GID_TABLE &&
		       ROCE_QUEUE_ADDRESSES_MAX >= ROCE_GID_TABLE + ROCE_QUEUE_GROUPS_MAX,
	       "addresses of a slot");

int roce_queue_init(struct roce_queue *q)
{
	q->ready_fd = -1;
	q->stage = malloc(ROCE_QUEUE_STAGE_BYTES);
	return q->stage ? 0 : -ENOMEM;
}

static struct roce_queue_address *find_address(struct roce_queue *q, const struct roce_gid *gid)
{
	for (uint32_t i = 0; i < q->address_count; i++) {
		if (q->addresses[i].use_count && roce_gid_is_equal(&q->addresses[i].gid, gid))
			return &q->addresses[i];
	}
	return NULL;
}

static struct roce_queue_address *take_place(struct roce_queue *q)
{
	for (uint32_t i = 0; i < ROCE_QUEUE_ADDRESSES_MAX; i++) {
		if (q->addresses[i].use_count)
			continue;
		if (i >= q->address_count)
			q->address_count = i + 1;
		return &q->addresses[i];
	}
	return NULL;
}

static int open_io(struct roce_queue *q, const struct roce_gid *gid, int fd,
		   struct roce_pktio **out)
{
	struct roce_udp_config cfg = {
		.local = *gid, .ifindex = q->ifindex, .rx_fd = fd, .stats = &q->counters->pktio};
	struct roce_pktio *io;
	int err = roce_udp_open(&cfg, &io);

	if (err) {
		close(fd);
		return err;
	}
	if (q->impair) {
		struct roce_pktio *inner = io;

		err = roce_impair_open(q->impair, inner, &io);
		if (err) {
			roce_pktio_close(inner);
			return err;
		}
	}
	*out = io;
	return 0;
}

int roce_queue_open_address(struct roce_queue *q, const struct roce_gid *gid, bool *out_is_new,
			    char *err)
{
	struct roce_queue_address *a = find_address(q, gid);
	int result;
	int fd;

	*out_is_new = false;
	if (a) {
		a->use_count++;
		return 0;
	}
	a = take_place(q);
	if (!a) {
		snprintf(err, ROCE_LEASE_ERROR_MAX, "more than %u addresses in use at once",
			 ROCE_QUEUE_ADDRESSES_MAX);
		return -ENOSPC;
	}
	result = roce_lease_open_address(q->lease, gid, q->ifindex, &fd, err);
	if (result)
		return result;
	a->senders = calloc(ROCE_QUEUE_SENDERS, sizeof(*a->senders));
	if (!a->senders) {
		close(fd);
		result = -ENOMEM;
	} else {
		result = open_io(q, gid, fd, &a->io);
	}
	if (result) {
		free(a->senders);
		a->senders = NULL;
		roce_lease_close_address(q->lease, gid, q->ifindex);
		snprintf(err, ROCE_LEASE_ERROR_MAX, "%s", strerror(-result));
		return result;
	}
	a->gid = *gid;
	a->use_count = 1;
	roce_queue_ready_add(q, a);
	*out_is_new = true;
	return 0;
}

static void drop_address(struct roce_queue_address *a, bool closes_fd)
{
	if (closes_fd)
		roce_pktio_close(a->io);
	else
		roce_pktio_close_but_fd(a->io);
	free(a->senders);
	*a = (struct roce_queue_address){0};
}

static void trim_places(struct roce_queue *q)
{
	while (q->address_count && !q->addresses[q->address_count - 1].use_count)
		q->address_count--;
}

void roce_queue_close_address(struct roce_queue *q, const struct roce_gid *gid)
{
	struct roce_queue_address *a = find_address(q, gid);

	if (!a)
		return;
	if (a->use_count > 1) {
		a->use_count--;
		return;
	}
	roce_queue_ready_remove(q, a);
	drop_address(a, true);
	roce_lease_close_address(q->lease, gid, q->ifindex);
	trim_places(q);
}

/* Two processes may join the same group: each has a socket of its own, and a copy of each packet.
 */
int roce_queue_join_group(struct roce_queue *q, const struct roce_gid *mgid, bool *out_is_new,
			  char *err)
{
	struct roce_queue_address *a = find_address(q, mgid);
	int result;
	int fd;

	*out_is_new = false;
	if (a) {
		a->use_count++;
		return 0;
	}
	a = q->group_count < ROCE_QUEUE_GROUPS_MAX ? take_place(q) : NULL;
	if (!a) {
		snprintf(err, ROCE_LEASE_ERROR_MAX, "more than %u multicast groups at once",
			 ROCE_QUEUE_GROUPS_MAX);
		return -ENOMEM;
	}
	result = roce_group_socket(mgid, q->ifindex, &fd);
	if (result) {
		snprintf(err, ROCE_LEASE_ERROR_MAX, "cannot join the multicast group: %s",
			 strerror(-result));
		return result;
	}
	a->senders = calloc(ROCE_QUEUE_SENDERS, sizeof(*a->senders));
	if (!a->senders || open_io(q, mgid, fd, &a->io)) {
		if (!a->senders)
			close(fd);
		free(a->senders);
		a->senders = NULL;
		snprintf(err, ROCE_LEASE_ERROR_MAX, "out of memory");
		return -ENOMEM;
	}
	a->gid = *mgid;
	a->use_count = 1;
	a->is_group = true;
	q->group_count++;
	roce_queue_ready_add(q, a);
	*out_is_new = true;
	return 0;
}

void roce_queue_leave_group(struct roce_queue *q, const struct roce_gid *mgid)
{
	struct roce_queue_address *a = find_address(q, mgid);

	if (!a)
		return;
	if (a->use_count > 1) {
		a->use_count--;
		return;
	}
	roce_queue_ready_remove(q, a);
	drop_address(a, true);
	q->group_count--;
	trim_places(q);
}

void roce_queue_abandon(struct roce_queue *q, bool are_sockets_closed)
{
	roce_queue_ready_abandon(q);
	for (uint32_t i = 0; i < q->address_count; i++) {
		struct roce_queue_address *a = &q->addresses[i];

		if (a->use_count)
			drop_address(a, a->is_group || !are_sockets_closed);
	}
	q->address_count = 0;
}

void roce_queue_fini(struct roce_queue *q)
{
	roce_queue_ready_abandon(q);
	for (uint32_t i = 0; i < q->address_count; i++) {
		struct roce_queue_address *a = &q->addresses[i];
		struct roce_gid gid = a->gid;
		bool is_leased = !a->is_group;

		if (!a->use_count)
			continue;
		drop_address(a, true);
		if (is_leased)
			roce_lease_close_address(q->lease, &gid, q->ifindex);
	}
	free(q->stage);
	q->stage = NULL;
}

void roce_queue_renew(struct roce_queue *q, struct roce_queue_address *a)
{
	roce_pktio_renew(a->io);
	roce_queue_ready_renew(q);
}

roce_ns_t roce_queue_deadline(const struct roce_queue *q)
{
	roce_ns_t earliest = ROCE_NEVER;

	for (uint32_t i = 0; i < q->address_count; i++) {
		if (q->addresses[i].use_count) {
			roce_ns_t deadline = roce_pktio_deadline(q->addresses[i].io);

			if (deadline < earliest)
				earliest = deadline;
		}
	}
	return earliest;
}
