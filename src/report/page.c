/* SPDX-License-Identifier: BSD-2-Clause */
/* The frame of a report; style and script are page.css and page.js, built in. */
#include "report/page.h"

#include "report/embedded.h"

#define WIDE_COLUMNS 9

void roce_page_text(FILE *out, const char *text)
{
	for (const char *p = text; *p; p++) {
		switch (*p) {
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '&':
			fputs("&amp;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default: /* other control characters may not stand in HTML or XML */
			fputc((unsigned char)*p < 0x20 && *p != '\n' && *p != '\t' ? ' ' : *p, out);
		}
	}
}

static const char *tone_class(enum roce_tone tone)
{
	switch (tone) {
	case ROCE_TONE_PLAIN:
		return "plain";
	case ROCE_TONE_GOOD:
		return "good";
	case ROCE_TONE_WARN:
		return "warn";
	case ROCE_TONE_BAD:
		return "bad";
	}
	return "plain";
}

static void element(FILE *out, const char *name, const char *class_name, const char *text)
{
	fprintf(out, class_name ? "<%s class=\"%s\">" : "<%s>", name, class_name);
	roce_page_text(out, text);
	fprintf(out, "</%s>", name);
}

void roce_page_begin(FILE *out, const char *title, const char *subtitle)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n",
	      out);
	element(out, "title", NULL, title);
	fputs("\n<style>\n", out);
	fwrite(roce_page_css, 1, roce_page_css_size, out);
	fputs("</style></head>\n<body><header>", out);
	element(out, "h1", NULL, title);
	if (subtitle)
		element(out, "p", "subtitle", subtitle);
	/* filled by the script with links to the sections */
	fputs("<nav id=\"contents\" aria-label=\"Sections\"></nav></header>\n<main>\n", out);
}

void roce_page_end(FILE *out, const char *footer)
{
	fputs("</main>\n", out);
	if (footer)
		element(out, "footer", NULL, footer);
	fputs("<div id=\"tip\" role=\"status\" hidden></div>\n<script>\n", out);
	fwrite(roce_page_js, 1, roce_page_js_size, out);
	fputs("</script></body></html>\n", out);
}

void roce_page_section(FILE *out, const char *id, const char *title, const char *intro)
{
	fprintf(out, "<h2 id=\"%s\">", id);
	roce_page_text(out, title);
	fputs("</h2>\n", out);
	if (intro)
		element(out, "p", "intro", intro);
}

void roce_page_tiles_begin(FILE *out)
{
	fputs("<div class=\"tiles\">\n", out);
}

void roce_page_tile(FILE *out, enum roce_tone tone, const char *value, const char *label,
		    const char *note)
{
	fprintf(out, "<div class=\"tile %s\">", tone_class(tone));
	element(out, "div", "label", label);
	element(out, "div", "value", value);
	if (note)
		element(out, "div", "note", note);
	fputs("</div>\n", out);
}

void roce_page_tiles_end(FILE *out)
{
	fputs("</div>\n", out);
}

void roce_page_charts_begin(FILE *out)
{
	fputs("<div class=\"charts\">\n", out);
}

void roce_page_charts_end(FILE *out)
{
	fputs("</div>\n", out);
}

void roce_page_message(FILE *out, enum roce_tone tone, const char *text)
{
	fprintf(out, "<p class=\"message %s\">", tone_class(tone));
	roce_page_text(out, text);
	fputs("</p>\n", out);
}

void roce_page_subsection(FILE *out, const char *title)
{
	element(out, "h3", NULL, title);
	fputc('\n', out);
}

static const char *column_class(const char *column)
{
	return column[0] == '#' ? "number" : column[0] == '~' ? "prose" : NULL;
}

void roce_page_table_begin(FILE *out, const char *const *columns, size_t count)
{
	/* many columns are set smaller on paper */
	fprintf(out, "<div class=\"scroll\"><table%s><thead><tr>",
		count > WIDE_COLUMNS ? " class=\"wide\"" : "");
	for (size_t i = 0; i < count; i++) {
		const char *class_name = column_class(columns[i]);

		element(out, "th", class_name, columns[i] + (class_name ? 1 : 0));
	}
	fputs("</tr></thead><tbody>\n", out);
}

void roce_page_table_row(FILE *out, enum roce_tone tone, const char *const *columns,
			 const char *const *cells, size_t count)
{
	fprintf(out, "<tr class=\"%s\">", tone_class(tone));
	for (size_t i = 0; i < count; i++)
		element(out, "td", column_class(columns[i]), cells[i] ? cells[i] : "");
	fputs("</tr>\n", out);
}

void roce_page_table_end(FILE *out)
{
	fputs("</tbody></table></div>\n", out);
}

void roce_page_finding_begin(FILE *out, enum roce_tone tone, const char *title, const char *place)
{
	fprintf(out, "<article class=\"finding %s\"><header>", tone_class(tone));
	element(out, "h3", NULL, title);
	if (place)
		element(out, "span", "place", place);
	fputs("</header><dl>\n", out);
}

void roce_page_field(FILE *out, const char *name, const char *text)
{
	element(out, "dt", NULL, name);
	element(out, "dd", NULL, text);
	fputc('\n', out);
}

void roce_page_command(FILE *out, const char *name, const char *command)
{
	element(out, "dt", NULL, name);
	fputs("<dd>", out);
	element(out, "code", NULL, command);
	fputs("</dd>\n", out);
}

void roce_page_fields_end(FILE *out)
{
	fputs("</dl>\n", out);
}

void roce_page_finding_end(FILE *out)
{
	fputs("</article>\n", out);
}
