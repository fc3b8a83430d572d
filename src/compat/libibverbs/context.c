/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening and closing a device. The engine gives one struct roce_device for each network device,
 * shared by all contexts of the process.
 */
#include "compat/libibverbs/compat.h"

#include "engine/engine.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define COMP_VECTORS_MAX 64

static int count_comp_vectors(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return cpus < 1 ? 1 : cpus > COMP_VECTORS_MAX ? COMP_VECTORS_MAX : (int)cpus;
}

static int open_context(struct compat_context *cc, struct compat_device *cdev, int cmd_fd)
{
	struct ibv_context *context = &cc->vctx.context;
	int err;

	/* Programs duplicate and poll this descriptor, but only a kernel device could read it. Its
	 * file is like no other, by which its context is found again (import.c). */
	context->cmd_fd = cmd_fd >= 0 ? cmd_fd : memfd_create("uroce-context", MFD_CLOEXEC);
	if (context->cmd_fd < 0)
		return -errno;
	err = roce_engine_get(cdev->ifindex, &cc->engine);
	if (err)
		goto close_cmd;
	err = roce_context_init(&cc->ctx, roce_engine_device(cc->engine), cc);
	if (err)
		goto put_engine;
	context->device = &cdev->dev;
	context->async_fd = cc->ctx.async.fd;
	context->num_comp_vectors = count_comp_vectors();
	pthread_mutex_init(&context->mutex, NULL);
	compat_fill_ops(cc);
	compat_context_enlist(cc);
	return 0;

put_engine:
	roce_engine_put(cc->engine);
close_cmd:
	if (cmd_fd < 0)
		close(context->cmd_fd);
	return err;
}

struct ibv_context *compat_open_device(struct compat_device *cdev, int cmd_fd)
{
	struct compat_context *cc = calloc(1, sizeof(*cc));
	int err;

	if (!cc)
		return compat_null(-ENOMEM);
	err = open_context(cc, cdev, cmd_fd);
	if (err) {
		free(cc);
		return compat_null(err);
	}
	return &cc->vctx.context;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	return compat_open_device(compat_device_of(device), -1);
}

/* A forked child leaves everything as it is: the context is its parent's. */
int ibv_close_device(struct ibv_context *context)
{
	struct compat_context *cc = compat_context_of(context);

	if (roce_context_is_forked(&cc->ctx))
		return 0;
	compat_context_delist(cc);
	roce_context_fini(&cc->ctx);
	roce_engine_put(cc->engine);
	close(context->cmd_fd);
	pthread_mutex_destroy(&context->mutex);
	free(cc);
	return 0;
}
