# SPDX-License-Identifier: BSD-2-Clause
"""The network changes under running programs: addresses come and go, the link goes down, an
interface is removed. ibv_asyncwatch opens the device and waits for events, nothing more."""
import re
import time

from harness import pair, process
from harness.report import Failed

from rows import row

class Watch:
    """ibv_asyncwatch on a device; each event is expected in its turn."""

    def __init__(self, ns, device):
        self.ns = ns
        self.p = pair.start(ns, ["ibv_asyncwatch", "-d", device], line_buffered=True)
        process.wait_until(lambda: "async event FD" in self.p.output(), process.LONG,
                           "ibv_asyncwatch")
        self.seen = 0
        self.slowest = 0.0

    def events(self):
        return re.findall(r"event_type IBV_EVENT_(\w+)", self.p.output())

    def expect(self, *names, after):
        """The events that `after`, a command in the namespace, makes."""
        start = time.monotonic()
        self.ns.run(*after.split())
        wanted = self.seen + len(names)
        try:
            process.wait_until(lambda: len(self.events()) >= wanted, process.LONG, after,
                               0.002)
        except process.Timeout:
            pass
        self.slowest = max(self.slowest, time.monotonic() - start)
        got = self.events()[self.seen:]
        if got != list(names):
            raise Failed(f"{after}: {got or 'nothing'}, expected {list(names)}")
        self.seen = wanted

    def close(self, name):
        """Nothing more came, and it still runs."""
        time.sleep(0.2)
        extra = self.events()[self.seen:]
        if extra or self.p.poll() is not None:
            raise Failed(f"{name}: {extra} at the end, status {self.p.status}\n{self.p.output()}")
        self.p.end()
        return f"events within {self.slowest * 1000:.0f} ms"


def without_ipv6(ns, name="ur0"):
    """Its addresses would come and go with the link, a moment later."""
    path = f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6"
    ns.run("sh", "-c", f"test ! -e {path} || echo 1 >{path}")


@row("network/asyncwatch/addresses-and-link", ("pair", 9000))
def addresses_and_link(ctx):
    """Without a queue pair, and so without a slot and a daemon."""
    ns = ctx.topology.a
    without_ipv6(ns)
    watch = Watch(ns, ctx.topology.device)
    watch.expect("GID_CHANGE", after="ip addr add 10.78.0.1/24 dev ur0")
    watch.expect("GID_CHANGE", after="ip addr del 10.78.0.1/24 dev ur0")
    watch.expect(after="ip link set ur0 mtu 1500")
    watch.expect("PORT_ERR", after="ip link set ur0 down")
    watch.expect("PORT_ACTIVE", after="ip link set ur0 up")
    watch.expect(after="ip addr add 10.79.0.1/32 dev lo")
    status, output = pair.run(ns, [pair.UROCE, "status"], on_uroce=False)
    if status != 1 or "no uroced is running" not in output:
        raise Failed(f"it has started a daemon\n{output}")
    return watch.close("addresses and link")


@row("network/asyncwatch/interface-removed", ("pair", 1500))
def interface_removed(ctx):
    ns = ctx.topology.a
    without_ipv6(ns)
    watch = Watch(ns, ctx.topology.device)
    watch.expect("PORT_ERR", "GID_CHANGE", "DEVICE_FATAL", after="ip link del ur0")
    if any(d["name"] == ctx.topology.device for d in pair.devices(ns)):
        raise Failed("it is still listed")
    return watch.close("interface removed")


PACKETS = 100  # that a pair has sent which runs


def finish(outcome, seconds=process.LONG):
    try:
        outcome.client.wait(seconds)
        outcome.server.wait(process.LONG)
    except process.Timeout as e:
        raise Failed(f"{e}\n{outcome.text()}") from e
    pair.expect_success(outcome)
    if "invalid data" in outcome.server.output() + outcome.client.output():
        raise Failed(outcome.text())


def start_pair(ctx, program, *args, gids=(0, 0)):
    place = ctx.topology
    port = pair.next_port()
    option = "-x" if program.startswith("ib_") else "-g"
    common = [program, "-d", place.device, "-p", port, *args]
    server = pair.start(place.a, [*common, option, gids[0]])
    process.wait_for_port(server, port)
    client = pair.start(place.b, [*common, option, gids[1], place.ipv4], line_buffered=True)
    return pair.Outcome(server, client)


def start_running_pair(ctx, program, *args, gids=(0, 0)):
    outcome = start_pair(ctx, program, *args, gids=gids)
    counters = []

    def is_running():
        """It has sent more than a beginning."""
        if outcome.client.poll() is not None:
            raise Failed(outcome.text())
        try:
            counters[:] = counters or [pair.Counters(outcome.client)]
        except (Failed, OSError):
            return False  # it has no device so far
        return counters[0].read().get("tx_pkts", 0) > PACKETS
    try:
        process.wait_until(is_running, process.LONG, "the pair to run", 0.1)
    finally:
        for each in counters:
            each.close()
    return outcome


@row("network/ud-pingpong/address-added-later", ("pair", 9000))
def address_added_later(ctx):
    """On addresses that came after other programs had started, which run on meanwhile and after."""
    place = ctx.topology
    first = start_running_pair(ctx, "ib_send_bw", "-F", "-c", "UD", "-D", 6)
    for ns, number in ((place.a, 1), (place.b, 2)):
        ns.run("ip", "addr", "add", f"10.78.0.{number}/24", "dev", "ur0")
    gids = (pair.gid_index(place.a, place.device, "10.78.0.1"),
            pair.gid_index(place.b, place.device, "10.78.0.2"))
    finish(start_pair(ctx, "ibv_ud_pingpong", "-c", "-n", 1000, gids=gids))
    for ns, number in ((place.a, 1), (place.b, 2)):
        ns.run("ip", "addr", "del", f"10.78.0.{number}/24", "dev", "ur0")
    finish(first)


def expect_retries_spent(outcome):
    """Whoever has sent something fails by his retries; who waits for the other's message waits on,
    since nothing is due to him, as it is with an unplugged cable."""
    sides = (outcome.client, outcome.server)
    try:
        process.wait_until(lambda: any(side.poll() is not None for side in sides), process.LONG,
                           "an end")
    except process.Timeout as e:
        raise Failed(f"{e}\n{outcome.text()}") from e
    time.sleep(1.5)
    for side in sides:
        if side.poll() is None:
            side.end()
        elif side.status != 1 or not re.search(r"Failed status .*\(12\)", side.output()):
            raise Failed(outcome.text())


def add_address_removed(family):
    @row(f"network/rc-pingpong/address-removed/{family}", ("pair", 9000))
    def run(ctx):
        """An RC pair does not outlive the address of one end."""
        place = ctx.topology
        server, client = {"ipv4": (place.ipv4, place.client_ipv4),
                          "ipv6": (place.ipv6, place.client_ipv6)}[family]
        outcome = start_running_pair(ctx, "ibv_rc_pingpong", "-n", 100000000,
                                     gids=(pair.gid_index(place.a, place.device, server),
                                           pair.gid_index(place.b, place.device, client)))
        place.b.run("ip", "addr", "del", client + ("/24" if family == "ipv4" else "/64"), "dev",
                    "ur0")
        expect_retries_spent(outcome)


add_address_removed("ipv4")
add_address_removed("ipv6")


@row("network/rc-pingpong/mtu-lowered", ("pair", 9000))
def mtu_lowered(ctx):
    """Packets that do not fit any more are lost like others; the port says what fits."""
    place = ctx.topology
    outcome = start_running_pair(ctx, "ibv_rc_pingpong", "-m", 4096, "-s", 4096, "-n", 100000000)
    place.b.run("ip", "link", "set", "ur0", "mtu", "1500")
    expect_retries_spent(outcome)
    status, output = pair.run(place.b, ["ibv_devinfo", "-d", place.device])
    if status != 0 or not re.search(r"active_mtu:\s+1024", output):
        raise Failed(output)


@row("network/write-bw/link-down-and-up", ("pair", 9000))
def link_down_and_up(ctx):
    """A link that is away for less than the retries take costs time and nothing else."""
    place = ctx.topology
    outcome = start_running_pair(ctx, "ib_write_bw", "-F", "-D", 5, "-u", 18)
    place.b.run("ip", "link", "set", "ur0", "down")
    time.sleep(0.3)
    place.b.run("ip", "link", "set", "ur0", "up")
    finish(outcome)
