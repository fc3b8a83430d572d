/* SPDX-License-Identifier: BSD-2-Clause */
/* Who the two sides are, in words: what they found about themselves (agent/identity.h), for the
 * terminal and the page. */
#ifndef ROCE_VERIFY_SIDES_H
#define ROCE_VERIFY_SIDES_H

#include "verify/record.h"

/* "Soft-RoCE (rdma_rxe) of Linux 6.1.0-57, rxe0 10.77.0.2, rdma-core 44.0, on HOST"; "" before the
 * side has said it. */
void roce_verify_side_text(const struct roce_verify_record *record, enum roce_verify_side side,
			   char *out, size_t size);
/* "uroce" or another implementation's name; "" where none is known. */
const char *roce_verify_side_implementation(const struct roce_verify_record *record,
					    enum roce_verify_side side);

#endif
