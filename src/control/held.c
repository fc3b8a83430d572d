/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a client holds: slots, and per slot the receiving sockets that the program has. It is
 * claimed again from a new uroced, replaced when the daemon had to, and forgotten in a forked
 * child. A descriptor number may have been closed and used again by the program meanwhile: the
 * number is ours only while the inode behind it is the one that came.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/client_internal.h"

static struct roce_list all_clients = {&all_clients, &all_clients};
static pthread_mutex_t all_clients_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t atfork_once = PTHREAD_ONCE_INIT;

static bool is_same_socket(int fd, ino_t ino)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_ino == ino;
}

static void on_fork_prepare(void)
{
	pthread_mutex_lock(&all_clients_lock);
}

static void on_fork_parent(void)
{
	pthread_mutex_unlock(&all_clients_lock);
}

static void on_fork_child(void)
{
	struct roce_list *pos, *at;

	roce_list_for_each (pos, &all_clients) {
		struct roce_client *c = roce_container_of(pos, struct roce_client, link);

		if (c->state == ROCE_CLIENT_FORKED)
			continue;
		c->state = ROCE_CLIENT_FORKED;
		roce_client_close_fds(c);
		roce_list_for_each (at, &c->slots) {
			struct roce_held_slot *s =
				roce_container_of(at, struct roce_held_slot, link);

			for (unsigned i = 0; i < s->count; i++)
				if (is_same_socket(s->address[i].fd, s->address[i].ino))
					close(s->address[i].fd);
		}
	}
	pthread_mutex_unlock(&all_clients_lock);
}

static void register_atfork(void)
{
	pthread_atfork(on_fork_prepare, on_fork_parent, on_fork_child);
}

int roce_held_send_claims(struct roce_client *c)
{
	struct roce_list *pos;
	struct roce_message m = {.type = ROCE_MESSAGE_CLAIMED, .sequence = ROCE_SEQUENCE_CLAIMED};
	int error;

	roce_list_for_each (pos, &c->slots) {
		struct roce_held_slot *s = roce_container_of(pos, struct roce_held_slot, link);
		unsigned next = 0;

		if (s->is_lost)
			continue;
		do { /* also a slot without addresses makes one claim */
			struct roce_message claim = {.type = ROCE_MESSAGE_CLAIM,
						     .sequence = ROCE_SEQUENCE_CLAIM | s->slot};
			int fds[ROCE_CONTROL_CLAIM_MAX];
			uint8_t n = 0;

			claim.claim.slot = s->slot;
			for (; next < s->count && n < ROCE_CONTROL_CLAIM_MAX; next++) {
				struct roce_held_address *a = &s->address[next];

				if (!is_same_socket(a->fd, a->ino))
					continue;
				claim.claim.address[n] = a->address;
				claim.claim.nonce[n] = a->nonce;
				fds[n++] = a->fd;
			}
			claim.claim.count = n;
			error = roce_channel_send(c->sock, &claim, fds, n);
			if (error)
				return error;
		} while (next < s->count);
	}
	return roce_channel_send(c->sock, &m, NULL, 0);
}

void roce_held_on_remapped(struct roce_client *c, struct roce_channel_packet *p)
{
	const struct roce_message *m = &p->message;
	struct roce_list *pos;
	struct stat st;

	if (p->fd_count != 1 || fstat(p->fds[0], &st))
		return;
	roce_list_for_each (pos, &c->slots) {
		struct roce_held_slot *s = roce_container_of(pos, struct roce_held_slot, link);

		for (unsigned i = 0; s->slot == m->open.slot && i < s->count; i++) {
			struct roce_held_address *a = &s->address[i];

			if (!roce_gid_is_equal(&a->address.gid, &m->open.address.gid) ||
			    a->address.ifindex != m->open.address.ifindex ||
			    !is_same_socket(a->fd, a->ino))
				continue;
			if (dup3(p->fds[0], a->fd, O_CLOEXEC) < 0)
				return;
			a->ino = st.st_ino;
			a->nonce = m->open.nonce;
			if (c->cfg.on_replaced)
				c->cfg.on_replaced(c->cfg.ctx, a->fd);
		}
	}
}

struct roce_held_slot *roce_held_find(const struct roce_client *c, uint8_t slot)
{
	struct roce_list *pos;

	roce_list_for_each (pos, &c->slots) {
		struct roce_held_slot *s = roce_container_of(pos, struct roce_held_slot, link);

		if (s->slot == slot)
			return s;
	}
	return NULL;
}

struct roce_held_address *roce_held_find_address(struct roce_held_slot *s,
						 const struct roce_gid *local, uint32_t ifindex)
{
	for (unsigned i = 0; i < s->count; i++)
		if (roce_gid_is_equal(&s->address[i].address.gid, local) &&
		    s->address[i].address.ifindex == ifindex)
			return &s->address[i];
	return NULL;
}

void roce_held_on_claim_refused(struct roce_client *c, uint8_t slot, const char *text)
{
	struct roce_held_slot *s = roce_held_find(c, slot);

	if (s) {
		s->is_lost = true;
		roce_client_note(c, -ESTALE, "%s", text);
	}
}

void roce_held_enlist(struct roce_client *c)
{
	pthread_once(&atfork_once, register_atfork);
	pthread_mutex_lock(&all_clients_lock);
	roce_list_add_tail(&all_clients, &c->link);
	pthread_mutex_unlock(&all_clients_lock);
}

void roce_held_delist(struct roce_client *c)
{
	pthread_mutex_lock(&all_clients_lock);
	roce_list_remove(&c->link);
	pthread_mutex_unlock(&all_clients_lock);
}
