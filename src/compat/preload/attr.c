/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The layout is the kernel's (Linux Soft-RoCE's, for what a real card adds as well). Entries of the
 * GID table without an address are there and zero, but have no type and no netdev.
 *
 * counters/ has the names of the InfiniBand port counters: octets there are counted in words of
 * four. hw_counters/ has everything that `uroce counters` prints, under the same names.
 */
#include "compat/preload/attr.h"

#include "base/bytes.h"
#include "compat/preload/port_speed.h"
#include "verbs/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define GID_TEXT_MAX 40
#define PORT	     "ports/1/"

struct emitter {
	roce_attr_fn *each;
	void *ctx;
};

static __attribute__((format(printf, 4, 5))) void
emit(const struct emitter *e, enum roce_attr_kind kind, const char *path, const char *format, ...)
{
	char text[PATH_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	e->each(e->ctx, kind, path, text);
}

static void emit_counter(const struct emitter *e, const char *dir, const char *name, uint64_t value)
{
	char path[128];

	snprintf(path, sizeof(path), PORT "%s/%s", dir, name);
	emit(e, ROCE_ATTR_COUNTER, path, "%" PRIu64, value);
}

/* ---- the device ---- */

static void emit_identity(const struct emitter *e, const struct roce_attr_device *d)
{
	char guid_text[20];
	uint8_t g[8];

	roce_netdev_guid(d->netdev, g);
	snprintf(guid_text, sizeof(guid_text), "%04x:%04x:%04x:%04x", roce_get_be16(g),
		 roce_get_be16(g + 2), roce_get_be16(g + 4), roce_get_be16(g + 6));
	emit(e, ROCE_ATTR_FILE, "node_guid", "%s", guid_text);
	emit(e, ROCE_ATTR_FILE, "sys_image_guid", "%s", guid_text);
	emit(e, ROCE_ATTR_FILE, "node_type", "1: CA");
	emit(e, ROCE_ATTR_FILE, "node_desc", "uroce %s", d->netdev->name);
	emit(e, ROCE_ATTR_FILE, "parent", "%s", d->netdev->name);
	emit(e, ROCE_ATTR_FILE, "fw_ver", UROCE_VERSION);
	emit(e, ROCE_ATTR_FILE, "hw_rev", "0");
	emit(e, ROCE_ATTR_FILE, "hca_type", "uroce");
	emit(e, ROCE_ATTR_FILE, "board_id", "uroce");
	emit(e, ROCE_ATTR_FILE, "uevent", "NAME=%s", d->name);
}

/* The bits of all processors, highest word first. */
static void emit_processors(const struct emitter *e)
{
	long count = sysconf(_SC_NPROCESSORS_CONF);
	char text[512] = "";
	size_t at = 0;

	if (count < 1)
		count = 1;
	for (long word = (count - 1) / 32; word >= 0 && at < sizeof(text) - 16; word--) {
		long bits = count - word * 32;
		uint32_t mask = bits >= 32 ? UINT32_MAX : (UINT32_C(1) << bits) - 1;

		at += (size_t)snprintf(text + at, sizeof(text) - at, "%08x%s", mask,
				       word ? "," : "");
	}
	emit(e, ROCE_ATTR_FILE, "device/local_cpus", "%s", text);
	if (count == 1)
		emit(e, ROCE_ATTR_FILE, "device/local_cpulist", "0");
	else
		emit(e, ROCE_ATTR_FILE, "device/local_cpulist", "0-%ld", count - 1);
}

/*
 * `device` leads to the network device's own, where that is a device on a bus (with a place among
 * the processors); a virtual one gets a directory with what programs ask for.
 */
static void emit_parent_device(const struct emitter *e, const struct roce_attr_device *d)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/sys/class/net/%s/device/numa_node", d->netdev->name);
	if (access(path, R_OK) == 0) {
		emit(e, ROCE_ATTR_LINK, "device", "/sys/class/net/%s/device", d->netdev->name);
		return;
	}
	snprintf(path, sizeof(path), "device/net/%s", d->netdev->name);
	emit(e, ROCE_ATTR_LINK, path, "/sys/class/net/%s", d->netdev->name);
	snprintf(path, sizeof(path), "device/infiniband/%s", d->name);
	emit(e, ROCE_ATTR_LINK, path, "../../../%s", d->name);
	snprintf(path, sizeof(path), "device/infiniband_verbs/uverbs%u",
		 roce_netdev_index(d->netdev));
	emit(e, ROCE_ATTR_LINK, path, "../../../../infiniband_verbs/uverbs%u",
	     roce_netdev_index(d->netdev));
	emit(e, ROCE_ATTR_FILE, "device/numa_node", "-1");
	emit(e, ROCE_ATTR_FILE, "device/vendor", "0xffff");
	emit(e, ROCE_ATTR_FILE, "device/device", "0x0000");
	emit(e, ROCE_ATTR_FILE, "device/subsystem_vendor", "0xffff");
	emit(e, ROCE_ATTR_FILE, "device/subsystem_device", "0x0000");
	emit(e, ROCE_ATTR_FILE, "device/class", "0x020000");
	emit(e, ROCE_ATTR_FILE, "device/uevent", "DRIVER=uroce");
	emit_processors(e);
}

/* ---- the port ---- */

static void emit_port(const struct emitter *e, const struct roce_netdev *nd)
{
	emit(e, ROCE_ATTR_FILE, PORT "state", "%s", nd->is_up ? "4: ACTIVE" : "1: DOWN");
	emit(e, ROCE_ATTR_FILE, PORT "phys_state", "%s", nd->is_up ? "5: LinkUp" : "3: Disabled");
	emit(e, ROCE_ATTR_FILE, PORT "link_layer", "Ethernet");
	emit(e, ROCE_ATTR_FILE, PORT "rate", "%s", roce_port_speed(nd->speed_mbps)->text);
	emit(e, ROCE_ATTR_FILE, PORT "lid", "0x0");
	emit(e, ROCE_ATTR_FILE, PORT "lid_mask_count", "0");
	emit(e, ROCE_ATTR_FILE, PORT "sm_lid", "0x0");
	emit(e, ROCE_ATTR_FILE, PORT "sm_sl", "0");
	emit(e, ROCE_ATTR_FILE, PORT "cap_mask", "0x%08x",
	     IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS);
	emit(e, ROCE_ATTR_FILE, PORT "pkeys/0", "0xffff");
}

static void gid_str(const struct roce_gid *gid, char out[GID_TEXT_MAX])
{
	for (int i = 0; i < 8; i++)
		snprintf(out + i * 5, 6, "%02x%02x%s", gid->raw[2 * i], gid->raw[2 * i + 1],
			 i < 7 ? ":" : "");
}

static void emit_gids(const struct emitter *e, const struct roce_netdev *nd)
{
	static const struct roce_gid none;
	char text[GID_TEXT_MAX];
	char path[64];

	for (uint32_t i = 0; i < nd->gid_count || i < ROCE_GID_TABLE; i++) {
		bool is_set = i < nd->gid_count;

		gid_str(is_set ? &nd->gids[i] : &none, text);
		snprintf(path, sizeof(path), PORT "gids/%u", i);
		emit(e, is_set ? ROCE_ATTR_FILE : ROCE_ATTR_EMPTY_GID, path, "%s", text);
		if (!is_set)
			continue;
		snprintf(path, sizeof(path), PORT "gid_attrs/types/%u", i);
		emit(e, ROCE_ATTR_FILE, path, "RoCE v2");
		snprintf(path, sizeof(path), PORT "gid_attrs/ndevs/%u", i);
		emit(e, ROCE_ATTR_FILE, path, "%s", nd->name);
	}
}

/* ---- counters ---- */

static void emit_port_counters(const struct emitter *e, const struct roce_shared_counters *c)
{
	static const char *const always_zero[] = {
		"VL15_dropped",
		"excessive_buffer_overrun_errors",
		"link_downed",
		"link_error_recovery",
		"local_link_integrity_errors",
		"multicast_rcv_packets",
		"multicast_xmit_packets",
		"port_rcv_constraint_errors",
		"port_rcv_remote_physical_errors",
		"port_rcv_switch_relay_errors",
		"port_xmit_constraint_errors",
		"symbol_error",
	};
	const uint64_t *v = c->transport.v;

	for (size_t i = 0; i < sizeof(always_zero) / sizeof(always_zero[0]); i++)
		emit_counter(e, "counters", always_zero[i], 0);
	emit_counter(e, "counters", "port_xmit_data", v[ROCE_STAT_TX_BYTES] / 4);
	emit_counter(e, "counters", "port_rcv_data", v[ROCE_STAT_RX_BYTES] / 4);
	emit_counter(e, "counters", "port_xmit_packets", c->pktio.tx_packets);
	emit_counter(e, "counters", "port_rcv_packets", c->pktio.rx_packets);
	emit_counter(e, "counters", "unicast_xmit_packets", c->pktio.tx_packets);
	emit_counter(e, "counters", "unicast_rcv_packets", c->pktio.rx_packets);
	emit_counter(e, "counters", "port_xmit_wait", v[ROCE_STAT_WINDOW_BLOCKED]);
	emit_counter(e, "counters", "port_xmit_discards", c->pktio.tx_dropped);
	emit_counter(e, "counters", "port_rcv_errors",
		     c->engine.rx_bad_icrc + c->engine.rx_too_short + c->pktio.rx_truncated);
}

static void emit_hw_counter(void *emitter, const char *name, uint64_t value)
{
	emit_counter(emitter, "hw_counters", name, value);
}

/* ---- interface ---- */

void roce_attr_each(const struct roce_attr_device *d, roce_attr_fn *each, void *ctx)
{
	struct emitter e = {each, ctx};

	emit_identity(&e, d);
	emit_parent_device(&e, d);
	emit_port(&e, d->netdev);
	emit_gids(&e, d->netdev);
	emit_port_counters(&e, d->counters);
	roce_shared_counters_each(d->counters, emit_hw_counter, &e);
}

struct reading {
	const char *path;
	char *out;
	size_t size;
	int result;
};

static void keep_if_wanted(void *ctx, enum roce_attr_kind kind, const char *path, const char *text)
{
	struct reading *r = ctx;
	size_t length = strlen(text);

	if (kind == ROCE_ATTR_LINK || strcmp(path, r->path) != 0)
		return;
	r->result = -ENOSPC;
	if (length < r->size) {
		memcpy(r->out, text, length + 1);
		r->result = (int)length;
	}
}

int roce_attr_read(const struct roce_attr_device *d, const char *path, char *out, size_t size)
{
	struct reading r = {path, out, size, -ENOENT};

	roce_attr_each(d, keep_if_wanted, &r);
	return r.result;
}
