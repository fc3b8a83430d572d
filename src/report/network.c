/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A network as a picture: a row for each rank, hosts at the bottom, evenly spread; or switches on a
 * circle with their hosts outside, for rings and meshes. Links that were busy are drawn last and
 * stand out; with many nodes names are left to the pointer.
 */
#include "report/chart.h"

#include "report/page.h"
#include "report/svg.h"

#include <math.h>
#include <stdlib.h>

#define PI	      3.14159265358979323846
#define WIDTH	      1000.0
#define MARGIN	      28.0
#define RANK_HEIGHT   110.0
#define RING_HEIGHT   460.0
#define NAMES_AT_MOST 24u /* in one row: more would overlap */
#define HEAT_STEPS    5u

struct place {
	double x;
	double y;
	uint32_t row_count; /* nodes in its row */
};

static uint32_t rank_count(const struct roce_chart_network *net)
{
	uint32_t top = 0;

	for (size_t i = 0; i < net->node_count; i++)
		top = net->nodes[i].rank > top ? net->nodes[i].rank : top;
	return top + 1;
}

static void place_in_rows(const struct roce_chart_network *net, struct place *places, double height)
{
	uint32_t ranks = rank_count(net);

	for (uint32_t rank = 0; rank < ranks; rank++) {
		uint32_t count = 0, index = 0;

		for (size_t i = 0; i < net->node_count; i++)
			count += net->nodes[i].rank == rank;
		for (size_t i = 0; i < net->node_count; i++) {
			if (net->nodes[i].rank != rank)
				continue;
			places[i].row_count = count;
			places[i].x = MARGIN + (WIDTH - 2 * MARGIN) * ((double)index++ + 0.5) /
						       (double)count;
			places[i].y = height - MARGIN - RANK_HEIGHT * rank;
		}
	}
}

/* The switch that a host hangs on, or the host itself. */
static size_t neighbour_of(const struct roce_chart_network *net, size_t node)
{
	for (size_t i = 0; i < net->link_count; i++) {
		if (net->links[i].a == node)
			return net->links[i].b;
		if (net->links[i].b == node)
			return net->links[i].a;
	}
	return node;
}

static void place_on_circle(const struct roce_chart_network *net, struct place *places)
{
	uint32_t switches = 0, index = 0;
	double cx = WIDTH / 2, cy = RING_HEIGHT / 2;

	for (size_t i = 0; i < net->node_count; i++)
		switches += !net->nodes[i].is_host;
	for (size_t i = 0; i < net->node_count; i++) {
		double angle = 2 * PI * index / (switches ? switches : 1) - PI / 2;

		if (net->nodes[i].is_host)
			continue;
		index++;
		places[i] = (struct place){cx + 130 * cos(angle), cy + 130 * sin(angle), switches};
	}
	for (size_t i = 0; i < net->node_count; i++) {
		size_t at = neighbour_of(net, i);
		uint32_t siblings = 0, mine = 0;
		double angle;

		if (!net->nodes[i].is_host)
			continue;
		for (size_t k = 0; k < net->node_count; k++) {
			if (net->nodes[k].is_host && neighbour_of(net, k) == at) {
				mine += k < i;
				siblings++;
			}
		}
		angle = atan2(places[at].y - cy, places[at].x - cx) +
			((double)mine - (siblings - 1) / 2.0) * 0.28;
		places[i] = (struct place){cx + 200 * cos(angle), cy + 200 * sin(angle), switches};
	}
}

static void draw_link(FILE *out, const struct roce_chart_network *net,
		      const struct roce_chart_link *link, const struct place *places)
{
	unsigned int heat = (unsigned int)(fmin(fmax(link->heat, 0), 1) * (HEAT_STEPS - 1) + 0.5);

	fprintf(out,
		"<line class=\"link h%u%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
		"y2=\"%.1f\"><title>",
		heat, link->is_paused ? " paused" : "", places[link->a].x, places[link->a].y,
		places[link->b].x, places[link->b].y);
	roce_page_text(out, net->nodes[link->a].name);
	fputs(" - ", out);
	roce_page_text(out, net->nodes[link->b].name);
	if (link->note) {
		fputs(": ", out);
		roce_page_text(out, link->note);
	}
	fputs("</title></line>\n", out);
}

static void draw_node(FILE *out, const struct roce_chart_node *node, const struct place *place)
{
	bool is_named = place->row_count <= NAMES_AT_MOST;
	double size = place->row_count > 64 ? 2.5 : node->is_host ? 5 : 8;

	if (node->is_host)
		fprintf(out, "<circle class=\"host\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\">", place->x,
			place->y, size);
	else
		fprintf(out,
			"<rect class=\"switch\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
			"height=\"%.1f\" rx=\"2\">",
			place->x - size, place->y - size * 0.7, size * 2, size * 1.4);
	fputs("<title>", out);
	roce_page_text(out, node->name);
	fputs(node->is_host ? "</title></circle>" : "</title></rect>", out);
	if (is_named) {
		fprintf(out, "<text class=\"node\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">",
			place->x, node->is_host ? place->y + 18 : place->y - 10);
		roce_page_text(out, node->name);
		fputs("</text>", out);
	}
	fputc('\n', out);
}

static void heat_legend(FILE *out)
{
	static const char *const names[HEAT_STEPS] = {"idle", "25%", "50%", "75%", "full"};

	fputs("<ul class=\"legend\">", out);
	for (unsigned int i = 0; i < HEAT_STEPS; i++)
		fprintf(out, "<li class=\"h%u\">%s</li>", i, names[i]);
	fputs("<li class=\"broken\">paused by PFC</li></ul>\n", out);
}

void roce_chart_network(FILE *out, const struct roce_chart_network *net)
{
	double height =
		net->is_ring ? RING_HEIGHT : 2 * MARGIN + 10 + RANK_HEIGHT * (rank_count(net) - 1);
	struct place *places = calloc(net->node_count + 1, sizeof(*places));

	if (!places) {
		roce_page_message(out, ROCE_TONE_BAD, "out of memory for the network's picture");
		return;
	}
	if (net->is_ring)
		place_on_circle(net, places);
	else
		place_in_rows(net, places, height);
	roce_svg_begin(out, net->title, WIDTH, height);
	for (unsigned int heat = 0; heat < HEAT_STEPS; heat++) {
		for (size_t i = 0; i < net->link_count; i++) {
			double h = fmin(fmax(net->links[i].heat, 0), 1) * (HEAT_STEPS - 1) + 0.5;

			if ((unsigned int)h == heat)
				draw_link(out, net, &net->links[i], places);
		}
	}
	for (size_t i = 0; i < net->node_count; i++)
		draw_node(out, &net->nodes[i], &places[i]);
	roce_svg_end(out);
	heat_legend(out);
	roce_svg_figure_end(out);
	free(places);
}
