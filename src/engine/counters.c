/* SPDX-License-Identifier: BSD-2-Clause */
/* The counters' memory: a memory file where the system has them, else private pages. */
#include "engine/counters.h"

#include <sys/mman.h>
#include <unistd.h>

struct roce_shared_counters *roce_shared_counters_create(int *out_fd)
{
	const size_t bytes = sizeof(struct roce_shared_counters);
	struct roce_shared_counters *counters = MAP_FAILED;
	int fd = memfd_create("uroce-counters", MFD_CLOEXEC);

	if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0)
		counters = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (counters == MAP_FAILED) {
		if (fd >= 0)
			close(fd);
		fd = -1;
		counters = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				-1, 0);
	}
	if (counters == MAP_FAILED)
		return NULL;
	counters->magic = ROCE_SHARED_COUNTERS_MAGIC;
	counters->version = ROCE_SHARED_COUNTERS_VERSION;
	counters->pid = (uint32_t)getpid();
	*out_fd = fd;
	return counters;
}

void roce_shared_counters_destroy(struct roce_shared_counters *counters, int fd)
{
	if (counters)
		munmap(counters, sizeof(*counters));
	if (fd >= 0)
		close(fd);
}
