#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""uroced and its clients: slots, packets, forks, limits, garbage, and coming and going.

    daemon_test.py BUILD_DIR [TEST...]
"""

import errno
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import time

from checks import PATIENCE, built, check, eventually
from slots import (Client, Sender, all_gone, ask_raw, ask_slots, counters, daemons, message, run,
                   socket_name, standing_still, wait_kept, wait_new_daemon)


def fd_count(pid):
    return len(os.listdir("/proc/%d/fd" % pid))


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
    eventually(all_gone, "uroced and keeper leave")
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
        eventually(lambda: c.count()[0] == 7, "7 packets at a fresh client")
    for c in clients:
        wanted = 7 if c in fresh else 25
        eventually(lambda: c.count()[0] == wanted, lambda: "count %s" % c.count())
        right, wrong, strays, drops = c.count()
        check(wrong == 0 and strays == 0 and drops == 0, "count %s" % c.count())
        check(right == wanted, "count %s" % c.count())
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
    wait_kept([keep])
    before = fd_count(pid), fd_count(daemons()[1][0]), c.ask("fds")
    # Spares stay: as many as there were sockets that the keeper had not let go of at one time, of
    # which there are few if it is waited for. A leak would leave 400.
    for _ in range(20):
        for _ in range(10):
            cycle()
        eventually(lambda: fd_count(pid) <= before[0] + 60 and
                   all(fd_count(keeper) <= before[1] + 60 for keeper in daemons()[1]),
                   lambda: "descriptors %s, then %d" % (before, fd_count(pid)))
    check(c.ask("fds") == before[2], "the client leaks")
    Sender().send(keep.slots[0], 9)
    eventually(lambda: keep.count() == [9, 0, 0, 0], "the other is undisturbed")
    check(counters()["repairs"] == 0, "nothing needed repair")
    c.finish()
    keep.finish()


def test_stop_with_clients():
    clients = [Client() for _ in range(4)]
    for c in clients:
        c.open(c.lease())
    clients.pop(1).kill()  # leaves a spare between the sockets in use
    eventually(lambda: len(ask_slots()) == 3, "its slot is free")
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
        eventually(lambda: c.count()[0] == b[0] + 10,
                   lambda: "count %s after %s" % (c.count(), b))
    for c in clients:
        c.finish()


def test_stop_returns_when_the_name_is_free():
    """Also if that lasts, because a keeper stands still."""
    c = Client()
    c.open(c.lease())
    wait_kept([c])
    keeper = daemons()[1][0]
    keep = Client("--no-start")  # else uroced may have left by itself
    c.finish()
    eventually(lambda: not ask_slots(), "the slot is free")
    standing_still(keeper, 3.0)
    done = subprocess.run([built("bin/uroce"), "stop"], capture_output=True, text=True)
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    free = s.connect_ex(socket_name())
    s.close()
    check((done.returncode, free) == (0, errno.ECONNREFUSED), "%s, then %d" % (done, free))
    keep.finish()


def test_addresses_are_free_when_the_name_is():
    """Else the next daemon is told that another one has them, while the old one is on its way."""
    c = Client()
    for third in (1, 2):
        slot = c.lease()
        for i in range(120):
            c.open(slot, "127.0.%d.%d" % (third, i + 1))
    wait_kept([c])
    uroced, keeper = [pids[0] for pids in daemons()]
    c.kill()
    name, guards = b"@" + socket_name()[1:].encode(), 240
    gone = is_late = False
    end = time.monotonic() + PATIENCE
    standing_still(keeper, 1.0)
    os.kill(uroced, signal.SIGTERM)
    while guards and time.monotonic() < end:
        with open("/proc/net/unix", "rb", buffering=1 << 17) as f:
            text = f.read()
        guards = text.count(b"@uroce/address/")
        # Twice: the kernel goes through its table in pieces, and one may be missed.
        is_late = is_late or (gone and name not in text and guards > 0)
        gone = name not in text
    eventually(all_gone, "uroced and keeper leave")
    check(not is_late, "addresses were held when uroced no longer listened")


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
            eventually(lambda: o.count() == [3, 0, 0, 0], lambda: "count %s" % o.count())
    finally:
        os.kill(child, signal.SIGKILL)
    time.sleep(0.3)  # what goes wrong, if something does, had its time
    for o in others:
        Sender().send(o.slots[0], 3)
    for o in others:
        eventually(lambda: o.count() == [6, 0, 0, 0], lambda: "count %s" % o.count())
    check(counters()["repairs"] == 0, "nothing needed repair")
    for o in others:
        o.finish()


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
        eventually(lambda: not leftover(), lambda: "child has %s" % leftover())
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
    eventually(lambda: good.count()[:2] == [3, 0], lambda: "count %s" % good.count())
    eventually(lambda: counters()["messages_malformed"] > 100, "malformed messages are counted")
    eventually(lambda: sum(counters()["strays_" + x] for x in
                           ("limited", "undelivered", "relayed")) == 2000,
               lambda: "strays are counted: %s" % counters())
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
    eventually(lambda: b.count() == [0, 0, 5, 0], lambda: "count %s" % b.count())
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

    def is_leased():
        others[2].send(message(5))
        return struct.unpack_from("<H", others[2].recv(6000), 6)[0] == 6
    eventually(is_leased, "freed slots are leased again")
    for o in others:
        o.close()
    client.finish()


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


def test_no_daemon():
    c = Client("--no-start", expect_ready=False)
    line = c.read()
    check(line.startswith("error 2 no uroced is running"), line)
    c.finish()
    c = Client(env={"UROCE_UROCED": "/nonexistent/uroced"}, expect_ready=False)
    line = c.read()
    check(line.startswith("error 2 ") and "UROCE_UROCED" in line, line)
    c.finish()


if __name__ == "__main__":
    sys.exit(run(globals()))
