#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes the guest's kernel and file system out of packages of the Debian that runs here.

  image.py      prints the folder that has vmlinuz and initramfs, after making it if need be

apt says which packages, fetches and verifies them; nothing is installed. Packages and images are
kept in ${XDG_CACHE_HOME:-~/.cache}/uroce/interop. An image is named by a hash of everything that
goes in (these files and the packages' versions), so it is made once and never changed.
"""
import fcntl
import fnmatch
import glob
import hashlib
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile

import archive

HERE = os.path.dirname(os.path.abspath(__file__))
INPUTS = ("image.py", "archive.py", "packages.txt", "modules.txt", "init", "agent.c")
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"),
                     "uroce", "interop")
IMAGES_KEPT = 2

# of /usr: what nobody reads in the guest
LEFT_OUT = re.compile(
    r"usr/share/(?!iproute2/)|usr/include/|usr/lib/python3|usr/lib/systemd/|usr/lib/udev/|"
    r"usr/lib/x86_64-linux-gnu/(gconv|perl|sasl2|krb5|audit)/|usr/lib/modules/|boot/|"
    r"etc/(init\.d|cron|pam\.d|apparmor|dhcp|bash_completion)")
# a program asks every provider it finds
OTHER_PROVIDERS = re.compile(r"etc/libibverbs\.d/(?!rxe|siw)|"
                             r"usr/lib/x86_64-linux-gnu/libibverbs/(?!librxe|libsiw)")


class Unavailable(Exception):
    """This machine cannot make the image; the message says what it lacks."""


def words_of(name):
    """The lines of a list, by their first word."""
    groups = {}
    with open(os.path.join(HERE, name), encoding="ascii") as f:
        for line in f:
            words = line.split()
            if words and not words[0].startswith("#"):
                groups.setdefault(words[0], []).append(words[1])
    return groups


class Apt:
    """apt with a package database of our own, in which nothing is installed but `without`. The
    package lists are the machine's; where those are missing or old, ours, fetched when needed."""

    def __init__(self, folder, without):
        self.status = os.path.join(folder, "status")
        self.lists = os.path.join(folder, "lists")
        with open(self.status, "w", encoding="ascii") as f:
            for name in without:
                f.write(f"Package: {name}\nStatus: install ok installed\nVersion: 9999:1\n"
                        f"Architecture: amd64\nMulti-Arch: allowed\nMaintainer: nobody\n"
                        f"Description: left out\n\n")
        self.own_lists = False

    def run(self, *argv, cwd=None):
        options = ["-q", "-o", f"Dir::State::status={self.status}", "-o", "Debug::NoLocking=1",
                   "-o", "APT::Install-Recommends=0", "-o", "APT::Sandbox::User="]
        if self.own_lists:
            options += ["-o", f"Dir::State::lists={self.lists}"]
        result = subprocess.run(["apt-get", *options, *argv], cwd=cwd, text=True,
                                stdin=subprocess.DEVNULL, capture_output=True, check=False,
                                env={**os.environ, "LC_ALL": "C"})
        if result.returncode != 0:
            raise Unavailable(f"apt-get {argv[0]}: {first_error(result.stderr)}")
        return result.stdout

    def update(self):
        os.makedirs(os.path.join(self.lists, "partial"), exist_ok=True)
        self.own_lists = True
        self.run("update", "--error-on=any")

    def closure(self, names, drop):
        """{package: version} of names and all they need."""
        found = re.findall(r"(?m)^Inst (\S+) (?:\[\S+\] )?\((\S+)",
                           self.run("install", "-s", *names))
        return {name.split(":")[0]: version for name, version in found
                if not any(fnmatch.fnmatch(name, pattern) for pattern in drop)}

    def fetch(self, packages, folder, say):
        missing = [f"{name}={version}" for name, version in packages.items()
                   if not package_file(folder, name, version)]
        if missing:
            say(f"fetching {len(missing)} packages for the guest")
            with unfinished(folder) as coming:  # a download that breaks off leaves half a file
                self.run("download", *missing, cwd=coming)
                for name in os.listdir(coming):
                    os.rename(os.path.join(coming, name), os.path.join(folder, name))


def unfinished(folder):
    """A folder for what shall be in `folder` once it is whole."""
    return tempfile.TemporaryDirectory(prefix="unfinished-", dir=folder)


def first_error(text):
    """apt's; the later ones follow from it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line[3:] for line in lines if line.startswith("E: ")]
    return (errors or lines or ["failed"])[0]


def package_file(folder, name, version):
    found = glob.glob(os.path.join(glob.escape(folder),
                                   f"{name}_{glob.escape(version.replace(':', '%3a'))}_*.deb"))
    return found[0] if found else None


def unpack_modules(package):
    """{name: (path, content)} of the kernel's modules, the set of those built in, and the lists
    that depmod reads beside them."""
    kernel = archive.Tree()
    kernel.unpack(package, lambda path: path.startswith("usr/lib/modules/"))
    modules, built_in, lists = {}, set(), {}
    for path, (_, content) in kernel.entries.items():
        name = os.path.basename(path)
        match = re.match(r"(.*)\.ko(\.xz)?$", name)
        if match:
            modules[match[1].replace("-", "_")] = (path.removesuffix(".xz"), content, match[2])
        elif name.startswith("modules."):
            lists[path] = content
            if name == "modules.builtin":
                built_in = {os.path.basename(line)[:-3].replace("-", "_")
                            for line in content.decode().split()}
    return modules, built_in, lists


def add_modules(tree, package, wanted):
    """The modules `wanted` and what those need; returns those that this kernel does not have."""
    modules, built_in, lists = unpack_modules(package)
    left = [name for names in wanted.values() for name in names]
    unknown = [name for name in left if name not in modules and name not in built_in]
    done = set()
    with tempfile.TemporaryDirectory() as folder:
        def put(path, content):
            path = os.path.join(folder, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as f:
                f.write(content)

        while left:
            name = left.pop()
            if name in done or name not in modules:
                continue
            done.add(name)
            path, content, packed = modules[name]
            content = lzma.decompress(content) if packed else content
            put(path, content)
            tree.file(path, content)
            for needed in re.findall(rb"\0(?:depends|softdep)=([^\0]*)", content):
                left += re.sub(r"\b(pre|post):|,", " ",
                               needed.decode()).replace("-", "_").split()
        release = os.path.basename(os.path.dirname(next(iter(lists))))
        for path, content in lists.items():
            put(path, content)
        put("busybox", tree.content("bin/busybox"))
        os.symlink("usr/lib", os.path.join(folder, "lib"))
        busybox = os.path.join(folder, "busybox")
        os.chmod(busybox, 0o755)
        subprocess.run([busybox, "depmod", "-b", folder, release], check=True)
        top = f"usr/lib/modules/{release}"
        for name in os.listdir(os.path.join(folder, top)):
            if name.startswith("modules."):
                with open(os.path.join(folder, top, name), "rb") as f:
                    tree.file(f"{top}/{name}", f.read())
        applets = subprocess.run([busybox, "--list"], check=True, text=True,
                                 capture_output=True).stdout.split()
    return unknown, applets


def add_settings(tree, applets):
    for applet in applets:
        tree.link(f"usr/busybox/{applet}", "/bin/busybox")
    tree.link("sbin/modprobe", "/bin/busybox")  # where the kernel looks
    tree.link("bin/sh", "dash")  # busybox's own would run applets in place of programs
    for name in ("proc", "sys", "dev", "run", "tmp", "root", "mnt", "var/lib/nfs", "var/log"):
        tree.folder(name)
    tree.link("var/run", "/run")
    tree.link("var/lock", "/run/lock")
    tree.file("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n_rpc:x:101:65534::/run:/bin/sh\n"
                            b"statd:x:102:65534::/var/lib/nfs:/bin/sh\n")
    tree.file("etc/group", b"root:x:0:\nnogroup:x:65534:\n")
    tree.file("etc/hosts", b"127.0.0.1 localhost\n::1 localhost\n10.77.0.2 rxe\n")
    tree.file("etc/nsswitch.conf", b"passwd: files\ngroup: files\nhosts: files\n")
    tree.file("etc/modules", "".join(f"{name}\n" for name in words_of("modules.txt")["boot"])
              .encode())


def build(packages, debs, folder):
    tree = archive.Tree()
    kernel = None
    for name, version in packages.items():
        path = package_file(debs, name, version)
        if not path:
            raise Unavailable(f"apt-get download has not brought {name} {version}")
        if re.match(r"linux-image-\d", name):
            kernel = path
            image = archive.Tree()
            image.unpack(path, lambda p: p.startswith("boot/vmlinuz-"))
            vmlinuz = next(c for p, (_, c) in image.entries.items() if p.startswith("boot/vml"))
            continue
        tree.unpack(path, lambda p: not LEFT_OUT.match(p) and not OTHER_PROVIDERS.match(p))
    if not kernel:
        raise Unavailable("linux-image-amd64 has brought no kernel")
    unknown, applets = add_modules(tree, kernel, words_of("modules.txt"))
    add_settings(tree, applets)
    with open(os.path.join(HERE, "init"), "rb") as f:
        tree.file("init", f.read(), 0o755)
    agent = os.path.join(folder, "agent")
    subprocess.run([os.environ.get("CC", "cc"), "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-static",
                    "-s", "-o", agent, os.path.join(HERE, "agent.c")], check=True)
    with open(agent, "rb") as f:
        tree.file("usr/bin/agent", f.read(), 0o755)
    os.unlink(agent)
    tree.write(os.path.join(folder, "initramfs"))
    with open(os.path.join(folder, "vmlinuz"), "wb") as f:
        f.write(vmlinuz)
    with open(os.path.join(folder, "contents"), "w", encoding="ascii") as f:
        f.writelines(f"{name} {version}\n" for name, version in packages.items())
        f.writelines(f"this kernel has no module {name}\n" for name in unknown)


def image_key(packages):
    digest = hashlib.sha256()
    for name in INPUTS:
        with open(os.path.join(HERE, name), "rb") as f:
            digest.update(f.read())
    digest.update(repr(sorted(packages.items())).encode())
    return digest.hexdigest()[:16]


def remove_old(packages, debs):
    images = sorted(glob.glob(os.path.join(CACHE, "image-*")), key=os.path.getmtime)
    for path in images[:-IMAGES_KEPT]:
        shutil.rmtree(path)
    needed = {package_file(debs, name, version) for name, version in packages.items()}
    for path in glob.glob(os.path.join(debs, "*.deb")):
        if path not in needed:
            os.unlink(path)


def require_programs():
    for program in ("apt-get", "dpkg-deb", os.environ.get("CC", "cc").split()[0]):
        if not shutil.which(program):
            raise Unavailable(f"{program} is not here")
    architecture = subprocess.run(["dpkg", "--print-architecture"], text=True,
                                  capture_output=True, check=False).stdout.strip()
    if architecture != "amd64":
        raise Unavailable(f"packages here are for {architecture}, the guest is amd64")


def remove_unfinished(*folders):
    """What makers that were killed have left; called under the lock."""
    for folder in folders:
        for path in glob.glob(os.path.join(glob.escape(folder), "unfinished-*")):
            shutil.rmtree(path, ignore_errors=True)


def make(say=lambda text: None):
    """The folder of the image, made now if there is none yet; Unavailable if it cannot be."""
    require_programs()
    try:
        return make_in_cache(say)
    except OSError as e:
        if str(e.filename).startswith(HERE):
            raise
        raise Unavailable(f"{e.filename or CACHE}: {e.strerror}") from e


def make_in_cache(say):
    debs = os.path.join(CACHE, "packages")
    os.makedirs(debs, exist_ok=True)
    lists = words_of("packages.txt")
    with open(os.path.join(CACHE, "lock"), "w", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another run that makes the image of the guest")
            fcntl.flock(lock, fcntl.LOCK_EX)
        remove_unfinished(CACHE, debs)
        apt = Apt(CACHE, lists["without"])
        for attempt in (1, 2):
            try:
                packages = apt.closure(lists["guest"], lists["drop"])
                folder = os.path.join(CACHE, "image-" + image_key(packages))
                if os.path.isdir(folder):
                    os.utime(folder)
                    return folder
                apt.fetch(packages, debs, say)
                break
            except Unavailable as e:
                if attempt == 2:
                    raise
                say(f"{e}; trying with new package lists")
                apt.update()
        say("making the image of the guest")
        with unfinished(CACHE) as temporary:
            made = os.path.join(temporary, "image")
            os.mkdir(made)
            build(packages, debs, made)
            os.rename(made, folder)
        remove_old(packages, debs)
    return folder


if __name__ == "__main__":
    try:
        print(make(lambda text: print(text, file=sys.stderr)))
    except Unavailable as e:
        sys.exit(f"image: {e}")
