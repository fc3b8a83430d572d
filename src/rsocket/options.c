/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options, flags and names. Sizes are fixed once buffers exist, so setting one later is EINVAL;
 * options without a meaning here are remembered, or taken without effect where programs expect that
 * they may set them.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <rdma/rsocket.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "rsocket/address.h"
#include "rsocket/api.h"
#include "rsocket/datagram.h"
#include "rsocket/service.h"
#include "rsocket/socket.h"

#define KEEPALIVE_FILE	  "/proc/sys/net/ipv4/tcp_keepalive_time"
#define KEEPALIVE_DEFAULT 7200
#define BUFFER_MAX	  (UINT32_C(1) << 29)
#define SEGMENT_DEFAULT	  2048

static unsigned keepalive_default(void)
{
	FILE *file = fopen(KEEPALIVE_FILE, "re");
	unsigned seconds = KEEPALIVE_DEFAULT;

	if (!file)
		return seconds;
	if (fscanf(file, "%u", &seconds) != 1 || !seconds)
		seconds = KEEPALIVE_DEFAULT;
	fclose(file);
	return seconds;
}

static bool is_sized(const struct roce_rs *rs)
{
	return rs->cq || roce_rs_is_connecting(rs) ||
	       (rs->datagram && rs->datagram->port_count != 0);
}

static void set_bit(struct roce_rs *rs, int bit, bool on)
{
	if (on)
		rs->option_bits |= bit;
	else
		rs->option_bits &= ~bit;
}

/* The value is doubled, as sockets do: half of it is for our bookkeeping. */
static int set_buffer(struct roce_rs *rs, uint32_t *size, int value)
{
	if (is_sized(rs))
		return -EINVAL;
	if (value <= 0)
		value = 1;
	*size = (uint32_t)value >= BUFFER_MAX / 2 ? BUFFER_MAX : (uint32_t)value * 2;
	if (size == &rs->sizes.send_buffer && *size < 2 * ROCE_RS_SEND_MIN)
		*size = 2 * ROCE_RS_SEND_MIN;
	return 0;
}

static int set_keepalive(struct roce_rs *rs, bool on)
{
	set_bit(rs, ROCE_RS_OPTION_KEEPALIVE, on);
	if (on && !rs->keepalive_s)
		rs->keepalive_s = keepalive_default();
	return roce_rs_service_keepalive(rs);
}

static int set_on_socket(struct roce_rs *rs, int name, const void *value, int number)
{
	switch (name) {
	case SO_REUSEADDR:
		if (rs->id && rdma_set_option(rs->id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR,
					      &number, sizeof(number)))
			return -errno;
		set_bit(rs, ROCE_RS_OPTION_REUSEADDR, number);
		return 0;
	case SO_RCVBUF:
		return set_buffer(rs, &rs->sizes.receive_ring, number);
	case SO_SNDBUF:
		return set_buffer(rs, &rs->sizes.send_buffer, number);
	case SO_LINGER:
		memcpy(&rs->linger, value, sizeof(rs->linger));
		return 0;
	case SO_KEEPALIVE:
		return set_keepalive(rs, number);
	case SO_OOBINLINE:
		set_bit(rs, ROCE_RS_OPTION_OOBINLINE, number);
		return 0;
	case SO_REUSEPORT: /* one listener has a port, whatever it says */
		return 0;
	default:
		return -ENOTSUP;
	}
}

static int set_on_tcp(struct roce_rs *rs, int name, int number)
{
	switch (name) {
	case TCP_NODELAY:
		set_bit(rs, ROCE_RS_OPTION_NODELAY, number);
		return 0;
	case TCP_KEEPIDLE:
		if (number <= 0)
			return -EINVAL;
		rs->keepalive_s = (unsigned)number;
		return roce_rs_service_keepalive(rs);
	case TCP_MAXSEG:
	case TCP_KEEPCNT:
	case TCP_KEEPINTVL:
	case TCP_CONGESTION:
		return 0;
	default:
		return -ENOTSUP;
	}
}

static uint16_t clamp_wqes(uint32_t value)
{
	if (value < ROCE_RS_WQES_MIN)
		return ROCE_RS_WQES_MIN;
	return value > ROCE_RS_WQES_MAX ? ROCE_RS_WQES_MAX : (uint16_t)value;
}

static int set_on_rdma(struct roce_rs *rs, int name, const void *value, socklen_t length)
{
	uint32_t number;

	if (is_sized(rs))
		return -EINVAL;
	if (name == RDMA_ROUTE) {
		if (!rs->id)
			return -ENOTSUP;
		return rdma_set_option(rs->id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH,
				       (void *)(uintptr_t)value, length)
			       ? -errno
			       : 0;
	}
	memcpy(&number, value, sizeof(number));
	switch (name) {
	case RDMA_SQSIZE:
		rs->sizes.send_wqes = clamp_wqes(number);
		return 0;
	case RDMA_RQSIZE:
		rs->sizes.receive_wqes = clamp_wqes(number);
		return 0;
	case RDMA_INLINE:
		rs->sizes.inline_bytes = number > UINT16_MAX ? UINT16_MAX : number;
		return 0;
	case RDMA_IOMAPSIZE:
		rs->sizes.mapping_slots = roce_rs_mapping_slots_round(number);
		return 0;
	default:
		return -ENOTSUP;
	}
}

static int set_on_ipv6(struct roce_rs *rs, int name, int number)
{
	if (name != IPV6_V6ONLY)
		return -ENOTSUP;
	if (rs->id &&
	    rdma_set_option(rs->id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &number, sizeof(number)))
		return -errno;
	set_bit(rs, ROCE_RS_OPTION_V6ONLY, number);
	return 0;
}

static int set_on_ip(struct roce_rs *rs, int name, int number)
{
	uint8_t tos = (uint8_t)number;

	if (name != IP_TOS)
		return -ENOTSUP;
	if (rs->id && rdma_set_option(rs->id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 1))
		return -errno;
	return 0;
}

int rsetsockopt(int socket, int level, int optname, const void *optval, socklen_t optlen)
{
	struct roce_rs *rs = roce_rs_find(socket);
	int number = 0, error = -ENOTSUP;

	if (!rs)
		return -1;
	if (!optval || optlen < (level == SOL_SOCKET && optname == SO_LINGER ? sizeof(struct linger)
									     : sizeof(int)))
		return (int)roce_rs_result(-EINVAL);
	memcpy(&number, optval, sizeof(number));
	if (rs->datagram && level != SOL_RDMA && setsockopt(rs->fd, level, optname, optval, optlen))
		return -1;
	pthread_mutex_lock(&rs->lock);
	if (level == SOL_SOCKET)
		error = set_on_socket(rs, optname, optval, number);
	else if (level == IPPROTO_TCP)
		error = set_on_tcp(rs, optname, number);
	else if (level == IPPROTO_IPV6)
		error = set_on_ipv6(rs, optname, number);
	else if (level == IPPROTO_IP)
		error = set_on_ip(rs, optname, number);
	else if (level == SOL_RDMA)
		error = set_on_rdma(rs, optname, optval, optlen);
	pthread_mutex_unlock(&rs->lock);
	if (rs->datagram && error == -ENOTSUP && level != SOL_RDMA)
		error = 0; /* the UDP socket took it */
	return (int)roce_rs_result(error);
}

/* ---- reading them ---- */

static int get_on_socket(struct roce_rs *rs, int name, int *out)
{
	switch (name) {
	case SO_REUSEADDR:
		*out = !!(rs->option_bits & ROCE_RS_OPTION_REUSEADDR);
		return 0;
	case SO_RCVBUF:
		*out = (int)rs->sizes.receive_ring;
		return 0;
	case SO_SNDBUF:
		*out = (int)rs->sizes.send_buffer;
		return 0;
	case SO_KEEPALIVE:
		*out = !!(rs->option_bits & ROCE_RS_OPTION_KEEPALIVE);
		return 0;
	case SO_OOBINLINE:
		*out = !!(rs->option_bits & ROCE_RS_OPTION_OOBINLINE);
		return 0;
	case SO_ERROR:
		*out = rs->error;
		rs->error = 0;
		return 0;
	case SO_TYPE:
		*out = rs->datagram ? SOCK_DGRAM : SOCK_STREAM;
		return 0;
	case SO_DOMAIN:
		*out = rs->domain;
		return 0;
	case SO_ACCEPTCONN:
		*out = rs->state == ROCE_RS_LISTENING;
		return 0;
	default:
		return -ENOTSUP;
	}
}

static int path_mtu_bytes(const struct roce_rs *rs)
{
	if (rs->id && rs->id->route.num_paths > 0 && rs->id->route.path_rec)
		return 128 << (rs->id->route.path_rec->mtu & 0x3f);
	return SEGMENT_DEFAULT;
}

static int get_on_tcp(struct roce_rs *rs, int name, int *out)
{
	switch (name) {
	case TCP_NODELAY:
		*out = !!(rs->option_bits & ROCE_RS_OPTION_NODELAY);
		return 0;
	case TCP_MAXSEG:
		*out = path_mtu_bytes(rs);
		return 0;
	case TCP_KEEPIDLE:
		*out = (int)(rs->keepalive_s ? rs->keepalive_s : keepalive_default());
		return 0;
	case TCP_KEEPCNT:
	case TCP_KEEPINTVL:
		*out = 1;
		return 0;
	default:
		return -ENOTSUP;
	}
}

static int get_on_rdma(struct roce_rs *rs, int name, int *out)
{
	switch (name) {
	case RDMA_SQSIZE:
		*out = rs->sizes.send_wqes;
		return 0;
	case RDMA_RQSIZE:
		*out = rs->sizes.receive_wqes;
		return 0;
	case RDMA_INLINE:
		*out = (int)rs->sizes.inline_bytes;
		return 0;
	case RDMA_IOMAPSIZE:
		*out = rs->sizes.mapping_slots;
		return 0;
	default:
		return -ENOTSUP;
	}
}

/* As much of it as an rsocket has: nothing is ever sent again at this level. */
static int get_tcp_info(const struct roce_rs *rs, void *value, socklen_t *length)
{
	struct tcp_info info = {
		.tcpi_state = rs->state == ROCE_RS_CONNECTED ? TCP_ESTABLISHED : TCP_CLOSE,
		.tcpi_snd_mss = (uint32_t)path_mtu_bytes(rs),
		.tcpi_rcv_mss = (uint32_t)path_mtu_bytes(rs),
		.tcpi_snd_cwnd = rs->sizes.send_wqes,
	};

	if (*length > sizeof(info))
		*length = sizeof(info);
	memcpy(value, &info, *length);
	return 0;
}

/* A name where programs expect one of a TCP algorithm. */
static int get_congestion(void *value, socklen_t *length)
{
	static const char name[] = "rdma";

	if (*length > sizeof(name))
		*length = sizeof(name);
	memcpy(value, name, *length);
	return 0;
}

static int get_linger(const struct roce_rs *rs, void *value, socklen_t *length)
{
	if (*length < sizeof(rs->linger))
		return -EINVAL;
	memcpy(value, &rs->linger, sizeof(rs->linger));
	*length = sizeof(rs->linger);
	return 0;
}

static int get_number(struct roce_rs *rs, int level, int name, int *out)
{
	if (level == SOL_SOCKET)
		return get_on_socket(rs, name, out);
	if (level == IPPROTO_TCP)
		return get_on_tcp(rs, name, out);
	if (level == SOL_RDMA)
		return get_on_rdma(rs, name, out);
	if (level == IPPROTO_IPV6 && name == IPV6_V6ONLY) {
		*out = !!(rs->option_bits & ROCE_RS_OPTION_V6ONLY);
		return 0;
	}
	return -ENOTSUP;
}

/* Those that are no number. -ENOPROTOOPT: it is one. */
static int get_struct(struct roce_rs *rs, int level, int name, void *value, socklen_t *length)
{
	if (level == SOL_SOCKET && name == SO_LINGER)
		return get_linger(rs, value, length);
	if (level == IPPROTO_TCP && name == TCP_INFO)
		return get_tcp_info(rs, value, length);
	if (level == IPPROTO_TCP && name == TCP_CONGESTION)
		return get_congestion(value, length);
	return -ENOPROTOOPT;
}

int rgetsockopt(int socket, int level, int optname, void *optval, socklen_t *optlen)
{
	struct roce_rs *rs = roce_rs_find(socket);
	int number = 0, error;

	if (!rs)
		return -1;
	if (!optval || !optlen)
		return (int)roce_rs_result(-EINVAL);
	pthread_mutex_lock(&rs->lock);
	error = get_struct(rs, level, optname, optval, optlen);
	if (error == -ENOPROTOOPT) {
		error = *optlen < sizeof(number) ? -EINVAL
						 : get_number(rs, level, optname, &number);
		if (!error) {
			memcpy(optval, &number, sizeof(number));
			*optlen = sizeof(number);
		}
	}
	pthread_mutex_unlock(&rs->lock);
	if (rs->datagram && error == -ENOTSUP && level != SOL_RDMA)
		return getsockopt(rs->fd, level, optname, optval, optlen);
	return (int)roce_rs_result(error);
}

int rfcntl(int socket, int cmd, ...)
{
	struct roce_rs *rs = roce_rs_find(socket);
	va_list ap;
	long argument;

	if (!rs)
		return -1;
	va_start(ap, cmd);
	argument = va_arg(ap, long);
	va_end(ap);
	switch (cmd) {
	case F_GETFL:
		return rs->fd_flags | O_RDWR;
	case F_SETFL:
		rs->fd_flags = (int)argument & O_NONBLOCK;
		return 0;
	case F_GETFD:
		return fcntl(rs->fd, F_GETFD);
	case F_SETFD:
		return fcntl(rs->fd, F_SETFD, argument);
	default:
		return (int)roce_rs_result(-ENOTSUP);
	}
}

int rgetpeername(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	struct roce_rs *rs = roce_rs_find(socket);

	if (!rs)
		return -1;
	if (rs->datagram)
		return getpeername(rs->fd, addr, addrlen);
	if (!rs->was_connected)
		return (int)roce_rs_result(-ENOTCONN);
	roce_rs_address_copy_out(rdma_get_peer_addr(rs->id), addr, addrlen);
	return 0;
}

int rgetsockname(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	struct roce_rs *rs = roce_rs_find(socket);
	struct sockaddr_storage local;

	if (!rs)
		return -1;
	if (rs->datagram)
		return getsockname(rs->fd, addr, addrlen);
	memcpy(&local, rdma_get_local_addr(rs->id), sizeof(local));
	if (!local.ss_family) /* not bound yet */
		local.ss_family = (sa_family_t)rs->domain;
	roce_rs_address_copy_out((struct sockaddr *)&local, addr, addrlen);
	return 0;
}
