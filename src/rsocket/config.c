/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the defaults when the first socket is made. A file that is not there, or holds no number,
 * leaves the built-in value; numbers out of range go to the nearest one in it.
 */
#include "rsocket/config.h"

#include <pthread.h>
#include <stdio.h>

#include "rsocket/wire.h"

#define FOLDER		"/etc/rdma/rsocket"
#define SEND_BUFFER_MIN 2048
#define SEND_BUFFER_LOW 4096 /* instead of less than the minimum */
#define BUFFER_MAX	(UINT32_C(1) << 29)

static struct roce_rs_config config = {
	.sizes =
		{
			.send_buffer = 131072,
			.receive_ring = 131072,
			.send_wqes = 384,
			.receive_wqes = 384,
			.inline_bytes = 64,
		},
	.polling_us = 10,
	.wake_up_ms = 5000,
};

static uint32_t read_number(const char *name, uint32_t otherwise, uint32_t min, uint32_t max)
{
	char path[96];
	unsigned long value;
	FILE *file;

	snprintf(path, sizeof(path), FOLDER "/%s", name);
	file = fopen(path, "re");
	if (!file)
		return otherwise;
	if (fscanf(file, "%lu", &value) != 1)
		value = otherwise;
	fclose(file);
	if (value < min)
		return min;
	return value > max ? max : (uint32_t)value;
}

static void read_all(void)
{
	struct roce_rs_sizes *s = &config.sizes;

	s->receive_ring = read_number("mem_default", s->receive_ring, 2, BUFFER_MAX);
	s->send_buffer = read_number("wmem_default", s->send_buffer, 1, BUFFER_MAX);
	if (s->send_buffer < SEND_BUFFER_MIN)
		s->send_buffer = SEND_BUFFER_LOW;
	s->send_wqes = (uint16_t)read_number("sqsize_default", s->send_wqes, ROCE_RS_WQES_MIN,
					     ROCE_RS_WQES_MAX);
	s->receive_wqes = (uint16_t)read_number("rqsize_default", s->receive_wqes, ROCE_RS_WQES_MIN,
						ROCE_RS_WQES_MAX);
	s->inline_bytes = read_number("inline_default", s->inline_bytes, 0, UINT16_MAX);
	s->mapping_slots = roce_rs_mapping_slots_round(
		read_number("iomap_size", s->mapping_slots, 0, UINT16_MAX));
	config.polling_us = read_number("polling_time", config.polling_us, 0, 1000000);
	config.wake_up_ms = read_number("wake_up_interval", config.wake_up_ms, 1, 3600000);
}

const struct roce_rs_config *roce_rs_config(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_all);
	return &config;
}
