/* SPDX-License-Identifier: BSD-2-Clause */
/* The MAD header, field by field as drawn in mad.h. */
#include "wire/mad.h"

#include "base/bytes.h"

void roce_mad_header_decode(const uint8_t *mad, struct roce_mad_header *out)
{
	out->base_version = mad[0];
	out->mgmt_class = mad[1];
	out->class_version = mad[2];
	out->method = mad[3];
	out->status = roce_get_be16(mad + 4);
	out->class_specific = roce_get_be16(mad + 6);
	out->tid = roce_get_be64(mad + 8);
	out->attribute_id = roce_get_be16(mad + 16);
	out->attribute_modifier = roce_get_be32(mad + 20);
}

void roce_mad_header_encode(const struct roce_mad_header *h, uint8_t *mad)
{
	mad[0] = h->base_version;
	mad[1] = h->mgmt_class;
	mad[2] = h->class_version;
	mad[3] = h->method;
	roce_put_be16(mad + 4, h->status);
	roce_put_be16(mad + 6, h->class_specific);
	roce_put_be64(mad + 8, h->tid);
	roce_put_be16(mad + 16, h->attribute_id);
	roce_put_be16(mad + 18, 0);
	roce_put_be32(mad + 20, h->attribute_modifier);
}
