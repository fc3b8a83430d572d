/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posting and waiting. A wait that is not answered in VA_STALL_S ends the case with what was
 * awaited; a completion with a status that nobody expects does, too.
 */
#ifndef VERIFY_AGENT_WORK_H
#define VERIFY_AGENT_WORK_H

#include "verify/agent/buffer.h"
#include "verify/agent/endpoint.h"

#define VA_STALL_S 20

/* That of a case's parameter: "send", "send_imm", "write", "write_imm", "read", "fetch_add",
 * "cmp_swap". */
enum ibv_wr_opcode va_opcode(const char *word);

/* One signalled request from the head of `local` (`length` bytes), to `offset` of `remote` where
 * the operation has a remote place. */
struct va_request {
	enum ibv_wr_opcode opcode;
	const struct va_buffer *local;
	size_t local_offset;
	uint32_t length;
	const struct va_remote *remote;
	uint64_t remote_offset;
	uint64_t wr_id;
	uint64_t compare_add;
	uint64_t swap;
	uint32_t imm;	    /* host order */
	unsigned int flags; /* IBV_SEND_INLINE, ...; signalled is added */
	bool is_silent;	    /* unless it shall have no completion */
};

void va_post(struct va_run *run, struct va_endpoint *endpoint, const struct va_request *request);
/* The same, for requests that may be refused: what ibv_post_send() returns. */
int va_try_post(struct va_endpoint *endpoint, const struct va_request *request);
void va_post_receive(struct va_run *run, struct va_endpoint *endpoint,
		     const struct va_buffer *buffer, size_t offset, uint32_t length,
		     uint64_t wr_id);

/* One completion, spinning. */
void va_wait(struct va_run *run, struct ibv_cq *cq, const char *awaited, struct ibv_wc *out);
/* The same with an end of its own, for what moves many bytes. */
void va_wait_long(struct va_run *run, struct ibv_cq *cq, const char *awaited, uint32_t seconds,
		  struct ibv_wc *out);
/* va_fail() with its status unless it is a success. */
void va_must_succeed(struct va_run *run, const struct ibv_wc *wc, const char *what);
/* va_wait(), for a success. */
void va_wait_success(struct va_run *run, struct ibv_cq *cq, const char *awaited,
		     struct ibv_wc *out);

#endif
