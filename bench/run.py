#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Measures uroce beside TCP and bare UDP on the same veth, alternating, and prints medians.

  run.py [--rounds N] [--seconds N] [--mtu N] [--only bw|lat|connect|setup] [--json FILE] [--record]

  --rounds   how often each program is run (5); they take turns, so that what the machine does
             meanwhile falls on all of them
  --seconds  of each bandwidth run (3)
  --mtu      of the veth (9000)
  --json     where to write the figures (build/bench.json)
  --record   appends a dated block to bench/HISTORY.md

A ratio is that of two medians of one run of this script; figures of two runs, or of two machines,
are not to be compared.

    +------ a ------+              +------ b ------+
    | ur0 10.77.0.1 |---- veth ----| ur0 10.77.0.2 |
    |    servers    |              |    clients    |
    +---------------+              +---------------+
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests"))

from harness import cm, pair, perftest, process, report, topology  # noqa: E402

FLOOR_PORT = 4790
CONNECTIONS = 2000
BENCH = os.path.join(os.path.dirname(os.path.dirname(pair.UROCE)), "bench")


class Contest:
    """Programs that take turns: name -> function that runs one once and gives its figure."""

    def __init__(self, unit, runners):
        self.unit = unit
        self.runners = runners
        self.figures = {name: [] for name in runners}
        self.failures = {}

    def round(self, number, rounds):
        for name, runner in self.runners.items():
            if name in self.failures:
                continue
            say(f"round {number} of {rounds}: {name}")
            try:
                self.figures[name].append(runner())
            except (report.Failed, report.Skipped, RuntimeError, process.Timeout) as e:
                self.failures[name] = str(e)

    def median(self, name):
        return statistics.median(self.figures[name]) if self.figures[name] else None

    def ratio(self, name, other):
        mine, theirs = self.median(name), self.median(other)
        return mine / theirs if mine and theirs else None

    def result(self):
        return {name: {"unit": self.unit, "median": self.median(name), "runs": figures,
                       **({"failed": self.failures[name]} if name in self.failures else {})}
                for name, figures in self.figures.items()}


def say(text):
    if report.is_terminal():
        print(f"\033[2K  {text}", end="\r", flush=True)


def number_after(pattern, text):
    found = re.search(pattern, text)
    if not found:
        raise report.Failed(f"no figure in\n{text}")
    return float(found.group(1))


def floor_program(name):
    path = os.path.join(BENCH, name)
    if not os.access(path, os.X_OK):
        raise report.Skipped(f"no {path}")
    return path


def iperf3(place, seconds):
    port = pair.next_port()
    outcome = pair.expect_success(pair.run_pair(
        place, ["iperf3", "-s", "-1", "-p", port],
        ["iperf3", "-c", place.ipv4, "-p", port, "-t", seconds, "-J"], port, on_uroce=False))
    result = json.loads(outcome.client.output())
    return result["end"]["sum_received"]["bits_per_second"] / 1e9


def floor(place, program, pattern, *args, protocol="udp", server_args=()):
    """A program of bench/floor; its server ends by itself."""
    outcome = pair.expect_success(pair.run_pair(
        place, [floor_program(program), "--serve", place.ipv4, *server_args],
        [floor_program(program), "--from", place.client_ipv4, "--to", place.ipv4, *args],
        FLOOR_PORT, on_uroce=False, protocol=protocol))
    return number_after(pattern, outcome.client.output())


def udp_floor(place, seconds):
    return floor(place, "udp-floor", r"udp_floor_gbps ([\d.]+)", "-t", seconds)


def udp_pingpong(place):
    return floor(place, "udp-pingpong", r"udp_pingpong_us p50 ([\d.]+)", "-n", 20000, "-b", 64)


def tcp_connects(place):
    count = ("-n", CONNECTIONS)
    return floor(place, "tcp-connect", r"tcp_connects_per_s (\d+)", *count, protocol="tcp",
                 server_args=count)


def cm_connects(place, at_once):
    """With a queue pair on each side, made and destroyed; closed, but not out of TIMEWAIT."""
    args = ("-t", "bench", "-n", CONNECTIONS, "-f")
    server = cm.serve(place.a, place.ipv4, 7471, *args)
    client = cm.connect(place.b, place.ipv4, 7471, *args, "-w", at_once)
    figures = client.result(300)
    server.result(60)
    return CONNECTIONS / figures["seconds"]


def perftest_bw(place, program, seconds):
    rows = perftest.run(place, program, "-D", seconds, "-s", 65536, "--report_gbits")
    return rows[0].average


def perftest_lat(place, program, *args):
    rows = perftest.run(place, program, "-n", 20000, *args)
    return rows[0].typical


def qperf_tcp_lat(place):
    port = pair.next_port()
    server = pair.start(place.a, ["qperf", "-lp", port], on_uroce=False)
    try:
        process.wait_for_port(server, port)
        status, output = pair.run(place.b, ["qperf", "-lp", port, "-t", 2, "-m", 64, "-uu",
                                            place.ipv4, "tcp_lat"], on_uroce=False)
    finally:
        server.end()
    if status != 0:
        raise report.Failed(output)
    value = number_after(r"latency\s*=\s*([\d.]+)", output)
    unit = re.search(r"latency\s*=\s*[\d.]+\s*(\w+)", output).group(1)
    return value * {"ns": 1e-3, "us": 1, "ms": 1e3, "sec": 1e6}[unit]


def bandwidth_contest(place, seconds):
    return Contest("Gb/s", {
        "iperf3": lambda: iperf3(place, seconds),
        "udp-floor": lambda: udp_floor(place, seconds),
        "ib_write_bw": lambda: perftest_bw(place, "ib_write_bw", seconds),
        "ib_read_bw": lambda: perftest_bw(place, "ib_read_bw", seconds),
        "ib_send_bw": lambda: perftest_bw(place, "ib_send_bw", seconds),
    })


def latency_contest(place):
    return Contest("us", {
        "qperf tcp_lat": lambda: qperf_tcp_lat(place),
        "udp-pingpong": lambda: udp_pingpong(place),
        "ib_send_lat": lambda: perftest_lat(place, "ib_send_lat", "-s", 64),
        "ib_write_lat": lambda: perftest_lat(place, "ib_write_lat", "-s", 64),
        "ib_read_lat": lambda: perftest_lat(place, "ib_read_lat", "-s", 64),
        "ib_atomic_lat": lambda: perftest_lat(place, "ib_atomic_lat"),
    })


def connect_contest(place):
    return Contest("1/s", {
        "TCP": lambda: tcp_connects(place),
        "rdma_cm": lambda: cm_connects(place, 1),
        "rdma_cm, 64 at once": lambda: cm_connects(place, 64),
    })


def setup_figures(place):
    index = pair.gid_index(place.a, place.device, place.ipv4)
    status, output = pair.run(place.a, [floor_program("bench-setup"), "-d", place.device, "-g",
                                        index], timeout=300)
    if status != 0:
        raise report.Failed(f"bench-setup: status {status}\n{output}")
    return json.loads(output)


def first_line(*argv):
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False,
                              env=process.own_environment())
    except OSError:
        return "not there"
    return (done.stdout + done.stderr).strip().splitlines()[0]


def package_version(name):
    return first_line("dpkg-query", "-W", "-f", "${Version}", name)


def cpu_model():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        found = re.search(r"^model name\s*:\s*(.*)$", f.read(), re.MULTILINE)
    return found.group(1) if found else os.uname().machine


def processors_ns():
    """What a cache line takes between the processors, there and back. Where it is four or more times
    what it was, the machine's owner has moved them apart, and bandwidth halves: not to be compared
    with figures from before."""
    done = subprocess.run([pair.UROCE, "verify", "--only", "floor/processors", "--json", "-"],
                          capture_output=True, text=True, check=False,
                          env=process.own_environment())
    try:
        return round(json.loads(done.stdout)["cases"][0]["value"] * 1000)
    except (ValueError, KeyError, TypeError):
        return None


def machine(args):
    return {
        "date": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "cpu": cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "kernel": os.uname().release,
        "mtu": args.mtu,
        "rounds": args.rounds,
        "seconds": args.seconds,
        "uroce": first_line(pair.UROCE, "version").removeprefix("uroce "),
        "commit": first_line("git", "-C", pair.ROOT, "describe", "--always", "--dirty"),
        "iperf3": package_version("iperf3"),
        "perftest": package_version("perftest"),
        "qperf": package_version("qperf"),
    }


def format_contest(contest, title, references):
    lines = [f"{title:<28}{'median':>9}{'min':>9}{'max':>9}" +
             "".join(f"{'/ ' + r:>18}" for r in references)]
    for name, figures in contest.figures.items():
        if not figures:
            lines.append(f"  {name:<26}  failed: {contest.failures[name].splitlines()[0]}")
            continue
        line = f"  {name:<26}{contest.median(name):9.2f}{min(figures):9.2f}{max(figures):9.2f}"
        for reference in references:
            ratio = contest.ratio(name, reference) if name != reference else None
            line += f"{ratio:17.2f}x" if ratio else f"{'':18}"
        lines.append(line.rstrip())
    return lines


def format_setup(setup):
    lines = [f"{'set-up, us':<54}{'p50':>9}{'p99':>9}{'max':>9}"]
    rows = [(f"QP create to RTS, {setup['qp']['count']} QPs", setup["qp"])]
    for mr in setup["mr"]:
        size = f"{mr['bytes'] >> 20} MiB" if mr["bytes"] >= 1 << 20 else f"{mr['bytes'] >> 10} KiB"
        threads = "1 thread" if mr["threads"] == 1 else f"{mr['threads']} threads"
        rows.append((f"MR of {size}, {mr['pages']} pages, {threads}", mr))
    for name, figures in rows:
        lines.append(f"  {name:<52}{figures['p50_us']:9.2f}{figures['p99_us']:9.2f}"
                     f"{figures['max_us']:9.2f}")
    return lines


def record(facts, figures, lines):
    path = os.path.join(pair.ROOT, "bench", "HISTORY.md")
    with open(path, "a", encoding="utf-8") as f:
        f.write(f"\n## {facts['date'].split()[0]}, {facts['commit']}\n\n"
                f"{facts['cpu']}, {facts['cores']} cores, Linux {facts['kernel']}, veth MTU "
                f"{facts['mtu']}; medians of {facts['rounds']} rounds. A cache line took "
                f"{figures['processors_ns']} ns there and back.\n\n```\n")
        f.write("\n".join(lines) + "\n```\n")
    print(f"appended to {path}")


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].strip())
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--mtu", type=int, default=9000)
    parser.add_argument("--only", choices=("bw", "lat", "connect", "setup"))
    parser.add_argument("--json", default=os.path.join(pair.ROOT, "build", "bench.json"))
    parser.add_argument("--record", action="store_true")
    return parser.parse_args()


def measure(args, place):
    """(figures for the JSON, lines of the table, whether all could be measured)"""
    figures, lines, ok = {"processors_ns": [processors_ns()]}, [], True
    contests = []
    if args.only in (None, "bw"):
        contests.append(("bandwidth", bandwidth_contest(place, args.seconds),
                         "64 KiB messages, Gb/s", ("iperf3", "udp-floor")))
    if args.only in (None, "lat"):
        contests.append(("latency", latency_contest(place),
                         "64 bytes, us (median)", ("qperf tcp_lat", "udp-pingpong")))
    if args.only in (None, "connect"):
        contests.append(("connect", connect_contest(place), "connections a second", ("TCP",)))
    for key, contest, title, references in contests:
        for number in range(1, args.rounds + 1):
            contest.round(number, args.rounds)
        say("")
        figures[key] = contest.result()
        figures["processors_ns"].append(processors_ns())
        lines += format_contest(contest, title, references) + [""]
        ok = ok and not contest.failures
        for name, text in contest.failures.items():
            print(f"{name}: {text}", file=sys.stderr)
    if args.only in (None, "setup"):
        figures["setup"] = setup_figures(place)
        lines += format_setup(figures["setup"])
    figures["processors_ns"] = ", ".join(str(ns) for ns in figures["processors_ns"])
    lines.append(f"a cache line between the processors, before and after: "
                 f"{figures['processors_ns']} ns there and back")
    return figures, lines, ok


def main():
    args = arguments()
    topology.enter_user_namespace()
    facts = machine(args)
    print("\n".join(f"{key:<10}{value}" for key, value in facts.items()) + "\n")
    with topology.Pair(args.mtu) as place:
        print(place.drawing + "\n")
        figures, lines, ok = measure(args, place)
    print("\n".join(lines))
    print("\nSEND and WRITE latency is one way, as that of TCP and UDP; READ and atomics are round "
          "trips.")
    with open(args.json, "w", encoding="utf-8") as f:
        json.dump({"machine": facts, **figures}, f, indent=1)
        f.write("\n")
    print(f"written to {os.path.relpath(args.json)}")
    if args.record:
        record(facts, figures, lines)
    return 0 if ok else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (report.Failed, report.Skipped, RuntimeError, process.Timeout) as error:
        process.end_all()
        sys.exit(f"bench: {error}")
