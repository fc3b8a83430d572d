/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uroced's loop and what belongs to no single client or address: who holds a slot, deadlines,
 * leaving. epoll hands out one event at a time, so a handler may destroy any other source.
 * Everything that takes time is a deadline that on_tick() looks at; the loop sleeps until the
 * nearest.
 */
#include "daemon/server.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "control/port_owner.h"

#define ORPHAN_NS_INTERVAL (200 * ROCE_NS_PER_MS)

void roce_server_log(const struct roce_server *s, const char *format, ...)
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

void roce_server_add_source(struct roce_server *s, struct roce_source *source)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = source};

	epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, source->fd, &ev);
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
	roce_handover_keep(s, &r, -1);
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

void roce_server_nearest(roce_ns_t *next, roce_ns_t at)
{
	if (at && at < *next)
		*next = at;
}

static void check_sessions(struct roce_server *s, roce_ns_t now, roce_ns_t *next)
{
	struct roce_list *pos, *tmp;

	roce_list_for_each_safe (pos, tmp, &s->sessions) {
		struct roce_session *c = roce_container_of(pos, struct roce_session, link);

		if (c->is_closing || (!c->instance && now >= c->since + ROCE_SERVER_HELLO_NS))
			roce_session_close(s, c);
		else if (!c->instance)
			roce_server_nearest(next, c->since + ROCE_SERVER_HELLO_NS);
	}
}

/* Does what is due; milliseconds until something else is, -1 never. */
static int on_tick(struct roce_server *s)
{
	roce_ns_t now = roce_clock_now(), next = ROCE_NEVER;
	unsigned orphans;

	if (s->claims_until && now >= s->claims_until) {
		s->claims_until = 0;
		roce_session_lease_waiting(s);
	}
	roce_server_nearest(&next, s->claims_until);
	orphans = roce_handover_check_orphans(s, now);
	if (orphans)
		roce_server_nearest(&next, now + ORPHAN_NS_INTERVAL);
	check_sessions(s, now, &next);
	roce_server_check_groups(s, now, &next);
	roce_handover_check_keeper(s, now, &next);
	roce_cm_service_tick(s, now, &next);
	if (s->session_count || orphans || !s->cfg.idle_ns) {
		s->idle_since = 0;
	} else if (!s->idle_since) {
		s->idle_since = now;
	}
	if (s->idle_since) {
		roce_ns_t until = s->idle_since + s->cfg.idle_ns;

		if (roce_cm_service_is_closing(s))
			until += ROCE_SERVER_CLOSING_NS;
		if (now >= until)
			s->is_leaving = true;
		roce_server_nearest(&next, until);
	}
	if (next == ROCE_NEVER)
		return -1;
	return next > now ? (int)((next - now + ROCE_NS_PER_MS - 1) / ROCE_NS_PER_MS) : 0;
}

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

static void leave(struct roce_server *s)
{
	struct roce_list *pos, *tmp;

	roce_handover_dismiss_keeper(s);
	/* Addresses before the name: who finds that free starts another, which wants them. */
	roce_server_leave_groups(s);
	if (s->cfg.listen.address.sun_path[0])
		unlink(s->cfg.listen.address.sun_path);
	close(s->listen.fd);
	roce_list_for_each_safe (pos, tmp, &s->sessions)
		roce_session_close(s, roce_container_of(pos, struct roce_session, link));
	roce_cm_service_close(s);
	close(s->signals.fd);
	close(s->epoll_fd);
}

static int init(struct roce_server *s)
{
	sigset_t mask;
	int error;

	s->started = roce_clock_now();
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
	roce_server_add_source(s, &s->signals);
	error = roce_cm_service_open(s,
				     s->cfg.resume_fd >= 0 || roce_port_owner_is_user(geteuid()));
	if (error)
		return error;
	if (s->cfg.resume_fd >= 0) {
		error = roce_handover_resume(s);
		if (error)
			return error;
	} else {
		if (roce_port_owner_is_user(geteuid()))
			s->claims_until = s->started + ROCE_SERVER_CLAIMS_NS;
		roce_handover_start_keeper(s);
	}
	roce_server_add_source(s, &s->listen);
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
		roce_server_log(s, "cannot start: %s", strerror(-error));
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
