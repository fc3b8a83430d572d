# SPDX-License-Identifier: BSD-2-Clause
"""What the scripts that run real programs share: processes, topologies, reports.

Used by tests/programs, bench and tools/demo.py; standard library only.
"""
