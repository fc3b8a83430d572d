#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`uroce verify` on one machine: verdicts of a small plan between two namespaces, reports, bad input,
and what is left after Ctrl-C, kills and crashes.

    verify_test.py BUILD_DIR [TEST...]

Times are measured but held to nothing: the machine may be busy. Exit status 77 where no network
namespace can be made.
"""

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import termios
import xml.etree.ElementTree

import runs
from runs import (CHECKS, COLUMNS, HARM, LONG, MATRIX, PLAN, TOKEN, descendants,
                  is_there, full_pipe, name_of, program, verdicts, Verify)

from harness import process, topology, unit


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
            self.assertTrue(facts["libibverbs"].startswith(runs.BUILD))
            self.assertEqual([d["netdev"] for d in facts["devices"] if d["name"] == "uroce_ve0"],
                             [{"name": "ve0", "mtu": 1500, "speed_mbps": 10000, "driver": "veth"}])

    def test_memory_that_is_not_there(self):
        plan = CHECKS.replace("65MiB", "2GiB")
        prefix = ["prlimit", "--as=1500000000"]
        done = process.Process([program("uroce"), "verify", "--plan", self.write(plan), "--only",
                                "b/large", "--json", self.json], prefix=prefix)
        if done.wait(process.LONG) != 0 and not os.path.exists(self.json):
            self.skipTest("a sanitizer's own memory is more than that")
        with open(self.json, encoding="utf-8") as f:
            case = json.load(f)["cases"][0]
        self.assertEqual(case["verdict"], "skipped", done.output())
        # the machine has as much, or not even that
        self.assertRegex(case["reason"], "MiB of memory (cannot be had|are free)")

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
                              stderr=subprocess.PIPE, timeout=process.LONG, text=True)
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
        with process.adopting_orphans():
            orphan = subprocess.run(["sh", "-c", "sleep 60 > /dev/null & echo $!"],
                                    stdout=subprocess.PIPE, check=True, timeout=process.LONG)
            self.assertEqual(self.reap_children(), [int(orphan.stdout)])  # so one would be seen
            os.kill(int(orphan.stdout), signal.SIGKILL)
            os.waitpid(int(orphan.stdout), 0)
            running = self.start("--plan", self.write(PLAN), "--only", "function/rc_send")
            self.assertEqual(running.wait(process.LONG), 0, running.output())
            self.assertEqual([name_of(p) for p in self.reap_children()], [])

    def reap_children(self):
        """Those that have ended; the pids of the others."""
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        return descendants(os.getpid())

    def show(self, only, columns):
        """What is seen on a terminal."""
        pid, fd = pty.fork()
        if not pid:
            termios.tcsetwinsize(0, (24, columns))
            os.execv(program("uroce"), ["uroce", "verify", "--plan", self.write(PLAN), "--only", only])
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
        return shown

    def test_on_a_terminal(self):
        shown = self.show("floor,a/write,a/tcp", 100)
        self.assertRegex(shown, rb"\[[#.]{24}\] \d of 3  [a-z/_]+, \d+ s left")
        # what stays is a line for each case: the bar is wiped before it
        lines = [line.rsplit(b"\x1b[K", 1)[-1] for line in shown.split(b"\r\n")]
        self.assertEqual(len([line for line in lines if b"left" in line]), 0)
        self.assertEqual(len([line for line in lines if b"\x1b[" in line]), 3)

    def test_on_a_narrow_terminal(self):
        shown = self.show("function/rc_send", 40)
        bars = [line for line in re.split(rb"\r|\n|\x1b\[K", shown) if re.match(rb"\[[#.]{24}\]", line)]
        self.assertTrue(bars)
        self.assertEqual({len(bar) for bar in bars}, {39})

    def test_ctrl_c_on_a_terminal(self):
        pid, fd = pty.fork()
        if not pid:
            os.execv(program("uroce"), ["uroce", "verify", "--plan", self.write(LONG)])
        shown = b""
        while b"a/long" not in shown:
            shown += os.read(fd, 4096)
        process.wait_until(lambda: runs.cases_below(pid), process.LONG, "the case")
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
        self.assertEqual(done.wait(process.LONG), 0, done.output())

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
            status = done.wait(process.LONG)
            if status == 2 and "no user namespace" in done.output():
                self.skipTest("no user namespaces without root here")
            self.assertEqual(status, 0, done.output())


class Lost(Verify):
    """Packets that are lost or damaged on purpose, a peer that is killed."""

    patience = runs.LESS_PATIENT

    def test_checks(self):
        report = self.run_plan(CHECKS)
        found = {n: v for n, v in verdicts(report).items() if n != "b/killed"}
        self.assertEqual(set(found.values()), {"pass"}, report)
        values = {c["name"]: c["values"] for c in report["cases"]}
        self.assertEqual(values["b/large"]["largest"]["value"], 65 << 20)
        self.assertEqual(values["b/contention"]["operations"]["value"], 400)
        self.assertGreater(values["b/killed"]["ended"]["value"], 1e5)

    def test_harm(self):
        """What came to harm is told, and right messages of which nothing did prove nothing."""
        report = self.run_plan(HARM, status=1)
        self.assertEqual(verdicts(report), {"c/damaged": "pass", "c/unharmed": "fail"}, self.output)
        damaged, unharmed = report["cases"]
        target = damaged["detail"]["target"]["harm"]
        self.assertGreaterEqual(target["packets_received"], 8000)
        self.assertIn(target["corrupted"], range(20, 200))
        self.assertIn(target["bad_icrc"], range(20, target["corrupted"] + 1))
        self.assertIn("corrupted", damaged["detail"]["initiator"]["harm"])
        self.assertEqual(unharmed["detail"]["target"]["harm"]["corrupted"], 0)
        self.assertRegex(unharmed["reason"],
                         r"none of \d+ packets was corrupted on purpose, so nothing is proved")


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
        env = {**os.environ, "LD_PRELOAD": os.path.join(runs.BUILD, "tests", "libplant.so"),
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
    patience = {}  # it has some by itself, but for the errors that it waits for

    def test_self_test(self):
        with topology.Loopback() as place:
            done = self.start("--self-test", "--json", self.json, ns=place.a)
            self.assertEqual(done.wait(process.LONG), 0, done.output())
            with open(self.json, encoding="utf-8") as f:
                report = json.load(f)
            self.assertEqual(report["place"], "here")
            self.assertEqual(report["totals"]["fail"] + report["totals"]["skipped"], 0)
            # nobody else used the daemon
            status, said = process.run([program("uroce"), "status"], prefix=place.a.prefix())
            self.assertEqual((status, "no uroced" in said), (1, True), said)

    def test_a_limit_of_descriptors_is_named(self):
        done = subprocess.run(["prlimit", "--nofile=64", program("uroce"), "verify", "--self-test"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=process.LONG, text=True)
        self.assertEqual((done.returncode, done.stdout), (2,
                         "uroce verify: no file descriptors for an agent (ulimit -n: at least 256)\n"))

    def test_a_device_that_is_not_there_is_no_failure_of_each_case(self):
        done = self.start("--plan", self.write(PLAN), "--device", "nothing0")
        self.assertEqual(done.wait(process.LONG), 2, done.output())
        self.assertIn("broken off: the initiator cannot be used: no verbs device nothing0; there are "
                      "uroce_", done.output())
        self.assertIn("0 failed", done.output())

    def test_what_a_library_complains_of_is_told(self):
        """The status of a call says less: here, who has the port."""
        with topology.Loopback() as place:
            holder = process.Process(
                ["python3", "-c", "import socket\ns = socket.socket(type=socket.SOCK_DGRAM)\n"
                 "s.bind(('127.0.0.1', 4791))\nprint('bound', flush=True)\nimport time\ntime.sleep(600)"],
                prefix=place.a.prefix())
            runs.await_words(holder, "bound")
            done = self.start("--self-test", "--only", "function/rc", "--json", self.json, ns=place.a)
            self.assertEqual(done.wait(process.LONG), 1, done.output())
            holder.kill()
        with open(self.json, encoding="utf-8") as f:
            case = json.load(f)["cases"][0]
        self.assertRegex(case["reason"], "rc/send: qp 0 to RTR: Address already in use; it said: uroce: "
                                         "uroce_lo: UDP port 4791 of 127.0.0.1 is in use by another")
        self.assertNotIn("verbs-check:", case["reason"])

    def test_self_test_fails_without_a_device(self):
        ns = topology.make_namespace()
        ns.run("ip", "link", "set", "lo", "down")
        done = self.start("--self-test", "--json", self.json, ns=ns)
        self.assertEqual(done.wait(process.LONG), 2, done.output())
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
        self.assertGreater(len(below), 4)  # the keeper, two agents, their cases, daemons
        running.kill(sig)
        self.assertEqual(running.wait(process.LONG), 130, running.output())
        self.check_partial(self.load(), "interrupted")
        self.assertEqual([name_of(p) for p in below if is_there(p)], [])

    def test_ctrl_c(self):
        self.interrupt(signal.SIGINT)

    def test_sigterm(self):
        self.interrupt(signal.SIGTERM)

    def test_killed(self):
        with open(self.json, "w", encoding="utf-8") as f:
            f.write("an earlier report")
        running = self.start("--plan", self.write(LONG), "--json", self.json, "--junit",
                             os.path.join(self.folder.name, "out.xml"))
        self.await_case(running, "a/first")
        below = descendants(running.pid)
        process.wait_until(lambda: self.is_done("a/first"), process.LONG, "a report")
        running.kill(signal.SIGKILL)
        runs.await_end(below)
        report = self.load()
        self.assertEqual(verdicts(report), {"a/first": "pass", "a/long": "skipped"})
        self.assertEqual(report["cases"][1]["reason"], "under way when this was written")
        self.assertIs(report["complete"], False)
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["out.json", "plan.yaml"])
        text = self.start("diff", self.json, self.json)
        self.assertEqual(text.wait(process.LONG), 0)
        self.assertIn("caution after: the run is not complete: this was written while the run was "
                      "under way", text.output())

    def test_output_that_nobody_reads(self):
        """The run does not wait for whoever does."""
        read, write, _ = full_pipe()
        running = subprocess.Popen([program("uroce"), "verify", "--plan", self.write(LONG), "--json",
                                    self.json], stdout=write)
        self.addCleanup(running.kill)
        process.wait_until(lambda: self.is_done("a/first"), process.LONG, "the first case")
        running.send_signal(signal.SIGINT)
        self.assertEqual(running.wait(process.LONG), 130)
        self.assertEqual(self.load()["broken_off"], "interrupted")
        os.close(write)
        os.close(read)

    def is_done(self, name):
        try:
            report = self.load()
        except (FileNotFoundError, json.JSONDecodeError):
            return False  # there is none yet, or an earlier one
        return verdicts(report).get(name) == "pass"

    def test_output_that_is_read_late(self):
        read, write, filled = full_pipe()
        running = subprocess.Popen([program("uroce"), "verify", "--plan", self.write(PLAN), "--only",
                                    "function/rc_send", "--json", self.json], stdout=write)
        self.addCleanup(running.kill)
        os.close(write)
        process.wait_until(lambda: self.is_done("function/rc_send") and self.load()["complete"],
                           process.LONG, "the report")
        process.wait_until(lambda: "verify-agent" not in map(name_of, descendants(running.pid)),
                           process.LONG, "the end of the agents")
        self.assertIsNone(running.poll())
        with os.fdopen(read, "rb") as f:
            words = f.read()[filled:].decode()
        self.assertEqual(running.wait(process.LONG), 0)
        self.assertRegex(words, r"(?s)^initiator .*\npass +function/rc_send .*1 passed, 0 failed.*\n$")

    def test_output_that_is_closed(self):
        """No other descriptor gets the words."""
        done = process.Process(["sh", "-c", '"$@" <&- >&-', "sh", program("uroce"), "verify", "--plan",
                                self.write(PLAN), "--only", "function/rc_send", "--json", self.json])
        self.assertEqual(done.wait(process.LONG), 1, done.output())
        self.assertIn("uroce: standard output: ", done.output())
        self.assertEqual(verdicts(self.load()), {"function/rc_send": "pass"})

    def test_case_that_crashes(self):
        running = self.start("--plan", self.write(LONG), "--json", self.json)
        # not SIGSEGV, which a sanitizer makes an exit status of
        os.kill(self.await_case(running, "a/first")[0], signal.SIGKILL)
        self.assertEqual(running.wait(process.LONG), 1, running.output())
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
        self.assertEqual(running.wait(process.LONG), 1, running.output())
        self.check_partial(self.load(), "agent has gone")

    def test_agent_that_stands_still(self):
        running = self.start("--plan", self.write(LONG), "--json", self.json)
        case = self.await_case(running, "a/first")[0]
        with open(f"/proc/{case}/stat", encoding="ascii") as f:
            agent = int(f.read().rsplit(")", 1)[1].split()[1])
        os.kill(agent, signal.SIGSTOP)
        self.assertEqual(running.wait(process.LONG), 1, running.output())
        self.check_partial(self.load(), "agent for 15 s")
        self.assertFalse(is_there(agent))

    def test_case_that_takes_too_long(self):
        report = self.run_plan(LONG.replace("timeout: 300s", "timeout: 2s"), status=1)
        self.assertEqual(verdicts(report), {"a/first": "pass", "a/long": "fail", "a/last": "pass"},
                         self.output)
        self.assertRegex(report["cases"][1]["reason"], "in the time of the case|not ended in 2 s")


class BadInput(Verify):
    def expect(self, expected, *arguments):
        done = subprocess.run([program("uroce"), "verify", *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=process.LONG, text=True)
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
        # with a base the other thresholds of the plan hold as well
        based = self.write("profile: site\nbase: tight\nthresholds:\n"
                           "- {case: a/read, at_most: 1ns, source: mine}\n", "based.yaml")
        done = subprocess.run([program("uroce"), "verify", "--plan", self.write(PLAN), "--profile",
                               based, "--list"], stdout=subprocess.PIPE, timeout=process.LONG, text=True)
        self.assertEqual(re.findall(r"^(\S+) .*\[at most 0.001 us\]$", done.stdout, re.M),
                         ["a/write", "a/read"])
        wrong = self.write("profile: site\nbase: softer\nthresholds: []\n", "wrong.yaml")
        self.expect(wrong + ":2: base: no case of the plan has a threshold for softer, but for "
                    "soft, tight", "--plan", self.write(PLAN), "--profile", wrong)
        profile = self.write("profile: site\nthresholds:\n- {case: b, at_most: 1ns, source: mine}\n")
        self.expect(profile + ":3: case: the plan has none of the name b", "--profile", profile)

    def test_options(self):
        plan = self.write(PLAN)
        rows = (
            ("no option --nothing", "--nothing"),
            ("--plan: its value is missing", "--plan"),
            ("--print-plan prints the plan that is built in", "--print-plan", "--plan", plan),
            ("takes no argument, got plan.yaml", "plan.yaml"),
            ("/nowhere/plan.yaml: No such file", "--plan", "/nowhere/plan.yaml"),
            ("--only: no case of the plan fits noting", "--plan", plan, "--only", "a,noting"),
            ("--skip: no case of the plan fits b", "--plan", plan, "--skip", "b"),
            ("no case is left", "--plan", plan, "--only", "a", "--skip", "a"),
            ("no such file (the plan has: soft, tight)", "--plan", plan, "--profile", "400g"),
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

    def test_built_in_plans_can_be_printed_and_run(self):
        for option in ((), ("--self-test",)):
            def listed(*more):
                return subprocess.run([program("uroce"), "verify", *more], timeout=process.LONG, text=True,
                                      stdout=subprocess.PIPE, check=True).stdout
            path = self.write(listed("--print-plan", *option), "printed.yaml")
            self.assertEqual(listed("--plan", path, "--list"), listed("--list", *option))

    def test_cases_and_kinds_are_explained(self):
        def explain(*name):
            return subprocess.run([program("uroce"), "verify", "--explain", *name], timeout=process.LONG,
                                  text=True, stdout=subprocess.PIPE, check=True).stdout
        kinds = re.findall(r"^([a-z_]+) +\S", explain(), re.M)
        self.assertIn("latency", kinds)
        for kind in kinds:
            self.assertIn(f"kind {kind}: ", explain(kind))
        self.assertRegex(explain("latency"), r"\n  op +write .*\[write, read, .*ud_send\]\n")
        self.assertRegex(explain("latency"), r"\n  p50 \(us\), ")
        shown = explain("latency/write_64")
        self.assertIn("a WRITE of 64 B is acknowledged fast", shown)
        self.assertRegex(shown, r"\n  profile 100g +at most 10 us, because: ")
        self.expect("--explain: nothing is no case of the plan", "--explain", "nothing")

    def test_list(self):
        done = subprocess.run([program("uroce"), "verify", "--list"], stdout=subprocess.PIPE,
                              timeout=process.LONG, text=True, check=True)
        self.assertRegex(done.stdout, r"(?m)^latency/write_64 .*\[at most .* x floor/udp_asleep_64\]$")


if __name__ == "__main__":
    sys.exit(unit.run(runs.set_build))
