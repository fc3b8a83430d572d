#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What tools/dev/digest.py says of the logs of stages that failed in each way."""
import os
import subprocess
import sys
import tempfile
import unittest

DIGEST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "dev",
                      "digest.py")

GOOD = """\
  pass pingpong/rc  (0.1 s)
100 passed, 0 failed, 3 skipped
"""
CHECK = """\
[1/2] Building C object src/a.c.o
      Start 148: input_test
148/241 Test #148: input_test .......................   Passed    0.52 sec
      Start 149: examples
149/241 Test #149: examples .........................***Failed    2.58 sec
  pass compile rc_send_recv  (0.1 s)
  FAIL ud_checked faulty  (0.3 s)
       | 77 planted, 76 damaged
13 passed, 1 failed

      Start 150: control_test
      Start 151: thread_test
150/241 Test #150: control_test .....................Subprocess aborted***Exception:   0.66 sec
[==========] Running 2 test(s).
[ RUN      ] control__lease
[  ERROR   ] --- 3 != 4
[   LINE   ] --- /src/control_test.c:12: error: Failure!
[  FAILED  ] control__lease
a line that tells nothing

151/241 Test #151: thread_test ......................***Timeout 120.03 sec
last words

      Start 152: cm_test
152/241 Test #152: cm_test ..........................***Failed    1.00 sec
FAIL: test_late (__main__.Late)
----
Traceback (most recent call last):
  File "cm_test.py", line 3, in test_late
AssertionError: 1 != 2

98% tests passed, 4 tests failed out of 241

The following tests FAILED:
\t149 - examples (Failed)
237 passed, 4 failed
"""
PROGRAMS = """\
  pass pingpong/rc  (0.1 s)
  FAIL pingpong/uc/size-1,000  (1.1 s)
       | status 1, expected 0
       | the whole output
  FAIL pingpong/ud  (1.1 s)
       | Timeout: nothing came
failed: pingpong/uc/size-1,000, pingpong/ud
one again: make programs ARGS='--only pingpong/uc/size-1,000'
1 passed, 2 failed
make: *** [Makefile:38: programs] Error 1
"""
BUILD = """\
[1/3] Building C object src/a.c.o
FAILED: src/a.c.o
src/a.c:3:1: error: no such thing
ninja: build stopped: subcommand failed.
"""


def digest(*stages):
    """Its exit status and its lines, for stages of (exit status, seconds, command, log)."""
    with tempfile.TemporaryDirectory() as folder:
        for number, (*facts, log) in enumerate(stages, 1):
            with open(os.path.join(folder, f"{number}.stage"), "w", encoding="utf-8") as f:
                f.write(" ".join(map(str, facts)) + "\n")
            with open(os.path.join(folder, f"{number}.log"), "w", encoding="utf-8") as f:
                f.write(log)
        done = subprocess.run([sys.executable, "-B", DIGEST, folder], check=False,
                              stdout=subprocess.PIPE)
        return done.returncode, done.stdout.decode().splitlines()


class Digest(unittest.TestCase):
    def test_all_passed(self):
        self.assertEqual(digest((0, 5, "./check", GOOD), (0, 7, "make programs", GOOD)),
                         (0, ["took: ./check 5 s, make programs 7 s",
                              "200 passed, 0 failed, 6 skipped"]))

    def test_each_test_with_its_reason(self):
        status, lines = digest((1, 5, "./check", CHECK), (0, 7, "make programs", GOOD))
        self.assertEqual(status, 1)
        self.assertEqual(lines[1:-1], [
            "failed: ./check: examples",
            "    FAIL ud_checked faulty  (0.3 s)",
            "    | 77 planted, 76 damaged",
            "failed: ./check: control_test",
            "    Subprocess aborted",
            "    [  ERROR   ] --- 3 != 4",
            "    [   LINE   ] --- /src/control_test.c:12: error: Failure!",
            "    [  FAILED  ] control__lease",
            "failed: ./check: thread_test",
            "    Timeout",
            "    last words",
            "failed: ./check: cm_test",
            "    FAIL: test_late (__main__.Late)",
            "    AssertionError: 1 != 2"])

    def test_a_failed_test_is_counted_once(self):
        """The sum that stands in its own output is none of the stage's."""
        lines = digest((1, 5, "./check", CHECK), (0, 7, "make programs", GOOD))[1]
        self.assertEqual(lines[-1], "337 passed, 4 failed, 3 skipped")

    def test_each_row_with_its_reason(self):
        status, lines = digest((2, 5, "make programs", PROGRAMS))
        self.assertEqual(status, 1)
        self.assertEqual(lines[1:], [
            "failed: make programs: pingpong/uc/size-1,000",
            "    status 1, expected 0",
            "    the whole output",
            "failed: make programs: pingpong/ud",
            "    Timeout: nothing came",
            "1 passed, 2 failed"])

    def test_long_reasons_and_many_failures_are_cut(self):
        log = "".join(f"  FAIL row-{n}  (1.0 s)\n" + "       | why\n" * 50 for n in range(100))
        lines = digest((1, 5, "make programs", log + "0 passed, 100 failed\n"))[1]
        self.assertLess(len(lines), 200)
        self.assertEqual(lines[-2:], ["failed: make programs: and 80 more", "0 passed, 100 failed"])

    def test_a_build_that_fails_is_one_failure(self):
        status, lines = digest((2, 5, "./check", BUILD), (0, 7, "make programs", GOOD))
        self.assertEqual(status, 1)
        self.assertEqual(lines[1:3], ["failed: ./check",
                                      "    src/a.c:3:1: error: no such thing"])
        self.assertEqual(lines[-1], "100 passed, 1 failed, 3 skipped")

    def test_nothing_at_all_is_no_success(self):
        self.assertEqual(digest((0, 1, "./check", ""))[0], 1)


if __name__ == "__main__":
    unittest.main()
