#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Fails when a ROCE_MARK() in src/ was hit by no test of a debug build (base/marks.h).

    marks.py [--root DIR] BUILD_DIR     after: ctest --test-dir BUILD_DIR
    marks.py --forget BUILD_DIR         before it: drops what earlier runs hit

Also refuses a name that stands at two places, since one of them could then hide behind the other."""

import argparse
import os
import re
import shutil
import sys


def find_marks(root):
    """Name -> list of places."""
    marks = {}
    for folder, _, files in os.walk(os.path.join(root, "src")):
        for name in files:
            path = os.path.join(folder, name)
            if not name.endswith((".c", ".h")) or path.endswith("base/marks.h"):
                continue
            with open(path, encoding="utf-8", errors="replace") as f:
                for number, line in enumerate(f, 1):
                    for mark in re.findall(r"\bROCE_MARK(?:ED)?\((\w+)[,)]", line):
                        place = f"{os.path.relpath(path, root)}:{number}"
                        marks.setdefault(mark, []).append(place)
    return marks


def read_hits(folder):
    hits = set()
    if os.path.isdir(folder):
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                hits.update(f.read().split())
    return hits


def main():
    parser = argparse.ArgumentParser(description="every mark is hit by some test")
    parser.add_argument("--root", default=os.path.join(os.path.dirname(__file__), "..", ".."))
    parser.add_argument("--forget", action="store_true")
    parser.add_argument("build_dir")
    args = parser.parse_args()
    folder = os.path.join(args.build_dir, "marks")
    if args.forget:
        shutil.rmtree(folder, ignore_errors=True)
        return 0
    marks = find_marks(os.path.abspath(args.root))
    hits = read_hits(folder)
    bad = 0
    for mark, places in sorted(marks.items()):
        if len(places) > 1:
            print(f"{places[1]}: mark {mark} stands at {places[0]} too")
            bad += 1
        elif mark not in hits:
            print(f"{places[0]}: mark {mark} was hit by no test")
            bad += 1
    print(f"{len(marks)} marks, {bad} bad")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
