#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The programs of examples/ on a build tree, in a network namespace of their own.

  examples_test.py BUILD

Exit status 77 where no namespace can be made.
"""
import os
import sys

import drive
from harness import process, report, topology

# enough that some of it hits in either direction, whatever a busy machine repeats
FAULTY = "ud_damage=2%,reorder=2%"
FAULTY_AND_LOSSY = "ud_damage=2%,reorder=2%,drop=1%,dup=1%"
SETS = "faulty-ud,reorder=1%"


def cases():
    for name in drive.NAMES:
        yield f"compile {name}", lambda d, name=name: drive.compile_alone(name)
    yield "rc_send_recv", drive.rc_send_recv
    yield "rc_write_imm", drive.rc_write_imm
    yield "rdma_cm_echo", drive.rdma_cm_echo
    yield "atomic_counter", drive.atomic_counter
    yield "ud_checked", drive.ud_clean
    yield f"ud_checked {FAULTY}", lambda d: drive.ud_mended(d, FAULTY)
    yield f"ud_checked {FAULTY_AND_LOSSY}", lambda d: drive.ud_mended(d, FAULTY_AND_LOSSY)
    yield f"ud_checked {SETS}", lambda d: drive.ud_mended(d, SETS, 8000)
    yield f"ud_checked --unchecked {FAULTY}", lambda d: drive.ud_unchecked(d, FAULTY)


def main():
    build = os.path.abspath(sys.argv[1])
    drive.pair.UROCE = os.path.join(build, "bin", "uroce")
    topology.enter_user_namespace()
    if not topology.may_make_namespaces():
        print("no network namespace can be made here")
        return 77
    # the last: a process may stand still for longer than the half second that examples have patience
    env = {"LD_LIBRARY_PATH": os.path.join(build, "lib"),
           "UROCE_UROCED": os.path.join(build, "bin", "uroced"),
           "UROCE_ACK_TIMEOUT_FLOOR_US": 1000000}
    out = report.Report()
    with topology.Loopback() as place:
        d = drive.Driver(os.path.join(build, "examples"), place, on_uroce=False, env=env)
        for name, run in cases():
            out.start(name)
            try:
                found = run(d)
                out.ok(str(found or ""))
            except (report.Failed, process.Timeout, RuntimeError, OSError) as e:
                out.fail(e)
            finally:
                process.end_all(but=place.a.held)
    return out.close("tests/examples/examples_test.py BUILD")


if __name__ == "__main__":
    sys.exit(main())
