# SPDX-License-Identifier: BSD-2-Clause
"""How what is connected across the two stacks ends when a program, a uroced or the whole machine of
the peer is killed, stopped or started anew. Connections are cm-check's: it holds each event to its
place, and what it does not expect is a complaint."""
import re
import signal
import time

from harness import cm, pair, process
from harness.report import Failed

import across
import rdmacm
from rows import FULL, row

BOUND = 200  # seconds: sixteen messages of the connection manager, six apart, and a slow machine


def other(server):
    return across.GUEST if server == across.OURS else across.OURS


def hold(ctx, server, count, *client_args, family="ipv4"):
    """(server, client): cm-check with `count` connections, which the client holds."""
    here, there = across.sides(ctx, server)
    address, port = getattr(here, family), pair.next_port()
    s = rdmacm.serve(ctx, here, address, port, "-t", "held", "-n", count)
    c = rdmacm.Check(ctx, there, "connect", address, port, "-t", "held", "-n", count, "-w", count,
                     "-H", *client_args)
    c.wait_for("all up", 60)
    return s, c


def ask(client, times=1):
    """A message each way on all of them, for the nth time."""
    client.send(signal.SIGUSR1)
    process.wait_until(lambda: client.says("all answered") and
                       client.p.output().count("all answered") == times, 60, "the answers")


def expect_end(figures, count, **more):
    cm.expect(figures, established=count, disconnected=count, timewait=count, complaints=0, **more)


def end_well(server, client, count):
    """Closed by the client, as ever."""
    expect_end(client.end(60), count)
    expect_end(server.result(60), count)


def wait_for_counter(ctx, name, least, timeout, what):
    process.wait_until(lambda: cm.counter(ctx.ours.ns, name) >= least, timeout, what, interval=0.2)


def keep_uroced(ctx):
    """A program that waits for nobody; else uroced leaves soon, and its counters with it."""
    rdmacm.start_server(ctx, ctx.ours, ["rping", "-s", "-p", str(pair.next_port())])


def packets_received(p):
    try:
        counters = pair.Counters(p)
    except Failed:  # it has opened no device so far
        return 0
    value = counters.read()["rx_pkts"]
    counters.close()
    return value


def ping(ctx, server):
    """That new connections can be made."""
    here, _ = across.sides(ctx, server)
    rdmacm.run(ctx, server, ["rping", "-s", "-V", "-C", 5],
               ["rping", "-c", "-V", "-C", 5, "-a", here.ipv4])


# ---- programs ----

def add_killed(killed, server):
    client = other(server)
    role = "server" if killed == server else "client"

    @row(f"endings/killed/{killed}-{role}")
    def run_killed(ctx):
        """By SIGKILL; its machine tells the peer of each connection."""
        count = 20
        s, c = hold(ctx, server, count, family="ipv6" if killed == client else "ipv4")
        ask(c)
        start = time.monotonic()
        dead, living = (s, c) if killed == server else (c, s)
        dead.send(signal.SIGKILL)
        expect_end(living.result(60), count)
        return f"over within {time.monotonic() - start:.1f} s"


for _killed in across.SERVERS:
    for _server in across.SERVERS:
        add_killed(_killed, _server)


def add_uroced_killed(server):
    @row(f"endings/uroced-killed/{server}-serves")
    def uroced_killed(ctx):
        """Data goes on, new connections are made, and both sides see the end."""
        count = 20
        s, c = hold(ctx, server, count)
        ask(c)
        cm.kill_uroced(ctx.ours.ns)
        ask(c, 2)
        ping(ctx, server)
        end_well(s, c, count)


for _server in across.SERVERS:
    add_uroced_killed(_server)


# ---- the machine of the peer ----

@row("endings/frozen/connecting")
def frozen_connecting(ctx):
    """The REQ is repeated, and the peer answers when it goes on."""
    server = rdmacm.start_server(ctx, ctx.guest, ["rping", "-s", "-V", "-C", "5"])
    keep_uroced(ctx)
    before = cm.counter(ctx.ours.ns, "cm_tx_req")
    ctx.guest.freeze()
    client = ctx.ours.spawn(["rping", "-c", "-V", "-C", "5", "-a", ctx.guest.ipv4])
    wait_for_counter(ctx, "cm_tx_req", before + 2, 60, "a second REQ")
    if client.poll() is not None:
        raise Failed(f"it did not wait\n{client.output()}")
    ctx.guest.thaw()
    outcome = pair.Outcome(server, client)
    for p in (client, server):
        if p.wait(60) != 0:
            raise Failed(outcome.text())


@row("endings/frozen/connected")
def frozen_connected(ctx):
    """What asks meanwhile meets status 12 and disconnects; the peer hears of it when it goes on."""
    count = 20
    server, client = hold(ctx, across.GUEST, count, "-b")
    before = cm.counter(ctx.ours.ns, "cm_tx_dreq")
    ctx.guest.freeze()
    client.send(signal.SIGUSR1)
    start = time.monotonic()
    wait_for_counter(ctx, "cm_tx_dreq", before + count, 60, f"{count} DREQs")
    took = time.monotonic() - start
    ctx.guest.thaw()
    expect_end(client.result(60), count, broken=count)
    expect_end(server.result(60), count)
    return f"status 12 within {took:.1f} s"


def add_traffic(server):
    @row(f"endings/frozen/traffic/{server}-serves", least=FULL)
    def frozen_traffic(ctx):
        """Both sides write: status 12 ends ours, whichever it is."""
        here, there = across.sides(ctx, server)
        common = ["ib_write_bw", "-R", "-b", "-F", "-D", "300", "-p", str(pair.next_port())]
        s = rdmacm.start_server(ctx, here, common)
        c = there.spawn([*common, here.ipv4])
        ours = s if server == across.OURS else c
        process.wait_until(lambda: packets_received(ours) > 1000, 60, "traffic", interval=0.2)
        ctx.guest.freeze()
        start = time.monotonic()
        status = ours.wait(60)
        took = time.monotonic() - start
        ctx.guest.thaw()
        if status == 0 or not re.search(r"Failed status 12\b", ours.output()):
            raise Failed(pair.Outcome(s, c).text())
        return f"ended within {took:.1f} s"


for _server in across.SERVERS:
    add_traffic(_server)


@row("endings/frozen/for-long", least=FULL)
def frozen_for_long(ctx):
    """Longer than anybody asks: who connects gets UNREACHABLE, and who was connected is forgotten.
    What the peer still believes to have when it goes on ends on its side too."""
    count = 5
    listener = rdmacm.start_server(ctx, ctx.guest, ["rping", "-s", "-P"])
    server, client = hold(ctx, across.OURS, count, "-b")
    keep_uroced(ctx)
    timeouts = cm.counter(ctx.ours.ns, "cm_timeouts")
    ctx.guest.freeze()
    start = time.monotonic()
    server.send(signal.SIGKILL)
    connecting = ctx.ours.spawn(["rping", "-c", "-C", "5", "-a", ctx.guest.ipv4])
    status = connecting.wait(BOUND, ctx.on_wait)
    took = time.monotonic() - start
    if status == 0 or "RDMA_CM_EVENT_UNREACHABLE, error -110" not in connecting.output():
        raise Failed(f"status {status}\n{connecting.output()}")
    wait_for_counter(ctx, "cm_timeouts", timeouts + count + 1, BOUND, "the DREQs to be given up")
    ctx.guest.thaw()
    # Nobody answers what it sends.
    client.send(signal.SIGUSR1)
    expect_end(client.result(BOUND, ctx.on_wait), count, broken=count)
    again = ctx.ours.spawn(["rping", "-c", "-V", "-C", "5", "-a", ctx.guest.ipv4])
    if again.wait(60) != 0 or listener.poll() is not None:
        raise Failed(pair.Outcome(listener, again).text())
    return f"unreachable after {took:.0f} s"


@row("endings/gone", fresh=True, least=FULL)
def gone(ctx):
    """The machine is off. Data ends with status 12, closing and connecting with ETIMEDOUT, and
    uroced leaves after them."""
    count = 5
    rdmacm.start_server(ctx, ctx.guest, ["rping", "-s", "-P"])
    _, client = hold(ctx, across.GUEST, count, "-b")
    server, _ = hold(ctx, across.OURS, count)
    ctx.guest.freeze()
    connecting = ctx.ours.spawn(["rping", "-c", "-C", "5", "-a", ctx.guest.ipv4])
    wait_for_counter(ctx, "cm_tx_req", count + 1, 60, "a REQ")
    ctx.guest.kill()
    start = time.monotonic()
    client.send(signal.SIGUSR1)
    expect_end(client.result(BOUND, ctx.on_wait), count, broken=count)
    took = time.monotonic() - start
    status = connecting.wait(BOUND, ctx.on_wait)
    if status == 0 or "RDMA_CM_EVENT_UNREACHABLE, error -110" not in connecting.output():
        raise Failed(f"status {status}\n{connecting.output()}")
    # A server hears nothing of a peer that has said nothing.
    if server.p.poll() is not None:
        raise Failed(server.p.output())
    server.send(signal.SIGKILL)
    cm.expect_to_leave(ctx.ours.ns)
    return f"disconnected after {took:.0f} s"
