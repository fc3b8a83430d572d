/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Local addresses: which interface has one, and a port from the connection manager, which alone
 * knows what other processes hold. A wildcard gives a port and no device, and so does a loopback
 * address, for a host reaches itself through any of its devices; who comes from elsewhere is turned
 * away when the program would read of him (event.c).
 */
#include "compat/librdmacm/rdmacm.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>

static bool is_any(const struct sockaddr *addr)
{
	return cm_sockaddr_is_zero(addr) || cm_sockaddr_is_loopback(addr);
}

uint32_t cm_bind_flags(const struct cm_id *id)
{
	return (id->has_reuse ? ROCE_CM_BIND_REUSE : 0) | (id->af_only ? ROCE_CM_BIND_AF_ONLY : 0);
}

int cm_bind(struct cm_id *id, const struct sockaddr *addr, int family)
{
	struct roce_cm_request r = {.handle = id->handle, .op = ROCE_CM_BIND};
	struct sockaddr *own = &id->id.route.addr.src_addr;
	struct roce_cm_ok ok;
	int error;

	r.bind.port_space = (uint16_t)id->id.ps;
	r.bind.family = family == AF_INET ? 4 : 6;
	if (addr && !is_any(addr)) {
		cm_gid_from_sockaddr(addr, &r.bind.address.gid);
		if (cm_gid_is_link_local(&r.bind.address.gid))
			r.bind.address.ifindex = id->ifindex;
	}
	r.bind.port = addr ? cm_sockaddr_port(addr) : 0;
	r.bind.flags = cm_bind_flags(id);
	error = cm_request(&r, &ok);
	if (error)
		return error;
	id->is_bound = true;
	if (addr)
		memcpy(own, addr, cm_sockaddr_length(addr));
	else
		memset(own, 0, sizeof(struct sockaddr_storage));
	own->sa_family = (sa_family_t)family;
	cm_sockaddr_set_port(own, ok.port);
	return 0;
}

static bool lacks_scope(const struct sockaddr *addr)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)addr;

	return addr->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr) &&
	       !in6->sin6_scope_id;
}

int rdma_bind_addr(struct rdma_cm_id *rid, struct sockaddr *addr)
{
	struct cm_id *id = cm_id_of(rid);
	uint32_t ifindex = 0;
	int error = 0;

	if (!addr || !cm_sockaddr_length(addr) || id->state != CM_IDLE || lacks_scope(addr))
		return cm_fail(EINVAL);
	if (!is_any(addr)) {
		error = cm_address_find(addr, &ifindex);
		if (!error)
			error = cm_device_bind(id, ifindex);
	}
	if (!error)
		error = cm_bind(id, addr, addr->sa_family);
	if (error) {
		cm_device_unbind(id);
		rid->verbs = NULL;
		rid->pd = NULL;
		rid->port_num = 0;
		return cm_fail(error);
	}
	id->state = CM_BOUND;
	return 0;
}
