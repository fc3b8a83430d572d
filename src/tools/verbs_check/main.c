/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs-check: a server and a client, on the public verbs API alone, that know from a seed what
 * each must send and find. Runs one side, or with --loopback both in two threads.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "tools/verbs_check/options.h"
#include "tools/verbs_check/report.h"
#include "tools/verbs_check/session.h"

struct side_thread {
	struct vc_options options;
	struct vc_report report;
	uint32_t side;
	int fd;
};

static void *run_side(void *argument)
{
	struct side_thread *thread = argument;

	(void)vc_session_run(&thread->options, thread->side, thread->fd, &thread->report);
	return NULL;
}

static void print(const struct vc_report *report, const char *name, bool client,
		  const struct vc_options *options)
{
	char replay[800];

	vc_options_replay(options, client, report->seed, report->scenario, replay, sizeof(replay));
	vc_report_print(report, name, replay, options->json, options->verbose);
}

static enum vc_verdict run_loopback(const struct vc_options *options)
{
	struct side_thread sides[VC_SIDES];
	pthread_t server;
	int fds[2];
	int error;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds)) {
		(void)fprintf(stderr, "verbs-check: socketpair: %s\n", strerror(errno));
		return VC_UNUSABLE;
	}
	for (uint32_t s = 0; s < VC_SIDES; s++)
		sides[s] = (struct side_thread){.options = *options, .side = s, .fd = fds[s]};
	error = pthread_create(&server, NULL, run_side, &sides[0]);
	if (error) {
		(void)fprintf(stderr, "verbs-check: no thread: %s\n", strerror(error));
		return VC_UNUSABLE;
	}
	(void)run_side(&sides[1]);
	(void)pthread_join(server, NULL);
	/* Of the two reports the one that found the fault. */
	for (uint32_t s = 0; s < VC_SIDES; s++) {
		if (sides[s].report.verdict != VC_RIGHT && !sides[s].report.remote) {
			print(&sides[s].report, s ? "client" : "server", s, &sides[s].options);
			return sides[s].report.verdict;
		}
	}
	print(&sides[1].report, "both sides", true, &sides[1].options);
	return sides[1].report.verdict;
}

int main(int argc, char **argv)
{
	struct vc_report report = {0};
	struct vc_options options;
	enum vc_verdict verdict;
	uint32_t side;

	vc_options_parse(&options, argc, argv);
	if (options.loopback)
		return (int)run_loopback(&options);
	side = options.host ? 1 : 0;
	verdict = vc_session_run(&options, side, options.control_fd, &report);
	print(&report, side ? "client" : "server", side, &options);
	return (int)verdict;
}
