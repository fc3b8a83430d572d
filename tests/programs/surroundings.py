# SPDX-License-Identifier: BSD-2-Clause
"""/sys/class/infiniband, /sys/class/infiniband_verbs and /dev/infiniband as ordinary programs find
them under `uroce run`: ls, cat, grep, find, test, stat, Python, and a shell that goes there."""
import re

from harness import pair
from harness.report import Failed

from rows import row

LOOK_IN_PYTHON = """
import glob, os, stat, subprocess
device = {device!r}
folder = f"/sys/class/infiniband/{{device}}"
net = f"{{folder}}/device/net/"
assert os.path.exists(net)
assert subprocess.check_output(["ls", net], text=True).split() == [{netdev!r}]
assert os.listdir("/sys/class/infiniband").count(device) == 1
assert [e.name for e in os.scandir(f"{{folder}}/ports")] == ["1"]
assert glob.glob("/sys/class/infiniband/*/ports/1/state")
assert open(f"{{folder}}/ports/1/state").read() == "4: ACTIVE\\n"
assert any(name == folder for name, _, _ in os.walk("/sys/class/infiniband"))
for name in os.listdir("/dev/infiniband"):
    assert stat.S_ISCHR(os.lstat(f"/dev/infiniband/{{name}}").st_mode)
    assert os.access(f"/dev/infiniband/{{name}}", os.R_OK | os.W_OK)
print("all there")
"""

LOOK_IN_A_SHELL = r"""
set -e
cd /sys/class/infiniband/DEVICE
[ -d ports/1 ] && [ -r ports/1/state ] && [ ! -e ports/2 ]
cat node_guid ports/1/gids/0 ports/1/gid_attrs/types/0 ports/1/gid_attrs/ndevs/0
cat device/numa_node
grep -r . ports/1/hw_counters | sort | sed -n '/tx_pkts/p'
find /sys/class/infiniband_verbs -name ibdev -exec cat {} +
stat -c %F /dev/infiniband/*
ls -l /sys/class/infiniband/DEVICE /dev/infiniband >/dev/null
readlink device/net/NETDEV
if (echo 1 >fw_ver) 2>/dev/null; then echo written; fi
"""


def counter(ns, device, name):
    """A counter of a device, as any program reads it."""
    status, output = pair.run(ns, ["cat", f"/sys/class/infiniband/{device}/ports/1/{name}"])
    if status != 0 or not output.strip().isdigit():
        raise Failed(f"{device} {name}: status {status}\n{output}")
    return int(output)


def expect(ns, argv, *patterns, env=None):
    status, output = pair.run(ns, argv, env=env)
    missing = [p for p in patterns if not re.search(p, output, re.MULTILINE)]
    if status != 0 or missing:
        raise Failed(f"{argv}: status {status}, not there: {missing}\n{output}")
    return output


@row("surroundings/shell", ("pair", 9000))
def shell(ctx):
    place = ctx.topology
    netdev = place.device[len("uroce_"):]
    script = LOOK_IN_A_SHELL.replace("DEVICE", place.device).replace("NETDEV", netdev)
    output = expect(place.a, ["bash", "-c", script],
                    r"^([0-9a-f]{4}:){3}[0-9a-f]{4}$",
                    r"^0000:0000:0000:0000:0000:ffff:0a4d:0001$", r"^RoCE v2$", f"^{netdev}$",
                    r"^-1$", r"tx_pkts:\d+$", f"^{place.device}$", r"^character special file$",
                    f"^/sys/class/net/{netdev}$")
    if "written" in output or "cannot" in output:
        raise Failed(output)


@row("surroundings/python", ("pair", 9000))
def python(ctx):
    place = ctx.topology
    program = LOOK_IN_PYTHON.format(device=place.device, netdev=place.device[len("uroce_"):])
    expect(place.a, ["/usr/bin/python3", "-c", program], "^all there$")


@row("surroundings/other-name", "lo")
def other_name(ctx):
    env = {"UROCE_NAME": "mlx5_0=lo"}
    expect(ctx.topology.a, ["ls", "/sys/class/infiniband"], "^mlx5_0$", env=env)
    expect(ctx.topology.a, ["ls", "/sys/class/infiniband"], "^uroce_lo$")


@row("surroundings/counters", ("pair", 9000))
def counters(ctx):
    """They grow by what a run sends, and keep it when the programs have ended."""
    place = ctx.topology
    before = counter(place.a, place.device, "hw_counters/rx_payload_bytes")
    port = pair.next_port()
    common = ["ibv_rc_pingpong", "-d", place.device, "-g", 0, "-p", port, "-n", 100, "-s", 4096]
    pair.expect_success(pair.run_pair(place, common, [*common, place.ipv4], port))
    after = counter(place.a, place.device, "hw_counters/rx_payload_bytes")
    words = counter(place.a, place.device, "counters/port_rcv_data")
    if after - before < 100 * 4096 or after - before > 110 * 4096 or words != after // 4:
        raise Failed(f"{before} bytes before, {after} after, {words} words")


@row("surroundings/addresses", ("pair", 9000))
def addresses(ctx):
    """An address that comes is in the GID table, and out again when it goes."""
    place = ctx.topology
    wanted = "0000:0000:0000:0000:0000:ffff:0a4d:0063"
    is_there = f"cat /sys/class/infiniband/{place.device}/ports/1/gids/* | grep -q {wanted}"

    def wait_for(condition):
        """In one process of a shell, which has looked before."""
        expect(place.a, ["sh", "-c", f"until {condition}; do sleep 0.1; done; echo so it is"],
               "^so it is$")
    wait_for(f"! {is_there}")
    place.a.run("ip", "addr", "add", "10.77.0.99/24", "dev", place.device[len("uroce_"):])
    wait_for(is_there)
    place.a.run("ip", "addr", "del", "10.77.0.99/24", "dev", place.device[len("uroce_"):])
    wait_for(f"! {is_there}")


@row("surroundings/strangers", ("pair", 9000))
def strangers(ctx):
    """Programs that want nothing of us do what they always do."""
    place = ctx.topology
    for argv in (["ls", "-l", "/sys/class/net"], ["cat", "/proc/sys/kernel/ostype"],
                 ["sh", "-c", "cd /tmp && stat -c %n . && test ! -e infiniband"],
                 ["find", "/usr/share/doc/python3", "-maxdepth", "1"],
                 ["cat", "/nonexistent/infiniband"]):
        with_us = pair.run(place.a, argv)
        without = pair.run(place.a, argv, on_uroce=False)
        if with_us != without:
            raise Failed(f"{argv}: {with_us}, without uroce {without}")
