/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of this folder that are built into the program (CMakeLists.txt makes the definitions). */
#ifndef ROCE_REPORT_EMBEDDED_H
#define ROCE_REPORT_EMBEDDED_H

#include <stddef.h>

extern const unsigned char roce_page_css[];
extern const size_t roce_page_css_size;
extern const unsigned char roce_page_js[];
extern const size_t roce_page_js_size;

#endif
