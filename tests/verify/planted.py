#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Each planted fault is caught by the case of `uroce verify` that should, for its own reason.

  planted.py BUILD_DIR [--short] [--only FAULT,...] [--jobs N]

For each row of ROWS the case is run without the fault, when it must pass, and with it in both
agents, when it must fail with a reason that names the thing; and the fault must really have been
planted. --short leaves out what is held to a time, what waits for long, and further cases of one
fault: the rest says the same on any machine. What is held to a time and was not judged, for other
programs had the processors or the machine is too slow for it, is undecided. Exit status 1 when a
row failed; 77 when one is undecided, or where no network namespace can be made.
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
MORE = "more"  # another case that catches the same fault
EACH = "1/1"
UNDECIDED = "undecided"
# A process that stands still for some seconds on a busy machine is no fault of an adapter: what is
# answered late is asked for eight times.
PATIENT = {"UROCE_ACK_TIMEOUT_FLOOR_US": "500000"}

# (fault, rate or None for that of the table, case, reason[, LONG, TIMED or MORE])
ROWS = [
    # ---- completions, and the data that they announce ----
    ("lost-completion", None, "integrity/send", r"has wr_id \d+, expected|no completion of", LONG),
    ("doubled-completion", None, "integrity/send", r"has wr_id \d+, expected|too many"),
    ("swapped-completions", None, "integrity/send", r"has wr_id \d+, expected"),
    ("wrong-status", None, "integrity/send", r"completed with status 4 "),
    ("hidden-error", None, "function/rc_bad_rkey_write", r"found 0 \(success\)|status 0 \(success\)"),
    ("other-error", EACH, "function/rc_bad_rkey_write", r"status: expected 10 .*found 11 "),
    ("other-error", EACH, "function/rc_short_receive", r"status: expected [19] .*found 11 ", MORE),
    ("other-error", EACH, "function/rc_receive_bad_lkey", r"status: expected \d+ .*found 1[01] ", MORE),
    ("other-error", EACH, "edges/window", r"ended with status 11 .*, expected 10", MORE),
    ("other-error", EACH, "resilience/link_down", r"ended with status 11 .*, expected 12", MORE),
    ("wrong-opcode", None, "integrity/send", r"has opcode \d+, expected"),
    ("wrong-byte-len", None, "integrity/send", r"has byte_len 1025, expected 1024"),
    ("wrong-immediate", None, "integrity/send_imm", r"has immediate \d+, expected"),
    ("missing-immediate", None, "integrity/send_imm", r"flag of an immediate 0, expected 1"),
    ("wrong-wr-id", None, "integrity/send", r"has wr_id \d+, expected"),
    ("wrong-qp-num", None, "integrity/send", r"has qp_num \d+, expected"),
    ("wrong-src-qp", None, "integrity/ud_send", r"has src_qp \d+, expected"),
    ("missing-grh", None, "integrity/ud_send", r"has flag of a GRH 0, expected 1"),
    ("missing-flush", None, "resilience/peer_killed", r"a flushed request", LONG),
    ("latency", None, "latency/polling", r"late .*, expected at most 0.5 %"),
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
    ("long-write", None, "sizes/rc_write", r"changed a byte 1 B behind its end"),
    ("long-write", None, "sizes/uc_write_imm",
     r"changed a byte 1 B behind its end|came as one of", MORE),
    ("wrong-byte", "1/20", "sizes/rc_read", r"what read of \d+ B brought", MORE),
    ("wrong-byte", "1/20", "sizes/xrc_send_imm", r"what send_imm of \d+ B brought", MORE),
    ("short-write", "1/20", "sizes/rc_write_imm", r"came as one of \d+ B", MORE),
    ("wrong-byte", EACH, "sizes/rc_write_1g", r"what write of 1073741824 B brought", LONG),
    ("wrong-byte", "1/20", "sizes/ud_send", r"what send of \d+ B brought", MORE),
    ("swapped-requests", "1/10", "ordering/write_send", r"a WRITE before a message: byte"),
    ("swapped-requests", "1/10", "ordering/write_write",
     r"data in front of a number that is there: byte", MORE),
    ("swapped-requests", "1/10", "ordering/write_over",
     r"the second of two WRITEs before a message: byte", MORE),
    ("swapped-requests", "1/10", "ordering/write_imm", r"a WRITE before a message: byte", MORE),
    ("swapped-requests", "1/10", "ordering/xrc_write_send", r"a WRITE before a message: byte", MORE),
    ("swapped-requests", "1/10", "resilience/order_write_send",
     r"a WRITE before a message: byte", MORE),
    ("ignored-fence", EACH, "ordering/read_write", r"a READ before a fenced WRITE: byte", MORE),
    ("lost-atomic", "1/100", "ordering/atomic_read", r"a READ behind FETCH_ADD \d+ brought", MORE),
    ("doubled-atomic", "1/1000", "contention/fetch_add",
     r"fetch_add returned \d+, and \d+ are all|was taken by nobody"),
    ("torn-atomic", EACH, "contention/fetch_add",
     r"fetch_add returned \d+ a second time|was taken by", MORE),
    ("lost-atomic", "1/100", "contention/cmp_swap",
     r"cmp_swap returned \d+, and \d+ was there before|returned \d+ a second time|was taken by", MORE),
    ("wrong-immediate", "1/1000", "integrity/xrc_send_imm", r"has immediate \d+, expected", MORE),
    ("stale-read", None, "integrity/xrc_write_read", r"what READ brought", MORE),
    ("atomic-old-wrong", None, "integrity/xrc_fetch_add", r"a FETCH_ADD returned \d+", MORE),
    ("hidden-refusal", EACH, "edges/pieces", r"so many pieces was taken: \d+"),
    ("wrong-limits", EACH, "edges/pieces", r"ibv_create_qp|pieces", MORE),
    ("swapped-pieces", EACH, "edges/pieces", r"what SEND brought from pieces to pieces", MORE),
    ("long-write", EACH, "edges/pieces", r"what lies behind a WRITE of all pieces: byte", MORE),
    ("long-write", EACH, "edges/inline", r"what lies behind inline data: byte", MORE),
    ("hidden-refusal", EACH, "edges/inline", r"so many bytes of inline data was taken: \d+", MORE),
    ("late-inline", EACH, "edges/inline", r"inline data: byte", MORE),
    ("hidden-refusal", EACH, "edges/queues",
     r"a queue of \d+ requests took \d+", MORE),
    ("hidden-refusal", EACH, "edges/xrc_queues",
     r"a queue of \d+ requests took \d+", MORE),
    ("cut-message", EACH, "edges/message", r"a message of so many bytes was taken: 2147483649"),
    ("hidden-error", EACH, "edges/window", r"beyond a window ended with status 0", MORE),
    ("ignored-window", EACH, "edges/window", r"a WRITE one byte beyond a window ended with status 0"),
    ("hidden-error", EACH, "edges/xrc_wrong_queue",
     r"a SEND to a shared queue that is not there ended with status 0", MORE),
    # ---- under loss and interruption: what is wrong is seen all the same ----
    ("wrong-byte", "1/500", "resilience/loss", r"what a message brought", MORE),
    ("stale-read", "1/500", "resilience/loss_read", r"what READ brought", MORE),
    ("lost-atomic", "1/500", "resilience/loss_atomics",
     r"fetch_add returned \d+ a second time|was taken by both", MORE),
    ("doubled-atomic", "1/500", "resilience/duplication_atomics",
     r"fetch_add returned \d+, and \d+ are all|was taken by nobody", MORE),
    ("short-write", EACH, "resilience/link_blink", r"what WRITEs left across the interruption", MORE),
    ("read-offset", "1/50", "resilience/link_blink_read", r"what READ brought", MORE),
    ("lost-atomic", "1/50", "resilience/link_blink_atomics", r"FETCH_ADD \d+ returned \d+", MORE),
    ("hidden-error", EACH, "resilience/peer_killed_read", r"what READ brought", LONG),
    ("lost-atomic", None, "integrity/fetch_add", r"a FETCH_ADD returned \d+ a second time"),
    ("torn-atomic", None, "integrity/fetch_add", r"a FETCH_ADD returned \d+ a second time"),
    ("lost-datagram", None, "integrity/ud_send", r"lost .*, expected at most 0.5 %", LONG),
    ("doubled-datagram", None, "integrity/ud_send", r"came twice"),
    ("wrong-rkey-accepted", EACH, "function/rc_bad_rkey_write",
     r"status 0 \(success\).*error seed: unknown rkey"),
    ("ignored-qkey", EACH, "function/ud_wrong_qkey", r"is none that client qp \d+ has sent"),
    ("short-buffer-accepted", EACH, "function/rc_short_receive",
     r"found 0 \(success\).*error seed: receive too small"),
    ("bandwidth-cap", None, "line/1g", r"line \d", TIMED),
    ("bandwidth-cap", None, "line/1g_read", r"line \d", TIMED),
    ("lost-datagram", "1/20", "latency/ud_send_sizes",
     r"messages, or their answers, were lost: more than one in 100", MORE),
    # ---- objects ----
    ("leak-qp", None, "resources/leaks", r"ibv_destroy_srq: .*still there"),
    ("leak-cq", None, "resources/leaks", r"ibv_destroy_comp_channel: .*still there"),
    ("leak-mr", None, "resources/leaks", r"ibv_dealloc_pd: .*still there"),
    ("leak-ah", None, "resources/leaks", r"ibv_dealloc_pd: .*still there"),
    ("failed-qp", None, "setup/rc",
     r"2 of 10000 queue pairs were not made; the first failed to create", LONG),
    ("slow-qp", None, "setup/rc", r"p50", TIMED),
    ("slow-connect", None, "setup/rc", r"p50", TIMED),
    ("slow-registration", None, "registration/4k", r"p50", TIMED),
    ("few-regions", None, "registration/parallel",
     r"ibv_reg_mr.*: Cannot allocate memory"),
    ("few-groups", EACH, "resources/groups", r"group 9 of \d+: Cannot allocate memory"),
    ("hidden-refusal", EACH, "resources/receives", r"a shared queue of \d+ receives took \d+",
     MORE),
    ("swapped-completions", "1/5000", "resources/completions",
     r"completion \d+ of a full queue has wr_id", MORE),
    ("short-region", EACH, "registration/4k", r"to the end of the region"),
    ("ignored-access", EACH, "function/rc_no_access_write",
     r"status 0 \(success\).*error seed: region without the remote access flag"),
    ("ignored-qp-access", EACH, "function/rc_qp_no_write",
     r"status 0 \(success\).*error seed: QP without the remote access flag"),
    ("ignored-rnr-retry", EACH, "function/rc_rnr_recovery", r"RNR retry counter exceeded"),
    ("ignored-timeout", EACH, "resilience/peer_killed", r"no completion, good or bad, in", LONG),
    ("missing-multicast", EACH, "function/ud_multicast",
     r"no completion for \d+ s; waiting for server qp 0 receive", LONG),
    ("lost-completion", EACH, "function/rc_both_ways",
     r"no completion .*waiting for (client|server) qp", LONG),  # of both, or of one
    ("missing-limit", EACH, "function/srq_limit", r"no event of the limit of 16 receives"),
    ("wrong-limits", EACH, "resources/depth", r"ibv_create_qp|pieces"),
    # ---- the other kinds of cases ----
    ("wrong-byte", EACH, "threads/8", r"what a thread's WRITEs left", MORE),
    ("wrong-byte", "1/100", "registration/pool", r"what WRITEs left", MORE),
    ("wrong-byte", "1/100", "setup/rdma_cm", r"what a new connection brought", MORE),
    ("wrong-byte", EACH, "latency/send_sizes", r"what SEND brought", MORE),
    ("stale-read", EACH, "latency/read_sizes", r"what READ brought", MORE),
    ("wrong-byte", "1/10", "bandwidth/xrc_send", r"what SEND brought", MORE),
    ("wrong-immediate", EACH, "interoperation/ipv4", r"imm", MORE),
    ("wrong-immediate", EACH, "interoperation/rc", r"\d+ of \d+ are wrong: .*imm", LONG),
    # ---- what verification itself relies on ----
    ("idle-wrapper", EACH, "resilience/loss",
     r"of \d+ packets 0 were dropped on purpose, expected about \d+"),
    ("idle-wrapper", EACH, "resilience/reordering",
     r"of \d+ packets 0 were reordered on purpose", MORE),
    ("idle-wrapper", EACH, "resilience/duplication",
     r"of \d+ packets 0 were duplicated on purpose", MORE),
    ("idle-wrapper", EACH, "resilience/corruption",
     r"of \d+ packets 0 were corrupted on purpose", MORE),
    ("idle-wrapper", EACH, "resilience/loss_read", r"0 were dropped on purpose", MORE),
    ("idle-wrapper", EACH, "resilience/reordering_read", r"0 were reordered on purpose", MORE),
    ("idle-wrapper", EACH, "resilience/duplication_read", r"0 were duplicated on purpose", MORE),
    ("idle-wrapper", EACH, "resilience/corruption_read", r"0 were corrupted on purpose", MORE),
    ("idle-wrapper", EACH, "resilience/loss_atomics", r"0 were dropped on purpose", MORE),
    ("idle-wrapper", EACH, "resilience/reordering_atomics", r"0 were reordered on purpose", MORE),
    ("idle-wrapper", EACH, "resilience/duplication_atomics", r"0 were duplicated on purpose", MORE),
    ("idle-wrapper", EACH, "resilience/corruption_atomics", r"0 were corrupted on purpose", MORE),
    ("idle-wrapper", EACH, "resilience/loss_swaps", r"was dropped|were dropped on purpose", MORE),
    ("idle-wrapper", EACH, "resilience/loss_xrc", r"0 were dropped on purpose", MORE),
    ("idle-wrapper", EACH, "resilience/order_write_write",
     r"was (dropped|reordered) on purpose|were (dropped|reordered) on purpose", MORE),
    ("idle-wrapper", EACH, "resilience/order_write_send",
     r"was (dropped|reordered) on purpose|were (dropped|reordered) on purpose", MORE),
    ("idle-wrapper", EACH, "resilience/order_read_write",
     r"was (dropped|reordered) on purpose|were (dropped|reordered) on purpose", MORE),
    ("idle-wrapper", EACH, "resilience/all_operations", r"were dropped on purpose", LONG),
    ("idle-wrapper", EACH, "resilience/ud_damage_seen",
     r"(was|were) (ud_damaged|reordered) on purpose", MORE),
    ("idle-wrapper", EACH, "resilience/ud_damage_noticed",
     r"(was|were) (ud_damaged|reordered) on purpose", MORE),
    ("unshaped-line", EACH, "line/1g_write_4_qps", r"it is not shaped", TIMED),
    ("unshaped-line", EACH, "line/1g_read_both", r"it is not shaped", TIMED),
    ("slow-line", EACH, "line/simulated_100g_write_4_qps", r"line \d\d\.?\d* %, expected at least 98 %"),
    *(("slow-line", EACH, f"line/simulated_100g_{case}", r"line \d", MORE) for case in (
        "4096", "1024", "write_16_qps", "write_64_qps", "write_both", "write_both_4_qps",
        "write_both_16_qps", "write_both_64_qps", "read", "read_64_qps", "read_both",
        "read_both_64_qps", "send", "send_64_qps", "send_both", "send_both_64_qps")),
    *(("slow-line", EACH, f"line/{case}", r"line(_median)? \d", TIMED) for case in (
        "1g", "1g_read", "1g_send", "1g_write_imm", "1g_write_both", "1g_read_both", "1g_send_both",
        "1g_write_imm_both", "1g_write_4_qps", "1g_write_16_qps", "1g_write_64_qps",
        "1g_read_64_qps", "1g_send_64_qps", "1g_write_both_64_qps", "1g_read_both_64_qps", "5g",
        "5g_read", "5g_send", "5g_write_imm", "5g_write_both", "5g_read_both", "5g_send_both",
        "5g_write_imm_both", "5g_write_4_qps", "5g_write_16_qps", "5g_write_64_qps",
        "5g_read_64_qps", "5g_send_64_qps")),
]

# Of plain sockets and the processors: no fault of an adapter shows there.
WITHOUT_FAULT = {"udp_latency", "stream", "processors"}
PLAN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "verify", "plan")

# Less than a case minds, which it counts: (fault, rate, case, number).
TOLERATED = [
    ("lost-datagram", "1/1000", "latency/ud_send_sizes", "lost"),
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
        """(exit status, the case of the report, how often it was planted). A case that has none is
        {"verdict": None, "reason": what was printed}."""
        env = {k: v for k, v in os.environ.items() if not k.startswith(("UROCE_", "PLANT"))}
        # The library comes before the sanitizer's runtime, which would refuse that; what a fault
        # leaks is no news.
        env["ASAN_OPTIONS"] = "verify_asan_link_order=0:detect_leaks=0"
        env.update(PATIENT)
        with tempfile.TemporaryDirectory(dir=self.folder) as own:
            report, result = os.path.join(own, "report"), os.path.join(own, "result")
            if plant:
                env.update(LD_PRELOAD=self.library, PLANT=plant, PLANT_REPORT=report,
                           PLANT_SHARED=os.path.join(own, "shared"))
            done = subprocess.run([self.program, "verify", "--only", case, "--json", result],
                                  env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  timeout=900, text=True, check=False)
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
            found = {"verdict": None, "reason": done.stdout.strip()}
        found["reason"] = found["reason"] or ""
        return done.returncode, found, planted


def is_undecided(verdict, reason):
    return verdict == "measured" and reason.startswith("not judged: ")


def judge(verify, row):
    """(what is wrong, UNDECIDED or None; what the case said)."""
    status, found, planted = verify.run(row.case, row.plant)
    verdict, reason = found["verdict"], found["reason"]
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
    status, found, _ = verify.run(case)
    verdict, reason = found["verdict"], found["reason"]
    if status == 0 and is_undecided(verdict, reason):
        return UNDECIDED
    if status == 0 and verdict in ("pass", "measured"):
        return None
    return f"{verdict or f'exit status {status}'}: {reason}"


def judge_tolerated(verify, fault, rate, case, number):
    """What is wrong with a run that has some of a fault and must count it."""
    status, found, planted = verify.run(case, f"{fault},{rate}")
    count = found.get("values", {}).get(number, {}).get("value", 0)
    if status or not planted or not count > 0:
        return f"status {status}, planted {planted}, {number} {count}: {found['reason']}"
    return None


def listed(library):
    env = {**os.environ, "LD_PRELOAD": library, "PLANT": "list",
           "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"}
    done = subprocess.run(["/bin/true"], env=env, stdout=subprocess.PIPE, text=True, check=True)
    return [line.split("\t")[0] for line in done.stdout.splitlines()]


def kinds_without_row(rows):
    """Kinds of cases of the default plan that no fault is planted for."""
    text = ""
    for name in sorted(os.listdir(PLAN)):
        with open(os.path.join(PLAN, name), encoding="utf-8") as f:
            text += f.read()
    kinds = dict(re.findall(r"- name: (\S+)\n +kind: (\w+)\n", text))
    unknown = {row.case for row in rows} - set(kinds)
    return (set(kinds.values()) - WITHOUT_FAULT - {kinds.get(row.case) for row in rows}) | unknown


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
        missing = kinds_without_row(rows)
        if missing:
            print(f"FAIL kinds of cases without a row, or cases that are none: {sorted(missing)}")
            failures += 1
        rows = [row for row in rows
                if not (args.short and row.when) and
                (not args.only or row.fault in args.only.split(","))]
        # What is held to a time runs alone.
        timed = [row for row in rows if row.when == TIMED]
        found = run_rows(verify, [row for row in rows if row.when != TIMED], args.jobs)
        found += run_rows(verify, timed, 1)
        for fault, rate, case, number in TOLERATED:
            if not args.short and (not args.only or fault in args.only.split(",")):
                found.append(judge_tolerated(verify, fault, rate, case, number))
                tell(found[-1], fault, case, found[-1] or f"counted as {number}")
        failures += sum(wrong not in (None, UNDECIDED) for wrong in found)
        undecided = sum(wrong == UNDECIDED for wrong in found)
    print(f"{len(rows)} faults, {failures} failed, {undecided} undecided, "
          f"{time.monotonic() - begun:.0f} s")
    return 1 if failures else SKIPPED if undecided else 0


if __name__ == "__main__":
    sys.exit(main())
