# SPDX-License-Identifier: BSD-2-Clause
"""`uroce verify` between the two stacks: on uroce's side with its own libraries, in the guest with
--system, which is rdma-core and rxe0. Either has a turn as initiator, over IPv4 and IPv6, and the
guest is verified alone.

What rxe is known to do otherwise is accepted by --quirks rxe (README.md lists it), and with that no
case may fail. Without it those fail that meet one of these, and no others: `verify/departures`.
Times of an emulated machine say nothing: the profile holds none to a threshold.
"""
import json
import os
import tempfile

from harness import pair, process
from harness.report import Failed

import across
from rows import FULL, row

TOKEN = "interop-token-0123456789"
PORT = 18701
PROGRAMS = ("uroce", "verify-agent", "verbs-check")
QP_TIMEOUT = 18  # 1.07 s, eight times: on a busy machine the guest may stand still for a second
PROFILE = "profile: emulated\nthresholds: []\n"
NAMES = {across.OURS: "uroce", across.GUEST: "Soft-RoCE (rdma_rxe)"}
SHORT_CASES = "function/rc_read,function/rc_short_receive,function/ud_multicast"


def program(name):
    return os.path.join(os.path.dirname(pair.UROCE), name)


def bring(ctx):
    """The programs, once a guest."""
    if getattr(ctx.guest, "verify", None):
        return ctx.guest.verify
    ctx.guest.check("mkdir -p /verify")
    for name in PROGRAMS:
        ctx.guest.push(program(name), f"/verify/{name}")
    with tempfile.NamedTemporaryFile("w") as f:
        f.write(PROFILE)
        f.flush()
        ctx.guest.push(f.name, "/verify/profile")
    ctx.guest.verify = "/verify/uroce"
    return ctx.guest.verify


class Side:
    """uroce on one of the two machines."""

    def __init__(self, ctx, name, folder):
        self.ctx = ctx
        self.name = name
        self.side = ctx.ours if name == across.OURS else ctx.guest
        self.json = os.path.join(folder, "out.json") if name == across.OURS else "/verify/out.json"
        self.profile = os.path.join(folder, "profile")

    def start(self, *words, quirks=True):
        if self.name == across.OURS:
            with open(self.profile, "w", encoding="ascii") as f:
                f.write(PROFILE)
            return process.Process([pair.UROCE, "verify", *words],
                                   prefix=self.ctx.ours.ns.prefix(), env=process.own_environment())
        return self.ctx.guest.spawn([bring(self.ctx), "verify", *words, "--system",
                                     "--device", self.side.device,
                                     *(["--quirks", "rxe"] if quirks else [])])

    def options(self):
        """Of the one that runs the plan."""
        profile = self.profile if self.name == across.OURS else "/verify/profile"
        return ["--profile", profile, "--json", self.json, "--qp-timeout", str(QP_TIMEOUT)]

    def report(self):
        if self.name == across.OURS:
            with open(self.json, encoding="utf-8") as f:
                return json.load(f)
        return json.loads(self.ctx.guest.pull(self.json))


def run(ctx, target, ipv6, *words, quirks=True, timeout=3600):
    """The report, with the plan run by the other side than `target`."""
    with tempfile.TemporaryDirectory() as folder:
        sides = {name: Side(ctx, name, folder) for name in across.SERVERS}
        server, initiator = sides[target], sides[[n for n in sides if n != target][0]]
        address = server.side.ipv6 if ipv6 else server.side.ipv4
        s = server.start("--server", "--once", "--token", TOKEN, "--bind", address, quirks=quirks)
        i = None
        try:
            server.side.wait_for_port(s, PORT)
            i = initiator.start("--peer", f"[{address}]:{PORT}" if ipv6 else address,
                                "--token", TOKEN, *initiator.options(), *words, quirks=quirks)
            i.wait(timeout, ctx.on_wait)
            s.wait(60)
            return check(initiator.report(), i, pair.Outcome(s, i))
        except (process.Timeout, OSError, ValueError) as e:
            raise Failed(f"{e}\n{pair.Outcome(s, i).text()}") from e


def check(report, initiator, outcome):
    if not report["complete"] or initiator.status != (1 if failures(report) else 0):
        raise Failed(f"broken off\n{outcome.text()}")
    return report


def failures(report):
    return {c["name"]: c["reason"] for c in report["cases"] if c["verdict"] == "fail"}


def must_name_both(report, initiator, target):
    for side, name in (("initiator", initiator), ("target", target)):
        uses = report["environment"][side]["facts"]["uses"]
        if uses["implementation"] != NAMES[name] or not uses["implementation_version"]:
            raise Failed(f"the {side} says that it is {uses}")


def summary(report):
    return ", ".join(f"{count} {verdict}" for verdict, count in report["totals"].items() if count)


def must_not_fail(report):
    bad = failures(report)
    if bad:
        raise Failed("\n".join(f"{name}: {reason}" for name, reason in bad.items()))
    return summary(report)


def other(name):
    return across.GUEST if name == across.OURS else across.OURS


for _target, _name in ((across.GUEST, "rxe-target"), (across.OURS, "rxe-initiator")):
    for _ipv6 in (False, True):
        @row(f"verify/ipv{6 if _ipv6 else 4}/{_name}", mtu=9000 if _ipv6 else 1500,
             least=FULL if _ipv6 else 0)
        def between(ctx, target=_target, ipv6=_ipv6):
            report = run(ctx, target, ipv6, *ctx.pick(["--only", SHORT_CASES], []))
            must_name_both(report, other(target), target)
            return must_not_fail(report)
