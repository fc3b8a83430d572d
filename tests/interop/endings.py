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

BOUND = 1000  # seconds: sixteen messages of the connection manager, six apart, and a slow machine


def other(server):
    return across.GUEST if server == across.OURS else across.OURS


def hold(ctx, server, count, *client_args, family="ipv4", port=None, server_count=None):
    """(server, client): cm-check with `count` connections, which the client holds. server_count: if
    the server is to have had more before it ends."""
    here, there = across.sides(ctx, server)
    address, port = getattr(here, family), port or pair.next_port()
    s = rdmacm.serve(ctx, here, address, port, "-t", "held", "-n", server_count or count)
    c = rdmacm.Check(ctx, there, "connect", address, port, "-t", "held", "-n", count, "-w", count,
                     "-H", *client_args)
    c.wait_for("all up")
    return s, c


def ask(client, times=1):
    """A message each way on all of them, for the nth time."""
    client.send(signal.SIGUSR1)
    process.wait_until(lambda: client.says("all answered") and
                       client.p.output().count("all answered") == times, process.LONG, "the answers")


def expect_end(figures, count, **more):
    cm.expect(figures, established=count, disconnected=count, timewait=count, complaints=0, **more)


def end_well(server, client, count):
    """Closed by the client, as ever."""
    expect_end(client.end(), count)
    expect_end(server.result(), count)


def wait_for_counter(ctx, name, least, timeout, what):
    process.wait_until(lambda: cm.counter(ctx.ours.ns, name) >= least, timeout, what, interval=0.2)


def keep_uroced(ctx):
    """A program that waits for nobody; else uroced leaves soon, and its counters with it."""
    rdmacm.start_server(ctx.ours, ["rping", "-s", "-p", str(pair.next_port())])


def packets_received(p):
    if p.poll() is not None:
        raise Failed(f"{p.argv[2]} ended with status {p.status}\n{p.output()}")
    try:
        counters = pair.Counters(p)
    except (Failed, OSError):  # it has opened no device so far, or not any more
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
        expect_end(living.result(), count)
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


def add_uroced_killed_meanwhile(server):
    @row(f"endings/uroced-killed-meanwhile/{server}-serves", least=FULL)
    def uroced_killed_meanwhile(ctx):
        """While connections are made and closed: each attempt ends in one event."""
        here, there = across.sides(ctx, server)
        some, port = 50, pair.next_port()
        s = rdmacm.serve(ctx, here, here.ipv6, port, "-t", "held")
        c = rdmacm.Check(ctx, there, "connect", here.ipv6, port, "-t", "held", "-n", cm.ENDLESS,
                         "-r", 100, "-d")
        for _ in range(3):
            cm.wait_for_more(ctx.ours.ns, "cm_established", some)
            cm.kill_uroced(ctx.ours.ns)
        cm.wait_for_more(ctx.ours.ns, "cm_established", some)
        figures = c.end(BOUND)
        count = figures["started"]
        ends = sum(figures[name] for name in ("established", "rejected", "unreachable", "errors"))
        if ends != count or figures["ended"] != count or figures["established"] < some or \
                figures["disconnected"] != figures["established"]:
            raise Failed(f"{ends} of {count} attempts ended\n{figures}\n{s.end(BOUND)}")
        s.end(BOUND)
        return f"{figures['established']} of {count} established"


for _server in across.SERVERS:
    add_uroced_killed(_server)
    add_uroced_killed_meanwhile(_server)


# ---- the machine of the peer ----

@row("endings/frozen/connecting")
def frozen_connecting(ctx):
    """The REQ is repeated, and the peer answers when it goes on."""
    server = rdmacm.start_server(ctx.guest, ["rping", "-s", "-V", "-C", "5"])
    keep_uroced(ctx)
    before = cm.counter(ctx.ours.ns, "cm_tx_req")
    ctx.guest.freeze()
    client = ctx.ours.spawn(["rping", "-c", "-V", "-C", "5", "-a", ctx.guest.ipv4])
    wait_for_counter(ctx, "cm_tx_req", before + 2, process.LONG, "a second REQ")
    if client.poll() is not None:
        raise Failed(f"it did not wait\n{client.output()}")
    ctx.guest.thaw()
    outcome = pair.Outcome(server, client)
    for p in (client, server):
        if p.wait(process.LONG) != 0:
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
    wait_for_counter(ctx, "cm_tx_dreq", before + count, process.LONG, f"{count} DREQs")
    took = time.monotonic() - start
    ctx.guest.thaw()
    expect_end(client.result(), count, broken=count)
    expect_end(server.result(), count)
    return f"status 12 within {took:.1f} s"


def start_traffic(ctx, server):
    """(server, client): ib_write_bw in both directions, under way. Its server listens for the second
    connection only after its last answer on the first; a client that is faster is refused, and crashes
    on memory that it has freed."""
    here, there = across.sides(ctx, server)
    for _ in range(10):
        common = ["ib_write_bw", "-R", "-b", "-F", "-D", "300", "-p", str(pair.next_port())]
        s = rdmacm.start_server(here, common)
        c = there.spawn([*common, here.ipv4])
        ours = s if server == across.OURS else c
        process.wait_until(lambda c=c, ours=ours: c.poll() is not None or
                           packets_received(ours) > 1000, process.LONG, "traffic", interval=0.2)
        if c.poll() is None:
            return s, c
        s.end()
    raise Failed(f"no traffic\n{pair.Outcome(s, c).text()}")


def expect_status_12(p, outcome):
    start = time.monotonic()
    status = p.wait(process.LONG)
    if status == 0 or not re.search(r"Failed status 12\b", p.output()):
        raise Failed(outcome.text())
    return f"status 12 within {time.monotonic() - start:.1f} s"


def add_traffic(server):
    @row(f"endings/frozen/traffic/{server}-serves", least=FULL)
    def frozen_traffic(ctx):
        """Both sides write: status 12 ends ours, whichever it is."""
        s, c = start_traffic(ctx, server)
        ctx.guest.freeze()
        note = expect_status_12(s if server == across.OURS else c, pair.Outcome(s, c))
        ctx.guest.thaw()
        return note


for _server in across.SERVERS:
    add_traffic(_server)


@row("endings/frozen/for-long", least=FULL)
def frozen_for_long(ctx):
    """Longer than anybody asks: who connects gets UNREACHABLE, and who was connected is forgotten.
    What the peer still believes to have when it goes on ends on its side too. What we have sent
    meanwhile must not wait for it on the wire, so it goes to a stranger's Ethernet address."""
    count = 5
    listener = rdmacm.start_server(ctx.guest, ["rping", "-s", "-P"])
    server, client = hold(ctx, across.OURS, count, "-b")
    keep_uroced(ctx)
    timeouts = cm.counter(ctx.ours.ns, "cm_timeouts")
    ctx.guest.freeze()
    ctx.ours.ns.run("ip", "neigh", "replace", ctx.guest.ipv4, "lladdr", "52:54:00:77:00:03", "nud",
                    "permanent", "dev", "ur0")
    start = time.monotonic()
    server.send(signal.SIGKILL)
    connecting = ctx.ours.spawn(["rping", "-c", "-C", "5", "-a", ctx.guest.ipv4])
    status = connecting.wait(BOUND, ctx.on_wait)
    took = time.monotonic() - start
    if status == 0 or "RDMA_CM_EVENT_UNREACHABLE, error -110" not in connecting.output():
        raise Failed(f"status {status}\n{connecting.output()}")
    wait_for_counter(ctx, "cm_timeouts", timeouts + count + 1, BOUND, "the DREQs to be given up")
    ctx.ours.ns.run("ip", "neigh", "del", ctx.guest.ipv4, "dev", "ur0")
    ctx.guest.thaw()
    # Nobody answers what it sends.
    client.send(signal.SIGUSR1)
    expect_end(client.result(BOUND, ctx.on_wait), count, broken=count)
    again = ctx.ours.spawn(["rping", "-c", "-V", "-C", "5", "-a", ctx.guest.ipv4])
    if again.wait(process.LONG) != 0 or listener.poll() is not None:
        raise Failed(pair.Outcome(listener, again).text())
    return f"unreachable after {took:.0f} s"


@row("endings/gone", fresh=True, least=FULL)
def gone(ctx):
    """The machine is off. Data ends with status 12, closing and connecting with ETIMEDOUT, and
    uroced leaves after them."""
    count = 5
    rdmacm.start_server(ctx.guest, ["rping", "-s", "-P"])
    _, client = hold(ctx, across.GUEST, count, "-b")
    server, _ = hold(ctx, across.OURS, count)
    ctx.guest.freeze()
    connecting = ctx.ours.spawn(["rping", "-c", "-C", "5", "-a", ctx.guest.ipv4])
    wait_for_counter(ctx, "cm_tx_req", count + 1, process.LONG, "a REQ")
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


def add_rebooted(server):
    @row(f"endings/rebooted/{server}-serves", fresh=True, least=FULL)
    def rebooted(ctx):
        """The peer comes back without a past and uses the numbers of its queue pairs again. While
        uroce believes in the old connections it refuses the new ones (reason 10), asks the peer, and
        closes the old ones. Where it serves it asks for four seconds, and further new ones, with
        other numbers, may be there before that is over."""
        here, there = across.sides(ctx, server)
        count, port = 5, pair.next_port()
        s, c = hold(ctx, server, count, port=port, server_count=2 * count)
        keep_uroced(ctx)
        ctx.guest.restart()
        if here is ctx.guest:
            rdmacm.serve(ctx, here, here.ipv4, port, "-t", "held")
        start = time.monotonic()
        established = stale = 0
        while established < count and time.monotonic() < start + process.LONG:
            new = rdmacm.Check(ctx, there, "connect", here.ipv4, port, "-t", "held", "-n",
                               count - established, "-d").result()
            established += new["established"]
            stale += new["rejected"]
            if new["established"] + new["rejected"] != new["ended"]:
                raise Failed(f"another end than established and refused\n{new}")
        took = time.monotonic() - start
        wait_for_counter(ctx, "cm_stale_closed", count, process.LONG,
                         "the old connections to be closed")
        closed = cm.counter(ctx.ours.ns, "cm_stale_closed")
        if established != count or not stale or closed != count:
            raise Failed(f"{established} of {count} established, {stale} refused, {closed} closed")
        if here is ctx.guest:
            expect_end(c.result(), count)
        else:
            cm.expect(s.result(), established=2 * count, disconnected=2 * count, complaints=0)
        return f"connected after {took:.1f} s and {stale} refusals"


for _server in across.SERVERS:
    add_rebooted(_server)


# ---- the device and the wire of the peer ----

@row("endings/device-removed", fresh=True, least=FULL)
def device_removed(ctx):
    """rxe0 goes under traffic and comes again: uroce's programs end, new ones connect. The kernel waits
    for the programs that have the device open."""
    count = 5
    s, traffic = start_traffic(ctx, across.GUEST)
    server, client = hold(ctx, across.GUEST, count, "-b")
    removal = ctx.guest.spawn(["rdma", "link", "delete", "rxe0"])
    client.send(signal.SIGUSR1)
    for p in (s, server.p):
        p.kill()
    if removal.wait(process.LONG) != 0:
        raise Failed(removal.output())
    note = expect_status_12(traffic, pair.Outcome(s, traffic))
    ctx.guest.check("rdma link add rxe0 type rxe netdev eth0")
    expect_end(client.result(BOUND, ctx.on_wait), count)
    ping(ctx, across.GUEST)
    return note


@row("endings/link-down", least=FULL)
def link_down(ctx):
    """The guest's, while uroce sends: it arrives when the link is back. (A queue pair of Soft-RoCE that
    sends itself meanwhile goes to the error state.)"""
    count = 20
    server, client = hold(ctx, across.GUEST, count, "-a", 20)
    ask(client)
    ctx.guest.check(["ip", "link", "set", "eth0", "down"])
    client.send(signal.SIGUSR1)
    time.sleep(1)
    if client.p.output().count("all answered") != 1:
        raise Failed("answers came through a link that was down")
    # the addresses of IPv6 have gone with the link
    ctx.guest.check(f"ip link set eth0 up; ip addr add {ctx.guest.ipv6}/64 dev eth0 nodad")
    process.wait_until(lambda: client.p.output().count("all answered") == 2, process.LONG,
                       "the answers")
    end_well(server, client, count)


def add_interrupted(server):
    @row(f"endings/interrupted/{server}-serves", least=FULL)
    def interrupted(ctx):
        """The peer stands still, our link goes down, each for a second: no byte of a stream is lost."""
        here, there = across.sides(ctx, server)
        common = ["rstream", "-T", "v", "-S", "65536", "-C", "10", "-I", "40", "-p",
                  str(pair.next_port())]
        s = rdmacm.start_server(here, [*common, "-b", here.ipv4])
        c = there.spawn([*common, "-s", here.ipv4])
        ours = s if server == across.OURS else c

        def wait_for_traffic():
            least = packets_received(ours) + 1000
            process.wait_until(lambda: packets_received(ours) > least, process.LONG, "traffic",
                               interval=0.1)
        wait_for_traffic()
        ctx.guest.freeze()
        time.sleep(1)
        ctx.guest.thaw()
        wait_for_traffic()
        ctx.ours.ns.run("sh", "-c", f"ip link set ur0 down; sleep 1; ip link set ur0 up; "
                        f"ip addr add {ctx.ours.ipv6}/64 dev ur0 nodad")
        outcome = pair.Outcome(s, c)
        for p in (c, s):
            if p.wait(BOUND, ctx.on_wait) != 0:
                raise Failed(outcome.text())


for _server in across.SERVERS:
    add_interrupted(_server)
