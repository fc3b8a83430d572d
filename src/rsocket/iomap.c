/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * riomap(): a buffer that the peer may write to by riowrite(). It is registered at once, and told
 * to the peer, as an entry of its table, in front of the next data that is sent. The entry takes
 * one credit. Unmapping tells the peer nothing: its later writes fail at our key.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "rsocket/iomap.h"
#include "rsocket/socket.h"

static int find_free_index(const struct roce_rs *rs)
{
	for (uint32_t index = 0; index < rs->peer_mappings.length; index++) {
		struct roce_list *pos;
		bool is_used = false;

		roce_list_for_each (pos, &rs->mappings)
			is_used |= roce_container_of(pos, struct roce_rs_mapping, link)->index ==
				   (int)index;
		if (!is_used)
			return (int)index;
	}
	return -1;
}

off_t roce_rs_map(struct roce_rs *rs, void *buffer, size_t length, int prot, off_t offset)
{
	int access = IBV_ACCESS_LOCAL_WRITE;
	struct roce_rs_mapping *m;
	int index = -1;

	if (!rs->cq || (prot != PROT_WRITE && prot != PROT_NONE) || length > UINT32_MAX)
		return -EINVAL;
	if (prot == PROT_WRITE) {
		access |= IBV_ACCESS_REMOTE_WRITE;
		index = find_free_index(rs);
		if (index < 0)
			return -ENOMEM;
	}
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->mr = ibv_reg_mr(rs->id->pd, buffer, length, (unsigned)access);
	if (!m->mr) {
		int error = errno;

		free(m);
		return -error;
	}
	m->index = index;
	m->offset = offset == -1 ? (uintptr_t)buffer : (uint64_t)offset;
	m->is_pending = index >= 0;
	rs->has_pending_mapping |= m->is_pending;
	roce_list_add_tail(&rs->mappings, &m->link);
	return (off_t)m->offset;
}

int roce_rs_unmap(struct roce_rs *rs, const void *buffer, size_t length)
{
	struct roce_list *pos, *tmp;

	roce_list_for_each_safe (pos, tmp, &rs->mappings) {
		struct roce_rs_mapping *m = roce_container_of(pos, struct roce_rs_mapping, link);

		if (m->mr->addr != buffer || m->mr->length != length)
			continue;
		roce_list_remove(&m->link);
		ibv_dereg_mr(m->mr);
		free(m);
		return 0;
	}
	return -EINVAL;
}

static int publish(struct roce_rs *rs, struct roce_rs_mapping *m)
{
	uint8_t entry[ROCE_RS_MAPPING_BYTES];
	struct roce_rs_sge sge = {.address = (uintptr_t)m->mr->addr,
				  .rkey = m->mr->rkey,
				  .length = (uint32_t)m->mr->length};
	struct roce_rs_sge to = rs->peer_mappings;
	struct ibv_sge local = {.addr = (uintptr_t)entry, .length = sizeof(entry)};
	int error;

	roce_rs_mapping_encode(m->offset, &sge, rs->is_peer_swapped, entry);
	to.address += (uint64_t)m->index * ROCE_RS_MAPPING_BYTES;
	error = roce_rs_post_write(rs, &local, 1, &to, roce_rs_wr_id(ROCE_RS_OP_MAPPING, 0),
				   roce_rs_imm(ROCE_RS_OP_MAPPING, (uint32_t)m->index));
	if (error)
		return error;
	rs->send_room--;
	rs->sent_sequence++;
	m->is_pending = false;
	return 0;
}

int roce_rs_publish_mappings(struct roce_rs *rs, bool is_nonblocking)
{
	while (rs->has_pending_mapping) {
		struct roce_rs_mapping *pending = NULL;
		struct roce_list *pos;
		int error = roce_rs_wait(rs, is_nonblocking, roce_rs_can_send_or_never);

		if (error)
			return error;
		if (!rs->is_writable)
			return -ECONNRESET;
		roce_list_for_each (pos, &rs->mappings) {
			struct roce_rs_mapping *m =
				roce_container_of(pos, struct roce_rs_mapping, link);

			if (m->is_pending) {
				pending = m;
				break;
			}
		}
		rs->has_pending_mapping = pending != NULL;
		error = pending ? publish(rs, pending) : 0;
		if (error)
			return error;
	}
	return 0;
}
