/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What elf_image.c says of real programs (this one, a library) and of files made here: cut short at
 * every length, foreign, static, with tables that lead outside.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/elf_image.h"

static char path[] = "/tmp/elf_image_test.XXXXXX";

static void write_file(const void *bytes, size_t length)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, length, f), length);
	assert_int_equal(fclose(f), 0);
}

static enum roce_elf_kind kind_of(const void *bytes, size_t length)
{
	struct roce_elf_image image;

	write_file(bytes, length);
	assert_int_equal(roce_elf_image_read(path, &image), 0);
	return image.kind;
}

static uint8_t *read_self(size_t *out_length)
{
	uint8_t *bytes = malloc(16u << 20);
	FILE *f = fopen("/proc/self/exe", "r");

	assert_non_null(bytes);
	assert_non_null(f);
	*out_length = fread(bytes, 1, 16u << 20, f);
	fclose(f);
	return bytes;
}

static void read__this_program_is_dynamic(void **state)
{
	struct roce_elf_image image;

	(void)state;
	assert_int_equal(roce_elf_image_read("/proc/self/exe", &image), 0);
	assert_int_equal(image.kind, ROCE_ELF_DYNAMIC);
	assert_int_equal(image.bits, 8 * sizeof(void *));
	assert_int_equal(access(image.interpreter, R_OK), 0);
	assert_false(image.needs_verbs);
}

static void read__script_names_its_interpreter(void **state)
{
	static const char with_argument[] = "#! /usr/bin/env  python3\n";
	static const char bare[] = "#!/bin/sh";
	struct roce_elf_image image;

	(void)state;
	write_file(with_argument, sizeof(with_argument) - 1);
	assert_int_equal(roce_elf_image_read(path, &image), 0);
	assert_int_equal(image.kind, ROCE_ELF_NOT);
	assert_string_equal(image.script, "/usr/bin/env");
	write_file(bare, sizeof(bare) - 1);
	assert_int_equal(roce_elf_image_read(path, &image), 0);
	assert_string_equal(image.script, "/bin/sh");
}

static void read__no_elf_file(void **state)
{
	struct roce_elf_image image;

	(void)state;
	assert_int_equal(kind_of("", 0), ROCE_ELF_NOT);
	assert_int_equal(kind_of("\x7f", 1), ROCE_ELF_NOT);
	assert_int_equal(kind_of("plain text", 10), ROCE_ELF_NOT);
	assert_int_equal(roce_elf_image_read("/nonexistent", &image), -ENOENT);
	assert_int_equal(roce_elf_image_read("/tmp", &image), -EACCES);
}

static void read__foreign(void **state)
{
	size_t length;
	uint8_t *bytes = read_self(&length);
	uint8_t machine = bytes[18];

	(void)state;
	bytes[18] = (uint8_t)(machine + 1);
	assert_int_equal(kind_of(bytes, length), ROCE_ELF_FOREIGN);
	bytes[18] = machine;
	bytes[EI_CLASS] ^= ELFCLASS32 ^ ELFCLASS64;
	assert_int_equal(kind_of(bytes, length), ROCE_ELF_FOREIGN);
	bytes[EI_CLASS] ^= ELFCLASS32 ^ ELFCLASS64;
	bytes[EI_DATA] ^= ELFDATA2LSB ^ ELFDATA2MSB;
	assert_int_equal(kind_of(bytes, length), ROCE_ELF_FOREIGN);
	free(bytes);
}

/* Program headers of the copy in `bytes`. */
static Elf64_Phdr *headers(uint8_t *bytes, size_t *out_count)
{
	Elf64_Ehdr *eh = (void *)bytes;

	*out_count = eh->e_phnum;
	return (void *)(bytes + eh->e_phoff);
}

static void read__static_object_and_wild_tables(void **state)
{
	size_t length;
	size_t count;
	uint8_t *bytes = read_self(&length);
	Elf64_Ehdr *eh = (void *)bytes;
	Elf64_Phdr *ph = headers(bytes, &count);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		Elf64_Phdr saved = ph[i];

		if (saved.p_type == PT_INTERP) {
			ph[i].p_type = PT_NOTE;
			assert_int_equal(kind_of(bytes, length), ROCE_ELF_STATIC);
			ph[i] = saved;
			ph[i].p_filesz = 3; /* no end of string within it */
			assert_int_equal(kind_of(bytes, length), ROCE_ELF_DAMAGED);
		}
		if (saved.p_type == PT_DYNAMIC) {
			ph[i].p_offset = length - 8;
			assert_int_equal(kind_of(bytes, length), ROCE_ELF_DAMAGED);
			ph[i].p_offset = UINT64_MAX - 7;
			assert_int_equal(kind_of(bytes, length), ROCE_ELF_DAMAGED);
			ph[i].p_offset = saved.p_offset + 1;
			assert_int_equal(kind_of(bytes, length), ROCE_ELF_DAMAGED);
		}
		ph[i] = saved;
	}
	eh->e_type = ET_REL;
	assert_int_equal(kind_of(bytes, length), ROCE_ELF_OBJECT);
	eh->e_type = ET_EXEC;
	eh->e_phoff = length - 8;
	assert_int_equal(kind_of(bytes, length), ROCE_ELF_DAMAGED);
	free(bytes);
}

static void read__cut_short(void **state)
{
	size_t length;
	uint8_t *bytes = read_self(&length);

	(void)state;
	assert_int_equal(kind_of(bytes, 19), ROCE_ELF_DAMAGED);
	for (size_t n = 20; n < sizeof(Elf64_Ehdr) + 8 * sizeof(Elf64_Phdr); n += 7)
		assert_int_equal(kind_of(bytes, n), ROCE_ELF_DAMAGED);
	free(bytes);
}

static int make_path(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read__this_program_is_dynamic),
		cmocka_unit_test(read__script_names_its_interpreter),
		cmocka_unit_test(read__no_elf_file),
		cmocka_unit_test(read__foreign),
		cmocka_unit_test(read__static_object_and_wild_tables),
		cmocka_unit_test(read__cut_short),
	};

	return cmocka_run_group_tests(tests, make_path, remove_path);
}
