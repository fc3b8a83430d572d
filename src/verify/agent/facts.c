/* SPDX-License-Identifier: BSD-2-Clause */
/* Asked once a run, in a process of its own, so that no library stays loaded with state. */
#include "verify/agent/facts.h"

#include "verify/agent/identity.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <infiniband/verbs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

static void read_line(const char *path, const char *begin, char *out, size_t size)
{
	FILE *f = fopen(path, "re");
	char line[512];

	*out = '\0';
	while (f && fgets(line, sizeof(line), f)) {
		const char *value = line + strlen(begin);

		if (strncmp(line, begin, strlen(begin)) != 0)
			continue;
		value += strspn(value, " \t:");
		snprintf(out, size, "%.*s", (int)strcspn(value, "\n"), value);
		break;
	}
	if (f)
		fclose(f);
}

static int count_nodes(void)
{
	DIR *dir = opendir("/sys/devices/system/node");
	const struct dirent *entry;
	int count = 0;

	while (dir && (entry = readdir(dir)))
		count += strncmp(entry->d_name, "node", 4) == 0 && entry->d_name[4] >= '0' &&
			 entry->d_name[4] <= '9';
	if (dir)
		closedir(dir);
	return count ? count : 1;
}

/* Of the first CPU; "": the machine does not say. */
static const char *governor(char *out, size_t size)
{
	read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "", out, size);
	return out;
}

/* Programs that ran or wanted to, in the last minute. */
static double load(void)
{
	double average;

	return getloadavg(&average, 1) == 1 ? average : 0;
}

/* Asked of the kernel: in a network namespace sysfs may show another's devices. */
static json_t *describe_netdev(uint32_t index)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ethtool_cmd settings = {.cmd = ETHTOOL_GSET};
	struct ethtool_drvinfo driver = {.cmd = ETHTOOL_GDRVINFO};
	struct ifreq request = {0};
	json_t *netdev;

	if (fd < 0 || !if_indextoname(index, request.ifr_name)) {
		if (fd >= 0)
			close(fd);
		return json_null();
	}
	netdev = json_pack("{s:s}", "name", request.ifr_name);
	if (ioctl(fd, SIOCGIFMTU, &request) == 0)
		json_object_set_new(netdev, "mtu", json_integer(request.ifr_mtu));
	request.ifr_data = (char *)&settings;
	if (ioctl(fd, SIOCETHTOOL, &request) == 0 &&
	    (int32_t)ethtool_cmd_speed(&settings) != SPEED_UNKNOWN)
		json_object_set_new(netdev, "speed_mbps",
				    json_integer(ethtool_cmd_speed(&settings)));
	request.ifr_data = (char *)&driver;
	if (ioctl(fd, SIOCETHTOOL, &request) == 0)
		json_object_set_new(
			netdev, "driver",
			json_stringn_nocheck(driver.driver,
					     strnlen(driver.driver, sizeof(driver.driver))));
	close(fd);
	return netdev;
}

static void add_gids(json_t *device, struct ibv_context *context, int count)
{
	json_t *gids = json_array();
	uint32_t ifindex = 0;

	for (int i = 0; i < count && i < 256; i++) {
		char text[INET6_ADDRSTRLEN];
		struct ibv_gid_entry entry;

		if (ibv_query_gid_ex(context, 1, (uint32_t)i, &entry, 0) ||
		    !inet_ntop(AF_INET6, entry.gid.raw, text, sizeof(text)))
			continue;
		ifindex = entry.ndev_ifindex;
		json_array_append_new(gids,
				      json_pack("{s:i, s:s, s:s}", "index", i, "gid", text, "type",
						entry.gid_type == IBV_GID_TYPE_ROCE_V2	 ? "RoCEv2"
						: entry.gid_type == IBV_GID_TYPE_ROCE_V1 ? "RoCEv1"
											 : "IB"));
	}
	json_object_set_new(device, "gids", gids);
	json_object_set_new(device, "netdev", describe_netdev(ifindex));
}

static json_t *describe(struct ibv_device *its)
{
	json_t *device = json_pack("{s:s}", "name", ibv_get_device_name(its));
	struct ibv_context *context = ibv_open_device(its);
	struct ibv_device_attr attr;
	struct ibv_port_attr port;

	if (!context)
		return device;
	if (!ibv_query_device(context, &attr)) {
		json_object_set_new(device, "firmware",
				    json_stringn_nocheck(attr.fw_ver, strnlen(attr.fw_ver, 64)));
		json_object_set_new(device, "vendor_id", json_integer(attr.vendor_id));
		json_object_set_new(device, "vendor_part_id", json_integer(attr.vendor_part_id));
		json_object_set_new(device, "max_qp", json_integer(attr.max_qp));
	}
	if (!ibv_query_port(context, 1, &port)) {
		json_object_set_new(device, "state", json_string(ibv_port_state_str(port.state)));
		json_object_set_new(device, "active_mtu",
				    json_integer(128 << (unsigned int)port.active_mtu));
		add_gids(device, context, port.gid_tbl_len);
	}
	(void)ibv_close_device(context);
	return device;
}

static json_t *describe_devices(void)
{
	json_t *devices = json_array();
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (int i = 0; list && list[i]; i++)
		json_array_append_new(devices, describe(list[i]));
	if (list)
		ibv_free_device_list(list);
	return devices;
}

json_t *va_facts(const json_t *where)
{
	char library[PATH_MAX] = "";
	struct utsname name;
	char cpu[256];
	char governed[64];
	Dl_info verbs = {0};

	(void)uname(&name);
	/* Without symbolic links: the file's name has the version. */
	if (dladdr((void *)(uintptr_t)ibv_get_device_list, &verbs))
		(void)!realpath(verbs.dli_fname, library);
	read_line("/proc/cpuinfo", "model name", cpu, sizeof(cpu));
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:f, s:I, s:i, s:I, s:s, s:o, s:o}", "host",
			 name.nodename, "system", name.sysname, "kernel", name.release, "cpu", cpu,
			 "governor", governor(governed, sizeof(governed)), "load", load(), "cpus",
			 (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "numa_nodes", count_nodes(),
			 "memory_bytes",
			 (json_int_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE), "libibverbs",
			 library, "devices", describe_devices(), "uses", va_identity(where));
}
