# SPDX-License-Identifier: BSD-2-Clause
"""perftest with the options that its users give: queue depths, inline data, and the rest of its
help that has a meaning on a software device."""
from harness.report import Failed

from rows import FULL, row
from transports import run_perftest

TRANSPORTS = {"send": ("RC", "UC", "UD", "XRC"), "write": ("RC", "UC", "XRC"),
              "read": ("RC", "XRC"), "atomic": ("RC", "XRC")}
DEPTHS_SHORT = (1, 4096)
DEPTHS = (1, 2, 3, 16, 127, 128, 1000, 4096)
# without retransmission, what finds no receive request is lost: a shallow queue is then too shallow
RX_DEPTH_UNRELIABLE = 512
INLINE_SHORT = (0, 512)
INLINE = (0, 1, 16, 64, 100, 256, 511, 512)


def runs(ctx, program, settings):
    """One run for each setting, of which the table has a line with a figure; 200 iterations
    where it says nothing."""
    for args in settings:
        if not {"-n", "-D"} & set(args):
            args = [*args, "-n", 200]
        ctx.report.progress(" ".join(map(str, args)))
        for line in run_perftest(ctx, program, *args):
            if not line.is_measured:
                raise Failed(f"{program} {args}: figures {line.figures}")
    return f"{len(settings)} runs"


def depth_settings(verb, transport, depths):
    for depth in depths:
        receive = []
        if verb == "send":
            unreliable = transport in ("UC", "UD")
            receive = ["-r", max(depth, RX_DEPTH_UNRELIABLE) if unreliable else depth]
        size = [] if verb == "atomic" else ["-s", 1024]
        yield ["-c", transport, "-t", depth, *receive, *size, "-n", max(500, depth)]


def inline_settings(transport, sizes):
    """At the size that is just inline, and with all messages above it."""
    for size in sizes:
        yield ["-c", transport, "-I", size, "-s", max(size, 1), "-n", 100]
        yield ["-c", transport, "-I", size, "-s", size + 1, "-n", 100]


def add_depths(verb, transport):
    @row(f"options/depths/{verb}_bw/{transport.lower()}", ("pair", 9000))
    def run(ctx):
        depths = ctx.pick(DEPTHS_SHORT, DEPTHS)
        return runs(ctx, f"ib_{verb}_bw", list(depth_settings(verb, transport, depths)))


def add_inline(verb, transport):
    @row(f"options/inline/{verb}/{transport.lower()}", ("pair", 9000))
    def run(ctx):
        settings = list(inline_settings(transport, ctx.pick(INLINE_SHORT, INLINE)))
        runs(ctx, f"ib_{verb}_bw", settings)
        runs(ctx, f"ib_{verb}_lat", settings)
        return f"{2 * len(settings)} runs"


for _verb, _transports in TRANSPORTS.items():
    for _transport in _transports:
        add_depths(_verb, _transport)
        if _verb in ("send", "write"):
            add_inline(_verb, _transport)


@row("options/depths/send_lat", ("pair", 9000))
def send_lat_depths(ctx):
    return runs(ctx, "ib_send_lat", [["-r", depth, "-n", 200]
                                     for depth in ctx.pick(DEPTHS_SHORT, DEPTHS)])


@row("options/depths/srq", ("pair", 9000))
def srq_depths(ctx):
    """Of a shared receive queue, for one and for many queue pairs."""
    return runs(ctx, "ib_send_bw", [["--use-srq", "-r", depth, "-q", qps, "-s", 1024, "-n", 500]
                                    for depth in ctx.pick((16, 4096), (16, 64, 1000, 4096))
                                    for qps in (1, 16)])


# options, of which --short runs those of the first list
BANDWIDTH_SHORT = (["--report_gbits"], ["-b", "--report-both"], ["-l", 10, "-q", 4], ["-D", 2])
BANDWIDTH = (["-D", 2, "-b"], ["-D", 2, "-q", 16], ["-D", 2, "--cpu_util"], ["-Q", 1], ["-Q", 100],
             ["--mr_per_qp", "-q", 4], ["-N"], ["-w", "0.001"], ["-y", "0.00001"], ["-u", 18],
             ["-m", 256], ["-S", 3], ["--tclass=104"], ["--reversed"], ["--use_old_post_send"],
             ["--disable_pcie_relaxed"], ["--ipv6"], ["--pkey_index=0"], ["-n", 5])
NO_ATOMIC = (["--odp"], ["--perform_warm_up"], ["--rate_limit=1", "--rate_limit_type=SW"],
             ["-q", 64, "-s", 64], ["-s", 1 << 23, "-n", 20])
LATENCY_SHORT = (["-D", 2], ["-U", "-n", 100])
LATENCY = (["-C"], ["-H", "-n", 100], ["--latency_gap=100", "-n", 100], ["-m", 256], ["-u", 18],
           ["-S", 3], ["--tclass=104"], ["--use_old_post_send"], ["-t", 1])


def options_of(ctx, verb, is_latency):
    chosen = list(LATENCY_SHORT if is_latency else BANDWIDTH_SHORT)
    chosen += ctx.pick((), LATENCY if is_latency else BANDWIDTH)
    if verb != "atomic":
        chosen += ctx.pick((), (["--odp"], ["-s", 65536]) if is_latency else NO_ATOMIC)
    if verb == "send":
        chosen += ctx.pick((), (["--inline_recv=64", "-s", 64],))
    return chosen


def add_options(verb, kind):
    @row(f"options/{verb}_{kind}", ("pair", 9000))
    def run(ctx):
        return runs(ctx, f"ib_{verb}_{kind}", options_of(ctx, verb, kind == "lat"))


def add_transport_options(verb, transport):
    """The same over the others, bandwidth only; perftest has no ODP for UC, nor events for WRITE."""
    @row(f"options/{verb}_bw/{transport.lower()}", ("pair", 9000), FULL)
    def run(ctx):
        size = ["-s", 1024] if transport in ("UC", "UD") else []
        settings = [["--report_gbits"], ["-b", "--report-both"], ["-D", 2], ["-D", 2, "-b"],
                    ["-l", 10, "-q", 4], ["-q", 16, "-n", 100], ["--mr_per_qp", "-q", 4]]
        if verb in ("send", "read"):
            settings.append(["-e"])
        if verb == "send":
            settings.append(["--use-srq"])
        return runs(ctx, f"ib_{verb}_bw", [["-c", transport, *size, *one] for one in settings])


for _verb, _transports in TRANSPORTS.items():
    for _kind in ("bw", "lat"):
        add_options(_verb, _kind)
    for _transport in _transports[1:]:
        add_transport_options(_verb, _transport)


@row("options/events", ("pair", 9000))
def events(ctx):
    """Where perftest has them, over each transport."""
    runs(ctx, "ib_send_bw", [["-e", "-c", transport, "-s", 1024, "-n", 200]
                             for transport in TRANSPORTS["send"]])
    runs(ctx, "ib_send_lat", [["-e", "-c", transport, "-n", 200]
                              for transport in TRANSPORTS["send"]])
    for program in ("ib_read_bw", "ib_read_lat"):
        runs(ctx, program, [["-e", "-c", transport, "-n", 200]
                            for transport in TRANSPORTS["read"]])
