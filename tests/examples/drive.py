# SPDX-License-Identifier: BSD-2-Clause
"""Drives the programs of examples/ and checks what they print, for `make check` (examples_test.py,
on a build tree) and for the rows of `make programs`.

A Driver says where the programs are and how one is started; `place` is a topology of tests/harness.
"""
import os
import re
import shlex
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from harness import pair, process  # noqa: E402
from harness.report import Failed  # noqa: E402

SOURCES = os.path.join(pair.ROOT, "examples")
NAMES = ("rc_send_recv", "rc_write_imm", "rdma_cm_echo", "atomic_counter", "ud_checked")
NOT_YET = 2  # exit status of a client whose server does not listen yet
TIMEOUT = process.LONG


class Driver:
    def __init__(self, folder, place, on_uroce=True, env=None):
        self.folder = folder
        self.place = place
        self.on_uroce = on_uroce
        self.env = env or {}

    def start(self, ns, name, *args, env=None):
        return pair.start(ns, [os.path.join(self.folder, name), *args],
                          env={**self.env, **(env or {})}, on_uroce=self.on_uroce)

    def serve(self, name, *args, env=None):
        return self.start(self.place.a, name, *args, env=env)

    def connect(self, server, name, *args, env=None, look=None):
        """A client that has ended; started again while the server does not listen. look(client) is
        called while it runs, often, until it is true."""
        deadline = time.monotonic() + TIMEOUT
        while True:
            client = self.start(self.place.b, name, *args, env=env)
            while look and not look(client) and client.poll() is None:
                time.sleep(0.005)
            client.wait(TIMEOUT)
            if client.status != NOT_YET or server.poll() is not None or \
                    time.monotonic() > deadline:
                return client
            time.sleep(0.05)


def expect(p, text, status=0):
    """It ended so, and its output has the pattern: the match."""
    code = p.wait(TIMEOUT)
    found = re.search(text, p.output())
    if code != status or not found:
        raise Failed(f"{' '.join(p.argv)}: status {code}, expected {status} and \"{text}\"\n"
                     f"{p.output()}")
    return found


def numbers(match):
    return [int(n) for n in match.groups()]


def rc_send_recv(d):
    place = d.place
    gids = [pair.gid_index(ns, place.device, address) if d.on_uroce else 0
            for ns, address in ((place.a, place.ipv4), (place.b, place.client_ipv4))]
    server = d.serve("rc_send_recv", place.device, gids[0])
    process.wait_for_port(server, 18515)
    client = d.connect(server, "rc_send_recv", place.device, gids[1], place.ipv4)
    expect(client, r'10 messages, the last answer is "MESSAGE 9"')
    expect(server, "answered 10 messages")


def rc_write_imm(d):
    server = d.serve("rc_write_imm", d.place.ipv4)
    client = d.connect(server, "rc_write_imm", d.place.ipv4, "client")
    expect(client, "wrote 16 blocks of 65536 bytes")
    expect(server, "the client says 16 blocks; 0 of 1048576 bytes are wrong")


def rdma_cm_echo(d):
    server = d.serve("rdma_cm_echo", d.place.ipv4, 3)
    expect(d.connect(server, "rdma_cm_echo", d.place.ipv4, "hello", "world"), "^hello\nworld\n$")
    others = [d.start(d.place.b, "rdma_cm_echo", d.place.ipv4, *words)
              for words in (["x" * 400], [""] * 50)]  # too long: cut
    expect(others[0], "^x{255}\n$")
    expect(others[1], "^\n{50}$")
    expect(server, "3 clients, 53 messages echoed")


def atomic_counter(d):
    def start():
        return d.start(d.place.b, "atomic_counter", d.place.ipv4, "client")
    server = d.serve("atomic_counter", d.place.ipv4, 3)
    clients = [start() for _ in range(3)]
    deadline = time.monotonic() + TIMEOUT
    while any(c.poll() is None or (c.poll() == NOT_YET and server.poll() is None)
              for c in clients) and time.monotonic() < deadline:
        # who came before the server listened comes again
        clients = [start() if c.poll() == NOT_YET and server.poll() is None else c for c in clients]
        time.sleep(0.05)
    starts = sorted(numbers(expect(c, r"1000 tickets, (\d+) to (\d+); .*; 0 wrong"))
                    for c in clients)
    if starts[0][0] != 0 or max(last for _, last in starts) != 2999:
        raise Failed(f"tickets {starts}")
    expect(server, "3 clients, the counter is 3000: right")


# Answers that may still be on their way to a client that has all it needs: each of its requests
# (WINDOW of ud_checked.c) may have been repeated before the answer to the first one came.
UNDER_WAY_MAX = 16

CLIENT = (r"client: (\d+) blocks, (\d+) answers damaged, (\d+) lost or late, "
          r"(\d+) blocks repaired, (\d+) answers came twice, (\d+) blocks wrong")


def ud_checked(d, impair="", options=(), blocks=4000, status=0):
    """What both sides counted, and what the client's adapter says of itself."""
    # With one seed on both sides the same messages are damaged on the way there and back, and an
    # answer to the request before is no worse for a line of the answer before.
    sides = [{"UROCE_IMPAIR": f"{impair},seed={seed}"} if impair else {} for seed in (1, 2)]
    server = d.serve("ud_checked", *options, "server", d.place.ipv4, env=sides[0])
    held = {}

    def hold(client):
        """It has counters once it has a queue pair."""
        try:
            held[client] = pair.Counters(client)
        except (Failed, OSError):
            return False
        return True
    client = d.connect(server, "ud_checked", *options, "client", d.place.ipv4, blocks,
                       env=sides[1], look=hold)
    try:
        got, damaged, lost, repaired, _, wrong = numbers(expect(client, CLIENT, status))
        requests, refused = numbers(expect(server, r"server: (\d+) requests, (\d+) damaged"))
        planted = held[client].read()["io_impair_ud_damaged"] if client in held else None
    finally:
        for counters in held.values():
            counters.close()
    if got != blocks or requests < blocks:
        raise Failed(f"{requests} requests\n{client.output()}")
    return {"damaged": damaged, "refused": refused, "planted": planted, "lost": lost,
            "repaired": repaired, "wrong": wrong}


def ud_clean(d):
    """Nothing is damaged: neither without the profile, nor with it and without reordering."""
    for impair in ("", "faulty-ud"):
        found = ud_checked(d, impair, blocks=1000)
        if found["damaged"] or found["refused"] or found["wrong"] or found["planted"]:
            raise Failed(f"UROCE_IMPAIR={impair}: {found}")


def ud_mended(d, impair, blocks=4000):
    """With the checksum each damaged answer is seen, and nothing is wrong. A request is so short
    that the adapter makes it another one as a whole: its answer does not come, or comes twice. What
    the adapter damages when the client has ended is looked at by nobody."""
    found = ud_checked(d, impair, blocks=blocks)
    unseen = found["planted"] - found["damaged"] if found["planted"] is not None else 0
    if not found["damaged"] or not found["repaired"] or found["wrong"] or \
            not 0 <= unseen <= UNDER_WAY_MAX:
        raise Failed(f"UROCE_IMPAIR={impair}: {found}")
    return found


def ud_unchecked(d, impair, blocks=4000):
    """Without it the damage reaches the file."""
    found = ud_checked(d, impair, ["--unchecked"], blocks, status=1)
    if not found["wrong"]:
        raise Failed(f"UROCE_IMPAIR={impair} --unchecked: {found}")
    return found


def compile_alone(name, compiler="cc"):
    """By the line that stands in its head."""
    with open(os.path.join(SOURCES, name + ".c"), encoding="utf-8") as f:
        line = re.search(r"^ \*     (cc .*)$", f.read(), re.MULTILINE)
    if not line:
        raise Failed(f"{name}.c does not say how it is compiled")
    with tempfile.TemporaryDirectory() as folder:
        words = shlex.split(line.group(1))
        words[0] = compiler
        words[words.index("-o") + 1] = os.path.join(folder, name)
        status, output = process.run(words, TIMEOUT, cwd=SOURCES)
        if status != 0 or output:
            raise Failed(f"{line.group(1)}: status {status}\n{output}")
