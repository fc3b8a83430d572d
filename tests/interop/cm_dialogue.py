# SPDX-License-Identifier: BSD-2-Clause
"""Rules for the connection manager's MADs of a capture in which nothing was lost: each question has
an answer that carries its transaction ID and the two communication IDs crossed, and nobody had to
say anything twice."""
from harness import roce

import cm_fields

# an answer: what it may answer
ANSWERS = {"REP": ("REQ",), "REJ": ("REQ", "REP"), "RTU": ("REP",), "DREP": ("DREQ",),
           "SIDR_REP": ("SIDR_REQ",)}
NEEDS = {"REQ": ("REP", "REJ"), "REP": ("RTU", "REJ"), "DREQ": ("DREP",),
         "SIDR_REQ": ("SIDR_REP",)}


class _Mad:
    def __init__(self, p):
        self.p = p
        self.name = cm_fields.name_of(p.payload)
        self.fields = cm_fields.fields(p.payload)
        self.is_answered = False

    def says(self, text):
        return f"packet {self.p.number}, {self.p.src} to {self.p.dst}: {self.name}: {text}"

    def is_answer_to(self, question):
        """By who speaks to whom about what; the transaction ID is looked at apart."""
        if question.name not in ANSWERS.get(self.name, ()) or \
                (self.p.src, self.p.dst) != (question.p.dst, question.p.src):
            return False
        if "request_id" in self.fields:
            return self.fields["request_id"] == question.fields["request_id"]
        return self.fields["remote_comm_id"] == question.fields["local_comm_id"]


def check(packets):
    """Texts of what breaks a rule."""
    wrong = []
    mads = [_Mad(p) for p in packets if p.dest_qpn == roce.GSI_QPN]
    said = {}
    for at, mad in enumerate(mads):
        before = said.setdefault((mad.p.src, mad.p.payload), mad)
        if before is not mad:
            wrong.append(mad.says(f"said before, in packet {before.p.number}"))
            continue
        if mad.name not in ANSWERS:
            continue
        question = next((q for q in reversed(mads[:at]) if mad.is_answer_to(q)), None)
        if question is None:
            wrong.append(mad.says("answers nothing"))
            continue
        question.is_answered = True
        if mad.fields["transaction_id"] != question.fields["transaction_id"]:
            wrong.append(mad.says(f"transaction ID {mad.fields['transaction_id']:#x}, asked for "
                                  f"by {question.fields['transaction_id']:#x}"))
    wrong += [mad.says(f"no {' or '.join(NEEDS[mad.name])} followed") for mad in said.values()
              if mad.name in NEEDS and not mad.is_answered]
    return wrong
