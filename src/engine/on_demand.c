/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See on_demand.h. A process may always do this to itself, but a seccomp filter may forbid the
 * calls; then the guard does what it can.
 */
#include "engine/on_demand.h"

#include "engine/guard.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

static int check(ssize_t moved, size_t length, void *to, const void *from)
{
	if (moved == (ssize_t)length)
		return 0;
	if (moved < 0 && (errno == ENOSYS || errno == EPERM))
		return roce_guard_copy(to, from, length);
	return -EFAULT;
}

int roce_on_demand_read(void *to, const void *from_region, size_t length)
{
	const struct iovec here = {to, length};
	const struct iovec there = {(void *)(uintptr_t)from_region, length};

	return check(process_vm_readv(getpid(), &here, 1, &there, 1, 0), length, to, from_region);
}

int roce_on_demand_write(void *to_region, const void *from, size_t length)
{
	const struct iovec here = {(void *)(uintptr_t)from, length};
	const struct iovec there = {to_region, length};

	return check(process_vm_writev(getpid(), &here, 1, &there, 1, 0), length, to_region, from);
}
