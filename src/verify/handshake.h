/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The first words on a control connection, before either side believes the other:
 *
 *	server: {"is": "server", "protocol", "version", "nonce"}
 *	client: {"do": "begin", "protocol", "version", "nonce", "proof"}
 *	server: {"is": "accepted", "proof"} or {"is": "refused", "reason"}
 *
 * Until then lines are short and time is short, for who connects to a server; a client has time for
 * a server that has many to answer. Afterwards the server's end belongs to its agent.
 * The connection is not encrypted: it carries orders and measurements, never the token.
 */
#ifndef ROCE_VERIFY_HANDSHAKE_H
#define ROCE_VERIFY_HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>

#define ROCE_VERIFY_HANDSHAKE_S 5  /* for a word of a client */
#define ROCE_VERIFY_ANSWER_S	30 /* for one of the server */
#define ROCE_VERIFY_REASON_SIZE 200

/* Both return true when each has seen the other's proof; else `reason` has one line. The
 * descriptor stays open. */
bool roce_verify_handshake_client(int fd, const char *token, char *reason);
/* `take` is asked last, when the client is a good one: false with a reason refuses it (another
 * run). */
bool roce_verify_handshake_server(int fd, const char *token,
				  bool (*take)(void *context, char *reason), void *context,
				  char *reason);

#endif
