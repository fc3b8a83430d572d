/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What cm_service.c (time, packets, reports) and cm_request.c (requests of the programs) share.
 */
#ifndef ROCE_DAEMON_CM_SERVICE_INTERNAL_H
#define ROCE_DAEMON_CM_SERVICE_INTERNAL_H

#include "daemon/cm_local.h"
#include "daemon/cm_service.h"
#include "daemon/gsi.h"
#include "daemon/port_table.h"
#include "daemon/server.h"

#define ROCE_CM_HANDLE_BUCKETS 4096u

/* One id of a program. */
struct roce_cm_handle {
	struct roce_list link;	      /* session->cm.handles */
	struct roce_list bucket_link; /* service->bucket */
	struct roce_session *session;
	uint32_t number;
	struct roce_port_binding port;	   /* port 0: not bound */
	struct roce_cm_listener *listener; /* NULL: it does not listen */
	struct roce_cm_id *id;		   /* NULL: no dialogue */
	struct roce_cm_handle *parent;	   /* of a child that has not been taken */
};

struct roce_cm_service {
	struct roce_cm *cm;
	void *cm_storage;
	struct roce_gsi gsi;
	struct roce_port_table ports;
	struct roce_cm_locals locals;
	struct roce_source netlink;
	struct roce_list bucket[ROCE_CM_HANDLE_BUCKETS];
	uint32_t wildcard_count; /* listeners on all addresses */
	roce_ns_t quiet_until;	 /* after a restart: until programs have named their connections */
	uint64_t rx_while_restoring; /* counter */
};

struct roce_cm_handle *roce_cm_handle_find(struct roce_cm_service *v, const struct roce_session *c,
					   uint32_t number);
/* NULL: no memory, or too many. */
struct roce_cm_handle *roce_cm_handle_create(struct roce_cm_service *v, struct roce_session *c,
					     uint32_t number);
/* And what hangs on it, as roce_cm_destroy() does. */
void roce_cm_handle_destroy(struct roce_cm_service *v, struct roce_cm_handle *h);
/* Of one session, not in use; with ROCE_CM_HANDLE_CHILD. */
uint32_t roce_cm_handle_new_child(struct roce_cm_service *v, struct roce_session *c);

/* Groups of all local addresses, as far as a wildcard listener needs them. */
void roce_cm_service_open_groups(struct roce_server *s);
/* GUID of the device of a local address; not 0. */
uint64_t roce_cm_service_guid(const struct roce_cm_service *v, const struct roce_address *a);
/* Sends what the machine has to say, to programs and to peers. */
void roce_cm_service_pump(struct roce_server *s);

#endif
