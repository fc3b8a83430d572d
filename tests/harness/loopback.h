/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A network namespace for one test program, in which lo is all there is: nothing of the machine is
 * seen, and nothing of the machine is disturbed.
 */
#ifndef ROCE_TESTS_HARNESS_LOOPBACK_H
#define ROCE_TESTS_HARNESS_LOOPBACK_H

#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static inline bool loopback_raise(void)
{
	struct ifreq ifr = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING | IFF_LOOPBACK};
	/* A library under test may stand in front of sockets of the Internet. */
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	bool is_up = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &ifr) == 0;

	if (fd >= 0)
		close(fd);
	return is_up;
}

/* False: none may be made here, also not by a user namespace. */
static inline bool loopback_enter(void)
{
	return (unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0) &&
	       loopback_raise();
}

#endif
