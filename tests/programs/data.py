# SPDX-License-Identifier: BSD-2-Clause
"""verbs-check: every operation with random sizes, lists, flags and depths from a seed, and every
byte, status and count compared on both sides. This is where data is shown to be right."""
import os
import re
import tempfile

from harness import pair, process
from harness.report import Failed

from rows import row


STALL_S = 120
# of an ACK, eight times: the other side may stand still for a while. Where packets are lost much is
# repeated after a time-out.
TIMEOUT = 18  # 1.07 s
LOSSY_TIMEOUT = 17  # 0.54 s


def run_both(ctx, *args, ipv6=False, env=None, timeout=process.LONG):
    """Server and client on the place's addresses of one family; both must find all right."""
    place = ctx.topology
    program = os.path.join(os.path.dirname(pair.UROCE), "verbs-check")
    port = pair.next_port()
    common = [program, "-d", place.device, "-p", port, "--stall", STALL_S]
    server_gid = pair.gid_index(place.a, place.device, place.ipv6 if ipv6 else place.ipv4)
    client_gid = pair.gid_index(place.b, place.device,
                                place.client_ipv6 if ipv6 else place.client_ipv4)
    outcome = pair.run_pair(
        place, [*common, "-g", server_gid],
        [*common, "--timeout", LOSSY_TIMEOUT if "--link" in args else TIMEOUT, "-g", client_gid,
         *args, place.ipv4], port, timeout=timeout,
        env={**dict.fromkeys(pair.PATIENCE), **(env or {})}, on_wait=ctx.on_wait)
    return pair.expect_success(outcome)


def verbs_check(ctx, seeds, *args, ipv6=False, env=None, timeout=None, first=1):
    outcome = run_both(ctx, "-s", first, "-n", seeds, *args, ipv6=ipv6, env=env,
                       timeout=timeout or process.LONG + 5 * seeds)
    for side in (outcome.server, outcome.client):
        done = re.search(r"verbs-check: (\d+) seeds, .* all right", side.output())
        if not done or int(done.group(1)) != seeds:
            raise Failed(f"not {seeds} seeds\n{outcome.text()}")
    return outcome


def scenarios(ctx, *args, ipv6=False):
    """The named scenarios: none may be skipped, for the device has all that they use."""
    program = os.path.join(os.path.dirname(pair.UROCE), "verbs-check")
    status, listed = process.run([program, "--scenarios"])
    count = len(listed.splitlines())
    if status != 0 or count < 50:
        raise Failed(f"verbs-check --scenarios: status {status}\n{listed}")
    outcome = run_both(ctx, "--scenario", "all", *args, ipv6=ipv6)
    for side in (outcome.server, outcome.client):
        if f"verbs-check: {count} scenarios, 0 skipped" not in side.output():
            raise Failed(f"not all of {count} scenarios\n{outcome.text()}")
    return count


for _name, _where in (("lo", "lo"), ("veth-1500", ("pair", 1500)), ("veth-9000", ("pair", 9000))):
    for _ipv6 in (False, True):
        @row(f"verbs-check/{_name}/{'ipv6' if _ipv6 else 'ipv4'}", _where)
        def seeds(ctx, ipv6=_ipv6):
            count = ctx.pick(200, 2000, 10000)
            verbs_check(ctx, count, ipv6=ipv6)
            return f"{count} seeds"

    for _transport in ("rc", "uc", "ud", "xrc"):
        @row(f"verbs-check/{_name}/{_transport}", _where)
        def transport(ctx, name=_transport):
            count = ctx.pick(40, 1000, 5000)
            verbs_check(ctx, count, "--transport", name)
            return f"{count} seeds"

    @row(f"verbs-check/{_name}/scenarios", _where)
    def named(ctx, name=_name):
        mtus = (1024,) if name == "veth-1500" else (1024, 4096)
        # IPv6 multicast has no route over the loopback device.
        families = (False,) if name == "lo" else (False, True)
        count = 0
        for ipv6 in families:
            for mtu in mtus:
                count += scenarios(ctx, "-m", mtu, "-n", ctx.pick(1, 5, 20), ipv6=ipv6)
        return f"{count} scenarios"

    @row(f"verbs-check/{_name}/errors", _where)
    def errors(ctx):
        count = ctx.pick(60, 500, 2000)
        verbs_check(ctx, count, "--transport", "rc", "--faults", 1)
        return f"{count} seeds"

    @row(f"verbs-check/{_name}/events", _where)
    def events(ctx):
        count = ctx.pick(100, 500, 2000)
        verbs_check(ctx, count, "-e")
        return f"{count} seeds"

    @row(f"verbs-check/{_name}/many-qps", _where)
    def many_qps(ctx):
        count = ctx.pick(50, 500, 2000)
        verbs_check(ctx, count, "--qps", 16, "--ops", 400)
        return f"{count} seeds"


@row("verbs-check/same-numbers", ("pair", 1500))
def same_numbers(ctx):
    """Each side draws its QP numbers, and now and then both have one: who sent a datagram is known
    by its address then."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "same_random.c")
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "same_random.so")
        status, output = process.run(["cc", "-shared", "-fPIC", "-o", library, source])
        if status != 0:
            raise Failed(f"cc: status {status}\n{output}")
        verbs_check(ctx, 20, "--transport", "ud", env={"LD_PRELOAD": library})
    return "20 seeds"
