# SPDX-License-Identifier: BSD-2-Clause
"""A wire that loses, doubles and reorders, in either direction: uroce injects it (UROCE_IMPAIR), on
the way out or on the way in. verbs-check compares all that arrives, perftest has long messages in
one direction; the packets of both stacks keep to go-back-N (sequence/), and every packet is
accounted for by counters.
"""
import collections
import os
import re

from harness import pair, roce
from harness.perftest import table
from harness.report import Failed

import across
from recorded import Recording
from rows import FULL, SHORT, row

# what both stacks can do; ATOMIC WRITE is newer than the guest's kernel
OPERATIONS = "send,send-imm,send-inv,write,write-imm,read,cmp-swap,fetch-add"


# of UC and UD
UNRELIABLE = "send,send-imm,write,write-imm"
TIMEOUT = 17  # 0.54 s, eight times: the guest may stand still for a while
TIMEOUT_S = 4.096e-6 * (1 << TIMEOUT)
ENOUGH = 20  # of an event, for what must follow from it to be there


def verbs_check(ctx, server, recording, link, seeds, ipv6, transports="rc", operations=OPERATIONS,
                size=65536):
    """Both ways at once: each side is requester and responder."""
    here = os.path.join(os.path.dirname(pair.UROCE), "verbs-check")
    there = ctx.guest.push(here)
    port = pair.next_port()
    words = {}
    for side, program, other in ((ctx.ours, here, "peer-"), (ctx.guest, there, "")):
        gid = side.gid_index(side.ipv6 if ipv6 else side.ipv4)
        words[side] = [program, "-d", side.device, "-p", port, "-g", gid, f"--{other}quirks=rxe"]
    serving, asking = across.sides(ctx, server)
    outcome = pair.expect_success(across.run_pair(
        ctx, server, words[serving],
        [*words[asking], f"--transport={transports}", "--qps=2", "--ops=60", f"--max-size={size}",
         "--faults=0", "--features=none", f"--timeout={TIMEOUT}", f"--only={operations}", "-n", seeds,
         "--stall=240",
         *([f"--link={link}"] if link else []), serving.ipv6 if ipv6 else serving.ipv4],
        port, timeout=1800, env=recording.env))
    for side in (outcome.server, outcome.client):
        done = re.search(r"verbs-check: (\d+) seeds, .* all right", side.output())
        if not done or int(done.group(1)) != seeds:
            raise Failed(f"not {seeds} seeds\n{outcome.text()}")


def perftest(ctx, program, server, recording, ipv6):
    """Long messages one after the other."""
    port = pair.next_port()
    serving, asking = across.sides(ctx, server)
    # rxe offers more outstanding READs than uroce takes
    more = ["-o", 16] if program == "ib_read_bw" else []
    words = {side: [program, "-F", "-u", TIMEOUT, "-d", side.device, "-p", port, "-n", 40, "-s",
                    65537, *more, "-x", side.gid_index(side.ipv6 if ipv6 else side.ipv4)]
             for side in (serving, asking)}
    outcome = pair.expect_success(across.run_pair(
        ctx, server, words[serving], [*words[asking], serving.ipv4], port, timeout=1800,
        env=recording.env))
    if not table(outcome.client.output()):
        raise Failed(f"no result\n{outcome.text()}")


def is_followed(nak, requests):
    """Whether what it asks for came again before a time-out could be the cause."""
    return any(p.psn == nak.psn and nak.time < p.time < nak.time + TIMEOUT_S for p in requests)


def expect_naks(recording, kind, direction):
    """What is lost is asked for at once, and sent: it is not left to time-outs."""
    c = recording.counted
    if "drop" not in kind:
        return
    sent, came = recording.by_direction()
    ours = [p for p in sent if p.is_nak(roce.NAK_SEQUENCE)]
    theirs = [p for p in came if p.is_nak(roce.NAK_SEQUENCE)]
    requests = [p for p in sent if not p.is_response]
    if direction == "rx" and c["out_of_sequence"] >= ENOUGH and not ours:
        raise Failed(f"{c['out_of_sequence']} packets of rxe came behind a gap, and uroce sent no "
                     "sequence NAK")
    if direction == "tx" and c["packet_seq_err"] >= ENOUGH and \
            not any(is_followed(nak, requests) for nak in theirs):
        raise Failed(f"{c['packet_seq_err']} sequence NAKs of rxe came, and uroce went back after "
                     "none")


def expect_trouble(recording, kind, direction, is_reliable=True):
    """What was ordered has happened, and shows where it should: before the capture, or behind."""
    c, figures = recording.counted, recording.check_sequence()
    recording.check_counters()
    sent = len(recording.by_direction()[0])
    names = {"drop": "io_impair_dropped", "dup": "io_impair_duplicated",
             "reorder": "io_impair_reordered"}
    happened = {k: c[name] for k, name in names.items() if k in kind}
    if not all(happened.values()):
        raise Failed(f"nothing was done to a packet: {happened}")
    before = c["tx_pkts"] - sent
    if direction == "tx" and before != happened.get("drop", 0) - happened.get("dup", 0):
        raise Failed(f"{c['tx_pkts']} packets made, {sent} on the wire, {happened}")
    if direction == "rx" and before:
        raise Failed(f"{c['tx_pkts']} packets made, {sent} on the wire")
    if figures["missing"] > happened.get("drop", 0) + happened.get("reorder", 0):
        raise Failed(f"{figures['missing']} requests missing, {happened} dropped")
    if is_reliable and "drop" in kind and not figures["repeated"]:
        raise Failed(f"nothing was sent again\n{figures}")
    if not is_reliable and figures["repeated"]:
        raise Failed(f"{figures['repeated']} requests were sent again")
    expect_naks(recording, kind, direction)
    done = " ".join(f"{k} {n}" for k, n in happened.items())
    again = " ".join(f"{k[9:]} {n}" for k, n in figures.items() if k.startswith("restarts") and n)
    return f"{len(recording.packets)} packets, {done}; restarts: {again or 'none'}"


def impair_of(kind, share, direction, seed):
    shares = ",".join(f"{k}={share}%" for k in kind.split(","))
    return f"seed={seed},{shares},dir={direction}"


def add_row(name, kind, share, direction, least, drive, mtu=1500, is_reliable=True):
    """drive(ctx, recording) runs the programs."""
    @row(f"loss/{name}", mtu=mtu, least=least)
    def run(ctx):
        with Recording(ctx, impair_of(kind, share, direction, len(name))) as recording:
            drive(ctx, recording)
        return expect_trouble(recording, kind, direction, is_reliable)


def add_verbs_check(kind, share, direction, family, server):
    def drive(ctx, recording):
        verbs_check(ctx, server, recording, LINKS[kind], ctx.pick(4, 12), family == "ipv6")
    # the short form has each kind, each direction, each family
    is_short = (kind, share, direction, family) in IN_SHORT
    add_row(f"{NAMES.get(kind, kind)}-{share}%/{direction}/{family}", kind, share, direction,
            SHORT if is_short else FULL, drive)


def add_unreliable(kind, share, direction, family, server):
    """UC and UD: messages may be missing, and are whole where they are not."""
    def drive(ctx, recording):
        verbs_check(ctx, server, recording, LINKS[kind], 12, family == "ipv6", "uc,ud", UNRELIABLE)
    add_row(f"unreliable/{NAMES.get(kind, kind)}-{share}%/{direction}/{family}", kind, share,
            direction, FULL, drive, is_reliable=False)


def repeated(packets, opcodes):
    """How many of them were sent again."""
    seen = collections.Counter((p.dest_qpn, p.psn) for p in packets
                               if p.transport == roce.RC and p.op in opcodes)
    return sum(seen.values()) - len(seen)


def add_atomics(kind, direction, family, server):
    """What comes again is not executed again: asked by rxe, answered by uroce, and the other way
    round."""
    def drive(ctx, recording):
        verbs_check(ctx, server, recording, LINKS[kind], 12, family == "ipv6",
                    operations="cmp-swap,fetch-add,write", size=64)

    @row(f"loss/atomics/{kind}-10%/{direction}/{family}", mtu=1500, least=FULL)
    def run(ctx):
        with Recording(ctx, impair_of(kind, 10, direction, 1)) as recording:
            drive(ctx, recording)
        note = expect_trouble(recording, kind, direction)
        again = repeated(recording.by_direction()[1], roce.ATOMICS)
        if again < ENOUGH // 2:
            raise Failed(f"only {again} atomics of rxe came again")
        return f"{note}; {again} atomics of rxe again"


def add_long_packets(direction, family, server):
    """Path MTU 4096."""
    def drive(ctx, recording):
        verbs_check(ctx, server, recording, LINKS[ALL], ctx.pick(4, 12), family == "ipv6")
    add_row(f"mtu-9000/all-2%/{direction}/{family}", ALL, 2, direction, FULL, drive, mtu=9000)


def add_perftest(program, share, direction, server):
    def drive(ctx, recording):
        perftest(ctx, program, server, recording, direction == "rx")
    add_row(f"{program[3:]}-{server}-serves/drop-{share}%/{direction}", "drop", share, direction,
            FULL, drive)


ALL = "drop,dup,reorder"
NAMES = {ALL: "all"}
LINKS = {"drop": "loss", "dup": "dup", "reorder": "reorder", ALL: "loss,dup,reorder"}
IN_SHORT = {("drop", 1, "rx", "ipv4"), ("drop", 10, "tx", "ipv6"), (ALL, 2, "rx", "ipv6"),
            (ALL, 2, "tx", "ipv4")}

_turn = 0
for _kind, _share in (("drop", 1), ("drop", 10), ("dup", 5), ("reorder", 5), (ALL, 2)):
    for _direction in ("tx", "rx"):
        for _family in ("ipv4", "ipv6"):
            add_verbs_check(_kind, _share, _direction, _family, across.SERVERS[_turn % 2])
            _turn += 1
for _direction, _family, _server in (("tx", "ipv4", across.GUEST), ("rx", "ipv6", across.OURS)):
    add_long_packets(_direction, _family, _server)
    add_unreliable("drop", 10, _direction, _family, _server)
    add_unreliable(ALL, 2, _direction, _family, _server)
add_atomics("drop", "tx", "ipv6", across.GUEST)
for _program in ("ib_write_bw", "ib_read_bw", "ib_send_bw"):
    for _server in across.SERVERS:
        # where the data goes: what is lost of them must be sent again
        _is_out = (_program == "ib_read_bw") == (_server == across.OURS)
        for _share in (1, 10):
            add_perftest(_program, _share, "tx" if _is_out else "rx", _server)
