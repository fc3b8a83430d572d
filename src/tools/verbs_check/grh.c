/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The 40 bytes in front of a datagram. RoCEv2 puts the packet's IP header there: IPv6 fills all of
 * them, IPv4 the last 20, and the first 20 are then undefined. The receives' bytes were 0xff
 * before, so that nothing stale can be taken for a header. The first datagram of each QP is also
 * kept as an address to answer to, made by either of the two functions that verbs have for it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "tools/verbs_check/open_program.h"
#include "tools/verbs_check/run.h"

enum {
	IPV4_AT = 20, /* of its header */
	IPV4_SOURCE = IPV4_AT + 12,
	IPV4_TARGET = IPV4_AT + 16,
	IPV4_HOPS = IPV4_AT + 8,
	IPV6_SOURCE = 8,
	IPV6_TARGET = 24,
	IPV6_HOPS = 7,
	ECN_BITS = 3,
};

static void copy_header(const struct vc_run *run, const struct vc_grh_place *place,
			uint8_t out[VC_GRH_BYTES])
{
	const struct vc_side *side = &run->program->sides[run->side];
	const struct vc_receive *receive = &side->lanes[place->pool].receives[place->index];
	uint32_t done = 0;

	for (uint32_t i = 0; i < receive->piece_count && done < VC_GRH_BYTES; i++) {
		const struct vc_piece *piece = &side->pieces[receive->piece_first + i];
		uint32_t part = VC_GRH_BYTES - done;

		if (part > piece->length)
			part = piece->length;
		memcpy(out + done, vc_memory_at(run->memory, run->program, run->side, piece), part);
		done += part;
	}
}

void vc_grh_blank(const struct vc_run *run, const struct vc_receive *receive)
{
	const struct vc_side *side = &run->program->sides[run->side];
	uint32_t done = 0;

	for (uint32_t i = 0; i < receive->piece_count && done < VC_GRH_BYTES; i++) {
		const struct vc_piece *piece = &side->pieces[receive->piece_first + i];
		uint32_t part = VC_GRH_BYTES - done;

		if (part > piece->length)
			part = piece->length;
		memset(vc_memory_at(run->memory, run->program, run->side, piece), 0xff, part);
		done += part;
	}
}

static bool is_header_right(const uint8_t *bytes, const union ibv_gid *source,
			    const union ibv_gid *target)
{
	if (vc_gid_is_ipv4(source))
		return bytes[IPV4_AT] == 0x45 && bytes[IPV4_HOPS] > 0 &&
		       memcmp(bytes + IPV4_SOURCE, source->raw + 12, 4) == 0 &&
		       memcmp(bytes + IPV4_TARGET, target->raw + 12, 4) == 0;
	return bytes[0] >> 4 == 6 && bytes[IPV6_HOPS] > 0 &&
	       memcmp(bytes + IPV6_SOURCE, source->raw, 16) == 0 &&
	       memcmp(bytes + IPV6_TARGET, target->raw, 16) == 0;
}

/* The way back, from the completion and the header alone. */
static enum vc_verdict keep_return(struct vc_run *run, const struct ibv_wc *wc,
				   const struct vc_grh_place *place, const uint8_t *bytes)
{
	struct vc_return *back = &run->endpoint->returns[place->qp];
	const struct vc_device *device = run->device;
	struct ibv_ah_attr attr;
	struct ibv_wc copy = *wc;
	struct ibv_grh grh;

	/* What came by the group names no address of this side. */
	if (back->ah || !is_header_right(bytes, &run->peer_gid, &device->gid) ||
	    !vc_program_has(run->program, VC_FEATURE_REPLY))
		return VC_RIGHT;
	memcpy(&grh, bytes, sizeof(grh));
	if (place->qp & 1) {
		back->ah = ibv_create_ah_from_wc(device->pds[0], &copy, &grh, device->port);
	} else {
		if (ibv_init_ah_from_wc(device->context, device->port, &copy, &grh, &attr))
			return vc_report_wrong(run->report, "ibv_init_ah_from_wc: %s",
					       strerror(errno));
		if (!attr.is_global || attr.port_num != device->port ||
		    memcmp(&attr.grh.dgid, &run->peer_gid, sizeof(attr.grh.dgid)) != 0)
			return vc_report_wrong(run->report,
					       "ibv_init_ah_from_wc names another sender");
		back->ah = ibv_create_ah(device->pds[0], &attr);
	}
	if (!back->ah)
		return vc_report_wrong(run->report, "an address handle from a completion: %s",
				       strerror(errno));
	back->qpn = wc->src_qp;
	return VC_RIGHT;
}

static const union ibv_gid *gid_of(const struct vc_run *run, uint32_t side)
{
	return side == run->side ? &run->device->gid : &run->peer_gid;
}

bool vc_grh_is_from(const struct vc_run *run, const struct vc_grh_place *place, uint32_t side)
{
	const union ibv_gid *source = gid_of(run, side);
	uint8_t bytes[VC_GRH_BYTES];

	copy_header(run, place, bytes);
	return vc_gid_is_ipv4(source) ? memcmp(bytes + IPV4_SOURCE, source->raw + 12, 4) == 0
				      : memcmp(bytes + IPV6_SOURCE, source->raw, 16) == 0;
}

enum vc_verdict vc_grh_check(struct vc_run *run, const struct ibv_wc *wc,
			     struct vc_grh_place *place)
{
	const union ibv_gid *source = gid_of(run, place->from);
	uint8_t bytes[VC_GRH_BYTES];

	if (!(wc->wc_flags & IBV_WC_GRH) || wc->pkey_index != 0)
		return vc_report_wrong(run->report,
				       "datagram with wc_flags 0x%x and pkey_index %u: no GRH",
				       wc->wc_flags, wc->pkey_index);
	copy_header(run, place, bytes);
	place->is_group =
		run->endpoint->group_ah && is_header_right(bytes, source, &run->endpoint->group);
	if (!place->is_group && !is_header_right(bytes, source, &run->device->gid))
		return vc_report_wrong(
			run->report,
			"datagram in receive %u of pool %u: no IP%s header from the sender in its "
			"first 40 bytes (version nibbles %x and %x)",
			place->index, place->pool, vc_gid_is_ipv4(source) ? "v4" : "v6",
			bytes[0] >> 4, bytes[IPV4_AT] >> 4);
	return keep_return(run, wc, place, bytes);
}

enum vc_verdict vc_grh_check_class(struct vc_run *run, const struct vc_grh_place *place,
				   uint8_t expected)
{
	uint8_t bytes[VC_GRH_BYTES];
	uint8_t found;

	copy_header(run, place, bytes);
	found = bytes[IPV4_AT + 1];
	if (!vc_gid_is_ipv4(&run->device->gid))
		found = (uint8_t)(bytes[0] << 4 | bytes[1] >> 4);
	if ((found ^ expected) & ~ECN_BITS)
		return vc_report_wrong(
			run->report,
			"datagram in receive %u of pool %u has traffic class 0x%02x, "
			"not 0x%02x",
			place->index, place->pool, found, expected);
	return VC_RIGHT;
}
