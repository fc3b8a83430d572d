/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a link does to a frame: how long it takes, and what may happen to it. `links` overrides it
 * for a class of links (host, fabric, core, ...) or for links by the names of their ends.
 */
#ifndef ROCE_SCENARIO_SECTION_LINK_H
#define ROCE_SCENARIO_SECTION_LINK_H

#include "scenario/key.h"

/* clang-format off */
#define ROCE_LINK_KEYS(X)                                                                          \
	X(rate, "rate", RATE, "100Gb/s", "1kb/s", "800Gb/s", NULL, 0,                              \
	  "bit rate of each direction", "the usual port of a storage or GPU server since 2018")    \
	X(delay, "delay", TIME_AUTO, "auto", NULL, "1s", NULL, 0,                                  \
	  "propagation time; auto: from `length`", NULL)                                           \
	X(length, "length", LENGTH, "10m", "0", "200000km", NULL, 0,                               \
	  "cable length, 5 ns a metre", "signals in fibre and copper run at two thirds of c")      \
	X(ber, "ber", FRACTION, "0", NULL, "0.01", NULL, 0,                                        \
	  "bit error rate; a damaged frame is dropped by its checksum", NULL)                      \
	X(loss, "loss", FRACTION, "0", NULL, "1", NULL, 0,                                         \
	  "part of the frames that get lost", NULL)                                                \
	X(duplicate, "duplicate", FRACTION, "0", NULL, "1", NULL, 0,                               \
	  "part of the frames that arrive twice", NULL)                                            \
	X(reorder, "reorder", FRACTION, "0", NULL, "1", NULL, 0,                                   \
	  "part of the frames that arrive later, by `reorder_delay`", NULL)                        \
	X(reorder_delay, "reorder_delay", TIME, "5us", "1ns", "1s", NULL, 0,                       \
	  "how much later", NULL)
/* clang-format on */

struct roce_link_conf {
	ROCE_LINK_KEYS(ROCE_KEY_MEMBER)
	struct {
		ROCE_LINK_KEYS(ROCE_KEY_LINE)
	} where;
};

extern const struct roce_section roce_section_link;

#endif
