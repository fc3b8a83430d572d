/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What can be verified: each kind of case with its parameters and with the numbers that it
 * measures. The orchestrator makes of it the reader of plans, the agent its table of functions
 * (va_NAME_initiator() and va_NAME_target(), in agent/); nothing else knows the kinds. This file
 * is text for the preprocessor only and includes nothing.
 *
 * A parameter is a row of scenario/key.h: X(T, field, "name", KIND, default, min, max, words, 0,
 * text, NULL); the agent gets it by its name, quantities as integers (bytes, ns, bit/s).
 * A number is M("name", UNIT): a plan may hold it to a threshold. The first is a case's value
 * where its `value` names no other. Units are those of ROCE_VERIFY_UNITS, and the agent reports in
 * them.
 */
#ifndef ROCE_VERIFY_KINDS_H
#define ROCE_VERIFY_KINDS_H

/* U(name, text, unit that a threshold is written in, how many of those are one, the most there is).
 * What other programs on the machine do changes all but SHARE and COUNT. */
#define ROCE_VERIFY_UNITS(U)                                 \
	U(TIME, "us", ROCE_UNIT_TIME, 1e6, 1e9)              \
	U(RATE, "Gb/s", ROCE_UNIT_RATE, 1e9, 1e5)            \
	U(FREQUENCY, "1/s", ROCE_UNIT_FREQUENCY, 1e3, 1e12)  \
	U(COUNT, "", ROCE_UNIT_COUNT, 1, 1e18)               \
	U(PERCENT, "%", ROCE_UNIT_PERCENT, 1e13, 100)        \
	U(CPU, "% of one CPU", ROCE_UNIT_PERCENT, 1e13, 1e5) \
	U(SHARE, "%", ROCE_UNIT_PERCENT, 1e13, 100)

/* clang-format off */
/* `late` is the share of samples more than 10 us beyond the median: what percentiles show only by
 * chance. */
#define ROCE_VERIFY_NUMBERS_LATENCY(M)                                                             \
	M("p50", TIME) M("p90", TIME) M("p99", TIME) M("p99.9", TIME) M("p99.99", TIME)            \
	M("min", TIME) M("max", TIME) M("mean", TIME) M("late", PERCENT)

/* `lost`: of messages that nobody repeats, UD's and UC's. */
#define ROCE_VERIFY_NUMBERS_PING(M) ROCE_VERIFY_NUMBERS_LATENCY(M) M("lost", SHARE)

/* The same in processor time. */
#define ROCE_VERIFY_NUMBERS_POLLING(M)                                                             \
	M("p50", TIME) M("p90", TIME) M("p99", TIME) M("p99.9", TIME) M("p99.99", TIME)            \
	M("min", TIME) M("max", TIME) M("mean", TIME) M("late", SHARE)

#define ROCE_VERIFY_LATENCY(X, T)                                                                  \
	X(T, op, "op", WORD, "write", NULL, NULL,                                                  \
	  "write|read|send|write_imm|fetch_add|cmp_swap|ud_send", 0,                               \
	  "one-sided ones: from post to completion; the others: half of a round trip", NULL)       \
	X(T, size, "size", BYTES, "64", "1", "1GiB", NULL, 0, "of a message", NULL)                \
	X(T, size_max, "size_max", BYTES, "0", "0", "1GiB", NULL, 0,                               \
	  "sizes up to this one too, each eight times the one before, for the curves", NULL)       \
	X(T, transport, "transport", WORD, "rc", NULL, NULL, "rc|uc|xrc", 0,                       \
	  "of the queue pairs; ud_send has its own", NULL)                                         \
	X(T, in_turn, "in_turn", BOOL, "false", NULL, NULL, NULL, 0,                               \
	  "write: the other side writes back when it sees it in its memory, half of that counts",  \
	  NULL)                                                                                    \
	X(T, iterations, "iterations", COUNT, "10000", "10", "10000000", NULL, 0,                  \
	  "messages that are timed", NULL)                                                         \
	X(T, duration, "duration", TIME, "0s", "0s", "3600s", NULL, 0,                             \
	  "as many iterations as take about so long, by the warm-up; 0: those above", NULL)        \
	X(T, mtu, "mtu", BYTES, "0", "0", "4096", NULL, 0,                                         \
	  "path MTU at most; 0: what both ports have", NULL)                                       \
	X(T, warmup, "warmup", COUNT, "500", "0", "1000000", NULL, 0, "messages before", NULL)     \
	X(T, inline_max, "inline", BYTES, "64", "0", "1024", NULL, 0,                              \
	  "messages up to this size are sent inline where the device can", NULL)                          \
	X(T, connect, "connect", WORD, "relay", NULL, NULL, "relay|rdma_cm", 0,                    \
	  "how the queue pairs learn of each other", NULL)

#define ROCE_VERIFY_UDP_LATENCY(X, T)                                                              \
	X(T, size, "size", BYTES, "64", "16", "1400", NULL, 0, "of a datagram", NULL)              \
	X(T, iterations, "iterations", COUNT, "10000", "10", "10000000", NULL, 0,                  \
	  "round trips", NULL)                                                                     \
	X(T, asleep, "asleep", BOOL, "false", NULL, NULL, NULL, 0,                                 \
	  "the target sleeps until a datagram wakes it", NULL)

#define ROCE_VERIFY_POLLING(X, T)                                                                  \
	X(T, iterations, "iterations", COUNT, "10000", "10", "10000000", NULL, 0,                  \
	  "completions that are timed", NULL)

#define ROCE_VERIFY_PROCESSORS(X, T)                                                               \
	X(T, samples, "samples", COUNT, "200", "10", "100000", NULL, 0,                            \
	  "each of a thousand hand-overs there and back", NULL)

/* `target`: the median of the target's host, the others are the initiator's. */
#define ROCE_VERIFY_NUMBERS_PROCESSORS(M) ROCE_VERIFY_NUMBERS_LATENCY(M) M("target", TIME)

#define ROCE_VERIFY_STREAM(X, T)                                                                   \
	X(T, protocol, "protocol", WORD, "tcp", NULL, NULL, "tcp|udp", 0, "of the sockets", NULL)  \
	X(T, size, "size", BYTES, "64KiB", "64", "16MiB", NULL, 0,                                 \
	  "handed to the kernel at once", NULL)                                                    \
	X(T, duration, "duration", TIME, "1s", "10ms", "600s", NULL, 0, "of sending", NULL)

#define ROCE_VERIFY_NUMBERS_STREAM(M) M("rate", RATE) M("lost", PERCENT)

/* Of kinds that let packets come to harm (va_impair()). */
#define ROCE_VERIFY_IMPAIRMENT(X, T)                                                               \
	X(T, impair, "impair", TEXT, "", NULL, NULL, NULL, 0,                                      \
	  "what happens to packets that a side receives, as UROCE_IMPAIR has it", NULL)            \
	X(T, impaired, "impaired", WORD, "target", NULL, NULL, "target|initiator|both", 0,         \
	  "which side; answers of the target come to harm at the initiator", NULL)

#define ROCE_VERIFY_VERBS_CHECK(X, T)                                                              \
	X(T, scenario, "scenario", TEXT, "", NULL, NULL, NULL, 0,                                  \
	  "one of verbs-check --scenarios, several with commas, or rc, uc, ud, all; nothing: drawn programs", NULL) \
	X(T, seeds, "seeds", COUNT, "1", "1", "1000000", NULL, 0, "how many", NULL)                \
	X(T, reverse, "reverse", BOOL, "false", NULL, NULL, NULL, 0,                               \
	  "the target requests, the initiator responds", NULL)                                     \
	X(T, transport, "transport", TEXT, "", NULL, NULL, NULL, 0,                                \
	  "rc, uc, ud, xrc, several with commas; nothing: all", NULL)                              \
	X(T, link, "link", TEXT, "", NULL, NULL, NULL, 0,                                          \
	  "what the network does: loss, dup, reorder", NULL)                                       \
	X(T, gid, "gid", WORD, "any", NULL, NULL, "any|ipv4|ipv6", 0, "address family", NULL)      \
	ROCE_VERIFY_IMPAIRMENT(X, T)

#define ROCE_VERIFY_NUMBERS_CHECK(M)                                                               \
	M("operations", COUNT) M("bytes", COUNT) M("checked", COUNT)

#define ROCE_VERIFY_MATRIX(X, T)                                                                   \
	X(T, scenarios, "scenarios", TEXT, "all", NULL, NULL, NULL, 0,                             \
	  "of verbs-check --scenarios, several with commas, or rc, uc, ud, all", NULL)

/* Cells of the table: scenarios times requesters times address families. */
#define ROCE_VERIFY_NUMBERS_MATRIX(M) M("right", COUNT) M("skipped", COUNT) M("wrong", COUNT)

#define ROCE_VERIFY_SETUP(X, T)                                                                    \
	X(T, transport, "transport", WORD, "rc", NULL, NULL, "rc|uc|ud", 0, "of the queue pairs",  \
	  NULL)                                                                                    \
	X(T, count, "count", COUNT, "10000", "1", "1000000", NULL, 0, "queue pairs in all", NULL)  \
	X(T, batch, "batch", COUNT, "100", "1", "1000", NULL, 0, "that exist at the same time", NULL)

/* Medians of the steps; the percentiles are those of all steps of one queue pair together. */
#define ROCE_VERIFY_NUMBERS_SETUP(M)                                                               \
	ROCE_VERIFY_NUMBERS_LATENCY(M)                                                             \
	M("create", TIME) M("init", TIME) M("rtr", TIME) M("rts", TIME) M("destroy", TIME)         \
	M("success", PERCENT)

#define ROCE_VERIFY_SETUP_CM(X, T)                                                                 \
	X(T, count, "count", COUNT, "200", "1", "100000", NULL, 0,                                 \
	  "connections, one after the other", NULL)                                                \
	X(T, gid, "gid", WORD, "any", NULL, NULL, "any|ipv4|ipv6", 0, "address family", NULL)

#define ROCE_VERIFY_NUMBERS_SETUP_CM(M)                                                            \
	ROCE_VERIFY_NUMBERS_LATENCY(M)                                                             \
	M("resolve", TIME) M("create", TIME) M("connect", TIME)

#define ROCE_VERIFY_REGISTRATION(X, T)                                                             \
	X(T, page, "page", WORD, "4k", NULL, NULL, "4k|2m|1g", 0, "what the memory is made of",    \
	  NULL)                                                                                    \
	X(T, size, "size", BYTES, "1GiB", "4KiB", "64GiB", NULL, 0,                                \
	  "the largest region; from one page on each is eight times the one before", NULL)         \
	X(T, iterations, "iterations", COUNT, "1000", "1", "1000000", NULL, 0, "of each size", NULL)

/* Of the largest size. */
#define ROCE_VERIFY_NUMBERS_REGISTRATION(M) ROCE_VERIFY_NUMBERS_LATENCY(M) M("dereg", TIME)

#define ROCE_VERIFY_REGISTRATION_MANY(X, T)                                                        \
	X(T, regions, "regions", COUNT, "1024", "1", "65536", NULL, 0, "at the same time", NULL)   \
	X(T, size, "size", BYTES, "16KiB", "1", "1GiB", NULL, 0, "of each", NULL)                  \
	X(T, threads, "threads", COUNT, "8", "1", "256", NULL, 0, "that register them", NULL)

#define ROCE_VERIFY_NUMBERS_REGISTRATION_MANY(M)                                                   \
	ROCE_VERIFY_NUMBERS_LATENCY(M) M("rate", FREQUENCY) M("dereg_rate", FREQUENCY)

#define ROCE_VERIFY_REGISTRATION_POOL(X, T)                                                        \
	X(T, regions, "regions", COUNT, "1024", "1", "65536", NULL, 0, "of the pool", NULL)        \
	X(T, size, "size", BYTES, "4KiB", "1", "16MiB", NULL, 0, "of each, and of a message",      \
	  NULL)                                                                                    \
	X(T, messages, "messages", COUNT, "2048", "1", "10000000", NULL, 0, "in each way", NULL)

/* Medians of a message in both ways, and what lies between them. */
#define ROCE_VERIFY_NUMBERS_REGISTRATION_POOL(M)                                                   \
	M("pool", TIME) M("on_demand", TIME) M("registering", TIME)

#define ROCE_VERIFY_BANDWIDTH(X, T)                                                                \
	X(T, op, "op", WORD, "write", NULL, NULL,                                                  \
	  "write|write_imm|read|send|fetch_add|cmp_swap|ud_send", 0, "what is posted", NULL)       \
	X(T, transport, "transport", WORD, "rc", NULL, NULL, "rc|uc|xrc", 0,                       \
	  "of the queue pairs; ud_send has its own", NULL)                                         \
	X(T, size, "size", BYTES, "64KiB", "1", "1GiB", NULL, 0, "of a message", NULL)             \
	X(T, qps, "qps", COUNT, "1", "1", "1024", NULL, 0, "queue pairs, served by one thread",    \
	  NULL)                                                                                    \
	X(T, depth, "depth", COUNT, "64", "1", "4096", NULL, 0, "requests under way on each", NULL) \
	X(T, both, "both", BOOL, "false", NULL, NULL, NULL, 0, "directions at once", NULL)         \
	X(T, duration, "duration", TIME, "1s", "10ms", "3600s", NULL, 0, "of posting", NULL)        \
	X(T, shape, "shape", RATE, "0G", "0G", "400G", NULL, 0,                                      \
	  "the link is made as slow as this, where it is the run's own; 0: it is left alone", NULL) \
	X(T, connect, "connect", WORD, "relay", NULL, NULL, "relay|rdma_cm", 0,                    \
	  "who connects the queue pairs of RC", NULL)                                              \
	X(T, messages, "messages", COUNT, "0", "0", "1000000000", NULL, 0,                         \
	  "posted on all queue pairs, and no more; 0: by duration alone", NULL)                    \
	X(T, mtu, "mtu", BYTES, "0", "0", "4096", NULL, 0,                                         \
	  "path MTU at most; 0: what both ports have", NULL)                                       \
	X(T, inline_max, "inline", BYTES, "64", "0", "1024", NULL, 0,                              \
	  "messages up to this size are sent inline where the device can", NULL)

/* Both directions together where both are used. `line` is the share of a shaped line that packets
 * with all their headers took, in the direction that had less, and `line_median` that of most of the
 * time: the median of twentieths of the duration, which a pause does not change. `target_cpu` is the processor time of the
 * target's process while messages came, in percent of one processor: of the program and, where the adapter is
 * software, of the adapter's thread beside it, so that both together may have more than 100. */
#define ROCE_VERIFY_NUMBERS_BANDWIDTH(M)                                                           \
	M("rate", RATE) M("messages", FREQUENCY) M("lost", PERCENT) M("line", PERCENT)             \
	M("line_median", PERCENT) M("target_cpu", CPU)

#define ROCE_VERIFY_SIMULATED(X, T)                                                                \
	X(T, rate, "rate", RATE, "100G", "1G", "800G", NULL, 0, "of the simulated link", NULL)     \
	X(T, mtu, "mtu", BYTES, "4096", "256", "4096", NULL, 0, "path MTU", NULL)                  \
	X(T, op, "op", WORD, "write", NULL, NULL, "write|read|send", 0, "what carries it", NULL)   \
	X(T, qps, "qps", COUNT, "1", "1", "1024", NULL, 0, "queue pairs of a flow", NULL)          \
	X(T, both, "both", BOOL, "false", NULL, NULL, NULL, 0, "directions at once", NULL)         \
	X(T, size, "size", BYTES, "64MB", "1KB", "1GB", NULL, 0, "of a flow", NULL)

/* `line` counts preamble and gap too, in the direction that had less. */
#define ROCE_VERIFY_NUMBERS_SIMULATED(M) M("line", SHARE) M("goodput", RATE)

#define ROCE_VERIFY_INTEGRITY(X, T)                                                                \
	X(T, op, "op", WORD, "send", NULL, NULL,                                                   \
	  "send|send_imm|write_imm|write_read|ud_send|fetch_add", 0, "what carries the messages",  \
	  NULL)                                                                                    \
	X(T, transport, "transport", WORD, "rc", NULL, NULL, "rc|xrc", 0,                          \
	  "of the queue pairs; ud_send has its own", NULL)                                         \
	X(T, size, "size", BYTES, "1KiB", "8", "1MiB", NULL, 0, "of a message", NULL)              \
	X(T, messages, "messages", COUNT, "20000", "1", "100000000", NULL, 0,                      \
	  "each checked in all its bytes", NULL)                                                   \
	X(T, depth, "depth", COUNT, "32", "1", "1024", NULL, 0, "under way at once", NULL)         \
	ROCE_VERIFY_IMPAIRMENT(X, T)

#define ROCE_VERIFY_NUMBERS_INTEGRITY(M) M("messages", COUNT) M("bytes", COUNT) M("lost", SHARE)

#define ROCE_VERIFY_SIZES(X, T)                                                                    \
	X(T, op, "op", WORD, "write", NULL, NULL, "send|send_imm|write|write_imm|read", 0,         \
	  "what carries the messages", NULL)                                                       \
	X(T, transport, "transport", WORD, "rc", NULL, NULL, "rc|uc|ud|xrc", 0,                    \
	  "of the queue pairs", NULL)                                                              \
	X(T, size_min, "size_min", BYTES, "0", "0", "2GiB", NULL, 0, "no smaller ones", NULL)      \
	X(T, size_max, "size_max", BYTES, "1MiB", "0", "2GiB", NULL, 0,                            \
	  "the last size; before it those around 0, the path MTU and its multiples", NULL)         \
	X(T, mtu, "mtu", BYTES, "0", "0", "4096", NULL, 0,                                         \
	  "path MTU at most; 0: what both ports have", NULL)

/* `largest` is the size of the largest message that came whole; `lost` counts attempts. */
#define ROCE_VERIFY_NUMBERS_SIZES(M)                                                               \
	M("messages", COUNT) M("bytes", COUNT) M("largest", COUNT) M("lost", COUNT)

#define ROCE_VERIFY_CONTENTION(X, T)                                                               \
	X(T, op, "op", WORD, "fetch_add", NULL, NULL, "fetch_add|cmp_swap", 0,                     \
	  "on the one cell", NULL)                                                                 \
	X(T, transport, "transport", WORD, "rc", NULL, NULL, "rc|xrc", 0, "of the queue pairs",    \
	  NULL)                                                                                    \
	X(T, qps, "qps", COUNT, "4", "1", "64", NULL, 0, "queue pairs of each side", NULL)         \
	X(T, operations, "operations", COUNT, "5000", "64", "1000000", NULL, 0,                    \
	  "of each side, those that change the cell", NULL)                                        \
	ROCE_VERIFY_IMPAIRMENT(X, T)

/* `attempts` are those of the initiator, with swaps that came too late. */
#define ROCE_VERIFY_NUMBERS_CONTENTION(M) M("operations", COUNT) M("attempts", COUNT)

#define ROCE_VERIFY_ORDERING(X, T)                                                                 \
	X(T, rule, "rule", WORD, "write_write", NULL, NULL,                                        \
	  "write_write|write_over|write_send|write_imm|read_write|atomic_read", 0,                 \
	  "what must not be seen before what", NULL)                                               \
	X(T, transport, "transport", WORD, "rc", NULL, NULL, "rc|xrc", 0, "of the queue pair",     \
	  NULL)                                                                                    \
	X(T, size, "size", BYTES, "5000", "8", "1MiB", NULL, 0, "of the data", NULL)               \
	X(T, rounds, "rounds", COUNT, "2000", "1", "10000000", NULL, 0, "of the rule", NULL)       \
	ROCE_VERIFY_IMPAIRMENT(X, T)

#define ROCE_VERIFY_NUMBERS_ORDERING(M) M("rounds", COUNT)

#define ROCE_VERIFY_EDGES(X, T)                                                                    \
	X(T, what, "what", WORD, "pieces", NULL, NULL, "pieces|inline|message|queues|bind|xrc_queue", \
	  0,                                                                                       \
	  "lists of pieces, inline data, the longest message, full queues, windows' bounds, "      \
	  "shared queues that a request must not name", NULL)                                      \
	X(T, transport, "transport", WORD, "rc", NULL, NULL, "rc|xrc", 0, "of the queue pairs",    \
	  NULL)

#define ROCE_VERIFY_NUMBERS_EDGES(M) M("checked", COUNT) M("edge", COUNT)

#define ROCE_VERIFY_LIMITS(X, T)                                                                   \
	X(T, object, "object", WORD, "qp", NULL, NULL,                                             \
	  "pd|cq|qp|mr|mw|srq|ah|depth|completion|receive|group", 0,                               \
	  "what is made until there are no more; depth: of queues, and pieces of a list; then of " \
	  "the largest completion queue, of the largest shared receive queue, of one queue pair",  \
	  NULL)                                                                                    \
	X(T, most, "most", COUNT, "65536", "1", "16000000", NULL, 0,                               \
	  "no more than these, whatever the device promises", NULL)

#define ROCE_VERIFY_NUMBERS_LIMITS(M) M("reached", COUNT)

#define ROCE_VERIFY_LEAKS(X, T)                                                                    \
	X(T, rounds, "rounds", COUNT, "10000", "1", "100000000", NULL, 0,                          \
	  "of making, using and destroying", NULL)

#define ROCE_VERIFY_NUMBERS_LEAKS(M) M("rounds", COUNT) M("grown", COUNT)

#define ROCE_VERIFY_INTERRUPTED(X, T)                                                              \
	X(T, how, "how", WORD, "killed", NULL, NULL, "killed|link_down|link_blink", 0,             \
	  "what happens to the target; link_blink is short, and nothing may fail", NULL)           \
	X(T, op, "op", WORD, "write", NULL, NULL, "write|read|fetch_add", 0,                       \
	  "what the initiator does meanwhile", NULL)

/* From the last success to the failure. */
#define ROCE_VERIFY_NUMBERS_INTERRUPTED(M) M("ended", TIME) M("messages", COUNT)

#define ROCE_VERIFY_EVENTS(X, T)                                                                   \
	X(T, what, "what", WORD, "armed", NULL, NULL, "armed|solicited|srq_limit", 0,              \
	  "what wakes: each message, solicited ones only, the limit of a shared receive queue", NULL) \
	X(T, rounds, "rounds", COUNT, "2000", "1", "1000000", NULL, 0, "how many are awaited", NULL)

#define ROCE_VERIFY_NUMBERS_EVENTS(M) M("rounds", COUNT)

#define ROCE_VERIFY_THREADS(X, T)                                                                  \
	X(T, threads, "threads", COUNT, "8", "1", "256", NULL, 0, "each with a queue pair of its own", \
	  NULL)                                                                                    \
	X(T, numa, "numa", BOOL, "false", NULL, NULL, NULL, 0,                                     \
	  "one thread for each NUMA node, bound to it, whatever `threads` says", NULL)             \
	X(T, size, "size", BYTES, "16KiB", "1", "16MiB", NULL, 0, "of a message", NULL)            \
	X(T, duration, "duration", TIME, "1s", "10ms", "600s", NULL, 0, "of posting", NULL)

/* Of all together; Jain's index of their rates. */
#define ROCE_VERIFY_NUMBERS_THREADS(M) M("rate", RATE) M("fairness", PERCENT)

#define ROCE_VERIFY_UD_REPAIR(X, T)                                                                \
	X(T, blocks, "blocks", COUNT, "20000", "1", "1000000", NULL, 0, "of 768 B, of the file", NULL) \
	X(T, unchecked, "unchecked", BOOL, "false", NULL, NULL, NULL, 0,                           \
	  "the program does not look at its checksum", NULL)                                       \
	ROCE_VERIFY_IMPAIRMENT(X, T)

/* Blocks of the file that are wrong, answers whose damage was seen, blocks asked for again. */
#define ROCE_VERIFY_NUMBERS_UD_REPAIR(M) M("wrong", COUNT) M("damaged", COUNT) M("repaired", COUNT)

/* K(name, PARAMETERS, NUMBERS, text) */
#define ROCE_VERIFY_KINDS(K)                                                                       \
	K(latency, ROCE_VERIFY_LATENCY, ROCE_VERIFY_NUMBERS_PING,                                  \
	  "time of one message after the other, contents checked at the end")                      \
	K(polling, ROCE_VERIFY_POLLING, ROCE_VERIFY_NUMBERS_POLLING,                               \
	  "processor time of the call that takes a completion that is there")                                  \
	K(setup, ROCE_VERIFY_SETUP, ROCE_VERIFY_NUMBERS_SETUP,                                     \
	  "queue pairs from ibv_create_qp() to RTS, each used once")                               \
	K(setup_cm, ROCE_VERIFY_SETUP_CM, ROCE_VERIFY_NUMBERS_SETUP_CM,                            \
	  "connections by rdma_cm, from an address to ESTABLISHED, each used once")                \
	K(registration, ROCE_VERIFY_REGISTRATION, ROCE_VERIFY_NUMBERS_REGISTRATION,                \
	  "ibv_reg_mr() and ibv_dereg_mr(), each size reached by the other side")                  \
	K(registration_many, ROCE_VERIFY_REGISTRATION_MANY, ROCE_VERIFY_NUMBERS_REGISTRATION_MANY, \
	  "many regions at once by several threads, each written to by the other side")            \
	K(registration_pool, ROCE_VERIFY_REGISTRATION_POOL, ROCE_VERIFY_NUMBERS_REGISTRATION_POOL, \
	  "messages from a pool of regions, beside those that register their memory")              \
	K(bandwidth, ROCE_VERIFY_BANDWIDTH, ROCE_VERIFY_NUMBERS_BANDWIDTH,                         \
	  "bytes and messages in a while, on one or many queue pairs, contents checked at the end") \
	K(integrity, ROCE_VERIFY_INTEGRITY, ROCE_VERIFY_NUMBERS_INTEGRITY,                         \
	  "many messages, each byte of each, and each field of each completion")                   \
	K(sizes, ROCE_VERIFY_SIZES, ROCE_VERIFY_NUMBERS_SIZES,                                     \
	  "one message of each size where implementations have edges, and the memory around it")   \
	K(contention, ROCE_VERIFY_CONTENTION, ROCE_VERIFY_NUMBERS_CONTENTION,                      \
	  "atomics of several queue pairs of both sides on one cell")                              \
	K(ordering, ROCE_VERIFY_ORDERING, ROCE_VERIFY_NUMBERS_ORDERING,                            \
	  "two requests behind each other, many times, and what is seen of them")                  \
	K(edges, ROCE_VERIFY_EDGES, ROCE_VERIFY_NUMBERS_EDGES,                                     \
	  "what the device says that it can, used to the last, and one more refused")              \
	K(events, ROCE_VERIFY_EVENTS, ROCE_VERIFY_NUMBERS_EVENTS,                                  \
	  "programs that sleep until an event wakes them")                                         \
	K(limits, ROCE_VERIFY_LIMITS, ROCE_VERIFY_NUMBERS_LIMITS,                                  \
	  "as many objects as the device says that there are")                                     \
	K(leaks, ROCE_VERIFY_LEAKS, ROCE_VERIFY_NUMBERS_LEAKS,                                     \
	  "objects of all sorts, made and destroyed many times")                                   \
	K(interrupted, ROCE_VERIFY_INTERRUPTED, ROCE_VERIFY_NUMBERS_INTERRUPTED,                   \
	  "the target goes away in the middle of WRITEs, READs or atomics")                                          \
	K(threads, ROCE_VERIFY_THREADS, ROCE_VERIFY_NUMBERS_THREADS,                               \
	  "queue pairs of several threads at once, bound to NUMA nodes if wanted")                 \
	K(simulated, ROCE_VERIFY_SIMULATED, ROCE_VERIFY_NUMBERS_SIMULATED,                         \
	  "one flow of the same transport on a simulated link (uroce sim)")                        \
	K(ud_repair, ROCE_VERIFY_UD_REPAIR, ROCE_VERIFY_NUMBERS_UD_REPAIR,                         \
	  "a file fetched over UD by the example ud_checked, with a checksum of its own")          \
	K(processors, ROCE_VERIFY_PROCESSORS, ROCE_VERIFY_NUMBERS_PROCESSORS,                      \
	  "what a cache line takes between the processors of each host, there and back")           \
	K(udp_latency, ROCE_VERIFY_UDP_LATENCY, ROCE_VERIFY_NUMBERS_LATENCY,                       \
	  "half the round trip of datagrams through plain sockets, on the same path")              \
	K(stream, ROCE_VERIFY_STREAM, ROCE_VERIFY_NUMBERS_STREAM,                                  \
	  "what plain sockets carry on the same path")                                             \
	K(verbs_check, ROCE_VERIFY_VERBS_CHECK, ROCE_VERIFY_NUMBERS_CHECK,                         \
	  "operations by the programs of verbs-check, every byte and status checked on both sides") \
	K(matrix, ROCE_VERIFY_MATRIX, ROCE_VERIFY_NUMBERS_MATRIX,                                  \
	  "scenarios of verbs-check with either side as requester, over IPv4 and IPv6, as a table")
/* clang-format on */

#endif
