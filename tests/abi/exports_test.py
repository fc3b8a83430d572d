#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The library exports exactly what exports.tsv says, with versions, and nothing of its own.

It does not import socket(): a preloaded library that replaces it must not get ours.
Symbols of IBVERBS_PRIVATE_34, where there are such, must stand under every other provider node as well; the driver
registration carries the node's number in its name. usage: exports_test.py LIBRARY EXPORTS.TSV
"""
import subprocess
import sys

NODES = ("25", "33", "34", "57", "59", "64")
PRIVATE = "IBVERBS_PRIVATE_"
REGISTER = "verbs_register_driver_"
# Provider symbols of other releases than the table's.
OTHER_RELEASES = {"ibv_cmd_alloc_dmah", "ibv_cmd_create_cq_ex2", "ibv_cmd_export_dmabuf_fd",
                  "ibv_cmd_free_dmah", "ibv_cmd_query_device", "ibv_cmd_query_device_ex",
                  "ibv_cmd_query_port_speed", "ibv_cmd_reg_mr_ex", "ibv_get_fw_ver"}


def exported(library):
    """{(symbol, version): (is default, type)}; version None without one."""
    out = subprocess.run(["nm", "-D", "--defined-only", library], check=True, text=True,
                         stdout=subprocess.PIPE).stdout
    table = {}
    for line in out.splitlines():
        kind, name = line.split()[-2:]
        if kind == "A":
            continue
        symbol, at, version = name.partition("@")
        table[symbol, version.lstrip("@") if at else None] = (version.startswith("@"), kind)
    return table


def imported(library):
    out = subprocess.run(["nm", "-D", "--undefined-only", library], check=True, text=True,
                         stdout=subprocess.PIPE).stdout
    return {line.split()[-1].partition("@")[0] for line in out.splitlines()}


def expected(path):
    table = {}
    with open(path, encoding="ascii") as rows:
        for row in rows:
            if row.startswith("#"):
                continue
            symbol, version, default, kind = row.split()
            table[symbol, version] = (default == "yes", kind)
    return table


def main():
    have = exported(sys.argv[1])
    want = expected(sys.argv[2])
    wrong = []

    for key, value in want.items():
        if have.get(key) != value:
            wrong.append(f"{key[0]}@{key[1]}: want {value}, have {have.get(key)}")
    private = {s for s, v in want if v == PRIVATE + "34" and not s.startswith(REGISTER)}
    for node in NODES if private else ():
        for symbol in private | OTHER_RELEASES | {REGISTER + node}:
            if (symbol, PRIVATE + node) not in have:
                wrong.append(f"{symbol}@{PRIVATE}{node}: missing")
    for symbol, version in have:
        if (symbol, version) in want:
            continue
        if version and version.startswith(PRIVATE) and (
                symbol in private | OTHER_RELEASES or
                symbol == REGISTER + version[len(PRIVATE):]):
            continue
        wrong.append(f"{symbol}@{version}: not to be exported")
    if "socket" in imported(sys.argv[1]):
        wrong.append("socket: imported (see src/compat/own_socket.c)")
    for line in wrong:
        print(line)
    print(f"{len(have)} symbols, {len(wrong)} wrong")
    return 1 if wrong or not have else 0


if __name__ == "__main__":
    sys.exit(main())
