# SPDX-License-Identifier: BSD-2-Clause
"""A virtual machine with Linux Soft-RoCE, and the namespace that it shares a wire with.

    +--- namespace: uroce ---+           +--- guest: Debian's kernel ---+
    | ur0 10.77.0.1 fd77::1  |--- tap ---| eth0 10.77.0.2 fd77::2       |
    | device uroce_ur0       |   (mtu)   | device rxe0                  |
    +------------------------+           +------------------------------+

The namespace is held by a process and has no name, QEMU runs in it and ends with this script. All
that is said to the guest goes over a virtio port (link.py), so the wire carries nothing but what
the programs under test send.
"""
import os
import shutil
import signal
import tempfile

from harness import cm, pair, process, topology
from harness.report import Failed, Skipped

from link import Link, LinkLost

QEMU = "qemu-system-x86_64"
DRAWING = __doc__.split("\n\n")[1]
MTUS = {1500: 1024, 9000: 4096}  # of the interface: path MTU


def missing():
    """What this machine lacks to run a guest; "" if nothing."""
    if not shutil.which(QEMU):
        return f"{QEMU} is not installed: tools/dev/setup.sh interop"
    try:
        os.close(os.open("/dev/net/tun", os.O_RDWR))
    except OSError as e:
        return f"/dev/net/tun: {e.strerror}"
    if not topology.may_make_namespaces():
        return "network namespaces cannot be made here"
    return ""


def _wait_for_listener(side, p, before):
    """Until one more listens by rdma_cm than cm_listens() said before `p` was started."""
    def ready():
        if p.poll() is not None:
            raise Failed(f"{p.argv[0]} ended with status {p.status} before it listened\n"
                         f"{p.output()}")
        return side.has_listened(before)
    process.wait_until(ready, process.LONG, f"{p.argv[0]} to listen by rdma_cm", 0.05)


def nodes(cpus, memory_mib):
    """A NUMA node for each processor, which the host may not have (verify/numa)."""
    options = []
    for i in range(cpus):
        options += ["-object", f"memory-backend-ram,id=node{i},size={memory_mib // cpus}M",
                    "-numa", f"node,memdev=node{i},cpus={i}"]
    return options


class Guest:
    """Started by the constructor; boot() waits until it can be used."""

    device = "rxe0"
    mac = "52:54:00:77:00:02"
    ipv4 = "10.77.0.2"
    ipv6 = "fd77::2"

    def __init__(self, image, ours, accel="tcg", memory_mib=1024, cpus=2):
        self.ours = ours
        self.image = image
        self.mtu = ours.mtu
        self.folder = tempfile.mkdtemp(prefix="uroce-guest-")
        self.machine = ["-accel", accel + (",thread=multi" if accel == "tcg" else ""), "-cpu",
                        "max", "-smp", cpus, "-m", memory_mib, *nodes(cpus, memory_mib)]
        self._start()

    def _start(self):
        socket = os.path.join(self.folder, "agent")
        settings = {"ipv4": f"{self.ipv4}/24", "ipv6": f"{self.ipv6}/64", "mtu": self.mtu}
        self.qemu = process.Process(
            [QEMU, *self.machine, "-nodefaults", "-no-user-config", "-no-reboot",
             "-display", "none", "-serial", f"file:{self.folder}/console",
             "-kernel", f"{self.image}/vmlinuz", "-initrd", f"{self.image}/initramfs",
             "-append", "console=ttyS0 quiet panic=-1 mitigations=off audit=0 apparmor=0 "
             "random.trust_cpu=on no_timer_check " +
             " ".join(f"uroce.{key}={value}" for key, value in settings.items()),
             "-netdev", "tap,id=data,ifname=ur0,script=no,downscript=no,vnet_hdr=off",
             "-device", f"virtio-net-pci,netdev=data,mac={self.mac},romfile=",
             "-device", "virtio-serial-pci",
             "-chardev", f"socket,id=agent,path={socket},server=on,wait=off",
             "-device", "virtserialport,chardev=agent,name=uroce.agent"],
            prefix=self.ours.ns.prefix())
        self.frozen = False
        self.link = None
        try:
            self._expect(lambda: self._connect(socket), process.LONG, "QEMU to start")
        except (process.Timeout, RuntimeError, OSError):
            self.close()
            raise

    def _connect(self, path):
        try:
            self.link = Link(path)
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        return True

    def _expect(self, condition, timeout, what):
        def look():
            if self.qemu.poll() is not None:
                raise RuntimeError(f"QEMU ended with status {self.qemu.status}\n"
                                   f"{self.qemu.output()}{self.console()}")
            return condition()
        process.wait_until(look, timeout, what)

    def boot(self, timeout=1200):
        try:
            self._expect(self.link.hello.is_set, timeout, "the guest to boot")
        except process.Timeout as e:
            raise process.Timeout(f"{e}\n{self.console()}") from e
        self.check("grep -q rxe0 /proc/net/rdma 2>/dev/null || test -e /sys/class/infiniband/rxe0")
        return self

    @property
    def release(self):
        """The kernel's."""
        return self.link.release

    def console(self):
        """What the kernel and init have said."""
        try:
            with open(os.path.join(self.folder, "console"), errors="replace",
                      encoding="utf-8") as f:
                return f.read()
        except OSError:
            return ""

    def is_usable(self):
        return bool(self.link and not self.link.lost and not self.frozen and
                    self.qemu.poll() is None)

    # commands: a line for sh, or a list of words

    def spawn(self, command, terminal=False):
        """Starts it; a GuestProcess. terminal: for programs whose output is read while they run."""
        return self.link.spawn(command, terminal)

    def run(self, command, timeout=process.LONG):
        """(status, stdout, stderr) of a command that ends by itself."""
        p = self.spawn(command)
        status = p.wait(timeout)
        return status, p.stdout, p.stderr

    def check(self, command, timeout=process.LONG):
        """The standard output of a command that must succeed."""
        status, out, err = self.run(command, timeout)
        if status != 0:
            raise RuntimeError(f"guest: {command}: status {status}\n{out}{err}".rstrip())
        return out

    def push(self, path, to=None):
        """Copies a file of the host, say a program, to /root or to `to`; where it is there."""
        to = to or os.path.join("/root", os.path.basename(path))
        with open(path, "rb") as f:
            self.link.write(to, f.read())
        return to

    def pull(self, path, timeout=process.LONG):
        """The bytes of a file of the guest."""
        p = self.spawn(["cat", path])
        if p.wait(timeout) != 0:
            raise RuntimeError(f"guest: {p.stderr}")
        return b"".join(data for kind, data in p.parts if kind == "O")

    def listens(self, port, protocol="tcp"):
        return process.in_table(self.check(f"cat /proc/net/{protocol} /proc/net/{protocol}6"),
                                port, protocol)

    def wait_for_port(self, p, port, timeout=process.LONG, protocol="tcp"):
        """Until somebody listens; if `p` ends first, a Timeout."""
        def ready():
            if p.poll() is not None:
                raise process.Timeout(f"{p.argv[0]} in the guest ended with status {p.status} "
                                      f"before it listened on port {port}")
            return self.listens(port, protocol)
        process.wait_until(ready, timeout, f"{p.argv[0]} in the guest to listen on {port}")

    def cm_listens(self):
        """Listeners of rdma_cm that there are, each with the number that the kernel gave it."""
        return {line for line in self.check("rdma resource show cm_id").splitlines()
                if "state LISTEN" in line}

    def has_listened(self, before):
        return self.cm_listens() - before

    def wait_for_listener(self, p, before):
        _wait_for_listener(self, p, before)

    def gid_index(self, address):
        """Index of the GID of rxe0 that is the IPv4 or IPv6 address; the kernel enters it some time
        after the address came."""
        found = {}

        def look():
            lines = self.check(f"cd /sys/class/infiniband/{self.device}/ports/1/gids && grep . *")
            for line in lines.splitlines():
                index, _, text = line.partition(":")
                found.setdefault(topology.address_of_gid(text), int(index))
            return topology.address_of_gid(address) in found
        process.wait_until(look, process.LONG, f"the guest's GID {address}", 0.2)
        return found[topology.address_of_gid(address)]

    def set_mtu(self, mtu):
        """1500 or 9000, of both ends of the wire; path MTUs follow (1024 and 4096)."""
        if mtu == self.mtu:
            return
        self.ours.set_mtu(mtu)
        self.check(f"ip link set eth0 mtu {mtu}")
        self.mtu = mtu
        process.wait_until(
            lambda: f"active_mtu:\t\t{MTUS[mtu]}" in self.check("ibv_devinfo"), process.LONG,
            "rxe's MTU")

    # the machine

    def _set_neighbour(self, state):
        self.ours.ns.run("ip", "neigh", "replace", self.ipv4, "lladdr", self.mac, "nud", state,
                         "dev", "ur0")

    def freeze(self):
        """From here on it does nothing, and nobody is told: like a host that hangs. Where it is stays
        known, else what connects to it would not come so far."""
        self._set_neighbour("permanent")
        self.qemu.kill(signal.SIGSTOP)
        self.frozen = True

    def thaw(self):
        self.qemu.kill(signal.SIGCONT)
        self.frozen = False
        self._set_neighbour("reachable")

    def kill(self):
        """It is gone at once, without a word; the next row gets a new one."""
        self.qemu.kill()

    def restart(self):
        """Power off and on: it has forgotten all, and what it counts it counts anew."""
        self.qemu.kill()
        self.link.close()
        os.unlink(os.path.join(self.folder, "agent"))
        self._start()
        self.boot()

    def end_all(self):
        """Ends what rows have left behind."""
        if self.is_usable():
            try:
                self.link.kill_all()
            except LinkLost:  # it has just gone: the next row gets another
                pass

    def close(self):
        if self.link:
            self.link.close()
        self.qemu.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class Ours:
    """The side of uroce: a namespace with one end of the wire."""

    device = "uroce_ur0"
    ipv4 = "10.77.0.1"
    ipv6 = "fd77::1"

    def __init__(self, mtu=1500):
        self.ns = topology.make_namespace()
        self.mtu = mtu
        self.ns.run("ip", "tuntap", "add", "dev", "ur0", "mode", "tap")
        # long: the guest is slow, and UC and UD do not notice what is dropped
        self.ns.run("ip", "link", "set", "ur0", "mtu", str(mtu), "txqueuelen", "20000")
        self.ns.run("ip", "addr", "add", f"{self.ipv4}/24", "dev", "ur0")
        self.ns.run("ip", "-6", "addr", "add", f"{self.ipv6}/64", "dev", "ur0", "nodad")
        self.ns.run("ip", "link", "set", "ur0", "up")

    def set_mtu(self, mtu):
        self.ns.run("ip", "link", "set", "ur0", "mtu", str(mtu))
        self.mtu = mtu

    def spawn(self, command, env=None, line_buffered=False):
        """Starts a program on uroce's libraries, given as a list of words; Skipped if there is none."""
        if not shutil.which(command[0]):
            raise Skipped(f"{command[0]} is not installed: tools/dev/setup.sh programs interop")
        return pair.start(self.ns, command, env=env, line_buffered=line_buffered)

    def wait_for_port(self, p, port, timeout=process.LONG, protocol="tcp"):
        process.wait_for_port(p, port, timeout, protocol)

    def cm_listens(self):
        return cm.listens(self.ns)

    def has_listened(self, before):
        return cm.has_listened(self.ns, before)

    def wait_for_listener(self, p, before):
        _wait_for_listener(self, p, before)

    def gid_index(self, address):
        return pair.gid_index(self.ns, self.device, address)

    def close(self):
        self.ns.held.end()


__all__ = ["Guest", "Ours", "LinkLost", "MTUS", "missing"]
