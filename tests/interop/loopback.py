# SPDX-License-Identifier: BSD-2-Clause
"""Both stacks on one machine, the guest: whether they can be there together, and how fast each is.

rdma_rxe holds UDP port 4791 of every address of the namespace in which it was loaded, so uroce says
in that one who is in the way, and works beside it in another:

    +--------------- guest: Debian's kernel ----------------+
    |  eth0 10.77.0.2   rxe0       +--- namespace: beside ---+
    |  UDP 4791 of all addresses   |  lo 127.0.0.1  uroce_lo |
    +------------------------------+-------------------------+

Each speed is measured where the same perftest program talks to itself, in turns. The processor is
emulated and every instruction costs the same, so nothing but ratios means something; of latencies the
least, since the guest's processors are taken away from it while the other one waits.
"""
import json
import os
import re
import statistics

from harness import pair, perftest, process, report
from harness.report import Failed

from rows import FULL, row

HOME = "/opt/uroce"
UROCE = f"{HOME}/bin/uroce"
BESIDE = "beside"
IN_THE_WAY = "rdma_rxe"

# program, bytes, iterations, what of its table
BANDWIDTH, LATENCY, RATE = "bandwidth", "least latency", "message rate"
MEASURED = [(f"ib_{operation}_bw", size, count, RATE if size == 2 else BANDWIDTH)
            for operation in ("write", "read", "send")
            for size, count in ((2, 2000), (64, 2000), (4096, 500), (65536, 100), (1 << 20, 10))]
MEASURED += [(f"ib_{operation}_lat", size, count, LATENCY)
             for operation in ("write", "read", "send")
             for size, count in ((2, 500), (4096, 200), (65536, 50), (1 << 20, 10))]
ROUNDS = 3

# A server and, once it listens, a client that prints; in one namespace, with one environment.
PAIR = """
port=$1 address=$2; shift 2
"$@" >/tmp/server 2>&1 &
until grep -qi ":$(printf %04x $port) .* 0A " /proc/net/tcp /proc/net/tcp6; do
	kill -0 $! || { cat /tmp/server; exit 1; }
	sleep 0.05
done
"$@" $address || { cat /tmp/server; kill $!; exit 1; }
wait $! || { cat /tmp/server; exit 1; }
"""


def library_folder():
    """Of the uroce under test."""
    status, output = process.run([pair.UROCE, "env"])
    match = re.search(r"LD_LIBRARY_PATH='([^']*)'", output)
    if status != 0 or not match:
        raise Failed(f"uroce env: status {status}\n{output}")
    return match[1]


def install(ctx):
    """uroce's programs and libraries, and those libraries they need that the guest has not."""
    guest = ctx.guest
    if guest.run(["test", "-x", UROCE])[0] == 0:
        return
    programs = os.path.dirname(pair.UROCE)
    lib = library_folder()
    files = [(os.path.join(programs, name), "bin") for name in ("uroced", "uroce")]
    files += [(os.path.join(lib, name), "lib") for name in os.listdir(lib)
              if re.search(r"\.so(\.\d+)?$", name) and
              not os.path.islink(os.path.join(lib, name))]
    guest.check(f"mkdir -p {HOME}/bin {HOME}/lib")
    needed = set()
    for path, folder in files:
        guest.push(path, f"{HOME}/{folder}/{os.path.basename(path)}")
        needed |= set(re.findall(r"=> (/\S+)", process.run(["ldd", path])[1]))
    for path in needed:
        there = os.path.join("/lib/x86_64-linux-gnu", os.path.basename(path))
        if not path.startswith(lib) and guest.run(["test", "-e", there])[0] != 0:
            guest.push(path, there)
    guest.check(f"chmod 755 {HOME}/bin/*")


def on_uroce(*words, env=""):
    return f"{env} UROCE_LIBDIR={HOME}/lib UROCE_UROCED={HOME}/bin/uroced {UROCE} run " \
           f"{' '.join(str(word) for word in words)}"


def expect_named(status, output):
    if status == 0 or IN_THE_WAY not in output or "namespace" not in output:
        raise Failed(f"status {status}, and no word of {IN_THE_WAY}:\n{output}")


@row("loopback/port-taken")
def port_taken(ctx):
    """Beside rdma_rxe in one namespace: an error that says who is in the way and what helps."""
    install(ctx)
    devices = json.loads(ctx.guest.check(f"{UROCE} devices --json"))["devices"]
    gids = next(device["gids"] for device in devices if device["name"] == "uroce_eth0")
    for env in ("", "UROCE_DAEMON=off"):
        for address in (ctx.guest.ipv4, ctx.guest.ipv6):
            index = next(gid["index"] for gid in gids if gid["address"] == address)
            command = on_uroce("ibv_rc_pingpong", "-d", "uroce_eth0", "-g", index, "-p",
                               pair.next_port(), env=env)
            server = ctx.guest.spawn(command)
            ctx.guest.wait_for_port(server, int(command.split()[-1]))
            # a side takes its address when it knows the other's; who is first says it, both end
            status, out, err = ctx.guest.run(f"{command} {ctx.guest.ipv4}")
            server.wait(process.LONG)
            expect_named(status or server.status, out + err + server.output())
    for address in (ctx.guest.ipv4, ctx.guest.ipv6):
        status, out, err = ctx.guest.run(on_uroce("rping", "-s", "-a", address))
        expect_named(status, out + err)


@row("loopback/loaded-later", least=FULL, fresh=True)
def loaded_later(ctx):
    """Whoever comes first has the port: rxe0 cannot be made while uroce runs, and uroce goes on."""
    guest = ctx.guest
    install(ctx)
    guest.check("rdma link delete rxe0")
    if not guest.listens(4791, "udp"):
        raise Failed("without rxe0 the port is free: README.md says otherwise")
    guest.check("modprobe -r rdma_rxe")
    server = guest.spawn(on_uroce("rping", "-s", "-a", guest.ipv4, "-C", 3))
    process.wait_until(lambda: guest.listens(4791, "udp") or server.poll() is not None, process.LONG,
                       "uroced to have the port")
    status, out, err = guest.run("modprobe rdma_rxe && rdma link add rxe0 type rxe netdev eth0")
    if status == 0:
        raise Failed(f"rxe0 was made all the same\n{out}{err}")
    refused = (out + err).strip()
    status, out, err = guest.run(on_uroce("rping", "-c", "-a", guest.ipv4, "-C", 3))
    if status != 0 or server.wait(process.LONG) != 0:
        raise Failed(f"uroce after that: status {status}\n{out}{err}{server.output()}")
    return refused


class Stack:
    """Where a pair runs in the guest, and the words before it."""

    def __init__(self, ctx, name, device, address, gid, before):
        self.ctx = ctx
        self.name = name
        self.device = device
        self.address = address
        self.gid = gid
        self.before = before

    def measure(self, program, size, count, what):
        port = pair.next_port()
        command = (f"{self.before} sh /tmp/pair {port} {self.address} {program} -F -p {port} "
                   f"-d {self.device} -x {self.gid} -s {size} -n {count}")
        status, out, err = self.ctx.guest.run(command, 1800)
        table = perftest.table(out)
        if status != 0 or len(table) != 1 or table[0].bytes != size:
            raise Failed(f"{self.name}: {command}\nstatus {status}\n{out}{err}")
        figures = table[0].figures
        if what == LATENCY:
            return figures[0]
        # a bandwidth is made of the rate, which has more digits
        return figures[2] if what == RATE else figures[2] * size / 1.048576


def stacks(ctx):
    guest = ctx.guest
    install(ctx)
    guest.check(f"ip netns list | grep -q {BESIDE} || {{ ip netns add {BESIDE} && "
                f"ip -n {BESIDE} link set lo up; }}")
    p = guest.spawn("cat >/tmp/pair <<'EOF'\n" + PAIR + "EOF")
    p.wait(process.LONG)
    return (Stack(ctx, "rxe", "rxe0", guest.ipv4, guest.gid_index(guest.ipv4), ""),
            Stack(ctx, "uroce", "uroce_lo", "127.0.0.1", 0,
                  f"ip netns exec {BESIDE} env " + on_uroce()))


UNITS = {BANDWIDTH: "MiB/s", LATENCY: "us", RATE: "M/s"}


@row("loopback/ratios", mtu=9000, least=FULL)
def ratios(ctx):
    """Path MTU 4096 for both. Only that all have run is required."""
    both = stacks(ctx)
    say(f"emulated: ratios only; medians of {ROUNDS}, path MTU 4096, kernel {ctx.guest.release}, "
        f"{emulator()}")
    say(f"{'':38}{'rxe':>10}{'uroce':>10}")
    for program, size, count, what in MEASURED:
        results = {stack.name: [] for stack in both}
        for n in range(ROUNDS):
            ctx.report.progress(f"{program} of {size} bytes, {n + 1} of {ROUNDS}")
            for stack in both:
                results[stack.name].append(stack.measure(program, size, count, what))
        rxe, uroce = (statistics.median(results[stack.name]) for stack in both)
        if not (rxe > 0 and uroce > 0):
            raise Failed(f"{program} of {size} bytes: {results}")
        ratio = rxe / uroce if what == LATENCY else uroce / rxe
        say(f"{program:14}{size:>8} B {what:>13}{rxe:10.4g}{uroce:10.4g} {UNITS[what]:6}uroce is "
            f"{ratio:5.2f} times as fast")


def say(line):
    print(f"\033[2K       {line}" if report.is_terminal() else f"       {line}", flush=True)


def emulator():
    _, output = process.run(["qemu-system-x86_64", "--version"])
    match = re.search(r"version (\S+)", output)
    return f"QEMU {match[1] if match else 'of unknown version'}"
