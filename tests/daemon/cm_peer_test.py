#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What strangers on the network and strange programs may do to the connection manager: nothing.

    cm_peer_test.py BUILD_DIR [TEST...]
"""

import ipaddress
import random
import struct
import sys

from checks import Failure, check, eventually
from programs import (A, ACCEPT, B, BIND, C, CHILD, CONNECT, CONNECT_REQUEST, DESTROY, DISCONNECT,
                      DISCONNECTED, ESTABLISH, ESTABLISHED, LISTEN, NOTIFY, PORT, Program, REJECT,
                      RESTORE, RESTORED, Refused, Stranger, TAKEN, TCP, UDP, conn,
                      connect_and_close, counter, gid, mad, packet, run, where)


def req(local, remote, comm_id=0xabc, port=7471, qpn=0x123, guid=0x42):
    d = bytearray(232)
    struct.pack_into(">I", d, 0, comm_id)
    struct.pack_into(">Q", d, 8, TCP << 16 | port)
    struct.pack_into(">Q", d, 16, guid)
    struct.pack_into(">I", d, 32, qpn << 8 | 1)
    d[43] = 20 << 3
    d[47] = 20 << 3 | 7
    struct.pack_into(">H", d, 48, 0xffff)
    d[50] = 3 << 4 | 7
    d[51] = 15 << 4
    d[56:72], d[72:88] = gid(local), gid(remote)
    d[93] = 64
    d[95] = 14 << 3
    d[141] = 0x40
    d[144 + 12:160] = ipaddress.ip_address(local).packed
    d[160 + 12:176] = ipaddress.ip_address(remote).packed
    return bytes(d)


def test_stranger():
    b = Program()
    b.listen(B)
    s = Stranger()
    s.send(B, mad(0x10, req(C, B)))
    e = b.event(CONNECT_REQUEST)
    check(e.remote_ip == gid(C) and e.qpn == 0x123, "from the stranger")
    b.accept(e.handle)
    attribute, tid, rep = s.receive()
    check(attribute == 0x13 and tid == 0x1234567890, "a REP")
    check(struct.unpack_from(">I", rep, 4)[0] == 0xabc, "to its REQ")
    check(struct.unpack_from(">Q", rep, 28)[0] != 0, "with a GUID")
    passive = struct.unpack_from(">I", rep, 0)[0]
    # Each check of a packet, and its counter.
    good = mad(0x10, req(C, B, 0xabd, qpn=0x124))
    for name, change in (("rx_bad_qkey", {"qkey": 0x1234}), ("rx_bad_pkey", {"pkey": 0x8001}),
                         ("rx_bad_opcode", {"opcode": 0x04}), ("rx_bad_qpn", {"src_qpn": 5}),
                         ("rx_bad_qpn", {"qpn": 2})):
        before = counter("gsi_" + name)
        s.send(B, good, **change)
        eventually(lambda: counter("gsi_" + name) == before + 1, "%s counted" % name)
    damaged = bytearray(packet(C, B, s.tx.getsockname()[1], good))
    damaged[100] ^= 1
    before = counter("gsi_rx_bad_icrc")
    s.tx.sendto(damaged, (B, PORT))
    eventually(lambda: counter("gsi_rx_bad_icrc") == before + 1, "a damaged packet is counted")
    before = counter("cm_rx_bad_length")
    s.send(B, good[:200])
    eventually(lambda: counter("cm_rx_bad_length") == before + 1, "a short one is counted")
    b.no_event()
    # Established, then a DREQ that is wrong in one thing after the other.
    s.send(B, mad(0x14, struct.pack(">II", 0xabc, passive)))
    b.event(ESTABLISHED)
    for name, ids in (("cm_rx_wrong_remote_id", (0xabb, passive, 0x20001)),
                      ("cm_rx_wrong_qpn", (0xabc, passive, 0x20002))):
        before = counter(name)
        s.send(B, mad(0x15, struct.pack(">IIH", ids[0], ids[1], ids[2] >> 8) +
                      bytes([ids[2] & 0xff])))
        eventually(lambda: counter(name) == before + 1, "%s counted" % name)
    thief = Stranger("10.9.0.4")
    before = counter("cm_rx_wrong_address")
    dreq = struct.pack(">II", 0xabc, passive) + (0x20001 << 8).to_bytes(4, "big")
    thief.send(B, mad(0x15, dreq))
    eventually(lambda: counter("cm_rx_wrong_address") == before + 1, "another's DREQ is counted")
    b.no_event()
    # One for a connection that does not exist is answered all the same.
    thief.send(B, mad(0x15, struct.pack(">II", 0x77, passive ^ 1)))
    check(thief.receive()[0] == 0x16, "a DREP")
    s.send(B, mad(0x15, dreq))
    b.event(DISCONNECTED)
    s.close()
    thief.close()
    b.close()


def random_body(draw, op):
    private = bytes(draw.getrandbits(8) for _ in range(draw.choice((0, 5, 56, 57, 136, 180, 196, 224))))
    address = draw.choice((A, B, "", "10.9.9.9", "fd09::1", "fe80::9:1%dum0", "127.0.0.1"))
    bind = struct.pack("<HB", draw.choice((TCP, UDP, 0x13f, 2)), draw.choice((4, 6))) + where(address)
    port = draw.choice((0, 1, 7471, 7472, draw.getrandbits(15)))
    flags = draw.getrandbits(2)
    if op == BIND:
        return bind + struct.pack("<HI", port, flags)
    if op == LISTEN:
        return struct.pack("<II", draw.choice((0, 1, 8, 5000)), draw.getrandbits(2) & 2)
    if op == CONNECT:
        return where(draw.choice((A, address))) + gid(draw.choice((A, B))) + \
            bytes(draw.getrandbits(8) for _ in range(12)) + struct.pack("<H", port) + \
            conn(draw.getrandbits(24), draw.choice((0, 1, 3, 4))) + bytes([len(private)]) + private
    if op == ACCEPT:
        return conn(draw.getrandbits(24), draw.choice((0, 4))) + bytes([len(private)]) + private
    if op == REJECT:
        return struct.pack("<H", draw.choice((28, 35, 0, 9))) + bytes([len(private)]) + private
    if op == RESTORE:
        saved = bytes(draw.getrandbits(8) for _ in range(draw.choice((0, 40, 100))))
        return bind + struct.pack("<HI", port, flags) + struct.pack("<I", draw.getrandbits(3)) + \
            struct.pack("<H", len(saved)) + saved
    return b""


def test_random_requests():
    """Programs that ask for anything at any time: uroced answers each and goes on."""
    seed = random.getrandbits(32)
    draw = random.Random(seed)
    programs = [Program() for _ in range(3)]
    answers = {True: 0, False: 0}
    try:
        for _ in range(6000):
            p = draw.choice(programs)
            op = draw.choice((BIND, LISTEN, CONNECT, CONNECT, ACCEPT, ACCEPT, REJECT, ESTABLISH,
                              ESTABLISH, DISCONNECT, NOTIFY, TAKEN, DESTROY, RESTORE, RESTORED))
            known = [e.handle for e in p.events] + [1, 2, 3, draw.getrandbits(3), CHILD | 1]
            handle = draw.choice(known)
            if op == TAKEN:
                p.send(22, struct.pack("<IB", handle, op))
                continue
            try:
                p.ask(handle, op, random_body(draw, op))
                answers[True] += 1
            except Refused:
                answers[False] += 1
            del p.events[:-16]
            if draw.random() < 0.002:
                p.close()
                programs[programs.index(p)] = Program()
        check(answers[True] > 500 and answers[False] > 500, "answers %s" % answers)
    except Exception as e:
        raise Failure("%s (seed %d)" % (e, seed)) from e
    for p in programs:
        p.close()
    # And it still does its work; on a port that no late REQ of those programs is for.
    connect_and_close(61473)


def test_flood():
    """REQs without end: the backlog bounds them, and others still get through."""
    a, b = Program(), Program()
    b.listen(B, backlog=16)
    other = Program()
    other.listen(B, 7500)
    s = Stranger()
    for i in range(2000):
        s.send(B, mad(0x10, req(C, B, 0x1000 + i, qpn=0x1000 + i)))
    for i in range(16):
        b.event(CONNECT_REQUEST)
    b.no_event()
    eventually(lambda: counter("cm_rx_backlog_full") > 0, "the rest was dropped")
    a.connect_to(A, B, port=7500, qpn=3)
    other.event(CONNECT_REQUEST)
    for p in (a, b, other):
        p.close()
    s.close()


if __name__ == "__main__":
    sys.exit(run(globals()))
