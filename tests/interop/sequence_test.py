#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of the go-back-N checker: what it must find in packets made by hand, and what it must not
find in the traffic of Linux Soft-RoCE and in right packets that were lost or doubled on purpose.

  sequence_test.py CAPTURES_FOLDER
"""
import collections
import copy
import glob
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from harness import roce  # noqa: E402

import sequence  # noqa: E402
from sequence import Place  # noqa: E402

CAPTURES = sys.argv.pop(1) if len(sys.argv) > 1 else ""

A, B = "10.0.0.1", "10.0.0.2"
A_QPN, B_QPN = 0x11, 0x22
MTU = 1024
SOFT_ROCE = Place(quirks=frozenset(("lazy-timer", "resume-read")))


class Talk:
    """Packets of A, the requester, and B, the responder, one after the other."""

    def __init__(self, psn=100):
        self.psn = psn
        self.packets = []
        self.time = 1000.0

    def add(self, is_request, op, psn, **fields):
        self.time += fields.pop("after", 0.001)
        ends = (A, B, B_QPN) if is_request else (B, A, A_QPN)
        p = roce.Packet(number=len(self.packets) + 1, time=self.time, src=ends[0], dst=ends[1],
                        dest_qpn=ends[2], op=op, psn=(self.psn + psn) & 0xFFFFFF, **fields)
        p.raw = repr((p.src, p.op, p.psn, p.payload, p.va, p.syndrome, p.msn)).encode()
        self.packets.append(p)
        return self

    # `psn` counts from the first one

    def send(self, psn, op=roce.SEND_ONLY, size=None, **fields):
        if size is None:
            size = MTU if op in (roce.SEND_FIRST, roce.SEND_MIDDLE) else 100
        fields.setdefault("payload", bytes([psn & 0xFF]) * size)
        fields.setdefault("ack_req", 1)
        return self.add(True, op, psn, **fields)

    def write(self, psn, op, size, **fields):
        return self.send(psn, op, size, **fields)

    def read(self, psn, packets, va=0x1000, size=None, **fields):
        fields.setdefault("rkey", 7)
        return self.add(True, roce.READ_REQUEST, psn, va=va, ack_req=1,
                        dma_len=packets * MTU if size is None else size, **fields)

    def atomic(self, psn, **fields):
        return self.add(True, roce.FETCH_ADD, psn, va=0x2000, rkey=7, swap_add=1, compare=0,
                        ack_req=1, **fields)

    def ack(self, psn, msn, syndrome=31, **fields):
        return self.add(False, roce.ACK, psn, msn=msn, syndrome=syndrome, **fields)

    def nak(self, psn, msn, code=roce.NAK_SEQUENCE, **fields):
        return self.ack(psn, msn, 0x60 + code, **fields)

    def rnr(self, psn, msn, timer, **fields):
        return self.ack(psn, msn, 0x20 + timer, **fields)

    def response(self, psn, op, msn=None, size=MTU, **fields):
        if op != roce.READ_MIDDLE:
            fields.update(syndrome=31, msn=msn)
        return self.add(False, op, psn, payload=b"r" * size, **fields)

    def answer(self, psn, packets, msn):
        """A READ's, whole."""
        if packets == 1:
            return self.response(psn, roce.READ_ONLY, msn)
        self.response(psn, roce.READ_FIRST, msn)
        for at in range(1, packets - 1):
            self.response(psn + at, roce.READ_MIDDLE)
        return self.response(psn + packets - 1, roce.READ_LAST, msn)

    def atomic_ack(self, psn, msn, orig, **fields):
        return self.add(False, roce.ATOMIC_ACK, psn, msn=msn, syndrome=31, atomic_orig=orig,
                        **fields)

    def check(self, a=None, b=None):
        places = {A: a or Place(timeout_s=0.05, is_finished=True), B: b or Place()}
        return sequence.check(self.packets, places, [((A, A_QPN), (B, B_QPN))])


class Base(unittest.TestCase):
    def right(self, talk, a=None, b=None):
        result = talk.check(a, b)
        self.assertEqual(result.text(), "")
        return result.figures

    def wrong(self, rule, talk, a=None, b=None):
        rules = [v.rule for v in talk.check(a, b).violations]
        self.assertIn(rule, rules)
        self.assertEqual(set(rules), {rule})


class Captures(Base):
    def test_soft_roce_passes(self):
        connections = 0
        for path in glob.glob(os.path.join(CAPTURES, "*.pcap")):
            result = sequence.check(roce.read(path), collections.defaultdict(lambda: SOFT_ROCE))
            self.assertEqual(result.text(), "", path)
            connections += len(result.connections)
        self.assertGreater(connections, 20)

    def test_a_packet_less_is_noticed(self):
        """Any request that is taken out of a capture leaves a gap; any answer, a silence."""
        packets = roce.read(os.path.join(CAPTURES, "read_bw_16k_mtu1024.pcap"))
        place = Place(is_finished=True)
        for at in range(len(packets)):
            rest = packets[:at] + packets[at + 1:]
            result = sequence.check(rest, collections.defaultdict(lambda: place))
            self.assertTrue(result.violations, f"without {packets[at]}")


class Requester(Base):
    def test_messages_pass(self):
        talk = Talk(0xFFFFFE)
        talk.send(0, roce.SEND_FIRST).send(1, roce.SEND_MIDDLE).send(2, roce.SEND_LAST).ack(2, 1)
        talk.write(3, roce.WRITE_FIRST, MTU, va=1, rkey=2, dma_len=MTU + 9)
        talk.write(4, roce.WRITE_LAST, 9).read(5, 3).atomic(8).send(9)
        talk.ack(4, 2).answer(5, 3, 3).atomic_ack(8, 4, 77).ack(9, 5)
        self.right(talk)

    def test_gap(self):
        self.wrong("requester", Talk().send(0).send(2).send(1).ack(0, 1),
                   a=Place(timeout_s=0.05))

    def test_gap_before_the_capture_is_none_of_its_fault(self):
        talk = Talk().send(0).send(2).nak(1, 1).send(1).send(2).ack(2, 3)
        figures = self.right(talk, a=Place(tx=frozenset(("drop",)), timeout_s=0.05))
        self.assertEqual(figures["missing"], 1)

    LOSSY = Place(tx=frozenset(("drop",)), timeout_s=0.05, is_finished=True)

    def missing(self, talk):
        return self.right(talk, self.LOSSY)["missing"]

    def test_of_marks_to_go_back_to_the_nearest_counts(self):
        """9 follows 11, since the NAK for 8 led back to 8, which was lost: that is one packet, not
        all behind an older mark."""
        talk = Talk().send(0)
        for psn in range(2, 12):  # 1 is lost
            talk.send(psn)
        talk.ack(0, 1).nak(1, 1)
        for psn in (1, 2, 3, 4, 5, 6, 7, 9, 10, 11):  # 8 is lost
            talk.send(psn)
        talk.nak(8, 8)
        for psn in (9, 10, 11):  # and again
            talk.send(psn)
        for psn in (8, 9, 10, 11):
            talk.send(psn, after=0.1 if psn == 8 else 0.001)
        talk.ack(11, 12)
        self.assertEqual(self.missing(talk), 3)

    def test_what_was_acknowledged_meanwhile_is_not_missing(self):
        """It repeats 0 to 2 after a time-out; then it hears that 9 is the next one, goes on there,
        and 9 is lost: that is one packet, and not all between 2 and 10."""
        talk = Talk()
        for psn in (0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11):  # 9 is lost
            talk.send(psn)
        for psn in (0, 1, 2):
            talk.send(psn, after=0.1 if psn == 0 else 0.001)
        talk.ack(8, 9).nak(9, 9)
        for psn in (10, 11):
            talk.send(psn)
        for psn in (9, 10, 11):
            talk.send(psn, after=0.1 if psn == 9 else 0.001)
        talk.ack(11, 12)
        self.assertEqual(self.missing(talk), 2)

    def test_read_takes_the_psns_of_its_answers(self):
        self.wrong("requester", Talk().read(0, 3).answer(0, 3, 1).send(4).ack(2, 1),
                   a=Place(timeout_s=0.05))

    def test_goes_back_by_nak(self):
        lost = Place(rx=frozenset(("drop",)))
        talk = Talk().send(0).send(1).send(2).ack(0, 1).nak(1, 1).send(1).send(2).ack(2, 3)
        self.assertEqual(self.right(talk, b=lost)["restarts_nak"], 1)

    def test_goes_back_before_the_nak(self):
        lost = Place(rx=frozenset(("drop",)))
        talk = Talk().send(0).send(1).send(2).nak(1, 1).send(0, after=2).send(1).send(2).ack(2, 3)
        self.wrong("requester", talk, b=lost)

    def test_goes_back_behind_the_nak(self):
        lost = Place(rx=frozenset(("drop",)))
        talk = Talk().send(0).send(1).send(2).send(3).nak(1, 1).send(2).send(1).send(2).send(3)
        talk.ack(3, 4)
        self.wrong("requester", talk, b=lost)

    def test_ignores_a_nak(self):
        lost = Place(rx=frozenset(("drop",)))
        talk = Talk().send(0).send(1).send(2).nak(1, 1).send(3).send(4, after=2)
        rules = {v.rule for v in talk.check(b=lost).violations}
        self.assertIn("nak-ignored", rules)

    def test_goes_back_after_a_timeout(self):
        talk = Talk().send(0).send(1).ack(0, 1).send(1, after=0.06).ack(1, 2)
        self.assertEqual(self.right(talk, b=Place(rx=frozenset(("drop",))))["restarts_timeout"], 1)

    def test_goes_back_without_reason(self):
        self.wrong("requester", Talk().send(0).send(1).ack(0, 1).send(1, after=0.01).ack(1, 2))

    def test_goes_back_before_una(self):
        talk = Talk().send(0).send(1).ack(0, 1).send(0, after=2).send(1).ack(1, 2)
        self.wrong("requester", talk)

    def test_goes_on_behind_a_read_without_answer(self):
        """An ACK passes a READ, whose answer is lost: that is where to go back to."""
        lost = Place(tx=frozenset(("drop",)))
        talk = Talk().send(0, roce.SEND_FIRST).send(1, roce.SEND_LAST).read(2, 2).send(4).send(5)
        talk.ack(4, 3)
        self.wrong("requester", copy.deepcopy(talk).send(5), a=Place(timeout_s=0.05), b=lost)
        talk.read(2, 2).send(4).send(5).answer(2, 2, 2).ack(5, 4)
        self.assertEqual(self.right(talk, b=lost)["restarts_gap"], 1)

    def test_a_nak_is_settled_by_an_ack(self):
        lost = Place(rx=frozenset(("drop", "reorder")))
        talk = Talk().send(0).send(1).nak(0, 0).ack(1, 2).send(2, after=2).ack(2, 3)
        self.right(talk, b=lost)

    def test_goes_back_to_what_no_answer_asks_for(self):
        talk = Talk().send(0).send(1).send(2).send(1, after=2).send(2).ack(2, 3)
        self.wrong("requester", talk, b=Place(rx=frozenset(("drop",))))

    def test_goes_back_twice_for_one_nak(self):
        talk = Talk().send(0).send(1).nak(0, 0).send(0).send(1).send(0).send(1).ack(1, 2)
        self.wrong("requester", talk, b=Place(rx=frozenset(("drop",))))
        doubled = Place(timeout_s=0.05, rx=frozenset(("dup",)))
        self.right(talk, a=doubled, b=Place(rx=frozenset(("drop",))))

    def test_goes_back_by_a_timeout_and_then_by_a_nak(self):
        lost = Place(rx=frozenset(("drop",)))
        talk = Talk().send(0).send(1).nak(0, 0, after=0.07).send(0).send(1).send(0).send(1)
        self.right(talk.ack(1, 2), b=lost)

    def test_leaves_out_what_was_acknowledged_meanwhile(self):
        lost = Place(rx=frozenset(("drop",)), tx=frozenset(("drop",)))
        talk = Talk().send(0).send(1).send(2).send(3).nak(0, 0).send(0).ack(2, 3).send(3).ack(3, 4)
        self.right(talk, b=lost)
        talk = Talk().send(0).send(1).send(2).send(3).nak(0, 0).send(0).ack(1, 2).send(3).ack(3, 4)
        self.wrong("requester", talk, b=lost)

    def test_other_content_the_second_time(self):
        lost = Place(rx=frozenset(("drop",)))
        for change in ({"payload": b"x" * 100}, {"size": 99}, {"op": roce.SEND_FIRST, "size": MTU},
                       {"op": roce.SEND_ONLY_IMM, "imm": 1}, {"solicited": 1}):
            talk = Talk().send(0).nak(0, 0).send(0, **change)
            talk.packets[1].psn = talk.packets[0].psn
            rules = {v.rule for v in talk.check(b=lost).violations}
            self.assertIn("same-request", rules, change)

    def test_read_again_from_the_missing_answer(self):
        lost = Place(tx=frozenset(("drop",)))
        talk = Talk().read(0, 4).response(0, roce.READ_FIRST, 1).response(2, roce.READ_MIDDLE)
        talk.read(1, 3, va=0x1000 + MTU).answer(1, 3, 1)
        self.assertEqual(self.right(talk, b=lost)["restarts_gap"], 1)

    def test_read_again_from_the_wrong_place(self):
        lost = Place(tx=frozenset(("drop",)))
        for change in ({"va": 0x1000}, {"size": 4 * MTU}, {"rkey": 8}):
            talk = Talk().read(0, 4).response(0, roce.READ_FIRST, 1)
            talk.response(2, roce.READ_MIDDLE)
            talk.read(1, 3, **{"va": 0x1000 + MTU, **change}).answer(1, 3, 1)
            self.wrong("same-read", talk, b=lost)

    def test_read_again_before_what_was_answered(self):
        talk = Talk().read(0, 4).response(0, roce.READ_FIRST, 1).response(1, roce.READ_MIDDLE)
        talk.read(1, 3, va=0x1000 + MTU, after=2).answer(1, 3, 1)
        self.wrong("requester", talk, b=Place(tx=frozenset(("drop",))))

    def test_sends_on_after_a_fatal_nak(self):
        talk = Talk().send(0).nak(0, 0, roce.NAK_INVALID).send(1, after=2)
        self.wrong("after-error", talk, a=Place())

    def test_rnr_wait(self):
        talk = Talk().send(0).rnr(0, 0, 20).send(0, after=0.011).ack(0, 1)
        self.assertEqual(self.right(talk)["restarts_rnr"], 1)
        self.wrong("rnr-wait", Talk().send(0).rnr(0, 0, 20).send(0, after=0.009).ack(0, 1))

    def test_never_acknowledged(self):
        self.wrong("finished", Talk().send(0).send(1).ack(0, 1))

    def test_message_order(self):
        self.wrong("message-order", Talk().send(0, roce.SEND_FIRST).send(1, roce.SEND_ONLY)
                   .ack(1, 1))
        self.wrong("message-order", Talk().send(0).send(1, roce.SEND_LAST).ack(1, 2))
        rules = {v.rule for v in Talk().send(0, roce.SEND_FIRST)
                 .write(1, roce.WRITE_LAST, 9).ack(1, 1).check().violations}
        self.assertIn("message-order", rules)

    def test_lengths(self):
        # the second First shows what the MTU is
        self.wrong("length", Talk().send(0, roce.SEND_FIRST).send(1, roce.SEND_MIDDLE, 1000)
                   .send(2, roce.SEND_LAST).ack(2, 1))
        self.wrong("length", Talk().write(0, roce.WRITE_FIRST, MTU, va=1, rkey=2, dma_len=MTU + 8)
                   .write(1, roce.WRITE_LAST, 9).ack(1, 1))
        self.wrong("length", Talk().write(0, roce.WRITE_ONLY, 10, va=1, rkey=2, dma_len=11)
                   .ack(0, 1))
        self.wrong("length", Talk().send(0, roce.SEND_FIRST).send(1, roce.SEND_LAST, 0).ack(1, 1))

        self.wrong("length", Talk().send(0, roce.SEND_FIRST).send(1, roce.SEND_LAST)
                   .send(2, roce.SEND_ONLY, MTU + 4).ack(2, 2))

    def test_other_request_within_a_read(self):
        talk = Talk().read(0, 3).answer(0, 3, 1).send(1, after=0.1)
        rules = {v.rule for v in talk.check(a=Place(rx=frozenset(("drop",)))).violations}
        self.assertIn("same-request", rules)

    def test_doubled_and_moved_before_the_capture(self):
        doubled = Talk().send(0).send(1).send(1).send(2).ack(2, 3)
        self.right(doubled, a=Place(tx=frozenset(("dup",)), timeout_s=0.05))
        moved = Talk().send(0).send(2).send(3).send(1).send(4).nak(1, 1)
        moved.send(1).send(2).send(3).send(4).ack(4, 5)
        self.right(moved, a=Place(tx=frozenset(("reorder",)), timeout_s=0.05))
        self.wrong("requester", doubled)
        self.assertTrue(moved.check().violations)

    def test_a_moved_read_is_overtaken_by_many_psns(self):
        talk = Talk().send(0, roce.SEND_FIRST).send(1, roce.SEND_LAST).ack(1, 1)
        for psn in (2, 66, 98, 130, 34, 162):
            talk.read(psn, 32)
        place = Place(tx=frozenset(("reorder",)), timeout_s=0.05)
        self.assertEqual([v for v in talk.check(a=place).violations if v.rule == "requester"], [])
        self.assertTrue([v for v in talk.check().violations if v.rule == "requester"])

    def test_far_back_is_no_reordering(self):
        talk = Talk()
        for psn in range(100):
            talk.send(psn)
        talk.ack(99, 100).send(3, after=2).ack(99, 100)
        self.wrong("requester", talk, a=Place(tx=frozenset(("reorder", "dup", "drop"))))


class Responder(Base):
    def test_acknowledges_what_did_not_arrive(self):
        self.wrong("ack-too-far", Talk().send(0).ack(1, 1).send(1).ack(1, 2))
        self.wrong("ack-too-far", Talk().send(0).send(2).ack(2, 2).send(1).send(2).ack(2, 3),
                   a=Place(tx=frozenset(("drop",))))

    def test_msn(self):
        for msn in (0, 1, 3):
            self.wrong("msn", Talk().send(0).send(1).ack(1, msn))

    def test_msn_falls(self):
        talk = Talk().send(0).send(1).send(2).ack(0, 3).ack(1, 2).ack(2, 3)
        self.wrong("msn", talk)

    def test_msn_counts_a_repetition(self):
        talk = Talk().send(0).ack(0, 1).send(0, after=2).ack(0, 2)
        self.wrong("msn", talk, a=Place(rx=frozenset(("drop",)), timeout_s=0.05))

    def test_psn_falls(self):
        self.wrong("response-order", Talk().send(0).send(1).ack(1, 2).ack(0, 2))

    def test_answers_a_repetition(self):
        a = Place(rx=frozenset(("drop",)), timeout_s=0.05)
        self.right(Talk().send(0).send(1).ack(0, 1).ack(1, 2).send(0, after=1).ack(1, 2), a=a)
        self.wrong("duplicate-unanswered", Talk().send(0).ack(0, 1).send(0, after=2)
                   .send(0, after=2).ack(0, 1), a=a)

    def test_a_repetition_allows_one_answer(self):
        a = Place(rx=frozenset(("drop",)), timeout_s=0.05)
        talk = Talk().send(0).send(1).ack(0, 1).ack(1, 2).send(0, after=1).ack(0, 2)
        self.right(copy.deepcopy(talk), a=a)
        self.wrong("response-order", talk.ack(0, 2), a=a)

    def test_the_ack_of_a_repetition_stays_before_a_read(self):
        a = Place(rx=frozenset(("drop",)), timeout_s=0.05)
        talk = Talk().send(0).read(1, 2).send(3).ack(0, 1).answer(1, 2, 2).ack(3, 3)
        talk.send(0, after=1).ack(0, 3).read(1, 2).answer(1, 2, 2).send(3).ack(3, 3)
        self.right(talk, a=a)

    def test_nak_of_what_was_acknowledged(self):
        a = Place(tx=frozenset(("drop",)), timeout_s=0.05)
        talk = Talk().send(0).send(1).ack(1, 2).send(3).nak(1, 2)
        self.wrong("nak-psn", talk, a=a)

    def test_an_rnr_wait_may_be_short_now_and_then(self):
        talk = Talk().send(0).rnr(0, 0, 20)
        for after in (0.02, 0.004, 0.02):
            talk.send(0, after=after).rnr(0, 0, 20)
        self.right(copy.deepcopy(talk).send(0, after=0.02).ack(0, 1), a=Place(timeout_s=0.05))
        for after in (0.004, 0.004):
            talk.send(0, after=after).rnr(0, 0, 20)
        self.wrong("rnr-wait", talk.send(0, after=0.004).ack(0, 1), a=Place(timeout_s=0.05))

    def test_rnr_wait_by_an_emulated_clock_is_a_quirk(self):
        talk = Talk().send(0).rnr(0, 0, 20).send(0, after=0.004).ack(0, 1)
        self.right(talk, a=Place(timeout_s=0.05, quirks=frozenset(("emulated-clock",))))
        self.wrong("rnr-wait", talk, a=Place(timeout_s=0.05))

    def test_nak_behind_an_rnr_nak_is_a_quirk(self):
        talk = Talk()
        for _ in range(2):
            talk.send(0, after=0.02).send(1).rnr(0, 0, 1).nak(0, 0)
        talk.send(0).send(1).rnr(0, 0, 1).send(0).send(1).ack(1, 2)
        self.right(talk, a=Place(), b=Place(quirks=frozenset(("nak-behind-rnr",))))
        self.wrong("nak-again", talk, a=Place())

    def test_skipped_response_is_a_quirk(self):
        talk = Talk().read(0, 4).response(0, roce.READ_FIRST, 1).response(2, roce.READ_MIDDLE)
        talk.response(3, roce.READ_LAST, 1).read(1, 3, va=0x1000 + MTU).answer(1, 3, 1)
        figures = self.right(talk, b=Place(quirks=frozenset(("skips-response",))))
        self.assertEqual(figures["skipped"], 1)
        self.wrong("read-response", talk)

    def test_one_nak_for_a_gap(self):
        a = Place(tx=frozenset(("drop",)), timeout_s=0.05)
        talk = Talk().send(0).send(2).nak(1, 1).send(3).nak(1, 1).send(1).send(2).send(3).ack(3, 4)
        self.wrong("nak-again", talk, a=a)

    def test_no_nak_for_a_gap(self):
        a = Place(tx=frozenset(("drop",)), timeout_s=0.05)
        talk = Talk().send(0).send(2).send(3, after=2).send(1).send(2).send(3).ack(3, 4)
        self.wrong("nak-missing", talk, a=a)

    def test_nak_without_a_gap(self):
        self.wrong("nak-psn", Talk().send(0).nak(1, 1).send(1).ack(1, 2))

    def test_nak_beyond_the_gap(self):
        a = Place(tx=frozenset(("drop",)), timeout_s=0.05)
        talk = Talk().send(0).send(3).nak(2, 1).send(1).send(2).send(3).ack(3, 4)
        self.assertIn("nak-psn", {v.rule for v in talk.check(a=a).violations})

    def test_acknowledges_after_a_fatal_nak(self):
        talk = Talk().send(0).send(1).nak(0, 0, roce.NAK_ACCESS).ack(1, 2)
        self.wrong("ack-after-error", talk, a=Place())

    def test_refuses_what_did_not_arrive(self):
        self.wrong("refusal", Talk().send(0).rnr(1, 1, 1).send(1).ack(1, 2))

    def test_rnr_executes_nothing(self):
        talk = Talk().send(0).send(1).rnr(0, 0, 1).ack(1, 2)
        rules = {v.rule for v in talk.check().violations}
        self.assertIn("ack-too-far", rules)

    def test_read_response_order(self):
        right = Talk().read(0, 3).read(3, 1).answer(0, 3, 1).answer(3, 1, 2)
        self.right(right)
        late = Talk().read(0, 3).read(3, 1).answer(3, 1, 2).answer(0, 3, 1)
        self.assertIn("overtaken", {v.rule for v in late.check().violations})

    def test_ack_overtakes_a_read(self):
        talk = Talk().read(0, 3).send(3).ack(3, 2).answer(0, 3, 1)
        self.assertIn("overtaken", {v.rule for v in talk.check().violations})

    def test_read_response_shape(self):
        def talk(*responses):
            t = Talk().read(0, 3, size=2 * MTU + 10)
            for psn, (op, size) in enumerate(responses):
                t.response(psn, op, 1, size)
            return t
        first, middle, last = ((roce.READ_FIRST, MTU), (roce.READ_MIDDLE, MTU),
                               (roce.READ_LAST, 10))
        known = Place(timeout_s=0.05)
        self.right(talk(first, middle, last), a=known)
        self.wrong("read-response", talk(first, middle, (roce.READ_LAST, 11)), a=known)
        self.wrong("read-response", talk(first, (roce.READ_MIDDLE, 1000), last), a=known)
        self.wrong("read-response", talk(first, (roce.READ_LAST, MTU), last), a=known)
        self.wrong("read-response", talk(first, middle, (roce.READ_MIDDLE, 10)), a=known)
        self.wrong("read-response", talk(first, first, last), a=known)

    def test_read_response_gap(self):
        talk = Talk().read(0, 4).response(0, roce.READ_FIRST, 1).response(2, roce.READ_MIDDLE)
        talk.response(3, roce.READ_LAST, 1)
        rules = {v.rule for v in talk.check(a=Place()).violations}
        self.assertEqual(rules, {"read-response"})

    def test_read_answered_twice_for_one_request(self):
        self.wrong("read-response", Talk().read(0, 2).answer(0, 2, 1).answer(0, 2, 1))

    def test_resumed_read_is_a_quirk(self):
        talk = Talk().read(0, 4).response(0, roce.READ_FIRST, 1).response(1, roce.READ_MIDDLE)
        talk.read(1, 3, va=0x1000 + MTU, after=0.1)
        talk.response(1, roce.READ_MIDDLE).response(2, roce.READ_MIDDLE)
        talk.response(3, roce.READ_LAST, 1)
        a = Place(rx=frozenset(("drop",)), timeout_s=0.05)
        self.wrong("read-response", talk, a=a)
        self.right(talk, a=a, b=Place(quirks=frozenset(("resume-read",))))

    def test_answers_to_repetitions_in_any_order(self):
        """Atomics may be answered anew before the WRITE in front of them is acknowledged anew."""
        a = Place(rx=frozenset(("drop",)), timeout_s=0.05, is_finished=True)
        for atomics in (1, 3, 5):
            talk = Talk().send(0).ack(0, 1)
            for psn in range(1, atomics + 1):
                talk.atomic(psn).atomic_ack(psn, psn + 1, 5)
            talk.send(0, after=1)
            for psn in range(1, atomics + 1):
                talk.atomic(psn)
            for psn in range(1, atomics + 1):
                talk.atomic_ack(psn, psn + 1, 5)
            self.right(talk.ack(0, atomics + 1), a=a)
        self.wrong("response-order", talk.ack(0, atomics + 1).ack(0, atomics + 1), a=a)
        talk = Talk().send(0).ack(0, 1).read(1, 2).answer(1, 2, 2)
        talk.send(0, after=1).read(1, 2).ack(0, 2).answer(1, 2, 2)
        self.right(talk, a=a)

    def test_atomic_executed_twice(self):
        a = Place(rx=frozenset(("drop",)), timeout_s=0.05)
        self.right(Talk().atomic(0).atomic_ack(0, 1, 5).atomic(0, after=1).atomic_ack(0, 1, 5), a=a)
        self.wrong("executed-twice", Talk().atomic(0).atomic_ack(0, 1, 5).atomic(0, after=1)
                   .atomic_ack(0, 1, 6), a=a)

    def test_answers_what_was_not_asked(self):
        self.wrong("atomic", Talk().send(0).atomic_ack(0, 1, 5).ack(0, 1), a=Place())
        self.wrong("read-response", Talk().send(0).response(0, roce.READ_ONLY, 1).ack(0, 1),
                   a=Place())


class Connections(Base):
    def test_found_by_psns(self):
        """Two connections between the same hosts, without being told which end is which."""
        one, two = Talk(100), Talk(5000)
        one.send(0).ack(0, 1).send(1).ack(1, 2)
        two.send(0).ack(0, 1)
        for p in two.packets:
            p.dest_qpn += 0x100
        packets = [p for both in zip(one.packets, two.packets) for p in both] + one.packets[2:]
        for number, p in enumerate(packets, 1):
            p.number = number
        result = sequence.check(packets, {A: Place(is_finished=True), B: Place()})
        self.assertEqual(result.text(), "")
        self.assertEqual(sorted(len(c.packets) for c in result.connections), [2, 4])

    def test_found_by_time_where_psns_are_the_same(self):
        packets = []
        for connection in range(3):
            talk = Talk(100)
            talk.send(0).ack(0, 1).send(1).ack(1, 2)
            for p in talk.packets:
                p.dest_qpn += connection * 0x10
            packets += talk.packets
        for number, p in enumerate(packets, 1):
            p.number = number
        result = sequence.check(packets, {A: Place(is_finished=True), B: Place()})
        self.assertEqual(result.text(), "")
        self.assertEqual([len(c.packets) for c in result.connections], [4, 4, 4])

    def test_an_answer_to_nothing(self):
        self.wrong("connection", Talk().ack(0, 1))

    def test_unreliable(self):
        def talk(*psns):
            t = Talk()
            for psn in psns:
                t.send(psn, transport=roce.UC, ack_req=0)
            return t
        self.right(talk(0, 1, 2))
        self.wrong("unreliable-psn", talk(0, 1, 1))
        self.wrong("unreliable-psn", talk(0, 2))
        self.right(talk(0, 2, 3), a=Place(tx=frozenset(("drop",))))
        self.right(talk(0, 1, 1, 2), a=Place(tx=frozenset(("dup",))))


if __name__ == "__main__":
    unittest.main()
