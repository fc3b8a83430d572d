# SPDX-License-Identifier: BSD-2-Clause
"""What the rules are told about a host and its way to the capture, and what they say of a packet."""
import dataclasses

PSN_MASK = 0xFFFFFF


@dataclasses.dataclass(frozen=True)
class Place:
    """A host as the capture sees it.

    tx          what may happen to packets of the host before they are captured: any of
                "drop", "dup", "reorder"
    rx          what may happen to captured packets before the host has them
    timeout_s   no time-out of the host is shorter; 0 where that is not known
    settle_s    what was captured so long ago has reached the host and was acted upon
    quirks      what the host is known to do otherwise than the specification says:
                "lazy-timer"      a time-out may come at any moment (one timer, never pushed back)
                "resume-read"     a repeated READ is answered from its middle, by MIDDLE...LAST
                "nak-behind-rnr"  a packet behind one that got an RNR NAK gets a sequence NAK
                "skips-response"  a READ response in a long burst never leaves the host
                "emulated-clock"  the host's clock makes up for where it stood still, and so its RNR
                                  waits may be shorter by that
    is_finished whether all that the host requested was acknowledged at the end
    """
    tx: frozenset = frozenset()
    rx: frozenset = frozenset()
    timeout_s: float = 0.0
    settle_s: float = 1.0
    quirks: frozenset = frozenset()
    is_finished: bool = False


@dataclasses.dataclass
class Violation:
    packet: object
    rule: str
    text: str

    def __str__(self):
        return f"{self.packet}: {self.text} [{self.rule}]"


# How many packets in a row may be lost before the capture; how far others may overtake one that
# was held back: the wrapper that impairs holds it until four others passed, or a millisecond.
BURST = 12
OVERTAKEN = 24


def psn_diff(a, b):
    """Signed, modulo 2^24."""
    return (a - b + 0x800000 & PSN_MASK) - 0x800000


def unwrapped(psn, near):
    """The number without the wrap at 2^24 that is nearest to `near`."""
    return near + psn_diff(psn, near & PSN_MASK)
