/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls of libc that take a path and that we stand in front of. calls.c is compiled twice: for
 * the preload shim it defines them under their own names, for libibverbs under other names, to be
 * put into GOT entries (got.c).
 */
#ifndef ROCE_COMPAT_PRELOAD_CALLS_H
#define ROCE_COMPAT_PRELOAD_CALLS_H

#include <stddef.h>

#define ROCE_WRAPPED_CALLS(X)     \
	X(open)                   \
	X(open64)                 \
	X(openat)                 \
	X(openat64)               \
	X(__open_2)               \
	X(__open64_2)             \
	X(__openat_2)             \
	X(__openat64_2)           \
	X(fopen)                  \
	X(fopen64)                \
	X(stat)                   \
	X(stat64)                 \
	X(lstat)                  \
	X(lstat64)                \
	X(fstatat)                \
	X(fstatat64)              \
	X(statx)                  \
	X(__xstat)                \
	X(__xstat64)              \
	X(__lxstat)               \
	X(__lxstat64)             \
	X(__fxstatat)             \
	X(__fxstatat64)           \
	X(access)                 \
	X(faccessat)              \
	X(euidaccess)             \
	X(eaccess)                \
	X(opendir)                \
	X(scandir)                \
	X(scandir64)              \
	X(readlink)               \
	X(readlinkat)             \
	X(__readlink_chk)         \
	X(__readlinkat_chk)       \
	X(realpath)               \
	X(__realpath_chk)         \
	X(canonicalize_file_name) \
	X(chdir)                  \
	X(nftw)                   \
	X(nftw64)                 \
	X(ftw)                    \
	X(ftw64)                  \
	X(glob)                   \
	X(glob64)                 \
	X(statfs)                 \
	X(statfs64)               \
	X(statvfs)                \
	X(statvfs64)              \
	X(getxattr)               \
	X(lgetxattr)              \
	X(listxattr)              \
	X(llistxattr)             \
	X(inotify_add_watch)

struct roce_wrapped_call {
	const char *name;
	void *function;
};

/* The library's: ends with a NULL name. */
extern const struct roce_wrapped_call roce_wrapped_calls[];

#endif
