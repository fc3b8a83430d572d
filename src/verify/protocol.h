/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What orchestrator and agents say to each other: JSON objects, one a line (verify/lines.h).
 *
 * To the agent, by the word in "do":
 *   hello    where                   asks for version, facts and devices
 *   run      run, kind, role, seed, parameters, timeout_s, and where: {device, port, gid_index,
 *            address, quirks, qp_timeout}, whichever are known
 *   relay    run, data               what the other side's case has sent
 *   stop                             the case that runs is killed, and that is answered
 *   alive                            each second
 *   quit
 * From the agent, by the word in "is":
 *   hello    protocol, version, facts; or verdict fail and reason
 *   relay    run, data               for the other side's case
 *   progress run, part (0..1)
 *   result   run, verdict (ok, fail, skip), reason, values, detail, histogram, curves
 *   stopped  run                     after stop: nothing of the case is left
 *   alive                            each second
 * "run" counts the cases, so that what a stopped case had sent is told from the next one's.
 */
#ifndef ROCE_VERIFY_PROTOCOL_H
#define ROCE_VERIFY_PROTOCOL_H

/* Goes up with every change that an older agent or orchestrator would misread. */
#define ROCE_VERIFY_PROTOCOL 3

/* The longest line between the two; before a stranger has proved the token, the second. */
#define ROCE_VERIFY_LINE_MAX	      (4u << 20)
#define ROCE_VERIFY_STRANGER_LINE_MAX 1024u

#define ROCE_VERIFY_PORT	      18701

/* Both say a word each second. An agent that is silent for so long has gone; an orchestrator may
 * have been stopped for a while by who uses it. */
#define ROCE_VERIFY_ALIVE_S	1
#define ROCE_VERIFY_SILENT_S	15
#define ROCE_VERIFY_ABANDONED_S 120

#endif
