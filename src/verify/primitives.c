/* SPDX-License-Identifier: BSD-2-Clause */
/* Figures are taken by name from the default plan's cases; another plan may have them too. */
#include "verify/primitives.h"

#include "verify/kind.h"

#include <math.h>
#include <string.h>

#define BOTH	 "both programs"
#define ONE	 "initiator alone"
#define MACHINES 512

static const struct {
	const char *name;
	const char *parties;
	const char *latency; /* cases, or NULL */
	const char *bandwidth;
	const char *rate;
	const char *use;
} operations[] = {
	{"SEND", BOTH, "latency/send_64", "bandwidth/send", "rate/send",
	 "requests and answers: the target chose where they go, and learns of each"},
	{"WRITE", ONE, "latency/write_64", "bandwidth/write", "rate/write",
	 "large data to where the target said; it learns of it another way"},
	{"WRITE with immediate", BOTH, "latency/write_imm_64", "bandwidth/write_imm", NULL,
	 "the same, and 32 bits that tell the target that it is there"},
	{"READ", ONE, "latency/read_64", "bandwidth/read", "rate/read",
	 "fetching when the requester has the time; one round trip"},
	{"FETCH_ADD", ONE, "latency/fetch_add", NULL, "rate/fetch_add",
	 "counters and tickets that many share"},
	{"CMP_SWAP", ONE, "latency/cmp_swap", NULL, "rate/cmp_swap",
	 "locks, and pointers to the newest version"},
	{"UD SEND", BOTH, "latency/ud_send_64", "bandwidth/ud_send", NULL,
	 "many peers on one queue pair, and groups; what is lost stays lost"},
};

_Static_assert(sizeof(operations) / sizeof(operations[0]) <= ROCE_VERIFY_PRIMITIVES_MAX,
	       "room for all");

static double number_of(const struct roce_verify_record *record, const char *name,
			const char *number)
{
	const struct roce_verify_outcome *o = name ? roce_verify_record_find(record, name) : NULL;
	const json_t *value = o ? json_object_get(o->values, number) : NULL;

	return json_is_number(value) ? json_number_value(value) : NAN;
}

static void format(enum roce_verify_unit unit, double value,
		   char out[ROCE_VERIFY_PRIMITIVE_TEXT_MAX])
{
	if (isnan(value))
		snprintf(out, ROCE_VERIFY_PRIMITIVE_TEXT_MAX, "-");
	else
		roce_verify_unit_format(unit, value, out, ROCE_VERIFY_PRIMITIVE_TEXT_MAX);
}

uint32_t roce_verify_primitives(const struct roce_verify_record *record,
				struct roce_verify_primitive out[ROCE_VERIFY_PRIMITIVES_MAX])
{
	uint32_t count = 0;

	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		struct roce_verify_primitive p = {
			.name = operations[i].name,
			.parties = operations[i].parties,
			.use = operations[i].use,
			.latency_us = number_of(record, operations[i].latency, "p50"),
			.rate_gbps = number_of(record, operations[i].bandwidth, "rate"),
			.messages_per_s = number_of(record, operations[i].rate, "messages"),
			.target_cpu = number_of(record, operations[i].bandwidth, "target_cpu"),
		};

		if (isnan(p.latency_us) && isnan(p.rate_gbps) && isnan(p.messages_per_s))
			continue;
		format(ROCE_VERIFY_TIME, p.latency_us, p.latency);
		format(ROCE_VERIFY_RATE, p.rate_gbps, p.rate);
		format(ROCE_VERIFY_FREQUENCY, p.messages_per_s, p.messages);
		format(ROCE_VERIFY_CPU, p.target_cpu, p.cpu);
		out[count++] = p;
	}
	return count;
}

void roce_verify_primitives_print(const struct roce_verify_record *record, bool is_wide, FILE *out)
{
	struct roce_verify_primitive all[ROCE_VERIFY_PRIMITIVES_MAX];
	uint32_t count = roce_verify_primitives(record, all);
	char machine[MACHINES];

	if (count < 2)
		return;
	roce_verify_machine_text(record, machine, sizeof(machine));
	fprintf(out, "\n%-20s  %-15s  %12s  %12s  %12s  %18s%s%s\n", "operation", "takes part",
		"latency", "bandwidth", "rate", "target's CPU", is_wide ? "  " : "",
		is_wide ? "for" : "");
	for (uint32_t i = 0; i < count; i++)
		fprintf(out, "%-20s  %-15s  %12s  %12s  %12s  %18s%s%s\n", all[i].name,
			all[i].parties, all[i].latency, all[i].rate, all[i].messages, all[i].cpu,
			is_wide ? "  " : "", is_wide ? all[i].use : "");
	fprintf(out, "%s\n\n", machine);
}

static json_t *number_or_null(double value)
{
	return isnan(value) ? json_null() : json_real(value);
}

json_t *roce_verify_primitives_json(const struct roce_verify_record *record)
{
	struct roce_verify_primitive all[ROCE_VERIFY_PRIMITIVES_MAX];
	uint32_t count = roce_verify_primitives(record, all);
	json_t *list = json_array();

	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:s}", "operation",
					all[i].name, "takes_part", all[i].parties, "latency_us",
					number_or_null(all[i].latency_us), "rate_gbps",
					number_or_null(all[i].rate_gbps), "messages_per_s",
					number_or_null(all[i].messages_per_s), "target_cpu_percent",
					number_or_null(all[i].target_cpu), "for", all[i].use));
	return list;
}

static const char *text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text && *text ? text : "?";
}

void roce_verify_machine_text(const struct roce_verify_record *record, char *out, size_t size)
{
	const json_t *facts = json_object_get(record->facts[ROCE_VERIFY_INITIATOR], "facts");
	const json_t *device = json_array_get(json_object_get(facts, "devices"), 0);
	const json_t *netdev = json_object_get(device, "netdev");

	snprintf(out, size, "on %s, %lld processors, %s %s, %s %s on %s (MTU %lld), %s",
		 text_of(facts, "cpu"),
		 (long long)json_integer_value(json_object_get(facts, "cpus")),
		 text_of(facts, "system"), text_of(facts, "kernel"), text_of(device, "name"),
		 text_of(device, "firmware"), text_of(netdev, "name"),
		 (long long)json_integer_value(json_object_get(netdev, "mtu")),
		 text_of(facts, "libibverbs"));
}
