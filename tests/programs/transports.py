# SPDX-License-Identifier: BSD-2-Clause
"""UC, UD, shared receive queues and XRC: rdma-core's ping-pongs, and perftest over each of them.
What is not acknowledged must arrive all the same: nothing between the two ends loses packets.
ibv_xsrq_pingpong has one client: with more, they share an XRC domain between processes."""
import re

from harness import pair, perftest, process
from harness.report import Failed

from rows import FULL, row

UD_SIZES = [1 << n for n in range(1, 13)]
SHORT_SIZE = 1025  # odd, and one packet of UD
GROUPS = {"ipv4": "0:0:0:0:0:0:0:0:0:0:255:255:239:1:2:3",
          "ipv6": "255:14:0:0:0:0:0:0:0:0:0:0:0:0:0:1"}


def gids(ctx, ipv6):
    place = ctx.topology
    return (pair.gid_index(place.a, place.device, place.ipv6 if ipv6 else place.ipv4),
            pair.gid_index(place.b, place.device,
                           place.client_ipv6 if ipv6 else place.client_ipv4))


def pingpong(ctx, program, *args, ipv6=False):
    """ibv_xsrq_pingpong says "success", the others how fast they were."""
    place = ctx.topology
    server_gid, client_gid = gids(ctx, ipv6)
    port = pair.next_port()
    common = [program, "-d", place.device, "-p", port, *args]
    outcome = pair.expect_success(pair.run_pair(
        place, [*common, "-g", server_gid], [*common, "-g", client_gid, place.ipv4], port,
        on_wait=ctx.on_wait))
    text = outcome.client.output()
    if "invalid data" in text or not re.search(r"\d+ bytes in [\d.]+ seconds|success", text):
        raise Failed(outcome.text())


def add_pingpong(name, program, size):
    """size: the option that path MTU or message follow."""
    @row(f"transports/pingpong-{name}", ("pair", 9000))
    def run(ctx):
        check = [] if name == "xsrq" else ["-c"]
        for ipv6 in (False, True):
            for mtu in (1024, 4096):
                for extra in ([], ["-e"]):
                    pingpong(ctx, program, *check, size, mtu, *extra, ipv6=ipv6)


add_pingpong("uc", "ibv_uc_pingpong", "-m")
add_pingpong("ud", "ibv_ud_pingpong", "-s")
add_pingpong("srq", "ibv_srq_pingpong", "-m")
add_pingpong("xsrq", "ibv_xsrq_pingpong", "-m")


@row("transports/pingpong-lo", "lo")
def on_loopback(ctx):
    for program in ("ibv_uc_pingpong", "ibv_ud_pingpong", "ibv_srq_pingpong"):
        pingpong(ctx, program, "-c")


def run_perftest(ctx, program, *args, timeout=process.LONG, attempts=3):
    """perftest.run(). UC and UD lose what a socket has no room for while its reader stands still, and
    the programs wait for it for ever: then, and only then, once more. Where a socket may have the
    buffer that uroce asks for (by root) there is room for all that rows send."""
    def count_lost():
        return sum(ns.udp_counts()[1] for ns in {ctx.topology.a, ctx.topology.b})

    before = count_lost()
    try:
        return perftest.run(ctx.topology, program, *args, timeout=timeout, on_wait=ctx.on_wait)
    except Failed:
        lost = count_lost() - before
        if not lost or attempts == 1 or not {"UC", "UD"} & set(args):
            raise
    ctx.report.progress(f"{lost} datagrams had no room; again")
    return run_perftest(ctx, program, *args, timeout=timeout, attempts=attempts - 1)


# What is sent at once on UC must find room in the receiver's socket, 16 MiB with what the kernel adds:
# its reader may stand still. Longer messages go there and back, one at a time.
UC_BYTES_MAX = 6 << 20
UC_SIZES_SHORT = (2, 1025, 4096, 65536, 1 << 20)
UC_SIZES = [size for size in perftest.ALL_SIZES if size <= 1 << 20]
UC_LATENCY_SIZES_SHORT = (SHORT_SIZE, 1 << 23)


def add_uc_perftest(program, variant, args, least=0):
    @row(f"transports/{variant}/{program[3:]}", ("pair", 9000), least)
    def run(ctx):
        is_latency = program.endswith("_lat")
        sizes = ctx.pick(UC_LATENCY_SIZES_SHORT if is_latency else UC_SIZES_SHORT,
                         perftest.ALL_SIZES if is_latency else UC_SIZES)
        for size in sizes:
            count = max(5, min(ctx.pick(20, 100, 500), UC_BYTES_MAX // size))
            ctx.report.progress(f"size {size}")
            rows = run_perftest(ctx, program, "-s", size, "-n", count, *args)
            perftest.expect_sizes(rows, [size])


def add_perftest(program, variant, args, sizes=perftest.ALL_SIZES, least=0):
    @row(f"transports/{variant}/{program[3:]}", ("pair", 9000), least)
    def run(ctx):
        """In short form one size of the latency programs, which take half a second for each; all
        sizes of a transport are in its bandwidth row."""
        expected, many = sizes, ["-a"] if len(sizes) > 1 else []
        if many and program.endswith("_lat") and ctx.pick(True, False, False):
            expected, many = [SHORT_SIZE], ["-s", SHORT_SIZE]
        rows = run_perftest(ctx, program, *many, "-n", ctx.pick(20, 100, 500), *args,
                            timeout=ctx.pick(600, 1800, 3600))
        perftest.expect_sizes(rows, expected)


for _program in ("ib_send_bw", "ib_send_lat", "ib_write_bw", "ib_write_lat"):
    add_uc_perftest(_program, "uc", ["-c", "UC"])
    add_perftest(_program, "xrc", ["-c", "XRC"])
for _program in ("ib_read_bw", "ib_read_lat"):
    add_perftest(_program, "xrc", ["-c", "XRC"])
for _program in ("ib_atomic_bw", "ib_atomic_lat"):
    add_perftest(_program, "xrc", ["-c", "XRC"], sizes=[8])
for _program in ("ib_send_bw", "ib_send_lat"):
    add_perftest(_program, "ud", ["-c", "UD"], sizes=UD_SIZES)
    add_perftest(_program, "srq", ["--use-srq"])
add_uc_perftest("ib_send_bw", "uc-both-ways", ["-c", "UC", "-b"], least=FULL)
add_perftest("ib_send_bw", "ud-4-qps", ["-c", "UD", "-q", 4], sizes=UD_SIZES, least=FULL)
add_perftest("ib_send_bw", "xrc-4-qps", ["-c", "XRC", "-q", 4], least=FULL)


def add_multicast(name, ipv6):
    @row(f"transports/multicast-{name}", ("pair", 9000))
    def run(ctx):
        """perftest's own group stays on the host (scope 1), so it is given one."""
        gid, _ = gids(ctx, ipv6)
        for program in ("ib_send_bw", "ib_send_lat"):
            rows = perftest.run(ctx.topology, program, "-c", "UD", "-g", "-M", GROUPS[name],
                                "-n", ctx.pick(100, 1000), gid=gid, on_wait=ctx.on_wait)
            perftest.expect_sizes(rows, [2 if program == "ib_send_lat" else 4096])


for _name in GROUPS:
    add_multicast(_name, _name == "ipv6")
