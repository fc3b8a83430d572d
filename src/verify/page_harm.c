/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What was done to packets on purpose in the cases of a group (agent/trouble.h), and what their
 * transport noticed: without it "passed although one packet in a hundred is lost" would be a claim.
 */
#include "verify/page_internal.h"

#include "verify/lines.h"

#include <string.h>

static const char *const columns[] = {
	"Case", "Side", "#Packets received", "~On purpose", "#Out of place", "#Wrong ICRC",
};

static bool is_harm(const char *name)
{
	return strncmp(name, "packets_", 8) != 0 && strcmp(name, "out_of_place") != 0 &&
	       strcmp(name, "bad_icrc") != 0;
}

/* "103 dropped, 29 reordered"; false: nothing was. */
static bool format_harm(const json_t *harm, char *out, size_t size)
{
	bool is_any = false;
	size_t used = 0;
	const char *name;
	json_t *value;

	*out = '\0';
	json_object_foreach((json_t *)(uintptr_t)harm, name, value)
	{
		if (!is_harm(name) || used >= size)
			continue;
		is_any |= json_integer_value(value) > 0;
		used += (size_t)snprintf(out + used, size - used, "%s%lld %s", used ? ", " : "",
					 (long long)json_integer_value(value), name);
	}
	return is_any;
}

static void number(const json_t *harm, const char *name, char out[32])
{
	snprintf(out, 32, "%lld", (long long)roce_json_integer(harm, name));
}

/* Of a case that failed, or of the side that does the harm. */
static bool is_told(const struct roce_verify_rollup *r, const json_t *harm)
{
	char text[ROCE_VERIFY_TEXT_MAX];

	return json_is_object(harm) &&
	       (format_harm(harm, text, sizeof(text)) || r->verdict == ROCE_VERIFY_FAIL);
}

static void harm_row(const struct roce_verify_rollup *r, int side, const json_t *harm, FILE *out)
{
	char text[ROCE_VERIFY_TEXT_MAX], received[32], out_of_place[32], bad_icrc[32];
	const char *cells[] = {roce_verify_name_in_group(r->c->name),
			       roce_verify_side_str((enum roce_verify_side)side),
			       received,
			       text,
			       out_of_place,
			       bad_icrc};

	(void)format_harm(harm, text, sizeof(text));
	number(harm, "packets_received", received);
	number(harm, "out_of_place", out_of_place);
	number(harm, "bad_icrc", bad_icrc);
	roce_page_table_row(out, roce_verify_tone(r->verdict), columns, cells, 6);
}

void roce_verify_page_harm(const struct roce_verify_page_group *group, FILE *out)
{
	bool is_begun = false;

	for (uint32_t i = group->first; i < group->end; i++) {
		const struct roce_verify_rollup *r = &group->pages->cases[i];

		for (int side = 0; side < ROCE_VERIFY_SIDES; side++) {
			const json_t *harm = json_object_get(
				json_object_get(r->shown->detail,
						roce_verify_side_str((enum roce_verify_side)side)),
				"harm");

			if (!is_told(r, harm))
				continue;
			if (!is_begun) {
				roce_page_subsection(out, "Harm to packets");
				roce_page_table_begin(out, columns, 6);
			}
			is_begun = true;
			harm_row(r, side, harm, out);
		}
	}
	if (is_begun)
		roce_page_table_end(out);
}
