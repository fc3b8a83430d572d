# SPDX-License-Identifier: BSD-2-Clause
"""rdma-core's own tests, run by Debian's python3-pyverbs against our library. RDMA_CORE_TESTS names
the directory of a checkout of rdma-core 44 that holds `tests`; without it the rows are skipped.

A case counts only with "ok" behind its name, and the whole only if packets flowed: a case that never
reaches its data path says "ok" as well."""
import os
import re

from harness import pair
from harness.report import Failed, Skipped

from rows import row

CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "conform_cases.txt")
PACKETS_AT_LEAST = 1000


def wanted():
    with open(CASES, encoding="ascii") as f:
        return [line.strip() for line in f if line.strip() and not line.startswith("#")]


def results(output):
    """Case to what is said of it; a documented case has its first words between the two."""
    found, name = {}, None
    for line in output.splitlines():
        case = re.match(r"test_\w+ \(tests\.([\w.]+)\)", line)
        if case:
            name = case.group(1)
        verdict = re.search(r"\.\.\. (\w+)", line)
        if verdict and name:
            found[name], name = verdict.group(1), None
    return found


def loopback_packets(ns):
    """Both ends have the same address, so their packets pass through lo."""
    with open(f"/proc/{ns.held.pid}/net/dev", encoding="ascii") as f:
        for line in f:
            name, _, figures = line.partition(":")
            if name.strip() == "lo":
                return int(figures.split()[1])
    raise Failed("no lo")


def run_suite(ctx, gid):
    directory = os.environ.get("RDMA_CORE_TESTS")
    if not directory:
        raise Skipped("RDMA_CORE_TESTS names no checkout of rdma-core 44")
    place = ctx.topology
    before = loopback_packets(place.a)
    p = pair.start(place.a, ["/usr/bin/python3", os.path.join(directory, "tests", "run_tests.py"),
                             "--dev", place.device, "--gid", gid, "-v",
                             *(f"tests.{case}" for case in wanted())])
    status = p.wait(300, ctx.on_wait)
    found = results(p.output())
    missing = [case for case in wanted() if found.get(case) != "ok"]
    if status != 0 or missing:
        raise Failed(f"status {status}; not ok: {' '.join(missing) or 'none'}\n{p.output()}")
    packets = loopback_packets(place.a) - before
    if packets < PACKETS_AT_LEAST:
        raise Failed(f"all ok, but only {packets} packets flowed")
    return f"{len(wanted())} cases, {packets} packets"


@row("conform/ipv4", ("pair", 9000))
def ipv4(ctx):
    return run_suite(ctx, pair.gid_index(ctx.topology.a, ctx.topology.device, ctx.topology.ipv4))


@row("conform/ipv6", ("pair", 9000))
def ipv6(ctx):
    return run_suite(ctx, pair.gid_index(ctx.topology.a, ctx.topology.device, ctx.topology.ipv6))
