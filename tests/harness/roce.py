# SPDX-License-Identifier: BSD-2-Clause
"""RoCEv2 packets of a capture as records of named fields; shares no code with the product.

`read(path)` gives every RoCEv2 packet of a classic pcap file in its order. A field that the packet
does not have is None; PSNs and numbers are as on the wire.
"""
import dataclasses
import ipaddress
import struct

PORT = 4791
ETHERNET = 1
GSI_QPN = 1

RC, UC, RD, UD, CNP, XRC = 0x00, 0x20, 0x40, 0x60, 0x80, 0xA0
TRANSPORTS = {RC: "RC", UC: "UC", RD: "RD", UD: "UD", CNP: "CNP", XRC: "XRC"}

(SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_LAST_IMM, SEND_ONLY, SEND_ONLY_IMM, WRITE_FIRST,
 WRITE_MIDDLE, WRITE_LAST, WRITE_LAST_IMM, WRITE_ONLY, WRITE_ONLY_IMM, READ_REQUEST, READ_FIRST,
 READ_MIDDLE, READ_LAST, READ_ONLY, ACK, ATOMIC_ACK, CMP_SWAP, FETCH_ADD) = range(21)
SEND_LAST_INV, SEND_ONLY_INV = 22, 23

NAMES = {
    SEND_FIRST: "SEND First", SEND_MIDDLE: "SEND Middle", SEND_LAST: "SEND Last",
    SEND_LAST_IMM: "SEND Last with Immediate", SEND_ONLY: "SEND Only",
    SEND_ONLY_IMM: "SEND Only with Immediate", WRITE_FIRST: "WRITE First",
    WRITE_MIDDLE: "WRITE Middle", WRITE_LAST: "WRITE Last",
    WRITE_LAST_IMM: "WRITE Last with Immediate", WRITE_ONLY: "WRITE Only",
    WRITE_ONLY_IMM: "WRITE Only with Immediate", READ_REQUEST: "READ Request",
    READ_FIRST: "READ Response First", READ_MIDDLE: "READ Response Middle",
    READ_LAST: "READ Response Last", READ_ONLY: "READ Response Only", ACK: "Acknowledge",
    ATOMIC_ACK: "Atomic Acknowledge", CMP_SWAP: "Compare & Swap", FETCH_ADD: "Fetch & Add",
    SEND_LAST_INV: "SEND Last with Invalidate", SEND_ONLY_INV: "SEND Only with Invalidate",
}

RESPONSES = frozenset((READ_FIRST, READ_MIDDLE, READ_LAST, READ_ONLY, ACK, ATOMIC_ACK))
READ_RESPONSES = RESPONSES - {ACK, ATOMIC_ACK}
ATOMICS = frozenset((CMP_SWAP, FETCH_ADD))
FIRSTS = frozenset((SEND_FIRST, WRITE_FIRST, READ_FIRST))
MIDDLES = frozenset((SEND_MIDDLE, WRITE_MIDDLE, READ_MIDDLE))
SENDS = frozenset((SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_LAST_IMM, SEND_ONLY, SEND_ONLY_IMM,
                   SEND_LAST_INV, SEND_ONLY_INV))
WITH_RETH = frozenset((WRITE_FIRST, WRITE_ONLY, WRITE_ONLY_IMM, READ_REQUEST))
WITH_AETH = RESPONSES - {READ_MIDDLE}
WITH_IMM = frozenset((SEND_LAST_IMM, SEND_ONLY_IMM, WRITE_LAST_IMM, WRITE_ONLY_IMM))
WITH_IETH = frozenset((SEND_LAST_INV, SEND_ONLY_INV))

# AETH syndromes: bits 6-5 are the kind, bits 4-0 its value
KIND_ACK, KIND_RNR, KIND_NAK = 0, 1, 3
NAK_SEQUENCE, NAK_INVALID, NAK_ACCESS, NAK_OPERATION = range(4)
RNR_US = (655360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1280, 1920, 2560, 3840,
          5120, 7680, 10240, 15360, 20480, 30720, 40960, 61440, 81920, 122880, 163840, 245760,
          327680, 491520)


@dataclasses.dataclass
class Packet:
    """Where it was seen, then its headers from outside in."""
    number: int = 0
    time: float = 0.0
    src: str = ""
    dst: str = ""
    src_mac: str = None
    dst_mac: str = None
    ip_version: int = 4
    ip_tos: int = 0
    ip_id: int = None
    ip_flags: int = None  # with the fragment offset
    ip_ttl: int = 64
    ip_flow_label: int = None
    ip_checksum_right: bool = None
    frame_tail: int = 0  # bytes of the frame behind the IP packet
    udp_sport: int = 0
    udp_checksum: int = 0
    transport: int = RC
    op: int = SEND_ONLY
    solicited: int = 0
    migreq: int = 0
    pad: int = 0
    tver: int = 0
    pkey: int = 0xFFFF
    fecn: int = 0
    becn: int = 0
    reserved6: int = 0
    dest_qpn: int = 0
    ack_req: int = 0
    reserved7: int = 0
    psn: int = 0
    qkey: int = None
    src_qpn: int = None
    va: int = None
    rkey: int = None
    dma_len: int = None
    swap_add: int = None
    compare: int = None
    syndrome: int = None
    msn: int = None
    atomic_orig: int = None
    imm: int = None
    inv_rkey: int = None
    payload: bytes = b""
    pad_bytes: bytes = b""
    raw: bytes = b""  # the IP packet

    @property
    def name(self):
        if self.transport == CNP:
            return "CNP"
        return (f"{TRANSPORTS.get(self.transport, hex(self.transport))} "
                f"{NAMES.get(self.op, hex(self.op))}")

    @property
    def kind(self):
        """Of the AETH."""
        return None if self.syndrome is None else self.syndrome >> 5

    @property
    def value(self):
        return self.syndrome & 31

    @property
    def is_response(self):
        return self.op in RESPONSES

    def is_nak(self, code):
        return self.op == ACK and self.kind == KIND_NAK and self.value == code

    def __str__(self):
        text = f"packet {self.number}, {self.src} to {self.dst}: {self.name} PSN {self.psn:#x}"
        if self.op == ACK and self.kind == KIND_RNR:
            text += f" RNR NAK, timer {self.value}"
        elif self.op == ACK and self.kind == KIND_NAK:
            text += f" NAK {self.value}"
        return text


class _Reader:
    """Takes fields off the front of a header."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, layout):
        values = struct.unpack_from("!" + layout, self.data, self.at)
        self.at += struct.calcsize("!" + layout)
        return values


def records(path):
    """(seconds, frame) of a classic pcap file of Ethernet, either byte order, us or ns."""
    with open(path, "rb") as f:
        data = f.read()
    known = {b"\xd4\xc3\xb2\xa1": ("<", 1e-6), b"\x4d\x3c\xb2\xa1": ("<", 1e-9),
             b"\xa1\xb2\xc3\xd4": (">", 1e-6), b"\xa1\xb2\x3c\x4d": (">", 1e-9)}
    if data[:4] not in known:
        raise ValueError(f"{path}: not a pcap file")
    order, unit = known[data[:4]]
    if struct.unpack_from(order + "I", data, 20)[0] & 0xFFFF != ETHERNET:
        raise ValueError(f"{path}: not of Ethernet")
    at = 24
    while at + 16 <= len(data):
        seconds, fraction, captured, original = struct.unpack_from(order + "IIII", data, at)
        if captured != original:
            raise ValueError(f"{path}: a frame was cut short by the capture")
        yield seconds + fraction * unit, data[at + 16:at + 16 + captured]
        at += 16 + captured


def _sum16(header):
    total = sum(struct.unpack(f"!{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def _parse_ip(p, ip):
    """The UDP datagram, or None."""
    if ip[0] >> 4 == 4 and len(ip) >= 20:
        length = struct.unpack_from("!H", ip, 2)[0]
        header = (ip[0] & 15) * 4
        p.ip_version, p.ip_tos, p.ip_ttl = 4, ip[1], ip[8]
        p.ip_id, p.ip_flags = struct.unpack_from("!HH", ip, 4)
        p.ip_checksum_right = _sum16(ip[:header]) == 0xFFFF
        p.src, p.dst = (str(ipaddress.ip_address(ip[at:at + 4])) for at in (12, 16))
        protocol = ip[9]
    elif ip[0] >> 4 == 6 and len(ip) >= 40:
        length, header = 40 + struct.unpack_from("!H", ip, 4)[0], 40
        first = struct.unpack_from("!I", ip)[0]
        p.ip_version, p.ip_tos, p.ip_ttl = 6, first >> 20 & 0xFF, ip[7]
        p.ip_flow_label = first & 0xFFFFF
        p.src, p.dst = (str(ipaddress.ip_address(ip[at:at + 16])) for at in (8, 24))
        protocol = ip[6]
    else:
        return None
    p.raw, p.frame_tail = ip[:length], len(ip) - length
    return p.raw[header:] if protocol == 17 else None


def _parse_headers(p, body):
    r = _Reader(body)
    opcode, flags, p.pkey, second, third = r.take("BBHII")
    p.transport, p.op = opcode & 0xE0, opcode & 0x1F
    p.solicited, p.migreq, p.pad, p.tver = flags >> 7, flags >> 6 & 1, flags >> 4 & 3, flags & 15
    p.fecn, p.becn, p.reserved6 = second >> 31, second >> 30 & 1, second >> 24 & 0x3F
    p.dest_qpn = second & 0xFFFFFF
    p.ack_req, p.reserved7, p.psn = third >> 31, third >> 24 & 0x7F, third & 0xFFFFFF
    if p.transport != CNP:
        if p.transport == UD:
            p.qkey, p.src_qpn = r.take("II")
        if p.op in WITH_RETH:
            p.va, p.rkey, p.dma_len = r.take("QII")
        if p.op in ATOMICS:
            p.va, p.rkey, p.swap_add, p.compare = r.take("QIQQ")
        if p.op in WITH_AETH:
            word, = r.take("I")
            p.syndrome, p.msn = word >> 24, word & 0xFFFFFF
        if p.op == ATOMIC_ACK:
            p.atomic_orig, = r.take("Q")
        if p.op in WITH_IMM:
            p.imm, = r.take("I")
        if p.op in WITH_IETH:
            p.inv_rkey, = r.take("I")
    rest = body[r.at:-4]
    p.payload = rest[:len(rest) - p.pad]
    p.pad_bytes = rest[len(rest) - p.pad:]


def parse(frame):
    """A Packet, or None if the frame is not RoCEv2. One without room for its headers is
    struct.error."""
    at, kind = 12, struct.unpack_from("!H", frame, 12)[0]
    if kind == 0x8100:
        at, kind = 16, struct.unpack_from("!H", frame, 16)[0]
    if kind not in (0x0800, 0x86DD):
        return None
    p = Packet(dst_mac=frame[:6].hex(":"), src_mac=frame[6:12].hex(":"))
    datagram = _parse_ip(p, frame[at + 2:])
    if not datagram or struct.unpack_from("!H", datagram, 2)[0] != PORT:
        return None
    p.udp_sport, p.udp_checksum = (struct.unpack_from("!H", datagram, at)[0] for at in (0, 6))
    _parse_headers(p, datagram[8:struct.unpack_from("!H", datagram, 4)[0]])
    return p


def read(path):
    found = []
    for number, (time, frame) in enumerate(records(path), 1):
        p = parse(frame)
        if p:
            p.number, p.time = number, time
            found.append(p)
    return found
