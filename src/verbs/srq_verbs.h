/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared receive queues as verbs see them, and the XRC domains that connect some of them with the
 * queue pairs that fill them: an XRC target finds a queue of its own domain by the number that each
 * message carries.
 */
#ifndef ROCE_VERBS_SRQ_VERBS_H
#define ROCE_VERBS_SRQ_VERBS_H

#include "verbs/allocator.h"
#include "verbs/cq_verbs.h"

/* Domains of one file are one domain: shared by all contexts of the process on this device. */
struct roce_xrcd {
	struct roce_device *dev;
	struct roce_list link; /* dev->xrcds */
	uint64_t file_device;
	uint64_t file_inode;
	bool has_file;
	uint32_t open_count;
	uint32_t use_count; /* receive queues and queue pairs; device lock */
};

enum roce_xrcd_flags {
	ROCE_XRCD_CREATE = 1 << 0,
	ROCE_XRCD_EXCLUSIVE = 1 << 1,
};

/* `fd` -1: a domain of nobody else. -EINVAL: no such domain and no CREATE, or one and EXCLUSIVE;
 * -EBADF; -ENOMEM. */
int roce_xrcd_open(struct roce_context *ctx, int fd, uint32_t flags, struct roce_xrcd **out);
/* -EBUSY: it is the last one and objects use it. */
int roce_xrcd_close(struct roce_xrcd *xrcd);

struct roce_srq_request {
	struct roce_pd *pd;
	uint32_t max_wr;
	uint32_t max_sge;
	uint32_t limit;
	struct roce_xrcd *xrcd;	  /* with cq: an XRC queue */
	struct roce_verbs_cq *cq; /* XRC only */
	const struct roce_allocator *allocator;
	void *owner;
};

struct roce_verbs_srq {
	struct roce_srq srq;
	struct roce_context *ctx;
	struct roce_list link; /* ctx->srqs; alone when detached */
	struct roce_event_source events;
	struct roce_xrcd *xrcd;
	struct roce_verbs_cq *cq;
	struct roce_block storage;
	/* For ever, so they are read without the lock. */
	uint32_t max_sge;
	struct roce_allocator from;
	uint32_t number;    /* XRC: 24 bits */
	uint32_t use_count; /* queue pairs; device lock */
};

/* `req->max_wr` entries or more. -EINVAL: sizes, or half of what an XRC queue needs; -ENOMEM: no
 * memory, or all queues of the device are in use. */
int roce_verbs_srq_init(struct roce_verbs_srq *vsrq, struct roce_context *ctx,
			const struct roce_srq_request *req);
/* -EBUSY while queue pairs use it; waits until its events have been acknowledged. */
int roce_verbs_srq_fini(struct roce_verbs_srq *vsrq);

struct roce_srq_change {
	bool is_size_given;
	uint32_t max_wr;
	bool is_limit_given;
	uint32_t limit;
};

/* -EINVAL: what waits does not fit, or a limit above the size; -ENOMEM. Nothing changes on failure.
 */
int roce_verbs_srq_change(struct roce_verbs_srq *vsrq, const struct roce_srq_change *change);

/* Out of the device; device lock held. */
void roce_verbs_srq_detach(struct roce_verbs_srq *vsrq);

/* The XRC queue of this number in this domain, or NULL; device lock held. */
struct roce_verbs_srq *roce_verbs_srq_find(struct roce_device *dev, const struct roce_xrcd *xrcd,
					   uint32_t number);

/* What an XRC target has completed into the queues of its domain goes when it is reset, and stays
 * with the program when it is destroyed: others may own those queues. Device lock held. */
void roce_xrcd_reset_qp(struct roce_xrcd *xrcd, const struct roce_qp *qp);
void roce_xrcd_disown_qp(struct roce_xrcd *xrcd, const struct roce_qp *qp);

/* Defined by device.c: numbers of XRC queues, and the table by their low 16 bits. */
struct roce_qpn_pool *roce_device_srqns(struct roce_device *dev);
struct roce_verbs_srq **roce_device_srq_entry(struct roce_device *dev, uint32_t number);

#endif
