/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An extended CQ is read field by field into the same struct ibv_wc that ibv_poll_cq() fills, so
 * that one checker serves both. Time stamps must not run backwards on a CQ, and the wall clock's
 * must lie between the seed's start and now. Of a failed one only what is valid then is read.
 */
#include "tools/verbs_check/poll.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

static void read_fields(struct ibv_cq_ex *cq, struct ibv_wc *wc)
{
	*wc = (struct ibv_wc){.wr_id = cq->wr_id, .status = cq->status};
	wc->qp_num = ibv_wc_read_qp_num(cq);
	wc->vendor_err = ibv_wc_read_vendor_err(cq);
	if (cq->status != IBV_WC_SUCCESS)
		return;
	wc->opcode = ibv_wc_read_opcode(cq);
	wc->byte_len = ibv_wc_read_byte_len(cq);
	wc->wc_flags = ibv_wc_read_wc_flags(cq);
	if (wc->wc_flags & IBV_WC_WITH_INV)
		wc->invalidated_rkey = ibv_wc_read_invalidated_rkey(cq);
	else
		wc->imm_data = ibv_wc_read_imm_data(cq);
	wc->src_qp = ibv_wc_read_src_qp(cq);
	wc->slid = (uint16_t)ibv_wc_read_slid(cq);
	wc->sl = ibv_wc_read_sl(cq);
	wc->dlid_path_bits = ibv_wc_read_dlid_path_bits(cq);
}

static void check_stamps(struct vc_endpoint *endpoint, uint32_t c, struct vc_report *report)
{
	struct ibv_cq_ex *cq = endpoint->extended[c];
	uint64_t stamp, wall, now;
	struct timespec ts;

	if (!endpoint->has_stamps)
		return;
	stamp = ibv_wc_read_completion_ts(cq);
	wall = ibv_wc_read_completion_wallclock_ns(cq);
	(void)clock_gettime(CLOCK_REALTIME, &ts);
	now = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	if (stamp < endpoint->last_stamps[c])
		(void)vc_report_wrong(report,
				      "completion time stamp %" PRIu64 " comes after %" PRIu64,
				      stamp, endpoint->last_stamps[c]);
	endpoint->last_stamps[c] = stamp;
	/* A second of tolerance: the clock may be set while this runs. */
	if (wall + 1000000000u < endpoint->born_ns || wall > now + 1000000000u)
		(void)vc_report_wrong(report,
				      "completion at wall clock %" PRIu64
				      " ns, the seed began at %" PRIu64 ", now is %" PRIu64,
				      wall, endpoint->born_ns, now);
}

static int poll_extended(struct vc_endpoint *endpoint, uint32_t c, int max, struct ibv_wc *wcs,
			 struct vc_report *report)
{
	struct ibv_cq_ex *cq = endpoint->extended[c];
	struct ibv_poll_cq_attr attr = {0};
	int error = ibv_start_poll(cq, &attr);
	int count = 0;

	if (error == ENOENT)
		return 0;
	while (!error) {
		read_fields(cq, &wcs[count++]);
		check_stamps(endpoint, c, report);
		if (count == max)
			break;
		error = ibv_next_poll(cq);
	}
	if (count)
		ibv_end_poll(cq);
	if (error && error != ENOENT)
		(void)vc_report_wrong(report, "ibv_start_poll or ibv_next_poll: %s",
				      strerror(error));
	return count;
}

int vc_poll(struct vc_endpoint *endpoint, uint32_t cq, int max, struct ibv_wc *wcs,
	    struct vc_report *report)
{
	if (endpoint->extended[cq])
		return poll_extended(endpoint, cq, max, wcs, report);
	return ibv_poll_cq(endpoint->cqs[cq], max, wcs);
}
