/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The token that both sides know, and how each shows it to the other without sending it: a keyed
 * hash over both sides' random numbers, under a key made of the token (libsodium).
 */
#ifndef ROCE_VERIFY_AUTH_H
#define ROCE_VERIFY_AUTH_H

#include <stdbool.h>
#include <stddef.h>

/* Fewer characters could be tried one after the other by who listens. */
#define ROCE_VERIFY_TOKEN_MIN 12
#define ROCE_VERIFY_TOKEN_MAX 128

/* What everybody knows: of servers that are open to all, and of clients that were given none. */
#define ROCE_VERIFY_TOKEN_OPEN "open-to-everybody"

#define ROCE_VERIFY_NONCE_SIZE 65 /* as hexadecimal text, with the 0 */
#define ROCE_VERIFY_PROOF_SIZE 65

/* A new token, 120 random bits. False: the library does not work here. */
bool roce_verify_token_make(char *out, size_t size);
bool roce_verify_token_is_good(const char *token);

bool roce_verify_nonce_make(char out[ROCE_VERIFY_NONCE_SIZE]);
/* `who` keeps a proof of the one side from being sent back as one of the other. */
bool roce_verify_proof_make(const char *token, const char *who, const char *server_nonce,
			    const char *client_nonce, char out[ROCE_VERIFY_PROOF_SIZE]);
/* Takes as long for every wrong proof. */
bool roce_verify_proof_is_right(const char *proof, const char *expected);

#endif
