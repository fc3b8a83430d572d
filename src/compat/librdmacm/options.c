/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rdma_set_option() and the connection options that vendors exchange (ECE). An option that needs a
 * certain moment is refused at any other with EINVAL; one that nobody knows with ENOSYS.
 */
#include "compat/librdmacm/rdmacm.h"

#include <errno.h>
#include <string.h>

static int set_flag(const void *value, size_t length, bool *out)
{
	int flag;

	if (length != sizeof(flag))
		return -EINVAL;
	memcpy(&flag, value, sizeof(flag));
	*out = flag != 0;
	return 0;
}

static int set_reuse(struct cm_id *id, const void *value, size_t length)
{
	if (id->state == CM_LISTENING)
		return -EINVAL;
	return set_flag(value, length, &id->has_reuse);
}

/* On a bound id the daemon must know before the listen, which has not come. */
static int set_af_only(struct cm_id *id, const void *value, size_t length)
{
	if (id->state != CM_IDLE && id->state != CM_BOUND)
		return -EINVAL;
	return set_flag(value, length, &id->af_only);
}

static int set_ack_timeout(struct cm_id *id, const void *value, size_t length)
{
	uint8_t code;

	if (length != sizeof(code) || id->id.qp_type == IBV_QPT_UD)
		return -EINVAL;
	memcpy(&code, value, sizeof(code));
	if (code > 31)
		return -EINVAL;
	id->ack_timeout = code;
	id->has_ack_timeout = true;
	return 0;
}

static int set_id_option(struct cm_id *id, int name, const void *value, size_t length)
{
	switch (name) {
	case RDMA_OPTION_ID_TOS:
		if (length != sizeof(id->tos))
			return -EINVAL;
		memcpy(&id->tos, value, sizeof(id->tos));
		return 0;
	case RDMA_OPTION_ID_REUSEADDR:
		return set_reuse(id, value, length);
	case RDMA_OPTION_ID_AFONLY:
		return set_af_only(id, value, length);
	case RDMA_OPTION_ID_ACK_TIMEOUT:
		return set_ack_timeout(id, value, length);
	}
	return -ENOSYS;
}

int rdma_set_option(struct rdma_cm_id *rid, int level, int optname, void *optval, size_t optlen)
{
	struct cm_id *id = cm_id_of(rid);
	int error = -ENOSYS;

	if (level == RDMA_OPTION_ID)
		error = set_id_option(id, optname, optval, optlen);
	else if (level == RDMA_OPTION_IB && optname == RDMA_OPTION_IB_PATH)
		error = !optlen || optlen % sizeof(struct ibv_path_data)
				? -EINVAL
				: cm_route_set_paths(id, optval,
						     optlen / sizeof(struct ibv_path_data));
	if (error)
		return cm_fail(error);
	return level == RDMA_OPTION_IB ? cm_complete(id) : 0;
}

int rdma_set_local_ece(struct rdma_cm_id *rid, struct ibv_ece *ece)
{
	struct cm_id *id = cm_id_of(rid);

	if (rid->qp || !ece || !ece->vendor_id || ece->comp_mask)
		return cm_fail(EINVAL);
	id->local_ece = *ece;
	return 0;
}

int rdma_get_remote_ece(struct rdma_cm_id *rid, struct ibv_ece *ece)
{
	struct cm_id *id = cm_id_of(rid);

	if (rid->qp || !ece)
		return cm_fail(EINVAL);
	memset(ece, 0, sizeof(*ece));
	ece->vendor_id = id->peer.ece_vendor;
	ece->options = id->peer.ece_options;
	return 0;
}
