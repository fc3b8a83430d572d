# SPDX-License-Identifier: BSD-2-Clause
"""verbs-check with uroce on one side and rxe on the other: every byte of memory, every status and
every order on both sides. Named scenarios have a row each, in both directions (the client is the
requester); then seeds, in which everything is mixed.

A scenario's row stands for all networks: path MTU 1024 and 4096, over IPv4 and over IPv6. It says
how the faulty request ended at the requester, and the receive that it met at the responder. One
session runs all scenarios on a network, and the rows tell of it; behind one that fails, another
session goes on with the rest.
"""
import os
import random
import re
import subprocess

from harness import pair
from harness.report import Failed, Skipped

import across
from rows import FULL, SHORT, row

PROGRAM = os.path.join(os.path.dirname(pair.UROCE), "verbs-check")
DIRECTIONS = {across.GUEST: "uroce-to-rxe", across.OURS: "rxe-to-uroce"}  # by who is the server
NETWORKS = ((1500, False), (9000, True), (1500, True), (9000, False))  # wire's MTU, IPv6
PATH_MTUS = {1500: 1024, 9000: 4096}
# rc/short-receive   right; request: remote invalid request error
LINE = re.compile(r"^(\S+/\S+)\s+(right|skipped)(?:: )?(.*)$", re.MULTILINE)
TIMEOUT = 18  # 1.07 s, eight times: on a busy machine the guest may stand still for seconds
SESSIONS_MAX = 8  # on one network: more failures need no counting

_results = {}  # of the sessions: (guest, server, network) -> {scenario: (verdict, text)}


def shown(network):
    return f"ipv{6 if network[1] else 4} {PATH_MTUS[network[0]]}"


def listed():
    """Names of all scenarios; none where nothing is built yet."""
    if not os.access(PROGRAM, os.X_OK):
        return []
    text = subprocess.run([PROGRAM, "--scenarios"], check=True, capture_output=True,
                          text=True).stdout
    return [line.split()[0] for line in text.splitlines()]


def run(ctx, server, network, *args, timeout=1800, env=None):
    """Both sides; the client's options decide what is run. env: of uroce's side."""
    ctx.guest.set_mtu(network[0])
    ours = os.path.join(os.path.dirname(pair.UROCE), "verbs-check")
    if not getattr(ctx.guest, "verbs_check", None):
        ctx.guest.verbs_check = ctx.guest.push(ours)
    port = pair.next_port()
    argvs = []
    for side, gid in zip(across.sides(ctx, server), across.gids(ctx, server, network[1])):
        own = [ours] if side is ctx.ours else [ctx.guest.verbs_check, "--quirks", "rxe"]
        argvs.append([*own, "-d", side.device, "-g", gid, "-p", port, "--stall", 240])
    client = [*argvs[1], "-m", PATH_MTUS[network[0]], "--timeout", TIMEOUT, *args,
              across.sides(ctx, server)[0].ipv4]
    return across.run_pair(ctx, server, argvs[0], client, port, timeout=timeout, env=env)


def all_right(outcome):
    return all(p is not None and p.status == 0 and "all right" in p.output()
               for p in (outcome.server, outcome.client))


def run_scenarios(ctx, server, network, names):
    """{name: (verdict, text)}"""
    found = {}
    for _ in range(SESSIONS_MAX):
        left = [name for name in names if name not in found]
        if not left:
            return found
        outcome = run(ctx, server, network, "--scenario", ",".join(left), "-n",
                      ctx.pick(1, 3))
        ends = [dict((name, (verdict, text)) for name, verdict, text in LINE.findall(p.output()))
                for p in (outcome.client, outcome.server)]
        for name, (verdict, text) in ends[0].items():
            if verdict == "right":
                text += ends[1].get(name, ("", ""))[1]
            found[name] = (verdict, text)
        left = [name for name in left if name not in found]
        if left:
            found[left[0]] = ("failed", outcome.text())
        elif not all_right(outcome):
            found[names[-1]] = ("failed", outcome.text())
    return found


def results(ctx, server, network, names):
    key = (ctx.guest, server, network)
    if key not in _results:
        _results[key] = run_scenarios(ctx, server, network, names)
    return _results[key]


NAMES = listed()

for _name in NAMES:
    for _server, _direction in DIRECTIONS.items():
        @row(f"verbs-check/{_name}/{_direction}")
        def scenario(ctx, name=_name, server=_server):
            networks = NETWORKS[:ctx.pick(2, 4)]
            skipped = ended = ""
            for network in networks:
                verdict, text = results(ctx, server, network, NAMES).get(
                    name, ("failed", "not reached: too many others failed"))
                if verdict == "failed":
                    raise Failed(f"{shown(network)}\n{text}")
                if verdict == "skipped":
                    skipped = text
                else:
                    ended = text
            if skipped:
                raise Skipped(skipped)
            return ", ".join(shown(network) for network in networks) + ended


def seeds(ctx, server, count, *args):
    """On every network, from another first seed each time but in the short form."""
    first = 1 if ctx.scale == SHORT else random.SystemRandom().randrange(1 << 32)
    for network in NETWORKS[:ctx.pick(1, 4)]:
        outcome = run(ctx, server, network, "-s", first, "-n", count, *args,
                      timeout=1800 + 20 * count)
        if not all_right(outcome):
            raise Failed(f"{shown(network)}\n{outcome.text()}")
    return f"seeds {first} to {first + count - 1}"


for _server, _direction in DIRECTIONS.items():
    @row(f"verbs-check/seeds/all/{_direction}")
    def mixed(ctx, server=_server):
        return seeds(ctx, server, ctx.pick(12, 100))

    for _transport in ("rc", "uc", "ud"):
        @row(f"verbs-check/seeds/{_transport}/{_direction}", least=FULL)
        def of_one(ctx, server=_server, transport=_transport):
            return seeds(ctx, server, 60, "--transport", transport)

    @row(f"verbs-check/seeds/errors/{_direction}", least=FULL)
    def errors(ctx, server=_server):
        return seeds(ctx, server, 100, "--transport", "rc", "--faults", 1)

    @row(f"verbs-check/seeds/events/{_direction}", least=FULL)
    def events(ctx, server=_server):
        return seeds(ctx, server, 60, "-e")

    @row(f"verbs-check/seeds/many-qps/{_direction}", least=FULL)
    def many(ctx, server=_server):
        return seeds(ctx, server, 20, "--qps", 16, "--ops", 400)
