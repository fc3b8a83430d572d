/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rdma_getaddrinfo() through the public interface: what becomes source and what destination, what
 * the hints decide, and the errors of names.
 */
#include "lo_device.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static const struct sockaddr_in *in_of(const struct sockaddr *addr)
{
	return (const struct sockaddr_in *)(const void *)addr;
}

static void getaddrinfo__active(void **state)
{
	struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP}, *res;

	(void)state;
	assert_int_equal(rdma_getaddrinfo("127.0.0.1", "7471", &hints, &res), 0);
	assert_int_equal(res->ai_flags, 0);
	assert_int_equal(res->ai_family, AF_INET);
	assert_int_equal(res->ai_qp_type, IBV_QPT_RC);
	assert_int_equal(res->ai_port_space, RDMA_PS_TCP);
	assert_int_equal(res->ai_src_len, 0);
	assert_null(res->ai_src_addr);
	assert_int_equal(res->ai_dst_len, sizeof(struct sockaddr_in));
	assert_int_equal(in_of(res->ai_dst_addr)->sin_port, htons(7471));
	assert_int_equal(in_of(res->ai_dst_addr)->sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	assert_null(res->ai_next);
	rdma_freeaddrinfo(res);
	assert_int_equal(rdma_getaddrinfo("127.0.0.1", "7471", NULL, &res), 0);
	assert_int_equal(res->ai_port_space, RDMA_PS_TCP);
	assert_int_equal(res->ai_qp_type, IBV_QPT_RC);
	rdma_freeaddrinfo(res);
}

static void getaddrinfo__passive(void **state)
{
	struct rdma_addrinfo hints = {.ai_flags = RAI_PASSIVE,
				      .ai_family = AF_INET,
				      .ai_qp_type = IBV_QPT_UD,
				      .ai_port_space = RDMA_PS_UDP},
			     *res;

	(void)state;
	assert_int_equal(rdma_getaddrinfo(NULL, "7174", &hints, &res), 0);
	assert_int_equal(res->ai_flags, RAI_PASSIVE);
	assert_int_equal(res->ai_qp_type, IBV_QPT_UD);
	assert_int_equal(res->ai_port_space, RDMA_PS_UDP);
	assert_int_equal(res->ai_dst_len, 0);
	assert_int_equal(in_of(res->ai_src_addr)->sin_addr.s_addr, 0);
	assert_int_equal(in_of(res->ai_src_addr)->sin_port, htons(7174));
	rdma_freeaddrinfo(res);
}

/* XRC runs over the port space of connections; the type is the program's. */
static void getaddrinfo__hints_keep_their_type(void **state)
{
	struct rdma_addrinfo hints = {.ai_qp_type = IBV_QPT_XRC_SEND, .ai_port_space = RDMA_PS_IB},
			     *res;
	struct sockaddr_in src = {.sin_family = AF_INET, .sin_port = htons(99)};

	(void)state;
	hints.ai_src_addr = (struct sockaddr *)&src;
	hints.ai_src_len = sizeof(src);
	assert_int_equal(rdma_getaddrinfo("::1", "5", &hints, &res), 0);
	assert_int_equal(res->ai_family, AF_INET6);
	assert_int_equal(res->ai_qp_type, IBV_QPT_XRC_SEND);
	assert_int_equal(res->ai_port_space, RDMA_PS_IB);
	assert_int_equal(res->ai_dst_len, sizeof(struct sockaddr_in6));
	assert_int_equal(res->ai_src_len, sizeof(src));
	assert_memory_equal(res->ai_src_addr, &src, sizeof(src));
	assert_ptr_not_equal(res->ai_src_addr, &src);
	rdma_freeaddrinfo(res);
}

static void getaddrinfo__hints_alone(void **state)
{
	struct sockaddr_in dst = {.sin_family = AF_INET, .sin_port = htons(4)};
	struct rdma_addrinfo hints = {.ai_flags = RAI_NUMERICHOST,
				      .ai_family = AF_INET,
				      .ai_qp_type = IBV_QPT_UC,
				      .ai_port_space = RDMA_PS_TCP,
				      .ai_dst_addr = (struct sockaddr *)&dst,
				      .ai_dst_len = sizeof(dst)},
			     *res;

	(void)state;
	assert_int_equal(rdma_getaddrinfo(NULL, NULL, &hints, &res), 0);
	assert_int_equal(res->ai_flags, RAI_NUMERICHOST);
	assert_int_equal(res->ai_qp_type, IBV_QPT_UC);
	assert_memory_equal(res->ai_dst_addr, &dst, sizeof(dst));
	rdma_freeaddrinfo(res);
}

static void getaddrinfo__errors(void **state)
{
	struct rdma_addrinfo hints = {.ai_flags = RAI_NUMERICHOST}, *res;

	(void)state;
	errno = 0;
	assert_int_equal(rdma_getaddrinfo(NULL, NULL, NULL, &res), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rdma_getaddrinfo("no.such.name", NULL, &hints, &res), EAI_NONAME);
	hints.ai_family = 1234;
	assert_int_equal(rdma_getaddrinfo("127.0.0.1", NULL, &hints, &res), EAI_FAMILY);
	rdma_freeaddrinfo(NULL);
}

static void event_str__every_number(void **state)
{
	(void)state;
	assert_string_equal(rdma_event_str(RDMA_CM_EVENT_ADDR_RESOLVED),
			    "RDMA_CM_EVENT_ADDR_RESOLVED");
	assert_string_equal(rdma_event_str(RDMA_CM_EVENT_TIMEWAIT_EXIT),
			    "RDMA_CM_EVENT_TIMEWAIT_EXIT");
	for (unsigned i = 0; i <= RDMA_CM_EVENT_TIMEWAIT_EXIT; i++)
		assert_int_equal(
			strncmp(rdma_event_str((enum rdma_cm_event_type)i), "RDMA_CM_EVENT_", 14),
			0);
	assert_string_equal(rdma_event_str((enum rdma_cm_event_type)16), "UNKNOWN EVENT");
}

static void get_devices__open_contexts(void **state)
{
	int count = 0;
	struct ibv_context **list = rdma_get_devices(&count), **again;

	(void)state;
	assert_non_null(list);
	assert_int_equal(count, 1);
	assert_string_equal(list[0]->device->name, "uroce_lo");
	assert_null(list[1]);
	again = rdma_get_devices(NULL);
	assert_ptr_equal(again[0], list[0]);
	rdma_free_devices(again);
	rdma_free_devices(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(getaddrinfo__active),
		cmocka_unit_test(getaddrinfo__passive),
		cmocka_unit_test(getaddrinfo__hints_keep_their_type),
		cmocka_unit_test(getaddrinfo__hints_alone),
		cmocka_unit_test(getaddrinfo__errors),
		cmocka_unit_test(event_str__every_number),
		cmocka_unit_test(get_devices__open_contexts),
	};

	lo_enter_namespace();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
