/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses, ports, options, routes and multicast groups of ids: what a call gets at once, and what
 * the id shows afterwards.
 */
#include "ends.h"

#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/sa.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define ENOTSUPP_OF_LINUX 524

static struct rdma_event_channel *channel;

static int set_up(void **state)
{
	(void)state;
	channel = rdma_create_event_channel();
	return channel ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	rdma_destroy_event_channel(channel);
	return 0;
}

static struct rdma_cm_id *make(enum rdma_port_space ps)
{
	struct rdma_cm_id *id;

	assert_int_equal(rdma_create_id(channel, &id, NULL, ps), 0);
	return id;
}

static struct sockaddr_in v4(const char *text, uint16_t port)
{
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(port)};

	assert_int_equal(inet_pton(AF_INET, text, &addr.sin_addr), 1);
	return addr;
}

/* 0 or the errno. */
static int bind_to(struct rdma_cm_id *id, const char *text, uint16_t port)
{
	struct sockaddr_in addr = v4(text, port);

	errno = 0;
	return rdma_bind_addr(id, (struct sockaddr *)&addr) ? errno : 0;
}

static void create__port_spaces(void **state)
{
	struct rdma_cm_id *id = NULL;

	(void)state;
	errno = 0;
	assert_int_equal(rdma_create_id(channel, &id, NULL, (enum rdma_port_space)7), -1);
	assert_int_equal(errno, EINVAL);
	id = make(RDMA_PS_TCP);
	assert_int_equal(id->qp_type, IBV_QPT_RC);
	assert_null(id->verbs);
	assert_null(id->pd);
	rdma_destroy_id(id);
	id = make(RDMA_PS_UDP);
	assert_int_equal(id->qp_type, IBV_QPT_UD);
	rdma_destroy_id(id);
}

static void bind__addresses(void **state)
{
	struct sockaddr_in6 local = {.sin6_family = AF_INET6};
	struct sockaddr strange = {.sa_family = AF_UNIX};
	struct rdma_cm_id *id = make(RDMA_PS_TCP);

	(void)state;
	assert_int_equal(bind_to(id, "192.0.2.1", 0), EADDRNOTAVAIL);
	assert_int_equal(rdma_bind_addr(id, &strange), -1);
	assert_int_equal(errno, EINVAL);
	inet_pton(AF_INET6, "fe80::1", &local.sin6_addr);
	assert_int_equal(rdma_bind_addr(id, (struct sockaddr *)&local), -1);
	assert_int_equal(errno, EINVAL);
	/* A port and no device; and no second time. */
	assert_int_equal(bind_to(id, "0.0.0.0", 0), 0);
	assert_int_not_equal(rdma_get_src_port(id), 0);
	assert_int_equal(rdma_get_dst_port(id), 0);
	assert_null(id->verbs);
	assert_int_equal(bind_to(id, "0.0.0.0", 0), EINVAL);
	rdma_destroy_id(id);
}

static void bind__ports(void **state)
{
	struct rdma_cm_id *a = make(RDMA_PS_TCP), *b = make(RDMA_PS_TCP), *c = make(RDMA_PS_UDP);

	(void)state;
	assert_int_equal(bind_to(a, "0.0.0.0", 7777), 0);
	assert_int_equal(ntohs(rdma_get_src_port(a)), 7777);
	assert_int_equal(bind_to(b, "0.0.0.0", 7777), EADDRNOTAVAIL);
	/* Each port space has its own. */
	assert_int_equal(bind_to(c, "0.0.0.0", 7777), 0);
	rdma_destroy_id(a);
	assert_int_equal(bind_to(b, "0.0.0.0", 7777), 0);
	rdma_destroy_id(b);
	rdma_destroy_id(c);
}

static void listen__unbound(void **state)
{
	struct rdma_cm_id *id = make(RDMA_PS_TCP);

	(void)state;
	assert_int_equal(rdma_listen(id, -1), 0);
	assert_int_equal(id->route.addr.src_addr.sa_family, AF_INET);
	assert_int_not_equal(rdma_get_src_port(id), 0);
	rdma_destroy_id(id);
}

static void resolve__what_the_id_shows(void **state)
{
	struct sockaddr_in to = v4("127.0.0.1", 4420);
	struct rdma_cm_id *id = make(RDMA_PS_TCP);
	const struct ibv_sa_path_rec *path;
	uint8_t tos = 0x68;

	(void)state;
	assert_int_equal(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 1), 0);
	assert_int_equal(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 1000), 0);
	rdma_ack_cm_event(ends_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED));
	assert_non_null(id->verbs);
	assert_non_null(id->pd);
	assert_int_equal(id->port_num, 1);
	assert_string_equal(id->verbs->device->name, "uroce_lo");
	assert_int_equal(ntohs(rdma_get_dst_port(id)), 4420);
	assert_int_equal(rdma_get_local_addr(id)->sa_family, AF_INET);
	assert_int_equal(id->route.num_paths, 0);
	errno = 0;
	assert_int_equal(rdma_resolve_route(id, 0), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rdma_resolve_route(id, 1000), 0);
	rdma_ack_cm_event(ends_expect(channel, RDMA_CM_EVENT_ROUTE_RESOLVED));
	assert_int_equal(id->route.num_paths, 1);
	path = id->route.path_rec;
	assert_int_equal(path->hop_limit, 64);
	assert_int_equal(path->traffic_class, 0x68);
	assert_int_equal(path->pkey, htons(0xffff));
	assert_int_equal(path->mtu, IBV_MTU_4096);
	assert_int_equal(ntohl(path->flow_label),
			 (ntohs(rdma_get_src_port(id)) * 31 + 4420) & 0xfffff);
	assert_memory_equal(&path->sgid, &id->route.addr.addr.ibaddr.sgid, 16);
	rdma_destroy_id(id);
}

/* A program that brings its own path. */
static void resolve__path_of_the_program(void **state)
{
	struct ibv_path_data data[2] = {{0}, {.flags = IBV_PATH_FLAG_PRIMARY}};
	struct sockaddr_in to = v4("127.0.0.1", 4420);
	struct rdma_cm_id *id = make(RDMA_PS_TCP);
	struct ibv_path_record *path = &data[1].path;

	(void)state;
	assert_int_equal(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 1000), 0);
	rdma_ack_cm_event(ends_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED));
	path->sgid = id->route.addr.addr.ibaddr.sgid;
	path->dgid = id->route.addr.addr.ibaddr.dgid;
	path->flowlabel_hoplimit = htobe32(0xabcde << 8 | 7);
	path->tclass = 0x20;
	path->pkey = htobe16(0xffff);
	path->mtu = 2 << 6 | IBV_MTU_1024;
	path->packetlifetime = 2 << 6 | 14;
	errno = 0;
	assert_int_equal(rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, data, 71), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(
		rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, data, sizeof(data)), 0);
	rdma_ack_cm_event(ends_expect(channel, RDMA_CM_EVENT_ROUTE_RESOLVED));
	assert_int_equal(ntohl(id->route.path_rec->flow_label), 0xabcde);
	assert_int_equal(id->route.path_rec->hop_limit, 7);
	assert_int_equal(id->route.path_rec->traffic_class, 0x20);
	assert_int_equal(id->route.path_rec->mtu, IBV_MTU_1024);
	assert_int_equal(id->route.path_rec->packet_life_time, 14);
	rdma_destroy_id(id);
}

static void resolve__refused_at_once(void **state)
{
	struct sockaddr_in nowhere = v4("198.51.100.1", 1);
	struct sockaddr_in6 other = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
	struct rdma_cm_id *id = make(RDMA_PS_TCP);

	(void)state;
	errno = 0;
	assert_int_equal(rdma_resolve_addr(id, NULL, NULL, 1000), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(
		rdma_resolve_addr(id, (struct sockaddr *)&other, (struct sockaddr *)&nowhere, 1000),
		-1);
	assert_int_equal(errno, EINVAL);
	/* No route but to the host itself. */
	assert_int_equal(rdma_resolve_addr(id, NULL, (struct sockaddr *)&nowhere, 1000), -1);
	assert_int_equal(errno, ENETUNREACH);
	ends_expect_none(channel, 20);
	rdma_destroy_id(id);
}

static void options__sizes_and_moments(void **state)
{
	struct rdma_cm_id *id = make(RDMA_PS_TCP), *ud = make(RDMA_PS_UDP);
	uint8_t byte = 14;
	int one = 1;

	(void)state;
	assert_int_equal(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &byte, 1),
			 0);
	assert_int_equal(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &one, 4), 0);
	assert_int_equal(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &one, 4), 0);
	errno = 0;
	assert_int_equal(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &one, 4), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rdma_set_option(ud, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &byte, 1),
			 -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rdma_set_option(id, RDMA_OPTION_ID, 99, &one, 4), -1);
	assert_int_equal(errno, ENOSYS);
	assert_int_equal(rdma_set_option(id, 9, 0, &one, 4), -1);
	assert_int_equal(errno, ENOSYS);
	assert_int_equal(rdma_listen(id, 1), 0);
	assert_int_equal(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &one, 4),
			 -1);
	assert_int_equal(errno, EINVAL);
	rdma_destroy_id(id);
	rdma_destroy_id(ud);
}

static void ece__only_without_a_queue_pair(void **state)
{
	struct rdma_cm_id *id = make(RDMA_PS_TCP);
	struct ibv_ece ece = {.vendor_id = 0x15b3, .options = 5};

	(void)state;
	assert_int_equal(rdma_set_local_ece(id, &ece), 0);
	ece.vendor_id = 0;
	assert_int_equal(rdma_set_local_ece(id, &ece), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rdma_get_remote_ece(id, &ece), 0);
	assert_int_equal(ece.vendor_id, 0);
	rdma_destroy_id(id);
}

static struct rdma_cm_id *make_datagrams(void)
{
	struct sockaddr_in to = v4("127.0.0.1", 1);
	struct rdma_cm_id *id = make(RDMA_PS_UDP);

	assert_int_equal(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 1000), 0);
	rdma_ack_cm_event(ends_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED));
	return id;
}

static void multicast__join_and_leave(void **state)
{
	struct sockaddr_in group = v4("239.1.2.3", 0);
	struct rdma_cm_id *id = make_datagrams();
	struct rdma_cm_event *event;
	int context;

	(void)state;
	ends_make_qp(id);
	assert_int_equal(rdma_join_multicast(id, (struct sockaddr *)&group, &context), 0);
	event = ends_expect(channel, RDMA_CM_EVENT_MULTICAST_JOIN);
	assert_int_equal(event->status, 0);
	assert_ptr_equal(event->param.ud.private_data, &context);
	assert_int_equal(event->param.ud.private_data_len, 0);
	assert_int_equal(event->param.ud.qp_num, 0xffffff);
	assert_int_equal(event->param.ud.qkey, RDMA_UDP_QKEY);
	assert_int_equal(event->param.ud.ah_attr.grh.dgid.raw[10], 0xff);
	assert_int_equal(event->param.ud.ah_attr.grh.dgid.raw[12], 239);
	rdma_ack_cm_event(event);
	errno = 0;
	group.sin_port = 1;
	assert_int_equal(rdma_leave_multicast(id, (struct sockaddr *)&group), -1);
	assert_int_equal(errno, EADDRNOTAVAIL);
	group.sin_port = 0;
	assert_int_equal(rdma_leave_multicast(id, (struct sockaddr *)&group), 0);
	/* What is joined when the id goes is left with it, its unread event too. */
	assert_int_equal(rdma_join_multicast(id, (struct sockaddr *)&group, &context), 0);
	rdma_destroy_qp(id);
	rdma_destroy_id(id);
	ends_expect_none(channel, 20);
}

static void multicast__refused(void **state)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6};
	struct sockaddr_in group = v4("239.1.2.3", 0), zero = v4("0.0.0.0", 0);
	struct rdma_cm_join_mc_attr_ex attr = {.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS,
					       .addr = (struct sockaddr *)&group};
	struct rdma_cm_id *id = make_datagrams(), *unbound = make(RDMA_PS_UDP);

	(void)state;
	errno = 0;
	assert_int_equal(rdma_join_multicast(unbound, (struct sockaddr *)&group, NULL), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rdma_join_multicast(id, (struct sockaddr *)&zero, NULL), -1);
	assert_int_equal(errno, EINVAL);
	inet_pton(AF_INET6, "ff0e::1", &six.sin6_addr);
	assert_int_equal(rdma_join_multicast(id, (struct sockaddr *)&six, NULL), -1);
	assert_int_equal(errno, ENOTSUPP_OF_LINUX);
	assert_int_equal(rdma_join_multicast_ex(id, &attr, NULL), -1);
	assert_int_equal(errno, EINVAL);
	attr.comp_mask = 8;
	assert_int_equal(rdma_join_multicast_ex(id, &attr, NULL), -1);
	assert_int_equal(errno, ENOTSUP);
	rdma_destroy_id(id);
	rdma_destroy_id(unbound);
}

static bool has_veth(void)
{
	return system("ip link add rm0 type veth peer name rm1 && ip link set rm1 up && "
		      "ip addr add 10.9.0.1/24 dev rm0 && ip link set rm0 up") == 0;
}

static void removal__told_once_to_each_id(void **state)
{
	struct rdma_cm_id *first = make(RDMA_PS_TCP), *second = make(RDMA_PS_UDP);
	struct rdma_cm_id *other = make(RDMA_PS_TCP), *any = make(RDMA_PS_TCP);
	struct sockaddr_in self = v4("127.0.0.1", 1);
	struct rdma_cm_event *event;

	(void)state;
	if (!has_veth())
		skip();
	assert_int_equal(bind_to(first, "10.9.0.1", 0), 0);
	assert_string_equal(first->verbs->device->name, "uroce_rm0");
	assert_int_equal(bind_to(second, "10.9.0.1", 0), 0);
	assert_ptr_equal(second->verbs, first->verbs);
	assert_int_equal(bind_to(any, "0.0.0.0", 0), 0);
	assert_int_equal(rdma_bind_addr(other, (struct sockaddr *)&self), 0);
	assert_int_equal(system("ip link del rm0"), 0);
	event = ends_expect(channel, RDMA_CM_EVENT_DEVICE_REMOVAL);
	assert_true(event->id == first || event->id == second);
	assert_int_equal(event->status, 0);
	rdma_ack_cm_event(event);
	rdma_ack_cm_event(ends_expect(channel, RDMA_CM_EVENT_DEVICE_REMOVAL));
	ends_expect_none(channel, 50);
	rdma_destroy_id(first);
	rdma_destroy_id(second);
	rdma_destroy_id(other);
	rdma_destroy_id(any);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(create__port_spaces),
		TEST(bind__addresses),
		TEST(bind__ports),
		TEST(listen__unbound),
		TEST(resolve__what_the_id_shows),
		TEST(resolve__path_of_the_program),
		TEST(resolve__refused_at_once),
		TEST(options__sizes_and_moments),
		TEST(ece__only_without_a_queue_pair),
		TEST(multicast__join_and_leave),
		TEST(multicast__refused),
		TEST(removal__told_once_to_each_id),
	};

	ends_enter_namespace();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
