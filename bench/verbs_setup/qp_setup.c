/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Create to RTS. Each QP is connected to itself: the peer's part is not measured, and the calls are
 * the same. All QPs stay until the end, so that the last ones are set up among many.
 */
#include "bench_setup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};

	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static int to_rtr(const struct bench_target *target, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = target->mtu,
		.dest_qp_num = qp->qp_num,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr =
			{
				.is_global = 1,
				.port_num = 1,
				.grh =
					{
						.dgid = target->gid,
						.sgid_index = target->gid_index,
						.hop_limit = 64,
					},
			},
	};

	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER);
}

static int to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
	};

	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static struct ibv_qp *set_up(const struct bench_target *target, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1},
	};
	struct ibv_qp *qp = ibv_create_qp(target->pd, &init);

	if (!qp)
		return NULL;
	errno = to_init(qp);
	if (!errno)
		errno = to_rtr(target, qp);
	if (!errno)
		errno = to_rts(qp);
	if (!errno)
		return qp;
	ibv_destroy_qp(qp);
	return NULL;
}

int bench_qp_setup(const struct bench_target *target, size_t count)
{
	struct ibv_qp **qps = calloc(count, sizeof(*qps));
	uint64_t *samples = calloc(count, sizeof(*samples));
	struct ibv_cq *cq = ibv_create_cq(target->context, 16, NULL, NULL, 0);
	struct bench_percentiles p;
	size_t made = 0;

	while (qps && samples && cq && made < count) {
		uint64_t start = bench_now_ns();

		qps[made] = set_up(target, cq);
		if (!qps[made])
			break;
		samples[made++] = bench_now_ns() - start;
	}
	if (made < count)
		fprintf(stderr, "bench-setup: QP %zu: %s\n", made, strerror(errno));
	for (size_t i = 0; i < made; i++)
		ibv_destroy_qp(qps[i]);
	if (cq)
		ibv_destroy_cq(cq);
	if (made == count) {
		p = bench_percentiles(samples, count);
		printf("\"qp\": {\"count\": %zu, \"p50_us\": %.2f, \"p99_us\": %.2f, \"max_us\": "
		       "%.2f}",
		       count, p.p50_us, p.p99_us, p.max_us);
	}
	free(qps);
	free(samples);
	return made == count ? 0 : -1;
}
