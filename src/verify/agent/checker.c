/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Its control connection is carried through the relay, so that no second connection between the
 * hosts is needed. Both sides end a run together: each has told the other that its program has
 * closed its end before either goes on.
 */
#include "verify/agent/checker.h"
#include "verify/agent/program.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONTROL_FD 3
#define CHUNK	   4096
#define OUTPUT_MAX 65536
#define ARGS_MAX   32

struct program {
	pid_t pid;
	int control; /* our end of its control connection; -1: it has closed it */
	int output;
	char text[OUTPUT_MAX];
	size_t length;
};

struct arguments {
	char *at[ARGS_MAX];
	int count;
};

__attribute__((format(printf, 2, 3))) static void add(struct arguments *args, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (args->count + 1 >= ARGS_MAX || vasprintf(&args->at[args->count++], fmt, ap) < 0)
		abort();
	va_end(ap);
	args->at[args->count] = NULL;
}

static void add_optional(struct arguments *args, const char *option, const char *value)
{
	if (value && *value)
		add(args, "--%s=%s", option, value);
}

static void make_arguments(struct va_run *run, const struct va_check *check, struct arguments *args)
{
	struct va_device device;
	unsigned int timeout = (unsigned int)roce_json_integer(run->where, "qp_timeout");

	va_device_open(run, check->family, &device);
	add(args, "verbs-check");
	add(args, "--json");
	add(args, "--control-fd=%d", CONTROL_FD);
	add(args, "--device=%s", ibv_get_device_name(device.context->device));
	add(args, "--gid-index=%u", device.gid_index);
	add(args, "--ib-port=%u", device.port);
	va_device_close(run, &device);
	add_optional(args, "quirks", roce_json_text(run->where, "quirks"));
	if (!check->is_requester)
		return;
	add(args, "--seed=%llu", (unsigned long long)run->seed);
	add(args, "--seeds=%llu", (unsigned long long)check->seeds);
	/* What is lost on purpose shall not cost as much. */
	if (timeout && !(check->link && *check->link))
		add(args, "--timeout=%u", timeout);
	add_optional(args, "scenario", check->scenarios);
	add_optional(args, "transport", check->transport);
	add_optional(args, "link", check->link);
	add(args, "target");
}

static void start(struct va_run *run, const struct va_check *check, struct program *program)
{
	struct arguments args = {.count = 0};
	char path[VA_PATH_BYTES];
	int control[2];
	int output[2];

	make_arguments(run, check, &args);
	if (!va_program_find(run, "verbs-check", path))
		va_fail(run, "%s is not there", path);
	va_need(run, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) == 0,
		"socketpair");
	va_need(run, pipe(output) == 0, "pipe");
	program->pid = fork();
	va_need(run, program->pid >= 0, "fork");
	if (!program->pid) {
		int control_copy = fcntl(control[1], F_DUPFD, 16);
		int output_copy = fcntl(output[1], F_DUPFD, 16);

		dup2(control_copy, CONTROL_FD);
		dup2(output_copy, STDOUT_FILENO);
		dup2(output_copy, STDERR_FILENO);
		closefrom(CONTROL_FD + 1);
		execv(path, args.at);
		dprintf(STDOUT_FILENO, "%s: %s\n", path, strerror(errno));
		_exit(127);
	}
	close(control[1]);
	close(output[1]);
	program->control = control[0];
	program->output = output[0];
	for (int i = 0; i < args.count; i++)
		free(args.at[i]);
}

/* ---- carrying bytes ---- */

static void to_relay(struct va_run *run, struct program *program)
{
	uint8_t bytes[CHUNK];
	char hex[2 * CHUNK + 1];
	ssize_t n = recv(program->control, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		close(program->control);
		program->control = -1;
		va_send(run, json_null());
		return;
	}
	for (ssize_t i = 0; i < n; i++)
		snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
	va_send(run, json_string(hex));
}

static int digit(char c)
{
	return c >= 'a' ? c - 'a' + 10 : c - '0';
}

/* False: the other side's program has ended. */
static bool from_relay(struct va_run *run, struct program *program)
{
	json_t *data = va_receive(run);
	const char *hex = json_string_value(data);
	size_t length = hex ? strlen(hex) / 2 : 0;
	uint8_t bytes[CHUNK];

	if (length > sizeof(bytes))
		va_fail(run, "the other side sent %zu bytes at once", length);
	for (size_t i = 0; i < length; i++)
		bytes[i] = (uint8_t)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
	json_decref(data);
	if (!hex && program->control >= 0)
		(void)shutdown(program->control, SHUT_WR);
	if (length && program->control >= 0)
		(void)send(program->control, bytes, length, MSG_NOSIGNAL);
	return hex != NULL;
}

static bool read_output(struct program *program)
{
	char rest[256];
	bool has_room = program->length + 1 < sizeof(program->text);
	char *at = has_room ? program->text + program->length : rest;
	ssize_t n = read(program->output, at,
			 has_room ? sizeof(program->text) - 1 - program->length : sizeof(rest));

	if (n > 0 && has_room)
		program->length += (size_t)n;
	return n > 0 || (n < 0 && errno == EINTR);
}

/* Until the program has closed its output, and the other side has said the same. */
static void carry(struct va_run *run, struct program *program)
{
	bool is_running = true;
	bool is_peer_there = true;

	while (is_running || is_peer_there || program->control >= 0) {
		struct pollfd p[] = {
			{.fd = program->control, .events = POLLIN},
			{.fd = is_running ? program->output : -1, .events = POLLIN},
			{.fd = is_peer_there ? run->up.fd : -1, .events = POLLIN},
		};
		bool has_line = roce_lines_has(&run->up);

		if (poll(p, 3, has_line ? 0 : 1000) < 0 && errno != EINTR)
			va_need(run, false, "poll");
		if (roce_clock_now() > run->deadline)
			va_fail(run, "verbs-check did not end in the time of the case");
		if (p[0].revents)
			to_relay(run, program);
		if (p[1].revents)
			is_running = read_output(program);
		if (is_peer_there && (has_line || p[2].revents))
			is_peer_there = from_relay(run, program);
	}
}

/* ---- its result ---- */

static const char *find_json(const char *text)
{
	return strstr(text, "{\"program\"");
}

__attribute__((format(printf, 2, 3))) static void explain(struct va_checked *out, const char *fmt,
							  ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(out->reason, sizeof(out->reason), fmt, ap);
	va_end(ap);
}

/* What a library complains of, say an address that it cannot have, stands on lines of its own in
 * front of the result, and tells more than what came of it. */
static void add_complaints(const char *text, const char *json, struct va_checked *out)
{
	for (const char *line = text; line < json;) {
		const char *end = memchr(line, '\n', (size_t)(json - line));
		int length = (int)((end ? end : json) - line);
		size_t used = strlen(out->reason);

		if (length && strncmp(line, "verbs-check:", strlen("verbs-check:")) != 0)
			snprintf(out->reason + used, sizeof(out->reason) - used, "; it said: %.*s",
				 length, line);
		line += length + 1;
	}
}

static void judge(const struct program *program, int status, struct va_checked *out)
{
	const char *json = find_json(program->text);

	*out = (struct va_checked){.found = json ? json_loads(json, JSON_DISABLE_EOF_CHECK, NULL)
						 : NULL};
	if (WIFSIGNALED(status))
		explain(out, "verbs-check ended by signal %d (%s)", WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	else if (!out->found)
		explain(out, "verbs-check: exit status %d: %.300s", WEXITSTATUS(status),
			program->text);
	else if (WEXITSTATUS(status))
		explain(out, "%.600s",
			*roce_json_text(out->found, "found") ? roce_json_text(out->found, "found")
							     : program->text);
	if (*out->reason && out->found)
		add_complaints(program->text, json, out);
}

void va_check_run(struct va_run *run, const struct va_check *check, struct va_checked *out)
{
	static struct program program;
	int status = 0;

	program.length = 0;
	start(run, check, &program);
	carry(run, &program);
	close(program.output);
	va_need(run, waitpid(program.pid, &status, 0) == program.pid, "waitpid");
	program.text[program.length] = '\0';
	judge(&program, status, out);
}

enum va_family va_check_family(const char *word)
{
	if (strcmp(word, "ipv4") == 0)
		return VA_IPV4;
	return strcmp(word, "ipv6") == 0 ? VA_IPV6 : VA_ANY_FAMILY;
}
