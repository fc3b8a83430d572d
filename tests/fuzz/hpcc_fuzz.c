/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HPCC's three files in one input, divided by bytes 0: configuration, topology, flows. Reading ends
 * with what was read or with a reason.
 */
#include "fuzz.h"

#include "scenario/hpcc_internal.h"

#include <stdlib.h>

static struct roce_problems problems;

/* The next part as a text of its own, so that reading beyond it is seen. */
static char *next_part(const uint8_t **at, size_t *left)
{
	const uint8_t *end = memchr(*at, 0, *left);
	size_t length = end ? (size_t)(end - *at) : *left;
	char *text = malloc(length + 1);

	fuzz_require(text != NULL, "memory");
	memcpy(text, *at, length);
	text[length] = '\0';
	*at += length + (end != NULL);
	*left -= length + (end != NULL);
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct roce_hpcc_config config;
	struct roce_link_conf base = {0};
	struct roce_link_conf *links = NULL;
	struct roce_flows flows = {0};
	struct roce_graph graph;
	char *texts[3];
	bool is_good;

	if (size == 0)
		return 0;
	roce_graph_init(&graph);
	roce_problems_init(&problems, "fuzz");
	for (int i = 0; i < 3; i++)
		texts[i] = next_part(&data, &size);
	is_good = roce_hpcc_read_config(texts[0], &config, &problems) &&
		  roce_hpcc_read_topology(texts[1], &graph, &links, &base, &problems) &&
		  roce_hpcc_read_flows(texts[2], &graph, &flows, &problems);
	fuzz_require(is_good == (problems.count == 0), "what was read, or a reason");
	free(links);
	roce_flows_fini(&flows);
	roce_graph_fini(&graph);
	for (int i = 0; i < 3; i++)
		free(texts[i]);
	return 0;
}
