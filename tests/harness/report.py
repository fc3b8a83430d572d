# SPDX-License-Identifier: BSD-2-Clause
"""Result lines, and the one that closes: `N passed, N failed`.

On a terminal in colour and with what is running now; else plain lines.
"""
import os
import sys
import time


class Failed(Exception):
    """What a row expected did not come; the message says what and shows what came instead."""


class Skipped(Exception):
    """The row cannot be run here; the message says what it needs."""


def is_terminal():
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def coloured(text, code):
    return f"\033[{code}m{text}\033[0m" if is_terminal() else text


class Report:
    COLOURS = {"pass": "32", "FAIL": "31", "skip": "33"}

    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.failures = []
        self.name = ""
        self.started = 0.0
        self.noted = 0.0

    def begin(self, name, took=0):
        """Says nothing yet. took: seconds that it has run."""
        self.name = name
        self.noted = time.monotonic()
        self.started = self.noted - took

    def took(self):
        return time.monotonic() - self.started

    def start(self, name):
        self.begin(name)
        if is_terminal():
            print(f"  ...  {name}", end="\r", flush=True)

    def progress(self, text):
        """A sign of life: at each call on a terminal, every 20 s elsewhere."""
        now = time.monotonic()
        if is_terminal():
            line = f"  ...  {self.name}  {now - self.started:.0f} s  {text}"
            print(f"\033[2K{line[:100]}", end="\r", flush=True)
        elif now - self.noted >= 20:
            self.noted = now
            print(f"       {self.name}: {self.took():.0f} s  {text[:90]}".rstrip(),
                  flush=True)

    def _line(self, verdict, note=""):
        if is_terminal():
            print("\033[2K", end="")
        print(f"  {coloured(verdict, self.COLOURS[verdict])} {self.name}  ({self.took():.1f} s)"
              f"{'  ' + note if note else ''}", flush=True)

    def ok(self, note=""):
        self.passed += 1
        self._line("pass", note)

    def fail(self, message):
        self.failed += 1
        self.failures.append(self.name)
        self._line("FAIL")
        for line in str(message).rstrip().splitlines():
            print(f"       | {line}", flush=True)

    def skip(self, reason):
        self.skipped += 1
        self._line("skip", str(reason))

    def close(self, again):
        """The exit status of the script. `again`: the command for one row, {} its name."""
        if self.failures:
            print("failed: " + ", ".join(self.failures))
            print("one again: " + again.format(self.failures[0]))
        tail = f", {self.skipped} skipped" if self.skipped else ""
        print(f"{self.passed} passed, {self.failed} failed{tail}", flush=True)
        return 1 if self.failed or not self.passed + self.skipped else 0
