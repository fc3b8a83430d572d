/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets that reached a socket which is not their slot's: batches that a peer mixed, or the moment
 * in which a group's numbers were wrong. They are relayed to the holder of the slot, counted, and
 * limited in rate, because this is not a data path; what is dropped here RC sends again. Packets
 * for slot 0 are the daemon's own.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "daemon/server.h"

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

#define DATAGRAM_MAX	  65536
#define DATAGRAMS_AT_ONCE 32
#define SLOT_OFFSET	  5 /* the top byte of DestQP in a BTH */
#define BTH_BYTES	  12

static bool take_token(struct roce_bucket *b, roce_ns_t now)
{
	const roce_ns_t per_token = ROCE_NS_PER_S / ROCE_SERVER_STRAYS_PER_S;
	roce_ns_t fresh;

	if (!b->at) {
		b->at = now;
		b->tokens = ROCE_SERVER_STRAYS_BURST;
	}
	fresh = (now - b->at) / per_token;
	if (fresh) {
		b->at += fresh * per_token;
		b->tokens = fresh >= ROCE_SERVER_STRAYS_BURST - b->tokens
				    ? ROCE_SERVER_STRAYS_BURST
				    : b->tokens + (uint32_t)fresh;
	}
	if (!b->tokens)
		return false;
	b->tokens--;
	return true;
}

static void relay(struct roce_server *s, const struct roce_served_group *sg,
		  const struct roce_message *m)
{
	uint8_t slot = m->stray.data[SLOT_OFFSET];
	struct roce_session *owner;

	if (slot == 0) {
		s->counter[ROCE_SERVER_packets_slot0]++;
		roce_cm_service_on_packet(s, &sg->group.address, &m->stray.from, m->stray.data,
					  m->stray.length);
		return;
	}
	owner = roce_server_find_holder(s, slot);
	if (!owner) {
		s->counter[ROCE_SERVER_strays_unowned]++;
		return;
	}
	if (owner->output_count || roce_channel_send(owner->socket.fd, m, NULL, 0))
		s->counter[ROCE_SERVER_strays_undelivered]++;
	else
		s->counter[ROCE_SERVER_strays_relayed]++;
}

static bool is_misdirected(struct roce_server *s, struct roce_served_group *sg, uint8_t slot)
{
	return slot && roce_server_find_holder(s, slot) && roce_group_find(&sg->group, slot) >= 0;
}

void roce_stray_on_client(struct roce_server *s, struct roce_session *c,
			  const struct roce_message *m)
{
	struct roce_served_group *sg = roce_server_find_group_by_gid(s, &m->stray.local);
	struct roce_message out = *m;

	if (m->stray.length < BTH_BYTES || !sg) {
		s->counter[ROCE_SERVER_strays_unowned]++;
		return;
	}
	if (!take_token(&c->strays, roce_clock_now())) {
		s->counter[ROCE_SERVER_strays_limited]++;
		return;
	}
	out.sequence = 0;
	relay(s, sg, &out);
	if (is_misdirected(s, sg, m->stray.data[SLOT_OFFSET]))
		roce_server_suspect(s, sg);
}

static void get_ancillary(struct msghdr *msg, uint8_t *out_tos, uint32_t *out_segment)
{
	for (struct cmsghdr *cm = CMSG_FIRSTHDR(msg); cm; cm = CMSG_NXTHDR(msg, cm)) {
		int value = 0;

		if (cm->cmsg_level == IPPROTO_IP && cm->cmsg_type == IP_TOS) {
			memcpy(out_tos, CMSG_DATA(cm), 1);
		} else if (cm->cmsg_level == IPPROTO_IPV6 && cm->cmsg_type == IPV6_TCLASS) {
			memcpy(&value, CMSG_DATA(cm), sizeof(value));
			*out_tos = (uint8_t)value;
		} else if (cm->cmsg_level == IPPROTO_UDP && cm->cmsg_type == UDP_GRO) {
			memcpy(&value, CMSG_DATA(cm), sizeof(value));
			*out_segment = value > 0 ? (uint32_t)value : 0;
		}
	}
}

/* One packet of a batch that reached slot 0. */
static void take_packet(struct roce_server *s, struct roce_served_group *sg, struct roce_message *m)
{
	uint8_t slot;

	if (m->stray.length < BTH_BYTES) {
		s->counter[ROCE_SERVER_strays_unowned]++;
		return;
	}
	slot = m->stray.data[SLOT_OFFSET];
	if (slot && roce_server_find_holder(s, slot) &&
	    !take_token(&sg->strays, roce_clock_now())) {
		s->counter[ROCE_SERVER_strays_limited]++;
		return;
	}
	relay(s, sg, m);
	if (is_misdirected(s, sg, slot))
		roce_server_suspect(s, sg);
}

/* Stops when a repair has rearranged the group. */
static void read_member(struct roce_server *s, struct roce_served_group *sg, int fd)
{
	static uint8_t data[DATAGRAM_MAX];
	uint64_t resyncs = sg->group.resync_count;

	for (unsigned i = 0; i < DATAGRAMS_AT_ONCE; i++) {
		union {
			char bytes[256];
			struct cmsghdr align;
		} anc;
		struct roce_message m = {.type = ROCE_MESSAGE_STRAY};
		struct iovec iov = {data, sizeof(data)};
		struct msghdr msg = {.msg_name = &m.stray.from,
				     .msg_namelen = sizeof(m.stray.from),
				     .msg_iov = &iov,
				     .msg_iovlen = 1,
				     .msg_control = &anc,
				     .msg_controllen = sizeof(anc)};
		ssize_t n = recvmsg(fd, &msg, MSG_DONTWAIT);
		uint32_t segment = 0;

		if (n < 0)
			return;
		m.stray.local = sg->group.address.gid;
		get_ancillary(&msg, &m.stray.tos, &segment);
		if (!segment || segment > n)
			segment = (uint32_t)n;
		for (uint32_t at = 0; at < n; at += segment) {
			uint32_t left = (uint32_t)n - at;
			uint32_t length = left < segment ? left : segment;

			if (length > ROCE_CONTROL_STRAY_MAX) {
				s->counter[ROCE_SERVER_strays_unowned]++;
				continue;
			}
			m.stray.data = data + at;
			m.stray.length = (uint16_t)length;
			take_packet(s, sg, &m);
			if (sg->group.resync_count != resyncs)
				return;
		}
	}
}

void roce_stray_on_slot0(struct roce_server *s, struct roce_source *source)
{
	read_member(s, roce_container_of(source, struct roce_served_group, slot0), source->fd);
}

void roce_stray_on_spares(struct roce_server *s, struct roce_source *source)
{
	struct roce_served_group *sg = roce_container_of(source, struct roce_served_group, spares);
	uint64_t resyncs = sg->group.resync_count;

	for (unsigned i = 0; i < sg->group.count && sg->group.resync_count == resyncs; i++)
		if (sg->group.member[i].kind == ROCE_MEMBER_SPARE)
			read_member(s, sg, sg->group.member[i].fd);
}
