/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The public interface does not say whose a device is. uroce's libraries show no other ones and are
 * known by the variable that `uroce run` sets; a driver of hardware has its link in sysfs; and of
 * those in software without one Soft-RoCE alone has RoCE addresses and a `parent`, its interface.
 */
#include "verify/agent/identity.h"

#include "verify/agent/device.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define SYSFS "/sys/class/infiniband"

/* Of the link DEVICE/device/driver; false: there is none. */
static bool find_driver(const char *device, char *out, size_t size)
{
	char path[PATH_MAX];
	char target[PATH_MAX];
	const char *slash;
	ssize_t n;

	snprintf(path, sizeof(path), SYSFS "/%s/device/driver", device);
	n = readlink(path, target, sizeof(target) - 1);
	if (n <= 0)
		return false;
	target[n] = '\0';
	slash = strrchr(target, '/');
	snprintf(out, size, "%.63s", slash ? slash + 1 : target);
	return true;
}

static bool has_parent(const char *device)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), SYSFS "/%s/parent", device);
	return access(path, R_OK) == 0;
}

static void name_implementation(const struct va_device *device, json_t *out)
{
	const char *name = ibv_get_device_name(device->context->device);
	const char *firmware = device->attr.fw_ver;
	struct utsname kernel;
	char driver[128];
	char version[sizeof(kernel.sysname) + sizeof(kernel.release) + 1];

	(void)uname(&kernel);
	snprintf(version, sizeof(version), "%s %s", kernel.sysname, kernel.release);
	if (getenv("UROCE_UROCED")) {
		snprintf(driver, sizeof(driver), "uroce");
		snprintf(version, sizeof(version), "%.64s", firmware);
	} else if (find_driver(name, driver, sizeof(driver))) {
		if (*firmware)
			snprintf(version, sizeof(version), "firmware %.63s", firmware);
	} else {
		snprintf(driver, sizeof(driver), "%s",
			 has_parent(name) ? "Soft-RoCE (rdma_rxe)" : "unknown driver");
	}
	json_object_set_new(out, "implementation", json_string(driver));
	json_object_set_new(out, "implementation_version",
			    json_stringn_nocheck(version, strlen(version)));
}

/* The library's file is libibverbs.so.1.14.44.0: ABI and release. Another name says nothing. */
static void name_library(json_t *out)
{
	char path[PATH_MAX];
	const char *at;
	Dl_info verbs = {0};

	if (!dladdr((void *)(uintptr_t)ibv_get_device_list, &verbs) ||
	    !realpath(verbs.dli_fname, path))
		return;
	at = strstr(path, ".so.1.");
	at = at ? strchr(at + strlen(".so.1."), '.') : NULL;
	if (at && strchr(at + 1, '.'))
		json_object_set_new(out, "rdma_core", json_string(at + 1));
}

json_t *va_identity(const json_t *where)
{
	const char *quirks = roce_json_text(where, "quirks");
	struct va_device device;
	char why[200];
	json_t *out;

	if (!va_device_find(where, VA_ANY_FAMILY, &device, why, sizeof(why)))
		return json_pack("{s:s}", "reason", why);
	out = va_device_describe(&device);
	name_implementation(&device, out);
	name_library(out);
	if (*quirks)
		json_object_set_new(out, "quirks", json_string(quirks));
	(void)ibv_close_device(device.context);
	return out;
}
