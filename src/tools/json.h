/* SPDX-License-Identifier: BSD-2-Clause */
/* What the subcommands' JSON output has in common. */
#ifndef ROCE_TOOLS_JSON_H
#define ROCE_TOOLS_JSON_H

/* To standard output, in quotes and escaped: names of devices and programs are somebody's text. */
void roce_json_print_string(const char *s);

#endif
