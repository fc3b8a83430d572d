/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of kinds. */
#include "verify/agent/kind.h"

#include <string.h>

#define ROW(name, parameters, numbers, text) {#name, va_##name##_initiator, va_##name##_target},
static const struct va_kind kinds[] = {ROCE_VERIFY_KINDS(ROW)};
#undef ROW

const struct va_kind *va_kind_find(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	}
	return NULL;
}
