/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rdma_getaddrinfo(): getaddrinfo() in the words of RDMA, of which the first answer is taken. A
 * passive address is a source, an active one a destination. Errors of names are EAI_* numbers.
 */
#include "compat/librdmacm/rdmacm.h"

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#define FAMILY_IB 27 /* AF_IB: its addresses are nothing that RoCE has */

static int socket_type_of(int qp_type)
{
	switch (qp_type) {
	case IBV_QPT_RC:
	case IBV_QPT_UC:
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
		return SOCK_STREAM;
	case IBV_QPT_UD:
		return SOCK_DGRAM;
	default:
		return 0;
	}
}

static int protocol_of(int port_space, int socket_type)
{
	switch (port_space) {
	case RDMA_PS_TCP:
		return IPPROTO_TCP;
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
		return IPPROTO_UDP;
	case RDMA_PS_IB:
		if (socket_type == SOCK_STREAM)
			return IPPROTO_TCP;
		return socket_type == SOCK_DGRAM ? IPPROTO_UDP : 0;
	default:
		return 0;
	}
}

static void fill_hints(const struct rdma_addrinfo *from, struct addrinfo *out)
{
	memset(out, 0, sizeof(*out));
	if (from->ai_flags & RAI_PASSIVE)
		out->ai_flags |= AI_PASSIVE;
	if (from->ai_flags & RAI_NUMERICHOST)
		out->ai_flags |= AI_NUMERICHOST;
	if (from->ai_family != FAMILY_IB)
		out->ai_family = from->ai_family;
	out->ai_socktype = socket_type_of(from->ai_qp_type);
	out->ai_protocol = protocol_of(from->ai_port_space, out->ai_socktype);
}

static int copy_address(const struct sockaddr *from, socklen_t length, struct sockaddr **out,
			socklen_t *out_length)
{
	if (!length || !from)
		return 0;
	*out = malloc(length);
	if (!*out)
		return -ENOMEM;
	memcpy(*out, from, length);
	*out_length = length;
	return 0;
}

static int copy_name(const char *from, char **out)
{
	if (!from)
		return 0;
	*out = strdup(from);
	return *out ? 0 : -ENOMEM;
}

static void set_types(struct rdma_addrinfo *out, const struct addrinfo *found,
		      const struct rdma_addrinfo *hints)
{
	bool is_datagram = found->ai_socktype == SOCK_DGRAM || found->ai_protocol == IPPROTO_UDP;

	out->ai_family = found->ai_family;
	out->ai_qp_type = is_datagram ? IBV_QPT_UD : IBV_QPT_RC;
	out->ai_port_space = is_datagram ? RDMA_PS_UDP : RDMA_PS_TCP;
	if (hints && hints->ai_qp_type)
		out->ai_qp_type = hints->ai_qp_type;
	if (hints && hints->ai_port_space)
		out->ai_port_space = hints->ai_port_space;
}

static int fill_found(struct rdma_addrinfo *out, const struct addrinfo *found,
		      const struct rdma_addrinfo *hints)
{
	bool is_passive = hints && (hints->ai_flags & RAI_PASSIVE);
	int error;

	set_types(out, found, hints);
	if (is_passive) {
		out->ai_flags = RAI_PASSIVE;
		error = copy_name(found->ai_canonname, &out->ai_src_canonname);
		return error ? error
			     : copy_address(found->ai_addr, found->ai_addrlen, &out->ai_src_addr,
					    &out->ai_src_len);
	}
	error = copy_name(found->ai_canonname, &out->ai_dst_canonname);
	return error ? error
		     : copy_address(found->ai_addr, found->ai_addrlen, &out->ai_dst_addr,
				    &out->ai_dst_len);
}

/* 0, a positive errno, or what getaddrinfo() said (negative in glibc). */
static int look_up(const char *node, const char *service, const struct rdma_addrinfo *hints,
		   struct rdma_addrinfo *out, int *out_name_error)
{
	struct addrinfo asked, *found;
	int error;

	if (hints)
		fill_hints(hints, &asked);
	*out_name_error = getaddrinfo(node, service, hints ? &asked : NULL, &found);
	if (*out_name_error)
		return 0;
	error = fill_found(out, found, hints);
	freeaddrinfo(found);
	if (!error && !out->ai_src_len && hints)
		error = copy_address(hints->ai_src_addr, hints->ai_src_len, &out->ai_src_addr,
				     &out->ai_src_len);
	return error;
}

/* Without a name the hints are the answer. */
static int copy_hints(const struct rdma_addrinfo *hints, struct rdma_addrinfo *out)
{
	int error;

	out->ai_flags = hints->ai_flags;
	out->ai_family = hints->ai_family;
	out->ai_qp_type = hints->ai_qp_type;
	out->ai_port_space = hints->ai_port_space;
	error = copy_address(hints->ai_dst_addr, hints->ai_dst_len, &out->ai_dst_addr,
			     &out->ai_dst_len);
	return error ? error
		     : copy_address(hints->ai_src_addr, hints->ai_src_len, &out->ai_src_addr,
				    &out->ai_src_len);
}

int rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
		     struct rdma_addrinfo **res)
{
	struct rdma_addrinfo *out;
	int error, name_error = 0;

	if ((!node && !service && !hints) || !res)
		return cm_fail(EINVAL);
	error = cm_library_init();
	if (error)
		return cm_fail(error);
	out = calloc(1, sizeof(*out));
	if (!out)
		return cm_fail(ENOMEM);
	error = node || service ? look_up(node, service, hints, out, &name_error)
				: copy_hints(hints, out);
	if (error || name_error) {
		rdma_freeaddrinfo(out);
		return name_error ? name_error : cm_fail(error);
	}
	*res = out;
	return 0;
}

void rdma_freeaddrinfo(struct rdma_addrinfo *res)
{
	while (res) {
		struct rdma_addrinfo *next = res->ai_next;

		free(res->ai_src_addr);
		free(res->ai_dst_addr);
		free(res->ai_src_canonname);
		free(res->ai_dst_canonname);
		free(res->ai_route);
		free(res->ai_connect);
		free(res);
		res = next;
	}
}
