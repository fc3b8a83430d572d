# SPDX-License-Identifier: BSD-2-Clause
"""What an older kernel lacks, taken away by environment: programs run on each fallback too."""
from harness import perftest

from data import verbs_check
from pingpong import pingpong
from rows import FULL, row

FALLBACKS = {
    "no-gso": {"UROCE_GSO": "off"},
    "no-gro": {"UROCE_GRO": "off"},
    "no-batches": {"UROCE_GSO": "off", "UROCE_GRO": "off"},
    "no-guard": {"UROCE_GUARD": "off"},
}


def few_sizes(ctx, program, *args, env):
    for size in ctx.pick((1, 1 << 20), (1, 4096, 65536, 1 << 20)):
        perftest.run(ctx.topology, program, "-s", size, "-n", ctx.pick(50, 500), *args, env=env,
                     on_wait=ctx.on_wait)


def add_rows(name, env, mtu):
    least = 0 if mtu == 9000 else FULL
    where = ("pair", mtu)

    @row(f"fallback/{name}/pingpong/veth-{mtu}", where, least)
    def pingpong_row(ctx):
        for ipv6 in (False, True):
            for size in (1, 65537):
                pingpong(ctx, "-s", size, "-n", 200, ipv6=ipv6, env=env)
        pingpong(ctx, "-e", "-s", 4096, "-n", 200, env=env)

    @row(f"fallback/{name}/perftest/veth-{mtu}", where, least)
    def perftest_row(ctx):
        for program in ("ib_write_bw", "ib_read_bw", "ib_send_bw", "ib_write_lat", "ib_read_lat",
                        "ib_send_lat"):
            ctx.report.progress(program)
            few_sizes(ctx, program, env=env)
        perftest.run(ctx.topology, "ib_atomic_bw", "-n", 200, env=env)

    @row(f"fallback/{name}/verbs-check/veth-{mtu}", where, least)
    def check_row(ctx):
        verbs_check(ctx, ctx.pick(100, 500, 2000), env=env)


for _name, _env in FALLBACKS.items():
    for _mtu in (9000, 1500):
        add_rows(_name, _env, _mtu)
