/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables, the most telling first. A row fits when all that it names does. */
#include "verify/advice.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

struct advice {
	const char *group; /* the name up to the slash, with | between several; NULL: any */
	const char
		*words; /* in the reason, with | between those of which one suffices; NULL: any */
	const char *text;
};

static const struct advice table[] = {
	{NULL,
	 "expected 0x|wrong byte|differs|wrong immediate|wr_id|returned |left |doubled|changed a "
	 "byte|was taken by",
	 "Contents were wrong, which congestion never does: run the case again with its seed. "
	 "Where it is found again, look at driver and firmware; where not, at memory (edac-util), "
	 "PCIe errors (dmesg, AER) and, for UD, at adapters that damage payload behind the ICRC."},
	{NULL, "status 12|no answer|no completion|nothing arrived|nothing moved|transport retry",
	 "Packets or answers did not arrive: does a ping from the GID's address pass, with -M do "
	 "and the full MTU, in both address families? Then UDP 4791 in firewalls and switch ACLs, "
	 "and the GID index (RoCE v2, routable)."},
	{NULL, "status 12|no answer|no completion|transport retry",
	 "Where only some cases do this, compare out_of_sequence and local_ack_timeout_err before "
	 "and after, and drops of the RoCE class on every hop."},
	{NULL, "status 13|RNR",
	 "The receiver had no receive request posted: the program, or a processor that does not "
	 "get to it (rnr_nak_retry_err). The network has no part in it."},
	{NULL, "status 9|invalid request",
	 "The sides disagree: path MTU of the two ends, depth of READs, or an operation that the "
	 "peer does not know."},
	{NULL, "status 10|remote access",
	 "The target refused a key or an address. On correct programs that is the adapter's key "
	 "table: driver and firmware."},
	{NULL, "status 4|status 2|status 1 |local ",
	 "The own side refused the request: limits of the device (max_sge, max message), or the "
	 "provider library's version."},
	{NULL, "Address already in use",
	 "Another user's programs have UDP port 4791 of this network namespace (uroce status): end "
	 "them, verify as that user, or let root start uroced --share-with USER."},
	{NULL, "Resource temporarily unavailable",
	 "A limit of processes and threads is reached (ulimit -u, pids.max of the container): a "
	 "side has about ten."},
	{NULL, "Connection timed out|can be created: Connection reset",
	 "uroced did not answer: uroce status and uroce stop on that side; it may be stopped, the "
	 "machine overloaded, or its memory limited (ulimit -v)."},
	{NULL, "Cannot allocate memory|memlock|ENOMEM",
	 "Locked memory is limited (ulimit -l), or the device is out of objects: rdma resource, "
	 "programs that are still open."},
	{NULL,
	 "has gone|closed the connection|gave no result|ended by signal|no word from the "
	 "initiator|no word from the target",
	 "The program on that side ended or its host went away: its terminal, dmesg there (killed "
	 "for memory, a driver's fault), the management network."},
	{NULL, "not ended in|did not end|no word from the other side",
	 "Something waits for ever or is far slower than planned: the machine's load, pause "
	 "without end (rx_prio3_pause_duration, PFC watchdog), retries (local_ack_timeout_err)."},
	{NULL, "no verbs device|no such device|no RoCE",
	 "There is no device as asked for: uroce devices, rdma link, an active port, an address on "
	 "the interface; --device and --gid-index choose."},
	{"latency|primitives", "expected at most",
	 "Slow from the first: processor's governor and C-states, NUMA node of program and "
	 "adapter, interrupt moderation (ethtool -c). Slow only in the tail: other work on that "
	 "core, pause, congestion. The distribution tells which."},
	{"setup", "expected at most",
	 "The distribution of each step tells which one is slow; then the control path: firmware, "
	 "other programs that create queue pairs, the processor's speed."},
	{"registration", "expected at most",
	 "Page size (hugepages), the IOMMU (iommu=pt), and the NUMA node of the memory."},
	{"bandwidth|rate|line|threads", "expected at least",
	 "Without loss: path MTU, PCIe width (lspci LnkSta), one core at its end, too few queue "
	 "pairs. With loss (out_of_sequence): the RoCE class is not lossless on some hop, or "
	 "headroom is too small."},
	{NULL, " on purpose",
	 "What should have harmed packets did not, or not enough of them: libraries of another "
	 "uroce (uroce devices -v), or a plan with too few messages. The case's detail `harm` has "
	 "the counts, the device's hw_counters the same (io_impair_*)."},
	{"resilience", NULL,
	 "Timers decide how long a fault lasts: retry_cnt, timeout, and the adapter's own lower "
	 "bound."},
	{"resources", NULL,
	 "Compare rdma resource show before and after; what grows is not given back."},
	{"function|sizes|edges|ordering|contention|integrity|interoperation", NULL,
	 "Run it alone with its seed, then the same against uroce on one side: it tells which of "
	 "the two adapters departs from the specification."},
};

/* For those that nothing above fits. */
static const struct advice last_resorts[] = {
	{"floor", "expected at",
	 "The path itself is slower, without anything of RDMA: other load, the processor's "
	 "frequency, the kernel, the interface's offloads (ethtool -k)."},
	{"floor", NULL,
	 "Plain sockets fail on this path: addresses, routes and firewalls before anything of "
	 "RDMA."},
	{NULL, "expected at most",
	 "The figure and its floor were measured in the same run; run it with --repeat to see "
	 "whether it is the machine's load."},
	{NULL, NULL,
	 "Run the case alone with its seed, and read the counters of both sides before and after "
	 "(rdma statistic, ethtool -S, uroce counters)."},
};

static bool has_one_of(const char *text, const char *words)
{
	while (*words) {
		size_t length = strcspn(words, "|");

		for (const char *p = text; *p; p++) {
			if (strncasecmp(p, words, length) == 0)
				return true;
		}
		words += length + (words[length] == '|');
	}
	return false;
}

static bool is_in_group(const char *name, const char *groups)
{
	size_t length = strcspn(name, "/");

	while (*groups) {
		size_t its = strcspn(groups, "|");

		if (its == length && strncmp(name, groups, length) == 0)
			return true;
		groups += its + (groups[its] == '|');
	}
	return false;
}

static bool is_fit(const struct advice *a, const char *name, const char *reason)
{
	return (!a->group || is_in_group(name, a->group)) &&
	       (!a->words || (reason && has_one_of(reason, a->words)));
}

size_t roce_verify_advice(const char *name, const char *reason,
			  const char *out[ROCE_VERIFY_ADVICE_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (count < ROCE_VERIFY_ADVICE_MAX && is_fit(&table[i], name, reason))
			out[count++] = table[i].text;
	}
	for (size_t i = 0; !count; i++) {
		if (is_fit(&last_resorts[i], name, reason))
			out[count++] = last_resorts[i].text;
	}
	return count;
}
