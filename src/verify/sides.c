/* SPDX-License-Identifier: BSD-2-Clause */
/* Facts come from the other host: whatever is missing is left out. */
#include "verify/sides.h"

#include "verify/lines.h"

#include <string.h>

static const json_t *uses_of(const struct roce_verify_record *record, enum roce_verify_side side)
{
	return json_object_get(json_object_get(record->facts[side], "facts"), "uses");
}

const char *roce_verify_side_implementation(const struct roce_verify_record *record,
					    enum roce_verify_side side)
{
	return roce_json_text(uses_of(record, side), "implementation");
}

__attribute__((format(printf, 3, 4))) static void append(char *out, size_t size, const char *fmt,
							 ...)
{
	size_t used = strlen(out);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(out + used, size - used, fmt, ap);
	va_end(ap);
}

static const char *address_of(const char *gid)
{
	static const char mapped[] = "::ffff:";

	return strncmp(gid, mapped, strlen(mapped)) == 0 ? gid + strlen(mapped) : gid;
}

void roce_verify_side_text(const struct roce_verify_record *record, enum roce_verify_side side,
			   char *out, size_t size)
{
	const json_t *facts = json_object_get(record->facts[side], "facts");
	const json_t *uses = uses_of(record, side);
	const char *name = roce_json_text(uses, "implementation");
	const char *version = roce_json_text(uses, "implementation_version");
	bool is_of_kernel = strncmp(version, "Linux", 5) == 0;
	const char *core = roce_json_text(uses, "rdma_core");
	const char *quirks = roce_json_text(uses, "quirks");

	*out = '\0';
	if (*roce_json_text(uses, "reason"))
		append(out, size, "no device (%s)", roce_json_text(uses, "reason"));
	else if (!*name)
		return;
	else
		append(out, size, "%s%s%s, %s %s", name, is_of_kernel ? " of " : " ", version,
		       roce_json_text(uses, "device"), address_of(roce_json_text(uses, "gid")));
	if (*core)
		append(out, size, ", rdma-core %s", core);
	append(out, size, ", on %s", roce_json_text(facts, "host"));
	if (!is_of_kernel)
		append(out, size, ", %s %s", roce_json_text(facts, "system"),
		       roce_json_text(facts, "kernel"));
	if (*quirks)
		append(out, size, "; known departures of %s are accepted", quirks);
	for (char *p = out; *p; p++) {
		if ((unsigned char)*p < 0x20 || (unsigned char)*p > 0x7e)
			*p = '?';
	}
}
