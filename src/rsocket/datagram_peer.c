/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Peers of a datagram socket, and which queue pair each of them has. Its number comes by UDP, where
 * anybody can write in the peer's name: a wrong number would send all datagrams into the void, and
 * nothing would ever come to put it right. So a number is believed only as the answer to a datagram
 * that we sent by UDP to the peer's address, and one answer a question. Whatever else names another
 * number (a peer that was started anew does, with its first datagram) makes us ask again: the next
 * datagram goes by UDP, which reaches whoever has the address. Such datagrams are answered by every
 * rsocket. Who writes in the peer's name all the time thus makes datagrams slow, no more; and who
 * is faster than the true answer is found out by it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "rsocket/address.h"
#include "rsocket/datagram.h"
#include "rsocket/socket.h"

#define ANSWER_NS_MAX (5 * ROCE_NS_PER_S)

void roce_ds_peer_free(struct roce_ds *ds, struct roce_ds_peer *peer)
{
	roce_list_remove(&peer->link);
	ds->peer_count--;
	if (peer->ah)
		ibv_destroy_ah(peer->ah);
	free(peer);
}

/* The address that the kernel would send from. */
static int find_local(struct roce_rs *rs, const struct sockaddr *to, struct sockaddr_storage *out)
{
	struct sockaddr_storage bound;
	socklen_t length = sizeof(bound);
	int fd, error = 0;

	if (getsockname(rs->fd, (struct sockaddr *)&bound, &length))
		return -errno;
	length = sizeof(*out);
	fd = socket(to->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, to, roce_rs_address_length(to)) ||
	    getsockname(fd, (struct sockaddr *)out, &length))
		error = -errno;
	close(fd);
	roce_rs_address_set_port((struct sockaddr *)out,
				 roce_rs_address_port((struct sockaddr *)&bound));
	return error;
}

/* Anybody can make peers by sending from many addresses, so the table never refuses: who was not
 * heard of for longest is forgotten, and becomes a peer again when there is something to send. */
static void drop_oldest_peer(struct roce_ds *ds)
{
	struct roce_ds_peer *oldest = roce_container_of(ds->peers.next, struct roce_ds_peer, link);

	if (oldest == ds->connected)
		oldest = roce_container_of(oldest->link.next, struct roce_ds_peer, link);
	roce_ds_peer_free(ds, oldest);
}

static int add_peer(struct roce_rs *rs, const struct sockaddr *address, struct roce_ds_peer **out)
{
	struct sockaddr_storage local;
	struct roce_ds_peer *peer;
	int error;

	peer = calloc(1, sizeof(*peer));
	if (!peer)
		return -ENOMEM;
	memcpy(&peer->address, address, roce_rs_address_length(address));
	error = find_local(rs, address, &local);
	if (!error)
		error = roce_ds_port_get(rs, (struct sockaddr *)&local, &peer->port);
	if (error) {
		free(peer);
		return error;
	}
	if (rs->datagram->peer_count >= ROCE_DS_PEERS_MAX)
		drop_oldest_peer(rs->datagram);
	roce_list_add_tail(&rs->datagram->peers, &peer->link);
	rs->datagram->peer_count++;
	*out = peer;
	return 0;
}

struct roce_ds_peer *roce_ds_peer_find(struct roce_ds *ds, const struct sockaddr *address)
{
	struct roce_list *pos;

	roce_list_for_each (pos, &ds->peers) {
		struct roce_ds_peer *peer = roce_container_of(pos, struct roce_ds_peer, link);

		if (roce_rs_address_is_equal((struct sockaddr *)&peer->address, address)) {
			roce_list_remove(pos);
			roce_list_add_tail(&ds->peers, pos);
			return peer;
		}
	}
	return NULL;
}

int roce_ds_peer_get(struct roce_rs *rs, const struct sockaddr *address, struct roce_ds_peer **out)
{
	*out = roce_ds_peer_find(rs->datagram, address);
	return *out ? 0 : add_peer(rs, address, out);
}

bool roce_ds_peer_is_known(const struct roce_ds_peer *peer)
{
	return peer->ah && !peer->is_doubted;
}

void roce_ds_peer_on_asked(struct roce_ds_peer *peer)
{
	peer->is_asked = true;
	peer->asked_ns = roce_clock_now();
}

static bool is_answer(const struct roce_ds_peer *peer, const struct roce_rs_udp_header *header)
{
	return header->op == ROCE_RS_OP_CONTROL && peer->is_asked &&
	       roce_clock_now() - peer->asked_ns < ANSWER_NS_MAX;
}

void roce_ds_peer_on_number(struct roce_ds_peer *peer, const struct roce_rs_udp_header *header)
{
	if (!is_answer(peer, header)) {
		if (peer->qpn != header->qpn)
			peer->is_doubted = true;
		return;
	}
	if (!peer->ah)
		peer->ah = roce_ds_port_create_ah(peer->port, (struct sockaddr *)&peer->address);
	peer->qpn = header->qpn;
	peer->is_doubted = false;
	peer->is_asked = false;
}
