/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Seeds in which nobody knows beforehand which receive a message will take: those of UC and UD,
 * which may lose messages, and those with shared receive queues (RC, XRC). Pure; called by
 * vc_program_draw().
 */
#ifndef VERBS_CHECK_OPEN_PROGRAM_H
#define VERBS_CHECK_OPEN_PROGRAM_H

#include "tools/verbs_check/program.h"

enum { VC_GRH_BYTES = 40 };

void vc_open_program_draw(struct vc_program *program);

/* Whether request `request` of lane `lane` of side `from` may be received by QP or, with XRC,
 * shared queue `to` of side `at`. */
bool vc_open_is_for(const struct vc_program *program, uint32_t from,
		    const struct vc_request *request, uint32_t lane, uint32_t at, uint32_t to);

#endif
