/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From what the two sides said to a verdict. Pure: takes the two results and the floors that were
 * measured before.
 */
#ifndef ROCE_VERIFY_JUDGE_H
#define ROCE_VERIFY_JUDGE_H

#include "verify/record.h"

/* `results`: one for each side, NULL where none came. Fills values, detail, pictures, verdict and
 * reason. One that went wrong on either side is a failure, whatever was measured. */
void roce_verify_judge(struct roce_verify_outcome *outcome,
		       json_t *const results[ROCE_VERIFY_SIDES],
		       const struct roce_verify_record *record);

#endif
