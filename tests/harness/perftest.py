# SPDX-License-Identifier: BSD-2-Clause
"""The ib_* programs of perftest: how to start a pair, and what their tables say."""
import re
import signal

from . import pair, process
from .report import Failed

ALL_SIZES = [1 << n for n in range(1, 24)]

# perftest says these and may still exit 0
COMPLAINTS = re.compile(
    r"completion with error|failed status|couldn't|unable to|problems? with|mismatch|"
    r"failed to|error", re.IGNORECASE)


class Row:
    """A line of a result table: bytes, iterations, then figures by column."""

    def __init__(self, bytes_, iterations, figures):
        self.bytes = bytes_
        self.iterations = iterations
        self.figures = figures

    @property
    def average(self):
        """Bandwidth tables: peak, average, message rate. MiB/s, or Gb/s with --report_gbits."""
        return self.figures[1]

    @property
    def typical(self):
        """Latency tables: min, max, typical (median), average, stdev, p99, p99.9; us."""
        return self.figures[2]

    @property
    def is_measured(self):
        """Small messages have a bandwidth that is rounded to 0.00 on a slow machine, large ones a rate
        of messages that is."""
        return any(figure > 0 for figure in self.figures)


def table(output):
    rows = []
    for line in output.splitlines():
        words = line.split()
        if len(words) >= 4 and words[0].isdigit() and words[1].isdigit():
            try:
                rows.append(Row(int(words[0]), int(words[1]), [float(w) for w in words[2:]]))
            except ValueError:
                continue
    return rows


# of an ACK, 1.07 s instead of 67 ms, eight times: the other side may stand still for a while
TIMEOUT = ("-u", 18)


def patient(args):
    """The options, and TIMEOUT where they say nothing of it; UD has no ACKs."""
    return [*args, *(() if {"-u", "UD"} & set(args) else TIMEOUT)]


def run(topology, program, *args, address=None, gid=None, timeout=process.LONG, env=None,
        on_wait=None, on_server=None, user=()):
    """A pair; raises Failed unless both sides end well and say nothing odd. Its table. Of the time
    that -D gives the program measures a part in the middle; if it stood still for all of that it has
    nothing to tell, and is given more."""
    port = pair.next_port()
    common = [program, "-F", "-d", topology.device, "-p", port, *patient(args)]
    if gid is not None:
        common += ["-x", gid]
    outcome = pair.expect_success(pair.run_pair(
        topology, common, [*common, address or topology.ipv4], port, timeout, env,
        on_wait=on_wait, on_server=on_server, user=user))
    for p in (outcome.server, outcome.client):
        complaint = COMPLAINTS.search(p.output())
        if complaint:
            raise Failed(f"status 0, but it says: {complaint.group(0)}\n{outcome.text()}")
    rows = table(outcome.client.output())
    if not rows:
        raise Failed(f"no result\n{outcome.text()}")
    if "-D" in args and not all(row.is_measured for row in rows):
        return run(topology, program, *lengthened(args), address=address, gid=gid, timeout=timeout,
                   env=env, on_wait=on_wait, on_server=on_server, user=user)
    return rows


# seconds, as -D of a program that is ended by finish()
ENDLESS = 100000


def _signals(p):
    """(those that wait for the process, those that it catches), as bits."""
    found = {"SigPnd": 0, "ShdPnd": 0, "SigCgt": 0}
    with open(f"/proc/{p.pid}/status", encoding="ascii") as f:
        for line in f:
            name, _, value = line.partition(":")
            if name in found:
                found[name] = int(value, 16)
    return found["SigPnd"] | found["ShdPnd"], found["SigCgt"]


def finish(p):
    """Ends a run of -D now, as if its time were over, which the program is told by SIGALRM: that what
    is measured begins, that it ends, and that the run does."""
    bit = 1 << signal.SIGALRM - 1

    def listens():
        if p.poll() is not None:
            raise Failed(f"it has ended\n{p.output()}")
        waiting, caught = _signals(p)
        return caught & bit and not waiting & bit
    for _ in range(3):
        process.wait_until(listens, process.LONG, f"{p.argv[2]} to be in its run")
        p.kill(signal.SIGALRM)


def lengthened(args):
    """With ten times the duration."""
    at = args.index("-D") + 1
    return [*args[:at], 10 * args[at], *args[at + 1:]]


def expect_sizes(rows, sizes):
    got = [row.bytes for row in rows]
    if got != sizes:
        raise Failed(f"results for sizes {got}, expected {sizes}")
    for row in rows:
        if not row.is_measured:
            raise Failed(f"size {row.bytes}: figures {row.figures}")
