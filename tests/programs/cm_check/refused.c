/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The synchronous calls where nobody answers: -1 and a positive errno, and the one that sockets
 * give.
 */
#include "check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static int expect(const char *call, int result, int error, int expected)
{
	if (result == -1 && error == expected)
		return 0;
	printf("complaint: %s: %d, errno %d (%s), expected %d\n", call, result, error,
	       strerror(error), expected);
	return 1;
}

static struct rdma_cm_id *make_end(const struct options *o, int flags)
{
	char host[INET6_ADDRSTRLEN], port[8];
	struct rdma_addrinfo hints = {.ai_flags = flags, .ai_port_space = RDMA_PS_TCP}, *found;
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
	};
	const struct sockaddr_in *v4 = (const void *)&o->address;
	const struct sockaddr_in6 *v6 = (const void *)&o->address;
	struct rdma_cm_id *id = NULL;

	if (v4->sin_family == AF_INET)
		inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
	else
		inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
	snprintf(port, sizeof(port), "%u", ntohs(v4->sin_port));
	if (rdma_getaddrinfo(host, port, &hints, &found)) {
		perror("rdma_getaddrinfo");
		return NULL;
	}
	if (rdma_create_ep(&id, found, NULL, &init))
		perror("rdma_create_ep");
	rdma_freeaddrinfo(found);
	return id;
}

static int get_request_of_asynchronous(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id, *child;
	int result, wrong = 1;

	if (!channel || rdma_create_id(channel, &id, NULL, RDMA_PS_TCP)) {
		perror("rdma_create_id");
		return 1;
	}
	result = rdma_get_request(id, &child);
	wrong = expect("rdma_get_request", result, errno, EINVAL);
	rdma_destroy_id(id);
	rdma_destroy_event_channel(channel);
	return wrong;
}

int check_refused(const struct options *o)
{
	struct rdma_cm_id *id = make_end(o, 0);
	int wrong, result;

	if (!id)
		return 1;
	result = rdma_connect(id, NULL);
	wrong = expect("rdma_connect", result, errno, ECONNREFUSED);
	rdma_destroy_ep(id);
	wrong |= get_request_of_asynchronous();
	if (!wrong)
		printf("refused as sockets are\n");
	return wrong;
}
