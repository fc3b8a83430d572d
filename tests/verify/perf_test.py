#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`uroce perf` from outside: both sides here, server and client over 127.0.0.1, bad input, and what
happens when a side goes.

    perf_test.py BUILD_DIR [TEST...]

Times are measured but held to nothing: the machine may be busy. Exit status 77 where no network
namespace can be made.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests"))

from harness import process, topology, unit  # noqa: E402

import runs  # noqa: E402

BUILD = ""
TOKEN = "test-token-0123456789"
FEW = ("-n", "200")


def program(name):
    return os.path.join(BUILD, "bin", name)


class Perf(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.addCleanup(process.end_all)
        self.json = os.path.join(self.folder.name, "out.json")
        self.environment = {k: v for k, v in os.environ.items() if k != "UROCE_VERIFY_TOKEN"}
        self.environment.update(runs.PATIENT)

    def start(self, *arguments, ns=None, **variables):
        return process.Process([program("uroce"), "perf", *arguments],
                               prefix=ns.prefix() if ns else (),
                               env={**self.environment, **variables})

    def run_perf(self, *arguments, status=0, **more):
        """What was shown."""
        done = self.start(*arguments, **more)
        self.assertEqual(done.wait(process.LONG), status, done.output())
        return done.output()

    def load(self):
        with open(self.json, encoding="utf-8") as f:
            return json.load(f)

    def await_case(self, *sides):
        """Until they are at work. The report is first written when the case begins."""
        def is_there():
            for each in sides:
                self.assertIsNone(each.poll(), each.output())
            return os.path.exists(self.json) and all(runs.cases_below(each.pid) for each in sides)
        process.wait_until(is_there, process.LONG, "the case")


def rows(output):
    """The lines of the table, as lists of numbers."""
    return [[float(x) for x in line.split()] for line in output.splitlines()
            if re.fullmatch(r"[ \d.e+-]+", line) and len(line.split()) >= 3]


class Local(Perf):
    def test_latency(self):
        for test, options in (("write_lat", ()), ("write_lat", ("-c", "UC", "-s", "3000")),
                              ("ib_send_lat", ("-s", "5000", "-c", "XRC")), ("read_lat", ("-s", "64K")),
                              ("atomic_lat", ()), ("atomic_lat", ("-A", "CMP_AND_SWAP", "-c", "XRC")),
                              ("ud_send_lat", ()), ("send_lat", ("-c", "UC")),
                              ("write_lat", ("-c", "XRC", "-s", "3000")),
                              ("write_lat", ("-R",))):
            with self.subTest(test=test, options=options):
                shown = self.run_perf(test, "--local", *FEW, *options)
                self.assertIn("us\n", shown)
                (size, messages, least, p50, _, p99, _, most), = rows(shown)
                # of datagrams one without an answer in time is no sample
                self.assertIn(messages, range(100, 201) if "ud_" in test else (200,))
                self.assertGreater(size, 0)
                self.assertTrue(0 < least <= p50 <= p99 <= most, shown)
                self.assertIn("from us", shown)  # the histogram
                transport = dict(zip(options, options[1:])).get("-c", "RC")
                self.assertIn(f": {'UD' if 'ud_' in test else transport}, ", shown)
                self.assertIn("uroce_ve0 port 1, GID 0 10.77.0.1, ve0 MTU 1500", shown)
                self.assertLess(len(shown.splitlines()), 30)

    def test_bandwidth(self):
        for test, options in (("write_bw", ()), ("ib_write_bw", ("-c", "XRC", "-q", "3", "-b", "-t", "16")),
                              ("write_imm_bw", ("-c", "UC")), ("read_bw", ("-R", "-q", "2")), ("read_bw", ("-s", "4K")),
                              ("send_bw", ("-I", "64", "-s", "64")), ("atomic_bw", ()),
                              ("ud_send_bw", ()), ("ib_write_bw", ("-n", "333", "-F"))):
            with self.subTest(test=test, options=options):
                if "-n" not in options:
                    options = (*options, "-D", "0.2")
                shown = self.run_perf(test, "--local", *options)
                row, = rows(shown)
                self.assertGreater(row[1], 0)
                self.assertGreater(row[2], 0)

    def test_lost_datagrams_are_counted(self):
        """Some are lost, and the measurement goes on."""
        shown = self.run_perf("ud_send_lat", "--local", "-n", "500",
                              UROCE_IMPAIR="seed=3,drop=0.2%")
        self.assertRegex(shown, r"hint: [\d.]+ % of the messages, or their answers, were lost")
        self.assertEqual(len(rows(shown)), 1)

    def test_what_nobody_counts(self):
        """A WRITE of UC may be lost without a trace: no share of losses is made up."""
        shown = self.run_perf("write_bw", "--local", "-c", "UC", "-D", "0.1")
        self.assertRegex(shown, r"(?m)^ +65536 .* -$")
        self.assertIn("hint: UC WRITE: the figures are of what was sent", shown)

    def test_counts(self):
        """-n is exact, on all queue pairs together."""
        self.run_perf("write_bw", "--local", "-n", "333", "-q", "2", "-s", "512", "--json", self.json)
        case, = self.load()["cases"]
        self.assertEqual(case["detail"]["initiator"]["counts"]["completed"], 333)

    def test_duration_of_latency(self):
        self.run_perf("send_lat", "--local", "-D", "0.5", "--json", self.json)
        case, = self.load()["cases"]
        self.assertEqual(case["parameters"]["duration"], 500000000)
        self.assertGreaterEqual(case["detail"]["initiator"]["samples"], 100)
        self.assertNotEqual(case["detail"]["initiator"]["samples"], 10000000)

    def test_all_sizes(self):
        shown = self.run_perf("ud_send_lat", "--local", "-a", "-n", "50", "-m", "1024")
        self.assertEqual([int(r[0]) for r in rows(shown)], [2 << i for i in range(10)])
        self.assertIn("2048 not measured: both sides: UD messages end at the path MTU of 1024 B",
                      shown)
        self.assertNotIn("from us", shown)

    def test_path_mtu(self):
        shown = self.run_perf("write_bw", "--local", "-D", "0.2", "-m", "4096")
        self.assertIn("path MTU 4096", shown)
        self.assertIn("ve0 MTU 4200", shown)
        shown = self.run_perf("write_bw", "--local", "-D", "0.2")
        self.assertIn("hint: path MTU 1024", shown)

    def test_json(self):
        done = subprocess.run([program("uroce"), "perf", "write_lat", "--local", *FEW, "--json", "-"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=process.LONG, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(report["perf"]["test"], "write_lat")
        self.assertTrue(report["perf"]["hints"])
        self.assertTrue(report["complete"])
        case, = report["cases"]
        self.assertEqual((case["name"], case["verdict"]), ("perf/write_lat_2", "measured"))
        self.assertEqual(sum(b[2] for b in case["histogram"]["buckets"]), 200)
        self.assertEqual(case["detail"]["target"]["path"]["device"], "uroce_ve0")
        self.assertIn("p99.9", done.stderr)

    def test_interrupted(self):
        running = self.start("write_bw", "--local", "-D", "100", "--json", self.json)
        self.await_case(running)
        running.kill(signal.SIGINT)
        self.assertEqual(running.wait(process.LONG), 130, running.output())
        self.assertIn("interrupted", running.output())
        self.assertEqual(self.load()["broken_off"], "interrupted")


class Apart(Perf):
    """Server and client on 127.0.0.1, in a namespace with nothing else."""

    def setUp(self):
        super().setUp()
        self.place = topology.Loopback()
        self.addCleanup(self.place.close)
        self.ns = self.place.a

    def serve(self, *arguments, **variables):
        server = self.start(*arguments, ns=self.ns, **variables)
        runs.await_words(server, "serving on port")
        return server

    def test_token(self):
        server = self.serve("write_lat")
        host, token = re.search(r"uroce perf write_lat (\S+) --token (\S+)", server.output()).groups()
        self.assertEqual(host, "THIS_HOST")
        shown = self.run_perf("write_lat", "127.0.0.1", "--token", token, *FEW, ns=self.ns)
        self.assertEqual(rows(shown)[0][:2], [2, 200])
        self.assertIn("hint: both ends are addresses of one host (loopback)", shown)
        self.assertEqual(server.wait(process.LONG), 0, server.output())  # after one client
        self.assertIn("the run has ended", server.output())

    def test_token_in_the_environment(self):
        server = self.serve("write_bw", UROCE_VERIFY_TOKEN=TOKEN)
        self.run_perf("write_bw", "127.0.0.1", "-D", "0.1", ns=self.ns, UROCE_VERIFY_TOKEN=TOKEN)
        self.assertEqual(server.wait(process.LONG), 0, server.output())

    def test_wrong_token(self):
        server = self.serve("write_lat", "--token", TOKEN)
        shown = self.run_perf("write_lat", "127.0.0.1", "--token", TOKEN + "x", status=2, ns=self.ns)
        self.assertIn("refused: wrong token", shown)
        shown = self.run_perf("write_lat", "127.0.0.1", status=2, ns=self.ns)
        self.assertIn("refused: wrong token (the server has printed one: --token TOKEN)", shown)
        self.run_perf("write_lat", "127.0.0.1", "--token", TOKEN, *FEW, ns=self.ns)
        self.assertEqual(server.wait(process.LONG), 0, server.output())  # strangers do not end it

    def test_no_token(self):
        """Open, and therefore on loopback only; one client after the other."""
        server = self.serve("send_lat", "--no-token", "--persistent", "-p", "7777")
        self.assertIn("uroce perf send_lat 127.0.0.1:7777\n", server.output())
        with open(f"/proc/{server.pid}/net/tcp", encoding="ascii") as f:
            self.assertIn("0100007F:1E61", f.read())
        for test in ("send_lat", "read_lat"):
            self.run_perf(test, "127.0.0.1:7777", *FEW, ns=self.ns)
            process.wait_until(lambda: not runs.descendants(server.pid), process.LONG, "its turn")
        self.run_perf("write_lat", "127.0.0.1", "-p", "7777", *FEW, ns=self.ns)
        server.kill(signal.SIGINT)
        self.assertEqual(server.wait(process.LONG), 0, server.output())

    def test_measurements_only(self):
        """Whoever may use the server of perf may not run programs there."""
        server = self.serve("write_lat", "--token", TOKEN)
        done = process.Process([program("uroce"), "verify", "--peer", "127.0.0.1", "--token", TOKEN,
                                "--only", "function/rc_send*", "--json", self.json],
                               prefix=self.ns.prefix(), env=self.environment)
        self.assertEqual(done.wait(process.LONG), 1, done.output())
        self.assertIn("cases of kind verbs_check are not allowed here, only latency,bandwidth",
                      done.output())
        server.wait(process.LONG)

    def test_device_of_the_server(self):
        server = self.serve("write_lat", "-d", "nothing0", "--token", TOKEN)
        shown = self.run_perf("write_lat", "127.0.0.1", "--token", TOKEN, *FEW, status=2, ns=self.ns)
        self.assertIn("the target cannot be used: no verbs device nothing0; there are uroce_lo",
                      shown)
        server.wait(process.LONG)

    def test_device_and_gid(self):
        server = self.serve("write_lat", "-d", "uroce_lo", "-i", "1", "-x", "0", "--token", TOKEN)
        shown = self.run_perf("write_lat", "127.0.0.1", "--token", TOKEN, "-d", "uroce_lo", "-x", "0",
                              *FEW, ns=self.ns)
        self.assertEqual(shown.count("uroce_lo port 1, GID 0 127.0.0.1"), 2, shown)
        self.assertEqual(server.wait(process.LONG), 0)
        server = self.serve("write_lat", "--token", TOKEN)
        shown = self.run_perf("write_lat", "127.0.0.1", "--token", TOKEN, "-x", "200", status=2,
                              ns=self.ns)
        self.assertIn("has no GID 200", shown)

    def begin_long(self):
        server = self.serve("write_bw", "--token", TOKEN)
        client = self.start("write_bw", "127.0.0.1", "--token", TOKEN, "-D", "100", "--json",
                            self.json, ns=self.ns)
        runs.await_words(server, "begins a run")
        self.await_case(server, client)
        return server, client

    def test_server_is_killed(self):
        server, client = self.begin_long()
        server.kill(signal.SIGKILL)
        self.assertEqual(client.wait(process.LONG), 1, client.output())
        self.assertIn("the target's agent has gone", client.output())
        self.assertFalse(self.load()["complete"])

    def test_client_is_killed(self):
        server, client = self.begin_long()
        client.kill(signal.SIGKILL)
        self.assertEqual(server.wait(process.LONG), 1, server.output())
        self.assertIn("broken off", server.output())

    def test_server_is_interrupted(self):
        server, client = self.begin_long()
        server.kill(signal.SIGINT)
        self.assertEqual(server.wait(process.LONG), 130, server.output())
        self.assertEqual(client.wait(process.LONG), 1, client.output())

    def test_client_is_interrupted(self):
        server, client = self.begin_long()
        client.kill(signal.SIGINT)
        self.assertEqual(client.wait(process.LONG), 130, client.output())
        self.assertIn("broken off: interrupted", client.output())
        self.assertEqual(server.wait(process.LONG), 0, server.output())  # it was told

    def test_server_that_waits_is_interrupted(self):
        server = self.serve("write_bw")
        server.kill(signal.SIGINT)
        self.assertEqual(server.wait(process.LONG), 130, server.output())

    def test_output_that_is_read_late(self):
        """The server is done when the measurement is, whoever reads the client's words."""
        read, write, filled = runs.full_pipe()
        server = self.serve("write_lat", "--token", TOKEN)
        client = subprocess.Popen([*self.ns.prefix(), program("uroce"), "perf", "write_lat",
                                   "127.0.0.1", "--token", TOKEN, *FEW, "--json", self.json],
                                  stdout=write, stderr=write, env=self.environment)
        self.addCleanup(client.kill)
        os.close(write)
        self.assertEqual(server.wait(process.LONG), 0, server.output())
        process.wait_until(lambda: os.path.exists(self.json) and self.load()["complete"],
                           process.LONG, "the report")
        self.assertIsNone(client.poll())
        with os.fdopen(read, "rb") as f:
            words = f.read()[filled:].decode()
        self.assertEqual(client.wait(process.LONG), 0)
        self.assertEqual([row[:2] for row in rows(words)[:1]], [[2, 200]])
        self.assertIn("hint: both ends", words)

    def test_output_of_the_server_that_nobody_reads(self):
        read, write, _ = runs.full_pipe()
        server = subprocess.Popen([*self.ns.prefix(), program("uroce"), "perf", "write_lat",
                                   "--token", TOKEN], stdout=write, stderr=write,
                                  env=self.environment)
        self.addCleanup(server.kill)
        process.wait_until(lambda: self.run_perf_once() == 0, process.LONG, "a run")
        self.assertEqual(server.wait(process.LONG), 0)
        os.close(write)
        os.close(read)

    def run_perf_once(self):
        return self.start("write_lat", "127.0.0.1", "--token", TOKEN, *FEW, ns=self.ns).wait(process.LONG)

    def test_nobody_there(self):
        shown = self.run_perf("write_lat", "127.0.0.1", status=2, ns=self.ns)
        self.assertIn("127.0.0.1 port 18701: Connection refused", shown)
        shown = self.run_perf("write_lat", "no-such-host.invalid", status=2, ns=self.ns)
        self.assertIn("no-such-host.invalid: ", shown)

    def test_port_is_taken(self):
        server = self.serve("write_lat")
        self.assertIn("Address already in use", self.run_perf("write_lat", status=2, ns=self.ns))
        server.kill(signal.SIGINT)
        server.wait(process.LONG)


class BadInput(Perf):
    def test_options(self):
        for expected, *arguments in (
                ("which test? One of write_lat, write_bw", ),
                ("no test write_lot, expected one of", "write_lot"),
                ("-s: found 0, expected a size up to 1G", "write_lat", "--local", "-s", "0"),
                ("-c: found DC, expected RC, UC, UD or XRC", "write_lat", "--local", "-c", "DC"),
                ("-A: found SWAP, expected FETCH_AND_ADD or CMP_AND_SWAP", "atomic_lat",
                 "--local", "-A", "SWAP"),
                ("-R: rdma_cm connects RC", "write_lat", "-R", "-c", "XRC"),
                ("-s: its value is missing", "write_lat", "-s"),
                ("no option --frobnicate", "write_lat", "--frobnicate"),
                ("-R: rdma_cm connects RC", "write_lat", "-R", "-c", "UC"),
                ("/nowhere/x.json: No such file", "write_lat", "--local", "--json",
                 "/nowhere/x.json"),
                ("peer: found [1::2, expected HOST", "write_lat", "[1::2")):
            with self.subTest(arguments=arguments):
                self.assertIn(expected, self.run_perf(*arguments, status=2))

    def test_help(self):
        shown = self.run_perf("--help")
        self.assertIn("usage: uroce perf TEST [PEER]", shown)


def set_build(path):
    global BUILD
    BUILD = path


if __name__ == "__main__":
    sys.exit(unit.run(set_build))
