/* SPDX-License-Identifier: BSD-2-Clause */
/* Making and ending scenarios, and reading files. */
#include "scenario/scenario.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct roce_scenario *roce_scenario_create(const char *file)
{
	struct roce_scenario *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->file = strdup(file);
	if (!s->file || !roce_section_defaults(&roce_section_general, &s->words, &s->general) ||
	    !roce_section_defaults(&roce_section_topology, &s->words, &s->topology) ||
	    !roce_section_defaults(&roce_section_link, &s->words, &s->link) ||
	    !roce_section_defaults(&roce_section_switch, &s->words, &s->sw) ||
	    !roce_section_defaults(&roce_section_host, &s->words, &s->host) ||
	    !roce_section_defaults(&roce_section_output, &s->words, &s->output)) {
		roce_scenario_destroy(s);
		return NULL;
	}
	return s;
}

void roce_scenario_destroy(struct roce_scenario *s)
{
	if (!s)
		return;
	free(s->links.at);
	free(s->switches.at);
	free(s->ports.at);
	free(s->hosts.at);
	free(s->acl);
	free(s->routes);
	free(s->workloads);
	free(s->faults);
	roce_word_store_fini(&s->words);
	roce_yaml_destroy(s->yaml);
	free(s->file);
	free(s);
}

/* Whoever reads the text takes it for its end. */
static bool has_zero(const char *text, size_t length, struct roce_problems *problems)
{
	const char *end = text + strlen(text);
	uint32_t line = 1;

	if (end == text + length)
		return false;
	for (const char *p = text; p < end; p++)
		line += *p == '\n';
	roce_problem_add(problems, line, "a byte 0, expected text");
	return true;
}

static char *read_stream(FILE *f, size_t bytes_max, size_t *out_length,
			 struct roce_problems *problems)
{
	size_t size = 0;
	size_t used = 0;
	char *text = NULL;

	for (;;) {
		if (used + 1 >= size) {
			char *grown = realloc(text, size = size ? size * 2 : 16384);

			if (!grown)
				break;
			text = grown;
		}
		used += fread(text + used, 1, size - used - 1, f);
		if (ferror(f) || used > bytes_max)
			break;
		if (feof(f)) {
			text[used] = '\0';
			*out_length = used;
			return text;
		}
	}
	if (ferror(f))
		roce_problem_add(problems, 0, "cannot be read: %s", strerror(errno));
	else if (used > bytes_max)
		roce_problem_add(problems, 0, "longer than %zu bytes", bytes_max);
	else
		roce_problem_add(problems, 0, "out of memory");
	free(text);
	return NULL;
}

char *roce_file_read(const char *path, size_t bytes_max, size_t *out_length,
		     struct roce_problems *problems)
{
	FILE *f = fopen(path, "re");
	char *text;

	if (!f) {
		roce_problem_add(problems, 0, "cannot be read: %s", strerror(errno));
		return NULL;
	}
	text = read_stream(f, bytes_max, out_length, problems);
	fclose(f);
	if (text && has_zero(text, *out_length, problems)) {
		free(text);
		return NULL;
	}
	return text;
}

struct roce_scenario *roce_scenario_load_file(const char *file, struct roce_problems *problems)
{
	struct roce_scenario *scenario;
	size_t length;
	char *text = roce_file_read(file, ROCE_YAML_BYTES_MAX, &length, problems);

	if (!text)
		return NULL;
	scenario = roce_scenario_load(text, length, file, problems);
	free(text);
	return scenario;
}
