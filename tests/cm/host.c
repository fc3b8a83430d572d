/* SPDX-License-Identifier: BSD-2-Clause */
/* The hosts of the tests; see host.h. */
#include "host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

const struct roce_cm_config host_limits = {
	.id_max = 256,
	.held_max = 64,
	.reply_max = 64,
	.listener_max = 32,
	.half_open_max = 128,
	.owner_id_max = 128,
	.owner_half_open_max = 64,
	.owner_listener_max = 16,
};

static uint64_t draw(void *ctx)
{
	return roce_prng_next(ctx);
}

static const struct roce_cm_ops ops = {.random = draw};

struct roce_gid host_gid(uint8_t number)
{
	return (struct roce_gid){{[10] = 0xff, 0xff, 10, 0, 0, number}};
}

void host_init(struct host *h, uint8_t number, uint64_t seed, const struct roce_cm_config *limits)
{
	void *storage;

	memset(h, 0, sizeof(*h));
	h->cfg = limits ? *limits : host_limits;
	h->cfg.ops = &ops;
	h->cfg.ctx = &h->prng;
	h->prng.state = seed ^ (uint64_t)number << 56;
	h->gid = host_gid(number);
	h->guid = UINT64_C(0x020000fffe000000) | number;
	storage = calloc(1, roce_cm_storage_bytes(&h->cfg));
	assert_non_null(storage);
	h->cm = roce_cm_init(storage, &h->cfg);
	roce_cm_owner_init(&h->owner);
}

void host_fini(struct host *h)
{
	free(h->cm);
	h->cm = NULL;
}

struct roce_cm_route host_route(const struct host *h, const struct host *other)
{
	return (struct roce_cm_route){.local = h->gid, .remote = other->gid, .hop_limit = 64};
}

struct roce_cm_listener *host_listen(struct host *h, enum roce_cm_qp_type type, uint16_t port)
{
	const struct roce_cm_listen l = {
		.owner = &h->owner,
		.qp_type = type,
		.port_space = type == ROCE_CM_QP_UD ? ROCE_PORT_SPACE_UDP : ROCE_PORT_SPACE_TCP,
		.port = port,
		.is_wildcard = true,
		.takes_v4 = true,
		.takes_v6 = true,
		.backlog = 8,
	};
	struct roce_cm_listener *out = NULL;

	assert_int_equal(roce_cm_listen(h->cm, &l, &out), 0);
	return out;
}

struct roce_cm_connect host_connect_params(struct host *h, const struct host *other, uint32_t qpn)
{
	return (struct roce_cm_connect){
		.owner = &h->owner,
		.qp_type = ROCE_CM_QP_RC,
		.route = host_route(h, other),
		.port_space = ROCE_PORT_SPACE_TCP,
		.src_port = 40000,
		.dst_port = HOST_PORT,
		.params = {.qpn.v = qpn,
			   .starting_psn.v = 0x123456,
			   .responder_resources = 3,
			   .initiator_depth = 4,
			   .retry_count = 5,
			   .rnr_retry_count = 6,
			   .flow_control = true,
			   .ca_guid = h->guid},
		.mtu = 3,
		.rate = 2,
		.packet_lifetime = 16,
		.ack_timeout = 17,
		.response_timeout = ROCE_CM_RESPONSE_TIMEOUT,
		.max_retries = ROCE_CM_MAX_RETRIES,
	};
}

struct roce_cm_id *host_connect(struct host *h, const struct host *other, uint32_t qpn,
				roce_ns_t now)
{
	const struct roce_cm_connect c = host_connect_params(h, other, qpn);
	struct roce_cm_id *id = NULL;

	assert_int_equal(roce_cm_connect(h->cm, &c, now, &id), 0);
	return id;
}

struct roce_cm_id *host_sidr(struct host *h, const struct host *other, roce_ns_t now)
{
	const struct roce_cm_sidr_connect c = {
		.owner = &h->owner,
		.route = host_route(h, other),
		.port_space = ROCE_PORT_SPACE_UDP,
		.src_port = 40000,
		.dst_port = HOST_PORT,
		.response_timeout = ROCE_CM_RESPONSE_TIMEOUT,
		.max_retries = ROCE_CM_MAX_RETRIES,
	};
	struct roce_cm_id *id = NULL;

	assert_int_equal(roce_cm_sidr_connect(h->cm, &c, now, &id), 0);
	return id;
}

int host_accept(struct host *h, struct roce_cm_id *id, uint32_t qpn, roce_ns_t now)
{
	const struct roce_cm_params p = {
		.qpn.v = qpn,
		.qkey = 0x01234567,
		.starting_psn.v = 0x654321,
		.responder_resources = 7,
		.initiator_depth = 8,
		.rnr_retry_count = 2,
		.target_ack_delay = ROCE_CM_TARGET_ACK_DELAY,
		.ca_guid = h->guid,
	};

	return roce_cm_accept(h->cm, id, &p, NULL, now);
}

void host_pull(struct host *h)
{
	while (h->report_count < HOST_REPORTS_MAX &&
	       roce_cm_next_report(h->cm, &h->reports[h->report_count]))
		h->report_count++;
	assert_true(h->report_count < HOST_REPORTS_MAX);
}

const struct roce_cm_report *host_expect(struct host *h, size_t index,
					 enum roce_cm_report_type type, int status)
{
	const struct roce_cm_report *r = &h->reports[index];

	host_pull(h);
	if (index >= h->report_count)
		fail_msg("no report %zu, want %s", index, roce_cm_report_str(type));
	assert_string_equal(roce_cm_report_str(r->type), roce_cm_report_str(type));
	assert_int_equal(r->status, status);
	return r;
}

size_t host_take(struct host *h, struct roce_cm_packet *out)
{
	size_t n = roce_cm_tx(h->cm, out, HOST_PACKETS_MAX);

	assert_true(n < HOST_PACKETS_MAX);
	assert_false(roce_cm_tx_is_pending(h->cm));
	return n;
}

enum roce_cm_verdict host_give(struct host *h, const struct roce_cm_packet *p, roce_ns_t now)
{
	const struct roce_cm_route route = {.local = p->route.remote, .remote = p->route.local};
	enum roce_cm_verdict verdict = roce_cm_rx(h->cm, &route, p->mad, sizeof(p->mad), now);

	host_pull(h);
	return verdict;
}

void host_exchange(struct host *a, struct host *b, roce_ns_t now)
{
	struct roce_cm_packet packets[HOST_PACKETS_MAX];
	size_t n;

	do {
		n = host_take(a, packets);
		for (size_t i = 0; i < n; i++)
			host_give(b, &packets[i], now);
		n = host_take(b, packets);
		for (size_t i = 0; i < n; i++)
			host_give(a, &packets[i], now);
	} while (roce_cm_tx_is_pending(a->cm) || roce_cm_tx_is_pending(b->cm));
}

struct roce_cm_message host_decode(const struct roce_cm_packet *p)
{
	struct roce_cm_message m;

	assert_int_equal(roce_cm_message_decode(p->mad, sizeof(p->mad), &m), ROCE_CM_DECODE_OK);
	return m;
}

uint64_t host_counter(const struct host *h, uint32_t counter)
{
	return roce_cm_counters(h->cm)->v[counter];
}
