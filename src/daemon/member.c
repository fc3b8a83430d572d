/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * System calls on receiving sockets. Options that a kernel does not know (UDP_GRO before 5.0) are
 * left out silently: the engine finds out by itself what its socket can do. The steering program
 * is a compare chain over byte 5 of the payload; a probe names the member that it wants to reach.
 *
 *   probe:  ff 'U' 'R' 'p' | 0  0  index | nonce | round  0  0
 *           0              | 4     6     | 8     | 12
 */
#include "daemon/member.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef UDP_GRO
#define UDP_GRO 104
#endif
#ifndef UDP_NO_CHECK6_RX
#define UDP_NO_CHECK6_RX 102
#endif
#ifndef SO_ATTACH_REUSEPORT_CBPF
#define SO_ATTACH_REUSEPORT_CBPF 51
#endif
#ifndef SO_MEMINFO
#define SO_MEMINFO 55
#endif

#define PROBE_MAGIC	UINT32_C(0xff555270)
#define RCVBUF_BYTES	(4 * 1024 * 1024)
#define UDP_HEADER_SIZE 8

static socklen_t fill_sockaddr(const struct roce_address *a, uint16_t port,
			       struct sockaddr_storage *ss)
{
	memset(ss, 0, sizeof(*ss));
	if (roce_gid_is_v4(&a->gid)) {
		struct sockaddr_in *in = (struct sockaddr_in *)ss;

		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		memcpy(&in->sin_addr, a->gid.raw + 12, 4);
		return sizeof(*in);
	} else {
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ss;

		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
		in6->sin6_scope_id = a->ifindex;
		memcpy(&in6->sin6_addr, a->gid.raw, 16);
		return sizeof(*in6);
	}
}

static int family_of(const struct roce_address *a)
{
	return roce_gid_is_v4(&a->gid) ? AF_INET : AF_INET6;
}

static void set_option(int fd, int level, int name, int value)
{
	setsockopt(fd, level, name, &value, sizeof(value));
}

void roce_member_set_gro(int fd, bool on)
{
	set_option(fd, IPPROTO_UDP, UDP_GRO, on);
}

int roce_member_open(const struct roce_address *a, bool without_gro)
{
	int family = family_of(a), one = 1, bytes = RCVBUF_BYTES, error;
	int fd = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct sockaddr_storage ss;
	socklen_t length;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)))
		goto fail;
	roce_member_set_gro(fd, !without_gro);
	set_option(fd, SOL_SOCKET, SO_RXQ_OVFL, 1);
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	if (family == AF_INET6) {
		set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
		set_option(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1);
		set_option(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
	} else {
		set_option(fd, IPPROTO_IP, IP_RECVTOS, 1);
		set_option(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
	}
	length = fill_sockaddr(a, ROCE_CONTROL_PORT, &ss);
	if (bind(fd, (struct sockaddr *)&ss, length))
		goto fail;
	return fd;
fail:
	error = errno;
	close(fd);
	return -error;
}

int roce_member_set_filter(int fd, uint32_t nonce, bool is_locked)
{
	/* A socket filter sees the UDP header first. */
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, UDP_HEADER_SIZE),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROBE_MAGIC, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, UDP_HEADER_SIZE + 8),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nonce, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, 0x7fffffff),
	};
	struct sock_fprog prog = {sizeof(code) / sizeof(code[0]), code};
	int one = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)))
		return -errno;
	if (is_locked && setsockopt(fd, SOL_SOCKET, SO_LOCK_FILTER, &one, sizeof(one)))
		return -errno;
	return 0;
}

uint32_t roce_member_get_drops(int fd)
{
	uint32_t info[SK_MEMINFO_VARS] = {0};
	socklen_t length = sizeof(info);

	if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &length))
		return 0;
	return info[SK_MEMINFO_DROPS];
}

int roce_member_attach_program(int fd, uint32_t nonce, const int16_t map[256], uint16_t fallback)
{
	struct sock_filter code[7 + 2 * 256 + 1] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROBE_MAGIC, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 8),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nonce, 0, 2),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 6),
		BPF_STMT(BPF_RET | BPF_A, 0),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 5),
	};
	struct sock_fprog prog = {7, code};

	for (unsigned slot = 1; slot < 256; slot++) {
		if (map[slot] < 0)
			continue;
		code[prog.len++] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, slot, 0, 1);
		code[prog.len++] =
			(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, (uint32_t)map[slot]);
	}
	code[prog.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, fallback);
	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &prog, sizeof(prog)) ? -errno
											 : 0;
}

int roce_member_open_prober(const struct roce_address *a)
{
	int fd = socket(family_of(a), SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

static void put_be(uint8_t *p, uint32_t value, unsigned bytes)
{
	while (bytes--) {
		p[bytes] = (uint8_t)value;
		value >>= 8;
	}
}

static uint32_t get_be(const uint8_t *p, unsigned bytes)
{
	uint32_t value = 0;

	while (bytes--)
		value = value << 8 | *p++;
	return value;
}

void roce_member_send_probe(int prober, const struct roce_address *a, uint32_t nonce,
			    uint16_t index, uint16_t round)
{
	uint8_t probe[ROCE_PROBE_BYTES] = {0};
	struct sockaddr_storage ss;
	socklen_t length = fill_sockaddr(a, ROCE_CONTROL_PORT, &ss);

	put_be(probe, PROBE_MAGIC, 4);
	put_be(probe + 6, index, 2);
	put_be(probe + 8, nonce, 4);
	put_be(probe + 12, round, 2);
	sendto(prober, probe, sizeof(probe), 0, (struct sockaddr *)&ss, length);
}

bool roce_member_receive_probe(int fd, uint32_t nonce, uint16_t round, int wait_ms,
			       uint16_t *out_index)
{
	bool is_found = false;

	for (;;) {
		uint8_t b[ROCE_PROBE_BYTES];
		ssize_t n = recv(fd, b, sizeof(b), MSG_DONTWAIT);
		struct pollfd pfd = {.fd = fd, .events = POLLIN};
		uint16_t index;

		if (n < 0) {
			if (errno == EINTR)
				continue;
			/* Local delivery is in order: after the first the others are there. */
			if (is_found || errno != EAGAIN || wait_ms <= 0 ||
			    poll(&pfd, 1, wait_ms) <= 0)
				return is_found;
			wait_ms /= 2;
			continue;
		}
		if (n < ROCE_PROBE_BYTES || get_be(b, 4) != PROBE_MAGIC ||
		    get_be(b + 8, 4) != nonce || get_be(b + 12, 2) != round)
			continue;
		index = (uint16_t)get_be(b + 6, 2);
		if (!is_found || index < *out_index)
			*out_index = index;
		is_found = true;
	}
}

void roce_member_drain(int fd)
{
	uint8_t b[1];

	for (unsigned i = 0; i < 10000 && recv(fd, b, sizeof(b), MSG_DONTWAIT) >= 0; i++)
		;
}

uint64_t roce_member_get_inode(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : (uint64_t)st.st_ino;
}
