/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An adapter that puts UD messages together wrongly: while the packets of a queue pair come out of
 * order, about one message in a thousand gets a line of the message before it, whoever sent that.
 * The ICRC was right and the completion will be, so nothing but its bytes tells. The transport has
 * no part in it: the bytes are changed between the wire and the transport, behind the ICRC.
 *
 * What is known of such adapters is that share, of all messages, under reordering; not for how long
 * one late packet matters. "While" is therefore for WINDOW messages from the last one that was out
 * of order: so many that a network which delays one packet in a hundred keeps nearly all messages
 * in it (all but 0.99^256, 8%), and so few that a single late one, as after a change of routes,
 * damages none as a rule (it is 256 chances of one in a thousand).
 */
#include "fabric/payload.h"

#include "fabric/ecmp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW	    256u
#define DAMAGED_PPM 1000u
#define LINE_BYTES  64u
#define STREAM	    UINT64_C(0x6e6963) /* of chance */

struct roce_fabric_nic {
	struct roce_prng prng;
	uint8_t before[ROCE_MTU_BYTES_MAX]; /* the message that came last */
};

int roce_fabric_nic_init(struct roce_fabric_host *host)
{
	host->nic = calloc(1, sizeof(*host->nic));
	if (!host->nic)
		return -ENOMEM;
	host->nic->prng.state =
		roce_fabric_mix(host->f->cfg.seed ^ STREAM) + host->port->node->index;
	return 0;
}

void roce_fabric_nic_fini(struct roce_fabric_host *host)
{
	free(host->nic);
}

static bool is_disordered(struct roce_fabric_flow_qp *fq, bool is_at_src, roce_psn_t psn)
{
	roce_psn_t *expected = &fq->rx_psn[is_at_src];
	uint32_t *left = &fq->rx_disorder[is_at_src];

	/* What is late is out of order. What comes early is too, or something was lost: then
	 * nothing has to be put together. */
	if (roce_psn_diff(psn, *expected) < 0)
		*left = WINDOW;
	else
		*expected = roce_psn_add(psn, 1);
	if (!*left)
		return false;
	--*left;
	return true;
}

static void damage(struct roce_fabric_nic *nic, struct roce_fabric_block *block,
		   uint32_t payload_bytes)
{
	uint32_t lines = (payload_bytes + LINE_BYTES - 1) / LINE_BYTES;
	uint32_t at = LINE_BYTES * (uint32_t)roce_prng_below(&nic->prng, lines);
	uint32_t bytes = payload_bytes - at;

	if (bytes > LINE_BYTES)
		bytes = LINE_BYTES;
	/* Where that one was shorter, what an older one has left there. */
	memcpy(block->bytes + at, nic->before + at, bytes);
}

void roce_fabric_nic_deliver(struct roce_fabric_host *host, struct roce_fabric_flow_qp *fq,
			     bool is_at_src, struct roce_fabric_frame *frame)
{
	struct roce_fabric_nic *nic = host->nic;
	struct roce_fabric_block *block = frame->extra->block;
	uint8_t kept[ROCE_MTU_BYTES_MAX];

	if (fq->flow->cfg.transport != ROCE_FABRIC_UD)
		return;
	memcpy(kept, block->bytes, frame->payload_bytes);
	if (is_disordered(fq, is_at_src, (roce_psn_t){frame->psn}) &&
	    roce_prng_hit(&nic->prng, DAMAGED_PPM)) {
		damage(nic, block, frame->payload_bytes);
		host->f->totals.messages_damaged +=
			memcmp(kept, block->bytes, frame->payload_bytes) != 0;
	}
	memcpy(nic->before, kept, frame->payload_bytes);
}
