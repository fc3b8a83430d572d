/* SPDX-License-Identifier: BSD-2-Clause */
/* What `uroce verify` and `uroce perf` do alike around a run: signals, the exit status. */
#include "tools/command.h"
#include "tools/verify.h"

#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static void list_signals(sigset_t *out)
{
	sigemptyset(out);
	sigaddset(out, SIGINT);
	sigaddset(out, SIGTERM);
	sigaddset(out, SIGHUP);
}

static int take_signals(void)
{
	sigset_t set;

	list_signals(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a report that is too long for ulimit -f has an errno */
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Those that came are taken. */
static void give_signals_back(int signal_fd)
{
	struct signalfd_siginfo info;
	sigset_t set;

	while (read(signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		;
	list_signals(&set);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void describe_choices(const struct roce_verify_options *o, struct roce_verify_record *record)
{
	record->profile = o->profile;
	record->profile_file = o->profile_file;
	record->only = o->only;
	record->skip = o->skip;
	record->seed = o->seed;
	record->is_system = o->is_system;
	record->quirks = o->quirks;
	record->qp_timeout = (uint32_t)o->qp_timeout;
	record->has_gid_index = o->gid_index != UINT64_MAX;
	record->gid_index = (uint32_t)o->gid_index;
	record->mtu = o->mtu == ROCE_VERIFY_MTU_DEFAULT ? 0 : (uint32_t)o->mtu;
	for (int side = 0; side < ROCE_VERIFY_SIDES; side++)
		record->device[side] = o->device[side];
}

int roce_verify_run_plan(const struct roce_verify_options *options, struct roce_verify_plan *plan,
			 const struct roce_verify_between *between)
{
	struct roce_verify_record record;
	struct roce_verify_sides sides;
	int peer_fd = -1;
	int signal_fd;
	int rc;

	/* Before the signals are taken: Ctrl-C still ends a connection that does not come about. */
	if (options->peer) {
		peer_fd = roce_verify_peer_connect(options);
		if (peer_fd < 0)
			return ROCE_EXIT_USAGE;
	}
	if (!roce_verify_record_init(&record, plan, (uint32_t)options->repeat)) {
		if (peer_fd >= 0)
			close(peer_fd);
		fprintf(stderr, "uroce %s: out of memory\n", options->command);
		return ROCE_EXIT_USAGE;
	}
	describe_choices(options, &record);
	signal_fd = take_signals();
	rc = roce_verify_sides_open(options, peer_fd, signal_fd, &sides, &record);
	if (!rc) {
		struct roce_verify_run_options run = {
			.fds = {sides.place.fds[0], sides.place.fds[1]},
			.signal_fd = signal_fd,
			.where = {sides.where[0], sides.where[1]},
		};

		sides.place.fds[0] = sides.place.fds[1] = -1;
		between->run(between->context, &run, &record);
	}
	roce_verify_sides_close(&sides, !record.is_complete);
	give_signals_back(signal_fd);
	if (!rc)
		rc = between->report(between->context, &record);
	close(signal_fd);
	roce_verify_record_fini(&record);
	return rc;
}

/* Whether any case had its turn. */
static bool has_begun(const struct roce_verify_record *record)
{
	return record->outcome_count && record->outcomes[0].seconds > 0;
}

int roce_verify_exit_status(const struct roce_verify_record *record)
{
	if (record->broken_off && strcmp(record->broken_off, ROCE_VERIFY_BY_SIGNAL) == 0)
		return ROCE_EXIT_INTERRUPTED;
	if (record->broken_off && !has_begun(record))
		return ROCE_EXIT_USAGE;
	return record->broken_off || roce_verify_record_count(record, ROCE_VERIFY_FAIL)
		       ? ROCE_EXIT_FAILED
		       : ROCE_EXIT_OK;
}
