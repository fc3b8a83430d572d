/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the owners are told. A report waits in its ID until it is pulled; the ID is in the list of
 * those that have some. Each kind comes at most once in an ID's life, so few places are enough.
 * What a report shows of a message lies in the ID and holds until the next message.
 */
#include "cm/cm_internal.h"

#include "base/assert.h"

#include <string.h>

void roce_cm_show(struct roce_cm_id *id, const struct roce_cm_message *m, size_t skip)
{
	size_t len = m->private_len - skip;

	memcpy(id->shown_data, m->private_data + skip, len);
	id->shown_len = (uint16_t)len;
}

void roce_cm_report(struct roce_cm *cm, struct roce_cm_id *id, enum roce_cm_report_type type,
		    int status)
{
	if (!id->owner)
		return;
	ROCE_ASSERT(id->report_count < ROCE_CM_REPORTS_MAX);
	id->report[id->report_count].type = type;
	id->report[id->report_count].status = status;
	id->report_count++;
	if (roce_list_is_empty(&id->report_link))
		roce_list_add_tail(&cm->reports, &id->report_link);
	roce_cm_count(cm, ROCE_CM_STAT_REPORTS);
	if (type == ROCE_CM_REPORT_DISCONNECTED)
		id->is_disconnect_reported = true;
}

static bool has_message(const struct roce_cm_id *id, enum roce_cm_report_type type, int status)
{
	switch (type) {
	case ROCE_CM_REPORT_CONNECT_REQUEST:
	case ROCE_CM_REPORT_CONNECT_RESPONSE:
	case ROCE_CM_REPORT_REJECTED:
		return true;
	case ROCE_CM_REPORT_ESTABLISHED:
		return roce_cm_is_sidr(id);
	case ROCE_CM_REPORT_UNREACHABLE:
		return status > 0; /* of a SIDR_REP */
	case ROCE_CM_REPORT_DISCONNECTED:
	case ROCE_CM_REPORT_TIMEWAIT_EXIT:
		return false;
	}
	roce_unreachable();
}

bool roce_cm_next_report(struct roce_cm *cm, struct roce_cm_report *out)
{
	struct roce_cm_id *id;

	if (roce_list_is_empty(&cm->reports))
		return false;
	id = roce_container_of(cm->reports.next, struct roce_cm_id, report_link);
	*out = (struct roce_cm_report){
		.type = id->report[0].type,
		.status = id->report[0].status,
		.id = id,
		.user = id->user,
		.owner = id->owner,
		.is_ud = roce_cm_is_sidr(id),
	};
	if (out->type == ROCE_CM_REPORT_CONNECT_REQUEST) {
		out->listener = id->parent;
		out->listener_user = id->parent->cfg.user;
	}
	if (has_message(id, out->type, out->status)) {
		out->params = id->shown;
		out->private_len = id->shown_len;
		memcpy(out->private_data, id->shown_data, id->shown_len);
	}
	id->report_count--;
	memmove(id->report, id->report + 1, id->report_count * sizeof(id->report[0]));
	if (!id->report_count)
		roce_list_remove(&id->report_link);
	return true;
}
