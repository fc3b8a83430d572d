/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The canary: the transport target (transport_fuzz.c) over an access check that is broken on
 * purpose and linked into this program only. It lets a remote access reach one byte beyond its
 * region and asks for no protection domain. Every input of corpus/canary must be found out; if not,
 * the checks of the other targets are not worth much either.
 */
#include "mem/mem.h"

/* The linker gives the callers the first and the first the true one (--wrap). */
enum roce_mem_verdict __wrap_roce_mem_check_remote(const struct roce_key_table *tab,
						   const struct roce_pd *pd, const void *qp,
						   roce_key_t rkey, uint64_t va, uint64_t length,
						   uint32_t need, struct roce_mem_place *out);
enum roce_mem_verdict __real_roce_mem_check_remote(const struct roce_key_table *tab,
						   const struct roce_pd *pd, const void *qp,
						   roce_key_t rkey, uint64_t va, uint64_t length,
						   uint32_t need, struct roce_mem_place *out);

enum roce_mem_verdict __wrap_roce_mem_check_remote(const struct roce_key_table *tab,
						   const struct roce_pd *pd, const void *qp,
						   roce_key_t rkey, uint64_t va, uint64_t length,
						   uint32_t need, struct roce_mem_place *out)
{
	const struct roce_mr *mr = roce_key_table_find(tab, rkey);

	return __real_roce_mem_check_remote(tab, mr ? mr->pd : pd, qp, rkey, va, length - 1, need,
					    out);
}
