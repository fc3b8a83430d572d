/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes: to the rsocket behind the descriptor, else to libc. */
#include <errno.h>
#include <rdma/rsocket.h>
#include <stdlib.h>
#include <unistd.h>

#include "compat/rspreload/preload.h"

#define SENDFILE_CHUNK 65536

ssize_t recv(int fd, void *buffer, size_t length, int flags)
{
	int target = roce_preload_target(fd);

	return target < 0 ? roce_real()->recv(fd, buffer, length, flags)
			  : rrecv(target, buffer, length, flags);
}

ssize_t recvfrom(int fd, void *buffer, size_t length, int flags, struct sockaddr *from,
		 socklen_t *from_length)
{
	int target = roce_preload_target(fd);

	return target < 0 ? roce_real()->recvfrom(fd, buffer, length, flags, from, from_length)
			  : rrecvfrom(target, buffer, length, flags, from, from_length);
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	int target = roce_preload_target(fd);

	if (target < 0)
		return roce_real()->recvmsg(fd, message, flags);
	message->msg_controllen = 0; /* there is never control data */
	return rrecvmsg(target, message, flags);
}

ssize_t read(int fd, void *buffer, size_t length)
{
	int target = roce_preload_target(fd);

	return target < 0 ? roce_real()->read(fd, buffer, length) : rread(target, buffer, length);
}

ssize_t readv(int fd, const struct iovec *iov, int count)
{
	int target = roce_preload_target(fd);

	return target < 0 ? roce_real()->readv(fd, iov, count) : rreadv(target, iov, count);
}

ssize_t send(int fd, const void *buffer, size_t length, int flags)
{
	int target = roce_preload_target(fd);

	return target < 0 ? roce_real()->send(fd, buffer, length, flags)
			  : rsend(target, buffer, length, flags);
}

ssize_t sendto(int fd, const void *buffer, size_t length, int flags, const struct sockaddr *to,
	       socklen_t to_length)
{
	int target = roce_preload_target(fd);

	return target < 0 ? roce_real()->sendto(fd, buffer, length, flags, to, to_length)
			  : rsendto(target, buffer, length, flags, to, to_length);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	int target = roce_preload_target(fd);

	return target < 0 ? roce_real()->sendmsg(fd, message, flags)
			  : rsendmsg(target, message, flags);
}

ssize_t write(int fd, const void *buffer, size_t length)
{
	int target = roce_preload_target(fd);

	return target < 0 ? roce_real()->write(fd, buffer, length) : rwrite(target, buffer, length);
}

ssize_t writev(int fd, const struct iovec *iov, int count)
{
	int target = roce_preload_target(fd);

	return target < 0 ? roce_real()->writev(fd, iov, count) : rwritev(target, iov, count);
}

/* Reads a piece of the file, and puts the file's position back over what was not sent. */
static ssize_t send_piece(int target, int from, off_t *offset, void *buffer, size_t length)
{
	ssize_t got = offset ? pread(from, buffer, length, *offset)
			     : roce_real()->read(from, buffer, length);
	ssize_t sent;

	if (got <= 0)
		return got;
	sent = rwrite(target, buffer, (size_t)got);
	if (offset && sent > 0)
		*offset += sent;
	else if (!offset && sent < got)
		lseek(from, (sent < 0 ? 0 : sent) - got, SEEK_CUR);
	return sent;
}

ssize_t sendfile(int fd, int from, off_t *offset, size_t length)
{
	int target = roce_preload_target(fd);
	ssize_t piece = 0;
	size_t done = 0;
	void *buffer;

	if (target < 0)
		return roce_real()->sendfile(fd, from, offset, length);
	buffer = malloc(SENDFILE_CHUNK);
	if (!buffer) {
		errno = ENOMEM;
		return -1;
	}
	while (done < length) {
		size_t want = length - done < SENDFILE_CHUNK ? length - done : SENDFILE_CHUNK;

		piece = send_piece(target, from, offset, buffer, want);
		if (piece <= 0)
			break;
		done += (size_t)piece;
	}
	free(buffer);
	return done ? (ssize_t)done : piece;
}

ssize_t sendfile64(int fd, int from, off_t *offset, size_t length)
	__attribute__((alias("sendfile")));
