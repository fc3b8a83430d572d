/* SPDX-License-Identifier: BSD-2-Clause */
/* The operations side by side (primitives.h), behind the groups that they are measured in. */
#include "verify/page_internal.h"

#include "verify/primitives.h"

void roce_verify_page_primitives(const struct roce_verify_record *record, FILE *out)
{
	static const char *const columns[] = {"Operation",  "Takes part", "#Latency",
					      "#Bandwidth", "#Rate",	  "#Target's CPU",
					      "~For"};
	struct roce_verify_primitive all[ROCE_VERIFY_PRIMITIVES_MAX];
	uint32_t count = roce_verify_primitives(record, all);
	char machine[ROCE_VERIFY_TEXT_MAX];

	if (count < 2)
		return;
	roce_verify_machine_text(record, machine, sizeof(machine));
	roce_page_section(
		out, "primitives", "Operations compared",
		"Latency is the median of 64 B (8 B of atomics), bandwidth that of large messages "
		"and rate that of small ones on one queue pair; the target's processor time "
		"is that of all its threads while large messages come, in percent of one "
		"processor: a program that polls and an adapter in software beside it may "
		"have more than 100.");
	roce_page_table_begin(out, columns, 7);
	for (uint32_t i = 0; i < count; i++)
		roce_page_table_row(out, ROCE_TONE_PLAIN, columns,
				    (const char *const[]){all[i].name, all[i].parties,
							  all[i].latency, all[i].rate,
							  all[i].messages, all[i].cpu, all[i].use},
				    7);
	roce_page_table_end(out);
	roce_page_text(out, machine);
}
