#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Connections whose programs or whose uroced die, stop and come back.

    cm_death_test.py BUILD_DIR [TEST...]
"""

import struct
import sys
import time

from checks import Failure, PATIENCE, check, eventually
from programs import (A, B, C, CHILD, CONNECT_REQUEST, CONNECT_RESPONSE, DISCONNECT, DISCONNECTED,
                      ESTABLISH, Program, REJECTED, RESTORE, RESTORED, Refused, Stranger, TCP,
                      TIMEWAIT_EXIT, counter, daemon, establish, mad, run)


def test_program_dies():
    a, b = Program(), Program()
    b.listen(B)
    h, child = establish(a, b)
    waiting = a.connect_to(A, B, qpn=7)
    b.event(CONNECT_REQUEST)
    b.close()
    kinds = {e.handle: (e.type, e.status) for e in (a.event(), a.event())}
    check(kinds == {h: (DISCONNECTED, 0), waiting: (REJECTED, 28)} or
          kinds == {waiting: (REJECTED, 28), h: (DISCONNECTED, 0)}, "told: %s" % kinds)
    a.close()


def test_program_stopped():
    """A program that does not read keeps its connections, and hears of them later."""
    a, b = Program(), Program()
    b.listen(B, backlog=1024)
    pairs = [establish(a, b, (1000 + i, 2000 + i)) for i in range(100)]
    for h, _ in pairs:
        a.ask(h, DISCONNECT)
    a.no_event(0.5)
    other = Program()
    other.listen(C, 7471)
    x = a.connect_to(A, C, qpn=9)
    e = other.event(CONNECT_REQUEST)
    other.accept(e.handle, 10)
    a.event(CONNECT_RESPONSE)
    told = {b.event(DISCONNECTED).handle for _ in pairs}
    check(told == {child for _, child in pairs}, "all are told")
    for _, child in pairs:
        b.ask(child, DISCONNECT)
    ended = sorted(a.event().type for _ in range(200))
    check(ended == [DISCONNECTED] * 100 + [TIMEWAIT_EXIT] * 100, "all have ended")
    for p in (a, b, other):
        p.close()


def test_daemon_killed():
    a, b = Program(), Program()
    l = b.listen(B)
    h, child = establish(a, b)
    daemon.kill()
    daemon.start()
    a2, b2 = Program(a.instance), Program(b.instance)
    b2.restore(b)
    a2.restore(a)
    check(counter("cm_restored") == 2, "both ends are back")
    # The listener too, and the old connection can be closed.
    a2.last = a.last
    time.sleep(1.6)
    a2.connect_to(A, B, qpn=77)
    e = b2.event(CONNECT_REQUEST)
    check(e.listener == l and e.handle != child, "the listener is back")
    a2.ask(h, DISCONNECT)
    check(b2.event(DISCONNECTED).handle == child, "told")
    b2.ask(child, DISCONNECT)
    check(a2.event(DISCONNECTED).handle == h, "told")
    for p in (a, b, a2, b2):
        p.close()


def test_daemon_killed_while_closing():
    a, b = Program(), Program()
    b.listen(B)
    h, child = establish(a, b)
    a.ask(h, DISCONNECT)
    b.event(DISCONNECTED)
    daemon.kill()
    daemon.start()
    a2, b2 = Program(a.instance), Program(b.instance)
    a2.restore(a)
    b2.restore(b)
    b2.ask(child, DISCONNECT)
    # The DREQ of before is answered, or the one that went out anew, when that comes again.
    check(a2.event(DISCONNECTED).status == 0, "told")
    b2.event(TIMEWAIT_EXIT)
    a2.event(TIMEWAIT_EXIT)
    for p in (a, b, a2, b2):
        p.close()


def test_children_of_before_keep_their_numbers():
    """One that cannot be taken up is still an id of its program."""
    a, b = Program(), Program()
    b.listen(B)
    establish(a, b)
    daemon.kill()
    daemon.start()
    a2, b2 = Program(a.instance), Program(b.instance)
    bind = struct.pack("<HB", TCP, 4) + bytes(20) + struct.pack("<HI", 0, 0)
    for child in (CHILD | 1, CHILD | 2, CHILD | 5):
        try:
            b2.ask(child, RESTORE, bind + struct.pack("<IH", 0, 4) + b"junk")
            raise Failure("a child was taken up from nothing")
        except Refused:
            pass
    b2.ask(0, RESTORED)
    b2.last = b.last
    b2.listen(B, port=7480)
    a2.last = a.last
    a2.connect_to(A, B, port=7480)
    check(b2.event(CONNECT_REQUEST).handle == CHILD | 6, "a number that nobody has")
    for p in (a, b, a2, b2):
        p.close()


def test_program_reconnects():
    """Its connection broke and it comes back before that was noticed: nothing is torn down."""
    a, b = Program(), Program()
    b.listen(B)
    h, child = establish(a, b)
    a2 = Program(a.instance)
    a2.restore(a)
    b.no_event()
    b.ask(child, DISCONNECT)
    check(a2.event(DISCONNECTED).handle == h, "told")
    for p in (a, b, a2):
        p.close()


def start_and_connect(option):
    """A program of a uroced which may have left again before it came."""
    while True:
        daemon.start(option)
        try:
            return Program(is_expected=lambda: daemon.process.poll() is None)
        except (Failure, OSError):
            if daemon.process.wait(PATIENCE) != 0:
                raise


def test_dreq_outlives_its_program():
    """The last program dies, and the DREQ for its peer is lost: uroced stays until it is answered,
    then leaves."""
    Program().close()  # it is up
    daemon.stop()
    a = start_and_connect("--idle-exit=1")
    s = Stranger()
    h = a.connect_to(A, C, qpn=0x10001)
    attribute, tid, data = s.receive()
    check(attribute == 0x10, "a REQ")
    active = struct.unpack_from(">I", data, 0)[0]
    rep = struct.pack(">III", 0xabc, active, 0) + (0x222 << 8).to_bytes(4, "big") + bytes(12) + \
        struct.pack(">Q", 0x42)
    s.send(A, mad(0x13, rep, tid))
    a.event(CONNECT_RESPONSE)
    a.ask(h, ESTABLISH)
    check(s.receive()[0] == 0x14, "an RTU")
    a.close()
    first = s.receive()
    check(first[0] == 0x15 and first[2][8:11] == b"\x00\x02\x22", "a DREQ at once, with our QPN")
    second = s.receive()  # the first was lost
    check(second == first, "the same again")
    check(daemon.process.poll() is None, "it is still there")
    s.send(A, mad(0x16, struct.pack(">II", 0xabc, active), first[1]))
    eventually(lambda: daemon.process.poll() is not None, "it leaves")
    s.close()
    daemon.start()
    Program().close()


if __name__ == "__main__":
    sys.exit(run(globals()))
