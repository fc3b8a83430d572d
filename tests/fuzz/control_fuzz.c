/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as a message between uroced and a client: any answer of the decoder will do but a
 * crash, and what it takes must encode again to the same bytes, so that nothing stands in a message
 * that the program on the other end would not see. Only the unused part of a stray packet's IPv4
 * address is not kept.
 */
#include "fuzz.h"

#include "control/message.h"

static void require_printable(const char *text, size_t size)
{
	size_t length = strnlen(text, size);

	fuzz_require(length < size, "a text ends");
	for (size_t i = 0; i < length; i++)
		fuzz_require((uint8_t)text[i] >= 0x20 && text[i] != 0x7f, "a text is printable");
}

/* Of another version's first messages the daemon shows the texts. */
static void check_stable(const struct roce_message *m)
{
	if (m->type == ROCE_MESSAGE_HELLO || m->type == ROCE_MESSAGE_HELLO_OK) {
		require_printable(m->hello.product, sizeof(m->hello.product));
		require_printable(m->hello.program, sizeof(m->hello.program));
	}
	if (m->type == ROCE_MESSAGE_ERROR)
		require_printable(m->error.text, sizeof(m->error.text));
}

static bool has_unused_bytes(const struct roce_message *m)
{
	return m->type == ROCE_MESSAGE_STRAY && m->stray.from.ss_family == AF_INET;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t first[ROCE_CONTROL_MESSAGE_MAX];
	static uint8_t second[ROCE_CONTROL_MESSAGE_MAX];
	struct roce_message message;
	struct roce_message again;
	enum roce_message_error error;
	size_t len;

	memset(&message, 0x55, sizeof(message)); /* whatever the caller's memory held */
	error = roce_message_decode(&message, data, size);
	if (error == ROCE_MESSAGE_ERROR_OK || error == ROCE_MESSAGE_ERROR_PROTOCOL)
		check_stable(&message);
	fuzz_require(roce_message_error_str(error) != NULL, "every verdict has a text");
	if (error != ROCE_MESSAGE_ERROR_OK)
		return 0;
	fuzz_require(size <= ROCE_CONTROL_MESSAGE_MAX, "no message is above the maximum");
	fuzz_require(roce_message_type_str(message.type) != NULL, "every type has a name");
	len = roce_message_encode(&message, first);
	fuzz_require(len == size, "a message keeps its length");
	if (!has_unused_bytes(&message))
		fuzz_require(memcmp(first, data, size) == 0, "a message keeps its bytes");
	fuzz_require(roce_message_decode(&again, first, len) == ROCE_MESSAGE_ERROR_OK,
		     "what was encoded decodes");
	fuzz_require(roce_message_encode(&again, second) == len && memcmp(first, second, len) == 0,
		     "and is the same");
	return 0;
}
