/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What UD QPs need beside themselves: an address handle to the other side for each, with a flow
 * label and a traffic class of its own, and the multicast group of the seed and of this pair, which
 * the QPs of both sides that are members join. Called once a seed, after the QPs are made and
 * before they are connected.
 */
#include <errno.h>
#include <string.h>

#include "tools/verbs_check/endpoint.h"

#define GROUP_LID   0
#define PAIR_FACTOR 0x9e3779b97f4a7c15ull /* of Fibonacci hashing: the upper bits are mixed */
#define PAIR_SHIFT  24

/* Another pair's program of the same seed may run on the same network at this time. */
static uint64_t mark_of_pair(const struct vc_endpoint *endpoint, uint32_t side)
{
	uint64_t qpns[] = {endpoint->qps[0]->qp_num, endpoint->remote_qpns[0]};

	return (qpns[side] << 32 | qpns[!side]) * PAIR_FACTOR >> PAIR_SHIFT;
}

/* Of the own family: 239.x.y.z, or ff12::... (not permanent, of link-local scope: scope 1 would not
 * leave the host). */
static void draw_group(uint64_t bits, const union ibv_gid *own, union ibv_gid *out_group)
{
	memset(out_group, 0, sizeof(*out_group));
	if (vc_gid_is_ipv4(own)) {
		memcpy(out_group->raw, own->raw, 12);
		out_group->raw[12] = 239;
		for (int i = 13; i < 16; i++, bits >>= 8)
			out_group->raw[i] = (uint8_t)bits;
		return;
	}
	out_group->raw[0] = 0xff;
	out_group->raw[1] = 0x12;
	for (int i = 8; i < 16; i++, bits >>= 8)
		out_group->raw[i] = (uint8_t)bits;
}

uint8_t vc_datagram_class(const struct vc_program *program, uint32_t qp)
{
	return (uint8_t)((program->seed * 16 + qp) << 2);
}

static struct ibv_ah *create_ah(const struct vc_device *device, const union ibv_gid *to,
				uint16_t lid, uint32_t flow_label, uint8_t traffic_class)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.dlid = lid,
		.port_num = device->port,
		.grh = {.dgid = *to,
			.sgid_index = device->gid_index,
			.flow_label = flow_label & 0xfffff,
			.traffic_class = traffic_class,
			.hop_limit = 64},
	};

	return ibv_create_ah(device->pds[0], &attr);
}

static enum vc_verdict join(struct vc_endpoint *endpoint, const struct vc_side *side,
			    const struct vc_program *program, struct vc_report *report)
{
	for (uint32_t q = 0; q < program->qp_count; q++) {
		int error;

		if (!side->lanes[q].attached)
			continue;
		error = ibv_attach_mcast(endpoint->qps[q], &endpoint->group, GROUP_LID);
		if (error)
			return vc_report_unusable(report, "ibv_attach_mcast: %s", strerror(error));
	}
	return VC_RIGHT;
}

enum vc_verdict vc_datagram_create(struct vc_endpoint *endpoint, const struct vc_device *device,
				   const struct vc_program *program, uint32_t side,
				   const struct vc_peer *peer, struct vc_report *report)
{
	if (program->transport != VC_TRANSPORT_UD)
		return VC_RIGHT;
	for (uint32_t q = 0; q < program->qp_count; q++) {
		endpoint->ahs[q] =
			create_ah(device, &peer->gid, peer->lid, (uint32_t)program->seed * 16 + q,
				  vc_datagram_class(program, q));
		if (!endpoint->ahs[q])
			return vc_report_unusable(report, "ibv_create_ah: %s", strerror(errno));
	}
	if (!vc_program_has(program, VC_FEATURE_MULTICAST))
		return VC_RIGHT;
	draw_group(program->group ^ mark_of_pair(endpoint, side), &device->gid, &endpoint->group);
	endpoint->group_ah = create_ah(device, &endpoint->group, GROUP_LID, 0, 0);
	if (!endpoint->group_ah)
		return vc_report_unusable(report, "ibv_create_ah of a group: %s", strerror(errno));
	if ((program->limits->quirks[side] & VC_QUIRK_RXE) &&
	    vc_group_join(endpoint, device, report) != VC_RIGHT)
		return report->verdict;
	return join(endpoint, &program->sides[side], program, report);
}

static void destroy_ah(struct ibv_ah *ah, struct vc_report *report)
{
	int error = ah ? ibv_destroy_ah(ah) : 0;

	if (error)
		(void)vc_report_wrong(report, "ibv_destroy_ah: %s", strerror(error));
}

void vc_datagram_destroy(struct vc_endpoint *endpoint, const struct vc_program *program,
			 uint32_t side, struct vc_report *report)
{
	for (uint32_t q = 0; q < VC_QP_MAX; q++) {
		int error;

		destroy_ah(endpoint->ahs[q], report);
		destroy_ah(endpoint->returns[q].ah, report);
		if (!endpoint->group_ah || !endpoint->qps[q] ||
		    !program->sides[side].lanes[q].attached || report->verdict != VC_RIGHT)
			continue;
		error = ibv_detach_mcast(endpoint->qps[q], &endpoint->group, GROUP_LID);
		if (error)
			(void)vc_report_wrong(report, "ibv_detach_mcast: %s", strerror(error));
	}
	destroy_ah(endpoint->group_ah, report);
	vc_group_leave(endpoint);
}
