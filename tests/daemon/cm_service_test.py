#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The connection manager of uroced: connections, refusals, datagrams, ports, limits, addresses.

    cm_service_test.py BUILD_DIR [TEST...]
"""

import os
import socket
import struct
import subprocess
import sys

from checks import Failure, Skip, check, eventually
from programs import (A, B, CHILD, CONNECT, CONNECT_REQUEST, CONNECT_RESPONSE, DESTROY, DISCONNECT,
                      DISCONNECTED, ESTABLISH, ESTABLISHED, LISTEN, PORT, Program, REJECT, REJECTED,
                      Refused, TAKEN, TCP, UDP, UNREACHABLE, conn, connect_and_close, counter,
                      daemon, establish, gid, run, where)

NOBODY = 65534
EACCES, EINVAL, EADDRINUSE, EADDRNOTAVAIL, EISCONN, ESTALE, ENOMEM = 13, 22, 98, 99, 106, 116, 12


def test_connect_and_close():
    connect_and_close(7471)


def test_wildcard_and_refusals():
    a, b = Program(), Program()
    b.listen()
    h = a.connect_to(A, B)
    e = b.event(CONNECT_REQUEST)
    check(e.local_ip == gid(B), "at the address that was asked")
    b.ask(e.handle, REJECT, struct.pack("<HB", 28, 3) + b"no!")
    r = a.event(REJECTED)
    check(r.status == 28 and len(r.data) == 148 and r.data.startswith(b"no!"), "the reason")
    b.ask(e.handle, DESTROY)
    h = a.connect_to(A, B)
    e = b.event(CONNECT_REQUEST)
    a.ask(h, DESTROY)
    eventually(lambda: refused(b, e.handle) == EINVAL, "the peer has gone")
    h = a.connect_to(A, B, port=7472)
    check(a.event(REJECTED).status == 8, "nobody listens there")
    a.close()
    b.close()


def refused(program, child):
    try:
        program.accept(child)
        return 0
    except Refused as e:
        return e.errno


def serves(address):
    """Whether uroced has a socket on the address."""
    with open("/proc/net/udp", encoding="ascii") as f:
        text = "%08X:%04X" % (struct.unpack("=I", socket.inet_aton(address))[0], PORT)
        return text in f.read()


def test_ipv6():
    a, b = Program(), Program()
    b.listen("", 7471, family=6)
    h = a.bind("fd09::1", 0)
    path = where("fd09::1") + gid("fd09::2") + struct.pack("<IHBBBBBB", 0, 0xffff, 0x68, 64, 0, 3, 2, 16)
    a.ask(h, CONNECT, path + struct.pack("<H", 7471) + conn(5, ack_timeout=14) + b"\0")
    e = b.event(CONNECT_REQUEST)
    check(e.remote_ip == gid("fd09::1") and e.traffic_class == 0x68, "over IPv6")
    b.accept(e.handle)
    a.event(CONNECT_RESPONSE)
    # An IPv6 wildcard takes IPv4 too.
    a.connect_to(A, B, qpn=6)
    b.event(CONNECT_REQUEST)
    # Unless the program says so, which it may do after BIND.
    b.listen("", 7472, family=6, listen_flags=2)
    a.connect_to(A, B, port=7472, qpn=7)
    check(a.event(REJECTED).status == 8, "for IPv6 alone")
    a.close()
    b.close()


def test_link_local():
    a, b = Program(), Program()
    b.listen("fe80::9:2%dum0", 7471)
    h = a.bind("fe80::9:1%dum0", 0)
    path = where("fe80::9:1%dum0") + gid("fe80::9:2") + \
        struct.pack("<IHBBBBBB", 0, 0xffff, 0, 64, 0, 3, 2, 16)
    a.ask(h, CONNECT, path + struct.pack("<H", 7471) + conn(5, ack_timeout=14) + b"\0")
    e = b.event(CONNECT_REQUEST)
    check(e.path_scope == socket.if_nametoindex("dum0"), "the interface")
    a.close()
    b.close()


def test_datagrams():
    a, b = Program(), Program()
    b.listen(B, ps=UDP)
    h = a.connect_to(A, B, transport=4, ps=UDP, data=b"q" * 180)
    e = b.event(CONNECT_REQUEST)
    check(e.transport == 4 and e.data == b"q" * 180, "SIDR_REQ")
    b.accept(e.handle, 0x30003, b"r" * 136, transport=4)
    r = a.event(ESTABLISHED)
    check(r.qpn == 0x30003 and r.qkey == 0x01234567 and r.data == b"r" * 136, "SIDR_REP")
    check(r.path_remote == gid(B), "where to")
    h = a.connect_to(A, B, port=7472, transport=4, ps=UDP)
    check(a.event(UNREACHABLE).status == 1, "no such service")
    b.no_event()
    a.close()
    b.close()


def test_ports():
    a, b = Program(), Program()

    def fails(program, number, *args, **more):
        try:
            program.bind(*args, **more)
        except Refused as e:
            check(e.errno == number, "errno %d, not %d" % (e.errno, number))
            return
        raise Failure("bound")

    first = a.bind(A, 7000)
    fails(b, EADDRINUSE, A, 7000)
    fails(b, EADDRNOTAVAIL, "", 7000)
    fails(b, EADDRNOTAVAIL, "10.9.9.9", 7001)
    b.bind(B, 7000)
    b.bind(A, 7000, ps=UDP)
    a.ask(first, DESTROY)
    shared = [p.bind(A, 7000, flags=1) for p in (a, b)]
    try:
        a.ask(shared[0], LISTEN, struct.pack("<II", 1, 0))
        raise Failure("two on one port, and one listens")
    except Refused as e:
        check(e.errno == EADDRINUSE, "errno %d" % e.errno)
    h = a.bind(A)
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as f:
        low, high = map(int, f.read().split())
    port = struct.unpack_from("<H", a.bound[h], 23)[0]
    check(low <= port <= high, "port %d" % port)
    a.close()
    # What a program held is free when it has gone.
    eventually(lambda: can_bind(b), "the port is free")
    b.close()


def can_bind(program, port=7003):
    try:
        program.bind("", port, family=4)
        return True
    except Refused:
        return False


def test_limit_of_one_program():
    a, b = Program(), Program()
    made = 0
    try:
        for port in range(1024, 65536):
            a.bind(A, port)
            made += 1
    except Refused as e:
        check(e.errno == ENOMEM, "errno %d" % e.errno)
    check(made == 32768, "%d ids" % made)
    b.bind(B, 1024)  # others are not affected
    a.close()
    eventually(lambda: can_bind(b, 1025), "all that it had is free again")
    b.close()


def test_backlog():
    a, b = Program(), Program()
    l = b.listen(B, backlog=2)
    handles = [a.connect_to(A, B, qpn=100 + i) for i in range(3)]
    first, second = b.event(CONNECT_REQUEST), b.event(CONNECT_REQUEST)
    b.no_event()
    eventually(lambda: counter("cm_rx_backlog_full") >= 1, "the third was dropped")
    b.send(22, struct.pack("<IB", first.handle, TAKEN))
    third = b.event(CONNECT_REQUEST)  # when its REQ is repeated
    check(third.qpn == 102, "the third")
    # Those that were not taken go with the listener.
    b.ask(l, DESTROY)
    gone = {a.event(REJECTED).handle, a.event(REJECTED).handle}
    check(gone == set(handles[1:]), "two are refused")
    check(refused(b, second.handle) == EINVAL, "the child has gone")
    b.accept(first.handle)
    a.event(CONNECT_RESPONSE)
    a.close()
    b.close()


def test_many_programs():
    """Sixteen on one address, each connected with each: nobody sees another's."""
    programs = [Program() for _ in range(16)]
    for i, p in enumerate(programs):
        p.listen(B, 7600 + i, backlog=64)
    for i, p in enumerate(programs):
        for k in range(16):
            p.connect_to(B, B, 7600 + k, qpn=0x10000 + 256 * i + k)
    for k, p in enumerate(programs):
        for _ in programs:
            e = p.event_of(CONNECT_REQUEST)
            check(e.qpn % 256 == k, "a request for %d" % k)
            p.accept(e.handle, 0x20000 + e.qpn % 0x10000)
    for i, p in enumerate(programs):
        for _ in programs:
            e = p.event_of(CONNECT_RESPONSE)
            check(e.qpn // 256 % 256 == i, "a response for %d" % i)
            p.ask(e.handle, ESTABLISH)
    for p in programs:
        check({p.event(ESTABLISHED).handle & CHILD for _ in programs} == {CHILD}, "children")
        p.no_event(0)
    # What is another's cannot be had: its port, its handle, its connection.
    thief, victim = Program(), programs[0]
    for attempt in (lambda: thief.listen(B, 7600), lambda: thief.ask(1, DISCONNECT),
                    lambda: thief.accept(CHILD | 1)):
        try:
            attempt()
            raise Failure("taken over")
        except Refused as e:
            check(e.errno in (EADDRINUSE, EINVAL), "errno %d" % e.errno)
    handle = next(h for h in victim.saved if victim.saved[h])
    try:
        thief.restore_one(victim, handle, victim.bound.get(handle, struct.pack("<HB", TCP, 4) +
                                                           bytes(20) + struct.pack("<HI", 0, 0)))
        raise Failure("a connection was taken over")
    except Refused as e:
        check(e.errno == ESTALE, "errno %d" % e.errno)
    victim.no_event()
    for p in programs + [thief]:
        p.close()


def test_two_users():
    """Users who share a daemon share its addresses, and nothing else."""
    with open("/proc/self/uid_map", encoding="ascii") as f:
        if os.geteuid() != 0 or int(f.read().split()[2]) <= NOBODY:
            raise Skip("no right to act as another user")
    Program().close()  # it is up
    daemon.stop()
    daemon.start("--share-with=%d" % NOBODY)
    stranger = None
    root = Program()
    os.chmod(os.environ["UROCE_SOCKET"], 0o777)
    os.seteuid(NOBODY)
    try:
        nobody = Program()
    finally:
        os.seteuid(0)
    os.seteuid(NOBODY - 1)
    try:
        stranger = Program()
    except Failure:
        pass
    finally:
        os.seteuid(0)
    check(stranger is None, "a third user is served")
    l = root.listen(B)
    for port, number in ((7471, EADDRINUSE), (0, 0)):
        try:
            nobody.bind(B, port)
            check(number == 0, "port %d was had twice" % port)
        except Refused as e:
            check(e.errno == number, "errno %d" % e.errno)
    _, child = establish(nobody, root)
    for handle in (l, child):
        try:
            nobody.ask(handle, DISCONNECT)
            raise Failure("another user's id was used")
        except Refused as e:
            check(e.errno == EINVAL, "errno %d" % e.errno)
    root.no_event()
    nobody.close()
    check(root.event(DISCONNECTED).handle == child, "told when the other user's program dies")
    root.close()


def resident_kib():
    with open("/proc/%d/status" % daemon.process.pid, encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))


def test_many_connections():
    """A thousand set up and closed, then twice as many: neither memory nor descriptors grow, and
    nobody has more than is in quarantine."""
    Program().close()
    daemon.stop()
    # freed memory that ASan holds back for a while is not growth
    daemon.start(env={"ASAN_OPTIONS": "quarantine_size_mb=0:thread_local_quarantine_size_kb=0"})
    a, b = Program(), Program()
    b.listen(B)

    def cycle(count, first):
        for i in range(count):
            h, child = establish(a, b, (first + i, first + i))
            a.ask(h, DISCONNECT)
            b.event(DISCONNECTED)
            b.destroy(child)
            a.event(DISCONNECTED)
            a.destroy(h)

    cycle(1500, 0x10000)  # until as many are kept as may be
    before = resident_kib(), len(os.listdir("/proc/%d/fd" % daemon.process.pid))
    cycle(2000, 0x20000)
    after = resident_kib(), len(os.listdir("/proc/%d/fd" % daemon.process.pid))
    check(after[0] <= before[0] + 1024 and after[1] <= before[1],
          "KiB and descriptors %s, then %s" % (before, after))
    check(counter("cm_established") == 7000, "all were established, at both ends")
    eventually(lambda: counter("cm_ids") == counter("cm_ids_held"), "all have ended")
    check(counter("cm_ids_half_open") == 0, "none is half-open")
    # What the machine delays for seconds is repeated; what uroced loses would be in each cycle.
    check(counter("cm_timeouts") == 0 and counter("cm_tx_repeated") < 70, "nothing was lost")
    a.close()
    b.close()


def test_address_comes_later():
    a, b = Program(), Program()
    b.listen()
    subprocess.run(["ip", "addr", "add", "10.9.0.44/24", "dev", "dum0"], check=True)
    try:
        eventually(lambda: serves("10.9.0.44"), "the new address is served")
        a.connect_to(A, "10.9.0.44")
        e = b.event(CONNECT_REQUEST)
        check(e.local_ip == gid("10.9.0.44"), "at the new address")
        b.ask(e.handle, DESTROY)
        a.event(REJECTED)
    finally:
        subprocess.run(["ip", "addr", "del", "10.9.0.44/24", "dev", "dum0"], check=True)
    eventually(lambda: not serves("10.9.0.44"), "the old address is not served")
    a.close()
    b.close()


def test_addresses_are_let_go():
    b = Program()
    l = b.listen()
    eventually(lambda: serves(A) and serves(B), "all are served")
    b.ask(l, DESTROY)
    eventually(lambda: not serves(A) and not serves(B), "none is")
    b.close()


if __name__ == "__main__":
    sys.exit(run(globals()))
