/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The two tables of the AETH: how many receive WQEs a credit code stands for, and how long an RNR
 * timer code waits. Both are irregular at their low end and are therefore spelled out.
 */
#include "wire/aeth.h"

const char *roce_aeth_kind_str(enum roce_aeth_kind kind)
{
	switch (kind) {
#define X(name, value)         \
	case ROCE_AETH_##name: \
		return #name;
		ROCE_AETH_KIND_LIST(X)
#undef X
	}
	return "unknown";
}

const char *roce_nak_str(uint8_t code)
{
	static const char *const texts[32] = {
#define X(name, value, text) [value] = text,
		ROCE_NAK_LIST(X)
#undef X
	};

	return code < 32 && texts[code] ? texts[code] : "reserved";
}

static const uint16_t credit_counts[ROCE_CREDIT_NONE] = {
	0,    1,    2,	  3,	4,    6,     8,	    12,	   16,	  24,	32,
	48,   64,   96,	  128,	192,  256,   384,   512,   768,	  1024, 1536,
	2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768,
};

uint32_t roce_credit_count(uint8_t code)
{
	return code < ROCE_CREDIT_NONE ? credit_counts[code] : ROCE_CREDIT_UNLIMITED;
}

uint8_t roce_credit_code(uint32_t count)
{
	uint8_t code = ROCE_CREDIT_NONE - 1;

	while (credit_counts[code] > count)
		code--;
	return code;
}

/* In units of 10 us; the wait in milliseconds is a hundredth of it. */
static const uint32_t rnr_delays_10us[32] = {
	65536, 1,    2,	   3,	 4,    6,     8,     12,    16,	   24,	  32,
	48,    64,   96,   128,	 192,  256,   384,   512,   768,   1024,  1536,
	2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

roce_ns_t roce_rnr_delay_ns(uint8_t code)
{
	return rnr_delays_10us[code & 0x1f] * 10 * ROCE_NS_PER_US;
}
