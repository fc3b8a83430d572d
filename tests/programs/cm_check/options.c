/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line of cm-check. */
#include "check.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
	"cm-check serve|connect|refused ADDRESS PORT [OPTION...]\n"
	"  -n N  connections; a server without it goes on until SIGTERM\n"
	"  -w N  of them open at once (64)\n"
	"  -r N  of them begun in a second\n"
	"  -t T  the server's tag, which its clients expect\n"
	"  -c X  who closes: client, server or both\n"
	"  -d    a message each way before that\n"
	"  -H    hold them: close at SIGTERM, a message each way at SIGUSR1\n"
	"  -R N  server: refuse each n-th\n"
	"  -b    server: break each connection's data path; client: meet status 12\n"
	"  -a N  ACK timeout, an exponent\n"
	"  -f    do not wait for TIMEWAIT_EXIT\n"
	"  -s    server: refuse strangers without a complaint\n"
	"  -u    RDMA_OPTION_ID_REUSEADDR\n";

static void give_up(const char *why)
{
	fprintf(stderr, "cm-check: %s\n%s", why, usage);
	exit(2);
}

static unsigned number(const char *text)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	if (*end || end == text || v > 1000000)
		give_up("not a number");
	return (unsigned)v;
}

static void read_address(struct options *o, const char *text, const char *port)
{
	struct sockaddr_in *v4 = (void *)&o->address;
	struct sockaddr_in6 *v6 = (void *)&o->address;

	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)number(port));
	} else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons((uint16_t)number(port));
	} else {
		give_up("not an address");
	}
}

static enum closer closer_of(const char *text)
{
	if (strcmp(text, "client") == 0)
		return CLOSE_CLIENT;
	if (strcmp(text, "server") == 0)
		return CLOSE_SERVER;
	if (strcmp(text, "both") != 0)
		give_up("-c takes client, server or both");
	return CLOSE_BOTH;
}

static void take_option(struct options *o, int c)
{
	switch (c) {
	case 'n':
		o->count = number(optarg);
		break;
	case 'w':
		o->at_once = number(optarg);
		break;
	case 'r':
		o->rate = number(optarg);
		break;
	case 't':
		snprintf(o->tag, sizeof(o->tag), "%s", optarg);
		break;
	case 'c':
		o->closer = closer_of(optarg);
		break;
	case 'd':
		o->with_data = true;
		break;
	case 'H':
		o->is_held = true;
		break;
	case 'R':
		o->reject = number(optarg);
		break;
	case 'b':
		o->breaks_data = o->with_data = true;
		break;
	case 'a':
		o->ack_timeout = number(optarg);
		break;
	case 'f':
		o->is_forgetful = true;
		break;
	case 's':
		o->knows_strangers = true;
		break;
	case 'u':
		o->may_reuse = true;
		break;
	default:
		give_up("unknown option");
	}
}

void options_read(struct options *o, int argc, char **argv)
{
	int c;

	o->at_once = 64;
	while ((c = getopt(argc, argv, "n:w:r:t:c:dHR:ba:fsu")) != -1)
		take_option(o, c);
	if (argc - optind != 3)
		give_up("three words are needed");
	o->is_server = strcmp(argv[optind], "serve") == 0;
	o->is_quiet_check = strcmp(argv[optind], "refused") == 0;
	if (!o->is_server && !o->is_quiet_check && strcmp(argv[optind], "connect") != 0)
		give_up("serve, connect or refused?");
	read_address(o, argv[optind + 1], argv[optind + 2]);
	if (!o->is_server && !o->count)
		o->count = 1;
	if (o->at_once > SLOTS_MAX)
		give_up("-w is at most 16384");
}
