/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bytes are on the disk before the name is: a file system may do the latter first, and a
 * machine that loses its power then has an empty report. Owner and rights of a file that is
 * replaced are kept, or it is written in place.
 */
#include "tools/verify_file.h"

#include "tools/command.h"
#include "verify/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool roce_verify_is_on_stdout(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

/* ---- which file it is ---- */

/* Another name of an open descriptor: who replaced the file would write beside the words that come
 * through that. */
static bool is_descriptor(const char *path, const struct stat *st)
{
	static const char *const folders[] = {"/dev/fd/", "/dev/std", "/proc/"};

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		if (strncmp(path, folders[i], strlen(folders[i])) == 0)
			return true;
	}
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		struct stat own;

		if (fstat(fd, &own) == 0 && own.st_dev == st->st_dev && own.st_ino == st->st_ino)
			return true;
	}
	return false;
}

/* The file behind the path, for free(). NULL: it is to be written in place. */
static char *find_target(const char *path, struct stat *out, bool *out_is_new)
{
	struct stat st;

	*out_is_new = false;
	if (stat(path, &st) == 0) {
		*out = st;
		if (!S_ISREG(st.st_mode) || st.st_nlink != 1 || is_descriptor(path, &st))
			return NULL;
		return realpath(path, NULL);
	}
	/* a link to what is not there yet */
	if (errno != ENOENT || lstat(path, &st) == 0)
		return NULL;
	*out_is_new = true;
	return strdup(path);
}

bool roce_verify_is_replaced(const char *path)
{
	struct stat st;
	bool is_new;
	char *target = roce_verify_is_on_stdout(path) ? NULL : find_target(path, &st, &is_new);

	free(target);
	return target != NULL;
}

static int open_for_writing(const char *path, int flags)
{
	return open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | flags, 0666);
}

/* Not of a pipe, whose reader would take the check for all that comes. */
static int try_to_open(const char *path)
{
	struct stat st;
	bool is_there = stat(path, &st) == 0;
	int fd;

	if (is_there && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return access(path, W_OK) ? errno : 0;
	fd = open_for_writing(path, is_there ? O_APPEND : O_CREAT | O_EXCL);
	if (fd < 0 && !is_there && errno == EEXIST) /* a link to what is not there */
		fd = open_for_writing(path, O_CREAT);
	else if (fd >= 0 && !is_there)
		(void)unlink(path);
	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

int roce_verify_check_writable(const char *command, const char *path)
{
	int error = !path || roce_verify_is_on_stdout(path) ? 0 : try_to_open(path);

	if (!error)
		return ROCE_EXIT_OK;
	fprintf(stderr, "uroce %s: %s: %s\n", command, path, strerror(error));
	return ROCE_EXIT_USAGE;
}

/* ---- beginning ---- */

/* ".NAME.XXXXXX" in the same folder, which alone can take the other's place at once. */
static char *make_name_beside(const char *target)
{
	const char *slash = strrchr(target, '/');
	int folder = slash ? (int)(slash + 1 - target) : 0;
	char *name;

	if (asprintf(&name, "%.*s.%s.XXXXXX", folder, target, target + folder) < 0)
		return NULL;
	return name;
}

static bool take_rights(int fd, const struct stat *st, bool is_new)
{
	mode_t mask = umask(0);
	struct stat own;

	umask(mask);
	if (is_new)
		return fchmod(fd, 0666 & ~mask) == 0;
	if (fstat(fd, &own))
		return false;
	if ((st->st_uid != own.st_uid || st->st_gid != own.st_gid) &&
	    fchown(fd, st->st_uid, st->st_gid))
		return false;
	return fchmod(fd, st->st_mode & 07777) == 0;
}

/* What may not be written may not be replaced either, though the folder would allow it. */
static bool may_be_written(const char *target)
{
	int fd = open_for_writing(target, 0);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* False: it is to be written in place. */
static bool begin_beside(struct roce_verify_file *file, const struct stat *st, bool is_new)
{
	int fd;

	if (!is_new && !may_be_written(file->target))
		return false;
	file->temporary = make_name_beside(file->target);
	fd = file->temporary ? mkostemp(file->temporary, O_CLOEXEC) : -1;
	if (fd < 0)
		return false;
	if (take_rights(fd, st, is_new))
		file->stream = fdopen(fd, "w");
	if (!file->stream) {
		close(fd);
		(void)unlink(file->temporary);
	}
	return file->stream != NULL;
}

static void forget_names(struct roce_verify_file *file)
{
	free(file->target);
	free(file->temporary);
	file->target = file->temporary = NULL;
}

bool roce_verify_file_begin(struct roce_verify_file *file, const char *path)
{
	struct stat st;
	bool is_new;

	*file = (struct roce_verify_file){.path = path};
	if (roce_verify_is_on_stdout(path)) {
		file->stream = stdout;
		return true;
	}
	file->target = find_target(path, &st, &is_new);
	if (file->target && begin_beside(file, &st, is_new))
		return true;
	forget_names(file);
	file->stream = fopen(path, "we");
	file->error = file->stream ? 0 : errno;
	return file->stream != NULL;
}

/* ---- the end ---- */

/* A file that is mounted by itself, as containers have them, cannot be replaced. */
static bool copy_over(const char *from, const char *to)
{
	FILE *in = fopen(from, "re");
	FILE *out = in ? fopen(to, "we") : NULL;
	bool is_good = out != NULL;
	char bytes[4096];
	size_t n;

	while (is_good && (n = fread(bytes, 1, sizeof(bytes), in)) > 0)
		is_good = fwrite(bytes, 1, n, out) == n;
	is_good = is_good && !ferror(in);
	if (in)
		(void)fclose(in);
	if (out && fclose(out))
		is_good = false;
	return is_good;
}

static bool put_in_place(const struct roce_verify_file *file)
{
	if (rename(file->temporary, file->target) == 0)
		return true;
	return errno == EBUSY && copy_over(file->temporary, file->target);
}

/* False: errno says why not. */
static bool write_out(struct roce_verify_file *file)
{
	bool is_good = fflush(file->stream) == 0 && !ferror(file->stream) && !file->error;
	int error = file->error ? file->error : errno;

	if (file->stream == stdout) {
		errno = error;
		return is_good;
	}
	if (is_good && file->temporary && fsync(fileno(file->stream)) && errno != EINVAL) {
		is_good = false;
		error = errno;
	}
	if (fclose(file->stream) && is_good) {
		is_good = false;
		error = errno;
	}
	if (is_good && file->temporary && !put_in_place(file)) {
		is_good = false;
		error = errno;
	}
	if (file->temporary)
		(void)unlink(file->temporary); /* where it is still there */
	errno = error;
	return is_good;
}

int roce_verify_file_end(struct roce_verify_file *file, const char *command)
{
	if (file->stream && !write_out(file))
		file->error = errno ? errno : EIO;
	if (file->error && command)
		fprintf(stderr, "uroce %s: %s: %s\n", command, file->path, strerror(file->error));
	forget_names(file);
	file->stream = NULL;
	return file->error ? ROCE_EXIT_FAILED : ROCE_EXIT_OK;
}

/* ---- JSON ---- */

static void dump(const json_t *json, struct roce_verify_file *file)
{
	if (json_dumpf(json, file->stream,
		       JSON_INDENT(1) | JSON_REAL_PRECISION(ROCE_JSON_DIGITS_MAX)) == 0)
		fputc('\n', file->stream);
	else if (!ferror(file->stream))
		file->error = ENOMEM;
}

int roce_verify_write_json(const char *command, const char *path, json_t *json)
{
	/* the parts of a record are its own, and stay as they are */
	json_t *shown = json ? json_deep_copy(json) : NULL;
	struct roce_verify_file file = {.path = path, .error = ENOMEM};

	if (shown) {
		roce_json_round(shown);
		if (roce_verify_file_begin(&file, path))
			dump(shown, &file);
	}
	json_decref(shown);
	json_decref(json);
	return roce_verify_file_end(&file, command);
}
