/* SPDX-License-Identifier: BSD-2-Clause */
/* Between the command line and src/record: files, ports by name, names of nodes and workloads. */
#include "tools/sim_record.h"

#include "tools/command.h"

#include "scenario/select.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PAGE_RATES 64u /* queue pairs that a page looks at */

static int fail_file(const char *path, int error)
{
	fprintf(stderr, "uroce sim: %s: %s\n", path, strerror(error));
	return ROCE_EXIT_FAILED;
}

static int fail_memory(void)
{
	fprintf(stderr, "uroce sim: out of memory\n");
	return ROCE_EXIT_FAILED;
}

static int open_file(const char *path, FILE **out)
{
	if (!path)
		return ROCE_EXIT_OK;
	*out = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
	return *out ? ROCE_EXIT_OK : fail_file(path, errno);
}

static int close_file(const char *path, FILE **file)
{
	FILE *f = *file;
	bool is_bad;

	*file = NULL;
	if (!f)
		return ROCE_EXIT_OK;
	is_bad = ferror(f) != 0;
	if (f == stdout)
		is_bad |= fflush(f) != 0;
	else
		is_bad |= fclose(f) != 0;
	return is_bad ? fail_file(path, errno ? errno : EIO) : ROCE_EXIT_OK;
}

/* ---- ports ---- */

static bool has_port(const struct roce_sim_record *sr, uint32_t node, uint32_t port)
{
	for (uint32_t i = 0; i < sr->port_count; i++) {
		if (sr->ports[i].node == node && sr->ports[i].port == port)
			return true;
	}
	return false;
}

/* Ports are numbered in the order of a node's links, here as in the fabric. */
static int add_matching(struct roce_sim_record *sr, const struct roce_graph *g, const char *pattern,
			uint32_t *out_found)
{
	for (uint32_t node = 0; node < g->node_count; node++) {
		for (uint32_t i = 0; i < roce_graph_degree(g, node); i++) {
			uint32_t peer = roce_graph_neighbour(g, node, i, NULL);
			struct roce_record_port *grown;

			if (!roce_select_matches_port(g, pattern, node, peer))
				continue;
			(*out_found)++;
			if (has_port(sr, node, i))
				continue;
			grown = realloc(sr->ports, (sr->port_count + 1) * sizeof(*grown));
			if (!grown)
				return fail_memory();
			sr->ports = grown;
			grown[sr->port_count++] = (struct roce_record_port){node, i};
		}
	}
	return ROCE_EXIT_OK;
}

static int find_ports(struct roce_sim_record *sr, const struct roce_graph *g)
{
	char *patterns = strdup(sr->options->ports), *rest = NULL;
	int rc = patterns ? ROCE_EXIT_OK : fail_memory();

	for (char *p = patterns ? strtok_r(patterns, ",", &rest) : NULL; p && rc == ROCE_EXIT_OK;
	     p = strtok_r(NULL, ",", &rest)) {
		uint32_t found = 0;

		rc = add_matching(sr, g, p, &found);
		if (rc == ROCE_EXIT_OK && !found)
			rc = roce_usage_error("sim",
					      "--ports %s: no such port; expected NODE:NEIGHBOUR, "
					      "as leaf0:h3 or leaf*:spine0",
					      p);
	}
	free(patterns);
	if (rc == ROCE_EXIT_OK && !sr->port_count)
		rc = roce_usage_error("sim", "--ports: none, expected NODE:NEIGHBOUR, as leaf0:h3");
	return rc;
}

/* ---- before the run ---- */

static int copy_names(struct roce_sim_record *sr, const struct roce_plan *plan)
{
	const struct roce_graph *g = &plan->graph;
	uint32_t workloads = plan->scenario->workload_count;

	sr->names = calloc((size_t)g->node_count + 1, sizeof(*sr->names));
	sr->workload_names = calloc((size_t)workloads + 1, sizeof(*sr->workload_names));
	if (!sr->names || !sr->workload_names)
		return fail_memory();
	for (uint32_t i = 0; i <= workloads; i++)
		roce_workload_name(plan->scenario, i, sr->workload_names[i]);
	for (uint32_t i = 0; i < g->node_count; i++)
		sr->names[i] = g->nodes[i].name;
	return ROCE_EXIT_OK;
}

/* Devices may be written to more than once, standard output may not. */
static bool is_one_file(const char *a, const char *b)
{
	struct stat of_a, of_b;

	if (strcmp(a, b) == 0)
		return strcmp(a, "-") == 0 || stat(a, &of_a) || S_ISREG(of_a.st_mode);
	return strcmp(a, "-") != 0 && strcmp(b, "-") != 0 && !stat(a, &of_a) && !stat(b, &of_b) &&
	       S_ISREG(of_a.st_mode) && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

static int check_files(const struct roce_sim_record_options *o)
{
	const char *const files[] = {o->inputs[0], o->inputs[1], o->inputs[2], o->json,	   o->html,
				     o->log,	   o->capture,	 o->samples,   o->counters};
	const unsigned int count = sizeof(files) / sizeof(files[0]);

	for (unsigned int i = 3; i < count; i++) {
		for (unsigned int k = 0; files[i] && k < i; k++) {
			if (files[k] && is_one_file(files[i], files[k]))
				return roce_usage_error("sim", "%s: %s", files[i],
							k < 3 ? "is read, and would be written"
							      : "would be written twice");
		}
	}
	return ROCE_EXIT_OK;
}

static int check_options(const struct roce_sim_record_options *o)
{
	if (o->capture && !o->ports)
		return roce_usage_error("sim", "--capture needs --ports, as leaf0:h3");
	if (o->ports && !o->capture)
		return roce_usage_error("sim", "--ports is for --capture FILE");
	return check_files(o);
}

int roce_sim_record_init(struct roce_sim_record *sr, const struct roce_sim_record_options *options,
			 const struct roce_plan *plan)
{
	struct roce_record_config cfg = {
		.has_series = options->html != NULL,
		.sample_ps = plan->scenario->output.interval,
		.rate_count = (uint32_t)plan->scenario->output.rates,
	};
	bool has_rates = options->json && plan->scenario->output.rates;
	int rc = check_options(options);

	*sr = (struct roce_sim_record){.options = options};
	if (rc == ROCE_EXIT_OK && options->ports)
		rc = find_ports(sr, &plan->graph);
	if (rc == ROCE_EXIT_OK && !options->is_check)
		rc = open_file(options->json, &sr->json);
	if (rc != ROCE_EXIT_OK || options->is_check ||
	    (!options->html && !options->log && !options->capture && !options->samples &&
	     !options->counters && !has_rates))
		return rc;
	if (rc == ROCE_EXIT_OK)
		rc = open_file(options->html, &sr->html);
	if (rc == ROCE_EXIT_OK)
		rc = open_file(options->log, &sr->log);
	if (rc == ROCE_EXIT_OK)
		rc = open_file(options->capture, &sr->capture);
	if (rc == ROCE_EXIT_OK)
		rc = open_file(options->samples, &sr->samples);
	if (rc == ROCE_EXIT_OK)
		rc = open_file(options->counters, &sr->counters);
	if (rc == ROCE_EXIT_OK)
		rc = copy_names(sr, plan);
	if (rc != ROCE_EXIT_OK)
		return rc;
	cfg.log = sr->log;
	cfg.capture = sr->capture;
	cfg.samples = sr->samples;
	cfg.counters = sr->counters;
	if (options->html && !cfg.rate_count)
		cfg.rate_count = PAGE_RATES;
	cfg.capture_ports = sr->ports;
	cfg.capture_port_count = sr->port_count;
	return roce_record_create(&cfg, &sr->record) ? fail_memory() : ROCE_EXIT_OK;
}

const struct roce_fabric_observer *roce_sim_record_observer(const struct roce_sim_record *sr)
{
	return sr->record ? roce_record_observer(sr->record) : NULL;
}

int roce_sim_record_begin(struct roce_sim_record *sr, const struct roce_built *built)
{
	sr->built = built;
	if (sr->record && roce_record_begin(sr->record, built->fabric, sr->names))
		return fail_memory();
	return ROCE_EXIT_OK;
}

/* ---- during and after it ---- */

uint64_t roce_sim_record_next_stop(const struct roce_sim_record *sr)
{
	return sr->record ? roce_record_next_stop(sr->record) : ROCE_FABRIC_NEVER;
}

void roce_sim_record_look(struct roce_sim_record *sr)
{
	if (sr->record)
		roce_record_look(sr->record);
}

static const char *workload_name(void *ctx, uint64_t tag)
{
	const struct roce_sim_record *sr = ctx;

	return sr->workload_names[roce_build_workload(tag)];
}

static bool is_requests(void *ctx, uint64_t tag)
{
	const struct roce_sim_record *sr = ctx;
	const struct roce_scenario *scenario = sr->built->plan->scenario;
	uint32_t workload = roce_build_workload(tag);

	return workload < scenario->workload_count &&
	       scenario->workloads[workload].kind == ROCE_WORKLOAD_REQUESTS;
}

static void write_page(struct roce_sim_record *sr)
{
	const struct roce_plan *plan = sr->built->plan;
	const struct roce_general_conf *general = &plan->scenario->general;
	char subtitle[160], footer[160];
	struct roce_record_page page = {
		.title = *general->name ? general->name : plan->scenario->file,
		.subtitle = subtitle,
		.footer = footer,
		.tag_name = workload_name,
		.is_tag_requests = is_requests,
		.tag_ctx = sr,
	};

	snprintf(subtitle, sizeof(subtitle), "%u hosts, %u switches, %u links, %u flows",
		 plan->graph.host_count, plan->graph.node_count - plan->graph.host_count,
		 plan->graph.edge_count, roce_fabric_flow_count(sr->built->fabric));
	snprintf(footer, sizeof(footer), "uroce sim %s, scenario %s, seed %llu", UROCE_VERSION,
		 plan->scenario->file, (unsigned long long)general->seed);
	roce_record_write_page(sr->record, &page, sr->html);
}

int roce_sim_record_end(struct roce_sim_record *sr, enum roce_fabric_end end)
{
	int html, log, capture, samples, counters;

	if (!sr->record)
		return ROCE_EXIT_OK;
	roce_record_end(sr->record, end);
	if (sr->html)
		write_page(sr);
	html = close_file(sr->options->html, &sr->html);
	log = close_file(sr->options->log, &sr->log);
	capture = close_file(sr->options->capture, &sr->capture);
	samples = close_file(sr->options->samples, &sr->samples);
	counters = close_file(sr->options->counters, &sr->counters);
	return html != ROCE_EXIT_OK	 ? html
	       : log != ROCE_EXIT_OK	 ? log
	       : capture != ROCE_EXIT_OK ? capture
	       : samples != ROCE_EXIT_OK ? samples
					 : counters;
}

int roce_sim_record_close_json(struct roce_sim_record *sr)
{
	return close_file(sr->options->json, &sr->json);
}

void roce_sim_record_fini(struct roce_sim_record *sr)
{
	FILE *files[] = {sr->json, sr->html, sr->log, sr->capture, sr->samples, sr->counters};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (files[i] && files[i] != stdout)
			fclose(files[i]);
	}
	roce_record_destroy(sr->record);
	free(sr->ports);
	free(sr->names);
	free(sr->workload_names);
	*sr = (struct roce_sim_record){0};
}
