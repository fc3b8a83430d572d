# SPDX-License-Identifier: BSD-2-Clause
"""What is on the wire between the two stacks. The same operations run twice, uroce as client and rxe
as client, and both runs are recorded: tshark finds nothing malformed, two checkers find every ICRC
right (the product's, and icrc_check.py, which shares no code with it), counters and go-back-N agree
with the packets; then the packets that both stacks sent for the same operation are laid beside each
other, field by field (beside.py), and each difference must be in the table of differences.py.
"""
import os
import re
import sys

from harness import cm, pair, process, roce
from harness.capture import check_dissection
from harness.report import Failed

import across
import beside
import cm_dialogue
import differences
import rdmacm
import recorded
import verbs_check
from rows import FULL, SHORT, row

sys.path.append(os.path.join(pair.ROOT, "tests", "programs"))
import icrc_check  # noqa: E402

ICRC_OF_PCAP = os.path.join(pair.ROOT, "build", "tests", "icrc_of_pcap")

# together they have every opcode that rxe knows, and each answer: ACK, RNR NAK, each NAK
SCENARIOS = ("rc/send", "rc/send-imm", "rc/send-inv", "rc/write", "rc/write-imm", "rc/read",
             "rc/cmp-swap", "rc/fetch-add", "rc/rnr-exhausted",
             "rc/bad-rkey-write", "rc/qp-no-write", "uc/send", "uc/send-imm", "uc/write",
             "uc/write-imm", "ud/send", "ud/send-imm")
KINDS = tuple(f"RC {name}" for name in roce.NAMES.values()) + (
    "RC Acknowledge (RNR NAK)", "RC Acknowledge (NAK 1)", "RC Acknowledge (NAK 2)") + tuple(
    f"UC {roce.NAMES[op]}" for op in (*range(roce.SEND_FIRST, roce.WRITE_ONLY_IMM + 1),)) + (
    "UD SEND Only", "UD SEND Only with Immediate")
CM_KINDS = ("CM REQ", "CM REP", "CM RTU", "CM DREQ", "CM DREP")


def check_icrc(path, count):
    """Two checkers, which share no code."""
    wrong = icrc_check.check(path)
    status, output = process.run([ICRC_OF_PCAP, path])
    if wrong != (count, 0) or status != 0 or output != f"{count} packets, 0 wrong\n":
        raise Failed(f"{count} packets; icrc_check.py: {wrong[0]} packets, {wrong[1]} wrong; "
                     f"icrc_of_pcap: {output}")


class Recording(recorded.Recording):
    def finish(self):
        super().finish()
        check_icrc(self.capture.path, check_dissection(self.capture))


def record(ctx, server, drive, impair):
    """A beside.Run of one direction, checked by itself."""
    with Recording(ctx, impair) as recording:
        drive(ctx, server, recording.env)
    recording.check_counters()
    recording.check_sequence(is_finished=False)
    wrong = [] if impair else cm_dialogue.check(recording.packets)
    if wrong:
        raise Failed("\n".join(wrong[:20]))
    ours = {ctx.ours.ipv4, ctx.ours.ipv6}
    theirs = {ctx.guest.ipv4, ctx.guest.ipv6}
    client, serving = (theirs, ours) if server == across.OURS else (ours, theirs)
    return beside.Run(recording.packets, client, serving)


def compare(ctx, drive, kinds, impair="", chosen=""):
    by_us = record(ctx, across.GUEST, drive, impair)
    by_them = record(ctx, across.OURS, drive, impair)
    found = beside.Comparison()
    for kind, ours, theirs in beside.pairs(by_us, by_them):
        if kind.startswith(chosen):
            found.add(kind, ours, theirs)
    if found.unexplained:
        more = len(found.unexplained) - 20
        raise Failed("\n".join([f"{len(found.unexplained)} differences that differences.py does "
                                "not explain", *found.unexplained[:20],
                                *([f"and {more} more"] if more > 0 else [])]))
    missing = [kind for kind in kinds if not found.counts[kind]]
    if missing:
        raise Failed(f"nothing to compare of {', '.join(missing)}; there is {dict(found.counts)}")
    print_table(found)
    return (f"{len(by_us.packets) + len(by_them.packets)} packets; {sum(found.counts.values())} "
            f"pairs of {len(found.counts)} kinds, {found.fields} fields")


def print_table(found):
    """What differed, as explained in README.md."""
    print("\n       differences between packets of uroce (ours) and of rxe (theirs), all of them known:")
    for entry in differences.TABLE:
        if entry in found.used:
            ours, theirs, count = found.used[entry]
            print(f"       {', '.join(entry.fields)}: ours {entry.ours}, theirs {entry.theirs} "
                  f"({count} times, as {beside.shown(ours)} and {beside.shown(theirs)})")


def scenarios(names, network, times=1):
    def drive(ctx, server, env):
        outcome = verbs_check.run(ctx, server, network, "--scenario", ",".join(names), "-n", times,
                                  env=env)
        if not verbs_check.all_right(outcome):
            raise Failed(outcome.text())
    return drive


def rping(ipv6):
    port = pair.next_port()  # the same in both directions

    def drive(ctx, server, env):
        serving, _ = across.sides(ctx, server)
        common = ["rping", "-V", "-C", 3, "-S", 3000, "-p", port, "-a",
                  serving.ipv6 if ipv6 else serving.ipv4]
        pair.expect_success(across.run_pair(ctx, server, [*common, "-s"], [*common, "-c"], port,
                                            protocol="cm", env=env))
    return drive


def refused():
    """By nobody who listens, and by the program, with private data; one after the other."""
    port, free = pair.next_port(), pair.next_port()

    def drive(ctx, server, env):
        del env  # of programs that send data
        here, there = across.sides(ctx, server)
        common = [here.ipv4, port, "-t", "across", "-n", 6, "-w", 1, "-R", 3]
        listening = rdmacm.serve(ctx, here, *common)
        alone = there.spawn(["rping", "-c", "-C", "1", "-a", here.ipv4, "-p", str(free)])
        if alone.wait(process.LONG) == 0 or \
                "RDMA_CM_EVENT_REJECTED, error 8\n" not in alone.output():
            raise Failed(alone.output())
        client = rdmacm.Check(ctx, there, "connect", *common)
        cm.expect(client.result(), "client", established=4, rejected=2, ended=6)
        cm.expect(listening.result(), "server", established=4, refused=2, ended=6)
    return drive


def udaddy(ctx, server, env):
    """SIDR: a queue pair is asked for by its port."""
    port = 7174  # the only one that udaddy has
    serving, _ = across.sides(ctx, server)
    common = ["udaddy", "-c", 2, "-C", 4, "-S", 500]
    pair.expect_success(across.run_pair(
        ctx, server, [*common, "-b", serving.ipv4], [*common, "-s", serving.ipv4], port,
        protocol="cm", env=env))


def add_row(name, drive, kinds, impair="", least=SHORT, chosen=""):
    """chosen: the kinds that are compared begin so."""
    @row(f"captures/{name}", least=least)
    def run(ctx):
        return compare(ctx, drive, kinds, impair, chosen)


add_row("ipv4", scenarios(SCENARIOS, (1500, False)), KINDS)
add_row("ipv6", scenarios(SCENARIOS, (1500, True)), KINDS, least=FULL)
add_row("mtu-9000", scenarios(SCENARIOS, (9000, False)), KINDS, least=FULL)
# its RNR timer is long enough to see whether it is waited for; a requester that stands still finds all
# receives posted, but not each time
add_row("rnr", scenarios(("rc/rnr-recovery",), (1500, False), 2), ("RC Acknowledge (RNR NAK)",))
add_row("cm-ipv4", rping(False), CM_KINDS)
add_row("cm-ipv6", rping(True), CM_KINDS, least=FULL)
add_row("cm-refused", refused(), ("CM REQ", "CM REJ"), least=FULL)
add_row("cm-datagram", udaddy, ("CM SIDR_REQ", "CM SIDR_REP"), least=FULL,
        chosen="CM ")  # what it sends then is what its memory had
add_row("sequence-nak", scenarios(("rc/send", "rc/write", "rc/read"), (1500, False)),
        ("RC Acknowledge (NAK 0)",), "seed=3,drop=8%,dir=both", FULL)
