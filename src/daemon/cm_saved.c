/* SPDX-License-Identifier: BSD-2-Clause */
/* The bytes of cm_saved.h: a version, then the fields in the order below, big-endian. */
#include "daemon/cm_saved.h"

#include "base/bytes.h"

#define VERSION 2

/* X(field, bytes) */
#define NUMBERS(X)                \
	X(local_id, 4)            \
	X(remote_id, 4)           \
	X(tid, 8)                 \
	X(dreq_tid, 8)            \
	X(local_qpn.v, 4)         \
	X(remote_qpn.v, 4)        \
	X(local_guid, 8)          \
	X(remote_guid, 8)         \
	X(port_space, 2)          \
	X(src_port, 2)            \
	X(dst_port, 2)            \
	X(route.scope, 4)         \
	X(route.flow_label, 4)    \
	X(route.traffic_class, 1) \
	X(route.hop_limit, 1)     \
	X(route.sl, 1)            \
	X(mtu, 1)                 \
	X(rate, 1)                \
	X(ack_timeout, 1)         \
	X(response_timeout, 1)    \
	X(packet_lifetime, 1)     \
	X(max_retries, 1)

/* Version, type, role, state, both GIDs, and the numbers. */
#define X(field, bytes) +(bytes)
#define SAVED_BYTES	(4 + 32 NUMBERS(X))

_Static_assert(SAVED_BYTES <= ROCE_CM_SAVED_MAX, "it fits into a message");

static uint8_t *put(uint8_t *at, uint64_t value, unsigned bytes)
{
	for (unsigned i = bytes; i-- > 0;)
		*at++ = (uint8_t)(value >> 8 * i);
	return at;
}

static uint64_t get(const uint8_t *at, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value = value << 8 | at[i];
	return value;
}
#undef X

void roce_cm_saved_encode(const struct roce_cm_info *info, struct roce_cm_saved *out)
{
	uint8_t *at = out->data;

	out->length = 0;
	if (!roce_cm_can_restore(info->state) || info->qp_type == ROCE_CM_QP_UD)
		return;
	at = put(at, VERSION, 1);
	at = put(at, info->qp_type, 1);
	at = put(at, info->is_active, 1);
	at = put(at, info->state, 1);
	memcpy(at, info->route.local.raw, 16);
	memcpy(at + 16, info->route.remote.raw, 16);
	at += 32;
#define X(field, bytes) at = put(at, info->field, bytes);
	NUMBERS(X)
#undef X
	out->length = (uint16_t)(at - out->data);
}

static bool is_connected_type(uint64_t type)
{
	return type == ROCE_CM_QP_RC || type == ROCE_CM_QP_UC || type == ROCE_CM_QP_XRC_SEND ||
	       type == ROCE_CM_QP_XRC_RECV;
}

bool roce_cm_saved_decode(const struct roce_cm_saved *saved, struct roce_cm_info *out)
{
	struct roce_cm_info info = {.state = ROCE_CM_STATE_IDLE};
	const uint8_t *at = saved->data + 4;

#define X(field, bytes) +(bytes)
	if (saved->length != SAVED_BYTES || saved->data[0] != VERSION ||
	    !is_connected_type(saved->data[1]) || saved->data[3] >= ROCE_CM_STATE_COUNT)
		return false;
#undef X
	info.qp_type = (enum roce_cm_qp_type)saved->data[1];
	info.is_active = saved->data[2];
	info.state = (enum roce_cm_state)saved->data[3];
	memcpy(info.route.local.raw, at, 16);
	memcpy(info.route.remote.raw, at + 16, 16);
	at += 32;
#define X(field, bytes)                                      \
	info.field = (__typeof__(info.field))get(at, bytes); \
	at += (bytes);
	NUMBERS(X)
#undef X
	*out = info;
	return true;
}
