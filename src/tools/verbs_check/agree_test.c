/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The first exchange between two sides that mean it, and with one that asks for too much: a server
 * must refuse that, and draw no program from it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/verbs_check/agree.h"

static const struct vc_options usual = {
	.seed_count = 100,
	.ops = 96,
	.size_max = 1u << 20,
	.qp_max = 4,
	.op_mask = (1u << VC_OP_COUNT) - 1,
	.fault_every = 8,
	.timeout = 14,
	.transports = 1u << VC_TRANSPORT_RC | 1u << VC_TRANSPORT_UD,
	.features = (1u << VC_FEATURE_COUNT) - 1,
};

static enum vc_verdict agree(struct vc_options options, uint32_t side, int fd,
			     struct vc_limits *out_limits)
{
	struct vc_device device = {
		.transports = 1u << VC_TRANSPORT_RC | 1u << VC_TRANSPORT_UC,
		.features = 1u << VC_FEATURE_WR | 1u << VC_FEATURE_ASYNC,
		.atomic_write = true,
		.attr = {.max_sge = 16, .max_qp_wr = 64, .max_cqe = 4096, .max_qp_rd_atom = 16},
		.port_attr = {.active_mtu = IBV_MTU_1024, .max_msg_sz = 1u << 31},
	};
	struct vc_control control = {.timeout_s = 60};
	struct vc_report report = {0};
	struct vc_peer peer;

	if (vc_control_attach(&control, fd, &report) != VC_RIGHT)
		return report.verdict;
	return vc_agree(&options, &device, side, &control, out_limits, &peer, &report);
}

/* What the server says to a client with these options. */
static enum vc_verdict serve(struct vc_options client, struct vc_limits *out_limits)
{
	enum vc_verdict verdict;
	int fds[2];
	pid_t child;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		(void)agree(client, 1, fds[1], out_limits);
		_exit(0);
	}
	verdict = agree(usual, 0, fds[0], out_limits);
	close(fds[0]);
	close(fds[1]);
	assert_int_equal(waitpid(child, NULL, 0), child);
	return verdict;
}

static void agree__client_decides(void **state)
{
	struct vc_options client = usual;
	struct vc_limits limits;

	(void)state;
	client.qp_max = VC_QP_MAX;
	client.ops = 7;
	client.timeout = 18;
	assert_int_equal(serve(client, &limits), VC_RIGHT);
	assert_int_equal(limits.qp_max, VC_QP_MAX);
	assert_int_equal(limits.ops, 7);
	assert_int_equal(limits.timeout, 18);
	assert_int_equal(limits.mtu_max, IBV_MTU_1024);
	assert_int_equal(limits.transports, 1u << VC_TRANSPORT_RC);
	assert_int_equal(limits.features, 1u << VC_FEATURE_WR | 1u << VC_FEATURE_ASYNC);
	assert_true(limits.atomic_write);
}

/* Said by either side, about either. */
static void agree__leaves_out_what_soft_roce_cannot(void **state)
{
	struct vc_options client = usual;
	struct vc_limits limits;

	(void)state;
	client.peer_quirks = VC_QUIRK_RXE;
	assert_int_equal(serve(client, &limits), VC_RIGHT);
	assert_int_equal(limits.quirks[0], VC_QUIRK_RXE);
	assert_int_equal(limits.quirks[1], 0);
	assert_int_equal(limits.features, 1u << VC_FEATURE_ASYNC);
	assert_false(limits.atomic_write);
}

static void agree__refuses_too_much(void **state)
{
	struct vc_options client = usual;
	struct vc_limits limits;

	(void)state;
	client.qp_max = VC_QP_MAX + 1;
	assert_int_equal(serve(client, &limits), VC_UNUSABLE);
	client = usual;
	client.op_mask = 0;
	assert_int_equal(serve(client, &limits), VC_UNUSABLE);
	client = usual;
	client.transports = 1u << VC_TRANSPORT_COUNT;
	assert_int_equal(serve(client, &limits), VC_UNUSABLE);
	client = usual;
	client.transports = 1u << VC_TRANSPORT_UD; /* that the device has not */
	assert_int_equal(serve(client, &limits), VC_UNUSABLE);
	client = usual;
	client.features = 1u << VC_FEATURE_COUNT;
	assert_int_equal(serve(client, &limits), VC_UNUSABLE);
	client = usual;
	client.ops = 0;
	assert_int_equal(serve(client, &limits), VC_UNUSABLE);
	client = usual;
	client.size_max = UINT32_MAX;
	assert_int_equal(serve(client, &limits), VC_UNUSABLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agree__client_decides),
		cmocka_unit_test(agree__leaves_out_what_soft_roce_cannot),
		cmocka_unit_test(agree__refuses_too_much),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
