/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A wrapped call gives a path of ours another form and goes on to whoever stands behind us: in the
 * shim the next definition (another preloaded library, or libc), in libibverbs the one that the
 * program would have called. A stranger's call goes on with the very arguments it came with, and
 * the wrapper needs no more stack than the call would: the buffers are in functions of their own.
 *
 * sysfs cannot be written to here: who opens a file of it for writing gets EACCES, and root too.
 */
#include "compat/preload/calls.h"
#include "compat/preload/divert.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

/* What the headers of today do not declare, but programs call: fortified forms, and the stat family
 * of programs built before glibc 2.33. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dirfd, const char *path, int flags);
int __openat64_2(int dirfd, const char *path, int flags);
int __xstat(int version, const char *path, struct stat *st);
int __xstat64(int version, const char *path, struct stat64 *st);
int __lxstat(int version, const char *path, struct stat *st);
int __lxstat64(int version, const char *path, struct stat64 *st);
int __fxstatat(int version, int dirfd, const char *path, struct stat *st, int flags);
int __fxstatat64(int version, int dirfd, const char *path, struct stat64 *st, int flags);
ssize_t __readlink_chk(const char *path, char *buf, size_t size, size_t room);
ssize_t __readlinkat_chk(int dirfd, const char *path, char *buf, size_t size, size_t room);
char *__realpath_chk(const char *path, char *resolved, size_t room);

#ifdef ROCE_PRELOAD_SHIM
#define SCOPE	      RTLD_NEXT
#define WRAPPER(name) name
#define LINKAGE	      __attribute__((visibility("default")))
#else
#define SCOPE	      RTLD_DEFAULT
#define WRAPPER(name) wrapped_##name
#define LINKAGE	      static
#endif

/* ---- the real ones ---- */

enum call_index {
#define X(name) CALL_##name,
	ROCE_WRAPPED_CALLS(X)
#undef X
		CALL_COUNT
};

static void *_Atomic real_functions[CALL_COUNT];

static void *find_real(enum call_index index)
{
	static const char *const names[CALL_COUNT] = {
#define X(name) [CALL_##name] = #name,
		ROCE_WRAPPED_CALLS(X)
#undef X
	};
	void *found = dlsym(SCOPE, names[index]);

	/* Only the C library's own callers can have been bound to a name that it lacks. */
	if (!found)
		abort();
	real_functions[index] = found;
	return found;
}

static inline void *get_real(enum call_index index)
{
	void *found = real_functions[index];

	return found ? found : find_real(index);
}

#define REAL(name) ((__typeof__(&name))get_real(CALL_##name))

/* ---- calls that only look at a path ---- */

/* `path` is diverted, the other arguments stay. */
#define WRAP(type, name, dirfd, params, args)                                        \
	static __attribute__((noinline)) type divert_##name params                   \
	{                                                                            \
		char buffer[PATH_MAX];                                               \
                                                                                     \
		path = roce_divert(dirfd, path, buffer, NULL);                       \
		return REAL(name) args;                                              \
	}                                                                            \
	LINKAGE type WRAPPER(name) params                                            \
	{                                                                            \
		return roce_divert_may(path) ? divert_##name args : REAL(name) args; \
	}

WRAP(int, stat, AT_FDCWD, (const char *path, struct stat *st), (path, st))
WRAP(int, stat64, AT_FDCWD, (const char *path, struct stat64 *st), (path, st))
WRAP(int, lstat, AT_FDCWD, (const char *path, struct stat *st), (path, st))
WRAP(int, lstat64, AT_FDCWD, (const char *path, struct stat64 *st), (path, st))
WRAP(int, fstatat, dirfd, (int dirfd, const char *path, struct stat *st, int flags),
     (dirfd, path, st, flags))
WRAP(int, fstatat64, dirfd, (int dirfd, const char *path, struct stat64 *st, int flags),
     (dirfd, path, st, flags))
WRAP(int, statx, dirfd,
     (int dirfd, const char *path, int flags, unsigned int mask, struct statx *st),
     (dirfd, path, flags, mask, st))
WRAP(int, __xstat, AT_FDCWD, (int version, const char *path, struct stat *st), (version, path, st))
WRAP(int, __xstat64, AT_FDCWD, (int version, const char *path, struct stat64 *st),
     (version, path, st))
WRAP(int, __lxstat, AT_FDCWD, (int version, const char *path, struct stat *st), (version, path, st))
WRAP(int, __lxstat64, AT_FDCWD, (int version, const char *path, struct stat64 *st),
     (version, path, st))
WRAP(int, __fxstatat, dirfd, (int version, int dirfd, const char *path, struct stat *st, int flags),
     (version, dirfd, path, st, flags))
WRAP(int, __fxstatat64, dirfd,
     (int version, int dirfd, const char *path, struct stat64 *st, int flags),
     (version, dirfd, path, st, flags))
WRAP(int, access, AT_FDCWD, (const char *path, int mode), (path, mode))
WRAP(int, faccessat, dirfd, (int dirfd, const char *path, int mode, int flags),
     (dirfd, path, mode, flags))
WRAP(int, euidaccess, AT_FDCWD, (const char *path, int mode), (path, mode))
WRAP(int, eaccess, AT_FDCWD, (const char *path, int mode), (path, mode))
WRAP(ssize_t, readlink, AT_FDCWD, (const char *path, char *buf, size_t size), (path, buf, size))
WRAP(ssize_t, readlinkat, dirfd, (int dirfd, const char *path, char *buf, size_t size),
     (dirfd, path, buf, size))
WRAP(ssize_t, __readlink_chk, AT_FDCWD, (const char *path, char *buf, size_t size, size_t room),
     (path, buf, size, room))
WRAP(ssize_t, __readlinkat_chk, dirfd,
     (int dirfd, const char *path, char *buf, size_t size, size_t room),
     (dirfd, path, buf, size, room))
WRAP(char *, realpath, AT_FDCWD, (const char *path, char *resolved), (path, resolved))
WRAP(char *, __realpath_chk, AT_FDCWD, (const char *path, char *resolved, size_t room),
     (path, resolved, room))
WRAP(char *, canonicalize_file_name, AT_FDCWD, (const char *path), (path))
WRAP(int, nftw, AT_FDCWD, (const char *path, __nftw_func_t func, int descriptors, int flags),
     (path, func, descriptors, flags))
WRAP(int, nftw64, AT_FDCWD, (const char *path, __nftw64_func_t func, int descriptors, int flags),
     (path, func, descriptors, flags))
WRAP(int, ftw, AT_FDCWD, (const char *path, __ftw_func_t func, int descriptors),
     (path, func, descriptors))
WRAP(int, ftw64, AT_FDCWD, (const char *path, __ftw64_func_t func, int descriptors),
     (path, func, descriptors))
WRAP(int, statfs, AT_FDCWD, (const char *path, struct statfs *st), (path, st))
WRAP(int, statfs64, AT_FDCWD, (const char *path, struct statfs64 *st), (path, st))
WRAP(int, statvfs, AT_FDCWD, (const char *path, struct statvfs *st), (path, st))
WRAP(int, statvfs64, AT_FDCWD, (const char *path, struct statvfs64 *st), (path, st))
WRAP(ssize_t, getxattr, AT_FDCWD, (const char *path, const char *name, void *value, size_t size),
     (path, name, value, size))
WRAP(ssize_t, lgetxattr, AT_FDCWD, (const char *path, const char *name, void *value, size_t size),
     (path, name, value, size))
WRAP(ssize_t, listxattr, AT_FDCWD, (const char *path, char *list, size_t size), (path, list, size))
WRAP(ssize_t, llistxattr, AT_FDCWD, (const char *path, char *list, size_t size), (path, list, size))
WRAP(int, inotify_add_watch, AT_FDCWD, (int fd, const char *path, uint32_t mask), (fd, path, mask))

/* ---- directories: the program may go on with names relative to them ---- */

#define WRAP_ENTER(type, name, params, args)                                         \
	static __attribute__((noinline)) type divert_##name params                   \
	{                                                                            \
		enum roce_path_kind kind;                                            \
		char buffer[PATH_MAX];                                               \
                                                                                     \
		path = roce_divert(AT_FDCWD, path, buffer, &kind);                   \
		if (kind == ROCE_PATH_TREE)                                          \
			roce_divert_enter();                                         \
		return REAL(name) args;                                              \
	}                                                                            \
	LINKAGE type WRAPPER(name) params                                            \
	{                                                                            \
		return roce_divert_may(path) ? divert_##name args : REAL(name) args; \
	}

WRAP_ENTER(DIR *, opendir, (const char *path), (path))
WRAP_ENTER(int, chdir, (const char *path), (path))
WRAP_ENTER(int, scandir,
	   (const char *path, struct dirent ***list, int (*filter)(const struct dirent *),
	    int (*compare)(const struct dirent **, const struct dirent **)),
	   (path, list, filter, compare))
WRAP_ENTER(int, scandir64,
	   (const char *path, struct dirent64 ***list, int (*filter)(const struct dirent64 *),
	    int (*compare)(const struct dirent64 **, const struct dirent64 **)),
	   (path, list, filter, compare))

/* ---- open ---- */

static bool is_written(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC));
}

static __attribute__((noinline)) int divert_open(int dirfd, const char *path, int flags,
						 mode_t mode)
{
	enum roce_path_kind kind;
	char buffer[PATH_MAX];

	path = roce_divert(dirfd, path, buffer, &kind);
	switch (kind) {
	case ROCE_PATH_STRANGER:
	case ROCE_PATH_DEVICE:
		break;
	case ROCE_PATH_TREE:
	case ROCE_PATH_LIVE:
		if (is_written(flags)) {
			errno = EACCES;
			return -1;
		}
		if (kind == ROCE_PATH_LIVE && !(flags & (O_PATH | O_DIRECTORY)))
			return roce_divert_open_counter(path, flags & O_CLOEXEC);
		roce_divert_enter();
		break;
	}
	return REAL(openat)(dirfd, path, flags, mode);
}

static bool has_mode(int flags)
{
	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

#define WRAP_OPEN(name)                                                                      \
	LINKAGE int WRAPPER(name)(const char *path, int flags, ...)                          \
	{                                                                                    \
		mode_t mode = 0;                                                             \
                                                                                             \
		if (has_mode(flags)) {                                                       \
			va_list args;                                                        \
                                                                                             \
			va_start(args, flags);                                               \
			mode = va_arg(args, mode_t);                                         \
			va_end(args);                                                        \
		}                                                                            \
		return roce_divert_may_open(path) ? divert_open(AT_FDCWD, path, flags, mode) \
						  : REAL(name)(path, flags, mode);           \
	}

#define WRAP_OPENAT(name)                                                                 \
	LINKAGE int WRAPPER(name)(int dirfd, const char *path, int flags, ...)            \
	{                                                                                 \
		mode_t mode = 0;                                                          \
                                                                                          \
		if (has_mode(flags)) {                                                    \
			va_list args;                                                     \
                                                                                          \
			va_start(args, flags);                                            \
			mode = va_arg(args, mode_t);                                      \
			va_end(args);                                                     \
		}                                                                         \
		return roce_divert_may_open(path) ? divert_open(dirfd, path, flags, mode) \
						  : REAL(name)(dirfd, path, flags, mode); \
	}

/* The fortified forms, which have no mode. */
#define WRAP_OPEN_2(name)                                                                 \
	LINKAGE int WRAPPER(name)(const char *path, int flags)                            \
	{                                                                                 \
		return roce_divert_may_open(path) ? divert_open(AT_FDCWD, path, flags, 0) \
						  : REAL(name)(path, flags);              \
	}

#define WRAP_OPENAT_2(name)                                                            \
	LINKAGE int WRAPPER(name)(int dirfd, const char *path, int flags)              \
	{                                                                              \
		return roce_divert_may_open(path) ? divert_open(dirfd, path, flags, 0) \
						  : REAL(name)(dirfd, path, flags);    \
	}

WRAP_OPEN(open)
WRAP_OPEN(open64)
WRAP_OPENAT(openat)
WRAP_OPENAT(openat64)
WRAP_OPEN_2(__open_2)
WRAP_OPEN_2(__open64_2)
WRAP_OPENAT_2(__openat_2)
WRAP_OPENAT_2(__openat64_2)

/* ---- fopen ---- */

static FILE *open_counter(const char *path, const char *mode)
{
	int fd = roce_divert_open_counter(path, strchr(mode, 'e') != NULL);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd >= 0 && !file)
		close(fd);
	return file;
}

#define WRAP_FOPEN(name)                                                                           \
	static __attribute__((noinline)) FILE *divert_##name(const char *path, const char *mode)   \
	{                                                                                          \
		enum roce_path_kind kind;                                                          \
		char buffer[PATH_MAX];                                                             \
                                                                                                   \
		path = roce_divert(AT_FDCWD, path, buffer, &kind);                                 \
		if ((kind == ROCE_PATH_TREE || kind == ROCE_PATH_LIVE) && strpbrk(mode, "wa+")) {  \
			errno = EACCES;                                                            \
			return NULL;                                                               \
		}                                                                                  \
		return kind == ROCE_PATH_LIVE ? open_counter(path, mode) : REAL(name)(path, mode); \
	}                                                                                          \
	LINKAGE FILE *WRAPPER(name)(const char *path, const char *mode)                            \
	{                                                                                          \
		return roce_divert_may_open(path) ? divert_##name(path, mode)                      \
						  : REAL(name)(path, mode);                        \
	}

WRAP_FOPEN(fopen)
WRAP_FOPEN(fopen64)

/* ---- glob: libc's own calls inside it pass nobody; ours are given to it ---- */

static void *glob_opendir(const char *path)
{
	return WRAPPER(opendir)(path);
}

static struct dirent *glob_readdir(void *dir)
{
	return readdir(dir);
}

static struct dirent64 *glob_readdir64(void *dir)
{
	return readdir64(dir);
}

static void glob_closedir(void *dir)
{
	closedir(dir);
}

#define WRAP_GLOB(name, glob_type, read, stat_name, lstat_name)                       \
	LINKAGE int WRAPPER(name)(const char *pattern, int flags,                     \
				  int (*on_error)(const char *, int), glob_type *out) \
	{                                                                             \
		if (roce_divert_may(pattern) && !(flags & GLOB_ALTDIRFUNC)) {         \
			flags |= GLOB_ALTDIRFUNC;                                     \
			out->gl_opendir = glob_opendir;                               \
			out->gl_readdir = read;                                       \
			out->gl_closedir = glob_closedir;                             \
			out->gl_stat = WRAPPER(stat_name);                            \
			out->gl_lstat = WRAPPER(lstat_name);                          \
		}                                                                     \
		return REAL(name)(pattern, flags, on_error, out);                     \
	}

WRAP_GLOB(glob, glob_t, glob_readdir, stat, lstat)
WRAP_GLOB(glob64, glob64_t, glob_readdir64, stat64, lstat64)

#ifndef ROCE_PRELOAD_SHIM
const struct roce_wrapped_call roce_wrapped_calls[] = {
#define X(name) {#name, (void *)(uintptr_t)WRAPPER(name)},
	ROCE_WRAPPED_CALLS(X)
#undef X
		{NULL, NULL},
};
#endif
