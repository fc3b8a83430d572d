/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Words and numbers; the topology ("nodes switches links", the switches, then "a b rate delay
 * error" for each link) and the flows (their number, then "src dst priority port bytes start" for
 * each).
 */
#include "scenario/hpcc_internal.h"

#include "scenario/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS	    " \t\r\n"
#define FIRST_SPORT 10000u

static void skip_blanks(struct roce_hpcc_cursor *c, bool over_lines)
{
	for (; *c->at && strchr(BLANKS, *c->at); c->at++) {
		if (*c->at == '\n' && !over_lines)
			return;
		c->line += *c->at == '\n';
	}
}

static bool take_word(struct roce_hpcc_cursor *c)
{
	size_t length = strcspn(c->at, BLANKS);
	size_t kept = length < sizeof(c->word) - 1 ? length : sizeof(c->word) - 1;

	memcpy(c->word, c->at, kept);
	c->word[kept] = '\0';
	c->at += length;
	return length != 0;
}

bool roce_hpcc_word(struct roce_hpcc_cursor *c, const char *what)
{
	skip_blanks(c, true);
	if (take_word(c))
		return true;
	if (what)
		roce_problem_add(c->problems, c->line, "the file ends, expected %s", what);
	return false;
}

bool roce_hpcc_word_here(struct roce_hpcc_cursor *c)
{
	skip_blanks(c, false);
	return take_word(c);
}

void roce_hpcc_skip_line(struct roce_hpcc_cursor *c)
{
	c->at += strcspn(c->at, "\n");
}

bool roce_hpcc_quantity(struct roce_hpcc_cursor *c, const char *what, enum roce_unit unit,
			uint64_t *out)
{
	if (!roce_hpcc_word(c, what))
		return false;
	if (roce_unit_parse(unit, c->word, out) == 0)
		return true;
	roce_problem_add(c->problems, c->line, "%s: found \"%.40s\", expected %s", what, c->word,
			 roce_unit_expected(unit));
	return false;
}

bool roce_hpcc_number(struct roce_hpcc_cursor *c, const char *what, uint64_t max, uint64_t *out)
{
	if (!roce_hpcc_quantity(c, what, ROCE_UNIT_COUNT, out))
		return false;
	if (*out <= max)
		return true;
	roce_problem_add(c->problems, c->line, "%s: found %s, expected at most %llu", what, c->word,
			 (unsigned long long)max);
	return false;
}

/* ---- topology ---- */

static bool read_switches(struct roce_hpcc_cursor *c, uint64_t nodes, uint64_t switches,
			  bool *is_switch)
{
	uint64_t node;

	for (uint64_t i = 0; i < switches; i++) {
		if (!roce_hpcc_number(c, "number of a switch", nodes - 1, &node))
			return false;
		if (is_switch[node]) {
			roce_problem_add(c->problems, c->line, "switch %s is there twice", c->word);
			return false;
		}
		is_switch[node] = true;
	}
	return true;
}

static bool read_link(struct roce_hpcc_cursor *c, struct roce_graph *g, struct roce_link_conf *link)
{
	uint64_t a;
	uint64_t b;
	bool is_host;

	if (!roce_hpcc_number(c, "first node of a link", g->node_count - 1, &a) ||
	    !roce_hpcc_number(c, "second node of a link", g->node_count - 1, &b) ||
	    !roce_hpcc_quantity(c, "rate", ROCE_UNIT_RATE, &link->rate) ||
	    !roce_hpcc_quantity(c, "delay", ROCE_UNIT_TIME, &link->delay) ||
	    !roce_hpcc_quantity(c, "error rate", ROCE_UNIT_FRACTION, &link->loss))
		return false;
	if (a == b || link->rate == 0) {
		roce_problem_add(c->problems, c->line,
				 a == b ? "a link from a node to itself" : "a rate of zero");
		return false;
	}
	is_host = g->nodes[a].is_host || g->nodes[b].is_host;
	roce_graph_add_edge(g, (uint32_t)a, (uint32_t)b,
			    is_host ? ROCE_EDGE_HOST : ROCE_EDGE_FABRIC);
	return true;
}

static bool read_nodes(struct roce_hpcc_cursor *c, struct roce_graph *g, uint64_t *out_links)
{
	uint64_t nodes;
	uint64_t switches;
	bool *is_switch;
	bool is_good;

	if (!roce_hpcc_number(c, "number of nodes", ROCE_GRAPH_NODES_MAX, &nodes) ||
	    !roce_hpcc_number(c, "number of switches", nodes, &switches) ||
	    !roce_hpcc_number(c, "number of links", ROCE_GRAPH_EDGES_MAX, out_links))
		return false;
	is_switch = calloc(nodes + 1, sizeof(*is_switch));
	is_good = is_switch && nodes && read_switches(c, nodes, switches, is_switch);
	for (uint64_t n = 0; is_good && n < nodes; n++)
		roce_graph_add_node(g, !is_switch[n], is_switch[n] ? -1 : 0, "%u", (unsigned int)n);
	free(is_switch);
	return is_good;
}

bool roce_hpcc_read_topology(const char *text, struct roce_graph *g,
			     struct roce_link_conf **out_links, const struct roce_link_conf *base,
			     struct roce_problems *problems)
{
	struct roce_hpcc_cursor c = {.at = text, .line = 1, .problems = problems};
	struct roce_link_conf *links;
	uint64_t count;
	bool is_good;

	*out_links = NULL;
	if (!read_nodes(&c, g, &count))
		return false;
	/* A number in a file is no reason to take memory: a link needs some bytes of text. */
	if (count > strlen(text) / 8) {
		roce_problem_add(problems, 1, "%llu links are more than there are lines",
				 (unsigned long long)count);
		return false;
	}
	links = calloc(count + 1, sizeof(*links));
	is_good = links != NULL;
	for (uint64_t i = 0; is_good && i < count; i++) {
		links[i] = *base;
		is_good = read_link(&c, g, &links[i]);
	}
	*out_links = links;
	return is_good && roce_topology_finish(g, 0, problems);
}

/* ---- flows ---- */

/* How many flows there were from src to dst before, since that makes the source port. */
struct pair {
	uint64_t key;
	uint32_t count;
};

static uint16_t take_sport(struct pair *pairs, uint64_t mask, uint32_t src, uint32_t dst)
{
	uint64_t key = ((uint64_t)src << 32 | dst) + 1;
	uint64_t i = (key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & mask;

	while (pairs[i].key && pairs[i].key != key)
		i = (i + 1) & mask;
	pairs[i].key = key;
	return (uint16_t)(FIRST_SPORT + pairs[i].count++);
}

static bool read_flow(struct roce_hpcc_cursor *c, const struct roce_graph *g,
		      struct roce_flow *flow, bool *out_is_odd)
{
	uint64_t src;
	uint64_t dst;
	uint64_t prio;
	uint64_t port;

	if (!roce_hpcc_number(c, "src", g->node_count - 1, &src) ||
	    !roce_hpcc_number(c, "dst", g->node_count - 1, &dst) ||
	    !roce_hpcc_number(c, "priority", 7, &prio) ||
	    !roce_hpcc_number(c, "port", 65535, &port) ||
	    !roce_hpcc_number(c, "bytes", UINT64_C(1) << 40, &flow->bytes) ||
	    !roce_hpcc_word(c, "start"))
		return false;
	if (!g->nodes[src].is_host || !g->nodes[dst].is_host || src == dst) {
		roce_problem_add(c->problems, c->line, "a flow is between two different hosts");
		return false;
	}
	/* Seconds without a unit. */
	strncat(c->word, "s", sizeof(c->word) - strlen(c->word) - 1);
	if (roce_unit_parse(ROCE_UNIT_TIME, c->word, &flow->start_ps)) {
		roce_problem_add(c->problems, c->line, "start: found \"%.40s\", expected seconds",
				 c->word);
		return false;
	}
	flow->src = (uint32_t)src;
	flow->dst = (uint32_t)dst;
	flow->prio = (uint8_t)prio;
	flow->dscp = (uint8_t)(prio * 8);
	*out_is_odd = flow->bytes == 0;
	return true;
}

bool roce_hpcc_read_flows(const char *text, const struct roce_graph *g, struct roce_flows *out,
			  struct roce_problems *problems)
{
	struct roce_hpcc_cursor c = {.at = text, .line = 1, .problems = problems};
	uint32_t before = problems->count;
	uint64_t count;
	uint64_t mask = 1;
	struct pair *pairs;

	if (!roce_hpcc_number(&c, "number of flows", strlen(text) / 8, &count))
		return false;
	while (mask <= 2 * count)
		mask = mask * 2 + 1;
	pairs = calloc(mask + 1, sizeof(*pairs));
	if (!pairs)
		roce_problem_add(problems, 0, "out of memory");
	for (uint64_t i = 0; pairs && i < count && problems->count == before; i++) {
		struct roce_flow flow = {
			.queue_pairs = 1,
		};
		bool is_empty;

		if (!read_flow(&c, g, &flow, &is_empty) || is_empty) {
			if (problems->count == before)
				roce_problem_add(problems, c.line, "a flow of no bytes");
			break;
		}
		flow.sport = take_sport(pairs, mask, flow.src, flow.dst);
		roce_flows_add(out, &flow);
	}
	if (out->is_full)
		roce_problem_add(problems, 0, "more than %u flows", ROCE_FLOWS_MAX);
	if (count == 0)
		roce_problem_add(problems, 1, "no flows");
	free(pairs);
	return problems->count == before;
}
