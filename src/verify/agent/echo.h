/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ping-pong on transports that may lose a message (UD, UC): part of kind `latency`. Each message
 * has its number as immediate, so that an answer is told from one that came late; one that does not
 * come for a while is counted as lost, and the next one is sent.
 */
#ifndef VERIFY_AGENT_ECHO_H
#define VERIFY_AGENT_ECHO_H

#include "verify/agent/samples.h"
#include "verify/agent/work.h"

#define VA_ECHO_RECEIVES 8u /* that the endpoint must have room for */

struct va_echo {
	struct va_endpoint *endpoint;
	struct va_buffer *in; /* every message comes here, behind room for a GRH */
	struct va_request request;
	uint32_t size;
	uint64_t warmup;
	uint64_t total; /* with warmup; less of them when `duration_ns` is over */
	uint64_t duration_ns;
	struct va_samples *samples; /* half of each round trip */
	uint64_t lost;		    /* messages, or their answers */
};

/* Ends in va_fail() when more than one in a hundred are lost. */
void va_echo_ask(struct va_run *run, struct va_echo *echo);
/* Until the other side has said that it is through. */
void va_echo_answer(struct va_run *run, struct va_echo *echo);

#endif
