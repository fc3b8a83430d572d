/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A place in a control message that is being encoded or decoded; private to message.c and
 * cm_message.c. A cursor that met an error stays there and touches nothing more.
 */
#ifndef ROCE_CONTROL_CURSOR_H
#define ROCE_CONTROL_CURSOR_H

#include "control/message.h"

struct roce_cursor {
	uint8_t *data;
	size_t length; /* reading: bytes there are; writing: room */
	size_t at;
	int writing;
	enum roce_message_error error;
};

uint8_t *roce_cursor_advance(struct roce_cursor *c, size_t bytes);
void roce_cursor_u8(struct roce_cursor *c, uint8_t *v);
void roce_cursor_u16(struct roce_cursor *c, uint16_t *v);
void roce_cursor_u32(struct roce_cursor *c, uint32_t *v);
void roce_cursor_u64(struct roce_cursor *c, uint64_t *v);
void roce_cursor_bytes(struct roce_cursor *c, void *bytes, size_t length);
void roce_cursor_string(struct roce_cursor *c, char *s, size_t size);
void roce_cursor_flags(struct roce_cursor *c, uint32_t *flags, uint32_t known);
void roce_cursor_address(struct roce_cursor *c, struct roce_address *a);
void roce_cursor_count(struct roce_cursor *c, uint8_t *count, uint8_t most);

#endif
