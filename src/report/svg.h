/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What all charts share: the figure with its title and legend, the frame with axes and ticks. Units
 * inside the SVG are pixels of its view box; pages scale it to their width.
 */
#ifndef ROCE_REPORT_SVG_H
#define ROCE_REPORT_SVG_H

#include "report/axis.h"

#include <stddef.h>
#include <stdio.h>

#define ROCE_SVG_WIDTH	600.0
#define ROCE_SVG_HEIGHT 270.0

/* Where data is drawn. */
struct roce_svg_frame {
	double left;
	double top;
	double width;
	double height;
	struct roce_axis x;
	struct roce_axis y;
};

void roce_svg_begin(FILE *out, const char *title, double width, double height);
void roce_svg_end(FILE *out);

/* Names with their colours, below the picture; call after roce_svg_end(). `more`: not drawn. */
void roce_svg_legend(FILE *out, const char *const *names, size_t count, size_t more);
void roce_svg_figure_end(FILE *out);

void roce_svg_x_axis(FILE *out, const struct roce_svg_frame *frame, const char *name);
void roce_svg_y_axis(FILE *out, const struct roce_svg_frame *frame, const char *name);

static inline double roce_svg_x(const struct roce_svg_frame *frame, double value)
{
	return frame->left + frame->width * roce_axis_at(&frame->x, value);
}

static inline double roce_svg_y(const struct roce_svg_frame *frame, double value)
{
	return frame->top + frame->height * (1 - roce_axis_at(&frame->y, value));
}

#endif
