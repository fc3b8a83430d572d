# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of slots have in common: programs that hold some (slot_client), packets to them
(plain datagrams whose byte 5 names the slot), messages made here, and a network namespace.
"""

import contextlib
import ctypes
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

from checks import PATIENCE, SKIP, Skip, built, check, eventually, run_tests, set_build

PORT = 4791
CLONE_NEWNET = 0x40000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWNS = 0x00020000
MS_BIND = 4096


class Client:
    """A slot_client. The environment holds nothing but what a test adds."""

    def __init__(self, *args, env=None, preexec=None, expect_ready=True):
        full = {"PATH": os.environ.get("PATH", "")}
        full.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})
        full.update(env or {})
        self.process = subprocess.Popen([built("tests/slot_client"), *args], env=full,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        preexec_fn=preexec)
        self.slots = []
        self.opened = []  # descriptors, in the order of open()
        self.expect_ready = expect_ready
        self.is_ready = False
        if expect_ready:
            self.wait_ready()

    def wait_ready(self):
        line = self.read()
        check(line == "ready", "client says: " + line)
        self.is_ready = True
        return self

    def read(self, seconds=PATIENCE):
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
        self.opened.append(answer.split()[1])

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
                self.process.wait(PATIENCE)
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
        return now and not set(now) & set(old)
    eventually(look, what)


def wait_kept(clients):
    """Until the keeper has copies of all that these have open, and uroced has told it the rest."""
    def has_all():
        found = set()
        for pid in daemons()[1]:
            folder = "/proc/%d/fd/" % pid
            try:
                for fd in os.listdir(folder):
                    found.add(os.readlink(folder + fd))
            except OSError:
                pass  # closed meanwhile, or gone
        return found.issuperset(os.readlink("/proc/%d/fd/%s" % (c.process.pid, fd))
                                for c in clients for fd in c.opened)
    eventually(has_all, "a keeper that has all")
    ask_slots()  # it tells a keeper everything in one go, before it answers anybody


def standing_still(pid, seconds):
    """As on a busy machine: it goes on by itself after so long."""
    def go_on():
        with contextlib.suppress(ProcessLookupError):  # whoever waited for it may have ended it
            os.kill(pid, signal.SIGCONT)
    os.kill(pid, signal.SIGSTOP)
    threading.Timer(seconds, go_on).start()


def end_daemon():
    """Instead of waiting until it is idle for 2 s."""
    try:
        ask_raw(21, struct.pack("<I", 0), patience=0.0).recv(6000)
    except OSError:
        pass  # gone, or listening elsewhere: then it leaves by itself


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
        try:
            s.connect(socket_name())  # blocking: waits for room when many are before us
            s.settimeout(PATIENCE)
            return s
        except ConnectionRefusedError:
            s.close()
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def ask_raw(kind, body=b"", hello=True, instance=None, patience=PATIENCE):
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
    s = ask_raw(15)
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


def enter_namespace():
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
        if libc.mount(built().encode(), b"/run/build", None, MS_BIND, None) == 0:
            set_build("/run/build")
    # SIOCSIFFLAGS: lo up
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    import fcntl
    fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", b"lo", 1))
    s.close()


def clean_up():
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
            if comm == "slot_client" and os.stat("/proc/%s/ns/net" % pid).st_ino == ours:
                os.kill(int(pid), signal.SIGKILL)
        except OSError:
            pass
    eventually(all_gone, "what was killed is gone")


def around(test):
    try:
        test()
        end_daemon()
        eventually(all_gone, "nothing is left running")
    except Skip:
        raise
    except Exception:
        clean_up()
        raise


def run(module):
    """The tests of a module, in a namespace of their own; its exit status."""
    set_build(sys.argv[1])
    enter_namespace()
    return run_tests(module, around)
