/* SPDX-License-Identifier: BSD-2-Clause */
/* The network as a picture, with its busy links, or those of a deadlock. */
#include "record/page.h"

#include "report/chart.h"
#include "report/page.h"

#include <math.h>
#include <stdlib.h>

#define PICTURE_NODES 1500u

/* Hosts are 0; a switch is one above its nearest host. */
static void find_ranks(const struct roce_record *r, struct roce_chart_node *nodes)
{
	bool has_changed = true;

	for (uint32_t i = 0; i < r->node_count; i++) {
		nodes[i] = (struct roce_chart_node){r->names[i], UINT32_MAX, false};
		if (roce_fabric_is_host(r->fabric, i))
			nodes[i] = (struct roce_chart_node){r->names[i], 0, true};
	}
	for (uint32_t rank = 0; has_changed; rank++) {
		has_changed = false;
		for (uint32_t i = 0; i < r->node_count; i++) {
			for (uint32_t p = 0;
			     nodes[i].rank == rank && p < roce_fabric_port_count(r->fabric, i);
			     p++) {
				struct roce_fabric_port_view view;

				(void)roce_fabric_port_view(r->fabric, i, p, &view);
				if (nodes[view.peer_node].rank == UINT32_MAX) {
					nodes[view.peer_node].rank = rank + 1;
					has_changed = true;
				}
			}
		}
	}
	for (uint32_t i = 0; i < r->node_count; i++) {
		if (nodes[i].rank == UINT32_MAX)
			nodes[i].rank = 0; /* no host hangs anywhere near */
	}
}

/* All switches have hosts and there are many: a ring, a mesh, a dragonfly. */
static bool is_flat(const struct roce_chart_node *nodes, uint32_t count)
{
	uint32_t switches = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (nodes[i].rank > 1)
			return false;
		switches += !nodes[i].is_host;
	}
	return switches > 2;
}

/* Links of a deadlock stand out, idle as they are. */
static bool is_in_cycle(const struct roce_record *r, uint32_t node, uint32_t port)
{
	for (uint32_t i = 0; i < r->cycle_count; i++) {
		if (r->cycle[i].node == node && r->cycle[i].port == port)
			return true;
	}
	return false;
}

static void draw_network(const struct roce_record *r, struct roce_chart_node *nodes,
			 struct roce_chart_link *links, char (*notes)[64], FILE *out)
{
	struct roce_chart_network net = {.title = "Busy links (mean of the run, busier direction)",
					 .nodes = nodes,
					 .node_count = r->node_count,
					 .links = links};

	find_ranks(r, nodes);
	for (uint32_t i = 0; i < roce_record_port_total(r); i++) {
		struct roce_record_port at = roce_record_port_at(r, i);
		struct roce_chart_link *link = &links[net.link_count];
		struct roce_fabric_port_view view;
		uint32_t peer;
		double there, back;

		roce_page_view(r, i, &view);
		peer = roce_record_port_index(r, view.peer_node, view.peer_port);
		if (peer < i)
			continue; /* the other end has drawn it */
		there = roce_page_busyness(r, i);
		back = roce_page_busyness(r, peer);
		snprintf(notes[net.link_count], sizeof(notes[0]), "%.0f%% and %.0f%% busy%s",
			 there * 100, back * 100, view.is_up ? "" : ", down");
		*link = (struct roce_chart_link){
			at.node, view.peer_node,
			is_in_cycle(r, at.node, at.port) ||
					is_in_cycle(r, view.peer_node, view.peer_port)
				? 1
				: fmax(there, back),
			roce_page_paused_seconds(r, i) > 0 || roce_page_paused_seconds(r, peer) > 0,
			notes[net.link_count]};
		net.link_count++;
	}
	if (r->cycle_count)
		net.title = "Links that wait for each other, coloured as full ones";
	net.is_ring = is_flat(nodes, r->node_count);
	roce_chart_network(out, &net);
}

void roce_page_links(const struct roce_record *r, FILE *out)
{
	uint32_t ports = roce_record_port_total(r);
	struct roce_chart_node *nodes;
	struct roce_chart_link *links;
	char(*notes)[64];

	roce_page_section(out, "network", "Network", NULL);
	if (r->node_count > PICTURE_NODES) {
		roce_page_message(out, ROCE_TONE_PLAIN,
				  "The network is too large for a picture; the busiest ports are "
				  "listed below.");
		return;
	}
	nodes = calloc((size_t)r->node_count + 1, sizeof(*nodes));
	links = calloc((size_t)ports + 1, sizeof(*links));
	notes = calloc((size_t)ports + 1, sizeof(*notes));
	if (nodes && links && notes)
		draw_network(r, nodes, links, notes, out);
	else
		roce_page_message(out, ROCE_TONE_BAD, "out of memory for the network's picture");
	free(nodes);
	free(links);
	free(notes);
}
