# SPDX-License-Identifier: BSD-2-Clause
"""Programs that connect by rdma_cm: rdma-core's own, perftest with -R, qperf with -cm, libfabric and
fio. A server is ready when the connection manager of its namespace has seen it listen."""
import hashlib
import os
import re
import tempfile

from harness import cm, pair, perftest, process
from harness.report import Failed, Skipped

from rows import row

WHERE = ("pair", 9000)
COMPLAINTS = re.compile(r"(?i)error|fail|mismatch|unexpected|invalid|unreachable")


def start_server(ctx, argv):
    place = ctx.topology
    before = cm.listens(place.a)
    server = pair.start(place.a, argv)

    def ready():
        if server.poll() is not None:
            raise Failed(f"the server ended first\n{pair.Outcome(server, None).text()}")
        return cm.has_listened(place.a, before)
    process.wait_until(ready, process.LONG, f"{argv[0]} to listen", interval=0.05)
    return server


def run(ctx, server_argv, client_argv, timeout=process.LONG, stays=False, may_say=(),
        client_ns=None):
    """A pair by rdma_cm. stays: a server that does not end by itself."""
    place = ctx.topology
    server = start_server(ctx, server_argv)
    client = pair.start(client_ns or place.b, client_argv)
    try:
        client.wait(timeout, ctx.on_wait)
        if not stays:
            server.wait(process.LONG if client.status == 0 else 15)
    except process.Timeout as e:
        server.kill()
        client.kill()
        raise Failed(f"{e}\n{pair.Outcome(server, client).text()}") from e
    outcome = pair.Outcome(server, client)
    if stays:
        if server.poll() is not None:
            raise Failed(f"the server did not stay\n{outcome.text()}")
        server.end()
    for p in (client,) if stays else (server, client):
        if p.status != 0:
            raise Failed(f"{p.argv[2]} ended with status {p.status}\n{outcome.text()}")
    for p in (server, client):
        for line in p.output().splitlines():
            if COMPLAINTS.search(line) and not any(text in line for text in may_say):
                raise Failed(f"status 0, but: {line}\n{outcome.text()}")
    return outcome


def expect_pings(outcome, count):
    # What goes to the other stream may stand in the middle of a line.
    text = re.sub(r"client DISCONNECT EVENT\.\.\.\n", "", outcome.client.output())
    last = f"rdma-ping-{count - 1}: "
    if text.count("ping data: ") != count or last not in text:
        raise Failed(f"not {count} pings\n{outcome.text()}")


def rping(ctx, listen_on, connect_to, *more, count=20, client_ns=None):
    server = ["rping", "-s", "-v", "-V", "-C", count, *more]
    if listen_on:
        server += ["-a", listen_on]
    outcome = run(ctx, server, ["rping", "-c", "-v", "-V", "-C", count, *more, "-a", connect_to],
                  client_ns=client_ns)
    expect_pings(outcome, count)
    return outcome


@row("rdmacm/rping/ipv4", WHERE)
def rping_ipv4(ctx):
    rping(ctx, ctx.topology.ipv4, ctx.topology.ipv4, count=ctx.pick(100, 1000))


@row("rdmacm/rping/ipv6", WHERE)
def rping_ipv6(ctx):
    rping(ctx, ctx.topology.ipv6, ctx.topology.ipv6)


@row("rdmacm/rping/wildcard", WHERE)
def rping_wildcard(ctx):
    rping(ctx, None, ctx.topology.ipv4)
    rping(ctx, "::", ctx.topology.ipv6)
    rping(ctx, "::", ctx.topology.ipv4)


@row("rdmacm/rping/own-queue-pair", WHERE)
def rping_own_qp(ctx):
    """-q: the program makes and moves its queue pairs itself."""
    rping(ctx, None, ctx.topology.ipv4, "-q")


@row("rdmacm/rping/case_056_loopback", WHERE)
def rping_loopback(ctx):
    """The host to itself: by the loopback addresses, and by its own."""
    here, count = ctx.topology.a, ctx.pick(100, 1000)
    rping(ctx, None, "127.0.0.1", client_ns=here)
    for address in ("127.0.0.1", "::1", ctx.topology.ipv4, ctx.topology.ipv6):
        rping(ctx, address, address, count=count, client_ns=here)


@row("rdmacm/rping/link-local", WHERE)
def rping_link_local(ctx):
    link = ctx.topology.a.run("ip", "-6", "-o", "addr", "show", "dev", "ur0", "scope", "link")
    address = re.search(r"inet6 ([^/]+)/", link).group(1) + "%ur0"
    rping(ctx, address, address)


ENDLESS = 1000000000


@row("rdmacm/daemon-killed", WHERE)
def daemon_killed(ctx):
    """Both connection managers die and come again: the connection and the listener stay. How what was
    restored ends is in connections/uroced-killed-established."""
    place = ctx.topology
    server = start_server(ctx, ["rping", "-s", "-P", "-C", ENDLESS])
    client = pair.start(place.b, ["rping", "-c", "-C", ENDLESS, "-a", place.ipv4])
    process.wait_until(lambda: cm.counter(place.a, "cm_established") == 1, process.LONG,
                       "the connection")
    counters = pair.Counters(client)
    for ns in (place.a, place.b):
        cm.kill_uroced(ns)
    for ns in (place.a, place.b):
        process.wait_until(lambda ns=ns: cm.counter(ns, "cm_restored"), process.LONG,
                           "what was to be restored")
    seen = counters.read()["rx_pkts"]
    process.wait_until(lambda: client.poll() is not None or counters.read()["rx_pkts"] > seen + 1000,
                       process.LONG, "the pings to go on", 0.1)
    counters.close()
    if client.poll() is not None:
        raise Failed(pair.Outcome(server, client).text())
    client.kill()
    again, output = pair.run(place.b, ["rping", "-c", "-C", 5, "-a", place.ipv4])
    if again != 0 or server.poll() is not None:
        raise Failed(f"nobody listens any more\n{output}\n{server.output()}")
    server.end()


@row("rdmacm/rping/persistent", WHERE)
def rping_persistent(ctx):
    """-P: clients one after the other (of two at a time it may forget one)."""
    place = ctx.topology
    server = start_server(ctx, ["rping", "-s", "-P", "-C", 10])
    for _ in range(ctx.pick(3, 10)):
        status, output = pair.run(place.b, ["rping", "-c", "-C", 10, "-a", place.ipv4])
        if status != 0:
            raise Failed(f"status {status}\n{output}\n{server.output()}")
    if server.poll() is not None:
        raise Failed(f"the server ended\n{server.output()}")
    server.end()


@row("rdmacm/nobody-listens", WHERE)
def nobody_listens(ctx):
    """On the port; the connection manager is there for another one."""
    place = ctx.topology
    server = start_server(ctx, ["rping", "-s", "-p", 9999])
    status, output = pair.run(place.b, ["rping", "-c", "-C", 1, "-a", place.ipv4])
    if status == 0 or "RDMA_CM_EVENT_REJECTED, error 8" not in output:
        raise Failed(f"status {status}\n{output}")
    server.end()


@row("rdmacm/no-neighbour", WHERE)
def no_neighbour(ctx):
    """Nobody answers ARP for the address: ADDR_ERROR with ETIMEDOUT."""
    status, output = pair.run(ctx.topology.b, ["rping", "-c", "-C", 1, "-a", "10.77.0.99"])
    if status == 0 or "RDMA_CM_EVENT_ADDR_ERROR, error -110" not in output:
        raise Failed(f"status {status}\n{output}")


@row("rdmacm/ucmatose", WHERE)
def ucmatose(ctx):
    place = ctx.topology
    more = ["-c", ctx.pick(10, 100), "-C", 10, "-S", 4000]
    run(ctx, ["ucmatose", *more], ["ucmatose", "-s", place.ipv4, *more])
    run(ctx, ["ucmatose", "-f", "ip", "-b", place.ipv6], ["ucmatose", "-f", "ip", "-s", place.ipv6])


@row("rdmacm/udaddy", WHERE)
def udaddy(ctx):
    more = ["-c", 5, "-C", 20, "-S", 500]
    run(ctx, ["udaddy", *more], ["udaddy", "-s", ctx.topology.ipv4, *more])


@row("rdmacm/mckey", WHERE)
def mckey(ctx):
    """The receiver counts its messages and ends; it joins only after it has bound."""
    place = ctx.topology
    receiver = pair.start(place.a, ["mckey", "-m", "239.1.2.3", "-b", place.ipv4, "-C", 10],
                          line_buffered=True)
    process.wait_until(lambda: "joined dgid" in receiver.output(), process.LONG, "mckey to join")
    sender = pair.start(place.b, ["mckey", "-m", "239.1.2.3", "-b", place.client_ipv4, "-C", 10,
                                  "-s"])
    outcome = pair.Outcome(receiver, sender)
    for p in (sender, receiver):
        if p.wait(process.LONG) != 0:
            raise Failed(outcome.text())


@row("rdmacm/cmtime", WHERE)
def cmtime(ctx):
    """The server of this release goes on for ever."""
    count = ctx.pick(100, 1000)
    outcome = run(ctx, ["cmtime", "-c", count], ["cmtime", "-s", ctx.topology.ipv4, "-c", count],
                  stays=True)
    table = re.findall(r"(?m)^(connect|disconnect|destroy) *: +([\d.]+)", outcome.client.output())
    if len(table) != 3:
        raise Failed(f"no table\n{outcome.text()}")
    return ", ".join(f"{name} {ms} ms" for name, ms in table) + f" for {count}"


@row("rdmacm/rdma-client", WHERE)
def rdma_client(ctx):
    run(ctx, ["rdma_server"], ["rdma_client", "-s", ctx.topology.ipv4],
        may_say=("rdma_server: end", "rdma_client: end"))


@row("rdmacm/rdma-xclient", WHERE)
def rdma_xclient(ctx):
    for kind in "rx":
        run(ctx, ["rdma_xserver", "-c", kind],
            ["rdma_xclient", "-s", ctx.topology.ipv4, "-c", kind])


# The client of UD may come before its server listens a second time, which it does behind their last
# handshake. It is refused then, and tries again with the identifiers that it has destroyed.
CAME_TOO_EARLY = re.compile(r"client: [^\n]* -c UD [^\n]*\n  status -11\n"
                            r"RDMA CM event error:\nEvent: RDMA_CM_EVENT_UNREACHABLE; error: 1\.")
ATTEMPTS = 20


def add_perftest(program, *args):
    name = "-".join([program, *(str(a).strip("-") for a in args)])

    @row(f"rdmacm/perftest/{name}", WHERE)
    def run_perftest(ctx):
        for attempt in range(ATTEMPTS):
            common = [program, "-F", "-R", "-n", 200, "-p", pair.next_port(),
                      *perftest.patient(args)]
            try:
                outcome = run(ctx, common, [*common, ctx.topology.ipv4], may_say=("Event",))
                break
            except Failed as e:
                if not CAME_TOO_EARLY.search(str(e)) or attempt + 1 == ATTEMPTS:
                    raise
        if not perftest.table(outcome.client.output()):
            raise Failed(f"no result\n{outcome.text()}")
        return f"{attempt} times too early" if attempt else ""


for _program in ("ib_send_bw", "ib_send_lat", "ib_write_bw", "ib_write_lat", "ib_read_bw",
                 "ib_read_lat", "ib_atomic_bw", "ib_atomic_lat"):
    add_perftest(_program)
add_perftest("ib_send_lat", "-c", "UD")
add_perftest("ib_write_bw", "-q", "4")
add_perftest("ib_read_bw", "-T", "8")


@row("rdmacm/qperf", WHERE)
def qperf(ctx):
    place = ctx.topology
    server = pair.start(place.a, ["qperf"])
    process.wait_for_port(server, 19765)
    tests = ["rc_lat", "rc_rdma_read_bw", "ver_rc_compare_swap", "rc_bw", "rc_bi_bw",
             "rc_rdma_read_lat", "rc_rdma_write_bw", "rc_rdma_write_lat",
             "rc_rdma_write_poll_lat", "rc_compare_swap_mr", "rc_fetch_add_mr",
             "ver_rc_fetch_add"]
    for test in tests[:ctx.pick(3, len(tests))]:
        status, output = pair.run(place.b, ["qperf", "-to", 120, "-t", 1, "-cm", 1, place.ipv4,
                                            test])
        if status != 0 or not re.search(r"(latency|bw|msg_rate|rate) *= ", output):
            raise Failed(f"{test}: status {status}\n{output}\n{server.output()}")
    server.end()


@row("rdmacm/libfabric", WHERE)
def libfabric(ctx):
    place = ctx.topology
    for provider, kind in (("verbs", "msg"), ("verbs;ofi_rxm", "rdm")):
        common = ["fi_pingpong", "-p", provider, "-e", kind, "-c", "-I", ctx.pick(20, 200)]
        outcome = pair.run_pair(place, common, [*common, place.ipv4], 47592)
        pair.expect_success(outcome)
        if not re.search(r"(?m)^1m ", outcome.client.output()):
            raise Failed(outcome.text())


FIO = """[g]
ioengine=rdma
port={port}
bs={bs}
size={size}
iodepth={depth}
mem=mmapshared:{memory}
scramble_buffers=0
{more}
"""
FIO_BLOCK, FIO_DEPTH = 4096, 16
FIO_RECEIVES = 64  # its client gives up at the first RNR NAK: no more SENDs than receives


def fio_side(folder, name, text, blocks, **words):
    """A job file, and the memory that it works in: a file of ours, with blocks that all differ."""
    memory = os.path.join(folder, name + ".memory")
    with open(memory, "wb") as f:
        f.write(os.urandom(FIO_BLOCK * blocks))
    job = os.path.join(folder, name)
    with open(job, "w", encoding="ascii") as f:
        f.write(FIO.format(bs=FIO_BLOCK, depth=blocks, memory=memory, more=text, **words))
    return job, memory


def block_hashes(path):
    with open(path, "rb") as f:
        data = f.read()
    return [hashlib.sha256(data[at:at + FIO_BLOCK]).hexdigest()
            for at in range(0, len(data), FIO_BLOCK)]


def fio_verb(ctx, folder, verb):
    """The engine verifies nothing itself, and picks blocks at random, so often that it leaves none
    out: each block at the target is one of the source's. Its client is who writes, also for READ."""
    receives = FIO_RECEIVES if verb == "send" else FIO_DEPTH
    size = FIO_BLOCK * FIO_RECEIVES if verb == "send" else ctx.pick("4M", "64M")
    words = {"port": pair.next_port(), "size": size}
    server, theirs = fio_side(folder, "server", "rw=read", receives, **words)
    client, ours = fio_side(folder, "client",
                            f"hostname={ctx.topology.ipv4}\nverb={verb}\nrw=write", FIO_DEPTH,
                            **words)
    run(ctx, ["fio", server], ["fio", client], may_say=("err= 0",))
    source, target = (theirs, ours) if verb == "read" else (ours, theirs)
    sent, arrived = block_hashes(source), block_hashes(target)
    wrong = [h for h in arrived if h not in sent]
    if wrong or len(set(sent)) != FIO_DEPTH:
        raise Failed(f"{verb}: {len(wrong)} wrong blocks of {len(arrived)}, {len(set(sent))} "
                     "different ones sent")


@row("rdmacm/fio", WHERE)
def fio(ctx):
    if process.run(["sh", "-c", "fio --enghelp=rdma >/dev/null 2>&1"])[0] != 0:
        raise Skipped("this fio has no rdma engine")
    for verb in ("write", "read", "send"):
        with tempfile.TemporaryDirectory() as folder:
            fio_verb(ctx, folder, verb)


@row("rdmacm/lo", "lo")
def on_lo(ctx):
    """One of each kind, in one namespace over lo (libfabric leaves loopback addresses out)."""
    address = ctx.topology.ipv4
    run(ctx, ["ucmatose", "-c", 5, "-C", 10], ["ucmatose", "-s", address, "-c", 5, "-C", 10])
    run(ctx, ["udaddy", "-c", 2], ["udaddy", "-s", address, "-c", 2])
    run(ctx, ["rdma_server"], ["rdma_client", "-s", address],
        may_say=("rdma_server: end", "rdma_client: end"))
    common = ["ib_write_bw", "-F", "-R", "-n", 200, "-p", pair.next_port()]
    run(ctx, common, [*common, address], may_say=("Event",))
