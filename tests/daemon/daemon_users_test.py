#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Who has an address: other programs and users, root's daemon, squatters, two daemons, namespaces.

    daemon_users_test.py BUILD_DIR [TEST...]

Tests that need the right to act as another user are skipped without it.
"""

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import time

from checks import PATIENCE, SKIP, Skip, built, check, eventually
from slots import (CLONE_NEWNET, CLONE_NEWUSER, Client, PORT, Sender, all_gone, daemons, run,
                   socket_name, standing_still)

NOBODY = 65534
ROOT_PATH = "/run/uroce/sock"


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


def listens(path):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        return s.connect_ex(path) == 0
    finally:
        s.close()


def test_shared_daemon():
    need_root()
    path = "/tmp/uroce-test-%d.sock" % os.getpid()
    d = subprocess.Popen([built("bin/uroced"), "--foreground", "--socket", path,
                          "--share-with", str(NOBODY), "--idle-exit", "0"])
    try:
        eventually(lambda: listens(path), "it listens")
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
            eventually(lambda: c.count() == [3, 0, 0, 0], lambda: "count %s" % c.count())
        for c in (mine, other, stranger):
            c.finish()
    finally:
        d.send_signal(signal.SIGTERM)
        d.wait(PATIENCE)
    check(d.returncode == 0 and not os.path.exists(path), "SIGTERM is a clean end")
    eventually(all_gone, "the keeper has left too")


def start_root_daemon(preexec=None):
    d = subprocess.Popen([built("bin/uroced"), "--foreground", "--no-keeper", "--idle-exit", "0",
                          "--socket", ROOT_PATH, "--share-with", str(NOBODY)],
                         preexec_fn=preexec)
    eventually(lambda: listens(ROOT_PATH), "root's daemon listens")
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
        # One that claims later than others lease would lose its slot.
        eventually(lambda: counter({}, "claims") == 2, "both have claimed")
        for c in clients:
            check(c.lease() not in clients[0].slots[:1] + clients[1].slots[:1], "unique slots")
        for c in clients:
            c.finish()
    finally:
        d.terminate()
        d.wait(PATIENCE)


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
        d.wait(PATIENCE)


def stay():
    """Until we are killed, or who started us is gone."""
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(0)


def test_squatter():
    squat(4)


def test_squatter_who_takes_nobody():
    """Nor can he be asked who he is, once his backlog is full."""
    squat(0, is_full=True)


def squat(backlog, is_full=False):
    need_root()
    name = socket_name()
    ready, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        as_user(NOBODY)()
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.bind(name)
        s.listen(backlog)
        os.write(told, b"x")
        stay()
    waiting = []
    try:
        os.read(ready, 1)
        while is_full:
            waiting.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            waiting[-1].setblocking(False)
            is_full = waiting[-1].connect_ex(name) == 0
        c = Client()
        check(c.ask("socket").endswith("/1"), "the next name is taken")
        c.open(c.lease())
        c2 = Client()
        check(c2.lease() != c.slots[0], "both find the same daemon")
        eventually(lambda: len(daemons()[0]) == 1, "one daemon")
        c.finish()
        c2.finish()
    finally:
        for s in waiting:
            s.close()
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(ready)
        os.close(told)


def guard_name(address, n):
    return b"\0uroce/address/" + b"00" * 10 + b"ffff" + \
        socket.inet_aton(address).hex().encode() + b"/0/%d" % n


def knock(name):
    """Whether one more connection has room there, which it takes also when it is closed."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK) as s:
        return s.connect_ex(name) == 0


def sit_on(names):
    """A process of another user that has bound these; the even ones listen, and have no room for
    connections. Kill it at the end."""
    ready, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        as_user(NOBODY)()
        sockets = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in names]
        for i, (s, name) in enumerate(zip(sockets, names)):
            s.bind(name)
            if i % 2 == 0:
                s.listen(4)
                while knock(name):
                    pass
        os.write(told, b"x")
        stay()
    os.read(ready, 1)
    os.close(ready)
    os.close(told)
    return pid


def counter(client_env, name):
    text = subprocess.run([built("bin/uroce"), "status", "--json"], capture_output=True,
                          text=True, env={**os.environ, **client_env}).stdout
    return json.loads(text)["counters"][name]


def test_squatted_guard():
    """A stranger who sits on names of an address keeps nobody from it, nor if he takes nobody."""
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
    uroced = daemons()[0][0]
    if squatter:
        os.kill(squatter, signal.SIGKILL)
        os.waitpid(squatter, 0)
    d = subprocess.Popen([built("bin/uroced"), "--foreground", "--no-keeper", "--socket", path,
                          "--idle-exit", "0"])
    try:
        eventually(lambda: listens(path), "it listens")
        second = Client(env={"UROCE_SOCKET": path})
        slot = second.lease()
        for i in range(600):  # more than fit into the backlog of the name
            if i == 300:
                standing_still(uroced, 1.0)
            line = second.ask("open %d 127.0.0.1" % slot)
            check(line.startswith("error 98 another uroced of this user (pid "), line)
        os.kill(uroced, signal.SIGSTOP)
        while knock(guard_name("127.0.0.1", 1 if squatter else 0)):
            pass
        line = second.ask("open %d 127.0.0.1" % slot)
        os.kill(uroced, signal.SIGCONT)
        check(line.startswith("error 98 another uroced of this user has "), line)
        Sender().send(first.slots[0], 3)
        eventually(lambda: first.count() == [3, 0, 0, 0], "the first one is not disturbed")
        second.finish()
    finally:
        d.send_signal(signal.SIGTERM)
        d.wait(PATIENCE)
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
        eventually(lambda: c.count() == [3, 0, 0, 0], lambda: "count %s" % c.count())
    for c in (outside, inside):
        c.finish()


if __name__ == "__main__":
    sys.exit(run(globals()))
