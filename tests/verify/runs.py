# SPDX-License-Identifier: BSD-2-Clause
"""Runs of `uroce verify` for tests: small plans, starting one, and who is at work in it."""

import contextlib
import fcntl
import json
import os
import sys
import tempfile
import unittest
import unittest.mock

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests"))

from harness import process  # noqa: E402

BUILD = ""
TOKEN = "test-token-0123456789"

# Queue pairs give an answer a second, eight times: a process of a busy machine may well stand still for
# more than the half second that they have otherwise. Where packets are lost on purpose each loss may
# take that long, and half of it must do.
PATIENT = {"UROCE_ACK_TIMEOUT_FLOOR_US": "1000000"}
LESS_PATIENT = {"UROCE_ACK_TIMEOUT_FLOOR_US": "500000"}

PLAN = """\
name: small
cases:
  - name: floor/udp
    kind: udp_latency
    proves: a floor
    parameters: {iterations: 200}
  - name: a/write
    kind: latency
    proves: WRITE works
    parameters: {op: write, size: 3000, iterations: 200, warmup: 10}
    thresholds:
      soft: {at_most: 1000000, of: floor/udp, source: must hold}
      tight: {at_most: 1ns, source: cannot hold}
  - name: a/read
    kind: latency
    proves: READ works
    parameters: {op: read, size: 64KiB, iterations: 100, warmup: 10}
  - name: a/fetch_add
    kind: latency
    proves: FETCH_ADD works
    parameters: {op: fetch_add, iterations: 100}
  - name: a/cmp_swap
    kind: latency
    proves: CMP_SWAP works
    parameters: {op: cmp_swap, iterations: 100}
  - name: a/send
    kind: latency
    proves: SEND works
    parameters: {op: send, size: 5000, iterations: 100}
  - name: a/ud_send
    kind: latency
    proves: UD works
    parameters: {op: ud_send, size: 100, iterations: 100}
  - name: a/ud_too_long
    kind: latency
    proves: UD messages end at the MTU
    parameters: {op: ud_send, size: 100000, iterations: 100}
  - name: a/by_rdma_cm
    kind: latency
    proves: a queue pair that rdma_cm connects works
    parameters: {op: read, size: 2000, iterations: 100, connect: rdma_cm}
  - name: a/tcp
    kind: stream
    proves: TCP works
    parameters: {duration: 100ms}
  - name: a/udp
    kind: stream
    proves: UDP works
    parameters: {duration: 100ms, protocol: udp}
  - name: function/rc_send
    kind: verbs_check
    proves: RC SEND works
    parameters: {scenario: rc/send}
  - name: function/ipv6
    kind: verbs_check
    proves: IPv6 works
    parameters: {scenario: rc/write, gid: ipv6}
"""

# Kinds that check and hold nothing to a time: each passes.
CHECKS = """\
name: checks
cases:
  - name: b/uc_sizes
    kind: sizes
    proves: sizes of UC
    parameters: {op: write, transport: uc, size_max: 20000B}
  - name: b/xrc_sizes
    kind: sizes
    proves: sizes of XRC
    parameters: {op: send_imm, transport: xrc, size_max: 20000B}
  - name: b/ud_sizes
    kind: sizes
    proves: sizes of UD
    parameters: {op: send, transport: ud}
  - name: b/large
    kind: sizes
    proves: what is larger than what memory must be there for
    parameters: {op: read, size_min: 65MiB, size_max: 65MiB}
  - name: b/pieces
    kind: edges
    proves: lists of pieces
    parameters: {what: pieces, transport: xrc}
  - name: b/inline
    kind: edges
    proves: inline data
    parameters: {what: inline}
  - name: b/queues
    kind: edges
    proves: full queues
    parameters: {what: queues}
  - name: b/message
    kind: edges
    proves: the longest message
    parameters: {what: message}
  - name: b/window
    kind: edges
    proves: bounds of a window
    parameters: {what: bind}
  - name: b/xrc_queue
    kind: edges
    proves: queues of XRC
    parameters: {what: xrc_queue}
  - name: b/order
    kind: ordering
    proves: order under loss
    parameters: {rule: read_write, rounds: 64, impair: "drop=1%,reorder=1%", impaired: both}
  - name: b/atomic_order
    kind: ordering
    proves: order of atomics
    parameters: {rule: atomic_read, rounds: 64}
  - name: b/contention
    kind: contention
    proves: atomics of both sides under loss
    parameters: {op: cmp_swap, operations: 200, impair: "drop=1%", impaired: both}
  - name: b/xrc_contention
    kind: contention
    proves: atomics of both sides over XRC
    parameters: {op: fetch_add, operations: 200, transport: xrc}
  - name: b/completions
    kind: limits
    proves: the largest completion queue
    parameters: {object: completion, most: 20000}
  - name: b/groups
    kind: limits
    proves: multicast groups
    parameters: {object: group}
  - name: b/killed
    kind: interrupted
    proves: atomics to a process that was killed
    parameters: {how: killed, op: fetch_add}
"""

# Damage to one packet of 100; to one of 10,000, of a few.
HARM = """\
name: harm
cases:
  - name: c/damaged
    kind: integrity
    proves: no damaged byte comes
    parameters: {op: send, size: 4KiB, messages: 2000, impair: "corrupt=1%", impaired: both}
  - name: c/unharmed
    kind: integrity
    proves: nothing
    parameters: {op: send, messages: 64, impair: "corrupt=0.01%"}
"""

# One case that lasts, and one behind it.
LONG = """\
name: long
cases:
  - name: a/first
    kind: verbs_check
    proves: is done
    parameters: {scenario: rc/send}
  - name: a/long
    kind: latency
    proves: lasts
    parameters: {op: write, size: 8, iterations: 10000000}
    takes: 100ms
    timeout: 300s
  - name: a/last
    kind: verbs_check
    proves: comes after it
    parameters: {scenario: rc/send}
"""

MATRIX = """\
name: matrix
cases:
  - name: interoperation/some
    kind: matrix
    proves: some scenarios both ways
    parameters: {scenarios: "rc/send,rc/qp-no-write,rc/write,ud"}
"""
COLUMNS = ["IPv4, initiator requests", "IPv4, target requests", "IPv6, initiator requests",
           "IPv6, target requests"]


def set_build(path):
    global BUILD
    BUILD = path


def program(name):
    return os.path.join(BUILD, "bin", name)


def descendants(pid):
    """All processes below one."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="ascii", errors="replace") as f:
                parent = int(f.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
        if parent == pid:
            found += [int(entry)] + descendants(int(entry))
    return found


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="ascii", errors="replace") as f:
            return f.read().strip()
    except OSError:
        return ""


def is_there(pid):
    """Runs still, or waits to be reaped."""
    return os.path.exists(f"/proc/{pid}")


def is_running(pid):
    """And does not merely wait to be reaped."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def await_end(pids):
    process.wait_until(lambda: not any(is_there(p) for p in pids), process.LONG,
                       "the end of all below")


def await_words(running, words, count=1):
    """Until a process has said them (so often); one that has ended says nothing any more."""
    def are_there():
        has_ended = running.poll() is not None
        if running.output().count(words) >= count:
            return True
        if has_ended:
            raise AssertionError(f"it ended with status {running.status} and did not say: {words}\n"
                                 f"{running.output()}")
        return False
    process.wait_until(are_there, process.LONG, f"a process to say: {words}")


def cases_below(pid):
    """The processes of the case that runs, one of each agent; none before all of them are there."""
    agents = [p for p in descendants(pid) if name_of(p) == "verify-agent"]
    cases = {p: [c for c in descendants(p) if c in agents] for p in agents}
    children = {c for below in cases.values() for c in below}
    found = [cases[p] for p in agents if p not in children]
    return [c for below in found for c in below] if found and all(found) else []


class Verify(unittest.TestCase):
    patience = PATIENT

    def setUp(self):
        environment = unittest.mock.patch.dict(os.environ, self.patience)
        environment.start()
        self.addCleanup(environment.stop)
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.addCleanup(process.end_all)
        self.json = os.path.join(self.folder.name, "out.json")

    def write(self, text, name="plan.yaml"):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def start(self, *arguments, ns=None, env=None):
        return process.Process([program("uroce"), "verify", *arguments],
                               prefix=ns.prefix() if ns else (), env=env)

    def run_plan(self, text, *arguments, status=0, **more):
        """The report as JSON."""
        done = self.start("--plan", self.write(text), "--json", self.json, *arguments, **more)
        found = done.wait(process.LONG)
        self.assertEqual(found, status, done.output())
        self.output = done.output()
        with open(self.json, encoding="utf-8") as f:
            return json.load(f)

    def await_case(self, running, words):
        """Until it has said them and the processes of the case are there. Their pids."""
        await_words(running, words)
        found = []

        def are_there():
            self.assertIsNone(running.poll(), running.output())
            found[:] = cases_below(running.pid)
            return found
        process.wait_until(are_there, process.LONG, f"the case behind {words}")
        return found


def full_pipe():
    """Both ends of a pipe that has no room: (reader, writer, bytes that are in it)."""
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(write, False)
    filled = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            filled += os.write(write, b"x")
    os.set_blocking(write, True)
    return read, write, filled


def verdicts(report):
    return {c["name"]: c["verdict"] for c in report["cases"]}
