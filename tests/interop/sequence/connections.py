# SPDX-License-Identifier: BSD-2-Clause
"""Which packets belong to one RC connection. A packet names only the queue pair that it goes to;
the one that it comes from is found by the PSNs: responses answer requests that were seen before."""
import collections
import dataclasses

from harness import roce

from .place import Violation, psn_diff

MTU_DEFAULT = 4096
SAMPLE = 200


@dataclasses.dataclass(frozen=True)
class End:
    address: str
    qpn: int


@dataclasses.dataclass
class Connection:
    ends: tuple
    packets: list
    mtu: int


def _flows(packets):
    """Packets by (source address, the end that they go to)."""
    flows = collections.defaultdict(list)
    for p in packets:
        flows[(p.src, End(p.dst, p.dest_qpn))].append(p)
    return flows


def _read_psns(p):
    """A bound on the PSNs that a request takes, for the smallest MTU."""
    return max(1, -(-p.dma_len // 256)) if p.op == roce.READ_REQUEST else 1


def _explained(requests, responses):
    """How many of the responses answer something of the requests that was captured before."""
    count, at, seen = 0, 0, collections.deque(maxlen=4096)
    for r in responses:
        while at < len(requests) and requests[at].number < r.number:
            seen.append(requests[at])
            at += 1
        # a sequence NAK asks for what is not there
        span = 1 if r.op == roce.ACK and r.kind == roce.KIND_NAK else 0
        count += any(-span <= psn_diff(r.psn, p.psn) < _read_psns(p) + span
                     for p in reversed(seen))
    return count


def _score(forth, back):
    """Share of the (first) responses of both flows that the other one's requests explain."""
    total = explained = 0
    for asks, answers in ((forth, back), (back, forth)):
        responses = [p for p in answers if p.is_response][:SAMPLE]
        total += len(responses)
        explained += _explained([p for p in asks if not p.is_response], responses)
    return explained / total if total else 0


def _mtu(packets):
    full = [len(p.payload) for p in packets if p.op in roce.FIRSTS]
    return collections.Counter(full).most_common(1)[0][0] if full else MTU_DEFAULT


def _make(ends, forth, back):
    packets = sorted(forth + back, key=lambda p: p.number)
    return Connection(ends, packets, _mtu(packets))


def find(packets, pairs, out):
    """A list of Connection. Flows for which no answer is found stand alone."""
    flows = _flows(packets)
    partner = {}
    for (a, a_qpn), (b, b_qpn) in pairs:
        partner[End(a, a_qpn)] = End(b, b_qpn)
        partner[End(b, b_qpn)] = End(a, a_qpn)
    candidates = []
    for key, forth in flows.items():
        src, to = key
        for other, back in flows.items():
            if other == key or other[0] != to.address or other[1].address != src:
                continue
            known = partner.get(to)
            score = (1 if known == other[1] else 0) if known else _score(forth, back)
            if score:
                # PSNs may begin anew with each connection: then those belong together that begin
                # at the same time
                apart = abs(forth[0].number - back[0].number)
                candidates.append((-score, apart, str(key), key, other))
    found, used = [], set()
    for _, _, _, key, other in sorted(candidates, key=lambda c: c[:3]):
        if key in used or other in used:
            continue
        used |= {key, other}
        found.append(_make((other[1], key[1]), flows[key], flows[other]))
    for key, alone in flows.items():
        if key in used:
            continue
        if alone[0].is_response:
            out.append(Violation(alone[0], "connection", "answers no request that was captured"))
        found.append(_make((End(key[0], -1), key[1]), alone, []))
    return found
