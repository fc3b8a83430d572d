/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the connection manager holds for us: one entry per id that is bound or in a dialogue, kept
 * so that a new uroced can be told. It learns from the requests that succeeded and the events that
 * came (cm_client.c hands them over); it sends nothing itself. The caller serialises.
 */
#ifndef ROCE_CONTROL_CM_HELD_H
#define ROCE_CONTROL_CM_HELD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "control/cm_message.h"

#define ROCE_CM_HELD_BUCKETS 1024

/* Where a dialogue stands, as far as its end depends on it. */
enum roce_cm_dialogue {
	ROCE_CM_DIALOGUE_NONE,
	ROCE_CM_DIALOGUE_CONNECTING,	/* we asked: UNREACHABLE */
	ROCE_CM_DIALOGUE_RESPONDED,	/* ESTABLISH will tell */
	ROCE_CM_DIALOGUE_REQUESTED,	/* ACCEPT will tell */
	ROCE_CM_DIALOGUE_ACCEPTED,	/* UNREACHABLE */
	ROCE_CM_DIALOGUE_ESTABLISHED,	/* DISCONNECT will tell */
	ROCE_CM_DIALOGUE_DISCONNECTING, /* DISCONNECTED */
	ROCE_CM_DIALOGUE_TIMEWAIT,	/* TIMEWAIT_EXIT */
};

struct roce_cm_held {
	struct roce_list link;	       /* of its bucket */
	struct roce_list restore_link; /* of a list of cm_client.c */
	uint32_t handle;
	uint32_t sequence; /* of the RESTORE under way */
	struct roce_cm_bind bind;
	uint32_t backlog;  /* 0: it does not listen */
	uint32_t listener; /* of a child whose CONNECT_REQUEST is unread; else 0 */
	bool is_bound;
	bool is_datagram; /* the dialogue ends with its answer */
	enum roce_cm_dialogue dialogue;
	struct roce_cm_saved *saved; /* NULL: none */
};

struct roce_cm_held_table {
	struct roce_list bucket[ROCE_CM_HELD_BUCKETS];
};

void roce_cm_held_init(struct roce_cm_held_table *t);
void roce_cm_held_fini(struct roce_cm_held_table *t);
struct roce_cm_held *roce_cm_held_find(const struct roce_cm_held_table *t, uint32_t handle);

/* A request was answered by CM_OK. 0 or -ENOMEM: then it is not restored. */
int roce_cm_held_on_ok(struct roce_cm_held_table *t, const struct roce_cm_request *r,
		       const struct roce_cm_ok *ok);
/* -ENOENT: the program has destroyed it, or its listener. */
int roce_cm_held_on_event(struct roce_cm_held_table *t, const struct roce_cm_event *e);
void roce_cm_held_on_taken(struct roce_cm_held_table *t, uint32_t handle);
/* With its unread children, if it is a listener. */
void roce_cm_held_drop(struct roce_cm_held_table *t, uint32_t handle);

/*
 * Whether an event of the daemon must come without which the program waits for ever: in set-up and
 * in tear-down. An established connection needs no daemon.
 */
bool roce_cm_held_is_waiting(const struct roce_cm_held *h);

/* Ends the dialogue; true: `out` is the event that tells the program. */
bool roce_cm_held_end(struct roce_cm_held *h, struct roce_cm_event *out);

#endif
