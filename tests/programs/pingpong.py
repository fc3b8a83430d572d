# SPDX-License-Identifier: BSD-2-Clause
"""ibv_rc_pingpong -c. It says "invalid data" of a wrong byte and exits 0 all the same, and looks at
one byte a page only; verbs-check (data.py) looks at all of them."""
import re

from harness import pair, process
from harness.report import Failed

from rows import FULL, row

SIZES = (1, 1000, 4096, 65537, 1 << 20)
MTUS = (256, 512, 1024, 2048, 4096)


def pingpong(ctx, *args, ipv6=False, env=None, on_server=None):
    place = ctx.topology
    server_gid = pair.gid_index(place.a, place.device, place.ipv6 if ipv6 else place.ipv4)
    client_gid = pair.gid_index(place.b, place.device,
                                place.client_ipv6 if ipv6 else place.client_ipv4)
    port = pair.next_port()
    common = ["ibv_rc_pingpong", "-c", "-d", place.device, "-p", port, *args]
    outcome = pair.run_pair(place, [*common, "-g", server_gid],
                            [*common, "-g", client_gid, place.ipv4], port, env=env,
                            on_wait=ctx.on_wait, on_server=on_server)
    pair.expect_success(outcome)
    for side in (outcome.server, outcome.client):
        text = side.output()
        if "invalid data" in text or not re.search(r"\d+ bytes in [\d.]+ seconds", text):
            raise Failed(outcome.text())
    return outcome


def iterations(ctx, size, mtu=1024):
    """Enough to go round the receive queue of 500, but no more than some 10^5 packets."""
    packets = max(1, size // mtu)
    return max(20, min(ctx.pick(600, 2000), ctx.pick(20000, 100000) // packets))


def all_sizes(ctx, ipv6, *args):
    for size in SIZES:
        for mtu in (1024, min(4096, largest_mtu(ctx))):
            pingpong(ctx, "-s", size, "-m", mtu, "-n", iterations(ctx, size, mtu), *args,
                     ipv6=ipv6)


def largest_mtu(ctx):
    return 4096 if ctx.topology.mtu >= 4200 else 1024


@row("pingpong/host-lo", "host")
def host(ctx):
    """In the script's own namespace, as a user's first try is."""
    pingpong(ctx)


for _name, _where in (("lo", "lo"), ("veth-1500", ("pair", 1500)), ("veth-9000", ("pair", 9000))):
    @row(f"pingpong/{_name}/sizes/ipv4", _where)
    def sizes_ipv4(ctx):
        all_sizes(ctx, False)

    @row(f"pingpong/{_name}/sizes/ipv6", _where)
    def sizes_ipv6(ctx):
        all_sizes(ctx, True)

    @row(f"pingpong/{_name}/events", _where)
    def events(ctx):
        for ipv6 in (False, True):
            for size in (1, 65537):
                pingpong(ctx, "-e", "-s", size, "-n", iterations(ctx, size), ipv6=ipv6)

    @row(f"pingpong/{_name}/mtu", _where)
    def mtus(ctx):
        for mtu in MTUS:
            if mtu <= largest_mtu(ctx):
                pingpong(ctx, "-m", mtu, "-s", 65537, "-n", iterations(ctx, 65537, mtu))

    @row(f"pingpong/{_name}/matrix", _where, least=FULL)
    def matrix(ctx):
        """Every size at every MTU, polling and with events."""
        for mtu in MTUS:
            for size in SIZES:
                for more in ((), ("-e",)):
                    if mtu <= largest_mtu(ctx):
                        ctx.report.progress(f"mtu {mtu} size {size} {' '.join(more)}")
                        pingpong(ctx, "-m", mtu, "-s", size, *more, "-n",
                                 iterations(ctx, size, mtu) // 2 + 1)


@row("pingpong/veth-1500/mtu-too-large", ("pair", 1500))
def mtu_too_large(ctx):
    """A path MTU above the port's is refused at RTR, on the server (which goes there first) and on
    a client whose server has an allowed one; UROCE_DEBUG names the field."""
    place = ctx.topology
    for mtus in ((2048, 2048), (4096, 4096), (1024, 2048), (1024, 4096)):
        port = pair.next_port()
        common = ["ibv_rc_pingpong", "-d", place.device, "-g", 0, "-p", port]
        env = {"UROCE_DEBUG": 1}
        server = pair.start(place.a, [*common, "-m", mtus[0]], env)
        process.wait_for_port(server, port)
        client = pair.start(place.b, [*common, "-m", mtus[1], place.ipv4], env)
        refused = client if mtus[0] == 1024 else server
        refused.wait(process.LONG)
        client.end()
        server.end()
        text = pair.Outcome(server, client).text()
        if refused.status == 0 or "Failed to modify QP to RTR" not in refused.output():
            raise Failed(f"MTUs {mtus}: not refused\n{text}")
        if not re.search(r"(?m)^uroce: .*path_mtu (2048|4096)", refused.output()):
            raise Failed(f"UROCE_DEBUG names no MTU\n{text}")
