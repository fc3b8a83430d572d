/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads just enough of an ELF file to foresee what the dynamic loader will do with it. The file is
 * somebody's, so every offset and length in it is held against the size of the file before it is
 * followed, and a string must end inside the file.
 *
 * Only images of our own word size and byte order are read further than the header: others cannot
 * load our library anyway, and that is all the caller wants to know of them.
 */
#include "tools/elf_image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct file_view {
	const uint8_t *bytes;
	size_t length;
};

struct dynamic_facts {
	uint64_t strtab_vaddr;
	uint64_t strtab_length;
	uint64_t rpath;	  /* offset in the string table, UINT64_MAX if absent */
	uint64_t runpath; /* likewise */
};

static const struct {
	uint16_t machine;
	const char *name;
} machines[] = {
	{EM_386, "x86"},	 {EM_X86_64, "x86-64"}, {EM_ARM, "ARM"},
	{EM_AARCH64, "AArch64"}, {EM_PPC64, "POWER"},	{EM_S390, "s390"},
	{EM_RISCV, "RISC-V"},	 {EM_MIPS, "MIPS"},	{EM_LOONGARCH, "LoongArch"},
	{EM_SPARCV9, "SPARC"},
};

const char *roce_elf_machine_str(uint16_t machine)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
		if (machines[i].machine == machine)
			return machines[i].name;
	}
	return "machine";
}

static const void *view_at(const struct file_view *v, uint64_t offset, uint64_t length)
{
	if (offset > v->length || length > v->length - offset)
		return NULL;
	return v->bytes + offset;
}

/* Like view_at, for a table of structs: one that is not aligned in the file is none. */
static const void *view_table(const struct file_view *v, uint64_t offset, uint64_t length)
{
	return offset % sizeof(void *) ? NULL : view_at(v, offset, length);
}

/* A string of the file into a buffer of PATH_MAX; false if it leads outside or is too long. */
static bool copy_string(const struct file_view *v, uint64_t offset, uint64_t length_max, char *out)
{
	const char *s = view_at(v, offset, 1);
	size_t room;
	size_t n;

	if (!s)
		return false;
	room = v->length - offset;
	if (length_max < room)
		room = (size_t)length_max;
	n = strnlen(s, room);
	if (n == room || n >= PATH_MAX)
		return false;
	memcpy(out, s, n);
	out[n] = '\0';
	return true;
}

static void read_script(const struct file_view *v, struct roce_elf_image *out)
{
	size_t i = 2;
	size_t n = 0;

	if (v->length < 2 || memcmp(v->bytes, "#!", 2) != 0)
		return;
	while (i < v->length && (v->bytes[i] == ' ' || v->bytes[i] == '\t'))
		i++;
	while (i + n < v->length && n < PATH_MAX - 1 && !strchr(" \t\r\n", v->bytes[i + n]))
		n++;
	memcpy(out->script, v->bytes + i, n);
	out->script[n] = '\0';
}

/* Offset in the file of a virtual address, by the PT_LOAD entries. */
static bool file_offset(const ElfW(Phdr) * ph, size_t count, uint64_t vaddr, uint64_t *out)
{
	for (size_t i = 0; i < count; i++) {
		if (ph[i].p_type == PT_LOAD && vaddr >= ph[i].p_vaddr &&
		    vaddr - ph[i].p_vaddr < ph[i].p_filesz) {
			*out = vaddr - ph[i].p_vaddr + ph[i].p_offset;
			return true;
		}
	}
	return false;
}

static struct dynamic_facts read_dynamic(const ElfW(Dyn) * dyn, size_t count)
{
	struct dynamic_facts f = {.rpath = UINT64_MAX, .runpath = UINT64_MAX};

	for (size_t i = 0; i < count && dyn[i].d_tag != DT_NULL; i++) {
		if (dyn[i].d_tag == DT_STRTAB)
			f.strtab_vaddr = dyn[i].d_un.d_ptr;
		else if (dyn[i].d_tag == DT_STRSZ)
			f.strtab_length = dyn[i].d_un.d_val;
		else if (dyn[i].d_tag == DT_RPATH)
			f.rpath = dyn[i].d_un.d_val;
		else if (dyn[i].d_tag == DT_RUNPATH)
			f.runpath = dyn[i].d_un.d_val;
	}
	return f;
}

static bool read_libraries(const struct file_view *v, const ElfW(Phdr) * ph, size_t count,
			   const ElfW(Phdr) * dynamic, struct roce_elf_image *out)
{
	const ElfW(Dyn) *dyn = view_table(v, dynamic->p_offset, dynamic->p_filesz);
	size_t dyn_count = dynamic->p_filesz / sizeof(*dyn);
	struct dynamic_facts f;
	uint64_t strtab;
	char name[PATH_MAX];

	if (!dyn)
		return false;
	f = read_dynamic(dyn, dyn_count);
	if (!file_offset(ph, count, f.strtab_vaddr, &strtab) ||
	    !view_at(v, strtab, f.strtab_length))
		return false;
	if (f.rpath != UINT64_MAX && f.runpath == UINT64_MAX) {
		if (f.rpath >= f.strtab_length ||
		    !copy_string(v, strtab + f.rpath, f.strtab_length - f.rpath, out->rpath))
			return false;
	}
	for (size_t i = 0; i < dyn_count && dyn[i].d_tag != DT_NULL; i++) {
		uint64_t at = dyn[i].d_un.d_val;

		if (dyn[i].d_tag != DT_NEEDED)
			continue;
		if (at >= f.strtab_length ||
		    !copy_string(v, strtab + at, f.strtab_length - at, name))
			return false;
		if (strcmp(name, "libibverbs.so.1") == 0)
			out->needs_verbs = true;
	}
	return true;
}

static enum roce_elf_kind read_program(const struct file_view *v, const ElfW(Ehdr) * eh,
				       struct roce_elf_image *out)
{
	const ElfW(Phdr) *ph = view_table(v, eh->e_phoff, (uint64_t)eh->e_phnum * sizeof(*ph));
	const ElfW(Phdr) *dynamic = NULL;
	bool has_interpreter = false;

	if (!ph || eh->e_phentsize != sizeof(*ph))
		return ROCE_ELF_DAMAGED;
	for (size_t i = 0; i < eh->e_phnum; i++) {
		if (ph[i].p_type == PT_DYNAMIC)
			dynamic = &ph[i];
		if (ph[i].p_type != PT_INTERP)
			continue;
		has_interpreter = true;
		if (!copy_string(v, ph[i].p_offset, ph[i].p_filesz, out->interpreter))
			return ROCE_ELF_DAMAGED;
	}
	if (!has_interpreter || !dynamic)
		return ROCE_ELF_STATIC;
	return read_libraries(v, ph, eh->e_phnum, dynamic, out) ? ROCE_ELF_DYNAMIC
								: ROCE_ELF_DAMAGED;
}

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#elif defined(__powerpc64__)
#define OWN_MACHINE EM_PPC64
#elif defined(__s390x__)
#define OWN_MACHINE EM_S390
#elif defined(__riscv)
#define OWN_MACHINE EM_RISCV
#elif defined(__loongarch__)
#define OWN_MACHINE EM_LOONGARCH
#else
#error "name this machine's EM_ constant here"
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OWN_DATA ELFDATA2LSB
#else
#define OWN_DATA ELFDATA2MSB
#endif

static enum roce_elf_kind read_elf(const struct file_view *v, struct roce_elf_image *out)
{
	const uint8_t *ident = view_at(v, 0, EI_NIDENT + 4); /* up to and with e_machine */
	const ElfW(Ehdr) *eh = view_at(v, 0, sizeof(*eh));
	const uint8_t *machine;

	if (!ident)
		return ROCE_ELF_DAMAGED;
	machine = ident + EI_NIDENT + 2;
	out->bits = ident[EI_CLASS] == ELFCLASS64 ? 64 : 32;
	if (ident[EI_DATA] == ELFDATA2LSB)
		out->machine = (uint16_t)(machine[1] << 8 | machine[0]);
	else
		out->machine = (uint16_t)(machine[0] << 8 | machine[1]);
	if (out->bits != __WORDSIZE || ident[EI_DATA] != OWN_DATA || out->machine != OWN_MACHINE)
		return ROCE_ELF_FOREIGN;
	if (!eh)
		return ROCE_ELF_DAMAGED;
	if (eh->e_type != ET_EXEC && eh->e_type != ET_DYN)
		return ROCE_ELF_OBJECT;
	return read_program(v, eh, out);
}

int roce_elf_image_read(const char *path, struct roce_elf_image *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct file_view v;
	struct stat st;
	void *map;

	memset(out, 0, sizeof(*out));
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return -EACCES;
	}
	out->kind = ROCE_ELF_NOT;
	if (st.st_size == 0) {
		close(fd);
		return 0;
	}
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return -errno;
	v = (struct file_view){.bytes = map, .length = (size_t)st.st_size};
	if (v.length >= SELFMAG && memcmp(v.bytes, ELFMAG, SELFMAG) == 0)
		out->kind = read_elf(&v, out);
	else
		read_script(&v, out);
	munmap(map, v.length);
	return 0;
}
