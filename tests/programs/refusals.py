# SPDX-License-Identifier: BSD-2-Clause
"""What cannot work says so in one clear line: programs that uroce run cannot help, an address that
another program or user has, a namespace without a usable interface."""
import contextlib
import os
import re
import shutil
import struct
import tempfile

from harness import pair, perftest, process, topology
from harness.report import Failed, Skipped

from rows import row


def uroce(*argv, ns=None, env=None, user=()):
    p = process.Process([*user, pair.UROCE, *argv], prefix=ns.prefix() if ns else (),
                        env=process.own_environment(**(env or {})))
    return p.wait(process.LONG), p.output()


def expect(got, status, pattern):
    if got[0] != status or not re.search(pattern, got[1]) or len(got[1].splitlines()) > 1:
        raise Failed(f"status {got[0]} and\n{got[1]}\nexpected status {status} and one line with "
                     f"{pattern}")


@row("refusals/usage")
def usage(_):
    expect(uroce(), 2, r"no command given")
    expect(uroce("frobnicate"), 2, r"no command frobnicate")
    expect(uroce("run"), 2, r"no program given")
    expect(uroce("run", "-x", "true"), 2, r"no option -x")
    expect(uroce("env", "--shell", "tcsh"), 2, r"no syntax tcsh; there are sh, fish and docker")
    expect(uroce("devices", "--jason"), 2, r"no option --jason")
    expect(uroce("devices", "eth0"), 2, r"takes no argument")
    expect(uroce("status", "x"), 2, r"x")
    expect(uroce("counters"), 2, r"expected one process id")
    expect(uroce("counters", "abc"), 2, r"abc is neither a process id nor a file")
    expect(uroce("counters", ""), 2, r"neither a process id nor a file")
    expect(uroce("help", "frobnicate"), 2, r"no command frobnicate")


def compile_c(folder, name, source, *flags):
    if not shutil.which("cc"):
        raise Skipped("no C compiler here")
    path = os.path.join(folder, name)
    with open(path + ".c", "w", encoding="ascii") as f:
        f.write(source)
    status, output = process.run(["cc", "-o", path, path + ".c", *flags])
    if status != 0:
        raise Skipped(f"cc {' '.join(flags)}: {output.strip().splitlines()[-1]}")
    return path


HELLO = "int main(void) { return 0; }\n"
LIST = ("#include <infiniband/verbs.h>\n"
        "int main(void) { int n = -1; ibv_get_device_list(&n); return n > 0 ? 0 : 1; }\n")


@row("refusals/run/not-there")
def not_there(_):
    expect(uroce("run", "no-such-program"), 127, r"no-such-program: no such program")
    expect(uroce("run", "/etc/passwd"), 126, r"/etc/passwd: Permission denied")


@row("refusals/run/static")
def static(_):
    with tempfile.TemporaryDirectory() as folder:
        path = compile_c(folder, "static", HELLO, "-static")
        expect(uroce("run", path), 126, r"static is linked statically")
        script = os.path.join(folder, "script")
        with open(script, "w", encoding="ascii") as f:
            f.write(f"#!{path}\n")
        os.chmod(script, 0o755)
        expect(uroce("run", script), 126, r"static is linked statically")


@row("refusals/run/other-machine")
def other_machine(_):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "foreign")
        with open("/bin/true", "rb") as f:
            program = bytearray(f.read())
        program[18:20] = struct.pack("<H", 243 if os.uname().machine != "riscv64" else 183)
        with open(path, "wb") as f:
            f.write(program)
        os.chmod(path, 0o755)
        expect(uroce("run", path), 126, r"foreign is a 64-bit (RISC-V|AArch64) program")


@row("refusals/run/set-user-id")
def set_user_id(_):
    if not topology.may_change_user():
        raise Skipped("needs root to make a set-user-ID program")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        path = compile_c(folder, "privileged", HELLO)
        for mode, what in ((0o4755, "set-user-ID"), (0o2755, "set-group-ID")):
            os.chmod(path, mode)
            expect(uroce("run", path, user=pair.NOBODY), 126, f"privileged is a {what} program")
        if uroce("run", path)[0] != 0:
            raise Failed("root gains nothing by it, and may run it")
        os.chmod(path, 0o755)
        if process.run(["setcap", "cap_net_raw+ep", path])[0] == 0:
            expect(uroce("run", path, user=pair.NOBODY), 126, r"privileged has file capabilities")


@row("refusals/run/rpath", "lo")
def rpath(ctx):
    """Bound by RPATH to a folder with another libibverbs.so.1, and on our device all the same."""
    system = next((p for p in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                               "/usr/lib64") if os.path.exists(p + "/libibverbs.so.1")), None)
    if not system:
        raise Skipped("no libibverbs.so.1 of the system here")
    with tempfile.TemporaryDirectory() as folder:
        path = compile_c(folder, "bound", LIST, "-libverbs", "-Wl,--disable-new-dtags",
                         f"-Wl,-rpath,{system}")
        status, output = uroce("run", path, ns=ctx.topology.a)
        if status != 0:
            raise Failed(f"it sees no device: status {status}\n{output}")


@row("refusals/address-in-use", "lo")
def address_in_use(ctx):
    """Another program has port 4791 on the address."""
    squatter = process.Process(
        ["python3", "-c", "import socket, time\ns = socket.socket(socket.AF_INET, "
         "socket.SOCK_DGRAM)\ns.bind(('127.0.0.1', 4791))\nprint('bound', flush=True)\n"
         "time.sleep(100000)"], prefix=ctx.topology.a.prefix())
    process.wait_until(lambda: "bound" in squatter.output(), process.LONG, "the squatter")
    outcome = refused_pingpong(ctx.topology)
    if not re.search(r"(?m)^uroce.*4791.*(in use|taken|another)", outcome.server.output()):
        raise Failed(outcome.text())


def refused_pingpong(place, user=(), env=None):
    """A pair whose server cannot open its address (that is done at RTR, when a client is there)."""
    port = pair.next_port()
    common = ["ibv_rc_pingpong", "-d", place.device, "-g", 0, "-p", port]
    server = pair.start(place.a, common, user=user, env=env)
    process.wait_for_port(server, port)
    client = pair.start(place.b, [*common, place.ipv4], user=user, env=env)
    outcome = pair.Outcome(server, client)
    try:
        server.wait(process.LONG)
    except process.Timeout as e:
        raise Failed(f"{e}\n{outcome.text()}") from e
    finally:
        client.end()
    if server.status == 0:
        raise Failed(f"it is not refused\n{outcome.text()}")
    return outcome


@contextlib.contextmanager
def running_pair(place):
    """A pair that has its addresses from a daemon, and must still run at the end."""
    port = pair.next_port()
    common = ["ib_write_bw", "-F", "-d", place.device, "-D", 3600, "-p", port, *perftest.TIMEOUT]
    server = pair.start(place.a, common)
    process.wait_for_port(server, port)
    client = pair.start(place.b, [*common, place.ipv4], line_buffered=True)
    process.wait_until(lambda: "remote address" in client.output(), process.LONG,
                       "the first pair")
    yield
    if server.poll() is not None or client.poll() is not None:
        raise Failed(f"the first pair ended\n{pair.Outcome(server, client).text()}")
    client.end()
    server.end()


@row("refusals/other-user", "lo")
def other_user(ctx):
    """A second user id on the same address."""
    if not topology.may_change_user():
        raise Skipped("needs root to become another user")
    with running_pair(ctx.topology):
        outcome = refused_pingpong(ctx.topology, pair.NOBODY)
    if not re.search(r"(?m)^uroce.*(user|uid)", outcome.server.output()):
        raise Failed(outcome.text())


@row("refusals/daemon-off", "lo")
def daemon_off(ctx):
    """A program that wants no daemon, on an address that a daemon has."""
    with running_pair(ctx.topology):
        outcome = refused_pingpong(ctx.topology, env={"UROCE_DAEMON": "off"})
    if not re.search(r"(?m)^uroce: .*held by uroced \(pid \d+\).*uroce stop", outcome.server.output()):
        raise Failed(outcome.text())


@row("refusals/no-interface")
def no_interface(_):
    """A namespace whose only interface, lo, is down."""
    unshare = ["unshare", "--map-root-user", "--net"]
    if process.run([*unshare, "true"])[0] != 0:
        raise Skipped("no user namespaces here")
    status, output = uroce("devices", user=unshare)
    if status != 1 or not re.search(r"no .*(interface|netdev|device)", output):
        raise Failed(f"status {status}\n{output}")
    status, output = uroce("devices", "-v", user=unshare)
    if status != 1 or not re.search(r"lo +it is down", output):
        raise Failed(f"status {status}\n{output}")
