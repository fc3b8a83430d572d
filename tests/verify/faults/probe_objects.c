/* SPDX-License-Identifier: BSD-2-Clause */
/* Trials of making and destroying objects: leaks, refusals, the time it takes; groups and limits.
 */
#include "probe.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS	20u
#define REGIONS 1100u
#define GROUPS	12u
#define MESSAGE 100u

struct place {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	union ibv_gid gid;
};

static void open_place(struct place *p)
{
	p->context = ends_open_device(&p->gid);
	p->pd = ibv_alloc_pd(p->context);
	p->channel = ibv_create_comp_channel(p->context);
	need(p->pd && p->channel, "ibv_alloc_pd");
	p->cq = ibv_create_cq(p->context, 16, NULL, p->channel, 0);
	need(p->cq != NULL, "ibv_create_cq");
}

/* Nothing may be left in it; a complaint ends with what is left. */
static void close_place(struct place *p)
{
	if (ibv_destroy_cq(p->cq) != 0)
		complain("completion queue is still in use", 0);
	else if (ibv_destroy_comp_channel(p->channel) != 0)
		complain("channel is still in use", 0);
	if (ibv_dealloc_pd(p->pd) != 0)
		complain("domain is still in use", 0);
}

static void try_qps(void)
{
	struct place p;

	open_place(&p);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct ibv_qp *qp = ends_make_qp(p.pd, p.cq, IBV_QPT_RC, NULL);

		if (!qp)
			complain("no queue pair", i);
		else
			need(ibv_destroy_qp(qp) == 0, "ibv_destroy_qp");
	}
	close_place(&p);
}

static void try_mrs(void)
{
	static uint8_t bytes[4096];
	struct place p;

	open_place(&p);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct ibv_mr *mr = ibv_reg_mr(p.pd, bytes, sizeof(bytes), 0);

		need(mr && ibv_dereg_mr(mr) == 0, "ibv_reg_mr");
	}
	close_place(&p);
}

static void try_ahs(void)
{
	struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1};
	struct place p;

	open_place(&p);
	attr.grh.dgid = p.gid;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct ibv_ah *ah = ibv_create_ah(p.pd, &attr);

		need(ah && ibv_destroy_ah(ah) == 0, "ibv_create_ah");
	}
	close_place(&p);
}

/* More regions than some allow. */
static void try_regions(void)
{
	static uint8_t bytes[4096];
	static struct ibv_mr *mrs[REGIONS];
	uint32_t count = 0;
	struct place p;

	open_place(&p);
	while (count < REGIONS && (mrs[count] = ibv_reg_mr(p.pd, bytes, sizeof(bytes), 0)) != NULL)
		count++;
	if (count < REGIONS)
		complain("no more regions than", count);
	while (count--)
		need(ibv_dereg_mr(mrs[count]) == 0, "ibv_dereg_mr");
	close_place(&p);
}

static void keep_least(double *least, double from)
{
	double took = cpu_us() - from;

	if (took < *least)
		*least = took;
}

/* The least processor time of each. connect: to RTR and RTS. */
static void try_times(void)
{
	static uint8_t bytes[4096];
	double qp_us = 1e9, connect_us = 1e9, reg_us = 1e9, from;
	struct ends e = {0};
	struct ibv_qp *keeper;
	struct place p;

	open_place(&p);
	e.gid = p.gid;
	keeper = ends_make_qp(p.pd, p.cq, IBV_QPT_RC, NULL);
	need(keeper != NULL, "ibv_create_qp");
	ends_init_qp(keeper, 0);
	ends_connect(&e, keeper, keeper->qp_num); /* the first one opens the address for all */
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct ibv_qp *qp;
		struct ibv_mr *mr;

		from = cpu_us();
		qp = ends_make_qp(p.pd, p.cq, IBV_QPT_RC, NULL);
		keep_least(&qp_us, from);
		need(qp != NULL, "ibv_create_qp");
		ends_init_qp(qp, 0);
		from = cpu_us();
		ends_connect(&e, qp, qp->qp_num);
		keep_least(&connect_us, from);
		from = cpu_us();
		mr = ibv_reg_mr(p.pd, bytes, sizeof(bytes), 0);
		keep_least(&reg_us, from);
		need(mr && ibv_dereg_mr(mr) == 0 && ibv_destroy_qp(qp) == 0, "ibv_reg_mr");
	}
	measure("qp_us", qp_us);
	measure("connect_us", connect_us);
	measure("reg_us", reg_us);
	need(ibv_destroy_qp(keeper) == 0, "ibv_destroy_qp");
	close_place(&p);
}

/* As many pieces as the device says. */
static void try_limits(void)
{
	struct ibv_device_attr device;
	struct ibv_qp_init_attr attr = {.qp_type = IBV_QPT_RC};
	struct ibv_qp *qp;
	struct place p;

	open_place(&p);
	need(ibv_query_device(p.context, &device) == 0, "ibv_query_device");
	attr.send_cq = attr.recv_cq = p.cq;
	attr.cap.max_send_wr = attr.cap.max_recv_wr = 1;
	attr.cap.max_send_sge = attr.cap.max_recv_sge = (uint32_t)device.max_sge;
	qp = ibv_create_qp(p.pd, &attr);
	if (!qp)
		complain("not so many pieces", (uint64_t)device.max_sge);
	else
		need(ibv_destroy_qp(qp) == 0, "ibv_destroy_qp");
	close_place(&p);
}

static void try_multicast(void)
{
	struct ends_options options = {.type = IBV_QPT_UD, .b_access = PROBE_RIGHTS};
	const union ibv_gid group = {.raw = {[10] = 0xff, [11] = 0xff, 239, 1, 2, 3}};
	struct ibv_ah *ah;
	struct ibv_wc wc;
	struct ends e;

	ends_open(&e, &options);
	ah = ends_make_ah(&e, &group);
	post_receive(&e.b, 0, (struct pieces){.bytes = 2 * MESSAGE, .count = 1});
	need(ibv_attach_mcast(e.b.qp, &group, 0) == 0, "ibv_attach_mcast");
	post_send(&e.a,
		  (struct ibv_send_wr){.opcode = IBV_WR_SEND, .wr.ud = {ah, 0xffffff, PROBE_QKEY}},
		  (struct pieces){.bytes = MESSAGE, .count = 1});
	if (!wait_for(e.b.cq, &wc, probe_patience_ms(1000)))
		complain("nothing of the group", 0);
	need(ibv_detach_mcast(e.b.qp, &group, 0) == 0, "ibv_detach_mcast");
	ibv_destroy_ah(ah);
	ends_close(&e);
}

static void try_groups(void)
{
	struct ends_options options = {.type = IBV_QPT_UD, .b_access = PROBE_RIGHTS};
	union ibv_gid group = {.raw = {0xff, 0x15}};
	uint32_t count = 0;
	struct ends e;

	ends_open(&e, &options);
	for (; count < GROUPS; count++) {
		group.raw[15] = (uint8_t)count;
		if (ibv_attach_mcast(e.b.qp, &group, 0) != 0)
			break;
	}
	if (count < GROUPS)
		complain("no more groups than", count);
	while (count > 0) {
		group.raw[15] = (uint8_t)--count;
		need(ibv_detach_mcast(e.b.qp, &group, 0) == 0, "ibv_detach_mcast");
	}
	ends_close(&e);
}

static void try_srq_limit(void)
{
	struct ends_options options = ends_rc();
	struct ibv_srq_attr attr = {.srq_limit = 2};
	struct ibv_async_event event;
	struct pollfd fd;
	struct ends e;

	options.b_limit = attr.srq_limit;
	ends_open(&e, &options);
	for (uint32_t i = 0; i < 4; i++)
		post_receive(&e.b, i, (struct pieces){.bytes = MESSAGE, .count = 1});
	need(ibv_modify_srq(e.b.srq, &attr, IBV_SRQ_LIMIT) == 0, "ibv_modify_srq");
	for (uint32_t i = 0; i < 3; i++) {
		struct ibv_wc wc;

		post_send(&e.a, (struct ibv_send_wr){.opcode = IBV_WR_SEND},
			  (struct pieces){.bytes = MESSAGE, .count = 1});
		expect(e.a.cq, &wc);
		expect(e.b.cq, &wc);
	}
	fd = (struct pollfd){.fd = e.context->async_fd, .events = POLLIN};
	if (poll(&fd, 1, probe_patience_ms(1000)) == 1) {
		need(ibv_get_async_event(e.context, &event) == 0, "ibv_get_async_event");
		if (event.event_type != IBV_EVENT_SRQ_LIMIT_REACHED)
			complain("another event", event.event_type);
		ibv_ack_async_event(&event);
	} else {
		complain("no limit event", 0);
	}
	ends_close(&e);
}

const struct trial object_trials[] = {
	{"qps", try_qps},
	{"mrs", try_mrs},
	{"ahs", try_ahs},
	{"regions", try_regions},
	{"times", try_times},
	{"limits", try_limits},
	{"multicast", try_multicast},
	{"groups", try_groups},
	{"srq-limit", try_srq_limit},
	{NULL, NULL},
};
