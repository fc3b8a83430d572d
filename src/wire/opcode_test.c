/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The opcode table against a second one typed by hand in another form, all 256 codes: what the list
 * in opcode.h generates cannot drift without this failing.
 */
#include "wire/opcode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

/* One row for each operation code; `header_len` holds the bytes after BTH for RC. The letters:
 *   transports  R RC, U UC, D RD, X XRC (UD and CNP have tables of their own)
 *   flags       q request, r response, p payload, c consumes a receive WQE, e makes a receive CQE,
 *               i immediate, v invalidate */
struct row {
	uint8_t op;
	const char *name;
	const char *transports;
	const char *operation;
	const char *position;
	uint8_t header_len;
	const char *flags;
};

static const struct row rows[] = {
	{0x00, "SEND_FIRST", "RUDX", "SEND", "FIRST", 0, "qpc"},
	{0x01, "SEND_MIDDLE", "RUDX", "SEND", "MIDDLE", 0, "qp"},
	{0x02, "SEND_LAST", "RUDX", "SEND", "LAST", 0, "qpe"},
	{0x03, "SEND_LAST_IMM", "RUDX", "SEND", "LAST", 4, "qpei"},
	{0x04, "SEND_ONLY", "RUDX", "SEND", "ONLY", 0, "qpce"},
	{0x05, "SEND_ONLY_IMM", "RUDX", "SEND", "ONLY", 4, "qpcei"},
	{0x06, "WRITE_FIRST", "RUDX", "WRITE", "FIRST", 16, "qp"},
	{0x07, "WRITE_MIDDLE", "RUDX", "WRITE", "MIDDLE", 0, "qp"},
	{0x08, "WRITE_LAST", "RUDX", "WRITE", "LAST", 0, "qp"},
	{0x09, "WRITE_LAST_IMM", "RUDX", "WRITE", "LAST", 4, "qpcei"},
	{0x0a, "WRITE_ONLY", "RUDX", "WRITE", "ONLY", 16, "qp"},
	{0x0b, "WRITE_ONLY_IMM", "RUDX", "WRITE", "ONLY", 20, "qpcei"},
	{0x0c, "READ_REQUEST", "RDX", "READ_REQUEST", "ONLY", 16, "q"},
	{0x0d, "READ_RESPONSE_FIRST", "RDX", "READ_RESPONSE", "FIRST", 4, "rp"},
	{0x0e, "READ_RESPONSE_MIDDLE", "RDX", "READ_RESPONSE", "MIDDLE", 0, "rp"},
	{0x0f, "READ_RESPONSE_LAST", "RDX", "READ_RESPONSE", "LAST", 4, "rp"},
	{0x10, "READ_RESPONSE_ONLY", "RDX", "READ_RESPONSE", "ONLY", 4, "rp"},
	{0x11, "ACK", "RDX", "ACK", "ONLY", 4, "r"},
	{0x12, "ATOMIC_ACK", "RDX", "ATOMIC_ACK", "ONLY", 12, "r"},
	{0x13, "CMP_SWAP", "RDX", "CMP_SWAP", "ONLY", 28, "q"},
	{0x14, "FETCH_ADD", "RDX", "FETCH_ADD", "ONLY", 28, "q"},
	{0x15, "RESYNC", "D", "RESYNC", "ONLY", 0, "q"},
	{0x16, "SEND_LAST_INV", "RX", "SEND", "LAST", 4, "qpev"},
	{0x17, "SEND_ONLY_INV", "RX", "SEND", "ONLY", 4, "qpcev"},
	{0x1c, "FLUSH", "RDX", "FLUSH", "ONLY", 20, "q"},
	{0x1d, "ATOMIC_WRITE", "RX", "ATOMIC_WRITE", "ONLY", 16, "qp"},
};

static bool has(const struct row *row, char flag)
{
	return strchr(row->flags, flag) != NULL;
}

static void expect_row(const struct row *row, const char *transport, uint8_t code,
		       uint8_t header_len)
{
	const struct roce_opcode_info *info = roce_opcode_info((roce_opcode_t){code});
	size_t prefix = strlen(transport);

	if (!info)
		fail_msg("%s %s is missing", transport, row->name);
	if (header_len != info->header_len)
		fail_msg("%s has header_len %u, want %u", info->name, info->header_len, header_len);
	assert_memory_equal(info->name, transport, prefix);
	if (strcmp(row->name, "CNP") != 0) {
		assert_int_equal(info->name[prefix], '_');
		assert_string_equal(info->name + prefix + 1, row->name);
	}
	assert_string_equal(roce_opcode_str((roce_opcode_t){code}), info->name);
	assert_string_equal(roce_opcode_transport_str(info->transport), transport);
	assert_int_equal(info->transport, code & 0xe0);
	assert_string_equal(roce_operation_str(info->operation), row->operation);
	assert_string_equal(roce_position_str(info->position), row->position);
	assert_int_equal(info->is_request, has(row, 'q'));
	assert_int_equal(info->is_response, has(row, 'r'));
	assert_int_equal(info->has_payload, has(row, 'p'));
	assert_int_equal(info->consumes_recv, has(row, 'c'));
	assert_int_equal(info->completes_recv, has(row, 'e'));
	assert_int_equal(info->has_imm, has(row, 'i'));
	assert_int_equal(info->has_inv, has(row, 'v'));
	assert_int_equal(roce_header_set_has(info->headers, ROCE_HEADER_IMMDT), info->has_imm);
	assert_int_equal(roce_header_set_has(info->headers, ROCE_HEADER_IETH), info->has_inv);
}

static void table__all_256_codes(void **state)
{
	static const struct {
		char letter;
		const char *name;
		uint8_t base;
		uint8_t request_len; /* what the transport adds to a request, and to a response */
		uint8_t response_len;
	} transports[] = {
		{'R', "RC", 0x00, 0, 0},
		{'U', "UC", 0x20, 0, 0},
		{'D', "RD", 0x40, 12, 4},
		{'X', "XRC", 0xa0, 4, 0},
	};
	static const struct row ud = {0x04, "SEND_ONLY", "", "SEND", "ONLY", 8, "qpce"};
	static const struct row ud_imm = {0x05, "SEND_ONLY_IMM", "", "SEND", "ONLY", 12, "qpcei"};
	static const struct row cnp = {0x01, "CNP", "", "CNP", "ONLY", 16, ""};
	bool expected[256] = {false};

	(void)state;
	for (size_t t = 0; t < sizeof(transports) / sizeof(transports[0]); t++) {
		for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
			uint8_t code = (uint8_t)(transports[t].base + rows[r].op);
			uint8_t len = (uint8_t)(12 + rows[r].header_len);

			if (!strchr(rows[r].transports, transports[t].letter))
				continue;
			if (has(&rows[r], 'q'))
				len = (uint8_t)(len + transports[t].request_len);
			else
				len = (uint8_t)(len + transports[t].response_len);
			expect_row(&rows[r], transports[t].name, code, len);
			expected[code] = true;
		}
	}
	expect_row(&ud, "UD", 0x64, 12 + 8);
	expect_row(&ud_imm, "UD", 0x65, 12 + 12);
	expect_row(&cnp, "CNP", 0x81, 12 + 16);
	expected[0x64] = expected[0x65] = expected[0x81] = true;
	for (unsigned int code = 0; code < 256; code++) {
		roce_opcode_t opcode = {(uint8_t)code};

		if (expected[code])
			continue;
		if (roce_opcode_info(opcode))
			fail_msg("code %#x should be reserved", code);
		assert_string_equal(roce_opcode_str(opcode), "reserved");
	}
}

static void opcode__values_and_helpers(void **state)
{
	(void)state;
	assert_int_equal(ROCE_RC_SEND_FIRST, 0x00);
	assert_int_equal(ROCE_RC_ACK, 0x11);
	assert_int_equal(ROCE_UC_WRITE_ONLY_IMM, 0x2b);
	assert_int_equal(ROCE_UD_SEND_ONLY, 0x64);
	assert_int_equal(ROCE_CNP, 0x81);
	assert_int_equal(ROCE_XRC_ATOMIC_WRITE, 0xbd);
	assert_int_equal(ROCE_RD_RESYNC, 0x55);
	assert_true(roce_position_is_start(ROCE_POSITION_ONLY));
	assert_true(roce_position_is_start(ROCE_POSITION_FIRST));
	assert_false(roce_position_is_start(ROCE_POSITION_LAST));
	assert_true(roce_position_is_end(ROCE_POSITION_ONLY));
	assert_true(roce_position_is_end(ROCE_POSITION_LAST));
	assert_false(roce_position_is_end(ROCE_POSITION_MIDDLE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table__all_256_codes),
		cmocka_unit_test(opcode__values_and_helpers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
