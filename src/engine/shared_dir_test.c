/* SPDX-License-Identifier: BSD-2-Clause */
/* The shared directory: one for a namespace, ours alone, and what was left there goes in time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/shared_dir.h"

#define SKIP 77

static char own[ROCE_SHARED_DIR_MAX];
static char base[ROCE_SHARED_DIR_MAX];

static void get__same_again_and_ours(void **state)
{
	char again[ROCE_SHARED_DIR_MAX];
	struct stat st;

	(void)state;
	assert_int_equal(roce_shared_dir_get(again), 0);
	assert_string_equal(again, own);
	assert_int_equal(stat(own, &st), 0);
	assert_int_equal(st.st_uid, geteuid());
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(stat(base, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
}

/* In a child: another namespace has another directory. 77: it may not make one. */
static int try_other_namespace(void)
{
	char other[ROCE_SHARED_DIR_MAX];

	if (unshare(CLONE_NEWNET) != 0)
		return SKIP;
	if (roce_shared_dir_get(other) != 0 || strcmp(other, own) == 0)
		return 1;
	roce_shared_dir_forget();
	return access(other, F_OK) == 0 || access(own, F_OK) != 0;
}

/* One where somebody counts stays. */
static int try_forgetting_what_is_in_use(void)
{
	char other[ROCE_SHARED_DIR_MAX];
	char path[PATH_MAX];
	bool is_kept;
	int fd;

	if (unshare(CLONE_NEWNET) != 0)
		return SKIP;
	if (roce_shared_dir_get(other) != 0)
		return 1;
	snprintf(path, sizeof(path), "%s/counted", other);
	fd = open(path, O_CREAT | O_RDWR, 0600);
	if (fd < 0 || flock(fd, LOCK_SH) != 0)
		return 1;
	roce_shared_dir_forget();
	is_kept = access(path, F_OK) == 0;
	close(fd);
	roce_shared_dir_forget();
	return !is_kept || access(other, F_OK) == 0;
}

/* One who has nothing here, and is in no other run of this test that there may be. */
static uid_t own_user(unsigned int n)
{
	return 20000 + (uid_t)getppid() % 10000 * 4 + n;
}

/* Of a user who has nothing else here. */
static int try_forgetting_the_last(void)
{
	const uid_t user = own_user(0);
	char path[ROCE_SHARED_DIR_MAX];
	int wrong;

	if (geteuid() != 0 || seteuid(user) != 0)
		return SKIP;
	wrong = roce_shared_dir_get(path) != 0;
	roce_shared_dir_forget();
	*strrchr(path, '/') = '\0';
	return wrong || access(path, F_OK) == 0;
}

/* In place of libc's: what finds that a directory is there finds nothing at its next look. */
static bool is_removed_at_once;

int mkdir(const char *path, mode_t mode)
{
	int rc = mkdirat(AT_FDCWD, path, mode);

	if (rc != 0 && errno == EEXIST && is_removed_at_once) {
		is_removed_at_once = false;
		(void)rmdir(path);
		errno = EEXIST;
	}
	return rc;
}

/* What another one is just removing is not taken for a stranger's. */
static int try_getting_what_is_forgotten(void)
{
	const uid_t user = own_user(1);
	char path[ROCE_SHARED_DIR_MAX];
	char again[ROCE_SHARED_DIR_MAX];
	char parent[ROCE_SHARED_DIR_MAX];
	int wrong;

	if (geteuid() != 0 || seteuid(user) != 0)
		return SKIP;
	wrong = roce_shared_dir_get(path) != 0;
	roce_shared_dir_forget();
	snprintf(parent, sizeof(parent), "%.*s", (int)(strrchr(path, '/') - path), path);
	wrong |= mkdir(parent, 0700) != 0;
	is_removed_at_once = true;
	wrong |= roce_shared_dir_get(again) != 0 || is_removed_at_once || strcmp(path, again) != 0;
	roce_shared_dir_forget();
	return wrong;
}

static int in_child(int (*function)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(function());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void get__another_for_another_namespace(void **state)
{
	int status = in_child(try_other_namespace);

	(void)state;
	if (status == SKIP)
		skip();
	assert_int_equal(status, 0);
}

static void forget__what_nobody_uses(void **state)
{
	int in_use = in_child(try_forgetting_what_is_in_use);
	int last = in_child(try_forgetting_the_last);
	int just = in_child(try_getting_what_is_forgotten);

	(void)state;
	if (in_use == SKIP || last == SKIP || just == SKIP)
		skip();
	assert_int_equal(in_use, 0);
	assert_int_equal(last, 0);
	assert_int_equal(just, 0);
}

/* A directory of a namespace that was used `idle` seconds ago. */
static void make_old(char out[PATH_MAX], const char *name, time_t idle)
{
	struct timespec times[2] = {{.tv_sec = time(NULL) - idle}, {.tv_sec = time(NULL) - idle}};
	char path[PATH_MAX + 32];
	int fd;

	snprintf(out, PATH_MAX, "%s/%s-%d", base, name, (int)getpid());
	assert_int_equal(mkdir(out, 0700), 0);
	snprintf(path, sizeof(path), "%s/" ROCE_SHARED_DIR_TREE "x", out);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/counted", out);
	fd = open(path, O_CREAT | O_RDWR, 0600);
	assert_true(fd >= 0);
	close(fd);
	snprintf(path, sizeof(path), "%s/used", out);
	fd = open(path, O_CREAT | O_RDWR, 0600);
	assert_true(fd >= 0);
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

static bool has(const char *dir, const char *name)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return access(path, F_OK) == 0;
}

/* As if somebody had looked for what is old `ago` seconds before now. */
static void set_looked(time_t ago)
{
	struct timespec times[2] = {{.tv_sec = time(NULL) - ago}, {.tv_sec = time(NULL) - ago}};
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/.looked", base);
	fd = open(path, O_CREAT | O_RDWR, 0600);
	assert_true(fd >= 0);
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

static void remove_old__by_age_and_use(void **state)
{
	char fresh[PATH_MAX];
	char hours[PATH_MAX];
	char days[PATH_MAX];
	char days_in_use[PATH_MAX];
	char path[PATH_MAX + 32];
	int fd;
	int status;

	(void)state;
	set_looked(0); /* programs in other namespaces look, too */
	make_old(fresh, "test-fresh", 60);
	make_old(hours, "test-hours", 2 * 3600);
	make_old(days, "test-days", 2 * 86400);
	make_old(days_in_use, "test-days-in-use", 2 * 86400);
	snprintf(path, sizeof(path), "%s/counted", days_in_use);
	fd = open(path, O_RDONLY);
	assert_int_equal(flock(fd, LOCK_SH), 0);
	/* Who makes one looks at the others, but not when somebody just did. */
	status = in_child(try_other_namespace);
	if (status == 0)
		assert_true(has(hours, "tree-x") && has(days, "counted"));
	set_looked(61);
	status = in_child(try_other_namespace);
	if (status == 0) {
		/* If it was another program that looked, it is not ready yet. */
		for (int i = 0; i < 6000 && (has(hours, "tree-x") || access(days, F_OK) == 0 ||
					     has(days_in_use, "tree-x"));
		     i++)
			usleep(10000);
		assert_true(has(fresh, "tree-x") && has(fresh, "counted"));
		assert_true(!has(hours, "tree-x") && has(hours, "counted"));
		assert_int_not_equal(access(days, F_OK), 0);
		assert_true(!has(days_in_use, "tree-x") && has(days_in_use, "counted"));
	}
	close(fd);
	roce_shared_dir_remove(fresh);
	roce_shared_dir_remove(hours);
	roce_shared_dir_remove(days);
	roce_shared_dir_remove(days_in_use);
	if (status == SKIP)
		skip();
	assert_int_equal(status, 0);
}

static void remove__does_not_follow_links(void **state)
{
	char outside[] = "/tmp/uroce-shared-XXXXXX";
	char inside[PATH_MAX];
	char path[PATH_MAX];

	(void)state;
	assert_non_null(mkdtemp(outside));
	snprintf(path, sizeof(path), "%s/kept", outside);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(inside, sizeof(inside), "%s/test-links-%d", base, (int)getpid());
	assert_int_equal(mkdir(inside, 0700), 0);
	snprintf(path, sizeof(path), "%s/test-links-%d/out", base, (int)getpid());
	assert_int_equal(symlink(outside, path), 0);
	roce_shared_dir_remove(inside);
	assert_int_not_equal(access(inside, F_OK), 0);
	assert_true(has(outside, "kept"));
	roce_shared_dir_remove(outside);
}

/* Takes the usual name before a user of his own number: only root can be the stranger. */
static int try_taken_name(void)
{
	const uid_t user = own_user(2);
	char name[64];
	char got[ROCE_SHARED_DIR_MAX];
	int wrong;

	if (geteuid() != 0 || strncmp(base, "/dev/shm/", 9) != 0)
		return SKIP;
	snprintf(name, sizeof(name), "/dev/shm/uroce-%u", user);
	if (mkdir(name, 0777) != 0 || chmod(name, 0777) != 0)
		return SKIP;
	if (seteuid(user) != 0) {
		rmdir(name);
		return SKIP;
	}
	wrong = roce_shared_dir_get(got) != 0 || strncmp(got, name, strlen(name)) != 0 ||
		got[strlen(name)] != '.';
	if (!wrong) {
		*strrchr(got, '/') = '\0';
		roce_shared_dir_remove(got);
	}
	if (seteuid(0) != 0)
		return 1;
	rmdir(name);
	return wrong;
}

static void get__passes_over_a_stranger(void **state)
{
	int status = in_child(try_taken_name);

	(void)state;
	if (status == SKIP)
		skip();
	assert_int_equal(status, 0);
}

/* Where that may be: other programs look for what is old, too, and remove it. */
static void enter_own_memory(void)
{
	if (unshare(CLONE_NEWNET | CLONE_NEWNS) == 0 &&
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
		(void)mount("none", "/dev/shm", "tmpfs", 0, "mode=1777");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(get__same_again_and_ours),
		cmocka_unit_test(get__another_for_another_namespace),
		cmocka_unit_test(forget__what_nobody_uses),
		cmocka_unit_test(remove_old__by_age_and_use),
		cmocka_unit_test(remove__does_not_follow_links),
		cmocka_unit_test(get__passes_over_a_stranger),
	};

	enter_own_memory();
	if (roce_shared_dir_get(own) != 0) {
		puts("no directory in memory here");
		return SKIP;
	}
	memcpy(base, own, sizeof(base));
	*strrchr(base, '/') = '\0';
	return cmocka_run_group_tests(tests, NULL, NULL);
}
