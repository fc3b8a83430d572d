/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The thread that makes progress when no thread of the program is in a call: it answers connection
 * requests of listeners, takes nonblocking rconnect() on, notices the peer's disconnecting, and
 * sends keepalives. It blocks all signals and starts with the first socket that needs it.
 */
#ifndef ROCE_RSOCKET_SERVICE_H
#define ROCE_RSOCKET_SERVICE_H

struct roce_rs;

/* Watches the socket's connection-manager channel. 0 or -errno. */
int roce_rs_service_add(struct roce_rs *rs);

/* Keepalives every rs->keepalive_s, or none: as the socket's option says. lock of the socket held.
 */
int roce_rs_service_keepalive(struct roce_rs *rs);

/* While it is held the service touches no socket. */
void roce_rs_service_lock(void);
void roce_rs_service_unlock(void);
/* No more events of it; service lock held. */
void roce_rs_service_remove(struct roce_rs *rs);

#endif
