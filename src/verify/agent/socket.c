/* SPDX-License-Identifier: BSD-2-Clause */
/* Ports are the kernel's choice; each side tells its own. The target accepts. */
#include "verify/agent/socket.h"
#include "verify/agent/work.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

static uint16_t *port_of(struct sockaddr_storage *address)
{
	if (address->ss_family == AF_INET)
		return &((struct sockaddr_in *)address)->sin_port;
	return &((struct sockaddr_in6 *)address)->sin6_port;
}

static const void *host_of(const struct sockaddr_storage *address)
{
	if (address->ss_family == AF_INET)
		return &((const struct sockaddr_in *)address)->sin_addr;
	return &((const struct sockaddr_in6 *)address)->sin6_addr;
}

json_t *va_address_describe(const struct sockaddr_storage *address)
{
	char text[INET6_ADDRSTRLEN] = "";
	struct sockaddr_storage copy = *address;

	inet_ntop(address->ss_family, host_of(address), text, sizeof(text));
	return json_pack("{s:s, s:i}", "host", text, "port", ntohs(*port_of(&copy)));
}

void va_address_take(struct va_run *run, const struct va_device *device, const json_t *theirs,
		     struct sockaddr_storage *out)
{
	*out = device->address; /* family, and the scope of link-local ones */
	*port_of(out) = htons((uint16_t)roce_json_integer(theirs, "port"));
	if (inet_pton(out->ss_family, roce_json_text(theirs, "host"),
		      (void *)(uintptr_t)host_of(out)) != 1)
		va_fail(run, "the sides have addresses of different families");
}

static int accept_one(struct va_run *run, int listener)
{
	int fd;

	va_socket_await(run, listener, "a connection");
	fd = accept(listener, NULL, NULL);
	va_need(run, fd >= 0, "accept");
	close(listener);
	return fd;
}

int va_socket_pair(struct va_run *run, const struct va_device *device, int type)
{
	int fd = socket(device->address.ss_family, type | SOCK_CLOEXEC, 0);
	struct sockaddr_storage own = device->address;
	struct sockaddr_storage peer;
	socklen_t size = device->address_size;
	bool is_listener = type == SOCK_STREAM && !run->is_initiator;
	int one = 1;
	json_t *theirs;

	va_need(run, fd >= 0, "socket");
	va_need(run, bind(fd, (struct sockaddr *)&own, size) == 0, "bind");
	va_need(run, !is_listener || listen(fd, 1) == 0, "listen");
	va_need(run, getsockname(fd, (struct sockaddr *)&own, &size) == 0, "getsockname");
	theirs = va_exchange(run, va_address_describe(&own));
	va_address_take(run, device, theirs, &peer);
	json_decref(theirs);
	if (is_listener)
		fd = accept_one(run, fd);
	else
		va_need(run, connect(fd, (struct sockaddr *)&peer, device->address_size) == 0,
			"connect");
	if (type == SOCK_STREAM)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

void va_socket_await(struct va_run *run, int fd, const char *awaited)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int n = poll(&p, 1, VA_STALL_S * 1000);

	va_need(run, n >= 0 || errno == EINTR, "poll");
	if (n == 0)
		va_fail(run, "no %s in %d s", awaited, VA_STALL_S);
}
