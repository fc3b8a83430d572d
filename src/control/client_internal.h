/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The control client's state, shared by client.c (the calls), connection.c (finding and keeping the
 * daemon) and held.c (the slots and sockets that we hold).
 */
#ifndef ROCE_CONTROL_CLIENT_INTERNAL_H
#define ROCE_CONTROL_CLIENT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"
#include "base/ns.h"
#include "control/channel.h"
#include "control/client.h"
#include "control/message.h"
#include "control/rendezvous.h"

#define ROCE_CLIENT_ANSWER_NS_MAX (20 * ROCE_NS_PER_S) /* how long a call waits for the daemon */

/* Sequence numbers of a reconnect; those of calls stay below. */
#define ROCE_SEQUENCE_CLAIM   UINT32_C(0x40000000) /* | slot */
#define ROCE_SEQUENCE_CM      UINT32_C(0x50000000) /* + one for each id: cm_client.c */
#define ROCE_SEQUENCE_CM_MAX  UINT32_C(0x5fffffff)
#define ROCE_SEQUENCE_CLAIMED UINT32_C(0x7fffffff)
#define ROCE_SEQUENCE_HELLO   UINT32_C(0x7ffffffe)

enum roce_client_state {
	ROCE_CLIENT_DOWN,
	ROCE_CLIENT_HELLO,
	ROCE_CLIENT_CLAIMING,
	ROCE_CLIENT_READY,
	ROCE_CLIENT_FORKED
};

struct roce_held_address {
	struct roce_address address;
	uint32_t nonce;
	int fd;	   /* the caller's; ours to use only while the inode is the same */
	ino_t ino; /* of the socket behind fd */
};

struct roce_held_slot {
	struct roce_list link;
	uint8_t slot;
	bool is_lost; /* somebody else got it while we were away */
	unsigned count;
	struct roce_held_address address[ROCE_CONTROL_SLOT_ADDR_MAX];
};

struct roce_client {
	struct roce_list link; /* of all clients of the process, for the atfork handler */
	struct roce_client_config cfg;
	char program[ROCE_CONTROL_PROGRAM_MAX];
	char explicit_path[ROCE_CONTROL_PATH_MAX]; /* empty: the usual places */
	char socket_name[ROCE_CONTROL_PATH_MAX];   /* the place we are connected to */
	struct roce_list slots;
	enum roce_client_state state;
	uint32_t generation; /* of the connection: an answer to what an earlier one asked never
				comes */
	int epoll_fd, timer_fd;
	int sock;	 /* -1 in DOWN */
	int report_fd;	 /* of a daemon being started; -1 none */
	unsigned place;	 /* next place to try */
	bool was_ready;	 /* ever: then a reconnect claims */
	bool is_refused; /* for a reason that trying again at once does not cure */
	uint64_t instance;
	uint64_t netns;
	uint32_t sequence;
	roce_ns_t retry_ns;
	roce_ns_t retry_at;
	roce_ns_t hello_until;
	roce_ns_t start_after;
	roce_ns_t sticky_until; /* root's daemon served us a moment ago: no other place is tried */
	int error;		/* why we are not connected, negative errno */
	char text[ROCE_CONTROL_TEXT_MAX];
};

/* connection.c */

/* Makes the descriptors and waits for a daemon. 0, or -errno with one line in err. */
int roce_client_connect(struct roce_client *c, char *err, size_t err_size);
/*
 * Sends a request and waits for its answer; a daemon that dies meanwhile is asked again after the
 * reconnect (every request may be repeated). The caller closes the descriptors in *p.
 */
int roce_client_transact(struct roce_client *c, struct roce_message *m,
			 struct roce_channel_packet *p, char *err, size_t err_size);
/* 0, or -errno with the text of an ERROR in err. */
int roce_client_check_answer(const struct roce_channel_packet *p, char *err, size_t err_size);
/* Makes every step that is possible now. Stops at an answer to `sequence`: true, in *p. */
bool roce_client_step(struct roce_client *c, uint32_t sequence, struct roce_channel_packet *p);
/* Steps and waits until the daemon serves us. 0, or -errno (c->text says more). */
int roce_client_wait_ready(struct roce_client *c, roce_ns_t until, struct roce_channel_packet *p);
/* Sleeps until something may have changed. */
void roce_client_wait_event(struct roce_client *c, roce_ns_t until);
/* The daemon went away: look again at once. */
void roce_client_on_lost(struct roce_client *c);
void roce_client_close_fds(struct roce_client *c);
/* Why something failed, kept for the call that waits; shown with UROCE_DEBUG. */
__attribute__((format(printf, 3, 4))) void roce_client_note(struct roce_client *c, int error,
							    const char *format, ...);

/* held.c */

/* To the clients that a forked child forgets, and off them. */
void roce_held_enlist(struct roce_client *c);
void roce_held_delist(struct roce_client *c);
struct roce_held_slot *roce_held_find(const struct roce_client *c, uint8_t slot);
struct roce_held_address *roce_held_find_address(struct roce_held_slot *s,
						 const struct roce_gid *local, uint32_t ifindex);
int roce_held_send_claims(struct roce_client *c);
/* Somebody else has the slot now. */
void roce_held_on_claim_refused(struct roce_client *c, uint8_t slot, const char *text);
void roce_held_on_remapped(struct roce_client *c, struct roce_channel_packet *p);

#endif
