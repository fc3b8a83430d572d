# SPDX-License-Identifier: BSD-2-Clause
"""The responder's side of go-back-N.

`expected` is the PSN that it would expect if all that was captured reached it: the most that it can
have executed. What it acknowledges lies below, its MSN is that of what it acknowledges or of a
newer one, and neither falls, but in answer to a repetition. One sequence NAK says that a PSN is
missing, and none more for that PSN. READs are answered in order, packet by packet, each
with the opcode and length of its place; what is repeated is answered again and not executed.
"""
from harness import roce

from .place import Violation, unwrapped


class Responder:
    def __init__(self, script, there, here, out, figures):
        """`here` is the responder's place, `there` the requester's."""
        self.script = script
        self.here = here
        self.there = there
        self.out = out
        self.figures = figures
        self.top = script.first
        self.expected = script.first
        self.gap = None  # (PSN, since when) that stands open
        self.naks = {}  # sequence NAKs by PSN
        self.ahead = script.first  # the newest PSN that was ahead of what was expected
        self.copies = {}  # how often a PSN was captured
        self.rnr_naks = {}
        self.highest = script.first - 1  # the newest PSN that was acknowledged
        self.msn = 0
        self.repeats = []  # PSNs that came again and may be answered again
        self.waiting = None  # (packet, time): a repetition that waits for an answer
        self.run = None  # the READ that is being answered, and the PSN of its next response
        self.answers = {}  # PSN of an atomic: the value that was returned
        self.unanswered = []  # READs and atomics without a complete answer, in order
        self.seen = set()
        self.is_dead = False
        self.last = None

    def _complain(self, p, rule, text):
        self.out.append(Violation(p, rule, text))

    # ---- what it hears ----

    def on_request(self, p):
        psn = self.script.psn_of[p.number]
        end = self.script.end_at(psn)
        self.top = max(self.top, end)
        self.copies[psn] = self.copies.get(psn, 0) + 1
        self._look_after_silence(p)
        request = self.script.by_psn.get(psn)
        if request and request.is_answered_itself and psn not in self.seen:
            self.unanswered.append(request)
            self.unanswered.sort(key=lambda r: r.psn)
        self.seen.add(psn)
        if self.is_dead:
            return
        if self.here.rx:  # any packet may be the one that came ahead
            self.ahead = max(self.ahead, psn)
        if psn == self.expected:
            self.expected = end
        elif psn > self.expected:
            self.ahead = max(self.ahead, psn)
            if self.gap is None or self.gap[0] != self.expected:
                self.gap = (self.expected, p.time)
        else:
            self.figures["duplicates"] += 1
            self.repeats.append(psn)
            if p.ack_req and self.waiting is None and p.op not in roce.ATOMICS and \
                    p.op != roce.READ_REQUEST:
                self.waiting = (p, p.time)

    def _look_after_silence(self, p):
        """What should have been said long ago."""
        if self.here.rx or self.here.tx:
            return
        if self.waiting and p.time - self.waiting[1] > self.here.settle_s:
            self._complain(self.waiting[0], "duplicate-unanswered",
                           "came again, asks for an answer, and got none")
            self.waiting = None
        if self.gap and self.gap[0] == self.expected and self.gap[0] not in self.naks and \
                self.gap[0] not in self.rnr_naks and p.time - self.gap[1] > self.here.settle_s:
            self._complain(p, "nak-missing", f"no NAK says that PSN "
                           f"{self.gap[0] & 0xFFFFFF:#x} is missing")
            self.gap = None

    # ---- what it says ----

    def on_response(self, p):
        self.figures["responses"] += 1
        psn = unwrapped(p.psn, self.top)
        self.waiting = None
        if self.is_dead and p.op == roce.ACK and p.kind == roce.KIND_ACK and psn >= self.expected:
            self._complain(p, "ack-after-error", "acknowledges after a NAK that ends everything")
            return
        if p.op == roce.ACK and p.kind == roce.KIND_NAK and p.value == roce.NAK_SEQUENCE:
            self._on_sequence_nak(p, psn)
        elif p.op == roce.ACK and p.kind != roce.KIND_ACK:
            self._on_refusal(p, psn)
        elif psn >= self.expected:
            self._complain(p, "ack-too-far", "acknowledges what did not arrive; "
                           f"PSN {self.expected & 0xFFFFFF:#x} is expected")
        elif p.op == roce.ACK:
            self._on_ack(p, psn)
        elif p.op == roce.ATOMIC_ACK:
            self._on_atomic(p, psn)
        else:
            self._on_read_response(p, psn)
        self.last = p

    def _check_msn(self, p, psn):
        if p.msn is None:
            return
        # an ACK below everything is of before the first request
        least = self.script.msn_at(psn) if psn >= self.script.first else 0
        most = self.script.msn_at(self.expected - 1) if self.expected > self.script.first else 0
        if not least <= p.msn <= most:
            self._complain(p, "msn", f"MSN {p.msn}; {least} messages are complete at this PSN, "
                           f"{most} at the newest that arrived")
        is_again = p.op != roce.ACK  # an answer given again may carry the MSN of then
        if p.msn < self.msn and not is_again and "reorder" not in self.here.tx:
            self._complain(p, "msn", f"MSN {p.msn} after {self.msn}")
        self.msn = max(self.msn, p.msn)

    def _check_order(self, p, psn):
        """PSNs of answers rise, unless something came again."""
        if psn >= self.highest or self._takes_repeat(psn):
            return
        if {"reorder", "dup"} & (self.here.tx | self.here.rx):
            return
        self._complain(p, "response-order", f"after an answer to PSN {self.highest & 0xFFFFFF:#x}, "
                       "and nothing came again")

    def _takes_repeat(self, psn):
        """Each repetition allows one answer that goes back (to it, or to a READ behind it); of those
        that may be meant the newest, which serves the fewest others; but a READ that comes again is
        kept for its own answer, if any other will do."""
        meant = [repeat for repeat in self.repeats if repeat <= psn + 1]
        if meant:
            self.repeats.remove(max(meant, key=lambda r: (not self.script.at(r).is_read, r)))
        return bool(meant)

    def _check_not_overtaken(self, p, psn):
        """An ACK does not pass the answer of a READ or atomic."""
        if self.here.tx or self.here.rx:
            return
        while self.unanswered and self.unanswered[0].end <= self.highest + 1:
            self.unanswered.pop(0)
        if self.unanswered and self.unanswered[0].psn <= psn:
            self._complain(p, "overtaken", f"PSN {self.unanswered[0].psn & 0xFFFFFF:#x} "
                           f"({self.unanswered[0].packet.name}) was not answered before")
            self.unanswered.clear()

    def _on_ack(self, p, psn):
        self._check_msn(p, psn)
        self._check_order(p, psn)
        self._check_not_overtaken(p, psn)
        self.highest = max(self.highest, psn)

    def _on_sequence_nak(self, p, psn):
        self.figures["sequence_naks"] += 1
        if psn > self.expected:
            self._complain(p, "nak-psn", "is asked for, but what comes before it did not arrive")
        elif self.ahead < psn:
            self._complain(p, "nak-psn", "nothing that was captured lies ahead of it")
        elif psn <= self.highest and not {"reorder", "dup"} & self.here.tx:
            self._complain(p, "nak-psn", f"PSN {self.highest & 0xFFFFFF:#x} was acknowledged")
        self.naks[psn] = self.naks.get(psn, 0) + 1
        most = 2 if "dup" in self.here.tx else 1
        if "nak-behind-rnr" in self.here.quirks:
            most += self.rnr_naks.get(psn, 0)
        if self.naks[psn] > most:
            self._complain(p, "nak-again", "says so again; the first NAK asks for as much")
        self._check_msn(p, psn - 1)
        self.highest = max(self.highest, psn - 1)

    def _on_refusal(self, p, psn):
        """RNR NAK, or a NAK that ends the connection: the request was not executed."""
        if psn > self.expected or psn not in self.copies:
            self._complain(p, "refusal", f"refuses what did not arrive; "
                           f"PSN {self.expected & 0xFFFFFF:#x} is expected")
            return
        self._check_msn(p, psn - 1)
        if p.kind == roce.KIND_RNR:
            self.rnr_naks[psn] = self.rnr_naks.get(psn, 0) + 1
            self.ahead = max(self.ahead, self.top - 1)
            if self.copies.get(psn, 0) > self.rnr_naks[psn]:
                return  # it has come again since
        else:
            self.is_dead = True
        self.expected = psn
        self.highest = max(self.highest, psn - 1)

    def _on_atomic(self, p, psn):
        request = self.script.at(psn)
        if not request or request.packet.op not in roce.ATOMICS:
            self._complain(p, "atomic", "answers no atomic")
            return
        self._check_msn(p, psn)
        known = self.answers.setdefault(psn, p.atomic_orig)
        if known != p.atomic_orig:
            self._complain(p, "executed-twice",
                           f"returns {p.atomic_orig:#x}; it was {known:#x} before")
        self._answered(p, psn)

    def _answered(self, p, psn):
        if psn <= self.highest:
            self._check_order(p, psn)
        else:
            self._check_not_overtaken(p, psn - 1)
        self.highest = max(self.highest, psn)

    def _on_read_response(self, p, psn):
        read = self.script.at(psn)
        if not read or not read.is_read:
            self._complain(p, "read-response", "answers no READ")
            self.run = None
            return
        self._check_msn(p, read.psn if p.msn is not None else psn)
        is_next = self.run == (read.psn, psn) or self._is_skip(psn, read)
        if not is_next:
            self._on_new_run(p, psn, read)
        self._check_shape(p, psn, read, is_next)
        self.highest = max(self.highest, psn)
        self.run = (read.psn, psn + 1) if psn + 1 < read.end else None
        if self.run is None:
            self.unanswered = [r for r in self.unanswered if r is not read]

    def _is_skip(self, psn, read):
        is_skip = "skips-response" in self.here.quirks and self.run and \
            self.run[0] == read.psn and self.run[1] < psn <= self.run[1] + 2
        self.figures["skipped"] += bool(is_skip)
        return is_skip

    def _on_new_run(self, p, psn, read):
        """A READ's answer begins at its start, or where it was asked for again."""
        tx = self.here.tx
        is_lost_or_moved = bool(tx & {"drop", "reorder", "dup"})
        if self.run and not self.repeats and not is_lost_or_moved:
            self._complain(p, "read-response", "breaks off the answer of another READ: "
                           f"PSN {self.run[1] & 0xFFFFFF:#x} was next")
        if psn == read.psn and psn > self.highest:
            self._check_not_overtaken(p, psn - 1)
        elif psn in self.repeats:
            self.repeats.remove(psn)
        elif not is_lost_or_moved and "dup" not in self.here.rx:
            self._complain(p, "read-response", "nothing asked for an answer from there on")

    def _check_shape(self, p, psn, read, is_next):
        size, mtu = read.packet.dma_len, self.script.mtu
        offset = (psn - read.psn) * mtu
        wanted = min(mtu, size - offset)
        if len(p.payload) != wanted:
            self._complain(p, "read-response", f"{len(p.payload)} bytes, expected {wanted}")
        is_last = psn + 1 == read.end
        if (p.op in (roce.READ_LAST, roce.READ_ONLY)) != is_last:
            self._complain(p, "read-response", "is not the last packet" if not is_last else
                           "is the last packet")
        is_first = p.op in (roce.READ_FIRST, roce.READ_ONLY)
        if is_next and is_first and not self.here.tx & {"dup", "drop", "reorder"} and \
                psn not in self.repeats and psn not in self.seen:
            self._complain(p, "read-response", "is a first one in the middle")
        elif not is_next and not is_first and not self.here.tx and \
                "resume-read" not in self.here.quirks:
            self._complain(p, "read-response", "an answer begins without First or Only")

    def on_end(self):
        if self.last is not None and self.there.is_finished:
            self._look_after_silence(self.last)
