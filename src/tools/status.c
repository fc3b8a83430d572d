/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `uroce status`: what the uroced of this user in this network namespace holds and has seen. It
 * only asks; it never starts a daemon. The answers arrive one message at a time and are printed as
 * they come: first the daemon, then slots, addresses and counters, each kind together.
 */
#include "tools/command.h"
#include "tools/json.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "control/address.h"
#include "control/client.h"
#include "control/message.h"

struct printer {
	bool is_json;
	enum roce_message_type section; /* last printed; 0 none */
	bool is_counter_shown;
};

static void print_daemon(struct printer *p, const struct roce_message *m)
{
	if (p->is_json) {
		printf("{\"pid\":%u,\"keeper_pid\":%u,\"version\":", m->status_daemon.pid,
		       m->status_daemon.keeper_pid);
		roce_json_print_string(m->status_daemon.product);
		printf(",\"socket\":");
		roce_json_print_string(m->status_daemon.socket);
		printf(",\"uptime_ms\":%" PRIu64 ",\"clients\":%u,\"slots_used\":%u,"
		       "\"slots_max\":%d",
		       m->status_daemon.uptime_ms, m->status_daemon.clients, m->status_daemon.slots,
		       ROCE_CONTROL_SLOT_MAX);
		return;
	}
	printf("uroced %s, pid %u", m->status_daemon.product, m->status_daemon.pid);
	if (m->status_daemon.keeper_pid)
		printf(", keeper pid %u", m->status_daemon.keeper_pid);
	printf(", up %" PRIu64 ".%" PRIu64 " s\n", m->status_daemon.uptime_ms / 1000,
	       m->status_daemon.uptime_ms / 100 % 10);
	printf("socket %s\n", m->status_daemon.socket);
	/* This command is a client too. */
	printf("%u of %d slots in use, %u clients\n", m->status_daemon.slots, ROCE_CONTROL_SLOT_MAX,
	       m->status_daemon.clients - 1);
}

static void print_slot(struct printer *p, const struct roce_message *m, bool is_first)
{
	char text[80];

	if (p->is_json) {
		printf("%s{\"slot\":%u,\"pid\":%u,\"uid\":%u,\"program\":",
		       is_first ? ",\"slots\":[" : ",", m->status_slot.slot, m->status_slot.pid,
		       m->status_slot.uid);
		roce_json_print_string(m->status_slot.program);
		printf(",\"addresses\":[");
	} else {
		if (is_first)
			printf("\nSLOT  PID      USER   PROGRAM           ADDRESSES\n");
		printf("%-5u %-8u %-6u %-17s", m->status_slot.slot, m->status_slot.pid,
		       m->status_slot.uid, m->status_slot.program);
	}
	for (unsigned i = 0; i < m->status_slot.count; i++) {
		roce_address_str(&m->status_slot.address[i], text, sizeof(text));
		if (p->is_json) {
			printf(i ? "," : "");
			roce_json_print_string(text);
		} else {
			printf(" %s", text);
		}
	}
	printf(p->is_json ? "]}" : "\n");
}

static void print_address(struct printer *p, const struct roce_message *m, bool is_first)
{
	char text[80];

	roce_address_str(&m->status_address.address, text, sizeof(text));
	if (p->is_json) {
		printf("%s{\"address\":", is_first ? ",\"addresses\":[" : ",");
		roce_json_print_string(text);
		printf(",\"slots\":%u,\"sockets\":%u}", m->status_address.leased,
		       m->status_address.members);
		return;
	}
	if (is_first)
		printf("\nADDRESS                                   SLOTS  SOCKETS\n");
	printf("%-41s %-6u %u\n", text, m->status_address.leased, m->status_address.members);
}

static void print_counter(struct printer *p, const struct roce_message *m, bool is_first)
{
	if (p->is_json) {
		printf("%s", is_first ? ",\"counters\":{" : ",");
		roce_json_print_string(m->status_counter.name);
		printf(":%" PRIu64, m->status_counter.value);
		return;
	}
	if (!m->status_counter.value)
		return;
	if (!p->is_counter_shown)
		printf("\nCOUNTER\n");
	p->is_counter_shown = true;
	printf("%-22s %" PRIu64 "\n", m->status_counter.name, m->status_counter.value);
}

static void end_section(const struct printer *p, enum roce_message_type next)
{
	if (!p->is_json || p->section == next)
		return;
	if (p->section == ROCE_MESSAGE_STATUS_SLOT || p->section == ROCE_MESSAGE_STATUS_ADDRESS)
		printf("]");
	else if (p->section == ROCE_MESSAGE_STATUS_COUNTER)
		printf("}");
}

static void on_answer(void *ctx, const struct roce_message *m)
{
	struct printer *p = ctx;
	bool is_first = p->section != m->type;

	end_section(p, m->type);
	p->section = m->type;
	if (m->type == ROCE_MESSAGE_STATUS_DAEMON)
		print_daemon(p, m);
	else if (m->type == ROCE_MESSAGE_STATUS_SLOT)
		print_slot(p, m, is_first);
	else if (m->type == ROCE_MESSAGE_STATUS_ADDRESS)
		print_address(p, m, is_first);
	else if (m->type == ROCE_MESSAGE_STATUS_COUNTER)
		print_counter(p, m, is_first);
	else if (m->type == ROCE_MESSAGE_STATUS_END && p->is_json)
		printf("}\n");
}

int roce_cmd_status(int argc, char **argv)
{
	static const struct option options[] = {{"json", no_argument, NULL, 'j'},
						{NULL, 0, NULL, 0}};
	struct roce_client_config cfg = {.program = "uroce status"};
	struct roce_message request = {.type = ROCE_MESSAGE_STATUS};
	struct printer printer = {0};
	struct roce_client *client;
	char err[ROCE_CONTROL_TEXT_MAX];
	int option, error;

	opterr = 0;
	optind = 0;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option != 'j')
			return roce_usage_error("status", "unknown option %s", argv[optind - 1]);
		printer.is_json = true;
	}
	if (optind < argc)
		return roce_usage_error("status", "takes no argument, got %s", argv[optind]);
	error = roce_client_open(&client, &cfg, err, sizeof(err));
	if (!error) {
		error = roce_client_ask(client, &request, on_answer, &printer, err, sizeof(err));
		roce_client_close(client);
	}
	if (error) {
		fprintf(stderr, "uroce status: %s\n", err);
		return ROCE_EXIT_FAILED;
	}
	return ROCE_EXIT_OK;
}
