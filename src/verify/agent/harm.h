/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether packets came to the harm that a case asked for. What uroce does to packets on purpose it
 * counts in hw_counters of its device, where any program reads them; and what the transport finds
 * out of place is counted there, too, by code that knows nothing of the wrapper. A case that names
 * a share of lost packets and lost none has proved nothing, whatever came out right.
 *
 * trouble.c reads before and after the traffic, and lets the two sides judge together.
 */
#ifndef VERIFY_AGENT_HARM_H
#define VERIFY_AGENT_HARM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(name, word of UROCE_IMPAIR, counter and name in reports, whether the share of packets is that
 * of all) */
#define VA_HARM_LIST(X)                          \
	X(DROP, "drop", "dropped", true)         \
	X(DUP, "dup", "duplicated", true)        \
	X(REORDER, "reorder", "reordered", true) \
	X(CORRUPT, "corrupt", "corrupted", true) \
	X(DELAY, "delay", "delayed", true)       \
	X(CE, "ce", "marked", false)             \
	X(UD_DAMAGE, "ud_damage", "ud_damaged", false)

enum va_harm_kind {
#define X(id, word, counter, is_of_all) VA_HARM_##id,
	VA_HARM_LIST(X)
#undef X
		VA_HARM_KINDS,
};

struct va_harm {
	uint64_t received; /* packets */
	uint64_t sent;
	uint64_t done[VA_HARM_KINDS];
	uint64_t out_of_place; /* lost, doubled and late ones, as the transport noticed them */
	uint64_t bad_icrc;
};

/* What UROCE_IMPAIR asks for. */
struct va_harm_wish {
	bool is_asked[VA_HARM_KINDS];
	double share[VA_HARM_KINDS];
	uint64_t first; /* packets of a direction; 0: all */
	bool is_rx;
	bool is_tx;
};

/* "dropped" */
const char *va_harm_str(enum va_harm_kind kind);

void va_harm_parse(const char *impair, struct va_harm_wish *out);

/* What the device has counted in all processes of this user. False: it shows no such counters. */
bool va_harm_read(const char *device, uint8_t port, struct va_harm *out);
void va_harm_subtract(struct va_harm *from, const struct va_harm *before);

/* Whether one side did its share. False: `why` says what is missing. */
bool va_harm_is_done(const struct va_harm_wish *wish, const struct va_harm *harm, char *why,
		     size_t why_size);
/* Whether the two together did of each kind at least one, and, where a transport is there that
 * would notice, noticed it. */
bool va_harm_is_seen(const struct va_harm_wish *wish, const struct va_harm *both, bool is_noticed,
		     char *why, size_t why_size);

#endif
