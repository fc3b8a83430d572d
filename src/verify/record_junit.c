/* SPDX-License-Identifier: BSD-2-Clause */
/* JUnit's XML, as its readers agree on it: one suite, the group as the class of a case. */
#include "verify/record.h"

#include "report/page.h"
#include "verify/kind.h"
#include "verify/rollup.h"
#include "verify/sides.h"

static void print_attribute(FILE *out, const char *name, const char *text)
{
	fprintf(out, " %s=\"", name);
	roce_page_text(out, text);
	fputc('"', out);
}

static void print_outcome(FILE *out, const struct roce_verify_record *record,
			  const struct roce_verify_outcome *o)
{
	char group[112];
	char name[128];
	char value[96];
	char threshold[256];

	snprintf(group, sizeof(group), "%.*s", (int)roce_verify_group_length(o->c->name),
		 o->c->name);
	snprintf(name, sizeof(name), record->repeat > 1 ? "%s#%u" : "%s",
		 roce_verify_name_in_group(o->c->name), o->round);
	fputs("  <testcase", out);
	print_attribute(out, "classname", group);
	print_attribute(out, "name", name);
	fprintf(out, " time=\"%.3f\">\n", o->seconds);
	if (o->verdict == ROCE_VERIFY_FAIL || o->verdict == ROCE_VERIFY_SKIPPED) {
		fputs(o->verdict == ROCE_VERIFY_FAIL ? "    <failure" : "    <skipped", out);
		print_attribute(out, "message", o->reason ? o->reason : "");
		fputs("/>\n", out);
	}
	roce_verify_threshold_text(o, threshold, sizeof(threshold));
	fputs("    <system-out>", out);
	roce_page_text(out, o->c->proves);
	if (o->has_value) {
		roce_verify_unit_format(o->c->kind->numbers[o->c->value].unit, o->value, value,
					sizeof(value));
		fputs("; ", out);
		roce_page_text(out, o->c->kind->numbers[o->c->value].name);
		fprintf(out, " %s", value);
	}
	if (*threshold) {
		fputs("; ", out);
		roce_page_text(out, threshold);
	}
	fputs("</system-out>\n  </testcase>\n", out);
}

static void print_properties(FILE *out, const struct roce_verify_record *record)
{
	char text[512];

	fputs("  <properties>\n", out);
	for (int side = 0; side < ROCE_VERIFY_SIDES; side++) {
		roce_verify_side_text(record, (enum roce_verify_side)side, text, sizeof(text));
		fputs("    <property", out);
		print_attribute(out, "name", roce_verify_side_str((enum roce_verify_side)side));
		print_attribute(out, "value", text);
		fputs("/>\n", out);
	}
	fputs("  </properties>\n", out);
}

void roce_verify_record_junit(const struct roce_verify_record *record, FILE *out)
{
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite", out);
	print_attribute(out, "name", record->plan->name);
	fprintf(out, " tests=\"%u\" failures=\"%u\" errors=\"0\" skipped=\"%u\" time=\"%.3f\">\n",
		record->outcome_count, roce_verify_record_count(record, ROCE_VERIFY_FAIL),
		roce_verify_record_count(record, ROCE_VERIFY_SKIPPED), record->seconds);
	print_properties(out, record);
	for (uint32_t i = 0; i < record->outcome_count; i++)
		print_outcome(out, record, &record->outcomes[i]);
	fputs("</testsuite>\n", out);
}
