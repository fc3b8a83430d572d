# SPDX-License-Identifier: BSD-2-Clause
"""The ib_* programs of perftest: how to start a pair, and what their tables say."""
import re

from . import pair
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
    def third(self):
        """Message rate or median: what is not rounded to 0.00 on a slow machine."""
        return self.figures[2]


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


def run(topology, program, *args, address=None, gid=None, timeout=120, env=None, on_wait=None,
        on_server=None, user=()):
    """A pair; raises Failed unless both sides end well and say nothing odd. Its table."""
    port = pair.next_port()
    common = [program, "-F", "-d", topology.device, "-p", port, *args]
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
    return rows


def expect_sizes(rows, sizes):
    got = [row.bytes for row in rows]
    if got != sizes:
        raise Failed(f"results for sizes {got}, expected {sizes}")
    for row in rows:
        if not row.third > 0:
            raise Failed(f"size {row.bytes}: figures {row.figures}")
