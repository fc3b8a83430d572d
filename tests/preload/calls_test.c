/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The wrapped calls, from a program that knows nothing of them, on the loopback device of a network
 * namespace of its own. The same program runs twice: with the preload shim (argument "shim"), and
 * linked against libibverbs without it (argument "library"), where its own calls are patched.
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
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "lo_device.h"

#define CLASS	 "/sys/class/infiniband"
#define DEVICE	 CLASS "/uroce_lo"
#define STATE	 DEVICE "/ports/1/state"
#define COUNTER	 DEVICE "/ports/1/hw_counters/tx_pkts"
#define NODE	 "/dev/infiniband/uverbs0" /* of lo, which is interface 1 */
#define MISSING	 "/nonexistent/infiniband/x"
#define TOO_LONG 6000

/* Not declared any more, or only with _FORTIFY_SOURCE. */
int __open_2(const char *path, int flags);
int __openat_2(int dirfd, const char *path, int flags);
int __xstat(int version, const char *path, struct stat *st);
int __lxstat(int version, const char *path, struct stat *st);
int __fxstatat(int version, int dirfd, const char *path, struct stat *st, int flags);
char *__realpath_chk(const char *path, char *resolved, size_t room);

/* Of libibverbs, but in no header. */
const char *ibv_get_sysfs_path(void);
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);

static const char *read_fd(int fd)
{
	static char text[256];
	ssize_t n;

	if (fd < 0)
		fail_msg("open: %s", strerror(errno));
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	assert_true(n >= 0);
	text[n] = '\0';
	return text;
}

/* ---- ours ---- */

static void ours__open(void **state)
{
	int dir;

	(void)state;
	assert_string_equal(read_fd(open(STATE, O_RDONLY)), "4: ACTIVE\n");
	assert_string_equal(read_fd(open64(STATE, O_RDONLY | O_CLOEXEC)), "4: ACTIVE\n");
	assert_string_equal(read_fd(openat(AT_FDCWD, STATE, O_RDONLY)), "4: ACTIVE\n");
	assert_string_equal(read_fd(openat64(-1, STATE, O_RDONLY)), "4: ACTIVE\n");
	assert_string_equal(read_fd(__open_2(STATE, O_RDONLY)), "4: ACTIVE\n");
	assert_string_equal(read_fd(__openat_2(AT_FDCWD, STATE, O_RDONLY)), "4: ACTIVE\n");
	assert_string_equal(read_fd(open("/sys//class/./infiniband//uroce_lo/node_type", O_RDONLY)),
			    "1: CA\n");

	/* From a directory above, as hwloc goes, and inside the tree. */
	dir = open("/", O_RDONLY | O_DIRECTORY);
	assert_string_equal(read_fd(openat(dir, "sys/class/infiniband/uroce_lo/fw_ver", O_RDONLY)),
			    UROCE_VERSION "\n");
	close(dir);
	dir = open(DEVICE, O_RDONLY | O_DIRECTORY);
	assert_string_equal(read_fd(openat(dir, "ports/1/state", O_RDONLY)), "4: ACTIVE\n");
	close(dir);
}

static void ours__fopen(void **state)
{
	char line[64];
	FILE *file = fopen(STATE, "r");

	(void)state;
	assert_non_null(file);
	assert_string_equal(fgets(line, sizeof(line), file), "4: ACTIVE\n");
	fclose(file);
	file = fopen64(COUNTER, "re");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	fclose(file);
}

static void ours__cannot_be_written(void **state)
{
	(void)state;
	errno = 0;
	assert_int_equal(open(STATE, O_WRONLY), -1);
	assert_int_equal(errno, EACCES);
	assert_int_equal(open(STATE, O_RDONLY | O_TRUNC), -1);
	assert_int_equal(open(COUNTER, O_RDWR), -1);
	assert_int_equal(open(DEVICE "/new", O_CREAT | O_RDONLY, 0600), -1);
	assert_int_equal(errno, EACCES);
	assert_null(fopen(STATE, "a"));
	assert_null(fopen(STATE, "r+"));
	assert_string_equal(read_fd(open(STATE, O_RDONLY)), "4: ACTIVE\n");
}

static void ours__stat(void **state)
{
	struct stat st;
	struct statx stx;
	struct statfs fs;
	struct statvfs vfs;
	int dir = open("/sys/class", O_RDONLY | O_DIRECTORY);

	(void)state;
	assert_int_equal(stat(STATE, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(stat64(STATE, (struct stat64 *)&st), 0);
	assert_int_equal(lstat(DEVICE, &st), 0);
	assert_int_equal(lstat64(DEVICE, (struct stat64 *)&st), 0);
	assert_int_equal(fstatat(AT_FDCWD, STATE, &st, 0), 0);
	assert_int_equal(fstatat64(AT_FDCWD, STATE, (struct stat64 *)&st, 0), 0);
	if (dir >= 0) /* a container may have no sysfs */
		assert_int_equal(fstatat(dir, "infiniband/uroce_lo", &st, 0), 0);
	assert_int_equal(statx(AT_FDCWD, STATE, 0, STATX_ALL, &stx), 0);
	assert_int_equal(statfs(STATE, &fs), 0);
	assert_int_equal(statvfs(STATE, &vfs), 0);
#ifdef __x86_64__
	assert_int_equal(__xstat(1, STATE, &st), 0);
	assert_int_equal(__lxstat(1, STATE, &st), 0);
	assert_int_equal(__fxstatat(1, AT_FDCWD, STATE, &st, 0), 0);
#endif
	assert_int_equal(stat(DEVICE "/nothing", &st), -1);
	assert_int_equal(errno, ENOENT);
	close(dir);
}

static void ours__access(void **state)
{
	(void)state;
	assert_int_equal(access(STATE, R_OK), 0);
	assert_int_equal(faccessat(AT_FDCWD, STATE, R_OK, 0), 0);
	assert_int_equal(euidaccess(STATE, R_OK), 0);
	assert_int_equal(eaccess(CLASS, F_OK), 0);
	assert_int_equal(access(CLASS "/nobody", F_OK), -1);
	assert_int_equal(errno, ENOENT);
}

static void ours__device_file(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(stat(NODE, &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	assert_int_equal(lstat(NODE, &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	assert_int_equal(access(NODE, R_OK | W_OK), 0);
	assert_int_equal(stat("/dev/infiniband", &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(stat("/dev/infiniband/uverbs99", &st), -1);
	assert_string_equal(read_fd(open("/sys/class/infiniband_verbs/uverbs0/ibdev", O_RDONLY)),
			    "uroce_lo\n");
}

static unsigned int walked;

static int walk(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)path;
	(void)st;
	(void)type;
	(void)ftw;
	walked++;
	return 0;
}

static void ours__directories(void **state)
{
	struct dirent **list = NULL;
	struct dirent *entry;
	bool is_found = false;
	glob_t found;
	DIR *dir = opendir(CLASS);

	(void)state;
	assert_non_null(dir);
	while ((entry = readdir(dir)))
		is_found |= strcmp(entry->d_name, "uroce_lo") == 0;
	closedir(dir);
	assert_true(is_found);
	assert_int_equal(scandir(CLASS, &list, NULL, alphasort), 3);
	for (int i = 0; i < 3; i++)
		free(list[i]);
	free(list);
	assert_int_equal(nftw(CLASS, walk, 8, FTW_PHYS), 0);
	assert_true(walked > 100);
	assert_int_equal(glob(CLASS "/*/ports/*/state", 0, NULL, &found), 0);
	assert_int_equal(found.gl_pathc, 1);
	assert_string_equal(found.gl_pathv[0], STATE);
	globfree(&found);
	assert_null(opendir(CLASS "/nobody"));
	assert_int_equal(errno, ENOENT);
}

static void ours__links(void **state)
{
	char target[PATH_MAX] = "";
	char *real;

	(void)state;
	assert_true(readlink(DEVICE "/device/net/lo", target, sizeof(target) - 1) > 0);
	assert_string_equal(target, "/sys/class/net/lo");
	memset(target, 0, sizeof(target));
	assert_true(readlinkat(AT_FDCWD, DEVICE "/device/net/lo", target, sizeof(target) - 1) > 0);
	real = realpath(DEVICE "/device", NULL);
	assert_non_null(real);
	/* What realpath() said may be used further on. */
	snprintf(target, sizeof(target), "%s/numa_node", real);
	assert_string_equal(read_fd(open(target, O_RDONLY)), "-1\n");
	free(real);
	assert_non_null(__realpath_chk(DEVICE, target, sizeof(target)));
	real = canonicalize_file_name(DEVICE);
	assert_string_equal(real, target);
	free(real);
}

static void ours__current_directory(void **state)
{
	(void)state;
	assert_int_equal(chdir(DEVICE "/ports/1"), 0);
	assert_string_equal(read_fd(open("state", O_RDONLY)), "4: ACTIVE\n");
	assert_true(strlen(read_fd(open("hw_counters/tx_pkts", O_RDONLY))) > 1);
	assert_int_equal(open("state", O_WRONLY), -1);
	assert_int_equal(errno, EACCES);
	assert_int_equal(chdir("/"), 0);
}

/* As getxattr() on a file of sysfs: `ls -l` asks. */
static void ours__attributes(void **state)
{
	char value[16];

	(void)state;
	errno = 0;
	assert_int_equal(getxattr(STATE, "security.nothing", value, sizeof(value)), -1);
	assert_int_not_equal(errno, ENOENT);
	errno = 0;
	assert_int_equal(lgetxattr(DEVICE, "security.nothing", value, sizeof(value)), -1);
	assert_int_not_equal(errno, ENOENT);
}

static unsigned long long read_counter(void)
{
	return strtoull(read_fd(open(COUNTER, O_RDONLY)), NULL, 10);
}

static void send_one(struct lo_device *lo, struct ibv_qp *qp)
{
	struct ibv_sge sge = {(uintptr_t)lo->mem, 8, lo->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.rdma = {(uintptr_t)lo->mem + 64, lo->mr->rkey}};
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
	assert_true(lo_poll(lo, &wc));
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
}

/* Each open gives the number of that moment, and nothing is forgotten at the end. */
static void ours__counters_are_live(void **state)
{
	struct lo_device lo;
	struct ibv_qp *qp;
	unsigned long long before = read_counter();
	unsigned long long during;
	char text[64];
	int length;

	(void)state;
	lo_open(&lo);
	qp = lo_make_qp(&lo);
	assert_int_equal(lo_bring(&lo, qp, qp->qp_num, IBV_QPS_RTS), 0);
	send_one(&lo, qp);
	during = read_counter();
	assert_true(during >= before + 2); /* a request and its acknowledgement */
	send_one(&lo, qp);
	assert_true(read_counter() >= during + 2);
	length = ibv_read_sysfs_file(DEVICE "/ports/1/hw_counters", "tx_pkts", text, sizeof(text));
	assert_true(length > 0);
	assert_true(strtoull(text, NULL, 10) >= during + 2);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	lo_close(&lo);
	assert_true(read_counter() >= during + 2);
}

/* The first to look: the library makes the tree, and what it opens for that passes the shim. */
static void ours__sysfs_path(void **state)
{
	char path[PATH_MAX];
	struct stat st;

	(void)state;
	snprintf(path, sizeof(path), "%s/class/infiniband", ibv_get_sysfs_path());
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	snprintf(path, sizeof(path), "%s/class/infiniband/uroce_lo/ports/1/state",
		 ibv_get_sysfs_path());
	assert_string_equal(read_fd(open(path, O_RDONLY)), "4: ACTIVE\n");
}

/* query_port() and query_gid() say the same as the files. */
static void ours__agrees_with_the_library(void **state)
{
	struct ibv_port_attr port;
	struct lo_device lo;
	char text[128];
	union ibv_gid gid;

	(void)state;
	lo_open(&lo);
	assert_int_equal(ibv_query_port(lo.context, 1, &port), 0);
	snprintf(text, sizeof(text), "0x%08x\n", port.port_cap_flags);
	assert_string_equal(read_fd(open(DEVICE "/ports/1/cap_mask", O_RDONLY)), text);
	snprintf(text, sizeof(text), DEVICE "/ports/1/gids/%d", port.gid_tbl_len - 1);
	assert_int_equal(access(text, F_OK), 0);
	snprintf(text, sizeof(text), DEVICE "/ports/1/gids/%d", port.gid_tbl_len);
	assert_int_equal(access(text, F_OK), -1);
	assert_int_equal(ibv_query_gid(lo.context, 1, 0, &gid), 0);
	assert_string_equal(read_fd(open(DEVICE "/ports/1/gids/0", O_RDONLY)),
			    "0000:0000:0000:0000:0000:ffff:7f00:0001\n");
	assert_int_equal(gid.raw[15], 1);
	snprintf(text, sizeof(text), "/dev/infiniband/%s", lo.context->device->dev_name);
	assert_string_equal(text, NODE);
	lo_close(&lo);
}

/* A second address is in the tree after a moment. */
static void ours__follows_addresses(void **state)
{
	char path[] = DEVICE "/ports/1/gids/1";
	bool has_one = strstr(read_fd(open(path, O_RDONLY)), "0a4d") != NULL;

	(void)state;
	assert_false(has_one);
	if (system("ip addr add 10.77.9.1/32 dev lo") != 0)
		skip();
	for (int i = 0; i < 600 && !has_one; i++) {
		usleep(100000);
		has_one = strstr(read_fd(open(path, O_RDONLY)), "0a4d:0901") != NULL;
	}
	assert_true(has_one);
	assert_int_equal(system("ip addr del 10.77.9.1/32 dev lo"), 0);
}

/* ---- strangers ---- */

static void stranger__files(void **state)
{
	char dir[] = "/tmp/uroce-calls-XXXXXX";
	char path[64];
	struct stat st;
	FILE *file;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/infiniband", dir); /* has the word in it */
	umask(0);
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0640);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "abc", 3), 3);
	close(fd);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640); /* the mode came through */
	assert_int_equal(st.st_size, 3);
	assert_string_equal(read_fd(open(path, O_RDONLY)), "abc");
	file = fopen(path, "w");
	assert_non_null(file);
	fclose(file);
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	assert_int_equal(fstatat(fd, "infiniband", &st, 0), 0);
	assert_int_equal(st.st_size, 0);
	close(fd);
	fd = open(dir, O_TMPFILE | O_RDWR, 0600);
	if (fd >= 0)
		close(fd);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

static void stranger__errors(void **state)
{
	char *long_path = malloc(TOO_LONG + 1);
	int (*volatile access_anything)(const char *, int) = access;
	struct stat st;

	(void)state;
	memset(long_path, 'i', TOO_LONG);
	memcpy(long_path, "/infiniband", 11);
	long_path[TOO_LONG] = '\0';
	assert_int_equal(open(MISSING, O_RDONLY), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(open(long_path, O_RDONLY), -1);
	assert_int_equal(errno, ENAMETOOLONG);
	assert_int_equal(stat(long_path, &st), -1);
	assert_int_equal(errno, ENAMETOOLONG);
	assert_int_equal(open("", O_RDONLY), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(openat(-1, "infiniband", O_RDONLY), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(access_anything(NULL, F_OK), -1);
	assert_int_equal(errno, EFAULT);
	assert_null(realpath(MISSING, NULL));
	assert_int_equal(errno, ENOENT);
	free(long_path);
}

static void stranger__neighbours(void **state)
{
	struct stat a;
	struct stat b;

	(void)state;
	if (stat("/sys/class/net", &a) == 0) { /* a container may have no sysfs */
		assert_int_equal(stat("/sys/class/infiniband/../net", &b), 0);
		assert_true(a.st_dev == b.st_dev && a.st_ino == b.st_ino);
	}
	assert_int_equal(access("/sys/class/infinibandage", F_OK), -1);
	assert_int_equal(access("/dev/infinibands/uverbs0", F_OK), -1);
	assert_int_equal(stat("/dev/null", &a), 0);
	assert_true(S_ISCHR(a.st_mode));
}

/* ---- threads and children ---- */

static _Atomic bool is_over;

static void *look_all_the_time(void *wrong)
{
	char text[32];

	while (!is_over) {
		int fd = open(STATE, O_RDONLY);
		ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

		if (n != 10 || memcmp(text, "4: ACTIVE\n", 10) != 0 || access(NODE, R_OK) != 0)
			(*(_Atomic int *)wrong)++;
		if (fd >= 0)
			close(fd);
	}
	return NULL;
}

static void threads__and_forked_children(void **state)
{
	pthread_t threads[4];
	_Atomic int wrong = 0;

	(void)state;
	is_over = false;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, look_all_the_time, &wrong), 0);
	for (int i = 0; i < 50; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			struct stat st;

			alarm(120);
			_exit(stat(STATE, &st) == 0 && stat(NODE, &st) == 0 ? 0 : 1);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	is_over = true;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(wrong, 0);
}

static void descriptors__none_left(void **state)
{
	int before = open("/dev/null", O_RDONLY);
	int after;

	(void)state;
	close(before);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(access(STATE, R_OK), 0);
		(void)read_counter();
		usleep(15000);
	}
	after = open("/dev/null", O_RDONLY);
	close(after);
	assert_int_equal(after, before);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ours__sysfs_path),
		cmocka_unit_test(ours__open),
		cmocka_unit_test(ours__fopen),
		cmocka_unit_test(ours__cannot_be_written),
		cmocka_unit_test(ours__stat),
		cmocka_unit_test(ours__access),
		cmocka_unit_test(ours__device_file),
		cmocka_unit_test(ours__directories),
		cmocka_unit_test(ours__links),
		cmocka_unit_test(ours__current_directory),
		cmocka_unit_test(ours__attributes),
		cmocka_unit_test(ours__counters_are_live),
		cmocka_unit_test(ours__agrees_with_the_library),
		cmocka_unit_test(ours__follows_addresses),
		cmocka_unit_test(stranger__files),
		cmocka_unit_test(stranger__errors),
		cmocka_unit_test(stranger__neighbours),
		cmocka_unit_test(threads__and_forked_children),
		cmocka_unit_test(descriptors__none_left),
	};
	bool has_shim = dlsym(RTLD_DEFAULT, "uroce_preload_shim") != NULL;

	if (argc != 2 || has_shim != (strcmp(argv[1], "shim") == 0)) {
		fprintf(stderr, "calls_test: %s\n",
			argc != 2 ? "shim or library?" : "the shim is there, or is not");
		return 1;
	}
	lo_enter_namespace();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
