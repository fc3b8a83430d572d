# SPDX-License-Identifier: BSD-2-Clause
"""The programs of examples/ between two namespaces, and the one that stands damaged UD messages with
an adapter that makes them (UROCE_IMPAIR=faulty-ud): with its checksum all is right at the end,
without it what is wrong reaches the application."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples"))

import drive  # noqa: E402
from harness import pair  # noqa: E402

from rows import FULL, row  # noqa: E402

FOLDER = os.path.join(pair.ROOT, "build", "examples")
FAULTY = "ud_damage=2%,reorder=2%"


def add(name, run, least=0):
    @row(f"examples/{name}", ("pair", 1500), least)
    def run_row(ctx):
        found = run(ctx, drive.Driver(FOLDER, ctx.topology))
        return ", ".join(f"{k} {v}" for k, v in found.items()) if found else ""


for _drive in (drive.rc_send_recv, drive.rc_write_imm, drive.rdma_cm_echo, drive.atomic_counter,
               drive.ud_clean):
    add(_drive.__name__, lambda ctx, d, run=_drive: run(d))
add("ud_checked/faulty", lambda ctx, d: drive.ud_mended(d, FAULTY, ctx.pick(4000, 40000)))
add("ud_checked/faulty-ud",
    lambda ctx, d: drive.ud_mended(d, "faulty-ud,reorder=1%", ctx.pick(8000, 100000)))
add("ud_checked/faulty-lossy",
    lambda ctx, d: drive.ud_mended(d, FAULTY + ",drop=1%,dup=1%", ctx.pick(4000, 40000)), FULL)
add("ud_checked/unchecked",
    lambda ctx, d: drive.ud_unchecked(d, FAULTY, ctx.pick(4000, 40000)))
