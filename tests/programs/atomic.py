# SPDX-License-Identifier: BSD-2-Clause
"""ib_atomic_bw and ib_atomic_lat with both atomics; several QPs for bandwidth."""
from harness import perftest

from rows import row

ATOMICS = ("CMP_AND_SWAP", "FETCH_AND_ADD")


def add_rows(name, where):
    for atomic in ATOMICS:
        for qps in (1, 4):
            @row(f"atomic_bw/{name}/{atomic.lower()}/{qps}-qp", where)
            def bandwidth(ctx, atomic=atomic, qps=qps):
                rows = perftest.run(ctx.topology, "ib_atomic_bw", "-A", atomic, "-q", qps, "-n",
                                    ctx.pick(1000, 5000), on_wait=ctx.on_wait)
                perftest.expect_sizes(rows, [8])

        @row(f"atomic_lat/{name}/{atomic.lower()}", where)
        def latency(ctx, atomic=atomic):
            rows = perftest.run(ctx.topology, "ib_atomic_lat", "-A", atomic, "-n", 1000,
                                on_wait=ctx.on_wait)
            perftest.expect_sizes(rows, [8])
            return f"{rows[0].typical:.1f} us"


add_rows("lo", "lo")
add_rows("veth-9000", ("pair", 9000))
