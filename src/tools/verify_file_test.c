/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports as whole files: what is replaced and what is written in place, what stays of a file (its
 * rights, its links), and that a reader never finds half of one. */
#include "tools/verify_file.h"

#include "tools/command.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OLD "old\n"
#define NEW "new\n"

static int set_up(void **state)
{
	char *folder = strdup("/tmp/roce-verify-file-XXXXXX");

	if (!folder || !mkdtemp(folder) || chdir(folder))
		return -1;
	umask(022);
	*state = folder;
	return 0;
}

static int count_files(const char *folder)
{
	DIR *open = opendir(folder);
	struct dirent *entry;
	int count = 0;

	while (open && (entry = readdir(open)))
		count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	if (open)
		closedir(open);
	return count;
}

static int tear_down(void **state)
{
	DIR *open = opendir(*state);
	struct dirent *entry;

	while (open && (entry = readdir(open)))
		(void)unlink(entry->d_name);
	if (open)
		closedir(open);
	(void)rmdir(*state);
	free(*state);
	return 0;
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void must_have(const char *path, const char *text)
{
	char found[64] = "";
	FILE *f = fopen(path, "re");

	assert_non_null(f);
	assert_true(fread(found, 1, sizeof(found) - 1, f) == strlen(text));
	fclose(f);
	assert_string_equal(found, text);
}

static mode_t rights_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 07777;
}

/* While it is written there is `during` at `path`; NULL: nothing. */
static void write_new(const char *path, const char *during)
{
	struct roce_verify_file file;

	assert_true(roce_verify_file_begin(&file, path));
	fputs(NEW, file.stream);
	assert_int_equal(fflush(file.stream), 0);
	if (during)
		must_have(path, during);
	else
		assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(roce_verify_file_end(&file, NULL), ROCE_EXIT_OK);
	must_have(path, NEW);
}

static void file__comes_as_a_whole(void **state)
{
	assert_true(roce_verify_is_replaced("a"));
	write_new("a", NULL);
	assert_int_equal(rights_of("a"), 0644);
	assert_int_equal(count_files(*state), 1);
}

static void file__is_replaced_as_a_whole(void **state)
{
	put("a", OLD);
	assert_int_equal(chmod("a", 0640), 0);
	write_new("a", OLD);
	assert_int_equal(rights_of("a"), 0640);
	assert_int_equal(count_files(*state), 1);
}

static void file__is_replaced_behind_its_link(void **state)
{
	struct stat st;

	put("a", OLD);
	assert_int_equal(symlink("a", "link"), 0);
	write_new("link", OLD);
	must_have("a", NEW);
	assert_int_equal(lstat("link", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(count_files(*state), 2);
}

static void file__behind_a_link_to_nothing_is_made(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(symlink("a", "link"), 0);
	assert_int_equal(roce_verify_check_writable("verify", "link"), ROCE_EXIT_OK);
	write_new("link", "");
	must_have("a", NEW);
	assert_int_equal(lstat("link", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
}

static void file__of_two_names_keeps_both(void **state)
{
	(void)state;
	put("a", OLD);
	assert_int_equal(link("a", "b"), 0);
	assert_false(roce_verify_is_replaced("a"));
	write_new("a", NEW);
	must_have("b", NEW);
}

/* `uroce ... --json /dev/stdout >report`, or through a link to that. */
static void file__that_is_open_as_standard_output_stays_it(void **state)
{
	int saved = dup(STDOUT_FILENO);
	int fd = open("a", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct stat st[2];

	(void)state;
	assert_true(saved >= 0 && fd >= 0);
	fflush(stdout);
	assert_int_equal(dup2(fd, STDOUT_FILENO), STDOUT_FILENO);
	assert_false(roce_verify_is_replaced("/dev/stdout"));
	assert_false(roce_verify_is_replaced("a"));
	write_new("/dev/stdout", NEW);
	write_new("a", NEW);
	assert_int_equal(fstat(fd, &st[0]), 0);
	assert_int_equal(stat("a", &st[1]), 0);
	assert_int_equal(dup2(saved, STDOUT_FILENO), STDOUT_FILENO);
	assert_true(st[0].st_ino == st[1].st_ino);
	close(saved);
	close(fd);
}

static void file__that_is_none_is_written_as_it_is(void **state)
{
	struct roce_verify_file file;
	char found[8] = "";
	struct stat st;
	int fd;

	(void)state;
	assert_int_equal(roce_verify_check_writable("verify", "/dev/null"), ROCE_EXIT_OK);
	assert_false(roce_verify_is_replaced("/dev/null"));
	assert_true(roce_verify_file_begin(&file, "/dev/null"));
	fputs(NEW, file.stream);
	assert_int_equal(roce_verify_file_end(&file, NULL), ROCE_EXIT_OK);
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));

	assert_int_equal(mkfifo("pipe", 0600), 0);
	/* without a reader, which would be gone after it */
	assert_int_equal(roce_verify_check_writable("verify", "pipe"), ROCE_EXIT_OK);
	fd = open("pipe", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	assert_true(roce_verify_file_begin(&file, "pipe"));
	fputs(NEW, file.stream);
	assert_int_equal(roce_verify_file_end(&file, NULL), ROCE_EXIT_OK);
	assert_int_equal(read(fd, found, sizeof(found)), strlen(NEW));
	assert_string_equal(found, NEW);
	close(fd);
}

static void file__that_cannot_be_written_is_told(void **state)
{
	struct roce_verify_file file;

	(void)state;
	assert_int_equal(roce_verify_check_writable("verify", "nowhere/a"), ROCE_EXIT_USAGE);
	assert_int_equal(roce_verify_check_writable("verify", "."), ROCE_EXIT_USAGE);
	assert_false(roce_verify_file_begin(&file, "nowhere/a"));
	assert_int_equal(file.error, ENOENT);
	assert_int_equal(roce_verify_file_end(&file, NULL), ROCE_EXIT_FAILED);
	assert_true(roce_verify_file_begin(&file, "/dev/full"));
	fputs(NEW, file.stream);
	assert_int_equal(roce_verify_file_end(&file, NULL), ROCE_EXIT_FAILED);
	assert_int_equal(file.error, ENOSPC);
}

/* Who could not end it does not take the old one away. */
static void file__that_was_not_ended_is_dropped(void **state)
{
	struct roce_verify_file file;

	put("a", OLD);
	assert_true(roce_verify_file_begin(&file, "a"));
	fputs("hal", file.stream);
	file.error = ENOMEM;
	assert_int_equal(roce_verify_file_end(&file, NULL), ROCE_EXIT_FAILED);
	must_have("a", OLD);
	assert_int_equal(count_files(*state), 1);
}

/* In a folder where nothing can be made beside it: root may do so, and finds no name. */
static void file__without_room_beside_it_is_written_in_place(void **state)
{
	char name[256];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	put(name, OLD);
	write_new(name, NEW);
	assert_int_equal(count_files(*state), 1);
}

static void file__check_leaves_nothing(void **state)
{
	assert_int_equal(roce_verify_check_writable("verify", "a"), ROCE_EXIT_OK);
	assert_int_equal(count_files(*state), 0);
	put("a", OLD);
	assert_int_equal(roce_verify_check_writable("verify", "a"), ROCE_EXIT_OK);
	must_have("a", OLD);
	assert_int_equal(roce_verify_check_writable("verify", NULL), ROCE_EXIT_OK);
	assert_int_equal(roce_verify_check_writable("verify", "-"), ROCE_EXIT_OK);
}

static void json__has_digits_that_count(void **state)
{
	json_t *json = json_pack("[f, f, f, f, i]", 3.1400000000000001, 0.18311231521463164,
				 2147483648.0, 448404.2049696488, 7);

	(void)state;
	json_incref(json);
	assert_int_equal(roce_verify_write_json("verify", "a", json), ROCE_EXIT_OK);
	must_have("a", "[\n 3.14,\n 0.183112315,\n 2147483648.0,\n 448404.205,\n 7\n]\n");
	/* the record is as it was */
	assert_true(json_real_value(json_array_get(json, 1)) > 0.1831123152);
	json_decref(json);
	assert_int_equal(roce_verify_write_json(NULL, "b", NULL), ROCE_EXIT_FAILED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(file__comes_as_a_whole),
		TEST(file__is_replaced_as_a_whole),
		TEST(file__is_replaced_behind_its_link),
		TEST(file__behind_a_link_to_nothing_is_made),
		TEST(file__of_two_names_keeps_both),
		TEST(file__that_is_open_as_standard_output_stays_it),
		TEST(file__that_is_none_is_written_as_it_is),
		TEST(file__that_cannot_be_written_is_told),
		TEST(file__that_was_not_ended_is_dropped),
		TEST(file__without_room_beside_it_is_written_in_place),
		TEST(file__check_leaves_nothing),
		TEST(json__has_digits_that_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
