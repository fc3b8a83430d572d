# SPDX-License-Identifier: BSD-2-Clause
"""ib_write_bw, ib_read_bw and ib_send_bw: all sizes, several QPs, both directions, by duration,
with events (perftest has those for send and read only)."""
from harness import pair, perftest, topology
from harness.report import Failed, Skipped

from rows import FULL, row

PROGRAMS = ("ib_write_bw", "ib_read_bw", "ib_send_bw")


def all_sizes(ctx, program, *args):
    rows = perftest.run(ctx.topology, program, "-a", "-n", ctx.pick(20, 200, 1000), *args,
                        timeout=ctx.pick(600, 1800, 3600), on_wait=ctx.on_wait)
    perftest.expect_sizes(rows, perftest.ALL_SIZES)
    return f"{rows[16].average:.0f} MiB/s at 128 KiB"


def duration(ctx, program, *args):
    rows = perftest.run(ctx.topology, program, "-D", 3, *args, on_wait=ctx.on_wait)
    perftest.expect_sizes(rows, [65536])
    return f"{rows[0].average:.0f} MiB/s"


def add_rows(program, name, where, least):
    def add(variant, function, *args, only_least=least):
        @row(f"{program[3:]}/{name}/{variant}", where, only_least)
        def run(ctx):
            return function(ctx, program, *args)

    add("all", all_sizes)
    add("4-qps", all_sizes, "-q", 4)
    add("both-ways", all_sizes, "-b", only_least=FULL)
    add("both-ways-4-qps", all_sizes, "-b", "-q", 4, only_least=FULL)
    add("duration", duration)
    if program != "ib_write_bw":
        add("events", all_sizes, "-e")


for _program in PROGRAMS:
    for _name, _where, _least in (("lo", "lo", FULL), ("veth-1500", ("pair", 1500), FULL),
                                  ("veth-9000", ("pair", 9000), 0)):
        add_rows(_program, _name, _where, _least)


@row("bw/1-gib-without-memlock", "lo", least=FULL)
def no_pinning(ctx):
    """A region of 1 GiB (two messages of 512 MiB), as nobody with 64 KiB of locked memory."""
    if not topology.may_change_user():
        raise Skipped("needs root to become nobody")
    rows = perftest.run(ctx.topology, "ib_write_bw", "-s", 1 << 29, "-n", 5, on_wait=ctx.on_wait,
                        user=["prlimit", "--memlock=65536:65536", *pair.NOBODY])
    perftest.expect_sizes(rows, [1 << 29])


@row("bw/socket-overflow", ("pair", 9000))
def no_overflow(ctx):
    """The window keeps the sockets from overflowing: the namespaces count no datagram for which a
    socket had no room, 1 and 4 QPs."""
    for qps in (1, 4):
        perftest.run(ctx.topology, "ib_write_bw", "-D", ctx.pick(3, 10), "-q", qps,
                     on_wait=ctx.on_wait)
        for side, ns in (("server", ctx.topology.a), ("client", ctx.topology.b)):
            got, dropped = ns.udp_counts()
            if not got:
                raise Failed(f"{side}: no datagram came")
            if dropped:
                raise Failed(f"{qps} QPs: {dropped} of {got} dropped by sockets of the {side}")
