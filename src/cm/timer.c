/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When time passes: a message that was not answered goes out again, until its retries are spent and
 * the attempt ends; and TIMEWAIT ends. Each ID has one deadline, whose meaning is its state.
 */
#include "cm/cm_internal.h"

#include "base/assert.h"
#include "base/marks.h"

#include <errno.h>

/* What happens when nobody has answered. The peer is told, in case it only cannot be heard. */
static void give_up(struct roce_cm *cm, struct roce_cm_id *id, roce_ns_t now)
{
	roce_cm_disarm(cm, id);
	if (id->info.state != ROCE_CM_STATE_ESTABLISHED)
		roce_cm_count(cm, ROCE_CM_STAT_TIMEOUTS);
	switch (id->info.state) {
	case ROCE_CM_STATE_REQ_SENT:
	case ROCE_CM_STATE_MRA_REQ_RCVD:
	case ROCE_CM_STATE_REP_SENT:
	case ROCE_CM_STATE_MRA_REP_RCVD:
		roce_cm_send_rej(cm, id, ROCE_CM_REJ_TIMEOUT, NULL);
		roce_cm_set_state(cm, id, ROCE_CM_STATE_IDLE);
		roce_cm_leave_qpn(cm, id);
		roce_cm_report(cm, id, ROCE_CM_REPORT_UNREACHABLE, -ETIMEDOUT);
		return;
	case ROCE_CM_STATE_SIDR_REQ_SENT:
		roce_cm_set_state(cm, id, ROCE_CM_STATE_IDLE);
		roce_cm_report(cm, id, ROCE_CM_REPORT_UNREACHABLE, -ETIMEDOUT);
		return;
	case ROCE_CM_STATE_ESTABLISHED:
		roce_cm_close_stale(cm, id, now); /* no answer to the probe */
		return;
	case ROCE_CM_STATE_DREQ_SENT:
		roce_cm_enter_timewait(cm, id, now);
		roce_cm_report(cm, id, ROCE_CM_REPORT_DISCONNECTED, -ETIMEDOUT);
		return;
	case ROCE_CM_STATE_IDLE:
	case ROCE_CM_STATE_REP_RCVD:
	case ROCE_CM_STATE_MRA_REP_SENT:
	case ROCE_CM_STATE_REQ_RCVD:
	case ROCE_CM_STATE_MRA_REQ_SENT:
	case ROCE_CM_STATE_DREQ_RCVD:
	case ROCE_CM_STATE_TIMEWAIT:
	case ROCE_CM_STATE_SIDR_REQ_RCVD:
	case ROCE_CM_STATE_SIDR_REP_SENT:
	case ROCE_CM_STATE_COUNT:
		break; /* wait for the program, not for the peer */
	}
	roce_unreachable();
}

static void on_id_deadline(struct roce_cm *cm, struct roce_cm_id *id, roce_ns_t now)
{
	if (id->info.state == ROCE_CM_STATE_TIMEWAIT ||
	    id->info.state == ROCE_CM_STATE_SIDR_REP_SENT) {
		roce_cm_on_timewait_end(cm, id, now);
		return;
	}
	if (!id->sends_left) {
		give_up(cm, id, now);
		return;
	}
	id->sends_left--;
	roce_cm_send_again(cm, id);
	roce_cm_arm(cm, id,
		    now + (id->info.state == ROCE_CM_STATE_ESTABLISHED ? ROCE_CM_PROBE_NS
								       : id->repeat_ns));
}

roce_ns_t roce_cm_deadline(const struct roce_cm *cm)
{
	roce_ns_t early = roce_cm_early_deadline(cm);
	roce_ns_t id = roce_timer_heap_deadline(&cm->timers);

	return early < id ? early : id;
}

void roce_cm_on_deadline(struct roce_cm *cm, roce_ns_t now)
{
	while (roce_timer_heap_deadline(&cm->timers) <= now) {
		struct roce_timer *timer = roce_timer_heap_min(&cm->timers);

		on_id_deadline(cm, roce_container_of(timer, struct roce_cm_id, timer), now);
	}
	roce_cm_early_on_deadline(cm, now);
}
