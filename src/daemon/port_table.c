/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of port_table.h, in the order in which rdma_cm looks at them. */
#include "daemon/port_table.h"

#include <errno.h>

#define PRIVILEGED_MAX 1023u

void roce_port_table_init(struct roce_port_table *t, uint16_t ephemeral_first,
			  uint16_t ephemeral_last)
{
	for (unsigned i = 0; i < ROCE_PORT_BUCKETS; i++)
		roce_list_init(&t->bucket[i]);
	t->ephemeral_first = ephemeral_first;
	t->ephemeral_last = ephemeral_last;
	t->last_given = 0;
}

static uint32_t bucket_index(uint16_t port_space, uint16_t port)
{
	return (port + port_space * 31u) % ROCE_PORT_BUCKETS;
}

static bool is_loopback(const struct roce_gid *g)
{
	static const struct roce_gid v6 = {{[15] = 1}};

	return (roce_gid_is_v4(g) && g->raw[12] == 127) || roce_gid_is_equal(g, &v6);
}

static bool is_any(const struct roce_port_binding *b)
{
	return roce_gid_is_zero(&b->address.gid) || is_loopback(&b->address.gid);
}

static bool is_af_only(const struct roce_port_binding *b)
{
	return !b->is_v6 || b->is_af_only;
}

static int check(const struct roce_port_table *t, const struct roce_port_binding *b,
		 bool is_reuse_allowed)
{
	const struct roce_list *bucket = &t->bucket[bucket_index(b->port_space, b->port)];
	struct roce_list *pos;

	roce_list_for_each (pos, bucket) {
		const struct roce_port_binding *o =
			roce_container_of(pos, struct roce_port_binding, link);

		if (o == b || o->port != b->port || o->port_space != b->port_space)
			continue;
		if (is_reuse_allowed && o->is_reuse_allowed)
			continue;
		if (is_af_only(b) && is_af_only(o) && b->is_v6 != o->is_v6)
			continue;
		if (is_any(b) || is_any(o))
			return -EADDRNOTAVAIL;
		if (roce_gid_is_equal(&b->address.gid, &o->address.gid) &&
		    b->address.ifindex == o->address.ifindex)
			return -EADDRINUSE;
	}
	return 0;
}

static bool is_port_free(const struct roce_port_table *t, uint16_t port_space, uint16_t port)
{
	struct roce_list *pos;

	roce_list_for_each (pos, &t->bucket[bucket_index(port_space, port)]) {
		const struct roce_port_binding *o =
			roce_container_of(pos, struct roce_port_binding, link);

		if (o->port == port && o->port_space == port_space)
			return false;
	}
	return true;
}

/* 0: none. Not the one given last, which a peer may still think of as somebody else. */
static uint16_t find_free(const struct roce_port_table *t, uint16_t port_space, uint32_t random)
{
	uint32_t count = (uint32_t)t->ephemeral_last - t->ephemeral_first + 1u;

	for (uint32_t i = 0; i < count; i++) {
		uint16_t port = (uint16_t)(t->ephemeral_first + (random % count + i) % count);

		if (port && port != t->last_given && is_port_free(t, port_space, port))
			return port;
	}
	return 0;
}

int roce_port_table_bind(struct roce_port_table *t, struct roce_port_binding *b, bool is_privileged,
			 uint32_t random)
{
	int error;

	if (!b->port) {
		b->port = find_free(t, b->port_space, random);
		if (!b->port)
			return -EADDRNOTAVAIL;
		t->last_given = b->port;
	} else {
		error = b->port <= PRIVILEGED_MAX && !is_privileged
				? -EACCES
				: check(t, b, b->is_reuse_allowed);
		if (error) {
			b->port = 0;
			return error;
		}
	}
	roce_list_add_tail(&t->bucket[bucket_index(b->port_space, b->port)], &b->link);
	return 0;
}

int roce_port_table_check_listen(const struct roce_port_table *t, const struct roce_port_binding *b)
{
	return check(t, b, false);
}

void roce_port_table_release(struct roce_port_binding *b)
{
	if (!b->port)
		return;
	roce_list_remove(&b->link);
	b->port = 0;
}
