#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs cases of rdma-core's own tests in this process and says of each what happened.

  conform_driver.py --tests DIR --device NAME --gid INDEX --report FILE [--large] [--impair SPEC]
                    [--other-netns FILE] [--draws SEED] CASE...

The tests are used as they are; around them this counts what they do not look at: packets by the
engines' counters, and the end of every child that they start. They hold both ends of a connection in
one process, made one after the other; a variant changes what both are made of:

  --large        path MTU 256 and messages of 64 KiB, so that there are first, middle and last packets
  --impair       UROCE_IMPAIR for the case, with seed after seed until a packet was dropped
  --draws        what the cases draw at random is drawn from this seed, not from a new one
  --other-netns  the second end of each pair is made, and does all it does, in another network
                 namespace, on the device of the same name there

The report has one line of JSON for each case: its name, result (ok, skipped, failed), the reason,
seconds, what its engines counted (one for each namespace), exit codes of children, and the packets
on lo, which tell of engines in children: both ends are at one address.
"""
import argparse
import ctypes
import json
import multiprocessing.process
import os
import random
import re
import subprocess
import sys
import time
import traceback
import unittest
from importlib.machinery import SourceFileLoader

CLONE_NEWNET = 0x40000000
LARGE_BYTES = 65536
FEWER_MESSAGES = 50  # than the 1000 that the XRC cases send each way, where each loses packets
SEEDS_MAX = 100
PATIENCE_S = 300
NOTHING_TO_DRAW = "ValueError: empty range for randrange"

_libc = ctypes.CDLL(None, use_errno=True)


def enter(netns):
    if _libc.setns(netns, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


class Engines:
    """The engines of the case that runs, one for each namespace; their counters are held here from
    when a player has its context, since they go with the last one."""

    def __init__(self):
        self.seen = set()
        self.files = []

    def hold_counters(self):
        for name in os.listdir("/proc/self/fd"):
            path = f"/proc/self/fd/{name}"
            try:
                if "uroce-counters" not in os.readlink(path):
                    continue
                inode = os.stat(path).st_ino
            except OSError:  # the descriptor of the directory itself
                continue
            if inode not in self.seen:
                self.seen.add(inode)
                self.files.append(os.open(path, os.O_RDONLY))

    def read_counters(self):
        found = []
        for file in self.files:
            answer = subprocess.run([os.environ["UROCE"], "counters", "--json",
                                     f"/proc/{os.getpid()}/fd/{file}"], capture_output=True,
                                    check=True)
            for device in json.loads(answer.stdout):
                found.append({k: v for k, v in device["counters"].items() if v})
        return found

    def take_counters(self):
        found = self.read_counters()
        for file in self.files:
            os.close(file)
        self.files, self.seen = [], set()
        return found

    def wait_for_both(self):
        """Until what one has sent has come to the other, if anything was sent: a case that sends
        datagrams may be over before they are read."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            found = self.read_counters()
            if not any("io_tx_packets" in engine for engine in found) or \
                    all({"io_tx_packets", "io_rx_packets"} & set(engine) for engine in found):
                return
            time.sleep(0.05)

    def hold_until_both(self, test):
        """Has its objects taken down behind that."""
        tear_down = test.tearDown

        def later():
            self.wait_for_both()
            tear_down()
        test.tearDown = later


def loopback_packets():
    with open("/proc/self/net/dev", encoding="ascii") as f:
        found = [line.split() for line in f if line.strip().startswith("lo:")]
    return int(found[0][2])


class Children:
    """Every child process that a case starts; the tests look at some of them, and not at all of
    what can happen to one."""

    def __init__(self):
        self.started = []
        self.ended_by_case = set()
        base = multiprocessing.process.BaseProcess
        start, terminate = base.start, base.terminate

        def started(child):
            self.started.append(child)
            start(child)

        def terminated(child):
            self.ended_by_case.add(child)
            terminate(child)

        base.start, base.terminate = started, terminated

    def take_exit_codes(self):
        """Of those that ended by themselves."""
        codes = []
        for child in self.started:
            child.join(PATIENCE_S)
            if child not in self.ended_by_case:
                codes.append(child.exitcode)
        self.started, self.ended_by_case = [], set()
        return codes


def hold_counters_of(base, engines):
    init = base.BaseResources.__init__

    def made(self, *args, **kwargs):
        init(self, *args, **kwargs)
        engines.hold_counters()
    base.BaseResources.__init__ = made


def make_large(base, enums):
    base.PATH_MTU = enums.IBV_MTU_256
    init = base.TrafficResources.__init__

    def large(self, dev_name, ib_port, gid_index, **kwargs):
        if not isinstance(self, base.UDResources):
            kwargs.setdefault("msg_size", LARGE_BYTES)
        init(self, dev_name, ib_port, gid_index, **kwargs)
    base.TrafficResources.__init__ = large


class TwoPlaces:
    """Every second player of a case lives in another namespace: what is done with it is done there,
    since that is where its sockets are made."""

    def __init__(self, other):
        self.netns = [os.open("/proc/self/ns/net", os.O_RDONLY), other]
        self.here = 0
        self.made = 0
        self.home = {}  # id() of a player or of its CQ to 0 or 1

    def start_case(self):
        self.made = 0
        self.home = {}

    def enter(self, place):
        if place != self.here:
            enter(self.netns[place])
            self.here = place

    def at_home(self, function):
        """The function, called where its first argument lives."""
        def moved(first, *args, **kwargs):
            before = self.here
            self.enter(self.home.get(id(first), before))
            try:
                return function(first, *args, **kwargs)
            finally:
                self.enter(before)
        return moved

    def choose_home(self, player):
        if hasattr(player, "cmd_fd"):  # imports what the one before it made
            return (self.made - 1) % 2
        self.made += 1
        return (self.made - 1) % 2

    def install(self, base, utils, gids):
        init = self.at_home(base.TrafficResources.__init__)

        def made(player, *args, **kwargs):
            self.home[id(player)] = self.choose_home(player)
            init(player, *args, **kwargs)
            self.home[id(player.cq)] = self.home[id(player)]
        base.TrafficResources.__init__ = made
        for kind in (base.RCResources, base.UDResources, base.XRCResources):
            kind.pre_run = self.at_home(kind.pre_run)
        for name in ("send", "xrc_post_send", "post_send", "post_recv", "poll_cq", "poll_cq_ex"):
            setattr(utils, name, self.at_home(getattr(utils, name)))
        route, addresses = base.GlobalRoute, [str(gid) for gid in gids]

        def to_the_other(dgid=None, sgid_index=0):
            """A player asks for its own address, which is the other's too in one namespace."""
            return route(dgid=gids[1 - addresses.index(str(dgid))], sgid_index=sgid_index)
        base.GlobalRoute = utils.GlobalRoute = to_the_other

    def query_gids(self, device, name, index):
        gids = []
        for place in (0, 1):
            self.enter(place)
            context = device.Context(name=name)
            gids.append(context.query_gid(1, index))
            context.close()
        self.enter(0)
        return gids


class Outcome(unittest.TestResult):
    """Of one case."""

    def __init__(self):
        super().__init__()
        self.result, self.reason = "ok", ""

    def _take(self, err):
        self.result, self.reason = "failed", f"{err[0].__name__}: {err[1]}"[:2000]
        traceback.print_exception(*err, file=sys.stdout)

    def addError(self, test, err):
        super().addError(test, err)
        self._take(err)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._take(err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            self._take(err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.result, self.reason = "skipped", reason


def run_case(name, draws, *args):
    """With other draws where the case's own left it none: DMTest may draw the smallest buffer, and
    then a length below that."""
    for seed in range(draws, draws + SEEDS_MAX):
        random.seed(seed)
        line = run_once(name, *args)
        if not line["reason"].startswith(NOTHING_TO_DRAW):
            break
    line["draws"] = seed
    return line


def run_once(name, tests, engines, children, places):
    case = unittest.defaultTestLoader.loadTestsFromName(name, tests)
    if places:
        for test in case:
            engines.hold_until_both(test)
    outcome = Outcome()
    before, packets = time.monotonic(), loopback_packets()
    case.run(outcome)
    return {"case": name, "result": outcome.result, "reason": outcome.reason,
            "seconds": round(time.monotonic() - before, 2),
            "children": children.take_exit_codes(), "engines": engines.take_counters(),
            "lo_packets": loopback_packets() - packets}


def run_impaired(spec, *args):
    """With seed after seed: a case of forty packets may lose none."""
    for seed in range(1, SEEDS_MAX + 1):
        os.environ["UROCE_IMPAIR"] = f"seed={seed},{spec}"
        line = run_case(*args)
        if line["result"] != "ok" or any("io_impair_dropped" in e for e in line["engines"]):
            break
    line["seed"] = seed
    return line


def arguments():
    parser = argparse.ArgumentParser(usage=re.split(r"\n\n", __doc__)[1])
    parser.add_argument("--tests", required=True)
    parser.add_argument("--device", required=True)
    parser.add_argument("--gid", type=int, required=True)
    parser.add_argument("--report", required=True)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--impair")
    parser.add_argument("--other-netns")
    parser.add_argument("--draws", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("cases", nargs="+")
    return parser.parse_args()


def main():
    args = arguments()
    sys.path.insert(0, args.tests)
    sys.argv[1:] = ["--dev", args.device, "--gid", str(args.gid)]
    from args_parser import parser
    parser.parse_args()
    tests = SourceFileLoader("tests", os.path.join(args.tests, "__init__.py")).load_module()
    import pyverbs.device
    import pyverbs.enums
    import tests.base as base
    import tests.utils as utils

    engines, children, places = Engines(), Children(), None
    hold_counters_of(base, engines)
    if args.large:
        make_large(base, pyverbs.enums)
    if args.impair:
        base.XRCResources.num_msgs = property(lambda _: FEWER_MESSAGES, lambda *_: None)
    if args.other_netns:
        places = TwoPlaces(os.open(args.other_netns, os.O_RDONLY))
        places.install(base, utils, places.query_gids(pyverbs.device, args.device, args.gid))
    with open(args.report, "w", encoding="utf-8") as report:
        for name in args.cases:
            print(name, flush=True)
            if places:
                places.start_case()
            case = (name, args.draws, tests, engines, children, places)
            line = run_impaired(args.impair, *case) if args.impair else run_case(*case)
            print(f"  {line['result']} {line['reason']} (--draws {line['draws']})", flush=True)
            report.write(json.dumps(line) + "\n")
            report.flush()


if __name__ == "__main__":
    main()
