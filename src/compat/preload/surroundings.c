/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One tree for all processes of a user in a network namespace (that agree about UROCE_NAME). Who
 * finds that it does not tell the facts writes another beside it and exchanges the two: a reader
 * sees one or the other, and the path is the same for ever.
 *
 * The lock is taken in whatever context a program looks at a file, so signals are blocked and
 * cancellation is off meanwhile, and a forked child gets a fresh one.
 */
#include "compat/preload/surroundings.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/list.h"
#include "compat/preload/divert.h"
#include "compat/preload/got.h"
#include "compat/preload/tree.h"
#include "engine/file_limit.h"
#include "engine/shared_dir.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FRESH_NS       (200 * ROCE_NS_PER_MS)
#define FACTS	       "facts"

#define LOCK_TRIES_MAX 100
#define LOCK_PAUSE_NS  10000000

#define LIBRARY	       "libibverbs.so.1"

struct known_path {
	struct roce_list link;
	char text[ROCE_SHARED_DIR_MAX + 64];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct roce_list known_paths = {&known_paths, &known_paths};
static const char *current; /* of `current_key`, looked at last at `looked_ns` */
static uint64_t current_key;
static roce_ns_t looked_ns;

/* This thread is at it. What it opens may come back here through the preload shim, which only knows
 * when it was the one that asked. */
static __thread bool is_working __attribute__((tls_model("initial-exec")));

/* ---- facts ---- */

struct facts {
	struct roce_netdev *netdevs;
	struct roce_attr_device *devices;
	uint32_t count;
	uint64_t hash;
};

static void free_facts(struct facts *f)
{
	free(f->devices);
	free(f->netdevs);
}

static void hash_facts(struct facts *f)
{
	f->hash = roce_hash(ROCE_HASH_START, UROCE_VERSION, sizeof(UROCE_VERSION));
	for (uint32_t i = 0; i < f->count; i++) {
		const struct roce_netdev *nd = &f->netdevs[i];

		f->hash = roce_hash(f->hash, f->devices[i].name, sizeof(f->devices[i].name));
		f->hash = roce_hash(f->hash, nd, offsetof(struct roce_netdev, gids));
		f->hash = roce_hash(f->hash, nd->gids, nd->gid_count * sizeof(nd->gids[0]));
	}
}

static int read_facts(struct facts *f)
{
	static const struct roce_shared_counters no_counters;
	struct roce_netdev_source *source;
	int err = roce_netdev_source_open(&source);

	*f = (struct facts){0};
	if (err)
		return err;
	err = roce_netdev_list(source, &f->netdevs, &f->count);
	roce_netdev_source_close(source);
	if (err)
		return err;
	f->devices = calloc((size_t)f->count + 1, sizeof(*f->devices));
	if (!f->devices) {
		free_facts(f);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < f->count; i++) {
		f->devices[i].netdev = &f->netdevs[i];
		f->devices[i].counters = &no_counters;
		roce_netdev_device_name(f->netdevs[i].name, f->devices[i].name);
	}
	hash_facts(f);
	return 0;
}

/* ---- the tree on disk ---- */

static bool does_tell(const char *root, const char *facts_text)
{
	char path[PATH_MAX + 32];
	char text[32] = "";
	int fd;

	snprintf(path, sizeof(path), "%s/" FACTS, root);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return false;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return strcmp(text, facts_text) == 0;
}

static int write_facts(const char *root, const char *facts_text)
{
	char path[PATH_MAX + 32];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/" FACTS, root);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	if (fd < 0)
		return -errno;
	n = write(fd, facts_text, strlen(facts_text));
	close(fd);
	return n == (ssize_t)strlen(facts_text) ? 0 : -EIO;
}

/* Held: the lock of this tree among processes. */
static int replace_tree(const char *root, const struct facts *f, const char *facts_text)
{
	char other[PATH_MAX + 16];
	int err;

	snprintf(other, sizeof(other), "%s.other", root);
	roce_shared_dir_remove(other);
	err = roce_tree_write(other, f->devices, f->count);
	if (!err)
		err = write_facts(other, facts_text);
	if (!err && renameat2(AT_FDCWD, other, AT_FDCWD, root, RENAME_EXCHANGE) != 0 &&
	    rename(other, root) != 0)
		err = -errno;
	roce_shared_dir_remove(other);
	return err;
}

/* Signals are blocked, so nobody may make us wait for long. */
static int lock_tree(int fd)
{
	for (int i = 0; i < LOCK_TRIES_MAX; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK)
			return -errno;
		nanosleep(&(struct timespec){.tv_nsec = LOCK_PAUSE_NS}, NULL);
	}
	return -ETIMEDOUT;
}

static int bring_up_to_date(const char *root)
{
	char path[PATH_MAX + 32];
	char text[32];
	struct facts f;
	int err = read_facts(&f);
	int fd;

	if (err)
		return err;
	snprintf(text, sizeof(text), "%016" PRIx64, f.hash);
	if (!does_tell(root, text)) {
		snprintf(path, sizeof(path), "%s.lock", root);
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		err = fd < 0 ? -errno : lock_tree(fd);
		if (!err && !does_tell(root, text))
			err = replace_tree(root, &f, text);
		if (fd >= 0)
			close(fd);
	}
	free_facts(&f);
	return err;
}

/* ---- the path ---- */

static const char *remember(const char *text)
{
	struct known_path *known;
	struct roce_list *pos;

	roce_list_for_each (pos, &known_paths) {
		known = roce_container_of(pos, struct known_path, link);
		if (strcmp(known->text, text) == 0)
			return known->text;
	}
	known = calloc(1, sizeof(*known));
	if (!known)
		return NULL;
	snprintf(known->text, sizeof(known->text), "%s", text);
	roce_list_add_tail(&known_paths, &known->link);
	return known->text;
}

static uint64_t hash_names(void)
{
	const char *names = getenv("UROCE_NAME");

	return roce_hash(ROCE_HASH_START, names ? names : "", names ? strlen(names) : 0);
}

/* What decides which tree it is. */
static uint64_t make_key(void)
{
	uid_t user = geteuid();
	uint64_t key = roce_hash(hash_names(), &user, sizeof(user));
	struct stat st;

	if (stat("/proc/thread-self/ns/net", &st) == 0)
		key = roce_hash(key, &st.st_ino, sizeof(st.st_ino));
	return key;
}

static const char *make_path(void)
{
	char dir[ROCE_SHARED_DIR_MAX];
	char root[sizeof(((struct known_path *)NULL)->text) - 8];
	char sysfs[sizeof(root) + 8];

	if (roce_shared_dir_get(dir) != 0)
		return NULL;
	snprintf(root, sizeof(root), "%s/" ROCE_SHARED_DIR_TREE "%08x", dir,
		 (unsigned int)hash_names());
	snprintf(sysfs, sizeof(sysfs), "%s/sys", root);
	if (bring_up_to_date(root) != 0 && access(sysfs, F_OK) != 0)
		return NULL; /* an old one is better than none */
	return remember(sysfs);
}

static const char *find_path(void)
{
	uint64_t key = make_key();
	roce_ns_t now = roce_clock_now();

	if (!current || key != current_key || now - looked_ns > FRESH_NS) {
		current = make_path();
		current_key = key;
		looked_ns = now;
	}
	return current;
}

/* ---- interface ---- */

const char *roce_surroundings_sysfs(void)
{
	struct roce_file_limit limit;
	const char *path;
	sigset_t all, before;
	int cancel;

	if (is_working)
		return NULL;
	roce_file_limit_begin(&limit);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&lock);
	is_working = true;
	path = find_path();
	is_working = false;
	pthread_mutex_unlock(&lock);
	pthread_setcancelstate(cancel, &cancel);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	roce_file_limit_end(&limit);
	return path;
}

static int read_device_file(const char *device, const char *path, char *out, size_t size)
{
	struct roce_shared_counters counters;
	struct facts f;
	int result = read_facts(&f);

	if (result)
		return result;
	result = -ENOENT;
	for (uint32_t i = 0; i < f.count && result == -ENOENT; i++) {
		if (strcmp(f.devices[i].name, device) != 0)
			continue;
		if (roce_shared_counters_sum(f.netdevs[i].ifindex, &counters) == 0)
			f.devices[i].counters = &counters;
		result = roce_attr_read(&f.devices[i], path, out, size);
	}
	free_facts(&f);
	return result;
}

int roce_surroundings_read(const char *dir, const char *file, char *out, size_t size)
{
	static const char class_dir[] = "/sys/class/infiniband/";
	char device[ROCE_DEVICE_NAME_MAX];
	char path[256];
	size_t n;

	if (strncmp(dir, class_dir, sizeof(class_dir) - 1) != 0)
		return -ENOENT;
	dir += sizeof(class_dir) - 1;
	n = strcspn(dir, "/");
	if (n >= sizeof(device))
		return -ENOENT;
	memcpy(device, dir, n);
	device[n] = '\0';
	n = (size_t)snprintf(path, sizeof(path), "%s%s%s", dir[n] ? dir + n + 1 : "",
			     dir[n] ? "/" : "", file);
	return n < sizeof(path) ? read_device_file(device, path, out, size) : -ENOENT;
}

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork_in_parent(void)
{
	pthread_mutex_unlock(&lock);
}

static void after_fork_in_child(void)
{
	pthread_mutex_init(&lock, NULL);
}

/* Objects that were loaded since: the loader counts. */
static int get_loads(struct dl_phdr_info *info, size_t size, void *out)
{
	(void)size;
	*(unsigned long long *)out = info->dlpi_adds;
	return 1;
}

void roce_surroundings_patch(void)
{
	static _Atomic unsigned long long looked;
	unsigned long long loads = 0;

	dl_iterate_phdr(get_loads, &loads);
	if (loads == looked || dlsym(RTLD_DEFAULT, "uroce_preload_shim"))
		return;
	looked = loads;
	(void)roce_got_patch(LIBRARY, roce_wrapped_calls);
}

__attribute__((constructor)) static void surround(void)
{
	(void)pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
	roce_surroundings_patch();
}

const struct roce_divert_source *roce_divert_source(void)
{
	static const struct roce_divert_source source = {roce_surroundings_sysfs,
							 roce_surroundings_read};

	return &source;
}
