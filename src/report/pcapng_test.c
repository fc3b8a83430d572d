/* SPDX-License-Identifier: BSD-2-Clause */
/* What is written is read back by libpcap, whatever the lengths are. */
#include "report/pcapng.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pcap/pcap.h>
#include <string.h>

#define PACKETS 70u

static void packets_are_read_back(void **state)
{
	FILE *file = tmpfile();
	char error[PCAP_ERRBUF_SIZE];
	uint8_t bytes[PACKETS];
	struct pcap_pkthdr *head;
	const u_char *data;
	pcap_t *reader;

	(void)state;
	assert_non_null(file);
	for (unsigned int i = 0; i < PACKETS; i++)
		bytes[i] = (uint8_t)(i + 1);
	roce_pcapng_begin(file, "uroce sim");
	roce_pcapng_interface(file, "leaf1:3", 100000000000);
	roce_pcapng_interface(file, "h0", 0);
	for (uint32_t i = 0; i < PACKETS; i++)
		roce_pcapng_write(file, &(struct roce_pcapng_packet){
						.interface = i % 2,
						.time_ns = 1700000000000000000u + i * 1234567891u,
						.bytes = bytes,
						.length = i,
						.original = i + 1000,
						.direction = i % 3,
						.comment = i % 5 ? NULL : "dropped: buffer full"});
	assert_int_equal(fflush(file), 0);
	rewind(file);
	reader = pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, error);
	assert_non_null(reader);
	assert_int_equal(pcap_datalink(reader), DLT_EN10MB);
	for (uint32_t i = 0; i < PACKETS; i++) {
		uint64_t time_ns;

		assert_int_equal(pcap_next_ex(reader, &head, &data), 1);
		time_ns = (uint64_t)head->ts.tv_sec * 1000000000u + (uint64_t)head->ts.tv_usec;
		assert_int_equal(time_ns, 1700000000000000000u + i * 1234567891u);
		assert_int_equal(head->caplen, i);
		assert_int_equal(head->len, i + 1000);
		assert_memory_equal(data, bytes, i);
	}
	assert_int_equal(pcap_next_ex(reader, &head, &data), PCAP_ERROR_BREAK);
	pcap_close(reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(packets_are_read_back)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
