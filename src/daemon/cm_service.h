/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The connection manager's service: QP1 of all addresses of the namespace for all programs. It
 * joins cm/ (the machine), gsi.c (packets), port_table.c (who may listen where), cm_local.c
 * (addresses) and the sessions: requests in cm_request.c, reports and time in cm_service.c.
 *
 * A program's id is a handle, one entry per id that is bound or in a dialogue. Handles belong to
 * their session. When a session ends because its program has gone, its peers are told at once; when
 * uroced itself leaves, nobody is told anything: the programs go on, and bring their connections to
 * the next uroced.
 */
#ifndef ROCE_DAEMON_CM_SERVICE_H
#define ROCE_DAEMON_CM_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/ns.h"
#include "cm/cm.h"
#include "control/message.h"

#define ROCE_CM_SERVICE_IDS_MAX	      65536 /* of all programs, with those in quarantine */
#define ROCE_CM_SERVICE_HELD_MAX      1024
#define ROCE_CM_SERVICE_REPLIES_MAX   1024
#define ROCE_CM_SERVICE_LISTENERS_MAX 4096
#define ROCE_CM_SERVICE_HALF_OPEN_MAX 32768
#define ROCE_CM_CLIENT_HANDLES_MAX    32768
#define ROCE_CM_CLIENT_HALF_OPEN_MAX  16384
#define ROCE_CM_CLIENT_LISTENERS_MAX  1024
/* Reports that an id may still make when its program does not read. */
#define ROCE_CM_HANDLE_EVENTS_MAX 4

struct roce_server;
struct roce_session;
struct roce_served_group;
struct roce_cm_service;

/* What a session holds, inside of it. */
struct roce_cm_session {
	struct roce_cm_owner owner;
	struct roce_list handles;
	uint32_t handle_count;
	uint32_t last_child;
};

enum roce_cm_farewell {
	ROCE_CM_FAREWELL_GONE,	    /* the program is gone: its peers are told */
	ROCE_CM_FAREWELL_COMES_BACK /* it will name its connections again: they stay as they are */
};

/* 0 or -ENOMEM. `is_restart`: programs may hold connections of a uroced before this one. */
int roce_cm_service_open(struct roce_server *s, bool is_restart);
void roce_cm_service_close(struct roce_server *s);

void roce_cm_service_begin_session(struct roce_session *c);
void roce_cm_service_end_session(struct roce_server *s, struct roce_session *c,
				 enum roce_cm_farewell farewell);
void roce_cm_service_on_request(struct roce_server *s, struct roce_session *c,
				const struct roce_message *m);

/* A packet of slot 0 for QP1, at the address of the group. */
void roce_cm_service_on_packet(struct roce_server *s, const struct roce_address *local,
			       const struct sockaddr_storage *from, const uint8_t *data,
			       size_t length);

void roce_cm_service_tick(struct roce_server *s, roce_ns_t now, roce_ns_t *next);
/* The group of this address must stay. */
bool roce_cm_service_needs(const struct roce_server *s, const struct roce_address *a);
/* A peer has not yet heard that a connection is over. */
bool roce_cm_service_is_closing(const struct roce_server *s);

/* The i-th counter of the service; false beyond the last. */
bool roce_cm_service_counter(const struct roce_server *s, unsigned i, const char **out_name,
			     uint64_t *out_value);

#endif
