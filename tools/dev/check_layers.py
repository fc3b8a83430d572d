#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Holds the tree to its layers. Prints one line for each offence (file:line: what, and what to use
instead) and exits 1 when there is any.

    check_layers.py [--root DIR]

In a git work tree it looks at tracked files, elsewhere at all files below the root. The rules:
  - who may include whom, by folder of src/ (MAY_INCLUDE)
  - calls that the sans-IO core must not make, each with its replacement (BANNED_IN_CORE), headers
    that it must not include (NOT_FOR_CORE), and calls that nobody makes (BANNED_EVERYWHERE); unit
    tests beside the code are free of the first two
  - an SPDX line at the head of every source file
  - no leftovers (marks of unfinished work, code that is switched off, paths of somebody's machine)
  - every file that ARCHITECTURE.md names exists, and every `file.c:function` is in that file
"""

import argparse
import os
import re
import subprocess
import sys

CORE = ("base", "wire", "mem", "wq", "cc", "transport", "cm")

# Layer -> what its files may include besides its own folder: a layer ("wire") or one header
# ("transport/transport.h"). ARCHITECTURE.md has the same table in words.
MAY_INCLUDE = {
    "base": [],
    "wire": ["base"],
    "mem": ["base", "wire"],
    "wq": ["base", "wire"],
    "cc": ["base"],
    "transport": ["base", "wire", "mem", "wq", "cc/cc.h", "cc/notify.h", "cc/pace.h", "cc/window.h"],
    "cm": ["base", "wire"],
    "verbs": ["base", "wire", "mem", "wq", "transport"],
    "pktio": ["base", "wire"],
    "report": ["base"],
    "fabric": ["base", "wire", "mem", "wq", "cc", "transport", "verbs", "sim"],
    "sim": ["base", "wire", "transport/transport.h"],
    "record": ["base", "wire", "fabric", "report"],
    "scenario": ["base", "fabric", "cc/dcqcn.h", "cc/cc.h"],
    "control": ["base"],
    "engine": ["base", "wire", "mem", "wq", "cc", "transport", "verbs", "pktio", "control"],
    "daemon": ["base", "wire", "cm", "control"],
    "rsocket": ["base"],
    "compat": ["base", "verbs", "engine", "control"],
    "verify": ["base", "report", "scenario/key.h", "scenario/problem.h", "scenario/unit.h",
               "scenario/words.h", "scenario/yaml.h"],
    "tools": ["base", "wire", "control", "engine", "fabric", "scenario", "report", "record", "verify"],
}

BANNED_IN_CORE = {
    "the `now` argument (base/ns.h)": """clock_gettime gettimeofday time clock nanosleep usleep
        sleep timerfd_create""",
    "base/prng.h, or randomness that the engine hands in": """rand random srand srandom drand48
        rand_r getrandom arc4random""",
    "storage that the caller sized at creation": """malloc calloc realloc reallocarray free strdup
        strndup posix_memalign aligned_alloc alloca""",
    "a verdict, a counter or a trace event": """printf fprintf dprintf vprintf vfprintf snprintf
        vsnprintf asprintf puts fputs putchar perror syslog""",
    "a lock in verbs/": """pthread_\\w+ mtx_\\w+ sem_\\w+ call_once""",
    "the packet interface of the engine and pktio": """socket bind connect listen accept send
        sendto sendmsg sendmmsg recv recvfrom recvmsg recvmmsg poll epoll_\\w+ select eventfd""",
    "an op that the engine installs": """open openat close read write pread pwrite ioctl mmap
        munmap syscall fork getenv""",
    "ROCE_ASSERT (base/assert.h)": "abort exit _exit assert",
}

CORE_HEADERS = ("stdio.h", "stdlib.h", "time.h", "pthread.h", "threads.h", "unistd.h", "assert.h",
                "fcntl.h", "signal.h", "poll.h")

BANNED_EVERYWHERE = {
    "snprintf, which knows the size": "sprintf vsprintf gets",
    "snprintf or memcpy, which know the size": "strcpy strcat stpcpy",
    "strtok_r": "strtok",
    "base/prng.h or getrandom": "rand srand rand_r drand48",
    "strtol, which tells an error": "atoll",
    "fixed arrays or the heap": "alloca",
}

# What lies in the core's folders but is for the others: no core file may include it.
NOT_FOR_CORE = {"base/clock.h": "take the `now` argument (base/ns.h)",
                "base/guid.h": "a GUID that the caller hands in",
                "base/memory_left.h": "a size that the caller hands in"}

# And what they are made of.
NOT_CORE = {*NOT_FOR_CORE, "base/memory_left.c"}

# Spelled in pieces, so that this file does not offend itself.
LEFTOVERS = [
    (re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "X" + "XX", "W" + "IP"]) + r")\b"),
     "mark of unfinished work: finish it, or keep a list elsewhere"),
    (re.compile(r"^\s*#\s*if\s+" + r"0\b"), "code that is switched off: delete it"),
    (re.compile(r"\bif\s*\(\s*(0|" + r"false)\s*\)"), "code that is switched off: delete it"),
    (re.compile(r"(?<![\w.])/(work|home|root)" + r"/\w"), "path of one machine"),
    (re.compile(r"\b(for " + r"now|quick " + r"hack|ugly " + r"hack)\b", re.I),
     "apology: say what holds, or do it right"),
]

SPDX = "SPDX-License-Identifier: BSD-2-Clause"
SPDX_NAMES = ("CMakeLists.txt", "Makefile")
SPDX_ENDINGS = (".c", ".h", ".py", ".sh", ".cmake", ".def", ".map", ".S")
# Data: other people's words and bytes.
DATA = re.compile(r"^(LICENSE$|tests/vectors/.*\.(json|pcap)$|tests/fuzz/corpus/|tests/scenario/hpcc/.*\.(txt|cfg)$|.*\.(pcap|pcapng|bin|png)$)")
MAP = "ARCHITECTURE.md"


def list_files(root):
    if os.path.exists(os.path.join(root, ".git")):
        out = subprocess.run(["git", "-C", root, "ls-files", "-z"], check=True,
                             stdout=subprocess.PIPE).stdout.decode()
        return sorted(f for f in out.split("\0") if f and os.path.isfile(os.path.join(root, f)))
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [d for d in folders if not re.match(r"build(-|$)", d)]
        found += [os.path.relpath(os.path.join(folder, f), root) for f in files]
    return sorted(found)


def strip_comments_and_strings(text):
    """Blanks them, keeping line numbers; the file names of #include stay."""
    pattern = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)

    def blank(match):
        start = text.rfind("\n", 0, match.start()) + 1
        if match.group().startswith('"') and re.match(r"\s*#\s*include\s*$", text[start:match.start()]):
            return match.group()
        return re.sub(r"[^\n]", " ", match.group())

    return pattern.sub(blank, text)


def layer_of(path):
    parts = path.split("/")
    return parts[1] if len(parts) > 2 and parts[0] == "src" else None


def is_test(path):
    return path.endswith(("_test.c", "_test.h")) or path.startswith("tests/")


def is_core(path, layer):
    """Under the core's bans."""
    return layer in CORE and not is_test(path) and path[len("src/"):] not in NOT_CORE


class Report:
    def __init__(self):
        self.offences = []

    def add(self, path, line, text):
        self.offences.append(f"{path}:{line}: {text}")


def calls(words):
    return re.compile(r"(?<![\w.>])(" + "|".join(words.split()) + r")\s*\(")


CORE_CALLS = [(calls(words), instead) for instead, words in BANNED_IN_CORE.items()]
ALL_CALLS = [(calls(words), instead) for instead, words in BANNED_EVERYWHERE.items()]


def is_declaration(line):
    """A line that begins with a type and a name is a declaration, not a call."""
    return re.match(r"\s*(?!return\b|else\b|case\b)[A-Za-z_][\w\s*]*\s\*?\w+\s*\(", line)


def check_include(path, layer, number, line, report):
    match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
    if not match:
        return
    quoted, name = match.group(1) == '"', match.group(2)
    if quoted and name.startswith(("./", "../")):
        report.add(path, number, f"include {name}: give the path from src/")
        return
    if not quoted:
        if is_core(path, layer) and (name in CORE_HEADERS or name.startswith("sys/")):
            report.add(path, number, f"{layer} includes <{name}>: the core has no operating system")
        return
    if is_core(path, layer) and name in NOT_FOR_CORE:
        report.add(path, number, f"{layer} includes {name}: {NOT_FOR_CORE[name]}")
        return
    target = name.split("/")[0] if "/" in name else None
    if target is None or target == layer or layer is None:
        return
    allowed = MAY_INCLUDE[layer]
    if target in allowed or name in allowed:
        return
    if target in MAY_INCLUDE:
        may = ", ".join(allowed) or "nothing else"
        report.add(path, number, f"{layer} includes {name}: it may include {may}")


def check_source(path, text, report):
    layer = layer_of(path)
    if path.startswith("src/") and path.count("/") > 1 and layer not in MAY_INCLUDE:
        report.add(path, 1, f"folder src/{layer} is no layer: give it a line in {MAP} and here")
        return
    for number, line in enumerate(strip_comments_and_strings(text).split("\n"), 1):
        check_include(path, layer, number, line, report)
        if re.match(r"\s*#\s*include", line):
            continue
        for pattern, instead in ALL_CALLS:
            match = pattern.search(line)
            if match and not is_declaration(line):
                report.add(path, number, f"{match.group(1)}(): use {instead}")
        if not is_core(path, layer):
            continue
        for pattern, instead in CORE_CALLS:
            match = pattern.search(line)
            if match and not is_declaration(line):
                report.add(path, number, f"{match.group(1)}() in {layer}: use {instead}")
        if re.search(r"(?<![\w.>])errno\b", line):
            report.add(path, number, f"errno in {layer}: return 0 or a negative error number")


def check_text(path, text, report):
    lines = text.split("\n")
    name = os.path.basename(path)
    is_script = lines[0].startswith("#!")
    if (name in SPDX_NAMES or path.endswith(SPDX_ENDINGS) or is_script) and \
            not any(SPDX in line for line in lines[:3]):
        report.add(path, 1, f"no line `{SPDX}` at the head")
    for number, line in enumerate(lines, 1):
        for pattern, why in LEFTOVERS:
            match = pattern.search(line)
            if match:
                report.add(path, number, f"`{match.group().strip()}`: {why}")


def check_map(root, files, report):
    """Words of ARCHITECTURE.md that look like files, in backticks or in drawings."""
    if MAP not in files:
        return
    known = set(files)
    names = {os.path.basename(f) for f in files}
    folders = {os.path.dirname(f) for f in files}
    folders |= {f[:i] for f in folders for i, c in enumerate(f) if c == "/"}
    token = re.compile(r"(?<![\w/.<*-])((?:[\w.-]+/)*[\w-]+\.(?:c|h|py|sh|md|json|cmake|txt|def|map)"
                       r"|(?:src|tests|tools|bench|cmake)/(?:[\w.-]+/)*)"
                       r"(?![\w*])(?::(\w+))?")
    with open(os.path.join(root, MAP), encoding="utf-8") as f:
        lines = f.read().split("\n")
    for number, line in enumerate(lines, 1):
        for match in token.finditer(line):
            word, function = match.group(1), match.group(2)
            if re.match(r"X[_.]|.*/X[_.]", word):
                continue  # X_test.c: a pattern
            if word.endswith("/"):
                if word.rstrip("/") not in folders:
                    report.add(MAP, number, f"folder {word} does not exist")
                continue
            candidates = [c for c in (word, "src/" + word) if c in known]
            if "/" not in word:
                candidates += [f for f in files if os.path.basename(f) == word]
            if not candidates and not ("/" not in word and word in names):
                report.add(MAP, number, f"file {word} does not exist")
            elif function and not function.isdigit():
                def has(file):
                    with open(os.path.join(root, file), encoding="utf-8", errors="replace") as f:
                        return re.search(rf"\b{function}\b", f.read())
                if not any(has(c) for c in candidates):
                    report.add(MAP, number, f"{word} has no {function}")


def check_tree(root):
    """The offences, and how many files were looked at."""
    report = Report()
    files = list_files(root)
    for path in files:
        if DATA.match(path):
            continue
        try:
            with open(os.path.join(root, path), encoding="utf-8") as f:
                text = f.read()
        except UnicodeDecodeError:
            report.add(path, 1, "not UTF-8 text, and not in a folder for data")
            continue
        check_text(path, text, report)
        if path.endswith((".c", ".h")):
            check_source(path, text, report)
    check_map(root, files, report)
    return report.offences, len(files)


def main():
    parser = argparse.ArgumentParser(description="check layers, banned calls and leftovers")
    parser.add_argument("--root", default=os.path.join(os.path.dirname(__file__), "..", ".."))
    offences, count = check_tree(os.path.abspath(parser.parse_args().root))
    for offence in offences:
        print(offence)
    if offences:
        print(f"{len(offences)} offences in {count} files")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
