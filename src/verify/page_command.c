/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The commands of a page, to be copied into a shell: everything that was asked for, with names and
 * paths in quotes where a shell would take them apart. The token is not in the record.
 */
#include "verify/page_internal.h"

#include <stdarg.h>
#include <string.h>

#define PLAIN                                                                     \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,+@%" \
	"[]="

__attribute__((format(printf, 3, 4))) static void append(char *out, size_t size, const char *fmt,
							 ...)
{
	size_t used = strlen(out);
	va_list ap;

	va_start(ap, fmt);
	if (used < size)
		vsnprintf(out + used, size - used, fmt, ap);
	va_end(ap);
}

/* Nothing where there is no value. */
static void append_option(char *out, size_t size, const char *option, const char *value)
{
	if (!value)
		return;
	append(out, size, " %s ", option);
	if (*value && !value[strspn(value, PLAIN)]) {
		append(out, size, "%s", value);
		return;
	}
	append(out, size, "'");
	for (; *value; value++) {
		if (*value == '\'')
			append(out, size, "'\\''");
		else
			append(out, size, "%c", *value);
	}
	append(out, size, "'");
}

static bool is_place(const struct roce_verify_record *record, const char *place)
{
	return record->place && strcmp(record->place, place) == 0;
}

static void begin(const struct roce_verify_record *record, char *out, size_t size)
{
	bool is_self_test = is_place(record, "here");
	bool is_built_in = is_self_test || strcmp(record->plan->file, "default plan") == 0;
	const char *profile = record->profile_file ? record->profile_file : record->profile;

	snprintf(out, size, "uroce verify%s%s", is_self_test ? " --self-test" : "",
		 record->is_system ? " --system" : "");
	append_option(out, size, "--peer", record->peer);
	append_option(out, size, "--token", record->peer ? "TOKEN" : NULL);
	append_option(out, size, "--device", record->device[ROCE_VERIFY_INITIATOR]);
	append_option(out, size, "--target-device", record->device[ROCE_VERIFY_TARGET]);
	if (record->has_gid_index)
		append(out, size, " --gid-index %u", record->gid_index);
	append_option(out, size, "--quirks", record->quirks);
	if (record->qp_timeout)
		append(out, size, " --qp-timeout %u", record->qp_timeout);
	if (record->mtu)
		append(out, size, " --mtu %u", record->mtu);
	append_option(out, size, "--plan", is_built_in ? NULL : record->plan->file);
	append_option(out, size, "--profile", strcmp(profile, "soft") == 0 ? NULL : profile);
}

void roce_verify_page_command(const struct roce_verify_record *record,
			      const struct roce_verify_outcome *o, char *out, size_t size)
{
	begin(record, out, size);
	append_option(out, size, "--only", o->c->name);
	append(out, size, " --seed %llu", (unsigned long long)(record->seed + o->round - 1));
}

void roce_verify_page_run_command(const struct roce_verify_record *record, char *out, size_t size)
{
	begin(record, out, size);
	append_option(out, size, "--only", record->only);
	append_option(out, size, "--skip", record->skip);
	append(out, size, " --seed %llu --repeat %u", (unsigned long long)record->seed,
	       record->repeat);
}
