/* SPDX-License-Identifier: BSD-2-Clause */
/* Figures, axes and legends; see svg.h. */
#include "report/svg.h"

#include "report/page.h"

void roce_svg_begin(FILE *out, const char *title, double width, double height)
{
	fputs("<figure><figcaption>", out);
	roce_page_text(out, title);
	fprintf(out, "</figcaption>\n<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"",
		width, height);
	roce_page_text(out, title);
	fputs("\">\n", out);
}

void roce_svg_end(FILE *out)
{
	fputs("</svg>\n", out);
}

void roce_svg_legend(FILE *out, const char *const *names, size_t count, size_t more)
{
	if (count < 2 && !more)
		return;
	fputs("<ul class=\"legend\">", out);
	for (size_t i = 0; i < count; i++) {
		fprintf(out, "<li class=\"s%zu\">", i);
		roce_page_text(out, names[i]);
		fputs("</li>", out);
	}
	if (more)
		fprintf(out, "<li class=\"more\">and %zu more, not drawn</li>", more);
	fputs("</ul>\n", out);
}

void roce_svg_figure_end(FILE *out)
{
	fputs("</figure>\n", out);
}

/* "Queue (kB)" */
static void axis_name(FILE *out, const char *name, const struct roce_axis *axis)
{
	roce_page_text(out, name);
	if (axis->unit[0])
		fprintf(out, " (%s)", axis->unit);
}

void roce_svg_x_axis(FILE *out, const struct roce_svg_frame *frame, const char *name)
{
	double bottom = frame->top + frame->height;
	char label[ROCE_AXIS_LABEL_MAX];

	for (unsigned int i = 0; i < frame->x.tick_count; i++) {
		double x = roce_svg_x(frame, frame->x.ticks[i]);

		roce_axis_label(&frame->x, frame->x.ticks[i], label);
		fprintf(out,
			"<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>"
			"<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s"
			"</text>\n",
			x, frame->top, x, bottom, x, bottom + 15, label);
	}
	fprintf(out, "<text class=\"axis\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">",
		frame->left + frame->width / 2, bottom + 32);
	axis_name(out, name, &frame->x);
	fputs("</text>\n", out);
}

void roce_svg_y_axis(FILE *out, const struct roce_svg_frame *frame, const char *name)
{
	char label[ROCE_AXIS_LABEL_MAX];

	for (unsigned int i = 0; i < frame->y.tick_count; i++) {
		double y = roce_svg_y(frame, frame->y.ticks[i]);

		roce_axis_label(&frame->y, frame->y.ticks[i], label);
		fprintf(out,
			"<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>"
			"<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" "
			"text-anchor=\"end\">%s</text>\n",
			frame->left, y, frame->left + frame->width, y, frame->left - 6, y + 4,
			label);
	}
	fprintf(out, "<text class=\"axis\" x=\"%.1f\" y=\"%.1f\">", 2.0, frame->top - 8);
	axis_name(out, name, &frame->y);
	fputs("</text>\n", out);
}
