/* SPDX-License-Identifier: BSD-2-Clause */
/* The table. Its last row serves a device that does not say how fast it is. */
#include "compat/preload/port_speed.h"

#include <stddef.h>

#define WIDTH_1X 1
#define WIDTH_4X 2
#define WIDTH_2X 16

static const struct roce_port_speed speeds[] = {
	{400000, WIDTH_4X, 128, "400 Gb/sec (4X NDR)"},
	{200000, WIDTH_4X, 64, "200 Gb/sec (4X HDR)"},
	{100000, WIDTH_4X, 32, "100 Gb/sec (4X EDR)"},
	{56000, WIDTH_4X, 16, "56 Gb/sec (4X FDR)"},
	{50000, WIDTH_2X, 32, "50 Gb/sec (2X EDR)"},
	{40000, WIDTH_4X, 8, "40 Gb/sec (4X FDR10)"},
	{25000, WIDTH_1X, 32, "25 Gb/sec (1X EDR)"},
	{20000, WIDTH_4X, 2, "20 Gb/sec (4X DDR)"},
	{10000, WIDTH_1X, 8, "10 Gb/sec (1X FDR10)"},
	{0, WIDTH_1X, 1, "2.5 Gb/sec (1X SDR)"},
};

const struct roce_port_speed *roce_port_speed(uint32_t mbps)
{
	size_t i = 0;

	while (mbps < speeds[i].mbps)
		i++;
	return &speeds[i];
}
