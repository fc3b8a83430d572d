/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls of <rdma/rsocket.h>: from a descriptor to its socket, from 0 or -errno to -1 and errno.
 */
#include "rsocket/api.h"

#include <fcntl.h>
#include <rdma/rsocket.h>
#include <string.h>
#include <unistd.h>

#include "rsocket/address.h"
#include "rsocket/datagram.h"
#include "rsocket/iomap.h"
#include "rsocket/service.h"
#include "rsocket/socket.h"
#include "rsocket/table.h"
#include "rsocket/transfer.h"

struct roce_rs *roce_rs_find(int fd)
{
	struct roce_rs *rs = roce_rs_table_get(fd);

	if (!rs)
		errno = EBADF;
	return rs;
}

/* ---- life ---- */

static int create_stream(struct roce_rs *rs)
{
	rs->channel = rdma_create_event_channel();
	if (!rs->channel)
		return -errno;
	rs->fd = rs->channel->fd;
	if (fcntl(rs->fd, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	return rdma_create_id(rs->channel, &rs->id, rs, RDMA_PS_TCP) ? -errno : 0;
}

static bool is_supported(int domain, int type, int protocol)
{
	if (domain != AF_INET && domain != AF_INET6)
		return false;
	if (type == SOCK_STREAM)
		return !protocol || protocol == IPPROTO_TCP;
	return type == SOCK_DGRAM && (!protocol || protocol == IPPROTO_UDP);
}

int rsocket(int domain, int type, int protocol)
{
	struct roce_rs *rs;
	int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
	int error;

	if (!is_supported(domain, kind, protocol))
		return (int)roce_rs_result(-ENOTSUP);
	error = roce_rs_create(&rs, domain);
	if (error)
		return (int)roce_rs_result(error);
	error = kind == SOCK_STREAM ? create_stream(rs) : roce_ds_create(rs, domain, protocol);
	if (type & SOCK_NONBLOCK)
		rs->fd_flags = O_NONBLOCK;
	if (!error)
		error = roce_rs_table_put(rs->fd, rs);
	if (error) {
		roce_rs_destroy(rs);
		return (int)roce_rs_result(error);
	}
	return rs->fd;
}

int rbind(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
	struct roce_rs *rs = roce_rs_find(socket);
	int error = 0;

	if (!rs)
		return -1;
	if (!roce_rs_address_is_known(addr, addrlen))
		return (int)roce_rs_result(-EAFNOSUPPORT);
	pthread_mutex_lock(&rs->lock);
	if (rs->datagram)
		error = roce_ds_bind(rs, addr, addrlen);
	else if (rdma_bind_addr(rs->id, (struct sockaddr *)(uintptr_t)addr))
		error = -errno;
	else
		rs->state = ROCE_RS_BOUND;
	pthread_mutex_unlock(&rs->lock);
	return (int)roce_rs_result(error);
}

int rlisten(int socket, int backlog)
{
	struct roce_rs *rs = roce_rs_find(socket);

	if (!rs)
		return -1;
	return (int)roce_rs_result(rs->datagram ? -EOPNOTSUPP : roce_rs_listen(rs, backlog));
}

int raccept(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	struct roce_rs *rs = roce_rs_find(socket), *child;
	int error;

	if (!rs)
		return -1;
	error = rs->datagram ? -EOPNOTSUPP : roce_rs_accept(rs, &child);
	if (error)
		return (int)roce_rs_result(error);
	roce_rs_address_copy_out(rdma_get_peer_addr(child->id), addr, addrlen);
	return child->fd;
}

int rconnect(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
	struct roce_rs *rs = roce_rs_find(socket);
	int error;

	if (!rs)
		return -1;
	if (!roce_rs_address_is_known(addr, addrlen))
		return (int)roce_rs_result(-EAFNOSUPPORT);
	if (!rs->datagram)
		return (int)roce_rs_result(roce_rs_connect(rs, addr));
	pthread_mutex_lock(&rs->lock);
	error = roce_ds_connect(rs, addr, addrlen);
	pthread_mutex_unlock(&rs->lock);
	return (int)roce_rs_result(error);
}

int rshutdown(int socket, int how)
{
	struct roce_rs *rs = roce_rs_find(socket);
	int error;

	if (!rs)
		return -1;
	pthread_mutex_lock(&rs->lock);
	error = rs->datagram ? 0 : roce_rs_shutdown(rs, how);
	pthread_mutex_unlock(&rs->lock);
	return (int)roce_rs_result(error);
}

static bool has_sent_all(const struct roce_rs *rs)
{
	for (unsigned i = 0; i < rs->datagram->port_count; i++)
		if (rs->datagram->ports[i]->send_free != rs->datagram->ports[i]->send_slots)
			return false;
	return true;
}

int rclose(int socket)
{
	struct roce_rs *rs = roce_rs_table_get(socket);

	if (!rs)
		return EBADF; /* not -1: as programs know it */
	/* In a forked child, where the connection cannot be used and any lock may be held for ever
	 * by a thread that is not there, only the descriptor goes. */
	if (rs->owner != getpid()) {
		roce_rs_table_remove(socket);
		return close(socket);
	}
	pthread_mutex_lock(&rs->lock);
	if (rs->datagram)
		roce_rs_wait(rs, false, has_sent_all);
	else if (rs->state == ROCE_RS_CONNECTED)
		roce_rs_shutdown(rs, SHUT_RDWR);
	pthread_mutex_unlock(&rs->lock);
	roce_rs_service_lock();
	roce_rs_service_remove(rs);
	roce_rs_table_remove(socket);
	roce_rs_discard_children(rs);
	roce_rs_service_unlock();
	roce_rs_destroy(rs);
	return 0;
}

/* ---- data ---- */

static ssize_t send_all(int socket, const struct iovec *iov, int count, int flags,
			const struct sockaddr *to, socklen_t to_length)
{
	struct roce_rs *rs = roce_rs_find(socket);
	ssize_t bytes;

	if (!rs)
		return -1;
	if (!rs->datagram)
		return roce_rs_result(to ? -EISCONN : roce_rs_send(rs, iov, count, flags));
	pthread_mutex_lock(&rs->send_lock);
	pthread_mutex_lock(&rs->lock);
	bytes = roce_ds_send(rs, iov, count, flags, to, to_length);
	pthread_mutex_unlock(&rs->lock);
	pthread_mutex_unlock(&rs->send_lock);
	return roce_rs_result(bytes);
}

static ssize_t receive_all(int socket, const struct iovec *iov, int count, int flags,
			   struct sockaddr *from, socklen_t *from_length)
{
	struct roce_rs *rs = roce_rs_find(socket);
	ssize_t bytes;

	if (!rs)
		return -1;
	if (!rs->datagram) {
		bytes = roce_rs_receive(rs, iov, count, flags);
		if (bytes > 0 && from && from_length)
			roce_rs_address_copy_out(rdma_get_peer_addr(rs->id), from, from_length);
		return roce_rs_result(bytes);
	}
	pthread_mutex_lock(&rs->recv_lock);
	pthread_mutex_lock(&rs->lock);
	bytes = roce_ds_receive(rs, iov, count, flags, from, from_length);
	pthread_mutex_unlock(&rs->lock);
	pthread_mutex_unlock(&rs->recv_lock);
	return roce_rs_result(bytes);
}

ssize_t rsend(int socket, const void *buf, size_t len, int flags)
{
	struct iovec iov = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};

	return send_all(socket, &iov, 1, flags, NULL, 0);
}

ssize_t rsendto(int socket, const void *buf, size_t len, int flags,
		const struct sockaddr *dest_addr, socklen_t addrlen)
{
	struct iovec iov = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};

	return send_all(socket, &iov, 1, flags, dest_addr, addrlen);
}

ssize_t rsendmsg(int socket, const struct msghdr *msg, int flags)
{
	if (msg->msg_controllen)
		return roce_rs_result(-ENOTSUP);
	return send_all(socket, msg->msg_iov, (int)msg->msg_iovlen, flags, msg->msg_name,
			msg->msg_namelen);
}

ssize_t rwrite(int socket, const void *buf, size_t count)
{
	return rsend(socket, buf, count, 0);
}

ssize_t rwritev(int socket, const struct iovec *iov, int iovcnt)
{
	return send_all(socket, iov, iovcnt, 0, NULL, 0);
}

ssize_t rrecv(int socket, void *buf, size_t len, int flags)
{
	struct iovec iov = {.iov_base = buf, .iov_len = len};

	return receive_all(socket, &iov, 1, flags, NULL, NULL);
}

ssize_t rrecvfrom(int socket, void *buf, size_t len, int flags, struct sockaddr *src_addr,
		  socklen_t *addrlen)
{
	struct iovec iov = {.iov_base = buf, .iov_len = len};

	return receive_all(socket, &iov, 1, flags, src_addr, addrlen);
}

ssize_t rrecvmsg(int socket, struct msghdr *msg, int flags)
{
	ssize_t bytes;

	if (msg->msg_controllen)
		return roce_rs_result(-ENOTSUP);
	bytes = receive_all(socket, msg->msg_iov, (int)msg->msg_iovlen, flags, msg->msg_name,
			    msg->msg_name ? &msg->msg_namelen : NULL);
	msg->msg_flags = 0;
	return bytes;
}

ssize_t rread(int socket, void *buf, size_t count)
{
	return rrecv(socket, buf, count, 0);
}

ssize_t rreadv(int socket, const struct iovec *iov, int iovcnt)
{
	return receive_all(socket, iov, iovcnt, 0, NULL, NULL);
}

/* ---- mappings ---- */

off_t riomap(int socket, void *buf, size_t len, int prot, int flags, off_t offset)
{
	struct roce_rs *rs = roce_rs_find(socket);
	off_t result;

	(void)flags;
	if (!rs)
		return -1;
	pthread_mutex_lock(&rs->lock);
	result = roce_rs_map(rs, buf, len, prot, offset);
	pthread_mutex_unlock(&rs->lock);
	return roce_rs_result(result);
}

int riounmap(int socket, void *buf, size_t len)
{
	struct roce_rs *rs = roce_rs_find(socket);
	int error;

	if (!rs)
		return -1;
	pthread_mutex_lock(&rs->lock);
	error = roce_rs_unmap(rs, buf, len);
	pthread_mutex_unlock(&rs->lock);
	return (int)roce_rs_result(error);
}

size_t riowrite(int socket, const void *buf, size_t count, off_t offset, int flags)
{
	struct roce_rs *rs = roce_rs_find(socket);

	if (!rs)
		return (size_t)-1;
	return (size_t)roce_rs_result(
		rs->datagram ? -EOPNOTSUPP : roce_rs_write_mapped(rs, buf, count, offset, flags));
}
