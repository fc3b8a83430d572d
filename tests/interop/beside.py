# SPDX-License-Identifier: BSD-2-Clause
"""Packets of the two stacks beside each other: the same program ran twice, once with uroce as client
and once with rxe, so what one stack sent in the first run the other sent in the second. Packets are
paired by connection, opcode and PSN (MADs by their kind), and every field of a pair is compared. A
difference must be one of those in differences.py.
"""
import collections
import dataclasses

from harness import roce

import cm_fields
import differences
from sequence import connections

# fields of roce.Packet that are compared; what follows from others (lengths, CRCs) is checked apart
FIELDS = ("ip_version", "ip_tos", "ip_id", "ip_flags", "ip_ttl", "ip_flow_label",
          "ip_checksum_right", "frame_tail", "udp_sport", "udp_checksum", "solicited", "migreq",
          "pad", "pad_bytes", "tver", "pkey", "fecn", "becn", "reserved6", "dest_qpn", "ack_req",
          "reserved7", "psn", "qkey", "src_qpn", "va", "rkey", "dma_len", "swap_add", "compare",
          "syndrome", "msn", "atomic_orig", "imm", "inv_rkey")


@dataclasses.dataclass
class Run:
    """One capture: its packets, and the addresses of client and server."""
    packets: list
    client: set
    server: set

    def side(self, is_client):
        return self.client if is_client else self.server


def _kind(p):
    """What a packet is called in the comparison."""
    if p.dest_qpn == roce.GSI_QPN:
        return f"CM {cm_fields.name_of(p.payload)}"
    if p.op == roce.ACK and p.transport == roce.RC:
        return p.name + {roce.KIND_ACK: "", roce.KIND_RNR: " (RNR NAK)"}.get(
            p.kind, f" (NAK {p.value})")
    return p.name


def _is_refusal(p):
    return p.transport == roce.RC and p.op == roce.ACK and p.kind != roce.KIND_ACK


def _talks(run):
    """[(transport, {whether it is the client: [packets]})] in the order of appearance: RC
    connections, and senders of UC and UD."""
    found = []
    reliable = [p for p in run.packets if p.transport == roce.RC]
    for c in sorted(connections.find(reliable, [], []), key=lambda c: c.packets[0].number):
        found.append(("RC", {is_client: [p for p in c.packets
                                         if (p.src in run.client) == is_client]
                             for is_client in (True, False)}))
    others = {}
    for p in run.packets:
        if p.transport in (roce.UC, roce.UD) and p.dest_qpn != roce.GSI_QPN:
            number = p.src_qpn if p.transport == roce.UD else p.dest_qpn
            others.setdefault((roce.TRANSPORTS[p.transport], p.src in run.client, number),
                              []).append(p)
    return found + [(key[0], {key[1]: packets}) for key, packets in others.items()]


def _firsts(packets):
    """By kind and PSN; of what was sent more than once, the first."""
    found = {}
    for p in packets:
        if not _is_refusal(p):
            found.setdefault((_kind(p), p.psn), p)
    return found


def _requests(packets):
    return {p.psn: (p.op, len(p.payload)) for p in reversed(packets) if not p.is_response}


def _are_alike(left, right):
    """Whether both ran the same program: programs with faults are drawn with regard to what
    the devices can do. A long READ in one piece or in several is no matter."""
    common = 0
    for is_client, packets in left.items():
        if is_client not in right:
            return False
        a, b = _requests(packets), _requests(right[is_client])
        if any(a[psn] != b[psn] for psn in a.keys() & b.keys()):
            return False
        common += len(a.keys() & b.keys())
    return common > 0


def _pairs_of_talks(first, second):
    """Each talk of the first run with the next one like it of the second."""
    left = list(second)
    for transport, packets in first:
        for at, (other_transport, others) in enumerate(left):
            if other_transport == transport and _are_alike(packets, others):
                yield packets, others
                del left[at]
                break


def _in_order(run, is_client, chosen):
    """By kind and number: refusals, and MADs."""
    counts = collections.Counter()
    found = {}
    for p in run.packets:
        if (p.src in run.client) == is_client and chosen(p):
            found[(_kind(p), counts[_kind(p)])] = p
            counts[_kind(p)] += 1
    return found


def pairs(by_us, by_them):
    """(kind, packet of uroce, packet of rxe) of everything that both sent. by_us: the Run whose
    client is uroce."""
    groups = [(is_client, _firsts(one[is_client]), _firsts(other[is_client]))
              for one, other in _pairs_of_talks(_talks(by_us), _talks(by_them))
              for is_client in one]
    for chosen in (_is_refusal, lambda p: p.dest_qpn == roce.GSI_QPN):
        groups += [(is_client, _in_order(by_us, is_client, chosen),
                    _in_order(by_them, is_client, chosen)) for is_client in (True, False)]
    for is_client, ours, theirs in groups:
        if not is_client:
            ours, theirs = theirs, ours  # servers: rxe was it in the first run
        for name, p in ours.items():
            if name in theirs:
                yield name[0], p, theirs[name]


def values(p):
    found = {name: getattr(p, name) for name in FIELDS}
    found["payload"] = p.payload
    if p.dest_qpn == roce.GSI_QPN:
        del found["payload"]
        found.update({f"cm.{name}": value
                      for name, value in cm_fields.fields(p.payload).items()})
    return found


class Comparison:
    """Adds pairs up. `used`: differences of the table that occurred, with one example and a count;
    `unexplained`: texts."""

    def __init__(self):
        self.counts = collections.Counter()
        self.fields = 0
        self.used = {}
        self.unexplained = []

    def add(self, kind, ours, theirs):
        self.counts[kind] += 1
        left, right = values(ours), values(theirs)
        for name, value in left.items():
            self.fields += 1
            if value == right[name]:
                continue
            entry = differences.explain(name, kind, value, right[name], ours, theirs)
            if entry is None:
                self.unexplained.append(f"{kind}: {name} is {shown(value)} in ours "
                                        f"({ours.number}), {shown(right[name])} in theirs "
                                        f"({theirs.number})")
            else:
                known = self.used.setdefault(entry, [value, right[name], 0])
                known[2] += 1


def shown(value):
    if isinstance(value, bytes):
        return f"{len(value)} bytes {value[:16].hex()}"
    return hex(value) if isinstance(value, int) and value > 9 else str(value)
