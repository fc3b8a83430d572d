/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way of a datagram. To a peer whose queue pair is not known it goes by UDP, with a header that
 * has the number of ours; the peer answers with a notice of its own, and from then on everything
 * goes over the two queue pairs (datagram_peer.c).
 */
#include "rsocket/datagram.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rsocket/address.h"
#include "rsocket/pollers.h"
#include "rsocket/service.h"
#include "rsocket/socket.h"

#define COMPLETIONS_AT_ONCE 16
#define DATAGRAMS_AT_ONCE   64
#define SEND_WR		    UINT64_C(0x100000000) /* in wr_id; else a receive slot */

int roce_ds_create(struct roce_rs *rs, int domain, int protocol)
{
	struct roce_ds *ds = calloc(1, sizeof(*ds));

	if (!ds)
		return -ENOMEM;
	rs->datagram = ds;
	roce_list_init(&ds->peers);
	roce_list_init(&ds->messages);
	rs->fd = socket(domain, SOCK_DGRAM | SOCK_CLOEXEC, protocol);
	return rs->fd < 0 ? -errno : 0;
}

static void free_message(struct roce_ds *ds, struct roce_ds_message *m)
{
	roce_list_remove(&m->link);
	if (m->port)
		roce_ds_port_post_receive(m->port, m->slot);
	else
		ds->waiting--;
	free(m);
}

void roce_ds_destroy(struct roce_rs *rs)
{
	struct roce_ds *ds = rs->datagram;
	struct roce_list *pos, *tmp;

	if (!ds)
		return;
	roce_list_for_each_safe (pos, tmp, &ds->messages)
		free_message(ds, roce_container_of(pos, struct roce_ds_message, link));
	roce_list_for_each_safe (pos, tmp, &ds->peers)
		roce_ds_peer_free(ds, roce_container_of(pos, struct roce_ds_peer, link));
	for (unsigned i = 0; i < ds->port_count; i++)
		roce_ds_port_destroy(ds->ports[i]);
	if (rs->fd >= 0)
		close(rs->fd);
	free(ds);
	rs->datagram = NULL;
}

/* ---- set-up ---- */

/* The UDP socket gets a port, and the service reads it. */
static int begin(struct roce_rs *rs)
{
	struct sockaddr_storage local = {.ss_family = (sa_family_t)rs->domain};
	int error;

	if (rs->state == ROCE_RS_IDLE && bind(rs->fd, (struct sockaddr *)&local,
					      roce_rs_address_length((struct sockaddr *)&local)))
		return -errno;
	if (rs->state == ROCE_RS_CONNECTED)
		return 0;
	error = roce_rs_service_add(rs);
	if (error)
		return error;
	rs->state = ROCE_RS_CONNECTED; /* ready for datagrams */
	rs->is_readable = true;
	rs->is_writable = true;
	return 0;
}

static bool is_wildcard(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET)
		return ((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr == INADDR_ANY;
	return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
}

int roce_ds_bind(struct roce_rs *rs, const struct sockaddr *address, socklen_t length)
{
	struct sockaddr_storage local;
	struct roce_ds_port *port;
	int error;

	if (rs->state != ROCE_RS_IDLE)
		return -EINVAL;
	if (bind(rs->fd, address, length))
		return -errno;
	rs->state = ROCE_RS_BOUND;
	error = begin(rs);
	if (error || is_wildcard(address))
		return error;
	length = sizeof(local);
	if (getsockname(rs->fd, (struct sockaddr *)&local, &length))
		return -errno;
	return roce_ds_port_get(rs, (struct sockaddr *)&local, &port);
}

int roce_ds_connect(struct roce_rs *rs, const struct sockaddr *address, socklen_t length)
{
	int error;

	if (!roce_rs_address_is_known(address, length))
		return -EAFNOSUPPORT;
	error = begin(rs);
	if (error)
		return error;
	if (connect(rs->fd, address, length))
		return -errno;
	return roce_ds_peer_get(rs, address, &rs->datagram->connected);
}

/* ---- completions ---- */

static void on_datagram(struct roce_ds *ds, struct roce_ds_port *port, const struct ibv_wc *wc)
{
	unsigned slot = (unsigned)wc->wr_id;
	const uint8_t *data = roce_ds_port_receive_slot(port, slot) + ROCE_DS_GRH_BYTES;
	struct roce_ds_message *m;
	size_t header;

	m = wc->byte_len > ROCE_DS_GRH_BYTES ? calloc(1, sizeof(*m)) : NULL;
	if (!m) {
		roce_ds_port_post_receive(port, slot);
		return;
	}
	m->port = port;
	m->slot = slot;
	m->length = wc->byte_len - ROCE_DS_GRH_BYTES;
	header = roce_rs_ud_header_decode(data, m->length, &m->source);
	roce_list_add_tail(&ds->messages, &m->link);
	if (!header) {
		free_message(ds, m); /* not from an rsocket */
		return;
	}
	m->data = data + header;
	m->length -= header;
}

static bool take_completions(struct roce_ds *ds, struct roce_ds_port *port)
{
	struct ibv_wc wc[COMPLETIONS_AT_ONCE];
	bool is_changed = false;
	int count;

	do {
		count = ibv_poll_cq(port->cq, COMPLETIONS_AT_ONCE, wc);
		for (int i = 0; i < count; i++)
			if (wc[i].wr_id & SEND_WR)
				port->send_free++;
			else if (wc[i].status == IBV_WC_SUCCESS)
				on_datagram(ds, port, &wc[i]);
		is_changed |= count > 0;
	} while (count == COMPLETIONS_AT_ONCE);
	return is_changed;
}

void roce_ds_progress(struct roce_rs *rs)
{
	struct roce_ds *ds = rs->datagram;
	bool is_changed = false;

	for (unsigned i = 0; i < ds->port_count; i++)
		is_changed |= take_completions(ds, ds->ports[i]);
	if (is_changed)
		roce_rs_notify(rs);
}

/* ---- UDP ---- */

static int send_by_udp(struct roce_rs *rs, const struct roce_ds_peer *peer, enum roce_rs_op op,
		       const struct iovec *iov, int count)
{
	uint8_t bytes[ROCE_RS_UDP_HEADER_MAX];
	const struct sockaddr *to = (const struct sockaddr *)&peer->address;
	struct roce_rs_udp_header header = {.family_version = to->sa_family == AF_INET ? 4 : 6,
					    .op = op,
					    .qpn = peer->port->id->qp->qp_num};
	struct iovec all[UIO_MAXIOV];
	struct msghdr message = {.msg_iov = all, .msg_iovlen = (size_t)count + 1};

	if (count >= UIO_MAXIOV)
		return -EMSGSIZE;
	all[0].iov_base = bytes;
	all[0].iov_len = roce_rs_udp_header_encode(
		&header, (const struct sockaddr *)&peer->port->local, bytes);
	if (count)
		memcpy(all + 1, iov, (size_t)count * sizeof(*iov));
	if (peer != rs->datagram->connected) {
		message.msg_name = (void *)(uintptr_t)to;
		message.msg_namelen = roce_rs_address_length(to);
	}
	return sendmsg(rs->fd, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static void keep_datagram(struct roce_rs *rs, const struct roce_ds_peer *peer, const uint8_t *data,
			  size_t length)
{
	struct roce_ds *ds = rs->datagram;
	struct roce_ds_message *m;

	if (ds->waiting == ROCE_DS_WAITING_MAX)
		return;
	m = calloc(1, sizeof(*m) + length);
	if (!m)
		return;
	if (length)
		memcpy(m + 1, data, length);
	m->data = (const uint8_t *)(m + 1);
	m->length = length;
	m->source = peer->address;
	ds->waiting++;
	roce_list_add_tail(&ds->messages, &m->link);
	roce_rs_notify(rs);
}

void roce_ds_on_udp(struct roce_rs *rs)
{
	uint8_t data[ROCE_RS_UDP_HEADER_MAX + ROCE_DS_SLOT_BYTES];
	struct sockaddr_storage from;
	ssize_t length;

	/* Some at a time: the socket stays readable, and others have their turn. */
	for (unsigned i = 0; i < DATAGRAMS_AT_ONCE; i++) {
		struct roce_rs_udp_header header;
		struct roce_ds_peer *peer;
		socklen_t from_length = sizeof(from);
		size_t offset;

		length = recvfrom(rs->fd, data, sizeof(data), MSG_DONTWAIT,
				  (struct sockaddr *)&from, &from_length);
		if (length < 0)
			return;
		offset = roce_rs_udp_header_decode(data, (size_t)length, &header);
		if (!offset)
			continue;
		peer = roce_ds_peer_find(rs->datagram, (struct sockaddr *)&from);
		if (peer)
			roce_ds_peer_on_number(peer, &header);
		if (header.op != ROCE_RS_OP_DATA ||
		    (!peer && roce_ds_peer_get(rs, (struct sockaddr *)&from, &peer)))
			continue;
		send_by_udp(rs, peer, ROCE_RS_OP_CONTROL, NULL, 0);
		keep_datagram(rs, peer, data + offset, (size_t)length - offset);
	}
}

/* ---- sending ---- */

static bool can_send_or_never(const struct roce_rs *rs)
{
	for (unsigned i = 0; i < rs->datagram->port_count; i++)
		if (!rs->datagram->ports[i]->send_free)
			return !rs->is_writable;
	return true;
}

static int send_by_queue_pair(struct roce_rs *rs, const struct roce_ds_peer *peer,
			      const struct iovec *iov, int count, size_t length)
{
	struct roce_ds_port *port = peer->port;
	uint8_t *slot = roce_ds_port_send_slot(port, port->send_next);
	size_t bytes = roce_rs_ud_header_encode((struct sockaddr *)&port->local, slot);
	struct ibv_sge sge = {.addr = (uintptr_t)slot, .lkey = port->mr->lkey};
	struct ibv_send_wr *bad, wr = {
					 .wr_id = SEND_WR,
					 .sg_list = &sge,
					 .num_sge = 1,
					 .opcode = IBV_WR_SEND,
					 .wr.ud = {.ah = peer->ah,
						   .remote_qpn = peer->qpn,
						   .remote_qkey = ROCE_DS_QKEY},
				 };
	int error;

	if (bytes + length > ROCE_DS_SLOT_BYTES || bytes + length > port->path_mtu)
		return -EMSGSIZE;
	for (int i = 0; i < count; i++) {
		if (iov[i].iov_len)
			memcpy(slot + bytes, iov[i].iov_base, iov[i].iov_len);
		bytes += iov[i].iov_len;
	}
	sge.length = (uint32_t)bytes;
	error = ibv_post_send(port->id->qp, &wr, &bad);
	if (error)
		return -error;
	(void)rs;
	port->send_free--;
	port->send_next = (port->send_next + 1) % port->send_slots;
	return 0;
}

static int send_datagram_by_udp(struct roce_rs *rs, struct roce_ds_peer *peer,
				const struct iovec *iov, int count)
{
	int error = send_by_udp(rs, peer, ROCE_RS_OP_DATA, iov, count);

	if (!error)
		roce_ds_peer_on_asked(peer);
	return error;
}

/* What can be said before there is room. */
static int check_destination(struct roce_rs *rs, const struct sockaddr *to, socklen_t to_length)
{
	if (!to)
		return rs->datagram->connected ? 0 : -EDESTADDRREQ;
	return roce_rs_address_is_known(to, to_length) ? begin(rs) : -EAFNOSUPPORT;
}

ssize_t roce_ds_send(struct roce_rs *rs, const struct iovec *iov, int count, int flags,
		     const struct sockaddr *to, socklen_t to_length)
{
	struct roce_ds_peer *peer;
	size_t length = 0;
	int error;

	for (int i = 0; i < count; i++)
		length += iov[i].iov_len;
	if (length > ROCE_DS_SLOT_BYTES)
		return -EMSGSIZE;
	error = check_destination(rs, to, to_length);
	if (error)
		return error;
	error = roce_rs_wait(rs, roce_rs_is_nonblocking(rs, flags), can_send_or_never);
	if (error)
		return error;
	if (!rs->is_writable)
		return -EPIPE;
	/* Not before: a peer may be dropped while we wait. */
	peer = rs->datagram->connected;
	error = to ? roce_ds_peer_get(rs, to, &peer) : 0;
	if (error)
		return error;
	if (roce_ds_peer_is_known(peer))
		error = send_by_queue_pair(rs, peer, iov, count, length);
	else
		error = send_datagram_by_udp(rs, peer, iov, count);
	return error ? error : (ssize_t)length;
}

/* ---- receiving ---- */

static bool has_message_or_never(const struct roce_rs *rs)
{
	return !roce_list_is_empty(&rs->datagram->messages) || !rs->is_readable;
}

static size_t copy_out(const struct roce_ds_message *m, const struct iovec *iov, int count)
{
	size_t done = 0;

	for (int i = 0; i < count && done < m->length; i++) {
		size_t bytes = m->length - done;

		if (bytes > iov[i].iov_len)
			bytes = iov[i].iov_len;
		if (bytes)
			memcpy(iov[i].iov_base, m->data + done, bytes);
		done += bytes;
	}
	return done;
}

ssize_t roce_ds_receive(struct roce_rs *rs, const struct iovec *iov, int count, int flags,
			struct sockaddr *from, socklen_t *from_length)
{
	struct roce_ds_message *m;
	ssize_t bytes;
	int error;

	if (rs->state != ROCE_RS_CONNECTED)
		return -EINVAL;
	error = roce_rs_wait(rs, roce_rs_is_nonblocking(rs, flags), has_message_or_never);
	if (error)
		return error;
	if (roce_list_is_empty(&rs->datagram->messages))
		return 0;
	m = roce_container_of(rs->datagram->messages.next, struct roce_ds_message, link);
	bytes = (ssize_t)copy_out(m, iov, count);
	roce_rs_address_copy_out((struct sockaddr *)&m->source, from, from_length);
	if (flags & MSG_TRUNC)
		bytes = (ssize_t)m->length;
	if (!(flags & MSG_PEEK))
		free_message(rs->datagram, m);
	return bytes;
}

/* ---- waiting ---- */

short roce_ds_revents(const struct roce_rs *rs, short events)
{
	short revents = 0;

	if ((events & POLLIN) && has_message_or_never(rs))
		revents |= POLLIN;
	if ((events & POLLOUT) && can_send_or_never(rs))
		revents |= POLLOUT;
	return revents;
}

int roce_ds_poll_fds(struct roce_rs *rs, struct pollfd *out)
{
	struct roce_ds *ds = rs->datagram;

	for (unsigned i = 0; i < ds->port_count; i++) {
		struct roce_ds_port *port = ds->ports[i];

		if (!port->is_armed && !ibv_req_notify_cq(port->cq, 0))
			port->is_armed = true;
		out[i] = (struct pollfd){.fd = port->channel->fd, .events = POLLIN};
	}
	return (int)ds->port_count;
}

void roce_ds_take_events(struct roce_rs *rs)
{
	for (unsigned i = 0; i < rs->datagram->port_count; i++) {
		struct roce_ds_port *port = rs->datagram->ports[i];
		struct ibv_cq *cq;
		void *context;

		while (!ibv_get_cq_event(port->channel, &cq, &context)) {
			ibv_ack_cq_events(cq, 1);
			port->is_armed = false;
		}
	}
}
