# SPDX-License-Identifier: BSD-2-Clause
"""What tshark sees on the veth: RRoCE, nothing malformed, every packet that the engine counted, and
an ICRC that icrc_check.py finds right.

    +------ a ------+                +------ b ------+
    | server    ur0 |---- veth ------| ur0    client |
    |  tshark -i ur0|                |               |
    +---------------+                +---------------+

Batches are off (UROCE_GSO, UROCE_GRO): on a veth a batch is one large frame.
"""
import os
import re
import shutil
import signal
import tempfile
import time

from harness import pair, perftest, process
from harness.report import Failed, Skipped

import icrc_check
import pingpong
from rows import row

SINGLE = {"UROCE_GSO": "off", "UROCE_GRO": "off"}


class Capture:
    """tshark in a namespace; `stop` gives what it saw."""

    def __init__(self, ns, interface):
        if not shutil.which("tshark"):
            raise Skipped("no tshark here")
        self.folder = tempfile.TemporaryDirectory(prefix="uroce-capture-")
        os.chmod(self.folder.name, 0o777)
        self.path = os.path.join(self.folder.name, "seen.pcap")
        self.tshark = process.Process(
            ["tshark", "-q", "-n", "-i", interface, "-F", "pcap", "-B", "64", "-w", self.path,
             "-f", f"udp dst port {icrc_check.ROCE_PORT}"],
            prefix=ns.prefix(), env=process.own_environment())

        def is_capturing():
            if self.tshark.poll() is not None:
                raise Failed(f"tshark ended\n{self.tshark.output()}")
            return "Capturing on" in self.tshark.output() and os.path.exists(self.path)
        process.wait_until(is_capturing, 20, "tshark to capture")

    def stop(self):
        """Once all that was captured is in the file: it has not grown for a second."""
        size, since = -1, time.monotonic()
        while time.monotonic() - since < 1:
            time.sleep(0.1)
            now = os.stat(self.path).st_size
            if now != size:
                size, since = now, time.monotonic()
        self.tshark.kill(signal.SIGINT)
        self.tshark.wait(20)
        dropped = re.search(r"(\d+) packets? dropped", self.tshark.output())
        if dropped and int(dropped.group(1)):
            raise Failed(f"tshark lost packets: {dropped.group(0)}")

    def read(self, *fields):
        """One tuple of fields per packet, as tshark dissects it; it is not to guess what payload
        means: two bytes that happen to be an EtherType would do, and make it malformed."""
        argv = ["tshark", "-n", "-r", self.path, "--disable-heuristic", "eth_over_ib", "-T",
                "fields", "-E", "separator=;"]
        for field in fields:
            argv += ["-e", field]
        status, output = process.run(argv, 120, env=process.own_environment())
        if status != 0:
            raise Failed(f"tshark -r: status {status}\n{output}")
        return [tuple(line.split(";")) for line in output.splitlines() if ";" in line]

    def close(self):
        self.tshark.end()
        self.folder.cleanup()


def check_dissection(capture):
    packets = capture.read("frame.protocols", "infiniband.bth.opcode", "_ws.malformed",
                           "ip.version", "ip.flags.df")
    for number, (protocols, opcode, malformed, version, df) in enumerate(packets, 1):
        if "infiniband" not in protocols or not opcode:
            raise Failed(f"packet {number} is not dissected as RRoCE: {protocols}")
        if malformed:
            raise Failed(f"packet {number}, opcode {opcode}: malformed")
        if version == "4" and df not in ("1", "True"):
            raise Failed(f"packet {number}, opcode {opcode}: may be fragmented")
    return len(packets)


def check_counters(counters, seen):
    """Those of the server's engine, on whose interface the capture was."""
    sent, received = counters["io_tx_packets"], counters["io_rx_packets"]
    if sent + received != seen:
        raise Failed(f"the engine sent {sent} packets and received {received}, tshark saw {seen}")
    for name in ("rx_bad_icrc", "rx_too_short", "io_rx_overflow", "io_tx_dropped"):
        if counters[name]:
            raise Failed(f"counter {name} is {counters[name]}")


def add_row(name, mtu, drive):
    @row(f"capture/{name}", ("pair", mtu))
    def run(ctx):
        capture = Capture(ctx.topology.a, "ur0")
        counters = []
        try:
            drive(ctx, lambda server: counters.append(pair.Counters(server)))
            capture.stop()
            seen = check_dissection(capture)
            count, wrong = icrc_check.check(capture.path)
            if count != seen or not count:
                raise Failed(f"tshark dissected {seen} packets, the file has {count}")
            if wrong:
                raise Failed(f"{wrong} of {count} packets have a wrong ICRC")
            check_counters(counters[0].read(), count)
        finally:
            for each in counters:
                each.close()
            capture.close()
        return f"{count} packets"


def drive_pingpong(ipv6):
    def drive(ctx, on_server):
        pingpong.pingpong(ctx, "-s", 4097, "-n", 100, ipv6=ipv6, env=SINGLE, on_server=on_server)
    return drive


def drive_perftest(program, *args):
    def drive(ctx, on_server):
        perftest.run(ctx.topology, program, "-n", 50, *args, env=SINGLE, on_server=on_server)
    return drive


add_row("pingpong-ipv4", 1500, drive_pingpong(False))
add_row("pingpong-ipv6", 1500, drive_pingpong(True))
add_row("write", 9000, drive_perftest("ib_write_bw", "-s", 65537))
add_row("read", 9000, drive_perftest("ib_read_bw", "-s", 65537))
add_row("send", 1500, drive_perftest("ib_send_bw", "-s", 3000))
add_row("atomic", 1500, drive_perftest("ib_atomic_bw"))
