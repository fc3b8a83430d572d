#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Each planted fault is caught by the case of `uroce verify` that should, for its own reason.

  planted.py BUILD_DIR [--short] [--only FAULT,...] [--jobs N]

For each row of ROWS the case is run without the fault, when it must pass, and with it in both
agents, when it must fail with a reason that names the thing; and the fault must really have been
planted. --short leaves out what is held to a time and what waits for long: the rest says the same
on any machine. What is held to a time and was not judged, for other programs had the processors, is
undecided. Exit status 1 when a row failed; 77 when one is undecided, or where no network namespace
can be made.
"""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
LONG = "long"  # seconds of waiting for what does not come, or many rounds
TIMED = "timed"  # held to a time: for a machine with nothing else to do
EACH = "1/1"
UNDECIDED = "undecided"

# (fault, rate or None for that of the table, case, reason[, LONG or TIMED])
ROWS = [
    # ---- completions, and the data that they announce ----
    ("lost-completion", None, "integrity/send", r"has wr_id \d+, expected|no completion of", LONG),
    ("doubled-completion", None, "integrity/send", r"has wr_id \d+, expected|too many"),
    ("swapped-completions", None, "integrity/send", r"has wr_id \d+, expected"),
    ("wrong-status", None, "integrity/send", r"completed with status 4 "),
    ("hidden-error", None, "function/rc_bad_rkey_write", r"found 0 \(success\)|status 0 \(success\)"),
    ("wrong-opcode", None, "integrity/send", r"has opcode \d+, expected"),
    ("wrong-byte-len", None, "integrity/send", r"has byte_len 1025, expected 1024"),
    ("wrong-immediate", None, "integrity/send_imm", r"has immediate \d+, expected"),
    ("missing-immediate", None, "integrity/send_imm", r"flag of an immediate 0, expected 1"),
    ("wrong-wr-id", None, "integrity/send", r"has wr_id \d+, expected"),
    ("wrong-qp-num", None, "integrity/send", r"has qp_num \d+, expected"),
    ("wrong-src-qp", None, "integrity/ud_send", r"has src_qp \d+, expected"),
    ("missing-grh", None, "integrity/ud_send", r"has flag of a GRH 0, expected 1"),
    ("missing-flush", None, "resilience/peer_killed", r"a flushed request", LONG),
    ("latency", None, "latency/polling", r"late is .*, expected at most 0.5 %"),
    ("stale-read", None, "integrity/write_read", r"what READ brought"),
    ("read-offset", None, "integrity/write_read", r"what READ brought"),
    ("atomic-old-wrong", None, "integrity/fetch_add", r"a FETCH_ADD returned \d+"),
    # ---- events ----
    ("missing-event", None, "function/events",
     r"no event of message \d+ in 5 s, and its completion is there"),
    ("missing-solicited", None, "function/solicited_events",
     r"no event of the solicited message after \d+ in 5 s, and its completion is there"),
    # ---- requests ----
    ("wrong-byte", None, "integrity/send", r"what a message brought"),
    ("swapped-pieces", EACH, "function/rc_sge_list", r"byte \d+ of the message: expected"),
    ("late-inline", EACH, "function/rc_inline", r"inline\): byte \d+ of the message: expected"),
    ("ignored-fence", EACH, "function/rc_fence", r"fence\): byte \d+ of the message: expected"),
    ("ignored-invalidate", EACH, "function/rc_remote_invalidated",
     r"send-inv, .*wc_flags: expected 8 .*found 0"),
    ("short-write", None, "integrity/write_read", r"what READ brought"),
    ("write-offset", None, "integrity/write_read", r"what READ brought"),
    ("lost-atomic", None, "integrity/fetch_add", r"a FETCH_ADD returned \d+ a second time"),
    ("torn-atomic", None, "integrity/fetch_add", r"a FETCH_ADD returned \d+ a second time"),
    ("lost-datagram", None, "integrity/ud_send", r"lost is .*, expected at most 0.5 %", LONG),
    ("doubled-datagram", None, "integrity/ud_send", r"came twice"),
    ("wrong-rkey-accepted", EACH, "function/rc_bad_rkey_write",
     r"status 0 \(success\).*error seed: unknown rkey"),
    ("ignored-qkey", EACH, "function/ud_wrong_qkey", r"is none that client qp \d+ has sent"),
    ("short-buffer-accepted", EACH, "function/rc_short_receive",
     r"found 0 \(success\).*error seed: receive too small"),
    ("bandwidth-cap", None, "line/1g", r"line is", TIMED),
    # ---- objects ----
    ("leak-qp", None, "resources/leaks", r"ibv_destroy_srq: .*still there"),
    ("leak-cq", None, "resources/leaks", r"ibv_destroy_comp_channel: .*still there"),
    ("leak-mr", None, "resources/leaks", r"ibv_dealloc_pd: .*still there"),
    ("leak-ah", None, "resources/leaks", r"ibv_dealloc_pd: .*still there"),
    ("failed-qp", None, "setup/rc",
     r"2 of 10000 queue pairs were not made; the first failed to create", LONG),
    ("slow-qp", None, "setup/rc", r"p50 is", TIMED),
    ("slow-connect", None, "setup/rc", r"p50 is", TIMED),
    ("slow-registration", None, "registration/4k", r"p50 is", TIMED),
    ("few-regions", None, "registration/parallel",
     r"ibv_reg_mr.*: Cannot allocate memory"),
    ("short-region", EACH, "registration/4k", r"to the end of the region"),
    ("ignored-access", EACH, "function/rc_no_access_write",
     r"status 0 \(success\).*error seed: region without the remote access flag"),
    ("ignored-qp-access", EACH, "function/rc_qp_no_write",
     r"status 0 \(success\).*error seed: QP without the remote access flag"),
    ("ignored-rnr-retry", EACH, "function/rc_rnr_recovery", r"RNR retry counter exceeded"),
    ("ignored-timeout", EACH, "resilience/peer_killed", r"no completion, good or bad, in", LONG),
    ("missing-multicast", EACH, "function/ud_multicast",
     r"no completion for \d+ s; waiting for server qp 0 receive", LONG),
    ("missing-limit", EACH, "function/srq_limit", r"no event of the limit of 16 receives"),
    ("wrong-limits", EACH, "resources/depth", r"ibv_create_qp|pieces"),
]


class Row:
    """A row of ROWS by name."""

    def __init__(self, fault, rate, case, reason, when=None):
        self.fault = fault
        self.plant = f"{fault},{rate}" if rate else fault
        self.case = case
        self.reason = reason
        self.when = when


class Verify:
    """Runs of `uroce verify`, with a fault or without."""

    def __init__(self, build, folder):
        self.program = os.path.join(build, "bin", "uroce")
        self.library = os.path.join(build, "tests", "libplant.so")
        self.folder = folder

    def run(self, case, plant=None):
        """(exit status, the case's verdict or None, its reason, how often it was planted)."""
        env = {k: v for k, v in os.environ.items() if not k.startswith(("UROCE_", "PLANT"))}
        # The library comes before the sanitizer's runtime, which would refuse that; what a fault
        # leaks is no news.
        env["ASAN_OPTIONS"] = "verify_asan_link_order=0:detect_leaks=0"
        with tempfile.TemporaryDirectory(dir=self.folder) as own:
            report, result = os.path.join(own, "report"), os.path.join(own, "result")
            if plant:
                env.update(LD_PRELOAD=self.library, PLANT=plant, PLANT_REPORT=report,
                           PLANT_SHARED=os.path.join(own, "shared"))
            done = subprocess.run([self.program, "verify", "--only", case, "--json", result],
                                  env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  timeout=300, text=True, check=False)
            planted = 0
            if os.path.exists(report):
                with open(report, encoding="ascii") as f:
                    planted = sum(int(line.split()[1]) for line in f)
            found = {}
            if os.path.exists(result):
                with open(result, encoding="utf-8") as f:
                    cases = json.load(f)["cases"]
                found = next((c for c in cases if c["name"] == case), {})
        if not found:
            return done.returncode, None, done.stdout.strip(), planted
        return done.returncode, found["verdict"], found["reason"] or "", planted


def is_undecided(verdict, reason):
    return verdict == "measured" and reason.startswith("not judged: other programs")


def judge(verify, row):
    """(what is wrong, UNDECIDED or None; what the case said)."""
    status, verdict, reason, planted = verify.run(row.case, row.plant)
    said = f"{verdict}: {reason}" if verdict else f"no verdict, exit status {status}: {reason}"
    if not planted:
        return "was not planted", said
    if row.when == TIMED and is_undecided(verdict, reason):
        return UNDECIDED, said
    if status != 1 or verdict != "fail":
        return "was not caught", said
    if not re.search(row.reason, reason):
        return f"the reason is not \"{row.reason}\"", said
    return None, said


def judge_without(verify, case):
    """What is wrong without a fault, UNDECIDED or None."""
    status, verdict, reason, _ = verify.run(case)
    if status == 0 and is_undecided(verdict, reason):
        return UNDECIDED
    if status == 0 and verdict in ("pass", "measured"):
        return None
    return f"{verdict or f'exit status {status}'}: {reason}"


def listed(library):
    env = {**os.environ, "LD_PRELOAD": library, "PLANT": "list",
           "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"}
    done = subprocess.run(["/bin/true"], env=env, stdout=subprocess.PIPE, text=True, check=True)
    return [line.split("\t")[0] for line in done.stdout.splitlines()]


def has_namespaces():
    return subprocess.run(["unshare", "--user", "--map-root-user", "--net", "/bin/true"],
                          stderr=subprocess.DEVNULL, check=False).returncode == 0


def tell(wrong, fault, case, text):
    mark = "ok  " if not wrong else "busy" if wrong == UNDECIDED else "FAIL"
    print(f"{mark} {fault:22} {case:30} {text}", flush=True)


def run_rows(verify, rows, jobs):
    """Each case without a fault, and each row; what is wrong with them."""
    found = []
    cases = sorted({row.case for row in rows})
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for case, wrong in zip(cases, pool.map(lambda c: judge_without(verify, c), cases)):
            tell(wrong, "(none)", case, wrong or "")
            found.append(wrong)
        for row, (wrong, said) in zip(rows, pool.map(lambda r: judge(verify, r), rows)):
            tell(wrong, row.fault, row.case, f"{wrong + '; ' if wrong else ''}{said}")
            found.append(wrong)
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    if not has_namespaces():
        print("no network namespace can be made here")
        return SKIPPED
    rows = [Row(*row) for row in ROWS]
    failures = 0
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        verify = Verify(os.path.abspath(args.build), folder)
        missing = set(listed(verify.library)) ^ {row.fault for row in rows}
        if missing:
            print(f"FAIL the library's faults and the rows differ: {sorted(missing)}")
            failures += 1
        rows = [row for row in rows
                if not (args.short and row.when) and
                (not args.only or row.fault in args.only.split(","))]
        # What is held to a time runs alone.
        timed = [row for row in rows if row.when == TIMED]
        found = run_rows(verify, [row for row in rows if row.when != TIMED], args.jobs)
        found += run_rows(verify, timed, 1)
        failures += sum(wrong not in (None, UNDECIDED) for wrong in found)
        undecided = sum(wrong == UNDECIDED for wrong in found)
    print(f"{len(rows)} faults, {failures} failed, {undecided} undecided, "
          f"{time.monotonic() - begun:.0f} s")
    return 1 if failures else SKIPPED if undecided else 0


if __name__ == "__main__":
    sys.exit(main())
