# SPDX-License-Identifier: BSD-2-Clause
"""Connections by rdma_cm in numbers, through cm-check (cm_check): each holds every event to what may
come then, on both sides, and each server answers by its name."""
import os
import random
import re
import signal
import sys
import time

from harness import cm, pair, process, topology
from harness.report import Failed, Skipped

from rows import FULL, row

WHERE = ("pair", 9000)
PORT = 7471
HERE = os.path.dirname(os.path.abspath(__file__))
FORGER, BAD_WIRE = os.path.join(HERE, "forger.py"), os.path.join(HERE, "bad_wire.py")
GROWTH_KB = 400  # allocators round; 200 bytes a connection would be more
ALIVE_KB = 8  # of a connection that is there at the same time as the others


def both(ctx, count, *args, server_args=(), address=None, env=None):
    """`count` connections between the namespaces; (client's figures, server's)."""
    place = ctx.topology
    address = address or place.ipv4
    server = cm.serve(place.a, address, PORT, "-t", "both", "-n", count, *args, *server_args,
                      env=env)
    client = cm.connect(place.b, address, PORT, "-t", "both", "-n", count, *args, env=env)
    return client.result(process.LONG, ctx.on_wait), server.result()


def expect_all(figures, count):
    for side, sheet in zip(("client", "server"), figures):
        cm.expect(sheet, side, established=count, disconnected=count, timewait=count, ended=count,
                  rejected=0, unreachable=0, errors=0)


@row("connections/ten-thousand", WHERE)
def ten_thousand(ctx):
    """One after the other in waves of 64; memory and descriptors after a tenth are those of the
    end, of both programs and both daemons; but for more that there are at a time."""
    place = ctx.topology
    count = ctx.pick(1000, 10000)
    holders = [cm.serve(ns, address, PORT + 1, "-t", "holder")
               for ns, address in ((place.a, place.ipv4), (place.b, place.client_ipv4))]
    daemons = [cm.status(ns)["pid"] for ns in (place.a, place.b)]
    expect_all(both(ctx, count // 10), count // 10)
    before = [cm.usage(pid) for pid in daemons]
    figures = both(ctx, count)
    expect_all(figures, count)
    after = [cm.usage(pid) for pid in daemons]
    for holder in holders:
        holder.end()
    for sheet in figures:
        alive = sheet["alive_max"]
        before.append((sheet["descriptors"][0],
                       sheet["data_kb"][0] + ALIVE_KB * (alive[1] - alive[0])))
        after.append((sheet["descriptors"][1], sheet["data_kb"][1]))
    for name, was, now in zip(("daemon a", "daemon b", "client", "server"), before, after):
        if name.startswith("daemon") and now[0] > was[0] + 2 or now[1] > was[1] + GROWTH_KB:
            raise Failed(f"{name}: descriptors and KiB were {was} and are {now}")
    return f"{count / figures[0]['seconds']:.0f} connections a second"


@row("connections/thousands-at-once", WHERE)
def thousands_at_once(ctx):
    """One event channel in an epoll set, thousands of ids, all open before the first is closed;
    each exchanges a message."""
    place = ctx.topology
    count = ctx.pick(1000, 4000)
    server = cm.serve(place.a, place.ipv4, PORT, "-t", "many", "-n", count)
    client = cm.connect(place.b, place.ipv4, PORT, "-t", "many", "-n", count, "-w", count, "-H")
    client.wait_for("all up")
    client.send(signal.SIGUSR1)
    client.wait_for("all answered")
    client.send(signal.SIGTERM)
    figures = client.result(), server.result()
    expect_all(figures, count)
    cm.expect(figures[0], answers=count)


@row("connections/case_050_high_rate", WHERE)
def high_rate(ctx):
    """A thousand a second: each attempt ends in its event."""
    count = 1000 * ctx.pick(1, 10, 60)
    figures = both(ctx, count, "-r", 1000, "-w", 4000)
    expect_all(figures, count)
    return f"{count} in {figures[0]['seconds']:.1f} s"


@row("connections/case_052_both_sides_see_the_end", WHERE)
def teardown(ctx):
    """DISCONNECTED and then TIMEWAIT_EXIT, once each on both sides, whoever closes."""
    count = ctx.pick(100, 3400)
    for closer in ("client", "server", "both"):
        for data in ((), ("-d",)):
            expect_all(both(ctx, count, "-c", closer, *data), count)


@row("connections/case_053_reconnect_after_status_12", WHERE)
def reconnect(ctx):
    """Impatiently: that an answer is late makes no difference to what was lost."""
    count = ctx.pick(10, 100)
    figures = both(ctx, count, "-b", "-w", 1, "-a", 8, env=dict.fromkeys(pair.PATIENCE))
    expect_all(figures, count)
    cm.expect(figures[0], broken=count)


@row("connections/case_045_refused_as_sockets", WHERE)
def refused(ctx):
    place = ctx.topology
    server = cm.serve(place.a, place.ipv4, PORT)
    status, output = pair.run(place.b, [cm.CM_CHECK, "refused", place.ipv4, PORT + 1])
    if status != 0:
        raise Failed(f"status {status}\n{output}")
    server.end()


@row("connections/case_047_no_device_there", WHERE)
def no_device(ctx):
    """A route over an interface that makes no device: ADDR_ERROR with ENODEV; `uroce devices` says
    why there is none."""
    ns, there = ctx.topology.b, ctx.topology.a
    ns.run(*"ip link add small mtu 100 type veth peer name small mtu 100 netns".split(),
           str(there.held.pid))
    for each, address in ((there, "10.88.0.1/24"), (ns, "10.88.0.2/24")):
        each.run("ip", "addr", "add", address, "dev", "small")
        each.run("ip", "link", "set", "small", "up")
    status, output = pair.run(ns, ["rping", "-c", "-C", 1, "-a", "10.88.0.1"])
    if status == 0 or "RDMA_CM_EVENT_ADDR_ERROR, error -19" not in output:
        raise Failed(f"status {status}\n{output}")
    status, output = pair.run(ns, [pair.UROCE, "devices", "-v"], on_uroce=False)
    if not re.search(r"small\b.*MTU", output):
        raise Failed(f"not said why\n{output}")


@row("connections/refusals", WHERE)
def refusals(ctx):
    """Each third is refused by the program, with private data."""
    figures = both(ctx, 300, "-R", 3)
    cm.expect(figures[0], "client", established=200, rejected=100, timewait=200, ended=300)
    cm.expect(figures[1], "server", established=200, refused=100, timewait=200, ended=300)


def sixteen(ctx, users, env=None):
    """Servers on one address, a port each; clients that expect their own server; and nobody can
    take a port that is in use."""
    place = ctx.topology
    count = ctx.pick(20, 100)
    servers, clients = [], []
    for i in range(16):
        user = users[i % len(users)]
        servers.append(cm.serve(place.a, place.ipv4, PORT + i, "-t", f"name{i}", "-n", count,
                                env=env, user=user))
    for i in range(16):
        for reuse in ((), ("-u",)):
            thief = cm.Check(place.a, "serve", place.ipv4, PORT + i, "-t", "thief", *reuse, env=env,
                             user=users[(i + 1) % len(users)])
            if thief.p.wait(process.LONG) != 3 or "Address already in use" not in thief.p.output():
                raise Failed(f"port {PORT + i} could be taken\n{thief.p.output()}")
    for i in range(16):
        clients.append(cm.connect(place.b, place.ipv4, PORT + i, "-t", f"name{i}", "-n", count, "-d",
                                  "-w", 4))
    for check in clients + servers:
        cm.expect(check.result(), established=count, timewait=count, complaints=0)


@row("connections/sixteen-programs", WHERE)
def sixteen_programs(ctx):
    sixteen(ctx, [()])


@row("connections/two-users", WHERE)
def two_users(ctx):
    """Root's uroced is told to serve nobody as well."""
    if not topology.may_change_user():
        raise Skipped("needs root, not of a user namespace")
    place = ctx.topology
    socket = f"/tmp/uroce-two-users-{place.a.held.pid}"
    uroced = process.Process([pair.UROCE + "d", "--foreground", "--socket", socket, "--share-with",
                              "65534"], prefix=place.a.prefix(), env=process.own_environment())
    try:
        process.wait_until(lambda: os.path.exists(socket), process.LONG, "uroced")
        sixteen(ctx, [(), tuple(pair.NOBODY)], env={"UROCE_SOCKET": socket})
    finally:
        uroced.end()


def on_bad_wire(ctx, address):
    place = ctx.topology
    count = ctx.pick(20, 100)
    seed = random.getrandbits(32)
    wire = process.Process([sys.executable, "-B", BAD_WIRE, seed, "wa", "wb"],
                           prefix=place.middle.prefix())
    process.wait_until(lambda: "ready" in wire.output(), process.LONG, "the wire")
    try:
        server = cm.serve(place.a, address, PORT, "-t", "bad")
        client = cm.connect(place.b, address, PORT, "-t", "bad", "-n", count, "-w", count, "-d")
        ours = client.result(1200, ctx.on_wait)
        # The last DREP may be lost: the server's end of it waits for its own repetition.
        theirs = server.end()
    except Failed as e:
        raise Failed(f"seed {seed}: {e}") from e
    wire.end()
    ends = sum(ours[name] for name in ("established", "rejected", "unreachable", "errors"))
    if ends != count or ours["ended"] != count or ours["disconnected"] != ours["established"]:
        raise Failed(f"seed {seed}: {ends} of {count} attempts ended\n{ours}\n{theirs}")
    if ours["established"] < count * 9 // 10:
        raise Failed(f"seed {seed}: {ours['established']} of {count} established")
    return f"{ours['established']} of {count} established; {wire.last_line()}"


@row("connections/bad-wire/ipv4", ("wired", 9000), least=FULL)
def bad_wire_ipv4(ctx):
    """Every attempt ends in one event, and no event comes twice."""
    return on_bad_wire(ctx, ctx.topology.ipv4)


@row("connections/bad-wire/ipv6", ("wired", 9000), least=FULL)
def bad_wire_ipv6(ctx):
    return on_bad_wire(ctx, ctx.topology.ipv6)


@row("connections/forged", WHERE)
def forged(ctx):
    """A stranger who can claim any source, but not read: connections of both sides stay, and new
    ones are made, while all that it sent is counted."""
    place = ctx.topology
    if os.geteuid() != 0:
        raise Skipped("needs raw sockets")
    count = ctx.pick(3000, 30000)
    server, client = held(ctx, 50, server_args=("-s",))
    notes = []
    for turn, (ns, there, victim, claimed) in enumerate((
            (place.b, place.a, place.ipv4, place.client_ipv4),
            (place.a, place.b, place.client_ipv4, place.ipv4))):
        before = cm.status(there)["counters"]
        seed = random.getrandbits(32)
        forger = process.Process([sys.executable, "-B", FORGER, seed, count, victim, claimed,
                                  "10.77.0.3"], prefix=ns.prefix())
        cm.expect(cm.connect(place.b, place.ipv4, PORT, "-t", "held", "-n", 20).result(),
                  established=20, timewait=20)
        if forger.wait(process.LONG) != 0:
            raise Failed(forger.output())
        answered(client, turn + 1)

        def dropped(there=there, before=before):
            after = cm.status(there)["counters"]
            grown = {name: after[name] - before[name] for name in after
                     if name.startswith(("cm_rx_", "gsi_rx_"))}
            return sum(grown.values()) - grown["cm_rx_accepted"]
        process.wait_until(lambda dropped=dropped: dropped() >= count // 2, process.LONG,
                           f"half of {count} to be counted as dropped, seed {seed}", 0.1)
        notes.append(f"{dropped()} of {count} dropped")
    cm.expect(client.end(), "client", established=50, disconnected=50, timewait=50, answers=100)
    figures = server.end()
    cm.expect(figures, "server", established=90, disconnected=90)
    return ", ".join(notes) + f", {figures['strangers']} refused"


# ---- who is killed, stopped or started anew ----

def held(ctx, count, *args, server_args=()):
    place = ctx.topology
    server = cm.serve(place.a, place.ipv4, PORT, "-t", "held", *server_args)
    client = cm.connect(place.b, place.ipv4, PORT, "-t", "held", "-n", count, "-w", count, "-H",
                        *args)
    client.wait_for("all up")
    return server, client


def answered(client, times):
    client.send(signal.SIGUSR1)
    process.wait_until(lambda: client.says("all answered") and
                       client.p.output().count("all answered") == times, process.LONG, "the answers")


@row("connections/client-killed", WHERE)
def client_killed(ctx):
    server, client = held(ctx, 50, server_args=("-n", 50))
    start = time.monotonic()
    client.send(signal.SIGKILL)
    process.wait_until(lambda: cm.counter(ctx.topology.a, "cm_tx_drep") >= 50, process.LONG,
                       "50 DREPs")
    took = time.monotonic() - start
    figures = server.result()  # when TIMEWAIT is over
    cm.expect(figures, established=50, disconnected=50, timewait=50)
    cm.expect_to_leave(ctx.topology.a, ctx.topology.b)
    return f"DISCONNECTED within {took:.1f} s"


@row("connections/server-killed", WHERE)
def server_killed(ctx):
    server, client = held(ctx, 50)
    start = time.monotonic()
    server.send(signal.SIGKILL)
    figures = client.result()
    took = time.monotonic() - start
    cm.expect(figures, established=50, disconnected=50, timewait=50)
    cm.expect_to_leave(ctx.topology.a, ctx.topology.b)
    return f"over within {took:.1f} s"


@row("connections/server-stopped", WHERE)
def server_stopped(ctx):
    """What is established stays; what asks meanwhile is answered when it goes on."""
    place = ctx.topology
    server, client = held(ctx, 20, server_args=("-n", 25))
    server.send(signal.SIGSTOP)
    late = cm.connect(place.b, place.ipv4, PORT, "-t", "held", "-n", 5)
    time.sleep(ctx.pick(2, 10))
    if client.p.poll() is not None or late.p.poll() is not None:
        raise Failed(f"it did not wait\n{client.p.output()}{late.p.output()}")
    server.send(signal.SIGCONT)
    cm.expect(late.result(), established=5, timewait=5)
    answered(client, 1)
    cm.expect(client.end(), established=20, disconnected=20, timewait=20, answers=20)
    cm.expect(server.result(), established=25, disconnected=25)


@row("connections/uroced-killed-established", WHERE)
def uroced_killed_established(ctx):
    """Data paths go on, and the end is seen on both sides as ever."""
    server, client = held(ctx, 50, server_args=("-n", 50))
    for i, ns in enumerate((ctx.topology.a, ctx.topology.b, ctx.topology.a)):
        answered(client, 2 * i + 1)
        cm.kill_uroced(ns)
        answered(client, 2 * i + 2)
    cm.expect(client.end(), "client", established=50, disconnected=50, timewait=50, answers=300)
    cm.expect(server.result(), "server", established=50, disconnected=50)
    cm.expect_to_leave(ctx.topology.a, ctx.topology.b)


@row("connections/uroced-killed-meanwhile", WHERE)
def uroced_killed_meanwhile(ctx):
    """During set-up and tear-down, on either side: every attempt ends in one of its events. They go on
    until all is over."""
    place = ctx.topology
    some = ctx.pick(150, 600)
    server = cm.serve(place.a, place.ipv4, PORT, "-t", "held")
    client = cm.connect(place.b, place.ipv4, PORT, "-t", "held", "-n", cm.ENDLESS, "-r", 400)
    for ns in (place.a, place.b, place.a, place.b):
        cm.wait_for_more(place.a, "cm_established", some)
        cm.kill_uroced(ns)
    cm.wait_for_more(place.a, "cm_established", some)
    figures = client.end()
    count = figures["started"]
    ends = sum(figures[name] for name in ("established", "rejected", "unreachable", "errors"))
    if ends != count or figures["ended"] != count or figures["established"] < some:
        raise Failed(f"{ends} of {count} attempts ended\n{figures}")
    if figures["disconnected"] != figures["established"]:
        raise Failed(f"not all that were established were closed\n{figures}")
    server.end()
    cm.expect_to_leave(place.a, place.b)
    return f"{figures['established']} of {count} established"
