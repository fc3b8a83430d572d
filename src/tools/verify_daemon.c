/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A run on the network of its host shares uroced with every other program of the user there, also
 * the one that its own agents have started. Such a one is asked to go when the run has ended, and
 * says itself whether it may: ended from outside, it would take packets of the others with it.
 */
#include "tools/verify.h"

#include "control/client.h"
#include "control/message.h"

#include <errno.h>
#include <poll.h>

#define TRIES	 5 /* for it to notice that agents have ended */
#define PAUSE_MS 20

static void take_pid(void *context, const struct roce_message *answer)
{
	pid_t *pid = context;

	if (answer->type == ROCE_MESSAGE_STATUS_DAEMON)
		*pid = (pid_t)answer->status_daemon.pid;
}

static bool has(const pid_t *pids, size_t count, pid_t pid)
{
	for (size_t i = 0; i < count; i++) {
		if (pids[i] == pid)
			return true;
	}
	return false;
}

bool roce_verify_daemon_dismiss(const pid_t *pids, size_t count)
{
	const struct roce_client_config config = {.program = "uroce verify"};
	const struct roce_message status = {.type = ROCE_MESSAGE_STATUS};
	const struct roce_message stop = {.type = ROCE_MESSAGE_STOP};
	struct roce_client *client;
	char err[ROCE_CONTROL_TEXT_MAX];
	pid_t pid = 0;
	int error;

	if (roce_client_open(&client, &config, err, sizeof(err)))
		return false;
	error = roce_client_ask(client, &status, take_pid, &pid, err, sizeof(err));
	if (!error && has(pids, count, pid)) {
		error = -EBUSY;
		for (int i = 0; i < TRIES && error == -EBUSY; i++) {
			if (i)
				(void)poll(NULL, 0, PAUSE_MS);
			error = roce_client_ask(client, &stop, NULL, NULL, err, sizeof(err));
		}
	}
	roce_client_close(client);
	return error == -EBUSY;
}
