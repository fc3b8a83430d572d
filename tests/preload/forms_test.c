/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The wrapped calls in the forms that calls_test.c does not use: with 64 in their name, fortified
 * ones, those of programs built before glibc 2.33, and the rarely used. Each must find what is not
 * on this machine's disk. Run twice, as calls_test.c: with the shim and linked with the library.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <infiniband/verbs.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "lo_device.h"

#define CLASS  "/sys/class/infiniband"
#define DEVICE CLASS "/uroce_lo"
#define STATE  DEVICE "/ports/1/state"
#define LINK   DEVICE "/device/net/lo"

/* Not declared any more, or only with _FORTIFY_SOURCE. */
int __open64_2(const char *path, int flags);
int __openat64_2(int dirfd, const char *path, int flags);
int __xstat64(int version, const char *path, struct stat64 *st);
int __lxstat64(int version, const char *path, struct stat64 *st);
int __fxstatat64(int version, int dirfd, const char *path, struct stat64 *st, int flags);
ssize_t __readlink_chk(const char *path, char *buf, size_t size, size_t room);
ssize_t __readlinkat_chk(int dirfd, const char *path, char *buf, size_t size, size_t room);

static void expect_state(int fd)
{
	char text[32] = "";

	assert_true(fd >= 0);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	assert_string_equal(text, "4: ACTIVE\n");
}

static void forms__open(void **state)
{
	(void)state;
	expect_state(__open64_2(STATE, O_RDONLY));
	expect_state(__openat64_2(AT_FDCWD, STATE, O_RDONLY));
}

static void forms__stat(void **state)
{
	struct statvfs64 vfs;
	struct statfs64 fs;

	(void)state;
	assert_int_equal(statfs64(STATE, &fs), 0);
	assert_int_equal(statvfs64(STATE, &vfs), 0);
#ifdef __x86_64__
	struct stat64 st;

	assert_int_equal(__xstat64(1, STATE, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(__lxstat64(1, LINK, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(__fxstatat64(1, AT_FDCWD, DEVICE, &st, 0), 0);
	assert_true(S_ISDIR(st.st_mode));
#endif
}

static void forms__readlink(void **state)
{
	char target[64] = "";

	(void)state;
	assert_true(__readlink_chk(LINK, target, sizeof(target) - 1, sizeof(target)) > 0);
	assert_string_equal(target, "/sys/class/net/lo");
	memset(target, 0, sizeof(target));
	assert_true(__readlinkat_chk(AT_FDCWD, LINK, target, sizeof(target) - 1, sizeof(target)) >
		    0);
	assert_string_equal(target, "/sys/class/net/lo");
}

static unsigned int walked;

static int walk_nftw(const char *path, const struct stat64 *st, int type, struct FTW *ftw)
{
	(void)path;
	(void)st;
	(void)type;
	(void)ftw;
	walked++;
	return 0;
}

static int walk_ftw(const char *path, const struct stat64 *st, int type)
{
	return walk_nftw(path, st, type, NULL);
}

static void forms__directories(void **state)
{
	struct dirent64 **list = NULL;
	glob64_t found;

	(void)state;
	assert_int_equal(scandir64(CLASS, &list, NULL, alphasort64), 3);
	assert_string_equal(list[2]->d_name, "uroce_lo");
	for (int i = 0; i < 3; i++)
		free(list[i]);
	free(list);
	walked = 0;
	assert_int_equal(nftw64(DEVICE "/ports", walk_nftw, 8, FTW_PHYS), 0);
	assert_true(walked > 100);
	walked = 0;
	assert_int_equal(ftw64(DEVICE "/ports", walk_ftw, 8), 0);
	assert_true(walked > 100);
	assert_int_equal(glob64(CLASS "/*/ports/*/state", 0, NULL, &found), 0);
	assert_int_equal(found.gl_pathc, 1);
	assert_string_equal(found.gl_pathv[0], STATE);
	globfree64(&found);
}

/* What a file system of memory has of them is its own matter; that there is no file is not. */
static void forms__attributes(void **state)
{
	char names[256];

	(void)state;
	errno = 0;
	assert_true(listxattr(STATE, names, sizeof(names)) >= 0 || errno == EOPNOTSUPP);
	assert_true(llistxattr(LINK, names, sizeof(names)) >= 0 || errno == EOPNOTSUPP);
	assert_int_equal(listxattr(DEVICE "/nothing", names, sizeof(names)), -1);
	assert_int_equal(errno, ENOENT);
}

static void forms__inotify(void **state)
{
	int watcher = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	struct pollfd pfd = {.fd = watcher, .events = POLLIN};

	(void)state;
	assert_true(watcher >= 0);
	assert_true(inotify_add_watch(watcher, STATE, IN_OPEN) >= 0);
	assert_int_equal(poll(&pfd, 1, 0), 0);
	expect_state(open(STATE, O_RDONLY));
	assert_int_equal(poll(&pfd, 1, 60000), 1);
	close(watcher);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms__open),	     cmocka_unit_test(forms__stat),
		cmocka_unit_test(forms__readlink),   cmocka_unit_test(forms__directories),
		cmocka_unit_test(forms__attributes), cmocka_unit_test(forms__inotify),
	};
	bool has_shim = dlsym(RTLD_DEFAULT, "uroce_preload_shim") != NULL;

	if (argc != 2 || has_shim != (strcmp(argv[1], "shim") == 0)) {
		fprintf(stderr, "forms_test: %s\n",
			argc != 2 ? "shim or library?" : "the shim is there, or is not");
		return 1;
	}
	lo_enter_namespace();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
