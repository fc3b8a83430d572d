/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An open device while its network device changes under it, as a program sees it: events without
 * any queue pair, the port's state and GIDs, queue pairs whose address comes or leaves, and the
 * list of devices. The network device is one end of a veth in a namespace of the test's own.
 */
#include "lo_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include <arpa/inet.h>

#define NAME	"uroce_tst0"
#define WAIT_MS 60000 /* of a loaded machine; a change takes milliseconds */

static struct lo_device dev;

static void run(const char *command)
{
	assert_int_equal(system(command), 0);
}

static union ibv_gid gid_of(const char *ipv4)
{
	union ibv_gid gid = {.raw = {[10] = 0xff, [11] = 0xff}};

	assert_int_equal(inet_pton(AF_INET, ipv4, gid.raw + 12), 1);
	return gid;
}

/* The address at an index: "" where there is none. */
static const char *address_at(uint32_t index)
{
	static char text[INET6_ADDRSTRLEN];
	struct ibv_gid_entry entry;
	int err = ibv_query_gid_ex(dev.context, 1, index, &entry, 0);

	if (err == ENODATA)
		return "";
	assert_int_equal(err, 0);
	assert_int_equal(entry.gid_type, IBV_GID_TYPE_ROCE_V2);
	assert_non_null(inet_ntop(AF_INET, entry.gid.raw + 12, text, sizeof(text)));
	return text;
}

static struct ibv_port_attr query(void)
{
	struct ibv_port_attr attr;

	assert_int_equal(ibv_query_port(dev.context, 1, &attr), 0);
	return attr;
}

/* IPv6 would come and go with the link, each address an event. */
static int setup(void **state)
{
	(void)state;
	run("ip link add tst0 mtu 4200 type veth peer name tst1 && "
	    "for v6 in /proc/sys/net/ipv6/conf/tst*/disable_ipv6; do "
	    "if test -e $v6; then echo 1 >$v6; fi; done && "
	    "ip link set tst1 up && ip link set tst0 up && ip addr add 10.9.8.1/24 dev tst0");
	lo_open_other(&dev, NAME);
	for (int i = 0; i < WAIT_MS / 10 && query().state != IBV_PORT_ACTIVE; i++)
		usleep(10000);
	lo_close(&dev); /* and with it what was told until now */
	lo_open_other(&dev, NAME);
	assert_int_equal(query().state, IBV_PORT_ACTIVE);
	assert_int_equal(fcntl(dev.context->async_fd, F_SETFL, O_NONBLOCK), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	lo_close(&dev);
	(void)!system("ip link del tst0 2>/dev/null; ip link del tst1 2>/dev/null");
	return 0;
}

/* Waits on the descriptor alone: no question is asked that could help. */
static void expect_event(enum ibv_event_type type)
{
	struct pollfd p = {.fd = dev.context->async_fd, .events = POLLIN};
	struct ibv_async_event event;

	assert_int_equal(poll(&p, 1, WAIT_MS), 1);
	assert_int_equal(ibv_get_async_event(dev.context, &event), 0);
	assert_int_equal(event.event_type, type);
	if (type != IBV_EVENT_DEVICE_FATAL)
		assert_int_equal(event.element.port_num, 1);
	ibv_ack_async_event(&event);
}

static void expect_quiet(void)
{
	struct ibv_async_event event;

	usleep(100000);
	assert_int_equal(ibv_get_async_event(dev.context, &event), -1);
	assert_int_equal(errno, EAGAIN);
}

/* ---- events ---- */

static void events__without_any_queue_pair(void **state)
{
	struct ibv_device_attr attr;

	(void)state;
	assert_int_equal(ibv_query_device(dev.context, &attr), 0);
	assert_true(attr.device_cap_flags & IBV_DEVICE_PORT_ACTIVE_EVENT);
	expect_quiet();
	run("ip addr add 10.9.8.2/24 dev tst0");
	expect_event(IBV_EVENT_GID_CHANGE);
	assert_string_equal(address_at(1), "10.9.8.2");
	run("ip addr del 10.9.8.2/24 dev tst0");
	expect_event(IBV_EVENT_GID_CHANGE);
	assert_string_equal(address_at(1), "");
	run("ip link set tst1 down");
	expect_event(IBV_EVENT_PORT_ERR);
	assert_int_equal(query().state, IBV_PORT_DOWN);
	run("ip link set tst1 up");
	expect_event(IBV_EVENT_PORT_ACTIVE);
	assert_int_equal(query().state, IBV_PORT_ACTIVE);
	run("ip link set tst0 mtu 1500");
	expect_quiet(); /* there is no event for it */
	assert_int_equal(query().active_mtu, IBV_MTU_1024);
	run("ip link set tst0 mtu 9000");
	assert_int_equal(query().active_mtu, IBV_MTU_4096);
	run("ip link set tst1 mtu 1500 && ip addr add 10.9.9.1/24 dev tst1");
	expect_quiet();				 /* another device's */
	run("! grep -q ':12B7 ' /proc/net/udp"); /* no slot: port 4791 is free */
}

static void events__device_gone(void **state)
{
	struct lo_device old = dev;

	(void)state;
	run("ip link del tst0");
	expect_event(IBV_EVENT_PORT_ERR);
	expect_event(IBV_EVENT_GID_CHANGE);
	expect_event(IBV_EVENT_DEVICE_FATAL);
	expect_quiet();
	assert_int_equal(query().state, IBV_PORT_DOWN);
	assert_string_equal(address_at(0), "");
	/* A new one of the same name is another device, also under the old one's number. */
	run("ip link add tst0 type veth peer name tst1 && ip link set tst1 up && "
	    "ip link set tst0 up && ip addr add 10.9.8.3/24 dev tst0");
	lo_open_other(&dev, NAME);
	assert_string_equal(address_at(0), "10.9.8.3");
	lo_close(&dev);
	dev = old;
	assert_int_equal(query().state, IBV_PORT_DOWN);
	expect_quiet();
}

/* For this namespace that is the same. */
static void events__device_moved_away(void **state)
{
	(void)state;
	run("unshare --net sleep 300 & pid=$!; own=$(readlink /proc/self/ns/net); "
	    "while test $(readlink /proc/$pid/ns/net) = $own; do sleep 0.02; done; "
	    "ip link set tst0 netns $pid && kill $pid");
	expect_event(IBV_EVENT_PORT_ERR);
	expect_event(IBV_EVENT_GID_CHANGE);
	expect_event(IBV_EVENT_DEVICE_FATAL);
	expect_quiet();
}

/* ---- the list of devices ---- */

static int find_in_list(const char *name, bool *out_is_last)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int at = -1;

	assert_non_null(list);
	for (int i = 0; list[i]; i++) {
		if (strcmp(ibv_get_device_name(list[i]), name) == 0) {
			at = i;
			*out_is_last = !list[i + 1];
		}
	}
	ibv_free_device_list(list);
	return at;
}

static void list__devices_come_go_and_are_renamed(void **state)
{
	bool is_last;

	(void)state;
	assert_int_equal(find_in_list(NAME, &is_last), 0);
	assert_int_equal(find_in_list("uroce_lo", &is_last), 1);
	assert_true(is_last);
	assert_int_equal(find_in_list("uroce_tst1", &is_last), -1); /* it has no address */
	run("ip addr add 10.9.9.1/24 dev tst1");
	assert_true(find_in_list("uroce_tst1", &is_last) >= 0);
	assert_int_equal(find_in_list("uroce_lo", &is_last), 2);
	assert_true(is_last);
	run("ip link set tst1 name tst2");
	assert_int_equal(find_in_list("uroce_tst1", &is_last), -1);
	assert_true(find_in_list("uroce_tst2", &is_last) >= 0);
	setenv("UROCE_NAME", "mlx5_0=tst2", 1);
	assert_true(find_in_list("mlx5_0", &is_last) >= 0);
	assert_int_equal(find_in_list("uroce_tst2", &is_last), -1);
	unsetenv("UROCE_NAME");
	run("ip link set tst2 down");
	assert_int_equal(find_in_list("uroce_tst2", &is_last), -1);
	expect_event(IBV_EVENT_PORT_ERR); /* tst0 lost its carrier, and is listed all the same */
	assert_true(find_in_list(NAME, &is_last) >= 0);
}

/* Renaming the network device of an open one changes nothing for who has it open. */
static void open_device__survives_a_rename(void **state)
{
	(void)state;
	run("ip link set tst0 name tst9");
	assert_string_equal(ibv_get_device_name(dev.context->device), NAME);
	assert_string_equal(address_at(0), "10.9.8.1");
	run("ip addr add 10.9.8.4/24 dev tst9");
	expect_event(IBV_EVENT_GID_CHANGE);
	assert_string_equal(address_at(1), "10.9.8.4");
	run("ip link set tst9 name tst0");
}

static void list__case_048_guid_is_never_zero(void **state)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_device_attr attr;

	(void)state;
	assert_non_null(list);
	for (size_t i = 0; list[i]; i++) /* lo has no MAC address */
		assert_true(ibv_get_device_guid(list[i]) != 0);
	ibv_free_device_list(list);
	assert_int_equal(ibv_query_device(dev.context, &attr), 0);
	assert_true(attr.node_guid != 0 && attr.sys_image_guid == attr.node_guid);
}

/* ---- GIDs ---- */

static void gids__case_019_empty_entry_is_no_address(void **state)
{
	static const union ibv_gid zero;
	union ibv_gid gid;
	struct ibv_gid_entry entry;
	struct ibv_gid_entry untouched;

	(void)state;
	run("ip addr del 10.9.8.1/24 dev tst0"); /* the only one */
	for (int index = 0; index < 128; index += 127) {
		memset(&gid, 0xa5, sizeof(gid));
		assert_int_equal(ibv_query_gid(dev.context, 1, index, &gid), 0);
		assert_memory_equal(&gid, &zero, sizeof(gid));
		memset(&entry, 0xa5, sizeof(entry));
		memset(&untouched, 0xa5, sizeof(untouched));
		assert_int_equal(ibv_query_gid_ex(dev.context, 1, (uint32_t)index, &entry, 0),
				 ENODATA);
		assert_memory_equal(&entry, &untouched, sizeof(entry));
	}
	assert_int_equal(ibv_query_gid_table(dev.context, &entry, 1, 0), 0);
}

static void gids__case_016_default_index_makes_a_handle(void **state)
{
	struct ibv_ah_attr attr = lo_ah_attr(&dev); /* index 0 */
	struct ibv_ah *ah;

	(void)state;
	/* as it is on an interface with both families: the routable address stands first */
	lo_close(&dev);
	run("for v6 in /proc/sys/net/ipv6/conf/tst0/disable_ipv6; do "
	    "if test -e $v6; then echo 0 >$v6; ip addr add fd05::1/64 dev tst0 nodad; fi; done");
	lo_open_other(&dev, NAME);
	assert_string_equal(address_at(0), "10.9.8.1");
	ah = ibv_create_ah(dev.pd, &attr);
	assert_non_null(ah);
	assert_int_equal(ibv_destroy_ah(ah), 0);
}

/* RoCE v1 is never listed: the first entry of an address is the one that works. */
static void gids__case_015_v2_only(void **state)
{
	struct ibv_gid_entry entries[8];
	union ibv_gid wanted = gid_of("10.9.8.1");
	ssize_t count = ibv_query_gid_table(dev.context, entries, 8, 0);
	int found = 0;

	(void)state;
	assert_true(count > 0);
	for (ssize_t i = 0; i < count; i++) {
		assert_int_equal(entries[i].gid_type, IBV_GID_TYPE_ROCE_V2);
		found += memcmp(&entries[i].gid, &wanted, sizeof(wanted)) == 0;
	}
	assert_int_equal(found, 1);
	assert_memory_equal(&entries[0].gid, &wanted, sizeof(wanted));
}

static void query_port__case_010_needs_a_grh(void **state)
{
	struct ibv_qp *qp = lo_make_qp(&dev);
	struct ibv_qp_attr attr = lo_attr(&dev, qp->qp_num);

	(void)state;
	assert_true(query().flags & IBV_QPF_GRH_REQUIRED);
	assert_int_equal(lo_bring(&dev, qp, qp->qp_num, IBV_QPS_INIT), 0);
	attr.qp_state = IBV_QPS_RTR;
	attr.ah_attr.is_global = 0;
	assert_int_equal(ibv_modify_qp(qp, &attr, LO_RTR_MASK), EINVAL);
	attr.ah_attr.is_global = 1;
	assert_int_equal(ibv_modify_qp(qp, &attr, LO_RTR_MASK), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

/* The index of an address that left is nobody else's while a handle or a queue pair uses it. */
static void gids__index_in_use_is_not_given_away(void **state)
{
	struct ibv_ah_attr attr = lo_ah_attr(&dev);
	struct ibv_ah *ah = ibv_create_ah(dev.pd, &attr);
	struct ibv_qp *qp = lo_make_qp(&dev);
	struct ibv_qp_attr got;
	struct ibv_qp_init_attr init;

	(void)state;
	assert_non_null(ah);
	assert_int_equal(lo_bring(&dev, qp, qp->qp_num, IBV_QPS_RTS), 0);
	run("ip addr add 10.9.8.2/24 dev tst0 && ip addr del 10.9.8.1/24 dev tst0 && "
	    "ip addr replace 10.9.8.2/24 dev tst0 && ip addr add 10.9.8.3/24 dev tst0");
	assert_string_equal(address_at(0), "");
	assert_null(ibv_create_ah(dev.pd, &attr));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_query_qp(qp, &got, IBV_QP_AV, &init), 0);
	assert_int_equal(got.ah_attr.grh.sgid_index, 0);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	run("ip addr add 10.9.8.4/24 dev tst0");
	assert_string_equal(address_at(0), ""); /* the queue pair's still */
	assert_int_equal(ibv_destroy_qp(qp), 0);
	run("ip addr add 10.9.8.5/24 dev tst0");
	assert_string_equal(address_at(0), "10.9.8.5");
}

/* ---- queue pairs ---- */

static int post_send(struct ibv_qp *qp, struct ibv_ah *ah)
{
	struct ibv_sge sge = {.addr = (uintptr_t)dev.mem, .length = 64, .lkey = dev.mr->lkey};
	struct ibv_send_wr *bad;
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED};

	if (ah) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = qp->qp_num;
		wr.wr.ud.remote_qkey = 0x1234;
	}
	return ibv_post_send(qp, &wr, &bad);
}

static void post_recv(struct ibv_qp *qp)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)dev.mem + 4096, .length = 4096, .lkey = dev.mr->lkey};
	struct ibv_recv_wr *bad;
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1};

	assert_int_equal(ibv_post_recv(qp, &wr, &bad), 0);
}

static struct ibv_wc next_completion(void)
{
	struct ibv_wc wc;

	assert_true(lo_poll(&dev, &wc));
	return wc;
}

static void expect_status(enum ibv_wc_status status)
{
	assert_int_equal(next_completion().status, status);
}

static void expect_sent(void)
{
	struct ibv_wc wc = next_completion();

	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_SEND);
}

static void expect_sent_and_received(void)
{
	struct ibv_wc first = next_completion();
	struct ibv_wc second = next_completion();

	assert_int_equal(first.status, IBV_WC_SUCCESS);
	assert_int_equal(second.status, IBV_WC_SUCCESS);
	assert_int_equal(first.opcode + second.opcode, IBV_WC_SEND + IBV_WC_RECV);
}

static struct ibv_qp *connect_to_itself(void)
{
	struct ibv_qp *qp = lo_make_qp(&dev);
	struct ibv_qp_attr attr = lo_attr(&dev, qp->qp_num);

	attr.timeout = 10;
	attr.retry_cnt = 2;
	attr.qp_state = IBV_QPS_INIT;
	assert_int_equal(ibv_modify_qp(qp, &attr, LO_INIT_MASK), 0);
	attr.qp_state = IBV_QPS_RTR;
	assert_int_equal(ibv_modify_qp(qp, &attr, LO_RTR_MASK), 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(qp, &attr, LO_RTS_MASK), 0);
	return qp;
}

static void connected__address_that_left_is_a_dead_path(void **state)
{
	struct ibv_qp *qp = connect_to_itself();

	(void)state;
	post_recv(qp);
	assert_int_equal(post_send(qp, NULL), 0);
	expect_sent_and_received();
	run("ip addr del 10.9.8.1/24 dev tst0");
	expect_event(IBV_EVENT_GID_CHANGE);
	post_recv(qp);
	assert_int_equal(post_send(qp, NULL), 0);
	expect_status(IBV_WC_RETRY_EXC_ERR);
	expect_status(IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void connected__goes_on_when_the_address_is_back(void **state)
{
	struct ibv_qp *qp = connect_to_itself();

	(void)state;
	run("ip addr del 10.9.8.1/24 dev tst0 && ip addr add 10.9.8.1/24 dev tst0");
	post_recv(qp);
	assert_int_equal(post_send(qp, NULL), 0);
	expect_sent_and_received();
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void connected__device_gone(void **state)
{
	struct ibv_qp *qp = connect_to_itself();

	(void)state;
	run("ip link del tst0");
	expect_event(IBV_EVENT_PORT_ERR);
	assert_int_equal(post_send(qp, NULL), 0);
	expect_status(IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static struct ibv_qp *make_datagram_qp(void)
{
	struct ibv_qp_init_attr init = {
		.send_cq = dev.cq,
		.recv_cq = dev.cq,
		.cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_UD,
	};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 0x1234};
	struct ibv_qp *qp = ibv_create_qp(dev.pd, &init);

	assert_non_null(qp);
	assert_int_equal(
		ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
		0);
	attr.qp_state = IBV_QPS_RTR;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
	return qp;
}

static struct ibv_ah *make_handle(uint8_t sgid_index, const char *to)
{
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1, .grh = {.hop_limit = 64, .sgid_index = sgid_index}};
	struct ibv_ah *ah;

	attr.grh.dgid = gid_of(to);
	ah = ibv_create_ah(dev.pd, &attr);
	assert_non_null(ah);
	return ah;
}

static void datagrams__to_and_from_addresses_that_come(void **state)
{
	struct ibv_qp *qp = make_datagram_qp();
	struct ibv_ah *old_to_new;
	struct ibv_ah *new_to_old;
	struct ibv_ah *new_to_new;

	(void)state;
	run("ip addr add 10.9.7.2/24 dev tst0");
	expect_event(IBV_EVENT_GID_CHANGE);
	assert_string_equal(address_at(1), "10.9.7.2");
	old_to_new = make_handle(0, "10.9.7.2");
	new_to_old = make_handle(1, "10.9.8.1");
	new_to_new = make_handle(1, "10.9.7.2");
	post_recv(qp);
	assert_int_equal(post_send(qp, old_to_new), 0);
	expect_sent_and_received();
	post_recv(qp);
	assert_int_equal(post_send(qp, new_to_old), 0);
	expect_sent_and_received();

	/* The old one leaves: what is sent from it is lost, the new one works on. */
	run("ip addr del 10.9.8.1/24 dev tst0");
	expect_event(IBV_EVENT_GID_CHANGE);
	assert_int_equal(post_send(qp, old_to_new), 0);
	expect_sent();
	post_recv(qp);
	assert_int_equal(post_send(qp, new_to_new), 0);
	expect_sent_and_received();
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_ah(old_to_new), 0);
	assert_int_equal(ibv_destroy_ah(new_to_old), 0);
	assert_int_equal(ibv_destroy_ah(new_to_new), 0);
}

int main(void)
{
#define LIVE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		LIVE(events__without_any_queue_pair),
		LIVE(events__device_gone),
		LIVE(events__device_moved_away),
		LIVE(list__devices_come_go_and_are_renamed),
		LIVE(open_device__survives_a_rename),
		LIVE(list__case_048_guid_is_never_zero),
		LIVE(gids__case_019_empty_entry_is_no_address),
		LIVE(gids__case_016_default_index_makes_a_handle),
		LIVE(gids__case_015_v2_only),
		LIVE(query_port__case_010_needs_a_grh),
		LIVE(gids__index_in_use_is_not_given_away),
		LIVE(connected__address_that_left_is_a_dead_path),
		LIVE(connected__goes_on_when_the_address_is_back),
		LIVE(connected__device_gone),
		LIVE(datagrams__to_and_from_addresses_that_come),
	};

	lo_enter_namespace();
	if (system("command -v ip >/dev/null") != 0) {
		puts("no ip command here");
		return LO_SKIP;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
