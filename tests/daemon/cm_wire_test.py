#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Dialogues over a bad wire.

    cm_wire_test.py BUILD_DIR [TEST...]
"""

import heapq
import os
import random
import select
import socket
import subprocess
import sys
import threading
import time

from checks import Failure, built, check, eventually
from programs import (CONNECT_REQUEST, CONNECT_RESPONSE, DESTROY, DISCONNECT, DISCONNECTED,
                      ESTABLISH, ESTABLISHED, Program, REJECTED, TIMEWAIT_EXIT, UNREACHABLE, run)


class BadWire:
    """Two namespaces, a daemon in each, and we are the wire: a fifth of the packets is lost, a
    fifth comes twice, all are late, so they overtake each other.

        +------ a ------+      +--- this namespace ---+      +------ b ------+
        | ur0 10.8.0.1  |------| wa   (packets)    wb |------| ur0 10.8.0.2  |
        +---------------+      +----------------------+      +---------------+
    """

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.holders, self.daemons, self.ends = [], [], []
        self.late = []
        self.passed = self.lost = self.doubled = 0
        for i, side in enumerate("ab"):
            holder = subprocess.Popen(["unshare", "--net", "sleep", "1000"])
            own = os.stat("/proc/self/ns/net").st_ino
            eventually(lambda: os.stat("/proc/%d/ns/net" % holder.pid).st_ino != own, "a namespace")
            self.holders.append(holder)
            inside = ["nsenter", "--net=/proc/%d/ns/net" % holder.pid]
            subprocess.run(["ip", "link", "add", "w" + side, "type", "veth", "peer", "name", "ur0",
                            "netns", str(holder.pid)], check=True)
            subprocess.run(["ip", "link", "set", "w" + side, "up"], check=True)
            for command in ("link set lo up", "link set ur0 up",
                            "addr add 10.8.0.%d/24 dev ur0" % (i + 1)):
                subprocess.run(inside + ["ip"] + command.split(), check=True)
            end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
            end.bind(("w" + side, 0))
            end.setblocking(False)
            self.ends.append(end)
            path = "%s-%s" % (os.environ["UROCE_SOCKET"], side)
            self.daemons.append(subprocess.Popen(
                inside + [built("bin/uroced"), "--foreground", "--no-keeper", "--idle-exit=0",
                          "--socket=" + path], stdin=subprocess.DEVNULL))
        self.thread = threading.Thread(target=self.run)
        self.is_ending = False
        self.thread.start()

    def path(self, side):
        return "%s-%s" % (os.environ["UROCE_SOCKET"], side)

    def run(self):
        while not self.is_ending:
            wait = self.late[0][0] - time.monotonic() if self.late else 0.1
            for end in select.select(self.ends, [], [], min(max(wait, 0), 0.1))[0]:
                self.take(end)
            while self.late and self.late[0][0] <= time.monotonic():
                _, _, end, frame = heapq.heappop(self.late)
                end.send(frame)

    def take(self, end):
        frame, address = end.recvfrom(65536)
        other = self.ends[1 - self.ends.index(end)]
        if address[2] == 4:  # PACKET_OUTGOING
            return
        if frame[12:14] != b"\x08\x00" or frame[23] != 17:
            other.send(frame)
            return
        # The checksum is left to the device, which we are: none.
        frame = frame[:40] + b"\0\0" + frame[42:]
        if self.random.random() < 0.2:
            self.lost += 1
            return
        for _ in range(2 if self.random.random() < 0.2 else 1):
            late = self.random.random() * (2.0 if self.random.random() < 0.2 else 0.01)
            heapq.heappush(self.late, (time.monotonic() + late, self.random.random(), other, frame))
            self.passed += 1

    def close(self):
        self.is_ending = True
        self.thread.join()
        for d in self.daemons:
            d.terminate()
            d.wait()
        for h in self.holders:
            h.kill()
            h.wait()
        for e in self.ends:
            e.close()


def dialogue_of(events, handle):
    return [(e.type, e.status) for e in events if e.handle == handle]


def drive(a, b, attempts, seconds):
    """Answers what comes until all attempts have ended at both ends: all events of both."""
    seen = ([], [])
    open_children = set()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ended = {e.handle for e in seen[0] if e.type in (UNREACHABLE, REJECTED, TIMEWAIT_EXIT)}
        if ended >= set(attempts) and not open_children:
            return seen
        ready = select.select([a.s, b.s], [], [], 0.2)[0]
        for k, p in enumerate((a, b)):
            if p.s not in ready and not p.events:
                continue
            e = p.event()
            seen[k].append(e)
            if e.type == CONNECT_REQUEST:
                open_children.add(e.handle)
                p.accept(e.handle, 0x20000 + len(seen[1]))
            elif e.type == CONNECT_RESPONSE:
                p.ask(e.handle, ESTABLISH)
            elif e.type == ESTABLISHED:
                p.ask(e.handle, DISCONNECT)
            elif e.type == DISCONNECTED and k == 0:
                p.ask(e.handle, DISCONNECT)
            if k == 1 and e.type in (UNREACHABLE, REJECTED, TIMEWAIT_EXIT):
                open_children.discard(e.handle)
    raise Failure("%d of %d attempts have not ended, %d children" %
                  (len(set(attempts) - ended), len(attempts), len(open_children)))


def test_bad_wire():
    seed = random.getrandbits(32)
    wire = BadWire(seed)
    try:
        a, b = Program(path=wire.path("a")), Program(path=wire.path("b"))
        l = b.listen("10.8.0.2", backlog=200)
        attempts = [a.connect_to("10.8.0.1", "10.8.0.2", qpn=0x10000 + i) for i in range(100)]
        seen = drive(a, b, attempts, 600)
        a.no_event()
        b.no_event(0)
        requests = [e for e in seen[1] if e.type == CONNECT_REQUEST]
        check(len(requests) == len({e.qpn for e in requests}) <= 100, "each attempt is seen once")
        for events, handles in ((seen[0], attempts), (seen[1], [e.handle for e in requests])):
            for h in handles:
                kinds = [t for t, _ in dialogue_of(events, h)]
                check(len(kinds) == len(set(kinds)), "no event twice: %s" % kinds)
                check(kinds in ([CONNECT_RESPONSE, DISCONNECTED, TIMEWAIT_EXIT],
                                [CONNECT_REQUEST, ESTABLISHED, DISCONNECTED, TIMEWAIT_EXIT]),
                      "a dialogue: %s" % kinds)
        check(wire.lost > 50 and wire.passed > 300, "the wire was bad")
        b.ask(l, DESTROY)
        a.close()
        b.close()
    except Failure as e:
        raise Failure("%s (seed %d)" % (e, seed))
    finally:
        wire.close()


if __name__ == "__main__":
    sys.exit(run(globals()))
