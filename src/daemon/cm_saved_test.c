/* SPDX-License-Identifier: BSD-2-Clause */
/* What a program keeps for uroced comes back as it was, and nothing else is taken for it. */
#include "daemon/cm_saved.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static const struct roce_cm_info established = {
	.state = ROCE_CM_STATE_ESTABLISHED,
	.qp_type = ROCE_CM_QP_RC,
	.is_active = true,
	.local_id = 0x12345678,
	.remote_id = 0x9abcdef0,
	.tid = UINT64_C(0x0102030405060708),
	.dreq_tid = UINT64_C(0x1112131415161718),
	.local_qpn = {0x010203},
	.remote_qpn = {0xfffefd},
	.local_guid = UINT64_C(0x020000fffe000a01),
	.remote_guid = UINT64_C(0xf20000fffe000a01),
	.port_space = ROCE_PORT_SPACE_TCP,
	.src_port = 40000,
	.dst_port = 7471,
	.route = {.local = {{0xfe, 0x80, [15] = 1}},
		  .remote = {{0xfe, 0x80, [15] = 2}},
		  .scope = 7,
		  .flow_label = 0xabcde,
		  .traffic_class = 0x68,
		  .hop_limit = 64,
		  .sl = 3},
	.mtu = 5,
	.rate = 7,
	.ack_timeout = 17,
	.response_timeout = 20,
	.packet_lifetime = 16,
	.max_retries = 15,
};

static void saved__comes_back(void **state)
{
	static const enum roce_cm_qp_type types[] = {ROCE_CM_QP_RC, ROCE_CM_QP_UC,
						     ROCE_CM_QP_XRC_SEND, ROCE_CM_QP_XRC_RECV};
	struct roce_cm_saved saved;
	struct roce_cm_info info, out;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		/* Padding too, so that whole structs can be compared. */
		memset(&info, 0, sizeof(info));
		memset(&out, 0, sizeof(out));
		memcpy(&info, &established, sizeof(info));
		info.qp_type = types[i];
		info.is_active = i % 2;
		roce_cm_saved_encode(&info, &saved);
		assert_true(saved.length > 0 && saved.length <= ROCE_CM_SAVED_MAX);
		assert_true(roce_cm_saved_decode(&saved, &out));
		assert_int_equal(out.qp_type, info.qp_type);
		assert_int_equal(out.is_active, info.is_active);
		assert_int_equal(out.local_id, info.local_id);
		assert_int_equal(out.remote_id, info.remote_id);
		assert_int_equal(out.tid, info.tid);
		assert_int_equal(out.dreq_tid, info.dreq_tid);
		assert_int_equal(out.local_qpn.v, info.local_qpn.v);
		assert_int_equal(out.remote_qpn.v, info.remote_qpn.v);
		assert_int_equal(out.local_guid, info.local_guid);
		assert_int_equal(out.remote_guid, info.remote_guid);
		assert_int_equal(out.port_space, info.port_space);
		assert_int_equal(out.src_port, info.src_port);
		assert_int_equal(out.dst_port, info.dst_port);
		assert_memory_equal(&out.route.local, &info.route.local, 16);
		assert_memory_equal(&out.route.remote, &info.route.remote, 16);
		assert_int_equal(out.route.scope, info.route.scope);
		assert_int_equal(out.route.flow_label, info.route.flow_label);
		assert_int_equal(out.route.traffic_class, info.route.traffic_class);
		assert_int_equal(out.route.hop_limit, info.route.hop_limit);
		assert_int_equal(out.route.sl, info.route.sl);
		assert_int_equal(out.mtu, info.mtu);
		assert_int_equal(out.rate, info.rate);
		assert_int_equal(out.ack_timeout, info.ack_timeout);
		assert_int_equal(out.response_timeout, info.response_timeout);
		assert_int_equal(out.packet_lifetime, info.packet_lifetime);
		assert_int_equal(out.max_retries, info.max_retries);
		assert_int_equal(out.state, ROCE_CM_STATE_ESTABLISHED);
	}
}

static void saved__only_what_can_go_on(void **state)
{
	struct roce_cm_info info = established, out;
	struct roce_cm_saved saved;

	(void)state;
	for (unsigned i = 0; i < ROCE_CM_STATE_COUNT; i++) {
		info.state = (enum roce_cm_state)i;
		roce_cm_saved_encode(&info, &saved);
		assert_int_equal(saved.length > 0, i == ROCE_CM_STATE_REP_SENT ||
							   i == ROCE_CM_STATE_MRA_REP_RCVD ||
							   i == ROCE_CM_STATE_ESTABLISHED ||
							   i == ROCE_CM_STATE_DREQ_SENT ||
							   i == ROCE_CM_STATE_DREQ_RCVD);
		if (saved.length) {
			assert_true(roce_cm_saved_decode(&saved, &out));
			assert_int_equal(out.state, i);
		}
	}
	info.state = ROCE_CM_STATE_ESTABLISHED;
	info.qp_type = ROCE_CM_QP_UD;
	roce_cm_saved_encode(&info, &saved);
	assert_int_equal(saved.length, 0);
}

static void saved__other_bytes(void **state)
{
	struct roce_cm_saved saved, bad;
	struct roce_cm_info out;

	(void)state;
	roce_cm_saved_encode(&established, &saved);
	bad = saved;
	bad.data[0] ^= 2;
	assert_false(roce_cm_saved_decode(&bad, &out));
	bad = saved;
	bad.data[1] = ROCE_CM_QP_UD;
	assert_false(roce_cm_saved_decode(&bad, &out));
	bad = saved;
	bad.length--;
	assert_false(roce_cm_saved_decode(&bad, &out));
	bad.length = 0;
	assert_false(roce_cm_saved_decode(&bad, &out));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(saved__comes_back),
		cmocka_unit_test(saved__only_what_can_go_on),
		cmocka_unit_test(saved__other_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
