/* SPDX-License-Identifier: BSD-2-Clause */
/* `uroce verify diff`: two JSON reports compared (src/verify/compare.h). */
#include "tools/command.h"
#include "tools/verify.h"

#include "verify/compare.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct diff_options {
	const char *files[2];
	const char *json;
	const char *html;
	double tolerance;
};

enum { OPT_TOLERANCE = 256, OPT_JSON, OPT_HTML };

static const struct option long_options[] = {
	{"tolerance", required_argument, NULL, OPT_TOLERANCE},
	{"json", required_argument, NULL, OPT_JSON},
	{"html", required_argument, NULL, OPT_HTML},
	{NULL, 0, NULL, 0},
};

static int parse_tolerance(const char *text, double *out)
{
	char *end;
	double value;

	errno = 0;
	value = strtod(text, &end);
	if (end != text && *end == '%')
		end++;
	if (errno || *end || end == text || !(value >= 0 && value <= 1e6))
		return roce_usage_error("verify",
					"--tolerance: found %s, expected percent from 0 to 1000000",
					text);
	*out = value;
	return ROCE_EXIT_OK;
}

static int parse(int argc, char **argv, struct diff_options *o)
{
	int rc = ROCE_EXIT_OK;
	int c;

	optind = 1;
	opterr = 0;
	while (!rc && (c = getopt_long(argc, argv, ":", long_options, NULL)) != -1) {
		switch (c) {
		case OPT_TOLERANCE:
			rc = parse_tolerance(optarg, &o->tolerance);
			break;
		case OPT_JSON:
			o->json = optarg;
			break;
		case OPT_HTML:
			o->html = optarg;
			break;
		case ':':
			rc = roce_usage_error("verify", "diff: %s: its value is missing",
					      argv[optind - 1]);
			break;
		default:
			rc = roce_usage_error("verify", "diff has no option %s", argv[optind - 1]);
		}
	}
	if (!rc && argc - optind != 2)
		return roce_usage_error("verify", "diff takes two reports, got %d", argc - optind);
	if (!rc && roce_verify_is_on_stdout(o->json) && roce_verify_is_on_stdout(o->html))
		return roce_usage_error("verify", "one report at most goes to the standard output");
	if (!rc && o->json && o->html && strcmp(o->json, o->html) == 0)
		return roce_usage_error("verify", "two reports in one file: one would be lost");
	for (int i = 0; !rc && i < 2; i++)
		o->files[i] = argv[optind + i];
	return rc;
}

static int write_page(const char *path, const struct roce_verify_comparison *comparison)
{
	struct roce_verify_file file;

	if (roce_verify_file_begin(&file, path))
		roce_verify_comparison_page(comparison, file.stream);
	return roce_verify_file_end(&file, "verify");
}

/* What cannot be written is no result: 1 says that something is worse. */
static int write_all(const struct diff_options *o, const struct roce_verify_comparison *comparison)
{
	if (!roce_verify_is_on_stdout(o->json) && !roce_verify_is_on_stdout(o->html))
		roce_verify_comparison_text(comparison, stdout);
	if (o->json &&
	    roce_verify_write_json("verify", o->json, roce_verify_comparison_json(comparison)))
		return ROCE_EXIT_USAGE;
	if (o->html && write_page(o->html, comparison))
		return ROCE_EXIT_USAGE;
	return comparison->counts[ROCE_VERIFY_WORSE] ? ROCE_EXIT_FAILED : ROCE_EXIT_OK;
}

int roce_verify_diff_command(int argc, char **argv)
{
	struct diff_options o = {.tolerance = -1};
	struct roce_verify_report reports[2] = {0};
	struct roce_verify_comparison comparison;
	char err[ROCE_VERIFY_ERR_MAX];
	int rc = parse(argc, argv, &o);

	if (rc)
		return rc;
	for (int i = 0; !rc && i < 2; i++)
		rc = roce_verify_report_load(&reports[i], o.files[i], err);
	if (rc) {
		fprintf(stderr, "uroce verify: %s\n", err);
		rc = ROCE_EXIT_USAGE;
	} else if (roce_verify_compare(&comparison, &reports[0], &reports[1], o.tolerance)) {
		fprintf(stderr, "uroce verify: out of memory\n");
		rc = ROCE_EXIT_USAGE;
	} else {
		rc = write_all(&o, &comparison);
		roce_verify_comparison_fini(&comparison);
	}
	for (int i = 0; i < 2; i++)
		roce_verify_report_fini(&reports[i]);
	return rc;
}
