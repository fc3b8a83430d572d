/* SPDX-License-Identifier: BSD-2-Clause */
/* What `uroce verify` and `uroce perf` do alike around a run: signals, files, the exit status. */
#include "tools/command.h"
#include "tools/verify.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
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

bool roce_verify_is_on_stdout(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

int roce_verify_check_writable(const char *command, const char *path)
{
	struct stat st;
	bool is_new;
	FILE *f;

	if (!path || roce_verify_is_on_stdout(path))
		return ROCE_EXIT_OK;
	if (stat(path, &st) == 0 &&
	    S_ISFIFO(st.st_mode)) /* its reader takes the first end for all */
		return ROCE_EXIT_OK;
	is_new = lstat(path, &st) != 0;
	f = fopen(path, "ae");
	if (!f) {
		fprintf(stderr, "uroce %s: %s: %s\n", command, path, strerror(errno));
		return ROCE_EXIT_USAGE;
	}
	fclose(f);
	if (is_new) /* no run may come of it, and an empty file is no report */
		(void)unlink(path);
	return ROCE_EXIT_OK;
}

FILE *roce_verify_file_open(const char *path)
{
	return roce_verify_is_on_stdout(path) ? stdout : fopen(path, "we");
}

int roce_verify_file_close(const char *command, const char *path, FILE *file)
{
	bool is_bad = !file || ferror(file);

	if (file && (file == stdout ? fflush(file) : fclose(file)))
		is_bad = true;
	if (is_bad)
		fprintf(stderr, "uroce %s: %s: %s\n", command, path, strerror(errno));
	return is_bad ? ROCE_EXIT_FAILED : ROCE_EXIT_OK;
}

int roce_verify_write_json(const char *command, const char *path, json_t *json)
{
	FILE *f = json ? roce_verify_file_open(path) : NULL;

	if (!json)
		errno = ENOMEM;
	if (f && json_dumpf(json, f, JSON_INDENT(1)) == 0)
		fputc('\n', f);
	json_decref(json);
	return roce_verify_file_close(command, path, f);
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
