# SPDX-License-Identifier: BSD-2-Clause
"""What passes an interface of a namespace, recorded and dissected by tshark.

Batches are switched off in programs whose packets are looked at (SINGLE): on a veth or tap a batch
is one large frame.
"""
import os
import re
import shutil
import signal
import tempfile
import time

from . import process, roce
from .report import Failed, Skipped

# what tshark takes InfiniBand payload for, if it looks the part
PAYLOAD_GUESSES = ("eth_over_ib", "fc_infiniband", "iser_infiniband", "lnet_ib",
                   "rpcrdma_infiniband", "sdp_infiniband", "smb_direct_infiniband",
                   "smcr_infiniband")
ATTEMPTS = 3  # once of some hundred times tshark did not begin; why was not found
SINGLE = {"UROCE_GSO": "off", "UROCE_GRO": "off"}


class Capture:
    """tshark in a namespace; `stop` gives what it saw."""

    def __init__(self, ns, interface):
        if not shutil.which("tshark"):
            raise Skipped("no tshark here")
        self.folder = tempfile.TemporaryDirectory(prefix="uroce-capture-")
        os.chmod(self.folder.name, 0o777)
        self.path = os.path.join(self.folder.name, "seen.pcap")
        for attempt in range(ATTEMPTS):
            self.tshark = process.Process(
                ["tshark", "-q", "-n", "-i", interface, "-F", "pcap", "-B", "64", "-w", self.path,
                 "-f", f"udp dst port {roce.PORT}"],
                prefix=ns.prefix(), env=self.environment())
            try:
                process.wait_until(self.is_capturing, 20, "tshark to capture")
                return
            except process.Timeout as e:
                self.tshark.end()
                if attempt + 1 == ATTEMPTS:
                    raise Failed(f"{e}\n{self.tshark.output()}") from e

    def is_capturing(self):
        if self.tshark.poll() is not None:
            raise Failed(f"tshark ended\n{self.tshark.output()}")
        return "Capturing on" in self.tshark.output() and os.path.exists(self.path)

    def environment(self):
        """What somebody prefers in Wireshark, or may not read, changes nothing here."""
        return process.own_environment(WIRESHARK_CONFIG_DIR=self.folder.name)

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
        argv = ["tshark", "-n", "-r", self.path, "-T", "fields", "-E", "separator=;"]
        for guess in PAYLOAD_GUESSES:
            argv += ["--disable-heuristic", guess]
        for field in fields:
            argv += ["-e", field]
        status, output = process.run(argv, 120, env=self.environment())
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
