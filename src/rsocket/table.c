/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two levels, so that a few sockets cost a few kilobytes. Pages are never given back. Closing a
 * socket while another thread uses it is the program's mistake, as it is with plain sockets.
 */
#include "rsocket/table.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#define PAGE_ENTRIES 256

struct page {
	struct roce_rs *_Atomic entry[PAGE_ENTRIES];
};

static struct page *_Atomic pages[(ROCE_RS_FD_MAX + 1) / PAGE_ENTRIES];

struct roce_rs *roce_rs_table_get(int fd)
{
	struct page *page;

	if (fd < 0 || fd > ROCE_RS_FD_MAX)
		return NULL;
	page = atomic_load(&pages[fd / PAGE_ENTRIES]);
	return page ? atomic_load(&page->entry[fd % PAGE_ENTRIES]) : NULL;
}

int roce_rs_table_put(int fd, struct roce_rs *rs)
{
	struct page *page, *none = NULL;

	if (fd < 0 || fd > ROCE_RS_FD_MAX)
		return -EMFILE;
	page = atomic_load(&pages[fd / PAGE_ENTRIES]);
	if (!page) {
		page = calloc(1, sizeof(*page));
		if (!page)
			return -ENOMEM;
		if (!atomic_compare_exchange_strong(&pages[fd / PAGE_ENTRIES], &none, page)) {
			free(page);
			page = none;
		}
	}
	atomic_store(&page->entry[fd % PAGE_ENTRIES], rs);
	return 0;
}

void roce_rs_table_remove(int fd)
{
	if (roce_rs_table_get(fd))
		atomic_store(&atomic_load(&pages[fd / PAGE_ENTRIES])->entry[fd % PAGE_ENTRIES],
			     NULL);
}
