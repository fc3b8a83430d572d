/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `uroce devices`: what a program would find, read from the network devices as the engine reads
 * them; no device is opened and no port taken. The JSON form always has everything; its fields keep
 * their names and meaning, new ones may be added.
 */
#include "tools/command.h"
#include "tools/names.h"
#include "tools/json.h"

#include "control/address.h"
#include "engine/facts.h"
#include "engine/netdev.h"
#include "wire/mtu.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#define GID_TYPE "RoCE v2"

static void address_str(const struct roce_gid *gid, char out[ROCE_ADDRESS_TEXT_MAX])
{
	const struct roce_address address = {.gid = *gid};

	roce_address_str(&address, out, ROCE_ADDRESS_TEXT_MAX);
}

static void gid_str(const struct roce_gid *gid, char out[40])
{
	for (int i = 0; i < 8; i++)
		snprintf(out + i * 5, 6, "%02x%02x%s", gid->raw[2 * i], gid->raw[2 * i + 1],
			 i < 7 ? ":" : "");
}

static uint32_t roce_mtu(const struct roce_netdev *dev)
{
	return roce_mtu_bytes(roce_mtu_enum_from_netdev(dev->mtu));
}

static void print_speed(uint32_t mbps)
{
	if (!mbps)
		printf("-\n");
	else if (mbps % 1000)
		printf("%u Mb/s\n", mbps);
	else
		printf("%u Gb/s\n", mbps / 1000);
}

static void print_device(const struct roce_netdev *dev)
{
	char name[ROCE_DEVICE_NAME_MAX];
	char address[ROCE_ADDRESS_TEXT_MAX];

	roce_netdev_device_name(dev->name, name);
	printf("%-20s %-15s %-6s %6u %9u  ", name, dev->name, dev->is_up ? "up" : "down", dev->mtu,
	       roce_mtu(dev));
	print_speed(dev->speed_mbps);
	for (uint32_t i = 0; i < dev->gid_count; i++) {
		address_str(&dev->gids[i], address);
		printf("    GID %-3u " GID_TYPE "  %s\n", i, address);
	}
}

static void print_facts(const struct roce_engine_facts *facts)
{
	struct utsname kernel = {0};

	uname(&kernel);
	printf("\nin force\n");
	printf("    %-34s %s\n", "kernel", kernel.release);
	printf("    %-34s %s\n", "backend", facts->backend);
#define X(field, label) printf("    %-34s %s\n", label, facts->field);
	ROCE_ENGINE_FACTS(X)
#undef X
	printf("    %-34s %u\n", "packets in a batch, at most", facts->batch_packets_max);
	printf("    %-34s %u bytes\n", "receive buffer", facts->receive_buffer_bytes);
}

static void print_others(const struct roce_netdev *devs, uint32_t count)
{
	if (count)
		printf("\nno devices\n");
	for (uint32_t i = 0; i < count; i++)
		printf("    %-34s %s\n", devs[i].name, roce_netdev_lack_str(devs[i].lack));
}

/* `others` interfaces behind the devices are none. */
static void print_table(const struct roce_netdev *devs, uint32_t count, uint32_t others,
			bool verbose)
{
	struct roce_engine_facts facts;

	printf("%-20s %-15s %-6s %6s %9s  %s\n", "DEVICE", "INTERFACE", "STATE", "MTU", "RoCE MTU",
	       "SPEED");
	for (uint32_t i = 0; i < count; i++)
		print_device(&devs[i]);
	if (verbose) {
		print_others(devs + count, others);
		roce_engine_facts_read(&facts);
		print_facts(&facts);
	}
}

static void print_json_field(const char *name, const char *value)
{
	printf("\"%s\": ", name);
	roce_json_print_string(value);
}

static void print_json_device(const struct roce_netdev *dev, const char *backend)
{
	char name[ROCE_DEVICE_NAME_MAX];
	char text[ROCE_ADDRESS_TEXT_MAX];

	roce_netdev_device_name(dev->name, name);
	printf("    {");
	print_json_field("name", name);
	printf(", ");
	print_json_field("interface", dev->name);
	printf(", \"ifindex\": %u, \"state\": \"%s\", \"mtu\": %u, \"roce_mtu\": %u, "
	       "\"speed_mbps\": %u, \"mac\": \"%02x:%02x:%02x:%02x:%02x:%02x\", \"backend\": "
	       "\"%s\",\n     \"gids\": [",
	       dev->ifindex, dev->is_up ? "up" : "down", dev->mtu, roce_mtu(dev), dev->speed_mbps,
	       dev->mac[0], dev->mac[1], dev->mac[2], dev->mac[3], dev->mac[4], dev->mac[5],
	       backend);
	for (uint32_t i = 0; i < dev->gid_count; i++) {
		address_str(&dev->gids[i], text);
		printf("%s\n      {\"index\": %u, \"type\": \"" GID_TYPE "\", \"address\": \"%s\"",
		       i ? "," : "", i, text);
		gid_str(&dev->gids[i], text);
		printf(", \"gid\": \"%s\"}", text);
	}
	printf("]}");
}

static void print_json(const struct roce_netdev *devs, uint32_t count, uint32_t others)
{
	struct roce_engine_facts facts;
	struct utsname kernel = {0};

	uname(&kernel);
	roce_engine_facts_read(&facts);
	printf("{\"version\": \"" UROCE_VERSION "\",\n \"in_force\": {");
	print_json_field("kernel", kernel.release);
#define X(field, label) \
	printf(", ");   \
	print_json_field(#field, facts.field);
	ROCE_ENGINE_FACTS(X)
#undef X
	printf(", \"batch_packets_max\": %u, \"receive_buffer_bytes\": %u},\n \"devices\": [",
	       facts.batch_packets_max, facts.receive_buffer_bytes);
	for (uint32_t i = 0; i < count; i++) {
		printf("%s\n", i ? "," : "");
		print_json_device(&devs[i], facts.backend);
	}
	printf("],\n \"no_devices\": [");
	for (uint32_t i = 0; i < others; i++) {
		printf("%s\n    {", i ? "," : "");
		print_json_field("interface", devs[count + i].name);
		printf(", ");
		print_json_field("reason", roce_netdev_lack_str(devs[count + i].lack));
		printf("}");
	}
	printf("]}\n");
}

static int list_devices(bool json, bool verbose)
{
	struct roce_netdev_source *source;
	struct roce_netdev *devs = NULL;
	uint32_t all = 0;
	uint32_t count = 0;
	int rc = roce_netdev_source_open(&source);

	if (!rc) {
		rc = roce_netdev_list_all(source, &devs, &all);
		roce_netdev_source_close(source);
	}
	if (rc) {
		fprintf(stderr, "uroce devices: cannot read the network interfaces: %s\n",
			strerror(-rc));
		return ROCE_EXIT_FAILED;
	}
	while (count < all && !devs[count].lack)
		count++;
	if (json)
		print_json(devs, count, all - count);
	else if (count)
		print_table(devs, count, all - count, verbose);
	else if (verbose)
		print_others(devs, all);
	free(devs);
	if (!count) {
		fprintf(stderr, "uroce devices: no interface here is up and has an address and an "
				"MTU of at least 352 (ip link set lo up makes lo one)\n");
		return ROCE_EXIT_FAILED;
	}
	return ROCE_EXIT_OK;
}

int roce_cmd_devices(int argc, char **argv)
{
	static const struct option options[] = {
		{"verbose", no_argument, NULL, 'v'},
		{"json", no_argument, NULL, 'j'},
		{NULL, 0, NULL, 0},
	};
	bool verbose = false;
	bool json = false;
	char err[256];
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "v", options, NULL)) != -1) {
		if (c == 'v')
			verbose = true;
		else if (c == 'j')
			json = true;
		else
			return roce_usage_error("devices", "no option %s", argv[optind - 1]);
	}
	if (optind < argc)
		return roce_usage_error("devices", "takes no argument, got %s", argv[optind]);
	if (roce_names_check(getenv("UROCE_NAME"), err, sizeof(err)))
		fprintf(stderr, "uroce devices: %s\n", err);
	return list_devices(json, verbose);
}
