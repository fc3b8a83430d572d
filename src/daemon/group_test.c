/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Groups of real sockets on loopback addresses, in a network namespace of our own where that is
 * allowed, else on addresses of 127/8 that nobody else uses. Every test ends with the same
 * question: does each packet reach the socket of its slot, and no other?
 */
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "control/address.h"
#include "daemon/group.h"
#include "daemon/member.h"

#define NONCE 0x12345678

static struct roce_group g;
static struct roce_address v4 = {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 77, 0, 1}}, 0};
static const struct roce_address v6 = {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}}, 0};
static int has_namespace;
static int replaced_slot, replaced_fd;

static void send_to(const struct roce_address *a, uint8_t slot)
{
	struct sockaddr_storage ss = {0};
	struct sockaddr_in *in = (struct sockaddr_in *)&ss;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ss;
	uint8_t b[32] = {4, 0, 0, 0, 0, slot};
	int is_v4 = roce_gid_is_v4(&a->gid);
	int fd = socket(is_v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (is_v4) {
		in->sin_family = AF_INET;
		in->sin_port = htons(ROCE_CONTROL_PORT);
		memcpy(&in->sin_addr, a->gid.raw + 12, 4);
	} else {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(ROCE_CONTROL_PORT);
		memcpy(&in6->sin6_addr, a->gid.raw, 16);
	}
	assert_int_equal(sendto(fd, b, sizeof(b), 0, (struct sockaddr *)&ss,
				is_v4 ? sizeof(*in) : sizeof(*in6)),
			 sizeof(b));
	close(fd);
}

/* A packet that must come is there, or comes in a moment. */
static void await(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	assert_int_equal(poll(&p, 1, 60000), 1);
}

/* Packets in the queue of a socket; each must be for `slot`. */
static int count(int fd, int slot)
{
	uint8_t b[64];
	int n = 0;

	while (recv(fd, b, sizeof(b), MSG_DONTWAIT) > 0) {
		assert_int_equal(b[5], slot);
		n++;
	}
	return n;
}

/* Each slot's packet at its socket, those of the others at slot 0. */
static void check_steering(struct roce_group *group)
{
	int unowned = 0, at_daemon = 0;
	uint8_t b[64];

	for (int slot = 0; slot < 256; slot++) {
		send_to(&group->address, (uint8_t)slot);
		unowned += roce_group_find(group, (uint8_t)slot) < 0;
	}
	for (; at_daemon < unowned; at_daemon++) {
		await(roce_group_get_daemon_fd(group));
		assert_true(recv(roce_group_get_daemon_fd(group), b, sizeof(b), MSG_DONTWAIT) > 0);
	}
	for (unsigned i = 0; i < group->count; i++)
		if (group->member[i].kind == ROCE_MEMBER_LEASED)
			await(group->member[i].fd);
	for (unsigned i = 0; i < group->count; i++)
		if (group->member[i].kind == ROCE_MEMBER_LEASED)
			assert_int_equal(count(group->member[i].fd, group->member[i].slot), 1);
		else if (group->member[i].kind == ROCE_MEMBER_SPARE)
			assert_int_equal(recv(group->member[i].fd, b, 1, MSG_DONTWAIT), -1);
	assert_int_equal(recv(roce_group_get_daemon_fd(group), b, 1, MSG_DONTWAIT), -1);
}

static int add(uint8_t slot)
{
	int fd = -1;

	assert_int_equal(roce_group_add(&g, slot, false, &fd), 0);
	assert_true(fd >= 0);
	return fd;
}

static void begin(const struct roce_address *a)
{
	assert_int_equal(roce_group_init(&g, a, NONCE), 0);
	assert_true(g.can_probe);
	replaced_slot = replaced_fd = -1;
}

static void roce_group_add__steers(void **state)
{
	(void)state;
	begin(&v4);
	for (int slot = 1; slot < 255; slot += 11)
		add((uint8_t)slot);
	check_steering(&g);
	assert_int_equal(add(12), g.member[roce_group_find(&g, 12)].fd); /* the same again */
	roce_group_fini(&g);
}

static void roce_group_add__steers_v6(void **state)
{
	(void)state;
	if (!has_namespace)
		skip();
	begin(&v6);
	for (int slot = 254; slot > 0; slot -= 50)
		add((uint8_t)slot);
	check_steering(&g);
	roce_group_fini(&g);
}

static void roce_group_add__all_slots(void **state)
{
	(void)state;
	begin(&v4);
	for (int slot = 1; slot < 255; slot++)
		add((uint8_t)slot);
	check_steering(&g);
	roce_group_fini(&g);
}

/* A packet filter may keep probes from us: then the numbers follow from the order alone. */
static void roce_group_add__without_probes(void **state)
{
	unsigned members;

	(void)state;
	begin(&v4);
	g.can_probe = false;
	for (int slot = 1; slot < 10; slot++)
		add((uint8_t)slot);
	members = g.count;
	for (int i = 0; i < 5; i++) {
		roce_group_remove(&g, 3);
		roce_group_remove(&g, 7);
		check_steering(&g);
		add(7);
		add(3);
		check_steering(&g);
	}
	assert_in_range(g.count, members, members + 2);
	assert_false(roce_group_resync(&g));
	roce_group_fini(&g);
}

static void roce_group_add__options(void **state)
{
	int fd, value;
	socklen_t length = sizeof(value);

	(void)state;
	begin(&v4);
	assert_int_equal(roce_group_add(&g, 1, true, &fd), 0);
	if (getsockopt(fd, IPPROTO_UDP, UDP_GRO, &value, &length))
		skip(); /* Linux before 5.0 */
	assert_int_equal(value, 0);
	fd = add(2);
	assert_int_equal(getsockopt(fd, IPPROTO_UDP, UDP_GRO, &value, &length), 0);
	assert_int_equal(value, 1);
	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_RXQ_OVFL, &value, &length), 0);
	assert_int_equal(value, 1);
	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_LOCK_FILTER, &value, &length), 0);
	assert_int_equal(value, 1);
	assert_int_equal(roce_member_get_drops(fd), 0); /* probing it left no trace */
	roce_group_fini(&g);
}

static void roce_group_remove__nobody_moves(void **state)
{
	int before[40], fd;
	unsigned members;

	(void)state;
	begin(&v4);
	for (int slot = 1; slot < 40; slot++)
		add((uint8_t)slot);
	for (int slot = 1; slot < 40; slot++)
		before[slot] = roce_group_find(&g, (uint8_t)slot);
	for (int slot = 2; slot < 40; slot += 3)
		roce_group_remove(&g, (uint8_t)slot);
	for (int slot = 1; slot < 40; slot++)
		assert_int_equal(roce_group_find(&g, (uint8_t)slot),
				 slot % 3 == 2 ? -1 : before[slot]);
	assert_int_equal(roce_group_count(&g, ROCE_MEMBER_UNKNOWN), 0);
	check_steering(&g);
	members = g.count;
	for (int i = 0; i < 100; i++) { /* the group does not grow */
		fd = add(200);
		assert_true(fd >= 0);
		roce_group_remove(&g, 200);
	}
	assert_true(g.count <= members + 1);
	check_steering(&g);
	roce_group_remove(&g, 200); /* not there: no harm */
	roce_group_fini(&g);
}

/* The former holder keeps its socket open for a while: it reads nothing, and its end moves nobody.
 */
static void roce_group_remove__holder_stays(void **state)
{
	int stale[3];

	(void)state;
	begin(&v4);
	for (int slot = 1; slot < 10; slot++)
		add((uint8_t)slot);
	for (int i = 0; i < 3; i++) {
		stale[i] = dup(g.member[roce_group_find(&g, (uint8_t)(2 + 2 * i))].fd);
		roce_group_remove(&g, (uint8_t)(2 + 2 * i));
	}
	assert_int_equal(roce_group_count(&g, ROCE_MEMBER_UNKNOWN), 3);
	check_steering(&g);
	add(2); /* leased again, on another socket */
	check_steering(&g);
	assert_int_equal(count(stale[0], 2), 0);
	for (int i = 2; i >= 0; i--) { /* they go without a word */
		close(stale[i]);
		check_steering(&g);
	}
	assert_false(roce_group_check_unknown(&g));
	assert_int_equal(roce_group_count(&g, ROCE_MEMBER_UNKNOWN), 0);
	check_steering(&g);
	add(50);
	check_steering(&g);
	roce_group_fini(&g);
}

static void on_replaced(void *ctx, const struct roce_group *group, uint8_t slot, int fd)
{
	(void)ctx;
	(void)group;
	replaced_slot = slot;
	replaced_fd = fd;
}

static void roce_group_resync__socket_left(void **state)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};
	int fd;

	(void)state;
	begin(&v4);
	g.on_replaced = on_replaced;
	for (int slot = 1; slot < 8; slot++)
		fd = add((uint8_t)slot);
	assert_false(roce_group_resync(&g)); /* nothing is wrong yet */
	assert_int_equal(g.repair_count, 0);
	fd = g.member[roce_group_find(&g, 3)].fd;
	memcpy(&to.sin_addr, v4.gid.raw + 12, 4);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	/* Before Linux 6.13 a connected socket stays a member. */
	if (roce_group_resync(&g)) {
		assert_int_equal(replaced_slot, 3);
		assert_true(replaced_fd >= 0);
		assert_int_equal(g.repair_count, 1);
		check_steering(&g);
	}
	roce_group_fini(&g);
}

static void roce_group_resync__foreign_members(void **state)
{
	int foreign[3];

	(void)state;
	begin(&v4);
	add(1);
	add(2);
	for (int i = 0; i < 3; i++) /* the same user may join */
		foreign[i] = roce_member_open(&v4, false);
	add(3); /* notices that its socket is not where it should be */
	check_steering(&g);
	close(foreign[1]);
	roce_group_resync(&g);
	check_steering(&g);
	add(4);
	check_steering(&g);
	close(foreign[0]);
	close(foreign[2]);
	roce_group_resync(&g);
	check_steering(&g);
	roce_group_fini(&g);
}

/* Somebody replaced the program through a socket that is not locked. */
static void roce_group_attach__cures_program(void **state)
{
	int16_t map[256];

	(void)state;
	begin(&v4);
	add(1);
	add(2);
	memset(map, 0xff, sizeof(map));
	assert_int_equal(
		roce_member_attach_program(g.member[roce_group_find(&g, 1)].fd, NONCE, map, 1),
		-EPERM); /* locked */
	assert_int_equal(roce_member_attach_program(roce_group_get_daemon_fd(&g), NONCE, map, 1),
			 0);
	send_to(&v4, 2);
	assert_int_equal(recv(g.member[roce_group_find(&g, 2)].fd, map, 1, MSG_DONTWAIT), -1);
	await(g.member[1].fd);
	roce_member_drain(g.member[1].fd);
	assert_int_equal(roce_group_attach(&g), 0);
	check_steering(&g);
	roce_group_fini(&g);
}

/* Everything but the leased sockets dies: a new daemon finds their numbers out. */
static void roce_group_adopt__after_death(void **state)
{
	int held[5];

	(void)state;
	begin(&v4);
	for (int slot = 1; slot <= 5; slot++)
		held[slot - 1] = dup(add((uint8_t)slot));
	roce_group_remove(&g, 4); /* its holder is still there, but has lost it */
	roce_group_fini(&g);
	begin(&v4);
	assert_int_equal(roce_group_count(&g, ROCE_MEMBER_UNKNOWN), 5);
	for (int slot = 1; slot <= 5; slot++)
		if (slot != 4)
			assert_int_equal(roce_group_adopt(&g, (uint8_t)slot, held[slot - 1]), 0);
	assert_int_equal(roce_group_count(&g, ROCE_MEMBER_UNKNOWN), 1);
	check_steering(&g);
	assert_int_equal(roce_group_adopt(&g, 1, held[0]), -EEXIST);
	assert_int_equal(roce_group_adopt(&g, 1, held[3]), -ESTALE);
	close(held[3]);
	roce_group_check_unknown(&g);
	assert_int_equal(roce_group_count(&g, ROCE_MEMBER_UNKNOWN), 0);
	check_steering(&g);
	roce_group_fini(&g);
}

/* The daemon leaves in good order while sockets are in use. */
static void roce_group_leave__mapped_right(void **state)
{
	int held[12];

	(void)state;
	begin(&v4);
	for (int slot = 1; slot <= 12; slot++)
		held[slot - 1] = dup(add((uint8_t)slot));
	for (int slot = 2; slot <= 12; slot += 4) {
		close(held[slot - 1]);
		roce_group_remove(&g, (uint8_t)slot);
	}
	roce_group_leave(&g);
	roce_group_fini(&g);
	for (int slot = 1; slot <= 12; slot++)
		if (slot % 4 != 2)
			send_to(&v4, (uint8_t)slot);
	for (int slot = 1; slot <= 12; slot++)
		if (slot % 4 != 2) {
			await(held[slot - 1]);
			assert_int_equal(count(held[slot - 1], slot), 1);
			close(held[slot - 1]);
		}
}

/* A keeper's copies in, in any order. */
static void roce_group_restore__order(void **state)
{
	struct roce_group fresh;

	(void)state;
	begin(&v4);
	for (int slot = 1; slot < 6; slot++)
		add((uint8_t)slot);
	roce_group_remove(&g, 2);
	roce_group_restore_begin(&fresh, &v4, NONCE);
	for (unsigned i = g.count; i-- > 0;)
		assert_int_equal(roce_group_restore_member(&fresh, g.member[i].kind,
							   g.member[i].slot, dup(g.member[i].fd),
							   i),
				 0);
	assert_int_equal(roce_group_restore_member(&fresh, ROCE_MEMBER_SPARE, 0, 99, 1), -EEXIST);
	assert_int_equal(
		roce_group_restore_member(&fresh, ROCE_MEMBER_SPARE, 0, 99, ROCE_GROUP_MEMBERS_MAX),
		-EINVAL);
	/* What the dead one appended last is missing: the copies say so, the kernel knows. */
	for (unsigned i = 0; i < g.count; i++)
		close(g.member[i].fd);
	g.count = 0;
	assert_int_equal(roce_group_restore_finish(&fresh), 0);
	assert_int_equal(roce_group_count(&fresh, ROCE_MEMBER_LEASED), 4);
	assert_int_equal(fresh.repair_count, 0);
	check_steering(&fresh);
	roce_group_fini(&fresh);
	roce_group_fini(&g);
}

static void roce_group_init__errors(void **state)
{
	struct roce_address nowhere = {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1}},
				       0};
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(ROCE_CONTROL_PORT)};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	(void)state;
	assert_int_equal(roce_group_init(&g, &nowhere, NONCE), -EADDRNOTAVAIL);
	memcpy(&in.sin_addr, v4.gid.raw + 12, 4);
	assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	assert_int_equal(roce_group_init(&g, &v4, NONCE), -EADDRINUSE);
	close(fd);
}

static void roce_address_str__forms(void **state)
{
	char text[64];
	struct roce_address local = {{{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5}}, 1};

	(void)state;
	roce_address_str(&v4, text, sizeof(text));
	assert_string_equal(text, "127.77.0.1");
	roce_address_str(&v6, text, sizeof(text));
	assert_string_equal(text, "::1");
	roce_address_str(&local, text, sizeof(text));
	assert_string_equal(text, "fe80::5%lo");
}

static void enter_namespace(void)
{
	struct ifreq ifr = {.ifr_name = "lo"};
	int fd;

	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return;
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	ifr.ifr_flags = IFF_UP;
	has_namespace = ioctl(fd, SIOCSIFFLAGS, &ifr) == 0;
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roce_group_add__steers),
		cmocka_unit_test(roce_group_add__steers_v6),
		cmocka_unit_test(roce_group_add__all_slots),
		cmocka_unit_test(roce_group_add__without_probes),
		cmocka_unit_test(roce_group_add__options),
		cmocka_unit_test(roce_group_remove__nobody_moves),
		cmocka_unit_test(roce_group_remove__holder_stays),
		cmocka_unit_test(roce_group_resync__socket_left),
		cmocka_unit_test(roce_group_resync__foreign_members),
		cmocka_unit_test(roce_group_attach__cures_program),
		cmocka_unit_test(roce_group_adopt__after_death),
		cmocka_unit_test(roce_group_leave__mapped_right),
		cmocka_unit_test(roce_group_restore__order),
		cmocka_unit_test(roce_group_init__errors),
		cmocka_unit_test(roce_address_str__forms),
	};

	enter_namespace();
	if (!has_namespace) /* beside others: an address of this process */
		v4.gid.raw[13] = (uint8_t)(100 + getpid() % 100);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
