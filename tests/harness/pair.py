# SPDX-License-Identifier: BSD-2-Clause
"""A server and a client program on a topology, and what uroce says of its devices there."""
import contextlib
import json
import os
import shlex

from . import process
from .report import Failed

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
UROCE = os.environ.get("UROCE", os.path.join(ROOT, "build", "bin", "uroce"))

# Programs give an ACK 67 ms, eight times, most without an option for it; whoever stands still for
# longer on a loaded machine would fail the other one. With this they wait a second each time.
PATIENCE = {"UROCE_ACK_TIMEOUT_FLOOR_US": 1000000}
_patience = {}

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]

PORT_MIN, PORT_MAX = 18600, 30000
PORTS_OF_A_WORKER = 2500
_port = PORT_MIN + os.getpid() % 500 * 20


def use_ports(worker):
    """Ports of its own for one of a few workers that run rows side by side."""
    global _port
    start = os.getppid() % 500 * 20 + worker * PORTS_OF_A_WORKER
    _port = PORT_MIN + start % (PORT_MAX - PORT_MIN)


def next_port():
    """A TCP port that nobody has been given; programs of rows that follow each other never meet."""
    global _port
    _port += 1
    if _port > PORT_MAX:
        _port = PORT_MIN + 1
    return _port


def be_patient():
    """From here on programs have PATIENCE, but for those whose packets are lost (UROCE_IMPAIR): they
    wait as long as they say, for that is what is tried there."""
    _patience.update(PATIENCE)


def shown(argv, env=None):
    """A command as one would type it."""
    words = [f"{k}={v}" for k, v in (env or {}).items()] + ["uroce", "run"]
    return " ".join(words + [shlex.quote(str(a)) for a in argv])


def start(ns, argv, env=None, user=(), on_uroce=True, line_buffered=False):
    """Starts a program in a namespace, on the libraries of uroce. line_buffered: for programs whose
    output is read while they run (by stdbuf, which takes part in their start)."""
    env = env or {}
    if "UROCE_IMPAIR" not in env:
        env = {**_patience, **env}
    command = [UROCE, "run", *argv] if on_uroce else list(argv)
    if line_buffered:
        command = ["stdbuf", "-oL", *command]
    return process.Process(command, prefix=[*ns.prefix(), *user],
                           env=process.own_environment(**env))


def run(ns, argv, timeout=process.LONG, **kwargs):
    """(status, output) of a program that ends by itself."""
    p = start(ns, argv, **kwargs)
    return p.wait(timeout), p.output()


def devices(ns, env=None):
    status, output = run(ns, [UROCE, "devices", "--json"], env=env, on_uroce=False)
    if status != 0:
        raise Failed(f"uroce devices --json: status {status}\n{output}")
    return json.loads(output)["devices"]


def is_writable(pid, fd):
    """Whether the process has it open for writing: its own counters; for a moment it may have those
    of others open for reading, when it sums up a device's."""
    with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii") as f:
        flags = next(line for line in f if line.startswith("flags:"))
    return int(flags.split()[1], 8) & os.O_ACCMODE == os.O_RDWR


class Counters:
    """The counters of a process, which can be read after its end as well."""

    def __init__(self, p):
        self.files = []
        folder = f"/proc/{p.pid}/fd"
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                link = os.readlink(path)
                if "uroce-counters" in link and not link.endswith("-past") and \
                        is_writable(p.pid, name):
                    self.files.append(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        if not self.files:
            raise Failed(f"process {p.pid} ({p.argv}) has no counters")

    def read(self):
        """By name, all devices together."""
        total = {}
        for file in self.files:
            status, output = process.run([UROCE, "counters", "--json",
                                          f"/proc/{os.getpid()}/fd/{file}"])
            if status != 0:
                raise Failed(output)
            for device in json.loads(output):
                for name, value in device["counters"].items():
                    total[name] = total.get(name, 0) + value
        return total

    def close(self):
        for file in self.files:
            os.close(file)


def gid_index(ns, device, address):
    """Index of the GID that is `address` (as the device list prints it)."""
    for entry in devices(ns):
        if entry["name"] == device:
            for gid in entry["gids"]:
                if gid["address"] == address:
                    return gid["index"]
    raise Failed(f"no GID {address} on {device}")


class Outcome:
    """Both sides of a run."""

    def __init__(self, server, client):
        self.server = server
        self.client = client

    def text(self):
        """What is written to standard error comes first where output goes to a file."""
        parts = []
        for side, p in (("server", self.server), ("client", self.client)):
            if p is None:
                continue
            lines = p.output().rstrip().splitlines()
            if len(lines) > 50:
                lines[15:-30] = [f"[{len(lines) - 45} lines]"]
            shown = "\n".join(lines)
            parts.append(f"{side}{p.where}: {' '.join(p.argv)}\n  status {p.status}\n{shown}")
        return "\n".join(parts)


def run_pair(topology, server_argv, client_argv, port, timeout=process.LONG, env=None, on_uroce=True,
             on_wait=None, on_server=None, protocol="tcp", user=()):
    """Server in a, client in b; the client is started once the server listens on `port`, and
    on_server was called with it."""
    server = start(topology.a, server_argv, env=env, user=user, on_uroce=on_uroce)
    client = None
    try:
        process.wait_for_port(server, port, protocol=protocol)
        if on_server:
            on_server(server)
        client = start(topology.b, client_argv, env=env, user=user, on_uroce=on_uroce)
        client.wait(timeout, on_wait)
        server.wait(process.LONG if client.status == 0 else 15)
    except process.Timeout as e:
        server.kill()
        if client:
            client.kill()
        raise Failed(f"{e}\n{Outcome(server, client).text()}") from e
    return Outcome(server, client)


def expect_success(outcome):
    for side, p in (("server", outcome.server), ("client", outcome.client)):
        if p.status != 0:
            raise Failed(f"{side} ended with status {p.status}\n{outcome.text()}")
    return outcome
