/* SPDX-License-Identifier: BSD-2-Clause */
/* The two sides of each kind of verify/kinds.h: va_NAME_initiator() and va_NAME_target(), in the
 * file of its name. */
#ifndef VERIFY_AGENT_KIND_H
#define VERIFY_AGENT_KIND_H

#include "verify/agent/run.h"
#include "verify/kinds.h"

#define VA_DECLARE(name, parameters, numbers, text)     \
	void va_##name##_initiator(struct va_run *run); \
	void va_##name##_target(struct va_run *run);
ROCE_VERIFY_KINDS(VA_DECLARE)
#undef VA_DECLARE

struct va_kind {
	const char *name;
	void (*initiator)(struct va_run *run);
	void (*target)(struct va_run *run);
};

/* NULL: there is none. */
const struct va_kind *va_kind_find(const char *name);

#endif
