# SPDX-License-Identifier: BSD-2-Clause
"""ib_write_lat, ib_read_lat and ib_send_lat: all sizes, and with events where perftest has them.

perftest takes 0.4 s for each size to find the clock rate of the processor, so --short has few with events.
"""
from harness import perftest

from rows import FULL, SHORT, row

FEW_SIZES = (2, 4096, 4097, 1 << 20)


def all_sizes(ctx, program, *args):
    rows = perftest.run(ctx.topology, program, "-a", "-n", ctx.pick(20, 500, 1000), *args,
                        timeout=ctx.pick(600, 1800, 3600), on_wait=ctx.on_wait)
    perftest.expect_sizes(rows, perftest.ALL_SIZES)
    return f"{rows[0].typical:.1f} us at 2 bytes"


def few_sizes(ctx, program, *args):
    for size in FEW_SIZES:
        rows = perftest.run(ctx.topology, program, "-s", size, "-n", 200, *args,
                            on_wait=ctx.on_wait)
        perftest.expect_sizes(rows, [size])
    return f"{len(FEW_SIZES)} sizes"


def add_rows(program, name, where, least):
    @row(f"{program[3:]}/{name}/all", where, least)
    def polling(ctx):
        return all_sizes(ctx, program)

    if program != "ib_write_lat":
        @row(f"{program[3:]}/{name}/events", where, least)
        def events(ctx):
            if ctx.scale == SHORT:
                return few_sizes(ctx, program, "-e")
            return all_sizes(ctx, program, "-e")


for _program in ("ib_write_lat", "ib_read_lat", "ib_send_lat"):
    for _name, _where, _least in (("lo", "lo", FULL), ("veth-1500", ("pair", 1500), FULL),
                                  ("veth-9000", ("pair", 9000), 0)):
        add_rows(_program, _name, _where, _least)
