# SPDX-License-Identifier: BSD-2-Clause
"""Programs that connect by rdma_cm: cm-check of tests/programs/cm_check, and uroced as the rows see
it: its counters, descriptors and memory."""
import json
import os

from . import pair, process
from .report import Failed

ENDLESS = 1000000  # connections, of a cm-check that is ended by SIGTERM
CM_CHECK = os.path.join(pair.ROOT, "build", "tests", "cm-check")


def status(ns):
    """What `uroce status` says there; None where no uroced runs."""
    code, output = pair.run(ns, [pair.UROCE, "status", "--json"], on_uroce=False)
    return json.loads(output) if code == 0 else None


def counter(ns, name):
    found = status(ns)
    return found["counters"][name] if found else 0


def listens(ns):
    """(uroced's pid, how often somebody has listened since it started); (0, 0) where none runs."""
    found = status(ns)
    return (found["pid"], found["counters"].get("cm_listens", 0)) if found else (0, 0)


def has_listened(ns, before):
    """Whether somebody has since listens() said `before`; it may be another uroced by now."""
    now = listens(ns)
    return now[1] > 0 and now != before


def wait_for_more(ns, name, more):
    """Until the counter is so much larger than now; of another uroced it counts from its start."""
    before = counter(ns, name)

    def is_larger():
        nonlocal before
        now = counter(ns, name)
        before = min(before, now)
        return now >= before + more
    process.wait_until(is_larger, process.LONG, f"{more} more of {name}", 0.05)


def usage(pid):
    """(descriptors, KiB of data) of a process. Not what is resident: tables are sized at the start,
    and their pages come with use."""
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        data = next(int(line.split()[1]) for line in f if line.startswith("VmData"))
    return len(os.listdir(f"/proc/{pid}/fd")), data


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def expect_to_leave(*namespaces):
    """uroced leaves when no program is left and no peer waits for it: nothing of what was killed
    keeps it. It is asked once only, because asking makes one a client."""
    pids = [found["pid"] for found in map(status, namespaces) if found]
    process.wait_until(lambda: not any(map(is_running, pids)), process.LONG, "uroced to leave")


def kill_uroced(ns):
    """Returns when another one is there."""
    found = status(ns)
    if not found:
        raise Failed("no uroced runs that could be killed")
    before = found["pid"]
    ns.run("kill", "-KILL", str(before))

    def is_back():
        now = status(ns)
        return now and now["pid"] != before
    process.wait_until(is_back, process.LONG, "uroced to come back", 0.05)


class Check:
    """cm-check, running."""

    def __init__(self, ns, role, address, port, *args, env=None, user=()):
        self.ns = ns
        self.p = pair.start(ns, [CM_CHECK, role, address, port, *args], env=env, user=user)

    @property
    def pid(self):
        return self.p.pid

    def says(self, text):
        if self.p.poll() is not None and text not in self.p.output():
            raise Failed(f"cm-check ended with status {self.p.status} and did not say \"{text}\"\n"
                         f"{self.p.output()}")
        return text in self.p.output()

    def wait_for(self, text, timeout=process.LONG):
        process.wait_until(lambda: self.says(text), timeout, f"cm-check: {text}")

    def send(self, sig):
        self.p.kill(sig)

    def result(self, timeout=process.LONG, on_wait=None):
        """The figures, once it has ended well."""
        try:
            code = self.p.wait(timeout, on_wait)
        except process.Timeout as e:
            raise Failed(f"{e}\n{self.p.output()}") from e
        output = self.p.output()
        if code != 0 or "complaint:" in output:
            raise Failed(f"{' '.join(self.p.argv)}: status {code}\n{output}")
        said, _, figures = output.rstrip().rpartition("\n")
        return {**json.loads(figures), "said": said}

    def end(self, timeout=process.LONG):
        """By SIGTERM. uroced may have answered the peer and not have told the program so far: when it
        has answered a question of ours it has."""
        if self.ns:
            status(self.ns)
        self.p.kill(15)
        return self.result(timeout)


def serve(ns, address, port, *args, env=None, user=()):
    server = Check(ns, "serve", address, port, *args, env=env, user=user)
    server.wait_for("listening on")
    return server


def connect(ns, address, port, *args, env=None, user=()):
    return Check(ns, "connect", address, port, *args, env=env, user=user)


def expect(figures, what="", **wanted):
    for name, value in wanted.items():
        if figures[name] != value:
            shown = {k: v for k, v in figures.items() if k != "said"}
            raise Failed(f"{what}: {name} is {figures[name]}, expected {value}\n{shown}\n"
                         f"{figures['said']}")
