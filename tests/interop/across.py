# SPDX-License-Identifier: BSD-2-Clause
"""A server on one stack and a client on the other."""
from harness import pair, process
from harness.report import Failed

OURS, GUEST = "uroce", "rxe"  # who is the server
SERVERS = (OURS, GUEST)


def sides(ctx, server):
    """(server's side, client's side): ctx.ours and ctx.guest in this or the other order."""
    return (ctx.ours, ctx.guest) if server == OURS else (ctx.guest, ctx.ours)


def gids(ctx, server, ipv6):
    """GID indices of the two sides, in their order."""
    return [side.gid_index(side.ipv6 if ipv6 else side.ipv4) for side in sides(ctx, server)]


def run_pair(ctx, server, server_argv, client_argv, port, timeout=600, protocol="tcp", env=None,
             on_server=None):
    """Both sides of a run, to their end; the client is started once the server listens on `port`,
    which is one of TCP, or of rdma_cm by protocol="cm". env: of uroce's side."""
    here, there = sides(ctx, server)

    def spawn(side, argv):
        argv = [str(word) for word in argv]
        return side.spawn(argv, env=env) if side is ctx.ours else side.spawn(argv)

    listens_before = here.cm_listens() if protocol == "cm" else None
    s = spawn(here, server_argv)
    c = None
    try:
        if protocol == "cm":
            here.wait_for_listener(s, listens_before)
        else:
            here.wait_for_port(s, port, protocol=protocol)
        if on_server:
            on_server(s)
        c = spawn(there, client_argv)
        c.wait(timeout, ctx.on_wait)
        s.wait(process.LONG if c.status == 0 else 15)
    except process.Timeout as e:
        s.kill()
        if c:
            c.kill()
        raise Failed(f"{e}\n{pair.Outcome(s, c).text()}") from e
    return pair.Outcome(s, c)
