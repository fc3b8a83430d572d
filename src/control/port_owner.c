/* SPDX-License-Identifier: BSD-2-Clause */
/* Owners of UDP port 4791, see port_owner.h. */
#include "control/port_owner.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "control/message.h"

_Static_assert(ROCE_CONTROL_PORT == 4791, "as the text says");
const char roce_port_owner_soft_roce_text[] =
	ROCE_PORT_OWNER_TEXT_START "of all addresses here is held by the kernel's "
				   "Soft-RoCE (module rdma_rxe): unload it "
				   "(`modprobe -r rdma_rxe`), or use another network "
				   "namespace (`unshare -rn`)";

/* One line of /proc/net/udp or udp6; addresses are 32-bit words in host order, in hex. */
static bool parse_line(const char *line, struct roce_gid *out_gid, unsigned *out_port,
		       uint32_t *out_uid)
{
	char hex[33];
	uint32_t word;
	unsigned words;

	if (sscanf(line, " %*u: %32[0-9A-Fa-f]:%4x %*s %*s %*s %*s %*s %u", hex, out_port,
		   out_uid) != 3)
		return false;
	words = (unsigned)strlen(hex) / 8;
	memset(out_gid->raw, 0, sizeof(out_gid->raw));
	if (words == 1)
		out_gid->raw[10] = out_gid->raw[11] = 0xff;
	for (unsigned i = 0; i < words; i++) {
		if (sscanf(hex + 8 * i, "%8x", &word) != 1)
			return false;
		memcpy(out_gid->raw + (words == 1 ? 12 : 4 * i), &word, 4);
	}
	return true;
}

static bool is_wildcard(const struct roce_gid *g)
{
	static const struct roce_gid v4 = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}};

	return roce_gid_is_zero(g) || roce_gid_is_equal(g, &v4);
}

/* gid NULL: any address, of this user. */
static bool find_socket(const struct roce_gid *gid, uint32_t uid, struct roce_port_owner *out)
{
	static const char *const files[] = {"/proc/self/net/udp", "/proc/self/net/udp6"};
	bool is_found = false;

	for (unsigned i = 0; i < 2 && !is_found; i++) {
		FILE *f = fopen(files[i], "re");
		char line[512];

		while (f && !is_found && fgets(line, sizeof(line), f)) {
			struct roce_gid bound;
			unsigned port;

			if (!parse_line(line, &bound, &port, &out->uid) ||
			    port != ROCE_CONTROL_PORT)
				continue;
			out->is_wildcard = is_wildcard(&bound);
			is_found = gid ? out->is_wildcard || roce_gid_is_equal(&bound, gid)
				       : out->uid == uid;
		}
		if (f)
			fclose(f);
	}
	return is_found;
}

bool roce_port_owner_find(const struct roce_gid *gid, struct roce_port_owner *out)
{
	return find_socket(gid, 0, out);
}

bool roce_port_owner_is_soft_roce(const struct roce_port_owner *owner, const char *module)
{
	return owner->is_wildcard && access(module, F_OK) == 0;
}

bool roce_port_owner_is_user(uint32_t uid)
{
	struct roce_port_owner owner;

	return find_socket(NULL, uid, &owner);
}
