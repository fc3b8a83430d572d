#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Each fault of faults.def is really planted: plant_probe complains with it, and not without.

  faults_test.py PROBE LIBRARY [--only NAME]

Exit status 77 where no network namespace can be made.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
AT_ONCE = 4  # most of the time is waiting for what does not come
ALL = "1/1"
LATE_US, SLOW_US = 20, 100  # processor time, the least of many: a busy machine adds nothing

# fault: (trial, what the probe says); or (trial, figure, what is reached with it alone)
NOTICED = {
    "lost-completion": ("send", "missing completion"),
    "doubled-completion": ("send", "extra completion|order"),
    "swapped-completions": ("send", "order"),
    "wrong-status": ("send", "status"),
    "hidden-error": ("access", "written without the right to"),
    "other-error": ("rkey", "status"),
    "wrong-opcode": ("send", "opcode"),
    "wrong-byte-len": ("send", "byte_len"),
    "wrong-immediate": ("send", "immediate"),
    "missing-immediate": ("send", "no immediate"),
    "wrong-wr-id": ("send", "wr_id"),
    "wrong-qp-num": ("send", "qp_num"),
    "wrong-src-qp": ("datagrams", "src_qp"),
    "missing-grh": ("datagrams", "no IP header"),
    "missing-flush": ("flush", "not flushed"),
    "latency": ("latency", "poll_us", LATE_US),
    "stale-read": ("read", "read content"),
    "read-offset": ("read", "read content"),
    "atomic-old-wrong": ("atomic", "value before the addition"),
    "missing-event": ("event", "no event"),
    "missing-solicited": ("solicited", "no solicited event"),
    "wrong-byte": ("send", "content"),
    "swapped-pieces": ("send", "content"),
    "late-inline": ("inline", "inline content"),
    "ignored-fence": ("fence", "fenced content"),
    "ignored-invalidate": ("invalidate", "nothing invalidated"),
    "short-write": ("write", "written content"),
    "write-offset": ("write", "written content"),
    "long-write": ("write", "written beside"),
    "swapped-requests": ("order", "order of requests"),
    "lost-atomic": ("atomic", "sum"),
    "doubled-atomic": ("atomic", "sum|value before the addition"),
    "torn-atomic": ("atomics", "sum of two"),
    "lost-datagram": ("datagrams", "missing completion"),
    "doubled-datagram": ("datagrams", "extra completion|content of a datagram"),
    "wrong-rkey-accepted": ("rkey", "wrong rkey accepted"),
    "ignored-qkey": ("qkey", "extra completion"),
    "short-buffer-accepted": ("short-buffer", "too long a message was received"),
    "ignored-window": ("window", "written beyond a window"),
    "hidden-refusal": ("refusal", "too many pieces were taken"),
    "cut-message": ("too-long", "a message too long was taken"),
    "bandwidth-cap": ("volume", "times_on_the_wire", 1.8),
    "leak-qp": ("qps", "domain is still in use"),
    "leak-cq": ("qps", "channel is still in use"),
    "leak-mr": ("mrs", "domain is still in use"),
    "leak-ah": ("ahs", "domain is still in use"),
    "failed-qp": ("qps", "no queue pair"),
    "slow-qp": ("times", "qp_us", SLOW_US),
    "slow-connect": ("times", "connect_us", SLOW_US),
    "slow-registration": ("times", "reg_us", SLOW_US),
    "few-regions": ("regions", "no more regions than, 1000"),
    "few-groups": ("groups", "no more groups than, 8"),
    "short-region": ("last-byte", "status"),
    "ignored-access": ("access", "written without the right to"),
    "ignored-qp-access": ("qp-access", "written where the queue pair forbids it"),
    "ignored-rnr-retry": ("rnr", "status"),
    "ignored-timeout": ("gone", "missing completion"),
    "missing-multicast": ("multicast", "nothing of the group"),
    "missing-limit": ("srq-limit", "no limit event"),
    "wrong-limits": ("limits", "not so many pieces"),
    "idle-wrapper": ("harm", "nothing came twice"),
    "unshaped-line": ("line", "no shaped line"),
    "slow-line": ("line", "another rate"),
}

# The same fault on other operations.
FURTHER = {
    "wrong-byte": [("write", "written content"), ("read", "read content"),
                   ("datagrams", "content of a datagram")],
    "hidden-error": [("rkey", "wrong rkey accepted"),
                     ("short-buffer", "too long a message was sent")],
    "lost-atomic": [("atomic", "swapped value")],
}

# A fault shows as what it is, and not as another one as well.
UNNOTICED = [("bandwidth-cap", "rkey"), ("bandwidth-cap", "read"), ("torn-atomic", "atomic"),
             ("short-buffer-accepted", "send"), ("missing-multicast", "datagrams")]


class Probe:
    def __init__(self, program, library, folder):
        self.program = program
        self.library = library
        self.folder = folder

    def run(self, *trial, plant=None):
        """(exit status, output) of the probe; how often the fault was planted."""
        env = {k: v for k, v in os.environ.items() if not k.startswith(("UROCE_", "PLANT"))}
        # The library comes before the sanitizer's runtime, which would refuse that; what a fault
        # leaks is no news.
        env["ASAN_OPTIONS"] = "verify_asan_link_order=0:detect_leaks=0"
        env["LD_PRELOAD"] = self.library
        planted = 0
        with tempfile.TemporaryDirectory(dir=self.folder) as own:  # the same may run twice at once
            report = os.path.join(own, "report")
            if plant:
                env.update(PLANT=plant, PLANT_REPORT=report)
            done = subprocess.run([self.program, *trial], env=env, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=600, text=True, check=False)
            if plant and os.path.exists(report):
                with open(report, encoding="ascii") as f:
                    planted = int(f.read().split()[1])
        return done.returncode, done.stdout, planted

    def listed(self):
        """Names of the table, as the library prints it."""
        env = {**os.environ, "LD_PRELOAD": self.library, "PLANT": "list"}
        done = subprocess.run(["/bin/true"], env=env, stdout=subprocess.PIPE, text=True, check=True)
        rows = [line.split("\t") for line in done.stdout.splitlines()]
        if any(len(row) != 4 or not re.fullmatch(r"1/\d+", row[1]) for row in rows):
            raise SystemExit(f"PLANT=list:\n{done.stdout}")
        return [row[0] for row in rows]


def figures(output):
    return {name: float(value) for name, value in re.findall(r"measure (\w+) ([\d.]+)", output)}


def judge(probe, fault, trial, expected, least=None):
    """What is wrong; None: it was noticed."""
    plant = f"{fault},{'1/5' if fault == 'failed-qp' else ALL}"
    status, output, planted = probe.run(trial, plant=plant)
    if not planted:
        return f"{trial}: was not planted, status {status}\n{output}"
    if least is None:
        if status != 1 or not re.search(f"complaint: ({expected})", output):
            return f"{trial}: status {status}, not \"{expected}\"\n{output}"
        return None
    before = figures(probe.run(trial)[1])[expected]
    after = figures(output).get(expected, 0)
    if status != 0 or not before < least <= after:
        return f"{trial}: {expected} {before} without, {after} with it, status {status}\n{output}"
    return None


def check_rates(probe):
    """One of eight, which one by the seed; what cannot be understood ends the program."""
    found = set()
    for seed in range(1, 9):
        status, output, planted = probe.run("send", plant=f"wrong-immediate,1/8,{seed}")
        complaints = re.findall("complaint: immediate, (\\d+)", output)
        if status != 1 or planted != 1 or len(complaints) != 1:
            return f"1/8, seed {seed}: planted {planted}\n{output}"
        found.add(complaints[0])
    if len(found) < 3:
        return f"eight seeds choose {found}"
    for bad in ("nothing", "latency,2", "latency,1/0", "latency,0%", "latency,1%,x",
                "latency,1%,1,1"):
        if probe.run("send", plant=bad)[0] != 2:
            return f"PLANT={bad} was taken"
    status, output, planted = probe.run("send", plant="wrong-immediate,12.5%")
    return None if planted == 1 else f"12.5%: planted {planted}\n{output}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("probe")
    parser.add_argument("library")
    parser.add_argument("--only")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        probe = Probe(args.probe, args.library, folder)
        status, output, _ = probe.run()
        if status == SKIPPED:
            print("no network namespace can be made here")
            return SKIPPED
        failures = []
        if status != 0 or "complaint" in output:
            failures.append(f"without a fault: status {status}\n{output}")
        listed = probe.listed()
        if sorted(listed) != sorted(NOTICED):
            failures.append(f"table and test differ: {sorted(set(listed) ^ set(NOTICED))}")
        chosen = [(fault, expectation) for fault in listed if args.only in (None, fault)
                  for expectation in [NOTICED[fault], *FURTHER.get(fault, [])]]
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            for (fault, expectation), wrong in zip(
                    chosen, pool.map(lambda c: judge(probe, c[0], *c[1]), chosen)):
                print(f"{'FAIL' if wrong else 'ok  '} {fault}: {expectation[0]}", flush=True)
                if wrong:
                    failures.append(f"{fault}: {wrong}")
        for fault, trial in UNNOTICED if not args.only else []:
            status, output, _ = probe.run(trial, plant=f"{fault},1/1")
            if status != 0:
                failures.append(f"{fault}, {trial}: status {status}\n{output}")
        wrong = check_rates(probe)
        if wrong:
            failures.append(wrong)
    for failure in failures:
        print(failure)
    print(f"{len(listed)} faults, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
