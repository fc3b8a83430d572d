#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Holds tests/CASES.md to the tree: every test that it names exists under that name in that file,
and every test whose name holds case_NNN has its row there. Prints one line for each offence and
exits 1 when there is any. Comments do not count: a mention is no test."""
import os
import re
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
INDEX = "tests/CASES.md"
FOLDERS = ("src", "tests")
ENDINGS = (".c", ".py", ".sh", ".txt")
NAME = re.compile(r"[\w/.-]*\bcase_\d{3}(?!\d)[\w/.-]*|[\w/.-]*_case_\d{3}(?!\d)[\w/.-]*")
NUMBER = re.compile(r"case_(\d{3})")
ROW = re.compile(r"\|\s*(\d+)\s*\|\s*(\S.*?)\s*\|\s*`([^`]+)`: `([^`]+)`\s*\|$")
COMMENTS = {".c": r'/\*.*?\*/|("(?:\\.|[^"\\\n])*")', ".py": r'#[^\n]*|("(?:\\.|[^"\\\n])*")',
            ".sh": r"(?m)^\s*#[^\n]*|(\Z)", ".txt": r"(?m)^#[^\n]*|(\Z)"}


def names_in(path, text):
    """The names of tests in a file: {name: line}."""
    pattern = COMMENTS[os.path.splitext(path)[1]]
    text = re.sub(pattern, lambda m: m.group(1) or "\n" * m.group().count("\n"), text,
                  flags=re.S if path.endswith(".c") else 0)
    found = {}
    for match in NAME.finditer(text):
        found.setdefault(match.group(), text.count("\n", 0, match.start()) + 1)
    return found


def read_tree():
    """{path: {name: line}} of every file that names a case."""
    tree = {}
    for top in FOLDERS:
        for folder, folders, files in os.walk(os.path.join(ROOT, top)):
            folders.sort()
            for name in sorted(files):
                path = os.path.relpath(os.path.join(folder, name), ROOT)
                if not name.endswith(ENDINGS) or path == os.path.relpath(__file__, ROOT):
                    continue
                with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as f:
                    found = names_in(path, f.read())
                if found:
                    tree[path] = found
    return tree


def compare(index, tree):
    """The offences, each a line."""
    errors, rows, last = [], set(), 0
    for number, line in enumerate(index.splitlines(), 1):
        if not line.startswith("|") or number <= index[:index.find("|---")].count("\n") + 1:
            continue
        match = ROW.match(line)
        if not match:
            errors.append(f"{INDEX}:{number}: a row is `| N | what must hold | `FILE`: `TEST` |`")
            continue
        case, path, test = int(match.group(1)), match.group(3), match.group(4)
        told = NUMBER.search(test)
        if not told or int(told.group(1)) != case:
            errors.append(f"{INDEX}:{number}: the test of case {case} has case_{case:03} in its name")
        if test not in tree.get(path, {}):
            errors.append(f"{INDEX}:{number}: there is no {test} in {path}")
        if (path, test) in rows:
            errors.append(f"{INDEX}:{number}: {test} stands here twice")
        if case < last:
            errors.append(f"{INDEX}:{number}: rows are in the order of their numbers")
        rows.add((path, test))
        last = case
    for path, found in tree.items():
        errors += [f"{path}:{line}: {name} has no row in {INDEX}"
                   for name, line in found.items() if (path, name) not in rows]
    return errors


def check_self(index, tree):
    """That each kind of offence is seen."""
    row = next(line for line in index.splitlines() if ROW.match(line))
    number, _, path, test = ROW.match(row).groups()
    assert len(compare(index.replace(row + "\n", ""), tree)) == 1, "a test without a row"
    assert len(compare(index + row + "\n", tree)) == 2, "a row twice and out of order"
    bad = row.replace(test, test + "_gone")
    assert len(compare(index.replace(row, bad), tree)) == 2, "a row without a test"
    bad = row.replace(f"| {number} |", "| 0 |", 1)
    assert len(compare(index.replace(row, bad), tree)) == 1, "another number"
    assert len(compare(index.replace(row, row[:-1]), tree)) == 2, "not a row"
    assert names_in("x.c", '/* case_001 */\nf("case_002/x"); a__case_003();') == {
        "case_002/x": 2, "a__case_003": 2}
    assert names_in("x.py", '# case_001\n@row("a/case_002")') == {"a/case_002": 2}


def main():
    with open(os.path.join(ROOT, INDEX), encoding="utf-8") as f:
        index = f.read()
    tree = read_tree()
    errors = compare(index, tree)
    for line in errors:
        print(line)
    if errors:
        return 1
    check_self(index, tree)
    print(f"{len(index.splitlines())} lines, {sum(map(len, tree.values()))} tests")
    return 0


if __name__ == "__main__":
    sys.exit(main())
