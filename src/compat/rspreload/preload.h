/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * librspreload.so: a program's TCP and UDP sockets become rsockets. A descriptor of the program is
 * a placeholder with a number of its own; the map leads from it to the rsocket behind it. So a
 * socket whose connection cannot be made over RDMA is replaced by a plain one under the same
 * number, and dup() shares one rsocket.
 *
 * Not covered: descriptors that pass to other programs (exec, SCM_RIGHTS), and fork() with both
 * sides using the socket.
 */
#ifndef ROCE_RSPRELOAD_PRELOAD_H
#define ROCE_RSPRELOAD_PRELOAD_H

#include <poll.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* What is behind each name in libc. X(return type, name, parameters) */
#define ROCE_PRELOAD_REAL(X)                                                                     \
	X(int, socket, (int, int, int))                                                          \
	X(int, bind, (int, const struct sockaddr *, socklen_t))                                  \
	X(int, listen, (int, int))                                                               \
	X(int, accept4, (int, struct sockaddr *, socklen_t *, int))                              \
	X(int, connect, (int, const struct sockaddr *, socklen_t))                               \
	X(int, shutdown, (int, int))                                                             \
	X(int, close, (int))                                                                     \
	X(ssize_t, recv, (int, void *, size_t, int))                                             \
	X(ssize_t, recvfrom, (int, void *, size_t, int, struct sockaddr *, socklen_t *))         \
	X(ssize_t, recvmsg, (int, struct msghdr *, int))                                         \
	X(ssize_t, read, (int, void *, size_t))                                                  \
	X(ssize_t, readv, (int, const struct iovec *, int))                                      \
	X(ssize_t, send, (int, const void *, size_t, int))                                       \
	X(ssize_t, sendto, (int, const void *, size_t, int, const struct sockaddr *, socklen_t)) \
	X(ssize_t, sendmsg, (int, const struct msghdr *, int))                                   \
	X(ssize_t, write, (int, const void *, size_t))                                           \
	X(ssize_t, writev, (int, const struct iovec *, int))                                     \
	X(ssize_t, sendfile, (int, int, off_t *, size_t))                                        \
	X(int, poll, (struct pollfd *, nfds_t, int))                                             \
	X(int, ppoll, (struct pollfd *, nfds_t, const struct timespec *, const sigset_t *))      \
	X(int, select, (int, fd_set *, fd_set *, fd_set *, struct timeval *))                    \
	X(int, pselect,                                                                          \
	  (int, fd_set *, fd_set *, fd_set *, const struct timespec *, const sigset_t *))        \
	X(int, getpeername, (int, struct sockaddr *, socklen_t *))                               \
	X(int, getsockname, (int, struct sockaddr *, socklen_t *))                               \
	X(int, setsockopt, (int, int, int, const void *, socklen_t))                             \
	X(int, getsockopt, (int, int, int, void *, socklen_t *))                                 \
	X(int, fcntl, (int, int, ...))                                                           \
	X(int, ioctl, (int, unsigned long, ...))                                                 \
	X(int, dup, (int))                                                                       \
	X(int, dup2, (int, int))                                                                 \
	X(int, dup3, (int, int, int))                                                            \
	X(int, epoll_ctl, (int, int, int, struct epoll_event *))                                 \
	X(int, epoll_pwait, (int, struct epoll_event *, int, int, const sigset_t *))

struct roce_real {
#define X(type, name, parameters) type(*name) parameters;
	ROCE_PRELOAD_REAL(X)
#undef X
};

/* Looked up at the first call. */
const struct roce_real *roce_real(void);

/* map.c. The rsocket behind a descriptor of the program, or -1. */
int roce_preload_target(int fd);
/* A placeholder for a new rsocket; -1 and errno. `minimum`: the lowest number it may have. */
int roce_preload_add(int target, int minimum, bool is_cloexec);
/* `fd` becomes one more name of the rsocket; what it was is closed. -1 and errno. */
int roce_preload_add_at(int target, int fd, bool is_cloexec);
/* The descriptor is none of ours any more; the rsocket goes with its last name. */
void roce_preload_forget(int fd);
/* A plain descriptor takes the place of an rsocket, under all of the program's flags. */
int roce_preload_replace(int fd, int plain);

/* config.c: shall this socket be an rsocket? */
bool roce_preload_wants(int domain, int type, int protocol);

/* epoll.c: no epoll set holds the descriptor any more. */
void roce_preload_epoll_forget(int fd);

#endif
