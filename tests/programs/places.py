# SPDX-License-Identifier: BSD-2-Clause
"""Places in which software RDMA was hard to have: a container without rights, a namespace beside
others, a machine without IPv6, thousands of queue pairs."""
import os
import re
import sys

from harness import pair, perftest, process, topology
from harness.report import Failed, Skipped

from rows import FULL, row


def addresses(ns, name):
    return [gid["address"] for d in pair.devices(ns) if d["name"] == name for gid in d["gids"]]


@row("places/case_016_ten_thousand_queue_pairs", "lo", least=FULL)
def many_queue_pairs(ctx):
    """All to one peer, on the default GID. With -t 2 perftest counts completions in twos; if -n were
    odd it would have counted all before the last queue pairs have sent theirs, and never end."""
    rows = perftest.run(ctx.topology, "ib_write_bw", "-q", 10000, "-s", 64, "-n", 6, "-t", 2,
                        timeout=1800, on_wait=ctx.on_wait)
    perftest.expect_sizes(rows, [64])


@row("places/case_017_each_namespace_its_own", ("pair", 1500))
def own_addresses(ctx):
    """Three namespaces: each lists its own addresses, and an index that is only good in another is
    refused."""
    place = ctx.topology
    third = topology.make_namespace()
    for number in (1, 2, 3):
        place.b.run("ip", "addr", "add", f"10.77.{number}.2/24", "dev", "ur0")
    ours, theirs = addresses(place.a, "uroce_ur0"), addresses(place.b, "uroce_ur0")
    if "10.77.0.1" not in ours or not {"10.77.0.2", "10.77.3.2"} <= set(theirs):
        raise Failed(f"a lists {ours}, b {theirs}")
    if set(ours) & set(theirs):
        raise Failed(f"both list {set(ours) & set(theirs)}")
    if [d["name"] for d in pair.devices(third)] != ["uroce_lo"]:
        raise Failed(f"the third lists {pair.devices(third)}")
    status, output = pair.run(place.a, ["ibv_devinfo", "-v", "-d", "uroce_ur0"])
    if status != 0 or "10.77.3.2" in output:
        raise Failed(f"a shows an address of b\n{output}")
    port = pair.next_port()
    common = ["ibv_rc_pingpong", "-d", "uroce_ur0", "-p", port]
    server = pair.start(place.a, [*common, "-g", len(ours)], env={"UROCE_DEBUG": 1})
    process.wait_for_port(server, port)
    client = pair.start(place.b, [*common, "-g", len(ours), place.ipv4])
    server.wait(process.LONG)
    client.end()
    if server.status == 0 or f"GID index {len(ours)} empty" not in server.output():
        raise Failed(pair.Outcome(server, client).text())
    third.held.end()


@row("places/case_058_ipv6_disabled", "lo")
def ipv6_disabled(ctx):
    ns = ctx.topology.a
    path = "/proc/sys/net/ipv6/conf/lo/disable_ipv6"
    ns.run("sh", "-c", f"test ! -e {path} || echo 1 >{path}")
    if addresses(ns, "uroce_lo") != ["127.0.0.1"]:
        raise Failed(f"the GIDs are {addresses(ns, 'uroce_lo')}")
    port = pair.next_port()
    for program in ("ibv_rc_pingpong", "ibv_ud_pingpong"):
        common = [program, "-c", "-d", "uroce_lo", "-g", 0, "-p", port]
        pair.expect_success(pair.run_pair(ctx.topology, common, [*common, "127.0.0.1"], port))


# A container as a stranger starts one: user, network, mount and process namespaces of its own, no
# capability and no way to one, no /dev/infiniband, a home that cannot be written.
CONTAINER = ["unshare", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--mount-proc",
             "sh", "-c", 'ip link set lo up && exec setpriv --no-new-privs --bounding-set=-all '
             '--inh-caps=-all --securebits=+noroot "$@"', "sh"]


def container(script):
    p = process.Process([*CONTAINER, "sh", "-c", script], env=process.own_environment())
    return p.wait(process.LONG), p.output()


@row("places/case_097_container_without_rights")
def without_rights(_):
    status, output = container("true")
    if status != 0:
        raise Skipped(f"no such container here: {output.strip()}")
    uroce = pair.UROCE
    options = "-F -d uroce_lo -n 1000 -u 18 -p 18500"  # 0x4844
    status, output = container(
        f"grep CapEff /proc/self/status; ls /dev/infiniband; {uroce} run ibv_devices; "
        f"{uroce} run ib_write_bw {options} & "
        "until grep -q ':4844 .* 0A ' /proc/net/tcp /proc/net/tcp6 || ! kill -0 $!; do sleep 0.1; "
        f"done; {uroce} run ib_write_bw {options} 127.0.0.1 && wait $! && "
        "echo all right")
    if not re.search(r"CapEff:\s+0{16}\b", output):
        raise Failed(f"it has capabilities\n{output}")
    if not re.search(r"uroce_lo\s+[0-9a-f]{16}", output) or "all right" not in output:
        raise Failed(f"status {status}\n{output}")


@row("places/case_102_suite_in_a_user_namespace", least=FULL)
def in_a_user_namespace(ctx):
    """Rows of every kind of program, all in `unshare -rn` with lo up."""
    chosen = ("pingpong/host-lo", "verbs-check/lo/ipv4", "transports/pingpong-lo", "devinfo/root",
              "network/asyncwatch/addresses-and-link")
    only = [word for name in chosen for word in ("--only", name)]
    inside = process.Process(
        ["unshare", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh",
         sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "run.py"),
         "--short", "--uroce", pair.UROCE, *only], env=process.own_environment())
    status = inside.wait(1800, ctx.on_wait)
    if "Operation not permitted" in inside.output():
        raise Skipped("no user namespaces here")
    if status != 0 or f"{len(chosen)} passed, 0 failed" not in inside.output():
        raise Failed(f"status {status}\n{inside.output()}")
