/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Linked into our libraries with --wrap=socket: their sockets come from the kernel itself, not from
 * a preload library that turns a program's sockets into something else (librspreload would make an
 * rsocket of the very socket that an rsocket needs).
 */
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int __wrap_socket(int domain, int type, int protocol);

int __wrap_socket(int domain, int type, int protocol)
{
	return (int)syscall(SYS_socket, domain, type, protocol);
}
