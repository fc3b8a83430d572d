#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The main job in a minute: unmodified verbs programs, two processes, over the device of lo and
then between two network namespaces, beside TCP on the same path. `make demo` runs it; it changes
nothing on the machine."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests"))

from harness import pair, perftest, process, report, topology  # noqa: E402

NEXT = """\
Where to go next
  {uroce} devices -v          the devices of this machine
  {uroce} run CMD             any verbs program on them: a server here, a client there
  {uroce} help                all commands
  {uroce} sim scenarios/incast.yaml --html incast.html   a simulated network of such devices
  make programs ARGS=--short     every program and fault that is tested, row by row
  make bench                     the same figures with care: turns, medians, bare UDP beside
  README.md, ARCHITECTURE.md     what it is, and how it works"""


def headline(text):
    print("\n" + report.coloured(text, "1"), flush=True)


def doing(text):
    if report.is_terminal():
        print(f"\033[2K  {text} ...", end="\r", flush=True)


def done(text):
    if report.is_terminal():
        print("\033[2K", end="")
    print(f"  {text}", flush=True)


def command(argv):
    """As a reader can type it."""
    return "uroce run " + " ".join(str(a) for a in argv)


def show_devices():
    headline("The RDMA devices of this machine")
    status, output = pair.run(topology.Namespace(), [pair.UROCE, "devices"], on_uroce=False)
    if status != 0:
        raise report.Failed(output)
    for line in output.rstrip().splitlines():
        done(line)


def show_pingpong(place):
    argv = ["ibv_rc_pingpong", "-d", place.device, "-g",
            pair.gid_index(place.a, place.device, place.ipv4), "-c"]
    port = pair.next_port()
    doing(command(argv))
    outcome = pair.expect_success(pair.run_pair(place, [*argv, "-p", port],
                                                [*argv, "-p", port, place.ipv4], port))
    done("$ " + command(argv) + f" -p {port} &")
    done("$ " + command([*argv, "-p", port, place.ipv4]))
    for line in outcome.client.output().splitlines():
        if re.search(r"address:|bytes in|iters in", line):
            done("  " + line.strip())


def iperf3(place):
    port = pair.next_port()
    outcome = pair.expect_success(pair.run_pair(
        place, ["iperf3", "-s", "-1", "-p", port],
        ["iperf3", "-c", place.ipv4, "-p", port, "-t", 2, "-f", "g"], port, on_uroce=False))
    return float(re.search(r"([\d.]+) Gbits/sec\s+receiver", outcome.client.output()).group(1))


def tcp_latency(place):
    port = pair.next_port()
    server = pair.start(place.a, ["qperf", "-lp", port], on_uroce=False)
    try:
        process.wait_for_port(server, port)
        status, output = pair.run(place.b, ["qperf", "-lp", port, "-t", 1, "-m", 64, place.ipv4,
                                            "tcp_lat"], on_uroce=False)
    finally:
        server.end()
    found = re.search(r"latency\s*=\s*([\d.]+) us", output)
    if status != 0 or not found:
        raise report.Failed(output)
    return float(found.group(1))


def write_bandwidth(place):
    return perftest.run(place, "ib_write_bw", "-D", 3, "--report_gbits")[0].average


def send_latency(place):
    return perftest.run(place, "ib_send_lat", "-s", 64, "-n", 10000)[0].typical


MEASURED = (
    ("bandwidth", "TCP", "iperf3", "Gb/s", iperf3),
    ("", "RDMA", "ib_write_bw", "Gb/s", write_bandwidth),
    ("latency", "TCP", "qperf tcp_lat", "us", tcp_latency),
    ("", "RDMA", "ib_send_lat", "us", send_latency),
)


def measure(place):
    for what, transport, program, unit, function in MEASURED:
        doing(f"{program} {place.ipv4}")
        done(f"{what:<11}{transport:<6}{program:<15}{function(place):8.2f} {unit}")


def show(title, place):
    headline(title)
    for line in place.drawing.splitlines():
        done(line)
    print()
    show_pingpong(place)
    print()
    measure(place)


def main():
    topology.enter_user_namespace()
    show_devices()
    if topology.may_make_namespaces():
        with topology.Loopback() as place:
            show("Two processes over lo", place)
        with topology.Pair(9000) as place:
            show("Between two network namespaces, as between two machines", place)
    else:
        show("Two processes over lo", topology.Host())
        print("\n  Network namespaces cannot be made here (root or user namespaces are needed): "
              "lo only.")
    print("\nThe programs are Debian's, unmodified; what they send is RoCEv2 in UDP, port 4791.\n")
    print(NEXT.format(uroce=os.path.relpath(pair.UROCE)))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (report.Failed, RuntimeError, process.Timeout) as error:
        process.end_all()
        sys.exit(f"\ndemo: {error}")
    except KeyboardInterrupt:
        process.end_all()
        sys.exit(130)
