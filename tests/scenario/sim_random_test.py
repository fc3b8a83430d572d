#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Small scenarios drawn at random, and what must be true of every run whatever it is: frames do not
vanish or appear, no link is faster than its rate, a lossless class of a sound network loses nothing,
flows that are done have all their bytes and the right ones, and the same seed gives the same JSON,
with other builds, too.

    sim_random_test.py UROCE [--other UROCE]... [--first SEED] [--count N] [--keep FOLDER]

A seed that fails is printed with its scenario, which is also YAML.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

# Frames that a port has dropped, as in src/fabric/counter.h: on the way in before or after it was counted, or out.
BEFORE_RX = ("rx_crc_errors_phy", "rx_link_discards")
AFTER_RX = ("rx_oversize_pkts_phy", "rx_acl_discards", "rx_ttl_discards", "rx_no_route_discards")
AFTER_RX_PRIO = ("discards",)
BEFORE_TX_PRIO = ("discards", "wred_discards", "storm_discards")


# ---- scenarios ----

def draw_topology(r):
    kind = r.choice(("star", "dumbbell", "parking-lot", "ring", "leaf-spine", "three-tier", "fat-tree", "dragonfly"))
    t = {"kind": kind}
    if kind == "star":
        t["hosts"] = r.randint(2, 9)
    elif kind == "dumbbell":
        t.update(left=r.randint(1, 4), right=r.randint(1, 4))
    elif kind == "parking-lot":
        t.update(switches=r.randint(2, 4), hosts_per_switch=r.randint(1, 3))
    elif kind == "ring":
        t.update(switches=r.randint(3, 5), hosts_per_switch=r.randint(1, 2), routing=r.choice(("clockwise", "up-down")))
    elif kind == "leaf-spine":
        t.update(leaves=r.randint(2, 3), spines=r.randint(1, 3), hosts_per_leaf=r.randint(1, 4), uplinks=r.randint(1, 2))
    elif kind == "three-tier":
        t.update(cores=r.randint(1, 2), blocks=r.randint(1, 2), hosts_per_access=r.randint(1, 3))
    elif kind == "dragonfly":
        t.update(routers=2, global_links=1, hosts_per_switch=r.randint(1, 2), routing="valiant", classes=[3, 4, 5])
    return t


def draw_link(r, is_sound):
    link = {"rate": r.choice(("1G", "10G", "25G", "100G", "400G", "800G")),
            "length": r.choice(("0m", "1m", "10m", "300m"))}
    if is_sound:
        return link
    for key, most in (("loss", 0.02), ("duplicate", 0.02), ("reorder", 0.05)):
        if r.random() < 0.4:
            link[key] = round(r.uniform(0.0001, most), 6)
    if r.random() < 0.3:
        link["ber"] = "1e-7"
    link["reorder_delay"] = r.choice(("100ns", "5us", "50us"))
    return link


def draw_switch(r, pfc, is_dragonfly):
    switch = {"qos": {"pfc": pfc}, "ecn": {}, "buffer": {}}
    if r.random() < 0.3:
        switch["forwarding"] = "cut-through"
    if r.random() < 0.5:
        switch["ecn"]["enabled"] = r.random() < 0.7
    if r.random() < 0.4:
        switch["ecn"].update(kmin=r.choice(("5kB", "50kB")), kmax=r.choice(("100kB", "200kB")))
    if r.random() < 0.5:
        switch["buffer"]["size"] = r.choice(("16MB", "32MB", "64MB"))
    if r.random() < 0.3 and not is_dragonfly:
        switch["qos"]["tcbw"] = r.choice(([50, 0, 0, 50, 0, 0, 0, 0], [10, 0, 0, 90, 0, 0, 0, 0]))
    return switch


def draw_host(r):
    host = {"path_mtu": r.choice(("256", "1024", "4096")), "address": r.choice(("ipv4", "ipv6")),
            "cc": r.choice(("none", "dcqcn")), "ack_interval": r.choice((1, 4, 16)),
            "recovery": r.choice(("go-back-n", "go-back-n", "go-back-0")),
            "timing": r.choice(("spec", "connectx-6")), "ack_first": r.choice(("no", "yes", "always")),
            "retry": {"timeout": r.choice((7, 8, 10, 14)), "count": r.choice((1, 3, 7))}}
    if r.random() < 0.3:
        host["dcqcn"] = {"preset": r.choice(("connectx", "paper", "hpcc-ns3"))}
    if r.random() < 0.2:
        host["vlan"] = r.randint(1, 4094)
    if r.random() < 0.2:
        host["drain_rate"] = r.choice(("500Mb/s", "5G", "50G"))
    return host


def draw_workload(r, prios):
    w = {"kind": r.choice(("flow", "incast", "permutation", "all-to-all", "all-reduce", "requests", "background")),
         "prio": r.choice(prios)}
    if w["kind"] in ("flow", "incast", "permutation", "all-to-all"):
        w["op"], w["service"] = r.choice((("write", "rc"), ("read", "rc"), ("send", "rc"), ("write", "uc"),
                                          ("send", "uc"), ("send", "ud")))
        w.update(bytes=r.choice((1, 63, 4096, 4097, 20000, 65536, 300001)), queue_pairs=r.randint(1, 3),
                 message=r.choice((1, 100, 4096, 5000, 100000)) if w["service"] != "ud" else r.choice((64, 200)),
                 rounds=r.randint(1, 2), jitter=r.choice(("0", "3us")))
        if w["bytes"] / w["message"] > 2000:
            w["message"] = 200
    elif w["kind"] == "all-reduce":
        w.update(bytes=r.choice((1000, 60000)))
    elif w["kind"] == "requests":
        w.update(rate_per_client=r.choice(("20k/s", "200k/s")), duration="100us", arrival=r.choice(("poisson", "periodic")))
    else:
        w.update(rate="200Mb/s", duration="50us", packet=r.choice((64, 256)), service=r.choice(("uc", "ud")))
    return w


def draw_fault(r, topology):
    fault = {"kind": r.choice(("link-down", "pause-storm", "slow-receiver")), "at": f"{r.choice((0, 5, 5, 20, 100))}us",
             "duration": r.choice(("0", "1ns", "10us", "100us", "1ms"))}
    if fault["kind"] == "link-down":
        fault["link"] = r.choice(("host", "*", "h0-*", "fabric" if topology == "leaf-spine" else "*-*"))
        if r.random() < 0.5:
            fault["reroute"] = r.choice(("0", "10us"))
    else:
        fault["host"] = r.choice(("h0", "h1", "*"))
    if fault["kind"] == "slow-receiver":
        fault["drain_rate"] = r.choice(("1kb/s", "1G"))
    return fault


def draw(seed):
    """A scenario, and whether its network is sound: no losses and no faults."""
    r = random.Random(seed)
    is_sound = r.random() < 0.5
    topology = draw_topology(r)
    is_dragonfly = topology["kind"] == "dragonfly"
    pfc = [0, 0, 0, 1, 0, 0, 0, 0]
    if is_dragonfly:
        pfc = [0, 0, 0, 1, 1, 1, 0, 0]
    elif r.random() < 0.3:
        pfc = [r.randint(0, 1) for _ in range(8)]
    prios = [3] if is_dragonfly else [3, 3, r.randint(0, 7)]
    s = {"seed": r.randint(0, 1 << 32), "until": r.choice(("0", "30us", "500us", "20ms")), "stall": "1ms",
         "payload": r.choice(("phantom", "real")), "topology": topology, "link": draw_link(r, is_sound),
         "switch": draw_switch(r, pfc, is_dragonfly), "host": draw_host(r),
         "workload": [draw_workload(r, prios) for _ in range(r.randint(1, 3))]}
    s["host"]["qos"] = {"pfc": pfc}
    if is_dragonfly:  # each class a queue of its own
        s["switch"]["qos"]["prio_tc"] = list(range(8))
        s["switch"]["ecn"]["tc"] = pfc
    if r.random() < 0.3:
        s["links"] = [{"match": r.choice(("host", "*", "h0-*")), "rate": r.choice(("10G", "40G", "100G"))}]
    if r.random() < 0.3:
        s["switch"]["watchdog"] = {"enabled": True, "poll_interval": "20us", "detection_time": "40us",
                                   "restoration_time": "40us", "action": r.choice(("drop", "forward"))}
        is_sound = False
    if not is_sound and r.random() < 0.6:
        s["faults"] = [draw_fault(r, topology["kind"]) for _ in range(r.randint(1, 4))]
    if not is_sound:
        s["until"] = r.choice(("30us", "500us", "5ms", "20ms"))
    return s, is_sound


# ---- runs ----

def run(uroce, path):
    done = subprocess.run([uroce, "sim", path, "--json", "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=600)
    if done.returncode != 0:
        return None, f"status {done.returncode}: {done.stderr.strip()[-3000:]}"
    out = json.loads(done.stdout)
    del out["totals"]["wall_seconds"]
    return out, "\n".join(line for line in done.stderr.splitlines() if ": warning: switches can wait" not in line)


def prio_sum(port, direction, names):
    return sum(port["counters"].get(f"{direction}_prio{p}_{n}", 0) for p in range(8) for n in names)


def port_sum(port, names):
    return sum(port["counters"].get(n, 0) for n in names)


def dropped(port):
    return (port_sum(port, BEFORE_RX + AFTER_RX + ("tx_link_down_discards",)) + prio_sum(port, "rx", AFTER_RX_PRIO) +
            prio_sum(port, "tx", BEFORE_TX_PRIO))


def pairs(ports):
    """Each port, and the one at the other end of its link: parallel links in the order of both."""
    groups = {}
    for port in ports:
        groups.setdefault((port["node"], port["to"]), []).append(port)
    for (node, to), mine in groups.items():
        yield from zip(mine, groups[to, node])


def check_ports(scenario, out):
    ports = out["ports"]
    link = scenario["link"]
    for a, b in pairs(ports):
        name = f"{a['node']} to {a['to']}"
        sent = prio_sum(a, "tx", ("packets",))
        came = prio_sum(b, "rx", ("packets",)) + port_sum(b, BEFORE_RX)
        assert came <= sent * (2 if "duplicate" in link else 1), f"{name}: {sent} frames sent, {came} came"
        bits = (prio_sum(a, "tx", ("bytes",)) + 20 * sent) * 8
        most = a["rate_bps"] * out["simulated_us"] / 1e6 + 8 * 10000
        assert bits <= most, f"{name}: {bits} bits in {out['simulated_us']} us at {a['rate_bps']} b/s"
        for p in range(8):
            paused = a["counters"].get(f"rx_prio{p}_pause_duration", 0)
            assert paused <= out["simulated_us"] + 1, f"{name}: paused {paused} us of {out['simulated_us']}"
    switches = {p["node"] for p in ports} - {f["src"] for f in out["flows"]} - {f["dst"] for f in out["flows"]}
    for node in (n for n in switches if not n.startswith("h")):
        mine = [p for p in ports if p["node"] == node]
        came = sum(prio_sum(p, "rx", ("packets",)) for p in mine)
        left = sum(prio_sum(p, "tx", ("packets",)) for p in mine)
        lost = sum(dropped(p) - port_sum(p, BEFORE_RX + ("tx_link_down_discards",)) for p in mine)
        assert left + lost <= came, f"{node}: {came} frames came, {left} left, {lost} lost"


def check_totals(scenario, out):
    totals = out["totals"]
    assert totals["drops"] == sum(totals["drops_by_reason"].values()), "drops are not the sum of their reasons"
    counted = sum(dropped(p) for p in out["ports"])
    assert totals["drops"] == counted, f"{totals['drops']} drops, ports have counted {counted}"
    delivered = sum(w["bytes_delivered"] for w in out["workloads"])
    assert totals["bytes_delivered"] == delivered, f"{totals['bytes_delivered']} bytes, flows have {delivered}"
    assert totals["messages_wrong"] == 0 and not out["wrong_messages"], "wrong bytes"


def check_flows(scenario, out):
    for i, f in enumerate(out["flows"]):
        assert f["bytes_delivered"] <= f["bytes"], f"flow {i}: {f['bytes_delivered']} bytes of {f['bytes']}"
        if f["state"] == "done":
            assert f["bytes_delivered"] == f["bytes"], f"flow {i}: done with {f['bytes_delivered']} of {f['bytes']}"
            assert f["fct_us"] >= f["ideal_us"] * 0.999, f"flow {i}: {f['fct_us']} us, alone {f['ideal_us']}"


def check_sound(scenario, out):
    """No faults, no losses: lossless classes lose nothing, and all flows end in time."""
    # A slow receiver's 256 KiB do not hold what is on a long cable when its pause arrives.
    is_short = "drain_rate" in scenario["host"] and scenario["link"]["length"] == "300m"
    assert is_short or out["totals"]["lossless_drops"] == 0, f"{out['totals']['lossless_drops']} lossless drops"
    if scenario["until"] == "0" and not out["totals"]["drops"]:
        assert out["end"] == "all flows have ended", out["end"]


def check_circle(scenario, out):
    """What has locked up was said to be able to, unless routes have changed since; trees never are."""
    if out["deadlock"] and not any("reroute" in fault for fault in scenario.get("faults", [])):
        assert out["cyclic_dependency"], f"locked up without a warning: {out['deadlock']}"
    if scenario["topology"].get("routing") in ("up-down", "valiant") or scenario["topology"]["kind"] == "fat-tree":
        assert out["cyclic_dependency"] == [], f"a circle by such routes: {out['cyclic_dependency']}"


def check(scenario, is_sound, out):
    check_ports(scenario, out)
    check_totals(scenario, out)
    check_flows(scenario, out)
    check_circle(scenario, out)
    if is_sound:
        check_sound(scenario, out)


def try_seed(options, seed, folder):
    scenario, is_sound = draw(seed)
    path = os.path.join(folder, f"random-{seed}.yaml")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(scenario, f, indent=1)
    try:
        out, problem = run(options.uroce, path)
        assert out and not problem, problem
        check(scenario, is_sound, out)
        for uroce in options.other or [options.uroce]:
            again, problem = run(uroce, path)
            assert again and not problem, problem
            assert again == out, f"{uroce}: another result"
    except (AssertionError, subprocess.TimeoutExpired) as e:
        return f"seed {seed}: {e}", out["end"] if out else ""
    return None, out["end"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("uroce")
    parser.add_argument("--other", action="append")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--count", type=int, default=25)
    parser.add_argument("--keep")
    options = parser.parse_args()
    ends = {}
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.first, options.first + options.count):
            problem, end = try_seed(options, seed, options.keep or folder)
            ends[end] = ends.get(end, 0) + 1
            if problem:
                failures += 1
                print(problem, json.dumps(draw(seed)[0]), sep="\n", flush=True)
    print(f"seeds {options.first} to {options.first + options.count - 1}: {failures} failed; {ends}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
