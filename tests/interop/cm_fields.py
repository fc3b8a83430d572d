# SPDX-License-Identifier: BSD-2-Clause
"""The fields of connection manager MADs by name: (name, byte, highest bit in it, bits), behind the
common header of 24 bytes. What no field covers is `reserved`."""

NAMES = {0x10: "REQ", 0x11: "MRA", 0x12: "REJ", 0x13: "REP", 0x14: "RTU", 0x15: "DREQ",
         0x16: "DREP", 0x17: "SIDR_REQ", 0x18: "SIDR_REP"}
HEADER = 24

COMMON = (("base_version", 0, 7, 8), ("mgmt_class", 1, 7, 8), ("class_version", 2, 7, 8),
          ("method", 3, 7, 8), ("status", 4, 7, 16), ("class_specific", 6, 7, 16),
          ("transaction_id", 8, 7, 64), ("attribute_id", 16, 7, 16),
          ("attribute_modifier", 20, 7, 32))

_IDS = (("local_comm_id", 0, 7, 32), ("remote_comm_id", 4, 7, 32))

MESSAGES = {
    "REQ": (
        ("local_comm_id", 0, 7, 32), ("vendor_id", 5, 7, 24), ("service_id", 8, 7, 64),
        ("local_ca_guid", 16, 7, 64), ("local_qkey", 28, 7, 32), ("local_qpn", 32, 7, 24),
        ("responder_resources", 35, 7, 8), ("local_eecn", 36, 7, 24),
        ("initiator_depth", 39, 7, 8), ("remote_eecn", 40, 7, 24),
        ("remote_cm_timeout", 43, 7, 5), ("transport_type", 43, 2, 2), ("flow_control", 43, 0, 1),
        ("starting_psn", 44, 7, 24), ("local_cm_timeout", 47, 7, 5), ("retry_count", 47, 2, 3),
        ("pkey", 48, 7, 16), ("path_mtu", 50, 7, 4), ("rdc_exists", 50, 3, 1),
        ("rnr_retry_count", 50, 2, 3), ("max_cm_retries", 51, 7, 4), ("srq", 51, 3, 1),
        ("extended_transport", 51, 2, 3), ("local_lid", 52, 7, 16), ("remote_lid", 54, 7, 16),
        ("local_gid", 56, 7, 128), ("remote_gid", 72, 7, 128), ("flow_label", 88, 7, 20),
        ("packet_rate", 91, 5, 6), ("traffic_class", 92, 7, 8), ("hop_limit", 93, 7, 8),
        ("service_level", 94, 7, 4), ("subnet_local", 94, 3, 1), ("ack_timeout", 95, 7, 5),
        ("alternate_path", 96, 7, 352), ("ip_cm_version", 140, 7, 8), ("ip_version", 141, 7, 4),
        ("source_port", 142, 7, 16), ("source_address", 144, 7, 128),
        ("destination_address", 160, 7, 128), ("private_data", 176, 7, 448)),
    "REP": (
        *_IDS, ("local_qkey", 8, 7, 32), ("local_qpn", 12, 7, 24), ("local_eecn", 16, 7, 24),
        ("starting_psn", 20, 7, 24), ("responder_resources", 24, 7, 8),
        ("initiator_depth", 25, 7, 8), ("target_ack_delay", 26, 7, 5), ("failover", 26, 2, 2),
        ("flow_control", 26, 0, 1), ("rnr_retry_count", 27, 7, 3), ("srq", 27, 4, 1),
        ("local_ca_guid", 28, 7, 64), ("private_data", 36, 7, 1568)),
    "RTU": (*_IDS, ("private_data", 8, 7, 1792)),
    "DREQ": (*_IDS, ("remote_qpn", 8, 7, 24), ("private_data", 12, 7, 1760)),
    "DREP": (*_IDS, ("private_data", 8, 7, 1792)),
    "MRA": (*_IDS, ("message", 8, 7, 2), ("service_timeout", 9, 7, 5),
            ("private_data", 10, 7, 1776)),
    "REJ": (*_IDS, ("message", 8, 7, 2), ("info_length", 9, 7, 7), ("reason", 10, 7, 16),
            ("info", 12, 7, 576), ("private_data", 84, 7, 1184)),
    "SIDR_REQ": (("request_id", 0, 7, 32), ("pkey", 4, 7, 16), ("service_id", 8, 7, 64),
                 ("ip_cm_version", 16, 7, 8), ("ip_version", 17, 7, 4),
                 ("source_port", 18, 7, 16), ("source_address", 20, 7, 128),
                 ("destination_address", 36, 7, 128), ("private_data", 52, 7, 1440)),
    "SIDR_REP": (("request_id", 0, 7, 32), ("status", 4, 7, 8), ("info_length", 5, 7, 8),
                 ("qpn", 8, 7, 24), ("service_id", 12, 7, 64), ("qkey", 20, 7, 32),
                 ("info", 24, 7, 576), ("private_data", 96, 7, 1088)),
}


def name_of(mad):
    """Of the message; None if it is none of these."""
    return NAMES.get(int.from_bytes(mad[16:18], "big")) if len(mad) == 256 else None


def fields(mad):
    """{name: number} of a MAD, and `reserved`: all bits that no field covers."""
    whole = int.from_bytes(mad, "big")
    found = {}
    for base, layout in ((0, COMMON), (HEADER, MESSAGES[name_of(mad)])):
        for name, byte, high, bits in layout:
            shift = 8 * (len(mad) - base - byte) - (7 - high) - bits
            found[name] = whole >> shift & ((1 << bits) - 1)
            whole &= ~(((1 << bits) - 1) << shift)
    found["reserved"] = whole
    return found
