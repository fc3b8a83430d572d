# SPDX-License-Identifier: BSD-2-Clause
"""UC and UD: nothing is repeated, so each sender's PSNs rise by one for ever."""
import collections

from harness import roce

from .place import BURST, Violation, psn_diff


def _flow_of(p):
    """UD counts per sending queue pair, whoever it sends to. QP1 of a machine may be several."""
    if p.transport == roce.UD:
        return p.transport, p.src, p.src_qpn
    return p.transport, p.src, p.dst, p.dest_qpn


def check(packets, places, out):
    flows = collections.defaultdict(list)
    for p in packets:
        if p.dest_qpn != roce.GSI_QPN:
            flows[_flow_of(p)].append(p)
    for flow in flows.values():
        tx = places[flow[0].src].tx
        expected = flow[0].psn
        recent = collections.deque(maxlen=32)
        for p in flow:
            step = psn_diff(p.psn, expected)
            is_known = p.psn in recent
            if step == 0:
                expected = p.psn + 1
            elif 0 < step <= BURST and ("drop" in tx or "reorder" in tx):
                expected = p.psn + 1
            elif step < 0 and (("dup" in tx and is_known) or
                               ("reorder" in tx and not is_known and -step <= BURST)):
                pass
            else:
                out.append(Violation(p, "unreliable-psn",
                                     f"PSN {p.psn:#x}, expected {expected & 0xFFFFFF:#x}"))
                expected = p.psn + 1
            recent.append(p.psn)
