/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a seed may be made of besides its operations: the transport, ways of using the API, and
 * what the network may do to packets. One row each: the name is that of the options --transport,
 * --features and --link, and of the report. A seed takes one of the transports and each feature
 * that makes sense for it half of the time.
 */
#ifndef VERBS_CHECK_TRANSPORT_H
#define VERBS_CHECK_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VC_TRANSPORTS(X) \
	X(RC, "rc")      \
	X(UC, "uc")      \
	X(UD, "ud")      \
	X(XRC, "xrc")

#define VC_FEATURES(X)                                                                          \
	X(SRQ, "srq")		    /* receives from queues that QPs share */                   \
	X(RESIZE_SRQ, "resize-srq") /* while messages come */                                   \
	X(SRQ_LIMIT, "srq-limit")   /* one event when the queue falls below the limit */        \
	X(WR, "wr")		    /* ibv_wr_*() in place of ibv_post_send() */                \
	X(CQ_EX, "cq-ex")	    /* ibv_start_poll() and all the fields, with time stamps */ \
	X(RESIZE_CQ, "resize-cq")   /* while completions come */                                \
	X(REREG, "rereg")	    /* regions that were registered otherwise at first */       \
	X(ODP, "odp")		    /* on-demand regions */                                     \
	X(IMPLICIT, "implicit")	    /* keys of the whole address space */                       \
	X(DM, "dm")		    /* device memory */                                         \
	X(WINDOW1, "window1")	    /* windows of type 1, by ibv_bind_mw() */                   \
	X(DRAIN, "drain")	    /* send queues drained (SQD) while requests run */          \
	X(ASYNC, "async")	    /* asynchronous events: those owed come, no others */       \
	X(MULTICAST, "multicast")   /* UD groups with members on both sides */                  \
	X(REPLY, "reply")	    /* UD answers by address handles made of a completion */    \
	X(BAD_QKEY, "bad-qkey")	    /* UD messages that nobody may receive */                   \
	X(OVERSIZE, "oversize")	    /* a UD message above the MTU */

#define VC_LINKS(X)     \
	X(LOSS, "loss") \
	X(DUP, "dup")   \
	X(REORDER, "reorder")

enum vc_transport {
#define VC_ENUM(id, name) VC_TRANSPORT_##id,
	VC_TRANSPORTS(VC_ENUM)
#undef VC_ENUM
		VC_TRANSPORT_COUNT
};

enum vc_feature {
#define VC_ENUM(id, name) VC_FEATURE_##id,
	VC_FEATURES(VC_ENUM)
#undef VC_ENUM
		VC_FEATURE_COUNT
};

enum vc_link {
#define VC_ENUM(id, name) VC_LINK_##id,
	VC_LINKS(VC_ENUM)
#undef VC_ENUM
		VC_LINK_COUNT
};

const char *vc_transport_str(uint32_t transport);
const char *vc_feature_str(uint32_t feature);
const char *vc_link_str(uint32_t link);

/* Lists by name, "a,b"; false: out_bad is the name that is none. */
typedef const char *vc_name_function(uint32_t index);
bool vc_names_parse(const char *list, vc_name_function *name, uint32_t count, uint32_t *out_mask,
		    char *out_bad, size_t out_bad_size);

static inline bool vc_mask_has(uint32_t mask, uint32_t bit)
{
	return mask >> bit & 1;
}

/* Every message arrives, once and in order, or the requester learns that it did not. */
static inline bool vc_transport_is_reliable(enum vc_transport transport)
{
	return transport == VC_TRANSPORT_RC || transport == VC_TRANSPORT_XRC;
}

#endif
