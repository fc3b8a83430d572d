/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The socket backend answers for its batches. Steering is tried on a socket of the loopback address
 * with a program that always says "the first": a kernel that takes that one takes the daemon's.
 */
#include "engine/facts.h"

#include "pktio/pktio.h"
#include "pktio/udp/udp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *probe_steering(void)
{
	struct sock_filter first = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog program = {.len = 1, .filter = &first};
	struct sockaddr_in local = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int one = 1;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	const char *result = "on";

	if (fd < 0)
		return "no socket can be made";
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)) ||
	    bind(fd, (struct sockaddr *)&local, sizeof(local)))
		result = "the loopback address cannot be bound";
	else if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof(program)))
		result = "refused by the kernel";
	close(fd);
	return result;
}

void roce_engine_facts_read(struct roce_engine_facts *out)
{
	const char *guard = getenv("UROCE_GUARD");
	struct roce_pktio_facts io;

	roce_udp_probe(&io);
	*out = (struct roce_engine_facts){
		.gso = io.batching_tx,
		.gro = io.batching_rx,
		.steering = probe_steering(),
		.guard = guard && strcmp(guard, "off") == 0 ? "off by environment" : "on",
		.backend = io.backend,
		.batch_packets_max = io.segments_max,
		.receive_buffer_bytes = io.receive_buffer_bytes,
	};
}
