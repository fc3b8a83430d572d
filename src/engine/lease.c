/* SPDX-License-Identifier: BSD-2-Clause */
/* The two sources of receive sockets behind one face; see lease.h. */
#include "engine/lease.h"

#include "control/client.h"
#include "control/port_owner.h"
#include "control/rendezvous.h"
#include "engine/engine_internal.h"
#include "wire/icrc.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLOT_MAX 254u

struct roce_lease {
	struct roce_client *client; /* NULL: without daemon */
	uint8_t slot;
};

static bool is_daemon_off(void)
{
	const char *choice = getenv("UROCE_DAEMON");

	return choice && strcmp(choice, "off") == 0;
}

int roce_lease_open(struct roce_lease **out, const struct roce_lease_config *cfg, char *err)
{
	struct roce_client_config client = {.may_start = true,
					    .on_stray = cfg->on_stray,
					    .on_replaced = cfg->on_replaced,
					    .ctx = cfg->ctx};
	struct roce_lease *lease = calloc(1, sizeof(*lease));
	int result = 0;

	if (!lease) {
		snprintf(err, ROCE_LEASE_ERROR_MAX, "out of memory");
		return -ENOMEM;
	}
	if (!is_daemon_off())
		result = roce_client_open(&lease->client, &client, err, ROCE_LEASE_ERROR_MAX);
	if (result) {
		free(lease);
		return result;
	}
	*out = lease;
	return 0;
}

int roce_lease_slot(struct roce_lease *lease, uint8_t *out_slot, char *err)
{
	uint8_t random = 0;
	int result = 0;

	if (lease->client) {
		result = roce_client_lease_slot(lease->client, &lease->slot, err,
						ROCE_LEASE_ERROR_MAX);
	} else {
		roce_engine_random(&random, sizeof(random));
		lease->slot = (uint8_t)(1 + random % SLOT_MAX);
	}
	if (result == 0)
		*out_slot = lease->slot;
	return result;
}

static int bind_alone(const struct roce_gid *local, uint32_t ifindex, int *out_fd)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(ROCE_UDP_PORT)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(ROCE_UDP_PORT)};
	bool is_v4 = roce_gid_is_v4(local);
	int one = 1;
	int fd = socket(is_v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int result;

	if (fd < 0)
		return -errno;
	memcpy(&v4.sin_addr, local->raw + 12, 4);
	memcpy(&v6.sin6_addr, local->raw, 16);
	if (roce_gid_is_link_local(local))
		v6.sin6_scope_id = ifindex;
	if (!is_v4)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	result = is_v4 ? bind(fd, (struct sockaddr *)&v4, sizeof(v4))
		       : bind(fd, (struct sockaddr *)&v6, sizeof(v6));
	if (result < 0) {
		result = -errno;
		close(fd);
		return result;
	}
	*out_fd = fd;
	return 0;
}

/* The daemon of this user that has the address, perhaps an idle one that is about to leave; 0 none.
 * Its guard of the address answers, so it does not stay longer for being asked. */
static pid_t find_daemon_of(const struct roce_gid *local, uint32_t ifindex)
{
	struct roce_address address = {.gid = *local,
				       .ifindex = roce_gid_is_link_local(local) ? ifindex : 0};

	for (unsigned n = 0; n < ROCE_RENDEZVOUS_NAMES_COUNT; n++) {
		struct roce_rendezvous guard;
		struct ucred owner;
		int fd;

		roce_rendezvous_for_address(&guard, &address, n);
		fd = roce_rendezvous_connect(&guard, &owner);
		if (fd < 0)
			continue;
		close(fd);
		if (owner.uid == geteuid())
			return owner.pid;
	}
	return 0;
}

static void explain_bind(int error, const struct roce_gid *local, uint32_t ifindex, char *err)
{
	pid_t daemon = error == -EADDRINUSE ? find_daemon_of(local, ifindex) : 0;
	struct roce_port_owner owner;

	if (error == -EADDRINUSE && roce_port_owner_find(local, &owner) &&
	    roce_port_owner_is_soft_roce(&owner, ROCE_SOFT_ROCE_MODULE))
		snprintf(err, ROCE_LEASE_ERROR_MAX, "%s", roce_port_owner_soft_roce_text);
	else if (daemon)
		snprintf(err, ROCE_LEASE_ERROR_MAX,
			 "UDP port %u is held by uroced (pid %d) until 2 s after the last program "
			 "that uses it: `uroce stop` ends an idle one at once; or share the "
			 "address, without UROCE_DAEMON=off",
			 ROCE_UDP_PORT, daemon);
	else
		snprintf(err, ROCE_LEASE_ERROR_MAX, "cannot bind UDP port %u: %s%s", ROCE_UDP_PORT,
			 strerror(-error),
			 error == -EADDRINUSE
				 ? "; without a daemon (UROCE_DAEMON=off) one process has the "
				   "address alone: use another address, or let uroced share it"
				 : "");
}

int roce_lease_open_address(struct roce_lease *lease, const struct roce_gid *local,
			    uint32_t ifindex, int *out_fd, char *err)
{
	int result;

	if (lease->client)
		return roce_client_open_address(lease->client, lease->slot, local, ifindex, out_fd,
						err, ROCE_LEASE_ERROR_MAX);
	result = bind_alone(local, ifindex, out_fd);
	if (result)
		explain_bind(result, local, ifindex, err);
	return result;
}

void roce_lease_close_address(struct roce_lease *lease, const struct roce_gid *local,
			      uint32_t ifindex)
{
	if (lease->client)
		roce_client_close_address(lease->client, lease->slot, local, ifindex);
}

int roce_lease_fd(const struct roce_lease *lease)
{
	return lease->client ? roce_client_fd(lease->client) : -1;
}

void roce_lease_on_readable(struct roce_lease *lease)
{
	if (lease->client)
		roce_client_on_readable(lease->client);
}

int roce_lease_forward_stray(struct roce_lease *lease, const struct roce_gid *local,
			     const struct sockaddr_storage *from, const void *data, size_t length,
			     uint8_t tos)
{
	if (!lease->client)
		return -ENOTCONN;
	return roce_client_forward_stray(lease->client, local, from, data, length, tos);
}

bool roce_lease_are_sockets_closed_in_child(const struct roce_lease *lease)
{
	return lease->client != NULL;
}

void roce_lease_close(struct roce_lease *lease)
{
	if (!lease)
		return;
	if (lease->client && lease->slot)
		roce_client_release_slot(lease->client, lease->slot);
	roce_client_close(lease->client);
	free(lease);
}
