/* SPDX-License-Identifier: BSD-2-Clause */
/* The two ends of the handshake against each other, and each against one that lies. */
#include "verify/handshake.h"

#include "verify/auth.h"
#include "verify/lines.h"
#include "verify/network.h"
#include "verify/protocol.h"

#include "base/clock.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define TOKEN	   "abcd-efgh-ijkl"

#define TEXT_OF(x) #x
#define TEXT(x)	   TEXT_OF(x)
#define PROTOCOL   TEXT(ROCE_VERIFY_PROTOCOL)

struct server {
	pthread_t thread;
	int fd;
	const char *token;
	bool is_busy;
	bool is_good;
	char reason[ROCE_VERIFY_REASON_SIZE];
};

static bool take(void *context, char *reason)
{
	const struct server *s = context;

	if (s->is_busy)
		snprintf(reason, ROCE_VERIFY_REASON_SIZE, "busy");
	return !s->is_busy;
}

static void *run_server(void *argument)
{
	struct server *s = argument;

	s->is_good = roce_verify_handshake_server(s->fd, s->token, take, s, s->reason);
	if (!s->is_good)
		shutdown(s->fd, SHUT_WR);
	return NULL;
}

static int start(struct server *s)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	s->fd = fds[0];
	assert_int_equal(pthread_create(&s->thread, NULL, run_server, s), 0);
	return fds[1];
}

static void finish(struct server *s, int fd)
{
	pthread_join(s->thread, NULL);
	close(s->fd);
	close(fd);
}

static void handshake__same_token(void **state)
{
	struct server s = {.token = TOKEN};
	char reason[ROCE_VERIFY_REASON_SIZE] = "";
	int fd = start(&s);

	(void)state;
	assert_true(roce_verify_handshake_client(fd, TOKEN, reason));
	finish(&s, fd);
	assert_true(s.is_good);
}

static void handshake__wrong_token(void **state)
{
	struct server s = {.token = TOKEN};
	char reason[ROCE_VERIFY_REASON_SIZE] = "";
	int fd = start(&s);

	(void)state;
	assert_false(roce_verify_handshake_client(fd, TOKEN "x", reason));
	finish(&s, fd);
	assert_false(s.is_good);
	assert_string_equal(s.reason, "wrong token");
	assert_string_equal(reason, "refused: wrong token");
}

static void handshake__busy(void **state)
{
	struct server s = {.token = TOKEN, .is_busy = true};
	char reason[ROCE_VERIFY_REASON_SIZE] = "";
	int fd = start(&s);

	(void)state;
	assert_false(roce_verify_handshake_client(fd, TOKEN, reason));
	finish(&s, fd);
	assert_false(s.is_good);
	assert_string_equal(reason, "refused: busy");
}

/* A server that says one thing after the other, whatever it is told. */
static void expect_client(const char *first, const char *second, const char *expected)
{
	char reason[ROCE_VERIFY_REASON_SIZE] = "";
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(write(fds[0], first, strlen(first)), (int)strlen(first));
	assert_int_equal(write(fds[0], second, strlen(second)), (int)strlen(second));
	shutdown(fds[0], SHUT_WR);
	assert_false(roce_verify_handshake_client(fds[1], TOKEN, reason));
	assert_string_equal(reason, expected);
	close(fds[0]);
	close(fds[1]);
}

#define NONCE "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define SERVER                                                                      \
	"{\"is\":\"server\",\"protocol\":" PROTOCOL ",\"version\":\"" UROCE_VERSION \
	"\",\"nonce\":\"" NONCE "\"}\n"

static void client__against_other_servers(void **state)
{
	(void)state;
	expect_client("SSH-2.0-x\r\n", "", "what is there is no uroce verify");
	expect_client("", "", "the connection was closed");
	expect_client("{\"is\":\"server\"}\n", "", "what is there is no uroce verify");
	expect_client("{\"is\":\"server\",\"protocol\":" PROTOCOL
		      ",\"version\":\"9.9\\u001b[2J\",\"nonce\":\"" NONCE "\"}\n",
		      "",
		      "the server is version 9.9?[2J (protocol " PROTOCOL
		      "), and this is " UROCE_VERSION " (" PROTOCOL ")");
	expect_client(SERVER, "", "the connection was closed");
	expect_client(SERVER, "{\"is\":\"accepted\",\"proof\":\"" NONCE "\"}\n",
		      "the server does not know the token");
	expect_client(SERVER, "{\"is\":\"accepted\"}\n", "the server does not know the token");
	expect_client(SERVER, "{\"is\":\"refused\",\"reason\":\"\\u001b[31mno\"}\n",
		      "refused: ?[31mno");
}

/* What a stranger says, and what the server thinks of it. */
static void expect_server(const char *text, const char *expected)
{
	struct server s = {.token = TOKEN};
	int fd = start(&s);

	if (*text)
		(void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
	shutdown(fd, SHUT_WR);
	finish(&s, fd);
	assert_false(s.is_good);
	assert_string_equal(s.reason, expected);
}

static void server__against_strangers(void **state)
{
	char flood[4096];

	(void)state;
	memset(flood, 'x', sizeof(flood) - 1);
	flood[sizeof(flood) - 1] = '\0';
	expect_server("", "the connection was closed");
	expect_server("GET / HTTP/1.0\r\n\r\n", "what is there is no uroce verify");
	expect_server(flood, "what is there is no uroce verify");
	expect_server("{\"do\":\"run\"}\n", "what is there is no uroce verify");
	expect_server("{\"do\":\"begin\"}\n",
		      "the client is version  (protocol 0), and the server " UROCE_VERSION
		      " (" PROTOCOL ")");
	expect_server("{\"do\":\"begin\",\"protocol\":99,\"version\":\"" UROCE_VERSION "\"}\n",
		      "the client is version " UROCE_VERSION
		      " (protocol 99), and the server " UROCE_VERSION " (" PROTOCOL ")");
	expect_server("{\"do\":\"begin\",\"protocol\":" PROTOCOL ",\"version\":\"" UROCE_VERSION
		      "\",\"nonce\":\"" NONCE "\",\"proof\":\"" NONCE "\"}\n",
		      "wrong token");
	expect_server("{\"do\":\"begin\",\"protocol\":" PROTOCOL ",\"version\":\"" UROCE_VERSION
		      "\",\"nonce\":7,\"proof\":[]}\n",
		      "wrong token");
}

/* What the server proves to a client is no proof of a client. */
static void server__against_its_own_proof(void **state)
{
	struct server s = {.token = TOKEN};
	int fd = start(&s);
	char proof[ROCE_VERIFY_PROOF_SIZE];
	struct roce_lines lines;
	json_t *hello;

	(void)state;
	roce_lines_init(&lines, fd, 4096);
	assert_int_equal(roce_lines_receive(&lines, roce_clock_now() + 5 * ROCE_NS_PER_S, &hello),
			 0);
	assert_true(roce_verify_proof_make(TOKEN, "server", roce_json_text(hello, "nonce"), NONCE,
					   proof));
	assert_int_equal(
		roce_lines_send(&lines, json_pack("{s:s, s:i, s:s, s:s, s:s}", "do", "begin",
						  "protocol", ROCE_VERIFY_PROTOCOL, "version",
						  UROCE_VERSION, "nonce", NONCE, "proof", proof)),
		0);
	json_decref(hello);
	pthread_join(s.thread, NULL);
	assert_false(s.is_good);
	assert_string_equal(s.reason, "wrong token");
	close(s.fd);
	roce_lines_fini(&lines);
}

static void token__is_new_each_time(void **state)
{
	char a[64];
	char b[64];

	(void)state;
	assert_true(roce_verify_token_make(a, sizeof(a)));
	assert_true(roce_verify_token_make(b, sizeof(b)));
	assert_true(roce_verify_token_is_good(a));
	assert_int_equal(strlen(a), 29);
	assert_string_not_equal(a, b);
	assert_false(roce_verify_token_is_good("short"));
}

static void address__forms(void **state)
{
	static const struct {
		const char *text;
		const char *host; /* NULL: refused */
		uint16_t port;
	} rows[] = {
		{"host", "host", 7},
		{"host:80", "host", 80},
		{"10.0.0.1", "10.0.0.1", 7},
		{"10.0.0.1:9", "10.0.0.1", 9},
		{"fd00::1", "fd00::1", 7},
		{"[fd00::1]", "fd00::1", 7},
		{"[fd00::1]:9", "fd00::1", 9},
		{"", NULL, 0},
		{"host:", NULL, 0},
		{"host:0", NULL, 0},
		{"host:65536", NULL, 0},
		{"host:x", NULL, 0},
		{":80", NULL, 0},
		{"[fd00::1", NULL, 0},
		{"[fd00::1]9", NULL, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char host[64] = "";
		uint16_t port = 7;
		bool is_good = roce_verify_address_parse(rows[i].text, host, sizeof(host), &port);

		assert_int_equal(is_good, rows[i].host != NULL);
		if (is_good) {
			assert_string_equal(host, rows[i].host);
			assert_int_equal(port, rows[i].port);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(handshake__same_token),
		cmocka_unit_test(handshake__wrong_token),
		cmocka_unit_test(handshake__busy),
		cmocka_unit_test(client__against_other_servers),
		cmocka_unit_test(server__against_strangers),
		cmocka_unit_test(server__against_its_own_proof),
		cmocka_unit_test(token__is_new_each_time),
		cmocka_unit_test(address__forms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
