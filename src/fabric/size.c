/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What networks and flows take, before they are made: at least, so that whoever refuses one for it
 * is right. Frames in queues come on top while it runs.
 */
#include "fabric/flow_state.h"

#define DEVICE_BYTES 4096u /* tables of a device that has few queue pairs */

uint64_t roce_fabric_size_bytes(const struct roce_fabric_size *size)
{
	uint64_t routes = (size->hosts + 1) * sizeof(*((struct roce_fabric_switch *)0)->routes);

	return size->hosts * (sizeof(struct roce_fabric_host) + DEVICE_BYTES) +
	       size->switches * (sizeof(struct roce_fabric_switch) + routes) +
	       size->links *
		       (sizeof(struct roce_fabric_link) + 2 * sizeof(struct roce_fabric_port));
}

uint64_t roce_fabric_flow_bytes(const struct roce_fabric_flow_config *cfg)
{
	return sizeof(struct roce_fabric_flow) + cfg->after_count * 2 * sizeof(uint32_t);
}

uint64_t roce_fabric_flow_running_bytes(const struct roce_fabric_flow_config *cfg)
{
	return cfg->qp_count * sizeof(struct roce_fabric_flow_qp);
}
