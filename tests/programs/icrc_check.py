#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks the ICRC of every RoCEv2 packet in a pcap file; independent of the C code.

  icrc_check.py FILE.pcap    prints `N packets, N wrong`; exit status 1 when any is wrong

ICRC is the CRC-32 of Ethernet over eight bytes of ones, then the IP header, the UDP header and
the payload without the last four bytes, with the fields that change on the way set to ones; it is
stored with the least significant byte first.
"""
import struct
import sys
import zlib

ETHERNET, RAW_IP, LINUX_SLL = 1, 101, 113
ROCE_PORT = 4791


def frames(path):
    """(link type, bytes) of every frame of a classic pcap file, either byte order."""
    with open(path, "rb") as f:
        data = f.read()
    magic = data[:4]
    if magic in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"):
        order = "<"
    elif magic in (b"\xa1\xb2\xc3\xd4", b"\xa1\xb2\x3c\x4d"):
        order = ">"
    else:
        raise ValueError(f"{path}: not a pcap file")
    link_type = struct.unpack(order + "I", data[20:24])[0] & 0xFFFF
    at = 24
    while at + 16 <= len(data):
        captured, original = struct.unpack(order + "II", data[at + 8:at + 16])
        if captured != original:
            raise ValueError(f"{path}: a frame was cut short by the capture")
        yield link_type, data[at + 16:at + 16 + captured]
        at += 16 + captured


def ip_packet(link_type, frame):
    """From the IP header on, to the end that the IP header gives; None if it is no IP."""
    if link_type == ETHERNET:
        at, kind = 12, struct.unpack("!H", frame[12:14])[0]
        if kind == 0x8100:
            at, kind = 16, struct.unpack("!H", frame[16:18])[0]
        packet = frame[at + 2:]
    elif link_type == LINUX_SLL:
        kind, packet = struct.unpack("!H", frame[14:16])[0], frame[16:]
    elif link_type == RAW_IP:
        kind, packet = (0x0800 if frame[0] >> 4 == 4 else 0x86DD), frame
    else:
        raise ValueError(f"link type {link_type}")
    if kind == 0x0800:
        return packet[:struct.unpack("!H", packet[2:4])[0]]
    if kind == 0x86DD:
        return packet[:40 + struct.unpack("!H", packet[4:6])[0]]
    return None


def roce_packet(link_type, frame):
    """(packet, length of its IP header) if it is RoCEv2, else None."""
    packet = ip_packet(link_type, frame)
    if packet is None:
        return None
    if packet[0] >> 4 == 4:
        header, protocol = (packet[0] & 15) * 4, packet[9]
    else:
        header, protocol = 40, packet[6]
    if protocol != 17 or packet[header + 2:header + 4] != struct.pack("!H", ROCE_PORT):
        return None
    return packet, header


def icrc(packet, header):
    b = bytearray(packet[:-4])
    if header == 40:
        b[0] |= 0x0F
        b[1:4] = b"\xff\xff\xff"
        b[7] = 0xFF
    else:
        b[1] = 0xFF
        b[8] = 0xFF
        b[10:12] = b"\xff\xff"
    b[header + 6:header + 8] = b"\xff\xff"
    b[header + 12] = 0xFF
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + bytes(b)))


def check(path):
    """(packets, those with a wrong ICRC)"""
    count = wrong = 0
    for link_type, frame in frames(path):
        found = roce_packet(link_type, frame)
        if found:
            count += 1
            wrong += icrc(*found) != found[0][-4:]
    return count, wrong


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    count, wrong = check(sys.argv[1])
    print(f"{count} packets, {wrong} wrong")
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main())
