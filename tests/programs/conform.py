# SPDX-License-Identifier: BSD-2-Clause
"""rdma-core's own tests, run by Debian's python3-pyverbs against our library, and compared with the
table of conform.md: as they are over IPv4 and IPv6, with large messages, between two namespaces, and
with loss. conform_driver.py runs them and reports what they do not look at."""
import contextlib
import dataclasses
import fcntl
import glob
import gzip
import json
import os
import re
import shutil
import tempfile

from harness import pair, process
from harness.report import Failed, Skipped

from rows import SHORT, row

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGED = "/usr/share/doc/rdma-core/tests"
VERSION = "44."
PYTHON = "/usr/bin/python3"  # for which Debian's pyverbs is
LARGE_FACTOR = 40  # packets of a case when large, by those as it is: 128 but for what both share
HUGE_PAGES = 64
HUGE_FILE = "/proc/sys/vm/nr_hugepages"
# none, or (said by the test's own mmap) another program was faster
NO_HUGE = r"no huge pages of size 2M allocated|MemoryError: Failed to mmap memory"

# what the tests say where the table has a word for it
REASONS = {
    "raw": r"Raw Packet QP|QP type 8 is not supported",
    "tags": r"Extended CQ is not supported",
    "dmabuf": r"dmabuf is not supported",
}
NOT_RUN = ("-", "own", "size", "datagram")


@dataclasses.dataclass
class Case:
    name: str
    plain: str
    packets: int
    large: str
    namespaces: str
    loss: str


def read_table(path=os.path.join(HERE, "conform.md")):
    cases = []
    with open(path, encoding="ascii") as f:
        for line in f:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if len(cells) == 6 and cells[0].startswith("test_"):
                name, plain, packets, large, namespaces, loss = cells
                cases.append(Case(name, plain, 0 if packets == "-" else int(packets), large,
                                  namespaces, loss))
    return cases


# ---- where the tests are ----

def find_packaged():
    """The version of Debian's pyverbs; Skipped unless its tests are those of the table."""
    status, version = process.run(["dpkg-query", "-W", "-f", "${Version}", "python3-pyverbs"])
    if status != 0 or not glob.glob(os.path.join(PACKAGED, "run_tests.py*")):
        raise Skipped("needs python3-pyverbs, and rdma-core or RDMA_CORE_TESTS, its checkout")
    if not version.startswith(VERSION):
        raise Skipped(f"python3-pyverbs is {version}; the table is of {VERSION}x")


@contextlib.contextmanager
def tests_directory():
    checkout = os.environ.get("RDMA_CORE_TESTS")
    if checkout:
        if not os.path.exists(os.path.join(checkout, "tests", "run_tests.py")):
            raise Failed(f"RDMA_CORE_TESTS={checkout} holds no tests/run_tests.py")
        yield os.path.abspath(os.path.join(checkout, "tests"))
        return
    find_packaged()
    with tempfile.TemporaryDirectory() as folder:
        for path in glob.glob(os.path.join(PACKAGED, "*.py*")):
            if path.endswith(".gz"):
                name = os.path.basename(path)[:-3]
                with gzip.open(path) as packed, open(os.path.join(folder, name), "wb") as plain:
                    shutil.copyfileobj(packed, plain)
            else:
                shutil.copy(path, folder)
        yield folder


def change_huge_pages(by):
    """How many more there are now; rows side by side, and other programs, have theirs."""
    with open(HUGE_FILE, "r+", encoding="ascii") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        before = int(f.read())
        f.seek(0)
        f.write(str(max(0, before + by)))
        f.flush()
        f.seek(0)
        return int(f.read()) - before


@contextlib.contextmanager
def huge_pages():
    """Reserved where that is allowed, and given back."""
    got = 0
    with contextlib.suppress(OSError):
        got = change_huge_pages(HUGE_PAGES)
    try:
        yield
    finally:
        if got:
            with contextlib.suppress(OSError):
                change_huge_pages(-got)


# ---- running and judging ----

def drive(ctx, names, *args, timeout):
    """The driver's report of these cases, and its last lines."""
    place = ctx.topology
    # what is lost is repeated soon; both ends are in one process, which stands still as a whole
    patience = dict.fromkeys(pair.PATIENCE) if "--impair" in args else {}
    with tests_directory() as tests, tempfile.NamedTemporaryFile("r") as report:
        p = pair.start(place.a, [PYTHON, "-B", "-W", "ignore",
                                 os.path.join(HERE, "conform_driver.py"), "--tests", tests,
                                 "--device", place.device, "--report", report.name, *args,
                                 *names], env={"UROCE": pair.UROCE, **patience})
        try:
            status = p.wait(timeout, ctx.on_wait)
        except process.Timeout as e:
            raise Failed(f"{e}\n{tail(p)}") from e
        lines = [json.loads(line) for line in report]
    if status != 0 or [line["case"] for line in lines] != names:
        raise Failed(f"the driver ended with status {status} after {len(lines)} of {len(names)} "
                     f"cases\n{tail(p)}")
    return lines, tail(p)


def tail(p):
    return "\n".join(p.output().splitlines()[-40:])


def sent(line):
    if not line["engines"]:
        return line["lo_packets"]
    return sum(engine.get("io_tx_packets", 0) for engine in line["engines"])


def complaint(line, word, packets_min):
    """What is wrong with the report on a case whose cell has `word`; None if nothing is."""
    says = f"{line['result']} {line['reason']}".strip()
    if any(line["children"]):
        return f"{says}, but children ended with {line['children']}"
    if word != "pass":
        if line["result"] != "skipped" or not re.search(REASONS[word], line["reason"]):
            return f"{says}; expected: skipped ({word})"
        return None
    if line["result"] != "ok":
        return f"{says}"
    if sent(line) < packets_min:
        return f"ok, but {sent(line)} packets were sent, not {packets_min}"
    return None


def nothing(_, __):
    return None


def run_column(ctx, column, *args, timeout, packets_min, more=nothing):
    """The cases of a column that are to be run; more(case, line) is asked of what passes."""
    cases = {case.name: case for case in read_table() if getattr(case, column) not in NOT_RUN}
    with huge_pages():
        lines, output = drive(ctx, list(cases), *args, timeout=timeout)
    without = [line for line in lines if re.search(NO_HUGE, line["reason"])]
    lines = [line for line in lines if line not in without]
    wrong = []
    for line in lines:
        case = cases[line["case"]]
        word = getattr(case, column)
        found = complaint(line, word, packets_min(case))
        if not found and word == "pass":
            found = more(case, line)
        if found:
            wrong.append(f"{case.name}: {found}\n  after {line['seconds']} s, counters "
                         f"{json.dumps(line['engines'])}")
    if wrong:
        raise Failed("\n".join(wrong) + f"\n{output}")
    passed = sum(line["result"] == "ok" for line in lines)
    note = f"{passed} cases passed, {sum(map(sent, lines))} packets"
    return f"{note}; no huge pages here for {len(without)}" if without else note


def run_plain(ctx, address):
    gid = pair.gid_index(ctx.topology.a, ctx.topology.device, address)
    return run_column(ctx, "plain", "--gid", gid, timeout=1800,
                      packets_min=lambda case: case.packets)


@row("conform/ipv4", ("pair", 9000))
def ipv4(ctx):
    return run_plain(ctx, ctx.topology.ipv4)


@row("conform/ipv6", ("pair", 9000))
def ipv6(ctx):
    return run_plain(ctx, ctx.topology.ipv6)


@row("conform/large", ("pair", 9000))
def large(ctx):
    return run_column(ctx, "large", "--gid", 0, "--large", timeout=1800,
                      packets_min=lambda case: LARGE_FACTOR * case.packets)


@row("conform/namespaces", ("pair", 9000))
def namespaces(ctx):
    def both(_, line):
        if len(line["engines"]) == 2 and all("io_tx_packets" in engine or "io_rx_packets" in engine
                                             for engine in line["engines"]):
            return None
        return f"ok, but not between two engines: {line['engines']}"
    return run_column(ctx, "namespaces", "--gid", 0, "--other-netns",
                      f"/proc/{ctx.topology.b.held.pid}/ns/net", timeout=1800,
                      packets_min=lambda case: case.packets, more=both)


@row("conform/loss", ("pair", 9000))
def loss(ctx):
    def lost(_, line):
        if any("io_impair_dropped" in engine for engine in line["engines"]):
            return None
        return "ok, but nothing was lost"
    return run_column(ctx, "loss", "--gid", 0, "--impair", "drop=1%",
                      *(() if ctx.scale == SHORT else ("--large",)), timeout=3600,
                      packets_min=lambda case: 1, more=lost)
