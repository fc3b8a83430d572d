/* SPDX-License-Identifier: BSD-2-Clause */
/* Socket addresses of either family. */
#ifndef ROCE_RSOCKET_ADDRESS_H
#define ROCE_RSOCKET_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

static inline socklen_t roce_rs_address_length(const struct sockaddr *a)
{
	return a->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

static inline bool roce_rs_address_is_known(const struct sockaddr *a, socklen_t length)
{
	return a && ((a->sa_family == AF_INET && length >= sizeof(struct sockaddr_in)) ||
		     (a->sa_family == AF_INET6 && length >= sizeof(struct sockaddr_in6)));
}

static inline bool roce_rs_address_is_same_host(const struct sockaddr *a, const struct sockaddr *b)
{
	if (a->sa_family != b->sa_family)
		return false;
	if (a->sa_family == AF_INET)
		return ((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)(const void *)b)->sin_addr.s_addr;
	return memcmp(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
		      &((const struct sockaddr_in6 *)(const void *)b)->sin6_addr,
		      sizeof(struct in6_addr)) == 0;
}

/* The port is at the same place in both families. */
static inline in_port_t roce_rs_address_port(const struct sockaddr *a)
{
	return ((const struct sockaddr_in *)(const void *)a)->sin_port;
}

static inline void roce_rs_address_set_port(struct sockaddr *a, in_port_t port)
{
	((struct sockaddr_in *)(void *)a)->sin_port = port;
}

static inline bool roce_rs_address_is_equal(const struct sockaddr *a, const struct sockaddr *b)
{
	return roce_rs_address_is_same_host(a, b) &&
	       roce_rs_address_port(a) == roce_rs_address_port(b);
}

/* The result's length goes to *length, which says how much room there is. */
static inline void roce_rs_address_copy_out(const struct sockaddr *a, struct sockaddr *out,
					    socklen_t *length)
{
	socklen_t full = roce_rs_address_length(a);

	if (!out || !length)
		return;
	memcpy(out, a, *length < full ? *length : full);
	*length = full;
}

#endif
