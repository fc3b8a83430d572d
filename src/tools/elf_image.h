/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the loader would do with a program file: which machine it is for, whether it takes shared
 * libraries at all, and where it looks for them before it looks at LD_LIBRARY_PATH.
 */
#ifndef ROCE_TOOLS_ELF_IMAGE_H
#define ROCE_TOOLS_ELF_IMAGE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum roce_elf_kind {
	ROCE_ELF_NOT,	  /* not an ELF file; `script` says whether it names an interpreter */
	ROCE_ELF_DAMAGED, /* cut short, or tables that lead outside the file */
	ROCE_ELF_OBJECT,  /* no program: a relocatable object, a core file */
	ROCE_ELF_FOREIGN, /* another machine, word size or byte order than ours */
	ROCE_ELF_STATIC,  /* a program without an interpreter: takes no libraries */
	ROCE_ELF_DYNAMIC,
};

struct roce_elf_image {
	enum roce_elf_kind kind;
	uint16_t machine;	    /* EM_*, in ROCE_ELF_FOREIGN and above */
	uint8_t bits;		    /* 32 or 64, likewise */
	char script[PATH_MAX];	    /* interpreter of a #! script, else empty */
	char interpreter[PATH_MAX]; /* the dynamic loader */
	char rpath[PATH_MAX];	    /* DT_RPATH if in force (no DT_RUNPATH), $ORIGIN unexpanded */
	bool needs_verbs;	    /* libibverbs.so.1 is among the libraries it names */
};

/* 0, or -errno when the file cannot be read; what was read is judged by `kind`. */
int roce_elf_image_read(const char *path, struct roce_elf_image *out);

/* "x86-64", "AArch64", ...; "machine" for those without a name here. */
const char *roce_elf_machine_str(uint16_t machine);

#endif
