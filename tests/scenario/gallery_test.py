#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the pages of scenarios/ propose "to change" does what they say: each change is made to the text
of the scenario, run, and a line of the summary is looked for. `None`: the page says no more than that
it runs.

    gallery_test.py UROCE
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

GALLERY = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "scenarios"))
UROCE = None

LITTLE = "host: {cc: none}\nswitch: {buffer: {size: 2500kB, pg_lossless: {static_th: 30kB}}, ecn: {enabled: off}%s}\n"
CLASSES = ", qos: {pfc: [0,0,0,1,1,1,0,0], prio_tc: [0,0,0,3,4,5,6,0], tcbw: [40,0,0,20,20,20,0,0]}"
ALL_TO_ALL = [("{name: next group, kind: trace, file: dragonfly-next-group.csv}", "{kind: all-to-all, bytes: 400kB}")]
CURED = [("host: {cc: none}\n", LITTLE.replace("{cc: none}", "{cc: none%s}") % (CLASSES, CLASSES))]
LOSSY = "qos: {pfc: [0,0,0,0,0,0,0,0]}"
SLOW = "    detection_time: 2ms\n"
STORM = "hosts:\n  - {match: h7, pause_storm: true}\n"
SPINES = ("switches: [{match: leaf0, watchdog: {detection_time: 4ms}},"
          " {match: spine0, watchdog: {detection_time: 4ms}}]\n")

NO_DROPS = r"drops +0\n"
ALL_DONE = r"all flows have ended"
CIRCLE = r"^.*: warning: switches can wait for each other in a circle, a deadlock is possible: .*\n$"
DEADLOCK = r"ended .* deadlock: .*\n  circle +\S+ to \S+ is paused on priority"

# The scenario, what is replaced by what, and what the summary has then.
CHANGES = [
    ("acl-ipv6", [("address: ipv6", "address: ipv4")], NO_DROPS),
    ("acl-ipv6", [("bytes: 64kB", "bytes: 64kB, queue_pairs: 8, message: 8kB")], r"16 flows failed"),
    ("dragonfly", [("routing: minimal", "routing: valiant, classes: 3")], NO_DROPS),
    ("dragonfly", [("routing: minimal", "routing: shortest")], NO_DROPS),
    ("dragonfly", ALL_TO_ALL + [("host: {cc: none}\n", LITTLE % "")], DEADLOCK),
    ("dragonfly", ALL_TO_ALL + [("host: {cc: none}\n", LITTLE % ""),
                                ("routing: minimal", "routing: valiant, classes: 3")], DEADLOCK),
    ("dragonfly", ALL_TO_ALL + CURED + [("routing: minimal", "routing: minimal, classes: [3,4]")], ALL_DONE),
    ("fat-tree-all-reduce", [("workload:", "links: [{match: core, rate: 25G}]\nworkload:")], NO_DROPS),
    ("headroom", [("xoff: auto", "xoff: 20kB")], r"drops +\d+ \(headroom exceeded"),
    ("headroom", [("300m}", "10km}"), ("32MiB", "128MiB")], NO_DROPS),
    ("headroom", [("size: 32MiB", "size: 32MiB\n    ingress_lossless_pool: {xoff: 2MB}")], r"headroom exceeded"),
    ("headroom", [("size: 32MiB", "size: 32MiB\n    ingress_lossless_pool: {xoff: 4MB}")], NO_DROPS),
    ("incast", [("size: 16MiB", "size: 16MiB, pg_lossless: {xoff: 0}")], r"no shared buffer"),
    ("incast", [("size: 16MiB", "size: 16MiB, pg_lossless: {dynamic_th: 3}")], NO_DROPS),
    ("incast", [("  buffer: {size: 16MiB}\n", f"  buffer: {{size: 16MiB}}\n  {LOSSY}\nhost: {{{LOSSY}}}\n")],
     r"egress queue limit"),
    ("leaf-spine-storage", [("prio: 0", "prio: 3")], r"ECN +\d{4} packets marked"),
    ("leaf-spine-storage", [("workload:", "host: {cc: none}\nworkload:"), ("prio: 0", "prio: 3")], r"PFC +[1-9]"),
    ("leaf-spine-storage", [("workload:", "switch: {ecn: {red: on}}\nworkload:")], r"WRED, not ECN-capable"),
    ("leaf-spine-storage", [("workload:", "switch: {ecn: {red: on}}\nhost: {ack_prio: 6}\nworkload:")], NO_DROPS),
    ("mtu-mismatch", [("workload:", 'host: {path_mtu: "1024"}\nworkload:')], NO_DROPS),
    ("mtu-mismatch", [("mtu: 1500", "mtu: 9000")], NO_DROPS),
    ("parking-lot", [("cc: dcqcn", "cc: none")], r"PFC +36\d{3} frames"),
    ("parking-lot", [("kmin: 100kB, kmax: 300kB", "kmin: 390kB, kmax: 400kB")], r"PFC +1\d{4} frames"),
    ("pause-storm", [("enabled: on", "enabled: off")], r"victims +4 +0 "),
    ("pause-storm", [("pause_storm: true", "drain_rate: 10G")], r"victims +4 +4 +10\."),
    ("pause-storm", [(STORM, "faults: [{kind: pause-storm, host: h7, at: 990us, duration: 8ms}]\n")],
     r"victims +4 +4 "),
    ("pause-storm", [(STORM, "faults: [{kind: pause-storm, host: h7, at: 900us, duration: 8ms}]\n")],
     r"victims +4 +0 "),
    ("pause-storm", [(STORM, "faults: [{kind: pause-storm, host: h7, at: 900us, duration: 8ms}]\n" + SPINES)],
     r"victims +4 +4 "),
    ("pause-storm", [("hosts:", f'ports: [{{match: "leaf1:h7", {LOSSY}}}]\nhosts:')], ALL_DONE),
    ("ring-deadlock", [], DEADLOCK),
    ("ring-deadlock", [("routing: clockwise", "routing: shortest")], ALL_DONE),
    ("ring-deadlock", [("hosts_per_switch: 2", "hosts_per_switch: 1")], DEADLOCK),
    ("ring-deadlock", [("  ecn: {enabled: off}\n", "  ecn: {enabled: off}\n  watchdog: {enabled: on, poll_interval: 100us, "
                        "detection_time: 200us, restoration_time: 200us}\n")], DEADLOCK),
    ("three-tier", [("load: 40%", "load: 90%")], None),
    ("ud-corruption", [("reorder: 1%", "reorder: 0%")], r"compared, 0 wrong"),
    ("ud-corruption", [("UD out of order, from: h1, to: h4, service: ud", "again, from: h1, to: h4, service: rc")],
     r"compared, 0 wrong"),
    ("wrong-qos-map", [("prio: 5\n    dscp: 46", "prio: 3\n    dscp: 26")], r"max 6\.\d\d us\n +bulk"),
    ("wrong-qos-map", [("  buffer: {size: 16MiB}\n", "  buffer: {size: 16MiB}\n  qos: {dscp_prio: [46:3]}\n"
                        "host: {qos: {dscp_prio: [46:3]}}\n")], r"max 6\.\d\d us\n +bulk"),
    ("wrong-qos-map", [("prio: 5\n    dscp: 46", "prio: 3\n    dscp: 46"),
                       ("  buffer: {size: 16MiB}\n", "  buffer: {size: 16MiB}\n  qos: {trust: pcp}\n"
                        "host: {vlan: 100, qos: {trust: pcp}}\n")], r"max 6\.\d\d us\n +bulk"),
]


class Gallery(unittest.TestCase):
    def test_changes_of_the_pages(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in os.listdir(GALLERY):
                if name.endswith(".csv"):
                    shutil.copy(os.path.join(GALLERY, name), folder)
            for scenario, replaced, expected in CHANGES:
                with self.subTest(scenario=scenario, replaced=replaced):
                    with open(os.path.join(GALLERY, scenario + ".yaml"), encoding="utf-8") as f:
                        text = f.read()
                    for old, new in replaced:
                        self.assertIn(old, text)
                        text = text.replace(old, new)
                    path = os.path.join(folder, "changed.yaml")
                    with open(path, "w", encoding="utf-8") as f:
                        f.write(text)
                    done = subprocess.run([UROCE, "sim", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                          text=True, timeout=800)
                    self.assertEqual(done.returncode, 0)
                    if expected == DEADLOCK or (scenario == "dragonfly" and "classes: [" not in text):
                        self.assertRegex(done.stderr, CIRCLE)
                    else:
                        self.assertEqual(done.stderr, "")
                    self.assertTrue(expected is None or re.search(expected, done.stdout), done.stdout)


if __name__ == "__main__":
    UROCE = sys.argv.pop(1)
    unittest.main()
