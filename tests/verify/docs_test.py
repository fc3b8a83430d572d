#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""docs/verify-a-network.md and its translation against the program: every option of `uroce verify`
that they name is one that --help names, every key of scenarios exists, files that they link are
there, and both pages say the same commands.

And src/verify/README.md: its table of error cases has what verbs-check holds both sides to, and the
plan has each case that it names.

    docs_test.py UROCE
"""

import fnmatch
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
PAGES = ("docs/verify-a-network.md", "docs/verify-a-network.zh.md")
UROCE = ""


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as f:
        return f.read()


def commands(text):
    """Lines of shell blocks, continued ones joined, without comments."""
    found = []
    text = re.sub(r"^```yaml\n.*?^```\n", "", text, flags=re.M | re.S)
    for block in re.findall(r"^```\n(.*?)^```", text, re.M | re.S):
        for line in block.replace("\\\n", " ").splitlines():
            command = re.sub(r"\s+", " ", line.split(" # ")[0].split("  #")[0]).strip()
            if command:
                found.append(command)
    return found


def inline(text):
    return re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))


def output(*arguments):
    done = subprocess.run([UROCE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=300)
    return done.stdout


class Docs(unittest.TestCase):
    def test_options_are_those_of_the_program(self):
        known = set(re.findall(r"--[a-z][a-z-]*", output("verify", "--help")))
        for name in PAGES:
            text = read(name)
            used = set()
            for command in commands(text) + inline(text):
                if re.search(r"\buroce verify\b", command):
                    used |= set(re.findall(r"--[a-z][a-z-]*", command.split("uroce verify", 1)[1]))
            # options alone, in the tables of section 7 on
            for piece in inline(text[text.index("## 7."):]):
                used |= set(re.findall(r"^--[a-z][a-z-]*", piece))
            self.assertGreater(len(used), 12)
            self.assertEqual(used - known, set(), name)

    def test_every_option_is_documented(self):
        known = set(re.findall(r"--[a-z][a-z-]*", output("verify", "--help")))
        for name in PAGES:
            missing = {o for o in known if o not in read(name)}
            # what only a test of this program needs
            self.assertEqual(missing - {"--quiet", "--mtu", "--once"}, set(), name)

    def test_commands_of_uroce_exist(self):
        for name in PAGES:
            for command in set(re.findall(r"\buroce ([a-z]+)\b", "\n".join(
                    commands(read(name)) + inline(read(name))))):
                self.assertNotIn("no command", output("help", command), command)

    def test_keys_of_scenarios_exist(self):
        for name in PAGES:
            keys = re.findall(r"`((?:switch|qos)\.[a-z_.]+[a-z])`", read(name))
            self.assertGreater(len(keys), 8)
            for key in set(keys):
                self.assertNotIn("no key", output("sim", "--explain", key), key)

    def test_files_that_are_named_exist(self):
        for name in PAGES:
            for path in re.findall(r"scenarios/[a-z-]+\.yaml", read(name)):
                self.assertTrue(os.path.exists(os.path.join(ROOT, path)), path)
            for link in re.findall(r"\]\(([^)#]+)\)", read(name)):
                self.assertTrue(os.path.exists(os.path.join(ROOT, "docs", link)), link)

    def test_links_within_the_page_lead_somewhere(self):
        for name in PAGES:
            text = read(name)
            ids = {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-")
                   for h in re.findall(r"^#+ (.*)$", text, re.M)}
            for link in re.findall(r"\]\(#([^)]+)\)", text):
                self.assertIn(link, ids, name)

    def test_both_say_the_same(self):
        english, chinese = (read(name) for name in PAGES)
        self.assertEqual(commands(english), commands(chinese))
        # what stands in backquotes, but for words of sentences
        self.assertEqual(sorted(set(inline(english))), sorted(set(inline(chinese))))
        for pattern in (r"^#+ ", r"^\|", r"^\d+\. ", r"^\* "):
            self.assertEqual(len(re.findall(pattern, english, re.M)),
                             len(re.findall(pattern, chinese, re.M)), pattern)

    def test_profile_and_plan_can_be_used(self):
        """The files that the pages show, both the same."""
        english, chinese = (re.findall(r"^```yaml\n(.*?)^```", read(name), re.M | re.S)
                            for name in PAGES)
        self.assertEqual(english, chinese)
        profile, plan = english
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
            f.write(profile)
            f.flush()
            shown = output("verify", "--profile", f.name, "--list")
            self.assertRegex(shown, r"\nlatency/write_64 .*\[at most 8 us\]\n")
            self.assertRegex(shown, r"\nbandwidth/read .*\[at least 0.5 x floor/tcp\]\n")
            self.assertRegex(shown, r"\nlatency/read_64 .*\[at most 4 x ")
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
            f.write(plan)
            f.flush()
            shown = output("verify", "--plan", f.name, "--list")
            self.assertRegex(shown, r"\nlatency/read_4k .*\[at most 100 x floor/udp_64\]\n")

    def test_the_readme_leads_there(self):
        for name in PAGES:
            self.assertIn(f"({name})", read("README.md"))


class Cases(unittest.TestCase):
    """src/verify/README.md, the default plan, and verbs-check say the same."""

    STATES = {"ERROR": "error", "ALIVE": "as it was", "RESET": "RESET"}

    def setUp(self):
        self.text = read("src/verify/README.md")
        self.plan = dict(line.split(None, 1)
                         for line in output("verify", "--list").splitlines() if "/" in line.split()[0])

    def owed(self):
        """(case, what is wrong, request, receive, responder) of each scenario with a fault."""
        program = os.path.join(os.path.dirname(UROCE), "verbs-check")
        listed = subprocess.run([program, "--scenarios"], stdout=subprocess.PIPE, text=True,
                                check=True, timeout=300).stdout
        found = re.findall(r"^(\S+)\s+(.*): request (\w+), receive (\S+), responder (\w+)$",
                           listed, re.M)
        return [("function/" + re.sub("[/-]", "_", name), *more) for name, *more in found]

    def test_error_cases(self):
        rows = self.owed()
        self.assertGreater(len(rows), 25)
        for case, what, request, receive, state in rows:
            self.assertIn(f"| `{case}` | {what} | {request} | {receive} | {self.STATES[state]} |\n",
                          self.text)
            self.assertIn(request, self.plan[case])
            if receive != "-":
                self.assertIn(receive, self.plan[case])

    def test_every_status_has_a_case(self):
        for status in ("LOC_LEN_ERR", "LOC_PROT_ERR", "WR_FLUSH_ERR", "MW_BIND_ERR",
                       "REM_INV_REQ_ERR", "REM_ACCESS_ERR", "REM_OP_ERR", "RETRY_EXC_ERR",
                       "RNR_RETRY_EXC_ERR"):
            self.assertRegex(self.text, rf"\n\| `[a-z_]+/.*\b{status}\b")

    def test_cases_that_are_named_are_in_the_plan(self):
        groups = {name.split("/")[0] for name in self.plan}
        names = [n for n in inline(self.text) if n.split("/")[0] in groups and "/" in n]
        self.assertGreater(len(names), 60)
        for name in names:
            self.assertTrue(fnmatch.filter(self.plan, name), name)


if __name__ == "__main__":
    UROCE = os.path.realpath(sys.argv.pop(1))
    unittest.main(verbosity=2)
