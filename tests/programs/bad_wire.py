#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""A wire between two interfaces of its namespace that is bad to packets for QP1 and good to all
others: a fifth of them is lost, a fifth comes twice, a fifth late, a fifth after its successor.

  bad_wire.py SEED INTERFACE INTERFACE

Goes on until SIGTERM, then says what it did. Frames keep the header that tells of a checksum or a
segmentation left to the device (PACKET_VNET_HDR), so both ends may use what they have.
"""
import heapq
import random
import select
import signal
import socket
import struct
import sys
import time

SOL_PACKET, PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING = 263, 15, 23
VNET_BYTES = 10
SHARE = 0.2
LATE_S = (0.005, 0.1)
HELD_S = 0.05


def is_for_qp1(frame):
    """RoCEv2 over IPv4 or IPv6 without options, to QP 1."""
    kind = frame[12:14]
    at = {b"\x08\x00": 34, b"\x86\xdd": 54}.get(kind, 0)
    if not at or frame[23 if at == 34 else 20] != 17 or len(frame) < at + 20:
        return False
    return frame[at + 2:at + 4] == struct.pack(">H", 4791) and frame[at + 13:at + 16] == b"\0\0\x01"


class Wire:
    def __init__(self, seed, names):
        self.draw = random.Random(seed)
        self.ends = []
        self.late = []  # (when, number, end, frame)
        self.held = [None, None]
        self.done = dict.fromkeys(("passed", "lost", "doubled", "late", "reordered"), 0)
        self.number = 0
        for name in names:
            end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
            end.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
            end.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
            end.bind((name, 0))
            end.setblocking(False)
            self.ends.append(end)

    def send_later(self, to, frame, seconds):
        self.number += 1
        heapq.heappush(self.late, (time.monotonic() + seconds, self.number, to, frame))

    def send(self, to, frame):
        try:
            self.ends[to].send(frame)
        except OSError:
            pass  # the other end is full or down: lost

    def release(self, to):
        if self.held[to]:
            self.send(to, self.held[to])
            self.held[to] = None

    def take(self, to, frame):
        self.done["passed"] += 1
        if self.draw.random() < SHARE:
            self.done["lost"] += 1
            return
        if self.draw.random() < SHARE:
            self.done["doubled"] += 1
            self.send_later(to, frame, self.draw.uniform(0, LATE_S[1]))
        if self.draw.random() < SHARE:
            self.done["late"] += 1
            self.send_later(to, frame, self.draw.uniform(*LATE_S))
        elif self.draw.random() < SHARE and not self.held[to]:
            self.done["reordered"] += 1
            self.held[to] = frame
            self.send_later(to, None, HELD_S)
        else:
            self.send(to, frame)
            self.release(to)

    def run(self):
        while True:
            wait = max(0, self.late[0][0] - time.monotonic()) if self.late else None
            for end in select.select(self.ends, [], [], wait)[0]:
                to = 1 - self.ends.index(end)
                frame = end.recv(VNET_BYTES + 65536 + 64)
                if is_for_qp1(frame[VNET_BYTES:]):
                    self.take(to, frame)
                else:
                    self.send(to, frame)
            while self.late and self.late[0][0] <= time.monotonic():
                _, _, to, frame = heapq.heappop(self.late)
                if frame:
                    self.send(to, frame)
                else:
                    self.release(to)


def main():
    wire = Wire(int(sys.argv[1]), sys.argv[2:4])

    def end(*_):
        print(" ".join(f"{name} {count}" for name, count in wire.done.items()), flush=True)
        sys.exit(0)
    signal.signal(signal.SIGTERM, end)
    print("ready", flush=True)
    wire.run()


if __name__ == "__main__":
    main()
