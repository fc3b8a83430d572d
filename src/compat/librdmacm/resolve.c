/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rdma_resolve_addr(): route and source address at once, for a missing route is the call's own
 * error; the neighbour, which may have to be looked for, by a thread that watches the kernel's
 * neighbour table until the program's time is up. It is started by the first id that needs it.
 */
#include "compat/librdmacm/rdmacm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#define WATCH_NS (5 * ROCE_NS_PER_MS)	/* between two looks at the table */
#define PROBE_NS (500 * ROCE_NS_PER_MS) /* the kernel gives up and must be asked again */

struct search {
	struct roce_list link;
	uint32_t handle; /* the id may be destroyed meanwhile */
	struct cm_next_hop hop;
	roce_ns_t until, probe_at;
};

/* With cm_lock. */
static struct roce_list searches = {&searches, &searches};
static pthread_cond_t has_search = PTHREAD_COND_INITIALIZER;
static pid_t watcher; /* whose thread it is: a forked child has none */

/* ---- the thread ---- */

/* With cm_lock. */
static void finish(struct cm_id *id, int status)
{
	struct cm_event *ev = cm_event_make(
		id, status ? RDMA_CM_EVENT_ADDR_ERROR : RDMA_CM_EVENT_ADDR_RESOLVED, status);

	id->state = status ? CM_BOUND : CM_ADDR_RESOLVED;
	if (ev)
		cm_event_post(ev);
}

/* true: it is over. With cm_lock. */
static bool look(struct search *s)
{
	struct cm_id *id = cm_id_find(s->handle);
	roce_ns_t now = roce_clock_now();
	int known;

	if (!id || id->state != CM_ADDR_QUERY)
		return true;
	known = cm_neighbour_is_known(&s->hop);
	if (known) {
		finish(id, known < 0 ? known : 0);
		return true;
	}
	if (now >= s->until) {
		finish(id, -ETIMEDOUT);
		return true;
	}
	if (now >= s->probe_at) {
		cm_neighbour_probe(&s->hop);
		s->probe_at = now + PROBE_NS;
	}
	return false;
}

static void *watch(void *arg)
{
	struct timespec pause = {.tv_nsec = WATCH_NS};
	struct roce_list *pos, *tmp;

	pthread_mutex_lock(&cm_lock);
	for (;;) {
		while (roce_list_is_empty(&searches))
			pthread_cond_wait(&has_search, &cm_lock);
		roce_list_for_each_safe (pos, tmp, &searches) {
			struct search *s = roce_container_of(pos, struct search, link);

			if (!look(s))
				continue;
			roce_list_remove(pos);
			free(s);
		}
		pthread_mutex_unlock(&cm_lock);
		nanosleep(&pause, NULL);
		pthread_mutex_lock(&cm_lock);
	}
	return arg;
}

/* With cm_lock. */
static int start_watching(void)
{
	int error;

	if (watcher == getpid())
		return 0;
	error = cm_start_thread(watch, NULL, "uroce-resolve");
	if (!error)
		watcher = getpid();
	return error;
}

static int start_search(struct cm_id *id, const struct cm_next_hop *hop, int timeout_ms)
{
	struct search *s = calloc(1, sizeof(*s));
	roce_ns_t now = roce_clock_now();
	int error;

	if (!s)
		return -ENOMEM;
	s->handle = id->handle;
	s->hop = *hop;
	s->until = now + (timeout_ms > 0 ? (uint64_t)timeout_ms * ROCE_NS_PER_MS : 0);
	s->probe_at = now + PROBE_NS;
	cm_neighbour_probe(hop);
	pthread_mutex_lock(&cm_lock);
	error = start_watching();
	if (error) {
		free(s);
	} else {
		roce_list_add_tail(&searches, &s->link);
		pthread_cond_signal(&has_search);
	}
	pthread_mutex_unlock(&cm_lock);
	return error;
}

/* ---- the call ---- */

/* The wildcard as destination means this host. */
static void set_destination(struct cm_id *id, const struct sockaddr *dst)
{
	struct rdma_addr *addr = &id->id.route.addr;

	memset(&addr->dst_storage, 0, sizeof(addr->dst_storage));
	memcpy(&addr->dst_storage, dst, cm_sockaddr_length(dst));
	if (!cm_sockaddr_is_zero(dst))
		return;
	if (dst->sa_family == AF_INET)
		addr->dst_sin.sin_addr.s_addr = htobe32(INADDR_LOOPBACK);
	else
		addr->dst_sin6.sin6_addr = in6addr_loopback;
}

static int bind_implicitly(struct cm_id *id, struct sockaddr *src, int family)
{
	int error;

	if (id->state != CM_IDLE)
		return 0;
	if (src && cm_sockaddr_length(src))
		return rdma_bind_addr(&id->id, src) ? -errno : 0;
	error = cm_bind(id, NULL, family);
	if (!error)
		id->state = CM_BOUND;
	return error;
}

/* A destination that was tried before had its own. */
static void forget_source(struct cm_id *id)
{
	struct sockaddr *own = &id->id.route.addr.src_addr;
	sa_family_t family = own->sa_family;
	uint16_t port = cm_sockaddr_port(own);

	if (!id->is_source_chosen)
		return;
	memset(own, 0, sizeof(struct sockaddr_storage));
	own->sa_family = family;
	cm_sockaddr_set_port(own, port);
}

/* The source address that goes with the route, and its interface. */
static int choose_source(struct cm_id *id, const struct cm_next_hop *hop)
{
	struct sockaddr *own = &id->id.route.addr.src_addr;
	uint16_t port = cm_sockaddr_port(own);
	struct sockaddr_storage source;
	uint32_t ifindex;
	int error;

	if (cm_sockaddr_is_zero(own)) {
		if (roce_gid_is_zero(&hop->source))
			return -EADDRNOTAVAIL;
		id->is_source_chosen = true;
		cm_sockaddr_from_gid(&hop->source, port, hop->ifindex, &source);
		memcpy(own, &source, sizeof(source));
	}
	error = cm_address_find(own, &ifindex);
	if (error)
		return error;
	id->ifindex = ifindex;
	cm_gid_from_sockaddr(own, &id->path.local.gid);
	id->path.local.ifindex = ifindex;
	return 0;
}

/* This host by one of its devices: the same address at both ends. */
static int find_self(struct cm_id *id)
{
	struct rdma_addr *addr = &id->id.route.addr;
	uint16_t port = cm_sockaddr_port(&addr->src_addr);
	bool is_v4 = addr->dst_addr.sa_family == AF_INET;
	int error = 0;

	if (id->dev)
		cm_gid_from_sockaddr(&addr->src_addr, &id->path.local.gid);
	else
		error = cm_device_for_loopback(is_v4, &id->path.local.gid, &id->ifindex);
	if (error)
		return error;
	id->path.local.ifindex = id->ifindex;
	id->path.remote = id->path.local.gid;
	if (cm_sockaddr_is_zero(&addr->src_addr)) {
		memcpy(&addr->src_storage, &addr->dst_storage, sizeof(addr->src_storage));
		cm_sockaddr_set_port(&addr->src_addr, port);
		id->is_source_chosen = true;
	}
	return 0;
}

/* Both ends' addresses, and the neighbour who leads there. */
static int find_way(struct cm_id *id, struct cm_next_hop *out)
{
	struct rdma_addr *addr = &id->id.route.addr;
	bool is_any = cm_sockaddr_is_zero(&addr->src_addr);
	int error;

	if (cm_sockaddr_is_loopback(&addr->dst_addr)) {
		out->is_local = true;
		return find_self(id);
	}
	error = cm_next_hop_find(&addr->dst_addr, is_any ? NULL : &addr->src_addr, out);
	if (!error)
		error = choose_source(id, out);
	if (!error)
		cm_gid_from_sockaddr(&addr->dst_addr, &id->path.remote);
	return error;
}

int rdma_resolve_addr(struct rdma_cm_id *rid, struct sockaddr *src_addr, struct sockaddr *dst_addr,
		      int timeout_ms)
{
	struct cm_id *id = cm_id_of(rid);
	struct rdma_addr *addr = &rid->route.addr;
	struct cm_next_hop hop = {0};
	int error;

	if (!dst_addr || !cm_sockaddr_length(dst_addr) ||
	    (id->state != CM_IDLE && id->state != CM_BOUND))
		return cm_fail(EINVAL);
	if (src_addr && cm_sockaddr_length(src_addr) && src_addr->sa_family != dst_addr->sa_family)
		return cm_fail(EINVAL);
	error = bind_implicitly(id, src_addr, dst_addr->sa_family);
	if (error)
		return cm_fail(error);
	if (addr->src_addr.sa_family != dst_addr->sa_family)
		return cm_fail(EINVAL);
	set_destination(id, dst_addr);
	forget_source(id);
	error = find_way(id, &hop);
	if (error)
		return cm_fail(error);
	id->path.pkey = 0xffff;
	id->state = CM_ADDR_QUERY;
	if (cm_neighbour_is_known(&hop)) {
		pthread_mutex_lock(&cm_lock);
		finish(id, 0);
		pthread_mutex_unlock(&cm_lock);
	} else {
		error = start_search(id, &hop, timeout_ms);
		if (error) {
			id->state = CM_BOUND;
			return cm_fail(error);
		}
	}
	return cm_complete(id);
}
