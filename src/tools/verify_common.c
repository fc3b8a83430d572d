/* SPDX-License-Identifier: BSD-2-Clause */
/* What `uroce verify` and `uroce perf` do alike around a run: signals, files, the exit status. */
#include "tools/command.h"
#include "tools/verify.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

int roce_verify_take_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int roce_verify_check_writable(const char *command, const char *path)
{
	FILE *f;

	if (!path || strcmp(path, "-") == 0)
		return ROCE_EXIT_OK;
	f = fopen(path, "ae");
	if (!f) {
		fprintf(stderr, "uroce %s: %s: %s\n", command, path, strerror(errno));
		return ROCE_EXIT_USAGE;
	}
	fclose(f);
	return ROCE_EXIT_OK;
}

int roce_verify_write_json(const char *command, const char *path, json_t *json)
{
	int rc = -1;

	errno = ENOMEM;
	if (json)
		rc = strcmp(path, "-") == 0 ? json_dumpf(json, stdout, JSON_INDENT(1))
					    : json_dump_file(json, path, JSON_INDENT(1));
	if (rc)
		fprintf(stderr, "uroce %s: %s: %s\n", command, path, strerror(errno));
	else if (strcmp(path, "-") == 0)
		putchar('\n');
	json_decref(json);
	return rc ? ROCE_EXIT_FAILED : ROCE_EXIT_OK;
}

/* Whether any case had its turn. */
static bool has_begun(const struct roce_verify_record *record)
{
	return record->outcome_count && record->outcomes[0].seconds > 0;
}

int roce_verify_exit_status(const struct roce_verify_record *record)
{
	if (record->broken_off && strcmp(record->broken_off, "interrupted") == 0)
		return ROCE_EXIT_INTERRUPTED;
	if (record->broken_off && !has_begun(record))
		return ROCE_EXIT_USAGE;
	return record->broken_off || roce_verify_record_count(record, ROCE_VERIFY_FAIL)
		       ? ROCE_EXIT_FAILED
		       : ROCE_EXIT_OK;
}
