# SPDX-License-Identifier: BSD-2-Clause
"""Consumers of RDMA inside the kernel, which know of no library: a disk between Linux and a program on
uroce, both ways.

  iser    tgtd on uroce exports a file, the kernel's ib_iser in the guest makes a SCSI disk of it
  isert   the kernel's ib_isert in the guest exports a file, qemu-img on uroce (libiscsi) writes it

tgtd is the guest's copy, brought out: installed here it would be a service that starts by itself.
What else the kernel has, and why no row can be made of it, is in README.md.
"""
import hashlib
import os
import shutil
import tempfile
import time

from harness import pair, process
from harness.report import Failed, Skipped

from rows import FULL, row

TARGET = "iqn.2026-01.example.uroce:disk"
INITIATOR = "iqn.2026-01.example.rxe:guest"
PORT = 3260
BROUGHT_OUT = ("/usr/sbin/tgtd", "/usr/sbin/tgtadm", "/usr/lib/x86_64-linux-gnu/libaio.so.1")


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        for block in iter(lambda: f.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def portal(address):
    return f"[{address}]" if ":" in address else address


class Tgtd:
    """A disk, which is a file, and the tgtd that exports it: it can be started again."""

    def __init__(self, ctx, mib, env=None):
        self.ctx = ctx
        self.folder = tempfile.mkdtemp(prefix="uroce-tgt-")
        self.disk = os.path.join(self.folder, "disk")
        self.env = {"TGT_IPC_SOCKET": os.path.join(self.folder, "control"),
                    "LD_LIBRARY_PATH": self.folder, **(env or {})}
        for path in BROUGHT_OUT:
            copy = os.path.join(self.folder, os.path.basename(path))
            with open(copy, "wb") as f:
                f.write(ctx.guest.pull(path))
            os.chmod(copy, 0o755)
        with open(self.disk, "wb") as f:
            f.truncate(mib << 20)
        self.process = self.counters = None

    def admin(self, *words):
        return process.run([os.path.join(self.folder, "tgtadm"), "--lld", "iser", *words],
                           prefix=self.ctx.ours.ns.prefix(),
                           env=process.own_environment(**self.env))

    def start(self):
        self.process = self.ctx.ours.spawn(
            [os.path.join(self.folder, "tgtd"), "-f", "--iser", "pool_sz_mb=128"], env=self.env)

        def is_made():
            if self.process.poll() is not None:
                raise Failed(f"tgtd ended with status {self.process.status}\n{self.text()}")
            return self.admin("--mode", "target", "--op", "new", "--tid", "1", "-T", TARGET)[0] == 0
        process.wait_until(is_made, process.LONG, "tgtd to make a target", interval=0.2)
        for words in (["--mode", "logicalunit", "--op", "new", "--tid", "1", "--lun", "1",
                       "--backing-store", self.disk],
                      # tgtd 1.0.85 wants the address and the name allowed for iSER
                      ["--mode", "target", "--op", "bind", "--tid", "1", "-I", "ALL"],
                      ["--mode", "target", "--op", "bind", "--tid", "1", "-Q", INITIATOR]):
            status, output = self.admin(*words)
            if status != 0:
                raise Failed(f"tgtadm {' '.join(words)}: status {status}\n{output}{self.text()}")

    def text(self):
        return f"tgtd:\n{self.process.output()}"

    def stop(self):
        if self.counters:
            self.counters.close()
            self.counters = None
        if self.process:
            self.process.kill()

    def watch(self):
        """Counters of this tgtd; it has them once somebody has connected."""
        self.counters = pair.Counters(self.process)

    def close(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class Initiator:
    """open-iscsi in the guest, one node. Whatever happens, close() leaves no disk behind."""

    def __init__(self, ctx, address):
        self.guest = ctx.guest
        self.portal = f"{portal(address)}:{PORT}"
        self.node = f"iscsiadm -m node -T {TARGET} -p '{self.portal}'"
        self.guest.check(
            "for m in ib_iser sd_mod ext4 crc32c_generic; do modprobe $m || exit 1; done; "
            "mkdir -p /run/lock/iscsi /etc/iscsi /var/lib/iscsi; "
            f"echo InitiatorName={INITIATOR} > /etc/iscsi/initiatorname.iscsi")
        self.daemon = self.guest.spawn(["iscsid", "-f"])
        process.wait_until(lambda: self.guest.run("iscsiadm -m iface")[0] == 0, process.LONG,
                           "iscsid")
        self.guest.check(f"{self.node} -o new -I iser && "
                         f"{self.node} -o update -n node.session.timeo.replacement_timeout -v 60")

    def login(self):
        """The disk's device."""
        self.guest.check(f"{self.node} -l", 600)
        self.guest.check("until [ -b /dev/sda ]; do sleep 0.1; done")
        return "/dev/sda"

    def logout(self):
        self.guest.check(f"{self.node} -u", 600)

    def close(self):
        if not self.guest.is_usable():
            return
        try:
            self.guest.check(f"umount /mnt; {self.node} -u; {self.node} -o delete; "
                             "[ ! -e /sys/block/sda ]", 600)
        except (process.Timeout, RuntimeError):
            self.guest.kill()  # the next row gets one without our disk
        self.daemon.kill()


def fill(ctx, disk, files, mib):
    """A file system with random files on it; their hashes stay in /tmp/sums of the guest."""
    odd = 777 * 1023  # a file that ends in the middle of a block
    p = ctx.guest.spawn(
        f"mkfs.ext4 -q -F -E nodiscard {disk} && mount {disk} /mnt || exit; "
        f"for i in $(seq {files}); do head -c {mib << 20} /dev/urandom >/mnt/f$i && sync && echo $i "
        f"|| exit; done; head -c {odd} /dev/urandom >/mnt/odd && cd /mnt && sha256sum f* odd "
        ">/tmp/sums && cd / && umount /mnt", terminal=True)
    return p


def verify(ctx, disk):
    """Everything is read anew: nothing of the disk is cached after its login."""
    ctx.guest.check(f"e2fsck -fn {disk} && mount -o ro {disk} /mnt && cd /mnt && "
                    "sha256sum -c /tmp/sums && cd / && umount /mnt", 1800)


def compare(ctx, disk, target):
    """The disk as the guest reads it is the file outside."""
    there = ctx.guest.check(f"sha256sum {disk}", 1800).split()[0]
    if there != sha256(target.disk):
        raise Failed(f"the disk is not the file behind it\n{target.text()}")


def finish(p, timeout, ctx, target):
    if p.wait(timeout, ctx.on_wait) != 0:
        raise Failed(f"guest: status {p.status}\n{p.output()}\n{target.text()}\n"
                     f"{ctx.guest.run('dmesg | tail -30')[1]}")


def iser(ctx, address, files, mib, env=None):
    target = Tgtd(ctx, (files + 1) * mib + 16, env)
    initiator = None
    try:
        target.start()
        initiator = Initiator(ctx, address)
        disk = initiator.login()
        target.watch()
        finish(fill(ctx, disk, files, mib), 1800, ctx, target)
        initiator.logout()
        disk = initiator.login()
        verify(ctx, disk)
        compare(ctx, disk, target)
        initiator.logout()
        counters = target.counters.read()
        data = files * mib << 20
        for name in ("rx_payload_bytes", "tx_payload_bytes"):
            if counters.get(name, 0) < data:
                raise Failed(f"{name} is {counters.get(name)}: the disk went another way")
        return counters
    finally:
        if initiator:
            initiator.close()
        target.close()


@row("kernel/iser/ipv4", mtu=1500)
def iser_ipv4(ctx):
    iser(ctx, ctx.ours.ipv4, *ctx.pick((2, 4), (4, 16)))


@row("kernel/iser/ipv6", mtu=1500, least=FULL)
def iser_ipv6(ctx):
    iser(ctx, ctx.ours.ipv6, 4, 16)


@row("kernel/iser/ipv4/mtu-9000", mtu=9000, least=FULL)
def iser_ipv4_9000(ctx):
    iser(ctx, ctx.ours.ipv4, 4, 16)


@row("kernel/iser/ipv6/mtu-9000", mtu=9000, least=FULL)
def iser_ipv6_9000(ctx):
    iser(ctx, ctx.ours.ipv6, 4, 16)


@row("kernel/iser/loss", mtu=1500, least=FULL)
def iser_loss(ctx):
    """A lossy wire is slow, not wrong."""
    counters = iser(ctx, ctx.ours.ipv4, 2, 8, {"UROCE_IMPAIR": "seed=5,drop=0.5%"})
    if not counters.get("tx_retransmitted"):
        raise Failed("nothing was lost")
    return f"{counters['tx_retransmitted']} packets sent again"


@row("kernel/iser/target-killed", mtu=1500, least=FULL)
def iser_target_killed(ctx):
    """tgtd is killed while the file system is written, and started again: the kernel is told at once
    that the connection is gone, makes another, and repeats what was under way."""
    target = Tgtd(ctx, 96)
    initiator = None
    try:
        target.start()
        initiator = Initiator(ctx, ctx.ours.ipv4)
        disk = initiator.login()
        p = fill(ctx, disk, 8, 8)
        process.wait_until(lambda: p.output().split()[1:] or p.poll() is not None, 1800,
                           "two files in the guest", interval=0.1)
        if p.poll() is not None:
            finish(p, 1, ctx, target)
            raise Failed("all was written before tgtd could be killed")
        target.stop()
        process.wait_until(lambda: "conn error" in ctx.guest.check("dmesg"), process.LONG,
                           "the kernel to notice")
        time.sleep(1)
        target.start()
        finish(p, 1800, ctx, target)
        initiator.logout()
        disk = initiator.login()
        verify(ctx, disk)
        compare(ctx, disk, target)
    finally:
        if initiator:
            initiator.close()
        target.close()


# LIO has its settings in a file system. ImmediateData: libiscsi 1.19 says in the header that data
# follows and sends none, which the target of later kernels refuses.
LIO_START = """
for m in target_core_file iscsi_target_mod ib_isert; do modprobe $m || exit 1; done
grep -q configfs /proc/mounts || mount -t configfs none /sys/kernel/config || exit 1
truncate -s {mib}M /run/lio
cd /sys/kernel/config/target && mkdir -p core/fileio_0/disk && cd core/fileio_0/disk || exit 1
echo fd_dev_name=/run/lio,fd_dev_size=$(({mib} << 20)) >control && echo 1 >enable || exit 1
mkdir -p /sys/kernel/config/target/iscsi/{name}/tpgt_1/lun/lun_0 || exit 1
cd /sys/kernel/config/target/iscsi/{name}/tpgt_1
ln -s /sys/kernel/config/target/core/fileio_0/disk lun/lun_0/disk || exit 1
for p in {portals}; do mkdir np/$p && echo 1 >np/$p/iser || exit 1; done
echo 0 >attrib/authentication && echo 1 >attrib/generate_node_acls || exit 1
echo 0 >attrib/demo_mode_write_protect && echo No >param/ImmediateData || exit 1
echo 1 >enable
"""
LIO_STOP = """
cd /sys/kernel/config/target/iscsi/{name} || exit 0
echo 0 >tpgt_1/enable; rmdir tpgt_1/np/*; rm tpgt_1/lun/lun_0/disk; rmdir tpgt_1/lun/lun_0 tpgt_1
cd .. && rmdir {name} && cd ../core && rmdir fileio_0/disk fileio_0 && rm /run/lio
"""
LIO_NAME = "iqn.2026-01.example.rxe:disk"


def image_options(address):
    """libiscsi 1.19 can move less than 512 KiB at once over iSER, so the image is cut for it."""
    return (f"driver=blkdebug,max-transfer=262144,image.driver=iscsi,image.transport=iser,"
            f"image.portal={portal(address)}:{PORT},image.target={LIO_NAME},image.lun=0")


def qemu_img(ctx, *words):
    p = ctx.ours.spawn(["qemu-img", *words])
    if p.wait(1800, ctx.on_wait) != 0:
        raise Failed(f"{' '.join(p.argv)}\nstatus {p.status}\n{p.output()}\n"
                     f"{ctx.guest.run('dmesg | tail -30')[1]}")


def isert(ctx, address, mib):
    """Written by the program, hashed by the guest, read back by the program."""
    if not shutil.which("qemu-img"):
        raise Skipped("qemu-img is not installed (packages qemu-utils and qemu-block-extra)")
    portals = f"'{ctx.guest.ipv4}:{PORT}' '[{ctx.guest.ipv6}]:{PORT}'"
    with tempfile.TemporaryDirectory(prefix="uroce-lio-") as folder:
        written, read = (os.path.join(folder, name) for name in ("written", "read"))
        with open(written, "wb") as f:
            f.write(os.urandom(mib << 20))
        try:
            ctx.guest.check(LIO_START.format(name=LIO_NAME, mib=mib, portals=portals))
            qemu_img(ctx, "convert", "-n", "-S", "0", "-f", "raw", "--target-image-opts", written,
                     image_options(address))
            if ctx.guest.check("sha256sum /run/lio").split()[0] != sha256(written):
                raise Failed("the guest has not what was written")
            qemu_img(ctx, "convert", "-S", "0", "--image-opts", image_options(address), "-O", "raw",
                     read)
            if sha256(read) != sha256(written):
                raise Failed("what is read is not what was written")
        finally:
            if ctx.guest.run(LIO_STOP.format(name=LIO_NAME))[0] != 0:
                ctx.guest.kill()


@row("kernel/isert/ipv4", mtu=1500)
def isert_ipv4(ctx):
    isert(ctx, ctx.guest.ipv4, ctx.pick(8, 64))


@row("kernel/isert/ipv6", mtu=9000, least=FULL)
def isert_ipv6(ctx):
    isert(ctx, ctx.guest.ipv6, 64)
