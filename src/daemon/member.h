/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One socket of a group: made, steered to, looked at. Knows the system calls and nothing about
 * leases; group.c decides. All functions take the local address of the group.
 */
#ifndef ROCE_DAEMON_MEMBER_H
#define ROCE_DAEMON_MEMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/message.h"

/* A probe: the first 16 bytes of a payload that no RoCE packet has (opcode 0xff is reserved). */
#define ROCE_PROBE_BYTES 16

/*
 * A non-blocking UDP socket bound to (address, 4791) as a member of its SO_REUSEPORT group, with
 * UDP_GRO (unless without_gro), SO_RXQ_OVFL, TOS by cmsg and the largest receive buffer allowed.
 * -errno.
 */
int roce_member_open(const struct roce_address *a, bool without_gro);

void roce_member_set_gro(int fd, bool on);

/* Drops probes with this nonce before they are queued, and lets nobody change that (if locked). */
int roce_member_set_filter(int fd, uint32_t nonce, bool is_locked);

/* Packets dropped since the socket exists, those that the filter dropped among them. */
uint32_t roce_member_get_drops(int fd);

/* map[slot]: index of the member for that top byte of DestQP, -1 none; the rest goes to fallback.
 */
int roce_member_attach_program(int fd, uint32_t nonce, const int16_t map[256], uint16_t fallback);

/* A socket that sends probes; any port but 4791. */
int roce_member_open_prober(const struct roce_address *a);

void roce_member_send_probe(int prober, const struct roce_address *a, uint32_t nonce,
			    uint16_t index, uint16_t round);

/*
 * Takes packets off an unmapped socket until a probe of this round is found (true, *out_index: the
 * lowest index that was seen) or none comes for wait_ms.
 */
bool roce_member_receive_probe(int fd, uint32_t nonce, uint16_t round, int wait_ms,
			       uint16_t *out_index);

void roce_member_drain(int fd);

uint64_t roce_member_get_inode(int fd);

#endif
