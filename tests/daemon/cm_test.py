#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The connection manager of uroced, with real sockets, in a network namespace of its own whose
device has several addresses: each address is a host, and all are served by one uroced.

    cm_test.py BUILD_DIR [TEST...]

Programs are connections to the daemon made here, which speak its messages without the library;
strangers send packets to UDP port 4791 with an ICRC made here. Exit status 77 where no network
namespace can be made.
"""

import heapq
import ipaddress
import os
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import zlib

SKIP = 77
NOBODY = 65534
PORT = 4791
TCP, UDP = 0x106, 0x111
CHILD = 0x80000000
# Requests, events, errors.
(BIND, LISTEN, CONNECT, ACCEPT, REJECT, ESTABLISH, DISCONNECT, NOTIFY, TAKEN, DESTROY, RESTORE,
 RESTORED) = range(1, 13)
(CONNECT_REQUEST, CONNECT_RESPONSE, _, UNREACHABLE, REJECTED, ESTABLISHED,
 DISCONNECTED) = range(4, 11)
TIMEWAIT_EXIT = 15
EACCES, EINVAL, EADDRINUSE, EADDRNOTAVAIL, EISCONN, ESTALE, ENOMEM = 13, 22, 98, 99, 106, 116, 12
A, B, C = "10.9.0.1", "10.9.0.2", "10.9.0.3"

build = ""


class Failure(Exception):
    pass


class Skip(Exception):
    pass


def check(condition, what):
    if not condition:
        raise Failure(what)


def eventually(predicate, what, seconds=5.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = predicate()
        if value:
            return value
        time.sleep(0.01)
    raise Failure("not within %g s: %s" % (seconds, what))


def gid(address):
    if not address:
        return bytes(16)
    a = ipaddress.ip_address(address.split("%")[0])
    return a.packed if a.version == 6 else bytes(10) + b"\xff\xff" + a.packed


def scope(address):
    return socket.if_nametoindex(address.split("%")[1]) if "%" in address else 0


def where(address):
    return gid(address) + struct.pack("<I", scope(address))


class Cursor:
    def __init__(self, data):
        self.data = data

    def take(self, form):
        values = struct.unpack_from("<" + form, self.data)
        self.data = self.data[struct.calcsize("<" + form):]
        return values[0] if len(values) == 1 else values

    def bytes(self, count):
        value, self.data = self.data[:count], self.data[count:]
        return value


class Event:
    def __init__(self, c):
        self.handle, self.listener, self.type, self.status = c.take("IIBi")
        self.local_ip, self.remote_ip = c.bytes(16), c.bytes(16)
        self.local_port, self.remote_port = c.take("HH")
        self.path_local, self.path_scope = c.bytes(16), c.take("I")
        self.path_remote = c.bytes(16)
        (self.flow_label, self.pkey, self.traffic_class, self.hop_limit, self.sl, self.mtu, self.rate,
         self.packet_life) = c.take("IHBBBBBB")
        (self.qpn, self.qkey, self.psn, self.ece_vendor, self.ece_options, self.transport,
         self.resources, self.depth, self.flow, self.retry, self.rnr, self.srq, self.ack_timeout,
         self.ack_delay) = c.take("IIIIIBBBBBBBBB")
        self.data = c.bytes(c.take("B"))
        self.saved = c.bytes(c.take("H"))
        check(not c.data, "bytes after an event")


class Refused(Exception):
    def __init__(self, number, text):
        super().__init__("%d %s" % (number, text))
        self.errno = number


class Program:
    """One client of uroced."""

    def __init__(self, instance=None, path=None):
        self.path = path or os.environ["UROCE_SOCKET"]
        self.instance = instance or random.getrandbits(63) | 1
        self.sequence = 0
        self.events = []
        self.saved = {}
        self.bound = {}
        self.backlog = {}
        self.last = 0
        self.connect()

    def connect(self):
        def attempt():
            self.s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.s.settimeout(10)
            try:
                self.s.connect(self.path)
                return True
            except OSError:
                self.s.close()
                return False
        eventually(attempt, "uroced listens")
        self.send(1, struct.pack("<IQQHH", os.getpid(), 0, self.instance, 0, 0))
        check(self.receive()[0] == 2, "HELLO_OK")

    def send(self, kind, body=b""):
        self.sequence += 1
        self.s.send(struct.pack("<IHHII", 0x454F5255, 2, kind, self.sequence, 16 + len(body)) + body)

    def receive(self):
        m = self.s.recv(6000)
        if not m:
            raise Failure("uroced has closed the connection")
        return struct.unpack_from("<H", m, 6)[0], struct.unpack_from("<I", m, 8)[0], m[16:]

    def ask(self, handle, op, body=b""):
        """The port and the saved bytes of the answer, or Refused."""
        self.send(22, struct.pack("<IB", handle, op) + body)
        wanted = self.sequence
        while True:
            kind, sequence, body = self.receive()
            if kind == 24:
                self.take_event(body)
            elif sequence == wanted and kind == 3:
                number, length = struct.unpack_from("<IH", body)
                raise Refused(number, body[6:6 + length].decode())
            elif sequence == wanted and kind == 23:
                c = Cursor(body)
                check(c.take("I") == handle, "answer for another handle")
                port = c.take("H")
                self.saved[handle] = c.bytes(c.take("H"))
                return port
            else:
                raise Failure("message %d instead of an answer" % kind)

    def take_event(self, body):
        e = Event(Cursor(body))
        self.saved[e.handle] = e.saved
        self.events.append(e)

    def event(self, type=None, seconds=5.0):
        if not self.events:
            check(select.select([self.s], [], [], seconds)[0], "no event, want %s" % type)
            kind, _, body = self.receive()
            check(kind == 24, "message %d is no event" % kind)
            self.take_event(body)
        e = self.events.pop(0)
        check(type is None or e.type == type, "event %d (status %d), not %s" %
              (e.type, e.status, type))
        return e

    def event_of(self, type):
        """The next of its type; others wait."""
        others = []
        while True:
            e = self.event()
            if e.type == type:
                self.events = others + self.events
                return e
            others.append(e)

    def no_event(self, seconds=0.2):
        check(not self.events and not select.select([self.s], [], [], seconds)[0],
              "an unexpected event")

    # what programs do

    def bind(self, address="", port=0, ps=TCP, flags=0, family=None):
        self.last += 1
        family = family or (6 if ":" in address else 4)
        bind = (struct.pack("<HB", ps, family) + where(address), flags)
        got = self.ask(self.last, BIND, bind[0] + struct.pack("<HI", port, flags))
        self.bound[self.last] = bind[0] + struct.pack("<HI", got, flags)
        return self.last

    def listen(self, address="", port=7471, backlog=8, listen_flags=0, **more):
        h = self.bind(address, port, **more)
        self.ask(h, LISTEN, struct.pack("<II", backlog, listen_flags))
        self.backlog[h] = backlog
        return h

    def connect_to(self, local, remote, port=7471, qpn=0x10001, transport=0, data=b"", ps=TCP):
        h = self.bind(local, 0, ps)
        path = where(local) + gid(remote) + struct.pack("<IHBBBBBB", 0, 0xffff, 0, 64, 0, 3, 2, 16)
        self.ask(h, CONNECT, path + struct.pack("<H", port) +
                 conn(qpn, transport, ack_timeout=14) + bytes([len(data)]) + data)
        return h

    def accept(self, child, qpn=0x20001, data=b"", transport=0):
        self.ask(child, ACCEPT, conn(qpn, transport, qkey=0x01234567) + bytes([len(data)]) + data)

    def restore(self, old):
        """Brings what a former program held to this daemon."""
        for h, bind in old.bound.items():
            self.restore_one(old, h, bind)
        for h in old.saved:
            if h & CHILD and old.saved[h]:
                self.restore_one(old, h, struct.pack("<HB", TCP, 4) + bytes(20) +
                                 struct.pack("<HI", 0, 0))
        self.ask(0, RESTORED)

    def restore_one(self, old, h, bind):
        saved = old.saved.get(h, b"")
        self.ask(h, RESTORE, bind + struct.pack("<I", old.backlog.get(h, 0)) +
                 struct.pack("<H", len(saved)) + saved)

    def close(self):
        self.s.close()


def conn(qpn, transport=0, qkey=0, ack_timeout=0):
    return struct.pack("<IIIIIBBBBBBBBB", qpn, qkey, 0x123456, 0, 0, transport, 1, 1, 0, 7, 7, 0,
                       ack_timeout, 15)


def establish(a, b, qpn=(0x10001, 0x20001), data=(b"", b"")):
    """Handles of an established connection from program a to b, which listens."""
    h = a.connect_to(A, B, qpn=qpn[0], data=data[0])
    e = b.event(CONNECT_REQUEST)
    b.accept(e.handle, qpn[1], data[1])
    a.event(CONNECT_RESPONSE)
    a.ask(h, ESTABLISH)
    check(b.event(ESTABLISHED).handle == e.handle, "of the child")
    return h, e.handle


def counters():
    p = Program()
    p.send(15)
    values = {}
    while True:
        kind, _, body = p.receive()
        if kind == 19:
            value, length = struct.unpack_from("<QH", body)
            values[body[10:10 + length].decode()] = value
        elif kind == 20:
            p.close()
            return values


def counter(name):
    return counters()[name]


# ---- packets of strangers ----

def packet(local, remote, sport, mad, qkey=0x80010000, pkey=0xffff, opcode=0x64, qpn=1, src_qpn=1,
           psn=7):
    """A UDP payload with its ICRC, as Linux sends it: identification 0 and DF."""
    bth = struct.pack(">BBHII", opcode, 0, pkey, qpn, psn) + struct.pack(">II", qkey, src_qpn)
    payload = bth + mad
    udp_length = 8 + len(payload) + 4
    ip = struct.pack(">BBHHHBBH", 0x45, 0xff, 20 + udp_length, 0, 0x4000, 0xff, 17, 0xffff)
    ip += ipaddress.ip_address(local).packed + ipaddress.ip_address(remote).packed
    udp = struct.pack(">HHHH", sport, PORT, udp_length, 0xffff)
    masked = bytearray(payload)
    masked[4] = 0xff
    crc = zlib.crc32(b"\xff" * 8 + ip + udp + masked)
    return payload + struct.pack("<I", crc)


class Stranger:
    """A host of its own: address, socket for the packets it sends, socket on port 4791."""

    def __init__(self, address=C):
        self.address = address
        self.tx = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.tx.setsockopt(socket.IPPROTO_IP, 10, 3)  # IP_MTU_DISCOVER, IP_PMTUDISC_PROBE
        self.tx.bind((address, 0))
        self.rx = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.rx.bind((address, PORT))

    def send(self, remote, mad, **more):
        self.tx.sendto(packet(self.address, remote, self.tx.getsockname()[1], mad, **more),
                       (remote, PORT))

    def receive(self, seconds=5):
        """(attribute, transaction ID, CM data) of what came, after a look at the packet."""
        self.rx.settimeout(seconds)
        p, (source, sport) = self.rx.recvfrom(2000)
        psn = int.from_bytes(p[9:12], "big")
        check(p == packet(source, self.address, sport, p[20:276], psn=psn), "a well-formed packet")
        mad = p[20:276]
        return struct.unpack_from(">H", mad, 16)[0], struct.unpack_from(">Q", mad, 8)[0], mad[24:]

    def close(self):
        self.tx.close()
        self.rx.close()


def mad(attribute, data, tid=0x1234567890):
    return struct.pack(">BBBBHHQHHI", 1, 7, 2, 3, 0, 0, tid, attribute, 0, 0) + \
        data.ljust(232, b"\0")


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


# ---- a bad wire between two namespaces ----

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
                inside + [build + "/bin/uroced", "--foreground", "--no-keeper", "--idle-exit=0",
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


# ---- tests ----

def test_connect_and_close(port=7471):
    a, b = Program(), Program()
    l = b.listen(B, port)
    h = a.connect_to(A, B, port, data=b"question")
    e = b.event(CONNECT_REQUEST)
    check(e.handle & CHILD and e.listener == l, "a child of the listener")
    check(len(e.data) == 56 and e.data.startswith(b"question"), "private data")
    check(e.local_ip == gid(B) and e.remote_ip == gid(A) and e.local_port == port, "addresses")
    check(e.qpn == 0x10001 and e.psn == 0x123456 and e.mtu == 3 and e.hop_limit == 64 and
          e.transport == 0 and e.retry == 7 and e.rnr == 7 and e.ack_timeout == 14, "parameters")
    b.accept(e.handle, data=b"answer")
    r = a.event(CONNECT_RESPONSE)
    check(len(r.data) == 196 and r.data.startswith(b"answer") and r.qpn == 0x20001, "the REP")
    a.ask(h, ESTABLISH)
    check(len(a.saved[h]) > 0, "an established connection is to be kept")
    s = b.event(ESTABLISHED)
    check(not s.data and s.saved, "nothing but what is to be kept")
    a.ask(h, DISCONNECT)
    check(b.event(DISCONNECTED).status == 0, "told")
    a.no_event()
    b.ask(e.handle, DISCONNECT)
    check(a.event(DISCONNECTED).status == 0, "told")
    a.event(TIMEWAIT_EXIT)
    b.event(TIMEWAIT_EXIT)
    a.ask(h, DESTROY)
    b.ask(e.handle, DESTROY)
    b.ask(l, DESTROY)
    a.no_event()
    b.no_event(0)
    a.close()
    b.close()


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
    check(counter("cm_rx_backlog_full") == 1, "the third was dropped")
    b.send(22, struct.pack("<IB", first.handle, TAKEN))
    third = b.event(CONNECT_REQUEST, 10)  # when its REQ is repeated
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


def test_program_dies():
    a, b = Program(), Program()
    b.listen(B)
    h, child = establish(a, b)
    waiting = a.connect_to(A, B, qpn=7)
    b.event(CONNECT_REQUEST)
    started = time.monotonic()
    b.close()
    kinds = {e.handle: (e.type, e.status) for e in (a.event(), a.event())}
    check(kinds == {h: (DISCONNECTED, 0), waiting: (REJECTED, 28)} or
          kinds == {waiting: (REJECTED, 28), h: (DISCONNECTED, 0)}, "told: %s" % kinds)
    check(time.monotonic() - started < 2, "at once")
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
    check(a2.event(DISCONNECTED, 12).status == 0, "told")
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
            b.ask(child, DESTROY)
            a.event(DISCONNECTED)
            a.ask(h, DESTROY)

    cycle(1500, 0x10000)  # until as many are kept as may be
    before = resident_kib(), len(os.listdir("/proc/%d/fd" % daemon.process.pid))
    cycle(2000, 0x20000)
    after = resident_kib(), len(os.listdir("/proc/%d/fd" % daemon.process.pid))
    check(after[0] <= before[0] + 1024 and after[1] <= before[1],
          "KiB and descriptors %s, then %s" % (before, after))
    check(counter("cm_established") == 7000, "all were established, at both ends")
    eventually(lambda: counter("cm_ids") == counter("cm_ids_held"), "all have ended")
    check(counter("cm_ids_half_open") == 0, "none is half-open")
    check(counter("cm_timeouts") == 0 and counter("cm_tx_repeated") == 0, "nothing was lost")
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
    eventually(lambda: not serves("10.9.0.44"), "the old address is not served", 8)
    a.close()
    b.close()


def test_addresses_are_let_go():
    b = Program()
    l = b.listen()
    eventually(lambda: serves(A) and serves(B), "all are served")
    b.ask(l, DESTROY)
    eventually(lambda: not serves(A) and not serves(B), "none is", 6)
    b.close()


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


def test_dreq_outlives_its_program():
    """The last program dies, and the DREQ for its peer is lost: uroced stays until it is answered,
    then leaves."""
    Program().close()  # it is up
    daemon.stop()
    daemon.start("--idle-exit=1")
    a = Program()
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
    second = s.receive(10)  # the first was lost
    check(second == first, "the same again")
    check(daemon.process.poll() is None, "it is still there")
    s.send(A, mad(0x16, struct.pack(">II", 0xabc, active), first[1]))
    eventually(lambda: daemon.process.poll() is not None, "it leaves", 5)
    s.close()
    daemon.start()
    Program().close()


def random_body(draw, op):
    private = bytes(draw.getrandbits(8) for _ in range(draw.choice((0, 5, 56, 57, 136, 180, 196, 224))))
    address = draw.choice((A, B, "", "10.9.9.9", "fd09::1", "fe80::9:1%dum0", "127.0.0.1"))
    bind = struct.pack("<HB", draw.choice((TCP, UDP, 0x13f, 2)), draw.choice((4, 6))) + where(address)
    port = draw.choice((0, 1, 7471, 7472, draw.getrandbits(16)))
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
    test_connect_and_close(7473)


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
    check(counter("cm_rx_backlog_full") > 0, "the rest was dropped")
    a.connect_to(A, B, port=7500, qpn=3)
    other.event(CONNECT_REQUEST, 15)
    for p in (a, b, other):
        p.close()
    s.close()


def test_bad_wire():
    seed = random.getrandbits(32)
    wire = BadWire(seed)
    try:
        a, b = Program(path=wire.path("a")), Program(path=wire.path("b"))
        l = b.listen("10.8.0.2", backlog=200)
        attempts = [a.connect_to("10.8.0.1", "10.8.0.2", qpn=0x10000 + i) for i in range(100)]
        seen = drive(a, b, attempts, 180)
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


# ---- frame ----

class Daemon:
    """In the foreground, without a keeper: what it knew is gone with it."""

    def __init__(self):
        self.process = None

    def start(self, *more, env=None):
        self.process = subprocess.Popen(
            [build + "/bin/uroced", "--foreground", "--no-keeper", "--idle-exit=0",
             "--socket=" + os.environ["UROCE_SOCKET"], *more], stdin=subprocess.DEVNULL,
            env={**os.environ, **(env or {})})

    def kill(self):
        self.process.kill()
        self.process.wait()
        try:
            os.unlink(os.environ["UROCE_SOCKET"])
        except FileNotFoundError:
            pass

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(20)
        check(status == 0, "uroced ends with %d" % status)


daemon = Daemon()


def enter_namespace():
    if os.environ.get("CM_TEST_INSIDE") == "1":
        return
    os.environ["CM_TEST_INSIDE"] = "1"
    unshare = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]
    if subprocess.run(unshare + ["true"], stderr=subprocess.DEVNULL).returncode != 0:
        print("skipped: no network namespace can be made here")
        sys.exit(SKIP)
    os.execvp("unshare", unshare + [sys.executable, *sys.argv])


def make_network():
    for command in ("link set lo up", "link add dum0 type veth peer name dum1",
                    "link set dum0 up", "link set dum1 up"):
        subprocess.run(["ip", *command.split()], check=True)
    for n in range(1, 5):
        subprocess.run(["ip", "addr", "add", "10.9.0.%d/24" % n, "dev", "dum0"], check=True)
        subprocess.run(["ip", "-6", "addr", "add", "fd09::%d/64" % n, "dev", "dum0", "nodad"],
                       check=True)
        subprocess.run(["ip", "-6", "addr", "add", "fe80::9:%d/64" % n, "dev", "dum0", "nodad"],
                       check=True)


def main():
    global build
    build = os.path.abspath(sys.argv[1])
    enter_namespace()
    make_network()
    os.environ["UROCE_SOCKET"] = "/tmp/uroce-cm-test-%d" % os.getpid()
    failed = 0
    for name, test in list(globals().items()):
        if not name.startswith("test_") or (sys.argv[2:] and name not in sys.argv[2:]):
            continue
        started = time.monotonic()
        daemon.start()
        try:
            test()
            daemon.stop()
            result = "ok"
        except Skip as e:
            Program().close()
            daemon.stop()
            result = "skipped: %s" % e
        except Exception as e:  # the other tests say more about the cause
            import traceback
            traceback.print_exc()
            result = "FAILED: %s: %s" % (type(e).__name__, e)
            failed += 1
            daemon.kill()
        print("%-36s %5.1f s  %s" % (name, time.monotonic() - started, result), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
