# SPDX-License-Identifier: BSD-2-Clause
"""Open MPI over UCX over our device: four ranks, a ring and an all-reduce with data checks.

    a: mpirun, ranks 0 and 1            b: ranks 2 and 3
    rc_verbs/uroce_ur0:1   <-- RoCEv2 --> rc_verbs/uroce_ur0:1

mpirun starts its daemon in b by a script in place of ssh. Ranks have no other way than our device:
pml ucx alone, and UCX_TLS names our transports (self is a rank's way to itself).
"""
import os
import shutil
import tempfile

from harness import pair
from harness.report import Failed, Skipped

from rows import row
from surroundings import counter
from ucx import TRANSPORTS

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mpi_check.c")

# Called as: agent HOST WORD..., of which the words make one shell command. The name of the other
# "host" must be another, or mpirun takes the two for one.
AGENT = """#!/bin/sh
shift
exec {prefix} unshare --uts sh -c "hostname uroce-b; $*"
"""


def build(ctx, folder):
    if not shutil.which("mpicc") or not shutil.which("mpirun"):
        raise Skipped("no mpicc and mpirun here")
    program = os.path.join(folder, "mpi_check")
    status, output = pair.run(ctx.topology.a, ["mpicc", "-O2", "-o", program, SOURCE],
                              on_uroce=False)
    if status != 0:
        raise Failed(output)
    return program


def mpirun(ctx, transport, arguments, program):
    place = ctx.topology
    largest = ctx.pick(1 << 16, 1 << 22)
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", 4, *arguments,
               "--mca", "pml", "ucx", "--mca", "btl", "^openib,ofi", "--mca", "osc", "ucx",
               "-x", f"UCX_TLS={TRANSPORTS[transport]},self",
               "-x", f"UCX_NET_DEVICES={place.device}:1", "-x", "UCX_LOG_LEVEL=warn",
               *(word for name in ("PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "UROCE_UROCED")
                 for word in ("-x", name)),
               program, largest, ctx.pick(2, 10)]
    before = counter(place.a, place.device, "hw_counters/tx_payload_bytes")
    p = pair.start(place.a, command)
    status = p.wait(ctx.pick(600, 1800), ctx.on_wait)
    text = f"{' '.join(map(str, command))}\n  status {status}\n{p.output()}"
    if status != 0 or "4 ranks" not in p.output() or "all right" not in p.output():
        raise Failed(text)
    sent = counter(place.a, place.device, "hw_counters/tx_payload_bytes") - before
    if sent < 4 * largest:
        raise Failed(f"only {sent} bytes passed our device\n{text}")
    return f"{sent >> 20} MiB sent"


def add_rows(transport):
    @row(f"openmpi/{transport}/one-host", "lo")
    def one_host(ctx):
        with tempfile.TemporaryDirectory() as folder:
            return mpirun(ctx, transport, [], build(ctx, folder))

    @row(f"openmpi/{transport}/two-hosts", ("pair", 9000))
    def two_hosts(ctx):
        place = ctx.topology
        with tempfile.TemporaryDirectory() as folder:
            program = build(ctx, folder)
            agent = os.path.join(folder, "agent")
            with open(agent, "w", encoding="ascii") as f:
                f.write(AGENT.format(prefix=" ".join(place.b.prefix())))
            os.chmod(agent, 0o755)
            return mpirun(ctx, transport,
                          ["--mca", "plm_rsh_agent", agent, "--mca", "oob_tcp_if_include",
                           place.device[len("uroce_"):], "-H",
                           f"{place.ipv4}:2,{place.client_ipv4}:2"], program)


for _transport in TRANSPORTS:
    add_rows(_transport)
