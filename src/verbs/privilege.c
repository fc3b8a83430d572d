/* SPDX-License-Identifier: BSD-2-Clause */
/* The effective capabilities are asked from the kernel each time: a program may drop them. */
#include "verbs/privilege.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

bool roce_may_control_qkeys(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capget, &header, data) != 0)
		return false;
	return data[CAP_NET_RAW / 32].effective >> (CAP_NET_RAW % 32) & 1;
}
