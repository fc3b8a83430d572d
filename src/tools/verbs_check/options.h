/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line. The client's wishes decide what is run; a server needs only -d, -g, -i, -p. */
#ifndef VERBS_CHECK_OPTIONS_H
#define VERBS_CHECK_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/verbs_check/scenario.h"

/* Of the command line and of what a client may ask a server for. */
enum {
	VC_OPTION_OPS_MAX = 100000,
	VC_OPTION_SIZE_MAX = 1 << 30,
	VC_OPTION_FAULTS_MAX = 1000000,
};

struct vc_options {
	const char *host; /* NULL: server */
	const char *device;
	const char *control_port;
	int control_fd; /* -1: it is made by host and port */
	int gid_index;	/* -1: choose */
	uint8_t port;
	uint32_t mtu; /* enum ibv_mtu, 0: drawn per seed */
	uint64_t seed;
	uint64_t seed_count;
	uint32_t ops;
	uint32_t size_max;
	uint32_t qp_max;
	uint32_t op_mask;
	uint32_t fault_every;
	uint32_t timeout; /* code of the local ACK timeout */
	uint32_t own_quirks;
	uint32_t peer_quirks;
	unsigned int stall_s;
	uint32_t transports;		  /* bit per enum vc_transport */
	uint32_t features;		  /* bit per enum vc_feature */
	uint32_t links;			  /* bit per enum vc_link: what the network does */
	struct vc_scenario_set scenarios; /* these instead of drawn programs */
	bool events;
	bool loopback;
	bool json;
	bool verbose;
};

/* Exits with status 2 on what it does not understand, 0 after --help. */
void vc_options_parse(struct vc_options *options, int argc, char **argv);
/* The client's command line that runs one seed (of a scenario, or NULL) again, from the options as
 * they were agreed. */
void vc_options_replay(const struct vc_options *options, bool client, uint64_t seed,
		       const char *scenario, char *text, size_t size);

#endif
