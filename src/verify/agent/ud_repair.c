/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kind `ud_repair`: the example ud_checked, whose client fetches a file over UD with a checksum, a
 * sequence number and a retry of its own. The client runs on the target's side, which receives the
 * file and is where packets are impaired: with an adapter that damages datagrams the program's
 * checksum must see it and its retry mend it; with `unchecked` the damage shows in the file, which
 * is what the check is worth.
 */
#include "verify/agent/device.h"
#include "verify/agent/kind.h"
#include "verify/agent/program.h"
#include "verify/agent/trouble.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define OUTPUT_BYTES   4096
#define CANNOT_CONNECT 2 /* its exit status */
#define TRIES	       200
#define TRY_MS	       100

static void own_address(struct va_run *run, char out[INET6_ADDRSTRLEN])
{
	struct va_device device;

	va_device_open(run, VA_IPV4, &device);
	va_need(run,
		inet_ntop(AF_INET, &((struct sockaddr_in *)&device.address)->sin_addr, out,
			  INET6_ADDRSTRLEN) != NULL,
		"inet_ntop");
	va_device_close(run, &device);
}

/* Before the other side hears anything: it would try in vain, and tell that in place of this. */
static void find_example(struct va_run *run, char program[VA_PATH_BYTES])
{
	if (!va_program_find(run, "ud_checked", program))
		va_skip(run, "ud_checked is not installed beside verify-agent");
}

static int run_example(struct va_run *run, char *program, const char *role, const char *address,
		       char text[OUTPUT_BYTES])
{
	char blocks[24];
	char *argv[8] = {program};
	int n = 1;

	snprintf(blocks, sizeof(blocks), "%llu", (unsigned long long)va_number(run, "blocks"));
	if (va_flag(run, "unchecked"))
		argv[n++] = (char *)(uintptr_t) "--unchecked";
	argv[n++] = (char *)(uintptr_t)role;
	argv[n++] = (char *)(uintptr_t)address;
	if (strcmp(role, "client") == 0)
		argv[n++] = blocks;
	return va_program_run(run, argv, text, OUTPUT_BYTES);
}

/* Serves what the target fetches. */
void va_ud_repair_initiator(struct va_run *run)
{
	char address[INET6_ADDRSTRLEN];
	char program[VA_PATH_BYTES];
	char text[OUTPUT_BYTES];
	int status;

	find_example(run, program);
	va_impair(run);
	own_address(run, address);
	va_send(run, json_string(address));
	status = run_example(run, program, "server", address, text);
	if (status)
		va_fail(run, "the server of ud_checked ended with status %d: %s", status, text);
	va_barrier(run, "fetched");
	va_impair_check(run, false);
}

void va_ud_repair_target(struct va_run *run)
{
	unsigned int blocks;
	unsigned int damaged;
	unsigned int lost;
	unsigned int repaired;
	unsigned int twice;
	unsigned int wrong;
	char program[VA_PATH_BYTES];
	char text[OUTPUT_BYTES];
	json_t *address;
	int status = CANNOT_CONNECT;

	find_example(run, program);
	va_impair(run);
	address = va_receive(run);
	/* the server has been started, and may not listen yet */
	for (int i = 0; i < TRIES; i++) {
		status = run_example(run, program, "client", json_string_value(address), text);
		if (status != CANNOT_CONNECT)
			break;
		(void)poll(NULL, 0, TRY_MS);
	}
	json_decref(address);
	if (sscanf(text,
		   "client: %u blocks, %u answers damaged, %u lost or late, %u blocks repaired, %u "
		   "answers came twice, %u blocks wrong",
		   &blocks, &damaged, &lost, &repaired, &twice, &wrong) != 6 ||
	    status > 1)
		va_fail(run, "the client of ud_checked ended with status %d: %s", status, text);
	va_value(run, "wrong", wrong);
	va_value(run, "damaged", damaged);
	va_value(run, "repaired", repaired);
	va_detail(run, "printed", json_string(text));
	if (wrong && !va_flag(run, "unchecked"))
		va_fail(run, "%u of %u blocks are wrong in spite of the program's checksum", wrong,
			blocks);
	va_barrier(run, "fetched");
	va_impair_check(run, false);
}
