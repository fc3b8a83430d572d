/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Paths that lose batches. Packets of one flow leave as one datagram with a segment size, and
 * something on the way may drop just those, while single packets arrive. From here that looks like
 * rounds that bring nothing: the requester starts again and again without an acknowledgement, or
 * the responder is asked for READs again and again from the same one on. After some of them in a
 * row packets to that peer leave one by one for a while. Then batches are tried again; each time
 * that they fail soon after, the while is twice as long.
 *
 * UC and UD hear nothing of their losses and give no such sign.
 */
#include "transport/roles.h"

#define FRUITLESS_MAX 3u
#define SINGLE_NS_MIN ROCE_NS_PER_S
#define SINGLE_NS_MAX (64 * ROCE_NS_PER_S)
#define SOON	      8u /* times the while; failing later than that begins anew */

void roce_peer_on_fruitless(struct roce_qp *qp, uint8_t *count, roce_ns_t now)
{
	struct roce_peer *peer = qp->peer;

	if (!peer || ++*count < FRUITLESS_MAX)
		return;
	*count = 0;
	if (roce_peer_is_single(peer, now))
		return; /* batches are not to blame, or not alone */
	if (now - peer->single_until > SOON * peer->single_ns)
		peer->single_ns = SINGLE_NS_MIN;
	else if (peer->single_ns < SINGLE_NS_MAX)
		peer->single_ns *= 2;
	peer->single_until = now + peer->single_ns;
	roce_count(qp->t, ROCE_STAT_BATCHING_SUSPENDED);
}
