/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An object's dynamic section leads to its relocations; those that fill a slot with a function's
 * address name the function, and the slot is ours to fill anew. Slots in pages that the loader has
 * made read-only (RELRO) are made writable for the moment.
 */
#include "compat/preload/got.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
#define RELOC_SLOT R_X86_64_JUMP_SLOT
#define RELOC_DATA R_X86_64_GLOB_DAT
#elif defined(__aarch64__)
#define RELOC_SLOT R_AARCH64_JUMP_SLOT
#define RELOC_DATA R_AARCH64_GLOB_DAT
#endif

#ifdef RELOC_SLOT

struct object {
	const struct dl_phdr_info *info;
	const ElfW(Dyn) * dynamic;
	const ElfW(Sym) * symbols;
	const char *strings;
	const ElfW(Rela) * rela;
	size_t rela_bytes;
	const ElfW(Rela) * plt;
	size_t plt_bytes;
};

struct job {
	const char *needed;
	const struct roce_wrapped_call *calls;
	unsigned int patched;
};

/* glibc writes real addresses into the section; others leave it as in the file. */
static const void *at(const struct dl_phdr_info *info, ElfW(Addr) address)
{
	return (const void *)(address < info->dlpi_addr ? info->dlpi_addr + address : address);
}

static bool open_object(const struct dl_phdr_info *info, struct object *o)
{
	*o = (struct object){.info = info};
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			o->dynamic = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	}
	for (const ElfW(Dyn) *d = o->dynamic; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			o->symbols = at(info, d->d_un.d_ptr);
		else if (d->d_tag == DT_STRTAB)
			o->strings = at(info, d->d_un.d_ptr);
		else if (d->d_tag == DT_RELA)
			o->rela = at(info, d->d_un.d_ptr);
		else if (d->d_tag == DT_RELASZ)
			o->rela_bytes = d->d_un.d_val;
		else if (d->d_tag == DT_JMPREL)
			o->plt = at(info, d->d_un.d_ptr);
		else if (d->d_tag == DT_PLTRELSZ)
			o->plt_bytes = d->d_un.d_val;
		else if (d->d_tag == DT_PLTREL && d->d_un.d_val != DT_RELA)
			return false;
	}
	return o->symbols && o->strings;
}

static bool does_need(const struct object *o, const char *library)
{
	for (const ElfW(Dyn) *d = o->dynamic; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_NEEDED && strcmp(o->strings + d->d_un.d_val, library) == 0)
			return true;
	}
	return false;
}

static bool is_read_only(const struct object *o, uintptr_t slot)
{
	for (size_t i = 0; i < o->info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &o->info->dlpi_phdr[i];
		uintptr_t start = o->info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type == PT_GNU_RELRO && slot >= start && slot < start + ph->p_memsz)
			return true;
	}
	return false;
}

static bool fill_slot(const struct object *o, void **slot, void *function)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	void *start = (void *)((uintptr_t)slot & ~(page - 1));
	bool is_locked = is_read_only(o, (uintptr_t)slot);

	if (is_locked && mprotect(start, page, PROT_READ | PROT_WRITE) != 0)
		return false;
	__atomic_store_n(slot, function, __ATOMIC_RELEASE);
	if (is_locked)
		mprotect(start, page, PROT_READ);
	return true;
}

static void *find_call(const struct roce_wrapped_call *calls, const char *name)
{
	for (; calls->name; calls++) {
		if (strcmp(calls->name, name) == 0)
			return calls->function;
	}
	return NULL;
}

static void patch_relocations(struct job *job, const struct object *o, const ElfW(Rela) * r,
			      size_t bytes)
{
	for (const ElfW(Rela) *end = r + bytes / sizeof(*r); r && r < end; r++) {
		unsigned int type = (unsigned int)ELF64_R_TYPE(r->r_info);
		const ElfW(Sym) *symbol = &o->symbols[ELF64_R_SYM(r->r_info)];
		void **slot = (void **)(o->info->dlpi_addr + r->r_offset);
		void *function;

		/* A name that the object itself defines is not a call of libc. */
		if ((type != RELOC_SLOT && type != RELOC_DATA) || symbol->st_shndx != SHN_UNDEF)
			continue;
		function = find_call(job->calls, o->strings + symbol->st_name);
		if (function && *slot != function && fill_slot(o, slot, function))
			job->patched++;
	}
}

static int patch_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct job *job = ctx;
	struct object o;

	(void)size;
	if (open_object(info, &o) && does_need(&o, job->needed)) {
		patch_relocations(job, &o, o.rela, o.rela_bytes);
		patch_relocations(job, &o, o.plt, o.plt_bytes);
	}
	return 0;
}

unsigned int roce_got_patch(const char *needed_library, const struct roce_wrapped_call *calls)
{
	struct job job = {.needed = needed_library, .calls = calls};

	dl_iterate_phdr(patch_object, &job);
	return job.patched;
}

#else

unsigned int roce_got_patch(const char *needed_library, const struct roce_wrapped_call *calls)
{
	(void)needed_library;
	(void)calls;
	return 0;
}

#endif
