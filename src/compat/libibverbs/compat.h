/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The objects behind the pointers that libibverbs hands out: the public struct of verbs.h first,
 * our object behind it, so each conversion is a cast. Nothing in this folder decides anything: it
 * converts types and error styles, and the objects of src/verbs do the work.
 *
 * Two error styles exist in the interface: functions that return a pointer give NULL and set errno,
 * functions that return an int give a positive errno (a few older ones -1 and errno).
 */
#ifndef ROCE_COMPAT_LIBIBVERBS_COMPAT_H
#define ROCE_COMPAT_LIBIBVERBS_COMPAT_H

#include "verbs/av.h"
#include "verbs/cq_verbs.h"
#include "verbs/mr_verbs.h"
#include "verbs/mw_verbs.h"
#include "verbs/pd.h"
#include "verbs/qp_verbs.h"
#include "verbs/srq_verbs.h"

#include <infiniband/verbs.h>
#include <net/if.h>

/* Provider libraries that a program drags in look for their own operations pointer just behind
 * struct ibv_device; they must find zeros there. */
#define COMPAT_PROVIDER_ROOM 256

struct compat_device {
	struct ibv_device dev;
	uint8_t provider_room[COMPAT_PROVIDER_ROOM];
	struct roce_list link; /* every device that was ever listed; they are never freed */
	char netdev[IF_NAMESIZE];
	uint32_t ifindex;
	uint32_t index;		  /* of the uverbs name */
	_Atomic uint64_t guid_be; /* each listing writes it: the MAC address may change */
};

struct roce_engine;

struct compat_context {
	struct verbs_context vctx;
	struct roce_context ctx;
	struct roce_engine *engine;
	struct roce_list link; /* of all contexts: import.c */
};

struct compat_td {
	struct ibv_td td;
	uint32_t use_count; /* parent domains; device lock */
};

struct compat_pd {
	struct ibv_pd pd;
	struct roce_pd rpd; /* of a parent domain: only counts what was made in it */

	struct roce_list link; /* of all domains: import.c */

	struct compat_pd *base; /* of a parent domain, or of one that was imported */
	bool is_unimported;	/* goes with the last object that was made in it */

	/* Parent domains only. */
	struct compat_td *td;
	void *(*alloc)(struct ibv_pd *pd, void *pd_context, size_t size, size_t alignment,
		       uint64_t resource_type);
	void (*free)(struct ibv_pd *pd, void *pd_context, void *ptr, uint64_t resource_type);
	void *pd_context;
	struct roce_allocator allocator;
};

struct compat_dm {
	struct ibv_dm dm;
	uint8_t *bytes;
	size_t length;
	uint32_t use_count;    /* regions; device lock */
	struct roce_list link; /* of all device memory: import.c */
};

struct compat_mr {
	struct ibv_mr mr;
	struct roce_verbs_mr vmr;
	struct compat_dm *dm; /* the device memory it lies in, or NULL */
};

struct compat_mw {
	struct ibv_mw mw;
	struct roce_verbs_mw vmw;
};

struct compat_channel {
	struct ibv_comp_channel channel;
	struct roce_comp_channel rchannel;
};

struct compat_cq {
	struct ibv_cq_ex ex;
	struct roce_verbs_cq vcq;
	struct roce_cqe current; /* of start_poll and next_poll */
	struct ibv_pd *parent;	 /* the parent domain it was made in, or NULL */
};

struct compat_srq {
	struct ibv_srq srq;
	struct roce_verbs_srq vsrq;
};

struct compat_xrcd {
	struct ibv_xrcd xrcd;
	struct roce_xrcd *rxrcd;
};

struct compat_wr_stage;

struct compat_qp {
	struct ibv_qp_ex ex;
	struct roce_verbs_qp vqp;
	struct compat_wr_stage *stage; /* only with send_ops_flags */
	bool is_sig_all;
	/* Further handles of an XRC target (ibv_open_qp) share the first one's object, which lives
	 * as long as any of them. */
	struct compat_qp *origin; /* NULL in the first one */
	uint32_t handle_count;	  /* of the first one; device lock */
};

struct compat_ah {
	struct ibv_ah ah;
	struct roce_ah rah;
};

static inline struct compat_device *compat_device_of(struct ibv_device *device)
{
	return roce_container_of(device, struct compat_device, dev);
}

static inline struct compat_context *compat_context_of(struct ibv_context *context)
{
	return roce_container_of(context, struct compat_context, vctx.context);
}

static inline struct roce_context *compat_roce_of(struct ibv_context *context)
{
	return &compat_context_of(context)->ctx;
}

static inline struct compat_pd *compat_pd_of(struct ibv_pd *pd)
{
	return roce_container_of(pd, struct compat_pd, pd);
}

/* The domain whose objects those made in `pd` are. */
static inline struct roce_pd *compat_rpd_of(struct ibv_pd *pd)
{
	struct compat_pd *cpd = compat_pd_of(pd);

	return cpd->base ? &cpd->base->rpd : &cpd->rpd;
}

static inline const struct roce_allocator *compat_allocator_of(struct ibv_pd *pd)
{
	return pd && compat_pd_of(pd)->alloc ? &compat_pd_of(pd)->allocator : NULL;
}

static inline struct compat_srq *compat_srq_of(struct ibv_srq *srq)
{
	return roce_container_of(srq, struct compat_srq, srq);
}

static inline struct compat_xrcd *compat_xrcd_of(struct ibv_xrcd *xrcd)
{
	return roce_container_of(xrcd, struct compat_xrcd, xrcd);
}

static inline struct compat_mr *compat_mr_of(struct ibv_mr *mr)
{
	return roce_container_of(mr, struct compat_mr, mr);
}

static inline struct compat_channel *compat_channel_of(struct ibv_comp_channel *channel)
{
	return roce_container_of(channel, struct compat_channel, channel);
}

static inline struct compat_cq *compat_cq_of(struct ibv_cq *cq)
{
	return (struct compat_cq *)
		cq; /* struct ibv_cq_ex begins with the fields of struct ibv_cq */
}

static inline struct compat_qp *compat_qp_of(struct ibv_qp *qp)
{
	return roce_container_of(qp, struct compat_qp, ex.qp_base);
}

static inline struct roce_verbs_qp *compat_vqp_of(struct ibv_qp *qp)
{
	struct compat_qp *cqp = compat_qp_of(qp);

	return cqp->origin ? &cqp->origin->vqp : &cqp->vqp;
}

static inline struct compat_ah *compat_ah_of(struct ibv_ah *ah)
{
	return roce_container_of(ah, struct compat_ah, ah);
}

/* NULL with errno set to -err. */
void *compat_null(int err);
/* -1 with errno set to -err. */
int compat_minus_one(int err);

/* A number for the `handle` fields: never 0, different for every object. */
uint32_t compat_next_handle(void);

/* In a forked child the parent's objects answer with this errno. */
#define COMPAT_FORKED EIO

/* ---- parts that the context's tables point at ---- */

/* A context of the device, which takes over `cmd_fd`; -1: one is made. NULL with errno. */
struct ibv_context *compat_open_device(struct compat_device *cdev, int cmd_fd);

/* What may be imported is known to import.c from its creation to its end. */
void compat_context_enlist(struct compat_context *cc);
void compat_context_delist(struct compat_context *cc);
void compat_pd_enlist(struct compat_pd *pd);
void compat_pd_delist(struct compat_pd *pd);
void compat_dm_enlist(struct compat_dm *dm);
void compat_dm_delist(struct compat_dm *dm);

void compat_fill_ops(struct compat_context *cc);

int compat_query_device_ex(struct ibv_context *context,
			   const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *attr, size_t attr_size);
int compat_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr,
		      size_t attr_len);
int compat_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index,
			  unsigned int *type);
int compat_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values);
int compat_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		     struct ibv_sge *sg_list, uint32_t num_sge);
struct ibv_cq_ex *compat_create_cq_ex(struct ibv_context *context,
				      struct ibv_cq_init_attr_ex *attr);
int compat_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);
int compat_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
int compat_req_notify_cq(struct ibv_cq *cq, int solicited_only);
void compat_fill_cq_ex(struct compat_cq *cc);
struct ibv_qp *compat_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
struct ibv_qp *compat_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr);
struct ibv_srq *compat_create_srq_ex(struct ibv_context *context,
				     struct ibv_srq_init_attr_ex *attr);
int compat_get_srq_num(struct ibv_srq *srq, uint32_t *srq_num);
int compat_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
struct ibv_xrcd *compat_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr);
int compat_close_xrcd(struct ibv_xrcd *xrcd);
struct ibv_td *compat_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr);
int compat_dealloc_td(struct ibv_td *td);
struct ibv_pd *compat_alloc_parent_domain(struct ibv_context *context,
					  struct ibv_parent_domain_init_attr *attr);
/* With the parent domain itself: its base and thread domain are free to go. */
void compat_parent_domain_release(struct compat_pd *parent);
/* A parent domain counts what was made in it; NULL and other domains do nothing here. */
void compat_pd_hold(struct ibv_pd *pd);
void compat_pd_drop(struct ibv_pd *pd);
struct ibv_mw *compat_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int compat_dealloc_mw(struct ibv_mw *mw);
int compat_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *mw_bind);
/* May a work request bind it: type 2, a key of this window, a region? */
bool compat_may_bind(const struct ibv_mw *mw, uint32_t rkey, const struct ibv_mw_bind_info *info);
void compat_fill_bind(struct roce_mem_bind *out, const struct ibv_mw *mw, uint32_t rkey,
		      const struct ibv_mw_bind_info *info);
struct ibv_dm *compat_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr);
int compat_free_dm(struct ibv_dm *dm);
struct ibv_mr *compat_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t dm_offset,
				size_t length, unsigned int access);
void compat_dm_drop(struct compat_dm *dm);
struct ibv_mr *compat_alloc_null_mr(struct ibv_pd *pd);
struct ibv_mr *compat_register(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			       unsigned int access);
int compat_modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr);
int compat_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int compat_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
/* Gives the QP the functions behind ibv_wr_*. 0 or -ENOMEM. */
int compat_qp_ex_init(struct compat_qp *cqp, uint64_t send_ops_flags);
void compat_qp_ex_fini(struct compat_qp *cqp);

void compat_av_from_ah_attr(struct roce_av *av, const struct ibv_ah_attr *attr);

/* ---- the exported functions that a macro of verbs.h hides ---- */

#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#endif
