/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program verbs-check, one on each side, as a building block of cases: it does the checking of
 * operations, here it is started and what it found is read.
 */
#ifndef VERIFY_AGENT_CHECKER_H
#define VERIFY_AGENT_CHECKER_H

#include "verify/agent/device.h"

/* Texts may be NULL or "": what verbs-check does by itself. */
struct va_check {
	const char *scenarios; /* of its --scenario; none: drawn programs */
	const char *transport;
	const char *link;
	uint64_t seeds;
	enum va_family family;
	bool is_requester; /* on one side true, on the other false */
};

struct va_checked {
	json_t *found;	   /* its JSON, for json_decref(); NULL: it gave none */
	char reason[1024]; /* what was wrong; "": nothing */
};

/* Called on both sides; returns when both programs have ended. va_fail() when that is not in the
 * time of the case, va_skip() when the device has no address of the family. */
void va_check_run(struct va_run *run, const struct va_check *check, struct va_checked *out);

/* "ipv4", "ipv6", or another word for any. */
enum va_family va_check_family(const char *word);

#endif
