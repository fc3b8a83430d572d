#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""uroced with real processes, sockets and signals, in a network namespace of its own.

    daemon_test.py BUILD_DIR [TEST...]

Programs that hold slots are slot_client; packets are plain datagrams whose byte 5 names the slot.
Exit status 77 where no network namespace can be made, or (for single tests) where the right to act
as another user is missing: those are reported as skipped.
"""

import ctypes
import json
import os
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import time

SKIP = 77
PORT = 4791
CLONE_NEWNET = 0x40000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWNS = 0x00020000
MS_BIND = 4096
NOBODY = 65534
ROOT_PATH = "/run/uroce/sock"

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


class Client:
    """A slot_client. The environment holds nothing but what a test adds."""

    def __init__(self, *args, env=None, preexec=None, expect_ready=True):
        full = {"PATH": os.environ.get("PATH", "")}
        full.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})
        full.update(env or {})
        self.process = subprocess.Popen([build + "/tests/slot_client", *args], env=full,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        preexec_fn=preexec)
        self.slots = []
        self.expect_ready = expect_ready
        self.is_ready = False
        if expect_ready:
            self.wait_ready()

    def wait_ready(self):
        line = self.read()
        check(line == "ready", "client says: " + line)
        self.is_ready = True
        return self

    def read(self, seconds=10):
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        check(ready, "client does not answer")
        return self.process.stdout.readline().decode().strip()

    def tell(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, line):
        self.tell(line)
        return self.read()

    def lease(self):
        answer = self.ask("lease").split()
        check(answer[0] == "slot", "lease: " + " ".join(answer))
        self.slots.append(int(answer[1]))
        return self.slots[-1]

    def open(self, slot, address="127.0.0.1"):
        answer = self.ask("open %d %s" % (slot, address))
        check(answer.startswith("open "), "open: " + answer)

    def count(self):
        return [int(x) for x in self.ask("count").split()[1:]]

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def finish(self):
        if self.process.poll() is None:
            try:
                self.process.stdin.close()
                self.process.wait(5)
            except (OSError, subprocess.TimeoutExpired):
                self.process.kill()
                self.process.wait()
        self.process.stdout.close()


def daemons():
    """Pids of uroced and of keepers in our namespace."""
    ours = os.stat("/proc/self/ns/net").st_ino
    found = {"uroced": [], "uroced-keeper": []}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/comm" % pid) as f:
                name = f.read().strip()
            with open("/proc/%s/stat" % pid) as f:
                state = f.read().rsplit(")", 1)[1].split()[0]
            if name in found and state not in "ZX" and \
                    os.stat("/proc/%s/ns/net" % pid).st_ino == ours:
                found[name].append(int(pid))
        except OSError:
            pass
    return found["uroced"], found["uroced-keeper"]


def all_gone():
    return daemons() == ([], [])


def wait_new_daemon(old, what):
    def look():
        now = daemons()[0]
        return now and now[0] not in old
    eventually(look, what)


def end_daemon():
    """Instead of waiting until it is idle for 2 s."""
    try:
        ask_raw(21, struct.pack("<I", 0)).recv(6000)
    except OSError:
        pass  # gone, or listening elsewhere: then it leaves by itself


def fd_count(pid):
    return len(os.listdir("/proc/%d/fd" % pid))


def socket_name():
    with open("/proc/self/uid_map") as f:
        inside, outside, _ = [int(x) for x in f.readline().split()]
    return "\0uroce/%d/%d/0" % (os.getuid() - inside + outside,
                                os.stat("/proc/self/ns/net").st_ino)


def connect(patience):
    """To a daemon that listens, or will within so many seconds."""
    end = time.monotonic() + patience
    while True:
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.settimeout(5)
        try:
            s.connect(socket_name())
            return s
        except ConnectionRefusedError:
            s.close()
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def ask_raw(kind, body=b"", hello=True, instance=None, patience=0.0):
    """Speaks to the daemon without the library; returns the socket."""
    s = connect(patience)
    if hello:
        s.send(message(1, struct.pack("<IQQHH", os.getpid(), 0,
                                         instance or random.getrandbits(63) | 1, 0, 0)))
        s.recv(6000)
    if kind:
        s.send(message(kind, body))
    return s


def message(kind, body=b"", protocol=2, magic=0x454F5255, length=None):
    length = 16 + len(body) if length is None else length
    return struct.pack("<IHHII", magic, protocol, kind, 1, length) + body


def counters():
    s = ask_raw(15, patience=5.0)  # one that has just been started may not listen yet
    values = {}
    while True:
        m = s.recv(6000)
        kind = struct.unpack_from("<H", m, 6)[0]
        if kind == 19:
            value, length = struct.unpack_from("<QH", m, 16)
            values[m[26:26 + length].decode()] = value
        elif kind == 18:
            values.setdefault("addresses", []).append(struct.unpack_from("<HH", m, 36))
        elif kind == 20:
            s.close()
            return values


class Sender:
    def __init__(self, address="127.0.0.1"):
        self.to = (address, PORT)
        self.socket = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET,
                                    socket.SOCK_DGRAM)

    def send(self, slot, count=1):
        packet = bytes([4, 0, 0, 0, 0, slot]) + bytes(26)
        for _ in range(count):
            self.socket.sendto(packet, self.to)


# ---- tests ----

def test_lease_and_receive():
    c = Client()
    a, b = c.lease(), c.lease()
    c.open(a)
    c.open(b)
    c.open(a, "::1")
    Sender().send(a, 3)
    Sender().send(b, 4)
    Sender("::1").send(a, 5)
    eventually(lambda: c.count()[0] == 12, "12 packets")
    check(c.count() == [12, 0, 0, 0], "count %s" % c.count())
    check(c.ask("children") == "children 0 0", "the daemon is the application's child")
    c.finish()


def test_leaves_when_idle():
    c = Client()
    c.open(c.lease())
    started = time.monotonic()
    c.finish()
    eventually(all_gone, "uroced and keeper leave", 4)
    check(time.monotonic() - started > 1.8, "it left before 2 s")


def test_one_daemon_of_many_starts():
    clients = [Client(expect_ready=False) for _ in range(64)]
    for c in clients:
        c.wait_ready()
    eventually(lambda: [len(x) for x in daemons()] == [1, 1], "one daemon and one keeper")
    slots = {c.lease() for c in clients}
    check(len(slots) == 64, "64 different slots")
    for c in clients:
        c.open(c.slots[0])
    sender = Sender()
    for _ in range(5):
        for c in clients:
            sender.send(c.slots[0])
    for c in clients:
        eventually(lambda: c.count()[0] == 5, "5 packets")
        check(c.count() == [5, 0, 0, 0], "count %s" % c.count())
    # Some die, others come, the rest notices nothing.
    for c in clients[:20]:
        c.kill()
    fresh = []
    for i in range(20):
        fresh.append(Client())
        fresh[-1].open(fresh[-1].lease())
        for c in clients[20:]:
            sender.send(c.slots[0])
    clients = clients[20:] + fresh
    check(len({c.slots[0] for c in clients}) == 64, "slots are unique")
    for c in fresh:
        sender.send(c.slots[0], 7)
        eventually(lambda: c.count()[0] == 7, "7 packets at a fresh client: %s" % c.count())
    for c in clients:
        right, wrong, strays, drops = c.count()
        check(wrong == 0 and strays == 0 and drops == 0, "count %s" % c.count())
        check(right == (7 if c in fresh else 25), "count %s" % c.count())
    check(counters()["repairs"] == 0, "nothing needed repair")
    for c in clients:
        c.finish()


def test_no_descriptor_leak():
    keep = Client()
    keep.open(keep.lease())
    eventually(lambda: daemons()[1], "a keeper")
    pid = daemons()[0][0]
    c = Client()

    def cycle():
        slot = c.lease()
        c.open(slot)
        c.open(slot, "::1")
        check(c.ask("release %d" % slot) == "released", "released")

    for _ in range(10):
        cycle()
    time.sleep(0.1)
    keeper = daemons()[1][0]
    before = fd_count(pid), fd_count(keeper), c.ask("fds")
    for _ in range(200):
        cycle()
    # Spares stay: as many as there were sockets that the keeper had not let go of at one time. A
    # leak would leave 400.
    eventually(lambda: fd_count(pid) <= before[0] + 60 and fd_count(keeper) <= before[1] + 60,
               "descriptors %s, then %d %d" % (before, fd_count(pid), fd_count(keeper)))
    check(c.ask("fds") == before[2], "the client leaks")
    Sender().send(keep.slots[0], 9)
    eventually(lambda: keep.count() == [9, 0, 0, 0], "the other is undisturbed")
    check(counters()["repairs"] == 0, "nothing needed repair")
    c.finish()
    keep.finish()


def test_daemon_killed():
    clients = [Client() for _ in range(8)]
    for c in clients:
        c.open(c.lease())
    sender = Sender()
    sent = 0

    def send(rounds):
        nonlocal sent
        for _ in range(rounds):
            for c in clients:
                sender.send(c.slots[0])
        sent += rounds

    for _ in range(3):
        send(20)
        old = daemons()[0]
        os.kill(old[0], signal.SIGKILL)
        send(20)
        wait_new_daemon(old, "the keeper restarts it")
        send(20)
        # New leases work and the old ones are not given away.
        more = Client()
        slot = more.lease()
        check(slot not in [c.slots[0] for c in clients], "a held slot was leased again")
        more.open(slot)
        send(20)
        more.finish()
    for c in clients:
        eventually(lambda: c.count()[0] == sent, "all %d packets: %s" % (sent, c.count()))
        check(c.count() == [sent, 0, 0, 0], "count %s" % c.count())
    check(counters()["restarts"] >= 1, "restarts are counted")
    for c in clients:
        c.finish()
    eventually(all_gone, "the restarted daemon leaves when idle")


def test_daemon_killed_stopped_client():
    """One that cannot claim keeps its slot; one that died meanwhile does not."""
    stopped, dead, other = [Client() for _ in range(3)]
    for c in (stopped, dead, other):
        c.open(c.lease())
    stopped.process.send_signal(signal.SIGSTOP)
    old = daemons()[0]
    os.kill(old[0], signal.SIGSTOP)
    dead.kill()
    os.kill(old[0], signal.SIGKILL)
    wait_new_daemon(old, "the keeper restarts it")
    eventually(lambda: ask_slots() == {stopped.slots[0], other.slots[0]},
               "the dead one's slot is freed, the stopped one's is not: %s" % ask_slots())
    fresh = Client()
    check(fresh.lease() != stopped.slots[0], "the stopped one's slot was leased")
    fresh.open(fresh.slots[0])
    for c in (stopped, other, fresh):
        Sender().send(c.slots[0], 3)
    stopped.process.send_signal(signal.SIGCONT)
    for c in (stopped, other, fresh):
        eventually(lambda: c.count() == [3, 0, 0, 0], "count %s" % c.count())
    eventually(lambda: counters()["claims"] == 2, "both claim")
    for c in (stopped, other, fresh):
        c.finish()


def test_keeper_killed():
    c = Client()
    c.open(c.lease())
    old = eventually(lambda: daemons()[1], "a keeper")
    time.sleep(1.1)
    os.kill(old[0], signal.SIGKILL)
    eventually(lambda: daemons()[1] and daemons()[1] != old, "another keeper")
    time.sleep(0.1)
    os.kill(daemons()[0][0], signal.SIGKILL)
    Sender().send(c.slots[0], 5)
    eventually(lambda: daemons()[0], "restarted")
    other = Client()
    other.open(other.lease())
    Sender().send(c.slots[0], 5)
    Sender().send(other.slots[0], 6)
    eventually(lambda: c.count() == [10, 0, 0, 0], "count %s" % c.count())
    eventually(lambda: other.count() == [6, 0, 0, 0], "count %s" % other.count())
    c.finish()
    other.finish()


def test_daemon_and_keeper_killed():
    clients = [Client() for _ in range(6)]
    for c in clients:
        c.open(c.lease())
        c.open(c.slots[0], "::1")
    eventually(lambda: daemons()[1], "a keeper")
    both = sum(daemons(), [])
    for pid in both:  # neither can help the other
        os.kill(pid, signal.SIGSTOP)
    for pid in both:
        os.kill(pid, signal.SIGKILL)
    wait_new_daemon(both, "a client starts another")
    eventually(lambda: counters()["claims"] == 6, "all claim: %s" % counters())
    base = [c.count() for c in clients]
    for address in ("127.0.0.1", "::1"):
        for c in clients:
            Sender(address).send(c.slots[0], 10)
    for c, b in zip(clients, base):
        eventually(lambda: c.count()[0] == b[0] + 20, "count %s after %s" % (c.count(), b))
        check(c.count()[1] == b[1], "count %s after %s" % (c.count(), b))
    fresh = Client()
    fresh.open(fresh.lease())
    check(fresh.slots[0] not in [c.slots[0] for c in clients], "a held slot was leased again")
    Sender().send(fresh.slots[0], 3)
    eventually(lambda: fresh.count()[0] == 3, "count %s" % fresh.count())
    # Those who claimed may come and go as before.
    clients.pop(0).kill()
    clients.pop(1).finish()
    time.sleep(0.2)
    base = [c.count() for c in clients]
    for c in clients:
        Sender().send(c.slots[0], 4)
    for c, b in zip(clients, base):
        eventually(lambda: c.count()[0] == b[0] + 4, "count %s after %s" % (c.count(), b))
    for c in clients + [fresh]:
        c.finish()


def test_stop_with_clients():
    clients = [Client() for _ in range(4)]
    for c in clients:
        c.open(c.lease())
    clients.pop(1).kill()  # leaves a spare between the sockets in use
    time.sleep(0.1)
    s = ask_raw(21, struct.pack("<I", 0))
    answer = s.recv(6000)
    check(struct.unpack_from("<HxxxxxxxxI", answer, 6)[0] == 3 and b"3 slots are in use" in answer,
          "stop is refused: %r" % answer)
    old = daemons()[0]
    os.kill(old[0], signal.SIGTERM)
    wait_new_daemon(old, "the clients start another")
    eventually(lambda: counters()["claims"] == 3, "all claim")
    base = [c.count() for c in clients]
    for c in clients:
        Sender().send(c.slots[0], 10)
    for c, b in zip(clients, base):
        eventually(lambda: c.count()[0] == b[0] + 10, "count %s after %s" % (c.count(), b))
    for c in clients:
        c.finish()


def test_damage_is_repaired():
    clients = [Client() for _ in range(5)]
    for c in clients:
        c.open(c.lease())
    # A foreign member of the same user joins and goes; a socket in use leaves the group.
    foreign = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(3)]
    for f in foreign:
        f.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        f.bind(("127.0.0.1", PORT))
    more = Client()
    more.open(more.lease())
    foreign[0].close()
    clients[1].ask("connect %d 127.0.0.1" % clients[1].slots[0])
    clients.append(more)
    sender = Sender()

    def all_right():
        before = [c.count() for c in clients]
        for c in clients:
            sender.send(c.slots[0])
        time.sleep(0.05)
        return all(c.count()[0] == b[0] + 1 and c.count()[1] == b[1]
                   for c, b in zip(clients, before))

    eventually(all_right, "every packet at its slot again", 10)
    for f in foreign[1:]:
        f.close()
    eventually(all_right, "every packet at its slot again", 10)
    for c in clients:
        c.finish()


def test_forked_child_holds_socket():
    c = Client()
    c.open(c.lease())
    child = int(c.ask("clone").split()[1])
    slot = c.slots[0]
    c.kill()
    others = [Client() for _ in range(3)]
    try:
        for o in others:
            o.open(o.lease())
        # Its process is gone, so the slot is free although the child holds the connection.
        eventually(lambda: ask_slots() == {o.slots[0] for o in others}, "the slot is free")
        Sender().send(slot, 3)
        for o in others:
            Sender().send(o.slots[0], 3)
        for o in others:
            eventually(lambda: o.count() == [3, 0, 0, 0], "count %s" % o.count())
    finally:
        os.kill(child, signal.SIGKILL)
    time.sleep(0.3)
    for o in others:
        Sender().send(o.slots[0], 3)
    for o in others:
        eventually(lambda: o.count() == [6, 0, 0, 0], "count %s" % o.count())
    check(counters()["repairs"] == 0, "nothing needed repair")
    for o in others:
        o.finish()


def ask_slots():
    s = ask_raw(15)
    slots = set()
    while True:
        m = s.recv(6000)
        kind = struct.unpack_from("<H", m, 6)[0]
        if kind == 17:
            slots.add(m[16])
        elif kind == 20:
            s.close()
            return slots


def test_fork_closes_descriptors():
    c = Client()
    c.open(c.lease())
    child = int(c.ask("fork").split()[1])

    def leftover():
        folder = "/proc/%d/fd/" % child
        names = []
        for f in os.listdir(folder):
            try:
                names.append(os.readlink(folder + f))
            except FileNotFoundError:
                pass  # closed meanwhile: that is what we wait for
        return [n for n in names if n.startswith(("socket:", "anon_inode:"))]

    try:
        eventually(lambda: not leftover(), "child has %s" % leftover())
    finally:
        os.kill(child, signal.SIGKILL)
    c.finish()


def test_stopped_and_garbage_clients():
    stopped = Client()
    stopped.open(stopped.lease())
    good = Client()
    good.open(good.lease())
    stopped.process.send_signal(signal.SIGSTOP)
    seed = random.Random(7)
    for i in range(300):
        s = ask_raw(0, hello=i % 2 == 0)
        body = seed.randbytes(seed.randrange(0, 2000))
        try:
            s.send(body if i % 3 else message(seed.randrange(0, 24), body))
        except OSError:
            pass
        s.close()
    # One that never reads its answers.
    deaf = ask_raw(0)
    deaf.setblocking(False)
    try:
        for _ in range(5000):
            deaf.send(message(15))
    except OSError:
        pass
    # Strays for the one that is stopped.
    stray = ask_raw(0)
    body = bytes(10) + b"\xff\xff" + socket.inet_aton("127.0.0.1") + \
        struct.pack("<BHI16sBH", 4, 0, 0, b"", 0, 20) + bytes([4, 0, 0, 0, 0, stopped.slots[0]]) + \
        bytes(14)
    for _ in range(2000):
        stray.send(message(13, body))
    check(good.lease() > 0, "the daemon still serves")
    Sender().send(good.slots[0], 3)
    eventually(lambda: good.count()[:2] == [3, 0], "count %s" % good.count())
    check(counters()["messages_malformed"] > 100, "malformed messages are counted")
    eventually(lambda: sum(counters()["strays_" + x] for x in
                           ("limited", "undelivered", "relayed")) == 2000,
               "strays are counted: %s" % counters())
    stopped.process.send_signal(signal.SIGCONT)
    eventually(lambda: stopped.count()[2] > 0, "it gets strays when it goes on")
    for x in (stopped, good):
        x.finish()
    deaf.close()
    stray.close()


def test_strays_are_relayed():
    a, b = Client(), Client()
    a.open(a.lease())
    b.open(b.lease())
    s = ask_raw(0)
    body = bytes(10) + b"\xff\xff" + socket.inet_aton("127.0.0.1") + \
        struct.pack("<BHI16sBH", 4, 0, 0, b"", 0, 20) + bytes([4, 0, 0, 0, 0, b.slots[0]]) + \
        bytes(14)
    for _ in range(5):
        s.send(message(13, body))
    eventually(lambda: b.count() == [0, 0, 5, 0], "count %s" % b.count())
    check(a.count() == [0, 0, 0, 0], "count %s" % a.count())
    s.close()
    a.finish()
    b.finish()


def test_limits():
    client = Client()
    s = ask_raw(0)
    got = 0
    for _ in range(70):
        s.send(message(5))
        got += struct.unpack_from("<H", s.recv(6000), 6)[0] == 6
    check(got == 64, "64 slots for one client, got %d" % got)
    others = [ask_raw(0) for _ in range(3)]
    for o in others:
        for _ in range(64):
            o.send(message(5))
            got += struct.unpack_from("<H", o.recv(6000), 6)[0] == 6
    check(got == 254, "254 slots in all, got %d" % got)
    others[2].send(message(5))
    check(b"all 254" in others[2].recv(6000), "the error says so")
    s.close()
    time.sleep(0.1)
    others[2].send(message(5))
    check(struct.unpack_from("<H", others[2].recv(6000), 6)[0] == 6, "freed slots are leased again")
    for o in others:
        o.close()
    client.finish()


def test_comes_back_early():
    """A client reconnects before the daemon has seen the end of its old connection."""
    keep = Client()
    old = ask_raw(5, instance=77)
    answer = old.recv(6000)
    check(answer[6] == 6, "leased")
    slot = answer[16]
    stranger = ask_raw(11, bytes([slot, 0]), instance=78)
    check(b"was leased to another" in stranger.recv(6000), "a stranger's claim is refused")
    new = ask_raw(11, bytes([slot, 0]), instance=77)
    check(new.recv(6000)[6] == 4, "its own claim is not")
    check(old.recv(6000) == b"", "the old connection is closed")
    new.send(message(12))
    check(new.recv(6000)[6] == 4 and slot in ask_slots(), "the slot is still held")
    for s in (old, new, stranger):
        s.close()
    eventually(lambda: slot not in ask_slots(), "and free in the end")
    keep.finish()


def test_version_mismatch():
    c = Client()
    s = ask_raw(0, hello=False)
    s.send(message(1, struct.pack("<IQQH3sH", 1, 0, 5, 3, b"9.9", 0), protocol=77))
    answer = s.recv(6000)
    check(b"uroce 9.9" in answer and b"protocol 77" in answer and b"uroce stop" in answer,
          "answer %r" % answer)
    s.close()
    c.finish()
    eventually(all_gone, "idle")
    # And a daemon of another version.
    old = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    old.bind(socket_name())
    old.listen(8)
    c = Client(expect_ready=False)
    peer, _ = old.accept()
    peer.recv(6000)
    peer.send(message(2, struct.pack("<IQQHH", 1, 0, 0, 0, 0), protocol=0))
    line = c.read()
    check(line.startswith("error 71 ") and "uroce stop" in line, line)
    peer.close()
    old.close()
    c.process.wait()


def test_address_in_use():
    other = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    other.bind(("127.0.0.7", PORT))
    c = Client()
    slot = c.lease()
    line = c.ask("open %d 127.0.0.7" % slot)
    check(line.startswith("error 98 UDP port 4791 of 127.0.0.7 is in use by another program"), line)
    line = c.ask("open %d 192.0.2.1" % slot)
    check(line.startswith("error 99 192.0.2.1 is not an address"), line)
    other.close()
    c.open(slot, "127.0.0.7")
    Sender("127.0.0.7").send(slot, 2)
    eventually(lambda: c.count()[0] == 2, "two packets")
    c.finish()


def as_user(uid):
    def set_ids():
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
    return set_ids


def need_root():
    if os.getuid() != 0 or is_in_user_namespace():
        raise Skip("needs root")


def is_in_user_namespace():
    with open("/proc/self/uid_map") as f:
        return f.read().split() != ["0", "0", "4294967295"]


def test_second_user():
    need_root()
    mine = Client()
    mine.open(mine.lease())
    other = Client(preexec=as_user(NOBODY))
    slot = other.lease()
    line = other.ask("open %d 127.0.0.1" % slot)
    check(line.startswith("error 98 UDP port 4791 of 127.0.0.1 is in use by another user (uid 0)")
          and "--share-with" in line, line)
    other.open(slot, "127.0.0.8")
    Sender("127.0.0.8").send(slot, 2)
    eventually(lambda: other.count() == [2, 0, 0, 0], "its own address works")
    plain = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    plain.bind(("127.0.0.9", PORT))
    line = other.ask("open %d 127.0.0.9" % slot)
    check(line.startswith("error 98 UDP port 4791 of 127.0.0.9 is in use by another user (uid 0)"),
          line)
    plain.close()
    mine.finish()
    other.finish()


def test_shared_daemon():
    need_root()
    path = "/tmp/uroce-test-%d.sock" % os.getpid()
    d = subprocess.Popen([build + "/bin/uroced", "--foreground", "--socket", path,
                          "--share-with", str(NOBODY), "--idle-exit", "0"])
    try:
        eventually(lambda: os.path.exists(path), "it listens")
        time.sleep(0.1)
        mine = Client(env={"UROCE_SOCKET": path})
        other = Client(env={"UROCE_SOCKET": path}, preexec=as_user(NOBODY))
        stranger = Client("--no-start", env={"UROCE_SOCKET": path}, preexec=as_user(4321),
                          expect_ready=False)
        line = stranger.read()
        check(line.startswith("error 13 ") and "--share-with" in line, line)
        for c in (mine, other):
            c.open(c.lease())
        for c in (mine, other):
            Sender().send(c.slots[0], 3)
        for c in (mine, other):
            eventually(lambda: c.count() == [3, 0, 0, 0], "count %s" % c.count())
        for c in (mine, other, stranger):
            c.finish()
    finally:
        d.send_signal(signal.SIGTERM)
        d.wait(5)
    check(d.returncode == 0 and not os.path.exists(path), "SIGTERM is a clean end")
    eventually(all_gone, "the keeper has left too")


def start_root_daemon(preexec=None):
    d = subprocess.Popen([build + "/bin/uroced", "--foreground", "--no-keeper", "--idle-exit", "0",
                          "--socket", ROOT_PATH, "--share-with", str(NOBODY)],
                         preexec_fn=preexec)

    def listens():
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            return s.connect_ex(ROOT_PATH) == 0
        finally:
            s.close()
    eventually(listens, "root's daemon listens")
    return d


def test_root_daemon():
    """As the systemd unit runs it: at its path, for several users, restarted by others."""
    need_root()
    d = start_root_daemon()
    try:
        clients = [Client(), Client(preexec=as_user(NOBODY))]
        for c in clients:
            check(c.ask("socket") == "socket " + ROOT_PATH, "found by its path")
            c.open(c.lease())
        d.kill()
        d.wait()
        time.sleep(0.7)  # nobody starts one of his own meanwhile
        check(all_gone(), "a client did not wait for root's daemon")
        d = start_root_daemon()
        for c in clients:
            base = c.count()

            def works():
                Sender().send(c.slots[0])
                time.sleep(0.02)
                return c.count()[0] > base[0]
            eventually(works, "claimed and mapped again")
            check(c.count()[1] == 0, "count %s" % c.count())
            check(c.lease() not in clients[0].slots[:1] + clients[1].slots[:1], "unique slots")
        for c in clients:
            c.finish()
    finally:
        d.terminate()
        d.wait(5)


def test_root_daemon_elsewhere():
    """The path is visible in other network namespaces, where its daemon is no use."""
    need_root()
    libc = ctypes.CDLL(None)
    d = start_root_daemon(lambda: libc.unshare(CLONE_NEWNET))
    try:
        c = Client()
        check(c.ask("socket").startswith("socket @uroce/"), "its own daemon")
        c.open(c.lease())
        c.finish()
    finally:
        d.terminate()
        d.wait(5)


def test_squatter():
    need_root()
    name = socket_name()
    ready, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        as_user(NOBODY)()
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.bind(name)
        s.listen(4)
        os.write(told, b"x")
        time.sleep(60)
        os._exit(0)
    try:
        os.read(ready, 1)
        c = Client()
        check(c.ask("socket").endswith("/1"), "the next name is taken")
        c.open(c.lease())
        c2 = Client()
        check(c2.lease() != c.slots[0], "both find the same daemon")
        eventually(lambda: len(daemons()[0]) == 1, "one daemon")
        c.finish()
        c2.finish()
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(ready)
        os.close(told)


def guard_name(address, n):
    return b"\0uroce/address/" + b"00" * 10 + b"ffff" + \
        socket.inet_aton(address).hex().encode() + b"/0/%d" % n


def sit_on(names):
    """A process of another user that has bound these; the even ones listen. Kill it at the end."""
    ready, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        as_user(NOBODY)()
        sockets = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in names]
        for i, (s, name) in enumerate(zip(sockets, names)):
            s.bind(name)
            if i % 2 == 0:
                s.listen(4)
        os.write(told, b"x")
        time.sleep(60)
        os._exit(0)
    os.read(ready, 1)
    os.close(ready)
    os.close(told)
    return pid


def counter(client_env, name):
    text = subprocess.run([build + "/bin/uroce", "status", "--json"], capture_output=True,
                          text=True, env={**os.environ, **client_env}).stdout
    return json.loads(text)["counters"][name]


def test_squatted_guard():
    """A stranger who sits on names of an address keeps nobody from it."""
    need_root()
    for count in (1, 4):
        pid = sit_on([guard_name("127.0.0.%d" % (20 + count), n) for n in range(count)])
        try:
            c = Client()
            slot = c.lease()
            c.open(slot, "127.0.0.%d" % (20 + count))
            Sender("127.0.0.%d" % (20 + count)).send(slot, 2)
            eventually(lambda: c.count()[0] == 2, "two packets")
            check(counter({}, "guards_taken") == (count == 4), "counted")
            c.finish()
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def test_two_daemons_of_one_user():
    """The second one is told, however often it asks and whatever name the first one has."""
    path = "/tmp/uroce-test-%d.sock" % os.getpid()
    squatter = sit_on([guard_name("127.0.0.1", 0)]) if os.getuid() == 0 and \
        not is_in_user_namespace() else None
    first = Client()
    first.open(first.lease())
    if squatter:
        os.kill(squatter, signal.SIGKILL)
        os.waitpid(squatter, 0)
    d = subprocess.Popen([build + "/bin/uroced", "--foreground", "--no-keeper", "--socket", path,
                          "--idle-exit", "0"])
    try:
        eventually(lambda: os.path.exists(path), "it listens")
        time.sleep(0.1)
        second = Client(env={"UROCE_SOCKET": path})
        slot = second.lease()
        for _ in range(600):  # more than fit into the backlog of the name
            line = second.ask("open %d 127.0.0.1" % slot)
            check(line.startswith("error 98 another uroced of this user (pid "), line)
        Sender().send(first.slots[0], 3)
        eventually(lambda: first.count() == [3, 0, 0, 0], "the first one is not disturbed")
        second.finish()
    finally:
        d.send_signal(signal.SIGTERM)
        d.wait(5)
    first.finish()


def may_enter(enter):
    """Whether a child can do it: not in a chroot, nor where the system forbids it to users."""
    try:
        return subprocess.run(["true"], preexec_fn=enter, check=False).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


def test_user_namespace():
    """uid 0 inside is somebody else outside, and the daemon is found from both sides."""
    libc = ctypes.CDLL(None, use_errno=True)

    def enter():
        uid = os.getuid()
        if libc.unshare(CLONE_NEWUSER):
            os._exit(SKIP)
        with open("/proc/self/setgroups", "w") as f:
            f.write("deny")
        with open("/proc/self/uid_map", "w") as f:
            f.write("0 %d 1" % uid)

    def enter_as_nobody():
        as_user(NOBODY)()
        ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE, or /proc/self is root's
        enter()

    if is_in_user_namespace():
        raise Skip("is in one already")
    if not may_enter(enter_as_nobody if os.getuid() == 0 else enter):
        raise Skip("none can be made here")
    outside = Client(preexec=as_user(NOBODY) if os.getuid() == 0 else None)
    inside = Client(preexec=enter_as_nobody if os.getuid() == 0 else enter)
    outside.open(outside.lease())
    inside.open(inside.lease())
    check(outside.slots != inside.slots, "one daemon for both")
    for c in (outside, inside):
        Sender().send(c.slots[0], 3)
    for c in (outside, inside):
        eventually(lambda: c.count() == [3, 0, 0, 0], "count %s" % c.count())
    for c in (outside, inside):
        c.finish()


def test_no_daemon():
    c = Client("--no-start", expect_ready=False)
    line = c.read()
    check(line.startswith("error 2 no uroced is running"), line)
    c.finish()
    c = Client(env={"UROCE_UROCED": "/nonexistent/uroced"}, expect_ready=False)
    line = c.read()
    check(line.startswith("error 2 ") and "UROCE_UROCED" in line, line)
    c.finish()


# ---- main ----

def enter_namespace():
    global build
    libc = ctypes.CDLL(None, use_errno=True)
    uid, gid = os.getuid(), os.getgid()
    if libc.unshare(CLONE_NEWNET):
        if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET):
            print("no network namespace can be made here")
            sys.exit(SKIP)
        for name, text in (("setgroups", "deny"), ("uid_map", "0 %d 1" % uid),
                           ("gid_map", "0 %d 1" % gid)):
            with open("/proc/self/" + name, "w") as f:
                f.write(text)
    elif os.getuid() == 0 and not libc.unshare(CLONE_NEWNS):
        # Private, and an empty /run: the machine may have a uroced of root.
        libc.mount(None, b"/", None, 0x44000, None)
        libc.mount(b"none", b"/run", b"tmpfs", 0, None)
        # Where other users reach it: the tree may be in root's home.
        os.mkdir("/run/build")
        if libc.mount(build.encode(), b"/run/build", None, MS_BIND, None) == 0:
            build = "/run/build"
    # SIOCSIFFLAGS: lo up
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    import fcntl
    fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", b"lo", 1))
    s.close()


def main():
    global build
    build = os.path.abspath(sys.argv[1])
    wanted = sys.argv[2:]
    enter_namespace()
    failed = 0
    for name, test in list(globals().items()):
        if not name.startswith("test_") or (wanted and name not in wanted):
            continue
        started = time.monotonic()
        try:
            test()
            end_daemon()
            eventually(all_gone, "nothing is left running", 6)
            result = "ok"
        except Skip as e:
            result = "skipped: %s" % e
        except Exception as e:  # the other tests say more about the cause
            result = "FAILED: %s: %s" % (type(e).__name__, e)
            import traceback
            traceback.print_exc()
            failed += 1
            for pid in sum(daemons(), []):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass  # it went by itself
            end = subprocess.run(["ps", "-eo", "pid,comm"], capture_output=True, text=True)
            ours = os.stat("/proc/self/ns/net").st_ino
            for line in end.stdout.splitlines()[1:]:
                pid, comm = line.split(None, 1)
                try:
                    if comm == "slot_client" and \
                            os.stat("/proc/%s/ns/net" % pid).st_ino == ours:
                        os.kill(int(pid), signal.SIGKILL)
                except OSError:
                    pass
            time.sleep(0.2)
        print("%-36s %5.1f s  %s" % (name, time.monotonic() - started, result), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
