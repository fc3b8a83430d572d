# SPDX-License-Identifier: BSD-2-Clause
"""The rows: each a function that drives real programs and raises Failed or Skipped, or returns.

A file of rows marks its functions with @row and is imported by run.py. A row gets a Context with a
fresh topology of the kind it asks for, and its scale: how much to do.
"""
import dataclasses

SHORT, FULL, LONG = range(3)


@dataclasses.dataclass
class Context:
    topology: object
    scale: int
    report: object

    def pick(self, short, full, long=None):
        """One of three amounts, by scale."""
        if self.scale == SHORT:
            return short
        return long if self.scale == LONG and long is not None else full

    def on_wait(self, process):
        self.report.progress(process.last_line())


@dataclasses.dataclass
class Row:
    name: str
    topology: tuple  # kind and arguments, or None
    run: object
    least: int  # the least scale at which it is run
    alone: bool  # it has no other row beside it


ROWS = []


def row(name, topology=None, least=SHORT, alone=False):
    """topology: None, "host", "lo", ("pair", mtu) or ("wired", mtu). least: FULL leaves it out of
    --short. alone: rates or times of it are compared, or it takes all the processors."""
    def add(function):
        ROWS.append(Row(name, topology if isinstance(topology, tuple) else (topology,), function,
                        least, alone))
        return function
    return add
