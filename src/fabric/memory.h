/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory behind a host's region. Its addresses are slots, SLOT_BYTES apart and more than there
 * is memory for; a slot has bytes from the first touch until it is given back, and as many as its
 * message. The first slot is that of phantom payload and never has any; the next ones are those of
 * posted receives; then come those of messages of real payload, taken when they are posted.
 *
 * A slot whose message is to be sent has its pattern in it (payload.h); any other is zero until
 * something is stored.
 */
#ifndef ROCE_FABRIC_MEMORY_H
#define ROCE_FABRIC_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROCE_FABRIC_MEMORY_BASE	 (UINT64_C(1) << 40)
#define ROCE_FABRIC_MEMORY_BYTES (UINT64_C(1) << 60)
#define ROCE_FABRIC_SLOT_SHIFT	 32u
#define ROCE_FABRIC_SLOT_NONE	 0u /* phantom */

/* What stands in a message: its bytes follow from this and their offsets. */
struct roce_fabric_content {
	uint32_t flow;
	bool is_answer;
	uint64_t message; /* of the flow */
};

struct roce_fabric_slot {
	uint8_t *bytes; /* NULL: not touched yet */
	uint32_t length;
	uint32_t next; /* in a list of its owner, or of those that are free */
	bool is_used;
	bool is_source;
	bool is_over; /* what is still stored goes nowhere */
	struct roce_fabric_content content;
};

/* In the order of messages; linked by `next`. */
struct roce_fabric_slot_list {
	uint32_t head; /* ROCE_FABRIC_SLOT_NONE: empty */
	uint32_t tail;
};

struct roce_fabric_memory {
	struct roce_fabric_slot *slots;
	uint32_t count; /* of them, 0 before the first is taken */
	uint32_t room;
	uint32_t free_head;
	uint32_t receive_count; /* slots 1 to this are of receives */
	uint32_t receive_bytes; /* of each; 0: nothing real is received */
};

static inline uint64_t roce_fabric_slot_address(uint32_t slot)
{
	return ROCE_FABRIC_MEMORY_BASE + ((uint64_t)slot << ROCE_FABRIC_SLOT_SHIFT);
}

/* The process ends without memory, as it has no result then. */
void roce_fabric_memory_init(struct roce_fabric_memory *m, uint32_t receive_count);
void roce_fabric_memory_fini(struct roce_fabric_memory *m);

/* Receives can take messages of so many bytes from now on. */
void roce_fabric_memory_receive(struct roce_fabric_memory *m, uint32_t bytes);

uint32_t roce_fabric_memory_take(struct roce_fabric_memory *m,
				 const struct roce_fabric_content *content, uint32_t length,
				 bool is_source);
void roce_fabric_memory_give(struct roce_fabric_memory *m, uint32_t slot);
/* The message is complete and its bytes are not needed; the slot stays taken, since a packet of it
 * may come once more. */
void roce_fabric_memory_end(struct roce_fabric_memory *m, uint32_t slot);
/* A receive is over: its slot is zero again. */
void roce_fabric_memory_forget(struct roce_fabric_memory *m, uint32_t slot);
/* NULL: no slot that is in use. */
struct roce_fabric_slot *roce_fabric_memory_at(struct roce_fabric_memory *m, uint32_t slot);

/* 0, or -EFAULT where there is nothing. */
int roce_fabric_memory_store(struct roce_fabric_memory *m, uint64_t address, const void *from,
			     size_t length);
/* Copies out; what is not there reads as zeros. The slot that was read, or NULL. */
const struct roce_fabric_slot *roce_fabric_memory_load(struct roce_fabric_memory *m,
						       uint64_t address, void *to, size_t length);

#endif
