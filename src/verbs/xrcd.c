/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XRC domains: named by a file (whichever descriptor it is opened by), or nameless. Opened again by
 * name it is the same domain, which goes with its last user.
 */
#include "verbs/srq_verbs.h"

#include "verbs/refuse.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

static struct roce_xrcd *find(struct roce_device *dev, const struct stat *st)
{
	struct roce_list *it;

	roce_list_for_each (it, &dev->xrcds) {
		struct roce_xrcd *x = roce_container_of(it, struct roce_xrcd, link);

		if (x->has_file && x->file_device == st->st_dev && x->file_inode == st->st_ino)
			return x;
	}
	return NULL;
}

static int open_found(struct roce_xrcd *found, uint32_t flags, struct roce_xrcd **out)
{
	if (flags & ROCE_XRCD_EXCLUSIVE)
		return roce_refuse(EINVAL, "open_xrcd: O_EXCL, but the file's domain exists");
	found->open_count++;
	*out = found;
	return 0;
}

static int create(struct roce_device *dev, const struct stat *st, uint32_t flags,
		  struct roce_xrcd **out)
{
	struct roce_xrcd *x;

	if (st && !(flags & ROCE_XRCD_CREATE))
		return roce_refuse(EINVAL, "open_xrcd: the file has no domain, and no O_CREAT");
	x = calloc(1, sizeof(*x));
	if (!x)
		return -ENOMEM;
	x->dev = dev;
	x->open_count = 1;
	x->has_file = st != NULL;
	if (st) {
		x->file_device = st->st_dev;
		x->file_inode = st->st_ino;
	}
	roce_list_add_tail(&dev->xrcds, &x->link);
	*out = x;
	return 0;
}

int roce_xrcd_open(struct roce_context *ctx, int fd, uint32_t flags, struct roce_xrcd **out)
{
	struct roce_device *dev = ctx->dev;
	struct roce_xrcd *found = NULL;
	struct stat st;
	int err;

	if (fd != -1 && fstat(fd, &st) < 0)
		return -EBADF;
	pthread_mutex_lock(&dev->lock);
	if (fd != -1)
		found = find(dev, &st);
	err = found ? open_found(found, flags, out)
		    : create(dev, fd != -1 ? &st : NULL, flags, out);
	pthread_mutex_unlock(&dev->lock);
	return err;
}

int roce_xrcd_close(struct roce_xrcd *xrcd)
{
	struct roce_device *dev = xrcd->dev;
	uint32_t users;
	bool is_last;

	pthread_mutex_lock(&dev->lock);
	is_last = xrcd->open_count == 1;
	users = is_last ? xrcd->use_count : 0;
	if (!users)
		xrcd->open_count--;
	if (is_last && !users)
		roce_list_remove(&xrcd->link);
	pthread_mutex_unlock(&dev->lock);
	if (users)
		return roce_refuse(EBUSY, "close_xrcd: %u objects use the domain", users);
	if (is_last)
		free(xrcd);
	return 0;
}
