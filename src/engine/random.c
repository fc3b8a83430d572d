/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bytes that nobody can guess (keys, PSNs), or none at all. getrandom() may be missing or forbidden
 * (an old kernel, a seccomp filter); the device file then gives the same bytes. Without either the
 * program ends: a guessable rkey would open its memory to everybody on the network.
 */
#include "engine/engine_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
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

static bool read_device(uint8_t *at, size_t length)
{
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	while (length) {
		ssize_t got = read_some(fd, at, length);

		if (got <= 0)
			break;
		at += got;
		length -= (size_t)got;
	}
	close(fd);
	return length == 0;
}

void roce_engine_random(void *out, size_t length)
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
	if (length && !read_device(at, length)) {
		fprintf(stderr, "uroce: neither getrandom() nor /dev/urandom gives random bytes: "
				"keys would be guessable, the program ends\n");
		abort();
	}
}
