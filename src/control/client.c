/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls of the control client: what is asked of uroced, and what comes back becomes something
 * that we hold. How the daemon is reached is connection.c's, what is held is held.c's.
 */
#include "control/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/client_internal.h"
#include "control/random.h"
#include "base/clock.h"

static void set_program(struct roce_client *c, const char *program)
{
	snprintf(c->program, sizeof(c->program), "%s",
		 program ? program : program_invocation_short_name);
	for (char *p = c->program; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
}

int roce_client_open(struct roce_client **out, const struct roce_client_config *cfg, char *err,
		     size_t err_size)
{
	const char *path = cfg->socket_path ? cfg->socket_path : secure_getenv("UROCE_SOCKET");
	struct roce_client *c;
	int error;

	if (path && strlen(path) >= sizeof(c->explicit_path)) {
		snprintf(err, err_size, "UROCE_SOCKET is longer than %zu characters",
			 sizeof(c->explicit_path) - 1);
		return -ENAMETOOLONG;
	}
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->cfg = *cfg;
	c->sock = c->report_fd = c->epoll_fd = c->timer_fd = -1;
	c->netns = roce_rendezvous_netns();
	roce_list_init(&c->slots);
	set_program(c, cfg->program);
	if (path)
		memcpy(c->explicit_path, path, strlen(path) + 1);
	error = roce_random_fill(&c->instance, sizeof(c->instance));
	if (error) {
		snprintf(err, err_size,
			 "neither getrandom() nor /dev/urandom gives random bytes: %s",
			 strerror(-error));
		free(c);
		return error;
	}
	roce_held_enlist(c);
	error = roce_client_connect(c, err, err_size);
	if (error) {
		roce_client_close(c);
		return error;
	}
	*out = c;
	return 0;
}

int roce_client_lease_slot(struct roce_client *c, uint8_t *out_slot, char *err, size_t err_size)
{
	struct roce_message m = {.type = ROCE_MESSAGE_LEASE};
	struct roce_held_slot *s = calloc(1, sizeof(*s));
	struct roce_channel_packet p;
	int error;

	if (!s)
		return -ENOMEM;
	error = roce_client_transact(c, &m, &p, err, err_size);
	if (!error)
		roce_channel_close_fds(&p);
	if (!error && p.message.type != ROCE_MESSAGE_LEASE_OK) {
		snprintf(err, err_size, "uroced answered LEASE by %s",
			 roce_message_type_str(p.message.type));
		error = -EPROTO;
	}
	if (error) {
		free(s);
		return error;
	}
	s->slot = p.message.lease.slot;
	roce_list_add_tail(&c->slots, &s->link);
	*out_slot = s->slot;
	return 0;
}

static bool is_gro_off(void)
{
	const char *gro = secure_getenv("UROCE_GRO");

	return gro && (!strcmp(gro, "off") || !strcmp(gro, "0"));
}

static uint32_t scope_of(const struct roce_gid *g, uint32_t ifindex)
{
	return roce_gid_is_link_local(g) ? ifindex : 0;
}

int roce_client_open_address(struct roce_client *c, uint8_t slot, const struct roce_gid *local,
			     uint32_t ifindex, int *out_fd, char *err, size_t err_size)
{
	struct roce_message m = {.type = ROCE_MESSAGE_OPEN_ADDRESS};
	struct roce_held_slot *s = roce_held_find(c, slot);
	struct roce_channel_packet p;
	struct roce_held_address *a;
	struct stat st;
	int error;

	if (!s || s->is_lost) {
		snprintf(err, err_size,
			 s ? "slot %u was lost while uroced was away"
			   : "slot %u is not leased by this client",
			 slot);
		return s ? -ESTALE : -EINVAL;
	}
	ifindex = scope_of(local, ifindex);
	if (s->count == ROCE_CONTROL_SLOT_ADDR_MAX && !roce_held_find_address(s, local, ifindex)) {
		snprintf(err, err_size, "slot %u has its maximum of %d addresses", slot,
			 ROCE_CONTROL_SLOT_ADDR_MAX);
		return -EDQUOT;
	}
	m.open.slot = slot;
	m.open.address.gid = *local;
	m.open.address.ifindex = ifindex;
	m.open.flags = is_gro_off() ? ROCE_OPEN_GRO_OFF : 0;
	error = roce_client_transact(c, &m, &p, err, err_size);
	if (error)
		return error;
	if (p.message.type != ROCE_MESSAGE_OPEN_ADDRESS_OK || p.fd_count != 1 ||
	    fstat(p.fds[0], &st)) {
		roce_channel_close_fds(&p);
		snprintf(err, err_size, "uroced sent no socket (is the descriptor limit reached?)");
		return -EMFILE;
	}
	a = roce_held_find_address(s, local, ifindex);
	if (!a)
		a = &s->address[s->count++];
	a->address = m.open.address;
	a->nonce = p.message.open.nonce;
	a->fd = p.fds[0];
	a->ino = st.st_ino;
	*out_fd = p.fds[0];
	return 0;
}

void roce_client_close_address(struct roce_client *c, uint8_t slot, const struct roce_gid *local,
			       uint32_t ifindex)
{
	struct roce_held_slot *s = roce_held_find(c, slot);
	struct roce_held_address *a;
	struct roce_message m = {.type = ROCE_MESSAGE_CLOSE_ADDRESS};

	ifindex = scope_of(local, ifindex);
	a = s ? roce_held_find_address(s, local, ifindex) : NULL;
	if (!a || c->state == ROCE_CLIENT_FORKED)
		return;
	*a = s->address[--s->count];
	m.open.slot = slot;
	m.open.address.gid = *local;
	m.open.address.ifindex = ifindex;
	/* Not sent: the next claims will not name it, which says the same. */
	if (c->state == ROCE_CLIENT_READY && roce_channel_send(c->sock, &m, NULL, 0))
		roce_client_on_lost(c);
}

void roce_client_release_slot(struct roce_client *c, uint8_t slot)
{
	struct roce_held_slot *s = roce_held_find(c, slot);
	struct roce_message m = {.type = ROCE_MESSAGE_RELEASE};

	if (!s || c->state == ROCE_CLIENT_FORKED)
		return;
	m.lease.slot = slot;
	if (!s->is_lost && c->state == ROCE_CLIENT_READY && roce_channel_send(c->sock, &m, NULL, 0))
		roce_client_on_lost(c);
	roce_list_remove(&s->link);
	free(s);
}

int roce_client_fd(const struct roce_client *c)
{
	return c->epoll_fd;
}

void roce_client_on_readable(struct roce_client *c)
{
	struct roce_channel_packet p;

	if (c->state != ROCE_CLIENT_FORKED)
		roce_client_step(c, 0, &p);
}

int roce_client_forward_stray(struct roce_client *c, const struct roce_gid *local,
			      const struct sockaddr_storage *from, const void *data, size_t length,
			      uint8_t tos)
{
	struct roce_message m = {.type = ROCE_MESSAGE_STRAY};

	if (length > ROCE_CONTROL_STRAY_MAX)
		return -EMSGSIZE;
	if (c->state != ROCE_CLIENT_READY)
		return -EAGAIN;
	if (from->ss_family != AF_INET && from->ss_family != AF_INET6)
		return -EINVAL;
	m.stray.local = *local;
	m.stray.from = *from;
	m.stray.tos = tos;
	m.stray.length = (uint16_t)length;
	m.stray.data = data;
	return roce_channel_send(c->sock, &m, NULL, 0);
}

int roce_client_ask(struct roce_client *c, const struct roce_message *request,
		    void (*on_answer)(void *ctx, const struct roce_message *answer), void *ctx,
		    char *err, size_t err_size)
{
	roce_ns_t until = roce_clock_now() + ROCE_CLIENT_ANSWER_NS_MAX;
	struct roce_message m = *request;
	struct roce_channel_packet p;
	int error = roce_client_transact(c, &m, &p, err, err_size);
	uint32_t generation = c->generation;

	while (!error) {
		roce_channel_close_fds(&p);
		if (on_answer)
			on_answer(ctx, &p.message);
		if (p.message.type == ROCE_MESSAGE_OK || p.message.type == ROCE_MESSAGE_STATUS_END)
			return 0;
		while (!roce_client_step(c, m.sequence, &p)) {
			if (c->state != ROCE_CLIENT_READY || c->generation != generation ||
			    roce_clock_now() >= until) {
				snprintf(err, err_size, "uroced stopped answering");
				return -ECONNRESET;
			}
			roce_client_wait_event(c, until);
		}
		error = roce_client_check_answer(&p, err, err_size);
	}
	return error;
}

const char *roce_client_socket(const struct roce_client *c)
{
	return c->socket_name;
}

void roce_client_close(struct roce_client *c)
{
	struct roce_list *pos, *tmp;

	if (!c)
		return;
	roce_held_delist(c);
	roce_client_close_fds(c);
	roce_list_for_each_safe (pos, tmp, &c->slots)
		free(roce_container_of(pos, struct roce_held_slot, link));
	free(c);
}
