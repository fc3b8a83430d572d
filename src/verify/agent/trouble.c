/* SPDX-License-Identifier: BSD-2-Clause */
/* `uroce run` names its daemon to what it starts: that tells whose libraries these are. */
#include "verify/agent/trouble.h"

#include "verify/veth.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

void va_impair(struct va_run *run)
{
	bool is_ours = getenv("UROCE_UROCED") != NULL;
	const char *what = va_word(run, "impair");
	char text[256];
	json_t *theirs;

	if (!*what)
		return;
	theirs = va_exchange(run, json_boolean(is_ours));
	if (!is_ours || !json_is_true(theirs))
		va_skip(run, "packets are impaired by uroce's own wrapper, and a device here is "
			     "another's");
	json_decref(theirs);
	if (run->is_initiator)
		return;
	snprintf(text, sizeof(text), "seed=%llu,%s", (unsigned long long)run->seed, what);
	va_need(run, !setenv("UROCE_IMPAIR", text, 1), "setenv");
}

void va_link_set(struct va_run *run, bool is_up)
{
	struct ifreq request = {.ifr_name = ROCE_VERIFY_VETH};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	va_need(run, fd >= 0, "socket");
	if (ioctl(fd, SIOCGIFFLAGS, &request))
		va_skip(run, "links are taken down only between namespaces of the run's own");
	if (is_up)
		request.ifr_flags |= IFF_UP;
	else
		request.ifr_flags = (short)(request.ifr_flags & ~IFF_UP);
	va_need(run, !ioctl(fd, SIOCSIFFLAGS, &request), "SIOCSIFFLAGS");
	close(fd);
}
