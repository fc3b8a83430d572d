/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The operations of RDMA side by side: who takes part, what the target's processor does, latency,
 * bandwidth and rate as this run found them, and what each is for. Made of the outcomes of the
 * cases that the default plan has for them; what was not run stays empty.
 */
#ifndef ROCE_VERIFY_PRIMITIVES_H
#define ROCE_VERIFY_PRIMITIVES_H

#include "verify/record.h"

#include <stdbool.h>
#include <stdio.h>

#define ROCE_VERIFY_PRIMITIVES_MAX     8u
#define ROCE_VERIFY_PRIMITIVE_TEXT_MAX 32u

struct roce_verify_primitive {
	const char *name;
	const char *parties;
	const char *use;
	/* as numbers for scripts: NaN where not measured */
	double latency_us;     /* p50 of a small message */
	double rate_gbps;      /* of large ones on one queue pair */
	double messages_per_s; /* of small ones on one queue pair */
	double target_cpu;     /* percent of one processor, of all threads, while large ones come */
	/* as texts for people: "-" where not measured */
	char latency[ROCE_VERIFY_PRIMITIVE_TEXT_MAX];
	char rate[ROCE_VERIFY_PRIMITIVE_TEXT_MAX];
	char messages[ROCE_VERIFY_PRIMITIVE_TEXT_MAX];
	char cpu[ROCE_VERIFY_PRIMITIVE_TEXT_MAX];
};

/* Those of which something was measured. */
uint32_t roce_verify_primitives(const struct roce_verify_record *record,
				struct roce_verify_primitive out[ROCE_VERIFY_PRIMITIVES_MAX]);

/* The table for the terminal, with the machine that it is from; nothing when there is less than
 * two of them to compare. Without `is_wide` what each is for is not told. */
void roce_verify_primitives_print(const struct roce_verify_record *record, bool is_wide, FILE *out);
/* An array of objects. */
json_t *roce_verify_primitives_json(const struct roce_verify_record *record);

/* "AMD EPYC, 2 processors, Linux 6.1, uroce_ve0 on ve0 (MTU 1500), uroce 0.1.0": what figures are
 * from; of the initiator. */
void roce_verify_machine_text(const struct roce_verify_record *record, char *out, size_t size);

#endif
