# SPDX-License-Identifier: BSD-2-Clause
"""UCX over our device: Debian's ucx_info, ucx_perftest and io_demo. UCX_TLS leaves it no other way
(ud_verbs beside rc_verbs is only for meeting), and our counters must have seen the bytes.

    a: server                           b: client
    ucx_perftest, control over TCP <--> ucx_perftest HOST
    rc_verbs/uroce_ur0:1   <-- RoCEv2 --> rc_verbs/uroce_ur0:1
"""
import os
import re
import shutil
import tempfile

from harness import pair, process
from harness.report import Failed, Skipped

from rows import row
from surroundings import counter

PERFTEST_PORT = 13337  # if not told otherwise; namespaces of their own

TRANSPORTS = {"rc": "rc_verbs,ud_verbs:aux", "ud": "ud_verbs"}
SIZES = (1, 100, 4096, 65536, 1 << 20, 16 << 20)
UCP_TESTS = ("tag_lat", "tag_bw", "ucp_put_lat", "ucp_put_bw", "ucp_get", "ucp_am_lat", "ucp_am_bw",
             "stream_lat", "stream_bw")
UCP_ATOMICS = ("ucp_add", "ucp_fadd", "ucp_swap", "ucp_cswap")
# UCT: one transport without the protocols above it, by the ways that it can send. rc_verbs has no
# swap, ud_verbs only messages, and gets of a few bytes are not for zcopy.
UCT_SIZES = {"short": (8,), "bcopy": (8, 2000), "zcopy": (100, 2000)}
UCT_TESTS = {
    "rc": {"am_lat": ("short", "bcopy", "zcopy"), "am_bw": ("bcopy", "zcopy"),
           "put_lat": ("short", "bcopy", "zcopy"), "put_bw": ("bcopy", "zcopy"),
           "get": ("bcopy", "zcopy"), "add_lat": ("short",), "add_mr": ("short",),
           "fadd": ("short",), "cswap": ("short",)},
    "ud": {"am_lat": ("short", "bcopy", "zcopy"), "am_bw": ("bcopy", "zcopy")},
}


def need(program):
    if not shutil.which(program):
        raise Skipped(f"no {program} here")


def environment(ctx, transport, **more):
    return {"UCX_TLS": TRANSPORTS.get(transport, transport),
            "UCX_NET_DEVICES": f"{ctx.topology.device}:1", "UCX_LOG_LEVEL": "warn",
            "UCX_WARN_UNUSED_ENV_VARS": "n", **more}


def iterations(size, most):
    """Some 10^5 packets at most."""
    return max(2, min(most, (64 << 20) // size))


class Batch:
    """A file of tests that both sides go through in one connection each."""

    def __init__(self):
        self.lines = []
        self.bytes = 0

    def add(self, name, test, size, count, *args):
        self.lines.append(" ".join(map(str, (name, "-t", test, "-s", size, "-n", count, "-w", 2,
                                             *args))))
        self.bytes += size * count

    def names(self):
        return [line.split()[0] for line in self.lines]


def run_batch(ctx, transport, batch, *args, **env):
    """Both sides end well, every test has its line of results, and the bytes passed our device."""
    need("ucx_perftest")
    place = ctx.topology
    before = counter(place.b, place.device, "hw_counters/tx_payload_bytes") + counter(
        place.b, place.device, "hw_counters/rx_payload_bytes")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "batch")
        with open(path, "w", encoding="ascii") as f:
            f.write("\n".join(batch.lines) + "\n")
        command = ["ucx_perftest", "-b", path, *args]
        outcome = pair.run_pair(place, command, [*command, "-f", place.ipv4], PERFTEST_PORT,
                                timeout=ctx.pick(600, 1800), on_wait=ctx.on_wait,
                                env=environment(ctx, transport, **env))
    pair.expect_success(outcome)
    for name in batch.names():
        if not re.search(rf"^ *{re.escape(name)} +\d+ +[\d.]+ ", outcome.client.output(), re.M):
            raise Failed(f"no result of {name}\n{outcome.text()}")
    if re.search(r"ERROR|WARN|[Ff]atal|uroce:", outcome.client.output() + outcome.server.output()):
        raise Failed(f"complaints\n{outcome.text()}")
    seen = counter(place.b, place.device, "hw_counters/tx_payload_bytes") + counter(
        place.b, place.device, "hw_counters/rx_payload_bytes") - before
    if seen < batch.bytes:
        raise Failed(f"{seen} bytes passed our device, {batch.bytes} were sent\n{outcome.text()}")
    return f"{len(batch.lines)} tests, {seen >> 20} MiB"


def add_ucp_row(transport, test):
    @row(f"ucx/{transport}/{test}", ("pair", 9000))
    def run(ctx):
        batch = Batch()
        for size in ctx.pick((1, 4096, 1 << 20), SIZES):
            batch.add(f"{test}-{size}", test, size, iterations(size, ctx.pick(100, 1000)))
        return run_batch(ctx, transport, batch)


def add_atomics_row(transport):
    @row(f"ucx/{transport}/atomics", ("pair", 9000))
    def run(ctx):
        batch = Batch()
        for test in UCP_ATOMICS:
            for size in (4, 8):
                batch.add(f"{test}-{size}", test, size, ctx.pick(100, 1000))
        return run_batch(ctx, transport, batch)


def add_uct_row(transport):
    @row(f"ucx/{transport}/uct", ("pair", 9000))
    def run(ctx):
        batch = Batch()
        for test, ways in UCT_TESTS[transport].items():
            for way in ways:
                for size in UCT_SIZES[way]:
                    batch.add(f"{test}-{way}-{size}", test, size, ctx.pick(100, 1000), "-D", way)
        return run_batch(ctx, f"{transport}_verbs", batch, "-d", f"{ctx.topology.device}:1", "-x",
                         f"{transport}_verbs")


for _transport in TRANSPORTS:
    for _test in UCP_TESTS:
        add_ucp_row(_transport, _test)
    add_atomics_row(_transport)
    add_uct_row(_transport)


@row("ucx/info", ("pair", 9000))
def info(ctx):
    """With the preload shim, and with the library alone."""
    need("ucx_info")
    place = ctx.topology
    libraries = os.path.join(os.path.dirname(os.path.dirname(pair.UROCE)), "lib")
    if not os.path.exists(os.path.join(libraries, "libibverbs.so.1")):
        libraries = os.path.join(libraries, "uroce")
    for on_uroce, env in ((True, {}), (False, {"LD_LIBRARY_PATH": libraries})):
        status, output = pair.run(place.a, ["ucx_info", "-d"], env=env, on_uroce=on_uroce)
        for transport in ("rc_verbs", "ud_verbs"):
            if status != 0 or not re.search(
                    rf"Transport: {transport}\n#\s+Device: {place.device}:1\n", output):
                raise Failed(f"on_uroce {on_uroce}: no {transport}, status {status}\n{output}")


def add_io_demo_row(transport):
    @row(f"ucx/{transport}/io-demo", ("pair", 9000))
    def run(ctx):
        """Its -q compares every byte. Client and server meet by rdma_cm."""
        need("io_demo")
        place = ctx.topology
        port = pair.next_port()
        count = ctx.pick(100, 2000)
        env = environment(ctx, transport, UCX_SOCKADDR_TLS_PRIORITY="rdmacm")
        common = ["io_demo", "-q", "-n", "inf", "-t", "inf", "-s", 1, "-p", port, "-d", "1:200000",
                  "-o", "read,write"]
        server = pair.start(place.a, common, env=env, line_buffered=True)
        process.wait_until(lambda: "started listener" in server.output(), process.LONG,
                           "io_demo to listen")
        client = pair.start(place.b, [*common, "-i", count, "-c", 3, place.ipv4], env=env)
        client.wait(1800, ctx.on_wait)
        server.end()
        text = pair.Outcome(server, client).text()
        output = client.output() + server.output()
        if client.status != 0 or "Client exit with status 'OK'" not in output or re.search(
                r"corrupt|mismatch|ERROR|validation", output):
            raise Failed(text)
        # Half of the requests are reads, of 100,000 bytes on average.
        received = counter(place.b, place.device, "hw_counters/rx_payload_bytes")
        if received < count * 30000:
            raise Failed(f"only {received} bytes passed our device\n{text}")
        return f"{count} requests, {received >> 20} MiB received"


for _transport in TRANSPORTS:
    add_io_demo_row(_transport)
