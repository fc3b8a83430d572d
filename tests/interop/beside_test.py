#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of the comparison of packets: that it finds a difference in any field, that it pairs what
belongs together, and that README.md has the table of known differences as it is.

  beside_test.py CAPTURES_FOLDER
"""
import copy
import os
import sys
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))

from harness import roce  # noqa: E402

import beside  # noqa: E402
import cm_dialogue  # noqa: E402
import cm_fields  # noqa: E402
import differences  # noqa: E402

CAPTURES = sys.argv.pop(1) if len(sys.argv) > 1 else ""
CLIENT, SERVER = {"10.77.0.3"}, {"10.77.0.2"}


def capture(name):
    return roce.read(os.path.join(CAPTURES, name))


def compared(by_us, by_them):
    found = beside.Comparison()
    for kind, ours, theirs in beside.pairs(beside.Run(by_us, CLIENT, SERVER),
                                           beside.Run(by_them, CLIENT, SERVER)):
        found.add(kind, ours, theirs)
    return found


class Comparison(unittest.TestCase):
    def test_a_capture_is_like_itself(self):
        for name in ("vtest_ok.pcap", "rping.pcap", "ud_pingpong.pcap", "uc_pingpong.pcap"):
            packets = capture(name)
            found = compared(packets, packets)
            self.assertEqual(found.unexplained, [])
            self.assertEqual(found.used, {})
            firsts = {(p.transport, p.op, p.src, p.dest_qpn, p.psn) for p in packets}
            self.assertGreaterEqual(sum(found.counts.values()), len(firsts) * 3 // 4, name)

    def test_each_field_counts(self):
        """Other values in one packet are unexplained, unless the table explains that very pair."""
        packets = capture("vtest_ok.pcap") + capture("ud_pingpong.pcap")
        for kind_of in (lambda p: p.op == roce.WRITE_ONLY_IMM, lambda p: p.op == roce.SEND_ONLY,
                        lambda p: p.op == roce.ACK, lambda p: p.op == roce.CMP_SWAP,
                        lambda p: p.op == roce.READ_REQUEST, lambda p: p.transport == roce.UD):
            original = next(p for p in packets if kind_of(p))
            for field in (*beside.FIELDS, "payload"):
                value = getattr(original, field)
                if value is None:
                    continue
                changed = copy.copy(original)
                setattr(changed, field, value + (b"x" if isinstance(value, bytes) else 1))
                found = beside.Comparison()
                found.add("kind", original, changed)
                entry = differences.explain(field, "kind", value, getattr(changed, field),
                                            original, changed)
                self.assertEqual(len(found.unexplained), 0 if entry else 1, field)
                if entry is None:
                    self.assertIn(field, found.unexplained[0])

    def test_what_no_entry_excuses(self):
        """Fields in which the two stacks are alike have no entry that takes everything."""
        for field in ("ip_tos", "ip_flags", "ip_ttl", "tver", "pkey", "pad", "pad_bytes", "payload",
                      "imm", "qkey", "atomic_orig", "swap_add", "compare", "solicited", "fecn",
                      "becn", "reserved6", "reserved7", "syndrome", "cm.private_data",
                      "cm.reserved", "cm.service_id", "cm.responder_resources", "cm.path_mtu",
                      "cm.retry_count", "cm.rnr_retry_count", "cm.hop_limit"):
            for kind in ("RC SEND Only", "UD SEND Only", "CM REQ", "CM REP"):
                self.assertFalse([e for e in differences.TABLE if e.covers(field, kind)], field)

    def test_an_entry_holds_one_way_only(self):
        packet = capture("read_lat_64.pcap")[0]
        for field, ours, theirs in (("migreq", 0, 1), ("udp_checksum", 0, 5), ("ip_id", 5, 0),
                                    ("udp_sport", 4791, 50000)):
            self.assertIsNone(differences.explain(field, "RC SEND Only", ours, theirs, packet,
                                                  packet), field)

    def test_programs_that_differ_are_not_paired(self):
        packets = capture("read_lat_64.pcap")
        others = copy.deepcopy(packets)
        for p in others:
            if not p.is_response:
                p.op, p.payload = roce.SEND_ONLY, b"something else"
        self.assertEqual(sum(compared(packets, others).counts.values()), 0)


class Mads(unittest.TestCase):
    def test_fields_cover_each_bit_once(self):
        for name, layout in cm_fields.MESSAGES.items():
            number = next(k for k, v in cm_fields.NAMES.items() if v == name)
            ones = bytearray(b"\xff" * 256)
            ones[16:18] = number.to_bytes(2, "big")
            found = cm_fields.fields(bytes(ones))
            bits = sum(f[3] for f in (*layout, *cm_fields.COMMON))
            self.assertEqual(bits + found["reserved"].bit_count(), 256 * 8, name)
            for field, _, _, width in layout:
                self.assertEqual(found[field], (1 << width) - 1, f"{name} {field}")

    def test_of_a_capture(self):
        """What the addresses and the private data of a known request are."""
        mad = next(p.payload for p in capture("rping.pcap") if p.dest_qpn == roce.GSI_QPN)
        self.assertEqual(cm_fields.name_of(mad), "REQ")
        found = cm_fields.fields(mad)
        self.assertEqual((found["service_id"], found["path_mtu"], found["hop_limit"],
                          found["local_gid"], found["source_address"], found["reserved"]),
                         (0x1061C06, 3, 64, 0xFFFF0A4D0003, 0x0A4D0003, 0))


class Dialogues(unittest.TestCase):
    def setUp(self):
        self.packets = capture("rping.pcap")
        self.mads = {cm_fields.name_of(p.payload): at for at, p in enumerate(self.packets)
                     if p.dest_qpn == roce.GSI_QPN}

    def wrong(self, text):
        found = cm_dialogue.check(self.packets)
        self.assertTrue(any(text in line for line in found), found)

    def test_of_a_capture(self):
        self.assertEqual(sorted(self.mads), ["DREP", "DREQ", "REP", "REQ", "RTU"])
        self.assertEqual(cm_dialogue.check(self.packets), [])

    def test_no_answer(self):
        del self.packets[self.mads["DREP"]]
        self.wrong("DREQ: no DREP followed")

    def test_another_transaction(self):
        for name in ("REP", "RTU", "DREP"):
            self.setUp()
            p = self.packets[self.mads[name]]
            p.payload = p.payload[:15] + bytes([p.payload[15] ^ 1]) + p.payload[16:]
            self.wrong(f"{name}: transaction ID")

    def test_another_dialogue(self):
        p = self.packets[self.mads["REP"]]
        at = cm_fields.HEADER + 7
        p.payload = p.payload[:at] + bytes([p.payload[at] ^ 1]) + p.payload[at + 1:]
        self.wrong("REP: answers nothing")

    def test_again(self):
        at = self.mads["REQ"]
        self.packets.insert(at + 1, copy.copy(self.packets[at]))
        self.wrong("REQ: said before")


class Readme(unittest.TestCase):
    def test_has_the_table(self):
        with open(os.path.join(HERE, "README.md"), encoding="utf-8") as f:
            self.assertIn(differences.markdown(), f.read(),
                          "README.md lacks this table:\n" + differences.markdown())


if __name__ == "__main__":
    unittest.main()
