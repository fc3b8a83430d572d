/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets and completions as text, and a string that grows: what transcripts and traces are made
 * of.
 */
#ifndef TESTS_SIM_TEXT_H
#define TESTS_SIM_TEXT_H

#include "transport/transport.h"
#include "wq/wq.h"

#include <stddef.h>
#include <stdint.h>

#define SIM_LINE_MAX 160u

struct sim_text {
	char *s; /* never NULL after init */
	size_t length;
	size_t capacity;
};

void sim_text_init(struct sim_text *t);
void sim_text_fini(struct sim_text *t);
void sim_text_clear(struct sim_text *t);
void sim_text_add(struct sim_text *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* "SEND_ONLY psn 10 len 5 ackreq", "ACK psn 10 msn 1", "RNR_NAK 14 psn 3 msn 0". */
void sim_text_packet(char out[SIM_LINE_MAX], const struct roce_headers *hdr, uint32_t payload_len);
const char *sim_text_wr_opcode(uint8_t opcode);
const char *sim_text_status(uint8_t status);
const char *sim_text_wc_opcode(uint8_t opcode);
const char *sim_text_event(enum roce_async_event event);

#endif
