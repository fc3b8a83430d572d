/* SPDX-License-Identifier: BSD-2-Clause */
/* For tests: each byte of a side's memory is claimed at most once. */
#ifndef VERBS_CHECK_CLAIM_TEST_H
#define VERBS_CHECK_CLAIM_TEST_H

#include "tools/verbs_check/program.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

/* `owners` has a byte for each of the side's memory: 1 where it is somebody's. */
static inline void claim_piece(uint8_t *owners, const struct vc_program *program, uint32_t side,
			       const struct vc_piece *piece)
{
	const struct vc_mr *mr = &program->sides[side].mrs[piece->mr];
	uint8_t owned = 0;

	assert_true(piece->offset + piece->length <= mr->length);
	for (uint32_t i = 0; i < piece->length; i++)
		owned |= owners[mr->base + piece->offset + i];
	assert_int_equal(owned, 0);
	memset(owners + mr->base + piece->offset, 1, piece->length);
}

static inline void claim_list(uint8_t *owners, const struct vc_program *program, uint32_t side,
			      uint32_t first, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		claim_piece(owners, program, side, &program->sides[side].pieces[first + i]);
}

#endif
