# SPDX-License-Identifier: BSD-2-Clause
"""The guest's file tree, in memory: filled from Debian packages, written as a cpio archive of the
form that the kernel unpacks (newc). Nothing touches a disk, so nobody needs to be root.

Every path is in its place of a merged /usr, wherever the package has it.
"""
import posixpath
import stat
import subprocess
import tarfile

MERGED = ("bin", "sbin", "lib", "lib64")


def in_place(path):
    path = posixpath.normpath(path.lstrip("/"))
    return "usr/" + path if path.split("/")[0] in MERGED else path


class Tree:
    """Paths without the leading slash; of each its mode and content (a link: its target)."""

    def __init__(self):
        self.entries = {}
        for name in MERGED:
            self.entries[name] = (stat.S_IFLNK | 0o777, f"usr/{name}".encode())
            self.folder(f"usr/{name}")

    def folder(self, path, mode=0o755):
        path = in_place(path)
        while path and path != ".":
            self.entries.setdefault(path, (stat.S_IFDIR | mode, b""))
            path = posixpath.dirname(path)

    def file(self, path, content, mode=0o644):
        path = in_place(path)
        self.folder(posixpath.dirname(path))
        self.entries[path] = (stat.S_IFREG | mode, content)

    def link(self, path, target):
        path = in_place(path)
        self.folder(posixpath.dirname(path))
        self.entries[path] = (stat.S_IFLNK | 0o777, target.encode())

    def content(self, path):
        return self.entries[in_place(path)][1]

    def unpack(self, package, wanted):
        """What wanted(path) lets in of a .deb file."""
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package],
                              stdout=subprocess.PIPE) as p:
            with tarfile.open(fileobj=p.stdout, mode="r|") as tar:
                for member in tar:
                    path = in_place(member.name)
                    if member.isdir() or not wanted(path):
                        continue
                    if member.issym():
                        self.link(path, member.linkname)
                    elif member.islnk():
                        original = in_place(member.linkname)
                        if original in self.entries:
                            self.entries[path] = self.entries[original]
                    elif member.isreg():
                        self.file(path, tar.extractfile(member).read(), member.mode & 0o777)
        if p.returncode != 0:
            raise RuntimeError(f"dpkg-deb cannot read {package}")

    def write(self, path):
        with open(path, "wb") as f:
            for number, name in enumerate(sorted(self.entries), 1):
                _write_entry(f, number, name, *self.entries[name])
            _write_entry(f, 0, "TRAILER!!!", 0, b"")
            f.write(bytes(-f.tell() % 512))


def _write_entry(f, number, name, mode, content):
    encoded = name.encode() + b"\0"
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(encoded), 0)
    f.write(b"070701" + b"".join(b"%08x" % field for field in fields) + encoded)
    f.write(bytes(-f.tell() % 4))
    f.write(content)
    f.write(bytes(-f.tell() % 4))
