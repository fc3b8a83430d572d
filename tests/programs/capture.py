# SPDX-License-Identifier: BSD-2-Clause
"""What tshark sees on the veth: RRoCE, nothing malformed, every packet that the engine counted, and
an ICRC that icrc_check.py finds right.

    +------ a ------+                +------ b ------+
    | server    ur0 |---- veth ------| ur0    client |
    |  tshark -i ur0|                |               |
    +---------------+                +---------------+

Batches are off (UROCE_GSO, UROCE_GRO): on a veth a batch is one large frame.
"""
from harness import pair, perftest, roce
from harness.capture import SINGLE, Capture, check_dissection, repeated_at_end
from harness.report import Failed

import icrc_check
import pingpong
from rows import row


def check_counters(counters, packets, server):
    """Those of the server's engine, on whose interface the capture was; `server` has its addresses. It
    may have ended before it read a repetition at the end of all."""
    sent, received = counters["io_tx_packets"], counters["io_rx_packets"]
    theirs = [p for p in packets if p.src not in server]
    most = len(theirs)
    if sent != len(packets) - most or not most - repeated_at_end(theirs) <= received <= most:
        raise Failed(f"the engine sent {sent} packets and received {received}, tshark saw "
                     f"{len(packets) - most} and {most}")
    for name in ("rx_bad_icrc", "rx_too_short", "io_rx_overflow", "io_tx_dropped"):
        if counters[name]:
            raise Failed(f"counter {name} is {counters[name]}")


def add_row(name, mtu, drive):
    @row(f"capture/{name}", ("pair", mtu))
    def run(ctx):
        capture = Capture(ctx.topology.a, "ur0")
        counters = []
        try:
            drive(ctx, lambda server: counters.append(pair.Counters(server)))
            capture.stop()
            seen = check_dissection(capture)
            count, wrong = icrc_check.check(capture.path)
            if count != seen or not count:
                raise Failed(f"tshark dissected {seen} packets, the file has {count}")
            if wrong:
                raise Failed(f"{wrong} of {count} packets have a wrong ICRC")
            check_counters(counters[0].read(), roce.read(capture.path),
                           {ctx.topology.ipv4, ctx.topology.ipv6})
        finally:
            for each in counters:
                each.close()
            capture.close()
        return f"{count} packets"


def drive_pingpong(ipv6):
    def drive(ctx, on_server):
        pingpong.pingpong(ctx, "-s", 4097, "-n", 100, ipv6=ipv6, env=SINGLE, on_server=on_server)
    return drive


def drive_perftest(program, *args):
    def drive(ctx, on_server):
        perftest.run(ctx.topology, program, "-n", 50, *args, env=SINGLE, on_server=on_server)
    return drive


add_row("pingpong-ipv4", 1500, drive_pingpong(False))
add_row("pingpong-ipv6", 1500, drive_pingpong(True))
add_row("write", 9000, drive_perftest("ib_write_bw", "-s", 65537))
add_row("read", 9000, drive_perftest("ib_read_bw", "-s", 65537))
add_row("send", 1500, drive_perftest("ib_send_bw", "-s", 3000))
add_row("atomic", 1500, drive_perftest("ib_atomic_bw"))
