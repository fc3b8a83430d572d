#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the end of a log of `.ci/run` says: each failed test or row of each stage with the first
lines of its reason, how long the stages took, and the sum of what they count.

  digest.py FOLDER

FOLDER has for each stage N.log, what it printed, and N.stage, one line: its exit status, the seconds
that it took and its command. Only the end of a log may be shown where it runs, so all that one
needs to know stands there. A stage counts with the last line `N passed, N failed` that it printed:
those before it are of a test whose output is shown because it failed.
"""
import os
import re
import sys

REASON_LINES = 8
FAILURES_MAX = 20
WIDTH = 300

SUM = re.compile(r"(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$")
ROW = re.compile(r"\s*FAIL (.*?)(?:  \([\d.]+ s\).*)?$")
ROW_REASON = re.compile(r"\s+\| (.*)$")
CTEST_FAILED = re.compile(r"\s*\d+/\d+ Test +#\d+: (\S+) \.*\s*(?:\*\*\*)?"
                          r"(Failed|Timeout|Not Run|Exception: \w+|\w+ aborted)")
CTEST_NEXT = re.compile(r"\s*(?:\d+/\d+ Test +#\d+: |\d+% tests passed|Start +\d+: )")
# Of output that is not made of rows: cmocka's, unittest's, the sanitizers', a compiler's.
TELLING = re.compile(r"\[  ERROR   \]|\[   LINE   \]|\[  FAILED  \]|^(?:FAIL|ERROR): |^\w*Error\b"
                     r"|^\w+(?:\.\w+)+: |AssertionError|ERROR: \w+Sanitizer|runtime error|error:"
                     r"|^ninja: |^make.*\*\*\*")


class Stage:
    def __init__(self, name, status, seconds, text):
        self.name = name
        self.status = status
        self.seconds = seconds
        self.lines = text.splitlines()
        counts = [found for found in map(SUM.match, self.lines) if found]
        self.counts = [int(n or 0) for n in counts[-1].groups()] if counts else [0, 0, 0]
        self.failures = list(find_failures(self.lines))
        if self.has_failed() and not self.failures:
            self.failures = [("", reason_of(self.lines))]

    def has_failed(self):
        return self.status != 0 or self.counts[1] > 0


def reason_of(lines):
    """The telling ones of the output of something that failed, or its end."""
    rows = [line.strip() for line in lines if ROW.match(line) or ROW_REASON.match(line)]
    telling = [line.rstrip() for line in lines if TELLING.search(line)]
    left = [line.rstrip() for line in lines if line.strip()]
    return (rows or telling)[:REASON_LINES] or left[-REASON_LINES:]


def block(lines, at, is_last):
    """From `at` up to the first line that is not of it."""
    end = at
    while end < len(lines) and not is_last(lines[end]):
        end += 1
    return lines[at:end], end


def find_failures(lines):
    """Pairs of name and reason. A row within a failed test is part of its reason."""
    at = 0
    while at < len(lines):
        test, row = CTEST_FAILED.match(lines[at]), ROW.match(lines[at])
        at += 1
        if test:
            output, at = block(lines, at, CTEST_NEXT.match)
            how = [] if test.group(2) == "Failed" else [test.group(2)]
            yield test.group(1), how + reason_of(output)
        elif row:
            output, at = block(lines, at, lambda line: not ROW_REASON.match(line))
            yield row.group(1), [ROW_REASON.match(line).group(1)
                                 for line in output][:REASON_LINES]


def print_stage(stage):
    for name, reason in stage.failures[:FAILURES_MAX]:
        print(f"failed: {stage.name}: {name}" if name else f"failed: {stage.name}")
        for line in reason:
            print(f"    {line[:WIDTH]}")
    if len(stage.failures) > FAILURES_MAX:
        print(f"failed: {stage.name}: and {len(stage.failures) - FAILURES_MAX} more")


def read(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as f:
        return f.read()


def stages_in(folder):
    names = [name for name in os.listdir(folder) if name.endswith(".stage")]
    for name in sorted(names, key=lambda name: int(name.split(".")[0])):
        status, seconds, command = read(folder, name).strip().split(" ", 2)
        yield Stage(command, int(status), int(seconds), read(folder, name[:-5] + "log"))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.split("\n\n")[1].strip())
    stages = list(stages_in(sys.argv[1]))
    print("took: " + ", ".join(f"{s.name} {s.seconds} s" for s in stages))
    for stage in stages:
        print_stage(stage)
    passed, failed, skipped = (sum(s.counts[i] for s in stages) for i in range(3))
    failed += sum(s.has_failed() and s.counts[1] == 0 for s in stages)
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
