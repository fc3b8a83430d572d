#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`uroce verify` between two hosts, each a namespace here: who knows the token and who does not,
strangers, versions, other libraries at one end, and what is left when an end goes.

    peers_test.py BUILD_DIR [TEST...]

Exit status 77 where no network namespace can be made.
"""

import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import runs
from runs import (CHECKS, COLUMNS, LONG, MATRIX, PLAN, ROOT, TOKEN, descendants, is_there,
                  name_of, program, verdicts, Verify)

from harness import process, topology, unit

PORT = 18701


class Peers(Verify):
    """Server in one namespace, orchestrator in another: two hosts."""

    def setUp(self):
        super().setUp()
        self.place = topology.Pair()

    def serve(self, *arguments):
        server = self.start("--server", "--token", TOKEN, *arguments, ns=self.place.a)
        runs.await_words(server, "serving")
        return server

    def await_turn(self, server):
        """Until what serves the last client is gone: the next one finds the server free."""
        process.wait_until(lambda: not descendants(server.pid), process.LONG, "the server's turn")

    def peer(self, *arguments, address=None, token=TOKEN):
        return self.start("--peer", address or self.place.ipv4, "--token", token, *arguments,
                          ns=self.place.b)

    def stop(self, server):
        server.kill(signal.SIGTERM)
        self.assertEqual(server.wait(process.LONG), 0, server.output())

    def talk(self, *lines, hear=2, address=None):
        """Says lines to the server from the other namespace; what it answers."""
        script = ("import socket, sys\n"
                  "s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 300)\n"
                  "f = s.makefile('rb')\n"
                  "out = [f.readline()]\n"
                  "s.sendall(bytes.fromhex(sys.argv[3]))\n"
                  "out += [f.readline() for _ in range(int(sys.argv[4]) - 1)]\n"
                  "sys.stdout.buffer.write(b''.join(out))\n")
        status, output = process.run(
            [sys.executable, "-c", script, address or self.place.ipv4, str(PORT),
             b"".join(lines).hex(), str(hear)], prefix=self.place.b.prefix())
        self.assertEqual(status, 0, output)
        return output

    def test_run(self):
        server = self.serve()
        for address in (self.place.ipv4, f"[{self.place.ipv6}]:{PORT}"):
            done = self.peer("--plan", self.write(PLAN), "--json", self.json, address=address)
            self.assertEqual(done.wait(process.LONG), 0, done.output())
            with open(self.json, encoding="utf-8") as f:
                report = json.load(f)
            self.assertEqual((report["place"], report["peer"]), ("peer", address))
            self.assertEqual(report["totals"], {"pass": 3, "fail": 0, "skipped": 1, "measured": 9})
            self.await_turn(server)
        self.assertEqual(server.output().count("the run has ended"), 2)
        self.stop(server)

    def test_hosts_that_share_nothing(self):
        """Own homes and runtime folders, and not the other's environment."""
        def env(name):
            home = os.path.join(self.folder.name, name)
            for folder in ("home", "run", "tmp"):
                os.makedirs(os.path.join(home, folder), mode=0o700)
            return {"PATH": os.environ["PATH"], "HOME": os.path.join(home, "home"),
                    "XDG_RUNTIME_DIR": os.path.join(home, "run"),
                    "TMPDIR": os.path.join(home, "tmp"), "UROCE_VERIFY_TOKEN": TOKEN,
                    "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", ""), **runs.PATIENT}
        server = self.start("--server", "--once", "--bind", self.place.ipv6, ns=self.place.a,
                            env=env("a"))
        runs.await_words(server, "serving")
        done = self.start("--peer", self.place.ipv6, "--plan", self.write(PLAN), "--json", self.json,
                          "--only", "function,a/by_rdma_cm", ns=self.place.b, env=env("b"))
        self.assertEqual(done.wait(process.LONG), 0, done.output())
        self.assertEqual(server.wait(process.LONG), 0, server.output())
        with open(self.json, encoding="utf-8") as f:
            report = json.load(f)
        for side, address in (("initiator", self.place.client_ipv6), ("target", self.place.ipv6)):
            uses = report["environment"][side]["facts"]["uses"]
            self.assertEqual((uses["implementation"], uses["device"], uses["gid"]),
                             ("uroce", "uroce_ur0", address))
            self.assertIn(f"{side:9} uroce {uses['implementation_version']}, uroce_ur0 {address}",
                          done.output())

    def test_one_family(self):
        for ns in (self.place.a, self.place.b):
            ns.run("sh", "-c", "echo 1 >/proc/sys/net/ipv6/conf/ur0/disable_ipv6")
        server = self.serve("--once")
        done = self.peer("--plan", self.write(MATRIX.replace(",ud", "")), "--json", self.json)
        self.assertEqual(done.wait(process.LONG), 0, done.output())
        with open(self.json, encoding="utf-8") as f:
            case = json.load(f)["cases"][0]
        for row in case["detail"]["initiator"]["matrix"]:
            self.assertEqual(list(row), ["scenario", *COLUMNS[:2]])
        self.assertEqual(server.wait(process.LONG), 0, server.output())

    def test_killed_peer_without_ipv4(self):
        for ns in (self.place.a, self.place.b):
            ns.run("ip", "-4", "addr", "flush", "dev", "ur0")
        server = self.serve("--once")
        done = self.peer("--plan", self.write(CHECKS), "--json", self.json, "--only", "b/killed",
                         address=self.place.ipv6)
        self.assertEqual(done.wait(process.LONG), 0, done.output())
        with open(self.json, encoding="utf-8") as f:
            self.assertEqual(json.load(f)["cases"][0]["reason"], None)
        self.assertEqual(server.wait(process.LONG), 0, server.output())

    def test_libraries_of_the_system_on_one_side(self):
        """There, no device of uroce is seen, and three programs are enough."""
        folder = os.path.join(self.folder.name, "bin")
        os.mkdir(folder)
        for name in ("uroce", "verify-agent", "verbs-check"):
            shutil.copy(program(name), folder)
        server = process.Process([os.path.join(folder, "uroce"), "verify", "--server", "--system",
                                  "--token", TOKEN], prefix=self.place.a.prefix())
        runs.await_words(server, "serving")
        done = self.peer("--plan", self.write(PLAN), "--json", self.json)
        self.assertEqual(done.wait(process.LONG), 2, done.output())
        self.assertRegex(done.output(), r"the target has no verbs device \(its library: (?!"
                         + re.escape(runs.BUILD) + ")")
        self.stop(server)

    def test_an_example_that_one_side_lacks(self):
        """The case is skipped, and the other side has not tried in vain meanwhile."""
        folder = os.path.join(self.folder.name, "bin")
        os.mkdir(folder)
        for name in ("uroce", "verify-agent", "verbs-check"):
            shutil.copy(program(name), folder)
        plan = PLAN[:PLAN.index("  - name")] + """\
  - name: a/repair
    kind: ud_repair
    proves: what one side lacks is said
    parameters: {blocks: 10}
"""
        server = self.serve("--once")
        done = process.Process(
            [os.path.join(folder, "uroce"), "verify", "--peer", self.place.ipv4, "--token", TOKEN,
             "--plan", self.write(plan), "--json", self.json], prefix=self.place.b.prefix(),
            env={**os.environ, "UROCE_LIBDIR": os.path.join(runs.BUILD, "lib"),
                 "UROCE_UROCED": program("uroced")})
        self.assertEqual(done.wait(process.LONG), 0, done.output())
        with open(self.json, encoding="utf-8") as f:
            case = json.load(f)["cases"][0]
        self.assertEqual((case["verdict"], case["reason"]), (
            "skipped", "initiator: ud_checked is not installed beside verify-agent"))
        self.assertEqual(server.wait(process.LONG), 0, server.output())

    def test_quirks_are_each_ends_own(self):
        server = self.serve("--once", "--quirks", "rxe")
        done = self.peer("--plan", self.write(PLAN), "--json", self.json, "--only",
                         "function/rc_send", "--qp-timeout", "16")
        self.assertEqual(done.wait(process.LONG), 0, done.output())
        with open(self.json, encoding="utf-8") as f:
            report = json.load(f)
        self.assertEqual([report["environment"][side]["facts"]["uses"].get("quirks")
                          for side in ("initiator", "target")], [None, "rxe"])
        self.assertIn("known departures of rxe are accepted", done.output())

    def test_token_in_the_environment(self):
        server = self.serve("--once")
        done = process.Process([program("uroce"), "verify", "--peer", self.place.ipv4, "--plan",
                                self.write(PLAN), "--only", "function/rc_send"],
                               prefix=self.place.b.prefix(),
                               env={**os.environ, "UROCE_VERIFY_TOKEN": TOKEN})
        self.assertEqual(done.wait(process.LONG), 0, done.output())
        self.assertEqual(server.wait(process.LONG), 0, server.output())  # --once

    def test_sides_that_answer_different_numbers_of_reads(self):
        server = self.serve("--once")
        plan = PLAN[:PLAN.index("  - name")] + """\
  - name: a/read
    kind: bandwidth
    proves: as many READs are under way as the other side answers
    parameters: {op: read, size: 64, messages: 1000}
    value: messages
"""
        done = self.start("--peer", self.place.ipv4, "--token", TOKEN, "--plan", self.write(plan),
                          ns=self.place.b, env={**os.environ, "LD_PRELOAD": os.path.join(
                              runs.BUILD, "tests", "libverify_one_read.so")})
        self.assertEqual(done.wait(process.LONG), 0, done.output())
        self.assertEqual(server.wait(process.LONG), 0, server.output())

    def test_token_that_is_made(self):
        server = self.start("--server", ns=self.place.a)
        runs.await_words(server, "--token")
        token = re.search(r"--token (\S+)", server.output())[1]
        done = self.peer("--plan", self.write(PLAN), "--only", "function/rc_send", token=token)
        self.assertEqual(done.wait(process.LONG), 0, done.output())
        self.stop(server)

    def test_wrong_token(self):
        server = self.serve()
        done = self.peer(token=TOKEN + "x")
        self.assertEqual(done.wait(process.LONG), 2, done.output())
        self.assertIn("refused: wrong token", done.output())
        runs.await_words(server, "refused: wrong token")
        self.stop(server)

    def test_version_of_the_client(self):
        server = self.serve()
        answer = self.talk(b'{"do": "begin", "protocol": 99, "version": "7.7"}\n')
        self.assertIn("the client is version 7.7 (protocol 99), and the server", answer)
        runs.await_words(server, "version 7.7")
        self.stop(server)

    def test_version_of_the_server(self):
        script = ("import socket, sys\n"
                  "l = socket.create_server((sys.argv[1], int(sys.argv[2])))\n"
                  "print('serving', flush=True)\n"
                  "s = l.accept()[0]\n"
                  "s.sendall(b'{\"is\": \"server\", \"protocol\": 99, \"version\": \"7.7\", \"nonce\": \"' +"
                  " b'a' * 64 + b'\"}\\n')\n"
                  "print(s.makefile().readline())\n")
        server = process.Process([sys.executable, "-c", script, self.place.ipv4, str(PORT)],
                                 prefix=self.place.a.prefix())
        runs.await_words(server, "serving")
        done = self.peer()
        self.assertEqual(done.wait(process.LONG), 2, done.output())
        self.assertIn("the server is version 7.7 (protocol 99), and this is", done.output())
        server.wait(process.LONG)
        self.assertIn('"proof":""', server.output())  # nothing is proved to such a one

    def test_words_of_the_server(self):
        """What a peer says that knows the token does not steer the terminal either."""
        script = ("import hashlib, hmac, json, socket, sys\n"
                  "def proof(who, *nonces):\n"
                  "    key = hashlib.blake2b(sys.argv[4].encode(), digest_size=32).digest()\n"
                  "    text = '|'.join(('uroce verify', who) + nonces)\n"
                  "    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()\n"
                  "listener = socket.create_server((sys.argv[1], int(sys.argv[2])))\n"
                  "print('serving', flush=True)\n"
                  "f = listener.accept()[0].makefile('rw')\n"
                  "def say(**words):\n"
                  "    f.write(json.dumps(words) + '\\n')\n"
                  "    f.flush()\n"
                  "    return json.loads(f.readline())\n"
                  "begin = say(**{'is': 'server'}, protocol=int(sys.argv[5]), version=sys.argv[3],\n"
                  "            nonce='a' * 64)\n"
                  "say(**{'is': 'accepted'}, proof=proof('server', 'a' * 64, begin['nonce']))\n"
                  "say(**{'is': 'hello'}, reason='none\\x1b[2J\\x9b31m')\n")
        version = subprocess.run([program("uroce"), "--version"], stdout=subprocess.PIPE,
                                 text=True, check=True).stdout.split()[1]
        with open(os.path.join(ROOT, "src", "verify", "protocol.h"), encoding="utf-8") as f:
            protocol = re.search(r"#define ROCE_VERIFY_PROTOCOL (\d+)", f.read())[1]
        server = process.Process([sys.executable, "-c", script, self.place.ipv4, str(PORT), version,
                                  TOKEN, protocol], prefix=self.place.a.prefix())
        runs.await_words(server, "serving")
        done = self.peer("--plan", self.write(PLAN))
        self.assertEqual(done.wait(process.LONG), 2, done.output())
        self.assertIn("broken off: the target cannot list its devices: none?[2J??31m", done.output())

    def test_nobody_reads_what_the_server_says(self):
        for is_closed in (False, True):
            read, write = os.pipe()
            fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
            server = subprocess.Popen([*self.place.a.prefix(), program("uroce"), "verify", "--server",
                                       "--once", "--token", TOKEN], stdout=write, stderr=write)
            self.addCleanup(server.kill)
            said = b""
            while b"serving" not in said:
                said += os.read(read, 4096)
            if is_closed:
                os.close(read)
            else:
                os.set_blocking(write, False)
                with contextlib.suppress(BlockingIOError):
                    while True:
                        os.write(write, b"x")
                os.set_blocking(write, True)
            os.close(write)
            done = self.peer("--plan", self.write(PLAN), "--only", "function/rc_send")
            self.assertEqual(done.wait(process.LONG), 0, done.output())
            self.assertEqual(server.wait(process.LONG), 0)
            if not is_closed:
                os.close(read)

    def test_unreachable(self):
        done = self.peer()
        self.assertEqual(done.wait(process.LONG), 2, done.output())
        self.assertIn(f"{self.place.ipv4} port {PORT}: Connection refused", done.output())
        done = self.peer(address="10.77.0.99")
        self.assertEqual(done.wait(process.LONG), 2, done.output())
        self.assertRegex(done.output(), "10.77.0.99 port 18701: (No route to host|Connection timed out)")

    def test_strangers(self):
        server = self.serve()
        self.talk(b"GET / HTTP/1.0\r\n\r\n")
        self.talk(os.urandom(20000))
        self.talk(b"{" * 1000 + b"\n")
        self.talk(b'{"do": "quit"}\n')
        silent = []
        for _ in range(3):  # they say nothing
            silent.append(process.Process(
                [sys.executable, "-c",
                 "import socket, sys, time\n"
                 "s = socket.create_connection((sys.argv[1], int(sys.argv[2])))\n"
                 "print('here', flush=True)\n"
                 "time.sleep(600)\n", self.place.ipv4, str(PORT)], prefix=self.place.b.prefix()))
        for each in silent:
            runs.await_words(each, "here")
        done = self.peer("--plan", self.write(PLAN), "--only", "function/rc_send")
        self.assertEqual(done.wait(process.LONG), 0, done.output())
        runs.await_words(server, "no answer in 5 s", count=3)  # the strangers' end
        self.stop(server)

    def test_strangers_by_the_hundred(self):
        """They come again when they are sent away, and who knows the token has its turn."""
        server = self.serve()
        script = ("import selectors, socket, sys\n"
                  "s = selectors.DefaultSelector()\n"
                  "def come():\n"
                  "    c = socket.socket()\n"
                  "    c.setblocking(False)\n"
                  "    c.connect_ex((sys.argv[1], int(sys.argv[2])))\n"
                  "    s.register(c, selectors.EVENT_READ)\n"
                  "for _ in range(500):\n"
                  "    come()\n"
                  "print('here', flush=True)\n"
                  "while True:\n"
                  "    for key, _ in s.select():\n"
                  "        try:\n"
                  "            said = key.fileobj.recv(4096)\n"
                  "        except OSError:\n"
                  "            said = b''\n"
                  "        if not said:\n"
                  "            s.unregister(key.fileobj)\n"
                  "            key.fileobj.close()\n"
                  "            come()\n")
        strangers = process.Process([sys.executable, "-c", script, self.place.ipv4, str(PORT)],
                                    prefix=self.place.b.prefix())
        runs.await_words(strangers, "here")
        runs.await_words(server, "to make room for others")
        deadline = time.monotonic() + process.LONG
        done = None
        # the kernel may keep it waiting among them, or it have no time to prove its token
        while not done or (done.status != 0 and time.monotonic() < deadline):
            done = self.peer("--plan", self.write(PLAN), "--only", "function/rc_send")
            done.wait(process.LONG)
        self.assertEqual(done.status, 0, done.output())
        before = server.output().count("no answer in 5 s")
        self.stop(server)
        # it waits for none of them: their time has not come to its end
        self.assertLess(server.output().count("no answer in 5 s") - before, 32, server.output())
        strangers.kill()

    def test_run_that_took_long_to_prove_its_token(self):
        """It was the next to make room for another one; now it is the run, and does not."""
        server = self.serve()
        script = ("import contextlib, socket, sys, threading, time\n"
                  "listener = socket.create_server(('127.0.0.1', 7001))\n"
                  "print('listening', flush=True)\n"
                  "def come():\n"
                  "    return socket.create_connection((sys.argv[1], int(sys.argv[2])))\n"
                  "def pass_on(a, b):\n"
                  "    with contextlib.suppress(OSError):  # a side that ends with words unread resets\n"
                  "        while got := a.recv(65536):\n"
                  "            b.sendall(got)\n"
                  "    with contextlib.suppress(OSError):\n"
                  "        b.shutdown(socket.SHUT_WR)\n"
                  "client, server = listener.accept()[0], come()\n"
                  "client.sendall(server.recv(65536))\n"
                  "begin = client.recv(65536)\n"
                  "strangers = [come() for _ in range(63)]\n"
                  "for s in strangers:\n"
                  "    s.recv(65536)  # it has a place\n"
                  "time.sleep(0.5)\n"
                  "server.sendall(begin)\n"
                  "client.sendall(server.recv(65536))\n"
                  "strangers.append(come())\n"
                  "strangers[-1].recv(65536)\n"
                  "threading.Thread(target=pass_on, args=(server, client)).start()\n"
                  "pass_on(client, server)\n")
        between = process.Process([sys.executable, "-c", script, self.place.ipv4, str(PORT)],
                                  prefix=self.place.b.prefix())
        runs.await_words(between, "listening")
        done = self.peer("--plan", self.write(PLAN), "--only", "function/rc_send", "--json",
                         self.json, address="127.0.0.1:7001")
        done.wait(process.LONG)  # its devices are not those that it would have without who is between
        self.assertIn("function/rc_send", done.output())
        with open(self.json, encoding="utf-8") as f:
            self.assertTrue(json.load(f)["complete"], done.output() + server.output())
        self.assertEqual(between.wait(process.LONG), 0, between.output())
        self.stop(server)

    def test_what_was_overheard(self):
        """Words of a handshake that are said again prove nothing, to neither end."""
        server = self.serve()
        script = ("import socket, sys\n"
                  "listener = socket.create_server(('127.0.0.1', 7001))\n"
                  "print('listening', flush=True)\n"
                  "def server():\n"
                  "    return socket.create_connection((sys.argv[1], int(sys.argv[2]))).makefile('rwb', 0)\n"
                  "def client():\n"
                  "    return listener.accept()[0].makefile('rwb', 0)\n"
                  "def pass_on(f, line):\n"
                  "    f.write(line)\n"
                  "    return f.readline()\n"
                  "c, s = client(), server()\n"
                  "first = s.readline()\n"
                  "begin = pass_on(c, first)\n"
                  "accepted = pass_on(s, begin)\n"
                  "print(accepted)\n"
                  "del c, s\n"
                  "s = server()\n"
                  "s.readline()\n"
                  "print(pass_on(s, begin), flush=True)\n"
                  "c = client()\n"
                  "pass_on(c, first)\n"
                  "pass_on(c, accepted)\n")
        between = process.Process([sys.executable, "-c", script, self.place.ipv4, str(PORT)],
                                  prefix=self.place.b.prefix())
        runs.await_words(between, "listening")
        for expected in ("the connection was closed", "the server does not know the token"):
            done = self.peer(address="127.0.0.1:7001")
            self.assertEqual(done.wait(process.LONG), 2, done.output())
            self.assertIn(expected, done.output())
        self.assertEqual(between.wait(process.LONG), 0, between.output())
        self.assertIn('"is":"accepted"', between.output())
        self.assertIn("wrong token", between.output())
        self.stop(server)

    def test_agent_that_stands_still_when_its_client_has_gone(self):
        server = self.serve()
        running = self.start_long(server)
        below = [p for p in descendants(server.pid) if name_of(p) == "verify-agent"]
        for pid in below:
            os.kill(pid, signal.SIGSTOP)
        running.kill(signal.SIGKILL)
        runs.await_words(server, "the run has ended")
        self.assertFalse(any(is_there(p) for p in below))
        self.stop(server)

    def test_connection_that_stands_still_is_ended_with_the_server(self):
        server = self.serve()
        self.start_long(server)
        below = descendants(server.pid)
        os.kill(below[0], signal.SIGSTOP)
        self.stop(server)
        self.assertEqual([name_of(p) for p in below if is_there(p)], [])

    def test_one_run_at_a_time(self):
        server = self.serve()
        first = self.peer("--plan", self.write(LONG))
        runs.await_words(first, "a/first")
        second = self.peer("--plan", self.write(PLAN, "other.yaml"))
        self.assertEqual(second.wait(process.LONG), 2, second.output())
        self.assertIn("refused: another run is under way", second.output())
        first.kill(signal.SIGINT)
        self.assertEqual(first.wait(process.LONG), 130)
        self.await_turn(server)
        self.assertIn("the run has ended", server.output())
        third = self.peer("--plan", self.write(PLAN, "other.yaml"), "--only", "function/rc_send")
        self.assertEqual(third.wait(process.LONG), 0, third.output())
        self.stop(server)

    def check_broken(self, running, reason):
        self.assertEqual(running.wait(process.LONG), 1, running.output())
        with open(self.json, encoding="utf-8") as f:
            report = json.load(f)
        self.assertEqual(verdicts(report), {"a/first": "pass", "a/long": "fail", "a/last": "skipped"})
        self.assertIn(reason, report["cases"][1]["reason"])

    def start_long(self, server):
        """Returns when both sides are in the case that lasts."""
        running = self.peer("--plan", self.write(LONG), "--json", self.json)
        self.await_case(running, "a/first")
        self.await_case(server, "begins a run")
        return running

    def test_server_is_stopped(self):
        for sig in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(sig=sig):
                self.stop_server(sig)

    def stop_server(self, sig):
        server = self.serve()
        running = self.start_long(server)
        below = descendants(server.pid)
        server.kill(sig)
        self.assertEqual(server.wait(process.LONG), 0, server.output())
        self.check_broken(running, "the target's agent has gone")
        self.assertEqual([name_of(p) for p in below if is_there(p)], [])

    def test_server_is_killed(self):
        server = self.serve()
        running = self.start_long(server)
        below = descendants(server.pid)
        server.kill(signal.SIGKILL)
        self.check_broken(running, "the target's agent has gone")
        runs.await_end(below)

    def test_target_is_killed(self):
        server = self.serve()
        running = self.start_long(server)
        for pid in descendants(server.pid):
            if name_of(pid) == "verify-agent":
                os.kill(pid, signal.SIGKILL)
        self.check_broken(running, "the target's agent has gone")
        self.stop(server)

    def test_link_goes_down(self):
        server = self.serve()
        running = self.start_long(server)
        try:
            self.place.a.run("ip", "link", "set", "ur0", "down")
            # by the completion that fails, or by the silence, and long before the case's time is over
            self.assertEqual(running.wait(process.LONG), 1, running.output())
            with open(self.json, encoding="utf-8") as f:
                report = json.load(f)
            self.assertEqual(verdicts(report)["a/long"], "fail")
            self.assertNotRegex(report["cases"][1]["reason"], "in the time of the case|not ended in")
        finally:
            self.place.a.run("ip", "link", "set", "ur0", "up")
        self.stop(server)

    def test_client_is_interrupted(self):
        """Both sides are clean, and what was done is in the report."""
        server = self.serve("--once")
        running = self.start_long(server)
        below = descendants(running.pid) + descendants(server.pid)
        running.kill(signal.SIGINT)
        self.assertEqual(running.wait(process.LONG), 130, running.output())
        with open(self.json, encoding="utf-8") as f:
            report = json.load(f)
        self.assertEqual(verdicts(report), {"a/first": "pass", "a/long": "fail", "a/last": "skipped"})
        self.assertEqual(report["broken_off"], "interrupted")
        server.wait(process.LONG)
        self.assertIn("the run has ended", server.output())
        self.assertEqual([name_of(p) for p in below if is_there(p)], [])

    def test_client_is_killed(self):
        server = self.serve()
        running = self.start_long(server)
        running.kill(signal.SIGKILL)
        runs.await_words(server, "the run has ended")
        self.stop(server)


if __name__ == "__main__":
    sys.exit(unit.run(runs.set_build))
