/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which sockets become rsockets: all TCP and UDP ones, or, when the file is there, those that a
 * line of it names: `program domain type protocol`, each or `*`; the program is the beginning of
 * its short name. Domain INET or INET6, type STREAM or DGRAM, protocol TCP or UDP, with or without
 * the prefixes AF_, PF_, SOCK_, IPPROTO_.
 */
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "compat/rspreload/preload.h"

#define FILE_NAME "/etc/rdma/rsocket/preload_config"
#define RULES_MAX 64
#define ANY	  (-1)

struct rule {
	int domain;
	int type;
	int protocol;
};

static struct rule rules[RULES_MAX];
static int rule_count; /* for this program */
static bool has_file;

static const char *skip(const char *word, const char *prefix)
{
	size_t length = strlen(prefix);

	return strncasecmp(word, prefix, length) ? word : word + length;
}

static bool is_word(const char *word, const char *name)
{
	return strcasecmp(word, name) == 0;
}

static bool read_domain(const char *word, int *out)
{
	word = skip(skip(word, "AF_"), "PF_");
	*out = is_word(word, "*") ? ANY : is_word(word, "INET") ? AF_INET : AF_INET6;
	return *out != AF_INET6 || is_word(word, "INET6");
}

static bool read_type(const char *word, int *out)
{
	word = skip(word, "SOCK_");
	*out = is_word(word, "*") ? ANY : is_word(word, "STREAM") ? SOCK_STREAM : SOCK_DGRAM;
	return *out != SOCK_DGRAM || is_word(word, "DGRAM");
}

static bool read_protocol(const char *word, int *out)
{
	word = skip(word, "IPPROTO_");
	*out = is_word(word, "*") ? ANY : is_word(word, "TCP") ? IPPROTO_TCP : IPPROTO_UDP;
	return *out != IPPROTO_UDP || is_word(word, "UDP");
}

static bool is_this_program(const char *word)
{
	return is_word(word, "*") ||
	       strncasecmp(program_invocation_short_name, word, strlen(word)) == 0;
}

static void read_line(const char *line)
{
	char program[64], domain[32], type[32], protocol[32];
	struct rule *r = &rules[rule_count];

	if (rule_count == RULES_MAX || line[0] == '#')
		return;
	if (sscanf(line, "%63s %31s %31s %31s", program, domain, type, protocol) != 4)
		return;
	if (is_this_program(program) && read_domain(domain, &r->domain) &&
	    read_type(type, &r->type) && read_protocol(protocol, &r->protocol))
		rule_count++;
}

static void read_file(void)
{
	FILE *file = fopen(FILE_NAME, "re");
	char line[256];

	if (!file)
		return;
	has_file = true;
	while (fgets(line, sizeof(line), file))
		read_line(line);
	fclose(file);
}

bool roce_preload_wants(int domain, int type, int protocol)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	type &= ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
	if ((domain != AF_INET && domain != AF_INET6) ||
	    (type != SOCK_STREAM && type != SOCK_DGRAM))
		return false;
	if (!protocol)
		protocol = type == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP;
	if (protocol != (type == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP))
		return false;
	pthread_once(&once, read_file);
	if (!has_file)
		return true;
	for (int i = 0; i < rule_count; i++)
		if ((rules[i].domain == ANY || rules[i].domain == domain) &&
		    (rules[i].type == ANY || rules[i].type == type) &&
		    (rules[i].protocol == ANY || rules[i].protocol == protocol))
			return true;
	return false;
}
