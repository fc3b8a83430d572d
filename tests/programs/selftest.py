#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of the checkers in this folder: a checker that never complains proves nothing.

  selftest.py CAPTURES_FOLDER
"""
import argparse
import contextlib
import glob
import io
import os
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from harness import perftest, process, report  # noqa: E402
from harness.report import Failed  # noqa: E402

import conform  # noqa: E402
import icrc_check  # noqa: E402
import run  # noqa: E402

CAPTURES = sys.argv.pop(1) if len(sys.argv) > 1 else ""

BANDWIDTH = """\
 #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]
 2          1000             4.58               4.21               2.207
 4          1000             9.30               8.80               2.306
"""


class IcrcCheck(unittest.TestCase):
    def test_captures_of_another_implementation_are_right(self):
        total = 0
        for path in glob.glob(os.path.join(CAPTURES, "*.pcap")):
            count, wrong = icrc_check.check(path)
            self.assertEqual(wrong, 0, path)
            total += count
        self.assertGreater(total, 20)

    def test_each_covered_byte_counts(self):
        path = next(p for p in glob.glob(os.path.join(CAPTURES, "*.pcap"))
                    if icrc_check.check(p)[0])
        packet, header = next(f for f in map(lambda x: icrc_check.roce_packet(*x),
                                             icrc_check.frames(path)) if f)
        masked = {1, 8, 10, 11} if header == 20 else {0, 1, 2, 3, 7}  # 0: its low bits
        masked |= {header + 6, header + 7, header + 12}
        for at in range(len(packet) - 4):
            changed = bytearray(packet)
            changed[at] ^= 1
            same = icrc_check.icrc(bytes(changed), header) == packet[-4:]
            self.assertEqual(same, at in masked, f"byte {at}")

    def test_no_pcap_file(self):
        with tempfile.NamedTemporaryFile() as f:
            f.write(b"no capture")
            f.flush()
            with self.assertRaises(ValueError):
                icrc_check.check(f.name)


class PerftestTable(unittest.TestCase):
    def test_table(self):
        rows = perftest.table(BANDWIDTH)
        self.assertEqual([(r.bytes, r.iterations, r.average) for r in rows],
                         [(2, 1000, 4.21), (4, 1000, 8.8)])
        perftest.expect_sizes(rows, [2, 4])

    def test_a_missing_size_fails(self):
        with self.assertRaises(Failed):
            perftest.expect_sizes(perftest.table(BANDWIDTH), [2, 4, 8])

    def test_a_figure_of_zero_fails(self):
        with self.assertRaises(Failed):
            perftest.expect_sizes(perftest.table(BANDWIDTH.replace("9.30", "0.00").replace(
                "8.80", "0.00").replace("2.306", "0.000")), [2, 4])

    def test_a_figure_that_is_rounded_to_zero(self):
        perftest.expect_sizes(perftest.table(BANDWIDTH.replace("2.306", "0.000")), [2, 4])

    def test_complaints(self):
        for line in ("Completion with error at client", "Couldn't post send", "Failed status 12"):
            self.assertTrue(perftest.COMPLAINTS.search(line))
        self.assertFalse(perftest.COMPLAINTS.search(BANDWIDTH))


class Children(unittest.TestCase):
    def test_time_limit(self):
        p = process.Process(["sleep", "60"])
        with self.assertRaises(process.Timeout):
            p.wait(0.2)
        self.assertIsNotNone(p.poll())

    def test_status_and_output(self):
        self.assertEqual(process.run(["sh", "-c", "echo out; echo err >&2; exit 3"]),
                         (3, "out\nerr\n"))

    def test_children_go_with_the_script(self):
        script = ("import sys; sys.path.insert(0, %r)\n"
                  "from harness import process\n"
                  "import os, signal\n"
                  "print(process.Process(['sleep', '60']).pid, flush=True)\n"
                  "os.kill(os.getpid(), signal.SIGKILL)\n" % sys.path[0])
        _, output = process.run([sys.executable, "-c", script])
        child = int(output)

        def is_gone():
            try:
                with open(f"/proc/{child}/stat", encoding="ascii") as f:
                    return f.read().rsplit(")", 1)[1].split()[0] == "Z"
            except OSError:
                return True
        process.wait_until(is_gone, process.LONG, "the child to go")


class Conform(unittest.TestCase):
    OK = {"result": "ok", "reason": "", "children": [], "engines": [{"io_tx_packets": 40}]}

    def test_table(self):
        cases = conform.read_table()
        self.assertEqual(len(cases), 170)
        self.assertEqual(len({case.name for case in cases}), 170)
        words = {"pass", *conform.REASONS, *conform.NOT_RUN}
        for case in cases:
            self.assertLessEqual({case.plain, case.large, case.namespaces, case.loss}, words)
            # what sends is repeated, or has a word that says why not
            self.assertEqual(case.packets > 0, case.namespaces in ("pass", "own"), case.name)

    def test_a_pass(self):
        self.assertIsNone(conform.complaint(self.OK, "pass", 40))

    def test_hollow_passes(self):
        self.assertIn("40 packets", conform.complaint(self.OK, "pass", 41))
        none = self.OK | {"engines": [], "lo_packets": 3}
        self.assertIn("3 packets", conform.complaint(none, "pass", 4))
        self.assertIn("children", conform.complaint(self.OK | {"children": [0, -11]}, "pass", 0))

    def test_other_results(self):
        skip = self.OK | {"result": "skipped", "reason": "Create QP type 8 is not supported"}
        self.assertIsNone(conform.complaint(skip, "raw", 0))
        self.assertIn("QP type 8", conform.complaint(skip, "dmabuf", 0))
        self.assertIn("QP type 8", conform.complaint(skip, "pass", 0))
        self.assertIn("expected: skipped", conform.complaint(self.OK, "raw", 0))
        bad = self.OK | {"result": "failed", "reason": "Retry exceeded"}
        self.assertIn("Retry exceeded", conform.complaint(bad, "pass", 0))


class Rows(unittest.TestCase):
    def test_names_differ(self):
        names = [row.name for row in run.rows.ROWS]
        self.assertEqual(len(names), len(set(names)))
        self.assertGreater(len(names), 100)

    def run_rows(self, functions, jobs=2):
        """The report of rows of these functions by name, those that begin with "alone" alone."""
        with tempfile.TemporaryDirectory() as self.folder, unittest.mock.patch.object(
                run.rows, "ROWS", []), contextlib.redirect_stdout(io.StringIO()) as self.output:
            for name, function in functions.items():
                run.rows.row(name, alone=name.startswith("alone"))(function)
            out = report.Report()
            args = argparse.Namespace(jobs=jobs, scale=run.rows.SHORT)
            run.run_all(run.rows.ROWS, args, out, True)
        return out

    def meet(self, own, other):
        """A row that needs another beside it."""
        def begin(_):
            with open(os.path.join(self.folder, own), "w", encoding="ascii"):
                pass
            process.wait_until(lambda: os.path.exists(os.path.join(self.folder, other)),
                               process.LONG, other)
            return f"{own} has met {other}"
        return begin

    def test_rows_side_by_side(self):
        out = self.run_rows({"a": self.meet("a", "b"), "b": self.meet("b", "a")})
        self.assertEqual((out.passed, out.failed, out.skipped), (2, 0, 0), self.output.getvalue())
        self.assertIn("b has met a", self.output.getvalue())

    def test_a_row_alone(self):
        def look(_):
            if len(seen := os.listdir(self.folder)) != 2:
                raise Failed(seen)
        out = self.run_rows({"alone": look, "a": self.meet("a", "b"), "b": self.meet("b", "a")})
        self.assertEqual((out.passed, out.failed), (3, 0), self.output.getvalue())

    def test_verdicts_of_rows_side_by_side(self):
        def ending(error):
            def row(_):
                raise error
            return row
        out = self.run_rows({"failed": ending(Failed("two\nlines")), "late": ending(
            process.Timeout("nothing")), "skipped": ending(report.Skipped("no such thing"))}, 3)
        self.assertEqual((out.passed, out.failed, out.skipped), (0, 2, 1))
        self.assertEqual(sorted(out.failures), ["failed", "late"])
        for text in ("| two\n       | lines", "Timeout: nothing", "no such thing"):
            self.assertIn(text, self.output.getvalue())

    def test_a_worker_that_is_no_more(self):
        with self.assertRaises(EOFError):
            self.run_rows({"killed": lambda _: os.kill(os.getpid(), 9), "other": lambda _: None})


if __name__ == "__main__":
    unittest.main(warnings="ignore")
