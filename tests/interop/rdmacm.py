# SPDX-License-Identifier: BSD-2-Clause
"""rdma-core's programs of rdma_cm and rsockets across the two stacks, either one as the server, over
IPv4 and IPv6 and both path MTUs. How connections end is in endings.py."""
import os
import re
import tempfile

from harness import cm, pair, process
from harness.report import Failed

import across
from rows import FULL, SHORT, row

COMPLAINTS = re.compile(r"(?i)error|fail|mismatch|unexpected|invalid|unreachable")
GROUP = "239.1.2.3"
UNSUPPORTED = 524  # ENOTSUPP of the kernel, which libc has no name for


def start_server(side, argv):
    """Once somebody listens: rdma_cm has no port of TCP to look for."""
    before = side.cm_listens()
    server = side.spawn(argv)
    side.wait_for_listener(server, before)
    return server


def run(ctx, server, server_argv, client_argv, timeout=600, stays=False, may_say=(), ends=(0,)):
    """A pair to its end. stays: a server that does not end by itself. ends: statuses of the client
    that will do."""
    here, there = across.sides(ctx, server)
    s = start_server(here, [str(word) for word in server_argv])
    c = there.spawn([str(word) for word in client_argv])
    outcome = pair.Outcome(s, c)
    try:
        c.wait(timeout, ctx.on_wait)
        if stays:
            if s.poll() is not None:
                raise Failed(f"the server did not stay\n{outcome.text()}")
            s.end()
        else:
            s.wait(process.LONG)
    except process.Timeout as e:
        s.kill()
        c.kill()
        raise Failed(f"{e}\n{outcome.text()}") from e
    if c.status not in ends or (not stays and s.status != 0):
        raise Failed(outcome.text())
    for line in (s.output() + c.output()).splitlines():
        if COMPLAINTS.search(line) and not any(text in line for text in may_say):
            raise Failed(f"it says: {line}\n{outcome.text()}")
    return outcome


class Way:
    """Who serves, and over which family."""

    def __init__(self, ctx, server, family):
        here, there = across.sides(ctx, server)
        self.server = server
        self.address = getattr(here, family)
        self.client_address = getattr(there, family)


def each_way(name, only=None):
    """A row for each server, family and MTU. The short form has the two ways that differ in all:
    rxe as the server over IPv4, uroce over IPv6, both at the small MTU."""
    def add(function):
        for mtu in (1500, 9000):
            for family in ("ipv4", "ipv6"):
                for server in across.SERVERS:
                    is_short = mtu == 1500 and (family == "ipv4") == (server == across.GUEST)
                    if only and not only(family):
                        continue

                    @row(f"rdmacm/{name}/{server}-serves/{family}/{mtu}", mtu=mtu,
                         least=SHORT if is_short else FULL)
                    def run_way(ctx, server=server, family=family):
                        return function(ctx, Way(ctx, server, family))
        return function
    return add


@each_way("rping")
def rping(ctx, way):
    """Every message is compared by the client."""
    count = ctx.pick(20, 200)
    outcome = run(ctx, way.server, ["rping", "-s", "-V", "-C", count, "-a", way.address],
                  ["rping", "-c", "-v", "-V", "-C", count, "-a", way.address])
    text = re.sub(r"client DISCONNECT EVENT\.\.\.\n", "", outcome.client.output())
    if text.count("ping data: ") != count or f"rdma-ping-{count - 1}: " not in text:
        raise Failed(f"not {count} pings\n{outcome.text()}")


@each_way("ucmatose")
def ucmatose(ctx, way):
    """The server disconnects; both wait for that."""
    more = ["-f", "ip", "-c", ctx.pick(5, 50), "-C", 10, "-S", 4000]
    outcome = run(ctx, way.server, ["ucmatose", "-b", way.address, *more],
                  ["ucmatose", "-s", way.address, *more])
    if outcome.server.output().count("disconnected\n") != 1:
        raise Failed(outcome.text())


@each_way("udaddy")
def udaddy(ctx, way):
    more = ["-c", ctx.pick(3, 20), "-C", 10, "-S", 500]
    run(ctx, way.server, ["udaddy", "-b", way.address, *more],
        ["udaddy", "-s", way.address, *more])


@each_way("cmtime")
def cmtime(ctx, way):
    """The server goes on for ever."""
    count = ctx.pick(20, 200)
    outcome = run(ctx, way.server, ["cmtime", "-b", way.address, "-c", count],
                  ["cmtime", "-s", way.address, "-c", count], stays=True)
    table = re.findall(r"(?m)^(connect|disconnect) *: +([\d.]+)", outcome.client.output())
    if len(table) != 2:
        raise Failed(f"no table\n{outcome.text()}")


@each_way("rstream")
def rstream(ctx, way):
    """Blocking, nonblocking and with rpoll(); every byte compared. The program takes POLLHUP for an
    error, so a client that hears of data and of the peer's end at once ends with that as its
    status, 16: librdmacm of rdma-core tells both at once."""
    for mode in ctx.pick("n" if way.server == across.OURS else "a", "bna"):
        ends = (0, 16) if mode == "a" and way.server == across.OURS else (0,)
        for size, count in ((65536, 4), (1, 50), (1000003, 2))[:ctx.pick(1, 3)]:
            common = ["rstream", "-T", mode, "-T", "v", "-S", size, "-C", count, "-I", 4, "-p",
                      pair.next_port()]
            run(ctx, way.server, [*common, "-b", way.address], [*common, "-s", way.address],
                ends=ends)


@each_way("rcopy", only=lambda family: family == "ipv4")
def rcopy(ctx, way):
    """A file arrives as it was (the program takes no IPv6 address: it splits at the first colon)."""
    content = os.urandom(ctx.pick(3, 20) * 1000003)
    with tempfile.TemporaryDirectory(prefix="uroce-rcopy-") as folder:
        ours, port = os.path.join(folder, "file"), ["-p", pair.next_port()]
        theirs = "copied"
        source, target = (theirs, ours) if way.server == across.OURS else (ours, theirs)
        with open(ours, "wb") as f:
            f.write(content)
        if source == theirs:
            ctx.guest.push(ours, theirs)
            os.unlink(ours)
        else:
            ctx.guest.check(["rm", "-f", theirs])
        run(ctx, way.server, ["rcopy", *port], ["rcopy", source, f"{way.address}:{target}", *port],
            stays=True)
        if source == theirs:
            with open(ours, "rb") as f:
                copy = f.read()
        else:
            copy = ctx.guest.pull(theirs)
    if copy != content:
        raise Failed(f"the copy differs: {len(copy)} bytes of {len(content)}")


def spawn_to_be_read(ctx, side, argv):
    argv = [str(word) for word in argv]
    return side.spawn(argv, terminal=True) if side is ctx.guest else \
        side.spawn(argv, line_buffered=True)


@each_way("mckey", only=lambda family: family == "ipv4")
def mckey(ctx, way):
    """Here the server is who receives."""
    here, there = across.sides(ctx, way.server)
    receiver = spawn_to_be_read(ctx, here, ["mckey", "-m", GROUP, "-b", here.ipv4, "-C", 10])
    process.wait_until(lambda: "joined dgid" in receiver.output(), process.LONG,
                       "mckey to join")
    sender = there.spawn(["mckey", "-m", GROUP, "-b", there.ipv4, "-C", "10", "-s"])
    outcome = pair.Outcome(receiver, sender)
    for p in (sender, receiver):
        if p.wait(process.LONG, ctx.on_wait) != 0:
            raise Failed(outcome.text())


@row("rdmacm/mckey-ipv6", least=FULL)
def mckey_ipv6(ctx):
    """Linux's rdma_cm has no multicast over RoCEv2 and IPv6, and neither has ours."""
    for side in (ctx.ours, ctx.guest):
        p = side.spawn(["mckey", "-m", "ff0e::77", "-b", side.ipv6, "-C", "1", "-s"])
        if p.wait(process.LONG) == 0 or \
                f"failure joining: Unknown error {UNSUPPORTED}" not in p.output():
            raise Failed(pair.Outcome(None, p).text())


# ---- refused, and in numbers ----

@each_way("nobody-listens")
def nobody_listens(ctx, way):
    """On the port, while a connection manager is there: reason 8, and ECONNREFUSED."""
    here, there = across.sides(ctx, way.server)
    other = start_server(here, ["rping", "-s", "-p", str(pair.next_port())])
    client = there.spawn(["rping", "-c", "-C", "1", "-a", way.address])
    if client.wait(process.LONG) == 0 or "RDMA_CM_EVENT_REJECTED, error 8\n" not in client.output():
        raise Failed(pair.Outcome(other, client).text())
    check = Check(ctx, there, "refused", way.address, pair.next_port())
    if check.p.wait(process.LONG) != 0:
        raise Failed(check.p.output())
    other.end()


class Check(cm.Check):
    """cm-check on either side."""

    def __init__(self, ctx, side, role, address, port, *args):
        self.ns = ctx.ours.ns if side is ctx.ours else None
        program = ctx.guest.push(cm.CM_CHECK) if side is ctx.guest else cm.CM_CHECK
        self.p = side.spawn([str(word) for word in (program, role, address, port, *args)])


def serve(ctx, side, address, port, *args):
    server = Check(ctx, side, "serve", address, port, *args)
    server.wait_for("listening on")
    return server


def connections(ctx, way, count, *args):
    """`count` connections by cm-check; (client's figures, server's)."""
    here, there = across.sides(ctx, way.server)
    port = pair.next_port()
    server = serve(ctx, here, way.address, port, "-t", "across", "-n", count, *args)
    client = Check(ctx, there, "connect", way.address, port, "-t", "across", "-n", count, *args)
    return client.result(600, ctx.on_wait), server.result()


def expect_all(figures, count, unheard=0):
    """`unheard`: connections of which the server may hear first that they have ended."""
    client, server = figures
    if count - unheard <= server["established"] < count:
        server = {**server, "established": count}
    for side, sheet in (("client", client), ("server", server)):
        cm.expect(sheet, side, established=count, disconnected=count, timewait=count, ended=count,
                  rejected=0, unreachable=0, errors=0, complaints=0)


@each_way("connections/whoever-closes")
def whoever_closes(ctx, way):
    """Each side sees DISCONNECTED once and then TIMEWAIT_EXIT. A guest under load tells its server
    of some connections only that they have ended, where the client closes: in captures each of 600
    RTUs came a millisecond and more before the DREQ."""
    count = ctx.pick(20, 200)
    short = "both" if way.server == across.OURS else "server"
    for closer in ctx.pick((short,), ("client", "server", "both")):
        is_raced = way.server == across.GUEST and closer != "server"
        expect_all(connections(ctx, way, count, "-c", closer, "-d"), count,
                   unheard=count // 2 if is_raced else 0)


@each_way("connections/refused")
def refused(ctx, way):
    """The server's program refuses each third, with private data."""
    figures = connections(ctx, way, 30, "-R", 3)
    cm.expect(figures[0], "client", established=20, rejected=10, timewait=20, ended=30)
    cm.expect(figures[1], "server", established=20, refused=10, timewait=20, ended=30)


@each_way("connections/many-at-once")
def many_at_once(ctx, way):
    """All are open before the first is closed."""
    count = ctx.pick(200, 800)
    expect_all(connections(ctx, way, count, "-w", count, "-d"), count)
