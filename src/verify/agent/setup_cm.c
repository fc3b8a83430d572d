/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kind `setup_cm`. One connection after the other through rdma_cm, as programs make them: resolve
 * the address and the route, make the queue pair, connect; each carries a SEND in the connecting
 * direction, then both sides disconnect. The initiator's times count.
 */
#include "verify/agent/cm.h"
#include "verify/agent/kind.h"
#include "verify/agent/measure.h"
#include "verify/agent/work.h"

#include "base/clock.h"

#define TEXT_BYTES  8
#define LISTEN_BACK 16

struct setup_cm {
	struct va_device device;
	struct rdma_event_channel *channel;
	struct sockaddr_storage target; /* with its port; initiator */
	struct va_samples whole;
	struct va_samples resolve;
	struct va_samples create;
	struct va_samples connect;
};

/* A connection, with its own protection domain's memory: the id brings its own context. */
struct connection {
	struct rdma_cm_id *id;
	struct ibv_cq *cq;
	struct va_buffer buffer;
};

static void make_queue_pair(struct va_run *run, struct connection *c)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
	};

	c->cq = ibv_create_cq(c->id->verbs, 2, NULL, NULL, 0);
	va_need(run, c->cq != NULL, "ibv_create_cq");
	attr.send_cq = attr.recv_cq = c->cq;
	va_need(run, !rdma_create_qp(c->id, NULL, &attr), "rdma_create_qp");
}

static void make_buffer(struct va_run *run, struct connection *c)
{
	struct va_device of_id = {.context = c->id->verbs, .pd = c->id->pd};

	va_buffer_create(run, &of_id, TEXT_BYTES, IBV_ACCESS_LOCAL_WRITE, &c->buffer);
}

static void end(struct va_run *run, struct setup_cm *s, struct connection *c)
{
	(void)rdma_disconnect(c->id);
	va_cm_expect(run, s->channel, RDMA_CM_EVENT_DISCONNECTED);
	rdma_destroy_qp(c->id);
	va_buffer_destroy(run, &c->buffer);
	va_need(run, !ibv_destroy_cq(c->cq), "ibv_destroy_cq");
	va_need(run, !rdma_destroy_id(c->id), "rdma_destroy_id");
}

static enum va_family family(const struct va_run *run)
{
	if (va_is(run, "gid", "ipv4"))
		return VA_IPV4;
	return va_is(run, "gid", "ipv6") ? VA_IPV6 : VA_ANY_FAMILY;
}

static void set_up(struct va_run *run, struct setup_cm *s)
{
	size_t count = (size_t)va_number(run, "count");

	*s = (struct setup_cm){0};
	va_device_open(run, family(run), &s->device);
	s->channel = va_cm_channel_create(run);
	va_need(run,
		va_samples_init(&s->whole, count) && va_samples_init(&s->resolve, count) &&
			va_samples_init(&s->create, count) && va_samples_init(&s->connect, count),
		"calloc");
}

static void tear_down(struct va_run *run, struct setup_cm *s)
{
	va_samples_fini(&s->whole);
	va_samples_fini(&s->resolve);
	va_samples_fini(&s->create);
	va_samples_fini(&s->connect);
	rdma_destroy_event_channel(s->channel);
	va_device_close(run, &s->device);
}

/* ---- initiator ---- */

static void connect_one(struct va_run *run, struct setup_cm *s, struct connection *c)
{
	struct rdma_conn_param parameters = {.retry_count = 7, .rnr_retry_count = 7};
	roce_ns_t begun = roce_clock_now();
	roce_ns_t resolved;
	roce_ns_t created;
	roce_ns_t connected;

	*c = (struct connection){0};
	c->id = va_cm_resolve(run, &s->device, s->channel, &s->target);
	resolved = roce_clock_now();
	make_queue_pair(run, c);
	created = roce_clock_now();
	va_need(run, !rdma_connect(c->id, &parameters), "rdma_connect");
	va_cm_expect(run, s->channel, RDMA_CM_EVENT_ESTABLISHED);
	connected = roce_clock_now();
	va_samples_add(&s->resolve, resolved - begun);
	va_samples_add(&s->create, created - resolved);
	va_samples_add(&s->connect, connected - created);
	va_samples_add(&s->whole, connected - begun);
}

static void send_text(struct va_run *run, struct connection *c, uint64_t number)
{
	struct va_endpoint endpoint = {.qp = c->id->qp};
	struct va_request request = {
		.opcode = IBV_WR_SEND, .local = &c->buffer, .length = TEXT_BYTES};
	struct ibv_wc wc;

	make_buffer(run, c);
	va_pattern_fill(c->buffer.at, TEXT_BYTES, run->seed, number * TEXT_BYTES);
	va_post(run, &endpoint, &request);
	va_wait_success(run, c->cq, "the SEND of a new connection", &wc);
}

static double median_us(struct va_samples *samples)
{
	return (double)va_samples_percentile(samples, 50) / 1e3;
}

void va_setup_cm_initiator(struct va_run *run)
{
	uint64_t count = va_number(run, "count");
	struct connection c;
	struct setup_cm s;

	set_up(run, &s);
	va_cm_hear(run, &s.device, &s.target);
	for (uint64_t i = 0; i < count; i++) {
		connect_one(run, &s, &c);
		send_text(run, &c, i);
		va_barrier(run, "used");
		end(run, &s, &c);
		va_progress(run, (double)i / (double)count);
	}
	va_report_latency(run, &s.whole);
	va_value(run, "resolve", median_us(&s.resolve));
	va_value(run, "create", median_us(&s.create));
	va_value(run, "connect", median_us(&s.connect));
	tear_down(run, &s);
}

/* ---- target ---- */

static void accept_one(struct va_run *run, struct setup_cm *s, struct connection *c)
{
	struct rdma_conn_param parameters = {.rnr_retry_count = 7};
	struct rdma_cm_event *event = va_cm_await(run, s->channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	struct va_endpoint endpoint;

	*c = (struct connection){.id = event->id};
	(void)rdma_ack_cm_event(event);
	make_queue_pair(run, c);
	make_buffer(run, c);
	endpoint = (struct va_endpoint){.qp = c->id->qp};
	va_post_receive(run, &endpoint, &c->buffer, 0, TEXT_BYTES, 0);
	va_need(run, !rdma_accept(c->id, &parameters), "rdma_accept");
	va_cm_expect(run, s->channel, RDMA_CM_EVENT_ESTABLISHED);
}

void va_setup_cm_target(struct va_run *run)
{
	uint64_t count = va_number(run, "count");
	struct rdma_cm_id *listener;
	struct connection c;
	struct setup_cm s;
	struct ibv_wc wc;

	set_up(run, &s);
	listener = va_cm_listen(run, &s.device, s.channel, LISTEN_BACK);
	for (uint64_t i = 0; i < count; i++) {
		accept_one(run, &s, &c);
		va_wait_success(run, c.cq, "the SEND of a new connection", &wc);
		va_pattern_must(run, c.buffer.at, TEXT_BYTES, run->seed, i * TEXT_BYTES,
				"what a new connection brought");
		va_barrier(run, "used");
		end(run, &s, &c);
	}
	va_need(run, !rdma_destroy_id(listener), "rdma_destroy_id");
	tear_down(run, &s);
}
