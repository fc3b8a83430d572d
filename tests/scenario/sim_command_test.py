#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`uroce sim` from outside: what it prints, what JSON has, how mistakes are refused, that the schema
in the tree is the one that the tables give, and that every scenario of the gallery is good.

    sim_command_test.py UROCE
"""

import csv
import json
import os
import pty
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
GALLERY = os.path.join(ROOT, "scenarios")
UROCE = None

INCAST = """\
name: four to one
topology: {kind: star, hosts: 5}
workload:
  - {kind: incast, from: h0..h3, to: h4, bytes: 100kB}
"""


def sim(*arguments, **more):
    return subprocess.run([UROCE, "sim", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=600, **more)


def catches(pid, number):
    """Whether the process is there to take the signal already."""
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        mask = next(line.split()[1] for line in f if line.startswith("SigCgt:"))
    return bool(int(mask, 16) >> (number - 1) & 1)


class Command(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, text, name="s.yaml"):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def json_of(self, *arguments):
        done = sim(*arguments, "--json", "-")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def test_summary(self):
        done = sim(self.write(INCAST))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("four to one\n5 hosts, 1 switches, 5 links, 4 flows, seed 1\n", done.stdout)
        self.assertIn("all flows have ended", done.stdout)
        self.assertRegex(done.stdout, r"\n  incast +4 +4 ")

    def test_json(self):
        out = self.json_of(self.write(INCAST))
        self.assertEqual([(f["src"], f["dst"], f["bytes"], f["state"]) for f in out["flows"]],
                         [(f"h{i}", "h4", 100000, "done") for i in range(4)])
        for flow in out["flows"]:
            self.assertGreater(flow["fct_us"], 8.0)  # 100 kB at 100 Gb/s
            self.assertGreaterEqual(flow["fct_us"], flow["ideal_us"])
        self.assertEqual(out["totals"]["bytes_delivered"], 400000)
        for name in ("packet_hops", "events", "drops", "pause_frames", "ecn_marks", "cnps", "wall_seconds"):
            self.assertIn(name, out["totals"])
        port = [p for p in out["ports"] if (p["node"], p["to"]) == ("s0", "h4")][0]
        self.assertEqual(port["counters"]["tx_prio3_packets"], 4 * 25)
        self.assertGreater(port["queue_bytes_max"][3], 0)

    def test_json_file_and_options(self):
        path = self.write(INCAST)
        target = os.path.join(self.folder.name, "out.json")
        done = sim("--json", target, "--seed", "7", "--until", "5us", path)
        self.assertEqual(done.returncode, 0)
        with open(target, encoding="utf-8") as f:
            out = json.load(f)
        self.assertEqual(out["seed"], 7)
        self.assertEqual(out["simulated_us"], 5.0)
        self.assertIsNone(out["flows"][0]["fct_us"])
        self.assertEqual(sim("--json", "/nowhere/x.json", path).returncode, 1)

    def test_rates_and_counters_over_time(self):
        path = self.write(INCAST.replace("100kB", "2MB") +
                          "switch: {ecn: {kmin: 50kB}}\noutput: {rates: 3, interval: 20us}\n")
        counters = os.path.join(self.folder.name, "counters.csv")
        done = sim(path, "--json", "-", "--counters", counters)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        out = json.loads(done.stdout)
        rates = out["rates"]
        self.assertEqual((rates["from_us"], rates["interval_us"]), (0.0, 20.0))
        self.assertEqual([(q["flow"], q["queue_pair"]) for q in rates["queue_pairs"]], [(0, 0), (1, 0), (2, 0)])
        for queue_pair in rates["queue_pairs"]:
            self.assertEqual(queue_pair["bps"][0], 100000000000)
            self.assertLess(min(b for b in queue_pair["bps"] if b), 50000000000)
        with open(counters, encoding="utf-8") as f:
            rows = list(csv.DictReader(f))
        last = {(r["node"], r["neighbour"], r["counter"]): int(r["value"]) for r in rows}
        for port in out["ports"]:
            self.assertEqual({c: v for (n, p, c), v in last.items() if (n, p) == (port["node"], port["to"])},
                             port["counters"])
        self.assertGreater(len({r["time_us"] for r in rows}), 10)
        self.assertNotIn("rates", self.json_of(self.write(INCAST)))

    def test_deadlock_is_named(self):
        path = os.path.join(GALLERY, "ring-deadlock.yaml")
        done = sim(path)
        warning = (f"{path}: warning: switches can wait for each other in a circle, a deadlock is possible: "
                   "s0 to s1, s1 to s2, s2 to s0; all on priority 3\n")
        self.assertEqual((done.returncode, done.stderr), (0, warning))
        self.assertRegex(done.stdout, r"\n  circle +s0 to s1 is paused on priority 3 and waits for s1"
                                      r"\n +s1 to s2 is .* waits for s2\n +s2 to s0 is .* waits for s0\n")
        self.assertRegex(done.stdout, r"\n  0 to 2 +4 +0 +[0-9.]+( +-){7}\n")  # nothing is no 0.0
        out = json.loads(sim(path, "--json", "-").stdout)
        circle = [{"node": f"s{i}", "to": f"s{(i + 1) % 3}", "prio": 3} for i in range(3)]
        self.assertEqual((out["deadlock"], out["cyclic_dependency"]), (circle, circle))
        out = self.json_of(self.write(INCAST))
        self.assertEqual((out["deadlock"], out["cyclic_dependency"]), ([], []))
        done = sim("--check", path)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", warning))

    def test_what_a_lossy_service_delivers(self):
        out = self.json_of(self.write(
            "topology: {hosts: 3}\nlinks: [{match: h0-s0, loss: 10%}]\n"
            "workload: [{from: h0, to: h2, service: uc, bytes: 10MB, message: 4kB, prio: 0}]\n"))
        self.assertEqual([f["state"] for f in out["flows"]], ["incomplete"])
        # 0.9 of what the line carries, whenever the run ended
        self.assertAlmostEqual(out["workloads"][0]["goodput_bps"] / 0.9 / 98e9, 1, delta=0.02)

    def test_page_tells_the_latency_of_requests(self):
        target = os.path.join(self.folder.name, "page.html")
        requests = "{kind: requests, name: orders, from: h0, to: h1, duration: 1ms}"
        sim(self.write(f"topology: {{hosts: 2}}\nworkload: [{requests}]\n"), "--html", target)
        with open(target, encoding="utf-8") as f:
            page = f.read()
        self.assertIn("Latency of requests", page)
        self.assertNotIn("Slowdown: time taken", page)  # they have none
        self.assertNotIn(">0.00<", page)
        sim(self.write(INCAST), "--html", target)
        with open(target, encoding="utf-8") as f:
            page = f.read()
        self.assertNotIn("Latency of requests", page)
        self.assertIn("Slowdown: time taken", page)

    def test_a_page_leaves_the_json_alone(self):
        path = self.write(INCAST)
        self.assertNotIn("rates", self.json_of(path, "--html", os.path.join(self.folder.name, "p.html")))

    def test_log_of_hosts_that_go_wrong(self):
        path = self.write(INCAST + "host: {timing: connectx-6}\nfaults:\n"
                          "  - {kind: pause-storm, host: h4, at: 5us, duration: 5us}\n"
                          "  - {kind: slow-receiver, host: h4, at: 12us, duration: 5us, drain_rate: 10G}\n")
        log = os.path.join(self.folder.name, "log")
        self.assertEqual(sim(path, "--log", log).returncode, 0)
        with open(log, encoding="utf-8") as f:
            words = f.read()
        at = [words.find(what) for what in ("h4 begins to pause its switch", "h4 is mended",
                                            "h4 takes packets from its receive buffer at 10",
                                            "h4 takes packets from its receive buffer as fast as they come")]
        self.assertNotIn(-1, at, words)
        self.assertEqual(at, sorted(at))

    def test_case_068_lossless_drops_raise_an_alarm(self):
        text = INCAST.replace("100kB", "1MB") + "switch: {buffer: {pg_lossless: {static_th: 500kB%s}}}\n"
        done = sim(self.write(text % ""))
        self.assertEqual(done.returncode, 0)
        self.assertIn("\n  drops              0\n", done.stdout)
        self.assertNotIn("ALARM", done.stdout)
        path = self.write(text % ", xoff: 0kB")
        self.assertRegex(sim(path).stdout,
                         r"\n  ALARM +\d+ of them of lossless priorities, most of them at s0's port to h\d")
        out = self.json_of(path)
        self.assertEqual(out["totals"]["lossless_drops"], out["totals"]["drops"])
        self.assertGreater(out["totals"]["drops"], 0)

    def test_case_072_memory_of_many_ports_and_hosts(self):
        for hosts in (1024, 5000):
            path = self.write(f"topology: {{hosts: {hosts}}}\nswitch: {{buffer: {{size: 1GB}}}}\n"
                              f"workload: [{{from: h0, to: h{hosts - 1}, bytes: 10kB}}]\n")
            with open(os.path.join(self.folder.name, "out"), "w+", encoding="utf-8") as out:
                process = subprocess.Popen([UROCE, "sim", path], stdout=out)
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
                out.seek(0)
                self.assertIn("all flows have ended", out.read())
            self.assertEqual(process.returncode, 0)
            self.assertLess(usage.ru_maxrss, 1000000, f"kB with {hosts} hosts")

    def test_memory_after_a_large_file(self):
        flows = "".join(f"0,h{i},h{i + 1},1\n" for i in range(2000)) * 20
        self.write("start_us,src,dst,bytes\n" + flows + "# the end\n" * 100000, "t.csv")
        path = self.write("topology: {hosts: 2001}\nswitch: {buffer: {size: 1GB}}\n"
                          "workload: [{kind: trace, file: t.csv}]\n")
        process = subprocess.Popen([UROCE, "sim", "--check", path])
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        self.assertLess(usage.ru_maxrss, 200000, "kB with 2001 hosts")

    def test_same_seed_same_result(self):
        path = self.write(INCAST.replace("bytes: 100kB", "bytes: 100kB, jitter: 10us"))
        outs = [self.json_of(path, "--seed", s) for s in ("1", "1", "2")]
        for out in outs:
            del out["totals"]["wall_seconds"]
        self.assertEqual(outs[0], outs[1])
        self.assertNotEqual(outs[0]["flows"], outs[2]["flows"])

    def test_mistakes(self):
        path = self.write("topology: {kind: fat-tree, k: 3}\nlink: {rate: 100}\nswich: {}\n")
        for arguments in ([path], ["--check", path]):
            done = sim(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertEqual(done.stderr.splitlines(), [
                f'{path}:2: rate: wrong unit in "100", expected a rate with its unit, as 100G or 25Gb/s',
                f"{path}:3: unknown section swich; did you mean switch?"])
        done = sim(self.write("topology: {kind: fat-tree, k: 3}\nworkload: [{}]\n"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("s.yaml:1: k: found 3, expected an even number", done.stderr)
        done = sim(self.write("".join(f"unknown{i}: 1\n" for i in range(30))))
        self.assertEqual(len(done.stderr.splitlines()), 21)
        self.assertIn("and 10 more", done.stderr)
        for arguments in ([], ["--nothing", path], [path, path], ["/nowhere.yaml"], ["--until", "5", path],
                          ["--seed", "x", self.write(INCAST)]):
            self.assertEqual(sim(*arguments).returncode, 2, arguments)

    def test_outputs_are_looked_at_before_the_run(self):
        path = self.write(INCAST.replace("100kB", "1TB"))  # which would take an hour
        log = os.path.join(self.folder.name, "log")
        os.symlink(path, os.path.join(self.folder.name, "link"))
        for arguments, status, said in (
                (["--json", "/nowhere/x.json"], 1, "/nowhere/x.json: No such file"),
                (["--json", path], 2, f"{path}: is read, and would be written"),
                (["--log", os.path.join(self.folder.name, "link")], 2, "link: is read, and would be written"),
                (["--json", log, "--html", log], 2, f"{log}: would be written twice"),
                (["--log", "-", "--samples", "-"], 2, "-: would be written twice"),
                (["--capture", log, "--ports", ","], 2, "--ports: none, expected NODE:NEIGHBOUR"),
                (["--schema"], 2, "--schema takes no argument")):
            done = sim(path, *arguments)
            self.assertEqual((done.returncode, done.stdout), (status, ""), arguments)
            self.assertIn(said, done.stderr)
        self.assertEqual(sim("--check", path, "--log", log).returncode, 0)
        self.assertFalse(os.path.exists(log))
        path = self.write(INCAST)
        self.assertEqual(sim(path, "--log", "/dev/null", "--samples", "/dev/null").returncode, 0)
        sizes = []
        for ports in ("s0:h4", "s0:h4,s*:h4"):
            self.assertEqual(sim(path, "--capture", log, "--ports", ports).returncode, 0)
            sizes.append(os.path.getsize(log))
        self.assertEqual(sizes[0], sizes[1])

    def test_a_signal_ends_the_run_with_what_there_is(self):
        path = self.write(INCAST.replace("100kB", "1TB"))
        target = os.path.join(self.folder.name, "out.json")
        log = os.path.join(self.folder.name, "log")
        for number in (signal.SIGINT, signal.SIGTERM):
            with subprocess.Popen([UROCE, "sim", path, "--json", target, "--log", log], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True) as process:
                while not os.path.exists(log) or not catches(process.pid, number):
                    self.assertIsNone(process.poll())
                    time.sleep(0.05)
                time.sleep(0.5)
                process.send_signal(number)
                out, said = process.communicate(timeout=600)
            self.assertEqual((process.returncode, said), (128 + number, ""))
            self.assertRegex(out, r"ended +at [0-9.]+ us: stopped")
            with open(target, encoding="utf-8") as f:
                results = json.load(f)
            self.assertEqual((results["end"], len(results["flows"])), ("stopped", 4))
            os.remove(log)

    def test_yaml_that_takes_long(self):
        for text, said in (("name: " + "[" * 100000, "1: nested too deep"),
                           ("name: x\n---\nname: y\n", "2: a second document, expected one"),
                           ("b: 1\n" + INCAST, "1: unknown section b\n"),
                           ("seed: 18446744073709551616\n" + INCAST, "1: seed: out of range"),
                           ("topology: {kind: leaf-spine, oversubscription: '-1:-1'}\nworkload: [{}]\n",
                            "1: oversubscription: found \"-1:-1\"")):
            done = sim("--check", self.write(text))
            self.assertEqual(done.returncode, 2)
            self.assertIn(said, done.stderr)
        self.assertIn("seed 18446744073709551615\n", sim(self.write("seed: 18446744073709551615\n" + INCAST)).stdout)

    def test_files_beside_the_scenario(self):
        self.write("start_us,src,dst,bytes\n0,h0,h1,5000\n3.5,h1,h0,6000\n", "t.csv")
        path = self.write("topology: {hosts: 2}\nworkload: [{kind: trace, file: t.csv}]\n")
        out = self.json_of(path)
        self.assertEqual([(f["start_us"], f["bytes"]) for f in out["flows"]], [(0.0, 5000), (3.5, 6000)])

    def test_hpcc_files(self):
        files = [os.path.join(ROOT, "tests", "scenario", "hpcc", name)
                 for name in ("topo_star17.txt", "flow_incast16_1MB.txt", "inc16_paper_b32.cfg")]
        out = self.json_of("--hpcc", *files)
        self.assertEqual([(f["src"], f["dst"], f["bytes"], f["start_us"]) for f in out["flows"]],
                         [(i, 16, 1000000, 2e6) for i in range(16)])
        self.assertEqual(out["totals"]["packet_hops"], 64000)
        for arguments in (files[:2], files + files[:1], files[1:] + files[:1]):
            done = sim("--hpcc", *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""))

    REAL = """\
payload: real
topology: {kind: star, hosts: 4}
link: {reorder: 5%, reorder_delay: 5us}
host: {nic: faulty-ud, path_mtu: "1024"}
workload:
  - {name: datagrams, from: h0, to: h1, service: ud, op: send, bytes: 4MB, message: 1000}
  - {name: writes, from: h2, to: h3, bytes: 1MB, message: 30kB}
"""

    def test_payload_is_compared(self):
        path = self.write(self.REAL)
        target = os.path.join(self.folder.name, "out.json")
        done = sim(path, "--json", target)
        self.assertEqual(done.returncode, 1)
        with open(target, encoding="utf-8") as f:
            out = json.load(f)
        wrong = out["totals"]["messages_wrong"]
        self.assertGreater(wrong, 0)
        self.assertEqual(done.stderr, f"uroce sim: {wrong} of 4034 messages arrived wrong\n")
        self.assertIn(f"4034 messages compared, {wrong} wrong", done.stdout)
        self.assertEqual(out["totals"]["messages_damaged_by_nics"], wrong)
        self.assertEqual([(f["messages_compared"], f["messages_wrong"]) for f in out["flows"]],
                         [(4000, wrong), (34, 0)])
        first = out["wrong_messages"][0]
        self.assertEqual((len(out["wrong_messages"]), first["flow"], first["at"], first["bytes"]),
                         (wrong, 0, "h1", 1000))
        self.assertNotEqual(first["expected"], first["found"])
        self.assertIn(f"flow 0, h0 to h1, message {first['message']}, byte {first['offset']} of 1000: "
                      f"expected 0x{first['expected']:02x}, found 0x{first['found']:02x};", done.stdout)

    def test_payload_of_a_workload(self):
        path = self.write(self.REAL.replace("message: 1000", "message: 1000, payload: phantom")
                          .replace("nic: faulty-ud, ", ""))
        out = self.json_of(path)
        self.assertEqual([f["messages_compared"] for f in out["flows"]], [0, 34])
        out = self.json_of(self.write(self.REAL.replace("payload: real", "payload: phantom")
                                      .replace("nic: faulty-ud, ", "")
                                      .replace("message: 30kB", "message: 30kB, payload: real")))
        self.assertEqual([f["messages_compared"] for f in out["flows"]], [0, 34])

    def test_payload_is_refused(self):
        done = sim("--check", self.write(self.REAL.replace("payload: real", "payload: phantom")))
        self.assertEqual(done.returncode, 2)
        self.assertIn("s.yaml:4: nic: faulty-ud changes bytes of UD messages, expected a workload with "
                      "`service: ud` and `payload: real`", done.stderr)
        large = ("topology: {hosts: 3}\npayload: real\nworkload: [{kind: incast, from: h0..h1, to: h2, "
                 "bytes: 1GB%s}]\n")
        done = sim("--check", self.write(large % ", queue_pairs: 8"))
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("s.yaml:2: payload: real: up to 384 MiB of messages may be under way at once, and "
                      "payload_memory is 100 MiB;", sim("--check", self.write(
                          large.replace("payload: real", "payload: real\npayload_memory: 100MiB") % ""))
                      .stderr)
        # One after the other they need no more than one.
        self.assertEqual(sim("--check", self.write(
            large.replace("1GB", "10MB, rounds: 1000").replace("incast", "flow") % "")).returncode, 0)

    def test_explain(self):
        done = sim("--explain")
        self.assertEqual(done.returncode, 0)
        self.assertIn("  switch.ecn.kmin ", done.stdout)
        self.assertRegex(done.stdout, r"\n  workload.kind .* the pattern: flow, incast, ")
        self.assertRegex(done.stdout, r"\n  workload.block .* \[storage\]\n")  # kinds that have it
        self.assertNotRegex(done.stdout, r"\n  workload.prio .*\[")
        done = sim("--explain", "kmin")
        self.assertRegex(done.stdout, r"^switch.ecn.kmin: bytes\n(.*\n)*  default +400kB\n")
        for name in ("pg_lossless", "buffer.pg_lossless", "switch.buffer.pg_lossless"):
            self.assertIn("  switch.buffer.pg_lossless.xoff ", sim("--explain", name).stdout, name)
        self.assertNotIn("ecn", sim("--explain", "pg_lossless").stdout)
        done = sim("--explain", "ports")
        self.assertIn("  ports.ecn.kmin ", done.stdout)
        self.assertNotIn("ports.latency", done.stdout)  # of a whole switch
        done = sim("--explain", "kmni")
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean switch.ecn.kmin?", done.stderr)

    def test_schema(self):
        with open(os.path.join(GALLERY, "schema.json"), encoding="utf-8") as f:
            self.assertEqual(sim("--schema").stdout, f.read(), "run `make schema`")

    def test_gallery(self):
        names = sorted(n for n in os.listdir(GALLERY) if n.endswith(".yaml"))
        self.assertTrue(names)
        with open(os.path.join(GALLERY, "README.md"), encoding="utf-8") as f:
            index = f.read()
        for name in names:
            done = sim("--check", os.path.join(GALLERY, name))
            self.assertEqual(done.returncode, 0, name)
            if name in ("dragonfly.yaml", "ring-deadlock.yaml"):
                self.assertRegex(done.stderr, r"^.*: warning: switches can wait for each other in a circle.*\n$")
            else:
                self.assertEqual(done.stderr, "", name)
            page = name[:-5] + ".md"
            self.assertTrue(os.path.exists(os.path.join(GALLERY, page)), f"{name} has no page")
            self.assertIn(f"({page})", index)

    def test_bar_only_on_a_terminal(self):
        path = self.write("topology: {hosts: 9}\nworkload: [{kind: all-to-all, bytes: 2MB}]\n")
        self.assertEqual(sim(path).stderr, "")
        ours, theirs = pty.openpty()
        process = subprocess.Popen([UROCE, "sim", path], stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        seen = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # the other side is closed
                break
            if not piece:
                break
            seen += piece
        os.close(ours)
        self.assertEqual(process.wait(), 0)
        self.assertRegex(seen, rb"\[#*\.*\] +\d+%  .* simulated")
        self.assertTrue(seen.endswith(b"\r\033[K"))


if __name__ == "__main__":
    UROCE = sys.argv.pop(1)
    unittest.main(verbosity=0)
