/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loads the one document. Its nesting is looked at before, since the library takes time that grows
 * with the square of it. Then it is walked once as its readers will walk it, which finds what would
 * be endless or out of proportion through aliases, texts that a byte 0 would cut short unseen, and
 * those that would steer the terminal they are shown on (escapes in quotes can write all of it).
 */
#include "scenario/yaml.h"

#include "base/plain.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

struct roce_yaml {
	yaml_document_t document;
};

/* Deep enough for every key there is. */
#define DEPTH_MAX 16
/* As many as the longest scenario may have; aliases count each time. */
#define VISITS_MAX 4000000u

static yaml_node_t *get_node(struct roce_yaml *yaml, roce_yaml_node_t node)
{
	return yaml_document_get_node(&yaml->document, node);
}

struct walk {
	struct roce_yaml *yaml;
	struct roce_problems *problems;
	uint32_t visits;
};

static bool walk(struct walk *w, roce_yaml_node_t index, int depth)
{
	uint32_t count = roce_yaml_count(w->yaml, index);
	uint32_t line = roce_yaml_line(w->yaml, index);
	const yaml_node_t *node = get_node(w->yaml, index);

	if (depth > DEPTH_MAX || ++w->visits > VISITS_MAX) {
		roce_problem_add(w->problems, line,
				 depth > DEPTH_MAX ? "nested too deep" : "too long");
		return false;
	}
	if (node->type == YAML_SCALAR_NODE &&
	    strlen((const char *)node->data.scalar.value) != node->data.scalar.length) {
		roce_problem_add(w->problems, line, "a byte 0 in a value");
		return false;
	}
	if (node->type == YAML_SCALAR_NODE &&
	    !roce_plain_is((const char *)node->data.scalar.value, true)) {
		roce_problem_add(w->problems, line, "a control character in a value");
		return false;
	}
	for (uint32_t i = 0; i < count; i++) {
		roce_yaml_node_t key = 0;
		roce_yaml_node_t value = roce_yaml_is_mapping(w->yaml, index)
						 ? roce_yaml_pair(w->yaml, index, i, &key)
						 : roce_yaml_item(w->yaml, index, i);

		if ((key && !walk(w, key, depth + 1)) || !walk(w, value, depth + 1))
			return false;
	}
	return true;
}

static bool add_no_yaml(const yaml_parser_t *parser, struct roce_problems *problems)
{
	roce_problem_add(problems, (uint32_t)parser->problem_mark.line + 1, "no YAML: %s%s%s",
			 parser->problem ? parser->problem : "unreadable",
			 parser->context ? ", " : "", parser->context ? parser->context : "");
	return false;
}

struct glance {
	int depth;
	int documents;
	const char *problem;
};

static void look_at_event(struct glance *g, yaml_event_type_t type)
{
	if (type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT)
		g->depth++;
	else if (type == YAML_SEQUENCE_END_EVENT || type == YAML_MAPPING_END_EVENT)
		g->depth--;
	else if (type == YAML_DOCUMENT_START_EVENT)
		g->documents++;
	if (g->depth > DEPTH_MAX)
		g->problem = "nested too deep";
	else if (g->documents > 1)
		g->problem = "a second document, expected one";
}

static bool glance_over(const char *text, size_t length, struct roce_problems *problems)
{
	struct glance g = {0};
	yaml_parser_t parser;
	yaml_event_type_t type = YAML_NO_EVENT;
	bool is_good = true;

	if (!yaml_parser_initialize(&parser)) {
		roce_problem_add(problems, 0, "out of memory");
		return false;
	}
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
	while (is_good && type != YAML_STREAM_END_EVENT) {
		yaml_event_t event;

		if (!yaml_parser_parse(&parser, &event)) {
			is_good = add_no_yaml(&parser, problems);
			break;
		}
		type = event.type;
		look_at_event(&g, type);
		if (g.problem)
			roce_problem_add(problems, (uint32_t)event.start_mark.line + 1, "%s",
					 g.problem);
		is_good = !g.problem;
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	return is_good;
}

static bool load(struct roce_yaml *yaml, const char *text, size_t length,
		 struct roce_problems *problems)
{
	yaml_parser_t parser;
	bool is_loaded;

	if (!yaml_parser_initialize(&parser)) {
		roce_problem_add(problems, 0, "out of memory");
		return false;
	}
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
	is_loaded = yaml_parser_load(&parser, &yaml->document);
	if (!is_loaded)
		add_no_yaml(&parser, problems);
	yaml_parser_delete(&parser);
	return is_loaded;
}

struct roce_yaml *roce_yaml_create(const char *text, size_t length, struct roce_problems *problems)
{
	struct roce_yaml *yaml;

	if (length > ROCE_YAML_BYTES_MAX) {
		roce_problem_add(problems, 0, "longer than %u MiB", ROCE_YAML_BYTES_MAX >> 20);
		return NULL;
	}
	yaml = calloc(1, sizeof(*yaml));
	if (!yaml) {
		roce_problem_add(problems, 0, "out of memory");
		return NULL;
	}
	if (!glance_over(text, length, problems) || !load(yaml, text, length, problems)) {
		free(yaml);
		return NULL;
	}
	if (get_node(yaml, ROCE_YAML_ROOT) &&
	    !walk(&(struct walk){.yaml = yaml, .problems = problems}, ROCE_YAML_ROOT, 0)) {
		roce_yaml_destroy(yaml);
		return NULL;
	}
	return yaml;
}

void roce_yaml_destroy(struct roce_yaml *yaml)
{
	if (!yaml)
		return;
	yaml_document_delete(&yaml->document);
	free(yaml);
}

uint32_t roce_yaml_line(struct roce_yaml *yaml, roce_yaml_node_t node)
{
	const yaml_node_t *n = get_node(yaml, node);

	return n ? (uint32_t)n->start_mark.line + 1 : 0;
}

bool roce_yaml_is_mapping(struct roce_yaml *yaml, roce_yaml_node_t node)
{
	const yaml_node_t *n = get_node(yaml, node);

	return n && n->type == YAML_MAPPING_NODE;
}

bool roce_yaml_is_list(struct roce_yaml *yaml, roce_yaml_node_t node)
{
	const yaml_node_t *n = get_node(yaml, node);

	return n && n->type == YAML_SEQUENCE_NODE;
}

const char *roce_yaml_text(struct roce_yaml *yaml, roce_yaml_node_t node)
{
	const yaml_node_t *n = get_node(yaml, node);

	return n && n->type == YAML_SCALAR_NODE ? (const char *)n->data.scalar.value : NULL;
}

const char *roce_yaml_what(struct roce_yaml *yaml, roce_yaml_node_t node)
{
	const char *text = roce_yaml_text(yaml, node);

	if (text)
		return *text ? text : "nothing";
	return roce_yaml_is_mapping(yaml, node) ? "a mapping" : "a list";
}

uint32_t roce_yaml_count(struct roce_yaml *yaml, roce_yaml_node_t node)
{
	const yaml_node_t *n = get_node(yaml, node);

	if (n && n->type == YAML_MAPPING_NODE)
		return (uint32_t)(n->data.mapping.pairs.top - n->data.mapping.pairs.start);
	if (n && n->type == YAML_SEQUENCE_NODE)
		return (uint32_t)(n->data.sequence.items.top - n->data.sequence.items.start);
	return 0;
}

roce_yaml_node_t roce_yaml_item(struct roce_yaml *yaml, roce_yaml_node_t list, uint32_t i)
{
	return get_node(yaml, list)->data.sequence.items.start[i];
}

roce_yaml_node_t roce_yaml_pair(struct roce_yaml *yaml, roce_yaml_node_t mapping, uint32_t i,
				roce_yaml_node_t *out_key)
{
	const yaml_node_pair_t *pair = &get_node(yaml, mapping)->data.mapping.pairs.start[i];

	*out_key = pair->key;
	return pair->value;
}
