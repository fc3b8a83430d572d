/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Devices as ids share them: one context per device, open until the process ends, and one
 * protection domain and XRC domain while any id is bound to the device. An id is bound by the
 * interface that has its local address; the device's name follows from the interface's.
 */
#include "compat/librdmacm/rdmacm.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "engine/netdev.h"

static struct roce_list devices = {&devices, &devices};
static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER;

static int open_device(struct ibv_device *ibv, struct cm_device **out)
{
	struct cm_device *dev = calloc(1, sizeof(*dev));
	struct ibv_device_attr attr;
	int error;

	if (!dev)
		return -ENOMEM;
	dev->verbs = ibv_open_device(ibv);
	if (!dev->verbs) {
		error = errno ? -errno : -ENODEV;
		free(dev);
		return error;
	}
	error = ibv_query_device(dev->verbs, &attr);
	if (error) {
		ibv_close_device(dev->verbs);
		free(dev);
		return -error;
	}
	dev->max_qp_rd_atomic = (uint8_t)(attr.max_qp_rd_atom > 255 ? 255 : attr.max_qp_rd_atom);
	dev->max_qp_init_rd_atomic =
		(uint8_t)(attr.max_qp_init_rd_atom > 255 ? 255 : attr.max_qp_init_rd_atom);
	dev->ack_delay = attr.local_ca_ack_delay;
	roce_list_add_tail(&devices, &dev->link);
	*out = dev;
	return 0;
}

/* With devices_lock. */
static int get_device(struct ibv_device *ibv, struct cm_device **out)
{
	struct roce_list *pos;

	roce_list_for_each (pos, &devices) {
		struct cm_device *dev = roce_container_of(pos, struct cm_device, link);

		if (dev->verbs->device == ibv) {
			*out = dev;
			return 0;
		}
	}
	return open_device(ibv, out);
}

/* Its addresses say which interface a device belongs to; one that was made anew is another. */
static struct cm_device *find_open(uint32_t ifindex)
{
	struct ibv_gid_entry entries[ROCE_NETDEV_GIDS_MAX];
	struct roce_list *pos;

	roce_list_for_each (pos, &devices) {
		struct cm_device *dev = roce_container_of(pos, struct cm_device, link);

		if (ibv_query_gid_table(dev->verbs, entries, ROCE_NETDEV_GIDS_MAX, 0) > 0 &&
		    entries[0].ndev_ifindex == ifindex)
			return dev;
	}
	return NULL;
}

static int find_by_interface(uint32_t ifindex, struct cm_device **out)
{
	char netdev[IF_NAMESIZE], name[ROCE_DEVICE_NAME_MAX];
	struct ibv_device **list;
	int error = -ENODEV;

	*out = find_open(ifindex);
	if (*out)
		return 0;
	if (!if_indextoname(ifindex, netdev))
		return -ENODEV;
	roce_netdev_device_name(netdev, name);
	list = ibv_get_device_list(NULL);
	if (!list)
		return -errno;
	for (unsigned i = 0; list[i]; i++)
		if (strcmp(list[i]->name, name) == 0)
			error = get_device(list[i], out);
	ibv_free_device_list(list);
	return error;
}

static int hold_domain(struct cm_device *dev)
{
	if (!dev->pd)
		dev->pd = ibv_alloc_pd(dev->verbs);
	if (!dev->pd)
		return errno ? -errno : -ENOMEM;
	dev->use_count++;
	return 0;
}

/* Who hears of removals looks at it. */
static void set_device(struct cm_id *id, struct cm_device *dev, uint32_t ifindex)
{
	pthread_mutex_lock(&cm_lock);
	id->dev = dev;
	id->ifindex = ifindex;
	pthread_mutex_unlock(&cm_lock);
}

int cm_device_bind(struct cm_id *id, uint32_t ifindex)
{
	struct cm_device *dev = NULL;
	int error;

	if (id->dev)
		return 0;
	pthread_mutex_lock(&devices_lock);
	error = find_by_interface(ifindex, &dev);
	if (!error)
		error = hold_domain(dev);
	pthread_mutex_unlock(&devices_lock);
	if (error)
		return error;
	cm_removal_watch();
	set_device(id, dev, ifindex);
	id->id.verbs = dev->verbs;
	id->id.port_num = 1;
	if (!id->id.pd)
		id->id.pd = dev->pd;
	return 0;
}

void cm_device_unbind(struct cm_id *id)
{
	struct cm_device *dev = id->dev;

	if (!dev)
		return;
	pthread_mutex_lock(&devices_lock);
	if (--dev->use_count == 0) {
		if (dev->xrcd)
			ibv_close_xrcd(dev->xrcd);
		dev->xrcd = NULL;
		/* Refused while the program has objects in it: then it serves the next id. */
		if (ibv_dealloc_pd(dev->pd) == 0)
			dev->pd = NULL;
	}
	pthread_mutex_unlock(&devices_lock);
	set_device(id, NULL, 0);
}

int cm_device_xrcd(struct cm_id *id, struct ibv_xrcd **out)
{
	struct ibv_xrcd_init_attr attr = {.comp_mask =
						  IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
					  .fd = -1,
					  .oflags = O_CREAT};
	int error = 0;

	pthread_mutex_lock(&devices_lock);
	if (!id->dev->xrcd)
		id->dev->xrcd = ibv_open_xrcd(id->id.verbs, &attr);
	if (!id->dev->xrcd)
		error = errno ? -errno : -ENOMEM;
	*out = id->dev->xrcd;
	pthread_mutex_unlock(&devices_lock);
	return error;
}

int cm_device_gid_index(const struct cm_device *dev, const struct roce_gid *gid)
{
	struct ibv_gid_entry entries[ROCE_NETDEV_GIDS_MAX];
	ssize_t count = ibv_query_gid_table(dev->verbs, entries, ROCE_NETDEV_GIDS_MAX, 0);

	for (ssize_t i = 0; i < count; i++)
		if (memcmp(entries[i].gid.raw, gid->raw, 16) == 0)
			return (int)entries[i].gid_index;
	return -ENODEV;
}

/* Of the device's GIDs the first of the family; 0 or -ENODEV. */
static int first_gid(struct cm_device *dev, bool is_v4, struct roce_gid *out_gid,
		     uint32_t *out_ifindex)
{
	struct ibv_gid_entry entries[ROCE_NETDEV_GIDS_MAX];
	ssize_t count = ibv_query_gid_table(dev->verbs, entries, ROCE_NETDEV_GIDS_MAX, 0);

	for (ssize_t i = 0; i < count; i++) {
		memcpy(out_gid->raw, entries[i].gid.raw, 16);
		*out_ifindex = entries[i].ndev_ifindex;
		if (roce_gid_is_v4(out_gid) == is_v4)
			return 0;
	}
	return -ENODEV;
}

int cm_device_for_loopback(bool is_v4, struct roce_gid *out_gid, uint32_t *out_ifindex)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct cm_device *dev;
	int error = -ENODEV;

	if (!list)
		return -errno;
	pthread_mutex_lock(&devices_lock);
	for (unsigned i = 0; list[i] && error; i++)
		if (get_device(list[i], &dev) == 0)
			error = first_gid(dev, is_v4, out_gid, out_ifindex);
	pthread_mutex_unlock(&devices_lock);
	ibv_free_device_list(list);
	return error;
}

void cm_devices_forget(void)
{
	roce_list_init(&devices);
	pthread_mutex_init(&devices_lock, NULL);
}

struct ibv_context **rdma_get_devices(int *num_devices)
{
	struct ibv_context **contexts = NULL;
	struct ibv_device **list;
	int count = 0, n = 0;

	if (num_devices)
		*num_devices = 0;
	list = ibv_get_device_list(&count);
	if (!list)
		return NULL;
	if (count)
		contexts = calloc((size_t)count + 1, sizeof(struct ibv_context *));
	pthread_mutex_lock(&devices_lock);
	for (int i = 0; contexts && i < count; i++) {
		struct cm_device *dev;

		if (get_device(list[i], &dev) == 0)
			contexts[n++] = dev->verbs;
	}
	pthread_mutex_unlock(&devices_lock);
	ibv_free_device_list(list);
	if (!contexts)
		errno = count ? ENOMEM : ENODEV;
	if (num_devices)
		*num_devices = n;
	return contexts;
}

void rdma_free_devices(struct ibv_context **list)
{
	free(list);
}
