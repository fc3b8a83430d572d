# SPDX-License-Identifier: BSD-2-Clause
"""Sockets over RDMA: rdma-core's programs on rsockets, and programs of TCP with a preload library.

A listener of these has no TCP port, so nothing tells from outside that it is there: a client that
is refused is started again, as long as its server lives."""
import hashlib
import os
import re
import signal
import tempfile
import time

from harness import pair, process
from harness.report import Failed

from rows import FULL, row

PLACES = (("lo", "lo"), ("veth-1500", ("pair", 1500)), ("veth-9000", ("pair", 9000)))
# With -T a the examples say what errno was before.
REFUSED = re.compile(r"[Cc]onnection refused|rpoll: Operation now in progress")


def start_client(ctx, server, argv, timeout, start_args):
    """Until it is not refused any more."""
    deadline = time.monotonic() + process.LONG
    while True:
        client = pair.start(ctx.topology.b, argv, **start_args)
        client.wait(timeout, ctx.on_wait)
        if client.status == 0 or server.poll() is not None or \
                not REFUSED.search(client.output()) or time.monotonic() > deadline:
            return client
        time.sleep(0.1)


def run(ctx, server_argv, client_argv, timeout=process.LONG, server_ends=True, **start_args):
    server = pair.start(ctx.topology.a, server_argv, **start_args)
    client = None
    try:
        client = start_client(ctx, server, client_argv, timeout, start_args)
        if server_ends:
            server.wait(process.LONG if client.status == 0 else 15)
        else:
            server.kill(signal.SIGINT)
            server.wait(process.LONG)
    except process.Timeout as e:
        server.kill()
        raise Failed(f"{e}\n{pair.Outcome(server, client).text()}") from e
    outcome = pair.Outcome(server, client)
    if client.status != 0 or (server_ends and server.status != 0):
        raise Failed(outcome.text())
    return outcome


def addresses(ctx):
    return ctx.topology.ipv4, ctx.topology.ipv6


def both(ctx, program, address, *args):
    """A server on the address and its client; each of three ways to wait."""
    common = [program, *args, "-p", pair.next_port()]
    return run(ctx, [*common, "-b", address], [*common, "-s", address])


def amounts(ctx):
    """Sizes with how often: a ring has two halves of 64 KiB (or of -B)."""
    for size, count, iterations in ((1, 100, 4), (64, 100, 10), (4096, 20, 10), (65536, 10, 10),
                                    (1000003, 3, 5)):
        yield ["-S", size, "-C", count, "-I", iterations * ctx.pick(1, 10)]


for _name, _where in PLACES:
    @row(f"rsockets/{_name}/rstream", _where)
    def rstream(ctx):
        """Blocking, nonblocking and with poll; every byte verified."""
        for address in addresses(ctx):
            for mode in ("b", "n", "a"):
                for amount in amounts(ctx):
                    both(ctx, "rstream", address, "-T", mode, "-T", "v", *amount)

    @row(f"rsockets/{_name}/rstream-buffers", _where, least=FULL)
    def rstream_buffers(ctx):
        """Small and large rings, no inline data, much of it; the default measurements at last."""
        for more in (["-B", 4096], ["-B", 1 << 20], ["-i", 0], ["-i", 512]):
            for amount in amounts(ctx):
                both(ctx, "rstream", ctx.topology.ipv4, "-T", "v", *more, *amount)
        both(ctx, "rstream", ctx.topology.ipv4)

    @row(f"rsockets/{_name}/riostream", _where)
    def riostream(ctx):
        for mode in ("b", "n", "a"):
            both(ctx, "riostream", ctx.topology.ipv4, "-T", mode, "-T", "v", "-S", 65536, "-C", 10,
                 "-I", ctx.pick(10, 100))

    @row(f"rsockets/{_name}/udpong", _where)
    def udpong(ctx):
        """Datagrams, echoed; the server never ends by itself."""
        for address in addresses(ctx):
            for mode in ("b", "n", "a"):
                common = ["udpong", "-T", mode, "-T", "e", "-p", pair.next_port()]
                run(ctx, [*common, "-b", address],
                    [*common, "-s", address, "-C", ctx.pick(100, 1000)], server_ends=False)

    @row(f"rsockets/{_name}/rcopy", _where)
    def rcopy(ctx):
        """case_055: a file arrives as it was."""
        return copy_file(ctx, ctx.pick(8, 64, 256) << 20)


def write_random(path, size):
    digest = hashlib.sha256()
    with open(path, "wb") as f:
        while size:
            piece = os.urandom(min(size, 1 << 20))
            digest.update(piece)
            f.write(piece)
            size -= len(piece)
    return digest.hexdigest()


def hash_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        for piece in iter(lambda: f.read(1 << 20), b""):
            digest.update(piece)
    return digest.hexdigest()


def copy_file(ctx, size):
    with tempfile.TemporaryDirectory(prefix="uroce-rcopy-") as folder:
        source, target = os.path.join(folder, "source"), os.path.join(folder, "target")
        wanted = write_random(source, size)
        port = ["-p", pair.next_port()]
        outcome = run(ctx, ["rcopy", *port],
                      ["rcopy", source, f"{ctx.topology.ipv4}:{target}", *port],
                      server_ends=False)
        if hash_of(target) != wanted:
            raise Failed(f"the copy differs\n{outcome.text()}")
    return f"{size >> 20} MiB"


def start_sockets(ns, argv, stdin=None):
    """A program of TCP sockets; `stdin`: a file's path."""
    command = [pair.UROCE, "run", "--sockets", *argv]
    if stdin:
        command = ["sh", "-c", 'exec "$@" <' + stdin, "sh", *command]
    return pair.start(ns, command, on_uroce=False)


def run_sockets(ctx, server_argv, client_argv, stdin=None):
    """Both on rsockets; (server, client), the server still alive if it does not end by itself."""
    server = start_sockets(ctx.topology.a, server_argv)
    deadline = time.monotonic() + process.LONG
    while True:
        client = start_sockets(ctx.topology.b, client_argv, stdin)
        client.wait(process.LONG)
        if client.status == 0 or server.poll() is not None or time.monotonic() > deadline:
            break
        time.sleep(0.1)
    outcome = pair.Outcome(server, client)
    if client.status != 0:
        raise Failed(outcome.text())
    return outcome


def listen_tcp(ns):
    """How many TCP sockets listen there: none, when the servers are on rsockets."""
    return ns.run("sh", "-c", "cat /proc/net/tcp /proc/net/tcp6").count(" 0A ")


for _name, _where in PLACES[:2]:
    @row(f"rsockets/{_name}/preload-nc", _where)
    def preload_nc(ctx):
        with tempfile.TemporaryDirectory(prefix="uroce-nc-") as folder:
            source = os.path.join(folder, "source")
            wanted = write_random(source, ctx.pick(3, 64) * 1000003)
            target = os.path.join(folder, "target")
            port = pair.next_port()
            outcome = run_sockets(ctx, ["sh", "-c", f'nc -l -s {ctx.topology.ipv4} -p {port} >{target}'],
                                  ["nc", "-N", ctx.topology.ipv4, port], stdin=source)
            outcome.server.wait(process.LONG)
            if hash_of(target) != wanted:
                raise Failed(f"the copy differs\n{outcome.text()}")

    @row(f"rsockets/{_name}/preload-iperf3", _where)
    def preload_iperf3(ctx):
        port = pair.next_port()
        outcome = run_sockets(ctx, ["iperf3", "-s", "-1", "-p", port, "-B", ctx.topology.ipv4],
                              ["iperf3", "-p", port, "-c", ctx.topology.ipv4, "-n", "64M"])
        outcome.server.wait(process.LONG)
        pair.expect_success(outcome)
        # It counts in blocks of 128 KiB, and may send one more than was asked for. Its receiver stops
        # at a message of the control connection: the last blocks may be unread.
        said = outcome.client.output()
        if not re.search(r"64\.[01] MBytes .* sender", said) or not re.search(
                r"6[234]\.\d MBytes .* receiver", said):
            raise Failed(outcome.text())

    @row(f"rsockets/{_name}/preload-openssl", _where)
    def preload_openssl(ctx):
        """TLS over RDMA: a page of s_server -WWW, byte for byte; no TCP socket listens."""
        with tempfile.TemporaryDirectory(prefix="uroce-tls-") as folder:
            key, page = os.path.join(folder, "key.pem"), os.path.join(folder, "page.txt")
            ctx.topology.a.run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout",
                               key, "-out", key + ".cert", "-days", "2", "-subj", "/CN=localhost")
            with open(page, "w", encoding="ascii") as f:
                f.writelines(f"line {i} of the page\n" for i in range(20000))
            request = os.path.join(folder, "request")
            with open(request, "w", encoding="ascii") as f:
                f.write("GET /page.txt HTTP/1.0\r\n\r\n")
            where = f"{ctx.topology.ipv4}:{pair.next_port()}"
            outcome = run_sockets(
                ctx, ["sh", "-c", f"cd {folder} && exec openssl s_server -accept {where} -WWW "
                      f"-cert {key}.cert -key {key}"],
                ["openssl", "s_client", "-connect", where, "-quiet", "-ign_eof"], stdin=request)
            listening = listen_tcp(ctx.topology.a)
            outcome.server.end()
            if listening:
                raise Failed(f"{listening} TCP sockets listen\n{outcome.text()}")
            with open(page, encoding="ascii") as f:
                if f.read() not in outcome.client.output():
                    raise Failed(f"the page differs\n{outcome.text()}")
