/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program under test control that holds slots of uroced, for slots.py: it reads commands from
 * standard input, one per line, and answers each with one line. Between commands it serves the
 * control connection and its sockets, and counts what arrives for its slots and what does not.
 *
 *   lease                -> slot N
 *   open SLOT ADDRESS    -> open FD
 *   close SLOT ADDRESS   -> closed
 *   release SLOT         -> released
 *   count                -> count RIGHT WRONG STRAY DROPS
 *   pid, fds, children   -> pid N; fds N; children N (what wait() would find) SIGCHLD-count
 *   fork                 -> forked PID (a child that sleeps, with all our descriptors)
 *   clone                -> the same behind the back of atfork handlers
 *   connect SLOT ADDRESS -> connected (damages the group: the socket leaves it)
 *   socket               -> socket NAME
 *
 * An error is "error ERRNO TEXT".
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control/client.h"

#define SOCKETS_MAX 256

struct opened {
	int fd;
	uint8_t slot;
	char address[64];
	struct roce_gid gid;
	uint32_t ifindex;
};

static struct roce_client *client;
static struct opened opened[SOCKETS_MAX];
static unsigned opened_count;
static uint8_t is_mine[256];
static unsigned long right, wrong, strays, drops;
static volatile sig_atomic_t sigchld_count;
static bool forwards = true;

static void on_sigchld(int number)
{
	(void)number;
	sigchld_count++;
}

static void on_stray(void *ctx, const struct roce_gid *local, const struct sockaddr_storage *from,
		     const void *data, size_t length, uint8_t tos)
{
	const uint8_t *b = data;

	(void)ctx;
	(void)local;
	(void)from;
	(void)tos;
	if (length > 5 && is_mine[b[5]])
		strays++;
	else
		wrong++;
}

static int parse_address(const char *s, struct opened *o)
{
	char text[64], *percent;
	struct in_addr in;

	snprintf(text, sizeof(text), "%s", s);
	snprintf(o->address, sizeof(o->address), "%s", s);
	percent = strchr(text, '%');
	o->ifindex = percent ? if_nametoindex(percent + 1) : 0;
	if (percent)
		*percent = 0;
	memset(&o->gid, 0, sizeof(o->gid));
	if (inet_pton(AF_INET, text, &in) == 1) {
		o->gid.raw[10] = o->gid.raw[11] = 0xff;
		memcpy(o->gid.raw + 12, &in, 4);
		return 1;
	}
	return inet_pton(AF_INET6, text, o->gid.raw) == 1;
}

static struct opened *find_opened(int slot, const char *address)
{
	for (unsigned i = 0; i < opened_count; i++)
		if (opened[i].slot == slot && !strcmp(opened[i].address, address))
			return &opened[i];
	return NULL;
}

static void read_socket(struct opened *o)
{
	for (;;) {
		uint8_t b[65536];
		char control[256];
		struct sockaddr_storage from;
		struct iovec iov = {b, sizeof(b)};
		struct msghdr msg = {.msg_name = &from,
				     .msg_namelen = sizeof(from),
				     .msg_iov = &iov,
				     .msg_iovlen = 1,
				     .msg_control = control,
				     .msg_controllen = sizeof(control)};
		ssize_t n = recvmsg(o->fd, &msg, MSG_DONTWAIT);

		if (n < 0)
			return;
		for (struct cmsghdr *cm = CMSG_FIRSTHDR(&msg); cm; cm = CMSG_NXTHDR(&msg, cm))
			if (cm->cmsg_level == SOL_SOCKET && cm->cmsg_type == SO_RXQ_OVFL) {
				uint32_t value;

				memcpy(&value, CMSG_DATA(cm), sizeof(value));
				drops = value;
			}
		if (n > 5 && b[5] == o->slot) {
			right++;
		} else if (n > 5) {
			wrong++;
			if (forwards)
				roce_client_forward_stray(client, &o->gid, &from, b, (size_t)n, 0);
		}
	}
}

static int count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n - 3; /* ".", "..", the directory itself */
}

static void run(char *line)
{
	char err[512] = "", address[64] = "";
	int slot = 0, fd, error = 0;
	struct opened *o;
	uint8_t got;
	pid_t pid;

	sscanf(line, "%*s %d %63s", &slot, address);
	o = find_opened(slot, address);
	if (!strncmp(line, "lease", 5)) {
		error = roce_client_lease_slot(client, &got, err, sizeof(err));
		if (!error) {
			is_mine[got] = 1;
			printf("slot %u\n", got);
		}
	} else if (!strncmp(line, "open", 4)) {
		if (opened_count == SOCKETS_MAX || !parse_address(address, &opened[opened_count])) {
			error = -EINVAL;
		} else {
			o = &opened[opened_count];
			o->slot = (uint8_t)slot;
			error = roce_client_open_address(client, o->slot, &o->gid, o->ifindex,
							 &o->fd, err, sizeof(err));
			if (!error) {
				opened_count++;
				printf("open %d\n", o->fd);
			}
		}
	} else if (!strncmp(line, "close", 5) && o) {
		roce_client_close_address(client, o->slot, &o->gid, o->ifindex);
		close(o->fd);
		*o = opened[--opened_count];
		printf("closed\n");
	} else if (!strncmp(line, "release", 7)) {
		for (unsigned i = opened_count; i-- > 0;)
			if (opened[i].slot == slot) {
				close(opened[i].fd);
				opened[i] = opened[--opened_count];
			}
		is_mine[slot] = 0;
		roce_client_release_slot(client, (uint8_t)slot);
		printf("released\n");
	} else if (!strncmp(line, "count", 5)) {
		printf("count %lu %lu %lu %lu\n", right, wrong, strays, drops);
	} else if (!strncmp(line, "pid", 3)) {
		printf("pid %d\n", getpid());
	} else if (!strncmp(line, "fds", 3)) {
		printf("fds %d\n", count_fds());
	} else if (!strncmp(line, "children", 8)) {
		pid = waitpid(-1, NULL, WNOHANG);
		printf("children %d %d\n", pid < 0 && errno == ECHILD ? 0 : 1, (int)sigchld_count);
	} else if (!strncmp(line, "fork", 4)) {
		pid = fork();
		if (pid == 0) {
			sleep(1000);
			_exit(0);
		}
		printf("forked %d\n", pid);
	} else if (!strncmp(line, "clone", 5)) { /* a child that no atfork handler sees */
		pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		if (pid == 0)
			for (;;)
				pause();
		printf("forked %d\n", pid);
	} else if (!strncmp(line, "connect", 7) && o) {
		struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};

		memcpy(&to.sin_addr, o->gid.raw + 12, 4);
		fd = connect(o->fd, (struct sockaddr *)&to, sizeof(to));
		printf("connected %d\n", fd);
	} else if (!strncmp(line, "socket", 6)) {
		printf("socket %s\n", roce_client_socket(client));
	} else {
		error = -EINVAL;
		snprintf(err, sizeof(err), "bad command");
	}
	if (error)
		printf("error %d %s\n", -error, err);
}

/* Standard input is read by the byte so that poll() tells the truth. */
static int take_input(void)
{
	static char line[256];
	static size_t length;

	if (read(0, line + length, 1) != 1)
		return 0;
	if (line[length] == '\n') {
		line[length] = 0;
		length = 0;
		run(line);
		fflush(stdout);
	} else if (length < sizeof(line) - 1) {
		length++;
	}
	return 1;
}

int main(int argc, char **argv)
{
	struct roce_client_config cfg = {.may_start = argc < 2 || strcmp(argv[1], "--no-start"),
					 .on_stray = on_stray};
	char err[512];
	int error;

	signal(SIGCHLD, on_sigchld);
	error = roce_client_open(&client, &cfg, err, sizeof(err));
	if (error) {
		printf("error %d %s\n", -error, err);
		return 1;
	}
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		struct pollfd pfd[SOCKETS_MAX + 2] = {
			{.fd = 0, .events = POLLIN},
			{.fd = roce_client_fd(client), .events = POLLIN}};

		for (unsigned i = 0; i < opened_count; i++)
			pfd[i + 2] = (struct pollfd){.fd = opened[i].fd, .events = POLLIN};
		if (poll(pfd, opened_count + 2, -1) < 0)
			continue;
		for (unsigned i = 0; i < opened_count; i++)
			if (pfd[i + 2].revents)
				read_socket(&opened[i]);
		if (pfd[1].revents)
			roce_client_on_readable(client);
		if (pfd[0].revents && !take_input())
			break;
	}
	roce_client_close(client);
	return 0;
}
