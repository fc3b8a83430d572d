# SPDX-License-Identifier: BSD-2-Clause
"""ibv_devices and ibv_devinfo -v: the device is there for root, nobody, and in a user namespace."""
import re

from harness import pair, process, topology
from harness.report import Failed, Skipped

from rows import row


def check(status, output, device, words):
    if status != 0:
        raise Failed(f"status {status}\n{output}")
    for word in (device, *words):
        if not re.search(word, output):
            raise Failed(f"no {word} in\n{output}")


def check_devices(ns, device, user=()):
    status, output = pair.run(ns, ["ibv_devices"], user=user)
    check(status, output, device, [r"[0-9a-f]{16}"])
    if re.search(r"0{16}", output):
        raise Failed(f"a node GUID of zeroes\n{output}")


def check_devinfo(ns, device, words, user=()):
    status, output = pair.run(ns, ["ibv_devinfo", "-v", "-d", device], user=user)
    check(status, output, device, [
        r"transport:\s+InfiniBand \(0\)", r"state:\s+PORT_ACTIVE \(4\)",
        r"link_layer:\s+Ethernet", r"max_qp:\s+[1-9]", r"max_mr_size:\s+0x[0-9a-f]+",
        r"atomic_cap:\s+ATOMIC_HCA", r"GID\[\s*0\]", *words])
    if re.search(r"failed|error", output, re.IGNORECASE):
        raise Failed(f"it complains\n{output}")


@row("devinfo/root", "lo")
def as_root(ctx):
    check_devices(ctx.topology.a, "uroce_lo")
    check_devinfo(ctx.topology.a, "uroce_lo",
                  [r"GID\[\s*0\]:\s+::ffff:127\.0\.0\.1, RoCE v2", r"active_mtu:\s+4096 \(5\)"])


@row("devinfo/nobody", "lo")
def as_nobody(ctx):
    if not topology.may_change_user():
        raise Skipped("needs root to become nobody")
    status, _ = process.run([*pair.NOBODY, pair.UROCE, "version"])
    if status != 0:
        raise Skipped(f"nobody may not read {pair.UROCE}")
    check_devices(ctx.topology.a, "uroce_lo", user=pair.NOBODY)
    check_devinfo(ctx.topology.a, "uroce_lo", [], user=pair.NOBODY)


@row("devinfo/unshare")
def in_user_namespace(ctx):
    unshare = ["unshare", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"',
               "sh"]
    status, output = process.run([*unshare, "true"])
    if status != 0:
        raise Skipped(f"no user namespaces here: {output.strip()}")
    check_devices(ctx.topology.a, "uroce_lo", user=unshare)
    check_devinfo(ctx.topology.a, "uroce_lo", [], user=unshare)


@row("devinfo/veth-1500", ("pair", 1500))
def on_veth(ctx):
    check_devices(ctx.topology.a, "uroce_ur0")
    check_devinfo(ctx.topology.a, "uroce_ur0",
                  [r"active_mtu:\s+1024 \(3\)", r"::ffff:10\.77\.0\.1, RoCE v2",
                   r"fd77:[:0]*1, RoCE v2", r"fe80:"])


@row("devinfo/veth-9000", ("pair", 9000))
def on_veth_9000(ctx):
    check_devinfo(ctx.topology.a, "uroce_ur0", [r"active_mtu:\s+4096 \(5\)"])


@row("devinfo/other-name", "lo")
def other_name(ctx):
    env = {"UROCE_NAME": "mlx5_0=lo"}
    status, output = pair.run(ctx.topology.a, ["ibv_devinfo", "-d", "mlx5_0"], env=env)
    check(status, output, "mlx5_0", [r"PORT_ACTIVE"])
