/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A run as one self-contained page (report/page.h): what came of it, each failure with its reason
 * and what to look at, then every case with thresholds and pictures, where it ran, and how to run
 * it again. Told from the record, as everything else.
 */
#ifndef ROCE_VERIFY_PAGE_H
#define ROCE_VERIFY_PAGE_H

#include "verify/record.h"

#include <stdio.h>

/* False: out of memory; the page is then incomplete. Write errors are the stream's. */
bool roce_verify_page(const struct roce_verify_record *record, FILE *out);

/* The parameters of a case in one line, with units. */
void roce_verify_page_parameters(const struct roce_verify_case *c, char *out, size_t size);

#endif
