/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `uroce stop`: ends the uroced of this user in this network namespace. It refuses while slots are
 * in use, unless forced: programs then go on with the sockets they have, and start another uroced
 * as soon as they notice. A uroced of another version, which does not understand the request, gets
 * SIGTERM instead.
 */
#include "tools/command.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/client.h"
#include "control/message.h"
#include "control/rendezvous.h"

#define GONE_MS_MAX 20000 /* its keeper may stand still for a while */

/* The process that listens there now; 0 nobody. */
static pid_t find_listener(const struct roce_rendezvous *r, uid_t *out_uid)
{
	struct ucred peer;
	int fd = roce_rendezvous_connect(r, &peer);

	if (fd < 0)
		return 0;
	close(fd);
	*out_uid = peer.uid;
	return peer.pid;
}

static int terminate_other_version(void)
{
	const char *name = secure_getenv("UROCE_SOCKET");

	for (unsigned n = 0; n <= ROCE_RENDEZVOUS_NAMES_COUNT; n++) {
		struct roce_rendezvous r;
		uid_t uid;
		pid_t pid;

		if (name ? roce_rendezvous_from_str(&r, name) != 0
			 : n == 0 && roce_rendezvous_from_str(&r, ROCE_RENDEZVOUS_ROOT_PATH) != 0)
			continue;
		if (!name && n > 0)
			roce_rendezvous_for_user(&r, n - 1);
		pid = find_listener(&r, &uid);
		if (pid > 0 && uid == geteuid())
			return kill(pid, SIGTERM) ? -errno : 0;
	}
	return -ESRCH;
}

/* One that leaves takes no connection any more: then the backlog may be full. */
static bool is_still_there(const struct roce_rendezvous *r, pid_t pid)
{
	struct ucred peer;
	int fd = roce_rendezvous_connect(r, &peer);

	if (fd >= 0)
		close(fd);
	return fd == -EAGAIN || (fd >= 0 && peer.pid == pid);
}

/* It answers first and leaves then; a program may have started another at once. */
static void wait_gone(const char *socket, pid_t pid)
{
	struct roce_rendezvous r;

	if (roce_rendezvous_from_str(&r, socket))
		return;
	for (int ms = 0; ms < GONE_MS_MAX && is_still_there(&r, pid); ms += 10)
		poll(NULL, 0, 10);
}

int roce_cmd_stop(int argc, char **argv)
{
	static const struct option options[] = {{"force", no_argument, NULL, 'f'},
						{NULL, 0, NULL, 0}};
	struct roce_client_config cfg = {.program = "uroce stop"};
	struct roce_message request = {.type = ROCE_MESSAGE_STOP};
	struct roce_client *client;
	char err[ROCE_CONTROL_TEXT_MAX], name[ROCE_CONTROL_PATH_MAX];
	struct roce_rendezvous r;
	int option, error;
	pid_t pid = 0;
	uid_t uid;

	opterr = 0;
	optind = 0;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option != 'f')
			return roce_usage_error("stop", "unknown option %s", argv[optind - 1]);
		request.stop.flags = ROCE_STOP_FORCE;
	}
	if (optind < argc)
		return roce_usage_error("stop", "takes no argument, got %s", argv[optind]);
	error = roce_client_open(&client, &cfg, err, sizeof(err));
	if (error == -EPROTO && !terminate_other_version())
		return ROCE_EXIT_OK;
	if (!error) {
		snprintf(name, sizeof(name), "%s", roce_client_socket(client));
		if (!roce_rendezvous_from_str(&r, name))
			pid = find_listener(&r, &uid);
		error = roce_client_ask(client, &request, NULL, NULL, err, sizeof(err));
		roce_client_close(client);
	}
	if (error) {
		fprintf(stderr, "uroce stop: %s\n", err);
		return ROCE_EXIT_FAILED;
	}
	wait_gone(name, pid);
	return ROCE_EXIT_OK;
}
