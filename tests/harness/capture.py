# SPDX-License-Identifier: BSD-2-Clause
"""What passes an interface of a namespace, recorded and dissected by tshark.

Batches are switched off in programs whose packets are looked at (SINGLE): on a veth or tap a batch
is one large frame.

That all is in the file is told by a frame of our own (END), which passes the interface behind the
last packet and comes behind it out of the kernel's ring; the file is then rid of it.
"""
import contextlib
import os
import re
import shutil
import signal
import struct
import sys
import tempfile
import time

from . import process, roce
from .report import Failed, Skipped

# what tshark takes InfiniBand payload for, if it looks the part
PAYLOAD_GUESSES = ("eth_over_ib", "fc_infiniband", "iser_infiniband", "lnet_ib",
                   "rpcrdma_infiniband", "sdp_infiniband", "smb_direct_infiniband",
                   "smcr_infiniband")
ATTEMPTS = 3  # once of some hundred times tshark did not begin; why was not found
END = b"uroce: the end of the capture"
END_PORT = 9  # discard
RECORD_HEAD = 16
SEND = """
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((sys.argv[1], 0))
s.send(bytes.fromhex(sys.argv[2]))
"""
SINGLE = {"UROCE_GSO": "off", "UROCE_GRO": "off"}


def end_frame():
    """To nobody: neither an Ethernet nor an IP address that anyone has."""
    udp = struct.pack("!HHHH", END_PORT, END_PORT, 8 + len(END), 0) + END
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 1, 17, 0,
                       b"\xc0\0\2\1", b"\xc0\0\2\2")
    return b"\2\0\0\0\0\1\2\0\0\0\0\2\x08\0" + head + udp


class Capture:
    """tshark in a namespace; `stop` gives what it saw."""

    def __init__(self, ns, interface):
        if not shutil.which("tshark"):
            raise Skipped("no tshark here")
        self.folder = tempfile.TemporaryDirectory(prefix="uroce-capture-")
        os.chmod(self.folder.name, 0o777)
        self.ns, self.interface = ns, interface
        self.path = os.path.join(self.folder.name, "seen.pcap")
        for attempt in range(ATTEMPTS):
            self.tshark = process.Process(
                ["tshark", "-q", "-n", "-i", interface, "-F", "pcap", "-B", "64", "-w", self.path,
                 "-f", f"udp dst port {roce.PORT} or udp dst port {END_PORT}"],
                prefix=ns.prefix(), env=self.environment())
            try:
                process.wait_until(self.is_capturing, 100, "tshark to capture")
                return
            except process.Timeout as e:
                self.tshark.end()
                if attempt + 1 == ATTEMPTS:
                    raise Failed(f"{e}\n{self.tshark.output()}") from e
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self.path)

    def is_capturing(self):
        if self.tshark.poll() is not None:
            raise Failed(f"tshark ended\n{self.tshark.output()}")
        return "Capturing on" in self.tshark.output() and os.path.exists(self.path)

    def environment(self):
        """What somebody prefers in Wireshark, or may not read, changes nothing here."""
        return process.own_environment(WIRESHARK_CONFIG_DIR=self.folder.name)

    def stop(self):
        """Once all that was captured is in the file."""
        self.send_end()
        process.wait_until(self.has_ended, process.LONG, "the end of the capture", 0.1)
        self.tshark.kill(signal.SIGINT)
        self.tshark.wait(process.LONG)
        self.remove_end()
        dropped = re.search(r"(\d+) packets? dropped", self.tshark.output())
        if dropped and int(dropped.group(1)):
            raise Failed(f"tshark lost packets: {dropped.group(0)}")

    def send_end(self):
        self.ns.run(sys.executable, "-c", SEND, self.interface, end_frame().hex())
        self.sent_end = time.monotonic()

    def has_ended(self):
        """Said again now and then: the ring may have had no room for it."""
        with open(self.path, "rb") as f:
            if END in f.read():
                return True
        if time.monotonic() > self.sent_end + 5:
            self.send_end()
        return False

    def remove_end(self):
        """With what pcap writes before each frame."""
        frame = end_frame()
        with open(self.path, "rb") as f:
            data = f.read()
        while (at := data.find(frame)) >= 0:
            data = data[:at - RECORD_HEAD] + data[at + len(frame):]
        with open(self.path, "wb") as f:
            f.write(data)

    def read(self, *fields):
        """One tuple of fields per packet, as tshark dissects it; it is not to guess what payload
        means: two bytes that happen to be an EtherType would do, and make it malformed."""
        argv = ["tshark", "-n", "-r", self.path, "-T", "fields", "-E", "separator=;"]
        for guess in PAYLOAD_GUESSES:
            argv += ["--disable-heuristic", guess]
        for field in fields:
            argv += ["-e", field]
        status, output = process.run(argv, env=self.environment())
        if status != 0:
            raise Failed(f"tshark -r: status {status}\n{output}")
        return [tuple(line.split(";")) for line in output.splitlines() if ";" in line]

    def close(self):
        self.tshark.end()
        self.folder.cleanup()


def repeated_at_end(packets):
    """How many of one side's packets lie behind the last that is no repetition. The other side reads in
    order, and needs that one; when it has what it needs it may end and leave unread what is behind."""
    seen, behind = set(), 0
    for p in packets:
        key = p.src, p.dest_qpn, p.transport, p.op, p.psn, p.syndrome
        behind = behind + 1 if key in seen else 0
        seen.add(key)
    return behind


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
