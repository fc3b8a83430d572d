/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An adapter that puts UD messages together wrongly and does not notice: a pktio around another one
 * that gives a received payload a line of the message before it, whoever sent that, and the packet
 * the ICRC that goes with it. So every check of the packet passes and the program gets wrong data
 * with a good completion. Adapters were seen to do so to about one datagram in a thousand, where
 * packets of the flow had come out of order. The simulator's hosts have the same one (`nic:
 * faulty-ud`, src/fabric/nic.c).
 *
 * Which message of a disordered flow is damaged depends on the seed and on its number among the UD
 * messages alone. RC and UC packets, and those of QP1, pass unharmed.
 */
#ifndef ROCE_PKTIO_WRAP_FAULTY_NIC_H
#define ROCE_PKTIO_WRAP_FAULTY_NIC_H

#include "pktio/pktio.h"

/* Packets for which a flow counts as disordered, from a late one on. */
#define ROCE_FAULTY_NIC_WINDOW 256u
#define ROCE_FAULTY_NIC_LINE   64u /* bytes */

struct roce_faulty_nic_spec {
	uint64_t seed;
	uint32_t damage_ppm; /* of the UD messages of disordered flows */
	bool is_always;	     /* of those in order as well */
};

/* Wraps `inner`, which belongs to the result from then on. 0 or -ENOMEM. */
int roce_faulty_nic_open(const struct roce_faulty_nic_spec *spec, struct roce_pktio *inner,
			 struct roce_pktio **out);

#endif
