/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Our connection manager in the place of Linux's in the captures: asked for the same, it sends the
 * same REQ, REP, RTU, DREQ, DREP, REJ, SIDR_REQ and SIDR_REP, byte by byte, but for the numbers
 * that it chooses (comm IDs, and transaction IDs of exchanges that it begins).
 */
#include "host.h"

#include "base/bytes.h"
#include "wire/encap.h"
#include "wire/headers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <pcap/pcap.h>

#define MESSAGES_MAX 32
#define MAD_TID	     8
#define MAD_LOCAL    24
#define MAD_REMOTE   28

struct captured {
	struct roce_cm_packet p; /* as its sender sent it */
	struct roce_cm_message m;
};

static struct captured list[MESSAGES_MAX];
static size_t list_count;

static void load(const char *name)
{
	const char *root = getenv("UROCE_SOURCE_DIR");
	char error[PCAP_ERRBUF_SIZE], path[4096];
	struct pcap_pkthdr *meta;
	const uint8_t *frame;
	pcap_t *file;

	snprintf(path, sizeof(path), "%s/tests/vectors/captures/%s", root ? root : ".", name);
	file = pcap_open_offline(path, error);
	if (!file)
		fail_msg("%s: %s", path, error);
	list_count = 0;
	while (pcap_next_ex(file, &meta, &frame) == 1) {
		struct captured *c = &list[list_count];
		struct roce_headers hdr;
		struct roce_encap encap;
		const uint8_t *bth, *payload;
		uint32_t payload_len;
		size_t len;

		assert_int_equal(roce_encap_decode(frame, meta->caplen, &encap, &bth, &len),
				 ROCE_ENCAP_OK);
		assert_int_equal(roce_headers_decode(bth, len, &hdr, &payload, &payload_len),
				 ROCE_DECODE_OK);
		if (hdr.dest_qpn.v != ROCE_GSI_QPN)
			continue;
		assert_true(++list_count < MESSAGES_MAX);
		c->p.route = (struct roce_cm_route){.local = encap.src, .remote = encap.dst};
		memcpy(c->p.mad, payload, ROCE_MAD_BYTES);
		c->m = host_decode(&c->p);
	}
	pcap_close(file);
}

/* The message of this kind in the exchange of REQ `req`; NULL: none. */
static struct captured *find(const struct captured *req, enum roce_cm_attr attr)
{
	for (size_t i = 0; i < list_count; i++)
		if (list[i].m.attr == attr && list[i].m.tid == req->m.tid)
			return &list[i];
	return NULL;
}

/* Equal but for `count` bytes at each of the offsets. */
static void expect_same(const uint8_t *ours, const uint8_t *theirs, const size_t (*except)[2],
			size_t count)
{
	uint8_t a[ROCE_MAD_BYTES], b[ROCE_MAD_BYTES];

	memcpy(a, ours, sizeof(a));
	memcpy(b, theirs, sizeof(b));
	for (size_t i = 0; i < count; i++) {
		memset(a + except[i][0], 0, except[i][1]);
		memset(b + except[i][0], 0, except[i][1]);
	}
	for (size_t i = 0; i < sizeof(a); i++)
		if (a[i] != b[i])
			fail_msg("byte %zu is %02x, theirs %02x", i, a[i], b[i]);
}

static struct roce_cm_data data_behind(const struct roce_cm_message *m, uint16_t skip)
{
	return (struct roce_cm_data){m->private_data + skip, (uint16_t)(m->private_len - skip)};
}

static struct roce_cm_connect connect_as(struct host *h, const struct captured *c)
{
	const struct roce_cm_req *r = &c->m.req;
	struct roce_cm_ip_header ip;

	assert_true(roce_cm_ip_header_decode(c->m.private_data, &ip));
	return (struct roce_cm_connect){
		.owner = &h->owner,
		.qp_type = ROCE_CM_QP_RC,
		.route = {.local = ip.src,
			  .remote = ip.dst,
			  .flow_label = r->primary.flow_label,
			  .traffic_class = r->primary.traffic_class,
			  .hop_limit = r->primary.hop_limit,
			  .sl = r->primary.sl},
		.port_space = (uint16_t)(r->service_id >> 16),
		.src_port = ip.src_port,
		.dst_port = (uint16_t)r->service_id,
		.params = {.qpn = r->qpn,
			   .starting_psn = r->starting_psn,
			   .responder_resources = r->responder_resources,
			   .initiator_depth = r->initiator_depth,
			   .retry_count = r->retry_count,
			   .rnr_retry_count = r->rnr_retry_count,
			   .flow_control = r->flow_control,
			   .srq = r->srq,
			   .ca_guid = r->ca_guid},
		.mtu = r->mtu,
		.rate = r->primary.rate,
		.packet_lifetime = 18,
		.ack_timeout = r->primary.ack_timeout,
		.response_timeout = ROCE_CM_RESPONSE_TIMEOUT,
		.max_retries = ROCE_CM_MAX_RETRIES,
		.data = data_behind(&c->m, ROCE_CM_IP_HEADER_BYTES),
	};
}

static struct roce_cm_params params_of(const struct roce_cm_rep *r)
{
	return (struct roce_cm_params){
		.qpn = r->qpn,
		.qkey = r->qkey,
		.starting_psn = r->starting_psn,
		.responder_resources = r->responder_resources,
		.initiator_depth = r->initiator_depth,
		.rnr_retry_count = r->rnr_retry_count,
		.target_ack_delay = r->target_ack_delay,
		.flow_control = r->flow_control,
		.srq = r->srq,
		.ca_guid = r->ca_guid,
	};
}

/* The captured message as it would have come had its sender talked with us. */
static struct roce_cm_packet readdress(const struct captured *c, uint64_t tid, uint32_t to)
{
	struct roce_cm_packet p = c->p;

	roce_put_be64(p.mad + MAD_TID, tid);
	roce_put_be32(p.mad + MAD_REMOTE, to);
	return p;
}

/* ---- the active side ---- */

static void play_active(const struct captured *req)
{
	static const size_t chosen[][2] = {{MAD_TID, 8}, {MAD_LOCAL, 4}};
	const struct captured *rep = find(req, ROCE_CM_REP), *rtu = find(req, ROCE_CM_RTU);
	const struct captured *dreq = find(req, ROCE_CM_DREQ);
	struct roce_cm_packet packets[HOST_PACKETS_MAX], p;
	struct roce_cm_connect c;
	struct roce_cm_info info;
	struct roce_cm_id *id;
	struct host h;

	host_init(&h, 1, 1, NULL);
	c = connect_as(&h, req);
	assert_int_equal(roce_cm_connect(h.cm, &c, 1, &id), 0);
	assert_int_equal(host_take(&h, packets), 1);
	expect_same(packets[0].mad, req->p.mad, chosen, 2);
	roce_cm_id_info(id, &info);
	if (rep) {
		p = readdress(rep, info.tid, info.local_id);
		assert_int_equal(host_give(&h, &p, 2), ROCE_CM_RX_ACCEPTED);
		assert_int_equal(roce_cm_establish(h.cm, id, 3), 0);
		assert_int_equal(host_take(&h, packets), 1);
		expect_same(packets[0].mad, rtu->p.mad, chosen, 2);
		assert_int_equal(roce_cm_disconnect(h.cm, id, 4), 0);
		assert_int_equal(host_take(&h, packets), 1);
		expect_same(packets[0].mad, dreq->p.mad, chosen, 2);
	}
	host_fini(&h);
}

/* ---- the passive side ---- */

static void listen_for(struct host *h, uint64_t service_id, enum roce_cm_qp_type type)
{
	const struct roce_cm_listen l = {
		.owner = &h->owner,
		.qp_type = type,
		.port_space = (uint16_t)(service_id >> 16),
		.port = (uint16_t)service_id,
		.is_wildcard = true,
		.takes_v4 = true,
		.takes_v6 = true,
	};
	struct roce_cm_listener *out;

	assert_int_equal(roce_cm_listen(h->cm, &l, &out), 0);
}

static void play_passive(const struct captured *req)
{
	static const size_t chosen[][2] = {{MAD_LOCAL, 4}};
	const struct captured *rep = find(req, ROCE_CM_REP), *rtu = find(req, ROCE_CM_RTU);
	const struct captured *dreq = find(req, ROCE_CM_DREQ), *drep = find(req, ROCE_CM_DREP);
	struct roce_cm_packet packets[HOST_PACKETS_MAX], p;
	const struct roce_cm_params params = params_of(&rep->m.rep);
	const struct roce_cm_data data = data_behind(&rep->m, 0);
	struct roce_cm_info info;
	struct roce_cm_id *id;
	struct host h;

	host_init(&h, 2, 1, NULL);
	listen_for(&h, req->m.req.service_id, ROCE_CM_QP_RC);
	assert_int_equal(host_give(&h, &req->p, 1), ROCE_CM_RX_ACCEPTED);
	id = host_expect(&h, 0, ROCE_CM_REPORT_CONNECT_REQUEST, 0)->id;
	assert_int_equal(roce_cm_accept(h.cm, id, &params, &data, 2), 0);
	assert_int_equal(host_take(&h, packets), 1);
	expect_same(packets[0].mad, rep->p.mad, chosen, 1);
	roce_cm_id_info(id, &info);
	p = readdress(rtu, rtu->m.tid, info.local_id);
	assert_int_equal(host_give(&h, &p, 3), ROCE_CM_RX_ACCEPTED);
	host_expect(&h, 1, ROCE_CM_REPORT_ESTABLISHED, 0);
	p = readdress(dreq, dreq->m.tid, info.local_id);
	assert_int_equal(host_give(&h, &p, 4), ROCE_CM_RX_ACCEPTED);
	host_expect(&h, 2, ROCE_CM_REPORT_DISCONNECTED, 0);
	assert_int_equal(roce_cm_disconnect(h.cm, id, 5), 0);
	assert_int_equal(host_take(&h, packets), 1);
	expect_same(packets[0].mad, drep->p.mad, chosen, 1);
	host_fini(&h);
}

static void capture__connections(void **state)
{
	static const char *const names[] = {"rping.pcap", "rping_ipv6.pcap", "rstream.pcap",
					    "send_bw_rdmacm.pcap"};
	unsigned connections = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		load(names[i]);
		for (size_t k = 0; k < list_count; k++) {
			if (list[k].m.attr != ROCE_CM_REQ)
				continue;
			print_message("%s, REQ %u\n", names[i], ++connections);
			play_active(&list[k]);
			play_passive(&list[k]);
		}
	}
	assert_int_equal(connections, 5);
}

/* Nobody listens: the REJ is the same to the last bit. */
static void capture__refusal(void **state)
{
	struct roce_cm_packet packets[HOST_PACKETS_MAX];
	struct host h;

	(void)state;
	load("rping_noserver.pcap");
	play_active(&list[0]);
	host_init(&h, 2, 1, NULL);
	assert_int_equal(host_give(&h, &list[0].p, 1), ROCE_CM_RX_NO_LISTENER);
	assert_int_equal(host_take(&h, packets), 1);
	assert_memory_equal(packets[0].mad, list[1].p.mad, ROCE_MAD_BYTES);
	host_fini(&h);
}

static void capture__datagram_service(void **state)
{
	static const size_t chosen[][2] = {{MAD_TID, 8}, {MAD_LOCAL, 4}};
	const struct roce_cm_sidr_rep *rep;
	struct roce_cm_packet packets[HOST_PACKETS_MAX];
	struct roce_cm_sidr_connect c;
	struct roce_cm_ip_header ip;
	struct roce_cm_params params;
	struct roce_cm_id *id;
	struct host h;

	(void)state;
	load("udaddy.pcap");
	assert_true(roce_cm_ip_header_decode(list[0].m.private_data, &ip));
	host_init(&h, 1, 1, NULL);
	c = (struct roce_cm_sidr_connect){
		.owner = &h.owner,
		.route = {.local = ip.src, .remote = ip.dst, .hop_limit = 64},
		.port_space = (uint16_t)(list[0].m.sidr_req.service_id >> 16),
		.src_port = ip.src_port,
		.dst_port = (uint16_t)list[0].m.sidr_req.service_id,
		.response_timeout = ROCE_CM_RESPONSE_TIMEOUT,
		.max_retries = ROCE_CM_MAX_RETRIES,
		.data = data_behind(&list[0].m, ROCE_CM_IP_HEADER_BYTES),
	};
	assert_int_equal(roce_cm_sidr_connect(h.cm, &c, 1, &id), 0);
	assert_int_equal(host_take(&h, packets), 1);
	expect_same(packets[0].mad, list[0].p.mad, chosen, 2);
	host_fini(&h);

	host_init(&h, 2, 1, NULL);
	listen_for(&h, list[0].m.sidr_req.service_id, ROCE_CM_QP_UD);
	assert_int_equal(host_give(&h, &list[0].p, 1), ROCE_CM_RX_ACCEPTED);
	id = host_expect(&h, 0, ROCE_CM_REPORT_CONNECT_REQUEST, 0)->id;
	rep = &list[1].m.sidr_rep;
	params = (struct roce_cm_params){.qpn = rep->qpn, .qkey = rep->qkey};
	assert_int_equal(roce_cm_accept(h.cm, id, &params, NULL, 2), 0);
	assert_int_equal(host_take(&h, packets), 1);
	assert_memory_equal(packets[0].mad, list[1].p.mad, ROCE_MAD_BYTES);
	host_fini(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(capture__connections),
		cmocka_unit_test(capture__refusal),
		cmocka_unit_test(capture__datagram_service),
	};

	return cmocka_run_group_tests_name("capture", tests, NULL, NULL);
}
