# SPDX-License-Identifier: BSD-2-Clause
"""`uroce verify` between the two stacks: on uroce's side with its own libraries, in the guest with
--system, which is rdma-core and rxe0. Either has a turn as initiator, over IPv4 and IPv6, and the
guest is verified alone.

What rxe is known to do otherwise is accepted by --quirks rxe (README.md lists it), and with that no
case may fail. Without it those fail that meet one of these, and no others: `verify/departures`.
Times of an emulated machine say nothing: the profile holds none to a threshold, and waits longer.

A row takes long. UROCE_INTEROP_KEEP names a folder for what it prints, case by case while it runs,
and for its report.
"""
import json
import os
import re
import tempfile

from harness import pair, process
from harness.report import Failed

import across
from rows import FULL, row

TOKEN = "interop-token-0123456789"
PORT = 18701
PROGRAMS = ("uroce", "verify-agent", "verbs-check", "ud_checked")
PLACES = ("", "../examples", "../libexec/uroce")  # beside uroce; the last two in a build, installed
QP_TIMEOUT = 18  # 1.07 s, eight times: on a busy machine the guest may stand still for seconds
PROFILE = "profile: emulated\npatience: 5\nthresholds: []\n"
NAMES = {across.OURS: "uroce", across.GUEST: "Soft-RoCE (rdma_rxe)"}
# what addresses have a part in; the figures and the one-sided cases are those of IPv4
IPV6_CASES = ("floor,function,sizes,edges,ordering,contention,integrity,interoperation,"
              "setup/rdma_cm,latency/*_64,resources/groups,resilience")
LINK_LOCAL_CASES = ("function/rc_*,function/uc_*,function/ud_*,integrity/send,integrity/write_read,"
                    "integrity/ud_send,setup/rdma_cm")
DEPARTING_CASES = "function,interoperation/uc,interoperation/ud"
ALONE_CASES = "floor,function,integrity,interoperation,latency/*_64"
# what is seen whenever it is asked, by the target; in the matrix rxe is the responder too
SEEN_ALWAYS = {
    across.GUEST: {"function/rc_send_inv", "function/rc_short_receive",
                   "function/uc_short_receive", "interoperation/uc", "interoperation/ud"},
    across.OURS: {"function/rc_misaligned_atomic", "interoperation/uc", "interoperation/ud"},
}
# how the departures of README.md show
DEPARTURES = re.compile(
    r"wc_flags: expected \d+ \(0x[0-9a-f]+\), found|atomic-write|LAST_WQE_REACHED: 0 events|"
    r"QP_ACCESS_ERR at the responder: 0 events|QP_REQ_ERR at the responder: 0 events|"
    r"qp_num 0x0, which no QP|found 11 \(remote operation error\)|local QP operation error|"
    r"too long a datagram: 1 completions, status 0|ud/multicast: .*no completion for|"
    r"misaligned-atomic: ibv_post_send .*: Invalid argument")
SHORT_CASES = "function/rc_read,function/rc_short_receive,function/ud_multicast"


def program(name):
    for place in PLACES:
        path = os.path.join(os.path.dirname(pair.UROCE), place, name)
        if os.path.exists(path):
            return path
    raise RuntimeError(f"{pair.UROCE} has no {name} beside it")


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


class Kept:
    """Of a row that takes minutes: what was printed so far, and the report."""

    def __init__(self, ctx):
        folder = os.environ.get("UROCE_INTEROP_KEEP")
        self.ctx = ctx
        self.path = folder and os.path.join(folder, ctx.report.name.replace("/", "-"))

    def on_wait(self, p):
        self.ctx.on_wait(p)
        self.write(".txt", p.output())

    def write(self, end, text):
        if self.path:
            with open(self.path + end, "w", encoding="utf-8") as f:
                f.write(text)

    def take(self, report):
        self.write(".json", json.dumps(report))
        return report


class Side:
    """uroce on one of the two machines. gid_index: None lets it choose."""

    def __init__(self, ctx, name, folder, gid_index=None):
        self.ctx = ctx
        self.name = name
        self.side = ctx.ours if name == across.OURS else ctx.guest
        self.json = os.path.join(folder, "out.json") if name == across.OURS else "/verify/out.json"
        self.profile = os.path.join(folder, "profile")
        self.gid = [] if gid_index is None else ["--gid-index", gid_index]

    def start(self, *words, quirks=True, before=()):
        """`before`: the guest's words in front of it."""
        words = [*words, *self.gid]
        if self.name == across.OURS:
            with open(self.profile, "w", encoding="ascii") as f:
                f.write(PROFILE)
            return process.Process([pair.UROCE, "verify", *words],
                                   prefix=self.ctx.ours.ns.prefix(), env=process.own_environment())
        return self.ctx.guest.spawn([*before, bring(self.ctx), "verify", *words, "--system",
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


def link_local_index(side, show):
    """Of its GID that has the address that `show` prints."""
    return side.gid_index(re.search(r"inet6 (fe80:[0-9a-f:]+)", show).group(1))


def link_local_indices(ctx):
    return {across.OURS: link_local_index(ctx.ours, ctx.ours.ns.run("ip", "-6", "addr", "show",
                                                                    "dev", "ur0")),
            across.GUEST: link_local_index(ctx.guest, ctx.guest.check("ip -6 addr show dev eth0"))}


def run(ctx, target, ipv6, *words, quirks=True, gids=None, timeout=10800):
    """The report, with the plan run by the other side than `target`. gids: by name, else those of
    the addresses that the sides have spoken through."""
    kept = Kept(ctx)
    with tempfile.TemporaryDirectory() as folder:
        sides = {name: Side(ctx, name, folder, gids and gids[name]) for name in across.SERVERS}
        server, initiator = sides[target], sides[[n for n in sides if n != target][0]]
        address = server.side.ipv6 if ipv6 else server.side.ipv4
        s = server.start("--server", "--once", "--token", TOKEN, "--bind", address, quirks=quirks)
        i = None
        try:
            server.side.wait_for_port(s, PORT)
            i = initiator.start("--peer", f"[{address}]:{PORT}" if ipv6 else address,
                                "--token", TOKEN, *initiator.options(), *words, quirks=quirks)
            i.wait(timeout, kept.on_wait)
            s.wait(process.LONG)
            kept.write(".txt", pair.Outcome(s, i).text())
            return check(kept.take(initiator.report()), i, pair.Outcome(s, i))
        except (process.Timeout, OSError, ValueError) as e:
            kept.write(".txt", pair.Outcome(s, i).text())
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


def must_use_link_local(report):
    for side in ("initiator", "target"):
        uses = report["environment"][side]["facts"]["uses"]
        if not uses["gid"].startswith("fe80:"):
            raise Failed(f"the {side} has not used its link-local address but {uses['gid']}")


def summary(report):
    return ", ".join(f"{count} {verdict}" for verdict, count in report["totals"].items() if count)


def must_not_fail(report):
    bad = failures(report)
    if bad:
        raise Failed("\n".join(f"{name}: {reason}" for name, reason in bad.items()))
    return summary(report)


def other(name):
    return across.GUEST if name == across.OURS else across.OURS


# by the name of a direction: who is the target
DIRECTIONS = {"rxe-target": across.GUEST, "rxe-initiator": across.OURS}

for _name, _target in DIRECTIONS.items():
    @row(f"verify/ipv4/{_name}", mtu=1500)
    def whole(ctx, target=_target):
        """The plan; the matrix in it is of both address families."""
        report = run(ctx, target, False, *ctx.pick(["--only", SHORT_CASES], []))
        must_name_both(report, other(target), target)
        return must_not_fail(report)

    @row(f"verify/ipv6/{_name}", mtu=9000, least=FULL)
    def over_ipv6(ctx, target=_target):
        report = run(ctx, target, True, "--only", IPV6_CASES)
        must_name_both(report, other(target), target)
        return must_not_fail(report)

    @row(f"verify/link-local/{_name}", mtu=1500, least=FULL)
    def link_local(ctx, target=_target):
        """GIDs of fe80::/10, which are of one link."""
        report = run(ctx, target, True, "--only", LINK_LOCAL_CASES, gids=link_local_indices(ctx))
        must_use_link_local(report)
        return must_not_fail(report)

    @row(f"verify/departures/{_name}", mtu=1500, least=FULL)
    def departures(ctx, target=_target):
        """Without --quirks: what fails is known, and the known is seen."""
        report = run(ctx, target, False, "--only", DEPARTING_CASES, quirks=False)
        bad = failures(report)
        unknown = {name: reason for name, reason in bad.items() if not DEPARTURES.search(reason)}
        if unknown:
            raise Failed("\n".join(f"{name}: {reason}" for name, reason in unknown.items()))
        missing = SEEN_ALWAYS[target] - set(bad)
        if missing:
            raise Failed(f"did not fail: {', '.join(missing)}; then README.md is to be changed")
        return summary(report)


def run_alone(ctx, *words, before=()):
    """The report of a run that is the guest's alone."""
    with tempfile.TemporaryDirectory() as folder:
        guest = Side(ctx, across.GUEST, folder)
        p = guest.start(*guest.options(), *words, before=before)
        try:
            p.wait(7200, Kept(ctx).on_wait)
            return check(guest.report(), p, pair.Outcome(p, None))
        except (process.Timeout, RuntimeError, ValueError) as e:
            raise Failed(f"{e}\n{p.output()}") from e


@row("verify/alone", mtu=1500, least=FULL)
def alone(ctx):
    """Both sides are the guest's."""
    report = run_alone(ctx, "--only", ALONE_CASES)
    must_name_both(report, across.GUEST, across.GUEST)
    return must_not_fail(report)


@row("verify/numa", mtu=1500, least=FULL)
def numa(ctx):
    """A thread on each of the guest's two nodes; and none where one of them may not be used."""
    case, = run_alone(ctx, "--only", "threads/numa")["cases"]
    nodes = case["detail"].get("initiator", {}).get("nodes", [])
    if case["verdict"] != "measured" or [(n["node"], n["processor"]) for n in nodes] != [(0, 0), (1, 1)]:
        raise Failed(f"{case}")
    bound, = run_alone(ctx, "--only", "threads/numa", before=["busybox", "taskset", "2"])["cases"]
    if bound["verdict"] != "skipped" or \
            "of this machine's 2 NUMA nodes this program may run on one only" not in bound["reason"]:
        raise Failed(f"{bound}")
    return ", ".join(f"node {n['node']}: {n['gbps']:.3g} Gb/s" for n in nodes)
