# SPDX-License-Identifier: BSD-2-Clause
"""What a requester sent at each PSN. It is written down when a PSN is seen first; whatever carries
the PSN later must be the same request. From the whole of it follow the order of opcodes, the
lengths, and how many messages are complete at a PSN (the MSN).

PSNs here are unwrapped: they count on beyond 2^24.
"""
import bisect
import dataclasses

from harness import roce

from .place import PSN_MASK, Violation, unwrapped

# what may follow within a message
CONTINUES = {
    roce.SEND_FIRST: (roce.SEND_MIDDLE, roce.SEND_LAST, roce.SEND_LAST_IMM, roce.SEND_LAST_INV),
    roce.SEND_MIDDLE: (roce.SEND_MIDDLE, roce.SEND_LAST, roce.SEND_LAST_IMM, roce.SEND_LAST_INV),
    roce.WRITE_FIRST: (roce.WRITE_MIDDLE, roce.WRITE_LAST, roce.WRITE_LAST_IMM),
    roce.WRITE_MIDDLE: (roce.WRITE_MIDDLE, roce.WRITE_LAST, roce.WRITE_LAST_IMM),
}
CONTINUATIONS = frozenset(op for ops in CONTINUES.values() for op in ops)
SAME = ("op", "solicited", "pkey", "va", "rkey", "dma_len", "swap_add", "compare", "imm", "inv_rkey")


@dataclasses.dataclass
class Request:
    psn: int
    end: int  # the PSN after it
    packet: object

    @property
    def is_read(self):
        return self.packet.op == roce.READ_REQUEST

    @property
    def is_answered_itself(self):
        """By more than an acknowledge."""
        return self.is_read or self.packet.op in roce.ATOMICS


class Script:
    def __init__(self, requests, mtu, out):
        self.mtu = mtu
        self.out = out
        self.by_psn = {}
        self.psn_of = {}  # by packet number
        self.owner = {}  # the READ that a PSN within it belongs to
        newest = requests[0].psn + PSN_MASK + 1
        for p in requests:
            psn = unwrapped(p.psn, newest)
            self.psn_of[p.number] = psn
            newest = max(newest, self._write(psn, p) - 1)
        self.starts = sorted(self.by_psn)
        self.first = self.starts[0]
        self._check_messages()

    def _complain(self, p, rule, text):
        self.out.append(Violation(p, rule, text))

    def _write(self, psn, p):
        """The PSN after it."""
        known = self.by_psn.get(psn)
        if known and not (known.is_read and p.op == roce.READ_REQUEST):
            self._compare(known.packet, p)
            return known.end
        if known or psn in self.owner:
            known = known or self.by_psn[self.owner[psn]]
            self._compare_read(known, psn, p)
            return known.end
        count = max(1, -(-p.dma_len // self.mtu)) if p.op == roce.READ_REQUEST else 1
        self.by_psn[psn] = Request(psn, psn + count, p)
        for inner in range(psn + 1, psn + count):
            self.owner[inner] = psn
        return psn + count

    def _compare(self, first, p):
        for field in SAME:
            if getattr(first, field) != getattr(p, field):
                self._complain(p, "same-request", f"{field} is {getattr(p, field)}; it was "
                               f"{getattr(first, field)} in packet {first.number}")
                return
        if first.payload != p.payload:
            what = "length" if len(first.payload) != len(p.payload) else "content"
            self._complain(p, "same-request",
                           f"payload of another {what} than in packet {first.number}")

    def _compare_read(self, read, psn, p):
        """A READ that is asked for again, from its start or from a PSN within it to its end."""
        first = read.packet
        if p.op != roce.READ_REQUEST:
            self._complain(p, "same-request", f"its PSN lies in the READ of packet {first.number}")
            return
        skip = (psn - read.psn) * self.mtu
        wanted = first.va + skip, first.rkey, first.dma_len - skip
        if (p.va, p.rkey, p.dma_len) != wanted:
            self._complain(p, "same-read", f"address, key and length {(p.va, p.rkey, p.dma_len)} "
                           f"instead of {wanted}, by packet {first.number}")

    def _check_messages(self):
        """Opcodes and lengths along the PSNs; counts the messages."""
        self.messages_before = [0]
        opening = None  # the First of the message that is open
        length = 0
        previous = None
        for psn in self.starts:
            request = self.by_psn[psn]
            p = request.packet
            if previous is not None and previous.end != psn:
                opening = None  # what lies between was not captured; Requester says whether it may
            elif previous is None and p.op in CONTINUATIONS:
                opening = None
            elif opening and p.op not in CONTINUES[previous.packet.op]:
                self._complain(p, "message-order", f"follows {previous.packet.name}")
                opening = None
            elif previous and not opening and p.op in CONTINUATIONS and \
                    previous.packet.op not in CONTINUES:
                self._complain(p, "message-order", f"follows {previous.packet.name}")
            opening, length = self._measure(p, opening, length)
            is_whole = p.op not in CONTINUES
            self.messages_before.append(self.messages_before[-1] + is_whole)
            previous = request

    def _measure(self, p, opening, length):
        size = len(p.payload)
        if p.op in CONTINUES and size != self.mtu:
            self._complain(p, "length", f"payload of {size} bytes, MTU {self.mtu}")
        if size > self.mtu:
            self._complain(p, "length", f"payload of {size} bytes, MTU {self.mtu}")
        if p.op in (roce.SEND_FIRST, roce.WRITE_FIRST):
            return p, size
        if p.op in CONTINUATIONS:
            if size == 0:
                self._complain(p, "length", "carries nothing")
            length += size
            if p.op in CONTINUES:
                return opening, length
            if opening and opening.dma_len not in (None, length):
                self._complain(p, "length", f"{length} bytes in all, DMALen {opening.dma_len}")
        elif p.op in (roce.WRITE_ONLY, roce.WRITE_ONLY_IMM) and p.dma_len != size:
            self._complain(p, "length", f"{size} bytes, DMALen {p.dma_len}")
        return None, 0

    # ---- questions ----

    def at(self, psn):
        """The request that has this PSN, or within whose READ it lies; None."""
        return self.by_psn.get(self.owner.get(psn, psn))

    def end_at(self, psn):
        found = self.at(psn)
        return found.end if found else psn + 1

    def between(self, begin, end):
        """Requests that start there, or within whose READ it begins."""
        first = bisect.bisect_left(self.starts, self.owner.get(begin, begin))
        return [self.by_psn[psn]
                for psn in self.starts[first:bisect.bisect_left(self.starts, end)]]

    def packets_between(self, begin, end):
        """How many requests start there."""
        return bisect.bisect_left(self.starts, end) - bisect.bisect_left(self.starts, begin)

    def msn_at(self, psn):
        """How many messages are complete, or accepted, when the request with this PSN is."""
        return self.messages_before[bisect.bisect_right(self.starts, psn)]
