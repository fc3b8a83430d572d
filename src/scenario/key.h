/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The keys of a scenario. Each section (topology, link, switch, ...) is one X-macro list in the
 *file of its name, section_X.h, and everything else comes from it: the struct that the section is
 *loaded into, the loader, `--check`, `--explain`, the JSON schema. A row is
 *
 *	X(field, "path.of.key", KIND, default, min, max, words, only, text, source)
 *
 * Default, min and max are text, read by the same code as the file's values. `words` are the values
 * of a WORD, as "a|b|c"; the value is the index. `only` has a bit for each kind of topology,
 * workload or fault that the key belongs to, 0 for all. `source` says where the default is from.
 */
#ifndef ROCE_SCENARIO_KEY_H
#define ROCE_SCENARIO_KEY_H

#include "scenario/problem.h"
#include "scenario/unit.h"
#include "scenario/words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One number for each priority or traffic class, "0,0,0,1,0,0,0,0" as mlnx_qos writes it. */
struct roce_eight {
	uint8_t at[8];
};

/* The kinds of values that are not quantities, behind those of enum roce_unit. */
enum {
	ROCE_KIND_COUNT = ROCE_UNIT_COUNT,
	ROCE_KIND_RATE = ROCE_UNIT_RATE,
	ROCE_KIND_RATE_MBPS = ROCE_UNIT_RATE_MBPS,
	ROCE_KIND_TIME = ROCE_UNIT_TIME,
	ROCE_KIND_TIME_US = ROCE_UNIT_TIME_US,
	ROCE_KIND_BYTES = ROCE_UNIT_BYTES,
	ROCE_KIND_LENGTH = ROCE_UNIT_LENGTH,
	ROCE_KIND_FRACTION = ROCE_UNIT_FRACTION,
	ROCE_KIND_PERCENT = ROCE_UNIT_PERCENT,
	ROCE_KIND_FREQUENCY = ROCE_UNIT_FREQUENCY,
	ROCE_KIND_BYTES_AUTO, /* or "auto": ROCE_AUTO */
	ROCE_KIND_TIME_AUTO,
	ROCE_KIND_PARAM,  /* uint64_t in the unit that `words` names, or "preset": ROCE_AUTO */
	ROCE_KIND_SIGNED, /* int32_t */
	ROCE_KIND_BOOL,
	ROCE_KIND_WORD,	   /* uint32_t, index into `words` */
	ROCE_KIND_TEXT,	   /* const char * */
	ROCE_KIND_LIST,	   /* struct roce_words */
	ROCE_KIND_PFC,	   /* struct roce_eight of 0 and 1 */
	ROCE_KIND_PRIO_TC, /* struct roce_eight of 0 to 7 */
	ROCE_KIND_TSA,	   /* struct roce_eight: 1 strict, 0 ets */
	ROCE_KIND_TCBW,	   /* struct roce_eight of percentages, sum 100 or all 0 */
};

#define ROCE_AUTO	      UINT64_MAX

#define ROCE_CTYPE_COUNT      uint64_t
#define ROCE_CTYPE_RATE	      uint64_t
#define ROCE_CTYPE_RATE_MBPS  uint64_t
#define ROCE_CTYPE_TIME	      uint64_t
#define ROCE_CTYPE_TIME_US    uint64_t
#define ROCE_CTYPE_BYTES      uint64_t
#define ROCE_CTYPE_LENGTH     uint64_t
#define ROCE_CTYPE_FRACTION   uint64_t
#define ROCE_CTYPE_PERCENT    uint64_t
#define ROCE_CTYPE_FREQUENCY  uint64_t
#define ROCE_CTYPE_BYTES_AUTO uint64_t
#define ROCE_CTYPE_TIME_AUTO  uint64_t
#define ROCE_CTYPE_SIGNED     int32_t
#define ROCE_CTYPE_BOOL	      bool
#define ROCE_CTYPE_WORD	      uint32_t
#define ROCE_CTYPE_TEXT	      const char *
#define ROCE_CTYPE_LIST	      struct roce_words
#define ROCE_CTYPE_PFC	      struct roce_eight
#define ROCE_CTYPE_PRIO_TC    struct roce_eight
#define ROCE_CTYPE_TSA	      struct roce_eight
#define ROCE_CTYPE_TCBW	      struct roce_eight

/* A row as a member of the section's struct, and as its place in `where`. */
#define ROCE_KEY_MEMBER(field, path, kind, def, min, max, words, only, text, source) \
	ROCE_CTYPE_##kind field;
#define ROCE_KEY_LINE(field, path, kind, def, min, max, words, only, text, source) uint32_t field;

struct roce_key {
	const char *path; /* within its section */
	uint8_t kind;
	uint16_t offset;      /* of the value in the section's struct */
	uint16_t line_offset; /* of its line number there: 0 as long as the default stands */
	const char *def;
	const char *min; /* NULL: none */
	const char *max;
	const char *words;
	uint32_t only;
	const char *text;
	const char *source; /* NULL where the default needs none */
};

struct roce_section {
	const char *name;  /* as a mapping: "" for the keys at the top, NULL: only a list */
	const char *list;  /* as a list; with `match` a list of overrides; or NULL */
	const char *match; /* what `match` of an override may be, for --explain */
	const char *text;
	const struct roce_key *keys;
	uint32_t key_count;
	uint32_t size;		     /* of its struct */
	const struct roce_key *kind; /* the WORD that `only` of the keys is about; or NULL */
	uint32_t refused;	     /* keys with one of these bits in `only` may not stand here */
};

/* The table of one section, next to its X-macro list. */
#define ROCE_KEY_ROW(type, field_, path_, kind_, def_, min_, max_, words_, only_, text_, source_) \
	{                                                                                         \
		.path = path_,                                                                    \
		.kind = ROCE_KIND_##kind_,                                                        \
		.offset = offsetof(type, field_),                                                 \
		.line_offset = offsetof(type, where.field_),                                      \
		.def = def_,                                                                      \
		.min = min_,                                                                      \
		.max = max_,                                                                      \
		.words = words_,                                                                  \
		.only = only_,                                                                    \
		.text = text_,                                                                    \
		.source = source_,                                                                \
	},

/* All sections, in the order in which they are printed. */
extern const struct roce_section *const roce_sections[];
extern const uint32_t roce_section_count;

/* NULL if there is none; `path` within the section. */
const struct roce_key *roce_section_find(const struct roce_section *section, const char *path);
/* Is there a key below `path`, as "buffer.pg_lossless.xoff" below "buffer"? */
bool roce_section_has_group(const struct roce_section *section, const char *path);

/* Which word of "a|b|c" it is, or -1. */
int roce_words_find(const char *words, const char *word);
/* Copies word `index`; "" if there is none. */
void roce_words_at(const char *words, uint32_t index, char *out, size_t size);

/* Sets all keys of the struct to their defaults. False: out of memory. */
bool roce_section_defaults(const struct roce_section *section, struct roce_word_store *store,
			   void *out);

/* What stands there in words: the unit's, or the kind's. */
const char *roce_key_expected(const struct roce_key *key);
/* The name of the kind in --explain: "rate", "time", "word". */
const char *roce_key_kind_str(const struct roce_key *key);

/* Reads one scalar into its place in `out`. False: `reason` says what is wrong with it. TEXT and
 * LIST keep `text` itself. */
bool roce_key_parse(const struct roce_key *key, const char *text, void *out, char *reason,
		    size_t reason_size);

/* The value in `in`, as text that roce_key_parse() takes. */
void roce_key_format(const struct roce_key *key, const void *in, char *out, size_t size);

/* ---- nearest.c ---- */

/* The nearest of what may stand there, for "did you mean"; false if nothing is near. */
bool roce_section_nearest(const struct roce_section *section, const char *path, char *out,
			  size_t size);
bool roce_words_nearest(const char *words, const char *word, char *out, size_t size);
/* Changes, insertions, deletions and swaps that make b of a. */
uint32_t roce_text_distance(const char *a, const char *b);

#endif
