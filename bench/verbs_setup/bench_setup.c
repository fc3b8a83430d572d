/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench-setup -d DEVICE [-g GID_INDEX] [-q QPS] [-m REGIONS]: opens the device, measures, prints
 * one JSON object. Called by bench/run.py; on its own it runs on any verbs device.
 */
#include "bench_setup.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct options {
	const char *device;
	uint8_t gid_index;
	size_t qp_count;
	size_t mr_count;
};

static bool parse_count(const char *text, unsigned long max, unsigned long *out)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || end == text || *end || value > max)
		return false;
	*out = value;
	return true;
}

static bool parse(int argc, char **argv, struct options *out)
{
	unsigned long value = 0;
	int c;

	*out = (struct options){.qp_count = 1000, .mr_count = 1000};
	while ((c = getopt(argc, argv, "d:g:q:m:")) != -1) {
		if (c == 'd')
			out->device = optarg;
		else if (c == '?' || !parse_count(optarg, c == 'g' ? 255 : 1000000, &value))
			return false;
		else if (c == 'g')
			out->gid_index = (uint8_t)value;
		else if (c == 'q' && value)
			out->qp_count = value;
		else if (c == 'm' && value >= 8)
			out->mr_count = value;
		else
			return false;
	}
	return out->device && optind == argc;
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	for (struct ibv_device **d = list; d && *d; d++) {
		if (strcmp(ibv_get_device_name(*d), name) == 0)
			context = ibv_open_device(*d);
	}
	if (list)
		ibv_free_device_list(list);
	if (!context)
		fprintf(stderr, "bench-setup: no device %s\n", name);
	return context;
}

static int measure(struct ibv_context *context, const struct options *o)
{
	struct bench_target target = {.context = context, .gid_index = o->gid_index};
	struct ibv_port_attr port;
	int rc = -1;

	target.pd = ibv_alloc_pd(context);
	if (!target.pd || ibv_query_port(context, 1, &port) ||
	    ibv_query_gid(context, 1, o->gid_index, &target.gid)) {
		perror("bench-setup");
	} else {
		target.mtu = port.active_mtu;
		printf("{");
		rc = bench_qp_setup(&target, o->qp_count);
		printf(",\n");
		rc = rc ? rc : bench_mr_setup(&target, o->mr_count);
		printf("}\n");
	}
	if (target.pd)
		ibv_dealloc_pd(target.pd);
	return rc;
}

int main(int argc, char **argv)
{
	struct ibv_context *context;
	struct options options;
	int rc;

	if (!parse(argc, argv, &options)) {
		fprintf(stderr, "usage: bench-setup -d DEVICE [-g GID_INDEX] [-q QPS] "
				"[-m REGIONS, at least 8]\n");
		return 2;
	}
	context = open_device(options.device);
	if (!context)
		return 1;
	rc = measure(context, &options);
	ibv_close_device(context);
	return rc ? 1 : 0;
}
