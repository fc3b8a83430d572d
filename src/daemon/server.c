/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uroced's loop and what belongs to no single client: the groups of sockets, the keeper's copy of
 * them, slots that wait for their claim after a restart, leaving. epoll hands out one event at a
 * time, so a handler may destroy any other source. Everything that takes time is a deadline that
 * on_tick() looks at; the loop sleeps until the nearest.
 */
#include "daemon/server.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "daemon/listen.h"
#include "daemon/member.h"

#define UNKNOWN_NS_MIN	   (5 * ROCE_NS_PER_MS)
#define UNKNOWN_NS_MAX	   ROCE_NS_PER_S
#define REPAIR_NS_MIN	   (20 * ROCE_NS_PER_MS)
#define REPAIR_NS_MAX	   (5 * ROCE_NS_PER_S)
#define REPAIR_NS_QUIET	   (30 * ROCE_NS_PER_S) /* then the interval starts anew */
#define ORPHAN_NS_INTERVAL (200 * ROCE_NS_PER_MS)
#define KEEPER_NS_INTERVAL ROCE_NS_PER_S /* between two starts of a keeper */
#define GUARD_ATTEMPTS_MAX 20
#define GUARD_ATTEMPT_MS   10
#define KEEPER_BYE_MS	   300
#define RESUME_SECONDS_MAX 5

roce_ns_t roce_server_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (roce_ns_t)ts.tv_sec * ROCE_NS_PER_S + (roce_ns_t)ts.tv_nsec;
}

__attribute__((format(printf, 2, 3))) static void log_line(const struct roce_server *s,
							   const char *format, ...)
{
	va_list ap;

	if (!s->cfg.is_foreground)
		return;
	fputs("uroced: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
}

const char *roce_server_counter_str(enum roce_server_counter counter)
{
	static const char *const names[] = {
#define X(name) #name,
		ROCE_SERVER_COUNTERS(X)
#undef X
	};

	return counter < ROCE_SERVER_COUNTER_COUNT ? names[counter] : "?";
}

static void add_source(struct roce_server *s, struct roce_source *source)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = source};

	epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, source->fd, &ev);
}

/* ---- keeper ---- */

static void keep(struct roce_server *s, const struct roce_keeper_record *r, int fd)
{
	if (s->keeper.fd < 0)
		return;
	/* A keeper that does not take it is dead or stopped: its end is seen in the loop. */
	if (roce_keeper_send(s->keeper.fd, r, fd))
		shutdown(s->keeper.fd, SHUT_RDWR);
}

static void keep_group(struct roce_server *s, struct roce_served_group *sg)
{
	struct roce_group *g = &sg->group;
	struct roce_keeper_record r = {.address = g->address, .nonce = g->nonce};

	r.kind = ROCE_KEEPER_DROP_MEMBER;
	for (unsigned i = 0; i < g->gone_count; i++) {
		r.inode = g->gone[i];
		keep(s, &r, -1);
	}
	g->gone_count = 0;
	if (s->keeper.fd < 0)
		return;
	if (!g->is_guard_kept) {
		r.kind = ROCE_KEEPER_GUARD;
		keep(s, &r, g->guard_fd);
		g->is_guard_kept = true;
	}
	for (unsigned i = 0; i < g->count; i++) {
		struct roce_group_member *m = &g->member[i];

		if (m->fd < 0 || m->kept_index == (int32_t)i)
			continue;
		r.kind = ROCE_KEEPER_MEMBER;
		r.inode = m->inode;
		r.member_kind = m->kind;
		r.slot = m->slot;
		r.index = i;
		keep(s, &r, m->fd);
		m->kept_index = (int32_t)i;
	}
}

static uint64_t get_start_time(int32_t pid)
{
	char path[64], line[1024], *p;
	unsigned long long start = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = pid > 0 ? fopen(path, "re") : NULL;
	if (!f)
		return 0;
	/* The name in parentheses may hold anything; the 20th field after it. */
	p = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	if (!p || sscanf(p + 1,
			 " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
			 "%*d %*d %llu",
			 &start) != 1)
		start = 0;
	fclose(f);
	return start;
}

void roce_server_keep_slot(struct roce_server *s, uint8_t slot, const struct roce_session *c)
{
	struct roce_keeper_record r = {.kind = ROCE_KEEPER_SLOT,
				       .slot = slot,
				       .pid = c->peer.pid,
				       .uid = c->peer.uid,
				       .instance = c->instance};

	r.start_time = get_start_time(c->peer.pid);
	snprintf(r.program, sizeof(r.program), "%s", c->program);
	keep(s, &r, -1);
}

static void on_keeper_ready(struct roce_server *s, struct roce_source *source);

static void start_keeper(struct roce_server *s)
{
	struct roce_keeper_record r = {.kind = ROCE_KEEPER_LISTEN, .listen = s->cfg.listen};
	struct roce_list *pos;

	s->keeper_started = roce_server_now();
	if (!s->cfg.has_keeper || roce_keeper_start(s->cfg.argv, &s->keeper.fd, &s->keeper_pid)) {
		s->keeper.fd = -1;
		return;
	}
	s->keeper.on_ready = on_keeper_ready;
	add_source(s, &s->keeper);
	keep(s, &r, s->listen.fd);
	roce_list_for_each (pos, &s->groups) {
		struct roce_served_group *sg =
			roce_container_of(pos, struct roce_served_group, link);

		sg->group.is_guard_kept = false;
		for (unsigned i = 0; i < sg->group.count; i++)
			sg->group.member[i].kept_index = ROCE_MEMBER_NOT_KEPT;
		keep_group(s, sg);
	}
	for (unsigned i = 1; i <= ROCE_LEASE_SLOT_MAX; i++) {
		struct roce_session *c = roce_server_find_holder(s, (uint8_t)i);

		if (c)
			roce_server_keep_slot(s, (uint8_t)i, c);
	}
}

/* It never speaks after a hand-over: readable means gone. */
static void on_keeper_ready(struct roce_server *s, struct roce_source *source)
{
	struct roce_list *pos;

	close(source->fd);
	source->fd = -1;
	s->counter[ROCE_SERVER_keeper_restarts]++;
	log_line(s, "the keeper is gone");
	roce_list_for_each (pos, &s->groups) {
		struct roce_group *g =
			&roce_container_of(pos, struct roce_served_group, link)->group;

		for (unsigned i = 0; i < g->count; i++)
			g->member[i].kept_index = ROCE_MEMBER_NOT_KEPT;
	}
	if (roce_server_now() - s->keeper_started >= KEEPER_NS_INTERVAL)
		start_keeper(s); /* else on_tick() does */
}

/* ---- groups ---- */

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
	char text[128];
	uint32_t uid;

	roce_address_str(a, text, sizeof(text));
	if (error == -EADDRINUSE && roce_member_find_owner(a, &uid) && uid != geteuid())
		snprintf(
			err, err_size,
			"UDP port %d of %s is in use by another user (uid %u): use another address "
			"or network namespace (`unshare -rn`), or let root run uroced --share-with "
			"both users",
			ROCE_CONTROL_PORT, text, uid);
	else if (error == -EADDRINUSE)
		snprintf(err, err_size,
			 "UDP port %d of %s is in use by another program (see `ss -ulpn sport = "
			 ":%d`): end it, or use another address or network namespace",
			 ROCE_CONTROL_PORT, text, ROCE_CONTROL_PORT);
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

static struct roce_served_group *make_group(void)
{
	struct roce_served_group *sg = calloc(1, sizeof(*sg));

	if (!sg)
		return NULL;
	sg->slot0.fd = -1;
	sg->slot0.on_ready = roce_stray_on_slot0;
	sg->spares.on_ready = roce_stray_on_spares;
	sg->unknown_interval = UNKNOWN_NS_MIN;
	sg->repair_interval = REPAIR_NS_MIN;
	sg->unused_since = roce_server_now();
	roce_list_init(&sg->link);
	return sg;
}

static void set_handlers(struct roce_server *s, struct roce_group *g)
{
	g->on_replaced = on_replaced;
	g->on_close = on_close;
	g->ctx = s;
}

static void enlist_group(struct roce_server *s, struct roce_served_group *sg)
{
	set_handlers(s, &sg->group);
	roce_list_add_tail(&s->groups, &sg->link);
	s->group_count++;
	roce_server_on_group_changed(s, sg);
}

static void destroy_group(struct roce_server *s, struct roce_served_group *sg)
{
	struct roce_keeper_record r = {.kind = ROCE_KEEPER_DROP_GROUP,
				       .address = sg->group.address};

	keep(s, &r, -1);
	roce_group_fini(&sg->group);
	roce_list_remove(&sg->link);
	s->group_count--;
	free(sg);
}

/* One that died a moment ago may still be letting go of it. */
static int get_guard(const struct roce_rendezvous *name, struct ucred *out_owner)
{
	for (int attempt = 0;; attempt++) {
		int guard = roce_listen_guard(name, out_owner);

		if (guard != -EADDRINUSE || attempt == GUARD_ATTEMPTS_MAX ||
		    (out_owner->pid > 0 && kill(out_owner->pid, 0) == 0))
			return guard;
		poll(NULL, 0, GUARD_ATTEMPT_MS);
	}
}

int roce_server_get_group(struct roce_server *s, const struct roce_address *a, uint32_t nonce,
			  struct roce_served_group **out, char *err, size_t err_size)
{
	struct roce_served_group *sg = roce_server_find_group(s, a);
	struct roce_rendezvous name;
	struct ucred owner;
	char text[128];
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
	roce_rendezvous_for_address(&name, &a->gid, a->ifindex);
	guard = get_guard(&name, &owner);
	if (guard < 0) {
		if (guard == -EADDRINUSE && owner.uid == geteuid())
			snprintf(err, err_size,
				 "another uroced of this user (pid %d) has %s: use its socket "
				 "(UROCE_SOCKET) or another address",
				 owner.pid, text);
		else if (guard == -EADDRINUSE)
			snprintf(err, err_size,
				 "%s is in use by the uroced of another user (uid %u): use another "
				 "address or network namespace (`unshare -rn`), or let root run "
				 "uroced --share-with both users",
				 text, owner.uid);
		else
			roce_server_explain(a, guard, err, err_size);
		return guard;
	}
	sg = make_group();
	error = sg ? 0 : -ENOMEM;
	while (!error && !nonce)
		if (getrandom(&nonce, sizeof(nonce), 0) < 0 && errno != EINTR)
			nonce = (uint32_t)roce_server_now() | 1;
	if (!error)
		error = roce_group_init(&sg->group, a, nonce);
	if (error) {
		roce_server_explain(a, error, err, err_size);
		close(guard);
		free(sg);
		return error;
	}
	sg->group.guard_fd = guard;
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
		add_source(s, &sg->slot0);
	}
	watch_spares(s, sg);
	keep_group(s, sg);
	s->counter[ROCE_SERVER_repairs] += g->repair_count - sg->repairs_seen;
	sg->repairs_seen = g->repair_count;
	if (roce_group_count(g, ROCE_MEMBER_LEASED))
		sg->unused_since = 0;
	else if (!sg->unused_since)
		sg->unused_since = roce_server_now();
	if (!roce_group_count(g, ROCE_MEMBER_UNKNOWN)) {
		sg->unknown_check_at = 0;
	} else if (!sg->unknown_check_at) {
		sg->unknown_interval = UNKNOWN_NS_MIN;
		sg->unknown_check_at = roce_server_now() + UNKNOWN_NS_MIN;
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

void roce_server_release_slot(struct roce_server *s, uint8_t slot)
{
	struct roce_keeper_record r = {.kind = ROCE_KEEPER_DROP_SLOT, .slot = slot};
	struct roce_list *pos;

	roce_list_for_each (pos, &s->groups)
		roce_server_remove_member(s, roce_container_of(pos, struct roce_served_group, link),
					  slot);
	roce_lease_table_release(&s->leases, slot);
	s->orphan[slot].until = 0;
	keep(s, &r, -1);
}

struct roce_session *roce_server_find_holder(struct roce_server *s, uint8_t slot)
{
	const struct roce_lease_entry *l = &s->leases.lease[slot];
	struct roce_list *pos;

	if (slot < 1 || slot > ROCE_LEASE_SLOT_MAX || !l->is_held || !l->holder)
		return NULL;
	roce_list_for_each (pos, &s->sessions) {
		struct roce_session *c = roce_container_of(pos, struct roce_session, link);

		if (c->number == l->holder)
			return c;
	}
	return NULL;
}

/*
 * First the program is attached again, which costs nothing and nobody a packet. If packets go
 * astray still (those on their way excepted), all numbers are found out. Peers can cause strays by
 * mixing batches, so the interval grows.
 */
void roce_server_suspect(struct roce_server *s, struct roce_served_group *sg)
{
	roce_ns_t now = roce_server_now();

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
		log_line(s, "repaired a group of %u sockets", sg->group.count);
	sg->repair_after = now + sg->repair_interval;
	if (sg->repair_interval < REPAIR_NS_MAX)
		sg->repair_interval *= 2;
	roce_server_on_group_changed(s, sg);
}

/* ---- resuming after a restart by the keeper ---- */

static void resume_record(struct roce_server *s, const struct roce_keeper_record *r, int fd)
{
	struct roce_served_group *sg;

	if (r->kind == ROCE_KEEPER_LISTEN) {
		s->listen.fd = fd;
		s->cfg.listen = r->listen;
		listen(fd, ROCE_LISTEN_BACKLOG); /* again: then our pid is behind the name */
	} else if (r->kind == ROCE_KEEPER_GUARD) {
		sg = make_group();
		if (!sg)
			return;
		roce_group_restore_begin(&sg->group, &r->address, r->nonce);
		sg->group.guard_fd = fd;
		sg->group.is_guard_kept = true;
		roce_list_add_tail(&s->groups, &sg->link);
		s->group_count++;
	} else if (r->kind == ROCE_KEEPER_MEMBER) {
		sg = roce_server_find_group(s, &r->address);
		if (!sg || fd < 0 ||
		    roce_group_restore_member(&sg->group, (enum roce_member_kind)r->member_kind,
					      r->slot, fd, r->index)) {
			if (fd >= 0)
				close(fd);
			return;
		}
		sg->group.member[r->index].is_unclaimed = true;
	} else if (r->kind == ROCE_KEEPER_SLOT && r->slot) {
		struct roce_orphan *o = &s->orphan[r->slot];

		roce_lease_table_claim(&s->leases, r->slot, 0, r->instance);
		o->pid = r->pid;
		o->uid = r->uid;
		o->start_time = r->start_time;
		o->until = roce_server_now() + ROCE_SERVER_ORPHAN_NS;
		memcpy(o->program, r->program, sizeof(o->program));
	}
}

static int resume(struct roce_server *s)
{
	struct timeval limit = {.tv_sec = RESUME_SECONDS_MAX};
	struct roce_keeper_record *r = NULL;
	struct roce_list *pos, *tmp;
	int *fds = NULL, fd = s->cfg.resume_fd, n = -ENOMEM;
	size_t count = 0, room = 0;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	for (;;) {
		if (count == room) {
			room = room ? 2 * room : 64;
			r = reallocarray(r, room, sizeof(*r));
			fds = reallocarray(fds, room, sizeof(*fds));
			if (!r || !fds)
				break;
		}
		n = roce_keeper_receive(fd, &r[count], &fds[count]);
		if (n != 1 || r[count].kind == ROCE_KEEPER_END)
			break;
		count++;
	}
	if (n == 1) {
		/* Members need their group first. */
		for (size_t i = 0; i < count; i++)
			if (r[i].kind != ROCE_KEEPER_MEMBER)
				resume_record(s, &r[i], fds[i]);
		for (size_t i = 0; i < count; i++)
			if (r[i].kind == ROCE_KEEPER_MEMBER)
				resume_record(s, &r[i], fds[i]);
	}
	free(r);
	free(fds);
	if (n != 1 || s->listen.fd < 0)
		return -EPROTO;
	s->keeper.fd = fd;
	s->keeper.on_ready = on_keeper_ready;
	s->keeper_pid = getppid();
	s->keeper_started = roce_server_now();
	add_source(s, &s->keeper);
	roce_list_for_each_safe (pos, tmp, &s->groups) {
		struct roce_served_group *sg =
			roce_container_of(pos, struct roce_served_group, link);

		set_handlers(s, &sg->group);
		if (roce_group_restore_finish(&sg->group))
			destroy_group(s, sg);
		else
			roce_server_on_group_changed(s, sg);
	}
	s->counter[ROCE_SERVER_restarts]++;
	return 0;
}

/* ---- deadlines ---- */

static void nearest(roce_ns_t *next, roce_ns_t at)
{
	if (at && at < *next)
		*next = at;
}

static bool is_orphan_dead(const struct roce_orphan *o)
{
	if (o->pid <= 0)
		return false;
	if (kill(o->pid, 0) && errno == ESRCH)
		return true;
	return o->start_time && get_start_time(o->pid) != o->start_time;
}

static unsigned check_orphans(struct roce_server *s, roce_ns_t now)
{
	unsigned count = 0;

	for (unsigned i = 1; i <= ROCE_LEASE_SLOT_MAX; i++) {
		struct roce_orphan *o = &s->orphan[i];

		if (!o->until)
			continue;
		if (now >= o->until || is_orphan_dead(o))
			roce_server_release_slot(s, (uint8_t)i);
		else
			count++;
	}
	return count;
}

static void check_groups(struct roce_server *s, roce_ns_t now, roce_ns_t *next)
{
	struct roce_list *pos, *tmp;

	roce_list_for_each_safe (pos, tmp, &s->groups) {
		struct roce_served_group *sg =
			roce_container_of(pos, struct roce_served_group, link);

		if (sg->unused_since && now >= sg->unused_since + ROCE_SERVER_GROUP_REST_NS) {
			destroy_group(s, sg);
			continue;
		}
		if (sg->unknown_check_at && now >= sg->unknown_check_at) {
			bool is_left = roce_group_check_unknown(&sg->group);

			if (sg->unknown_interval < UNKNOWN_NS_MAX)
				sg->unknown_interval *= 2;
			roce_server_on_group_changed(s, sg);
			if (is_left)
				sg->unknown_check_at = now + sg->unknown_interval;
		}
		nearest(next, sg->unknown_check_at);
		if (sg->unused_since)
			nearest(next, sg->unused_since + ROCE_SERVER_GROUP_REST_NS);
	}
}

static void check_sessions(struct roce_server *s, roce_ns_t now, roce_ns_t *next)
{
	struct roce_list *pos, *tmp;

	roce_list_for_each_safe (pos, tmp, &s->sessions) {
		struct roce_session *c = roce_container_of(pos, struct roce_session, link);

		if (c->is_closing || (!c->instance && now >= c->since + ROCE_SERVER_HELLO_NS))
			roce_session_close(s, c);
		else if (!c->instance)
			nearest(next, c->since + ROCE_SERVER_HELLO_NS);
	}
}

/* Does what is due; milliseconds until something else is, -1 never. */
static int on_tick(struct roce_server *s)
{
	roce_ns_t now = roce_server_now(), next = ROCE_NEVER;
	unsigned orphans;

	if (s->claims_until && now >= s->claims_until) {
		s->claims_until = 0;
		roce_session_lease_waiting(s);
	}
	nearest(&next, s->claims_until);
	orphans = check_orphans(s, now);
	if (orphans)
		nearest(&next, now + ORPHAN_NS_INTERVAL);
	check_sessions(s, now, &next);
	check_groups(s, now, &next);
	if (s->keeper.fd < 0 && s->cfg.has_keeper) {
		if (now >= s->keeper_started + KEEPER_NS_INTERVAL)
			start_keeper(s);
		nearest(&next, s->keeper_started + KEEPER_NS_INTERVAL);
	}
	if (s->session_count || orphans || !s->cfg.idle_ns) {
		s->idle_since = 0;
	} else if (!s->idle_since) {
		s->idle_since = now;
	}
	if (s->idle_since) {
		if (now >= s->idle_since + s->cfg.idle_ns)
			s->is_leaving = true;
		nearest(&next, s->idle_since + s->cfg.idle_ns);
	}
	if (next == ROCE_NEVER)
		return -1;
	return next > now ? (int)((next - now + ROCE_NS_PER_MS - 1) / ROCE_NS_PER_MS) : 0;
}

/* ---- loop ---- */

static void on_listen_ready(struct roce_server *s, struct roce_source *source)
{
	int fd = accept4(source->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0)
		roce_session_open(s, fd);
	else if (errno == EMFILE || errno == ENFILE)
		poll(NULL, 0, 10); /* it stays readable: do not spin */
}

static void on_signal(struct roce_server *s, struct roce_source *source)
{
	struct signalfd_siginfo info;

	if (read(source->fd, &info, sizeof(info)) == sizeof(info))
		s->is_leaving = true;
}

/* The keeper lets go of its copies before we rearrange and close ours. */
static void dismiss_keeper(struct roce_server *s)
{
	struct roce_keeper_record bye = {.kind = ROCE_KEEPER_BYE};
	struct pollfd pfd = {.fd = s->keeper.fd, .events = POLLIN};

	if (s->keeper.fd < 0)
		return;
	keep(s, &bye, -1);
	poll(&pfd, 1, KEEPER_BYE_MS);
	close(s->keeper.fd);
	s->keeper.fd = -1;
}

static void leave(struct roce_server *s)
{
	struct roce_list *pos, *tmp;

	dismiss_keeper(s);
	if (s->cfg.listen.address.sun_path[0])
		unlink(s->cfg.listen.address.sun_path);
	close(s->listen.fd);
	roce_list_for_each_safe (pos, tmp, &s->groups) {
		struct roce_served_group *sg =
			roce_container_of(pos, struct roce_served_group, link);

		roce_group_leave(&sg->group);
		roce_group_fini(&sg->group);
		roce_list_remove(&sg->link);
		free(sg);
	}
	roce_list_for_each_safe (pos, tmp, &s->sessions)
		roce_session_close(s, roce_container_of(pos, struct roce_session, link));
	close(s->signals.fd);
	close(s->epoll_fd);
}

static int init(struct roce_server *s)
{
	sigset_t mask;

	s->started = roce_server_now();
	s->netns = roce_rendezvous_netns();
	roce_list_init(&s->sessions);
	roce_list_init(&s->groups);
	roce_lease_table_init(&s->leases);
	s->keeper.fd = -1;
	s->listen.fd = s->cfg.listen_fd;
	s->listen.on_ready = on_listen_ready;
	s->signals.on_ready = on_signal;
	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGHUP);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	s->signals.fd = signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC);
	if (s->epoll_fd < 0 || s->signals.fd < 0)
		return -errno;
	add_source(s, &s->signals);
	if (s->cfg.resume_fd >= 0) {
		int error = resume(s);

		if (error)
			return error;
	} else {
		if (roce_member_exists_of_user(geteuid()))
			s->claims_until = s->started + ROCE_SERVER_CLAIMS_NS;
		start_keeper(s);
	}
	add_source(s, &s->listen);
	return 0;
}

int roce_server_run(const struct roce_server_config *cfg)
{
	static struct roce_server server;
	struct roce_server *s = &server;
	int error;

	s->cfg = *cfg;
	error = init(s);
	if (error) {
		log_line(s, "cannot start: %s", strerror(-error));
		return 1;
	}
	while (!s->is_leaving) {
		struct epoll_event ev;
		int n = epoll_wait(s->epoll_fd, &ev, 1, on_tick(s));
		struct roce_source *source = ev.data.ptr;

		if (n == 1 && !s->is_leaving)
			source->on_ready(s, source);
	}
	leave(s);
	return 0;
}
