/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The text forms. A response is named by its syndrome, since that is what it says.
 */
#include "text.h"

#include "base/assert.h"
#include "wire/aeth.h"
#include "wire/opcode.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sim_text_init(struct sim_text *t)
{
	t->capacity = 1024;
	t->s = malloc(t->capacity);
	ROCE_ASSERT(t->s);
	sim_text_clear(t);
}

void sim_text_fini(struct sim_text *t)
{
	free(t->s);
}

void sim_text_clear(struct sim_text *t)
{
	t->length = 0;
	t->s[0] = '\0';
}

void sim_text_add(struct sim_text *t, const char *format, ...)
{
	va_list args;
	int n;

	if (t->capacity - t->length < 512) {
		t->capacity *= 2;
		t->s = realloc(t->s, t->capacity);
		ROCE_ASSERT(t->s);
	}
	va_start(args, format);
	n = vsnprintf(t->s + t->length, t->capacity - t->length, format, args);
	va_end(args);
	ROCE_ASSERT(n >= 0 && (size_t)n < t->capacity - t->length);
	t->length += (size_t)n;
}

static void name_acknowledge(char out[32], uint8_t syndrome)
{
	switch (roce_aeth_kind(syndrome)) {
	case ROCE_AETH_ACK:
		snprintf(out, 32, "ACK");
		return;
	case ROCE_AETH_RNR_NAK:
		snprintf(out, 32, "RNR_NAK %u", roce_aeth_value(syndrome));
		return;
	case ROCE_AETH_NAK:
		snprintf(out, 32, "NAK %u", roce_aeth_value(syndrome));
		return;
	case ROCE_AETH_RESERVED:
		snprintf(out, 32, "RESERVED 0x%02x", syndrome);
		return;
	}
}

void sim_text_packet(char out[SIM_LINE_MAX], const struct roce_headers *hdr, uint32_t payload_len)
{
	const struct roce_opcode_info *info = roce_opcode_info(hdr->opcode);
	char name[32];
	int n;

	if (!info) {
		snprintf(out, SIM_LINE_MAX, "opcode 0x%02x psn %u", hdr->opcode.v, hdr->psn.v);
		return;
	}
	snprintf(name, sizeof(name), "%s",
		 strncmp(info->name, "RC_", 3) ? info->name : info->name + 3);
	if (info->operation == ROCE_OPERATION_ACK)
		name_acknowledge(name, hdr->syndrome);
	n = snprintf(out, SIM_LINE_MAX, "%s psn %u", name, hdr->psn.v);
	if (info->has_payload)
		n += snprintf(out + n, SIM_LINE_MAX - (size_t)n, " len %u", payload_len);
	if (roce_header_set_has(info->headers, ROCE_HEADER_RETH) &&
	    info->operation == ROCE_OPERATION_READ_REQUEST)
		n += snprintf(out + n, SIM_LINE_MAX - (size_t)n, " dma_len %u", hdr->dma_len);
	if (roce_header_set_has(info->headers, ROCE_HEADER_AETH))
		n += snprintf(out + n, SIM_LINE_MAX - (size_t)n, " msn %u", hdr->msn);
	if (hdr->ack_req)
		n += snprintf(out + n, SIM_LINE_MAX - (size_t)n, " ackreq");
	if (hdr->solicited)
		snprintf(out + n, SIM_LINE_MAX - (size_t)n, " se");
}

const char *sim_text_wr_opcode(uint8_t opcode)
{
	static const char *const names[] = {
		[ROCE_WR_RDMA_WRITE] = "WRITE",
		[ROCE_WR_RDMA_WRITE_WITH_IMM] = "WRITE_WITH_IMM",
		[ROCE_WR_SEND] = "SEND",
		[ROCE_WR_SEND_WITH_IMM] = "SEND_WITH_IMM",
		[ROCE_WR_RDMA_READ] = "READ",
		[ROCE_WR_ATOMIC_CMP_AND_SWP] = "CMP_SWAP",
		[ROCE_WR_ATOMIC_FETCH_AND_ADD] = "FETCH_ADD",
		[ROCE_WR_LOCAL_INV] = "LOCAL_INV",
		[ROCE_WR_BIND_MW] = "BIND_MW",
		[ROCE_WR_SEND_WITH_INV] = "SEND_WITH_INV",
		[ROCE_WR_ATOMIC_WRITE] = "ATOMIC_WRITE",
	};

	return opcode < sizeof(names) / sizeof(names[0]) && names[opcode] ? names[opcode] : "?";
}

const char *sim_text_status(uint8_t status)
{
	static const char *const names[] = {
		[ROCE_WC_SUCCESS] = "SUCCESS",
		[ROCE_WC_LOC_LEN_ERR] = "LOC_LEN_ERR",
		[ROCE_WC_LOC_QP_OP_ERR] = "LOC_QP_OP_ERR",
		[ROCE_WC_LOC_PROT_ERR] = "LOC_PROT_ERR",
		[ROCE_WC_WR_FLUSH_ERR] = "WR_FLUSH_ERR",
		[ROCE_WC_MW_BIND_ERR] = "MW_BIND_ERR",
		[ROCE_WC_BAD_RESP_ERR] = "BAD_RESP_ERR",
		[ROCE_WC_LOC_ACCESS_ERR] = "LOC_ACCESS_ERR",
		[ROCE_WC_REM_INV_REQ_ERR] = "REM_INV_REQ_ERR",
		[ROCE_WC_REM_ACCESS_ERR] = "REM_ACCESS_ERR",
		[ROCE_WC_REM_OP_ERR] = "REM_OP_ERR",
		[ROCE_WC_RETRY_EXC_ERR] = "RETRY_EXC_ERR",
		[ROCE_WC_RNR_RETRY_EXC_ERR] = "RNR_RETRY_EXC_ERR",
		[ROCE_WC_FATAL_ERR] = "FATAL_ERR",
		[ROCE_WC_GENERAL_ERR] = "GENERAL_ERR",
	};

	return status < sizeof(names) / sizeof(names[0]) && names[status] ? names[status] : "?";
}

const char *sim_text_wc_opcode(uint8_t opcode)
{
	switch (opcode) {
	case ROCE_WC_SEND:
		return "SEND";
	case ROCE_WC_RDMA_WRITE:
		return "WRITE";
	case ROCE_WC_RDMA_READ:
		return "READ";
	case ROCE_WC_COMP_SWAP:
		return "COMP_SWAP";
	case ROCE_WC_FETCH_ADD:
		return "FETCH_ADD";
	case ROCE_WC_BIND_MW:
		return "BIND_MW";
	case ROCE_WC_LOCAL_INV:
		return "LOCAL_INV";
	case ROCE_WC_ATOMIC_WRITE:
		return "ATOMIC_WRITE";
	case ROCE_WC_RECV:
		return "RECV";
	case ROCE_WC_RECV_RDMA_WITH_IMM:
		return "RECV_RDMA_WITH_IMM";
	}
	return "?";
}

const char *sim_text_event(enum roce_async_event event)
{
	switch (event) {
	case ROCE_EVENT_CQ_ERR:
		return "CQ_ERR";
	case ROCE_EVENT_QP_FATAL:
		return "QP_FATAL";
	case ROCE_EVENT_QP_REQ_ERR:
		return "QP_REQ_ERR";
	case ROCE_EVENT_QP_ACCESS_ERR:
		return "QP_ACCESS_ERR";
	case ROCE_EVENT_COMM_EST:
		return "COMM_EST";
	case ROCE_EVENT_QP_LAST_WQE_REACHED:
		return "LAST_WQE_REACHED";
	case ROCE_EVENT_SQ_DRAINED:
		return "SQ_DRAINED";
	}
	return "?";
}
