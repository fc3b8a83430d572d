/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CM messages to bytes and back. Each message has one pair of functions whose offsets are those of
 * its table in the specification, counted from the end of the MAD header.
 *
 * The timers, counts and flags that share a byte are cut out with get_bits() and set with
 * put_bits(): (byte, lowest bit, number of bits), as the tables give them.
 */
#include "wire/cm_mad.h"

#include "base/assert.h"
#include "base/bytes.h"

#define IP_VERSION_4 4u
#define IP_VERSION_6 6u

static uint8_t get_bits(uint8_t byte, unsigned low, unsigned count)
{
	return (uint8_t)((unsigned)byte >> low & ((1u << count) - 1));
}

static uint8_t put_bits(uint8_t value, unsigned low, unsigned count)
{
	return (uint8_t)(((unsigned)value & ((1u << count) - 1)) << low);
}

static uint8_t put_bit(bool value, unsigned bit)
{
	return (uint8_t)((value ? 1u : 0u) << bit);
}

const char *roce_cm_decode_verdict_str(enum roce_cm_decode_verdict verdict)
{
	static const char *const texts[] = {
#define X(name, text) [ROCE_CM_DECODE_##name] = (text),
		ROCE_CM_DECODE_LIST(X)
#undef X
	};

	ROCE_ASSERT(verdict < ROCE_CM_DECODE_COUNT);
	return texts[verdict];
}

const char *roce_cm_attr_str(uint16_t attr)
{
	switch (attr) {
#define X(name, id, bytes, offset) \
	case (id):                 \
		return #name;
		ROCE_CM_ATTR_LIST(X)
#undef X
	}
	return "unknown";
}

const char *roce_cm_rej_reason_str(uint16_t reason)
{
	switch (reason) {
#define X(name, value, text) \
	case (value):        \
		return (text);
		ROCE_CM_REJ_LIST(X)
#undef X
	}
	return "unknown";
}

const char *roce_cm_sidr_status_str(uint8_t status)
{
	switch (status) {
#define X(name, value, text) \
	case (value):        \
		return (text);
		ROCE_CM_SIDR_LIST(X)
#undef X
	}
	return "unknown";
}

size_t roce_cm_private_capacity(enum roce_cm_attr attr)
{
	switch (attr) {
#define X(name, id, bytes, offset) \
	case ROCE_CM_##name:       \
		return (bytes);
		ROCE_CM_ATTR_LIST(X)
#undef X
	}
	return 0;
}

static size_t private_offset(enum roce_cm_attr attr)
{
	switch (attr) {
#define X(name, id, bytes, offset) \
	case ROCE_CM_##name:       \
		return (offset);
		ROCE_CM_ATTR_LIST(X)
#undef X
	}
	roce_unreachable();
}

/* ---- paths: REQ has two, LAP one; the tail is packed differently ---- */

/* 44 bytes at `p`: LIDs, GIDs, flow label and rate, traffic class, hop limit, SL, timeout. */
static void decode_req_path(const uint8_t *p, struct roce_cm_path_record *out)
{
	out->local_lid = roce_get_be16(p);
	out->remote_lid = roce_get_be16(p + 2);
	memcpy(out->local_gid.raw, p + 4, 16);
	memcpy(out->remote_gid.raw, p + 20, 16);
	out->flow_label = roce_get_be32(p + 36) >> 12;
	out->rate = get_bits(p[39], 0, 6);
	out->traffic_class = p[40];
	out->hop_limit = p[41];
	out->sl = get_bits(p[42], 4, 4);
	out->subnet_local = get_bits(p[42], 3, 1);
	out->ack_timeout = get_bits(p[43], 3, 5);
	out->sap_supported = get_bits(p[43], 2, 1);
}

static void encode_req_path(const struct roce_cm_path_record *r, uint8_t *p)
{
	roce_put_be16(p, r->local_lid);
	roce_put_be16(p + 2, r->remote_lid);
	memcpy(p + 4, r->local_gid.raw, 16);
	memcpy(p + 20, r->remote_gid.raw, 16);
	roce_put_be32(p + 36, r->flow_label << 12);
	p[39] |= put_bits(r->rate, 0, 6);
	p[40] = r->traffic_class;
	p[41] = r->hop_limit;
	p[42] = put_bits(r->sl, 4, 4) | put_bit(r->subnet_local, 3);
	p[43] = put_bits(r->ack_timeout, 3, 5) | put_bit(r->sap_supported, 2);
}

/* ---- one pair per message ---- */

static void decode_req(const uint8_t *d, struct roce_cm_message *m)
{
	struct roce_cm_req *r = &m->req;

	m->local_id = roce_get_be32(d);
	m->remote_id = 0;
	r->vendor_id = roce_get_be24(d + 5);
	r->service_id = roce_get_be64(d + 8);
	r->ca_guid = roce_get_be64(d + 16);
	r->qkey = roce_get_be32(d + 28);
	r->qpn.v = roce_get_be24(d + 32);
	r->responder_resources = d[35];
	r->local_eecn = roce_get_be24(d + 36);
	r->initiator_depth = d[39];
	r->remote_eecn = roce_get_be24(d + 40);
	r->remote_response_timeout = get_bits(d[43], 3, 5);
	r->transport = get_bits(d[43], 1, 2);
	r->flow_control = get_bits(d[43], 0, 1);
	r->starting_psn = roce_psn_make(roce_get_be24(d + 44));
	r->local_response_timeout = get_bits(d[47], 3, 5);
	r->retry_count = get_bits(d[47], 0, 3);
	r->pkey = roce_get_be16(d + 48);
	r->mtu = get_bits(d[50], 4, 4);
	r->rdc_exists = get_bits(d[50], 3, 1);
	r->rnr_retry_count = get_bits(d[50], 0, 3);
	r->max_cm_retries = get_bits(d[51], 4, 4);
	r->srq = get_bits(d[51], 3, 1);
	r->extended_transport = get_bits(d[51], 0, 3);
	decode_req_path(d + 52, &r->primary);
	decode_req_path(d + 96, &r->alternate);
}

static void encode_req(const struct roce_cm_message *m, uint8_t *d)
{
	const struct roce_cm_req *r = &m->req;

	roce_put_be32(d, m->local_id);
	roce_put_be24(d + 5, r->vendor_id);
	roce_put_be64(d + 8, r->service_id);
	roce_put_be64(d + 16, r->ca_guid);
	roce_put_be32(d + 28, r->qkey);
	roce_put_be24(d + 32, r->qpn.v);
	d[35] = r->responder_resources;
	roce_put_be24(d + 36, r->local_eecn);
	d[39] = r->initiator_depth;
	roce_put_be24(d + 40, r->remote_eecn);
	d[43] = put_bits(r->remote_response_timeout, 3, 5) | put_bits(r->transport, 1, 2) |
		put_bit(r->flow_control, 0);
	roce_put_be24(d + 44, r->starting_psn.v);
	d[47] = put_bits(r->local_response_timeout, 3, 5) | put_bits(r->retry_count, 0, 3);
	roce_put_be16(d + 48, r->pkey);
	d[50] = put_bits(r->mtu, 4, 4) | put_bit(r->rdc_exists, 3) |
		put_bits(r->rnr_retry_count, 0, 3);
	d[51] = put_bits(r->max_cm_retries, 4, 4) | put_bit(r->srq, 3) |
		put_bits(r->extended_transport, 0, 3);
	encode_req_path(&r->primary, d + 52);
	encode_req_path(&r->alternate, d + 96);
}

/* The vendor ID is scattered over three bytes that were reserved once. */
static void decode_rep(const uint8_t *d, struct roce_cm_message *m)
{
	struct roce_cm_rep *r = &m->rep;

	m->local_id = roce_get_be32(d);
	m->remote_id = roce_get_be32(d + 4);
	r->qkey = roce_get_be32(d + 8);
	r->qpn.v = roce_get_be24(d + 12);
	r->vendor_id = (uint32_t)d[15] << 16 | (uint32_t)d[19] << 8 | d[23];
	r->local_eecn = roce_get_be24(d + 16);
	r->starting_psn = roce_psn_make(roce_get_be24(d + 20));
	r->responder_resources = d[24];
	r->initiator_depth = d[25];
	r->target_ack_delay = get_bits(d[26], 3, 5);
	r->failover_accepted = get_bits(d[26], 1, 2);
	r->flow_control = get_bits(d[26], 0, 1);
	r->rnr_retry_count = get_bits(d[27], 5, 3);
	r->srq = get_bits(d[27], 4, 1);
	r->ca_guid = roce_get_be64(d + 28);
}

static void encode_rep(const struct roce_cm_message *m, uint8_t *d)
{
	const struct roce_cm_rep *r = &m->rep;

	roce_put_be32(d, m->local_id);
	roce_put_be32(d + 4, m->remote_id);
	roce_put_be32(d + 8, r->qkey);
	roce_put_be24(d + 12, r->qpn.v);
	d[15] = (uint8_t)(r->vendor_id >> 16);
	roce_put_be24(d + 16, r->local_eecn);
	d[19] = (uint8_t)(r->vendor_id >> 8);
	roce_put_be24(d + 20, r->starting_psn.v);
	d[23] = (uint8_t)r->vendor_id;
	d[24] = r->responder_resources;
	d[25] = r->initiator_depth;
	d[26] = put_bits(r->target_ack_delay, 3, 5) | put_bits(r->failover_accepted, 1, 2) |
		put_bit(r->flow_control, 0);
	d[27] = put_bits(r->rnr_retry_count, 5, 3) | put_bit(r->srq, 4);
	roce_put_be64(d + 28, r->ca_guid);
}

static void decode_ids(const uint8_t *d, struct roce_cm_message *m)
{
	m->local_id = roce_get_be32(d);
	m->remote_id = roce_get_be32(d + 4);
}

static void encode_ids(const struct roce_cm_message *m, uint8_t *d)
{
	roce_put_be32(d, m->local_id);
	roce_put_be32(d + 4, m->remote_id);
}

static void decode_mra(const uint8_t *d, struct roce_cm_message *m)
{
	decode_ids(d, m);
	m->mra.answered = get_bits(d[8], 6, 2);
	m->mra.service_timeout = get_bits(d[9], 3, 5);
}

static void encode_mra(const struct roce_cm_message *m, uint8_t *d)
{
	encode_ids(m, d);
	d[8] = put_bits(m->mra.answered, 6, 2);
	d[9] = put_bits(m->mra.service_timeout, 3, 5);
}

static void decode_rej(const uint8_t *d, struct roce_cm_message *m)
{
	decode_ids(d, m);
	m->rej.answered = get_bits(d[8], 6, 2);
	m->rej.info_len = get_bits(d[9], 1, 7);
	m->rej.reason = roce_get_be16(d + 10);
	memcpy(m->rej.info, d + 12, ROCE_CM_INFO_BYTES);
}

static void encode_rej(const struct roce_cm_message *m, uint8_t *d)
{
	encode_ids(m, d);
	d[8] = put_bits(m->rej.answered, 6, 2);
	d[9] = put_bits(m->rej.info_len, 1, 7);
	roce_put_be16(d + 10, m->rej.reason);
	memcpy(d + 12, m->rej.info, ROCE_CM_INFO_BYTES);
}

static void decode_dreq(const uint8_t *d, struct roce_cm_message *m)
{
	decode_ids(d, m);
	m->dreq.remote_qpn.v = roce_get_be24(d + 8);
}

static void encode_dreq(const struct roce_cm_message *m, uint8_t *d)
{
	encode_ids(m, d);
	roce_put_be24(d + 8, m->dreq.remote_qpn.v);
}

static void decode_sidr_req(const uint8_t *d, struct roce_cm_message *m)
{
	m->local_id = roce_get_be32(d);
	m->remote_id = 0;
	m->sidr_req.pkey = roce_get_be16(d + 4);
	m->sidr_req.service_id = roce_get_be64(d + 8);
}

static void encode_sidr_req(const struct roce_cm_message *m, uint8_t *d)
{
	roce_put_be32(d, m->local_id);
	roce_put_be16(d + 4, m->sidr_req.pkey);
	roce_put_be64(d + 8, m->sidr_req.service_id);
}

static void decode_sidr_rep(const uint8_t *d, struct roce_cm_message *m)
{
	struct roce_cm_sidr_rep *r = &m->sidr_rep;

	m->local_id = 0;
	m->remote_id = roce_get_be32(d);
	r->status = d[4];
	r->info_len = d[5];
	r->vendor_id = (uint32_t)roce_get_be16(d + 6) << 8 | d[11];
	r->qpn.v = roce_get_be24(d + 8);
	r->service_id = roce_get_be64(d + 12);
	r->qkey = roce_get_be32(d + 20);
	memcpy(r->info, d + 24, ROCE_CM_INFO_BYTES);
}

static void encode_sidr_rep(const struct roce_cm_message *m, uint8_t *d)
{
	const struct roce_cm_sidr_rep *r = &m->sidr_rep;

	roce_put_be32(d, m->remote_id);
	d[4] = r->status;
	d[5] = r->info_len;
	roce_put_be16(d + 6, (uint16_t)(r->vendor_id >> 8));
	roce_put_be24(d + 8, r->qpn.v);
	d[11] = (uint8_t)r->vendor_id;
	roce_put_be64(d + 12, r->service_id);
	roce_put_be32(d + 20, r->qkey);
	memcpy(d + 24, r->info, ROCE_CM_INFO_BYTES);
}

static void decode_lap(const uint8_t *d, struct roce_cm_message *m)
{
	struct roce_cm_path_record *r = &m->lap.alternate;

	decode_ids(d, m);
	m->lap.remote_qpn.v = roce_get_be24(d + 12);
	m->lap.remote_response_timeout = get_bits(d[15], 3, 5);
	*r = (struct roce_cm_path_record){
		.local_lid = roce_get_be16(d + 20),
		.remote_lid = roce_get_be16(d + 22),
		.flow_label = roce_get_be32(d + 56) >> 12,
		.traffic_class = d[59],
		.hop_limit = d[60],
		.rate = get_bits(d[61], 0, 6),
		.sl = get_bits(d[62], 4, 4),
		.subnet_local = get_bits(d[62], 3, 1),
		.ack_timeout = get_bits(d[63], 3, 5),
	};
	memcpy(r->local_gid.raw, d + 24, 16);
	memcpy(r->remote_gid.raw, d + 40, 16);
}

static void encode_lap(const struct roce_cm_message *m, uint8_t *d)
{
	const struct roce_cm_path_record *r = &m->lap.alternate;

	encode_ids(m, d);
	roce_put_be24(d + 12, m->lap.remote_qpn.v);
	d[15] = put_bits(m->lap.remote_response_timeout, 3, 5);
	roce_put_be16(d + 20, r->local_lid);
	roce_put_be16(d + 22, r->remote_lid);
	memcpy(d + 24, r->local_gid.raw, 16);
	memcpy(d + 40, r->remote_gid.raw, 16);
	roce_put_be24(d + 56, r->flow_label << 4);
	d[59] = r->traffic_class;
	d[60] = r->hop_limit;
	d[61] = put_bits(r->rate, 0, 6);
	d[62] = put_bits(r->sl, 4, 4) | put_bit(r->subnet_local, 3);
	d[63] = put_bits(r->ack_timeout, 3, 5);
}

static void decode_apr(const uint8_t *d, struct roce_cm_message *m)
{
	decode_ids(d, m);
	m->apr.info_len = d[8];
	m->apr.status = d[9];
	memcpy(m->apr.info, d + 12, ROCE_CM_INFO_BYTES);
}

static void encode_apr(const struct roce_cm_message *m, uint8_t *d)
{
	encode_ids(m, d);
	d[8] = m->apr.info_len;
	d[9] = m->apr.status;
	memcpy(d + 12, m->apr.info, ROCE_CM_INFO_BYTES);
}

/* ---- whole messages ---- */

static void decode_body(const uint8_t *d, struct roce_cm_message *m)
{
	switch (m->attr) {
	case ROCE_CM_REQ:
		decode_req(d, m);
		return;
	case ROCE_CM_MRA:
		decode_mra(d, m);
		return;
	case ROCE_CM_REJ:
		decode_rej(d, m);
		return;
	case ROCE_CM_REP:
		decode_rep(d, m);
		return;
	case ROCE_CM_RTU:
	case ROCE_CM_DREP:
		decode_ids(d, m);
		return;
	case ROCE_CM_DREQ:
		decode_dreq(d, m);
		return;
	case ROCE_CM_SIDR_REQ:
		decode_sidr_req(d, m);
		return;
	case ROCE_CM_SIDR_REP:
		decode_sidr_rep(d, m);
		return;
	case ROCE_CM_LAP:
		decode_lap(d, m);
		return;
	case ROCE_CM_APR:
		decode_apr(d, m);
		return;
	}
	roce_unreachable();
}

static void encode_body(const struct roce_cm_message *m, uint8_t *d)
{
	switch (m->attr) {
	case ROCE_CM_REQ:
		encode_req(m, d);
		return;
	case ROCE_CM_MRA:
		encode_mra(m, d);
		return;
	case ROCE_CM_REJ:
		encode_rej(m, d);
		return;
	case ROCE_CM_REP:
		encode_rep(m, d);
		return;
	case ROCE_CM_RTU:
	case ROCE_CM_DREP:
		encode_ids(m, d);
		return;
	case ROCE_CM_DREQ:
		encode_dreq(m, d);
		return;
	case ROCE_CM_SIDR_REQ:
		encode_sidr_req(m, d);
		return;
	case ROCE_CM_SIDR_REP:
		encode_sidr_rep(m, d);
		return;
	case ROCE_CM_LAP:
		encode_lap(m, d);
		return;
	case ROCE_CM_APR:
		encode_apr(m, d);
		return;
	}
	roce_unreachable();
}

static bool is_attr_known(uint16_t attr)
{
	switch (attr) {
#define X(name, id, bytes, offset) case (id):
		ROCE_CM_ATTR_LIST(X)
#undef X
		return true;
	}
	return false;
}

enum roce_cm_decode_verdict roce_cm_message_decode(const uint8_t *mad, size_t len,
						   struct roce_cm_message *out)
{
	struct roce_mad_header h;

	if (len != ROCE_MAD_BYTES)
		return ROCE_CM_DECODE_BAD_LENGTH;
	roce_mad_header_decode(mad, &h);
	if (h.base_version != ROCE_MAD_BASE_VERSION)
		return ROCE_CM_DECODE_BAD_BASE_VERSION;
	if (h.mgmt_class != ROCE_MAD_CLASS_CM)
		return ROCE_CM_DECODE_BAD_CLASS;
	if (h.class_version != ROCE_MAD_CM_VERSION)
		return ROCE_CM_DECODE_BAD_CLASS_VERSION;
	if (h.method != ROCE_MAD_METHOD_SEND)
		return ROCE_CM_DECODE_BAD_METHOD;
	if (!is_attr_known(h.attribute_id))
		return ROCE_CM_DECODE_BAD_ATTRIBUTE;
	out->attr = (enum roce_cm_attr)h.attribute_id;
	out->tid = h.tid;
	out->attribute_modifier = h.attribute_modifier;
	decode_body(mad + ROCE_MAD_HEADER_BYTES, out);
	out->private_data = mad + ROCE_MAD_HEADER_BYTES + private_offset(out->attr);
	out->private_len = (uint16_t)roce_cm_private_capacity(out->attr);
	return ROCE_CM_DECODE_OK;
}

void roce_cm_message_encode(const struct roce_cm_message *m, uint8_t *mad)
{
	const struct roce_mad_header h = {
		.base_version = ROCE_MAD_BASE_VERSION,
		.mgmt_class = ROCE_MAD_CLASS_CM,
		.class_version = ROCE_MAD_CM_VERSION,
		.method = ROCE_MAD_METHOD_SEND,
		.tid = m->tid,
		.attribute_id = (uint16_t)m->attr,
		.attribute_modifier = m->attribute_modifier,
	};

	ROCE_ASSERT(m->private_len <= roce_cm_private_capacity(m->attr));
	memset(mad, 0, ROCE_MAD_BYTES);
	roce_mad_header_encode(&h, mad);
	encode_body(m, mad + ROCE_MAD_HEADER_BYTES);
	if (m->private_len)
		memcpy(mad + ROCE_MAD_HEADER_BYTES + private_offset(m->attr), m->private_data,
		       m->private_len);
}

/* ---- IP addressing ---- */

/* IPv4 addresses stand in the last four bytes, with zeros in front: not the mapped form. */
static struct roce_gid decode_ip(const uint8_t *p, uint8_t ip_version)
{
	struct roce_gid gid;

	memcpy(gid.raw, p, 16);
	if (ip_version == IP_VERSION_4) {
		memset(gid.raw, 0, 10);
		gid.raw[10] = gid.raw[11] = 0xff;
	}
	return gid;
}

static void encode_ip(const struct roce_gid *gid, uint8_t ip_version, uint8_t *p)
{
	memcpy(p, gid->raw, 16);
	if (ip_version == IP_VERSION_4)
		memset(p, 0, 12);
}

bool roce_cm_ip_header_decode(const uint8_t *private_data, struct roce_cm_ip_header *out)
{
	out->version = private_data[0];
	out->ip_version = private_data[1] >> 4;
	if (out->version != 0 ||
	    (out->ip_version != IP_VERSION_4 && out->ip_version != IP_VERSION_6))
		return false;
	out->src_port = roce_get_be16(private_data + 2);
	out->src = decode_ip(private_data + 4, out->ip_version);
	out->dst = decode_ip(private_data + 20, out->ip_version);
	return true;
}

void roce_cm_ip_header_encode(const struct roce_cm_ip_header *h, uint8_t *private_data)
{
	private_data[0] = h->version;
	private_data[1] = put_bits(h->ip_version, 4, 4);
	roce_put_be16(private_data + 2, h->src_port);
	encode_ip(&h->src, h->ip_version, private_data + 4);
	encode_ip(&h->dst, h->ip_version, private_data + 20);
}
