/* SPDX-License-Identifier: BSD-2-Clause */
/* The two sides of a trial, and what trials are written with. */
#include "probe.h"

#include "harness/loopback.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SKIP  77
#define DEPTH 64u

static int complaints;

void complain(const char *what, uint64_t figure)
{
	printf("complaint: %s, %llu\n", what, (unsigned long long)figure);
	complaints++;
}

void need(bool is_right, const char *what)
{
	if (is_right)
		return;
	perror(what);
	exit(2);
}

void measure(const char *what, double figure)
{
	printf("measure %s %.1f\n", what, figure);
}

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

double cpu_us(void)
{
	return seconds(CLOCK_THREAD_CPUTIME_ID) * 1e6;
}

/* ---- objects ---- */

struct ends_options ends_rc(void)
{
	return (struct ends_options){
		.type = IBV_QPT_RC, .b_access = PROBE_RIGHTS, .b_qp_access = PROBE_RIGHTS};
}

struct ibv_context *ends_open_device(union ibv_gid *out_gid)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context;

	need(list && list[0], "no device");
	context = ibv_open_device(list[0]);
	need(context != NULL, "ibv_open_device");
	ibv_free_device_list(list);
	need(ibv_query_gid(context, 1, 0, out_gid) == 0, "ibv_query_gid");
	return context;
}

struct ibv_qp *ends_make_qp(struct ibv_pd *pd, struct ibv_cq *cq, enum ibv_qp_type type,
			    struct ibv_srq *srq)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = type,
		.send_cq = cq,
		.recv_cq = cq,
		.srq = srq,
		.cap = {.max_send_wr = DEPTH,
			.max_recv_wr = srq ? 0u : DEPTH,
			.max_send_sge = 4,
			.max_recv_sge = srq ? 0u : 4u,
			.max_inline_data = 64},
	};

	return ibv_create_qp(pd, &attr);
}

static void open_side(struct ends *e, struct side *s, enum ibv_qp_type type, int access,
		      uint32_t limit)
{
	struct ibv_srq_init_attr srq_attr = {.attr = {.max_wr = DEPTH, .max_sge = 4}};

	s->channel = ibv_create_comp_channel(e->context);
	need(s->channel != NULL, "ibv_create_comp_channel");
	s->cq = ibv_create_cq(e->context, 4 * DEPTH, NULL, s->channel, 0);
	need(s->cq != NULL, "ibv_create_cq");
	s->mem = calloc(1, PROBE_BYTES);
	need(s->mem != NULL, "calloc");
	s->mr = ibv_reg_mr(e->pd, s->mem, PROBE_BYTES, (unsigned int)access);
	need(s->mr != NULL, "ibv_reg_mr");
	if (limit) {
		s->srq = ibv_create_srq(e->pd, &srq_attr);
		need(s->srq != NULL, "ibv_create_srq");
	}
	s->qp = ends_make_qp(e->pd, s->cq, type, s->srq);
	need(s->qp != NULL, "ibv_create_qp");
}

void ends_init_qp(struct ibv_qp *qp, int access)
{
	bool is_ud = qp->qp_type == IBV_QPT_UD;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
				   .port_num = 1,
				   .qkey = PROBE_QKEY,
				   .qp_access_flags = (unsigned int)access};

	need(ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				   (is_ud ? (int)IBV_QP_QKEY : (int)IBV_QP_ACCESS_FLAGS)) == 0,
	     "INIT");
}

void ends_connect(const struct ends *e, struct ibv_qp *qp, uint32_t peer_qpn)
{
	bool is_ud = qp->qp_type == IBV_QPT_UD;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer_qpn,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.dgid = e->gid, .hop_limit = 64}},
		.timeout = 12,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 4,
	};

	need(ibv_modify_qp(qp, &attr,
			   is_ud ? IBV_QP_STATE
				 : IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					   IBV_QP_MIN_RNR_TIMER) == 0,
	     "RTR");
	attr.qp_state = IBV_QPS_RTS;
	need(ibv_modify_qp(qp, &attr,
			   is_ud ? IBV_QP_STATE | IBV_QP_SQ_PSN
				 : IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					   IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					   IBV_QP_MAX_QP_RD_ATOMIC) == 0,
	     "RTS");
}

void ends_open(struct ends *e, const struct ends_options *options)
{
	memset(e, 0, sizeof(*e));
	e->context = ends_open_device(&e->gid);
	e->pd = ibv_alloc_pd(e->context);
	need(e->pd != NULL, "ibv_alloc_pd");
	open_side(e, &e->a, options->type, PROBE_RIGHTS, 0);
	open_side(e, &e->b, options->type, options->b_access, options->b_limit);
	ends_init_qp(e->a.qp, PROBE_RIGHTS);
	ends_init_qp(e->b.qp, options->b_qp_access);
	ends_connect(e, e->a.qp,
		     options->is_peer_missing ? e->b.qp->qp_num + 1000 : e->b.qp->qp_num);
	ends_connect(e, e->b.qp, e->a.qp->qp_num);
}

static void close_side(struct side *s)
{
	need(ibv_destroy_qp(s->qp) == 0, "ibv_destroy_qp");
	need(!s->srq || ibv_destroy_srq(s->srq) == 0, "ibv_destroy_srq");
	need(ibv_destroy_cq(s->cq) == 0, "ibv_destroy_cq");
	need(ibv_destroy_comp_channel(s->channel) == 0, "ibv_destroy_comp_channel");
	need(ibv_dereg_mr(s->mr) == 0, "ibv_dereg_mr");
	free(s->mem);
}

void ends_close(struct ends *e)
{
	close_side(&e->a);
	close_side(&e->b);
	need(ibv_dealloc_pd(e->pd) == 0, "ibv_dealloc_pd");
	need(ibv_close_device(e->context) == 0, "ibv_close_device");
}

struct ibv_ah *ends_make_ah(struct ends *e, const union ibv_gid *to)
{
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1, .grh = {.dgid = *to, .hop_limit = 64}};
	struct ibv_ah *ah = ibv_create_ah(e->pd, &attr);

	need(ah != NULL, "ibv_create_ah");
	return ah;
}

/* ---- requests and completions ---- */

static void make_list(const struct side *s, struct pieces p, struct ibv_sge *out)
{
	need(p.count <= 4, "pieces");
	for (int i = 0; i < p.count; i++)
		out[i] = (struct ibv_sge){(uintptr_t)s->mem + p.offset + (uint32_t)i * p.stride,
					  p.bytes, s->mr->lkey};
}

void post_receive(struct side *s, uint64_t wr_id, struct pieces pieces)
{
	struct ibv_sge list[4];
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = list, .num_sge = pieces.count}, *bad;

	make_list(s, pieces, list);
	need((s->srq ? ibv_post_srq_recv(s->srq, &wr, &bad) : ibv_post_recv(s->qp, &wr, &bad)) == 0,
	     "ibv_post_recv");
}

void post_send(struct side *s, struct ibv_send_wr wr, struct pieces pieces)
{
	struct ibv_sge list[4];
	struct ibv_send_wr *bad;

	make_list(s, pieces, list);
	wr.sg_list = list;
	wr.num_sge = pieces.count;
	wr.send_flags |= IBV_SEND_SIGNALED;
	need(ibv_post_send(s->qp, &wr, &bad) == 0, "ibv_post_send");
}

int probe_patience_ms(int ms)
{
	return getenv("PLANT") ? ms : 60000;
}

bool wait_for(struct ibv_cq *cq, struct ibv_wc *wc, int ms)
{
	double end = seconds(CLOCK_MONOTONIC) + ms / 1e3;

	for (uint32_t polls = 0; polls < PROBE_POLLS || seconds(CLOCK_MONOTONIC) < end; polls++) {
		int count = ibv_poll_cq(cq, 1, wc);

		need(count >= 0, "ibv_poll_cq");
		if (count)
			return true;
	}
	return false;
}

bool expect(struct ibv_cq *cq, struct ibv_wc *wc)
{
	if (!wait_for(cq, wc, probe_patience_ms(PROBE_WAIT_MS))) {
		complain("missing completion", 0);
		return false;
	}
	if (wc->status != IBV_WC_SUCCESS) {
		complain("status", wc->status);
		return false;
	}
	return true;
}

void expect_quiet(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	if (wait_for(cq, &wc, PROBE_QUIET_MS))
		complain("extra completion", wc.wr_id);
}

void expect_error(struct ibv_cq *cq, const char *what)
{
	struct ibv_wc wc;

	if (!wait_for(cq, &wc, probe_patience_ms(PROBE_WAIT_MS)))
		complain("missing completion", 0);
	else if (wc.status == IBV_WC_SUCCESS)
		complain(what, 0);
}

/* ---- contents ---- */

static uint8_t byte_of(uint32_t seed, uint32_t i)
{
	return (uint8_t)(seed * 89 + i * 7 + i / 251 + 1);
}

void fill(uint8_t *mem, uint32_t bytes, uint32_t seed)
{
	for (uint32_t i = 0; i < bytes; i++)
		mem[i] = byte_of(seed, i);
}

void check(const uint8_t *mem, uint32_t bytes, uint32_t seed, const char *what)
{
	for (uint32_t i = 0; i < bytes; i++) {
		if (mem[i] != byte_of(seed, i)) {
			complain(what, i);
			return;
		}
	}
}

/* ---- the program ---- */

/* To be root there, also for programs that are started. */
static void map_user(uid_t user)
{
	FILE *map = fopen("/proc/self/uid_map", "we");

	if (!map || fprintf(map, "0 %u 1", user) < 0 || fclose(map) != 0)
		exit(SKIP);
}

static void enter_namespace(void)
{
	uid_t user = geteuid();

	setenv("UROCE_DAEMON", "off", 1);
	if (unshare(CLONE_NEWNET) != 0) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
			exit(SKIP);
		map_user(user);
	}
	if (!loopback_raise())
		exit(SKIP);
}

static bool run_matching(const struct trial *trials, const char *name)
{
	bool found = false;

	for (; trials->name; trials++) {
		if (name && strcmp(trials->name, name) != 0)
			continue;
		trials->run();
		found = true;
	}
	return found;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	bool found;

	setvbuf(stdout, NULL, _IOLBF, 0);
	enter_namespace();
	/* first, for the wrapper is that of the device as long as anybody has it open */
	found = run_matching(around_trials, name);
	found |= run_matching(data_trials, name);
	found |= run_matching(error_trials, name);
	found |= run_matching(object_trials, name);
	if (!found) {
		fprintf(stderr, "usage: plant_probe [TRIAL]\n");
		return 2;
	}
	return complaints ? 1 : 0;
}
