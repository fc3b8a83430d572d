/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One received message on its way through the checks, and the handlers that rx.c calls. A handler
 * returns the verdict; a message that does not match its connection changes nothing.
 */
#ifndef ROCE_CM_RX_H
#define ROCE_CM_RX_H

#include "cm/cm_internal.h"

struct roce_cm_rx {
	struct roce_cm *cm;
	const struct roce_cm_route *route;
	const struct roce_cm_message *m;
	roce_ns_t now;
};

/* Both numbers and both addresses fit an ID that is no SIDR exchange. A peer's number that is not
 * known yet fits any. */
enum roce_cm_verdict roce_cm_match(const struct roce_cm_rx *rx, struct roce_cm_id **out_id);
/* And the transaction ID is that of its REQ. */
enum roce_cm_verdict roce_cm_match_setup(const struct roce_cm_rx *rx, struct roce_cm_id **out_id);
bool roce_cm_is_from_peer(const struct roce_cm_rx *rx, const struct roce_cm_id *id);

/* What was kept comes up once more, now to be answered whatever holds. */
void roce_cm_rx_again(struct roce_cm *cm, const struct roce_cm_route *route, const uint8_t *mad,
		      roce_ns_t now);
/* early.c: true if the message waits for a listener. */
bool roce_cm_early_keep(const struct roce_cm_rx *rx, const uint8_t *mad);

/* A REJ to the sender of a REQ or REP for which there is no ID. */
void roce_cm_refuse(const struct roce_cm_rx *rx, enum roce_cm_rej_reason reason, const void *info,
		    uint8_t info_len);

enum roce_cm_verdict roce_cm_on_req(const struct roce_cm_rx *rx);
enum roce_cm_verdict roce_cm_on_rep(const struct roce_cm_rx *rx);
enum roce_cm_verdict roce_cm_on_rtu(const struct roce_cm_rx *rx);
enum roce_cm_verdict roce_cm_on_dreq(const struct roce_cm_rx *rx);
enum roce_cm_verdict roce_cm_on_drep(const struct roce_cm_rx *rx);
enum roce_cm_verdict roce_cm_on_sidr_req(const struct roce_cm_rx *rx);
enum roce_cm_verdict roce_cm_on_sidr_rep(const struct roce_cm_rx *rx);

#endif
