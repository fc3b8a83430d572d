# SPDX-License-Identifier: BSD-2-Clause
"""Congestion: the receiving side marks what comes, as a switch would (UROCE_IMPAIR=ce=...). CNPs go
back and, with UROCE_CC=dcqcn, the sender is slower while marks last and fast again when they have
ended; by default CNPs are sent, and those that come are counted as ignored. How fast it was is told
by ib_write_bw itself, for each second: who looks now and then may be late for the marks.

    +------ a ------+                +------ b ------+
    | server    ur0 |---- veth ------| ur0    client |
    |  marks        |                |               |
    +---------------+                +---------------+
"""
from harness import pair, perftest, process
from harness.report import Failed

from rows import row

MARKED_PACKETS = 6000
MARKS = f"seed=1,ce=50%,first={MARKED_PACKETS}"
DCQCN = "dcqcn,set=paper,rpg_time_reset=1000,rpg_min_rate=50"
ECN_CAPABLE = 106  # traffic class, DSCP 26
SAMPLE_S = 0.05
FASTER = 2  # times, at least, without marks


class Stream:
    """ib_write_bw without end, and the counters of both sides."""

    def __init__(self, ctx, cc, *args):
        port = pair.next_port()
        argv = ["ib_write_bw", "-F", "-d", ctx.topology.device, "-p", port, "-s", 65536,
                "--run_infinitely", "-D", 1, *perftest.TIMEOUT, *args]
        env = {"UROCE_CC": cc} if cc else {}
        self.server = pair.start(ctx.topology.a, argv, env={**env, "UROCE_IMPAIR": MARKS})
        process.wait_for_port(self.server, port)
        self.client = pair.start(ctx.topology.b, [*argv, ctx.topology.ipv4], env=env,
                                 line_buffered=True)
        self.counters = {}

    def read(self, side, name):
        p = getattr(self, side)
        if side not in self.counters:
            try:
                self.counters[side] = pair.Counters(p)
            except (Failed, OSError):
                return 0  # it has not come so far
        return self.counters[side].read()[name]

    def wait_for(self, what, condition):
        """Tells what the programs say when one of them ends, too."""
        def holds():
            if self.server.poll() is not None or self.client.poll() is not None:
                raise Failed(f"it ended\n{pair.Outcome(self.server, self.client).text()}")
            return condition()
        try:
            process.wait_until(holds, process.LONG, what, SAMPLE_S)
        except process.Timeout as e:
            raise Failed(f"{e}\n{pair.Outcome(self.server, self.client).text()}") from e

    def rates(self):
        """Of each second so far in which something was sent, MB/s."""
        rows = perftest.table(self.client.output())
        return [row.average for row in rows if row.average > 0]

    def close(self):
        self.client.end()
        self.server.end()
        for each in self.counters.values():
            each.close()


@row("congestion/dcqcn/veth-9000", ("pair", 9000), alone=True)
def dcqcn(ctx):
    stream = Stream(ctx, DCQCN)
    try:
        stream.wait_for("a CNP", lambda: stream.read("client", "rp_cnp_handled") > 10)
        stream.wait_for("the end of marks",
                        lambda: stream.read("server", "rx_pkts") > 2 * MARKED_PACKETS)
        told = stream.read("server", "np_cnp_sent")
        marked = stream.read("server", "np_ecn_marked_roce_packets")
        if not MARKED_PACKETS / 4 < marked < MARKED_PACKETS:
            raise Failed(f"{marked} packets came marked")
        if not 10 < told <= marked:
            raise Failed(f"{told} CNPs for {marked} marked packets")

        def is_fast_again():
            rates = stream.rates()
            least = rates.index(min(rates)) if rates else 0
            return any(rate > FASTER * rates[least] for rate in rates[least + 1:])
        stream.wait_for(f"a second {FASTER} times as fast as one before it", is_fast_again)
        if stream.read("server", "np_cnp_sent") != told:
            raise Failed("CNPs without marks")
        if stream.read("client", "rp_cnp_ignored"):
            raise Failed("CNPs were ignored")
        rates = stream.rates()
        return f"{told} CNPs; {min(rates):.0f} MB/s with marks, {max(rates):.0f} without"
    finally:
        stream.close()


@row("congestion/default/veth-9000", ("pair", 9000))
def by_default(ctx):
    """Data is ECN-capable if the program says so; marks are told, and nobody is slower."""
    stream = Stream(ctx, None, f"--tclass={ECN_CAPABLE}")
    try:
        stream.wait_for("the end of marks",
                        lambda: stream.read("server", "rx_pkts") > 2 * MARKED_PACKETS)
        told = stream.read("server", "np_cnp_sent")
        if not told:
            raise Failed("no CNP was sent")
        stream.wait_for("CNPs to be counted",
                        lambda: stream.read("client", "rp_cnp_ignored") > 0)
        if stream.read("client", "rp_cnp_handled"):
            raise Failed("CNPs slowed the client down")
        return f"{told} CNPs"
    finally:
        stream.close()
