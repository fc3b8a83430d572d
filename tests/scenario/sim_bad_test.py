#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Files that are cut, damaged or no such thing, and disks that are full: `uroce sim` says what is wrong
with which file, ends with status 2 (input) or 1 (output), and never otherwise. What is drawn follows from
a seed, which is printed with what it made.

    sim_bad_test.py UROCE [--first SEED] [--count N] [--keep FOLDER]
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
HPCC = os.path.join(ROOT, "tests", "scenario", "hpcc")
GALLERY = os.path.join(ROOT, "scenarios")
TIMEOUT = 300
ENOSPC = "No space left on device"

CDF = "# sizes\n1000,0\n20000, 50%\n3000000,100\n"
TRACE = "start_us,src,dst,bytes,prio\n0,h0,h1,5000\n3.5,h1,h0,6000,3\n# x\n4,2,3,64KiB\n"
ODD = ("-1", "0", "1e99", "99999999999999999999", "NaN", "", "\x00", "%s%n", "x" * 5000, "0x10", "1e-400", "Gbps",
       "100Gbps", "\xff\xfe", "4294967296", "65536", "\t", ",,,,", "- -", "{", "[", "&a *a", "\r")


def read(path):
    with open(path, "rb") as f:
        return f.read()


def sources():
    """Names of files and their texts, by what `uroce sim` is told to do with them; the last of the names is damaged."""
    texts = {name: read(os.path.join(HPCC, name)) for name in os.listdir(HPCC) if name.endswith((".txt", ".cfg"))}
    triple = ["topo_star17.txt", "flow_incast16_1MB.txt", "inc16_paper_b32.cfg"]
    for i in range(3):
        yield ["--hpcc"] + triple, {n: texts[n] for n in triple}, triple[i]
    for key, name, text in (("trace, file", "t.csv", TRACE), ("poisson, cdf", "c.txt", CDF)):
        yaml = f"topology: {{kind: star, hosts: 4}}\nworkload: [{{kind: {key}: {name}}}]\n"
        yield ["s.yaml"], {"s.yaml": yaml.encode(), name: text.encode()}, name
    for name in sorted(os.listdir(GALLERY)):
        if name.endswith(".yaml"):
            files = {name: read(os.path.join(GALLERY, name))}
            files.update((n, read(os.path.join(GALLERY, n))) for n in os.listdir(GALLERY) if n.endswith(".csv"))
            yield [name], files, name


def damage(r, text):
    """One to three damages."""
    for _ in range(r.randint(1, 3)):
        lines = text.split(b"\n")
        at = r.randrange(len(lines))
        kind = r.choice(("cut", "bytes", "line away", "line twice", "lines swapped", "word", "word", "insert"))
        if kind == "cut":
            text = text[:r.randrange(len(text) + 1)]
        elif kind == "bytes":
            data = bytearray(text)
            for _ in range(r.randint(1, 8)):
                if data:
                    data[r.randrange(len(data))] = r.randrange(256)
            text = bytes(data)
        elif kind == "line away":
            text = b"\n".join(lines[:at] + lines[at + 1:])
        elif kind == "line twice":
            text = b"\n".join(lines[:at] + [lines[at]] * r.choice((2, 50)) + lines[at + 1:])
        elif kind == "lines swapped":
            other = r.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
            text = b"\n".join(lines)
        elif kind == "word":
            words = re.split(rb"([\s,:{}\[\]]+)", lines[at])
            words[r.randrange(len(words))] = r.choice(ODD).encode("latin-1")
            lines[at] = b"".join(words)
            text = b"\n".join(lines)
        else:
            where = r.randrange(len(text) + 1)
            text = text[:where] + r.choice(ODD).encode("latin-1") + text[where:]
    return text


def run(uroce, arguments, folder):
    with subprocess.Popen([uroce, "sim", *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, errors="replace") as process:
        try:
            out, err = process.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
    return process.returncode, out, err


def check(names, status, out, err):
    lines = [line for line in err.splitlines() if ": warning: " not in line]
    assert status in (0, 2), f"status {status}: {err[-3000:]}"
    assert status == 0 or (lines and not out), f"status {status}, said {err!r}, printed {out[:200]!r}"
    assert status == 2 or not lines, f"status 0, said {err[-3000:]!r}"
    for line in lines:
        assert any(line.startswith(name + ":") for name in names), f"of which file: {line!r}"
        assert len(line) < 700 and all(c >= " " and c != "\x7f" for c in line), f"no line to print: {line!r}"


def try_seed(options, seed, folder, all_sources):
    r = random.Random(seed)
    arguments, files, victim = r.choice(all_sources)
    files = dict(files)
    files[victim] = damage(r, files[victim])
    for name, text in files.items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(text)
    try:
        status, out, err = run(options.uroce, ["--check", *arguments], folder)
        check(list(files), status, out, err)
    except (AssertionError, subprocess.TimeoutExpired) as e:
        print(f"seed {seed}, {' '.join(arguments)}, {victim} is damaged: {e}", flush=True)
        if options.keep:
            shutil.copytree(folder, os.path.join(options.keep, str(seed)), dirs_exist_ok=True)
        return 1, -1
    return 0, status


def damaged_files(options):
    all_sources = list(sources())
    failures = 0
    refused = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.first, options.first + options.count):
            failed, status = try_seed(options, seed, folder, all_sources)
            failures += failed
            refused += status == 2
    print(f"seeds {options.first} to {options.first + options.count - 1}: {refused} refused, {failures} failed")
    if options.count >= 20 and not options.count / 4 < refused < options.count:
        print("too few or too many were refused: this tries nothing")
        failures += 1
    return failures


# ---- full disks ----

SCENARIO = """\
topology: {kind: star, hosts: 9}
switch: {buffer: {pg_lossless: {static_th: 20kB}}, ecn: {kmin: 10kB}}
output: {interval: 1us}
workload: [{kind: incast, to: h8, bytes: 1MB}]
"""
OUTPUTS = ("--json", "--html", "--log", "--capture", "--samples", "--counters")


def write_full(options, folder, target, before):
    """Each output alone, to a place that takes a part of it or nothing."""
    failures = 0
    scenario = os.path.join(folder, "s.yaml")
    with open(scenario, "w", encoding="utf-8") as f:
        f.write(SCENARIO)
    for output in OUTPUTS:
        more = ["--ports", "s0:h8"] if output == "--capture" else []
        done = subprocess.run([*before, options.uroce, "sim", scenario, output, target, *more], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=TIMEOUT)
        if (done.returncode, done.stderr) != (1, f"uroce sim: {target}: {ENOSPC}\n"):
            print(f"{output} {target}: status {done.returncode}, {done.stderr!r}")
            failures += 1
    return failures


def can_mount():
    return subprocess.run(["unshare", "-r", "-m", "mount", "-t", "tmpfs", "none", "/mnt"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def full_disks(options):
    with tempfile.TemporaryDirectory() as folder:
        failures = write_full(options, folder, "/dev/full", [])
        if not can_mount():
            print("no small tmpfs here: /dev/full alone was tried")
            return failures
        place = os.path.join(folder, "small")
        os.mkdir(place)
        script = f'mount -t tmpfs -o size=4k none "{place}" && exec "$@"'
        return failures + write_full(options, folder, os.path.join(place, "out"),
                                     ["unshare", "-r", "-m", "sh", "-c", script, "sh"])


# ---- little memory ----

def little_memory(options):
    """A small run in a small place is a run as any other. A program with sanitizers needs more to begin."""
    if b"__asan_init" in read(options.uroce):
        return 0
    scenario = os.path.join(GALLERY, "incast.yaml")
    done = [subprocess.run([*before, options.uroce, "sim", scenario, "--json", "-"], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, timeout=TIMEOUT)
            for before in ([], ["prlimit", f"--as={200 << 20}"])]
    events = [json.loads(d.stdout)["totals"]["events"] if d.returncode == 0 else d.stderr for d in done]
    if events[0] != events[1] or not events[0]:
        print(f"with 200 MiB: {events[1]!r} events, without a limit {events[0]!r}")
        return 1
    return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("uroce")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--keep")
    options = parser.parse_args()
    options.uroce = os.path.abspath(options.uroce)
    return 1 if damaged_files(options) + full_disks(options) + little_memory(options) else 0


if __name__ == "__main__":
    sys.exit(main())
