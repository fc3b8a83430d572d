# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of the connection manager have in common: programs, which are connections to
uroced that speak its messages without the library; strangers, which send packets to UDP port 4791
with an ICRC made here; a daemon, and a device with several addresses, each of which is a host.
"""

import ipaddress
import os
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import zlib

from checks import Failure, PATIENCE, SKIP, Skip, built, check, eventually, run_tests, set_build

PORT = 4791
TCP, UDP = 0x106, 0x111
CHILD = 0x80000000
# Requests, events, errors.
(BIND, LISTEN, CONNECT, ACCEPT, REJECT, ESTABLISH, DISCONNECT, NOTIFY, TAKEN, DESTROY, RESTORE,
 RESTORED) = range(1, 13)
(CONNECT_REQUEST, CONNECT_RESPONSE, _, UNREACHABLE, REJECTED, ESTABLISHED,
 DISCONNECTED) = range(4, 11)
TIMEWAIT_EXIT = 15
A, B, C = "10.9.0.1", "10.9.0.2", "10.9.0.3"


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

    def __init__(self, instance=None, path=None, is_expected=lambda: True):
        self.path = path or os.environ["UROCE_SOCKET"]
        self.instance = instance or random.getrandbits(63) | 1
        self.sequence = 0
        self.events = []
        self.saved = {}
        self.bound = {}
        self.backlog = {}
        self.last = 0
        self.connect(is_expected)

    def connect(self, is_expected):
        def attempt():
            check(is_expected(), "uroced has ended")
            self.s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.s.settimeout(PATIENCE)
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

    def event(self, type=None, seconds=PATIENCE):
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

    def destroy(self, handle):
        """With what was not read of its events: its time wait may be over already."""
        self.ask(handle, DESTROY)
        self.events = [e for e in self.events if e.handle != handle]

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

    def receive(self, seconds=PATIENCE):
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


class Daemon:
    """In the foreground, without a keeper: what it knew is gone with it."""

    def __init__(self):
        self.process = None

    def start(self, *more, env=None):
        self.process = subprocess.Popen(
            [built("bin/uroced"), "--foreground", "--no-keeper", "--idle-exit=0",
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
        status = self.process.wait(PATIENCE)
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


def connect_and_close(port):
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


def around(test):
    daemon.start()
    try:
        test()
        daemon.stop()
    except Skip:
        Program().close()
        daemon.stop()
        raise
    except Exception:
        daemon.kill()
        raise


def run(module):
    """The tests of a module, each with a daemon, in a namespace of their own; its exit status."""
    set_build(sys.argv[1])
    enter_namespace()
    make_network()
    os.environ["UROCE_SOCKET"] = "/tmp/uroce-cm-test-%d" % os.getpid()
    return run_tests(module, around)
