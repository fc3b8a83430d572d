/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of `uroce verify` on the command's side: options, and where the agents are. `uroce
 * perf` uses the latter. */
#ifndef ROCE_TOOLS_VERIFY_H
#define ROCE_TOOLS_VERIFY_H

#include "tools/verify_file.h"

#include "verify/place.h"
#include "verify/record.h"
#include "verify/run.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define ROCE_VERIFY_MTU_DEFAULT 1500u /* of the link between namespaces */

struct roce_verify_options {
	const char *command; /* "verify", "perf": whose lines they are */
	const char *plan;
	const char *only;
	const char *skip;
	const char *profile;
	const char *profile_file; /* that it is from; NULL: it is the plan's own */
	const char *json;
	const char *junit;
	const char *html;
	const char *device[ROCE_VERIFY_SIDES];
	const char *peer;
	const char *token;
	const char *bind_to;
	uint64_t port;
	uint64_t seed;
	uint64_t repeat;
	uint64_t mtu;
	uint64_t gid_index;  /* UINT64_MAX: chosen */
	uint64_t ib_port;    /* the same */
	uint64_t qp_timeout; /* a code; 0: that of each case */
	const char *quirks;  /* accepted of the own device; NULL: none */
	/* of a server */
	const char *kinds;  /* the only ones that it runs; NULL: all */
	const char *client; /* how the other end is called, up to the host */
	bool is_list;
	bool is_plan_printed;
	bool is_explained;
	const char *explained; /* NULL: the list of kinds */
	bool is_self_test;
	bool is_system;
	bool is_server;
	bool is_once;
	bool is_quiet;
};

/* ROCE_EXIT_OK, or ROCE_EXIT_USAGE after one line that says what is wrong. */
int roce_verify_options_parse(int argc, char **argv, struct roce_verify_options *out);

/* With the wanted cases marked. NULL after what is wrong was said. A profile that is a file is put
 * into the plan, and its name into the options. */
struct roce_verify_plan *roce_verify_plan_open(struct roce_verify_options *options);
/* The plan that is built in, to be changed and run with --plan. */
void roce_verify_plan_print_text(const struct roce_verify_options *o);
void roce_verify_plan_print(const struct roce_verify_plan *plan, const char *profile);

/* What a case of the plan or a kind of case is; NULL: the list of kinds. An exit status. */
int roce_verify_explain(const struct roce_verify_plan *plan, const char *name);

/* The agents of both sides, and what each is told of its device; the latter for json_decref(). */
struct roce_verify_sides {
	struct roce_verify_place place;
	json_t *where[ROCE_VERIFY_SIDES];
};

/* To the peer's agent: a descriptor, or -1 after one line. */
int roce_verify_peer_connect(const struct roce_verify_options *options);
/* By the options here, in namespaces, or one here and `peer_fd` (else -1; it is taken over), unless
 * `signal_fd` becomes readable. An exit status, as above. */
int roce_verify_sides_open(const struct roce_verify_options *options, int peer_fd, int signal_fd,
			   struct roce_verify_sides *out, struct roce_verify_record *record);
void roce_verify_sides_close(struct roce_verify_sides *sides, bool is_now);

/* Asks the uroced of this namespace to go if it is one of these processes. True: it stays, for
 * others use it. */
bool roce_verify_daemon_dismiss(const pid_t *pids, size_t count);

/* `uroce verify diff`, argv[0] being that word. */
int roce_verify_diff_command(int argc, char **argv);

/* `uroce verify --server` and `uroce perf TEST`. */
int roce_verify_serve_command(const struct roce_verify_options *options);

/* ---- what both commands do ---- */

struct roce_verify_between {
	void *context;
	/* Between the agents, with their descriptors (roce_verify_run() closes them): the run as it
	 * is shown. */
	void (*run)(void *context, const struct roce_verify_run_options *run,
		    struct roce_verify_record *record);
	/* When all of them have ended. It may have a slow reader: a signal that comes now ends this
	 * program. An exit status. */
	int (*report)(void *context, const struct roce_verify_record *record);
};

/* Connects to the peer or starts both agents, takes SIGINT, SIGTERM and SIGHUP, and calls what is
 * between; afterwards nothing is left. An exit status. */
int roce_verify_run_plan(const struct roce_verify_options *options, struct roce_verify_plan *plan,
			 const struct roce_verify_between *between);
int roce_verify_exit_status(const struct roce_verify_record *record);

#endif
