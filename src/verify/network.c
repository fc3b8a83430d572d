/* SPDX-License-Identifier: BSD-2-Clause */
/* Connecting has a limit of its own: a host that does not answer is found out in seconds. */
#include "verify/network.h"

#include "verify/protocol.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECT_S 10
#define BACKLOG	  128 /* who wants the server only to wait may come by the thousand */

static bool parse_port(const char *text, uint16_t *out)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (!*text || *end || value < 1 || value > 65535)
		return false;
	*out = (uint16_t)value;
	return true;
}

bool roce_verify_address_parse(const char *text, char *host, size_t host_size, uint16_t *port)
{
	const char *colon = strrchr(text, ':');
	bool is_bracketed = *text == '[';
	const char *end = is_bracketed ? strchr(text, ']') : NULL;
	size_t length = strlen(text);

	if (is_bracketed) {
		if (!end || (end[1] && (end[1] != ':' || !parse_port(end + 2, port))))
			return false;
		text++;
		length = (size_t)(end - text);
	} else if (colon && strchr(text, ':') == colon) {
		if (!parse_port(colon + 1, port))
			return false;
		length = (size_t)(colon - text);
	}
	if (!length || length >= host_size)
		return false;
	memcpy(host, text, length);
	host[length] = '\0';
	return true;
}

void roce_verify_socket_tune(int fd)
{
	int one = 1;
	int idle_s = 5;
	int count = 5;
	int timeout_ms = ROCE_VERIFY_SILENT_S * 1000;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &one, sizeof(one));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof(timeout_ms));
}

/* 0 or -errno. */
static int connect_in_time(int fd, const struct addrinfo *address)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	int error = 0;
	socklen_t size = sizeof(error);

	if (connect(fd, address->ai_addr, address->ai_addrlen) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return -errno;
	if (poll(&p, 1, CONNECT_S * 1000) != 1)
		return -ETIMEDOUT;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size))
		return -errno;
	return -error;
}

static struct addrinfo *resolve(const char *host, uint16_t port, bool is_listener, char *err,
				size_t err_size)
{
	struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM,
		.ai_flags = is_listener ? AI_PASSIVE : 0,
	};
	struct addrinfo *list = NULL;
	char text[8];
	int rc;

	snprintf(text, sizeof(text), "%u", port);
	rc = getaddrinfo(host, text, &hints, &list);
	if (rc) {
		snprintf(err, err_size, "%s: %s", host ? host : "any address", gai_strerror(rc));
		return NULL;
	}
	return list;
}

int roce_verify_connect(const char *host, uint16_t port, char *err, size_t err_size)
{
	struct addrinfo *list = resolve(host, port, false, err, err_size);
	int fd = -1;
	int rc = -EADDRNOTAVAIL;

	for (struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		rc = fd < 0 ? -errno : connect_in_time(fd, a);
		if (rc && fd >= 0) {
			close(fd);
			fd = -1;
		}
	}
	if (list && fd < 0)
		snprintf(err, err_size, "%s port %u: %s%s", host, port, strerror(-rc),
			 rc == -ECONNREFUSED ? "; does a server of uroce run there?" : "");
	if (list)
		freeaddrinfo(list);
	if (fd >= 0)
		roce_verify_socket_tune(fd);
	return fd;
}

static int listen_on(const struct addrinfo *a)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int one = 1;
	int zero = 0;

	if (fd < 0)
		return -1;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (a->ai_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	close(fd);
	return -1;
}

int roce_verify_listen(const char *bind_to, uint16_t port, char *err, size_t err_size)
{
	struct addrinfo *list = resolve(bind_to, port, true, err, err_size);
	int fd = -1;

	/* Of any address that of IPv6 takes IPv4 too, where there is IPv6. */
	for (int family6 = 1; family6 >= 0 && fd < 0; family6--) {
		for (struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
			if ((a->ai_family == AF_INET6) == family6)
				fd = listen_on(a);
		}
	}
	if (list && fd < 0)
		snprintf(err, err_size, "%s port %u: %s", bind_to ? bind_to : "any address", port,
			 strerror(errno));
	if (list)
		freeaddrinfo(list);
	return fd;
}

static void name(const struct sockaddr_storage *address, char out[ROCE_VERIFY_ADDRESS_SIZE])
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;
	const struct sockaddr_in *in = (const struct sockaddr_in *)address;

	if (address->ss_family == AF_INET)
		inet_ntop(AF_INET, &in->sin_addr, out, ROCE_VERIFY_ADDRESS_SIZE);
	else if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
		inet_ntop(AF_INET, in6->sin6_addr.s6_addr + 12, out, ROCE_VERIFY_ADDRESS_SIZE);
	else
		inet_ntop(AF_INET6, &in6->sin6_addr, out, ROCE_VERIFY_ADDRESS_SIZE);
}

void roce_verify_socket_names(int fd, char own[ROCE_VERIFY_ADDRESS_SIZE],
			      char peer[ROCE_VERIFY_ADDRESS_SIZE])
{
	struct sockaddr_storage address = {0};
	socklen_t size = sizeof(address);

	own[0] = peer[0] = '\0';
	if (getsockname(fd, (struct sockaddr *)&address, &size) == 0)
		name(&address, own);
	size = sizeof(address);
	if (getpeername(fd, (struct sockaddr *)&address, &size) == 0)
		name(&address, peer);
}

uint16_t roce_verify_socket_port(int fd)
{
	struct sockaddr_storage address = {0};
	socklen_t size = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &size))
		return 0;
	return ntohs(address.ss_family == AF_INET ? ((struct sockaddr_in *)&address)->sin_port
						  : ((struct sockaddr_in6 *)&address)->sin6_port);
}
