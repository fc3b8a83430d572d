# SPDX-License-Identifier: BSD-2-Clause
"""The line to the agent in the guest (vm/agent.c has the frames): many commands at a time, each an
object like harness.process.Process."""
import shlex
import signal
import socket
import struct
import threading
import time

from harness import process

HEAD = struct.Struct("<BII")
CHUNK = 1 << 15


class LinkLost(RuntimeError):
    """The guest is gone, or does not speak."""


class GuestProcess:
    """A command in the guest. output() is both streams as they came, which is not always the order
    in which they were written; stdout and stderr have them apart."""

    where = " (in the guest)"

    def __init__(self, link, number, argv):
        self.link = link
        self.number = number
        self.argv = argv
        self.status = None
        self.parts = []
        self.ended = threading.Event()
        self.started = time.monotonic()

    def _text(self, kinds):
        return b"".join(data for kind, data in list(self.parts) if kind in kinds).decode(
            errors="replace")

    def output(self):
        return self._text("OE")

    @property
    def stdout(self):
        return self._text("O")

    @property
    def stderr(self):
        return self._text("E")

    def last_line(self):
        lines = self.output().strip().splitlines()
        return lines[-1] if lines else ""

    def poll(self):
        """The exit status (negative: the signal), None while it runs."""
        if self.status is None and self.link.lost:
            raise LinkLost(self.link.lost)
        return self.status

    def wait(self, timeout, on_wait=None):
        """Exit status; one that runs longer is killed: Timeout. on_wait is called now and then."""
        deadline = time.monotonic() + timeout
        while not self.ended.wait(max(0, min(0.5, deadline - time.monotonic()))):
            if time.monotonic() >= deadline:
                self.kill()
                raise process.Timeout(f"{self.argv[0]} in the guest did not end within "
                                      f"{timeout:g} s")
            if on_wait:
                on_wait(self)
        if self.status is None:
            raise LinkLost(self.link.lost)
        return self.status

    def kill(self, sig=signal.SIGKILL):
        """The command and all it has started (unless that made a session of its own)."""
        if self.poll() is None:
            self.link.send(b"K", self.number, struct.pack("<i", sig))
            if sig == signal.SIGKILL:
                self.ended.wait(process.LONG)

    def end(self):
        """Asks, then forces."""
        if self.poll() is None:
            self.kill(signal.SIGTERM)
            if not self.ended.wait(30):
                self.kill()


class Link:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.lock = threading.Lock()
        self.processes = {}
        self.number = 0
        self.hello = threading.Event()
        self.release = ""
        self.lost = ""
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        try:
            with self.socket.makefile("rb") as stream:
                while True:
                    head = stream.read(HEAD.size)
                    if len(head) < HEAD.size:
                        break
                    kind, number, length = HEAD.unpack(head)
                    self._on_frame(chr(kind), number, stream.read(length))
        except OSError:
            pass
        self.lost = "the guest is gone"
        for p in list(self.processes.values()):
            p.ended.set()

    def _on_frame(self, kind, number, data):
        if kind == "H":
            self.release = data.decode()
            self.hello.set()
            return
        p = self.processes.get(number)
        if not p:
            return
        if kind == "X":
            p.status = struct.unpack("<i", data)[0]
            del self.processes[number]
            p.ended.set()
        else:
            p.parts.append((kind, data))

    def send(self, kind, number, data=b""):
        with self.lock:
            try:
                self.socket.sendall(HEAD.pack(kind[0], number, len(data)) + data)
            except OSError as e:
                raise LinkLost("the guest is gone") from e

    def _new(self, argv):
        if self.lost:
            raise LinkLost(self.lost)
        self.number += 1
        p = GuestProcess(self, self.number, argv)
        self.processes[self.number] = p
        return p

    def spawn(self, command, terminal=False):
        """`command`: a line for sh, or a list of words."""
        if isinstance(command, str):
            argv, text = [command], command
        else:
            argv = [str(word) for word in command]
            text = "exec " + shlex.join(argv)
        p = self._new(argv)
        self.send(b"T" if terminal else b"R", p.number, text.encode())
        return p

    def write(self, path, content, timeout=process.LONG):
        p = self._new([f"write {path}"])
        self.send(b"W", p.number, path.encode())
        for start in range(0, len(content), CHUNK):
            self.send(b"D", p.number, content[start:start + CHUNK])
        self.send(b"C", p.number)
        status = p.wait(timeout)
        if status != 0:
            raise RuntimeError(f"guest: {path}: errno {-status}")

    def kill_all(self):
        for p in list(self.processes.values()):
            p.kill()

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()
