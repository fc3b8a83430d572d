# SPDX-License-Identifier: BSD-2-Clause
"""The rows: each a function that makes both stacks talk and raises Failed or Skipped, or returns.

A file of rows marks its functions with @row and is imported by run.py.
"""
import dataclasses

SHORT, FULL = range(2)


@dataclasses.dataclass
class Context:
    """What a row gets. `ours` and `guest` know their `device`, `ipv4`, `ipv6` and gid_index(),
    start programs by spawn() and wait_for_port() of them; guest.py has more."""
    ours: object
    guest: object
    scale: int
    report: object

    def pick(self, short, full):
        return short if self.scale == SHORT else full

    def on_wait(self, process):
        self.report.progress(process.last_line())


@dataclasses.dataclass
class Row:
    name: str
    run: object
    mtu: int  # of the wire; None: as it is
    least: int  # the least scale at which it is run
    fresh: bool  # wants a guest that nobody has used, and leaves one that nobody shall use


ROWS = []


def row(name, mtu=None, least=SHORT, fresh=False):
    """mtu: 1500 or 9000. least: FULL leaves it out of --short."""
    def add(function):
        ROWS.append(Row(name, function, mtu, least, fresh))
        return function
    return add
