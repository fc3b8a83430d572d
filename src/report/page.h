/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A report as one self-contained HTML file: no font, script or picture is fetched from anywhere, so
 * it can be mailed and archived. It follows the reader's light or dark setting, prints in black on
 * white, and reads without its script, which only adds values under the pointer.
 *
 * All text that is passed in is escaped. The file is checked for write errors once, by whoever
 * closes it.
 */
#ifndef ROCE_REPORT_PAGE_H
#define ROCE_REPORT_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* What a row, a tile or a message is to the reader; coloured, and said in words as well. */
enum roce_tone {
	ROCE_TONE_PLAIN,
	ROCE_TONE_GOOD,
	ROCE_TONE_WARN,
	ROCE_TONE_BAD,
};

void roce_page_begin(FILE *out, const char *title, const char *subtitle);
void roce_page_end(FILE *out, const char *footer);

/* A headline that the table of contents on top links to; `id` is unique, of letters and dashes. */
void roce_page_section(FILE *out, const char *id, const char *title, const char *intro);

/* One number that matters, in a row of such: begin, tiles, end. `note` may be NULL. */
void roce_page_tiles_begin(FILE *out);
void roce_page_tile(FILE *out, enum roce_tone tone, const char *value, const char *label,
		    const char *note);
void roce_page_tiles_end(FILE *out);

/* Pictures side by side where there is room: begin, charts, end. */
void roce_page_charts_begin(FILE *out);
void roce_page_charts_end(FILE *out);

void roce_page_message(FILE *out, enum roce_tone tone, const char *text);

/* A table: columns whose name begins with '#' are numbers, aligned to the right, those with '~'
 * have sentences, which are broken into lines (neither sign is shown). Rows are given the same
 * columns; NULL is an empty cell. On paper all cells are broken, so that no table is cut off. */
void roce_page_table_begin(FILE *out, const char *const *columns, size_t count);
void roce_page_table_row(FILE *out, enum roce_tone tone, const char *const *columns,
			 const char *const *cells, size_t count);
void roce_page_table_end(FILE *out);

/* Something that was found, told at length: begin, fields and commands, fields_end, pictures if
 * there are any, end. `place` is a few words beside the title. */
void roce_page_finding_begin(FILE *out, enum roce_tone tone, const char *title, const char *place);
void roce_page_field(FILE *out, const char *name, const char *text);
/* A field whose text is to be copied into a shell. */
void roce_page_command(FILE *out, const char *name, const char *command);
void roce_page_fields_end(FILE *out);
void roce_page_finding_end(FILE *out);

/* A smaller headline within a section. */
void roce_page_subsection(FILE *out, const char *title);

/* Text with < > & " made harmless. */
void roce_page_text(FILE *out, const char *text);

#endif
