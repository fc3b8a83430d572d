#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""uroced and its keeper killed, clients that come back, and sockets that were damaged.

    daemon_death_test.py BUILD_DIR [TEST...]
"""

import contextlib
import os
import signal
import socket
import sys
import time

from checks import check, eventually
from slots import (Client, PORT, Sender, all_gone, ask_raw, ask_slots, counters, daemons, message,
                   run, wait_kept, wait_new_daemon)


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
        for c in clients:  # or buffers fill while one of them stands still
            eventually(lambda: c.count()[0] == sent,
                       lambda: "all %d packets: %s" % (sent, c.count()))
    for c in clients:
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
               lambda: "the dead one's slot is freed, the stopped one's is not: %s" % ask_slots())
    fresh = Client()
    check(fresh.lease() != stopped.slots[0], "the stopped one's slot was leased")
    fresh.open(fresh.slots[0])
    for c in (stopped, other, fresh):
        Sender().send(c.slots[0], 3)
    stopped.process.send_signal(signal.SIGCONT)
    for c in (stopped, other, fresh):
        eventually(lambda: c.count() == [3, 0, 0, 0], lambda: "count %s" % c.count())
    eventually(lambda: counters()["claims"] == 2, "both claim")
    for c in (stopped, other, fresh):
        c.finish()


def test_keeper_killed():
    c = Client()
    c.open(c.lease())
    old = eventually(lambda: daemons()[1], "a keeper")
    time.sleep(1.1)  # then the next one is started at once
    os.kill(old[0], signal.SIGKILL)
    eventually(lambda: daemons()[1] and old[0] not in daemons()[1], "another keeper")
    wait_kept([c])
    uroced = daemons()[0]
    os.kill(uroced[0], signal.SIGKILL)
    Sender().send(c.slots[0], 5)
    wait_new_daemon(uroced, "restarted")
    other = Client()
    other.open(other.lease())
    Sender().send(c.slots[0], 5)
    Sender().send(other.slots[0], 6)
    eventually(lambda: c.count() == [10, 0, 0, 0], lambda: "count %s" % c.count())
    eventually(lambda: other.count() == [6, 0, 0, 0], lambda: "count %s" % other.count())
    c.finish()
    other.finish()


def test_keeper_that_stood_still():
    """uroced gives it up, and it does not take that for the end of uroced: there would be two."""
    c, busy = Client(), Client()
    slot = c.lease()
    c.open(slot)
    wait_kept([c])
    uroced, old = daemons()
    os.kill(old[0], signal.SIGSTOP)

    def is_given_up():
        busy.open(busy.lease())
        check(busy.ask("release %d" % busy.slots[-1]) == "released", "released")
        return counters().get("keeper_restarts")
    try:
        eventually(is_given_up, "uroced gives it up")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(old[0], signal.SIGCONT)
    eventually(lambda: old[0] not in daemons()[1], "its end")
    wait_kept([c])
    check(daemons()[0] == uroced, "uroced is the same, and alone: %s" % daemons()[0])
    Sender().send(slot, 5)
    eventually(lambda: c.count() == [5, 0, 0, 0], lambda: "count %s" % c.count())
    c.finish()
    busy.finish()


def test_address_that_the_keeper_still_has():
    """It rested, uroced gave it up, and the keeper did not get to hear of it yet."""
    c = Client()
    slot = c.lease()
    c.open(slot)
    wait_kept([c])
    keeper = daemons()[1][0]
    os.kill(keeper, signal.SIGSTOP)
    try:
        check(c.ask("close %d 127.0.0.1" % slot) == "closed", "closed")
        eventually(lambda: not counters().get("addresses"), "the address rests no more")
        c.open(slot)
        Sender().send(slot, 3)
        eventually(lambda: c.count()[0] == 3, "3 packets")
    finally:
        os.kill(keeper, signal.SIGCONT)
    for sent in range(4, 14):  # while the keeper closes what it had
        Sender().send(slot)
        time.sleep(0.02)
        eventually(lambda: c.count()[0] == sent, "%d packets" % sent)
    check(c.count() == [13, 0, 0, 0], "count %s" % c.count())
    check(counters()["repairs"] == 0, "nothing needed repair")
    c.finish()


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
    eventually(lambda: counters()["claims"] == 6, lambda: "all claim: %s" % counters())
    base = [c.count() for c in clients]
    for address in ("127.0.0.1", "::1"):
        for c in clients:
            Sender(address).send(c.slots[0], 10)
    for c, b in zip(clients, base):
        eventually(lambda: c.count()[0] == b[0] + 20,
                   lambda: "count %s after %s" % (c.count(), b))
        check(c.count()[1] == b[1], "count %s after %s" % (c.count(), b))
    fresh = Client()
    fresh.open(fresh.lease())
    check(fresh.slots[0] not in [c.slots[0] for c in clients], "a held slot was leased again")
    Sender().send(fresh.slots[0], 3)
    eventually(lambda: fresh.count()[0] == 3, lambda: "count %s" % fresh.count())
    # Those who claimed may come and go as before.
    clients.pop(0).kill()
    clients.pop(1).finish()
    wanted = {c.slots[0] for c in clients + [fresh]}
    eventually(lambda: ask_slots() == wanted, "their slots are free")
    base = [c.count() for c in clients]
    for c in clients:
        Sender().send(c.slots[0], 4)
    for c, b in zip(clients, base):
        eventually(lambda: c.count()[0] == b[0] + 4,
                   lambda: "count %s after %s" % (c.count(), b))
    for c in clients + [fresh]:
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
        end = time.monotonic() + 1  # what goes astray does not come at all
        while time.monotonic() < end:
            if all(c.count()[0] > b[0] for c, b in zip(clients, before)):
                break
            time.sleep(0.01)
        return all(c.count()[0] == b[0] + 1 and c.count()[1] == b[1]
                   for c, b in zip(clients, before))

    eventually(all_right, "every packet at its slot again")
    for f in foreign[1:]:
        f.close()
    eventually(all_right, "every packet at its slot again")
    for c in clients:
        c.finish()


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


if __name__ == "__main__":
    sys.exit(run(globals()))
