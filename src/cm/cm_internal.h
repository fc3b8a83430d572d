/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of the connection manager share: the ID, the tables, and who does what.
 *
 *   rx.c       which message, which ID, does it match: then one handler per message
 *   active.c   the side that connects          passive.c  the side that listens
 *   close.c    DREQ, DREP, TIMEWAIT, destroy   sidr.c     datagram services
 *   table.c    ids by number and by peer       listener.c listeners by service
 *   send.c     messages built, queued, repeated
 *   early.c    requests that come a moment before their listener
 *   report.c   what the owner is told          timer.c    what happens when time passes
 *
 * An ID is in the local table from birth to death. It is in the peer table (by the peer's address,
 * CA GUID and comm ID) as soon as the peer's number is known, so that a repeated REQ is recognised,
 * and in the QPN table (address, CA GUID, QPN) as long as the peer must not use that QPN for
 * another connection. It is half-open exactly in the states that is_half_open() names.
 */
#ifndef ROCE_CM_CM_INTERNAL_H
#define ROCE_CM_CM_INTERNAL_H

#include "cm/cm.h"

#define ROCE_CM_REPORTS_MAX 4u

/* Bounds on what peers may ask for, and our own constants; times are 4.096 us << n. */
#define ROCE_CM_REPEAT_NS_MIN	(UINT64_C(4096) << 12) /* 17 ms: faster helps nobody */
#define ROCE_CM_REPEAT_NS_MAX	(UINT64_C(300) * ROCE_NS_PER_S)
#define ROCE_CM_TIMEWAIT_NS_MIN ROCE_NS_PER_MS
#define ROCE_CM_TIMEWAIT_NS_MAX (UINT64_C(4096) << 24) /* 69 s */
/* How long a finished ID is known: longer than a peer waits that we have asked to wait. */
#define ROCE_CM_HELD_NS		    (UINT64_C(100) * ROCE_NS_PER_S)
#define ROCE_CM_REJ_REPEATS	    3u /* of one that no message of the peer will bring again */
#define ROCE_CM_PROBE_REPEATS	    3u
#define ROCE_CM_PROBE_NS	    ROCE_NS_PER_S
#define ROCE_CM_MRA_SERVICE_TIMEOUT 24u /* 69 s, as rdma_cm asks for */
#define ROCE_CM_HOP_LIMIT_DEFAULT   64u
#define ROCE_CM_PKEY_DEFAULT	    0xffffu
#define ROCE_CM_LID_ROUTED	    0xffffu

struct roce_cm_listener {
	struct roce_list owner_link; /* owner->listeners; cm->free_listeners when unused */
	struct roce_cm_listener *next_service;
	struct roce_cm_listen cfg;
	struct roce_list untaken; /* ids by listener_link */
	uint32_t untaken_count;
};

struct roce_cm_id {
	struct roce_list owner_link;	/* owner->ids; cm->free_ids when unused */
	struct roce_list tx_link;	/* cm->tx: `sent` wants to go out */
	struct roce_list report_link;	/* cm->reports */
	struct roce_list listener_link; /* listener->untaken */
	struct roce_list held_link;	/* cm->held */
	struct roce_cm_id *next_local;
	struct roce_cm_id *next_peer;
	struct roce_cm_id *next_qpn;
	struct roce_timer timer;
	struct roce_cm_owner *owner; /* NULL: given up, kept by the CM */
	void *user;
	struct roce_cm_listener *listener; /* while it counts against the backlog */
	struct roce_cm_listener *parent;   /* for the CONNECT_REQUEST only */
	struct roce_cm_info info;
	bool is_in_peer_table;
	bool is_in_qpn_table;
	bool is_disconnect_reported; /* TIMEWAIT_EXIT will follow */
	bool is_mra_due;	     /* one MRA may answer each transmission */
	bool is_probing;	     /* ESTABLISHED: the peer is asked whether it still is */
	bool is_repeated;	     /* what is queued has gone out before */
	uint8_t sends_left;
	roce_ns_t repeat_ns;
	uint8_t report_count;
	struct {
		enum roce_cm_report_type type;
		int status;
	} report[ROCE_CM_REPORTS_MAX];
	/* Of the last message with something to show; valid until the reports are pulled. */
	struct roce_cm_params shown;
	uint16_t shown_len;
	uint8_t shown_data[ROCE_CM_PRIVATE_BYTES_MAX];
	uint8_t sent[ROCE_MAD_BYTES]; /* what is repeated, or sent again to a duplicate */
};

#define ROCE_CM_EARLY_MAX  32
#define ROCE_CM_EARLY_NS   (500 * ROCE_NS_PER_MS)
#define ROCE_CM_CLOSED_MAX 32
#define ROCE_CM_CLOSED_NS  (2 * ROCE_NS_PER_S)

struct roce_cm_early {
	struct roce_cm_route route;
	uint64_t service_id;
	roce_ns_t since;
	roce_ns_t until; /* 0: free */
	uint8_t mad[ROCE_MAD_BYTES];
};

struct roce_cm_closed {
	uint64_t service_id;
	roce_ns_t until;
};

struct roce_cm {
	struct roce_cm_config cfg;
	struct roce_cm_counters counters;
	struct roce_cm_id *ids;
	uint32_t ids_used; /* ids below were used once; the others were never touched */
	uint32_t id_count;
	struct roce_list free_ids;
	struct roce_cm_id **local_table;
	struct roce_cm_id **peer_table;
	struct roce_cm_id **qpn_table;
	struct roce_cm_listener **service_table;
	uint32_t table_mask;
	uint64_t table_secret; /* so that peers cannot choose who shares a bucket */
	struct roce_cm_listener *listeners;
	uint32_t listeners_used;
	struct roce_list free_listeners;
	struct roce_timer_heap timers;
	struct roce_list tx;
	struct roce_list reports;
	struct roce_list held; /* oldest first */
	uint32_t held_count;
	uint32_t half_open_count;
	uint32_t dreq_sent_count;
	struct roce_cm_early early[ROCE_CM_EARLY_MAX];
	struct roce_cm_closed closed[ROCE_CM_CLOSED_MAX];
	uint32_t closed_next;
	struct roce_cm_packet *replies; /* ring of cfg.reply_max */
	uint32_t reply_head;
	uint32_t reply_count;
};

static inline void roce_cm_count(struct roce_cm *cm, uint32_t counter)
{
	cm->counters.v[counter]++;
}

/* 5-bit time in ns. */
static inline roce_ns_t roce_cm_time_ns(uint8_t t)
{
	return UINT64_C(4096) << (t & 0x1f);
}

/* ---- table.c ---- */

/* A new ID in the local table, with a number of its own (or one that is free), or NULL (counted as
 * table full). */
struct roce_cm_id *roce_cm_id_alloc(struct roce_cm *cm);
struct roce_cm_id *roce_cm_id_alloc_as(struct roce_cm *cm, uint32_t local_id);
void roce_cm_id_free(struct roce_cm *cm, struct roce_cm_id *id);
/* Also one that its owner has given up. */
struct roce_cm_id *roce_cm_lookup_local(struct roce_cm *cm, uint32_t local_id);
struct roce_cm_id *roce_cm_lookup_peer(struct roce_cm *cm, const struct roce_cm_info *key,
				       bool is_sidr);
struct roce_cm_id *roce_cm_lookup_qpn(struct roce_cm *cm, const struct roce_cm_info *key);
void roce_cm_enter_peer(struct roce_cm *cm, struct roce_cm_id *id);
void roce_cm_enter_qpn(struct roce_cm *cm, struct roce_cm_id *id);
void roce_cm_leave_qpn(struct roce_cm *cm, struct roce_cm_id *id);
void roce_cm_set_state(struct roce_cm *cm, struct roce_cm_id *id, enum roce_cm_state state);
void roce_cm_id_join(struct roce_cm_id *id, struct roce_cm_owner *owner, void *user);
void roce_cm_id_leave(struct roce_cm_id *id);
bool roce_cm_is_sidr(const struct roce_cm_id *id);
/* An owner may have one more id, and one more half-open; else the verdict that says why not. */
enum roce_cm_verdict roce_cm_check_room(struct roce_cm *cm, const struct roce_cm_owner *owner);

/* ---- listener.c ---- */

struct roce_cm_listener *roce_cm_lookup_listener(struct roce_cm *cm, uint64_t service_id,
						 const struct roce_cm_route *route);
/* The child counts no longer against the backlog. */
void roce_cm_leave_listener(struct roce_cm_id *id);

/* ---- early.c ---- */

void roce_cm_early_on_unlisten(struct roce_cm *cm, uint64_t service_id, roce_ns_t now);
void roce_cm_early_on_listen(struct roce_cm *cm, uint64_t service_id);
roce_ns_t roce_cm_early_deadline(const struct roce_cm *cm);
void roce_cm_early_on_deadline(struct roce_cm *cm, roce_ns_t now);

/* ---- send.c ---- */

/* The message of an ID: encoded to `sent` and queued. */
void roce_cm_send(struct roce_cm *cm, struct roce_cm_id *id, const struct roce_cm_message *m);
/* `sent` again. */
void roce_cm_send_again(struct roce_cm *cm, struct roce_cm_id *id);
/* As roce_cm_send(), repeated until something disarms the timer or the retries are spent. */
void roce_cm_send_repeating(struct roce_cm *cm, struct roce_cm_id *id,
			    const struct roce_cm_message *m, roce_ns_t now);
/* A message that is not kept. */
void roce_cm_reply(struct roce_cm *cm, const struct roce_cm_route *route,
		   const struct roce_cm_message *m);
/* The ID is about to go: what it still has to say becomes a reply. */
void roce_cm_send_last_words(struct roce_cm *cm, struct roce_cm_id *id);
void roce_cm_send_rtu(struct roce_cm *cm, struct roce_cm_id *id);
void roce_cm_send_drep(struct roce_cm *cm, struct roce_cm_id *id);
void roce_cm_send_dreq(struct roce_cm *cm, struct roce_cm_id *id, roce_ns_t now);
void roce_cm_send_mra(struct roce_cm *cm, struct roce_cm_id *id, enum roce_cm_answered answered);
/* Into `sent`, once. `data` may be NULL. */
void roce_cm_send_rej(struct roce_cm *cm, struct roce_cm_id *id, enum roce_cm_rej_reason reason,
		      const struct roce_cm_data *data);
void roce_cm_disarm(struct roce_cm *cm, struct roce_cm_id *id);
void roce_cm_arm(struct roce_cm *cm, struct roce_cm_id *id, roce_ns_t deadline);
uint64_t roce_cm_new_tid(struct roce_cm *cm, const struct roce_cm_id *id);

/* ---- report.c ---- */

/* Nothing when nobody owns the ID. */
void roce_cm_report(struct roce_cm *cm, struct roce_cm_id *id, enum roce_cm_report_type type,
		    int status);
/* Keeps what the message carries for the report that follows. */
void roce_cm_show(struct roce_cm_id *id, const struct roce_cm_message *m, size_t skip);

/* ---- active.c, passive.c, sidr.c ---- */

/* Time between repetitions. */
roce_ns_t roce_cm_repeat_ns(const struct roce_cm_info *info);
/* The IP header and the program's data: the private data of a REQ or SIDR_REQ. Bytes written. */
uint16_t roce_cm_fill_ip_private(uint8_t *out, const struct roce_cm_route *route, uint16_t src_port,
				 const struct roce_cm_data *data);
/* Within the owner's limits, else -ENOMEM (counted). */
int roce_cm_new_id(struct roce_cm *cm, struct roce_cm_owner *owner, void *user,
		   struct roce_cm_id **out_id);
/* The child of a REQ or SIDR_REQ, whose info is complete: into its tables, and reported. */
void roce_cm_add_child(struct roce_cm *cm, struct roce_cm_id *id, struct roce_cm_listener *l,
		       enum roce_cm_state state);
int roce_cm_sidr_answer(struct roce_cm *cm, struct roce_cm_id *id, enum roce_cm_sidr_status status,
			const struct roce_cm_params *params, const struct roce_cm_data *data,
			roce_ns_t now);
void roce_cm_sidr_refuse(struct roce_cm *cm, struct roce_cm_id *id);

/* ---- close.c ---- */

/* The peer has asked again: so it may once more. */
void roce_cm_hold_longer(struct roce_cm *cm, struct roce_cm_id *id, roce_ns_t now);
/* Whether `sent` is such a message. */
bool roce_cm_has_said(const struct roce_cm_id *id, enum roce_cm_attr attr);
void roce_cm_on_timewait_end(struct roce_cm *cm, struct roce_cm_id *id, roce_ns_t now);

void roce_cm_enter_timewait(struct roce_cm *cm, struct roce_cm_id *id, roce_ns_t now);
/* The peer uses this one's QPN for another connection: this one is over at the peer's. */
void roce_cm_close_stale(struct roce_cm *cm, struct roce_cm_id *id, roce_ns_t now);
/* Somebody says so in the peer's name: asks the peer, as far as it can be asked. */
void roce_cm_suspect_stale(struct roce_cm *cm, struct roce_cm_id *id, roce_ns_t now);
/* False: there was no such question. */
bool roce_cm_end_probe(struct roce_cm *cm, struct roce_cm_id *id);
/* Nobody owns the ID: kept to recognise late duplicates, or freed. */
void roce_cm_retire(struct roce_cm *cm, struct roce_cm_id *id, roce_ns_t now);

#endif
