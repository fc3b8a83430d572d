/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is in force on this machine and under this environment, for `uroce devices -v`: each item is
 * "on" or says why not. Found out by trying, with sockets of its own that nobody sees.
 */
#ifndef ROCE_ENGINE_FACTS_H
#define ROCE_ENGINE_FACTS_H

#include <stdint.h>

/* X(field, label) */
#define ROCE_ENGINE_FACTS(X)                            \
	X(gso, "sending in batches (GSO)")              \
	X(gro, "receiving in batches (GRO)")            \
	X(steering, "steering by slot (reuseport BPF)") \
	X(guard, "guard against unmapped memory")

struct roce_engine_facts {
#define X(field, label) const char *field;
	ROCE_ENGINE_FACTS(X)
#undef X
	const char *backend;
	uint32_t batch_packets_max;
	uint32_t receive_buffer_bytes;
};

void roce_engine_facts_read(struct roce_engine_facts *out);

#endif
