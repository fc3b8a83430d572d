/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The connection over which the two sides agree: messages of 64-bit words in network order, each
 * side sending and receiving the same kinds in the same sequence. A side that fails says so in a
 * message of its own at any point, so that the other one stops at once with the same reason.
 */
#ifndef VERBS_CHECK_CONTROL_H
#define VERBS_CHECK_CONTROL_H

#include <stdint.h>

#include "tools/verbs_check/report.h"

enum vc_message {
	VC_MESSAGE_HELLO = 1,
	VC_MESSAGE_ENDPOINT = 2,
	VC_MESSAGE_BARRIER = 3,
	VC_MESSAGE_FAILED = 4,
};

enum { VC_MESSAGE_WORDS = 512 };

struct vc_control {
	int fd;
	unsigned int timeout_s;
};

enum vc_verdict vc_control_listen(struct vc_control *control, const char *port,
				  struct vc_report *report);
enum vc_verdict vc_control_connect(struct vc_control *control, const char *host, const char *port,
				   struct vc_report *report);
/* Over a descriptor that is already connected. */
enum vc_verdict vc_control_attach(struct vc_control *control, int fd, struct vc_report *report);
void vc_control_close(struct vc_control *control);

enum vc_verdict vc_control_exchange(struct vc_control *control, enum vc_message kind,
				    const uint64_t *mine, uint32_t mine_count, uint64_t *theirs,
				    uint32_t theirs_count, struct vc_report *report);
/* Both sides have come to `step`; they must agree on what it is. */
enum vc_verdict vc_control_barrier(struct vc_control *control, uint64_t step,
				   struct vc_report *report);
/* Without waiting: whether the other side has failed or gone. */
enum vc_verdict vc_control_peek(struct vc_control *control, struct vc_report *report);
/* Tells the other side what went wrong here. */
void vc_control_fail(struct vc_control *control, const struct vc_report *report);

#endif
