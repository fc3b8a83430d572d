# SPDX-License-Identifier: BSD-2-Clause
"""Whether the packets of a capture are those of go-back-N: a requester that counts PSNs without a
gap and repeats from the right one, a responder that acknowledges what came and executes once.

`check(packets, places)` finds the RC connections (connections.py), writes down what each requester
sent at each PSN (script.py), and then goes through the packets in their order with two sets of
rules (requester.py, responder.py). UC and UD flows only count PSNs (unreliable.py).

A capture sees packets between the hosts. What is lost, doubled or moved there is no fault of
either; a Place says what can happen between a host and the capture:

        host --- tx: before the capture ---> | capture | ---> after the capture: rx --- host

Where a rule cannot be decided then, the packets get the benefit of the doubt: a set of possible
positions is followed, and only what no position explains is a violation.
"""
import dataclasses

from harness import roce

from . import connections, requester, responder, script, unreliable
from .place import Place, Violation

__all__ = ["Place", "Violation", "Result", "check"]


@dataclasses.dataclass
class Result:
    violations: list
    connections: list
    figures: dict

    def text(self, most=12):
        lines = [str(v) for v in self.violations[:most]]
        if len(self.violations) > most:
            lines.append(f"and {len(self.violations) - most} more")
        return "\n".join(lines)


def _check_connection(connection, places, out, figures):
    """Each end is a requester towards the other."""
    duties = []
    for near, far in (connection.ends, connection.ends[::-1]):
        here, there = places[near.address], places[far.address]
        requests = [p for p in connection.packets
                    if p.src == near.address and not p.is_response]
        if not requests:
            continue
        said = script.Script(requests, connection.mtu, out)
        duties.append((near.address,
                       requester.Requester(said, here, there, out, figures),
                       responder.Responder(said, here, there, out, figures)))
    for p in connection.packets:
        for address, ask, answer in duties:
            if p.src == address and not p.is_response:
                ask.on_request(p)
                answer.on_request(p)
            elif p.src != address and p.is_response:
                ask.on_response(p)
                answer.on_response(p)
    for _, ask, answer in duties:
        ask.on_end()
        answer.on_end()


def check(packets, places, pairs=None):
    """places: a Place for each address; pairs: ((address, QPN), (address, QPN)) of connections that
    are known, the rest is guessed from the PSNs. A Result."""
    out = []
    figures = dict.fromkeys(("requests", "responses", "repeated", "missing", "restarts_nak",
                             "restarts_rnr", "restarts_gap", "restarts_timeout", "sequence_naks",
                             "rnr_naks", "duplicates", "skipped"), 0)
    reliable = [p for p in packets if p.transport == roce.RC]
    found = connections.find(reliable, pairs or [], out)
    for connection in found:
        _check_connection(connection, places, out, figures)
    unreliable.check([p for p in packets if p.transport in (roce.UC, roce.UD)], places, out)
    return Result(sorted(out, key=lambda v: v.packet.number), found, figures)
