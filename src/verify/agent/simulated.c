/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kind `simulated`: what the transport makes of a fast link when nothing else limits it. `uroce
 * sim` beside this program runs one flow between two hosts, or one each way; the counters of the
 * hosts' ports tell which share of the line was used. In both directions that is the lesser one.
 */
#include "verify/agent/kind.h"
#include "verify/agent/program.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PREAMBLE_AND_GAP_BYTES 20

static void write_flow(struct va_run *run, int fd, const char *from, const char *to)
{
	va_need(run,
		dprintf(fd,
			"  - {kind: flow, from: %s, to: %s, op: %s, bytes: %llu B, queue_pairs: "
			"%llu}\n",
			from, to, va_word(run, "op"), (unsigned long long)va_number(run, "size"),
			(unsigned long long)va_number(run, "qps")) > 0,
		"the scenario");
}

static int write_scenario(struct va_run *run)
{
	int fd = memfd_create("scenario", 0);

	va_need(run, fd >= 0, "memfd_create");
	va_need(run,
		dprintf(fd,
			"topology: {kind: star, hosts: 2}\n"
			"link: {rate: %llu b/s, length: 10m}\n"
			"host: {path_mtu: %llu}\n"
			"workload:\n",
			(unsigned long long)va_number(run, "rate"),
			(unsigned long long)va_number(run, "mtu")) > 0,
		"the scenario");
	write_flow(run, fd, "h0", "h1");
	if (va_flag(run, "both"))
		write_flow(run, fd, "h1", "h0");
	return fd;
}

/* Reads the scenario from a file that has no name, and writes JSON to another one. */
static json_t *simulate(struct va_run *run)
{
	char program[VA_PATH_BYTES];
	char scenario[64];
	char output[64];
	char text[1024];
	int scenario_fd = write_scenario(run);
	int output_fd = memfd_create("result", 0);
	char *argv[] = {program, "sim", scenario, "--json", output, NULL};
	json_t *result;
	int status;

	va_need(run, output_fd >= 0, "memfd_create");
	if (!va_program_find(run, "uroce", program))
		va_skip(run, "uroce is not installed beside verify-agent");
	snprintf(scenario, sizeof(scenario), "/proc/%d/fd/%d", (int)getpid(), scenario_fd);
	snprintf(output, sizeof(output), "/proc/%d/fd/%d", (int)getpid(), output_fd);
	status = va_program_run(run, argv, text, sizeof(text));
	if (status)
		va_fail(run, "uroce sim ended with status %d: %s", status, text);
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

/* What the port of a host has sent, as the line has it. */
static double bytes_sent(const json_t *result, const char *host)
{
	const json_t *ports = json_object_get(result, "ports");
	const json_t *port;
	size_t i;

	json_array_foreach(ports, i, port)
	{
		if (strcmp(roce_json_text(port, "node"), host) == 0)
			return counter(port, "tx_prio3_bytes") +
			       PREAMBLE_AND_GAP_BYTES * counter(port, "tx_prio3_packets");
	}
	return 0;
}

void va_simulated_initiator(struct va_run *run)
{
	json_t *result = simulate(run);
	const json_t *flows = json_object_get(result, "flows");
	double there = bytes_sent(result, "h0");
	double back = bytes_sent(result, "h1");
	double seconds = 0;
	double bytes = 0;
	const json_t *flow;
	double line;
	size_t i;

	json_array_foreach(flows, i, flow)
	{
		double took = roce_json_number(flow, "fct_us") / 1e6;

		if (strcmp(roce_json_text(flow, "state"), "done") != 0 || took <= 0)
			va_fail(run, "the flow ended as \"%s\"", roce_json_text(flow, "state"));
		seconds = took > seconds ? took : seconds;
		bytes += roce_json_number(flow, "bytes");
	}
	if (json_array_size(flows) != (va_flag(run, "both") ? 2 : 1))
		va_fail(run, "%zu flows were simulated", json_array_size(flows));
	line = va_flag(run, "both") ? fmin(there, back) : fmax(there, back);
	va_value(run, "line", 100 * line * 8 / seconds / (double)va_number(run, "rate"));
	va_value(run, "goodput", bytes * 8 / seconds / 1e9);
	json_decref(result);
}

/* Both hosts are in the simulation. */
void va_simulated_target(struct va_run *run)
{
	(void)run;
}
