/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters of one transport. Each verdict of roce_rx() is itself a counter index, so no packet is
 * refused without a trace. Names follow hw_counters of Linux RDMA drivers where one exists. The
 * values live in memory that the caller provides (the engine shares it with the daemon).
 */
#ifndef ROCE_TRANSPORT_COUNTER_H
#define ROCE_TRANSPORT_COUNTER_H

#include <stdint.h>

/* X(enumerator, name): what roce_rx() did with a packet. */
#define ROCE_VERDICTS(X)                                        \
	X(RX_ACCEPTED, "rx_accepted")                           \
	X(RX_DUPLICATE, "duplicate_request")                    \
	X(RX_OUT_OF_SEQUENCE, "out_of_sequence")                \
	X(RX_RNR, "rnr_nak_sent")                               \
	X(RX_NO_QP, "rx_no_qp")                                 \
	X(RX_WRONG_TRANSPORT, "rx_wrong_transport")             \
	X(RX_WRONG_STATE, "rx_wrong_state")                     \
	X(RX_WRONG_ADDRESS, "rx_wrong_address")                 \
	X(RX_BAD_PKEY, "rx_bad_pkey")                           \
	X(RX_RESERVED_OPCODE, "rx_reserved_opcode")             \
	X(RX_CNP_HANDLED, "rp_cnp_handled")                     \
	X(RX_CNP_IGNORED, "rp_cnp_ignored")                     \
	X(RX_BAD_OP_SEQUENCE, "rx_bad_op_sequence")             \
	X(RX_BAD_LENGTH, "rx_bad_length")                       \
	X(RX_OP_NOT_ALLOWED, "rx_op_not_allowed")               \
	X(RX_TOO_MANY_READS, "rx_too_many_reads")               \
	X(RX_MISALIGNED_ATOMIC, "rx_misaligned_atomic")         \
	X(RX_BAD_RKEY, "rx_bad_rkey")                           \
	X(RX_RECV_TOO_SMALL, "rx_recv_too_small")               \
	X(RX_RECV_BAD_SGE, "rx_recv_bad_sge")                   \
	X(RX_MEMORY_FAULT, "rx_memory_fault")                   \
	X(RX_BAD_INVALIDATE, "rx_bad_invalidate")               \
	X(RX_DUPLICATE_MISMATCH, "rx_duplicate_mismatch")       \
	X(RX_CQ_OVERRUN, "rx_cq_overrun")                       \
	X(RX_BAD_QKEY, "rx_bad_qkey")                           \
	X(RX_NO_RECV, "rx_no_recv_wqe")                         \
	X(RX_MESSAGE_DROPPED, "rx_message_dropped")             \
	X(RX_NO_SRQ, "rx_no_xrc_srq")                           \
	X(RX_NO_GROUP, "rx_no_multicast_group")                 \
	X(RX_RESPONSE_STALE, "rx_response_stale")               \
	X(RX_RESPONSE_GHOST, "rx_response_ghost")               \
	X(RX_RESPONSE_RESERVED, "rx_response_reserved")         \
	X(RX_RESPONSE_GAP, "implied_nak_seq_err")               \
	X(RX_RESPONSE_BAD, "resp_cqe_error")                    \
	X(RX_NAK_SEQUENCE, "packet_seq_err")                    \
	X(RX_NAK_RNR, "rnr_nak_received")                       \
	X(RX_NAK_INVALID_REQUEST, "req_remote_invalid_request") \
	X(RX_NAK_ACCESS, "req_remote_access_errors")            \
	X(RX_NAK_OPERATION, "req_remote_operation_errors")

/* X(enumerator, name): events that are no verdict. */
#define ROCE_STATS(X)                               \
	X(TX_PACKETS, "tx_pkts")                    \
	X(TX_BYTES, "tx_payload_bytes")             \
	X(RX_PACKETS, "rx_pkts")                    \
	X(RX_BYTES, "rx_payload_bytes")             \
	X(TX_RETRANSMITTED, "tx_retransmitted")     \
	X(TX_ACKS, "tx_acks")                       \
	X(TX_NAKS, "tx_naks")                       \
	X(ACK_TIMEOUTS, "local_ack_timeout_err")    \
	X(RETRY_EXCEEDED, "retry_exceeded_err")     \
	X(RNR_RETRY_EXCEEDED, "rnr_nak_retry_err")  \
	X(WINDOW_BLOCKED, "window_blocked")         \
	X(WINDOW_CUTS, "window_cuts")               \
	X(BATCHING_SUSPENDED, "batching_suspended") \
	X(ECN_MARKED, "np_ecn_marked_roce_packets") \
	X(CNP_SENT, "np_cnp_sent")                  \
	X(RX_WRITE_REQUESTS, "rx_write_requests")   \
	X(RX_READ_REQUESTS, "rx_read_requests")     \
	X(RX_ATOMIC_REQUESTS, "rx_atomic_requests") \
	X(CQ_OVERRUNS, "cq_overruns")

enum roce_verdict {
#define X(id, name) ROCE_##id,
	ROCE_VERDICTS(X)
#undef X
		ROCE_VERDICT_COUNT
};

enum roce_stat {
	ROCE_STAT_BASE = ROCE_VERDICT_COUNT - 1,
#define X(id, name) ROCE_STAT_##id,
	ROCE_STATS(X)
#undef X
		ROCE_COUNTER_COUNT
};

struct roce_counters {
	uint64_t v[ROCE_COUNTER_COUNT]; /* by enum roce_verdict and enum roce_stat */
};

/* Name of a counter by its index, NULL beyond the last. */
const char *roce_counter_str(uint32_t index);

#endif
