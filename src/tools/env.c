/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `uroce env`: what `uroce run` would set, as text for a shell (eval "$(uroce env)"), for fish or
 * for a Dockerfile. Values are quoted for the syntax asked for: a path may hold anything.
 */
#include "tools/command.h"
#include "tools/place.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct syntax {
	const char *name;
	void (*print)(const struct roce_place *place);
};

/* In single quotes; a quote inside becomes `ends`. */
static void print_quoted(const char *s, const char *quote_inside)
{
	putchar('\'');
	for (; *s; s++) {
		if (*s == '\'')
			fputs(quote_inside, stdout);
		else
			putchar(*s);
	}
	putchar('\'');
}

static void print_sh(const struct roce_place *place)
{
	printf("export LD_LIBRARY_PATH=");
	print_quoted(place->library_dir, "'\\''");
	printf("\"${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\"\nexport UROCE_UROCED=");
	print_quoted(place->daemon, "'\\''");
	putchar('\n');
}

static void print_fish(const struct roce_place *place)
{
	printf("set -gx LD_LIBRARY_PATH ");
	print_quoted(place->library_dir, "\\'");
	printf(" $LD_LIBRARY_PATH\nset -gx UROCE_UROCED ");
	print_quoted(place->daemon, "\\'");
	putchar('\n');
}

/* Double quotes; what the builder would take for its own is escaped. */
static void print_docker_value(const char *s)
{
	for (; *s; s++) {
		if (strchr("\"\\$", *s))
			putchar('\\');
		putchar(*s);
	}
}

static void print_docker(const struct roce_place *place)
{
	printf("ENV LD_LIBRARY_PATH=\"");
	print_docker_value(place->library_dir);
	printf("${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\"\nENV UROCE_UROCED=\"");
	print_docker_value(place->daemon);
	printf("\"\n");
}

static const struct syntax syntaxes[] = {
	{"sh", print_sh},
	{"fish", print_fish},
	{"docker", print_docker},
};

static const struct syntax *find_syntax(const char *name)
{
	for (size_t i = 0; i < sizeof(syntaxes) / sizeof(syntaxes[0]); i++) {
		if (strcmp(syntaxes[i].name, name) == 0)
			return &syntaxes[i];
	}
	return NULL;
}

/* The syntax of the shell that the caller says is theirs; sh if that is none we know. */
static const struct syntax *default_syntax(void)
{
	const char *shell = getenv("SHELL");
	const char *name = shell ? strrchr(shell, '/') : NULL;

	return name && strcmp(name, "/fish") == 0 ? find_syntax("fish") : find_syntax("sh");
}

int roce_cmd_env(int argc, char **argv)
{
	static const struct option options[] = {
		{"shell", required_argument, NULL, 's'},
		{NULL, 0, NULL, 0},
	};
	const struct syntax *syntax = default_syntax();
	struct roce_place place;
	char err[256];
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":s:", options, NULL)) != -1) {
		if (c == ':')
			return roce_usage_error("env", "%s needs a value: sh, fish or docker",
						argv[optind - 1]);
		if (c != 's')
			return roce_usage_error("env", "no option %s", argv[optind - 1]);
		syntax = find_syntax(optarg);
		if (!syntax)
			return roce_usage_error(
				"env", "no syntax %s; there are sh, fish and docker", optarg);
	}
	if (optind < argc)
		return roce_usage_error("env", "takes no argument, got %s", argv[optind]);
	if (roce_place_find(&place, err, sizeof(err))) {
		fprintf(stderr, "uroce env: %s\n", err);
		return ROCE_EXIT_FAILED;
	}
	syntax->print(&place);
	return ROCE_EXIT_OK;
}
