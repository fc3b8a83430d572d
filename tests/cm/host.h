/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A host for tests of the connection manager: a CM with one owner, a deterministic source of
 * numbers, and the reports that it made, oldest first. Time is whatever the test says.
 */
#ifndef TESTS_CM_HOST_H
#define TESTS_CM_HOST_H

#include "base/prng.h"
#include "cm/cm.h"

#include <stdbool.h>

#define HOST_REPORTS_MAX 64
#define HOST_PACKETS_MAX 64
#define HOST_PORT	 7471

struct host {
	struct roce_cm_config cfg;
	struct roce_cm_owner owner;
	struct roce_cm *cm;
	struct roce_prng prng;
	struct roce_gid gid;
	uint64_t guid;
	struct roce_cm_report reports[HOST_REPORTS_MAX];
	size_t report_count;
};

/* Limits that no test meets by chance. */
extern const struct roce_cm_config host_limits;

/* 10.0.0.`number`; `limits` NULL: the above. */
void host_init(struct host *h, uint8_t number, uint64_t seed, const struct roce_cm_config *limits);
void host_fini(struct host *h);

struct roce_gid host_gid(uint8_t number);
/* From h to the other. */
struct roce_cm_route host_route(const struct host *h, const struct host *other);

/* Listens for RC (or what `type` says) on all addresses. */
struct roce_cm_listener *host_listen(struct host *h, enum roce_cm_qp_type type, uint16_t port);
/* RC from port 40000 to HOST_PORT, queue pair `qpn`. */
struct roce_cm_connect host_connect_params(struct host *h, const struct host *other, uint32_t qpn);
struct roce_cm_id *host_connect(struct host *h, const struct host *other, uint32_t qpn,
				roce_ns_t now);
struct roce_cm_id *host_sidr(struct host *h, const struct host *other, roce_ns_t now);
int host_accept(struct host *h, struct roce_cm_id *id, uint32_t qpn, roce_ns_t now);

/* Appends what the CM reports to h->reports. */
void host_pull(struct host *h);
/* The report at `index`, which must be of this type and status. */
const struct roce_cm_report *host_expect(struct host *h, size_t index,
					 enum roce_cm_report_type type, int status);
/* Takes all packets; each must be to `other`. */
size_t host_take(struct host *h, struct roce_cm_packet *out);
/* Gives a packet of the other end to h and pulls. */
enum roce_cm_verdict host_give(struct host *h, const struct roce_cm_packet *p, roce_ns_t now);
/* Packets to and fro until there are none. */
void host_exchange(struct host *a, struct host *b, roce_ns_t now);
/* What the packet says. */
struct roce_cm_message host_decode(const struct roce_cm_packet *p);
uint64_t host_counter(const struct host *h, uint32_t counter);

#endif
