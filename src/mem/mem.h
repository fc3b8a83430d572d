/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a key may touch. A memory region names bytes of this process by a local and a remote key;
 * every access that a packet or a work request causes passes roce_mem_check_*() first.
 *
 * The bytes themselves are moved by an op (struct roce_mem_ops), so that the engine can guard the
 * copy against memory that was unmapped meanwhile, and the simulator can have none.
 * Storage: regions are embedded in the verbs object; the table's buckets belong to the caller.
 */
#ifndef ROCE_MEM_MEM_H
#define ROCE_MEM_MEM_H

#include "wire/ids.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Values of enum ibv_access_flags. */
enum roce_access {
	ROCE_ACCESS_LOCAL_WRITE = 1 << 0,
	ROCE_ACCESS_REMOTE_WRITE = 1 << 1,
	ROCE_ACCESS_REMOTE_READ = 1 << 2,
	ROCE_ACCESS_REMOTE_ATOMIC = 1 << 3,
	ROCE_ACCESS_MW_BIND = 1 << 4,
	ROCE_ACCESS_ZERO_BASED = 1 << 5,
	ROCE_ACCESS_ON_DEMAND = 1 << 6,
	ROCE_ACCESS_HUGETLB = 1 << 7,
};

struct roce_pd {
	uint32_t handle;
	uint32_t use_count; /* objects of this domain; a domain in use is not deallocated */
};

/* What an entry of the key table is. */
enum roce_mr_kind {
	ROCE_MR_REGION,
	ROCE_MR_WINDOW_1, /* bound by ibv_bind_mw; any QP of its PD may use it */
	ROCE_MR_WINDOW_2, /* bound by a send WR; only the QP that bound it may use it */
	ROCE_MR_NULL,	  /* a local key for any address: reads as zeros, forgets what is written */
};

/* Where the bytes of a null region are; no other access leads there. */
#define ROCE_MEM_NOWHERE UINT64_MAX

/* Where the bytes of an access are. Those of an on-demand region may come and go as the program
 * likes, so they are reached in another way. */
struct roce_mem_place {
	uint64_t ptr; /* in this process, or ROCE_MEM_NOWHERE */
	bool is_on_demand;
};

struct roce_mr {
	struct roce_mr *bucket_next;
	roce_key_t lkey;
	roce_key_t rkey; /* differs from lkey: one leaked number opens only one side */
	struct roce_pd *pd;
	uint64_t iova;	 /* what the peer calls the first byte; 0 if zero based */
	uint64_t addr;	 /* where it is in this process */
	uint64_t length; /* bytes */
	uint32_t access; /* enum roce_access */
	bool is_valid;
	bool can_invalidate;   /* a region that a SEND with invalidate may end */
	uint8_t kind;	       /* enum roce_mr_kind */
	uint32_t window_count; /* region: windows bound to it; it may not go while there are any */
	struct roce_mr *bound_to; /* window: its region while bound, else NULL */
	const void *bound_qp;	  /* window of type 2: the QP that bound it */
};

/* Both keys of a region share the 24-bit index, so one entry serves both. */
struct roce_key_table {
	struct roce_mr **buckets;
	uint32_t bucket_mask; /* bucket count - 1, a power of two */
	uint32_t count;
	uint32_t window_count; /* of them */
};

void roce_key_table_init(struct roce_key_table *tab, struct roce_mr **buckets,
			 uint32_t bucket_count);

/* Enters `mr` under the upper 24 bits of `random_index`, which come from the system's randomness,
 * and sets lkey and rkey. 0, or -1 if that index is taken or 0: draw again. */
int roce_key_table_add(struct roce_key_table *tab, struct roce_mr *mr, uint32_t random_index,
		       uint8_t lkey_variant, uint8_t rkey_variant);
void roce_key_table_remove(struct roce_key_table *tab, struct roce_mr *mr);
struct roce_mr *roce_key_table_find(const struct roce_key_table *tab, roce_key_t key);

enum roce_mem_verdict {
	ROCE_MEM_OK,
	ROCE_MEM_BAD_KEY,
	ROCE_MEM_BAD_PD,
	ROCE_MEM_BAD_ACCESS,
	ROCE_MEM_BAD_RANGE,
};

/* Local key: `need` is 0 for reading or ROCE_ACCESS_LOCAL_WRITE. addr is a process address (an iova
 * for regions with one). */
enum roce_mem_verdict roce_mem_check_local(const struct roce_key_table *tab,
					   const struct roce_pd *pd, roce_key_t lkey, uint64_t addr,
					   uint64_t length, uint32_t need,
					   struct roce_mem_place *out);

/* Remote key: `need` is one of the REMOTE flags; `qp` is who asks. */
enum roce_mem_verdict roce_mem_check_remote(const struct roce_key_table *tab,
					    const struct roce_pd *pd, const void *qp,
					    roce_key_t rkey, uint64_t va, uint64_t length,
					    uint32_t need, struct roce_mem_place *out);

/* ---- memory windows (window.c) ---- */

struct roce_mem_bind {
	roce_key_t rkey; /* the window's index with the low byte that it is to have from now on */
	roce_key_t current; /* the key that the program thinks it has until then; 0: not told */
	uint32_t lkey;	    /* of the region */
	uint64_t addr;	    /* first byte, as the region's keys call it */
	uint64_t length;    /* bytes; 0 unbinds a window of type 1 */
	uint32_t access;    /* enum roce_access: REMOTE flags and ZERO_BASED */
};

/* Enters a window, free, under a random index; as roce_key_table_add(). */
int roce_window_mr_add(struct roce_key_table *tab, struct roce_mr *mw, enum roce_mr_kind kind,
		       struct roce_pd *pd, uint32_t random_index, uint8_t variant);
/* Unbinds and removes it. */
void roce_window_mr_remove(struct roce_key_table *tab, struct roce_mr *mw);
/* Binds by a work request of `qp`; anything but OK is a MW_BIND_ERR that changed nothing. */
enum roce_mem_verdict roce_mem_bind(struct roce_key_table *tab, const struct roce_pd *pd,
				    const void *qp, const struct roce_mem_bind *bind);
/* The QP goes: windows of type 2 that it bound are free again, so that no later QP at its address
 * inherits them. */
void roce_mem_unbind_all(struct roce_key_table *tab, const void *qp);
/* LOCAL_INV, or a peer's SEND with invalidate: ends a window of type 2 that this QP bound. */
enum roce_mem_verdict roce_mem_invalidate(struct roce_key_table *tab, const struct roce_pd *pd,
					  const void *qp, roce_key_t rkey);

/* Changes memory; 0, or -EFAULT when it is gone. `ctx` is the owner's. */
struct roce_mem_ops {
	int (*store)(void *ctx, const struct roce_mem_place *to, const void *from, size_t length);
	/* The two atomics on an aligned 64-bit word of this process, host order. */
	int (*compare_swap)(void *ctx, uint64_t *word, uint64_t compare, uint64_t swap,
			    uint64_t *out_orig);
	int (*fetch_add)(void *ctx, uint64_t *word, uint64_t add, uint64_t *out_orig);
};

#endif
