/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scenario files: whatever the bytes, loading ends with a scenario or with a reason, never with
 * both and never with neither; and what was loaded can be applied to everything it may override.
 */
#include "fuzz.h"

#include "scenario/scenario.h"

static struct roce_problems problems;

static void apply_all(struct roce_scenario *s)
{
	struct roce_link_conf link = s->link;
	struct roce_switch_conf sw = s->sw;
	struct roce_host_conf host = s->host;

	for (uint32_t i = 0; i < s->links.count; i++)
		roce_scenario_apply(s, &roce_section_link, &s->links.at[i], &link);
	for (uint32_t i = 0; i < s->switches.count; i++)
		roce_scenario_apply(s, &roce_section_switch, &s->switches.at[i], &sw);
	for (uint32_t i = 0; i < s->ports.count; i++)
		roce_scenario_apply(s, &roce_section_port, &s->ports.at[i], &sw);
	for (uint32_t i = 0; i < s->hosts.count; i++)
		roce_scenario_apply(s, &roce_section_host, &s->hosts.at[i], &host);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct roce_scenario *s;

	roce_problems_init(&problems, "fuzz.yaml");
	s = roce_scenario_load((const char *)data, size, "fuzz.yaml", &problems);
	fuzz_require(!s == (problems.count != 0), "a scenario or a reason");
	if (s)
		apply_all(s);
	roce_scenario_destroy(s);
	return 0;
}
