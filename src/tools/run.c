/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `uroce run`: a program with our libraries in place of the system's. All that it takes is two
 * variables of the environment and execvp(); most of this file foresees why that could be in vain
 * (the loader would ignore the variable without a word, and the program would just see no device)
 * and says so instead of running it.
 *
 * DT_RPATH is searched before LD_LIBRARY_PATH. A program that has one and would find a
 * libibverbs.so.1 there gets ours by LD_PRELOAD, which the loader takes for the one it needs.
 */
#include "tools/command.h"
#include "tools/elf_image.h"
#include "tools/environment.h"
#include "tools/names.h"
#include "tools/place.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

/* #! scripts may name scripts, as many deep as the kernel follows. */
#define SCRIPT_DEPTH_MAX 4

static int cannot_run(const char *path, const char *why, const char *remedy)
{
	fprintf(stderr, "uroce run: %s %s%s%s\n", path, why, remedy ? "; " : "",
		remedy ? remedy : "");
	return ROCE_EXIT_CANNOT_RUN;
}

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* The file that execvp() would start. 0 or -errno. */
static int find_program(const char *name, char *out)
{
	const char *path = getenv("PATH");
	bool was_denied = false;

	if (strchr(name, '/')) {
		if (snprintf(out, PATH_MAX, "%s", name) >= PATH_MAX)
			return -ENAMETOOLONG;
		if (is_program(out))
			return 0;
		return access(out, F_OK) == 0 ? -EACCES : -ENOENT;
	}
	if (!path)
		path = "/bin:/usr/bin";
	for (;;) {
		size_t n = strcspn(path, ":");
		int length = snprintf(out, PATH_MAX, "%.*s%s%s", (int)n, path, n ? "/" : "", name);

		if (length > 0 && length < PATH_MAX) {
			if (is_program(out))
				return 0;
			was_denied |= access(out, F_OK) == 0;
		}
		if (!path[n])
			return was_denied ? -EACCES : -ENOENT;
		path += n + 1;
	}
}

/* Programs of this installation, verbs-check among them, are found without a path. */
static int find_beside(const struct roce_place *place, const char *name, char *out)
{
	const char *slash = strrchr(place->self, '/');
	int length;

	if (!slash || strchr(name, '/'))
		return -ENOENT;
	length = snprintf(out, PATH_MAX, "%.*s/%s", (int)(slash - place->self), place->self, name);
	return length > 0 && length < PATH_MAX && is_program(out) ? 0 : -ENOENT;
}

/*
 * Whether the kernel will start it in secure mode (AT_SECURE), where the loader ignores the
 * variables: it gains an identity or, for those who are not root, capabilities.
 */
static const char *secure_mode_reason(const char *path)
{
	struct statvfs vfs;
	struct stat st;

	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 || stat(path, &st))
		return NULL;
	if (statvfs(path, &vfs) == 0 && (vfs.f_flag & ST_NOSUID))
		return NULL;
	if ((st.st_mode & S_ISUID) && st.st_uid != getuid())
		return "is a set-user-ID program, for which the loader ignores LD_LIBRARY_PATH";
	if ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) && st.st_gid != getgid())
		return "is a set-group-ID program, for which the loader ignores LD_LIBRARY_PATH";
	if (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0)
		return "has file capabilities, with which the loader ignores LD_LIBRARY_PATH";
	return NULL;
}

/* Whether the program's RPATH leads to a libibverbs.so.1 before LD_LIBRARY_PATH is looked at. */
static bool is_bound_by_rpath(const char *program, const char *rpath)
{
	char real[PATH_MAX];
	char file[PATH_MAX];

	if (!*rpath || !realpath(program, real))
		return false;
	*strrchr(real, '/') = '\0';
	for (;;) {
		int n = (int)strcspn(rpath, ":");
		int origin = 0;
		int length;

		if (strncmp(rpath, "$ORIGIN", 7) == 0)
			origin = 7;
		else if (strncmp(rpath, "${ORIGIN}", 9) == 0)
			origin = 9;
		length = snprintf(file, sizeof(file), "%s%.*s/libibverbs.so.1", origin ? real : "",
				  n - origin, rpath + origin);
		if (length > 0 && length < PATH_MAX && access(file, R_OK) == 0)
			return true;
		if (!rpath[n])
			return false;
		rpath += n + 1;
	}
}

static int judge_foreign(const char *path, const struct roce_elf_image *image)
{
	char why[128];

	snprintf(why, sizeof(why), "is a %u-bit %s program, and the libraries here are for another",
		 image->bits, roce_elf_machine_str(image->machine));
	return cannot_run(path, why, "build uroce for that architecture");
}

static int judge_dynamic(const char *path, const struct roce_elf_image *image, bool *out_preload)
{
	if (strstr(image->interpreter, "/ld-musl"))
		return cannot_run(path, "is linked with musl, and the libraries here with glibc",
				  "build uroce and the program for one C library");
	*out_preload = is_bound_by_rpath(path, image->rpath);
	return ROCE_EXIT_OK;
}

/* ROCE_EXIT_OK, or the exit status after having said why it cannot run. */
static int judge(const char *path, unsigned int depth, bool *out_preload)
{
	struct roce_elf_image image;
	const char *secure = secure_mode_reason(path);
	int rc = roce_elf_image_read(path, &image);

	if (rc == -EACCES)
		return ROCE_EXIT_OK; /* may be executed but not read: the kernel decides */
	if (rc)
		return cannot_run(path, "cannot be read:", strerror(-rc));
	if (secure && !(image.kind == ROCE_ELF_NOT))
		return cannot_run(
			path, secure,
			"start uroce behind it (as in: sudo uroce run CMD), or run a copy "
			"without the privilege");
	switch (image.kind) {
	case ROCE_ELF_NOT:
		if (!image.script[0] || depth == SCRIPT_DEPTH_MAX)
			return ROCE_EXIT_OK; /* execvp() hands it to the shell, or refuses it */
		return judge(image.script, depth + 1, out_preload);
	case ROCE_ELF_DAMAGED:
		return cannot_run(path, "is a damaged ELF file", NULL);
	case ROCE_ELF_OBJECT:
		return cannot_run(path, "is an ELF file but no program", NULL);
	case ROCE_ELF_FOREIGN:
		return judge_foreign(path, &image);
	case ROCE_ELF_STATIC:
		return cannot_run(path, "is linked statically: it has its own copy of what it uses",
				  "link it against libibverbs.so.1");
	case ROCE_ELF_DYNAMIC:
		return judge_dynamic(path, &image, out_preload);
	}
	return ROCE_EXIT_OK;
}

int roce_cmd_run(int argc, char **argv)
{
	struct roce_environment_extras extras = {0};
	struct roce_place place;
	char path[PATH_MAX];
	char err[256];
	int first = 1;
	int rc;

	if (first < argc && strcmp(argv[first], "--sockets") == 0) {
		extras.sockets = true;
		first++;
	}
	if (first < argc && strcmp(argv[first], "--") == 0)
		first++;
	else if (first < argc && argv[first][0] == '-')
		return roce_usage_error(
			"run", "no option %s (options of the program come after it)", argv[first]);
	if (first == argc)
		return roce_usage_error("run",
					"no program given; expected: uroce run CMD [ARG...]");
	if (roce_place_find(&place, err, sizeof(err))) {
		fprintf(stderr, "uroce run: %s\n", err);
		return ROCE_EXIT_CANNOT_RUN;
	}
	if (roce_names_check(getenv("UROCE_NAME"), err, sizeof(err)))
		fprintf(stderr, "uroce run: %s\n", err);
	rc = find_program(argv[first], path);
	if (rc == -ENOENT)
		rc = find_beside(&place, argv[first], path);
	if (rc) {
		fprintf(stderr, "uroce run: %s: %s\n", argv[first],
			rc == -ENOENT ? "no such program" : strerror(-rc));
		return rc == -ENOENT ? ROCE_EXIT_NOT_FOUND : ROCE_EXIT_CANNOT_RUN;
	}
	rc = judge(path, 0, &extras.preload_verbs);
	if (rc)
		return rc;
	rc = roce_environment_set(&place, &extras);
	if (rc) {
		fprintf(stderr, "uroce run: %s\n",
			rc == -ENOENT ? "no librspreload.so beside the other libraries"
				      : "out of memory");
		return ROCE_EXIT_FAILED;
	}
	execv(path, argv + first);
	if (errno == ENOEXEC) /* a script without #!, which execvp() gives to the shell */
		execvp(argv[first], argv + first);
	return cannot_run(path, "cannot be started:", strerror(errno));
}
