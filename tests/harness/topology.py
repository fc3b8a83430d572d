# SPDX-License-Identifier: BSD-2-Clause
"""Network namespaces to run programs in.

A namespace is held by a process of ours that sleeps in it, and has no name: whatever happens to the
script, it goes with its holder. A namespace in a user namespace works without root, where the
kernel allows that; may_make_namespaces() says whether any of it works.

    Loopback          one namespace, programs talk over lo

        +------- a -------+
        | lo 127.0.0.1 ::1|
        +-----------------+

    Pair(mtu)         two namespaces, one veth between them

        +------ a ------+              +------ b ------+
        | ur0 10.77.0.1 |---- veth ----| ur0 10.77.0.2 |
        |     fd77::1   |    (mtu)     |     fd77::2   |
        +---------------+              +---------------+

    Wired             two namespaces and a third between them, in which a program is the wire

        +------ a ------+      +---- middle ---+      +------ b ------+
        | ur0 10.77.0.1 |------| wa         wb |------| ur0 10.77.0.2 |
        |     fd77::1   |      +---------------+      |     fd77::2   |
        +---------------+                             +---------------+

    Host              the namespace of the script itself, over lo
"""
import contextlib
import ipaddress
import os
import sys

from . import process


def enter_user_namespace():
    """Without root: starts this script anew as root of a user namespace, where the kernel allows
    that; its network stays what it was. Returns where nothing is to be done."""
    if os.geteuid() == 0 or process.run(["unshare", "--map-root-user", "true"])[0] != 0:
        return
    os.execvp("unshare", ["unshare", "--map-root-user", sys.executable, *sys.argv])


def may_change_user():
    """Whether other user ids exist here: not without root, nor in a user namespace of one id."""
    with open("/proc/self/uid_map", encoding="ascii") as f:
        return os.geteuid() == 0 and int(f.read().split()[2]) > 65534


def address_of_gid(text):
    """The IP address that a GID, or an address, is; ::ffff:a.b.c.d is a.b.c.d."""
    address = ipaddress.ip_address(text.strip())
    return getattr(address, "ipv4_mapped", None) or address


class Namespace:
    """`held`: what keeps it; None for the script's own."""

    def __init__(self, held=None):
        self.held = held

    def prefix(self):
        return ["nsenter", f"--net=/proc/{self.held.pid}/ns/net"] if self.held else []

    def run(self, *argv, timeout=process.LONG):
        status, output = process.run(argv, timeout, prefix=self.prefix())
        if status != 0:
            raise RuntimeError(f"{' '.join(argv)}: {output.strip() or status}")
        return output

    def _proc(self):
        return f"/proc/{self.held.pid if self.held else 'self'}"

    def inode(self):
        return os.stat(f"{self._proc()}/ns/net").st_ino

    def udp_counts(self):
        """(datagrams that came, those for which a socket had no room), since the namespace was made."""
        found = {}
        with open(f"{self._proc()}/net/snmp", encoding="ascii") as f:
            names, values = (line.split()[1:] for line in f if line.startswith("Udp:"))
            found.update(zip(names, map(int, values)))
        with contextlib.suppress(FileNotFoundError), open(f"{self._proc()}/net/snmp6",
                                                          encoding="ascii") as f:
            found.update((name, int(value)) for name, value in map(str.split, f))
        return (found["InDatagrams"] + found.get("Udp6InDatagrams", 0),
                found["RcvbufErrors"] + found.get("Udp6RcvbufErrors", 0))


def make_namespace():
    own = os.stat("/proc/self/ns/net").st_ino
    held = process.Process(["unshare", "--net", "sleep", "1000000"])

    def is_apart():
        if held.poll() is not None:
            raise RuntimeError(held.output().strip() or "cannot make a network namespace")
        return (os.stat(f"/proc/{held.pid}/ns/net").st_ino != own and
                os.path.basename(os.readlink(f"/proc/{held.pid}/exe")) != "unshare")
    process.wait_until(is_apart, process.LONG, "a network namespace")
    ns = Namespace(held)
    # link-local addresses are usable at once
    for name in ("all", "default"):
        path = f"/proc/sys/net/ipv6/conf/{name}/accept_dad"
        ns.run("sh", "-c", f"test ! -e {path} || echo 0 >{path}")
    ns.run("ip", "link", "set", "lo", "up")
    return ns


def may_make_namespaces():
    try:
        make_namespace().held.end()
    except (RuntimeError, process.Timeout, OSError):
        return False
    return True


def wait_until_up(*namespaces):
    """Until ur0 has its carrier, and the link-local address that comes with it, of each."""
    def is_up(ns):
        if "state UP" not in ns.run("ip", "link", "show", "ur0"):
            return False
        addresses = ns.run("ip", "-6", "-o", "addr", "show", "dev", "ur0")
        return not addresses or " scope link" in addresses and " tentative" not in addresses
    process.wait_until(lambda: all(map(is_up, namespaces)), process.LONG, "the veth to come up")


class Topology:
    """`a` has the servers and `b` the clients; addresses are those of the server."""

    drawing = ""
    device = "uroce_lo"
    ipv4 = "127.0.0.1"
    ipv6 = "::1"
    client_ipv4 = "127.0.0.1"
    client_ipv6 = "::1"
    mtu = 65536

    def __init__(self):
        self.a = self.b = Namespace()

    def close(self):
        for ns in {self.a, self.b}:
            if ns.held:
                ns.held.end()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Host(Topology):
    drawing = "this namespace, over lo (127.0.0.1, ::1)"


class Loopback(Topology):
    drawing = "a new namespace, over lo (127.0.0.1, ::1)"

    def __init__(self):
        super().__init__()
        self.a = self.b = make_namespace()


class Pair(Topology):
    device = "uroce_ur0"
    ipv4 = "10.77.0.1"
    ipv6 = "fd77::1"
    client_ipv4 = "10.77.0.2"
    client_ipv6 = "fd77::2"

    def __init__(self, mtu=1500):
        super().__init__()
        self.mtu = mtu
        self.drawing = "\n".join((
            "+------ a ------+              +------ b ------+",
            "| ur0 10.77.0.1 |---- veth ----| ur0 10.77.0.2 |",
            f"|     fd77::1   |  mtu {mtu:<8}|     fd77::2   |",
            "+---------------+              +---------------+"))
        self.a = make_namespace()
        self.b = make_namespace()
        self.a.run("ip", "link", "add", "ur0", "mtu", str(mtu), "type", "veth", "peer", "name",
                   "ur0", "mtu", str(mtu), "netns", str(self.b.held.pid))
        for ns, ipv4, ipv6 in ((self.a, self.ipv4, self.ipv6),
                               (self.b, self.client_ipv4, self.client_ipv6)):
            ns.run("ip", "addr", "add", f"{ipv4}/24", "dev", "ur0")
            ns.run("ip", "-6", "addr", "add", f"{ipv6}/64", "dev", "ur0", "nodad")
            ns.run("ip", "link", "set", "ur0", "up")
        wait_until_up(self.a, self.b)


class Wired(Pair):
    """Nothing passes until a program in `middle` moves frames between wa and wb."""

    def __init__(self, mtu=1500):
        Topology.__init__(self)
        self.mtu = mtu
        self.drawing = "\n".join((
            "+------ a ------+      +---- middle ---+      +------ b ------+",
            "| ur0 10.77.0.1 |------| wa         wb |------| ur0 10.77.0.2 |",
            "|     fd77::1   |      +---------------+      |     fd77::2   |",
            f"+---------------+          mtu {mtu:<8}       +---------------+"))
        self.a, self.b, self.middle = make_namespace(), make_namespace(), make_namespace()
        self.middle.run("sh", "-c", "echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6")
        for ns, name, ipv4, ipv6 in ((self.a, "wa", self.ipv4, self.ipv6),
                                     (self.b, "wb", self.client_ipv4, self.client_ipv6)):
            self.middle.run("ip", "link", "add", name, "mtu", str(mtu), "type", "veth", "peer",
                            "name", "ur0", "mtu", str(mtu), "netns", str(ns.held.pid))
            ns.run("ip", "addr", "add", f"{ipv4}/24", "dev", "ur0")
            ns.run("ip", "-6", "addr", "add", f"{ipv6}/64", "dev", "ur0", "nodad")
            ns.run("ip", "link", "set", "ur0", "up")
            self.middle.run("ip", "link", "set", name, "up")
        wait_until_up(self.a, self.b)

    def close(self):
        super().close()
        self.middle.held.end()
