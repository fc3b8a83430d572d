/* SPDX-License-Identifier: BSD-2-Clause */
/* HMAC-SHA-256; what is hashed has a fixed form, so no two inputs are written alike. */
#include "verify/auth.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define NONCE_BYTES 32
#define GROUPS	    6
#define GROUP	    4

bool roce_verify_token_make(char *out, size_t size)
{
	/* 32 signs that are not mistaken for each other */
	static const char signs[] = "abcdefghjkmnpqrstuvwxyz123456789";
	size_t used = 0;

	if (sodium_init() < 0 || size < GROUPS * (GROUP + 1))
		return false;
	for (int i = 0; i < GROUPS * GROUP; i++) {
		if (i && i % GROUP == 0)
			out[used++] = '-';
		out[used++] = signs[randombytes_uniform(32)];
	}
	out[used] = '\0';
	return true;
}

bool roce_verify_token_is_good(const char *token)
{
	size_t length = strlen(token);

	return length >= ROCE_VERIFY_TOKEN_MIN && length <= ROCE_VERIFY_TOKEN_MAX;
}

bool roce_verify_nonce_make(char out[ROCE_VERIFY_NONCE_SIZE])
{
	unsigned char bytes[NONCE_BYTES];

	if (sodium_init() < 0)
		return false;
	randombytes_buf(bytes, sizeof(bytes));
	sodium_bin2hex(out, ROCE_VERIFY_NONCE_SIZE, bytes, sizeof(bytes));
	return true;
}

bool roce_verify_proof_make(const char *token, const char *who, const char *server_nonce,
			    const char *client_nonce, char out[ROCE_VERIFY_PROOF_SIZE])
{
	unsigned char key[crypto_auth_hmacsha256_KEYBYTES];
	unsigned char proof[crypto_auth_hmacsha256_BYTES];
	char text[256];
	int n = snprintf(text, sizeof(text), "uroce verify|%s|%s|%s", who, server_nonce,
			 client_nonce);

	if (sodium_init() < 0 || n < 0 || n >= (int)sizeof(text))
		return false;
	crypto_generichash(key, sizeof(key), (const unsigned char *)token, strlen(token), NULL, 0);
	crypto_auth_hmacsha256(proof, (const unsigned char *)text, (unsigned long long)n, key);
	sodium_memzero(key, sizeof(key));
	sodium_bin2hex(out, ROCE_VERIFY_PROOF_SIZE, proof, sizeof(proof));
	return true;
}

bool roce_verify_proof_is_right(const char *proof, const char *expected)
{
	return strlen(proof) == ROCE_VERIFY_PROOF_SIZE - 1 &&
	       sodium_memcmp(proof, expected, ROCE_VERIFY_PROOF_SIZE - 1) == 0;
}
