#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""How fast and how large the network simulator is, as the network grows, and beside HPCC ns-3.

  run.py BUILD [--rounds N] [--only TEXT] [--long] [--json FILE]

  --rounds   how often each program is run (3); the best counts, since what else the machine does
             only makes a run slower
  --only     only the networks whose name has this in it
  --long     HPCC ns-3 runs the fat-tree of 1,024 hosts as well (minutes, and 5 GB)

Each network is a fat-tree of 100 Gb/s links on which every host sends to another one, written to
files in the format of HPCC ns-3, by whose rules it is run, with DCQCN. CPU seconds and memory are
those of the whole process, reading and building included. A hop is one frame on one link.

With HPCC_NS3=DIR, a checkout of that simulator with build/scratch/third in it, in its simulation/
or in src/simulation/, both run the same files in turns, and the ratios are printed. Both simulate
the same packets, so hops per second are as CPU seconds.
"""
import argparse
import collections
import json
import os
import random
import subprocess
import sys
import tempfile

CONFIG = """ENABLE_QCN 1
USE_DYNAMIC_PFC_THRESHOLD 1
PACKET_PAYLOAD_SIZE 1000
TOPOLOGY_FILE topology.txt
FLOW_FILE flows.txt
TRACE_FILE trace.txt
TRACE_OUTPUT_FILE out.tr
FCT_OUTPUT_FILE out.fct
PFC_OUTPUT_FILE out.pfc
QLEN_MON_FILE out.qlen
QLEN_MON_START 5000000000
QLEN_MON_END 5000000001
SIMULATOR_STOP_TIME 2.05
CC_MODE 1
ALPHA_RESUME_INTERVAL 50
RATE_DECREASE_INTERVAL 50
RP_TIMER 55
CLAMP_TARGET_RATE 0
EWMA_GAIN 0.00390625
FAST_RECOVERY_TIMES 1
RATE_AI 20Mb/s
RATE_HAI 200Mb/s
MIN_RATE 1000Mb/s
DCTCP_RATE_AI 1000Mb/s
ERROR_RATE_PER_LINK 0.0000
L2_CHUNK_SIZE 4000
L2_ACK_INTERVAL 1
L2_BACK_TO_ZERO 0
HAS_WIN 0
GLOBAL_T 1
VAR_WIN 0
FAST_REACT 0
U_TARGET 0.95
MI_THRESH 0
INT_MULTI 1
MULTI_RATE 0
SAMPLE_FEEDBACK 0
PINT_LOG_BASE 1.01
PINT_PROB 1.0
RATE_BOUND 1
ACK_HIGH_PRIO 1
LINK_DOWN 0 0 0
ENABLE_TRACE 0
KMAX_MAP 1 100000000000 1600
KMIN_MAP 1 100000000000 400
PMAX_MAP 1 100000000000 0.2
BUFFER_SIZE 32
"""

# `ns3`: 1 always beside HPCC ns-3, 2 with --long
Network = collections.namedtuple("Network", "name k flows bytes rounds ns3")
NETWORKS = (
    Network("128 hosts", 8, 1, 2000000, None, 1),
    Network("1,024 hosts", 16, 1, 2000000, 1, 2),
    Network("8,192 hosts, 20,000 bytes each", 32, 1, 20000, 1, 0),
    Network("8,192 hosts, 212,992 queue pairs", 32, 13, 2000, 1, 0),
)
Run = collections.namedtuple("Run", "seconds mib")


def hosts_of(network):
    return network.k ** 3 // 4


def write_topology(path, k):
    """Hosts first, then the pods' switches below and above, then the core."""
    half = k // 2
    hosts = k * half * half
    edge = hosts
    above = edge + k * half
    core = above + k * half
    links = []
    for pod in range(k):
        for e in range(half):
            lower = edge + pod * half + e
            links += [((pod * half + e) * half + h, lower) for h in range(half)]
            links += [(lower, above + pod * half + a) for a in range(half)]
    for pod in range(k):
        for a in range(half):
            links += [(above + pod * half + a, core + a * half + c) for c in range(half)]
    nodes = core + half * half
    with open(path, "w", encoding="ascii") as f:
        f.write(f"{nodes} {nodes - hosts} {len(links)}\n")
        f.write(" ".join(map(str, range(hosts, nodes))) + "\n")
        f.writelines(f"{a} {b} 100Gbps 1000ns 0\n" for a, b in links)


def permutation(count, seed):
    """Nobody sends to itself: the places are a circle in random order, each sends to the next."""
    order = list(range(count))
    random.Random(seed).shuffle(order)
    to = [0] * count
    for i, host in enumerate(order):
        to[host] = order[(i + 1) % count]
    return to


def write_files(folder, network):
    hosts = hosts_of(network)
    write_topology(os.path.join(folder, "topology.txt"), network.k)
    with open(os.path.join(folder, "flows.txt"), "w", encoding="ascii") as f:
        f.write(f"{hosts * network.flows}\n")
        for seed in range(1, network.flows + 1):
            for host, to in enumerate(permutation(hosts, seed)):
                f.write(f"{host} {to} 3 {99 + seed} {network.bytes} 2.000000000\n")
    for name, text in (("trace.txt", "0\n"), ("config.txt", CONFIG)):
        with open(os.path.join(folder, name), "w", encoding="ascii") as f:
            f.write(text)


def run(argv, folder, environment=None):
    child = subprocess.Popen(argv, cwd=folder, env=environment, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, text=True)
    said = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{argv[0]} ended with {child.returncode}: {said.strip()[:500]}")
    return Run(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def find_ns3(folder):
    """(program, environment) of a checkout, or None."""
    for below in ("", "simulation", os.path.join("src", "simulation")):
        build = os.path.realpath(os.path.join(folder, below, "build"))
        program = os.path.join(build, "scratch", "third")
        if os.access(program, os.X_OK):
            return program, dict(os.environ, LD_LIBRARY_PATH=build)
    return None


def measure(network, uroce, ns3, rounds):
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        write_files(folder, network)
        for _ in range(rounds):
            ours.append(run([uroce, "sim", "--hpcc", "topology.txt", "flows.txt", "config.txt", "--json",
                             "out.json"], folder))
            if ns3:
                theirs.append(run([ns3[0], "config.txt"], folder, ns3[1]))
        with open(os.path.join(folder, "out.json"), encoding="utf-8") as f:
            totals = json.load(f)["totals"]
        if theirs:
            with open(os.path.join(folder, "out.fct"), encoding="utf-8") as f:
                done = sum(1 for _ in f)
            if done != hosts_of(network) * network.flows:
                raise SystemExit(f"HPCC ns-3 ended {done} flows only")
    return totals, ours, theirs


def best(runs):
    return Run(min(r.seconds for r in runs), min(r.mib for r in runs))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args()
    uroce = os.path.abspath(os.path.join(options.build, "bin", "uroce"))
    folder = os.environ.get("HPCC_NS3")
    ns3 = find_ns3(folder) if folder else None
    results = []

    if folder and not ns3:
        raise SystemExit(f"HPCC_NS3={folder}: no build/scratch/third there")
    print("| network | hops | events | CPU s | M hops/s | ns a hop | MiB |\n|---|---|---|---|---|---|---|")
    for network in NETWORKS:
        if options.only not in network.name:
            continue
        beside = ns3 if 1 <= network.ns3 <= (2 if options.long else 1) else None
        totals, ours, theirs = measure(network, uroce, beside, network.rounds or options.rounds)
        hops, us = totals["packet_hops"], best(ours)
        results.append((network, hops, us, best(theirs) if theirs else None, len(ours)))
        print(f"| {network.name} | {hops:,} | {totals['events']:,} | {us.seconds:.2f} | "
              f"{hops / us.seconds / 1e6:.2f} | {us.seconds / hops * 1e9:.0f} | {us.mib:.0f} |", flush=True)
    print()
    if not ns3:
        print("HPCC ns-3 is not at hand: HPCC_NS3=DIR names a checkout with a built simulator.")
    for network, hops, us, them, rounds in results:
        if them:
            print(f"{network.name} beside HPCC ns-3, best of {rounds} in turns: {them.seconds:.2f} s to "
                  f"{us.seconds:.2f} s, {them.seconds / us.seconds:.1f} times as many hops a second; "
                  f"{them.mib:.0f} MiB to {us.mib:.0f} MiB, {them.mib / us.mib:.1f} times less memory")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump([{"network": n.name, "packet_hops": hops, "cpu_seconds": us.seconds, "mib": us.mib,
                        "ns3_cpu_seconds": them and them.seconds, "ns3_mib": them and them.mib}
                       for n, hops, us, them, _ in results], f, indent=1)
            f.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
