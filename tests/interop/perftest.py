# SPDX-License-Identifier: BSD-2-Clause
"""The ib_* programs of perftest between the stacks: every operation on every service that has it,
both ways, in sizes that are no multiple of anything, and with connections made by rdma_cm.
perftest refuses messages of no bytes; verbs-check has those."""
import contextlib

from harness import pair
from harness import perftest
from harness.report import Failed

from across import GUEST, OURS, SERVERS, gids, run_pair, sides
from guest import MTUS
from rows import FULL, SHORT, row

SIZES = (1, 2, 65, 1023, 1025, 4097, 65537, 1 << 20)
TIMEOUT = ["-u", 18]  # of an ACK, one second: the guest may not run for a while

# of outstanding READs and atomics: each perftest takes what the other side's device can do, which
# fails where that is more than its own: 128 of rxe, 16 of uroce
LIMIT = 16


def iterations(size):
    return 200 if size <= 1025 else 50 if size < 65536 else 20 if size < 1 << 20 else 5


def depth(args, size):
    """Nobody tells a sender of UC or UD that a queue on the way is full."""
    return ["-t", max(1, min(32, 65536 // size))] if {"UC", "UD"} & set(args) else []


def run(ctx, server, program, *args, ipv6=False, cm=False, count=None, size=None):
    """One run, whose table must have one line, of `size` bytes."""
    here, there = sides(ctx, server)
    port = pair.next_port()
    common = [program, "-F", "-p", port, "-n", count or iterations(size or 8), *args]
    if size:
        common += ["-s", size]
        if program.endswith("_bw"):
            common += depth(args, size)
    address = here.ipv6 if cm and ipv6 else here.ipv4
    ends = []
    if cm:
        common += ["-R", *(["--ipv6-addr"] if ipv6 else [])]
        ends = [common, [*common, address]]
    else:
        server_gid, client_gid = gids(ctx, server, ipv6)
        ends = [[*common, "-d", here.device, "-x", server_gid],
                [*common, "-d", there.device, "-x", client_gid, address]]
    if not cm and program[3:7] in ("read", "atom"):
        ends = [[*argv[:1], "-o", LIMIT, *argv[1:]] for argv in ends]
    if "UD" not in args:
        ends = [[*argv[:1], *TIMEOUT, *argv[1:]] for argv in ends]
    outcome = pair.expect_success(run_pair(ctx, server, *ends, port,
                                            protocol="cm" if cm else "tcp"))
    for p in (outcome.server, outcome.client):
        complaint = perftest.COMPLAINTS.search(p.output())
        if complaint:
            raise Failed(f"status 0, but it says: {complaint.group(0)}\n{outcome.text()}")
    rows = perftest.table(outcome.client.output())
    if [r.bytes for r in rows] != [size or 8]:  # figures may be 0: its clock is none here
        raise Failed(f"not a line of {size or 8} bytes\n{outcome.text()}")
    if rows[0].iterations != (count or iterations(size or 8)) and "-b" not in args:
        raise Failed(f"{rows[0].iterations} iterations\n{outcome.text()}")


def sizes_of(args, path_mtu):
    if "-A" in args:
        return [None]
    if "UD" in args:
        return [size for size in SIZES if size < path_mtu] + [path_mtu]
    return list(SIZES)


# name: program and arguments
VARIANTS = {}
for _operation, _services in (("write", ("RC", "UC")), ("read", ("RC",)),
                              ("send", ("RC", "UC", "UD"))):
    for _service in _services:
        for _what in ("bw", "lat"):
            VARIANTS[f"{_operation}_{_what}/{_service.lower()}"] = (
                f"ib_{_operation}_{_what}", *(("-c", _service) if _service != "RC" else ()))
for _what in ("bw", "lat"):
    VARIANTS[f"atomic_{_what}/swap"] = (f"ib_atomic_{_what}", "-A", "CMP_AND_SWAP")
    VARIANTS[f"atomic_{_what}/add"] = (f"ib_atomic_{_what}", "-A", "FETCH_AND_ADD")

# what the short form has of each: with whom, where, and how much
QUICK = {
    "write_bw/rc": (4096, "ipv4", OURS, 65537), "write_lat/rc": (1024, "ipv6", GUEST, 1023),
    "write_bw/uc": (1024, "ipv4", GUEST, 4097), "write_lat/uc": (4096, "ipv6", OURS, 65),
    "read_bw/rc": (1024, "ipv6", OURS, 65537), "read_lat/rc": (4096, "ipv4", GUEST, 4097),
    "send_bw/rc": (1024, "ipv4", GUEST, 65537), "send_lat/rc": (4096, "ipv6", OURS, 1),
    "send_bw/uc": (4096, "ipv6", GUEST, 4097), "send_lat/uc": (1024, "ipv4", OURS, 1025),
    "send_bw/ud": (4096, "ipv4", OURS, 4096), "send_lat/ud": (1024, "ipv6", GUEST, 65),
    "atomic_bw/swap": (4096, "ipv4", GUEST, None), "atomic_lat/add": (1024, "ipv6", OURS, None)}


def add_row(variant, mtu, family, server):
    program, *args = VARIANTS[variant]
    quick = QUICK.get(variant, ())[:3] == (MTUS[mtu], family, server)

    @row(f"perftest/{variant}/{MTUS[mtu]}/{family}/{server}-serves", mtu,
         least=SHORT if quick else FULL)
    def each_size(ctx):
        sizes = QUICK[variant][3:] if ctx.scale == SHORT else sizes_of(args, MTUS[mtu])
        for size in sizes:
            ctx.report.progress(f"size {size}")
            run(ctx, server, program, *args, size=size, ipv6=family == "ipv6")


def knows_ipv6(ctx):
    return "--ipv6-addr" in "".join(ctx.guest.run("ib_send_bw --help")[1:])


@contextlib.contextmanager
def slow_cm(guest, milliseconds):
    """What comes to the guest's QP1 comes that much later."""
    own = "prio bands 2 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"
    match = "match u32 1 0x00ffffff at"
    guest.check(f"""set -e
        modprobe ifb numifbs=1 && ip link set ifb0 txqueuelen 20000 up
        tc qdisc replace dev ifb0 root handle 1: {own}
        tc qdisc add dev ifb0 parent 1:2 netem delay {milliseconds}ms limit 20000
        tc filter add dev ifb0 parent 1: protocol ip prio 1 u32 {match} 32 flowid 1:2
        tc filter add dev ifb0 parent 1: protocol ipv6 prio 2 u32 {match} 52 flowid 1:2
        tc qdisc add dev eth0 handle ffff: ingress
        tc filter add dev eth0 parent ffff: matchall action mirred egress redirect dev ifb0""")
    try:
        yield
    finally:
        guest.check("tc qdisc del dev eth0 ingress; tc qdisc del dev ifb0 root")


def run_with_cm(ctx, server, *args, **options):
    """A server of perftest listens anew after the last message of its first connection; a client
    that is faster is refused, and perftest then uses memory that it has freed. So what connects to
    a guest is held back, for longer each time that the guest was slower still."""
    if server != GUEST:
        run(ctx, server, *args, cm=True, **options)
        return
    for delay in (2000, 5000, 10000, 30000):
        try:
            with slow_cm(ctx.guest, delay):
                run(ctx, server, *args, cm=True, **options)
            return
        except Failed as e:
            if "RDMA_CM_EVENT_REJECTED" not in str(e) or delay == 30000:
                raise


def add_cm_row(variant, mtu, server):
    """With -R: an odd message and one of many packets."""
    program, *args = VARIANTS[variant]
    quick = (variant, mtu, server) in (("write_bw/rc", 1500, OURS), ("send_lat/rc", 9000, GUEST))

    @row(f"perftest/{variant}/rdma_cm/{MTUS[mtu]}/{server}-serves", mtu,
         least=SHORT if quick else FULL)
    def with_cm(ctx):
        families = (False, True) if knows_ipv6(ctx) else (False,)
        for ipv6 in families:
            for size in (None,) if "-A" in args else (1023,) if "UD" in args else (1025, 65537):
                ctx.report.progress(f"size {size}")
                run_with_cm(ctx, server, program, *args, size=size, ipv6=ipv6)
        return "" if True in families else "this perftest has it over IPv4 only"


for _mtu in MTUS:
    for _variant in VARIANTS:
        for _server in SERVERS:
            for _family in ("ipv4", "ipv6"):
                add_row(_variant, _mtu, _family, _server)
            if not _variant.endswith("/uc"):  # "not supported in librdmacm", it says
                add_cm_row(_variant, _mtu, _server)
