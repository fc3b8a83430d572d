/* SPDX-License-Identifier: BSD-2-Clause */
/* Choosing a device and its address. */
#include "verify/agent/device.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#define RANK_LIKED 10

static bool is_ipv4(const union ibv_gid *gid)
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(gid->raw, prefix, sizeof(prefix)) == 0;
}

static bool is_link_local(const union ibv_gid *gid)
{
	return gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80;
}

static bool is_zero(const union ibv_gid *gid)
{
	return memcmp(gid, &(union ibv_gid){0}, sizeof(*gid)) == 0;
}

/* How much we like this address; 0: not at all. */
static int rank(const struct ibv_gid_entry *entry, enum va_family family)
{
	if (entry->gid_type != IBV_GID_TYPE_ROCE_V2 || is_zero(&entry->gid))
		return 0;
	if (is_ipv4(&entry->gid))
		return family == VA_IPV6 ? 0 : 3;
	if (family == VA_IPV4)
		return 0;
	return is_link_local(&entry->gid) ? 1 : 2;
}

static bool choose_gid(struct ibv_context *context, uint8_t port, int length, enum va_family family,
		       const union ibv_gid *liked, struct ibv_gid_entry *out)
{
	int best = 0;

	for (int i = 0; i < length && i < 256; i++) {
		struct ibv_gid_entry entry;
		int its;

		if (ibv_query_gid_ex(context, port, (uint32_t)i, &entry, 0))
			continue;
		its = rank(&entry, family);
		if (its && liked && memcmp(&entry.gid, liked, sizeof(*liked)) == 0)
			its = RANK_LIKED;
		if (its > best) {
			best = its;
			*out = entry;
		}
	}
	return best > 0;
}

/* An address as text to a GID; false: there is none. */
static bool gid_of_address(const char *text, union ibv_gid *out)
{
	memset(out, 0, sizeof(*out));
	out->raw[10] = out->raw[11] = 0xff;
	return inet_pton(AF_INET, text, out->raw + 12) == 1 ||
	       inet_pton(AF_INET6, text, out->raw) == 1;
}

static bool has_gid(struct ibv_context *context, uint8_t port, const union ibv_gid *gid)
{
	struct ibv_port_attr attr;
	union ibv_gid its;

	if (ibv_query_port(context, port, &attr))
		return false;
	for (int i = 0; i < attr.gid_tbl_len && i < 256; i++) {
		if (!ibv_query_gid(context, port, i, &its) && memcmp(&its, gid, sizeof(its)) == 0)
			return true;
	}
	return false;
}

static uint32_t mtu_in_bytes(enum ibv_mtu mtu)
{
	return 128u << (unsigned int)mtu;
}

static void set_address(struct va_device *device, const struct ibv_gid_entry *entry)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&device->address;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&device->address;

	memset(&device->address, 0, sizeof(device->address));
	if (is_ipv4(&entry->gid)) {
		in->sin_family = AF_INET;
		memcpy(&in->sin_addr, entry->gid.raw + 12, 4);
		device->address_size = sizeof(*in);
		return;
	}
	in6->sin6_family = AF_INET6;
	memcpy(&in6->sin6_addr, entry->gid.raw, 16);
	if (is_link_local(&entry->gid))
		in6->sin6_scope_id = entry->ndev_ifindex;
	device->address_size = sizeof(*in6);
}

static uint8_t wanted_port(const json_t *where)
{
	uint8_t port = (uint8_t)roce_json_integer(where, "port");

	return port ? port : 1;
}

/* Whether a case can run on it; else `why` says why not. */
static bool take(const json_t *where, struct ibv_context *context, enum va_family family,
		 struct va_device *out, char *why, size_t why_size)
{
	union ibv_gid address;
	bool is_liked = gid_of_address(roce_json_text(where, "address"), &address);
	const json_t *wanted = json_object_get(where, "gid_index");
	const char *name = ibv_get_device_name(context->device);
	struct ibv_gid_entry entry;
	uint8_t port = wanted_port(where);

	if (ibv_query_device(context, &out->attr) ||
	    ibv_query_port(context, port, &out->port_attr)) {
		snprintf(why, why_size, "%s has no port %u", name, port);
		return false;
	}
	if (out->port_attr.state != IBV_PORT_ACTIVE) {
		snprintf(why, why_size, "port %u of %s is %s", port, name,
			 ibv_port_state_str(out->port_attr.state));
		return false;
	}
	if (wanted && family == VA_ANY_FAMILY) {
		uint32_t index = (uint32_t)json_integer_value(wanted);

		if (ibv_query_gid_ex(context, port, index, &entry, 0) || is_zero(&entry.gid)) {
			snprintf(why, why_size, "%s has no GID %u", name, index);
			return false;
		}
	} else if (!choose_gid(context, port, out->port_attr.gid_tbl_len, family,
			       is_liked ? &address : NULL, &entry)) {
		snprintf(why, why_size, "%s has no RoCEv2 address%s", name,
			 family == VA_IPV4   ? " of IPv4"
			 : family == VA_IPV6 ? " of IPv6"
					     : "");
		return false;
	}
	out->context = context;
	out->port = port;
	out->gid_index = (uint8_t)entry.gid_index;
	out->gid = entry.gid;
	out->mtu_bytes = mtu_in_bytes(out->port_attr.active_mtu);
	set_address(out, &entry);
	return true;
}

/* `address`: only a device that has it; NULL: any. True: `out` is one. */
static bool open_first(const json_t *where, struct ibv_device **list, const union ibv_gid *address,
		       struct va_device *out, char *why, size_t why_size)
{
	const char *wanted = roce_json_text(where, "device");

	for (int i = 0; list[i]; i++) {
		struct ibv_context *context;

		if (*wanted && strcmp(ibv_get_device_name(list[i]), wanted) != 0)
			continue;
		context = ibv_open_device(list[i]);
		if (!context)
			snprintf(why, why_size, "%s does not open: %s",
				 ibv_get_device_name(list[i]), strerror(errno));
		else if ((!address || has_gid(context, wanted_port(where), address)) &&
			 take(where, context, VA_ANY_FAMILY, out, why, why_size))
			return true;
		else
			(void)ibv_close_device(context);
	}
	return false;
}

static void say_what_there_is(struct ibv_device **list, const char *wanted, char *why,
			      size_t why_size)
{
	size_t used =
		(size_t)snprintf(why, why_size, "no verbs device%s%s", *wanted ? " " : "", wanted);

	for (int i = 0; list[i] && used < why_size; i++)
		used += (size_t)snprintf(why + used, why_size - used, "%s %s",
					 i ? "," : "; there are", ibv_get_device_name(list[i]));
}

/* The family does not decide which device it is: another one may have it, and lead elsewhere. */
bool va_device_find(const json_t *where, enum va_family family, struct va_device *out, char *why,
		    size_t why_size)
{
	const char *wanted = roce_json_text(where, "device");
	struct ibv_device **list = ibv_get_device_list(NULL);
	union ibv_gid address;
	bool is_found;

	*out = (struct va_device){0};
	*why = '\0';
	if (!list) {
		snprintf(why, why_size, "ibv_get_device_list: %s", strerror(errno));
		return false;
	}
	is_found = !*wanted && gid_of_address(roce_json_text(where, "address"), &address) &&
		   open_first(where, list, &address, out, why, why_size);
	if (!is_found)
		is_found = open_first(where, list, NULL, out, why, why_size);
	if (!is_found && !*why)
		say_what_there_is(list, wanted, why, why_size);
	ibv_free_device_list(list);
	if (!is_found || family == VA_ANY_FAMILY ||
	    take(where, out->context, family, out, why, why_size))
		return is_found;
	(void)ibv_close_device(out->context);
	return false;
}

void va_device_open(struct va_run *run, enum va_family family, struct va_device *out)
{
	char why[200];

	if (!va_device_find(run->where, family, out, why, sizeof(why))) {
		if (family != VA_ANY_FAMILY)
			va_skip(run, "%s", why);
		va_fail(run, "%s", why);
	}
	out->pd = ibv_alloc_pd(out->context);
	va_need(run, out->pd != NULL, "ibv_alloc_pd");
}

void va_device_close(struct va_run *run, struct va_device *device)
{
	int rc = ibv_dealloc_pd(device->pd);

	if (rc)
		va_fail(run, "ibv_dealloc_pd: %s", strerror(rc));
	rc = ibv_close_device(device->context);
	if (rc)
		va_fail(run, "ibv_close_device: %s", strerror(rc));
}

json_t *va_device_describe(const struct va_device *device)
{
	char gid[INET6_ADDRSTRLEN] = "";

	inet_ntop(AF_INET6, device->gid.raw, gid, sizeof(gid));
	return json_pack("{s:s, s:i, s:i, s:s, s:i}", "device",
			 ibv_get_device_name(device->context->device), "port", device->port,
			 "gid_index", device->gid_index, "gid", gid, "port_mtu",
			 (int)device->mtu_bytes);
}

void va_device_report(struct va_run *run, const struct va_device *device)
{
	va_detail(run, "path", va_device_describe(device));
}
