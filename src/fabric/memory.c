/* SPDX-License-Identifier: BSD-2-Clause */
/* Slots, and the bytes of those that were touched; see memory.h. */
#include "fabric/memory.h"

#include "base/assert.h"
#include "fabric/payload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST  64u
#define OFFSET_MASK ((UINT64_C(1) << ROCE_FABRIC_SLOT_SHIFT) - 1)

static void make_room(struct roce_fabric_memory *m, uint32_t count)
{
	uint32_t room = m->room ? m->room : ROOM_FIRST;

	while (room < count)
		room *= 2;
	if (room == m->room)
		return;
	m->slots = realloc(m->slots, room * sizeof(*m->slots));
	ROCE_ASSERT(m->slots);
	m->room = room;
}

/* The table is made when it is needed: most hosts have phantom payload alone. */
static void begin(struct roce_fabric_memory *m)
{
	if (m->count)
		return;
	make_room(m, m->receive_count + 1);
	m->count = m->receive_count + 1;
	memset(m->slots, 0, m->count * sizeof(*m->slots));
	for (uint32_t i = 1; i < m->count; i++)
		m->slots[i].is_used = true;
}

void roce_fabric_memory_init(struct roce_fabric_memory *m, uint32_t receive_count)
{
	*m = (struct roce_fabric_memory){.receive_count = receive_count};
}

void roce_fabric_memory_fini(struct roce_fabric_memory *m)
{
	for (uint32_t i = 0; i < m->count; i++)
		free(m->slots[i].bytes);
	free(m->slots);
	*m = (struct roce_fabric_memory){0};
}

void roce_fabric_memory_receive(struct roce_fabric_memory *m, uint32_t bytes)
{
	begin(m);
	if (bytes > m->receive_bytes)
		m->receive_bytes = bytes;
}

uint32_t roce_fabric_memory_take(struct roce_fabric_memory *m,
				 const struct roce_fabric_content *content, uint32_t length,
				 bool is_source)
{
	uint32_t slot;

	begin(m);
	slot = m->free_head;
	if (slot) {
		m->free_head = m->slots[slot].next;
	} else {
		make_room(m, m->count + 1);
		slot = m->count++;
	}
	m->slots[slot] = (struct roce_fabric_slot){
		.length = length,
		.is_used = true,
		.is_source = is_source,
		.content = *content,
	};
	return slot;
}

void roce_fabric_memory_give(struct roce_fabric_memory *m, uint32_t slot)
{
	free(m->slots[slot].bytes);
	m->slots[slot] = (struct roce_fabric_slot){.next = m->free_head};
	m->free_head = slot;
}

void roce_fabric_memory_end(struct roce_fabric_memory *m, uint32_t slot)
{
	free(m->slots[slot].bytes);
	m->slots[slot].bytes = NULL;
	m->slots[slot].is_over = true;
}

void roce_fabric_memory_forget(struct roce_fabric_memory *m, uint32_t slot)
{
	if (slot >= m->count)
		return;
	free(m->slots[slot].bytes);
	m->slots[slot].bytes = NULL;
	m->slots[slot].length = 0;
}

struct roce_fabric_slot *roce_fabric_memory_at(struct roce_fabric_memory *m, uint32_t slot)
{
	return slot < m->count && m->slots[slot].is_used ? &m->slots[slot] : NULL;
}

static uint32_t slot_of(uint64_t address)
{
	return (uint32_t)((address - ROCE_FABRIC_MEMORY_BASE) >> ROCE_FABRIC_SLOT_SHIFT);
}

static void touch(struct roce_fabric_slot *slot)
{
	if (slot->bytes)
		return;
	slot->bytes = calloc(1, slot->length);
	ROCE_ASSERT(slot->bytes);
	if (slot->is_source)
		roce_fabric_payload_fill(&slot->content, 0, slot->bytes, slot->length);
}

/* The length of a receive is that of its bytes: messages may come that are longer than those that
 * were known when the first part of one was stored. */
static void grow_receive(struct roce_fabric_slot *slot, uint32_t length)
{
	if (slot->length >= length)
		return;
	slot->bytes = realloc(slot->bytes, length);
	ROCE_ASSERT(slot->bytes);
	memset(slot->bytes + slot->length, 0, length - slot->length);
	slot->length = length;
}

int roce_fabric_memory_store(struct roce_fabric_memory *m, uint64_t address, const void *from,
			     size_t length)
{
	uint32_t number = slot_of(address);
	uint64_t offset = address & OFFSET_MASK;
	bool is_receive = number && number <= m->receive_count;
	struct roce_fabric_slot *slot;

	/* Phantom bytes; and what stands before a phantom datagram. */
	if (number == ROCE_FABRIC_SLOT_NONE || (is_receive && !m->receive_bytes))
		return 0;
	slot = roce_fabric_memory_at(m, number);
	if (!slot)
		return -EFAULT;
	if (is_receive)
		grow_receive(slot, m->receive_bytes);
	if (offset + length > slot->length)
		return -EFAULT;
	if (slot->is_over)
		return 0;
	touch(slot);
	memcpy(slot->bytes + offset, from, length);
	return 0;
}

const struct roce_fabric_slot *roce_fabric_memory_load(struct roce_fabric_memory *m,
						       uint64_t address, void *to, size_t length)
{
	struct roce_fabric_slot *slot = roce_fabric_memory_at(m, slot_of(address));
	uint64_t offset = address & OFFSET_MASK;

	if (!slot || offset + length > slot->length) {
		memset(to, 0, length);
		return NULL;
	}
	touch(slot);
	memcpy(to, slot->bytes + offset, length);
	return slot;
}
