/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `uroce`, the one command: finds the subcommand in a table and calls it. The table also is the
 * help, so a subcommand cannot exist without a line about itself.
 */
#include "tools/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct command {
	const char *name;
	const char *arguments;
	const char *summary;
	int (*run)(int argc, char **argv);
	const char *help; /* `uroce help NAME`, below the synopsis */
};

static int cmd_version(int argc, char **argv);
static int cmd_help(int argc, char **argv);

static const struct command commands[] = {
	{"run", "[--sockets] [--] CMD [ARG...]", "run a program on the RDMA devices of uroce",
	 roce_cmd_run,
	 "Runs CMD with the libraries of uroce in place of the system's, by LD_LIBRARY_PATH;\n"
	 "all that CMD starts inherits it. Where that cannot work (a static or set-user-ID\n"
	 "program, one for another machine) it says why and does not run it.\n"
	 "\n"
	 "  uroce run ibv_devinfo\n"
	 "  uroce run ib_write_bw                 (server)\n"
	 "  uroce run ib_write_bw 10.0.0.1        (client)\n"
	 "\n"
	 "--sockets makes rsockets of the TCP and UDP sockets of CMD, which then talks over RDMA\n"
	 "to programs that do the same; a connection that cannot be made so is made over TCP.\n"
	 "  uroce run --sockets iperf3 -s         and, elsewhere\n"
	 "  uroce run --sockets iperf3 -c 10.0.0.1\n"
	 "\n"
	 "Exit status: that of CMD; 126 it cannot be run, 127 there is no such program.\n"},
	{"env", "[--shell sh|fish|docker]", "print the same for a shell or a Dockerfile",
	 roce_cmd_env,
	 "  eval \"$(uroce env)\"                    this shell, and all that it starts\n"
	 "  uroce env --shell docker >> Dockerfile\n"
	 "\n"
	 "Without --shell it is the syntax of $SHELL.\n"},
	{"devices", "[-v] [--json]", "list the devices with their addresses", roce_cmd_devices,
	 "Each network interface with an address is a device; lo comes last. A GID is an\n"
	 "address: programs choose it by its index (-g of ibv_rc_pingpong, -x of ib_write_bw).\n"
	 "\n"
	 "  -v, --verbose   also what is in force: batches (GSO, GRO), steering, guard\n"
	 "      --json      the same as JSON, always with all details\n"},
	{"counters", "[--all] [--json] PID", "print what a process on uroce has counted",
	 roce_cmd_counters,
	 "Packets, acknowledgements, retransmissions and every reason for which a packet was\n"
	 "refused, by device. Reading them does not disturb the process.\n"
	 "\n"
	 "  -a, --all    counters of 0 too\n"
	 "      --json   as JSON, always with all\n"},
	{"status", "[--json]", "show the daemon, its slots and its clients", roce_cmd_status,
	 "uroced shares UDP port 4791 among the processes of a user in a network namespace.\n"
	 "It is started on demand and leaves 2 s after the last client.\n"
	 "Exit status: 1 when no daemon is running.\n"},
	{"stop", "[--force]", "end the daemon", roce_cmd_stop,
	 "Refuses while programs hold slots. With --force their traffic goes on all the same:\n"
	 "the next process that needs a daemon starts one.\n"},
	{"sim", "[OPTION...] SCENARIO.yaml", "simulate a RoCE network", roce_cmd_sim,
	 "Every host of the simulated network runs the transport of these libraries; switches\n"
	 "have shared buffers, PFC, ECN, ETS and ECMP. Prints a summary. A scenario with mistakes\n"
	 "is refused with a line for each, and exit status 2. Ctrl-C ends a run early with what\n"
	 "there is by then, and status 130.\n"
	 "\n"
	 "  --json FILE      the results as JSON; - for standard output, without the summary\n"
	 "  --html FILE      a page with charts: flows, busy links, queues, pauses, losses\n"
	 "  --log FILE       what happened, in words and in order; - for standard output\n"
	 "  --capture FILE   the frames of --ports as pcapng, PFC frames too\n"
	 "  --ports LIST     NODE:NEIGHBOUR,..., as leaf0:h3 or leaf*:spine0\n"
	 "  --samples FILE   queues, rates and pauses of ports over time as CSV (output.interval)\n"
	 "  --counters FILE  counters of ports over time as CSV, as ethtool -S names them\n"
	 "  --seed N         another seed than the scenario's\n"
	 "  --until TIME     end at this simulated time, as 10ms\n"
	 "  --hpcc           in place of a scenario three files of the HPCC ns-3 simulator,\n"
	 "                   TOPOLOGY FLOWS CONFIG, by that simulator's rules\n"
	 "  --check          only say what is wrong with the scenario\n"
	 "  --explain [KEY]  what a key means, what it may be, its default and why; or all keys\n"
	 "  --schema         a JSON schema of scenarios, for editors\n"},
	{"perf", "TEST [PEER] [OPTION...]", "a quick look at latency or bandwidth", roce_cmd_perf,
	 "With PEER the client, else the server, which waits for one; --local: both, here.\n"
	 "\n"
	 "  uroce perf write_lat --local               both sides here, in two namespaces\n"
	 "  uroce perf write_lat                       server: prints the line for the other "
	 "host\n"
	 "  uroce perf write_lat HOST --token TOKEN    client, which has the figures\n"
	 "\n"
	 "Tests: write_lat write_bw write_imm_bw read_lat read_bw send_lat send_bw atomic_lat\n"
	 "atomic_bw ud_send_lat ud_send_bw. Names, options and what is measured are perftest's:\n"
	 "latency is half a round trip of messages in turn, for READ and atomics from post to\n"
	 "completion; contents are compared at the end.\n"
	 "\n"
	 "  -s SIZE          bytes (2; bandwidth 64K)       -a  all, from 2 B to 8 MiB\n"
	 "  -n N             messages                       -D SECONDS  for so long (bandwidth: "
	 "1)\n"
	 "  -c RC|UC|UD|XRC  transport (RC)                 -m MTU  path MTU, at most\n"
	 "  -q N             queue pairs (bandwidth)        -t N  requests under way on each "
	 "(128)\n"
	 "  -b               both directions (bandwidth)    -I N  inline up to N bytes\n"
	 "  -R               connected by rdma_cm           -A FETCH_AND_ADD|CMP_AND_SWAP\n"
	 "  -d DEVICE  -i PORT  -x INDEX                    device, its port, GID index; of this "
	 "side,\n"
	 "                   with --local of both (--target-device NAME: the other)\n"
	 "  -p PORT          TCP port of the server (18701)\n"
	 "  --token TOKEN    what the server has printed; both sides take it from the variable\n"
	 "                   UROCE_VERIFY_TOKEN, too. A server lets in who knows it, and\n"
	 "  --no-token       everybody: from this host, or where --bind ADDRESS can be reached\n"
	 "  --persistent     the server goes on after the first client\n"
	 "  --local          both sides here, in two namespaces joined by a veth\n"
	 "  --system         this host's own libraries and devices in place of uroce's\n"
	 "  --json FILE      the report of `uroce verify`; - for standard output\n"
	 "  -F, --report_gbits  nothing: as perftest has them\n"
	 "\n"
	 "A server takes sizes and the like from its client; -d, -i and -x there are its own.\n"
	 "Exit status: 0, 1 the test failed or the peer has gone, 2 usage or environment, 130\n"
	 "interrupted.\n"},
	{"verify", "[OPTION...]", "verify an RDMA network: functions, then performance",
	 roce_cmd_verify,
	 "Runs a plan between two sides, an initiator and a target: on this machine in two "
	 "network\n"
	 "namespaces that it makes and removes, or between two hosts. Each case passes, fails, is\n"
	 "skipped with the reason, or is measured where it has no threshold.\n"
	 "\n"
	 "  uroce verify --self-test               below 20 s: does this installation work?\n"
	 "  uroce verify --html report.html        the plan, on this machine: three minutes\n"
	 "  uroce verify --server                  on one host; it prints the line for the other:\n"
	 "  uroce verify --peer HOST --token TOKEN --html report.html\n"
	 "\n"
	 "What is run:\n"
	 "  --only LIST      only these cases, as latency,function/rc_* (--skip LIST: not these)\n"
	 "  --list           what would be run, with thresholds, and the floors that they need\n"
	 "  --explain [NAME] what a case does and is held to, or what a kind of case can be told\n"
	 "  --repeat N       each case so many times        --seed N   of contents and programs\n"
	 "  --profile NAME   thresholds: soft (against plain sockets, the default), 100g, or a "
	 "file\n"
	 "                   with your own (docs/verify-a-network.md has their form)\n"
	 "  --plan FILE      another plan than the one that is built in, which --print-plan "
	 "prints\n"
	 "  --self-test      a short plan over the loopback device, for health checks: no "
	 "privilege\n"
	 "Between what:\n"
	 "  --server         the other end, on another host: prints a token, and serves one run at "
	 "a\n"
	 "                   time (--port N, --bind ADDRESS; --once: one run)\n"
	 "  --peer HOST[:PORT] --token TOKEN   with the target there; the token may be in the\n"
	 "                   variable UROCE_VERIFY_TOKEN instead\n"
	 "  --system         the libraries and devices of this host in place of uroce's: of both\n"
	 "                   sides, with --server or --peer of this one alone\n"
	 "  --device NAME, --gid-index N    choose among several (--target-device NAME: the other\n"
	 "                   side's, where both are here)\n"
	 "  --quirks rxe     of this end's device the known departures of Linux Soft-RoCE are\n"
	 "                   accepted; else cases that meet one fail\n"
	 "  --qp-timeout N   local ACK timeout of queue pairs, 4.096 us times two to this power "
	 "(14),\n"
	 "                   for a peer that may stand still, say an emulated machine: 18, as in "
	 "--self-test\n"
	 "  --mtu N          of the link between the namespaces (1500)\n"
	 "Reports:\n"
	 "  --json FILE      the report as JSON, written anew as the run goes on; - for standard "
	 "output\n"
	 "  --junit FILE     the report as JUnit's XML\n"
	 "  --html FILE      the report as a page: failures first, thresholds, pictures\n"
	 "  -q, --quiet      failures and the summary only\n"
	 "\n"
	 "uroce verify diff BEFORE.json AFTER.json [--tolerance PERCENT] [--json FILE] [--html "
	 "FILE]\n"
	 "compares two reports: what became better, worse, new, or is no longer verified. A "
	 "number\n"
	 "has changed when it differs by more than the rounds of --repeat stray, or by more than\n"
	 "the tolerance (10) where there was one round.\n"
	 "\n"
	 "Exit status: 0 no case failed (diff: nothing is worse), 1 one did, or the run broke "
	 "off,\n"
	 "2 usage or environment, 130 interrupted.\n"},
	{"version", "", "print the version", cmd_version, "Also as uroce --version.\n"},
	{"help", "[COMMAND]", "print this, or all about one command", cmd_help,
	 "Also as uroce --help and uroce COMMAND --help.\n"},
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	}
	return NULL;
}

static void print_synopsis(const struct command *c)
{
	printf("usage: uroce %s%s%s\n", c->name, *c->arguments ? " " : "", c->arguments);
}

static void print_overview(void)
{
	char left[64];

	printf("uroce: RDMA devices (RoCEv2) in user space, without a NIC, a kernel module or "
	       "root\n"
	       "\n"
	       "usage: uroce COMMAND [ARG...]\n"
	       "\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		snprintf(left, sizeof(left), "%s %s", commands[i].name, commands[i].arguments);
		printf("  %-34s%s\n", left, commands[i].summary);
	}
	printf("\n"
	       "Start with:\n"
	       "  uroce devices                      what is there\n"
	       "  uroce run ibv_rc_pingpong -g 0     in one terminal, and in another\n"
	       "  uroce run ibv_rc_pingpong -g 0 localhost\n"
	       "\n"
	       "Variables:\n"
	       "  UROCE_NAME=mlx5_0=eth0   the device of eth0 under another name\n"
	       "  UROCE_DEBUG=1            a line for each call that is refused, with the reason\n"
	       "  UROCE_DAEMON=off         no uroced: the process has its addresses alone\n"
	       "  UROCE_TIMING=cx6         local ACK timeouts as a ConnectX-6 has them\n"
	       "  UROCE_CC=dcqcn           congestion control of each queue pair\n"
	       "  UROCE_IMPAIR=drop=1%%,... drops packets, and more, on purpose\n"
	       "  UROCE_GSO=off, UROCE_GRO=off, UROCE_GUARD=off   forces the fallback\n"
	       "README.md has all of them.\n");
}

static int cmd_help(int argc, char **argv)
{
	const struct command *c;

	if (argc > 2)
		return roce_usage_error("help", "one command at most, got %s too", argv[2]);
	if (argc < 2) {
		print_overview();
		return ROCE_EXIT_OK;
	}
	c = find_command(argv[1]);
	if (!c)
		return roce_usage_error("help", "no command %s", argv[1]);
	print_synopsis(c);
	printf("\n%s", c->help);
	return ROCE_EXIT_OK;
}

static int cmd_version(int argc, char **argv)
{
	if (argc > 1)
		return roce_usage_error("version", "takes no argument, got %s", argv[1]);
	printf("uroce " UROCE_VERSION "\n");
	return ROCE_EXIT_OK;
}

static int dispatch(int argc, char **argv)
{
	char *help_argv[] = {argv[0], argv[1], NULL};
	const struct command *c;

	if (argc < 2) {
		fprintf(stderr, "uroce: no command given (see: uroce help)\n");
		return ROCE_EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return cmd_help(1, argv);
	if (strcmp(argv[1], "--version") == 0)
		return cmd_version(1, argv);
	c = find_command(argv[1]);
	if (!c) {
		fprintf(stderr, "uroce: no command %s (see: uroce help)\n", argv[1]);
		return ROCE_EXIT_USAGE;
	}
	if (argc == 3 && (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0))
		return cmd_help(2, help_argv);
	return c->run(argc - 1, argv + 1);
}

/* A standard descriptor that the caller has closed would be the next socket's or file's, and our
 * words go there. What stands in for it takes none, which is told as it would be. */
static void hold_standard_descriptors(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && fd <= STDERR_FILENO)
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	bool is_flushed;
	int rc;

	hold_standard_descriptors();
	rc = dispatch(argc, argv);

	/* What went wrong earlier has left no errno. */
	is_flushed = fflush(stdout) == 0;
	if (!is_flushed || ferror(stdout)) {
		fprintf(stderr, "uroce: standard output: %s\n",
			is_flushed ? "not all could be written" : strerror(errno));
		return ROCE_EXIT_FAILED;
	}
	return rc;
}
