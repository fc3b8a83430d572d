/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * InfiniBand names a speed by the number of lanes and the rate of a lane. A network device's speed
 * becomes the closest at or below it, as the kernel's RoCE drivers choose.
 */
#ifndef ROCE_COMPAT_PRELOAD_PORT_SPEED_H
#define ROCE_COMPAT_PRELOAD_PORT_SPEED_H

#include <stdint.h>

struct roce_port_speed {
	uint32_t mbps;
	uint8_t width;	  /* active_width of ibv_port_attr */
	uint8_t speed;	  /* active_speed */
	const char *text; /* as in sysfs */
};

const struct roce_port_speed *roce_port_speed(uint32_t mbps);

#endif
