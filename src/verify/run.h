/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs the wanted cases of a plan between two agents, one after the other, and fills the record.
 * A broken agent, a broken connection and a signal end the run early, with what was done on record;
 * so do cases that are never ended, which would cost all of their time for nothing.
 */
#ifndef ROCE_VERIFY_RUN_H
#define ROCE_VERIFY_RUN_H

#include "verify/record.h"

struct roce_verify_run_options {
	int fds[ROCE_VERIFY_SIDES];	  /* to the agents; they are closed by the run */
	int signal_fd;			  /* readable when the run shall end; -1: none */
	json_t *where[ROCE_VERIFY_SIDES]; /* device, port, gid_index of each; borrowed */
	bool ends_at_failure;		  /* the first case that fails is the last */
	/* For the other side's word after a failure, beyond a case's time, and for an agent to stop
	 * a case; 0: 3000. */
	uint32_t grace_ms;
};

/* What the user sees of it; any may be NULL. */
struct roce_verify_watcher {
	void *context;
	void (*begun)(void *context, const struct roce_verify_record *record,
		      const struct roce_verify_case *c, uint32_t round);
	void (*progress)(void *context, const struct roce_verify_record *record, double part);
	void (*ended)(void *context, const struct roce_verify_record *record,
		      const struct roce_verify_outcome *outcome);
};

/* True: all cases had their turn. False: record->broken_off says why not. */
bool roce_verify_run(const struct roce_verify_run_options *options,
		     const struct roce_verify_watcher *watcher, struct roce_verify_record *record);

#endif
