/* SPDX-License-Identifier: BSD-2-Clause */
/* Patterns are fnmatch(3)'s; ranges count the number at the end of a name. */
#include "scenario/select.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool roce_select_matches_node(const struct roce_graph *g, const char *pattern, uint32_t node)
{
	return fnmatch(pattern, g->nodes[node].name, 0) == 0;
}

/* Splits at the first `separator` and asks for both halves. */
static bool split(const char *pattern, char separator, char first[64], const char **out_second)
{
	const char *at = strchr(pattern, separator);

	if (!at || at - pattern >= 64)
		return false;
	memcpy(first, pattern, (size_t)(at - pattern));
	first[at - pattern] = '\0';
	*out_second = at + 1;
	return true;
}

bool roce_select_matches_edge(const struct roce_graph *g, const char *pattern, uint32_t edge)
{
	const struct roce_graph_edge *e = &g->edges[edge];
	char first[64];
	const char *second;

	if (strcmp(pattern, "*") == 0 ||
	    strcmp(pattern, roce_edge_class_str((enum roce_edge_class)e->class)) == 0)
		return true;
	if (!split(pattern, '-', first, &second))
		return false;
	return (roce_select_matches_node(g, first, e->a) &&
		roce_select_matches_node(g, second, e->b)) ||
	       (roce_select_matches_node(g, first, e->b) &&
		roce_select_matches_node(g, second, e->a));
}

bool roce_select_matches_port(const struct roce_graph *g, const char *pattern, uint32_t node,
			      uint32_t peer)
{
	char first[64];
	const char *second;

	return split(pattern, ':', first, &second) && roce_select_matches_node(g, first, node) &&
	       roce_select_matches_node(g, second, peer);
}

/* ---- sets ---- */

struct selection {
	const struct roce_graph *g;
	bool is_host;
	bool *is_in;
	struct roce_nodes out;
};

/* How many of it are new or known. */
static uint32_t take(struct selection *s, uint32_t node)
{
	if (s->g->nodes[node].is_host != s->is_host)
		return 0;
	if (!s->is_in[node]) {
		s->is_in[node] = true;
		s->out.at[s->out.count++] = node;
	}
	return 1;
}

/* "h3" to "h" and 3. */
static bool split_number(const char *name, size_t *out_prefix, uint64_t *out_number)
{
	size_t length = strlen(name);
	size_t digits = 0;

	while (digits < length && isdigit((unsigned char)name[length - digits - 1]))
		digits++;
	if (digits == 0 || digits > 9)
		return false;
	*out_prefix = length - digits;
	*out_number = strtoull(name + length - digits, NULL, 10);
	return true;
}

static uint32_t take_range(struct selection *s, const char *first, const char *last)
{
	size_t prefix;
	size_t prefix_last;
	uint64_t from;
	uint64_t to;
	uint32_t taken = 0;
	char name[ROCE_GRAPH_NAME_MAX + 24];

	if (!split_number(first, &prefix, &from) || !split_number(last, &prefix_last, &to) ||
	    prefix != prefix_last || strncmp(first, last, prefix) != 0 || to < from ||
	    to - from > ROCE_GRAPH_NODES_MAX)
		return 0;
	for (uint64_t i = from; i <= to; i++) {
		uint32_t node;

		snprintf(name, sizeof(name), "%.*s%llu", (int)prefix, first, (unsigned long long)i);
		node = roce_graph_find(s->g, name);
		if (node == ROCE_GRAPH_NONE || !take(s, node))
			return 0;
		taken++;
	}
	return taken;
}

/* The hosts at the switches that `pattern` means. */
static uint32_t take_at(struct selection *s, const char *pattern)
{
	uint32_t taken = 0;

	for (uint32_t n = 0; n < s->g->node_count; n++) {
		if (!s->g->nodes[n].is_host)
			continue;
		if (roce_select_matches_node(s->g, pattern, roce_graph_neighbour(s->g, n, 0, NULL)))
			taken += take(s, n);
	}
	return taken;
}

static uint32_t take_word(struct selection *s, const char *word)
{
	const char *dots = strstr(word, "..");
	uint32_t node = roce_graph_find(s->g, word);
	uint32_t taken = 0;
	char first[64];

	if (node != ROCE_GRAPH_NONE)
		return take(s, node);
	if (*word == '@')
		return take_at(s, word + 1);
	if (dots && dots - word < 64) {
		memcpy(first, word, (size_t)(dots - word));
		first[dots - word] = '\0';
		return take_range(s, first, dots + 2);
	}
	if (!strpbrk(word, "*?["))
		return 0;
	for (node = 0; node < s->g->node_count; node++) {
		if (roce_select_matches_node(s->g, word, node))
			taken += take(s, node);
	}
	return taken;
}

void roce_select_nodes(const struct roce_graph *g, const struct roce_words *words, bool is_host,
		       const char *what, uint32_t line, struct roce_problems *problems,
		       struct roce_nodes *out)
{
	uint32_t before = problems->count;
	struct selection s = {.g = g, .is_host = is_host};

	s.is_in = calloc(g->node_count + 1, sizeof(*s.is_in));
	s.out.at = malloc((g->node_count + 1) * sizeof(*s.out.at));
	if (!s.is_in || !s.out.at)
		roce_problem_add(problems, line, "out of memory");
	for (uint32_t i = 0; i < words->count && problems->count == before; i++) {
		if (!take_word(&s, words->at[i]))
			roce_problem_add(
				problems, line, "%s: \"%.40s\" is no %s of this network (%s to %s)",
				what, words->at[i], is_host ? "host" : "switch",
				g->nodes[is_host ? 0 : g->host_count].name,
				g->nodes[is_host ? g->host_count - 1 : g->node_count - 1].name);
	}
	if (s.out.count == 0 && problems->count == before)
		roce_problem_add(problems, line, "%s: no %s", what, is_host ? "host" : "switch");
	free(s.is_in);
	if (problems->count != before) {
		free(s.out.at);
		s.out = (struct roce_nodes){0};
	}
	*out = s.out;
}
