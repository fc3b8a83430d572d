/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One client: its messages, its answers, its end. A client is never trusted to read: an answer that
 * does not fit into its socket waits here, and nothing more is read from it until that has gone.
 * It is never trusted to make sense either: the first malformed message ends the session. Its slots
 * are freed when its connection ends or its process is gone, whichever is first (a forked child may
 * hold the connection open).
 */
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "daemon/member.h"
#include "daemon/server.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

static void on_socket_ready(struct roce_server *s, struct roce_source *source);
static void on_process_gone(struct roce_server *s, struct roce_source *source);

/* ---- output ---- */

static void watch(struct roce_server *s, struct roce_session *c)
{
	struct epoll_event ev = {.events = c->is_blocked ? EPOLLOUT : EPOLLIN,
				 .data.ptr = &c->socket};

	epoll_ctl(s->epoll_fd, EPOLL_CTL_MOD, c->socket.fd, &ev);
}

static void free_output(struct roce_session *c, struct roce_output *o)
{
	roce_list_remove(&o->link);
	c->output_count--;
	if (o->fd >= 0)
		close(o->fd);
	free(o);
}

static void send_message(struct roce_server *s, struct roce_session *c,
			 const struct roce_message *m, int fd)
{
	struct roce_output *o;
	int error = -EAGAIN;

	ROCE_ASSERT(m->type != ROCE_MESSAGE_STRAY);
	if (!c->output_count)
		error = roce_channel_send(c->socket.fd, m, &fd, fd >= 0);
	/* Each id may have some reports for a program that is stopped. */
	if (error == -EAGAIN &&
	    c->output_count <
		    ROCE_SERVER_OUTPUT_MAX + c->cm.handle_count * ROCE_CM_HANDLE_EVENTS_MAX) {
		o = malloc(sizeof(*o));
		if (o) {
			o->message = *m;
			o->fd = fd >= 0 ? dup(fd) : -1;
			roce_list_add_tail(&c->output, &o->link);
			c->output_count++;
			if (!c->is_blocked) {
				c->is_blocked = true;
				watch(s, c);
			}
			return;
		}
	}
	if (error)
		c->is_closing = true;
}

static void flush_output(struct roce_server *s, struct roce_session *c)
{
	while (c->output_count) {
		struct roce_output *o = roce_container_of(c->output.next, struct roce_output, link);
		int error = roce_channel_send(c->socket.fd, &o->message, &o->fd, o->fd >= 0);

		if (error == -EAGAIN)
			return;
		free_output(c, o);
		if (error) {
			c->is_closing = true;
			return;
		}
	}
	c->is_blocked = false;
	watch(s, c);
}

__attribute__((format(printf, 5, 6))) static void send_error(struct roce_server *s,
							     struct roce_session *c,
							     uint32_t sequence, int error,
							     const char *format, ...)
{
	struct roce_message m = {.type = ROCE_MESSAGE_ERROR, .sequence = sequence};
	va_list ap;

	m.error.error = (uint32_t)-error;
	va_start(ap, format);
	vsnprintf(m.error.text, sizeof(m.error.text), format, ap);
	va_end(ap);
	send_message(s, c, &m, -1);
}

static void send_plain(struct roce_server *s, struct roce_session *c, enum roce_message_type type,
		       uint32_t sequence)
{
	struct roce_message m = {.type = type, .sequence = sequence};

	send_message(s, c, &m, -1);
}

void roce_session_send(struct roce_server *s, struct roce_session *c, const struct roce_message *m)
{
	send_message(s, c, m, -1);
}

void roce_session_send_error(struct roce_server *s, struct roce_session *c, uint32_t sequence,
			     int error, const char *text)
{
	send_error(s, c, sequence, error, "%s", text);
}

/* ---- beginning and end ---- */

static int open_pidfd(const struct roce_session *c)
{
	int fd = -1;
	socklen_t length = sizeof(fd);

	/* The first cannot name a later process by mistake, but is new (6.5). */
	if (getsockopt(c->socket.fd, SOL_SOCKET, SO_PEERPIDFD, &fd, &length) == 0)
		return fd;
	return c->peer.pid > 0 ? (int)syscall(SYS_pidfd_open, c->peer.pid, 0) : -1;
}

static bool is_allowed(const struct roce_server *s, uid_t uid)
{
	if (uid == geteuid() || uid == 0)
		return true;
	for (unsigned i = 0; i < s->cfg.shared_count; i++)
		if (s->cfg.shared[i] == uid)
			return true;
	return false;
}

void roce_session_open(struct roce_server *s, int fd)
{
	struct epoll_event ev = {.events = EPOLLIN};
	struct ucred peer;
	socklen_t length = sizeof(peer);
	struct roce_session *c;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length)) {
		close(fd);
		return;
	}
	/* A few more than the maximum, to be told so. */
	c = s->session_count < ROCE_SERVER_CLIENTS_MAX + ROCE_SERVER_REFUSED_MAX
		    ? calloc(1, sizeof(*c))
		    : NULL;
	if (!c) {
		close(fd);
		s->counter[ROCE_SERVER_clients_refused]++;
		return;
	}
	if (!is_allowed(s, peer.uid))
		c->refusal = EACCES;
	else if (s->session_count >= ROCE_SERVER_CLIENTS_MAX)
		c->refusal = EUSERS;
	c->socket.fd = fd;
	c->socket.on_ready = on_socket_ready;
	c->peer = peer;
	c->since = roce_clock_now();
	c->number = ++s->last_number;
	roce_list_init(&c->output);
	roce_cm_service_begin_session(c);
	roce_list_add_tail(&s->sessions, &c->link);
	s->session_count++;
	s->counter[c->refusal ? ROCE_SERVER_clients_refused : ROCE_SERVER_clients_accepted]++;
	ev.data.ptr = &c->socket;
	epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &ev);
	c->pidfd.fd = open_pidfd(c);
	c->pidfd.on_ready = on_process_gone;
	ev.data.ptr = &c->pidfd;
	if (c->pidfd.fd >= 0)
		epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, c->pidfd.fd, &ev);
}

void roce_session_close(struct roce_server *s, struct roce_session *c)
{
	struct roce_list *pos, *tmp;

	roce_cm_service_end_session(s, c, ROCE_CM_FAREWELL_GONE);
	for (unsigned slot = 1; slot <= ROCE_LEASE_SLOT_MAX; slot++)
		if (roce_lease_table_is_holder(&s->leases, (uint8_t)slot, c->number))
			roce_server_release_slot(s, (uint8_t)slot);
	roce_list_for_each_safe (pos, tmp, &c->output)
		free_output(c, roce_container_of(pos, struct roce_output, link));
	close(c->socket.fd);
	if (c->pidfd.fd >= 0)
		close(c->pidfd.fd);
	roce_list_remove(&c->link);
	s->session_count--;
	free(c);
}

static void on_process_gone(struct roce_server *s, struct roce_source *source)
{
	roce_session_close(s, roce_container_of(source, struct roce_session, pidfd));
}

/* ---- requests ---- */

/* The client has come back before we saw that its old connection is gone. */
static void supersede(struct roce_server *s, struct roce_session *c)
{
	struct roce_list *pos, *tmp;

	roce_list_for_each_safe (pos, tmp, &s->sessions) {
		struct roce_session *old = roce_container_of(pos, struct roce_session, link);

		if (old == c || old->instance != c->instance)
			continue;
		for (unsigned i = 1; i <= ROCE_LEASE_SLOT_MAX; i++) {
			if (!roce_lease_table_is_holder(&s->leases, (uint8_t)i, old->number))
				continue;
			s->leases.lease[i].holder = 0;
			s->orphan[i].until = roce_clock_now() + ROCE_SERVER_ORPHAN_NS;
			s->orphan[i].pid = old->peer.pid;
		}
		roce_cm_service_end_session(s, old, ROCE_CM_FAREWELL_COMES_BACK);
		roce_session_close(s, old);
		return;
	}
}

static void on_hello(struct roce_server *s, struct roce_session *c, const struct roce_message *m)
{
	struct roce_message answer = {.type = ROCE_MESSAGE_HELLO_OK, .sequence = m->sequence};

	if (!m->hello.instance || c->instance) {
		send_error(s, c, m->sequence, -EINVAL, "one HELLO with an instance is expected");
		c->is_closing = true;
		return;
	}
	c->instance = m->hello.instance;
	snprintf(c->program, sizeof(c->program), "%s", m->hello.program);
	supersede(s, c);
	answer.hello.pid = (uint32_t)getpid();
	answer.hello.netns = s->netns;
	snprintf(answer.hello.product, sizeof(answer.hello.product), "%s", UROCE_VERSION);
	send_message(s, c, &answer, -1);
}

static void send_version_error(struct roce_server *s, struct roce_session *c,
			       const struct roce_message *m)
{
	bool is_hello = m->type == ROCE_MESSAGE_HELLO;

	send_error(s, c, m->sequence, -EPROTO,
		   "uroced %s (protocol %d) does not match the program's library, uroce %s "
		   "(protocol %u): run `uroce stop` with the uroce that started it, then start "
		   "again",
		   UROCE_VERSION, ROCE_CONTROL_PROTOCOL, is_hello ? m->hello.product : "?",
		   is_hello ? m->hello.protocol : 0);
	c->is_closing = true;
}

static void on_lease(struct roce_server *s, struct roce_session *c, uint32_t sequence)
{
	struct roce_message answer = {.type = ROCE_MESSAGE_LEASE_OK, .sequence = sequence};

	if (c->slot_count >= ROCE_SERVER_CLIENT_SLOTS) {
		send_error(s, c, sequence, -EDQUOT, "a program may lease at most %d slots",
			   ROCE_SERVER_CLIENT_SLOTS);
		return;
	}
	if (roce_clock_now() < s->claims_until) {
		c->is_lease_waiting = true;
		c->waiting_sequence = sequence;
		return;
	}
	if (roce_lease_table_take(&s->leases, c->number, c->instance, &answer.lease.slot)) {
		send_error(s, c, sequence, -EUSERS,
			   "all %d receive-queue slots of this uroced are leased: end a program, "
			   "see `uroce status`",
			   ROCE_LEASE_SLOT_MAX);
		return;
	}
	c->slot_count++;
	s->counter[ROCE_SERVER_leases]++;
	roce_handover_keep_slot(s, answer.lease.slot, c);
	send_message(s, c, &answer, -1);
}

void roce_session_lease_waiting(struct roce_server *s)
{
	struct roce_list *pos;

	roce_list_for_each (pos, &s->sessions) {
		struct roce_session *c = roce_container_of(pos, struct roce_session, link);

		if (!c->is_lease_waiting)
			continue;
		c->is_lease_waiting = false;
		on_lease(s, c, c->waiting_sequence);
	}
}

static bool check_holder(struct roce_server *s, struct roce_session *c, uint32_t sequence,
			 uint8_t slot)
{
	if (roce_lease_table_is_holder(&s->leases, slot, c->number))
		return true;
	send_error(s, c, sequence, -EPERM, "slot %u is not leased by this program", slot);
	return false;
}

static unsigned count_addresses(struct roce_server *s, uint8_t slot)
{
	struct roce_list *pos;
	unsigned n = 0;

	roce_list_for_each (pos, &s->groups)
		n += roce_group_find(&roce_container_of(pos, struct roce_served_group, link)->group,
				     slot) >= 0;
	return n;
}

static void on_open_address(struct roce_server *s, struct roce_session *c,
			    const struct roce_message *m)
{
	struct roce_message answer = *m;
	struct roce_served_group *sg;
	char err[ROCE_CONTROL_TEXT_MAX];
	int error, fd;

	if (!check_holder(s, c, m->sequence, m->open.slot))
		return;
	if (count_addresses(s, m->open.slot) >= ROCE_CONTROL_SLOT_ADDR_MAX) {
		send_error(s, c, m->sequence, -EDQUOT, "a slot may use at most %d addresses",
			   ROCE_CONTROL_SLOT_ADDR_MAX);
		return;
	}
	error = roce_server_get_group(s, &m->open.address, 0, &sg, err, sizeof(err));
	if (!error) {
		error = roce_group_add(&sg->group, m->open.slot, m->open.flags & ROCE_OPEN_GRO_OFF,
				       &fd);
		roce_server_on_group_changed(s, sg);
		if (error)
			roce_server_explain(&m->open.address, error, err, sizeof(err));
	}
	if (error) {
		send_error(s, c, m->sequence, error, "%s", err);
		return;
	}
	answer.type = ROCE_MESSAGE_OPEN_ADDRESS_OK;
	answer.open.flags = 0;
	answer.open.nonce = sg->group.nonce;
	send_message(s, c, &answer, fd);
}

static void on_close_address(struct roce_server *s, struct roce_session *c,
			     const struct roce_message *m)
{
	struct roce_served_group *sg = roce_server_find_group(s, &m->open.address);

	if (sg && roce_lease_table_is_holder(&s->leases, m->open.slot, c->number))
		roce_server_remove_member(s, sg, m->open.slot);
}

static void on_release(struct roce_server *s, struct roce_session *c, const struct roce_message *m)
{
	if (!roce_lease_table_is_holder(&s->leases, m->lease.slot, c->number))
		return;
	c->slot_count--;
	roce_server_release_slot(s, m->lease.slot);
}

/* A descriptor that really is a socket of the group of this address. */
static bool is_group_socket(int fd, const struct roce_address *a)
{
	struct sockaddr_storage ss;
	socklen_t length = sizeof(ss), size = sizeof(int);
	const struct sockaddr_in *in = (const struct sockaddr_in *)&ss;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&ss;
	int type = 0;

	memset(&ss, 0, sizeof(ss));
	if (getsockname(fd, (struct sockaddr *)&ss, &length) ||
	    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) || type != SOCK_DGRAM)
		return false;
	if (roce_gid_is_v4(&a->gid))
		return ss.ss_family == AF_INET && in->sin_port == htons(ROCE_CONTROL_PORT) &&
		       !memcmp(&in->sin_addr, a->gid.raw + 12, 4);
	return ss.ss_family == AF_INET6 && in6->sin6_port == htons(ROCE_CONTROL_PORT) &&
	       !memcmp(&in6->sin6_addr, a->gid.raw, 16);
}

void roce_session_send_replacement(struct roce_server *s, struct roce_session *c,
				   const struct roce_served_group *sg, uint8_t slot, int fd)
{
	struct roce_message m = {.type = ROCE_MESSAGE_REMAPPED};

	m.open.slot = slot;
	m.open.address = sg->group.address;
	m.open.nonce = sg->group.nonce;
	s->counter[ROCE_SERVER_sockets_replaced]++;
	send_message(s, c, &m, fd);
}

/* One socket of a claim; takes the descriptor over. */
static void claim_socket(struct roce_server *s, struct roce_session *c, uint8_t slot,
			 const struct roce_address *a, uint32_t nonce, int fd)
{
	struct roce_served_group *sg;
	char err[ROCE_CONTROL_TEXT_MAX];
	int at, error = -ESTALE, replacement;

	if (!is_group_socket(fd, a) || roce_server_get_group(s, a, nonce, &sg, err, sizeof(err))) {
		close(fd);
		return;
	}
	if (sg->group.nonce == nonce)
		error = roce_group_adopt(&sg->group, slot, fd);
	if (error) /* else the group has it now */
		close(fd);
	at = roce_group_find(&sg->group, slot);
	if (at >= 0)
		sg->group.member[at].is_unclaimed = false;
	if (error && error != -EEXIST && !roce_group_add(&sg->group, slot, false, &replacement))
		roce_session_send_replacement(s, c, sg, slot, replacement);
	roce_server_on_group_changed(s, sg);
}

static void on_claim(struct roce_server *s, struct roce_session *c, struct roce_channel_packet *p)
{
	const struct roce_message *m = &p->message;
	uint8_t slot = m->claim.slot;
	bool is_new = !roce_lease_table_is_holder(&s->leases, slot, c->number);

	if (p->fd_count != m->claim.count) {
		send_error(s, c, m->sequence, -EINVAL, "a claim needs one socket per address");
		return;
	}
	if (is_new && (c->slot_count >= ROCE_SERVER_CLIENT_SLOTS ||
		       roce_lease_table_claim(&s->leases, slot, c->number, c->instance))) {
		s->counter[ROCE_SERVER_claims_refused]++;
		send_error(s, c, m->sequence, -EBUSY,
			   "slot %u was leased to another program while uroced was away", slot);
		return;
	}
	if (is_new) {
		c->slot_count++;
		s->counter[ROCE_SERVER_claims]++;
		s->orphan[slot].until = 0;
		roce_handover_keep_slot(s, slot, c);
	}
	for (unsigned i = 0; i < p->fd_count; i++)
		claim_socket(s, c, slot, &m->claim.address[i], m->claim.nonce[i], p->fds[i]);
	p->fd_count = 0;
	send_plain(s, c, ROCE_MESSAGE_OK, m->sequence);
}

/* What the client held once and did not name is free. */
static void on_claimed(struct roce_server *s, struct roce_session *c, uint32_t sequence)
{
	struct roce_list *pos;

	for (unsigned i = 1; i <= ROCE_LEASE_SLOT_MAX; i++) {
		struct roce_lease_entry *l = &s->leases.lease[i];

		if (l->is_held && !l->holder && l->instance == c->instance)
			roce_server_release_slot(s, (uint8_t)i);
	}
	roce_list_for_each (pos, &s->groups) {
		struct roce_served_group *sg =
			roce_container_of(pos, struct roce_served_group, link);

		for (unsigned i = 1; i <= ROCE_LEASE_SLOT_MAX; i++) {
			int at = roce_lease_table_is_holder(&s->leases, (uint8_t)i, c->number)
					 ? roce_group_find(&sg->group, (uint8_t)i)
					 : -1;

			if (at >= 0 && sg->group.member[at].is_unclaimed)
				roce_server_remove_member(s, sg, (uint8_t)i);
		}
	}
	send_plain(s, c, ROCE_MESSAGE_OK, sequence);
}

static void fill_slot_status(struct roce_server *s, uint8_t slot, struct roce_message *m)
{
	struct roce_session *holder = roce_server_find_holder(s, slot);
	struct roce_list *pos;

	m->status_slot.slot = slot;
	m->status_slot.count = 0;
	m->status_slot.pid = (uint32_t)(holder ? holder->peer.pid : s->orphan[slot].pid);
	m->status_slot.uid = holder ? holder->peer.uid : s->orphan[slot].uid;
	snprintf(m->status_slot.program, sizeof(m->status_slot.program), "%s",
		 holder ? holder->program : s->orphan[slot].program);
	roce_list_for_each (pos, &s->groups) {
		const struct roce_served_group *sg =
			roce_container_of(pos, struct roce_served_group, link);

		if (m->status_slot.count < ROCE_CONTROL_SLOT_ADDR_MAX &&
		    roce_group_find(&sg->group, slot) >= 0)
			m->status_slot.address[m->status_slot.count++] = sg->group.address;
	}
}

static void on_status(struct roce_server *s, struct roce_session *c, uint32_t sequence)
{
	struct roce_message m = {.type = ROCE_MESSAGE_STATUS_DAEMON, .sequence = sequence};
	struct roce_list *pos;
	const char *name;

	m.status_daemon.pid = (uint32_t)getpid();
	m.status_daemon.keeper_pid = s->keeper.fd >= 0 ? (uint32_t)s->keeper_pid : 0;
	m.status_daemon.uptime_ms = (roce_clock_now() - s->started) / ROCE_NS_PER_MS;
	m.status_daemon.slots = (uint16_t)s->leases.held_count;
	m.status_daemon.clients = s->session_count;
	snprintf(m.status_daemon.product, sizeof(m.status_daemon.product), "%s", UROCE_VERSION);
	roce_rendezvous_str(&s->cfg.listen, m.status_daemon.socket, sizeof(m.status_daemon.socket));
	send_message(s, c, &m, -1);
	for (unsigned i = 1; i <= ROCE_LEASE_SLOT_MAX; i++) {
		if (!s->leases.lease[i].is_held)
			continue;
		m.type = ROCE_MESSAGE_STATUS_SLOT;
		fill_slot_status(s, (uint8_t)i, &m);
		send_message(s, c, &m, -1);
	}
	roce_list_for_each (pos, &s->groups) {
		const struct roce_group *g =
			&roce_container_of(pos, struct roce_served_group, link)->group;

		m.type = ROCE_MESSAGE_STATUS_ADDRESS;
		m.status_address.address = g->address;
		m.status_address.leased = (uint16_t)roce_group_count(g, ROCE_MEMBER_LEASED);
		m.status_address.members = (uint16_t)g->count;
		send_message(s, c, &m, -1);
	}
	for (unsigned i = 0; i < ROCE_SERVER_COUNTER_COUNT; i++) {
		m.type = ROCE_MESSAGE_STATUS_COUNTER;
		m.status_counter.value = s->counter[i];
		snprintf(m.status_counter.name, sizeof(m.status_counter.name), "%s",
			 roce_server_counter_str((enum roce_server_counter)i));
		send_message(s, c, &m, -1);
	}
	for (unsigned i = 0; roce_cm_service_counter(s, i, &name, &m.status_counter.value); i++) {
		snprintf(m.status_counter.name, sizeof(m.status_counter.name), "%s", name);
		send_message(s, c, &m, -1);
	}
	send_plain(s, c, ROCE_MESSAGE_STATUS_END, sequence);
}

static void on_stop(struct roce_server *s, struct roce_session *c, const struct roce_message *m)
{
	if (c->peer.uid != geteuid() && c->peer.uid != 0) {
		send_error(s, c, m->sequence, -EPERM,
			   "only the user who runs uroced, or root, may stop it");
		return;
	}
	if (s->leases.held_count && !(m->stop.flags & ROCE_STOP_FORCE)) {
		send_error(s, c, m->sequence, -EBUSY,
			   "%u slots are in use (see `uroce status`): end those programs, or use "
			   "--force",
			   s->leases.held_count);
		return;
	}
	send_plain(s, c, ROCE_MESSAGE_OK, m->sequence);
	s->is_leaving = true;
}

static void on_message(struct roce_server *s, struct roce_session *c, struct roce_channel_packet *p)
{
	const struct roce_message *m = &p->message;

	if (p->error == ROCE_MESSAGE_ERROR_PROTOCOL) {
		send_version_error(s, c, m);
		return;
	}
	if (p->error || (!c->instance && m->type != ROCE_MESSAGE_HELLO)) {
		s->counter[ROCE_SERVER_messages_malformed]++;
		send_error(s, c, m->sequence, -EBADMSG, "malformed message: %s",
			   p->error ? roce_message_error_str(p->error) : "no HELLO first");
		c->is_closing = true;
		return;
	}
	if (c->refusal) { /* after its HELLO: an unread message would hide the answer */
		send_error(s, c, m->sequence, -c->refusal, "%s",
			   c->refusal == EACCES ? "this uroced does not serve your user: root may "
						  "start it with --share-with USER"
						: "uroced serves its maximum of clients");
		c->is_closing = true;
		return;
	}
	switch (m->type) {
	case ROCE_MESSAGE_HELLO:
		on_hello(s, c, m);
		break;
	case ROCE_MESSAGE_LEASE:
		on_lease(s, c, m->sequence);
		break;
	case ROCE_MESSAGE_RELEASE:
		on_release(s, c, m);
		break;
	case ROCE_MESSAGE_OPEN_ADDRESS:
		on_open_address(s, c, m);
		break;
	case ROCE_MESSAGE_CLOSE_ADDRESS:
		on_close_address(s, c, m);
		break;
	case ROCE_MESSAGE_CLAIM:
		on_claim(s, c, p);
		break;
	case ROCE_MESSAGE_CLAIMED:
		on_claimed(s, c, m->sequence);
		break;
	case ROCE_MESSAGE_STRAY:
		roce_stray_on_client(s, c, m);
		break;
	case ROCE_MESSAGE_STATUS:
		on_status(s, c, m->sequence);
		break;
	case ROCE_MESSAGE_STOP:
		on_stop(s, c, m);
		break;
	case ROCE_MESSAGE_CM:
		roce_cm_service_on_request(s, c, m);
		break;
	case ROCE_MESSAGE_HELLO_OK:
	case ROCE_MESSAGE_ERROR:
	case ROCE_MESSAGE_OK:
	case ROCE_MESSAGE_LEASE_OK:
	case ROCE_MESSAGE_OPEN_ADDRESS_OK:
	case ROCE_MESSAGE_REMAPPED:
	case ROCE_MESSAGE_STATUS_DAEMON:
	case ROCE_MESSAGE_STATUS_SLOT:
	case ROCE_MESSAGE_STATUS_ADDRESS:
	case ROCE_MESSAGE_STATUS_COUNTER:
	case ROCE_MESSAGE_STATUS_END:
	case ROCE_MESSAGE_CM_OK:
	case ROCE_MESSAGE_CM_EVENT:
		s->counter[ROCE_SERVER_messages_malformed]++;
		send_error(s, c, m->sequence, -EBADMSG, "%s is not a request",
			   roce_message_type_str(m->type));
		c->is_closing = true;
		break;
	}
}

static void on_socket_ready(struct roce_server *s, struct roce_source *source)
{
	struct roce_session *c = roce_container_of(source, struct roce_session, socket);
	static struct roce_channel_packet p;
	int n;

	if (c->is_blocked) {
		flush_output(s, c);
	} else {
		n = roce_channel_receive(c->socket.fd, &p);
		if (n == 0 || (n < 0 && n != -EAGAIN)) {
			roce_session_close(s, c);
			return;
		}
		if (n == 1) {
			on_message(s, c, &p);
			roce_channel_close_fds(&p);
		}
	}
	if (c->is_closing)
		roce_session_close(s, c);
}
