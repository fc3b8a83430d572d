/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The life of sockets, their names and options. While this library makes an rsocket, the calls of
 * the libraries below it must reach libc: `is_inside` of the thread says so.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <rdma/rsocket.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "compat/rspreload/preload.h"

static _Thread_local bool is_inside;

int socket(int domain, int type, int protocol)
{
	int target, fd;

	if (is_inside || !roce_preload_wants(domain, type, protocol))
		return roce_real()->socket(domain, type, protocol);
	is_inside = true;
	target = rsocket(domain, type & ~SOCK_CLOEXEC, protocol);
	is_inside = false;
	if (target < 0)
		return roce_real()->socket(domain, type, protocol);
	fd = roce_preload_add(target, 0, type & SOCK_CLOEXEC);
	if (fd < 0)
		rclose(target);
	return fd;
}

int bind(int fd, const struct sockaddr *address, socklen_t length)
{
	int target = roce_preload_target(fd), result;

	if (target < 0)
		return roce_real()->bind(fd, address, length);
	is_inside = true;
	result = rbind(target, address, length);
	is_inside = false;
	return result;
}

int listen(int fd, int backlog)
{
	int target = roce_preload_target(fd);

	return target < 0 ? roce_real()->listen(fd, backlog) : rlisten(target, backlog);
}

int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags)
{
	int target = roce_preload_target(fd), child, name;

	if (target < 0)
		return roce_real()->accept4(fd, address, length, flags);
	child = raccept(target, address, length);
	if (child < 0)
		return -1;
	/* A plain socket's child does not inherit O_NONBLOCK. */
	rfcntl(child, F_SETFL, (long)(flags & SOCK_NONBLOCK ? O_NONBLOCK : 0));
	name = roce_preload_add(child, 0, flags & SOCK_CLOEXEC);
	if (name < 0)
		rclose(child);
	return name;
}

int accept(int fd, struct sockaddr *address, socklen_t *length)
{
	return accept4(fd, address, length, 0);
}

static void carry_over(int target, int plain, int level, int name)
{
	int value;
	socklen_t length = sizeof(value);

	if (!rgetsockopt(target, level, name, &value, &length) && value)
		roce_real()->setsockopt(plain, level, name, &value, length);
}

/* There is no way over RDMA: a plain socket under the same number. */
static int connect_plain(int fd, int target, const struct sockaddr *address, socklen_t length)
{
	int type = SOCK_STREAM, flags = rfcntl(target, F_GETFL), plain;
	struct sockaddr_storage local;
	socklen_t size = sizeof(type);

	rgetsockopt(target, SOL_SOCKET, SO_TYPE, &type, &size);
	plain = roce_real()->socket(address->sa_family, type | (flags & O_NONBLOCK), 0);
	if (plain < 0)
		return -1;
	carry_over(target, plain, SOL_SOCKET, SO_REUSEADDR);
	carry_over(target, plain, IPPROTO_TCP, TCP_NODELAY);
	size = sizeof(local);
	if (!rgetsockname(target, (struct sockaddr *)&local, &size) &&
	    ((struct sockaddr_in *)&local)->sin_port)
		roce_real()->bind(plain, (struct sockaddr *)&local, size);
	if (roce_preload_replace(fd, plain) < 0)
		return -1;
	return roce_real()->connect(fd, address, length);
}

int connect(int fd, const struct sockaddr *address, socklen_t length)
{
	int target = roce_preload_target(fd), result;

	if (target < 0 || is_inside)
		return roce_real()->connect(fd, address, length);
	is_inside = true;
	result = rconnect(target, address, length);
	is_inside = false;
	if (!result || errno == EINPROGRESS || errno == EINTR)
		return result;
	return connect_plain(fd, target, address, length);
}

int shutdown(int fd, int how)
{
	int target = roce_preload_target(fd);

	return target < 0 ? roce_real()->shutdown(fd, how) : rshutdown(target, how);
}

int close(int fd)
{
	if (roce_preload_target(fd) >= 0)
		roce_preload_forget(fd);
	else
		roce_preload_epoll_forget(fd);
	return roce_real()->close(fd);
}

int getpeername(int fd, struct sockaddr *address, socklen_t *length)
{
	int target = roce_preload_target(fd);

	return target < 0 ? roce_real()->getpeername(fd, address, length)
			  : rgetpeername(target, address, length);
}

int getsockname(int fd, struct sockaddr *address, socklen_t *length)
{
	int target = roce_preload_target(fd);

	return target < 0 ? roce_real()->getsockname(fd, address, length)
			  : rgetsockname(target, address, length);
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
	int target = roce_preload_target(fd);

	return target < 0 ? roce_real()->setsockopt(fd, level, name, value, length)
			  : rsetsockopt(target, level, name, value, length);
}

int getsockopt(int fd, int level, int name, void *value, socklen_t *length)
{
	int target = roce_preload_target(fd);

	return target < 0 ? roce_real()->getsockopt(fd, level, name, value, length)
			  : rgetsockopt(target, level, name, value, length);
}

/* ---- descriptors ---- */

static int control(int fd, int target, int command, long argument)
{
	if (command == F_GETFL || command == F_SETFL)
		return rfcntl(target, command, argument);
	if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
		return roce_preload_add(target, (int)argument, command == F_DUPFD_CLOEXEC);
	return roce_real()->fcntl(fd, command, argument); /* flags of the placeholder */
}

int fcntl(int fd, int command, ...)
{
	int target = roce_preload_target(fd);
	va_list ap;
	long argument;

	va_start(ap, command);
	argument = va_arg(ap, long);
	va_end(ap);
	return target < 0 ? roce_real()->fcntl(fd, command, argument)
			  : control(fd, target, command, argument);
}

int fcntl64(int fd, int command, ...) __attribute__((alias("fcntl")));

int ioctl(int fd, unsigned long request, ...)
{
	int target = roce_preload_target(fd), flags;
	va_list ap;
	void *argument;

	va_start(ap, request);
	argument = va_arg(ap, void *);
	va_end(ap);
	if (target < 0 || request != FIONBIO)
		return roce_real()->ioctl(fd, request, argument);
	flags = rfcntl(target, F_GETFL);
	flags = *(int *)argument ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
	return rfcntl(target, F_SETFL, (long)flags);
}

int dup(int fd)
{
	int target = roce_preload_target(fd);

	return target < 0 ? roce_real()->dup(fd) : roce_preload_add(target, 0, false);
}

int dup3(int fd, int to, int flags)
{
	int target = roce_preload_target(fd), result;

	if (fd == to) {
		errno = EINVAL;
		return -1;
	}
	if (target >= 0)
		return roce_preload_add_at(target, to, flags & O_CLOEXEC);
	result = roce_real()->dup3(fd, to, flags);
	if (result >= 0 && roce_preload_target(to) >= 0)
		roce_preload_forget(to);
	else if (result >= 0)
		roce_preload_epoll_forget(to);
	return result;
}

int dup2(int fd, int to)
{
	if (fd == to)
		return roce_real()->dup2(fd, to);
	return dup3(fd, to, 0);
}
