#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What `uroce verify` leaves of itself on a machine, whichever way a run ends, and what it does where
something it needs is missing.

    verify_surroundings_test.py BUILD_DIR [TEST...]

Exit status 77 where no network namespace can be made.
"""

import contextlib
import json
import os
import random
import signal
import sys
import time

import runs
from runs import LONG, PLAN, descendants, is_there, name_of, program, verdicts, Verify

from harness import process, topology, unit

ALONE = ["unshare", "-m"] if topology.may_change_user() else ["unshare", "-rm"]
# in the end it waits for a file, which may be there
SHARED = ("mount -t tmpfs none /dev/shm && { %s; } >/dev/null; echo status $?; "
          "while ! [ -e %s ]; do sleep 0.1; done; find /dev/shm -mindepth 1")


class Left(Verify):
    """Nothing is."""

    def below(self, running):
        return [name_of(p) for p in descendants(running.pid)]

    def start_with_shared_memory(self, command, go):
        return process.Process(["sh", "-c", SHARED % (command, go), "sh", program("uroce"), "verify",
                                "--plan", self.write(LONG)], prefix=ALONE)

    def check_shared_memory(self, command):
        done = self.start_with_shared_memory(command, "/")
        done.wait(process.LONG)
        return done.output().split()

    def test_shared_memory(self):
        self.assertEqual(self.check_shared_memory('"$@" --only a/first'), ["status", "0"])

    def test_shared_memory_after_a_signal(self):
        found = self.check_shared_memory('timeout 0.7 "$@" --json /dev/null')
        self.assertEqual(found, ["status", "124"])  # as timeout calls it, whatever the program says

    def test_shared_memory_after_a_kill(self):
        """Who was killed ends nothing, and what it had begun ends all the same."""
        go = os.path.join(self.folder.name, "go")
        with process.adopting_orphans():
            done = self.start_with_shared_memory('"$@" & p=$!; sleep 0.7; kill -9 $p; true', go)
            runs.await_words(done, "status 0")
            process.wait_until(lambda: not self.others_below(done), process.LONG, "the end of all")
            with open(go, "w", encoding="ascii"):
                pass
            self.assertEqual(done.wait(process.LONG), 0)
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
        self.assertEqual(done.output().split(), ["status", "0"])

    def others_below(self, shell):
        """But for it and what it waits with."""
        return [p for p in descendants(os.getpid())
                if p != shell.pid and name_of(p) != "sleep" and runs.is_running(p)]

    def test_ctrl_c_while_it_begins(self):
        seed = int(os.environ.get("SEED", "1"))
        prng = random.Random(seed)
        for i in range(16):
            with self.subTest(seed=seed, i=i):
                running = self.start("--plan", self.write(LONG), "--json", self.json)
                time.sleep(0.004 * i + 0.004 * prng.random())
                below = descendants(running.pid)
                os.killpg(running.pid, signal.SIGINT)  # as a terminal does
                # before it is there to take signals it is ended by this one
                self.assertIn(running.wait(process.LONG), (130, -signal.SIGINT), running.output())
                runs.await_end(below)

    def test_keeper_that_stands_still(self):
        for is_early in (True, False):
            with self.subTest(is_early=is_early):
                running = self.start("--plan", self.write(LONG), "--json", self.json)
                if not is_early:
                    self.await_case(running, "a/first")
                process.wait_until(lambda: descendants(running.pid), process.LONG, "the keeper", 0)
                keeper = descendants(running.pid)[0]
                os.kill(keeper, signal.SIGSTOP)
                time.sleep(0.2)
                below = descendants(running.pid)
                running.kill(signal.SIGINT)
                self.assertEqual(running.wait(process.LONG), 130, running.output())
                self.assertEqual([name_of(p) for p in below if is_there(p)], [])

    def test_reports_are_written_when_all_has_ended(self):
        """A report that nobody takes keeps nothing else waiting, and a pipe's reader gets it whole."""
        os.mkfifo(self.json)
        running = self.start("--plan", self.write(LONG), "--only", "a/first", "--json", self.json)
        runs.await_words(running, "1 passed")
        process.wait_until(lambda: not descendants(running.pid), process.LONG, "the end of all below")
        self.assertIsNone(running.poll())
        with open(self.json, encoding="utf-8") as f:
            self.assertEqual(verdicts(json.load(f)), {"a/first": "pass"})
        self.assertEqual(running.wait(process.LONG), 0)

    def test_report_of_no_run(self):
        done = process.Process([program("uroce"), "verify", "--plan", self.write(PLAN), "--json",
                                self.json], prefix=["prlimit", "--nofile=64"])
        self.assertEqual(done.wait(process.LONG), 2, done.output())
        self.assertFalse(os.path.exists(self.json))


class Missing(Verify):
    """What a run needs, or its reports."""

    def test_namespaces(self):
        for name, reason in (("user", "which network namespaces need without privilege"),
                             ("net", "no network namespace")):
            limit = f"/proc/sys/user/max_{name}_namespaces"
            done = process.Process(
                ["sh", "-c", f'echo 0 > {limit}; exec "$@"', "sh", *(
                    ["setpriv", "--bounding-set", "-sys_admin,-net_admin"] if name == "user" else []),
                 program("uroce"), "verify", "--plan", self.write(PLAN)], prefix=["unshare", "-Ur"])
            self.assertEqual(done.wait(process.LONG), 2, done.output())
            self.assertIn(reason, done.output())
            self.assertIn(f"{limit} is reached", done.output())

    def test_tc(self):
        report = self.run_plan(LONG.replace("kind: latency", "kind: bandwidth").replace(
            "op: write, size: 8, iterations: 10000000", "shape: 1Gb/s"), "--only", "a/long",
            env={**os.environ, "PATH": "/nowhere"})
        self.assertEqual(verdicts(report), {"a/long": "skipped"})
        self.assertIn("there is no tc (iproute2) to shape a link with", report["cases"][0]["reason"])

    def test_room_for_a_report(self):
        for prefix, path, reason in (([], "/dev/full", "No space left on device"),
                                     (["prlimit", "--fsize=2000"], self.json, "File too large")):
            done = process.Process([program("uroce"), "verify", "--plan", self.write(LONG), "--only",
                                    "a/first", "--json", path], prefix=prefix)
            self.assertEqual(done.wait(process.LONG), 1, done.output())
            self.assertIn("1 passed", done.output())
            self.assertIn(f"{path}: {reason}", done.output())

    def test_room_for_the_terminals_words(self):
        done = process.Process(["sh", "-c", '"$@" >/dev/full', "sh", program("uroce"), "verify",
                                "--plan", self.write(LONG), "--only", "a/first"])
        self.assertEqual(done.wait(process.LONG), 1, done.output())
        self.assertRegex(done.output(), "standard output: (not all could|No space)")

    def test_memory_for_a_region(self):
        plan = LONG.replace("kind: latency", "kind: registration").replace(
            "op: write, size: 8, iterations: 10000000", "size: 1GiB")
        done = process.Process([program("uroce"), "verify", "--plan", self.write(plan), "--only",
                                "a/long", "--json", self.json], prefix=["prlimit", "--as=900000000"])
        if done.wait(process.LONG) != 0 and not os.path.exists(self.json):
            self.skipTest("a sanitizer's own memory is more than that")
        with open(self.json, encoding="utf-8") as f:
            case = json.load(f)["cases"][0]
        self.assertEqual(case["verdict"], "skipped", done.output())
        self.assertRegex(case["reason"], r"\d+ MiB of memory are free, 1088 MiB are needed")


class Together(Verify):
    """Runs at the same time, in one network namespace."""

    patience = {}  # self-tests have some by themselves

    def test_the_one_that_began_is_interrupted(self):
        """Its daemon stays for the others, and they do not hear each other's multicast."""
        with topology.Loopback() as place:
            first = self.start("--self-test", "--repeat", "100", ns=place.a)
            runs.await_words(first, "pass")
            others = [self.start("--self-test", ns=place.a) for _ in range(2)]
            for other in others:
                runs.await_words(other, "pass")
            first.kill(signal.SIGINT)
            self.assertEqual(first.wait(process.LONG), 130, first.output())
            for other in others:
                self.assertEqual(other.wait(process.LONG), 0, other.output())


if __name__ == "__main__":
    sys.exit(unit.run(runs.set_build))
