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

#include "verify/auth.h"
#include "verify/handshake.h"
#include "verify/network.h"
#include "verify/protocol.h"
#include "verify/server.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct launcher {
	struct roce_place place;
	char agent[PATH_MAX + 32];
	struct roce_verify_launch launch;
};

static int set_environment(void *context)
{
	struct roce_environment_extras extras = {0};

	return roce_environment_set(context, &extras);
}

static int complain(const char *err)
{
	fprintf(stderr, "uroce verify: %s\n", err);
	return ROCE_EXIT_USAGE;
}

/* The agent beside this program, with the environment of `uroce run`. */
static int make_launcher(struct launcher *l, bool is_system)
{
	char err[256];
	const char *slash;

	if (roce_place_find(&l->place, err, sizeof(err)))
		return complain(err);
	slash = strrchr(l->place.self, '/');
	snprintf(l->agent, sizeof(l->agent), "%.*s/verify-agent", (int)(slash - l->place.self),
		 l->place.self);
	l->launch.agent = l->agent;
	if (access(l->agent, X_OK)) {
		snprintf(err, sizeof(err), "%.200s: %s", l->agent, strerror(errno));
		return complain(err);
	}
	if (!is_system) {
		l->launch.prepare = set_environment;
		l->launch.context = &l->place;
	}
	return ROCE_EXIT_OK;
}

static json_t *make_where(const struct roce_verify_options *o, int side, const char *address)
{
	json_t *where = json_object();
	const char *device = o->device[side];

	if (o->is_self_test && !device)
		device = "uroce_lo";
	if (device)
		json_object_set_new(where, "device", json_string(device));
	if (*address)
		json_object_set_new(where, "address", json_string(address));
	if (o->gid_index != UINT64_MAX)
		json_object_set_new(where, "gid_index", json_integer((json_int_t)o->gid_index));
	return where;
}

int roce_verify_peer_connect(const struct roce_verify_options *o)
{
	char host[256];
	char reason[ROCE_VERIFY_REASON_SIZE];
	uint16_t port = (uint16_t)o->port;
	int fd;

	if (!roce_verify_address_parse(o->peer, host, sizeof(host), &port)) {
		roce_usage_error("verify",
				 "--peer: found %s, expected HOST, HOST:PORT or [V6]:PORT",
				 o->peer);
		return -1;
	}
	fd = roce_verify_connect(host, port, reason, sizeof(reason));
	if (fd < 0) {
		complain(reason);
		return -1;
	}
	if (roce_verify_handshake_client(fd, o->token, reason))
		return fd;
	fprintf(stderr, "uroce verify: %s port %u: %s\n", host, port, reason);
	close(fd);
	return -1;
}

static int open_with_peer(const struct launcher *l, int fd, struct roce_verify_sides *out,
			  char *own, char *peer)
{
	char err[256];

	if (roce_verify_place_here(&out->place, &l->launch, false, err, sizeof(err))) {
		close(fd);
		return complain(err);
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

	return rc ? complain(err) : ROCE_EXIT_OK;
}

int roce_verify_sides_open(const struct roce_verify_options *options, int peer_fd,
			   struct roce_verify_sides *out, struct roce_verify_record *record)
{
	char addresses[ROCE_VERIFY_SIDES][ROCE_VERIFY_ADDRESS_SIZE] = {"", ""};
	struct launcher launcher = {0};
	int rc = make_launcher(&launcher, options->is_system);

	*out = (struct roce_verify_sides){.place = {.fds = {-1, -1}}};
	if (rc && peer_fd >= 0)
		close(peer_fd);
	if (rc)
		return rc;
	if (peer_fd >= 0)
		rc = open_with_peer(&launcher, peer_fd, out, addresses[0], addresses[1]);
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

int roce_verify_serve_command(const struct roce_verify_options *options)
{
	struct launcher launcher = {0};
	char made[64];
	char err[256];
	struct roce_verify_server server = {.token = options->token, .is_once = options->is_once};
	int rc = make_launcher(&launcher, options->is_system);

	if (rc)
		return rc;
	if (!server.token) {
		if (!roce_verify_token_make(made, sizeof(made)))
			return complain("no random numbers for a token");
		server.token = made;
	}
	server.launch = launcher.launch;
	server.listener =
		roce_verify_listen(options->bind_to, (uint16_t)options->port, err, sizeof(err));
	if (server.listener < 0)
		return complain(err);
	printf("serving on port %u; on the other host:\n"
	       "  uroce verify --peer THIS_HOST:%u --token %s\n",
	       roce_verify_socket_port(server.listener), roce_verify_socket_port(server.listener),
	       server.token);
	fflush(stdout);
	roce_verify_serve(&server);
	close(server.listener);
	return ROCE_EXIT_OK;
}
