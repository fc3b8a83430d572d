/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The list of devices: one for each usable network device of the caller's network namespace. A
 * struct ibv_device is made when its network device is first seen and never freed, so pointers stay
 * good after ibv_free_device_list() and the same device always has the same pointer.
 *
 * Listing asks netlink and touches no daemon, no socket on port 4791 and no other process.
 */
#include "compat/libibverbs/compat.h"

#include "compat/preload/surroundings.h"
#include "engine/netdev.h"

#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct roce_list known = {&known, &known};

/* ---- devices ---- */

static struct compat_device *find_device(const struct roce_netdev *nd, const char *name)
{
	struct roce_list *pos;

	roce_list_for_each (pos, &known) {
		struct compat_device *dev = roce_container_of(pos, struct compat_device, link);

		if (dev->ifindex == nd->ifindex && strcmp(dev->netdev, nd->name) == 0 &&
		    strcmp(dev->dev.name, name) == 0)
			return dev;
	}
	return NULL;
}

static struct compat_device *make_device(const struct roce_netdev *nd, const char *name)
{
	struct compat_device *dev = calloc(1, sizeof(*dev));

	if (!dev)
		return NULL;
	dev->index = roce_netdev_index(nd);
	dev->ifindex = nd->ifindex;
	dev->dev.node_type = IBV_NODE_CA;
	dev->dev.transport_type = IBV_TRANSPORT_IB;
	snprintf(dev->netdev, sizeof(dev->netdev), "%s", nd->name);
	snprintf(dev->dev.name, sizeof(dev->dev.name), "%s", name);
	snprintf(dev->dev.dev_name, sizeof(dev->dev.dev_name), "uverbs%u", dev->index);
	snprintf(dev->dev.dev_path, sizeof(dev->dev.dev_path), "/sys/class/infiniband_verbs/%s",
		 dev->dev.dev_name);
	snprintf(dev->dev.ibdev_path, sizeof(dev->dev.ibdev_path), "/sys/class/infiniband/%s",
		 dev->dev.name);
	roce_list_add_tail(&known, &dev->link);
	return dev;
}

static struct compat_device *get_device(const struct roce_netdev *nd)
{
	char name[ROCE_DEVICE_NAME_MAX];
	struct compat_device *dev;
	uint64_t guid;

	roce_netdev_device_name(nd->name, name);
	roce_netdev_guid(nd, (uint8_t *)&guid);
	dev = find_device(nd, name);
	if (!dev)
		dev = make_device(nd, name);
	if (dev)
		dev->guid_be = guid;
	return dev;
}

static int read_netdevs(struct roce_netdev **out, uint32_t *out_count)
{
	struct roce_netdev_source *src;
	int err = roce_netdev_source_open(&src);

	if (err)
		return err;
	err = roce_netdev_list(src, out, out_count);
	roce_netdev_source_close(src);
	return err;
}

struct ibv_device **ibv_get_device_list(int *num_devices)
{
	struct roce_netdev *netdevs = NULL;
	struct ibv_device **list = NULL;
	uint32_t count = 0;
	int err;

	if (num_devices)
		*num_devices = 0;
	roce_surroundings_patch();
	pthread_mutex_lock(&list_lock);
	err = read_netdevs(&netdevs, &count);
	if (!err) {
		list = calloc((size_t)count + 1, sizeof(struct ibv_device *));
		err = list ? 0 : -ENOMEM;
	}
	for (uint32_t i = 0; i < count && !err; i++) {
		struct compat_device *dev = get_device(&netdevs[i]);

		if (dev)
			list[i] = &dev->dev;
		else
			err = -ENOMEM;
	}
	pthread_mutex_unlock(&list_lock);
	free(netdevs);
	if (err) {
		free(list);
		return compat_null(err);
	}
	if (num_devices)
		*num_devices = (int)count;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
	return compat_device_of(device)->guid_be;
}

int ibv_get_device_index(struct ibv_device *device)
{
	return (int)compat_device_of(device)->index;
}
