# SPDX-License-Identifier: BSD-2-Clause
"""Scripts of unittest cases that need network namespaces: `SCRIPT BUILD_DIR [TEST...]`."""
import os
import sys
import unittest

from . import topology

SKIPPED = 77


def run(set_build):
    """The exit status of the script; 77 where no network namespace can be made."""
    topology.enter_user_namespace()
    set_build(os.path.realpath(sys.argv.pop(1)))
    if not topology.may_make_namespaces():
        print("no network namespaces can be made here")
        return SKIPPED
    result = unittest.main(module="__main__", exit=False, verbosity=2, warnings="ignore").result
    return 0 if result.wasSuccessful() else 1
