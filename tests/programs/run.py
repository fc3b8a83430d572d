#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs unmodified verbs programs on uroce, row by row, and checks what both sides say.

  run.py [--short | --long] [--only TEXT]... [--list] [--uroce PATH]

  --short   what continuous integration runs: every row that takes seconds, few repetitions
  --long    everything, verbs-check with 10,000 seeds; without either: everything, 1,000 seeds
  --only    rows whose name contains TEXT
  --uroce   another uroce than build/bin/uroce, say an installed one

Rows in namespaces of their own need root, or user namespaces; they are skipped without.
"""
import argparse
import os
import signal
import sys

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


def run_row(row, args, out, have_namespaces):
    out.start(row.name)
    try:
        if row.topology[0] in ("lo", "pair", "wired") and not have_namespaces:
            raise report.Skipped("network namespaces cannot be made here")
        with make_topology(*row.topology) as place:
            note = row.run(rows.Context(place, args.scale, out))
        out.ok(note or "")
    except report.Skipped as e:
        out.skip(e)
    except report.Failed as e:
        out.fail(e)
    except (process.Timeout, RuntimeError, OSError, ValueError, KeyError) as e:
        out.fail(f"{type(e).__name__}: {e}")
    finally:
        process.end_all()


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
    have_namespaces = topology.may_make_namespaces()
    print_drawings(chosen, have_namespaces)
    out = report.Report()
    for row in chosen:
        run_row(row, args, out, have_namespaces)
    return out.close("make programs ARGS='--only {}'")


if __name__ == "__main__":
    # what a row has changed on the machine is put back also when it is told to end
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        process.end_all()
        sys.exit(130)
