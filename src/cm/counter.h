/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters of the connection manager. Each verdict of roce_cm_rx() is a counter index: no message
 * is dropped without a trace. The rest counts what is sent, repeated, and which table was full.
 */
#ifndef ROCE_CM_COUNTER_H
#define ROCE_CM_COUNTER_H

#include <stdint.h>

/* X(enumerator, name): what roce_cm_rx() did with a message. */
#define ROCE_CM_VERDICTS(X)                                \
	X(RX_ACCEPTED, "cm_rx_accepted")                   \
	X(RX_DUPLICATE, "cm_rx_duplicate")                 \
	X(RX_EARLY, "cm_rx_kept_for_listener")             \
	X(RX_BAD_LENGTH, "cm_rx_bad_length")               \
	X(RX_BAD_BASE_VERSION, "cm_rx_bad_base_version")   \
	X(RX_BAD_CLASS, "cm_rx_bad_class")                 \
	X(RX_BAD_CLASS_VERSION, "cm_rx_bad_class_version") \
	X(RX_BAD_METHOD, "cm_rx_bad_method")               \
	X(RX_BAD_ATTRIBUTE, "cm_rx_bad_attribute")         \
	X(RX_UNKNOWN_ID, "cm_rx_unknown_id")               \
	X(RX_WRONG_REMOTE_ID, "cm_rx_wrong_remote_id")     \
	X(RX_WRONG_ADDRESS, "cm_rx_wrong_address")         \
	X(RX_WRONG_TID, "cm_rx_wrong_transaction_id")      \
	X(RX_WRONG_QPN, "cm_rx_wrong_qpn")                 \
	X(RX_WRONG_STATE, "cm_rx_wrong_state")             \
	X(RX_WRONG_SERVICE, "cm_rx_wrong_service_id")      \
	X(RX_NO_COMM_ID, "cm_rx_zero_comm_id")             \
	X(RX_BAD_IP_HEADER, "cm_rx_bad_ip_header")         \
	X(RX_BAD_PATH, "cm_rx_bad_path")                   \
	X(RX_BAD_MTU, "cm_rx_bad_mtu")                     \
	X(RX_NO_LISTENER, "cm_rx_no_listener")             \
	X(RX_WRONG_TRANSPORT, "cm_rx_wrong_transport")     \
	X(RX_STALE, "cm_rx_stale_connection")              \
	X(RX_BACKLOG_FULL, "cm_rx_backlog_full")           \
	X(RX_HALF_OPEN_FULL, "cm_rx_half_open_full")       \
	X(RX_OWNER_FULL, "cm_rx_owner_full")               \
	X(RX_TABLE_FULL, "cm_rx_table_full")               \
	X(RX_UNSUPPORTED, "cm_rx_alternate_path_refused")

/* X(enumerator, name): events that are no verdict. */
#define ROCE_CM_STATS(X)                           \
	X(TX_REQ, "cm_tx_req")                     \
	X(TX_MRA, "cm_tx_mra")                     \
	X(TX_REJ, "cm_tx_rej")                     \
	X(TX_REP, "cm_tx_rep")                     \
	X(TX_RTU, "cm_tx_rtu")                     \
	X(TX_DREQ, "cm_tx_dreq")                   \
	X(TX_DREP, "cm_tx_drep")                   \
	X(TX_SIDR_REQ, "cm_tx_sidr_req")           \
	X(TX_SIDR_REP, "cm_tx_sidr_rep")           \
	X(TX_APR, "cm_tx_apr")                     \
	X(TX_REPEATED, "cm_tx_repeated")           \
	X(TIMEOUTS, "cm_timeouts")                 \
	X(REPORTS, "cm_reports")                   \
	X(LISTENS, "cm_listens")                   \
	X(ESTABLISHED, "cm_established")           \
	X(RESTORED, "cm_restored")                 \
	X(STALE_CLOSED, "cm_stale_closed")         \
	X(STALE_DENIED, "cm_stale_denied_by_peer") \
	X(REPLIES_FULL, "cm_replies_full")         \
	X(TABLE_FULL, "cm_table_full")             \
	X(HALF_OPEN_FULL, "cm_half_open_full")     \
	X(OWNER_FULL, "cm_owner_full")             \
	X(LISTENERS_FULL, "cm_listeners_full")

enum roce_cm_verdict {
#define X(id, name) ROCE_CM_##id,
	ROCE_CM_VERDICTS(X)
#undef X
		ROCE_CM_VERDICT_COUNT
};

enum roce_cm_stat {
	ROCE_CM_STAT_BASE = ROCE_CM_VERDICT_COUNT - 1,
#define X(id, name) ROCE_CM_STAT_##id,
	ROCE_CM_STATS(X)
#undef X
		ROCE_CM_COUNTER_COUNT
};

struct roce_cm_counters {
	uint64_t v[ROCE_CM_COUNTER_COUNT]; /* by enum roce_cm_verdict and enum roce_cm_stat */
};

/* Name of a counter by its index, NULL beyond the last. */
const char *roce_cm_counter_str(uint32_t index);

#endif
