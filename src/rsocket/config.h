/* SPDX-License-Identifier: BSD-2-Clause */
/* Defaults of rsockets: files in /etc/rdma/rsocket, one decimal number each, read once. */
#ifndef ROCE_RSOCKET_CONFIG_H
#define ROCE_RSOCKET_CONFIG_H

#include <stdint.h>

struct roce_rs_sizes {
	uint32_t send_buffer;	/* bytes: mem, wmem_default */
	uint32_t receive_ring;	/* bytes, both halves: mem_default */
	uint16_t send_wqes;	/* sqsize_default */
	uint16_t receive_wqes;	/* rqsize_default; credits for the peer */
	uint32_t inline_bytes;	/* inline_default */
	uint16_t mapping_slots; /* iomap_size */
};

struct roce_rs_config {
	struct roce_rs_sizes sizes;
	uint32_t polling_us; /* busy before a thread sleeps: polling_time */
	uint32_t wake_up_ms; /* longest sleep before it looks again: wake_up_interval */
};

#define ROCE_RS_WQES_MIN 16
#define ROCE_RS_WQES_MAX 65534

const struct roce_rs_config *roce_rs_config(void);

#endif
