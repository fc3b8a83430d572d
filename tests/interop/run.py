#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs uroce against Linux Soft-RoCE in a virtual machine, row by row.

  run.py [--short] [--only TEXT]... [--list] [--uroce PATH] [--accel tcg|kvm]

  --short   what continuous integration runs
  --only    rows whose name contains TEXT
  --uroce   another uroce than build/bin/uroce, say an installed one
  --accel   kvm where the machine has it; it is not tried by itself

Needs root or user namespaces, QEMU and apt; says so and skips everything where one is missing.
README.md describes how rows are made.
"""
import argparse
import os
import signal
import sys
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [os.path.join(HERE, ".."), os.path.join(HERE, "vm")]

from harness import pair, process, report, topology  # noqa: E402

import guest  # noqa: E402
import image  # noqa: E402
import rows  # noqa: E402
import foundation  # noqa: E402,F401
import captures, loss  # noqa: E402,E401,F401
import rdmacm, endings  # noqa: E402,E401,F401
import kernel_clients  # noqa: E402,F401
import loopback  # noqa: E402,F401
import perftest  # noqa: E402,F401
import pingpong  # noqa: E402,F401
import verbs_check  # noqa: E402,F401
import verify  # noqa: E402,F401


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].strip())
    parser.add_argument("--short", action="store_const", dest="scale", const=rows.SHORT)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--uroce")
    parser.add_argument("--accel", choices=("tcg", "kvm"), default="tcg")
    parser.set_defaults(scale=rows.FULL)
    return parser.parse_args()


def wanted_rows(args):
    return [row for row in rows.ROWS
            if (not args.only or any(text in row.name for text in args.only)) and
            (row.least <= args.scale)]


class Place:
    """The two sides, made when a row needs them and anew after one that has used them up."""

    def __init__(self, folder, accel):
        self.folder = folder
        self.accel = accel
        self.ours = self.guest = None

    def ready(self, row, out):
        if self.guest and not self.guest.is_usable():
            self.close()
        if self.guest and row.fresh:
            self.close()
        if not self.guest:
            out.progress("the guest boots")
            try:
                self.ours = guest.Ours(row.mtu or 1500)
                self.guest = guest.Guest(self.folder, self.ours, self.accel)
                self.guest.boot()
            except (process.Timeout, RuntimeError, OSError):
                self.close()
                raise
        if row.mtu:
            self.guest.set_mtu(row.mtu)

    def close(self):
        if self.guest:
            self.guest.close()
        if self.ours:
            self.ours.close()
        self.ours = self.guest = None


def end_programs(place):
    """All that a row has left, but not what holds the place itself."""
    kept = {place.guest.qemu, place.ours.ns.held} if place.guest else set()
    for p in list(process.Process.alive - kept):
        p.kill()
    if place.guest:
        place.guest.end_all()


def kernel_log(place, start):
    """What the guest's kernel has said in the row: with `quiet`, warnings and worse."""
    lines = place.guest.console()[start:].split("\n") if place.guest else []
    return "".join(f"\nguest's console: {line.rstrip()}" for line in lines[-20:] if line.strip())


def run_row(row, args, out, place):
    out.start(row.name)
    said = 0
    try:
        place.ready(row, out)
        said = len(place.guest.console())
        note = row.run(rows.Context(place.ours, place.guest, args.scale, out))
        out.ok(note or "")
    except report.Skipped as e:
        out.skip(e)
    except report.Failed as e:
        out.fail(f"{e}{kernel_log(place, said)}")
    except (process.Timeout, RuntimeError, OSError, ValueError) as e:
        out.fail(f"{type(e).__name__}: {e}{kernel_log(place, said)}")
    except Exception:  # pylint: disable=broad-except
        out.fail(f"{traceback.format_exc()}{kernel_log(place, said)}")
    finally:
        end_programs(place)
        if row.fresh:
            place.close()


def headline(chosen, folder):
    print(f"{guest.DRAWING}\n\n"
          f"rows   {len(chosen)}, each with uroce at one end and Soft-RoCE (rxe) at the other\n"
          f"uroce  {pair.UROCE}\n"
          f"guest  {folder}\n", flush=True)


def skip_all(chosen, why):
    print(f"interop: {why}")
    print(f"0 passed, 0 failed, {len(chosen)} skipped", flush=True)
    return 0


def main():
    args = arguments()
    if args.uroce:
        pair.UROCE = os.path.abspath(args.uroce)
    chosen = wanted_rows(args)
    if not chosen:
        sys.exit("no row has such a name: --list prints them" +
                 (", without --short all" if args.scale == rows.SHORT else ""))
    if args.list:
        for row in chosen:
            print(row.name)
        return 0
    if not os.access(pair.UROCE, os.X_OK):
        sys.exit(f"no {pair.UROCE}: run make first")
    topology.enter_user_namespace()
    pair.be_patient()
    why = guest.missing()
    if why:
        return skip_all(chosen, why)
    try:
        folder = image.make(lambda text: print(f"interop: {text}", flush=True))
    except image.Unavailable as e:
        return skip_all(chosen, f"no image of the guest: {e}")
    headline(chosen, folder)
    out = report.Report()
    place = Place(folder, args.accel)
    try:
        for row in chosen:
            run_row(row, args, out, place)
    finally:
        place.close()
    return out.close("make interop ARGS='" + ("--short " if args.scale == rows.SHORT else "") +
                     "--only {}'")


if __name__ == "__main__":
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:  # nohup's stays
            signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        process.end_all()
        print("\ninterop: interrupted", flush=True)
        sys.exit(130)
