/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds and opens the device and chooses a GID. Each refusal says what was looked for and where.
 * Called once per side.
 */
#include "tools/verbs_check/device.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static enum vc_verdict open_context(struct vc_device *device, const char *name,
				    struct vc_report *report)
{
	struct ibv_device *found = NULL;
	char names[300] = "";
	size_t length = 0;
	int count = 0;
	struct ibv_device **list = ibv_get_device_list(&count);

	if (!list)
		return vc_report_unusable(
			report, "no verbs device on this machine (ibv_get_device_list: %s)",
			strerror(errno));
	for (int i = 0; i < count; i++) {
		const char *its = ibv_get_device_name(list[i]);

		if (!found && (!name || strcmp(its, name) == 0))
			found = list[i];
		if (length < sizeof(names))
			length += (size_t)snprintf(names + length, sizeof(names) - length, " %s",
						   its);
	}
	device->context = found ? ibv_open_device(found) : NULL;
	ibv_free_device_list(list);
	if (!found && !count)
		return vc_report_unusable(report, "no verbs device on this machine");
	if (!found)
		return vc_report_unusable(report, "no verbs device '%s'; there are:%s", name,
					  names);
	if (!device->context)
		return vc_report_unusable(report, "device %s does not open: %s",
					  name ? name : names, strerror(errno));
	return VC_RIGHT;
}

bool vc_gid_is_ipv4(const union ibv_gid *gid)
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(gid->raw, prefix, sizeof(prefix)) == 0;
}

/* RoCEv2 with IPv4, else RoCEv2 with a routable IPv6, else any RoCEv2, else index 0. */
static int choose_gid_index(const struct vc_device *device)
{
	int best = 0, best_rank = 0;

	for (int i = 0; i < device->port_attr.gid_tbl_len && i < 256; i++) {
		struct ibv_gid_entry entry;
		int rank = 1;

		if (ibv_query_gid_ex(device->context, device->port, (uint32_t)i, &entry, 0) ||
		    entry.gid_type != IBV_GID_TYPE_ROCE_V2)
			continue;
		if (vc_gid_is_ipv4(&entry.gid))
			rank = 3;
		else if (entry.gid.raw[0] != 0xfe)
			rank = 2;
		if (rank > best_rank) {
			best = i;
			best_rank = rank;
		}
	}
	return best;
}

enum vc_verdict vc_device_open(struct vc_device *device, const struct vc_options *options,
			       struct vc_report *report)
{
	enum vc_verdict verdict = open_context(device, options->device, report);
	const char *name;
	int error;

	if (verdict != VC_RIGHT)
		return verdict;
	name = ibv_get_device_name(device->context->device);
	device->port = options->port;
	error = ibv_query_device(device->context, &device->attr);
	if (!error)
		error = ibv_query_port(device->context, device->port, &device->port_attr);
	if (error)
		return vc_report_unusable(report, "%s port %u: %s", name, device->port,
					  strerror(error));
	if (device->port_attr.state != IBV_PORT_ACTIVE)
		return vc_report_unusable(report, "%s port %u is %s, not active", name,
					  device->port,
					  ibv_port_state_str(device->port_attr.state));
	device->gid_index =
		(uint8_t)(options->gid_index < 0 ? choose_gid_index(device) : options->gid_index);
	if (ibv_query_gid(device->context, device->port, device->gid_index, &device->gid))
		return vc_report_unusable(report, "%s port %u has no GID %u", name, device->port,
					  device->gid_index);
	if (memcmp(&device->gid, &(union ibv_gid){0}, sizeof(device->gid)) == 0)
		return vc_report_unusable(report, "GID %u of %s port %u is empty (--gid-index)",
					  device->gid_index, name, device->port);
	for (int i = 0; i < 2; i++) {
		device->pds[i] = ibv_alloc_pd(device->context);
		if (!device->pds[i])
			return vc_report_unusable(report, "ibv_alloc_pd: %s", strerror(errno));
	}
	/* Events are looked for in passing, never waited for here. */
	if (fcntl(device->context->async_fd, F_SETFL, O_NONBLOCK))
		return vc_report_unusable(report, "async_fd: %s", strerror(errno));
	return vc_device_probe(device, report);
}

void vc_device_close(struct vc_device *device)
{
	if (device->xrcd)
		(void)ibv_close_xrcd(device->xrcd);
	for (int i = 0; i < 2; i++)
		if (device->pds[i])
			(void)ibv_dealloc_pd(device->pds[i]);
	if (device->context)
		(void)ibv_close_device(device->context);
	*device = (struct vc_device){0};
}
