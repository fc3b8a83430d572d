# SPDX-License-Identifier: BSD-2-Clause
"""Many processes on one address, and what happens to the others when one is killed.

    a: 16 servers, 16 clients (in short form 8 each), all over lo, one daemon

    The server of one pair and the client of another are killed with SIGKILL in mid-run: the killed
    server's client must report an error when its retries are spent, all other pairs finish, and in
    the end the daemon holds no slot and leaves.
"""
import os
import re
import signal
import time

from harness import pair, perftest, process
from harness.report import Failed

from rows import FULL, row

# timeout 18, 7 retries, doubled nowhere
RETRY_SECONDS = 8 * 4.096e-6 * (1 << 18)


def status(ns):
    """(exit status, text) of `uroce status`: status 1 when there is no daemon."""
    return pair.run(ns, [pair.UROCE, "status"], on_uroce=False)


def slot_count(text):
    found = re.search(r"(\d+) of \d+ slots", text)
    if not found:
        raise Failed(f"uroce status says nothing of slots:\n{text}")
    return int(found.group(1))


def start_pairs(ctx, count, *args):
    """They run until they are finished."""
    servers, clients = [], []
    for _ in range(count):
        port = pair.next_port()
        common = ["ib_write_bw", "-F", "-d", ctx.topology.device, "-p", port, "-D",
                  perftest.ENDLESS, *perftest.TIMEOUT, *args]
        servers.append((port, pair.start(ctx.topology.a, common), common))
    for port, server, common in servers:
        process.wait_for_port(server, port)
        clients.append(pair.start(ctx.topology.b, [*common, ctx.topology.ipv4],
                                  line_buffered=True))
    return [server for _, server, _ in servers], clients


def daemon_pids(ns):
    """Of the daemon and its keeper, as `uroce status` names them."""
    text = status(ns)[1]
    pids = [int(pid) for pid in re.findall(r"pid (\d+)", text.splitlines()[0] if text else "")]
    if not pids:
        raise Failed(f"uroce status names no pid:\n{text}")
    return pids


def expect_no_slots_and_leave(ns, pids):
    """Of the daemon and its keeper. Watched from outside: who asks for the status is a client, and a
    daemon leaves after those."""
    def is_free():
        code, text = status(ns)
        return code != 0 or slot_count(text) == 0  # it may have left
    try:
        process.wait_until(is_free, process.LONG, "the daemon to hold no slot", 0.5)
        process.wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids),
                           process.LONG, "the daemon to leave", 0.2)
    except process.Timeout as e:
        raise Failed(f"{e}\n{status(ns)[1]}") from e


def wait_until_all_send(servers, clients):
    """Until every client has its connection: it has printed the remote address."""
    def ready():
        for server, client in zip(servers, clients):
            if client.poll() is not None:
                raise Failed(pair.Outcome(server, client).text())
        return all("remote address" in c.output() for c in clients)
    process.wait_until(ready, process.LONG, "all pairs to connect", 0.2)


def finish(ctx, servers, clients):
    """(server, client) of each pair, which both end well."""
    for client in clients:
        perftest.finish(client)
    for server, client in zip(servers, clients):
        for side in (client, server):
            if side.wait(process.LONG, ctx.on_wait) != 0:
                raise Failed(pair.Outcome(server, client).text())
        if len(perftest.table(client.output())) != 1:
            raise Failed(f"no result\n{pair.Outcome(server, client).text()}")


@row("many/pairs-one-killed", "lo", alone=True)
def one_killed(ctx):
    pairs = ctx.pick(8, 16)
    servers, clients = start_pairs(ctx, pairs)
    wait_until_all_send(servers, clients)
    no_server, no_client = pairs - 1, pairs - 2  # the last to be started
    during = slot_count(status(ctx.topology.a)[1])
    if during < 2 * pairs:
        raise Failed(f"{during} slots are leased to {2 * pairs} processes")
    daemons = daemon_pids(ctx.topology.a)
    killed_at = time.monotonic()
    servers[no_server].kill()
    clients[no_client].kill()
    peer_status = clients[no_server].wait(20 * RETRY_SECONDS)
    took = time.monotonic() - killed_at
    orphan_status = servers[no_client].wait(process.LONG)
    finish(ctx, servers[:no_client], clients[:no_client])
    if peer_status == 0 or not re.search(r"(?i)completion with error|failed status",
                                         clients[no_server].output()):
        raise Failed(f"the killed server's peer: no error\n{clients[no_server].output()}")
    if orphan_status == 0:
        raise Failed(f"the killed client's server saw no error\n{servers[no_client].output()}")
    expect_no_slots_and_leave(ctx.topology.a, daemons)
    return f"error after {took:.1f} s"


@row("many/64-processes", "lo", least=FULL, alone=True)
def sixty_four(ctx):
    """64 processes at once on one address."""
    servers, clients = start_pairs(ctx, 32, "-s", 1024, "-t", 16)
    wait_until_all_send(servers, clients)
    during = slot_count(status(ctx.topology.a)[1])
    if during < 64:
        raise Failed(f"{during} slots are leased to 64 processes")
    daemons = daemon_pids(ctx.topology.a)
    finish(ctx, servers, clients)
    expect_no_slots_and_leave(ctx.topology.a, daemons)


@row("many/daemon-killed", "lo")
def daemon_killed(ctx):
    """Killed in mid-run: traffic goes on, a new pair gets slots from a daemon that takes over."""
    servers, clients = start_pairs(ctx, 2)
    wait_until_all_send(servers, clients)
    before = daemon_pids(ctx.topology.a)[0]
    # the one process that is ended here without having been started here: the namespace is ours,
    # and so is whoever serves it
    os.kill(before, signal.SIGKILL)
    rows = perftest.run(ctx.topology, "ib_write_bw", "-n", 200)
    perftest.expect_sizes(rows, [65536])
    daemons = daemon_pids(ctx.topology.a)
    if daemons[0] == before:
        raise Failed("the killed daemon answers")
    try:
        finish(ctx, servers, clients)
    except Failed as e:
        raise Failed(f"traffic stopped with the daemon\n{e}") from e
    expect_no_slots_and_leave(ctx.topology.a, daemons)

