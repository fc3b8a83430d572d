/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The groups that uroced serves, one per local address: made when a client first needs the address,
 * watched for packets that reach slot 0 or a spare, looked at again while a member is unknown,
 * repaired when packets go astray, destroyed when unused for a while. Called by session.c, stray.c
 * and server.c; the sockets themselves are group.c's.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "control/address.h"
#include "control/port_owner.h"
#include "control/random.h"
#include "daemon/listen.h"
#include "daemon/member.h"
#include "daemon/server.h"

#define UNKNOWN_NS_MIN	  (5 * ROCE_NS_PER_MS)
#define UNKNOWN_NS_MAX	  ROCE_NS_PER_S
#define REPAIR_NS_MIN	  (20 * ROCE_NS_PER_MS)
#define REPAIR_NS_MAX	  (5 * ROCE_NS_PER_S)
#define REPAIR_NS_QUIET	  (30 * ROCE_NS_PER_S) /* then the interval starts anew */
#define GUARD_PATIENCE_NS (3 * ROCE_NS_PER_S)
#define GUARD_ATTEMPT_MS  10

struct roce_served_group *roce_server_find_group(struct roce_server *s,
						 const struct roce_address *a)
{
	struct roce_list *pos;

	roce_list_for_each (pos, &s->groups) {
		struct roce_served_group *sg =
			roce_container_of(pos, struct roce_served_group, link);

		if (roce_gid_is_equal(&sg->group.address.gid, &a->gid) &&
		    sg->group.address.ifindex == a->ifindex)
			return sg;
	}
	return NULL;
}

struct roce_served_group *roce_server_find_group_by_gid(struct roce_server *s,
							const struct roce_gid *gid)
{
	struct roce_list *pos;

	roce_list_for_each (pos, &s->groups) {
		struct roce_served_group *sg =
			roce_container_of(pos, struct roce_served_group, link);

		if (roce_gid_is_equal(&sg->group.address.gid, gid))
			return sg;
	}
	return NULL;
}

void roce_server_explain(const struct roce_address *a, int error, char *err, size_t err_size)
{
	struct roce_port_owner owner = {.uid = geteuid()};
	char text[128];

	roce_address_str(a, text, sizeof(text));
	if (error == -EADDRINUSE && roce_port_owner_find(&a->gid, &owner) &&
	    roce_port_owner_is_soft_roce(&owner, ROCE_SOFT_ROCE_MODULE))
		snprintf(err, err_size, "%s", roce_port_owner_soft_roce_text);
	else if (error == -EADDRINUSE && owner.uid != geteuid())
		snprintf(
			err, err_size,
			ROCE_PORT_OWNER_TEXT_START
			"of %s is in use by another user (uid %u): use another address "
			"or network namespace (`unshare -rn`), or let root run uroced --share-with "
			"both users",
			text, owner.uid);
	else if (error == -EADDRINUSE)
		snprintf(err, err_size,
			 ROCE_PORT_OWNER_TEXT_START
			 "of %s is in use by another program (see `ss -ulpn sport = "
			 ":%d`): end it, or use another address or network namespace",
			 text, ROCE_CONTROL_PORT);
	else if (error == -EADDRNOTAVAIL)
		snprintf(err, err_size, "%s is not an address of this network namespace", text);
	else if (error == -EMFILE || error == -ENFILE)
		snprintf(err, err_size, "uroced is at its limit of descriptors (ulimit -n): %s",
			 text);
	else if (error == -ENOBUFS)
		snprintf(err, err_size, "too many sockets on %s", text);
	else
		snprintf(err, err_size, "no receiving socket on %s: %s", text, strerror(-error));
}

static void on_replaced(void *ctx, const struct roce_group *g, uint8_t slot, int fd)
{
	struct roce_server *s = ctx;
	struct roce_session *c = roce_server_find_holder(s, slot);

	if (c)
		roce_session_send_replacement(
			s, c,
			(const struct roce_served_group *)((const char *)g -
							   offsetof(struct roce_served_group,
								    group)),
			slot, fd);
}

/* Else epoll would go on reporting it while the keeper holds a copy. */
static void on_close(void *ctx, int fd)
{
	struct roce_server *s = ctx;

	epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

static void watch_spares(struct roce_server *s, struct roce_served_group *sg)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = &sg->spares};

	for (unsigned i = 0; i < sg->group.count; i++) {
		struct roce_group_member *m = &sg->group.member[i];
		bool is_spare = m->kind == ROCE_MEMBER_SPARE;

		if (is_spare != m->is_watched && m->fd >= 0)
			epoll_ctl(s->epoll_fd, is_spare ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, m->fd,
				  &ev);
		m->is_watched = is_spare;
	}
}

struct roce_served_group *roce_server_make_group(void)
{
	struct roce_served_group *sg = calloc(1, sizeof(*sg));

	if (!sg)
		return NULL;
	sg->slot0.fd = -1;
	sg->slot0.on_ready = roce_stray_on_slot0;
	sg->spares.on_ready = roce_stray_on_spares;
	sg->unknown_interval = UNKNOWN_NS_MIN;
	sg->repair_interval = REPAIR_NS_MIN;
	sg->unused_since = roce_clock_now();
	roce_list_init(&sg->link);
	return sg;
}

/* Who looks whether the address is taken has seen it by the connection: no more is said. */
static void on_guard_ready(struct roce_server *s, struct roce_source *source)
{
	int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC);

	(void)s;
	if (fd >= 0)
		close(fd);
	else if (errno == EMFILE || errno == ENFILE)
		poll(NULL, 0, 10); /* it stays readable: do not spin */
}

void roce_server_watch_guard(struct roce_server *s, struct roce_served_group *sg)
{
	sg->guard.fd = sg->group.guard_fd;
	sg->guard.on_ready = on_guard_ready;
	if (sg->guard.fd >= 0)
		roce_server_add_source(s, &sg->guard);
}

void roce_server_set_group_handlers(struct roce_server *s, struct roce_group *g)
{
	g->on_replaced = on_replaced;
	g->on_close = on_close;
	g->ctx = s;
}

static void enlist_group(struct roce_server *s, struct roce_served_group *sg)
{
	roce_server_set_group_handlers(s, &sg->group);
	roce_list_add_tail(&s->groups, &sg->link);
	s->group_count++;
	roce_server_watch_guard(s, sg);
	roce_server_on_group_changed(s, sg);
}

void roce_server_destroy_group(struct roce_server *s, struct roce_served_group *sg)
{
	struct roce_keeper_record r = {.kind = ROCE_KEEPER_DROP_GROUP,
				       .address = sg->group.address};

	roce_handover_keep(s, &r, -1);
	if (sg->group.guard_fd >= 0) {
		on_close(s, sg->group.guard_fd);
		/* The keeper's copy would answer until it is closed, and we believe it who asks
		 * for the address next. */
		shutdown(sg->group.guard_fd, SHUT_RDWR);
	}
	roce_group_fini(&sg->group);
	roce_list_remove(&sg->link);
	s->group_count--;
	free(sg);
}

/* One that died a moment ago may still be letting go of it. */
static int get_guard(const struct roce_address *a, struct ucred *out_owner)
{
	roce_ns_t until = roce_clock_now() + GUARD_PATIENCE_NS;

	for (;;) {
		int guard = roce_listen_guard(a, out_owner);

		if (guard != -EADDRINUSE || roce_clock_now() >= until ||
		    out_owner->pid == ROCE_LISTEN_BUSY ||
		    (out_owner->pid > 0 && kill(out_owner->pid, 0) == 0))
			return guard;
		poll(NULL, 0, GUARD_ATTEMPT_MS);
	}
}

int roce_server_get_group(struct roce_server *s, const struct roce_address *a, uint32_t nonce,
			  struct roce_served_group **out, char *err, size_t err_size)
{
	struct roce_served_group *sg = roce_server_find_group(s, a);
	struct ucred owner;
	char text[128], whose[32] = "";
	int guard, error;

	if (sg) {
		*out = sg;
		return 0;
	}
	roce_address_str(a, text, sizeof(text));
	if (s->group_count >= ROCE_SERVER_GROUPS_MAX) {
		snprintf(err, err_size, "uroced serves its maximum of %d addresses",
			 ROCE_SERVER_GROUPS_MAX);
		return -EDQUOT;
	}
	guard = get_guard(a, &owner);
	if (guard == -EACCES) {
		s->counter[ROCE_SERVER_guards_taken]++;
		roce_server_log(s, "user %u sits on all names of %s: serving it without one",
				owner.uid, text);
	} else if (guard == -EADDRINUSE) {
		if (owner.pid > 0)
			snprintf(whose, sizeof(whose), " (pid %d)", owner.pid);
		snprintf(err, err_size,
			 "another uroced of this user%s has %s: use its socket (UROCE_SOCKET) or "
			 "another address",
			 whose, text);
		return guard;
	} else if (guard < 0) {
		roce_server_explain(a, guard, err, err_size);
		return guard;
	}
	sg = roce_server_make_group();
	error = sg ? 0 : -ENOMEM;
	while (!error && !nonce)
		error = roce_random_fill(&nonce, sizeof(nonce));
	if (!error)
		error = roce_group_init(&sg->group, a, nonce);
	if (error) {
		roce_server_explain(a, error, err, err_size);
		if (guard >= 0)
			close(guard);
		free(sg);
		return error;
	}
	sg->group.guard_fd = guard >= 0 ? guard : -1;
	enlist_group(s, sg);
	*out = sg;
	return 0;
}

void roce_server_on_group_changed(struct roce_server *s, struct roce_served_group *sg)
{
	struct roce_group *g = &sg->group;
	int fd = roce_group_get_daemon_fd(g);

	if (fd >= 0 && fd != sg->slot0.fd) {
		sg->slot0.fd = fd;
		roce_server_add_source(s, &sg->slot0);
	}
	watch_spares(s, sg);
	roce_handover_keep_group(s, sg);
	s->counter[ROCE_SERVER_repairs] += g->repair_count - sg->repairs_seen;
	sg->repairs_seen = g->repair_count;
	if (roce_group_count(g, ROCE_MEMBER_LEASED))
		sg->unused_since = 0;
	else if (!sg->unused_since)
		sg->unused_since = roce_clock_now();
	if (!roce_group_count(g, ROCE_MEMBER_UNKNOWN)) {
		sg->unknown_check_at = 0;
	} else if (!sg->unknown_check_at) {
		sg->unknown_interval = UNKNOWN_NS_MIN;
		sg->unknown_check_at = roce_clock_now() + UNKNOWN_NS_MIN;
	}
}

void roce_server_remove_member(struct roce_server *s, struct roce_served_group *sg, uint8_t slot)
{
	if (roce_group_find(&sg->group, slot) < 0)
		return;
	roce_group_remove(&sg->group, slot);
	sg->unknown_check_at = 0; /* the keeper lets go of it in a moment: look soon */
	roce_server_on_group_changed(s, sg);
}

/*
 * First the program is attached again, which costs nothing and nobody a packet. If packets go
 * astray still (those on their way excepted), all numbers are found out. Peers can cause strays by
 * mixing batches, so the interval grows.
 */
void roce_server_suspect(struct roce_server *s, struct roce_served_group *sg)
{
	roce_ns_t now = roce_clock_now();

	if (now < sg->repair_after)
		return;
	if (now > sg->repair_after + REPAIR_NS_QUIET) {
		sg->repair_interval = REPAIR_NS_MIN;
		sg->reattached_at = 0;
	}
	if (!sg->reattached_at) {
		roce_group_attach(&sg->group);
		sg->reattached_at = now;
		sg->repair_after = now + REPAIR_NS_MIN;
		return;
	}
	sg->reattached_at = 0;
	if (roce_group_resync(&sg->group))
		roce_server_log(s, "repaired a group of %u sockets", sg->group.count);
	sg->repair_after = now + sg->repair_interval;
	if (sg->repair_interval < REPAIR_NS_MAX)
		sg->repair_interval *= 2;
	roce_server_on_group_changed(s, sg);
}

void roce_server_check_groups(struct roce_server *s, roce_ns_t now, roce_ns_t *next)
{
	struct roce_list *pos, *tmp;

	roce_list_for_each_safe (pos, tmp, &s->groups) {
		struct roce_served_group *sg =
			roce_container_of(pos, struct roce_served_group, link);

		if (sg->unused_since && now >= sg->unused_since + ROCE_SERVER_GROUP_REST_NS) {
			if (!roce_cm_service_needs(s, &sg->group.address)) {
				roce_server_destroy_group(s, sg);
				continue;
			}
			sg->unused_since = now;
		}
		if (sg->unknown_check_at && now >= sg->unknown_check_at) {
			bool is_left = roce_group_check_unknown(&sg->group);

			if (sg->unknown_interval < UNKNOWN_NS_MAX)
				sg->unknown_interval *= 2;
			roce_server_on_group_changed(s, sg);
			if (is_left)
				sg->unknown_check_at = now + sg->unknown_interval;
		}
		roce_server_nearest(next, sg->unknown_check_at);
		if (sg->unused_since)
			roce_server_nearest(next, sg->unused_since + ROCE_SERVER_GROUP_REST_NS);
	}
}

void roce_server_leave_groups(struct roce_server *s)
{
	struct roce_list *pos, *tmp;

	roce_list_for_each_safe (pos, tmp, &s->groups) {
		struct roce_served_group *sg =
			roce_container_of(pos, struct roce_served_group, link);

		roce_group_leave(&sg->group);
		if (sg->group.guard_fd >= 0)
			shutdown(sg->group.guard_fd, SHUT_RDWR); /* as above */
		roce_group_fini(&sg->group);
		roce_list_remove(&sg->link);
		free(sg);
	}
}
