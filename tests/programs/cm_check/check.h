/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cm-check makes connections by rdma_cm in numbers and holds every event to what may come then. One
 * thread, one event channel in an epoll set, as servers of storage clusters do it.
 *
 * main.c takes the turns; conn.c starts, answers and ends connections; events.c says which event
 * may come in which stage, and what follows from it; device.c has queue pairs and data; report.c
 * counts. A connection is in exactly one stage; an event that its stage does not name is a
 * complaint, and a complaint makes the exit status 1.
 */
#ifndef CM_CHECK_H
#define CM_CHECK_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include <rdma/rdma_cma.h>

#define TAG_MAX	     16
#define DEVICES_MAX  8
#define SLOTS_MAX    16384
#define MESSAGE_SIZE 64
#define PERCENT_WARM 10 /* of the connections, before memory is looked at first */

enum closer { CLOSE_CLIENT, CLOSE_SERVER, CLOSE_BOTH };

struct options {
	bool is_server;
	bool is_quiet_check; /* `refused` */
	struct sockaddr_storage address;
	unsigned count;	  /* client: connections to make; server: to have had, 0: until SIGTERM */
	unsigned at_once; /* connections that are not closed yet */
	unsigned rate;	  /* connections begun in a second; 0: as fast as at_once allows */
	unsigned reject;  /* server: each n-th request is refused; 0: none */
	unsigned ack_timeout; /* exponent; 0: the default */
	bool with_data;
	bool is_held;	   /* client: closes at SIGTERM only; data at SIGUSR1 */
	bool is_forgetful; /* closes without waiting for TIMEWAIT_EXIT */
	bool breaks_data;  /* server: its queue pair goes to the error state, the client gets 12 */
	bool may_reuse;
	bool knows_strangers; /* server: requests for nobody are refused, no complaint */
	enum closer closer;
	char tag[TAG_MAX]; /* the server's name: what a client expects to meet */
};

/* X(stage, what it waits for) */
#define STAGES(X)                              \
	X(ADDRESS, "the address")              \
	X(ROUTE, "the route")                  \
	X(CONNECT, "the answer")               \
	X(ACCEPTED, "the peer's confirmation") \
	X(UP, "nothing: it is established")    \
	X(CLOSING, "the end")                  \
	X(TIMEWAIT, "TIMEWAIT_EXIT")           \
	X(ENDED, "nothing: it has ended")

enum stage {
#define X(name, text) STAGE_##name,
	STAGES(X)
#undef X
		STAGE_COUNT
};

struct device {
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
};

struct conn {
	struct rdma_cm_id *id;
	struct device *device; /* NULL: no queue pair */
	enum stage stage;
	bool is_active;
	bool was_up;
	bool has_asked;	   /* client: data is under way */
	bool has_answered; /* server: its answer has arrived */
	unsigned number;
	unsigned slot;
	struct conn *next, *prev;
};

/* X(name): figures of the report. */
#define COUNTS(X)       \
	X(started)      \
	X(requests)     \
	X(established)  \
	X(rejected)     \
	X(unreachable)  \
	X(errors)       \
	X(disconnected) \
	X(timewait)     \
	X(ended)        \
	X(gone)         \
	X(refused)      \
	X(strangers)    \
	X(answers)      \
	X(broken)       \
	X(complaints)

enum count {
#define X(name) COUNT_##name,
	COUNTS(X)
#undef X
		COUNT_COUNT
};

struct usage {
	unsigned descriptors;
	unsigned alive_max; /* ids at a time, so far */
	unsigned long data_kb;
};

struct check {
	struct options options;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	int epoll;
	struct device device[DEVICES_MAX];
	unsigned device_count;
	struct conn *first;
	unsigned open;	/* connections that are not closed */
	unsigned alive; /* ids that are not destroyed */
	unsigned alive_max;
	unsigned long count[COUNT_COUNT];
	uint32_t free_slot[SLOTS_MAX], free_slots;
	uint8_t memory[SLOTS_MAX][2][MESSAGE_SIZE]; /* received, sent */
	struct conn *of_slot[SLOTS_MAX];
	bool is_over, is_all_up;
	double begun, finished;
	struct usage warm;
};

/* options.c */
void options_read(struct options *o, int argc, char **argv);

/* report.c */
double seconds_now(void);
struct usage usage_now(const struct check *k);
void complain(struct check *k, const struct conn *c, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void report_print(const struct check *k);

/* conn.c */
void conn_start(struct check *k);
void conn_on_request(struct check *k, struct rdma_cm_id *id, const struct rdma_conn_param *p);
void conn_check_depths(struct check *k, const struct conn *c, const struct rdma_conn_param *p);
void conn_connect(struct check *k, struct conn *c);
void conn_close(struct check *k, struct conn *c);
/* The dialogue is over; the id goes at once unless later events are to be seen. */
void conn_end(struct check *k, struct conn *c);
void conn_destroy(struct check *k, struct conn *c);
void conn_listen(struct check *k);

/* events.c */
void events_read(struct check *k);

/* device.c */
int device_make_qp(struct check *k, struct conn *c);
void device_drop_qp(struct conn *c);
void device_ask(struct check *k, struct conn *c);
void device_poll(struct check *k);

/* refused.c: the synchronous calls against nobody. The exit status. */
int check_refused(const struct options *o);

#endif
