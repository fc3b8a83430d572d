/* SPDX-License-Identifier: BSD-2-Clause */
/* See address.h. An interface that is gone by now is named by its number. */
#include "control/address.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <stdio.h>

void roce_address_str(const struct roce_address *a, char *out, size_t size)
{
	char text[INET6_ADDRSTRLEN], name[IF_NAMESIZE];

	if (roce_gid_is_v4(&a->gid)) {
		inet_ntop(AF_INET, a->gid.raw + 12, text, sizeof(text));
		snprintf(out, size, "%s", text);
		return;
	}
	inet_ntop(AF_INET6, a->gid.raw, text, sizeof(text));
	if (!a->ifindex)
		snprintf(out, size, "%s", text);
	else if (if_indextoname(a->ifindex, name))
		snprintf(out, size, "%s%%%s", text, name);
	else
		snprintf(out, size, "%s%%%u", text, a->ifindex);
}
