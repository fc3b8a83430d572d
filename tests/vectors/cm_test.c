/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CM messages of other implementations: every packet between two QP1s in the captures decodes and
 * encodes to the same 256 bytes; some are compared field by field with what another decoder says of
 * them, and the REQ of vectors.json is built anew from the fields written there.
 */
#include "base/bytes.h"
#include "wire/cm_mad.h"
#include "wire/encap.h"
#include "wire/headers.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>
#include <pcap/pcap.h>

#define MESSAGES_MAX 64
#define CM_PACKETS   31u

struct message {
	uint8_t mad[ROCE_MAD_BYTES];
	struct roce_cm_message m;
	struct roce_gid src;
	struct roce_gid dst;
};

struct messages {
	struct message list[MESSAGES_MAX];
	size_t count;
};

static const char *root(void)
{
	const char *dir = getenv("UROCE_SOURCE_DIR");

	return dir ? dir : ".";
}

static void expect_same_again(const struct message *msg)
{
	uint8_t again[ROCE_MAD_BYTES];

	roce_cm_message_encode(&msg->m, again);
	for (size_t i = 0; i < sizeof(again); i++) {
		if (again[i] != msg->mad[i])
			fail_msg("%s: byte %zu is %02x, was %02x",
				 roce_cm_attr_str((uint16_t)msg->m.attr), i, again[i], msg->mad[i]);
	}
}

static void add_message(struct messages *all, const struct roce_encap *encap, const uint8_t *mad)
{
	struct message *msg = &all->list[all->count++];

	assert_true(all->count <= MESSAGES_MAX);
	memcpy(msg->mad, mad, ROCE_MAD_BYTES);
	msg->src = encap->src;
	msg->dst = encap->dst;
	assert_int_equal(roce_cm_message_decode(msg->mad, ROCE_MAD_BYTES, &msg->m),
			 ROCE_CM_DECODE_OK);
	expect_same_again(msg);
}

static void read_capture(const char *name, struct messages *all)
{
	char error[PCAP_ERRBUF_SIZE];
	char path[4096];
	struct pcap_pkthdr *meta;
	const uint8_t *frame;
	pcap_t *file;

	snprintf(path, sizeof(path), "%s/tests/vectors/captures/%s", root(), name);
	file = pcap_open_offline(path, error);
	if (!file)
		fail_msg("%s: %s", path, error);
	while (pcap_next_ex(file, &meta, &frame) == 1) {
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
		assert_int_equal(payload_len, ROCE_MAD_BYTES);
		assert_int_equal(hdr.qkey, ROCE_GSI_QKEY);
		assert_int_equal(hdr.src_qpn.v, ROCE_GSI_QPN);
		add_message(all, &encap, payload);
	}
	pcap_close(file);
}

static void captures__every_message_again(void **state)
{
	char folder[2048];
	struct dirent *entry;
	size_t count = 0;
	DIR *dir;

	(void)state;
	snprintf(folder, sizeof(folder), "%s/tests/vectors/captures", root());
	dir = opendir(folder);
	if (!dir)
		fail_msg("cannot open %s", folder);
	while ((entry = readdir(dir)) != NULL) {
		struct messages all = {.count = 0};

		if (!strstr(entry->d_name, ".pcap"))
			continue;
		read_capture(entry->d_name, &all);
		count += all.count;
	}
	closedir(dir);
	assert_int_equal(count, CM_PACKETS);
}

static void expect_ids(const struct roce_cm_message *m, uint64_t tid, uint32_t local,
		       uint32_t remote)
{
	assert_int_equal(m->tid, tid);
	assert_int_equal(m->local_id, local);
	assert_int_equal(m->remote_id, remote);
	assert_int_equal(m->attribute_modifier, 0);
}

static void expect_zero_private(const struct roce_cm_message *m, size_t from)
{
	assert_int_equal(m->private_len, roce_cm_private_capacity(m->attr));
	for (size_t i = from; i < m->private_len; i++)
		assert_int_equal(m->private_data[i], 0);
}

#define RPING_TID     UINT64_C(0x0000000254dfba54)
#define RPING_ACTIVE  0x54badf54u
#define RPING_PASSIVE 0x6946ae8eu

static void expect_rping_req(const struct message *msg)
{
	const struct roce_cm_req *r = &msg->m.req;
	const struct roce_cm_req zero = {0};
	struct roce_cm_ip_header ip;

	assert_int_equal(msg->m.attr, ROCE_CM_REQ);
	expect_ids(&msg->m, RPING_TID, RPING_ACTIVE, 0);
	assert_int_equal(r->vendor_id, 0);
	assert_int_equal(r->service_id, UINT64_C(0x0000000001061c06));
	assert_int_equal(r->ca_guid, UINT64_C(0x505400fffe7703d0));
	assert_int_equal(r->qkey, 0);
	assert_int_equal(r->qpn.v, 0x29);
	assert_int_equal(r->responder_resources, 1);
	assert_int_equal(r->initiator_depth, 1);
	assert_int_equal(r->local_eecn, 0);
	assert_int_equal(r->remote_eecn, 0);
	assert_int_equal(r->remote_response_timeout, 20);
	assert_int_equal(r->transport, ROCE_CM_SERVICE_RC);
	assert_false(r->flow_control);
	assert_int_equal(r->starting_psn.v, 0xfa76a4);
	assert_int_equal(r->local_response_timeout, 20);
	assert_int_equal(r->retry_count, 7);
	assert_int_equal(r->pkey, 0xffff);
	assert_int_equal(r->mtu, 3);
	assert_false(r->rdc_exists);
	assert_int_equal(r->rnr_retry_count, 7);
	assert_int_equal(r->max_cm_retries, 15);
	assert_false(r->srq);
	assert_int_equal(r->extended_transport, 0);
	assert_int_equal(r->primary.local_lid, 0xffff);
	assert_int_equal(r->primary.remote_lid, 0xffff);
	assert_true(roce_gid_is_equal(&r->primary.local_gid, &msg->src));
	assert_true(roce_gid_is_equal(&r->primary.remote_gid, &msg->dst));
	assert_int_equal(r->primary.traffic_class, 0);
	assert_int_equal(r->primary.hop_limit, 64);
	assert_int_equal(r->primary.sl, 0);
	assert_false(r->primary.subnet_local);
	assert_int_equal(r->primary.ack_timeout, 19);
	assert_memory_equal(&r->alternate, &zero.alternate, sizeof(zero.alternate));
	assert_true(roce_cm_ip_header_decode(msg->m.private_data, &ip));
	assert_int_equal(ip.ip_version, 4);
	assert_int_equal(ip.src_port, 0xb901);
	assert_true(roce_gid_is_equal(&ip.src, &msg->src));
	assert_true(roce_gid_is_equal(&ip.dst, &msg->dst));
	/* How rdma_cm chooses the flow label: from the two ports. */
	assert_int_equal(r->primary.flow_label, (0xb901u * 31 + 0x1c06) & 0xfffff);
	expect_zero_private(&msg->m, ROCE_CM_IP_HEADER_BYTES);
}

static void captures__rping_field_by_field(void **state)
{
	struct messages all = {.count = 0};
	const struct roce_cm_rep *rep;

	(void)state;
	read_capture("rping.pcap", &all);
	assert_int_equal(all.count, 5);
	expect_rping_req(&all.list[0]);

	assert_int_equal(all.list[1].m.attr, ROCE_CM_REP);
	expect_ids(&all.list[1].m, RPING_TID, RPING_PASSIVE, RPING_ACTIVE);
	rep = &all.list[1].m.rep;
	assert_int_equal(rep->qkey, 0);
	assert_int_equal(rep->qpn.v, 0x29);
	assert_int_equal(rep->vendor_id, 0);
	assert_int_equal(rep->local_eecn, 0);
	assert_int_equal(rep->starting_psn.v, 0x3411e8);
	assert_int_equal(rep->responder_resources, 1);
	assert_int_equal(rep->initiator_depth, 1);
	assert_int_equal(rep->target_ack_delay, 15);
	assert_int_equal(rep->failover_accepted, 0);
	assert_false(rep->flow_control);
	assert_int_equal(rep->rnr_retry_count, 7);
	assert_false(rep->srq);
	assert_int_equal(rep->ca_guid, UINT64_C(0x505400fffe7702d0));
	expect_zero_private(&all.list[1].m, 0);

	assert_int_equal(all.list[2].m.attr, ROCE_CM_RTU);
	expect_ids(&all.list[2].m, RPING_TID, RPING_ACTIVE, RPING_PASSIVE);
	expect_zero_private(&all.list[2].m, 0);
	assert_int_equal(all.list[3].m.attr, ROCE_CM_DREQ);
	expect_ids(&all.list[3].m, RPING_TID, RPING_ACTIVE, RPING_PASSIVE);
	assert_int_equal(all.list[3].m.dreq.remote_qpn.v, 0x29);
	expect_zero_private(&all.list[3].m, 0);
	assert_int_equal(all.list[4].m.attr, ROCE_CM_DREP);
	expect_ids(&all.list[4].m, RPING_TID, RPING_PASSIVE, RPING_ACTIVE);
	expect_zero_private(&all.list[4].m, 0);
}

static void captures__ipv6_header(void **state)
{
	struct messages all = {.count = 0};
	struct roce_cm_ip_header ip;

	(void)state;
	read_capture("rping_ipv6.pcap", &all);
	assert_int_equal(all.list[0].m.attr, ROCE_CM_REQ);
	assert_true(roce_cm_ip_header_decode(all.list[0].m.private_data, &ip));
	assert_int_equal(ip.ip_version, 6);
	assert_true(roce_gid_is_equal(&ip.src, &all.list[0].src));
	assert_true(roce_gid_is_equal(&ip.dst, &all.list[0].dst));
}

static void captures__refusal(void **state)
{
	struct messages all = {.count = 0};
	const struct roce_cm_message *m = &all.list[1].m;

	(void)state;
	read_capture("rping_noserver.pcap", &all);
	assert_int_equal(all.count, 2);
	assert_int_equal(m->attr, ROCE_CM_REJ);
	expect_ids(m, all.list[0].m.tid, 0, all.list[0].m.local_id);
	assert_int_equal(m->rej.answered, ROCE_CM_ANSWERED_REQ);
	assert_int_equal(m->rej.reason, ROCE_CM_REJ_INVALID_SERVICE_ID);
	assert_int_equal(m->rej.info_len, 0);
	expect_zero_private(m, 0);
}

static void captures__datagram_service(void **state)
{
	struct messages all = {.count = 0};
	const struct roce_cm_message *req = &all.list[0].m;
	const struct roce_cm_message *rep = &all.list[1].m;
	struct roce_cm_ip_header ip;

	(void)state;
	read_capture("udaddy.pcap", &all);
	assert_int_equal(all.count, 2);
	assert_int_equal(req->attr, ROCE_CM_SIDR_REQ);
	expect_ids(req, UINT64_C(0x0000000254dfba53), 0x53badf54, 0);
	assert_int_equal(req->sidr_req.pkey, 0xffff);
	assert_int_equal(req->sidr_req.service_id, UINT64_C(0x0000000001111c06));
	assert_true(roce_cm_ip_header_decode(req->private_data, &ip));
	assert_int_equal(ip.src_port, 0x8ae9);
	assert_true(roce_gid_is_equal(&ip.dst, &all.list[0].dst));
	assert_int_equal(rep->attr, ROCE_CM_SIDR_REP);
	expect_ids(rep, req->tid, 0, req->local_id);
	assert_int_equal(rep->sidr_rep.status, ROCE_CM_SIDR_VALID);
	assert_int_equal(rep->sidr_rep.info_len, 0);
	assert_int_equal(rep->sidr_rep.vendor_id, 0);
	assert_int_equal(rep->sidr_rep.qpn.v, 0x2b);
	assert_int_equal(rep->sidr_rep.service_id, req->sidr_req.service_id);
	assert_int_equal(rep->sidr_rep.qkey, 0x01234567);
	expect_zero_private(rep, 0);
}

/* ---- the REQ of vectors.json, from its fields ---- */

static uint64_t number_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	assert_non_null(value);
	return json_is_string(value) ? strtoull(json_string_value(value), NULL, 16)
				     : (uint64_t)json_integer_value(value);
}

static struct roce_gid gid_of(const char *text)
{
	struct roce_gid gid = {{0}};

	assert_int_equal(inet_pton(AF_INET6, text, gid.raw), 1);
	return gid;
}

static struct roce_cm_req req_from_json(const json_t *j)
{
	return (struct roce_cm_req){
		.service_id = number_of(j, "service_id"),
		.ca_guid = number_of(j, "ca_guid"),
		.qpn.v = (uint32_t)number_of(j, "local_qpn"),
		.responder_resources = (uint8_t)number_of(j, "responder_resources"),
		.initiator_depth = (uint8_t)number_of(j, "initiator_depth"),
		.remote_response_timeout = (uint8_t)number_of(j, "remote_cm_response_timeout"),
		.transport = ROCE_CM_SERVICE_RC,
		.starting_psn = roce_psn_make((uint32_t)number_of(j, "starting_psn")),
		.local_response_timeout = (uint8_t)number_of(j, "local_cm_response_timeout"),
		.retry_count = (uint8_t)number_of(j, "retry_count"),
		.pkey = (uint16_t)number_of(j, "pkey"),
		.mtu = 3,
		.rnr_retry_count = (uint8_t)number_of(j, "rnr_retry_count"),
		.max_cm_retries = (uint8_t)number_of(j, "max_cm_retries"),
		.primary = {.local_lid = (uint16_t)number_of(j, "local_lid"),
			    .remote_lid = (uint16_t)number_of(j, "remote_lid"),
			    .local_gid = gid_of(json_string_value(json_object_get(j, "sgid"))),
			    .remote_gid = gid_of(json_string_value(json_object_get(j, "dgid"))),
			    .rate = (uint8_t)number_of(j, "packet_rate"),
			    .traffic_class = (uint8_t)number_of(j, "traffic_class"),
			    .hop_limit = (uint8_t)number_of(j, "hop_limit"),
			    .sl = (uint8_t)number_of(j, "sl"),
			    .ack_timeout = (uint8_t)number_of(j, "local_ack_timeout")},
	};
}

static void expect_hex(const uint8_t *bytes, size_t len, const char *hex)
{
	for (size_t i = 0; i < len; i++) {
		unsigned int byte = 0;

		assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		if (bytes[i] != byte)
			fail_msg("MAD byte %zu is %02x, not %02x", i, bytes[i], byte);
	}
}

static void vectors__req_from_its_fields(void **state)
{
	static const char text[] = "hello-rdma";
	uint8_t data[ROCE_CM_REQ_PRIVATE_BYTES] = {0};
	uint8_t mad[ROCE_MAD_BYTES];
	struct roce_cm_ip_header ip = {.ip_version = 4, .src_port = 40000};
	struct roce_cm_message m = {.attr = ROCE_CM_REQ, .private_data = data};
	json_t *file, *entry;
	char path[4096];
	size_t index;
	size_t found = 0;

	(void)state;
	snprintf(path, sizeof(path), "%s/tests/vectors/vectors.json", root());
	file = json_load_file(path, 0, NULL);
	assert_non_null(file);
	json_array_foreach(json_object_get(file, "vectors"), index, entry)
	{
		json_t *decode = json_object_get(entry, "decode");
		const char *name = json_string_value(json_object_get(entry, "name"));
		/* Ethernet 14, IPv4 20, UDP 8, BTH 12, DETH 8 */
		const size_t mad_at = 62;

		if (strcmp(name, "ud_qp1_cm_req_v4") != 0)
			continue;
		m.tid = number_of(json_object_get(decode, "mad"), "tid");
		m.req = req_from_json(json_object_get(decode, "req"));
		m.local_id = (uint32_t)number_of(json_object_get(decode, "req"), "local_comm_id");
		ip.src = m.req.primary.local_gid;
		ip.dst = m.req.primary.remote_gid;
		roce_cm_ip_header_encode(&ip, data);
		memcpy(data + ROCE_CM_IP_HEADER_BYTES, text, sizeof(text) - 1);
		m.private_len = ROCE_CM_IP_HEADER_BYTES + sizeof(text) - 1;
		roce_cm_message_encode(&m, mad);
		expect_hex(mad, sizeof(mad),
			   json_string_value(json_object_get(entry, "hex")) + 2 * mad_at);
		found++;
	}
	json_decref(file);
	assert_int_equal(found, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(captures__every_message_again),
		cmocka_unit_test(captures__rping_field_by_field),
		cmocka_unit_test(captures__ipv6_header),
		cmocka_unit_test(captures__refusal),
		cmocka_unit_test(captures__datagram_service),
		cmocka_unit_test(vectors__req_from_its_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
