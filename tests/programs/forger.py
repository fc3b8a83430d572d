#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Sends management datagrams to QP1 that nobody should believe, with a right ICRC, in other hosts'
names: every kind of message with random IDs, QPNs and contents, some well-formed but for one field,
some damaged. It does not see the traffic, so it does not know the IDs.

  forger.py SEED COUNT VICTIM CLAIMED_SOURCE...

Prints how many it has sent. Needs a raw socket.
"""
import os
import random
import socket
import struct
import sys
import time

import icrc_check

KINDS = {0x10: "REQ", 0x11: "MRA", 0x12: "REJ", 0x13: "REP", 0x14: "RTU", 0x15: "DREQ",
         0x16: "DREP", 0x17: "SIDR_REQ", 0x18: "SIDR_REP", 0x19: "LAP", 0x1a: "APR"}
AT_ONCE = 20


def cm_data(draw, attribute, port):
    """Random, or a REQ to a real service; IDs small now and then, as of one who counts from 1."""
    data = bytearray(draw.randbytes(232))
    for at in (0, 4):
        if draw.random() < 0.3:
            struct.pack_into(">I", data, at, draw.randrange(200))
    if attribute == 0x10 and draw.random() < 0.5:
        struct.pack_into(">Q", data, 8, 0x106 << 16 | port)
    return bytes(data)


def good_req(draw, source, victim, port):
    """One that a program gets to see."""
    gids = [bytes(10) + b"\xff\xff" + socket.inet_aton(address) for address in (source, victim)]
    data = bytearray(232)
    struct.pack_into(">I", data, 0, draw.getrandbits(32) | 1)
    struct.pack_into(">QQ", data, 8, 0x106 << 16 | port, draw.getrandbits(64) | 1)
    struct.pack_into(">I", data, 32, draw.getrandbits(24) << 8 | 1)
    data[43] = 20 << 3
    data[47] = 20 << 3 | 7
    struct.pack_into(">HBB", data, 48, 0xffff, 3 << 4 | 7, 15 << 4)
    data[56:88] = gids[0] + gids[1]
    data[93], data[95], data[141] = 64, 14 << 3, 0x40
    data[144:176] = bytes(12) + gids[0][12:] + bytes(12) + gids[1][12:]
    return struct.pack(">BBBBHHQHHI", 1, 7, 2, 3, 0, 0, draw.getrandbits(64), 0x10, 0, 0) + data


def mad(draw, source, victim, port):
    if draw.random() < 0.05:
        return good_req(draw, source, victim, port)
    attribute = draw.choice(list(KINDS)) if draw.random() < 0.95 else draw.getrandbits(16)
    head = struct.pack(">BBBBHHQHHI", 1, 7, 2, 3, 0, 0, draw.getrandbits(64), attribute, 0, 0)
    whole = bytearray(head + cm_data(draw, attribute, port))
    if draw.random() < 0.1:
        whole[draw.randrange(24)] ^= 1 << draw.randrange(8)
    if draw.random() < 0.05:
        del whole[draw.randrange(len(whole)) // 4 * 4:]
    return bytes(whole)


def packet(draw, source, victim, payload):
    """IPv4, UDP, BTH, DETH, payload, ICRC."""
    bth = struct.pack(">BBHII", 0x64, 0x40, 0xffff, 1, draw.getrandbits(24))
    deth = struct.pack(">II", 0x80010000, 1)
    length = 20 + 8 + 12 + 8 + len(payload) + 4
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, length, 0, 0x4000, 64, 17, 0,
                     socket.inet_aton(source), socket.inet_aton(victim))
    udp = struct.pack(">HHHH", draw.randrange(49152, 65536), 4791, length - 20, 0)
    whole = ip + udp + bth + deth + payload + bytes(4)
    return whole[:-4] + icrc_check.icrc(whole, 20)


def main():
    seed, count, victim, sources = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:]
    draw = random.Random(seed)
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    for i in range(count):
        source = draw.choice(sources)
        raw.sendto(packet(draw, source, victim, mad(draw, source, victim, 7471)), (victim, 0))
        if i % AT_ONCE == AT_ONCE - 1:
            time.sleep(0.002)
    print(f"{count} sent")


if __name__ == "__main__":
    os.environ.pop("PYTHONPATH", None)
    main()
