/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Incasts that are recorded: what record_test, capture_record_test and series_record_test look at.
 * Four hosts send to a fifth around one switch; a test chooses what is kept, and may change the
 * network before it begins.
 *
 *   run_create(), changes to run->net, run_begin() or run_incast(), looking, run_end()
 */
#ifndef ROCE_TESTS_FABRIC_RECORD_RUN_H
#define ROCE_TESTS_FABRIC_RECORD_RUN_H

#include "fabric/net.h"

#include "record/record.h"

#include <stdlib.h>
#include <string.h>

#define HOSTS  5u
#define SWITCH HOSTS
#define SINK   (HOSTS - 1)

static const char *const names[] = {"h0", "h1", "h2", "h3", "sink", "leaf"};

struct text {
	FILE *out;
	char *bytes;
	size_t size;
};

static inline void text_open(struct text *text)
{
	text->out = open_memstream(&text->bytes, &text->size);
	assert_non_null(text->out);
}

static inline void text_close(struct text *text)
{
	assert_int_equal(fclose(text->out), 0);
	text->out = NULL;
}

static inline size_t count_of(const char *text, const char *what)
{
	size_t n = 0;

	while ((text = strstr(text, what))) {
		text += strlen(what);
		n++;
	}
	return n;
}

struct recorded {
	struct net net;
	struct roce_record_config cfg;
	struct roce_record *record; /* NULL: the same run, and nobody looks */
	struct text text;	    /* what cfg.log, samples or counters may be */
	FILE *capture;
};

/* A network in which this is much: it marks and pauses. */
static inline void run_create(struct recorded *run)
{
	memset(run, 0, sizeof(*run));
	text_open(&run->text);
	net_defaults(&run->net);
	run->net.sw.port.ecn[3].kmin_bytes = 30000;
	run->net.sw.port.buffer[3].xoff_bytes = 50000;
}

static inline void run_record(struct recorded *run)
{
	assert_int_equal(roce_record_create(&run->cfg, &run->record), 0);
	run->net.fabric.observer = roce_record_observer(run->record);
	run->net.fabric.observer_ctx = run->record;
}

/* The network, recorded if run_record() was called, and a WRITE of each host to the sink. */
static inline void run_begin(struct recorded *run, uint64_t bytes)
{
	net_star(&run->net, HOSTS);
	for (uint32_t i = 0; i < SINK; i++) {
		struct roce_fabric_flow_config flow = net_flow(i, SINK, bytes);

		net_add(&run->net, &flow);
	}
	if (run->record)
		assert_int_equal(roce_record_begin(run->record, run->net.f, names), 0);
}

/* Until all flows have ended. */
static inline void run_to_end(struct recorded *run)
{
	enum roce_fabric_end end = ROCE_FABRIC_END_TIME;

	while (end != ROCE_FABRIC_END_DONE) {
		assert_int_equal(end, ROCE_FABRIC_END_TIME);
		end = roce_fabric_run(run->net.f,
				      run->record ? roce_record_next_stop(run->record) : PS_PER_S);
		if (run->record)
			roce_record_look(run->record);
	}
	if (run->record)
		roce_record_end(run->record, end);
	text_close(&run->text);
	if (run->capture)
		assert_int_equal(fflush(run->capture), 0);
}

#define INCAST_BYTES 200000u

static inline void run_incast(struct recorded *run)
{
	run_record(run);
	run_begin(run, INCAST_BYTES);
	run_to_end(run);
}

static inline void run_end(struct recorded *run)
{
	roce_record_destroy(run->record);
	net_end(&run->net);
	if (run->text.out)
		text_close(&run->text);
	free(run->text.bytes);
	if (run->capture)
		fclose(run->capture);
}

static inline uint64_t packets_of(const struct net *net, uint32_t port,
				  enum roce_fabric_prio_counter what)
{
	struct roce_fabric_port_view view = net_port(net, SWITCH, port);
	uint64_t sum = 0;

	for (uint32_t p = 0; p < ROCE_FABRIC_PRIOS; p++)
		sum += view.prio_counters[p][what];
	return sum;
}

#endif
