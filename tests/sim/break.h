/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes of a packet on its way; each breaks one rule, or (sim_set_nothing) none. */
#ifndef TESTS_SIM_BREAK_H
#define TESTS_SIM_BREAK_H

#include "sim/link.h"

typedef void (*sim_change)(struct roce_link_pkt *pkt);

void sim_set_other_qpn(struct roce_link_pkt *pkt);
void sim_set_colliding_qpn(struct roce_link_pkt *pkt);
void sim_set_uc(struct roce_link_pkt *pkt);
void sim_set_ud(struct roce_link_pkt *pkt);
void sim_set_src(struct roce_link_pkt *pkt);
void sim_set_dst(struct roce_link_pkt *pkt);
void sim_set_pkey_other(struct roce_link_pkt *pkt);
void sim_set_pkey_zero(struct roce_link_pkt *pkt);
void sim_set_reserved_opcode(struct roce_link_pkt *pkt);
void sim_set_vendor_opcode(struct roce_link_pkt *pkt);
void sim_set_cnp(struct roce_link_pkt *pkt);
void sim_set_write_middle(struct roce_link_pkt *pkt);
void sim_set_write_last(struct roce_link_pkt *pkt);
void sim_set_send_middle(struct roce_link_pkt *pkt);
void sim_set_send_last(struct roce_link_pkt *pkt);
void sim_set_send_only(struct roce_link_pkt *pkt);
void sim_set_read_request(struct roce_link_pkt *pkt);
void sim_set_psn_before_all(struct roce_link_pkt *pkt);
void sim_set_flush(struct roce_link_pkt *pkt);
void sim_set_payload_16(struct roce_link_pkt *pkt);
void sim_set_dma_len_16(struct roce_link_pkt *pkt);
void sim_set_atomic_write(struct roce_link_pkt *pkt);
void sim_cut_4(struct roce_link_pkt *pkt);
void sim_grow_4(struct roce_link_pkt *pkt);
void sim_empty_payload(struct roce_link_pkt *pkt);
void sim_set_payload_8(struct roce_link_pkt *pkt);
void sim_set_pad(struct roce_link_pkt *pkt);
void sim_set_dma_len_more(struct roce_link_pkt *pkt);
void sim_set_dma_len_less(struct roce_link_pkt *pkt);
void sim_set_dma_len_huge(struct roce_link_pkt *pkt);
void sim_set_va_odd(struct roce_link_pkt *pkt);
void sim_set_rkey_unknown(struct roce_link_pkt *pkt);
void sim_set_rkey_variant(struct roce_link_pkt *pkt);
void sim_set_va_wrap(struct roce_link_pkt *pkt);
void sim_set_nothing(struct roce_link_pkt *pkt);
void sim_set_inv(struct roce_link_pkt *pkt);

#endif
