/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the agents of `uroce verify` are: with the libraries of uroce in two namespaces or here,
 * with the system's, or the target's at a peer. The server is here, too, for it starts an agent by
 * the same rules.
 */
#include "tools/command.h"
#include "tools/environment.h"
#include "tools/place.h"
#include "tools/verify.h"

#include "engine/shared_dir.h"

#include "verify/auth.h"
#include "verify/handshake.h"
#include "verify/lines.h"
#include "verify/network.h"
#include "verify/outlet.h"
#include "verify/protocol.h"
#include "verify/server.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define ARGUMENTS_MAX 12
#define ANNOUNCE_MS   1000 /* for a reader */

/* 1 s for an answer, eight times: on loopback nothing is lost, and where a self-test is a health
 * check a process of a busy machine may well stand still for longer than half a second. */
#define SELF_TEST_QP_TIMEOUT 18

struct launcher {
	struct roce_place place;
	char agent[PATH_MAX + 32];
	struct roce_verify_launch launch;
	const char *arguments[ARGUMENTS_MAX];
	char port[24];
	char gid_index[24];
};

static int set_environment(void *context)
{
	struct roce_environment_extras extras = {0};

	return roce_environment_set(context, &extras);
}

static int complain(const struct roce_verify_options *o, const char *err)
{
	fprintf(stderr, "uroce %s: %s\n", o->command, err);
	return ROCE_EXIT_USAGE;
}

static int complain_of_place(const struct roce_verify_options *o, int rc, const char *err)
{
	complain(o, err);
	return rc == -EINTR ? ROCE_EXIT_INTERRUPTED : ROCE_EXIT_USAGE;
}

/* The agent beside this program, with the environment of `uroce run`. */
static int make_launcher(const struct roce_verify_options *o, struct launcher *l)
{
	char err[256];
	const char *slash;

	/* The system's libraries need none of ours, so that three programs alone will do. */
	if ((o->is_system ? roce_place_find_self : roce_place_find)(&l->place, err, sizeof(err)))
		return complain(o, err);
	slash = strrchr(l->place.self, '/');
	snprintf(l->agent, sizeof(l->agent), "%.*s/verify-agent", (int)(slash - l->place.self),
		 l->place.self);
	l->launch.agent = l->agent;
	if (access(l->agent, X_OK)) {
		snprintf(err, sizeof(err), "%.200s: %s", l->agent, strerror(errno));
		return complain(o, err);
	}
	if (!o->is_system) {
		l->launch.prepare = set_environment;
		l->launch.context = &l->place;
		l->launch.forget = roce_shared_dir_forget;
		l->launch.dismiss = roce_verify_daemon_dismiss;
	}
	return ROCE_EXIT_OK;
}

static json_t *make_where(const struct roce_verify_options *o, int side, const char *address)
{
	json_t *where = json_object();
	const char *device = o->device[side];
	uint64_t qp_timeout = o->qp_timeout;

	if (o->is_self_test && !qp_timeout)
		qp_timeout = SELF_TEST_QP_TIMEOUT;
	if (o->is_self_test && !device)
		device = "uroce_lo";
	if (device) /* one that is no text is found nowhere, and not passed over */
		json_object_set_new(where, "device", roce_json_plain(device));
	if (*address)
		json_object_set_new(where, "address", json_string(address));
	if (o->gid_index != UINT64_MAX)
		json_object_set_new(where, "gid_index", json_integer((json_int_t)o->gid_index));
	if (o->ib_port != UINT64_MAX)
		json_object_set_new(where, "port", json_integer((json_int_t)o->ib_port));
	if (qp_timeout)
		json_object_set_new(where, "qp_timeout", json_integer((json_int_t)qp_timeout));
	/* Of a peer's device the peer says it. */
	if (o->quirks && (side == ROCE_VERIFY_INITIATOR || !o->peer))
		json_object_set_new(where, "quirks", json_string(o->quirks));
	return where;
}

int roce_verify_peer_connect(const struct roce_verify_options *o)
{
	char host[256];
	char reason[ROCE_VERIFY_REASON_SIZE];
	uint16_t port = (uint16_t)o->port;
	int fd;

	if (!roce_verify_address_parse(o->peer, host, sizeof(host), &port)) {
		roce_usage_error(o->command, "%s: found %s, expected HOST, HOST:PORT or [V6]:PORT",
				 strcmp(o->command, "perf") == 0 ? "peer" : "--peer", o->peer);
		return -1;
	}
	fd = roce_verify_connect(host, port, reason, sizeof(reason));
	if (fd < 0) {
		complain(o, reason);
		return -1;
	}
	if (roce_verify_handshake_client(fd, o->token, reason))
		return fd;
	fprintf(stderr, "uroce %s: %s port %u: %s%s\n", o->command, host, port, reason,
		strcmp(o->token, ROCE_VERIFY_TOKEN_OPEN) == 0 && strstr(reason, "token")
			? " (the server has printed one: --token TOKEN)"
			: "");
	close(fd);
	return -1;
}

static int open_with_peer(const struct roce_verify_options *o, const struct launcher *l, int fd,
			  struct roce_verify_sides *out, char *own, char *peer)
{
	char err[256];

	int rc = roce_verify_place_here(&out->place, &l->launch, false, err, sizeof(err));

	if (rc) {
		close(fd);
		return complain_of_place(o, rc, err);
	}
	out->place.fds[ROCE_VERIFY_TARGET] = fd;
	roce_verify_socket_names(fd, own, peer);
	return ROCE_EXIT_OK;
}

static int open_here(const struct roce_verify_options *o, const struct launcher *l,
		     struct roce_verify_sides *out)
{
	bool is_apart = !o->is_system && !o->is_self_test;
	char err[256];
	int rc = is_apart ? roce_verify_place_namespaces(&out->place, &l->launch, (uint32_t)o->mtu,
							 err, sizeof(err))
			  : roce_verify_place_here(&out->place, &l->launch, true, err, sizeof(err));

	return rc ? complain_of_place(o, rc, err) : ROCE_EXIT_OK;
}

int roce_verify_sides_open(const struct roce_verify_options *options, int peer_fd, int signal_fd,
			   struct roce_verify_sides *out, struct roce_verify_record *record)
{
	char addresses[ROCE_VERIFY_SIDES][ROCE_VERIFY_ADDRESS_SIZE] = {"", ""};
	struct launcher launcher = {0};
	int rc = make_launcher(options, &launcher);

	*out = (struct roce_verify_sides){.place = {.fds = {-1, -1}}};
	if (rc && peer_fd >= 0)
		close(peer_fd);
	if (rc)
		return rc;
	launcher.launch.signal_fd = signal_fd;
	if (peer_fd >= 0)
		rc = open_with_peer(options, &launcher, peer_fd, out, addresses[0], addresses[1]);
	else
		rc = open_here(options, &launcher, out);
	if (rc)
		return rc;
	record->peer = options->peer;
	record->place = options->peer		? "peer"
			: options->is_system	? "system"
			: options->is_self_test ? "here"
						: "namespaces";
	for (int side = 0; side < ROCE_VERIFY_SIDES; side++)
		out->where[side] = make_where(options, side, addresses[side]);
	return ROCE_EXIT_OK;
}

void roce_verify_sides_close(struct roce_verify_sides *sides, bool is_now)
{
	roce_verify_place_close(&sides->place, is_now);
	for (int side = 0; side < ROCE_VERIFY_SIDES; side++)
		json_decref(sides->where[side]);
	*sides = (struct roce_verify_sides){.place = {.fds = {-1, -1}}};
}

/* ---- the server ---- */

/* What this end's agent keeps to, whatever the other end orders. */
static void make_arguments(const struct roce_verify_options *o, struct launcher *l)
{
	const struct {
		const char *name;
		const char *value;
	} rows[] = {
		{"--device", o->device[0]},
		{"--port", o->ib_port != UINT64_MAX ? l->port : NULL},
		{"--gid-index", o->gid_index != UINT64_MAX ? l->gid_index : NULL},
		{"--kinds", o->kinds},
		{"--quirks", o->quirks},
	};
	size_t used = 0;

	snprintf(l->port, sizeof(l->port), "%llu", (unsigned long long)o->ib_port);
	snprintf(l->gid_index, sizeof(l->gid_index), "%llu", (unsigned long long)o->gid_index);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!rows[i].value)
			continue;
		l->arguments[used++] = rows[i].name;
		l->arguments[used++] = rows[i].value;
	}
	l->launch.arguments = l->arguments;
}

/* Nobody comes who has not read a token that was made here; one that was given is known. */
static void announce(const struct roce_verify_options *o, uint16_t port, const char *token)
{
	struct roce_verify_outlet outlet;
	char behind[16] = "";

	if (port != ROCE_VERIFY_PORT)
		snprintf(behind, sizeof(behind), ":%u", port);
	roce_verify_outlet_init(&outlet, stdout);
	fprintf(outlet.text, "serving on port %u; on the other host:\n  uroce %s %s%s", port,
		o->client, o->bind_to ? o->bind_to : "THIS_HOST", behind);
	if (strcmp(token, ROCE_VERIFY_TOKEN_OPEN) != 0)
		fprintf(outlet.text, " --token %s", token);
	fputc('\n', outlet.text);
	roce_verify_outlet_end(&outlet, o->token ? ANNOUNCE_MS : -1);
}

static int serve(const struct roce_verify_options *o, const struct roce_verify_server *server)
{
	bool is_perf = strcmp(o->command, "perf") == 0;

	switch (roce_verify_serve(server)) {
	case ROCE_VERIFY_SERVED_UNTIL_SIGNAL:
		/* which is how one that goes on is ended */
		return is_perf && o->is_once ? ROCE_EXIT_INTERRUPTED : ROCE_EXIT_OK;
	case ROCE_VERIFY_SERVED_RUN:
		return ROCE_EXIT_OK;
	case ROCE_VERIFY_SERVED_BROKEN:
		return ROCE_EXIT_FAILED;
	}
	return ROCE_EXIT_FAILED;
}

int roce_verify_serve_command(const struct roce_verify_options *o)
{
	struct launcher launcher = {0};
	char made[64];
	char err[256];
	struct roce_verify_server server = {.token = o->token, .is_once = o->is_once};
	int rc = make_launcher(o, &launcher);

	if (rc)
		return rc;
	if (!server.token) {
		if (!roce_verify_token_make(made, sizeof(made)))
			return complain(o, "no random numbers for a token");
		server.token = made;
	}
	make_arguments(o, &launcher);
	server.launch = launcher.launch;
	server.launch.signal_fd = -1;
	server.listener = roce_verify_listen(o->bind_to, (uint16_t)o->port, err, sizeof(err));
	if (server.listener < 0)
		return complain(o, err);
	announce(o, roce_verify_socket_port(server.listener), server.token);
	rc = serve(o, &server);
	close(server.listener);
	return rc;
}
