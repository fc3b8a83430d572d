/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The management datagram (MAD): 256 bytes, the payload of every packet between two QP1s. Its
 * header is common to all management classes; on RoCE only the class of the connection manager is
 * in use (cm_mad.h). Values in host order.
 *
 *     0          1          2          3
 *   0 | base     | class    | class    | method   |
 *   4 | status              | class specific      |
 *   8 | transaction ID                  (8 bytes) |
 *  16 | attribute ID        | reserved            |
 *  20 | attribute modifier                        |
 *  24 | data                          (232 bytes) |
 */
#ifndef ROCE_WIRE_MAD_H
#define ROCE_WIRE_MAD_H

#include <stdint.h>

#define ROCE_MAD_BYTES	      256u
#define ROCE_MAD_HEADER_BYTES 24u
#define ROCE_MAD_DATA_BYTES   232u

#define ROCE_GSI_QPN	      1u	  /* both ends of a management datagram */
#define ROCE_GSI_QKEY	      0x80010000u /* well-known Q_Key of QP1 */

#define ROCE_MAD_BASE_VERSION 1u
#define ROCE_MAD_CLASS_CM     0x07u
#define ROCE_MAD_CM_VERSION   2u
#define ROCE_MAD_METHOD_SEND  0x03u /* every message of the CM, also replies */

struct roce_mad_header {
	uint8_t base_version;
	uint8_t mgmt_class;
	uint8_t class_version;
	uint8_t method;
	uint16_t status;
	uint16_t class_specific;
	uint64_t tid;
	uint16_t attribute_id;
	uint32_t attribute_modifier;
};

/* From and to the first ROCE_MAD_HEADER_BYTES of a MAD; the reserved bytes are written as zero. */
void roce_mad_header_decode(const uint8_t *mad, struct roce_mad_header *out);
void roce_mad_header_encode(const struct roce_mad_header *h, uint8_t *mad);

#endif
