/* SPDX-License-Identifier: BSD-2-Clause */
/* The plan and the profile that the options name: read, checked, chosen from, listed. */
#include "tools/verify.h"

#include "verify/kind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLAN_BYTES_MAX	(4u << 20)
#define DEFAULT_PROFILE "soft"

static char *read_file(const char *path, size_t *out_length)
{
	FILE *f = fopen(path, "re");
	char *text = f ? malloc(PLAN_BYTES_MAX + 1) : NULL;

	if (!text) {
		fprintf(stderr, "uroce verify: %s: %s\n", path, strerror(errno));
		if (f)
			fclose(f);
		return NULL;
	}
	*out_length = fread(text, 1, PLAN_BYTES_MAX + 1, f);
	if (ferror(f) || *out_length > PLAN_BYTES_MAX) {
		fprintf(stderr, "uroce verify: %s: %s\n", path,
			ferror(f) ? strerror(errno) : "longer than 4 MiB");
		free(text);
		text = NULL;
	}
	fclose(f);
	return text;
}

static void print_problems(const struct roce_problems *problems)
{
	for (uint32_t i = 0; i < roce_problems_kept(problems); i++)
		fprintf(stderr, "%s\n", problems->text[i]);
	if (problems->count > ROCE_PROBLEMS_MAX)
		fprintf(stderr, "uroce verify: and %u more\n", problems->count - ROCE_PROBLEMS_MAX);
}

static struct roce_verify_plan *load_plan(const struct roce_verify_options *o)
{
	struct roce_verify_text text =
		o->is_self_test ? roce_verify_self_test_plan() : roce_verify_default_plan();
	const char *name = o->plan ? o->plan : o->is_self_test ? "self-test" : "default plan";
	char *from_file = NULL;
	struct roce_problems problems;
	struct roce_verify_plan *plan;

	if (o->plan) {
		from_file = read_file(o->plan, &text.length);
		if (!from_file)
			return NULL;
		text.text = from_file;
	}
	roce_problems_init(&problems, name);
	plan = roce_verify_plan_load(text.text, text.length, name, &problems);
	free(from_file);
	print_problems(&problems);
	return plan;
}

/* The name of one of the plan's profiles, or a file with one. */
static bool load_profile(struct roce_verify_options *o, struct roce_verify_plan *plan)
{
	struct roce_problems problems;
	size_t length;
	char *text;

	if (strcmp(o->profile, DEFAULT_PROFILE) == 0 ||
	    roce_verify_plan_has_profile(plan, o->profile))
		return true;
	if (!strchr(o->profile, '/') && access(o->profile, F_OK)) {
		char known[128];

		roce_verify_plan_profiles(plan, known, sizeof(known));
		fprintf(stderr,
			"uroce verify: no case of the plan has a threshold for profile %s, and "
			"there is no such file (the plan has: %s)\n",
			o->profile, known);
		return false;
	}
	text = read_file(o->profile, &length);
	if (!text)
		return false;
	roce_problems_init(&problems, o->profile);
	o->profile_file = o->profile;
	o->profile = roce_verify_profile_load(plan, text, length, &problems);
	free(text);
	print_problems(&problems);
	return o->profile != NULL;
}

static bool fits(const struct roce_verify_plan *plan, const char *option, const char *patterns)
{
	char unfit[128];

	if (!patterns || !roce_verify_plan_unfit(plan, patterns, unfit, sizeof(unfit)))
		return true;
	fprintf(stderr,
		"uroce verify: %s: no case of the plan fits %s (--list shows their names)\n",
		option, unfit);
	return false;
}

void roce_verify_plan_print_text(const struct roce_verify_options *o)
{
	struct roce_verify_text text =
		o->is_self_test ? roce_verify_self_test_plan() : roce_verify_default_plan();

	fwrite(text.text, 1, text.length, stdout);
}

struct roce_verify_plan *roce_verify_plan_open(struct roce_verify_options *options)
{
	struct roce_verify_plan *plan = load_plan(options);

	if (plan && load_profile(options, plan) && fits(plan, "--only", options->only) &&
	    fits(plan, "--skip", options->skip)) {
		if (roce_verify_plan_select(plan, options->only, options->skip, options->profile))
			return plan;
		fprintf(stderr, "uroce verify: no case is left (--list shows their names)\n");
	}
	roce_verify_plan_destroy(plan);
	return NULL;
}

void roce_verify_plan_print(const struct roce_verify_plan *plan, const char *profile)
{
	for (uint32_t i = 0; i < plan->case_count; i++) {
		const struct roce_verify_case *c = &plan->cases[i];
		struct roce_verify_outcome o = {
			.c = c,
			.threshold = roce_verify_case_threshold(c, profile),
		};
		char threshold[256];

		if (!c->is_wanted)
			continue;
		roce_verify_threshold_text(&o, threshold, sizeof(threshold));
		printf("%-32s %s%s%s%s\n", c->name, c->proves, *threshold ? " [" : "", threshold,
		       *threshold ? "]" : "");
	}
}
