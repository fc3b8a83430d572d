/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The run in words: one line for each thing that happened, with its time. What repeats is told a
 * few times for each port and then only counted; roce_story_end() gives the counts.
 */
#ifndef ROCE_RECORD_STORY_H
#define ROCE_RECORD_STORY_H

#include "fabric/observer.h"

#include <stdint.h>
#include <stdio.h>

struct roce_record;

#define ROCE_STORY_PRIOS 8u

/* How often each thing happened at a port. */
struct roce_story_tally {
	uint32_t pauses_sent[ROCE_STORY_PRIOS]; /* XOFF that was no repetition */
	uint32_t paused[ROCE_STORY_PRIOS];
	uint32_t drops[ROCE_FABRIC_DROP_COUNT];
	uint32_t marks;
	uint8_t xoff; /* bit p: the last pause frame that named p stopped it */
};

struct roce_story {
	FILE *out; /* NULL: nothing is told, all calls return at once */
	struct roce_story_tally *tallies;
	uint64_t wrongs; /* messages */
};

/* -ENOMEM. */
int roce_story_init(struct roce_story *s, FILE *out, uint32_t port_count);
void roce_story_fini(struct roce_story *s);

void roce_story_dropped(struct roce_record *r, uint64_t ps, uint32_t node, uint32_t port,
			const struct roce_fabric_frame_view *frame, enum roce_fabric_drop why);
void roce_story_marked(struct roce_record *r, uint64_t ps, uint32_t node, uint32_t port,
		       const struct roce_fabric_frame_view *frame);
void roce_story_pause_sent(struct roce_record *r, uint64_t ps, uint32_t node, uint32_t port,
			   uint8_t prios, const uint16_t quanta[ROCE_STORY_PRIOS]);
void roce_story_paused(struct roce_record *r, uint64_t ps, uint32_t node, uint32_t port,
		       uint32_t prio, bool is_paused, uint64_t lasted_ps);
void roce_story_storm(struct roce_record *r, uint64_t ps, uint32_t node, uint32_t port,
		      uint32_t prio, bool is_stormed);
void roce_story_host_stormed(struct roce_record *r, uint64_t ps, uint32_t node, bool is_begin);
void roce_story_host_drained(struct roce_record *r, uint64_t ps, uint32_t node, uint64_t drain_bps);
void roce_story_link(struct roce_record *r, uint64_t ps, uint32_t node, uint32_t port, bool is_up);
void roce_story_flow_started(struct roce_record *r, uint64_t ps, uint32_t flow);
void roce_story_flow_done(struct roce_record *r, uint64_t ps, uint32_t flow);
void roce_story_payload_wrong(struct roce_record *r, uint64_t ps,
			      const struct roce_fabric_wrong *wrong);
void roce_story_deadlock(struct roce_record *r, uint64_t ps, const struct roce_fabric_cycle *cycle,
			 uint32_t count);
void roce_story_end(struct roce_record *r, uint64_t ps, const char *reason);

#endif
