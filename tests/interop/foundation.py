# SPDX-License-Identifier: BSD-2-Clause
"""That the ground holds on which the other rows stand: the guest, what is in it, the wire."""
import os
import re
import tempfile
import time

from harness import process
from harness.report import Failed

from guest import MTUS
from rows import FULL, row


@row("foundation/commands")
def commands(ctx):
    """Statuses, streams, signals and files come back from the guest as they are."""
    guest = ctx.guest
    start = time.monotonic()
    if guest.run("echo out; echo err >&2; exit 3") != (3, "out\n", "err\n"):
        raise Failed(f"run: {guest.run('echo out; echo err >&2; exit 3')}")
    took = time.monotonic() - start
    p = guest.spawn(["sleep", "100"])
    p.end()
    if p.status != -15:
        raise Failed(f"a command that was asked to end: status {p.status}")
    try:
        guest.run("sleep 100", timeout=1)
        raise Failed("a command without end has ended")
    except process.Timeout:
        pass
    p = guest.spawn("echo first; exec sleep 100", terminal=True)
    process.wait_until(lambda: p.output() == "first\n", process.LONG,
                       "a line of a command that runs")
    p.kill()
    content = os.urandom(300001)
    with tempfile.NamedTemporaryFile() as f:
        f.write(content)
        f.flush()
        if guest.pull(guest.push(f.name)) != content:
            raise Failed("a file does not come back as it was sent")
    return f"kernel {guest.release}, {took * 1000:.0f} ms a call"


@row("foundation/programs", least=FULL)
def programs(ctx):
    """All libraries of each program are there."""
    missing = ctx.guest.check(
        "for f in /usr/bin/* /usr/sbin/*; do /lib64/ld-linux-x86-64.so.2 --list $f 2>/dev/null | "
        "grep 'not found' | sed \"s|^|$f|\"; done; true", 1800)
    if missing:
        raise Failed(missing)


@row("foundation/wire")
def wire(ctx):
    """Both MTUs, both families, the largest packet either way; both devices have them too."""
    for mtu in (9000, 1500):
        ctx.guest.set_mtu(mtu)
        for ip in (4, 6):
            largest = mtu - (28 if ip == 4 else 48)
            ctx.guest.check(["ping", "-c", 1, "-w", 200, "-M", "do", "-s", largest,
                             ctx.ours.ipv4 if ip == 4 else ctx.ours.ipv6])
            status, output = process.run(
                ["ping", "-c", "1", "-w", "200", "-M", "do", "-s", str(largest),
                 ctx.guest.ipv4 if ip == 4 else ctx.guest.ipv6], prefix=ctx.ours.ns.prefix())
            if status != 0:
                raise Failed(output)
        p = ctx.ours.spawn(["ibv_devinfo"])
        p.wait(process.LONG)
        if not re.search(rf"active_mtu:\s+{MTUS[mtu]}\b", p.output()):
            raise Failed(p.output())
        ctx.guest.gid_index(ctx.guest.ipv4)
        ctx.guest.gid_index(ctx.guest.ipv6)


@row("foundation/frozen-and-gone", fresh=True, least=FULL)
def frozen_and_gone(ctx):
    """A frozen guest answers nothing and comes back; one that is killed is
    gone for all who wait."""
    guest = ctx.guest
    guest.freeze()
    p = guest.spawn("echo late")
    if p.ended.wait(1):
        raise Failed("a frozen guest has answered")
    guest.thaw()
    if p.wait(process.LONG) != 0 or p.output() != "late\n":
        raise Failed("a thawed guest has not answered")
    p = guest.spawn("sleep 1000")
    guest.kill()
    try:
        p.wait(process.LONG)
    except RuntimeError:
        return
    raise Failed("the guest is not gone")
