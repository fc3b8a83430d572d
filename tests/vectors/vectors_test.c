/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every frame of vectors.json: the headers decode to the fields written there, the ICRC is the one
 * written there, and the decoded headers and payload make the same frame again, byte by byte.
 */
#include "base/bytes.h"
#include "wire/encap.h"
#include "wire/headers.h"
#include "wire/icrc.h"
#include "wire/icrc_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>

#define FRAME_MAX 2048
#define VECTORS	  29u

struct vector {
	const char *name;
	json_t *decode;
	bool is_roce;
	uint8_t frame[FRAME_MAX];
	size_t frame_len;
	uint8_t icrc[4];

	struct roce_encap encap;
	struct roce_headers hdr;
	const uint8_t *bth;
	size_t len; /* BTH through ICRC */
	const uint8_t *payload;
	uint32_t payload_len;
};

static size_t bytes_from_hex(const char *hex, uint8_t *out, size_t out_max)
{
	size_t n = strlen(hex) / 2;

	assert_true(n <= out_max && strlen(hex) % 2 == 0);
	for (size_t i = 0; i < n; i++) {
		unsigned int byte = 0;

		assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		out[i] = (uint8_t)byte;
	}
	return n;
}

/* Integers stand in the file as numbers or as strings in hexadecimal. */
static uint64_t number_of(const json_t *value)
{
	if (json_is_string(value))
		return strtoull(json_string_value(value), NULL, 16);
	assert_true(json_is_integer(value));
	return (uint64_t)json_integer_value(value);
}

static uint64_t field(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	if (!value)
		fail_msg("field %s is missing", key);
	return number_of(value);
}

static void load(const json_t *entry, struct vector *v)
{
	const json_t *icrc = json_object_get(entry, "icrc");

	memset(v, 0, sizeof(*v));
	v->name = json_string_value(json_object_get(entry, "name"));
	v->decode = json_object_get(entry, "decode");
	v->is_roce = json_is_string(icrc);
	v->frame_len = bytes_from_hex(json_string_value(json_object_get(entry, "hex")), v->frame,
				      sizeof(v->frame));
	assert_int_equal(v->frame_len, field(entry, "length"));
	if (v->is_roce)
		assert_int_equal(bytes_from_hex(json_string_value(icrc), v->icrc, 4), 4);
}

static void decode_vector(struct vector *v)
{
	enum roce_encap_verdict encap =
		roce_encap_decode(v->frame, v->frame_len, &v->encap, &v->bth, &v->len);
	enum roce_decode_verdict verdict;

	if (encap != ROCE_ENCAP_OK)
		fail_msg("%s: %s", v->name, roce_encap_verdict_str(encap));
	assert_int_equal(v->encap.udp_dport, ROCE_UDP_PORT);
	verdict = roce_headers_decode(v->bth, v->len, &v->hdr, &v->payload, &v->payload_len);
	if (verdict != ROCE_DECODE_OK)
		fail_msg("%s: %s", v->name, roce_decode_verdict_str(verdict));
}

static void expect_bth(const struct vector *v)
{
	const json_t *bth = json_object_get(v->decode, "bth");

	assert_int_equal(v->hdr.opcode.v, field(bth, "opcode"));
	assert_int_equal(v->hdr.solicited, field(bth, "se"));
	assert_int_equal(v->hdr.mig_req, field(bth, "migreq"));
	assert_int_equal(v->hdr.pad_count, field(bth, "padcnt"));
	assert_int_equal(v->hdr.tver, field(bth, "tver"));
	assert_int_equal(v->hdr.pkey, field(bth, "pkey"));
	assert_int_equal(v->hdr.fecn, field(bth, "fecn"));
	assert_int_equal(v->hdr.becn, field(bth, "becn"));
	assert_int_equal(v->hdr.dest_qpn.v, field(bth, "dest_qp"));
	assert_int_equal(v->hdr.ack_req, field(bth, "ackreq"));
	assert_int_equal(v->hdr.psn.v, field(bth, "psn"));
}

/* The opcode table says a header is there exactly when the file lists it. */
static const json_t *listed(const struct vector *v, const char *key, enum roce_header header)
{
	const struct roce_opcode_info *info = roce_opcode_info(v->hdr.opcode);
	const json_t *object = json_object_get(v->decode, key);

	if ((object != NULL) != roce_header_set_has(info->headers, header))
		fail_msg("%s: %s is %s", v->name, key, object ? "not decoded" : "unexpected");
	return object;
}

static void expect_extended(const struct vector *v)
{
	const json_t *o;

	o = listed(v, "deth", ROCE_HEADER_DETH);
	if (o) {
		assert_int_equal(v->hdr.qkey, field(o, "qkey"));
		assert_int_equal(v->hdr.src_qpn.v, field(o, "src_qp"));
	}
	o = listed(v, "reth", ROCE_HEADER_RETH);
	if (o) {
		assert_true(v->hdr.va == field(o, "va"));
		assert_int_equal(v->hdr.rkey.v, field(o, "rkey"));
		assert_int_equal(v->hdr.dma_len, field(o, "dmalen"));
	}
	o = listed(v, "atomiceth", ROCE_HEADER_ATOMICETH);
	if (o) {
		assert_true(v->hdr.va == field(o, "va"));
		assert_int_equal(v->hdr.rkey.v, field(o, "rkey"));
		assert_true(v->hdr.swap_add == field(o, "swap_add"));
		assert_true(v->hdr.compare == field(o, "compare"));
	}
	o = listed(v, "aeth", ROCE_HEADER_AETH);
	if (o) {
		assert_int_equal(v->hdr.syndrome, field(o, "syndrome"));
		assert_int_equal(v->hdr.msn, field(o, "msn"));
	}
	o = listed(v, "atomicacketh", ROCE_HEADER_ATOMICACKETH);
	if (o)
		assert_true(v->hdr.atomic_orig == number_of(o));
	o = listed(v, "immdt", ROCE_HEADER_IMMDT);
	if (o)
		assert_int_equal(roce_get_be32((const uint8_t *)&v->hdr.imm_be), number_of(o));
	o = listed(v, "ieth", ROCE_HEADER_IETH);
	if (o)
		assert_int_equal(v->hdr.inv_rkey.v, number_of(o));
	o = listed(v, "feth", ROCE_HEADER_FETH);
	if (o) {
		assert_int_equal(v->hdr.flush_plt, field(o, "plt"));
		assert_int_equal(v->hdr.flush_sel, field(o, "sel"));
	}
	listed(v, "reserved", ROCE_HEADER_CNP_RESERVED);
}

/* The file gives the payload in hex; for the CM request it gives the fields of a 256-byte MAD. */
static void expect_payload(const struct vector *v)
{
	const char *hex = json_string_value(json_object_get(v->decode, "payload"));
	uint8_t want[FRAME_MAX];
	size_t n = hex ? bytes_from_hex(hex, want, sizeof(want)) : 0;

	if (json_object_get(v->decode, "mad")) {
		assert_int_equal(v->payload_len, 256);
		return;
	}
	assert_int_equal(v->payload_len, n);
	assert_memory_equal(v->payload, want, n);
}

static void expect_vlan(const struct vector *v)
{
	const json_t *vlan = json_object_get(v->decode, "vlan");

	assert_int_equal(v->encap.has_vlan, vlan != NULL);
	if (!vlan)
		return;
	assert_int_equal(v->encap.vlan_pcp, field(vlan, "pcp"));
	assert_int_equal(v->encap.vlan_dei, field(vlan, "dei"));
	assert_int_equal(v->encap.vlan_id, field(vlan, "vid"));
}

static void prepare_flow(const struct vector *v, struct roce_icrc_flow *out)
{
	roce_icrc_flow_init(out, &v->encap.src, &v->encap.dst, v->encap.udp_sport,
			    v->encap.udp_dport);
}

static void expect_icrc(const struct vector *v)
{
	size_t ip_at = v->encap.has_vlan ? 18 : 14;
	size_t before_icrc = (size_t)(v->bth - v->frame) + v->len - 4;
	struct roce_icrc_id_state ids = {0};
	struct roce_icrc_flow flow;
	uint32_t want = roce_icrc_get(v->icrc);

	prepare_flow(v, &flow);
	assert_memory_equal(v->frame + before_icrc, v->icrc, 4);
	assert_int_equal(roce_icrc_compute(&flow, v->encap.ip_id, v->bth, v->len - 4), want);
	assert_int_equal(roce_icrc_model(v->frame + ip_at, before_icrc - ip_at), want);
	assert_true(roce_icrc_check(&flow, &ids, 0, v->bth, v->len));
}

static void expect_same_frame(const struct vector *v)
{
	uint8_t frame[FRAME_MAX] = {0};
	struct roce_icrc_flow flow;
	size_t at =
		roce_encap_encode(&v->encap, roce_packet_len(v->hdr.opcode, v->payload_len), frame);
	uint8_t *bth = frame + at;

	at += roce_headers_encode(&v->hdr, bth);
	memcpy(frame + at, v->payload, v->payload_len);
	at += v->payload_len + v->hdr.pad_count;
	prepare_flow(v, &flow);
	roce_icrc_put(frame + at,
		      roce_icrc_compute(&flow, v->encap.ip_id, bth, (size_t)(frame + at - bth)));
	assert_int_equal(at + 4, v->frame_len);
	assert_memory_equal(frame, v->frame, v->frame_len);
}

static void vectors__decode_icrc_encode(void **state)
{
	json_t *doc = *state;
	json_t *list = json_object_get(doc, "vectors");
	struct vector v;
	uint32_t roce = 0;

	assert_int_equal(json_array_size(list), VECTORS);
	for (size_t i = 0; i < json_array_size(list); i++) {
		load(json_array_get(list, i), &v);
		print_message("%s\n", v.name);
		if (!v.is_roce) {
			const uint8_t *bth;
			size_t len;

			assert_int_equal(
				roce_encap_decode(v.frame, v.frame_len, &v.encap, &bth, &len),
				ROCE_ENCAP_NOT_IP);
			continue;
		}
		roce++;
		decode_vector(&v);
		expect_bth(&v);
		expect_extended(&v);
		expect_payload(&v);
		expect_vlan(&v);
		expect_icrc(&v);
		expect_same_frame(&v);
	}
	assert_int_equal(roce, VECTORS - 1);
}

static int load_file(void **state)
{
	const char *root = getenv("UROCE_SOURCE_DIR");
	char path[4096];
	json_error_t error;

	snprintf(path, sizeof(path), "%s/tests/vectors/vectors.json", root ? root : ".");
	*state = json_load_file(path, 0, &error);
	if (!*state) {
		print_error("%s line %d: %s\n", path, error.line, error.text);
		return -1;
	}
	return 0;
}

static int free_file(void **state)
{
	json_decref(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors__decode_icrc_encode),
	};

	return cmocka_run_group_tests(tests, load_file, free_file);
}
