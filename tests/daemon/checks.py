# SPDX-License-Identifier: BSD-2-Clause
"""What all tests of uroced as processes have in common: checks, the build tree, and a run of the
functions test_* of a module, which tells each one's time and goes on behind a failure."""

import os
import sys
import time
import traceback

SKIP = 77
PATIENCE = 60.0  # for what must come: a busy machine may stand still for seconds

_build = ""


class Failure(Exception):
    pass


class Skip(Exception):
    pass


def check(condition, what):
    if not condition:
        raise Failure(what)


def eventually(predicate, what, seconds=PATIENCE):
    """`what` may be a function: then it is asked when it is too late."""
    end = time.monotonic() + seconds
    while True:
        is_last = time.monotonic() >= end  # whoever is stopped meanwhile still looks once
        value = predicate()
        if value:
            return value
        if is_last:
            raise Failure("not within %g s: %s" % (seconds, what() if callable(what) else what))
        time.sleep(0.01)


def set_build(path):
    global _build
    _build = os.path.abspath(path)


def built(path=""):
    return os.path.join(_build, path) if path else _build


def run_tests(module, around):
    """Arguments: BUILD_DIR [TEST...]. `around` runs one test with what belongs before and behind
    it, and cleans up if it raises. The exit status."""
    failed = 0
    for name, test in list(module.items()):
        if not name.startswith("test_") or (sys.argv[2:] and name not in sys.argv[2:]):
            continue
        started = time.monotonic()
        try:
            around(test)
            result = "ok"
        except Skip as e:
            result = "skipped: %s" % e
        except Exception as e:  # the other tests say more about the cause
            result = "FAILED: %s: %s" % (type(e).__name__, e)
            traceback.print_exc()
            failed += 1
        print("%-36s %5.1f s  %s" % (name, time.monotonic() - started, result), flush=True)
    return 1 if failed else 0
