/* SPDX-License-Identifier: BSD-2-Clause */
/* See random.h. Both sources may give fewer bytes than asked for, or be interrupted. */
#include "control/random.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/random.h>
#include <unistd.h>

/* Like read(), but goes on after a signal. */
static ssize_t read_some(int fd, void *out, size_t length)
{
	ssize_t got;

	do {
		got = read(fd, out, length);
	} while (got < 0 && errno == EINTR);
	return got;
}

static int read_device(uint8_t *at, size_t length)
{
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	while (length) {
		ssize_t got = read_some(fd, at, length);

		if (got <= 0)
			break;
		at += got;
		length -= (size_t)got;
	}
	close(fd);
	return length ? -EIO : 0;
}

int roce_random_fill(void *out, size_t length)
{
	uint8_t *at = out;

	while (length) {
		ssize_t got = getrandom(at, length, 0);

		if (got < 0 && errno == EINTR)
			continue; /* before the system's pool is ready */
		if (got <= 0)
			break;
		at += got;
		length -= (size_t)got;
	}
	return length ? read_device(at, length) : 0;
}
