/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many of n packets come to harm is a matter of chance, but not of much: where 30 are expected,
 * fewer than a quarter of them come to harm in one of a million runs. Where fewer are expected, one
 * of both sides together must do.
 */
#include "verify/agent/harm.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLENTY	    30
#define LEAST_SHARE 0.25

static const struct {
	const char *word;
	const char *name;
	const char *counter;
	bool is_of_all;
} kinds[VA_HARM_KINDS] = {
#define X(id, word, name, is_of_all) {word, name, "io_impair_" name, is_of_all},
	VA_HARM_LIST(X)
#undef X
};

/* Lost, doubled or late: the receiver of a request, that of an answer, and who waits in vain. */
static const char *const out_of_place[] = {
	"out_of_sequence",     "duplicate_request", "rx_message_dropped", "packet_seq_err",
	"implied_nak_seq_err", "rx_response_stale", "rx_response_ghost",  "local_ack_timeout_err",
};

const char *va_harm_str(enum va_harm_kind kind)
{
	return kinds[kind].name;
}

/* ---- what is asked for ---- */

static double share_of(const char *text)
{
	char *end;
	double value = strtod(text, &end);

	return *end == '%' ? value / 100 : value;
}

static void take_item(const char *name, const char *value, struct va_harm_wish *out)
{
	for (int i = 0; i < VA_HARM_KINDS; i++) {
		if (strcmp(kinds[i].word, name) != 0)
			continue;
		out->is_asked[i] = share_of(value) > 0;
		out->share[i] = kinds[i].is_of_all ? share_of(value) : 0;
	}
	if (strcmp(name, "faulty-ud") == 0)
		out->is_asked[VA_HARM_UD_DAMAGE] = true;
	if (strcmp(name, "first") == 0)
		out->first = strtoull(value, NULL, 10);
	if (strcmp(name, "dir") == 0) {
		out->is_rx = strcmp(value, "tx") != 0;
		out->is_tx = strcmp(value, "rx") != 0;
	}
}

void va_harm_parse(const char *impair, struct va_harm_wish *out)
{
	char copy[256];
	char *rest = copy;
	char *item;

	*out = (struct va_harm_wish){.is_rx = true};
	snprintf(copy, sizeof(copy), "%s", impair);
	while ((item = strsep(&rest, ","))) {
		char *value = item;
		const char *name = strsep(&value, "=");

		take_item(name, value ? value : "", out);
	}
}

/* ---- what was counted ---- */

static bool read_counter(const char *device, uint8_t port, const char *name, uint64_t *out)
{
	char path[200];
	char text[32] = "";
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/%u/hw_counters/%s", device,
		 port, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	*out = strtoull(text, NULL, 10);
	return n > 0;
}

bool va_harm_read(const char *device, uint8_t port, struct va_harm *out)
{
	*out = (struct va_harm){0};
	for (size_t i = 0; i < sizeof(out_of_place) / sizeof(out_of_place[0]); i++) {
		uint64_t count;

		if (!read_counter(device, port, out_of_place[i], &count))
			return false;
		out->out_of_place += count;
	}
	for (int i = 0; i < VA_HARM_KINDS; i++) {
		if (!read_counter(device, port, kinds[i].counter, &out->done[i]))
			return false;
	}
	return read_counter(device, port, "rx_bad_icrc", &out->bad_icrc) &&
	       read_counter(device, port, "io_rx_packets", &out->received) &&
	       read_counter(device, port, "io_tx_packets", &out->sent);
}

void va_harm_subtract(struct va_harm *from, const struct va_harm *before)
{
	for (int i = 0; i < VA_HARM_KINDS; i++)
		from->done[i] -= before->done[i];
	from->received -= before->received;
	from->sent -= before->sent;
	from->out_of_place -= before->out_of_place;
	from->bad_icrc -= before->bad_icrc;
}

/* ---- whether that is enough ---- */

static uint64_t considered(const struct va_harm_wish *wish, uint64_t packets)
{
	return wish->first && wish->first < packets ? wish->first : packets;
}

static uint64_t packets_of(const struct va_harm_wish *wish, const struct va_harm *harm)
{
	return (wish->is_rx ? considered(wish, harm->received) : 0) +
	       (wish->is_tx ? considered(wish, harm->sent) : 0);
}

bool va_harm_is_done(const struct va_harm_wish *wish, const struct va_harm *harm, char *why,
		     size_t why_size)
{
	uint64_t packets = packets_of(wish, harm);

	for (int i = 0; i < VA_HARM_KINDS; i++) {
		double expected = wish->share[i] * (double)packets;

		if (expected < PLENTY || (double)harm->done[i] >= LEAST_SHARE * expected)
			continue;
		snprintf(why, why_size,
			 "of %llu packets %llu were %s on purpose, expected about %.0f",
			 (unsigned long long)packets, (unsigned long long)harm->done[i],
			 kinds[i].name, expected);
		return false;
	}
	return true;
}

bool va_harm_is_seen(const struct va_harm_wish *wish, const struct va_harm *both, bool is_noticed,
		     char *why, size_t why_size)
{
	uint64_t displaced =
		both->done[VA_HARM_DROP] + both->done[VA_HARM_DUP] + both->done[VA_HARM_REORDER];
	uint64_t corrupted = both->done[VA_HARM_CORRUPT];

	for (int i = 0; i < VA_HARM_KINDS; i++) {
		if (!wish->is_asked[i] || both->done[i])
			continue;
		snprintf(why, why_size,
			 "none of %llu packets was %s on purpose, so nothing is proved",
			 (unsigned long long)packets_of(wish, both), kinds[i].name);
		return false;
	}
	if (is_noticed && displaced >= PLENTY && !both->out_of_place) {
		snprintf(why, why_size,
			 "%llu packets are said to be lost, doubled or late on purpose, and the "
			 "transport noticed none of it",
			 (unsigned long long)displaced);
		return false;
	}
	/* what is damaged on its way out is seen by a peer that may count nothing */
	if (!wish->is_tx && (double)both->bad_icrc < LEAST_SHARE * (double)corrupted) {
		snprintf(why, why_size,
			 "%llu packets are said to be damaged on purpose, and %llu came with a "
			 "wrong ICRC",
			 (unsigned long long)corrupted, (unsigned long long)both->bad_icrc);
		return false;
	}
	return true;
}
