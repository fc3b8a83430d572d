/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each side sends the same list of words; the limits are the smaller of both, what is run is the
 * client's. Called once a connection, so that all programs can be drawn without further talk.
 * Anybody may connect, so each word is held to what a verbs-check could have sent.
 */
#include "tools/verbs_check/agree.h"

#include <endian.h>
#include <string.h>

enum { VERSION = 5, DEPTH_WANTED = 64, DEPTH_NEEDED = 32, RD_ATOMIC_WANTED = 16 };

/* In Soft-RoCE's library (rdma-core 44) lists of several elements given to ibv_wr_set_sge_list()
 * are sent wrong, and ibv_wc_read_qp_num() may give 0; its kernel (6.1) refuses ibv_rereg_mr(). */
#define FEATURES_NOT_RXE (1u << VC_FEATURE_WR | 1u << VC_FEATURE_CQ_EX | 1u << VC_FEATURE_REREG)

enum word {
	WORD_VERSION,
	WORD_SIDE,
	WORD_SEED,
	WORD_SEED_COUNT,
	WORD_OPS,
	WORD_SIZE_MAX,
	WORD_QP_MAX,
	WORD_OP_MASK,
	WORD_MTU,
	WORD_FAULT_EVERY,
	WORD_TIMEOUT,
	WORD_EVENTS,
	WORD_LINKS,
	WORD_TRANSPORTS,
	WORD_FEATURES,
	WORD_SCENARIOS_LOW,
	WORD_SCENARIOS_HIGH,
	WORD_HAS_TRANSPORTS,
	WORD_HAS_FEATURES,
	WORD_ATOMIC_WRITE,
	WORD_DM_MAX,
	WORD_SRQ_SGE_MAX,
	WORD_SGE_MAX,
	WORD_SGE_READ_MAX,
	WORD_INLINE_MAX,
	WORD_DEPTH_MAX,
	WORD_CQE_MAX,
	WORD_RD_ATOMIC_MAX,
	WORD_WINDOWS,
	WORD_ATOMICS,
	WORD_ACTIVE_MTU,
	WORD_MESSAGE_MAX,
	WORD_OWN_QUIRKS,
	WORD_PEER_QUIRKS,
	WORD_LID,
	WORD_GID_HIGH,
	WORD_GID_LOW,
	WORD_COUNT,
};

static uint64_t min_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Some devices leave a limit at 0 or below where they mean none or one. */
static uint64_t at_least_one(int value)
{
	return value > 0 ? (uint64_t)value : 1;
}

static const struct {
	enum word word;
	uint64_t low;
	uint64_t high;
} ranges[] = {
	{WORD_SEED_COUNT, 1, UINT64_MAX},
	{WORD_OPS, 1, VC_OPTION_OPS_MAX},
	{WORD_SIZE_MAX, 1, VC_OPTION_SIZE_MAX},
	{WORD_QP_MAX, 1, VC_QP_MAX},
	{WORD_OP_MASK, 1, (1u << VC_OP_COUNT) - 1},
	{WORD_MTU, 0, IBV_MTU_4096},
	{WORD_FAULT_EVERY, 0, VC_OPTION_FAULTS_MAX},
	{WORD_TIMEOUT, 1, 31},
	{WORD_EVENTS, 0, 1},
	{WORD_LINKS, 0, (1u << VC_LINK_COUNT) - 1},
	{WORD_TRANSPORTS, 1, (1u << VC_TRANSPORT_COUNT) - 1},
	{WORD_FEATURES, 0, (1u << VC_FEATURE_COUNT) - 1},
	{WORD_HAS_TRANSPORTS, 1, (1u << VC_TRANSPORT_COUNT) - 1},
	{WORD_HAS_FEATURES, 0, (1u << VC_FEATURE_COUNT) - 1},
	{WORD_ATOMIC_WRITE, 0, 1},
	{WORD_SRQ_SGE_MAX, 1, VC_SGE_MAX},
	{WORD_SGE_MAX, 1, VC_SGE_MAX},
	{WORD_SGE_READ_MAX, 1, VC_SGE_MAX},
	{WORD_INLINE_MAX, 0, UINT32_MAX},
	{WORD_DEPTH_MAX, 1, DEPTH_WANTED},
	{WORD_CQE_MAX, 1, UINT32_MAX},
	{WORD_RD_ATOMIC_MAX, 1, RD_ATOMIC_WANTED},
	{WORD_WINDOWS, 0, 1},
	{WORD_ATOMICS, 0, 1},
	{WORD_ACTIVE_MTU, IBV_MTU_256, IBV_MTU_4096},
	{WORD_MESSAGE_MAX, 1, UINT32_MAX},
};

static bool is_sensible(const uint64_t *words)
{
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		uint64_t value = words[ranges[i].word];

		if (value < ranges[i].low || value > ranges[i].high)
			return false;
	}
	return true;
}

static void describe_device(const struct vc_device *device, uint64_t *words)
{
	const struct ibv_device_attr *attr = &device->attr;
	unsigned int windows = IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B;
	uint64_t gid[2];

	memcpy(gid, device->gid.raw, sizeof(gid));
	words[WORD_SGE_MAX] = min_of(at_least_one(attr->max_sge), VC_SGE_MAX);
	words[WORD_SGE_READ_MAX] = min_of(at_least_one(attr->max_sge_rd), words[WORD_SGE_MAX]);
	words[WORD_INLINE_MAX] = device->inline_max;
	words[WORD_DEPTH_MAX] = min_of(at_least_one(attr->max_qp_wr), DEPTH_WANTED);
	words[WORD_CQE_MAX] = at_least_one(attr->max_cqe);
	words[WORD_RD_ATOMIC_MAX] = min_of(
		min_of(at_least_one(attr->max_qp_rd_atom), at_least_one(attr->max_qp_init_rd_atom)),
		RD_ATOMIC_WANTED);
	words[WORD_WINDOWS] = (attr->device_cap_flags & windows) != 0 && attr->max_mw != 0;
	words[WORD_ATOMICS] = attr->atomic_cap != IBV_ATOMIC_NONE;
	words[WORD_HAS_TRANSPORTS] = device->transports;
	words[WORD_HAS_FEATURES] = device->features;
	words[WORD_ATOMIC_WRITE] = device->atomic_write;
	words[WORD_DM_MAX] = device->dm_max;
	words[WORD_SRQ_SGE_MAX] = min_of(at_least_one(attr->max_srq_sge), VC_SGE_MAX);
	words[WORD_ACTIVE_MTU] = device->port_attr.active_mtu;
	words[WORD_MESSAGE_MAX] = device->port_attr.max_msg_sz;
	words[WORD_LID] = device->port_attr.lid;
	words[WORD_GID_HIGH] = be64toh(gid[0]);
	words[WORD_GID_LOW] = be64toh(gid[1]);
}

static void describe_wishes(const struct vc_options *options, uint32_t side, uint64_t *words)
{
	words[WORD_VERSION] = VERSION;
	words[WORD_SIDE] = side;
	words[WORD_SEED] = options->seed;
	words[WORD_SEED_COUNT] = options->seed_count;
	words[WORD_OPS] = options->ops;
	words[WORD_SIZE_MAX] = options->size_max;
	words[WORD_QP_MAX] = options->qp_max;
	words[WORD_OP_MASK] = options->op_mask;
	words[WORD_MTU] = options->mtu;
	words[WORD_FAULT_EVERY] = options->fault_every;
	words[WORD_TIMEOUT] = options->timeout;
	words[WORD_EVENTS] = options->events;
	words[WORD_LINKS] = options->links;
	words[WORD_TRANSPORTS] = options->transports;
	words[WORD_FEATURES] = options->features;
	words[WORD_SCENARIOS_LOW] = options->scenarios.words[0];
	words[WORD_SCENARIOS_HIGH] = options->scenarios.words[1];
	words[WORD_OWN_QUIRKS] = options->own_quirks;
	words[WORD_PEER_QUIRKS] = options->peer_quirks;
}

static void take_wishes(struct vc_options *options, const uint64_t *client, const uint64_t *server)
{
	options->seed = client[WORD_SEED];
	options->seed_count = client[WORD_SEED_COUNT];
	options->ops = (uint32_t)client[WORD_OPS];
	options->size_max = (uint32_t)client[WORD_SIZE_MAX];
	options->qp_max = (uint32_t)client[WORD_QP_MAX];
	options->op_mask = (uint32_t)client[WORD_OP_MASK];
	options->mtu = (uint32_t)client[WORD_MTU];
	options->fault_every = (uint32_t)client[WORD_FAULT_EVERY];
	options->timeout = (uint32_t)client[WORD_TIMEOUT];
	options->links = (uint32_t)(client[WORD_LINKS] | server[WORD_LINKS]);
	options->transports = (uint32_t)client[WORD_TRANSPORTS];
	options->features = (uint32_t)client[WORD_FEATURES];
	options->scenarios.words[0] = client[WORD_SCENARIOS_LOW];
	options->scenarios.words[1] = client[WORD_SCENARIOS_HIGH];
	options->events = client[WORD_EVENTS] || server[WORD_EVENTS];
}

static enum vc_verdict set_mtu(const struct vc_options *options, uint64_t active,
			       struct vc_limits *limits, struct vc_report *report)
{
	limits->mtu_min = options->mtu ? options->mtu : IBV_MTU_256;
	limits->mtu_max = options->mtu ? options->mtu : (uint32_t)active;
	if (options->mtu > active)
		return vc_report_unusable(report,
					  "--mtu %u is above the ports' active MTU of %u bytes",
					  vc_mtu_bytes((enum ibv_mtu)options->mtu),
					  vc_mtu_bytes((enum ibv_mtu)active));
	return VC_RIGHT;
}

enum vc_verdict vc_agree(struct vc_options *options, const struct vc_device *device, uint32_t side,
			 struct vc_control *control, struct vc_limits *out_limits,
			 struct vc_peer *out_peer, struct vc_report *report)
{
	uint64_t mine[WORD_COUNT] = {0}, theirs[WORD_COUNT], least[WORD_COUNT];
	const uint64_t *words[VC_SIDES];
	enum vc_verdict verdict;
	uint64_t gid[2];
	bool is_rxe;

	describe_wishes(options, side, mine);
	describe_device(device, mine);
	verdict = vc_control_exchange(control, VC_MESSAGE_HELLO, mine, WORD_COUNT, theirs,
				      WORD_COUNT, report);
	if (verdict != VC_RIGHT)
		return verdict;
	if (theirs[WORD_VERSION] != VERSION || theirs[WORD_SIDE] == side)
		return vc_report_unusable(report,
					  "the other side is another version of verbs-check");
	if (!is_sensible(theirs))
		return vc_report_unusable(report,
					  "the other side asks for what no verbs-check does");
	words[side] = mine;
	words[!side] = theirs;
	take_wishes(options, words[1], words[0]);
	for (uint32_t w = 0; w < WORD_COUNT; w++)
		least[w] = min_of(mine[w], theirs[w]);
	if (least[WORD_DEPTH_MAX] < DEPTH_NEEDED)
		return vc_report_unusable(report,
					  "a device offers queues of %u requests, needed are %u",
					  (unsigned int)least[WORD_DEPTH_MAX], DEPTH_NEEDED);
	*out_limits = (struct vc_limits){
		.ops = options->ops,
		.size_max = (uint32_t)min_of(options->size_max, least[WORD_MESSAGE_MAX]),
		.qp_max = options->qp_max,
		.op_mask = options->op_mask,
		.sge_max = (uint32_t)least[WORD_SGE_MAX],
		.sge_read_max = (uint32_t)least[WORD_SGE_READ_MAX],
		.inline_max = (uint32_t)least[WORD_INLINE_MAX],
		.depth_max = (uint32_t)least[WORD_DEPTH_MAX],
		.cqe_max = (uint32_t)least[WORD_CQE_MAX],
		.rd_atomic_max = (uint32_t)least[WORD_RD_ATOMIC_MAX],
		.fault_every = options->fault_every,
		.timeout = options->timeout,
		.windows = least[WORD_WINDOWS],
		.atomics = least[WORD_ATOMICS],
		.events = options->events,
		.links = options->links,
		.lossy = vc_mask_has(options->links, VC_LINK_LOSS),
		.transports = (uint32_t)(options->transports & mine[WORD_HAS_TRANSPORTS] &
					 theirs[WORD_HAS_TRANSPORTS]),
		.features = (uint32_t)(options->features & mine[WORD_HAS_FEATURES] &
				       theirs[WORD_HAS_FEATURES]),
		.dm_max = least[WORD_DM_MAX],
		.srq_sge_max = (uint32_t)least[WORD_SRQ_SGE_MAX],
		.quirks[0] = (uint32_t)(words[0][WORD_OWN_QUIRKS] | words[1][WORD_PEER_QUIRKS]),
		.quirks[1] = (uint32_t)(words[1][WORD_OWN_QUIRKS] | words[0][WORD_PEER_QUIRKS]),
	};
	is_rxe = (out_limits->quirks[0] | out_limits->quirks[1]) & VC_QUIRK_RXE;
	if (is_rxe)
		out_limits->features &= ~FEATURES_NOT_RXE;
	/* Soft-RoCE's library has the call in front of a kernel that has not. */
	out_limits->atomic_write =
		least[WORD_ATOMIC_WRITE] &&
		!((out_limits->quirks[0] | out_limits->quirks[1]) & VC_QUIRK_RXE);
	report->not_offered = !out_limits->transports;
	if (report->not_offered)
		return vc_report_unusable(report,
					  "a device offers none of the transports asked for");
	options->own_quirks = out_limits->quirks[side];
	options->peer_quirks = out_limits->quirks[!side];
	gid[0] = htobe64(theirs[WORD_GID_HIGH]);
	gid[1] = htobe64(theirs[WORD_GID_LOW]);
	memcpy(out_peer->gid.raw, gid, sizeof(gid));
	out_peer->lid = (uint16_t)theirs[WORD_LID];
	return set_mtu(options, least[WORD_ACTIVE_MTU], out_limits, report);
}
