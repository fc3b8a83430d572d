/* SPDX-License-Identifier: BSD-2-Clause */
/* `uroce run` names its daemon to what it starts: that tells whose libraries these are. */
#include "verify/agent/trouble.h"

#include "verify/agent/aftermath.h"
#include "verify/agent/harm.h"
#include "verify/veth.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- packets ---- */

#define TIMEOUT_CODE 14 /* 67 ms */

/* What the device had counted before. */
static struct {
	char device[64];
	uint8_t port;
	bool is_harmed;
	bool is_counting;
	struct va_harm before;
} impaired;

/* The device that the case is going to open. */
static void begin_counting(struct va_run *run)
{
	struct va_device device;

	va_device_open(run, VA_ANY_FAMILY, &device);
	snprintf(impaired.device, sizeof(impaired.device), "%s",
		 ibv_get_device_name(device.context->device));
	impaired.port = device.port;
	impaired.is_counting = va_harm_read(impaired.device, impaired.port, &impaired.before);
	va_device_close(run, &device);
}

void va_impair(struct va_run *run)
{
	bool is_ours = getenv("UROCE_UROCED") != NULL;
	const char *what = va_word(run, "impair");
	char text[256];
	json_t *theirs;
	bool can;

	if (!*what)
		return;
	impaired.is_harmed = !va_is(run, "impaired", run->is_initiator ? "target" : "initiator");
	if (is_ours)
		begin_counting(run);
	can = is_ours && impaired.is_counting;
	/* Each says whether it can do its part. */
	theirs = va_exchange(run, json_boolean(can || !impaired.is_harmed));
	if (!json_is_true(theirs) || (impaired.is_harmed && !can))
		va_skip(run,
			"packets are impaired by uroce's own wrapper, and a device that should "
			"do it is another's, or does not show its counters");
	json_decref(theirs);
	if (!impaired.is_harmed)
		return;
	/* the same seed on both sides would harm the same packets of both directions */
	snprintf(text, sizeof(text), "seed=%llu,%s",
		 (unsigned long long)(run->seed + run->is_initiator), what);
	va_need(run, !setenv("UROCE_IMPAIR", text, 1), "setenv");
}

uint8_t va_impair_timeout(const struct va_run *run)
{
	return *va_word(run, "impair") ? TIMEOUT_CODE : 0;
}

static json_t *describe_harm(const struct va_harm *harm, const struct va_harm_wish *wish)
{
	json_t *own = json_pack("{s:I, s:I}", "packets_received", (json_int_t)harm->received,
				"packets_sent", (json_int_t)harm->sent);

	for (int i = 0; i < VA_HARM_KINDS; i++) {
		if (wish->is_asked[i])
			json_object_set_new(own, va_harm_str((enum va_harm_kind)i),
					    json_integer((json_int_t)harm->done[i]));
	}
	json_object_set_new(own, "out_of_place", json_integer((json_int_t)harm->out_of_place));
	json_object_set_new(own, "bad_icrc", json_integer((json_int_t)harm->bad_icrc));
	return own;
}

static void add_theirs(struct va_harm *sum, const json_t *theirs)
{
	sum->received += (uint64_t)roce_json_integer(theirs, "packets_received");
	sum->sent += (uint64_t)roce_json_integer(theirs, "packets_sent");
	for (int i = 0; i < VA_HARM_KINDS; i++)
		sum->done[i] +=
			(uint64_t)roce_json_integer(theirs, va_harm_str((enum va_harm_kind)i));
	sum->out_of_place += (uint64_t)roce_json_integer(theirs, "out_of_place");
	sum->bad_icrc += (uint64_t)roce_json_integer(theirs, "bad_icrc");
}

void va_impair_check(struct va_run *run, bool is_noticed)
{
	struct va_harm harm = {0};
	struct va_harm_wish wish;
	char why[300];
	json_t *own;
	json_t *theirs;

	if (!*va_word(run, "impair"))
		return;
	va_harm_parse(va_word(run, "impair"), &wish);
	if (impaired.is_counting) {
		va_need(run, va_harm_read(impaired.device, impaired.port, &harm), "hw_counters");
		va_harm_subtract(&harm, &impaired.before);
	}
	own = describe_harm(&harm, &wish);
	if (impaired.is_counting)
		va_detail(run, "harm", json_incref(own));
	theirs = va_exchange(run, own);
	if (impaired.is_harmed && !va_harm_is_done(&wish, &harm, why, sizeof(why)))
		va_fail(run, "%s", why);
	add_theirs(&harm, theirs);
	json_decref(theirs);
	if (!va_harm_is_seen(&wish, &harm, is_noticed, why, sizeof(why)))
		va_fail(run, "%s", why);
}

/* ---- the link ---- */

/* The flags of the run's interface, and a socket to change them with; -1: there is none. */
static int link_flags(struct ifreq *request)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	*request = (struct ifreq){.ifr_name = ROCE_VERIFY_VETH};
	if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, request) == 0)
		return fd;
	close(fd);
	return -1;
}

static int switch_link(bool is_up)
{
	struct ifreq request;
	int fd = link_flags(&request);
	int rc;

	if (fd < 0)
		return -1;
	request.ifr_flags =
		(short)(is_up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP);
	rc = ioctl(fd, SIOCSIFFLAGS, &request);
	close(fd);
	return rc;
}

/* Whoever started the agent knows: a user's interface may have the same name. */
void va_link_need(struct va_run *run)
{
	if (!run->has_namespace)
		va_skip(run, "links are changed only between namespaces of the run's own");
}

/* What goes back when this process ends, as long as it has not been put right. */
static int link_aftermath = -1;
static int shape_aftermath = -1;

static void restore_link(const void *unused)
{
	(void)unused;
	(void)switch_link(true);
}

void va_link_set(struct va_run *run, bool is_up)
{
	va_link_need(run);
	if (!is_up)
		link_aftermath = va_when_gone(restore_link, "", 1);
	va_need(run, !switch_link(is_up), "SIOCSIFFLAGS");
	if (is_up)
		va_put_right(link_aftermath);
}

/* 0 as tc says; -1: there is no tc. */
static int run_tc(char *const argv[])
{
	extern char **environ;
	posix_spawn_file_actions_t quiet;
	int status = -1;
	pid_t pid;

	if (posix_spawn_file_actions_init(&quiet))
		return -1;
	(void)posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	if (posix_spawnp(&pid, "tc", &quiet, NULL, argv, environ) == 0)
		(void)waitpid(pid, &status, 0);
	(void)posix_spawn_file_actions_destroy(&quiet);
	return status < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 127) ? -1 : status;
}

static void remove_shape(const void *unused)
{
	char *argv[] = {"tc", "qdisc", "del", "dev", ROCE_VERIFY_VETH, "root", NULL};

	(void)unused;
	(void)run_tc(argv);
}

/*
 * What the line did not carry while the sender had no processor it may carry within SHAPE_BURST_MS:
 * a tick of the scheduler. An adapter of software has no more than a window under way, which leaves
 * in 0.1 ms at 5 Gb/s. Over a second it makes the line 0.4% faster at most.
 */
#define SHAPE_BURST_MS	  4
#define SHAPE_BURST_LEAST (128u << 10) /* bytes; a batch has 64 KiB */

void va_link_shape(struct va_run *run, uint64_t rate)
{
	uint64_t burst_bytes = rate / 8 * SHAPE_BURST_MS / 1000;
	char text[32], burst[32];
	char *argv[] = {"tc",	"qdisc", "replace", "dev", ROCE_VERIFY_VETH, "root", "tbf",
			"rate", text,	 "burst",   burst, "latency",	     "50ms", NULL};
	int rc;

	va_link_need(run);
	if (burst_bytes < SHAPE_BURST_LEAST)
		burst_bytes = SHAPE_BURST_LEAST;
	snprintf(text, sizeof(text), "%llubit", (unsigned long long)rate);
	snprintf(burst, sizeof(burst), "%llub", (unsigned long long)burst_bytes);
	shape_aftermath = va_when_gone(remove_shape, "", 1);
	rc = run_tc(argv);
	if (rc)
		va_skip(run, "%s",
			rc < 0 ? "there is no tc (iproute2) to shape a link with"
			       : "tc cannot shape this link: the kernel has no tbf");
}

void va_link_unshape(void)
{
	remove_shape(NULL);
	va_put_right(shape_aftermath);
}
