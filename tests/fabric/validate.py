#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The table of validation: runs the tests of tests/fabric that measure something known from
elsewhere and prints what, what is expected, what came out, and whether it holds.

    validate.py BUILD            print the table; exit 1 when a row fails
    validate.py BUILD --csv      the same as CSV
    validate.py BUILD --write    and put it into docs/validation.md
    validate.py BUILD --check    and hold docs/validation.md to it: the same rows, numbers within 5%
"""
import csv
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
PAGE = os.path.join(ROOT, "docs", "validation.md")
TESTS = ("flow_test", "lossless_test", "capture_record_test", "qos_test", "go_back_test", "control_test", "sharing_test",
         "storm_test", "payload_test", "deadlock_test", "orders_test", "dragonfly_test", "fat_tree_test")
HEAD = ("what", "expected", "measured", "verdict")
NUMBER = re.compile(r"\d+(?:\.\d+)?")
TOLERANCE = 0.05
LEAST = 1.0  # counts of a few may differ by so much


def measure(build):
    """Rows of all tests, and the tests that failed."""
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows")
        open(path, "w", encoding="utf-8").close()
        environment = dict(os.environ, UROCE_MEASURED=path, UROCE_SOURCE_DIR=ROOT)
        for test in TESTS:
            done = subprocess.run([os.path.join(build, "tests", test)], env=environment,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if done.returncode:
                failed.append(test)
        with open(path, encoding="utf-8") as f:
            return [line.rstrip("\n").split("\t") for line in f], failed


def as_table(rows):
    return "".join("| " + " | ".join(row) + " |\n" for row in [HEAD, ["---"] * 4] + rows)


def split_page():
    """The page before its table, the rows, what follows."""
    with open(PAGE, encoding="utf-8") as f:
        lines = f.read().splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if line.startswith("| what "))
    last = next((i for i in range(first, len(lines)) if not lines[i].startswith("|")), len(lines))
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")]
            for line in lines[first + 2:last]]
    return "".join(lines[:first]), rows, "".join(lines[last:])


def is_near(told, found):
    if NUMBER.sub("", told) != NUMBER.sub("", found):
        return False
    for a, b in zip(NUMBER.findall(told), NUMBER.findall(found)):
        if abs(float(a) - float(b)) > max(LEAST, TOLERANCE * max(float(a), float(b))):
            return False
    return True


def compare(rows):
    told = {row[0]: row for row in split_page()[1]}
    errors = [f"{row[0]}: not in docs/validation.md" for row in rows if row[0] not in told]
    errors += [f"{what}: not measured" for what in told if what not in {row[0] for row in rows}]
    for row in rows:
        page = told.get(row[0], row)
        if page[1] != row[1] or page[3] != row[3] or not is_near(page[2], row[2]):
            errors.append(f"{row[0]}: the page has {page[1:]}, measured {row[1:]}")
    return errors


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    mode = sys.argv[2] if len(sys.argv) == 3 else ""
    rows, failed = measure(sys.argv[1])
    errors = [f"{test} fails" for test in failed]
    if mode == "--csv":
        csv.writer(sys.stdout, lineterminator="\n").writerows([HEAD] + rows)
    elif mode == "--check":
        errors += compare(rows)
    else:
        widths = [max(len(row[i]) for row in [HEAD] + rows) for i in range(3)]
        for row in [HEAD] + rows:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths + [0])).rstrip())
    if mode == "--write":
        before, _, after = split_page()
        with open(PAGE, "w", encoding="utf-8") as f:
            f.write(before + as_table(rows) + after)
    for error in errors:
        print(error, file=sys.stderr)
    holds = sum(row[3] == "holds" for row in rows)
    if mode != "--csv":
        print(f"{holds} of {len(rows)} rows hold")
    return 1 if errors or holds < len(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
