/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UROCE_NAME gives devices other names. The library passes over what it cannot use, since it must
 * not write into a program's output; the command says it, so that a typing mistake shows here and
 * not as "IB device mlx5_0 not found" there.
 */
#include "tools/names.h"

#include "engine/netdev.h"

#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_named_before(const char *names, const char *pair, size_t length)
{
	while (names < pair) {
		if (strncmp(names, pair, length) == 0 && names[length] == '=')
			return true;
		names = strchrnul(names, ',') + 1;
	}
	return false;
}

static int check_pair(const char *names, const char *pair, size_t length, char *err,
		      size_t err_size)
{
	const char *equals = memchr(pair, '=', length);
	size_t name = equals ? (size_t)(equals - pair) : 0;
	size_t interface = equals ? length - name - 1 : 0;
	char netdev[IF_NAMESIZE];
	const char *wrong = NULL;

	if (name == 0 || interface == 0)
		wrong = "is not NAME=INTERFACE";
	else if (!roce_netdev_name_is_usable(pair, name))
		wrong = "gives a name that is too long, has a slash or begins with a dot";
	else if (is_named_before(names, pair, name))
		wrong = "gives a name that another device has already";
	else if (interface >= sizeof(netdev))
		wrong = "names no network interface of this machine";
	if (!wrong) {
		memcpy(netdev, equals + 1, interface);
		netdev[interface] = '\0';
		if (if_nametoindex(netdev) == 0)
			wrong = "names no network interface of this machine";
	}
	if (!wrong)
		return 0;
	snprintf(err, err_size, "UROCE_NAME: \"%.*s\" %s", (int)length, pair, wrong);
	return -1;
}

int roce_names_check(const char *names, char *err, size_t err_size)
{
	const char *pair = names;

	while (pair && *pair) {
		const char *end = strchrnul(pair, ',');

		if (end > pair && check_pair(names, pair, (size_t)(end - pair), err, err_size))
			return -1;
		pair = *end ? end + 1 : end;
	}
	return 0;
}
