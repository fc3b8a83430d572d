/* SPDX-License-Identifier: BSD-2-Clause */
/* Where it ran, with which versions; the plan, the seeds, and how to do it again. */
#include "verify/page_internal.h"

#include "verify/kind.h"
#include "verify/lines.h"
#include "verify/sides.h"

#include <string.h>

static const json_t *facts_of(const struct roce_verify_record *record, int side)
{
	return json_object_get(record->facts[side], "facts");
}

static const char *const columns[] = {"", "~Initiator", "~Target"};

static void fact_row(const struct roce_verify_record *record, const char *name, const char *title,
		     FILE *out)
{
	char texts[ROCE_VERIFY_SIDES][ROCE_VERIFY_TEXT_MAX];
	bool differs;

	for (int side = 0; side < ROCE_VERIFY_SIDES; side++) {
		const json_t *value = json_object_get(facts_of(record, side), name);

		if (strcmp(name, "memory_bytes") == 0)
			snprintf(texts[side], sizeof(texts[side]), "%.1f GiB",
				 json_number_value(value) / (1024.0 * 1024 * 1024));
		else
			roce_json_format(value, texts[side], sizeof(texts[side]));
	}
	if (!*texts[0] && !*texts[1])
		return;
	/* different software on the two sides is the first thing to be doubted */
	differs = strcmp(texts[0], texts[1]) != 0 &&
		  (strcmp(name, "kernel") == 0 || strcmp(name, "libibverbs") == 0);
	roce_page_table_row(out, differs ? ROCE_TONE_WARN : ROCE_TONE_PLAIN, columns,
			    (const char *const[]){title, texts[0], texts[1]}, 3);
}

static void version_row(const struct roce_verify_record *record, FILE *out)
{
	const char *cells[3] = {"uroce"};

	for (int side = 0; side < ROCE_VERIFY_SIDES; side++)
		cells[side + 1] =
			json_string_value(json_object_get(record->facts[side], "version"));
	if (cells[1] || cells[2])
		roce_page_table_row(out, ROCE_TONE_PLAIN, columns, cells, 3);
}

/* The device that the cases used, and whose it is. */
static void side_row(const struct roce_verify_record *record, FILE *out)
{
	char texts[ROCE_VERIFY_SIDES][ROCE_VERIFY_TEXT_MAX];

	for (int side = 0; side < ROCE_VERIFY_SIDES; side++)
		roce_verify_side_text(record, (enum roce_verify_side)side, texts[side],
				      sizeof(texts[side]));
	if (*texts[0] || *texts[1])
		roce_page_table_row(out, ROCE_TONE_PLAIN, columns,
				    (const char *const[]){"Verified", texts[0], texts[1]}, 3);
}

/* Facts that this file does not know by name are shown by theirs. */
static void other_rows(const struct roce_verify_record *record, const char *const *known,
		       size_t known_count, FILE *out)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)facts_of(record, ROCE_VERIFY_INITIATOR), name, value)
	{
		bool is_known = json_is_object(value) || json_is_array(value);

		for (size_t i = 0; i < known_count; i++)
			is_known |= strcmp(known[i * 2], name) == 0;
		if (!is_known)
			fact_row(record, name, name, out);
	}
}

static void hosts(const struct roce_verify_record *record, FILE *out)
{
	static const char *const known[] = {
		"host",		"Host",	     "system",	   "System",	 "kernel",     "Kernel",
		"cpu",		"Processor", "cpus",	   "Processors", "numa_nodes", "NUMA nodes",
		"memory_bytes", "Memory",    "libibverbs", "libibverbs",
	};
	size_t count = sizeof(known) / sizeof(known[0]) / 2;

	roce_page_table_begin(out, columns, 3);
	side_row(record, out);
	for (size_t i = 0; i < count; i++)
		fact_row(record, known[i * 2], known[i * 2 + 1], out);
	version_row(record, out);
	other_rows(record, known, count, out);
	roce_page_table_end(out);
}

static void device_row(const char *side, const json_t *device, const char *const *titles, FILE *out)
{
	const json_t *netdev = json_object_get(device, "netdev");
	const json_t *gids = json_object_get(device, "gids");
	char texts[8][ROCE_VERIFY_TEXT_MAX];
	const char *cells[8] = {side};
	static const char *const of_device[] = {"name", "state", "firmware", "active_mtu"};
	size_t used = 0;

	for (size_t i = 0; i < 4; i++) {
		roce_json_format(json_object_get(device, of_device[i]), texts[i], sizeof(texts[i]));
		cells[i + 1] = texts[i];
	}
	roce_verify_page_flat(netdev, texts[4], sizeof(texts[4]));
	cells[5] = texts[4];
	*texts[5] = '\0';
	for (size_t i = 0; i < json_array_size(gids) && used + 2 < sizeof(texts[5]); i++) {
		const json_t *gid = json_array_get(gids, i);
		const char *text = json_string_value(json_object_get(gid, "gid"));
		const char *type = json_string_value(json_object_get(gid, "type"));

		used += (size_t)snprintf(
			texts[5] + used, sizeof(texts[5]) - used, "%s%lld: %s %s", used ? ", " : "",
			(long long)json_integer_value(json_object_get(gid, "index")),
			text ? text : "?", type ? type : "");
	}
	cells[6] = texts[5];
	roce_page_table_row(out, ROCE_TONE_PLAIN, titles, cells, 7);
}

static void devices(const struct roce_verify_record *record, FILE *out)
{
	static const char *const titles[] = {"Side",	  "Device",	"State", "Firmware",
					     "#Path MTU", "~Interface", "~GIDs"};

	roce_page_subsection(out, "Devices");
	roce_page_table_begin(out, titles, 7);
	for (int side = 0; side < ROCE_VERIFY_SIDES; side++) {
		const json_t *all = json_object_get(facts_of(record, side), "devices");

		for (size_t i = 0; i < json_array_size(all); i++)
			device_row(roce_verify_side_str((enum roce_verify_side)side),
				   json_array_get(all, i), titles, out);
	}
	roce_page_table_end(out);
}

void roce_verify_page_environment(const struct roce_verify_record *record, FILE *out)
{
	roce_page_section(out, "environment", "Environment",
			  "What both sides found about themselves when the run began.");
	hosts(record, out);
	devices(record, out);
}

/* ---- the plan ---- */

void roce_verify_page_plan(const struct roce_verify_pages *pages, FILE *out)
{
	static const char *const titles[] = {"Case", "Kind", "~Parameters", "#Seed"};
	const struct roce_verify_record *record = pages->record;
	char text[ROCE_VERIFY_TEXT_MAX], seed[32];

	roce_page_section(
		out, "plan", "Plan and seeds",
		"The same seed draws the same programs and contents; each round has the next one.");
	roce_page_finding_begin(out, ROCE_TONE_PLAIN, record->plan->name, record->plan->file);
	roce_verify_page_run_command(record, text, sizeof(text));
	roce_page_command(out, "The run", text);
	roce_page_command(out, "One case", "uroce verify ... --only GROUP/CASE --seed SEED");
	roce_page_command(out, "Compare", "uroce verify diff BEFORE.json AFTER.json");
	roce_page_fields_end(out);
	roce_page_finding_end(out);
	roce_page_table_begin(out, titles, 4);
	for (uint32_t i = 0; i < pages->count; i++) {
		const struct roce_verify_rollup *r = &pages->cases[i];
		const char *const cells[] = {r->c->name, r->c->kind->name, text, seed};

		roce_verify_page_parameters(r->c, text, sizeof(text));
		snprintf(seed, sizeof(seed), r->rounds > 1 ? "%llu to %llu" : "%llu",
			 (unsigned long long)record->seed,
			 (unsigned long long)(record->seed + r->rounds - 1));
		roce_page_table_row(out, ROCE_TONE_PLAIN, titles, cells, 4);
	}
	roce_page_table_end(out);
}
