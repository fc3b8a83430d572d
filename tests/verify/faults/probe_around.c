/* SPDX-License-Identifier: BSD-2-Clause */
/* Trials of what lies around the adapter: harm to packets that is asked for, and a shaped line. */
#include "probe.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define GRH_BYTES 40
#define MESSAGE	  64

/* A datagram that the wrapper doubles comes twice. */
static void try_harm(void)
{
	struct ends_options options = {.type = IBV_QPT_UD, .b_access = PROBE_RIGHTS};
	struct pieces message = {.bytes = MESSAGE, .count = 1};
	struct ibv_ah *ah;
	struct ibv_wc wc;
	struct ends e;

	setenv("UROCE_IMPAIR", "dup=100%", 1);
	ends_open(&e, &options);
	unsetenv("UROCE_IMPAIR");
	ah = ends_make_ah(&e, &e.gid);
	for (uint32_t i = 0; i < 2; i++)
		post_receive(&e.b, i, (struct pieces){.bytes = GRH_BYTES + MESSAGE, .count = 1});
	post_send(&e.a,
		  (struct ibv_send_wr){.opcode = IBV_WR_SEND,
				       .wr.ud = {ah, e.b.qp->qp_num, PROBE_QKEY}},
		  message);
	if (expect(e.b.cq, &wc) && !wait_for(e.b.cq, &wc, probe_patience_ms(1000)))
		complain("nothing came twice", 0);
	ibv_destroy_ah(ah);
	ends_close(&e);
}

static void shape_loopback(void)
{
	extern char **environ;
	char command[] =
		"tc qdisc replace dev lo root tbf rate 1000000000bit burst 128kb latency 50ms";
	char *argv[20] = {NULL};
	char *rest = command;
	int status = -1;
	pid_t pid;

	for (int i = 0; rest; i++)
		argv[i] = strsep(&rest, " ");
	need(posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) == 0, "tc");
	need(waitpid(pid, &status, 0) == pid && status == 0, "tc qdisc replace");
}

static void try_line(void)
{
	char text[1024] = "";
	FILE *shown;

	shape_loopback();
	shown = popen("tc qdisc show dev lo", "r");
	need(shown != NULL, "tc qdisc show");
	text[fread(text, 1, sizeof(text) - 1, shown)] = '\0';
	need(pclose(shown) == 0, "tc qdisc show");
	if (!strstr(text, "tbf"))
		complain("no shaped line", 0);
	else if (!strstr(text, "rate 1Gbit"))
		complain("another rate", 0);
	need(system("tc qdisc del dev lo root 2>/dev/null") >= 0, "tc qdisc del");
}

const struct trial around_trials[] = {
	{"harm", try_harm},
	{"line", try_line},
	{NULL, NULL},
};
