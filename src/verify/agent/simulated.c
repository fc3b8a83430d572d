/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kind `simulated`: what the transport makes of a fast link when nothing else limits it. `uroce
 * sim` beside this program runs one flow between two hosts; its counters tell which share of the
 * line was used.
 */
#include "verify/agent/kind.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PREAMBLE_AND_GAP_BYTES 20
#define ARGUMENT_BYTES	       4200

static int write_scenario(struct va_run *run)
{
	int fd = memfd_create("scenario", 0);

	va_need(run, fd >= 0, "memfd_create");
	va_need(run,
		dprintf(fd,
			"topology: {kind: star, hosts: 2}\n"
			"link: {rate: %llu b/s, length: 10m}\n"
			"host: {path_mtu: %llu}\n"
			"workload:\n"
			"  - {kind: incast, from: h0, to: h1, bytes: %llu B}\n",
			(unsigned long long)va_number(run, "rate"),
			(unsigned long long)va_number(run, "mtu"),
			(unsigned long long)va_number(run, "size")) > 0,
		"the scenario");
	return fd;
}

/* The program beside ours, reading the scenario and writing JSON to a file that has no name. */
static json_t *simulate(struct va_run *run)
{
	char program[ARGUMENT_BYTES] = "";
	char scenario[64];
	char output[64];
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 16);
	int scenario_fd = write_scenario(run);
	int output_fd = memfd_create("result", 0);
	json_t *result;
	int status = -1;
	pid_t pid;

	va_need(run, output_fd >= 0 && n > 0 && strrchr(program, '/'), "memfd_create");
	strcpy(strrchr(program, '/') + 1, "uroce");
	if (access(program, X_OK))
		va_skip(run, "%s is not there", program);
	snprintf(scenario, sizeof(scenario), "/proc/self/fd/%d", scenario_fd);
	snprintf(output, sizeof(output), "/proc/self/fd/%d", output_fd);
	pid = fork();
	va_need(run, pid >= 0, "fork");
	if (!pid) {
		int nowhere = open("/dev/null", O_WRONLY);

		(void)dup2(nowhere, STDOUT_FILENO);
		execl(program, program, "sim", scenario, "--json", output, (char *)NULL);
		_exit(127);
	}
	(void)waitpid(pid, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		va_fail(run, "uroce sim ended with status 0x%x", (unsigned int)status);
	(void)lseek(output_fd, 0, SEEK_SET);
	result = json_loadfd(output_fd, 0, NULL);
	if (!result)
		va_fail(run, "uroce sim wrote no JSON");
	(void)close(output_fd);
	(void)close(scenario_fd);
	return result;
}

static double counter(const json_t *port, const char *name)
{
	return roce_json_number(json_object_get(port, "counters"), name);
}

void va_simulated_initiator(struct va_run *run)
{
	json_t *result = simulate(run);
	const json_t *port = json_array_get(json_object_get(result, "ports"), 0);
	const json_t *flow = json_array_get(json_object_get(result, "flows"), 0);
	double seconds = roce_json_number(flow, "fct_us") / 1e6;
	double bytes = counter(port, "tx_prio3_bytes") +
		       PREAMBLE_AND_GAP_BYTES * counter(port, "tx_prio3_packets");

	if (strcmp(roce_json_text(flow, "state"), "done") != 0 || seconds <= 0)
		va_fail(run, "the flow ended as \"%s\"", roce_json_text(flow, "state"));
	va_value(run, "line", 100 * bytes * 8 / seconds / (double)va_number(run, "rate"));
	va_value(run, "goodput", roce_json_number(flow, "bytes") * 8 / seconds / 1e9);
	json_decref(result);
}

/* Both hosts are in the simulation. */
void va_simulated_target(struct va_run *run)
{
	(void)run;
}
