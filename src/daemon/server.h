/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uroced's state, shared by server.c (loop, deadlines), served_group.c (the groups of sockets),
 * handover.c (what the keeper knows), session.c (what one client asks for), stray.c (packets that
 * reached the wrong socket) and cm_service.c (the connection manager). One thread; every handler
 * returns at once. Every table has a limit that is named here.
 */
#ifndef ROCE_DAEMON_SERVER_H
#define ROCE_DAEMON_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/list.h"
#include "base/ns.h"
#include "control/channel.h"
#include "control/rendezvous.h"
#include "daemon/cm_service.h"
#include "daemon/group.h"
#include "daemon/keeper.h"
#include "daemon/lease.h"

#define ROCE_SERVER_CLIENTS_MAX	  1024
#define ROCE_SERVER_REFUSED_MAX	  64 /* more clients than that wait for a refusal */
#define ROCE_SERVER_GROUPS_MAX	  256
#define ROCE_SERVER_SHARED_MAX	  64   /* users named by --share-with */
#define ROCE_SERVER_CLIENT_SLOTS  64   /* slots of one client */
#define ROCE_SERVER_OUTPUT_MAX	  1024 /* answers waiting for one client */
#define ROCE_SERVER_STRAYS_PER_S  2000 /* from one client, or from one address's slot 0 */
#define ROCE_SERVER_STRAYS_BURST  500
#define ROCE_SERVER_HELLO_NS	  (10 * ROCE_NS_PER_S)
#define ROCE_SERVER_ORPHAN_NS	  (30 * ROCE_NS_PER_S) /* a slot waits for its claim so long */
#define ROCE_SERVER_CLAIMS_NS	  ROCE_NS_PER_S	       /* new leases wait so long for old claims */
#define ROCE_SERVER_CLOSING_NS	  (12 * ROCE_NS_PER_S) /* beyond idle_ns, for unanswered DREQs */
#define ROCE_SERVER_GROUP_REST_NS ROCE_NS_PER_S	       /* an unused address stays ours so long */

#define ROCE_SERVER_COUNTERS(X)                                                           \
	X(clients_accepted)                                                               \
	X(clients_refused)                                                                \
	X(messages_malformed)                                                             \
	X(leases)                                                                         \
	X(claims)                                                                         \
	X(claims_refused)                                                                 \
	X(strays_relayed)                                                                 \
	X(strays_limited)     /* over the rate */                                         \
	X(strays_unowned)     /* for a slot that nobody holds */                          \
	X(strays_undelivered) /* the owner does not read */                               \
	X(packets_slot0)      /* for the daemon itself */                                 \
	X(guards_taken)	      /* addresses served without a name, which strangers hold */ \
	X(sockets_replaced)                                                               \
	X(repairs)                                                                        \
	X(restarts) /* of this daemon by its keeper */                                    \
	X(keeper_restarts)

enum roce_server_counter {
#define X(name) ROCE_SERVER_##name,
	ROCE_SERVER_COUNTERS(X)
#undef X
		ROCE_SERVER_COUNTER_COUNT
};

struct roce_server;

/* What epoll points at. */
struct roce_source {
	void (*on_ready)(struct roce_server *s, struct roce_source *source);
	int fd;
};

struct roce_bucket {
	roce_ns_t at;
	uint32_t tokens;
};

struct roce_output {
	struct roce_list link;
	struct roce_message message; /* no STRAY: those are not queued */
	int fd;			     /* a duplicate; -1 none */
};

struct roce_session {
	struct roce_list link;
	struct roce_source socket;
	struct roce_source pidfd; /* fd -1: the process is not visible here */
	uint32_t number;	  /* lease.holder */
	struct ucred peer;
	int refusal;	   /* errno that its HELLO is answered with; 0 it is served */
	uint64_t instance; /* 0: no HELLO yet */
	roce_ns_t since;
	unsigned slot_count;
	bool is_lease_waiting; /* for claims to come in first */
	uint32_t waiting_sequence;
	bool is_closing; /* farewell sent: close when the loop is done with it */
	bool is_blocked; /* output waits for room: no more requests are read */
	struct roce_list output;
	unsigned output_count;
	struct roce_bucket strays;
	struct roce_cm_session cm;
	char program[ROCE_CONTROL_PROGRAM_MAX];
};

struct roce_served_group {
	struct roce_list link;
	struct roce_source slot0;
	struct roce_source spares; /* all of them; fd unused */
	struct roce_source guard;
	struct roce_group group;
	roce_ns_t unused_since; /* 0: in use */
	roce_ns_t unknown_check_at;
	roce_ns_t unknown_interval;
	roce_ns_t repair_after; /* no repair before */
	roce_ns_t repair_interval;
	roce_ns_t reattached_at; /* first cure tried then; 0 not */
	struct roce_bucket strays;
	uint64_t repairs_seen;
};

struct roce_orphan { /* by slot: who held it before we were restarted */
	int32_t pid;
	uint32_t uid;
	uint64_t start_time;
	roce_ns_t until; /* 0: no orphan */
	char program[ROCE_CONTROL_PROGRAM_MAX];
};

struct roce_server_config {
	bool is_foreground;
	roce_ns_t idle_ns; /* 0: never leaves by itself */
	uid_t shared[ROCE_SERVER_SHARED_MAX];
	unsigned shared_count;
	char *const *argv; /* for the keeper */
	int listen_fd;	   /* -1: comes from the keeper */
	int resume_fd;	   /* -1: a fresh start */
	struct roce_rendezvous listen;
	bool has_keeper;
};

struct roce_server {
	struct roce_server_config cfg;
	int epoll_fd;
	struct roce_source listen;
	struct roce_source signals;
	struct roce_source keeper; /* fd -1: none */
	pid_t keeper_pid;
	roce_ns_t keeper_started;
	struct roce_list sessions;
	unsigned session_count;
	uint32_t last_number;
	struct roce_list groups;
	unsigned group_count;
	struct roce_lease_table leases;
	struct roce_cm_service *cm;
	struct roce_orphan orphan[ROCE_LEASE_SLOT_MAX + 1];
	roce_ns_t started;
	roce_ns_t idle_since; /* 0: somebody is here */
	roce_ns_t claims_until;
	uint64_t netns;
	bool is_leaving;
	uint64_t counter[ROCE_SERVER_COUNTER_COUNT];
};

const char *roce_server_counter_str(enum roce_server_counter counter);

/* Returns when the daemon has left: exit status. */
int roce_server_run(const struct roce_server_config *cfg);

/* server.c */
void roce_server_release_slot(struct roce_server *s, uint8_t slot);
struct roce_session *roce_server_find_holder(struct roce_server *s, uint8_t slot);
void roce_server_add_source(struct roce_server *s, struct roce_source *source);
/* Makes *next no later than `at`; 0: no such deadline. */
void roce_server_nearest(roce_ns_t *next, roce_ns_t at);
/* A line on stderr of a uroced in the foreground. */
__attribute__((format(printf, 2, 3))) void roce_server_log(const struct roce_server *s,
							   const char *format, ...);

/* served_group.c */
struct roce_served_group *roce_server_find_group(struct roce_server *s,
						 const struct roce_address *a);
struct roce_served_group *roce_server_find_group_by_gid(struct roce_server *s,
							const struct roce_gid *gid);
/* nonce 0: any. -errno with one line in err. */
int roce_server_get_group(struct roce_server *s, const struct roce_address *a, uint32_t nonce,
			  struct roce_served_group **out, char *err, size_t err_size);
void roce_server_explain(const struct roce_address *a, int error, char *err, size_t err_size);
void roce_server_remove_member(struct roce_server *s, struct roce_served_group *sg, uint8_t slot);
/* After any change of a group: tells the keeper and plans the next look at it. */
void roce_server_on_group_changed(struct roce_server *s, struct roce_served_group *sg);
/* Something arrived where it should not: checks the group, not too often. */
void roce_server_suspect(struct roce_server *s, struct roce_served_group *sg);
void roce_server_check_groups(struct roce_server *s, roce_ns_t now, roce_ns_t *next);
/* For a group that the keeper hands over: not in the list yet, without sockets. */
struct roce_served_group *roce_server_make_group(void);
void roce_server_set_group_handlers(struct roce_server *s, struct roce_group *g);
void roce_server_watch_guard(struct roce_server *s, struct roce_served_group *sg);
void roce_server_destroy_group(struct roce_server *s, struct roce_served_group *sg);
/* At the end: the programs keep their sockets, in an order that works without us. */
void roce_server_leave_groups(struct roce_server *s);

/* handover.c */
void roce_handover_start_keeper(struct roce_server *s);
void roce_handover_check_keeper(struct roce_server *s, roce_ns_t now, roce_ns_t *next);
/* The keeper lets go of its copies before we rearrange and close ours. */
void roce_handover_dismiss_keeper(struct roce_server *s);
void roce_handover_keep(struct roce_server *s, const struct roce_keeper_record *r, int fd);
void roce_handover_keep_group(struct roce_server *s, struct roce_served_group *sg);
void roce_handover_keep_slot(struct roce_server *s, uint8_t slot, const struct roce_session *c);
/* Takes everything back from the keeper that started us. 0 or -errno. */
int roce_handover_resume(struct roce_server *s);
/* Frees what nobody will claim; how many still wait. */
unsigned roce_handover_check_orphans(struct roce_server *s, roce_ns_t now);

/* session.c */
void roce_session_open(struct roce_server *s, int fd);
void roce_session_close(struct roce_server *s, struct roce_session *c);
/* Queued when the program does not read. */
void roce_session_send(struct roce_server *s, struct roce_session *c, const struct roce_message *m);
void roce_session_send_error(struct roce_server *s, struct roce_session *c, uint32_t sequence,
			     int error, const char *text);
/* Another socket in the place of one that has left its group. */
void roce_session_send_replacement(struct roce_server *s, struct roce_session *c,
				   const struct roce_served_group *sg, uint8_t slot, int fd);
/* Answers LEASE requests that waited for claims. */
void roce_session_lease_waiting(struct roce_server *s);

/* stray.c */
void roce_stray_on_client(struct roce_server *s, struct roce_session *c,
			  const struct roce_message *m);
void roce_stray_on_slot0(struct roce_server *s, struct roce_source *source);
/* A spare gets nothing unless the numbers are wrong. */
void roce_stray_on_spares(struct roce_server *s, struct roce_source *source);

#endif
