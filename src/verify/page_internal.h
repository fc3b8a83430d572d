/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of a page (page.h). */
#ifndef ROCE_VERIFY_PAGE_INTERNAL_H
#define ROCE_VERIFY_PAGE_INTERNAL_H

#include "report/page.h"
#include "verify/page.h"
#include "verify/rollup.h"

#define ROCE_VERIFY_TEXT_MAX 512u

struct roce_verify_pages {
	const struct roce_verify_record *record;
	const struct roce_verify_rollup *cases;
	uint32_t count;
};

/* Cases [first, end) of one group. */
struct roce_verify_page_group {
	const struct roce_verify_pages *pages;
	uint32_t first;
	uint32_t end;
};

enum roce_tone roce_verify_tone(enum roce_verify_verdict verdict);
/* Its value with the unit; "" without one. */
void roce_verify_page_value(const struct roce_verify_rollup *r, double value, char *out,
			    size_t size);
/* The commands that run this case, or all of it, again (page_command.c). */
void roce_verify_page_command(const struct roce_verify_record *record,
			      const struct roce_verify_outcome *o, char *out, size_t size);
void roce_verify_page_run_command(const struct roce_verify_record *record, char *out, size_t size);
/* One line of the members of an object; "" when it has none. */
void roce_verify_page_flat(const json_t *object, char *out, size_t size);

void roce_verify_page_groups(const struct roce_verify_pages *pages, FILE *out);
void roce_verify_page_harm(const struct roce_verify_page_group *group, FILE *out);
void roce_verify_page_pictures(const struct roce_verify_page_group *group, FILE *out);
void roce_verify_page_histogram(const struct roce_verify_outcome *o, FILE *out);
void roce_verify_page_primitives(const struct roce_verify_record *record, FILE *out);
void roce_verify_page_environment(const struct roce_verify_record *record, FILE *out);
void roce_verify_page_plan(const struct roce_verify_pages *pages, FILE *out);

#endif
