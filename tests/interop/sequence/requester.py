# SPDX-License-Identifier: BSD-2-Clause
"""The requester's side of go-back-N.

It sends PSN after PSN without a gap. It goes back only to the PSN that is the oldest without an
answer (una), because of a NAK, because a READ's or atomic's answer is missing, or because of a
time-out; and it goes back no further than what it already knew to be acknowledged. After having
gone back it may leave out what was acknowledged meanwhile.

`positions` are the PSNs at which the requester may stand: one, if nothing can happen to its
packets before the capture; several where losses have more than one explanation.
"""
import bisect
import collections

from harness import roce

from .place import BURST, OVERTAKEN, Violation, unwrapped

# time stamps of the two directions are taken on different processors
CLOCK_SLACK_S = 0.0002


class Requester:
    def __init__(self, script, here, there, out, figures):
        self.script = script
        self.here = here
        self.there = there
        self.out = out
        self.figures = figures
        first = script.first
        self.positions = {first}
        self.top = first  # the PSN after the newest sent
        self.una = first  # the best that the captured responses allow
        self.una_least = first  # what the requester is sure to know
        self.una_history = [(float("-inf"), first)]
        self.marks = {first}  # PSNs to which one may go back
        self.naks = collections.Counter()  # sequence NAKs not yet followed
        self.rnr = collections.Counter()
        self.rnr_until = {}  # the time from which a PSN may be sent again
        self.gaps = collections.Counter()  # READs and atomics whose answers are missing
        self.newest_answered = first - 1  # what lies before a response, and under an ACK
        self.sent_at = {}
        self.recent = collections.deque(maxlen=OVERTAKEN)
        self.last = None
        self.broken = None  # when a NAK that ends everything was captured
        self.waits = 0  # behind RNR NAKs, that were long enough
        self.early = []  # what came before: (packet, by how much)
        self.open_naks = {}  # PSNs that a NAK asked for: since when

    def _complain(self, p, rule, text):
        self.out.append(Violation(p, rule, text))

    # ---- what it hears ----

    def _advance(self, psn):
        """una rises to `psn`, as far as no READ or atomic without answer stands in the way."""
        while self.una < psn:
            request = self.script.at(self.una)
            if request is None:
                break
            if request.is_answered_itself:
                self.gaps[self.una] = 1
                self.marks.add(self.una)
                return
            self.una = min(psn, request.end)
            self.marks.add(self.una)
        self.marks.add(psn)

    def on_response(self, p):
        psn = unwrapped(p.psn, self.top)
        if psn >= self.top:
            return  # the responder's rules say so
        is_plain = p.op == roce.ACK and p.kind == roce.KIND_ACK
        self.newest_answered = max(self.newest_answered, psn + is_plain)
        if psn < self.una and p.op != roce.ACK:
            self.marks.add(psn + 1)
            return
        if p.op == roce.ACK:
            is_ack = p.kind == roce.KIND_ACK
            self._advance(psn + 1 if is_ack else psn)
            self.marks.add(psn + 1 if is_ack else psn)
            if p.is_nak(roce.NAK_SEQUENCE):
                self.naks[psn] += 2 if "dup" in self.here.rx else 1
                self.open_naks.setdefault(psn, p.time)
            elif p.kind == roce.KIND_RNR:
                self.figures["rnr_naks"] += 1
                self.rnr[psn] += 2 if "dup" in self.here.rx else 1
                self.rnr_until[psn] = p.time + roce.RNR_US[p.value] * 1e-6
            elif p.kind == roce.KIND_NAK:
                self.broken = p.time
        else:
            self._advance(psn)
            if self.una == psn:
                self.una = psn + 1
            elif self.una < psn:
                self.gaps[self.una] = 1
            self.marks.add(psn)
            self.marks.add(psn + 1)
        self.una_history.append((p.time, self.una))

    def _settled(self, time):
        """What it must know by then, if nothing is lost on the way to it."""
        if self.here.rx:
            return self.una_least
        at = bisect.bisect_right(self.una_history, (time - self.here.settle_s, float("inf")))
        return max(self.una_least, self.una_history[at - 1][1])

    # ---- what it sends ----

    def on_request(self, p):
        psn = self.script.psn_of[p.number]
        self.figures["requests"] += 1
        self.figures["repeated"] += psn < self.top
        end = self.script.end_at(psn)
        if self.broken and p.time > self.broken + self.here.settle_s:
            self._complain(p, "after-error", "the connection had ended by a NAK")
        self._check_rnr_wait(p, psn)
        self._check_naks(p, psn)
        positions = self._continue(p, psn, end)
        if not positions:
            why = self._go_back(p, psn)
            if why:
                self._complain(p, "requester", why)
            positions = {end}
        self.positions = positions
        self.top = max(self.top, end)
        self.sent_at[psn] = p.time
        self.recent.append(psn)
        self.last = p

    def _check_rnr_wait(self, p, psn):
        until = self.rnr_until.pop(psn, None)
        if until is None or "emulated-clock" in self.here.quirks:
            return
        if self.here.rx:
            return
        if p.time < until - CLOCK_SLACK_S:
            self.early.append((p, until - p.time))
        else:
            self.waits += 1

    def _judge_rnr_waits(self):
        """One that stood still between a look at the clock and the NAK waits for less: now and then."""
        if len(self.early) > self.waits:
            for p, seconds in self.early:
                self._complain(p, "rnr-wait", f"{seconds * 1e6:.0f} us before the RNR NAK's time "
                               "was over")

    def _check_naks(self, p, psn):
        """What a NAK asked for long ago was sent again, or acknowledged meanwhile."""
        self.open_naks.pop(psn, None)
        if psn < self.top or self.here.rx or self.here.tx:
            return
        for missing, since in list(self.open_naks.items()):
            if self.una > missing:
                del self.open_naks[missing]
            elif p.time > since + self.here.settle_s:
                self._complain(p, "nak-ignored", f"a NAK has asked for PSN "
                               f"{missing & 0xFFFFFF:#x} since {p.time - since:.1f} s")
                del self.open_naks[missing]

    def _continue(self, p, psn, end):
        """The positions after the packet, if it follows from one before it."""
        after = set()
        for position in self.positions:
            if psn == position:
                return {end}  # nothing simpler
            if psn > position and psn in self.marks and psn <= self.top and \
                    psn <= self.una:
                after.add(end)  # what was acknowledged meanwhile is left out
            elif "drop" in self.here.tx and self._is_small_gap(position, psn):
                self.figures["missing"] += self._least_missing(position, psn)
                after.add(end)
            elif "reorder" in self.here.tx and self._is_small_gap(position, psn):
                after.add(end)
                after.add(position)  # or it is one that was held back and belongs elsewhere
            if "dup" in self.here.tx and self.last and psn in self.recent and \
                    self.last.raw == p.raw:
                after.add(position)
            if "reorder" in self.here.tx and psn < position and \
                    self.script.packets_between(psn, position) <= 2 * OVERTAKEN:
                after.add(position)
        return after

    def _least_missing(self, position, psn):
        """Packets that were sent before `psn` and not seen, at least: it may have left out what was
        acknowledged, and gone on at any mark up to una."""
        nearest = max((m for m in self.marks if position < m <= min(psn, self.una)),
                      default=position)
        return self.script.packets_between(nearest, psn)

    def _is_small_gap(self, position, psn):
        return position < psn and self.script.packets_between(position, psn) <= BURST

    def _origins(self, psn):
        """Where it may have gone back to, if `psn` is the first that was seen of it; the nearest
        first, of which least was lost."""
        yield psn
        if "drop" in self.here.tx or "reorder" in self.here.tx:
            yield from sorted((mark for mark in self.marks
                               if mark < psn and self._is_small_gap(mark, psn)), reverse=True)

    def _go_back(self, p, psn):
        """None if it may; else why not."""
        problem = None
        origins = {origin: self._barrier(p, origin) for origin in self._origins(psn)}
        for origin, barrier in origins.items():
            why = barrier or self._cause(p, origin)
            if why is None:
                self.figures["missing"] += self.script.packets_between(origin, psn)
                # it may have been the farthest as well: no more than that is sure
                self.una_least = max(self.una_least, min(o for o, b in origins.items() if not b))
                return None
            problem = problem or why
        return problem

    def _barrier(self, p, psn):
        """Why it cannot go back there, whatever the cause; None if it can."""
        position = max(self.positions)
        if psn >= self.top:
            return f"leaves a gap: PSN {position & 0xFFFFFF:#x} was next"
        least = self._settled(p.time)
        if psn < least:
            return (f"goes back to PSN {psn & 0xFFFFFF:#x}, but all before "
                    f"{least & 0xFFFFFF:#x} was acknowledged")
        if psn not in self.marks:
            return (f"goes back to PSN {psn & 0xFFFFFF:#x}, which no answer asks for; the oldest "
                    f"without one is {self.una & 0xFFFFFF:#x}")
        if psn > self.una:
            return (f"goes on at PSN {psn & 0xFFFFFF:#x}; the oldest without an answer is "
                    f"{self.una & 0xFFFFFF:#x}")
        return None

    def _cause(self, p, psn):
        """None, and it is counted what made it go back, to `psn` or to one before that was
        acknowledged meanwhile; else why nothing did."""
        causes = (("restarts_rnr", self.rnr), ("restarts_nak", self.naks),
                  ("restarts_gap", self.gaps))
        waited = p.time - self.sent_at.get(psn, float("-inf"))
        may_be_timeout = waited >= self.here.timeout_s > 0
        for figure, since in causes:
            found = psn if since.get(psn, 0) else next(
                (n for n, count in since.items() if count and self.una_least <= n < psn), None)
            if found is not None:
                # after so long it may be the time-out, and the NAK is still to be followed
                since[found] -= not may_be_timeout
                self.figures[figure] += 1
                return None
        if self.here.rx and self._may_miss_an_answer(psn):
            self.figures["restarts_gap"] += 1
            return None
        if waited < self.here.timeout_s and "lazy-timer" not in self.here.quirks:
            return (f"is repeated {waited * 1e3:.1f} ms after it was sent, without a NAK; no "
                    f"time-out is shorter than {self.here.timeout_s * 1e3:.0f} ms")
        self.figures["restarts_timeout"] += 1
        return None

    def _may_miss_an_answer(self, psn):
        """A READ or atomic before it was answered, or what lies behind it was: what the capture
        has seen of that may be lost behind it."""
        requests = self.script.between(self.una_least, psn + 1)
        return any(r.is_answered_itself and r.psn < self.newest_answered for r in requests)

    def on_end(self):
        self._judge_rnr_waits()
        if not self.here.is_finished or self.last is None:
            return
        if self.una != self.top and not self.broken:
            self._complain(self.last, "finished", f"PSN {self.una & 0xFFFFFF:#x} was never "
                           f"acknowledged; the newest is {self.top - 1 & 0xFFFFFF:#x}")
