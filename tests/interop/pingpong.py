# SPDX-License-Identifier: BSD-2-Clause
"""rdma-core's ping-pongs between the stacks, with -c: they check what arrives (one byte a page), say
"invalid data" of it, and exit 0 all the same."""
import re

from harness import pair
from harness.report import Failed

from across import GUEST, OURS, SERVERS, gids, run_pair, sides
from guest import MTUS
from rows import FULL, SHORT, row

SIZES = (1, 2, 65, 1023, 1025, 4097, 65537, 1 << 20)
WITH_EVENTS = (65, 65537)


def pingpong(ctx, server, kind, *args, ipv6=False):
    server_gid, client_gid = gids(ctx, server, ipv6)
    here, there = sides(ctx, server)
    port = pair.next_port()
    common = [f"ibv_{kind}_pingpong", "-c", "-p", port, *args]
    outcome = pair.expect_success(run_pair(
        ctx, server, [*common, "-d", here.device, "-g", server_gid],
        [*common, "-d", there.device, "-g", client_gid, here.ipv4], port))
    for p in (outcome.server, outcome.client):
        text = p.output()
        if "invalid data" in text or not re.search(r"\d+ bytes in [\d.]+ seconds", text):
            raise Failed(outcome.text())


def sizes_of(kind, path_mtu):
    if kind == "ud":
        return [size for size in SIZES if size < path_mtu] + [path_mtu]
    return list(SIZES)


def iterations(size):
    """Round the receive queue of 500 with the small ones; the guest moves some MiB a second."""
    return 600 if size < 1500 else max(20, min(200, (4 << 20) // size))


def run_sizes(ctx, kind, server, ipv6, path_mtu, chosen):
    for size in chosen:
        for events in ([], ["-e"]) if ctx.scale == FULL and size in WITH_EVENTS else ([],):
            ctx.report.progress(f"size {size} {' '.join(events)}")
            mtu = [] if kind == "ud" else ["-m", path_mtu]
            pingpong(ctx, server, kind, "-s", size, "-n", iterations(size), *mtu, *events,
                     ipv6=ipv6)


# what the short form has: everything once, and every kind both ways
QUICK = {("rc", 1024, "ipv4", OURS): (1, 65537), ("rc", 4096, "ipv6", GUEST): (4097,),
         ("uc", 4096, "ipv4", OURS): (4097,), ("uc", 1024, "ipv6", GUEST): (1025,),
         ("ud", 1024, "ipv6", OURS): (1023,), ("ud", 4096, "ipv4", GUEST): (4096,),
         ("srq", 1024, "ipv4", GUEST): (1025,), ("srq", 4096, "ipv6", OURS): (4097,)}


def add_row(mtu, kind, family, server):
    quick = QUICK.get((kind, MTUS[mtu], family, server))

    @row(f"pingpong/{kind}/{MTUS[mtu]}/{family}/{server}-serves", mtu,
         least=SHORT if quick else FULL)
    def run(ctx):
        run_sizes(ctx, kind, server, family == "ipv6", MTUS[mtu],
                  quick if ctx.scale == SHORT else sizes_of(kind, MTUS[mtu]))


for _mtu in MTUS:
    for _kind in ("rc", "uc", "ud", "srq"):
        for _family in ("ipv4", "ipv6"):
            for _server in SERVERS:
                add_row(_mtu, _kind, _family, _server)
