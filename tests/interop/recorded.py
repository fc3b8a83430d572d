# SPDX-License-Identifier: BSD-2-Clause
"""A run across the two stacks, recorded on the wire: its packets, what uroce counted meanwhile, and
whether packets and counters agree.

                              the capture
    uroce --- UROCE_IMPAIR ------- | ---------------------- rxe

What uroce loses on purpose (UROCE_IMPAIR) is lost on its side of the capture: with dir=tx before a
packet is seen, with dir=rx after it was.
"""
import dataclasses
import os
import re
import shutil
import time

from harness import pair, roce
from harness.capture import SINGLE, Capture, repeated_at_end
from harness.report import Failed

import sequence

COUNTERS = ("io_tx_packets", "io_rx_packets", "io_rx_overflow", "io_tx_dropped",
            "io_impair_dropped", "io_impair_duplicated", "io_impair_reordered", "rx_bad_icrc",
            "rx_too_short", "rx_no_qp", "rx_wrong_state", "tx_pkts", "tx_retransmitted", "tx_naks",
            "local_ack_timeout_err", "packet_seq_err", "rnr_nak_received", "rnr_nak_sent",
            "implied_nak_seq_err", "duplicate_request", "out_of_sequence")

# see "Quirks" in README.md
RXE = sequence.Place(quirks=frozenset(("lazy-timer", "resume-read", "nak-behind-rnr",
                                       "skips-response", "emulated-clock")), settle_s=15)
SETTLE_S = 10  # of uroce; whoever it is may stand still for some seconds
LATE_S = 0.1  # before uroce's last packet: nobody may have read what came since
ACK_TIMEOUT_FLOOR_S = 0.05  # of src/engine/engine.c


def counters(side):
    """Of uroce's device: the sum over its processes, also of those that have ended."""
    folder = f"/sys/class/infiniband/{side.device}/ports/1/hw_counters"
    status, output = pair.run(side.ns, ["grep", "-H", "", *(f"{folder}/{c}" for c in COUNTERS)])
    found = {m.group(1): int(m.group(2)) for m in re.finditer(r"(\w+):(\d+)$", output, re.M)}
    if status != 0 or set(found) != set(COUNTERS):
        raise Failed(f"counters of {side.device}: status {status}\n{output}")
    return found


class Recording:
    """`with Recording(ctx, impair) as r:` run programs with r.env; then r.packets and r.counted.
    UROCE_INTEROP_KEEP names a folder that captures are copied to."""

    def __init__(self, ctx, impair=""):
        self.ctx = ctx
        self.impair = impair
        self.env = dict(SINGLE)
        if impair:
            self.env["UROCE_IMPAIR"] = impair
        self.capture = None
        self.packets = []
        self.counted = {}

    def __enter__(self):
        self.before = counters(self.ctx.ours)
        self.capture = Capture(self.ctx.ours.ns, "ur0")
        return self

    def finish(self):
        """Before the file of the capture goes."""
        self.capture.stop()
        after = counters(self.ctx.ours)
        self.counted = {c: after[c] - self.before[c] for c in COUNTERS}
        self.packets = roce.read(self.capture.path)

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                self.finish()
        finally:
            keep = os.environ.get("UROCE_INTEROP_KEEP")
            if keep:
                shutil.copy(self.capture.path, os.path.join(keep, f"{time.time_ns()}.pcap"))
            self.capture.close()

    # ---- what follows from them ----

    def by_direction(self):
        """(sent by uroce, sent by rxe), but for QP1, whose packets uroced sends."""
        ours = {self.ctx.ours.ipv4, self.ctx.ours.ipv6}
        data = [p for p in self.packets if p.dest_qpn != roce.GSI_QPN]
        return [p for p in data if p.src in ours], [p for p in data if p.src not in ours]

    def places(self):
        """Where the capture lies, for the rules of `sequence`."""
        kinds = frozenset(re.findall(r"(drop|dup|reorder)=", self.impair))
        direction = re.search(r"dir=(\w+)", self.impair)
        direction = direction.group(1) if direction else "rx"
        c = self.counted
        lost = frozenset(("drop",)) if c["io_rx_overflow"] or c["rx_bad_icrc"] else frozenset()
        ours = sequence.Place(
            tx=kinds if direction in ("tx", "both") else frozenset(),
            rx=lost | (kinds if direction in ("rx", "both") else frozenset()),
            timeout_s=ACK_TIMEOUT_FLOOR_S, settle_s=SETTLE_S)
        return {self.ctx.ours.ipv4: ours, self.ctx.ours.ipv6: ours,
                self.ctx.guest.ipv4: RXE, self.ctx.guest.ipv6: RXE}

    def check_sequence(self, is_finished=True):
        """Both stacks keep to go-back-N. The figures. is_finished: nothing ended by an error."""
        places = {address: dataclasses.replace(place, is_finished=is_finished)
                  for address, place in self.places().items()}
        result = sequence.check(self.packets, places)
        if result.violations:
            raise Failed(f"{len(result.violations)} violations of go-back-N in "
                         f"{len(self.packets)} packets\n{result.text()}")
        if result.figures["skipped"] > 20 + len(self.packets) // 50:
            raise Failed(f"{result.figures['skipped']} READ responses of rxe never came")
        return result.figures

    def check_counters(self):
        """Every packet that uroce counted was on the wire, and the other way round; but for those
        that came when its program had said its last word."""
        c = self.counted
        ours, theirs = self.by_direction()
        sent, received = len(ours), len(theirs)
        late = max(sum(p.time > ours[-1].time - LATE_S for p in theirs), repeated_at_end(theirs))
        if c["io_tx_packets"] != sent:
            raise Failed(f"uroce sent {c['io_tx_packets']} packets, the capture has {sent}\n{c}")
        if not received - late <= c["io_rx_packets"] + c["io_rx_overflow"] <= received:
            raise Failed(f"uroce received {c['io_rx_packets']} packets and had no room for "
                         f"{c['io_rx_overflow']}, the capture has {received}, {late} of them late\n"
                         f"{c}")
        for name in ("rx_too_short", "io_tx_dropped"):
            if c[name]:
                raise Failed(f"counter {name} is {c[name]}")
        # a receiver that cannot see IPv4 identifications refuses some that came out of their order
        is_known = all(p.ip_version == 6 for p in theirs) or not self.impair
        if c["rx_bad_icrc"] > (0 if is_known else 80 + received // 10):
            raise Failed(f"{c['rx_bad_icrc']} of {received} packets refused by their ICRC")
