# SPDX-License-Identifier: BSD-2-Clause
"""A network that loses, doubles and reorders: one percent of each, injected at the sender by a seed
(UROCE_IMPAIR); and one that loses batches. Data is right all the same, and bandwidth programs
finish."""
from harness import perftest

from data import LOSSY_TIMEOUT, verbs_check
from rows import FULL, row

TIMEOUT = ("-u", LOSSY_TIMEOUT)
KINDS = {
    "drop": ("drop=1%", "loss"),
    "dup": ("dup=1%", "dup"),
    "reorder": ("reorder=1%", "reorder"),
    "all": ("drop=1%,dup=1%,reorder=1%", "loss,dup,reorder"),
}


def add_rows(kind, impairment, link, mtu):
    env = {"UROCE_IMPAIR": f"seed=1,{impairment}"}
    least = 0 if mtu == 9000 else FULL

    @row(f"faults/{kind}/verbs-check/veth-{mtu}", ("pair", mtu), least)
    def check(ctx):
        count = ctx.pick(50, 500, 2000)
        verbs_check(ctx, count, "--link", link, env=env, timeout=600 + 10 * count)
        return f"{count} seeds"

    @row(f"faults/{kind}/write_bw/veth-{mtu}", ("pair", mtu), least)
    def bandwidth(ctx):
        rows = perftest.run(ctx.topology, "ib_write_bw", "-n", ctx.pick(500, 5000), *TIMEOUT,
                            env=env, timeout=600, on_wait=ctx.on_wait)
        perftest.expect_sizes(rows, [65536])
        return f"{rows[0].average:.0f} MiB/s"


@row("faults/batches/write_bw/veth-9000", ("pair", 9000))
def batches_lost(ctx):
    """A path that carries single packets and no batch."""
    env = {"UROCE_IMPAIR": "batches=drop"}
    rows = perftest.run(ctx.topology, "ib_write_bw", "-n", ctx.pick(200, 2000), *TIMEOUT, env=env,
                        timeout=600, on_wait=ctx.on_wait)
    perftest.expect_sizes(rows, [65536])
    return f"{rows[0].average:.0f} MiB/s"


for _kind, (_impairment, _link) in KINDS.items():
    for _mtu in (9000, 1500):
        add_rows(_kind, _impairment, _link, _mtu)
