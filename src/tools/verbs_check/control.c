/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A message is two words, (magic, kind) and the number of words that follow, then those words.
 * FAILED carries the verdict and the text, eight characters a word.
 */
#include "tools/verbs_check/control.h"

#include <endian.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAGIC 0x7663686Bu /* "vchk" */

enum { CONNECT_TRIES = 100, TRY_PAUSE_US = 50000 };

static enum vc_verdict set_up(struct vc_control *control, struct vc_report *report)
{
	struct timeval timeout = {.tv_sec = control->timeout_s};
	int one = 1;

	/* Not all kinds of socket have it (the loopback mode's has not). */
	(void)setsockopt(control->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (setsockopt(control->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)))
		return vc_report_unusable(report, "control connection: %s", strerror(errno));
	return VC_RIGHT;
}

static enum vc_verdict resolve(const char *host, const char *port, struct addrinfo **out_list,
			       struct vc_report *report)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				 .ai_family = host ? AF_UNSPEC : AF_INET6,
				 .ai_flags = host ? 0 : AI_PASSIVE};
	int error = getaddrinfo(host, port, &hints, out_list);

	if (error && !host) { /* no IPv6 here */
		hints.ai_family = AF_INET;
		error = getaddrinfo(host, port, &hints, out_list);
	}
	if (error)
		return vc_report_unusable(report, "%s port %s: %s", host ? host : "listening", port,
					  gai_strerror(error));
	return VC_RIGHT;
}

static int listen_on(const struct addrinfo *address)
{
	int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1, zero = 0;

	if (fd < 0)
		return -1;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (address->ai_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	if (bind(fd, address->ai_addr, address->ai_addrlen) == 0 && listen(fd, 1) == 0)
		return fd;
	(void)close(fd);
	return -1;
}

enum vc_verdict vc_control_listen(struct vc_control *control, const char *port,
				  struct vc_report *report)
{
	struct addrinfo any4 = {0};
	struct sockaddr_in address4 = {.sin_family = AF_INET};
	struct addrinfo *list = NULL;
	enum vc_verdict verdict = resolve(NULL, port, &list, report);
	int fd;

	if (verdict != VC_RIGHT)
		return verdict;
	fd = listen_on(list);
	if (fd < 0 && errno == EAFNOSUPPORT && list->ai_family == AF_INET6) {
		address4.sin_port = ((struct sockaddr_in6 *)(void *)list->ai_addr)->sin6_port;
		any4.ai_family = AF_INET;
		any4.ai_addr = (struct sockaddr *)&address4;
		any4.ai_addrlen = sizeof(address4);
		fd = listen_on(&any4);
	}
	freeaddrinfo(list);
	if (fd < 0)
		return vc_report_unusable(report, "TCP port %s: %s", port, strerror(errno));
	control->fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	(void)close(fd);
	if (control->fd < 0)
		return vc_report_unusable(report, "TCP port %s: %s", port, strerror(errno));
	return set_up(control, report);
}

static int connect_any(const struct addrinfo *list)
{
	for (; list; list = list->ai_next) {
		int fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd < 0)
			continue;
		if (connect(fd, list->ai_addr, list->ai_addrlen) == 0)
			return fd;
		(void)close(fd);
	}
	return -1;
}

enum vc_verdict vc_control_connect(struct vc_control *control, const char *host, const char *port,
				   struct vc_report *report)
{
	struct addrinfo *list = NULL;
	enum vc_verdict verdict = resolve(host, port, &list, report);
	int error = 0;

	if (verdict != VC_RIGHT)
		return verdict;
	control->fd = -1;
	/* The server may be about to start: five seconds. */
	for (int i = 0; i < CONNECT_TRIES && control->fd < 0; i++) {
		if (i)
			(void)usleep(TRY_PAUSE_US);
		control->fd = connect_any(list);
		error = errno;
		if (control->fd < 0 && error != ECONNREFUSED)
			break;
	}
	freeaddrinfo(list);
	if (control->fd < 0)
		return vc_report_unusable(report,
					  "no verbs-check server at %s port %s (%s): start "
					  "`verbs-check` there first",
					  host, port, strerror(error));
	return set_up(control, report);
}

enum vc_verdict vc_control_attach(struct vc_control *control, int fd, struct vc_report *report)
{
	control->fd = fd;
	return set_up(control, report);
}

void vc_control_close(struct vc_control *control)
{
	if (control->fd >= 0)
		(void)close(control->fd);
	control->fd = -1;
}

static int send_message(struct vc_control *control, enum vc_message kind, const uint64_t *words,
			uint32_t count)
{
	uint64_t raw[2 + VC_MESSAGE_WORDS];
	size_t size = (2 + (size_t)count) * sizeof(raw[0]);
	const char *at = (const char *)raw;

	raw[0] = htobe64((uint64_t)MAGIC << 32 | kind);
	raw[1] = htobe64(count);
	for (uint32_t i = 0; i < count; i++)
		raw[2 + i] = htobe64(words[i]);
	while (size) {
		ssize_t sent = send(control->fd, at, size, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return -1;
		at += sent;
		size -= (size_t)sent;
	}
	return 0;
}

static enum vc_verdict receive_words(struct vc_control *control, uint64_t *words, uint32_t count,
				     struct vc_report *report)
{
	size_t size = count * sizeof(*words);
	char *at = (char *)words;

	while (size) {
		ssize_t got = recv(control->fd, at, size, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return vc_report_wrong(report, "no word from the other side for %u s",
					       control->timeout_s);
		if (got <= 0)
			return vc_report_unusable(report, "the other side has gone");
		at += got;
		size -= (size_t)got;
	}
	for (uint32_t i = 0; i < count; i++)
		words[i] = be64toh(words[i]);
	return VC_RIGHT;
}

static enum vc_verdict take_failure(struct vc_control *control, uint64_t count,
				    struct vc_report *report)
{
	uint64_t words[VC_MESSAGE_WORDS];
	char text[sizeof(report->text)];
	enum vc_verdict verdict;
	size_t length = 0;

	verdict = receive_words(control, words, (uint32_t)count, report);
	if (verdict != VC_RIGHT)
		return verdict;
	for (uint64_t i = 1; i < count && length + 8 < sizeof(text); i++, length += 8)
		memcpy(text + length, &words[i], 8);
	text[length] = '\0';
	return vc_report_remote(report, words[0] == VC_UNUSABLE ? VC_UNUSABLE : VC_WRONG, text);
}

static enum vc_verdict receive_message(struct vc_control *control, enum vc_message kind,
				       uint64_t *words, uint32_t count, struct vc_report *report)
{
	uint64_t head[2];
	enum vc_verdict verdict = receive_words(control, head, 2, report);

	if (verdict != VC_RIGHT)
		return verdict;
	if (head[0] >> 32 != MAGIC || head[1] > VC_MESSAGE_WORDS)
		return vc_report_unusable(report, "what answers is not a verbs-check");
	if ((uint32_t)head[0] == VC_MESSAGE_FAILED && head[1] >= 1)
		return take_failure(control, head[1], report);
	if ((uint32_t)head[0] != (uint32_t)kind || head[1] != count)
		return vc_report_unusable(report,
					  "the other side is at another point (message %u of %u "
					  "words, expected %u of "
					  "%u): different versions?",
					  (uint32_t)head[0], (uint32_t)head[1], (uint32_t)kind,
					  count);
	return receive_words(control, words, count, report);
}

enum vc_verdict vc_control_exchange(struct vc_control *control, enum vc_message kind,
				    const uint64_t *mine, uint32_t mine_count, uint64_t *theirs,
				    uint32_t theirs_count, struct vc_report *report)
{
	/* A failed send may mean that the other side has said why it left. */
	if (send_message(control, kind, mine, mine_count) && vc_control_peek(control, report))
		return report->verdict;
	return receive_message(control, kind, theirs, theirs_count, report);
}

enum vc_verdict vc_control_barrier(struct vc_control *control, uint64_t step,
				   struct vc_report *report)
{
	uint64_t other = 0;
	enum vc_verdict verdict =
		vc_control_exchange(control, VC_MESSAGE_BARRIER, &step, 1, &other, 1, report);

	if (verdict == VC_RIGHT && other != step)
		return vc_report_unusable(report, "the sides are at different steps (%u and %u)",
					  (unsigned int)step, (unsigned int)other);
	return verdict;
}

enum vc_verdict vc_control_peek(struct vc_control *control, struct vc_report *report)
{
	uint64_t head[2];
	ssize_t got = recv(control->fd, head, sizeof(head), MSG_PEEK | MSG_DONTWAIT);

	if (got == 0)
		return vc_report_unusable(report, "the other side has gone");
	if (got == (ssize_t)sizeof(head) && (uint32_t)be64toh(head[0]) == VC_MESSAGE_FAILED)
		return receive_message(control, VC_MESSAGE_FAILED, NULL, 0, report);
	return VC_RIGHT;
}

void vc_control_fail(struct vc_control *control, const struct vc_report *report)
{
	uint64_t words[1 + sizeof(report->text) / 8] = {0};

	if (control->fd < 0 || report->remote)
		return;
	words[0] = report->verdict;
	memcpy(&words[1], report->text, sizeof(report->text));
	(void)send_message(control, VC_MESSAGE_FAILED, words, sizeof(words) / sizeof(words[0]));
}
