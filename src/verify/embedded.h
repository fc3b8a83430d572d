/* SPDX-License-Identifier: BSD-2-Clause */
/* The plans of this folder, built into the program (CMakeLists.txt makes the definitions). */
#ifndef ROCE_VERIFY_EMBEDDED_H
#define ROCE_VERIFY_EMBEDDED_H

#include <stddef.h>

extern const unsigned char roce_verify_plan_default[];
extern const size_t roce_verify_plan_default_size;
extern const unsigned char roce_verify_plan_self_test[];
extern const size_t roce_verify_plan_self_test_size;

#endif
