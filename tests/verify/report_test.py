#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The page of a run and the comparison of two, from outside: a small plan between two namespaces is
run three times, with thresholds that hold and with ones that cannot.

    report_test.py BUILD_DIR

Exit status 77 where no network namespace can be made.
"""

import html.parser
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests"))

import runs  # noqa: E402

from harness import unit  # noqa: E402

BUILD = ""

PLAN = """\
name: small
cases:
  - name: floor/udp
    kind: udp_latency
    proves: a floor
    parameters: {iterations: 200}
  - name: latency/write_64
    kind: latency
    proves: a WRITE is in time
    parameters: {op: write, size: 64, iterations: 200, warmup: 10}
    thresholds:
      soft: {at_most: 1000000, of: floor/udp, source: must hold}
      tight: {at_most: 1ns, source: cannot hold}
  - name: latency/write_4k
    kind: latency
    proves: a WRITE is in time
    parameters: {op: write, size: 4KiB, iterations: 100, warmup: 10}
  - name: latency/write_64k
    kind: latency
    proves: a WRITE is in time
    parameters: {op: write, size: 64KiB, iterations: 100, warmup: 10}
  - name: latency/ud_too_long
    kind: latency
    proves: UD messages end at the MTU
    parameters: {op: ud_send, size: 100000, iterations: 100}
  - name: function/rc_send
    kind: verbs_check
    proves: RC SEND works
    parameters: {scenario: rc/send}
"""

VOID = {"meta", "line", "rect", "polyline", "circle", "path", "br", "hr", "img", "input", "link"}


class Page(html.parser.HTMLParser):
    """Texts, and what is opened and not closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.wrong, self.words, self.fetched = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.fetched += [v for k, v in attrs if k in ("src", "href") and not v.startswith("#")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("style", "script"):
            self.words.append(data)

    def text(self):
        return " ".join(self.words)


class Reports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.plan = cls.path("plan.yaml")
        with open(cls.plan, "w", encoding="utf-8") as f:
            f.write(PLAN)
        for name, status, options in (("a", 0, ("--repeat", "3")), ("b", 0, ("--repeat", "3")),
                                      ("tight", 1, ("--profile", "tight"))):
            done = cls.uroce("verify", "--plan", cls.plan, "--json", cls.path(f"{name}.json"),
                             "--html", cls.path(f"{name}.html"), *options)
            if done.returncode != status:
                raise AssertionError(done.stdout)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    @classmethod
    def uroce(cls, *arguments):
        return subprocess.run([os.path.join(BUILD, "bin", "uroce"), *arguments], timeout=600,
                              env={**os.environ, **runs.PATIENT}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)

    def page(self, name):
        with open(self.path(name), encoding="utf-8") as f:
            page = Page(f.read())
        self.assertEqual((page.open, page.wrong, page.fetched), ([], [], []))
        return page.text()

    def diff(self, before, after, *options, status):
        done = self.uroce("verify", "diff", self.path(before), self.path(after), *options)
        self.assertEqual(done.returncode, status, done.stdout)
        return done.stdout

    def test_page_of_a_good_run(self):
        text = self.page("a.html")
        for words in ("passed", "floor/udp", "a WRITE is in time", "must hold", "Time over size",
                      "how long the slow ones took", "Environment", "libibverbs", "uroce_ve0",
                      "--plan " + self.plan, "path MTU"):
            self.assertIn(words, text)
        self.assertNotIn("Failures", text)

    def test_page_of_a_failure(self):
        text = self.page("tight.html")
        self.assertLess(text.index("Failures"), text.index("What it proves"))
        for words in ("expected at most 0.001 us", "cannot hold", "Look at",
                      f"uroce verify --plan {self.plan} --profile tight --only latency/write_64 "
                      "--seed 1"):
            self.assertIn(words, text)

    def test_a_replay_command_replays(self):
        """What the page says is to be copied into a shell."""
        text = self.page("tight.html")
        command = text[text.index("uroce verify --plan"):].split("\n")[0].split()
        only = command[command.index("--only") + 1]
        end = command.index("--seed") + 2
        done = self.uroce(*command[1:end])
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(only, done.stdout)

    def test_same_is_equal(self):
        text = self.diff("a.json", "a.json", status=0)
        self.assertIn("0 worse, 0 better, 0 no longer verified, 0 new, 6 equal", text)

    def test_two_runs_of_the_same_differ_in_nothing_but_time(self):
        """With a tolerance that covers any load of the machine."""
        text = self.diff("a.json", "b.json", "--tolerance", "1000000%", status=0)
        self.assertIn("0 worse", text)
        self.assertNotIn("profile:", text)

    def test_pass_to_fail_is_worse(self):
        text = self.diff("a.json", "tight.json", "--tolerance", "1000000", "--json",
                         self.path("d.json"), "--html", self.path("d.html"), status=1)
        self.assertIn("profile: soft -> tight", text)
        self.assertIn("1 worse", text)
        with open(self.path("d.json"), encoding="utf-8") as f:
            cases = {c["name"]: c for c in json.load(f)["cases"]}
        self.assertEqual(cases["latency/write_64"]["change"], "worse")
        self.assertEqual(cases["latency/write_64"]["before"]["rounds"], 3)
        self.assertEqual(cases["function/rc_send"]["change"], "equal")
        page = self.page("d.html")
        self.assertIn("fails now", page)
        self.assertIn("latency/write_64", page)

    def test_fail_to_pass_is_better(self):
        text = self.diff("tight.json", "a.json", "--tolerance", "1000000", status=0)
        self.assertIn("1 better", text)

    def test_reports_on_the_standard_output(self):
        found = json.loads(self.diff("a.json", "a.json", "--json", "-", status=0))
        self.assertEqual(found["program"], "uroce verify diff")

    def test_bad_input_is_told(self):
        with open(self.path("broken.json"), "w", encoding="utf-8") as f:
            f.write('{"program": "uroce verify",\n "cases": [}')
        with open(self.path("other.json"), "w", encoding="utf-8") as f:
            f.write('{"program": "fio"}')
        for arguments, words in (
                ((self.path("a.json"),), "takes two reports, got 1"),
                ((self.path("a.json"), self.path("a.json"), "x"), "got 3"),
                ((self.path("none.json"), self.path("a.json")), "No such file"),
                ((self.path("a.json"), self.path("broken.json")), "broken.json:2: no JSON"),
                ((self.path("other.json"), self.path("a.json")), "no report of uroce verify"),
                ((self.path("a.json"), self.path("a.json"), "--tolerance", "-3"), "--tolerance"),
                ((self.path("a.json"), self.path("a.json"), "--tolerance", "much"), "percent"),
                ((self.path("a.json"), self.path("a.json"), "--wrong"), "--wrong"),
                ((self.path("a.json"), self.path("a.json"), "--html", "/nowhere/x"), "/nowhere/x")):
            done = self.uroce("verify", "diff", *arguments)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(words, done.stdout)
        done = self.uroce("verify", "--plan", self.plan, "--html", "/nowhere/x.html")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("/nowhere/x.html", done.stdout)


def set_build(path):
    global BUILD
    BUILD = path


if __name__ == "__main__":
    sys.exit(unit.run(set_build))
