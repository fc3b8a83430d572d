/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What outlives uroced: it tells its keeper of every socket, guard and slot, and a uroced that the
 * keeper has started takes all of it back. Slots that nobody has claimed yet are orphans: they wait
 * for their client, unless its process is seen to be gone. Called by server.c and served_group.c.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/listen.h"
#include "daemon/server.h"

#define KEEPER_NS_INTERVAL ROCE_NS_PER_S /* between two starts of a keeper */
#define KEEPER_BYE_MS	   5000		 /* for one that is stopped; else it goes at once */
#define RESUME_SECONDS_MAX 30

void roce_handover_keep(struct roce_server *s, const struct roce_keeper_record *r, int fd)
{
	int error = s->keeper.fd < 0 ? 0 : roce_keeper_send(s->keeper.fd, r, fd);

	if (!error)
		return;
	/* One that is there and does not take it stands still. When it goes on it would take this
	 * for our end, and start a second uroced for what we have. */
	if (error == -EAGAIN &&
	    s->keeper_pid > 1) /* 1 has adopted us: it had gone before we asked */
		kill(s->keeper_pid, SIGKILL);
	shutdown(s->keeper.fd, SHUT_RDWR); /* its end is seen in the loop */
}

void roce_handover_keep_group(struct roce_server *s, struct roce_served_group *sg)
{
	struct roce_group *g = &sg->group;
	struct roce_keeper_record r = {.address = g->address, .nonce = g->nonce};

	r.kind = ROCE_KEEPER_DROP_MEMBER;
	for (unsigned i = 0; i < g->gone_count; i++) {
		r.inode = g->gone[i];
		roce_handover_keep(s, &r, -1);
	}
	g->gone_count = 0;
	if (s->keeper.fd < 0)
		return;
	if (!g->is_guard_kept) {
		r.kind = ROCE_KEEPER_GUARD;
		roce_handover_keep(s, &r, g->guard_fd);
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
		roce_handover_keep(s, &r, m->fd);
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

void roce_handover_keep_slot(struct roce_server *s, uint8_t slot, const struct roce_session *c)
{
	struct roce_keeper_record r = {.kind = ROCE_KEEPER_SLOT,
				       .slot = slot,
				       .pid = c->peer.pid,
				       .uid = c->peer.uid,
				       .instance = c->instance};

	r.start_time = get_start_time(c->peer.pid);
	snprintf(r.program, sizeof(r.program), "%s", c->program);
	roce_handover_keep(s, &r, -1);
}

static void on_keeper_ready(struct roce_server *s, struct roce_source *source);

void roce_handover_start_keeper(struct roce_server *s)
{
	struct roce_keeper_record r = {.kind = ROCE_KEEPER_LISTEN, .listen = s->cfg.listen};
	struct roce_list *pos;

	s->keeper_started = roce_clock_now();
	if (!s->cfg.has_keeper || roce_keeper_start(s->cfg.argv, &s->keeper.fd, &s->keeper_pid)) {
		s->keeper.fd = -1;
		return;
	}
	s->keeper.on_ready = on_keeper_ready;
	roce_server_add_source(s, &s->keeper);
	roce_handover_keep(s, &r, s->listen.fd);
	roce_list_for_each (pos, &s->groups) {
		struct roce_served_group *sg =
			roce_container_of(pos, struct roce_served_group, link);

		sg->group.is_guard_kept = false;
		for (unsigned i = 0; i < sg->group.count; i++)
			sg->group.member[i].kept_index = ROCE_MEMBER_NOT_KEPT;
		roce_handover_keep_group(s, sg);
	}
	for (unsigned i = 1; i <= ROCE_LEASE_SLOT_MAX; i++) {
		struct roce_session *c = roce_server_find_holder(s, (uint8_t)i);

		if (c)
			roce_handover_keep_slot(s, (uint8_t)i, c);
	}
}

/* It never speaks after a hand-over: readable means gone. */
static void on_keeper_ready(struct roce_server *s, struct roce_source *source)
{
	struct roce_list *pos;

	close(source->fd);
	source->fd = -1;
	s->counter[ROCE_SERVER_keeper_restarts]++;
	roce_server_log(s, "the keeper is gone");
	roce_list_for_each (pos, &s->groups) {
		struct roce_group *g =
			&roce_container_of(pos, struct roce_served_group, link)->group;

		for (unsigned i = 0; i < g->count; i++)
			g->member[i].kept_index = ROCE_MEMBER_NOT_KEPT;
	}
	if (roce_clock_now() - s->keeper_started >= KEEPER_NS_INTERVAL)
		roce_handover_start_keeper(s); /* else roce_handover_check_keeper() does */
}

static void resume_record(struct roce_server *s, const struct roce_keeper_record *r, int fd)
{
	struct roce_served_group *sg;

	if (r->kind == ROCE_KEEPER_LISTEN) {
		s->listen.fd = fd;
		s->cfg.listen = r->listen;
		listen(fd, ROCE_LISTEN_BACKLOG); /* again: then our pid is behind the name */
	} else if (r->kind == ROCE_KEEPER_GUARD) {
		sg = roce_server_make_group();
		if (!sg)
			return;
		roce_group_restore_begin(&sg->group, &r->address, r->nonce);
		sg->group.guard_fd = fd;
		listen(fd, ROCE_LISTEN_BACKLOG); /* our pid, as above */
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
		o->until = roce_clock_now() + ROCE_SERVER_ORPHAN_NS;
		memcpy(o->program, r->program, sizeof(o->program));
	}
}

int roce_handover_resume(struct roce_server *s)
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
	s->keeper_started = roce_clock_now();
	roce_server_add_source(s, &s->keeper);
	roce_list_for_each_safe (pos, tmp, &s->groups) {
		struct roce_served_group *sg =
			roce_container_of(pos, struct roce_served_group, link);

		roce_server_set_group_handlers(s, &sg->group);
		roce_server_watch_guard(s, sg);
		if (roce_group_restore_finish(&sg->group))
			roce_server_destroy_group(s, sg);
		else
			roce_server_on_group_changed(s, sg);
	}
	s->counter[ROCE_SERVER_restarts]++;
	return 0;
}

static bool is_orphan_dead(const struct roce_orphan *o)
{
	if (o->pid <= 0)
		return false;
	if (kill(o->pid, 0) && errno == ESRCH)
		return true;
	return o->start_time && get_start_time(o->pid) != o->start_time;
}

unsigned roce_handover_check_orphans(struct roce_server *s, roce_ns_t now)
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

void roce_handover_dismiss_keeper(struct roce_server *s)
{
	struct roce_keeper_record bye = {.kind = ROCE_KEEPER_BYE};
	struct pollfd pfd = {.fd = s->keeper.fd, .events = POLLIN};

	if (s->keeper.fd < 0)
		return;
	roce_handover_keep(s, &bye, -1);
	poll(&pfd, 1, KEEPER_BYE_MS);
	close(s->keeper.fd);
	s->keeper.fd = -1;
}

void roce_handover_check_keeper(struct roce_server *s, roce_ns_t now, roce_ns_t *next)
{
	if (s->keeper.fd >= 0 || !s->cfg.has_keeper)
		return;
	if (now >= s->keeper_started + KEEPER_NS_INTERVAL)
		roce_handover_start_keeper(s);
	roce_server_nearest(next, s->keeper_started + KEEPER_NS_INTERVAL);
}
