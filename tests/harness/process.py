# SPDX-License-Identifier: BSD-2-Clause
"""Child processes with a time limit, that never outlive the script.

Each child has its own session and dies with this script (PR_SET_PDEATHSIG), also when the script is
killed. Only processes started here are ever signalled, by the pid that Popen gave. Output goes to a
file, so a child that writes much never blocks and its output can be read while it runs.
"""
import contextlib
import ctypes
import os
import signal
import subprocess
import tempfile
import time

# Seconds, for what must come. A limit that is not reached costs nothing, and one that is reached by
# what was merely late costs a run: on a loaded machine a process may stand still for seconds.
LONG = 300

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)

# A shell that starts us in the background ignores SIGINT for us, and so would our children, which
# some rows end by it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Timeout(Exception):
    """A child, or something expected of it, did not come in time."""


def die_with_parent(sig=signal.SIGKILL):
    _libc.prctl(PR_SET_PDEATHSIG, sig, 0, 0, 0)


class Process:
    """A child; `argv` as shown in reports, `prefix` what places it (nsenter, setpriv)."""

    alive = set()
    where = ""  # what reports say of it

    def __init__(self, argv, prefix=(), env=None, cwd=None):
        self.argv = [str(a) for a in argv]
        # appending: reading moves the offset that the child shares
        self.file = tempfile.TemporaryFile("a+", errors="replace")
        self.status = None
        self.started = time.monotonic()
        self.popen = subprocess.Popen(
            [*prefix, *self.argv], stdin=subprocess.DEVNULL, stdout=self.file,
            stderr=subprocess.STDOUT, env=env, cwd=cwd, start_new_session=True,
            preexec_fn=die_with_parent)
        Process.alive.add(self)

    @property
    def pid(self):
        return self.popen.pid

    def output(self):
        self.file.seek(0)
        return self.file.read()

    def last_line(self):
        lines = self.output().strip().splitlines()
        return lines[-1] if lines else ""

    def poll(self):
        """The exit status (negative: the signal), None while it runs."""
        if self.status is None:
            self.status = self.popen.poll()
            if self.status is not None:
                Process.alive.discard(self)
        return self.status

    def wait(self, timeout, on_wait=None):
        """Exit status; one that runs longer is killed: Timeout. on_wait is called now and then."""
        deadline = time.monotonic() + timeout
        while self.poll() is None:
            left = deadline - time.monotonic()
            if left <= 0:
                self.kill()
                raise Timeout(f"{self.argv[0]} did not end within {timeout:g} s")
            try:
                self.popen.wait(min(left, 0.5))
            except subprocess.TimeoutExpired:
                if on_wait:
                    on_wait(self)
        return self.status

    def kill(self, sig=signal.SIGKILL):
        if self.poll() is None:
            self.popen.send_signal(sig)
            if sig == signal.SIGKILL:
                self.popen.wait()
                self.poll()

    def end(self):
        """Asks, then forces."""
        if self.poll() is None:
            self.popen.terminate()
            try:
                self.popen.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()
            self.poll()


def end_all(but=None):
    for process in list(Process.alive):
        if process is not but:
            process.kill()


def run(argv, timeout=LONG, **kwargs):
    """Runs to the end: (status, output)."""
    process = Process(argv, **kwargs)
    status = process.wait(timeout)
    return status, process.output()


@contextlib.contextmanager
def adopting_orphans():
    """What outlives its parent becomes a child of this process, and so can be found."""
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        _libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def wait_until(condition, timeout, what, interval=0.02):
    """Looks once more when the time is over: it may be this process that stood still."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline and not condition():
            raise Timeout(f"{what}: not within {timeout:g} s")
        time.sleep(interval)


def in_table(text, port, protocol="tcp"):
    """Whether a table of sockets, as /proc/net/tcp has it, has one that listens on the port."""
    state = {"tcp": "0A", "udp": "07"}[protocol]
    for line in text.splitlines():
        fields = line.split()
        if len(fields) > 3 and fields[3] == state and int(fields[1].rsplit(":", 1)[1], 16) == port:
            return True
    return False


def listens(pid, port, protocol="tcp"):
    """Whether somebody in the network namespace of `pid` listens on the port."""
    for name in (protocol, protocol + "6"):
        try:
            with open(f"/proc/{pid}/net/{name}", encoding="ascii") as f:
                if in_table(f.read(), port, protocol):
                    return True
        except OSError:
            return False
    return False


def wait_for_port(process, port, timeout=LONG, protocol="tcp"):
    """Until `process` (or one it became) listens; a process that ends first is a Timeout."""
    def ready():
        if process.poll() is not None:
            raise Timeout(f"{process.argv[0]} ended with status {process.status} before it "
                          f"listened on port {port}")
        return listens(process.pid, port, protocol)
    wait_until(ready, timeout, f"{process.argv[0]} to listen on port {port}")


def own_environment(**extra):
    """A plain environment: no UROCE_ variable of the caller's, no localised messages."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("UROCE_", "LD_"))}
    env["LC_ALL"] = "C.UTF-8"
    env.update({k: str(v) for k, v in extra.items() if v is not None})
    return env
