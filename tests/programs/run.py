#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs unmodified verbs programs on uroce, row by row, and checks what both sides say.

  run.py [--short | --long] [--only TEXT]... [--list] [--uroce PATH] [--jobs N]

  --short   what continuous integration runs: every row that takes seconds, few repetitions
  --long    everything, verbs-check with 10,000 seeds; without either: everything, 1,000 seeds
  --only    rows whose name contains TEXT
  --uroce   another uroce than build/bin/uroce, say an installed one
  --jobs    so many rows side by side, but for those that need the machine for themselves

Rows in namespaces of their own need root, or user namespaces; they are skipped without.
"""
import argparse
import multiprocessing.connection
import os
import signal
import sys
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from harness import pair, process, report, topology  # noqa: E402

import rows  # noqa: E402
import devinfo, pingpong, bandwidth, latency, atomic  # noqa: E402,E401,F401
import cm_measures, data, many, capture, faults, refusals, fallback, rsockets  # noqa: E402,E401,F401
import transports, options, conform, rdmacm  # noqa: E402,E401,F401
import congestion, network, places  # noqa: E402,E401,F401
import example_programs, surroundings, ucx, openmpi  # noqa: E402,E401,F401


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].strip())
    parser.add_argument("--short", action="store_const", dest="scale", const=rows.SHORT)
    parser.add_argument("--long", action="store_const", dest="scale", const=rows.LONG)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--uroce")
    parser.add_argument("--jobs", type=int, default=1)
    parser.set_defaults(scale=rows.FULL)
    return parser.parse_args()


def wanted_rows(args):
    for row in rows.ROWS:
        if args.only and not any(text in row.name for text in args.only):
            continue
        if row.least <= args.scale or (args.only and args.scale != rows.SHORT):
            yield row


def make_topology(kind, *parameters):
    return {"host": topology.Host, "lo": topology.Loopback, "pair": topology.Pair,
            "wired": topology.Wired,
            None: topology.Topology}[kind](*parameters)


def run_row(row, scale, out, have_namespaces):
    """(the name of a method of Report, what to tell it)."""
    try:
        if row.topology[0] in ("lo", "pair", "wired") and not have_namespaces:
            raise report.Skipped("network namespaces cannot be made here")
        with make_topology(*row.topology) as place:
            return "ok", row.run(rows.Context(place, scale, out)) or ""
    except report.Skipped as e:
        return "skip", str(e)
    except report.Failed as e:
        return "fail", str(e)
    except (process.Timeout, RuntimeError, OSError, ValueError) as e:
        return "fail", f"{type(e).__name__}: {e}"
    except Exception:  # pylint: disable=broad-except
        return "fail", traceback.format_exc()  # the rows behind it are run all the same
    finally:
        process.end_all()


# ---- rows side by side ----

def work(number, line, scale, have_namespaces):
    """A worker, a process: runs the rows whose places in ROWS come, until it ends by a signal."""
    process.die_with_parent(signal.SIGTERM)
    pair.use_ports(number)
    out = report.Report()
    try:
        while True:
            row = rows.ROWS[line.recv()]
            out.begin(row.name)
            line.send((*run_row(row, scale, out, have_namespaces), out.took()))
    except KeyboardInterrupt:
        pass


def start_workers(args, have_namespaces):
    """Where to talk to each."""
    context = multiprocessing.get_context("fork")
    lines = []
    for number in range(args.jobs):
        line, theirs = context.Pipe()
        context.Process(target=work, args=(number, theirs, args.scale, have_namespaces),
                        daemon=True).start()
        theirs.close()
        lines.append(line)
    return lines


def run_side_by_side(chosen, args, out, have_namespaces):
    left = list(reversed(chosen))
    idle = start_workers(args, have_namespaces)
    busy = {}
    while left or busy:
        while left and idle:
            line = idle.pop()
            busy[line] = left.pop()
            line.send(rows.ROWS.index(busy[line]))
        for line in multiprocessing.connection.wait(list(busy)):
            verdict, text, took = line.recv()  # EOFError: it is no more
            out.begin(busy.pop(line).name, took)
            getattr(out, verdict)(text)
            idle.append(line)


def run_all(chosen, args, out, have_namespaces):
    together = [row for row in chosen if args.jobs > 1 and not row.alone]
    if together:
        run_side_by_side(together, args, out, have_namespaces)
    for row in chosen:
        if row not in together:
            out.start(row.name)
            verdict, text = run_row(row, args.scale, out, have_namespaces)
            getattr(out, verdict)(text)


def print_drawings(chosen, have_namespaces):
    kinds = dict.fromkeys(row.topology for row in chosen if row.topology[0])
    for kind in kinds:
        if kind[0] != "host" and not have_namespaces:
            continue
        with make_topology(*kind) as place:
            print("\n".join("    " + line for line in place.drawing.splitlines()) + "\n")


def main():
    args = arguments()
    if args.uroce:
        pair.UROCE = os.path.abspath(args.uroce)
    chosen = list(wanted_rows(args))
    if args.list:
        for row in chosen:
            print(row.name)
        return 0
    if not os.access(pair.UROCE, os.X_OK):
        sys.exit(f"no {pair.UROCE}: run make first")
    topology.enter_user_namespace()
    pair.be_patient()
    have_namespaces = topology.may_make_namespaces()
    print_drawings(chosen, have_namespaces)
    out = report.Report()
    run_all(chosen, args, out, have_namespaces)
    return out.close("make programs ARGS='--only {}'")


if __name__ == "__main__":
    # what a row has changed on the machine is put back also when it is told to end
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        process.end_all()
        sys.exit(130)
