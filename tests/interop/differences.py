# SPDX-License-Identifier: BSD-2-Clause
"""Every way in which packets of uroce and rxe differ for the same operation, and why. README.md has
the same table ("Our packets beside theirs"); a test compares them.
"""
import dataclasses
import typing

import cm_fields


@dataclasses.dataclass(frozen=True)
class Difference:
    fields: tuple
    ours: str
    theirs: str
    why: str
    # (our value, their value, our packet, their packet): whether it is this difference
    holds: typing.Callable
    kinds: tuple = ()  # beginnings of the kinds of packets; empty: all

    def covers(self, field, kind):
        return field in self.fields and (not self.kinds or kind.startswith(self.kinds))


def _any(*_):
    return True


def _flow_label_of_ports(_ours, _theirs, our_packet, their_packet):
    """What the kernel's rdma_cm makes of the two port numbers."""
    for p in (our_packet, their_packet):
        mad = cm_fields.fields(p.payload)
        ports = mad["source_port"] * 31 + (mad["service_id"] & 0xFFFF)
        if mad["flow_label"] != ports & 0xFFFFF:
            return False
    return True


def _are_the_hosts(ours, theirs, our_packet, their_packet):
    """Client and server have changed places."""
    one, other = (cm_fields.fields(p.payload) for p in (our_packet, their_packet))
    mirrored = {"local_gid": "remote_gid", "source_address": "destination_address"}
    return ours != theirs and all(
        one[left] == other[right] and one[right] == other[left]
        for left, right in mirrored.items() if left in one)  # a SIDR_REQ has no GIDs


TABLE = (
    Difference(
        ("ip_id",), "0", "counts",
        "a socket with DF set sends 0; one packet of a batch sends its index. rxe takes the "
        "kernel's counter, though DF makes it needless. ICRC covers it",
        lambda ours, theirs, *_: ours == 0),
    Difference(
        ("udp_checksum",), "right", "0",
        "batches (UDP_SEGMENT) need it; receivers take both, and ICRC covers more",
        lambda ours, theirs, *_: ours != 0 and theirs == 0),
    Difference(
        ("udp_sport",), "49152 to 65535, by destination and slot", "49152 to 65535, by own QPN",
        "entropy for the switches; a batch needs one port for all queue pairs of a process",
        lambda ours, theirs, *_: min(ours, theirs) >= 0xC000),
    Difference(
        ("migreq",), "1", "0",
        "1 says that the path has migrated, which is the state of a queue pair without alternate "
        "path; hardware sends 1 too",
        lambda ours, theirs, *_: (ours, theirs) == (1, 0)),
    Difference(
        ("dest_qpn", "src_qpn"), "slot of the process, 16 random bits", "counts",
        "each stack numbers its own queue pairs; the high byte of ours chooses the socket",
        _any),
    Difference(
        ("va",), "of the process", "of the process", "addresses of the two programs", _any),
    Difference(
        ("rkey", "inv_rkey"), "index, random bits", "index, 8 random bits",
        "each stack numbers its own regions and windows", _any),
    Difference(
        ("ack_req",), "1 on every 8th packet as well", "1 on the last packet of a message",
        "our window is in bytes and opens with ACKs, so that a small receive buffer is enough; "
        "rxe has no window but 128 packets",
        lambda ours, theirs, *_: (ours, theirs) == (1, 0), ("RC SEND Middle", "RC WRITE Middle",
                                                            "RC SEND First", "RC WRITE First")),
    Difference(
        ("dma_len",), "64 KiB at most", "the whole READ",
        "our window for READs: the answers must find room in the socket; a longer READ is asked "
        "for in parts",
        lambda ours, theirs, *_: ours < theirs, ("RC READ Request",)),
    Difference(
        ("ip_flow_label",), "that of the address vector, or the socket's", "0",
        "rxe sends none; ours is that which the program gave, for MADs the connection's, else "
        "the kernel's",
        lambda ours, theirs, *_: ours != 0 and theirs == 0),
    Difference(
        ("ack_req",), "0", "1",
        "nobody acknowledges a datagram; rxe asks for it in the kernel's MADs",
        lambda ours, theirs, *_: (ours, theirs) == (0, 1), ("CM",)),
    Difference(
        ("psn",), "counts", "counts", "of QP1: each host counts its own MADs", _any, ("CM",)),
    Difference(
        ("cm.transaction_id", "cm.local_comm_id", "cm.remote_comm_id", "cm.request_id"), "random",
        "random",
        "numbers that each side gives to its dialogues", _any, ("CM",)),
    Difference(
        ("cm.local_ca_guid",), "from the MAC or machine", "from the MAC",
        "names the host", _any, ("CM",)),
    Difference(
        ("cm.local_qpn", "cm.remote_qpn", "cm.qpn"), "as dest_qpn", "as dest_qpn", "as dest_qpn", _any,
        ("CM",)),
    Difference(
        ("cm.starting_psn",), "random", "random", "each queue pair begins somewhere", _any,
        ("CM",)),
    Difference(
        ("cm.local_gid", "cm.remote_gid", "cm.source_address", "cm.destination_address"),
        "the host's", "the host's", "client and server have changed places", _are_the_hosts,
        ("CM REQ", "CM SIDR_REQ")),
    Difference(
        ("cm.source_port",), "free", "free", "a port that nobody has", _any,
        ("CM REQ", "CM SIDR_REQ")),
    Difference(
        ("cm.flow_label",), "of the ports", "of the ports",
        "(source port * 31 + destination port) mod 2^20 on both sides", _flow_label_of_ports,
        ("CM REQ",)),
    Difference(
        ("cm.ack_timeout",), "17", "19",
        "packet life time 16 as in newer kernels, 18 in the guest's; plus one for the answer",
        lambda ours, theirs, *_: (ours, theirs) == (17, 19), ("CM REQ",)),
    Difference(
        ("cm.target_ack_delay",), "14", "15", "local_ca_ack_delay of the devices",
        lambda ours, theirs, *_: (ours, theirs) == (14, 15), ("CM REP",)),
    Difference(
        ("msn",), "of rxe's one request", "of uroce's several requests",
        "uroce asks for a long READ in parts, each of which counts",
        lambda ours, theirs, *_: theirs > ours, ("RC READ Response Last",)),
    Difference(
        ("psn", "msn"), "of the request", "of the request",
        "a refusal: how many requests lie before the refused one differs with the program",
        _any, ("RC Acknowledge (RNR NAK)", "RC Acknowledge (NAK")),
)


def explain(field, kind, ours, theirs, our_packet, their_packet):
    """The entry of the table that the difference is; None."""
    for entry in TABLE:
        if entry.covers(field, kind) and entry.holds(ours, theirs, our_packet, their_packet):
            return entry
    return None


def markdown():
    lines = ["| field | packets | ours | theirs | why |", "|---|---|---|---|---|"]
    for entry in TABLE:
        lines.append(f"| {', '.join(entry.fields)} | {', '.join(entry.kinds) or 'all'} | "
                     f"{entry.ours} | {entry.theirs} | {entry.why} |")
    return "\n".join(lines) + "\n"
