#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`uroce verify` from outside: verdicts of a small plan between two namespaces, reports, bad input,
two hosts that know a token or do not, and what is left after Ctrl-C, kills and crashes.

    verify_test.py BUILD_DIR [TEST...]

Times are measured but held to nothing: the machine may be busy. Exit status 77 where no network
namespace can be made.
"""

import contextlib
import fcntl
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests"))

from harness import process, topology, unit  # noqa: E402

BUILD = ""
TOKEN = "test-token-0123456789"
PORT = 18701

PLAN = """\
name: small
cases:
  - name: floor/udp
    kind: udp_latency
    proves: a floor
    parameters: {iterations: 200}
  - name: a/write
    kind: latency
    proves: WRITE works
    parameters: {op: write, size: 3000, iterations: 200, warmup: 10}
    thresholds:
      soft: {at_most: 1000000, of: floor/udp, source: must hold}
      tight: {at_most: 1ns, source: cannot hold}
  - name: a/read
    kind: latency
    proves: READ works
    parameters: {op: read, size: 64KiB, iterations: 100, warmup: 10}
  - name: a/fetch_add
    kind: latency
    proves: FETCH_ADD works
    parameters: {op: fetch_add, iterations: 100}
  - name: a/cmp_swap
    kind: latency
    proves: CMP_SWAP works
    parameters: {op: cmp_swap, iterations: 100}
  - name: a/send
    kind: latency
    proves: SEND works
    parameters: {op: send, size: 5000, iterations: 100}
  - name: a/ud_send
    kind: latency
    proves: UD works
    parameters: {op: ud_send, size: 100, iterations: 100}
  - name: a/ud_too_long
    kind: latency
    proves: UD messages end at the MTU
    parameters: {op: ud_send, size: 100000, iterations: 100}
  - name: a/by_rdma_cm
    kind: latency
    proves: a queue pair that rdma_cm connects works
    parameters: {op: read, size: 2000, iterations: 100, connect: rdma_cm}
  - name: a/tcp
    kind: stream
    proves: TCP works
    parameters: {duration: 100ms}
  - name: a/udp
    kind: stream
    proves: UDP works
    parameters: {duration: 100ms, protocol: udp}
  - name: function/rc_send
    kind: verbs_check
    proves: RC SEND works
    parameters: {scenario: rc/send}
  - name: function/ipv6
    kind: verbs_check
    proves: IPv6 works
    parameters: {scenario: rc/write, gid: ipv6}
"""

# Kinds that check and hold nothing to a time: each passes.
CHECKS = """\
name: checks
cases:
  - name: b/uc_sizes
    kind: sizes
    proves: sizes of UC
    parameters: {op: write, transport: uc, size_max: 20000B}
  - name: b/xrc_sizes
    kind: sizes
    proves: sizes of XRC
    parameters: {op: send_imm, transport: xrc, size_max: 20000B}
  - name: b/ud_sizes
    kind: sizes
    proves: sizes of UD
    parameters: {op: send, transport: ud}
  - name: b/large
    kind: sizes
    proves: what is larger than what memory must be there for
    parameters: {op: read, size_min: 65MiB, size_max: 65MiB}
  - name: b/pieces
    kind: edges
    proves: lists of pieces
    parameters: {what: pieces, transport: xrc}
  - name: b/inline
    kind: edges
    proves: inline data
    parameters: {what: inline}
  - name: b/queues
    kind: edges
    proves: full queues
    parameters: {what: queues}
  - name: b/message
    kind: edges
    proves: the longest message
    parameters: {what: message}
  - name: b/window
    kind: edges
    proves: bounds of a window
    parameters: {what: bind}
  - name: b/xrc_queue
    kind: edges
    proves: queues of XRC
    parameters: {what: xrc_queue}
  - name: b/order
    kind: ordering
    proves: order under loss
    parameters: {rule: read_write, rounds: 64, impair: "drop=1%,reorder=1%", impaired: both}
  - name: b/atomic_order
    kind: ordering
    proves: order of atomics
    parameters: {rule: atomic_read, rounds: 64}
  - name: b/contention
    kind: contention
    proves: atomics of both sides under loss
    parameters: {op: cmp_swap, operations: 200, impair: "drop=1%", impaired: both}
  - name: b/xrc_contention
    kind: contention
    proves: atomics of both sides over XRC
    parameters: {op: fetch_add, operations: 200, transport: xrc}
  - name: b/completions
    kind: limits
    proves: the largest completion queue
    parameters: {object: completion, most: 20000}
  - name: b/groups
    kind: limits
    proves: multicast groups
    parameters: {object: group}
  - name: b/killed
    kind: interrupted
    proves: atomics to a process that was killed
    parameters: {how: killed, op: fetch_add}
"""

# Damage to one packet of 100; to one of 10,000, of a few.
HARM = """\
name: harm
cases:
  - name: c/damaged
    kind: integrity
    proves: no damaged byte comes
    parameters: {op: send, size: 4KiB, messages: 2000, impair: "corrupt=1%", impaired: both}
  - name: c/unharmed
    kind: integrity
    proves: nothing
    parameters: {op: send, messages: 64, impair: "corrupt=0.01%"}
"""

# One case that lasts, and one behind it.
LONG = """\
name: long
cases:
  - name: a/first
    kind: verbs_check
    proves: is done
    parameters: {scenario: rc/send}
  - name: a/long
    kind: latency
    proves: lasts
    parameters: {op: write, size: 8, iterations: 10000000}
    timeout: 300s
  - name: a/last
    kind: verbs_check
    proves: comes after it
    parameters: {scenario: rc/send}
"""

MATRIX = """\
name: matrix
cases:
  - name: interoperation/some
    kind: matrix
    proves: some scenarios both ways
    parameters: {scenarios: "rc/send,rc/qp-no-write,rc/write,ud"}
"""
COLUMNS = ["IPv4, initiator requests", "IPv4, target requests", "IPv6, initiator requests",
           "IPv6, target requests"]


def program(name):
    return os.path.join(BUILD, "bin", name)


def descendants(pid):
    """All processes below one."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="ascii", errors="replace") as f:
                parent = int(f.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
        if parent == pid:
            found += [int(entry)] + descendants(int(entry))
    return found


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="ascii", errors="replace") as f:
            return f.read().strip()
    except OSError:
        return ""


def is_there(pid):
    """Runs still, or waits to be reaped."""
    return os.path.exists(f"/proc/{pid}")


class Verify(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.addCleanup(process.end_all)
        self.json = os.path.join(self.folder.name, "out.json")

    def write(self, text, name="plan.yaml"):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def start(self, *arguments, ns=None, env=None):
        return process.Process([program("uroce"), "verify", *arguments],
                               prefix=ns.prefix() if ns else (), env=env)

    def run_plan(self, text, *arguments, status=0, **more):
        """The report as JSON."""
        done = self.start("--plan", self.write(text), "--json", self.json, *arguments, **more)
        found = done.wait(240)
        self.assertEqual(found, status, done.output())
        self.output = done.output()
        with open(self.json, encoding="utf-8") as f:
            return json.load(f)

    def await_case(self, running, name):
        """Until the process of the case is there: one more below each agent. Their pids."""
        def inner():
            agents = [p for p in descendants(running.pid) if name_of(p) == "verify-agent"]
            parents = [p for p in agents if any(c in agents for c in descendants(p))]
            return [c for p in parents for c in descendants(p) if c in agents]
        process.wait_until(lambda: running.poll() is not None or
                           (name in running.output() and inner()), 60, f"case after {name}")
        self.assertIsNone(running.poll(), running.output())
        return inner()


def verdicts(report):
    return {c["name"]: c["verdict"] for c in report["cases"]}


class Places(Verify):
    def test_small_plan(self):
        report = self.run_plan(PLAN)
        found = verdicts(report)
        skipped = [n for n, v in found.items() if v == "skipped"]
        self.assertEqual(skipped, ["a/ud_too_long"])
        for name in ("floor/udp", "a/read", "a/send", "a/tcp", "a/udp", "a/fetch_add", "a/cmp_swap",
                     "a/by_rdma_cm"):
            self.assertEqual(found[name], "measured")
        for name in ("a/write", "function/rc_send", "function/ipv6"):
            self.assertEqual(found[name], "pass")
        self.assertTrue(report["complete"])
        self.assertEqual(report["totals"], {"pass": 3, "fail": 0, "skipped": 1, "measured": 9})
        self.assertEqual(report["place"], "namespaces")
        write = report["cases"][1]
        self.assertEqual((write["number"], write["unit"], write["reason"]), ("p50", "us", None))
        self.assertGreater(write["value"], 0)
        self.assertIn("at most 1e+06 x floor/udp", write["threshold"])
        self.assertEqual(write["limit"]["floor"], report["cases"][0]["value"])
        self.assertEqual(sum(b[2] for b in write["histogram"]["buckets"]), 200)
        values = write["values"]
        self.assertLessEqual(values["p50"]["value"], values["p99"]["value"])
        self.assertLessEqual(values["p99.99"]["value"], values["max"]["value"])
        for side in ("initiator", "target"):
            facts = report["environment"][side]["facts"]
            self.assertIn("uroce_ve0", [d["name"] for d in facts["devices"]])
            self.assertTrue(facts["libibverbs"].startswith(BUILD))
            self.assertEqual([d["netdev"] for d in facts["devices"] if d["name"] == "uroce_ve0"],
                             [{"name": "ve0", "mtu": 1500, "speed_mbps": 10000, "driver": "veth"}])

    def test_checks(self):
        report = self.run_plan(CHECKS)
        found = {n: v for n, v in verdicts(report).items() if n != "b/killed"}
        self.assertEqual(set(found.values()), {"pass"}, report)
        values = {c["name"]: c["values"] for c in report["cases"]}
        self.assertEqual(values["b/large"]["largest"]["value"], 65 << 20)
        self.assertEqual(values["b/contention"]["operations"]["value"], 400)
        self.assertGreater(values["b/killed"]["ended"]["value"], 1e5)

    def test_memory_that_is_not_there(self):
        plan = CHECKS.replace("65MiB", "2GiB")
        prefix = ["prlimit", "--as=1500000000"]
        done = process.Process([program("uroce"), "verify", "--plan", self.write(plan), "--only",
                                "b/large", "--json", self.json], prefix=prefix)
        if done.wait(120) != 0 and not os.path.exists(self.json):
            self.skipTest("a sanitizer's own memory is more than that")
        with open(self.json, encoding="utf-8") as f:
            case = json.load(f)["cases"][0]
        self.assertEqual(case["verdict"], "skipped", done.output())
        # the machine has as much, or not even that
        self.assertRegex(case["reason"], "MiB of memory (cannot be had|are free)")

    def test_harm(self):
        """What came to harm is told, and right messages of which nothing did prove nothing."""
        report = self.run_plan(HARM, status=1)
        self.assertEqual(verdicts(report), {"c/damaged": "pass", "c/unharmed": "fail"})
        damaged, unharmed = report["cases"]
        target = damaged["detail"]["target"]["harm"]
        self.assertGreaterEqual(target["packets_received"], 8000)
        self.assertIn(target["corrupted"], range(20, 200))
        self.assertIn(target["bad_icrc"], range(20, target["corrupted"] + 1))
        self.assertIn("corrupted", damaged["detail"]["initiator"]["harm"])
        self.assertEqual(unharmed["detail"]["target"]["harm"]["corrupted"], 0)
        self.assertRegex(unharmed["reason"],
                         r"none of \d+ packets was corrupted on purpose, so nothing is proved")

    def test_threshold_not_held(self):
        report = self.run_plan(PLAN, "--only", "a/write", "--profile", "tight", status=1)
        write = report["cases"][-1]
        self.assertEqual(write["verdict"], "fail")
        self.assertIn("expected at most 0.001 us", write["reason"])

    def test_repeat_and_seed(self):
        report = self.run_plan(PLAN, "--only", "function", "--repeat", "2", "--seed", "7")
        self.assertEqual([(c["name"], c["round"]) for c in report["cases"]],
                         [("function/rc_send", 1), ("function/rc_send", 2),
                          ("function/ipv6", 1), ("function/ipv6", 2)])
        again = self.run_plan(PLAN, "--only", "function/ipv6", "--seed", "7")
        self.assertEqual(again["cases"][0]["seed"], report["cases"][2]["seed"])
        self.assertNotEqual(report["cases"][0]["seed"], report["cases"][1]["seed"])

    def test_reports_on_standard_output(self):
        done = subprocess.run([program("uroce"), "verify", "--plan", self.write(PLAN), "--only",
                               "function/rc_send", "--json", "-"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=120, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(verdicts(json.loads(done.stdout)), {"function/rc_send": "pass"})
        self.assertIn("1 passed", done.stderr)

    def test_junit(self):
        path = os.path.join(self.folder.name, "out.xml")
        self.run_plan(PLAN, "--only", "a/write,a/ud_too_long", "--profile", "tight", "--junit", path,
                      status=1)
        suite = xml.etree.ElementTree.parse(path).getroot()
        self.assertEqual((suite.get("failures"), suite.get("skipped")), ("1", "1"))
        self.assertEqual([c.get("name") for c in suite if c.find("failure") is not None], ["write"])

    def test_nothing_is_left(self):
        running = self.start("--plan", self.write(PLAN), "--only", "function/rc_send")
        seen = set()

        def look():
            seen.update(descendants(running.pid))
            return running.poll() is not None
        process.wait_until(look, 120, "the run's end")
        self.assertEqual(running.status, 0, running.output())
        self.assertGreater(len(seen), 4)  # the keeper, two agents, their cases, daemons
        self.assertEqual([name_of(p) for p in seen if is_there(p)], [])

    def test_on_a_terminal(self):
        pid, fd = pty.fork()
        if not pid:
            os.execv(program("uroce"), ["uroce", "verify", "--plan", self.write(PLAN), "--only",
                                        "floor,a/write,a/tcp"])
        shown = b""
        while True:
            try:
                got = os.read(fd, 4096)
            except OSError:
                break
            if not got:
                break
            shown += got
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        self.assertRegex(shown, rb"\[[#.]{24}\] \d of 3  [a-z/_]+, \d+ s left")
        # what stays is a line for each case: the bar is wiped before it
        lines = [line.rsplit(b"\x1b[K", 1)[-1] for line in shown.split(b"\r\n")]
        self.assertEqual(len([line for line in lines if b"left" in line]), 0)
        self.assertEqual(len([line for line in lines if b"\x1b[" in line]), 3)

    def test_ctrl_c_on_a_terminal(self):
        pid, fd = pty.fork()
        if not pid:
            os.execv(program("uroce"), ["uroce", "verify", "--plan", self.write(LONG)])
        shown = b""
        while b"a/long" not in shown:
            shown += os.read(fd, 4096)
        time.sleep(0.3)
        below = descendants(pid)
        os.write(fd, b"\x03")
        try:
            while True:
                shown += os.read(fd, 4096)
        except OSError:
            pass
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 130)
        self.assertIn(b"broken off: interrupted", shown)
        self.assertEqual([name_of(p) for p in below if is_there(p)], [])

    def test_root_of_a_container(self):
        if not topology.may_change_user():
            self.skipTest("only root has rights to give up")
        done = process.Process([program("uroce"), "verify", "--plan", self.write(PLAN), "--only",
                                "function/rc_send"],
                               prefix=["setpriv", "--bounding-set", "-sys_admin,-net_admin"])
        self.assertEqual(done.wait(120), 0, done.output())

    def test_without_privilege(self):
        prefix = (["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
                  if topology.may_change_user() else [])
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            plan = os.path.join(folder, "plan.yaml")
            with open(plan, "w", encoding="utf-8") as f:
                f.write(PLAN)
            done = process.Process([program("uroce"), "verify", "--plan", plan, "--only",
                                    "function/rc_send"], prefix=prefix)
            status = done.wait(120)
            if status == 2 and "no user namespace" in done.output():
                self.skipTest("no user namespaces without root here")
            self.assertEqual(status, 0, done.output())


class Matrix(Verify):
    """The kind of case that makes a table of scenarios, requesters and address families."""

    def rows(self, report):
        return {row["scenario"]: [row[c] for c in COLUMNS]
                for row in report["cases"][0]["detail"]["initiator"]["matrix"]}

    def test_all_right(self):
        report = self.run_plan(MATRIX)
        case = report["cases"][0]
        self.assertEqual((case["verdict"], case["reason"]), ("pass", None))
        rows = self.rows(report)
        self.assertEqual(list(rows)[:3], ["rc/send", "rc/write", "rc/qp-no-write"])
        self.assertGreater(len([name for name in rows if name.startswith("ud/")]), 10)
        self.assertEqual(rows["rc/send"], ["right"] * 4)
        self.assertEqual(rows["rc/qp-no-write"], ["right: remote invalid request error"] * 4)
        self.assertEqual((case["value"], case["number"]), (4 * len(rows), "right"))

    def test_a_fault_costs_one_cell(self):
        env = {**os.environ, "LD_PRELOAD": os.path.join(BUILD, "tests", "libplant.so"),
               "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0",
               "PLANT": "ignored-qp-access,1/1",
               "PLANT_REPORT": os.path.join(self.folder.name, "planted"),
               "PLANT_SHARED": os.path.join(self.folder.name, "shared")}
        report = self.run_plan(MATRIX.replace(",ud", ",ud/send"), status=1, env=env)
        case = report["cases"][0]
        self.assertEqual(self.rows(report), {
            "rc/send": ["right"] * 4, "rc/write": ["right"] * 4,
            "rc/qp-no-write": ["WRONG"] * 4, "ud/send": ["right"] * 4})
        self.assertRegex(case["reason"], r"4 of 16 are wrong: rc/qp-no-write \(IPv4, initiator "
                                         r"requests\): .*status 0")
        self.assertEqual([case["values"][n]["value"] for n in ("right", "skipped", "wrong")],
                         [12, 0, 4])


class SelfTest(Verify):
    def test_self_test(self):
        with topology.Loopback() as place:
            done = self.start("--self-test", "--json", self.json, ns=place.a)
            self.assertEqual(done.wait(120), 0, done.output())
            with open(self.json, encoding="utf-8") as f:
                report = json.load(f)
            self.assertEqual(report["place"], "here")
            self.assertEqual(report["totals"]["fail"] + report["totals"]["skipped"], 0)

    def test_self_test_fails_without_a_device(self):
        ns = topology.make_namespace()
        ns.run("ip", "link", "set", "lo", "down")
        done = self.start("--self-test", "--json", self.json, ns=ns)
        self.assertEqual(done.wait(120), 2, done.output())
        self.assertIn("the initiator has no verbs device", done.output())


class Broken(Verify):
    """Runs that do not come to their end."""

    def check_partial(self, report, reason):
        self.assertFalse(report["complete"])
        self.assertIn(reason, report["broken_off"])
        self.assertEqual(verdicts(report), {"a/first": "pass", "a/long": "fail", "a/last": "skipped"})
        self.assertIn(reason, report["cases"][1]["reason"])
        self.assertIn("not run", report["cases"][2]["reason"])

    def load(self):
        with open(self.json, encoding="utf-8") as f:
            return json.load(f)

    def interrupt(self, sig):
        running = self.start("--plan", self.write(LONG), "--json", self.json)
        self.await_case(running, "a/first")
        below = descendants(running.pid)
        began = time.monotonic()
        running.kill(sig)
        self.assertEqual(running.wait(60), 130, running.output())
        self.assertLess(time.monotonic() - began, 20)
        self.check_partial(self.load(), "interrupted")
        self.assertEqual([name_of(p) for p in below if is_there(p)], [])

    def test_ctrl_c(self):
        self.interrupt(signal.SIGINT)

    def test_sigterm(self):
        self.interrupt(signal.SIGTERM)

    def test_killed(self):
        running = self.start("--plan", self.write(LONG))
        self.await_case(running, "a/first")
        below = descendants(running.pid)
        running.kill(signal.SIGKILL)
        process.wait_until(lambda: not any(is_there(p) for p in below), 20, "the end of all below")

    def test_case_that_crashes(self):
        running = self.start("--plan", self.write(LONG), "--json", self.json)
        # not SIGSEGV, which a sanitizer makes an exit status of
        os.kill(self.await_case(running, "a/first")[0], signal.SIGKILL)
        self.assertEqual(running.wait(120), 1, running.output())
        report = self.load()
        self.assertEqual(verdicts(report), {"a/first": "pass", "a/long": "fail", "a/last": "pass"})
        self.assertIn("ended by signal 9", report["cases"][1]["reason"])
        self.assertTrue(report["complete"])

    def test_agent_that_is_killed(self):
        running = self.start("--plan", self.write(LONG), "--json", self.json)
        case = self.await_case(running, "a/first")[0]
        with open(f"/proc/{case}/stat", encoding="ascii") as f:
            agent = int(f.read().rsplit(")", 1)[1].split()[1])
        os.kill(agent, signal.SIGKILL)
        self.assertEqual(running.wait(60), 1, running.output())
        self.check_partial(self.load(), "agent has gone")

    def test_agent_that_stands_still(self):
        running = self.start("--plan", self.write(LONG), "--json", self.json)
        case = self.await_case(running, "a/first")[0]
        with open(f"/proc/{case}/stat", encoding="ascii") as f:
            agent = int(f.read().rsplit(")", 1)[1].split()[1])
        os.kill(agent, signal.SIGSTOP)
        self.assertEqual(running.wait(60), 1, running.output())
        self.check_partial(self.load(), "agent for 15 s")
        self.assertFalse(is_there(agent))

    def test_case_that_takes_too_long(self):
        report = self.run_plan(LONG.replace("timeout: 300s", "timeout: 2s"), status=1)
        self.assertEqual(verdicts(report), {"a/first": "pass", "a/long": "fail", "a/last": "pass"})
        self.assertRegex(report["cases"][1]["reason"], "in the time of the case|not ended in 2 s")


class BadInput(Verify):
    def expect(self, expected, *arguments):
        done = subprocess.run([program("uroce"), "verify", *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=60, text=True)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn(expected, done.stdout)

    def test_plans(self):
        rows = (
            (PLAN.replace("kind: udp_latency", "kind: udp_latenzy"),
             ":4: unknown kind of case udp_latenzy, expected perhaps udp_latency"),
            (PLAN.replace("op: write", "op: wirte"), ":10: op: found \"wirte\"; did you mean write?"),
            (PLAN.replace("at_most: 1ns", "at_most: -1ns"), ":13: at_most: found -1ns, expected a time"),
            (PLAN.replace("at_most: 1ns", "at_most: 0"), ":13: impossible threshold"),
            (PLAN.replace("of: floor/udp", "of: floor/none"),
             ":12: of: found floor/none, expected the name of a case before this one"),
            ("cases: {", "no YAML"),
        )
        for text, expected in rows:
            path = self.write(text)
            self.expect(path + expected if expected[0] == ":" else expected, "--plan", path)

    def test_profile_files(self):
        profile = self.write("profile: site\nthresholds:\n"
                             "- {case: a/write, at_most: 1ns, source: mine}\n", "site.yaml")
        report = self.run_plan(PLAN, "--only", "a/write", "--profile", profile, status=1)
        self.assertEqual(report["profile"], "site")
        self.assertEqual([(c["name"], c["limit"]["source"]) for c in report["cases"]],
                         [("a/write", "mine")])
        profile = self.write("profile: site\nthresholds:\n- {case: b, at_most: 1ns, source: mine}\n")
        self.expect(profile + ":3: case: the plan has none of the name b", "--profile", profile)

    def test_options(self):
        plan = self.write(PLAN)
        rows = (
            ("no option --nothing", "--nothing"),
            ("or its value is missing", "--plan"),
            ("takes no argument, got plan.yaml", "plan.yaml"),
            ("/nowhere/plan.yaml: No such file", "--plan", "/nowhere/plan.yaml"),
            ("--only: no case of the plan fits noting", "--plan", plan, "--only", "a,noting"),
            ("--skip: no case of the plan fits b", "--plan", plan, "--skip", "b"),
            ("no case is left", "--plan", plan, "--only", "a", "--skip", "a"),
            ("threshold for profile 400g", "--plan", plan, "--profile", "400g"),
            ("--repeat: found 0, expected a number from 1", "--repeat", "0"),
            ("--seed: found -1", "--seed", "-1"),
            ("--mtu: found 100", "--mtu", "100"),
            ("--quirks: found siw, expected rxe", "--quirks", "siw"),
            ("--qp-timeout: found 32, expected a number from 1 to 31", "--qp-timeout", "32"),
            ("--qp-timeout is for the other end", "--server", "--qp-timeout", "18"),
            ("--peer needs the --token", "--peer", "host"),
            ("--token: expected 12 to 128 characters", "--peer", "host", "--token", "short"),
            ("--server and --peer are the two ends", "--server", "--peer", "host"),
            ("--server: plan and reports are the other end's", "--server", "--plan", plan),
            ("--self-test is a plan of its own", "--self-test", "--plan", plan),
            ("one report at most goes to the standard output", "--json", "-", "--junit", "-"),
            ("two reports in one file", "--json", "/tmp/x", "--html", "/tmp/x"),
            ("--peer: found host:x", "--peer", "host:x", "--token", TOKEN),
            ("/nowhere/out.json: No such file", "--json", "/nowhere/out.json"),
        )
        for expected, *arguments in rows:
            self.expect(expected, *arguments)

    def test_list(self):
        done = subprocess.run([program("uroce"), "verify", "--list"], stdout=subprocess.PIPE,
                              timeout=60, text=True, check=True)
        self.assertRegex(done.stdout, r"(?m)^latency/write_64 .*\[at most .* x floor/udp_asleep_64\]$")


class Peers(Verify):
    """Server in one namespace, orchestrator in another: two hosts."""

    def setUp(self):
        super().setUp()
        self.place = topology.Pair()

    def serve(self, *arguments):
        server = self.start("--server", "--token", TOKEN, *arguments, ns=self.place.a)
        process.wait_until(lambda: "serving" in server.output() or server.poll() is not None, 10,
                           "the server")
        self.assertIsNone(server.poll(), server.output())
        return server

    def peer(self, *arguments, address=None, token=TOKEN):
        return self.start("--peer", address or self.place.ipv4, "--token", token, *arguments,
                          ns=self.place.b)

    def stop(self, server):
        server.kill(signal.SIGTERM)
        self.assertEqual(server.wait(20), 0, server.output())

    def talk(self, *lines, hear=2, address=None):
        """Says lines to the server from the other namespace; what it answers."""
        script = ("import socket, sys\n"
                  "s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 5)\n"
                  "s.settimeout(10)\n"
                  "f = s.makefile('rb')\n"
                  "out = [f.readline()]\n"
                  "s.sendall(bytes.fromhex(sys.argv[3]))\n"
                  "out += [f.readline() for _ in range(int(sys.argv[4]) - 1)]\n"
                  "sys.stdout.buffer.write(b''.join(out))\n")
        status, output = process.run(
            [sys.executable, "-c", script, address or self.place.ipv4, str(PORT),
             b"".join(lines).hex(), str(hear)], prefix=self.place.b.prefix())
        self.assertEqual(status, 0, output)
        return output

    def test_run(self):
        server = self.serve()
        for address in (self.place.ipv4, f"[{self.place.ipv6}]:{PORT}"):
            done = self.peer("--plan", self.write(PLAN), "--json", self.json, address=address)
            self.assertEqual(done.wait(240), 0, done.output())
            with open(self.json, encoding="utf-8") as f:
                report = json.load(f)
            self.assertEqual((report["place"], report["peer"]), ("peer", address))
            self.assertEqual(report["totals"], {"pass": 3, "fail": 0, "skipped": 1, "measured": 9})
        process.wait_until(lambda: server.output().count("the run has ended") == 2, 10, "its word")
        self.stop(server)

    def test_hosts_that_share_nothing(self):
        """Own homes and runtime folders, and not the other's environment."""
        def env(name):
            home = os.path.join(self.folder.name, name)
            for folder in ("home", "run", "tmp"):
                os.makedirs(os.path.join(home, folder), mode=0o700)
            return {"PATH": os.environ["PATH"], "HOME": os.path.join(home, "home"),
                    "XDG_RUNTIME_DIR": os.path.join(home, "run"),
                    "TMPDIR": os.path.join(home, "tmp"), "UROCE_VERIFY_TOKEN": TOKEN,
                    "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")}
        server = self.start("--server", "--once", "--bind", self.place.ipv6, ns=self.place.a,
                            env=env("a"))
        process.wait_until(lambda: "serving" in server.output(), 10, "the server")
        done = self.start("--peer", self.place.ipv6, "--plan", self.write(PLAN), "--json", self.json,
                          "--only", "function,a/by_rdma_cm", ns=self.place.b, env=env("b"))
        self.assertEqual(done.wait(60), 0, done.output())
        self.assertEqual(server.wait(20), 0, server.output())
        with open(self.json, encoding="utf-8") as f:
            report = json.load(f)
        for side, address in (("initiator", self.place.client_ipv6), ("target", self.place.ipv6)):
            uses = report["environment"][side]["facts"]["uses"]
            self.assertEqual((uses["implementation"], uses["device"], uses["gid"]),
                             ("uroce", "uroce_ur0", address))
            self.assertIn(f"{side:9} uroce {uses['implementation_version']}, uroce_ur0 {address}",
                          done.output())

    def test_one_family(self):
        for ns in (self.place.a, self.place.b):
            ns.run("sh", "-c", "echo 1 >/proc/sys/net/ipv6/conf/ur0/disable_ipv6")
        server = self.serve("--once")
        done = self.peer("--plan", self.write(MATRIX.replace(",ud", "")), "--json", self.json)
        self.assertEqual(done.wait(120), 0, done.output())
        with open(self.json, encoding="utf-8") as f:
            case = json.load(f)["cases"][0]
        for row in case["detail"]["initiator"]["matrix"]:
            self.assertEqual(list(row), ["scenario", *COLUMNS[:2]])
        self.assertEqual(server.wait(20), 0, server.output())

    def test_killed_peer_without_ipv4(self):
        for ns in (self.place.a, self.place.b):
            ns.run("ip", "-4", "addr", "flush", "dev", "ur0")
        server = self.serve("--once")
        done = self.peer("--plan", self.write(CHECKS), "--json", self.json, "--only", "b/killed",
                         address=self.place.ipv6)
        self.assertEqual(done.wait(60), 0, done.output())
        with open(self.json, encoding="utf-8") as f:
            self.assertEqual(json.load(f)["cases"][0]["reason"], None)
        self.assertEqual(server.wait(20), 0, server.output())

    def test_libraries_of_the_system_on_one_side(self):
        """There, no device of uroce is seen, and three programs are enough."""
        folder = os.path.join(self.folder.name, "bin")
        os.mkdir(folder)
        for name in ("uroce", "verify-agent", "verbs-check"):
            shutil.copy(program(name), folder)
        server = process.Process([os.path.join(folder, "uroce"), "verify", "--server", "--system",
                                  "--token", TOKEN], prefix=self.place.a.prefix())
        process.wait_until(lambda: "serving" in server.output(), 10, "the server")
        done = self.peer("--plan", self.write(PLAN), "--json", self.json)
        self.assertEqual(done.wait(60), 2, done.output())
        self.assertRegex(done.output(), r"the target has no verbs device \(its library: (?!"
                         + re.escape(BUILD) + ")")
        self.stop(server)

    def test_quirks_are_each_ends_own(self):
        server = self.serve("--once", "--quirks", "rxe")
        done = self.peer("--plan", self.write(PLAN), "--json", self.json, "--only",
                         "function/rc_send", "--qp-timeout", "16")
        self.assertEqual(done.wait(60), 0, done.output())
        with open(self.json, encoding="utf-8") as f:
            report = json.load(f)
        self.assertEqual([report["environment"][side]["facts"]["uses"].get("quirks")
                          for side in ("initiator", "target")], [None, "rxe"])
        self.assertIn("known departures of rxe are accepted", done.output())

    def test_token_in_the_environment(self):
        server = self.serve("--once")
        done = process.Process([program("uroce"), "verify", "--peer", self.place.ipv4, "--plan",
                                self.write(PLAN), "--only", "function/rc_send"],
                               prefix=self.place.b.prefix(),
                               env={**os.environ, "UROCE_VERIFY_TOKEN": TOKEN})
        self.assertEqual(done.wait(60), 0, done.output())
        self.assertEqual(server.wait(20), 0, server.output())  # --once

    def test_sides_that_answer_different_numbers_of_reads(self):
        server = self.serve("--once")
        plan = PLAN[:PLAN.index("  - name")] + """\
  - name: a/read
    kind: bandwidth
    proves: as many READs are under way as the other side answers
    parameters: {op: read, size: 64, messages: 1000}
    value: messages
"""
        done = self.start("--peer", self.place.ipv4, "--token", TOKEN, "--plan", self.write(plan),
                          ns=self.place.b, env={**os.environ, "LD_PRELOAD": os.path.join(
                              BUILD, "tests", "libverify_one_read.so")})
        self.assertEqual(done.wait(60), 0, done.output())
        self.assertEqual(server.wait(20), 0, server.output())

    def test_token_that_is_made(self):
        server = self.start("--server", ns=self.place.a)
        process.wait_until(lambda: "--token" in server.output(), 10, "the token")
        token = re.search(r"--token (\S+)", server.output())[1]
        done = self.peer("--plan", self.write(PLAN), "--only", "function/rc_send", token=token)
        self.assertEqual(done.wait(60), 0, done.output())
        self.stop(server)

    def test_wrong_token(self):
        server = self.serve()
        done = self.peer(token=TOKEN + "x")
        self.assertEqual(done.wait(30), 2, done.output())
        self.assertIn("refused: wrong token", done.output())
        process.wait_until(lambda: "refused: wrong token" in server.output(), 5, "its word")
        self.stop(server)

    def test_version_of_the_client(self):
        server = self.serve()
        answer = self.talk(b'{"do": "begin", "protocol": 99, "version": "7.7"}\n')
        self.assertIn("the client is version 7.7 (protocol 99), and the server", answer)
        process.wait_until(lambda: "version 7.7" in server.output(), 5, "its word")
        self.stop(server)

    def test_version_of_the_server(self):
        script = ("import socket, sys\n"
                  "l = socket.create_server((sys.argv[1], int(sys.argv[2])))\n"
                  "print('serving', flush=True)\n"
                  "s = l.accept()[0]\n"
                  "s.sendall(b'{\"is\": \"server\", \"protocol\": 99, \"version\": \"7.7\", \"nonce\": \"' +"
                  " b'a' * 64 + b'\"}\\n')\n"
                  "print(s.makefile().readline())\n")
        server = process.Process([sys.executable, "-c", script, self.place.ipv4, str(PORT)],
                                 prefix=self.place.a.prefix())
        process.wait_until(lambda: "serving" in server.output(), 10, "the server")
        done = self.peer()
        self.assertEqual(done.wait(30), 2, done.output())
        self.assertIn("the server is version 7.7 (protocol 99), and this is", done.output())
        server.wait(10)
        self.assertIn('"proof":""', server.output())  # nothing is proved to such a one

    def test_words_of_the_server(self):
        """What a peer says that knows the token does not steer the terminal either."""
        script = ("import hashlib, hmac, json, socket, sys\n"
                  "def proof(who, *nonces):\n"
                  "    key = hashlib.blake2b(sys.argv[4].encode(), digest_size=32).digest()\n"
                  "    text = '|'.join(('uroce verify', who) + nonces)\n"
                  "    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()\n"
                  "listener = socket.create_server((sys.argv[1], int(sys.argv[2])))\n"
                  "print('serving', flush=True)\n"
                  "f = listener.accept()[0].makefile('rw')\n"
                  "def say(**words):\n"
                  "    f.write(json.dumps(words) + '\\n')\n"
                  "    f.flush()\n"
                  "    return json.loads(f.readline())\n"
                  "begin = say(**{'is': 'server'}, protocol=int(sys.argv[5]), version=sys.argv[3],\n"
                  "            nonce='a' * 64)\n"
                  "say(**{'is': 'accepted'}, proof=proof('server', 'a' * 64, begin['nonce']))\n"
                  "say(**{'is': 'hello'}, reason='none\\x1b[2J\\x9b31m')\n")
        version = subprocess.run([program("uroce"), "--version"], stdout=subprocess.PIPE,
                                 text=True, check=True).stdout.split()[1]
        with open(os.path.join(ROOT, "src", "verify", "protocol.h"), encoding="utf-8") as f:
            protocol = re.search(r"#define ROCE_VERIFY_PROTOCOL (\d+)", f.read())[1]
        server = process.Process([sys.executable, "-c", script, self.place.ipv4, str(PORT), version,
                                  TOKEN, protocol], prefix=self.place.a.prefix())
        process.wait_until(lambda: "serving" in server.output(), 10, "the server")
        done = self.peer("--plan", self.write(PLAN))
        self.assertEqual(done.wait(30), 2, done.output())
        self.assertIn("broken off: the target cannot list its devices: none?[2J??31m", done.output())

    def test_nobody_reads_what_the_server_says(self):
        for is_closed in (False, True):
            read, write = os.pipe()
            fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
            server = subprocess.Popen([*self.place.a.prefix(), program("uroce"), "verify", "--server",
                                       "--once", "--token", TOKEN], stdout=write, stderr=write)
            self.addCleanup(server.kill)
            self.assertIn(b"serving", os.read(read, 4096))
            if is_closed:
                os.close(read)
            else:
                os.set_blocking(write, False)
                with contextlib.suppress(BlockingIOError):
                    while True:
                        os.write(write, b"x")
                os.set_blocking(write, True)
            os.close(write)
            done = self.peer("--plan", self.write(PLAN), "--only", "function/rc_send")
            self.assertEqual(done.wait(60), 0, done.output())
            self.assertEqual(server.wait(20), 0)
            if not is_closed:
                os.close(read)

    def test_unreachable(self):
        done = self.peer()
        self.assertEqual(done.wait(30), 2, done.output())
        self.assertIn(f"{self.place.ipv4} port {PORT}: Connection refused", done.output())
        done = self.peer(address="10.77.0.99")
        self.assertEqual(done.wait(30), 2, done.output())
        self.assertRegex(done.output(), "10.77.0.99 port 18701: (No route to host|Connection timed out)")

    def test_strangers(self):
        server = self.serve()
        self.talk(b"GET / HTTP/1.0\r\n\r\n")
        self.talk(os.urandom(20000))
        self.talk(b"{" * 1000 + b"\n")
        self.talk(b'{"do": "quit"}\n')
        silent = []
        for _ in range(12):  # more than it takes at once; they say nothing
            silent.append(process.Process(
                [sys.executable, "-c",
                 "import socket, sys, time\n"
                 "s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 30)\n"
                 "time.sleep(60)\n", self.place.ipv4, str(PORT)], prefix=self.place.b.prefix()))
        time.sleep(0.5)
        done = self.peer("--plan", self.write(PLAN), "--only", "function/rc_send")
        # behind them in the queue it gives up, or has its turn
        self.assertIn(done.wait(60), (0, 2), done.output())
        process.wait_until(lambda: server.output().count("no answer in 5 s") == 12, 40,
                           "the strangers' end")
        done = self.peer("--plan", self.write(PLAN), "--only", "function/rc_send")
        self.assertEqual(done.wait(60), 0, done.output())
        self.stop(server)

    def test_one_run_at_a_time(self):
        server = self.serve()
        first = self.peer("--plan", self.write(LONG))
        process.wait_until(lambda: "a/first" in first.output(), 60, "the first case")
        second = self.peer("--plan", self.write(PLAN, "other.yaml"))
        self.assertEqual(second.wait(30), 2, second.output())
        self.assertIn("refused: another run is under way", second.output())
        first.kill(signal.SIGINT)
        self.assertEqual(first.wait(60), 130)
        process.wait_until(lambda: "the run has ended" in server.output(), 20, "its end there")
        third = self.peer("--plan", self.write(PLAN, "other.yaml"), "--only", "function/rc_send")
        self.assertEqual(third.wait(60), 0, third.output())
        self.stop(server)

    def check_broken(self, running, reason):
        self.assertEqual(running.wait(60), 1, running.output())
        with open(self.json, encoding="utf-8") as f:
            report = json.load(f)
        self.assertEqual(verdicts(report), {"a/first": "pass", "a/long": "fail", "a/last": "skipped"})
        self.assertIn(reason, report["cases"][1]["reason"])

    def start_long(self):
        running = self.peer("--plan", self.write(LONG), "--json", self.json)
        self.await_case(running, "a/first")
        return running

    def test_server_is_stopped(self):
        for sig in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(sig=sig):
                self.stop_server(sig)

    def stop_server(self, sig):
        server = self.serve()
        running = self.start_long()
        below = descendants(server.pid)
        server.kill(sig)
        self.assertEqual(server.wait(20), 0, server.output())
        self.check_broken(running, "the target's agent has gone")
        self.assertEqual([name_of(p) for p in below if is_there(p)], [])

    def test_server_is_killed(self):
        server = self.serve()
        running = self.start_long()
        below = descendants(server.pid)
        server.kill(signal.SIGKILL)
        self.check_broken(running, "the target's agent has gone")
        process.wait_until(lambda: not any(is_there(p) for p in below), 20, "the end of all below")

    def test_target_is_killed(self):
        server = self.serve()
        running = self.start_long()
        for pid in descendants(server.pid):
            if name_of(pid) == "verify-agent":
                os.kill(pid, signal.SIGKILL)
        self.check_broken(running, "the target's agent has gone")
        self.stop(server)

    def test_link_goes_down(self):
        server = self.serve()
        running = self.start_long()
        try:
            self.place.a.run("ip", "link", "set", "ur0", "down")
            began = time.monotonic()
            # by the completion that fails, or by the silence
            self.assertEqual(running.wait(60), 1, running.output())
            self.assertLess(time.monotonic() - began, 40)
            with open(self.json, encoding="utf-8") as f:
                self.assertEqual(verdicts(json.load(f))["a/long"], "fail")
        finally:
            self.place.a.run("ip", "link", "set", "ur0", "up")
        self.stop(server)

    def test_client_is_interrupted(self):
        """Both sides are clean, and what was done is in the report."""
        server = self.serve("--once")
        running = self.start_long()
        below = descendants(running.pid) + descendants(server.pid)
        running.kill(signal.SIGINT)
        self.assertEqual(running.wait(60), 130, running.output())
        with open(self.json, encoding="utf-8") as f:
            report = json.load(f)
        self.assertEqual(verdicts(report), {"a/first": "pass", "a/long": "fail", "a/last": "skipped"})
        self.assertEqual(report["broken_off"], "interrupted")
        server.wait(20)
        self.assertIn("the run has ended", server.output())
        self.assertEqual([name_of(p) for p in below if is_there(p)], [])

    def test_client_is_killed(self):
        server = self.serve()
        running = self.start_long()
        running.kill(signal.SIGKILL)
        process.wait_until(lambda: "the run has ended" in server.output(), 20, "its end there")
        self.stop(server)


def set_build(path):
    global BUILD
    BUILD = path


if __name__ == "__main__":
    sys.exit(unit.run(set_build))
