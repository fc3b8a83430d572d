/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Versions are compared before proofs, for a difference there explains a failure of the rest. Text
 * of the other side is shown only as far as it is printable and short.
 */
#include "verify/handshake.h"

#include "base/clock.h"
#include "verify/auth.h"
#include "verify/lines.h"
#include "verify/protocol.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_MAX 40

__attribute__((format(printf, 2, 3))) static bool refuse(char *reason, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(reason, ROCE_VERIFY_REASON_SIZE, fmt, ap);
	va_end(ap);
	return false;
}

static const char *show(const char *text, char out[SHOWN_MAX])
{
	size_t i = 0;

	for (; text[i] && i + 1 < SHOWN_MAX; i++)
		out[i] = isprint((unsigned char)text[i]) ? text[i] : '?';
	out[i] = '\0';
	return out;
}

static bool is_nonce(const char *text)
{
	return strlen(text) == ROCE_VERIFY_NONCE_SIZE - 1 &&
	       !text[strspn(text, "0123456789abcdef")];
}

static bool is_same_version(const json_t *message)
{
	return strcmp(roce_json_text(message, "version"), UROCE_VERSION) == 0 &&
	       roce_json_integer(message, "protocol") == ROCE_VERIFY_PROTOCOL;
}

static json_t *hear(struct roce_lines *lines, const char *key, const char *word, uint32_t wait_s,
		    char *reason)
{
	roce_ns_t deadline = roce_clock_now() + wait_s * ROCE_NS_PER_S;
	json_t *message;
	int rc = roce_lines_receive(lines, deadline, &message);

	if (rc == -ETIMEDOUT)
		refuse(reason, "no answer in %u s", wait_s);
	else if (rc == -EPIPE)
		refuse(reason, "the connection was closed");
	else if (rc == -EBADMSG || rc == -EMSGSIZE)
		refuse(reason, "what is there is no uroce verify");
	else if (rc)
		refuse(reason, "%s", strerror(-rc));
	if (rc)
		return NULL;
	if (!word || strcmp(roce_json_text(message, key), word) == 0)
		return message;
	refuse(reason, "what is there is no uroce verify");
	json_decref(message);
	return NULL;
}

/* The buffer only: the descriptor is the caller's. */
static void fini_lines(struct roce_lines *lines)
{
	lines->fd = -1;
	roce_lines_fini(lines);
}

/* ---- client ---- */

static bool send_begin(struct roce_lines *lines, const char *token, const json_t *server,
		       const char *nonce, char *reason)
{
	char proof[ROCE_VERIFY_PROOF_SIZE] = "";
	char shown[SHOWN_MAX];
	bool is_same = is_same_version(server);

	/* One of another version gets no proof, but learns why we leave. */
	if (is_same &&
	    !roce_verify_proof_make(token, "client", roce_json_text(server, "nonce"), nonce, proof))
		return refuse(reason, "no proof can be made");
	if (roce_lines_send(lines, json_pack("{s:s, s:i, s:s, s:s, s:s}", "do", "begin", "protocol",
					     ROCE_VERIFY_PROTOCOL, "version", UROCE_VERSION,
					     "nonce", nonce, "proof", proof)))
		return refuse(reason, "the connection was closed");
	if (!is_same)
		return refuse(reason,
			      "the server is version %s (protocol %lld), and this is %s (%d)",
			      show(roce_json_text(server, "version"), shown),
			      (long long)roce_json_integer(server, "protocol"), UROCE_VERSION,
			      ROCE_VERIFY_PROTOCOL);
	return true;
}

static bool judge_answer(const json_t *answer, const char *token, const json_t *server,
			 const char *nonce, char *reason)
{
	char expected[ROCE_VERIFY_PROOF_SIZE];
	char shown[SHOWN_MAX * 4];

	if (strcmp(roce_json_text(answer, "is"), "refused") == 0) {
		snprintf(shown, sizeof(shown), "%s", roce_json_text(answer, "reason"));
		for (char *p = shown; *p; p++)
			*p = isprint((unsigned char)*p) ? *p : '?';
		return refuse(reason, "refused: %s", shown);
	}
	if (strcmp(roce_json_text(answer, "is"), "accepted") != 0 ||
	    !roce_verify_proof_make(token, "server", roce_json_text(server, "nonce"), nonce,
				    expected) ||
	    !roce_verify_proof_is_right(roce_json_text(answer, "proof"), expected))
		return refuse(reason, "the server does not know the token");
	return true;
}

bool roce_verify_handshake_client(int fd, const char *token, char *reason)
{
	char nonce[ROCE_VERIFY_NONCE_SIZE];
	struct roce_lines lines;
	json_t *server;
	json_t *answer = NULL;
	bool is_good = false;

	roce_lines_init(&lines, fd, ROCE_VERIFY_STRANGER_LINE_MAX);
	server = hear(&lines, "is", "server", ROCE_VERIFY_ANSWER_S, reason);
	if (server && !is_nonce(roce_json_text(server, "nonce")))
		refuse(reason, "what is there is no uroce verify");
	else if (server && !roce_verify_nonce_make(nonce))
		refuse(reason, "no random numbers");
	else if (server && send_begin(&lines, token, server, nonce, reason)) {
		answer = hear(&lines, NULL, NULL, ROCE_VERIFY_ANSWER_S, reason);
		is_good = answer && judge_answer(answer, token, server, nonce, reason);
	}
	json_decref(server);
	json_decref(answer);
	fini_lines(&lines);
	return is_good;
}

/* ---- server ---- */

static bool judge_begin(const json_t *begin, const char *token, const char *nonce, char *reason)
{
	char expected[ROCE_VERIFY_PROOF_SIZE];
	char shown[SHOWN_MAX];

	if (!is_same_version(begin))
		return refuse(reason,
			      "the client is version %s (protocol %lld), and the server %s (%d)",
			      show(roce_json_text(begin, "version"), shown),
			      (long long)roce_json_integer(begin, "protocol"), UROCE_VERSION,
			      ROCE_VERIFY_PROTOCOL);
	if (!is_nonce(roce_json_text(begin, "nonce")) ||
	    !roce_verify_proof_make(token, "client", nonce, roce_json_text(begin, "nonce"),
				    expected) ||
	    !roce_verify_proof_is_right(roce_json_text(begin, "proof"), expected))
		return refuse(reason, "wrong token");
	return true;
}

static json_t *make_answer(const json_t *begin, const char *token, const char *nonce, bool is_good,
			   const char *reason)
{
	char proof[ROCE_VERIFY_PROOF_SIZE];

	if (!is_good)
		return json_pack("{s:s, s:s}", "is", "refused", "reason", reason);
	if (!roce_verify_proof_make(token, "server", nonce, roce_json_text(begin, "nonce"), proof))
		return NULL;
	return json_pack("{s:s, s:s}", "is", "accepted", "proof", proof);
}

bool roce_verify_handshake_server(int fd, const char *token,
				  bool (*take)(void *context, char *reason), void *context,
				  char *reason)
{
	char nonce[ROCE_VERIFY_NONCE_SIZE];
	struct roce_lines lines;
	json_t *begin = NULL;
	bool is_good = false;

	roce_lines_init(&lines, fd, ROCE_VERIFY_STRANGER_LINE_MAX);
	if (!roce_verify_nonce_make(nonce))
		refuse(reason, "no random numbers");
	else if (roce_lines_send(&lines, json_pack("{s:s, s:i, s:s, s:s}", "is", "server",
						   "protocol", ROCE_VERIFY_PROTOCOL, "version",
						   UROCE_VERSION, "nonce", nonce)))
		refuse(reason, "the connection was closed");
	else
		begin = hear(&lines, "do", "begin", ROCE_VERIFY_HANDSHAKE_S, reason);
	if (begin) {
		is_good = judge_begin(begin, token, nonce, reason) && take(context, reason);
		if (roce_lines_send(&lines, make_answer(begin, token, nonce, is_good, reason)) &&
		    is_good)
			is_good = refuse(reason, "the connection was closed");
	}
	/* An order that came with the proof would be lost to the agent. */
	if (is_good && lines.used)
		is_good = refuse(reason, "the client speaks before it is answered");
	json_decref(begin);
	fini_lines(&lines);
	return is_good;
}
