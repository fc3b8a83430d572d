#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of what the rows say where something lacks, that they skip with a reason and status 0 where
this machine cannot do it and fail where the command is wrong, and that settings of the user are not
in their way.

  lacking_test.py UROCE
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [os.path.join(HERE, ".."), os.path.join(HERE, "vm")]

from harness import capture, report  # noqa: E402

import image  # noqa: E402

UROCE = sys.argv.pop(1) if len(sys.argv) > 1 else ""
CAPTURE = os.path.join(HERE, "..", "vectors", "captures", "atomic_cmp_swap.pcap")
UNREACHABLE = """\
E: Failed to fetch http://deb.example/dash.deb  Temporary failure resolving 'deb.example'
E: Unable to fetch some archives, maybe run apt-get update or try with --fix-missing?
"""


def run(*argv, **env):
    result = subprocess.run([sys.executable, "-B", *argv], text=True, check=False,
                            stdin=subprocess.DEVNULL, capture_output=True,
                            env={**os.environ, **env})
    return result.returncode, result.stdout, result.stderr


class Rows(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="uroce-lacking-")
        self.addCleanup(shutil.rmtree, self.folder)

    def test_without_qemu_all_is_skipped(self):
        for program in ("unshare", "setpriv"):
            os.symlink(shutil.which(program), os.path.join(self.folder, program))
        status, out, err = run(os.path.join(HERE, "run.py"), "--uroce", UROCE, "--only",
                               "foundation/commands", PATH=self.folder)
        self.assertEqual((status, err), (0, ""))
        self.assertIn("qemu-system-x86_64 is not installed", out)
        self.assertTrue(out.endswith("\n0 passed, 0 failed, 1 skipped\n"), out)

    def test_a_name_that_no_row_has_is_an_error(self):
        status, out, err = run(os.path.join(HERE, "run.py"), "--uroce", UROCE, "--only", "nowhere")
        self.assertEqual((status, out), (1, ""))
        self.assertIn("no row has such a name", err)

    def test_nothing_but_skipped_is_no_failure(self):
        # lines of rows go where nobody takes them for this test's
        with open(os.devnull, "w", encoding="ascii") as nowhere:
            stdout, sys.stdout = sys.stdout, nowhere
            try:
                skipped, empty = report.Report(), report.Report()
                skipped.start("row")
                skipped.skip("needs what is not here")
                statuses = skipped.close("{}"), empty.close("{}")
            finally:
                sys.stdout = stdout
        self.assertEqual(statuses, (0, 1))


@unittest.skipUnless(shutil.which("apt-get"), "apt is not here")
class Image(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="uroce-lacking-")
        self.addCleanup(shutil.rmtree, self.folder)

    def test_a_cache_that_cannot_be_written(self):
        path = os.path.join(self.folder, "file")
        with open(path, "w", encoding="ascii"):
            pass
        status, out, err = run(os.path.join(HERE, "vm", "image.py"), XDG_CACHE_HOME=path)
        self.assertEqual((status, out, err), (1, "", f"image: {path}/uroce: Not a directory\n"))

    def test_package_lists_that_do_not_come(self):
        """apt-get update by itself is content with that."""
        settings, sources = (os.path.join(self.folder, name) for name in ("conf", "sources.list"))
        with open(sources, "w", encoding="ascii") as f:
            f.write("deb [trusted=yes] http://127.0.0.1:1/nowhere ./\n")  # nobody listens there
        with open(settings, "w", encoding="ascii") as f:
            f.write(f'Dir::Etc::sourcelist "{sources}"; Dir::Etc::sourceparts "/dev/null"; '
                    'Acquire::http::Proxy::127.0.0.1 "DIRECT"; Acquire::Retries "0";\n')
        os.environ["APT_CONFIG"] = settings
        try:
            with self.assertRaisesRegex(image.Unavailable, "apt-get update: .*nowhere"):
                image.Apt(self.folder, []).update()
        finally:
            del os.environ["APT_CONFIG"]

    def test_the_reason_is_the_first_error(self):
        self.assertIn("Temporary failure", image.first_error(UNREACHABLE))

    def test_half_a_download_is_not_kept(self):
        class BreaksOff(image.Apt):
            def run(self, *argv, cwd=None):
                with open(os.path.join(cwd, "dash_1_amd64.deb"), "w", encoding="ascii") as f:
                    f.write("half")
                raise image.Unavailable("no space")

        packages = os.path.join(self.folder, "packages")
        os.mkdir(packages)
        with self.assertRaises(image.Unavailable):
            BreaksOff(self.folder, []).fetch({"dash": "1"}, packages, lambda text: None)
        self.assertEqual(os.listdir(packages), [])


@unittest.skipUnless(shutil.which("tshark"), "tshark is not here")
class Preferences(unittest.TestCase):
    def test_of_whoever_runs_it_change_nothing(self):
        """Somebody has switched the dissector off for himself."""
        with tempfile.TemporaryDirectory() as home:
            os.makedirs(os.path.join(home, ".config", "wireshark"))
            with open(os.path.join(home, ".config", "wireshark", "disabled_protos"), "w",
                      encoding="ascii") as f:
                f.write("infiniband\n")
            recorded = capture.Capture.__new__(capture.Capture)  # one that needs no interface
            recorded.folder = tempfile.TemporaryDirectory()
            recorded.path = CAPTURE
            with unittest.mock.patch.dict(os.environ, HOME=home):
                os.environ.pop("XDG_CONFIG_HOME", None)
                packets = recorded.read("frame.protocols", "infiniband.bth.opcode")
            recorded.folder.cleanup()
        self.assertTrue(packets)
        self.assertFalse([opcode for _, opcode in packets if not opcode])


if __name__ == "__main__":
    unittest.main()
