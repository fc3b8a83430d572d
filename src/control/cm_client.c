/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests, events and the way back after the daemon was replaced:
 *
 *   on_reconnected -> every held id on restore_list -> RESTORE, at most RESTORES_MAX unanswered
 *                  -> RESTORED -> its answer: settled, requests go out again
 *
 * One lock for the connection and the table. A call that waits for its answer reads the socket
 * itself, with the lock held, and hands on the events that it meets; the thread does so when nobody
 * waits. A connection that breaks in the middle begins the restore anew.
 */
#include "control/cm_client.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "control/client_internal.h"
#include "base/clock.h"
#include "control/cm_held.h"

#define RESTORES_MAX 32
#define GONE_NS	     (10 * ROCE_NS_PER_S) /* no daemon for so long: what waits for it ends */
#define TICK_MS	     100		  /* of the thread, while something is to be watched */

struct roce_cm_client {
	struct roce_cm_client_config cfg;
	struct roce_client *client;
	pthread_mutex_t lock;
	pthread_t thread;
	int stop_fd;
	bool has_thread;
	uint32_t next_handle;
	uint32_t next_sequence; /* of restores */
	struct roce_cm_held_table held;
	bool is_settled;      /* no restore is to be done or under way */
	bool is_ended;	      /* the daemon stayed away, and what waited for it was told */
	roce_ns_t down_since; /* 0: the daemon is there */
	struct roce_list restore_list, unanswered;
	unsigned unanswered_count;
	uint32_t restored_sequence; /* of the RESTORED under way, 0 none */
	struct roce_channel_packet packet;
};

/* ---- restore ---- */

static uint32_t take_sequence(struct roce_cm_client *c)
{
	c->next_sequence = (c->next_sequence + 1) & (ROCE_SEQUENCE_CM_MAX - ROCE_SEQUENCE_CM);
	return ROCE_SEQUENCE_CM + c->next_sequence;
}

static bool needs_restore(const struct roce_cm_held *h)
{
	return h->is_bound || h->dialogue != ROCE_CM_DIALOGUE_NONE;
}

static int send_restore(struct roce_cm_client *c, struct roce_cm_held *h)
{
	struct roce_message m = {.type = ROCE_MESSAGE_CM, .sequence = take_sequence(c)};

	m.cm.handle = h->handle;
	m.cm.op = ROCE_CM_RESTORE;
	m.cm.restore.bind = h->bind;
	m.cm.restore.backlog = h->backlog;
	if (h->saved)
		m.cm.restore.saved = *h->saved;
	h->sequence = m.sequence;
	return roce_channel_send(c->client->sock, &m, NULL, 0);
}

static void move(struct roce_list *to, struct roce_cm_held *h)
{
	roce_list_remove(&h->restore_link);
	roce_list_add_tail(to, &h->restore_link);
}

/* As much as may be unanswered; -EAGAIN ends it too, an answer or the thread's tick goes on. */
static void pump_restores(struct roce_cm_client *c)
{
	struct roce_message m = {.type = ROCE_MESSAGE_CM, .cm.op = ROCE_CM_RESTORED};

	if (c->is_settled || c->client->state != ROCE_CLIENT_READY)
		return;
	while (!roce_list_is_empty(&c->restore_list) && c->unanswered_count < RESTORES_MAX) {
		struct roce_cm_held *h =
			roce_container_of(c->restore_list.next, struct roce_cm_held, restore_link);

		if (!needs_restore(h)) {
			roce_list_remove(&h->restore_link);
			continue;
		}
		if (send_restore(c, h))
			return;
		move(&c->unanswered, h);
		c->unanswered_count++;
	}
	if (!roce_list_is_empty(&c->restore_list) || c->unanswered_count || c->restored_sequence)
		return;
	m.sequence = take_sequence(c);
	if (roce_channel_send(c->client->sock, &m, NULL, 0) == 0)
		c->restored_sequence = m.sequence;
}

/* Listeners last: the daemon must know the numbers of all children before it gives one a new child.
 */
static void list_for_restore(struct roce_cm_client *c, bool listeners)
{
	struct roce_list *pos;

	for (unsigned i = 0; i < ROCE_CM_HELD_BUCKETS; i++)
		roce_list_for_each (pos, &c->held.bucket[i]) {
			struct roce_cm_held *h = roce_container_of(pos, struct roce_cm_held, link);

			if ((h->backlog > 0) == listeners)
				move(&c->restore_list, h);
		}
}

static void on_reconnected(void *ctx)
{
	struct roce_cm_client *c = ctx;

	c->is_settled = false;
	c->unanswered_count = 0;
	c->restored_sequence = 0;
	list_for_restore(c, false);
	list_for_restore(c, true);
	pump_restores(c);
}

static void end_dialogue(struct roce_cm_client *c, struct roce_cm_held *h)
{
	struct roce_cm_event e;

	if (roce_cm_held_end(h, &e))
		c->cfg.on_event(c->cfg.ctx, &e);
}

static struct roce_cm_held *find_unanswered(struct roce_cm_client *c, uint32_t sequence)
{
	struct roce_list *pos;

	roce_list_for_each (pos, &c->unanswered) {
		struct roce_cm_held *h = roce_container_of(pos, struct roce_cm_held, restore_link);

		if (h->sequence == sequence)
			return h;
	}
	return NULL;
}

static void on_restore_answer(struct roce_cm_client *c, const struct roce_message *m)
{
	struct roce_cm_held *h;

	if (m->sequence == c->restored_sequence) {
		c->restored_sequence = 0;
		c->is_settled = true;
		return;
	}
	if (c->unanswered_count)
		c->unanswered_count--;
	h = find_unanswered(c, m->sequence);
	if (!h) /* destroyed meanwhile */
		return;
	roce_list_remove(&h->restore_link);
	/* The port may be ours again while the dialogue is nobody's. */
	if ((m->type == ROCE_MESSAGE_ERROR || !m->cm_ok.saved.length) && roce_cm_held_is_waiting(h))
		end_dialogue(c, h);
}

/* Everything that the connection manager says without being waited for. */
static void on_cm(void *ctx, const struct roce_message *m)
{
	struct roce_cm_client *c = ctx;

	if (m->type != ROCE_MESSAGE_CM_EVENT) {
		on_restore_answer(c, m);
		pump_restores(c);
		return;
	}
	/* Unknown: an id that was destroyed before its event was read. */
	if (roce_cm_held_on_event(&c->held, &m->cm_event) == 0)
		c->cfg.on_event(c->cfg.ctx, &m->cm_event);
}

/* ---- the thread ---- */

static void end_all_waiting(struct roce_cm_client *c)
{
	struct roce_list *pos;

	for (unsigned i = 0; i < ROCE_CM_HELD_BUCKETS; i++)
		roce_list_for_each (pos, &c->held.bucket[i]) {
			struct roce_cm_held *h = roce_container_of(pos, struct roce_cm_held, link);

			if (roce_cm_held_is_waiting(h))
				end_dialogue(c, h);
		}
}

/* Looks how long the daemon has been away. */
static void watch(struct roce_cm_client *c)
{
	if (c->client->state == ROCE_CLIENT_READY) {
		c->down_since = 0;
		c->is_ended = false;
		pump_restores(c);
		return;
	}
	if (!c->down_since)
		c->down_since = roce_clock_now();
	if (!c->is_ended && roce_clock_now() - c->down_since > GONE_NS) {
		c->is_ended = true;
		end_all_waiting(c);
	}
}

static void *run_thread(void *arg)
{
	struct roce_cm_client *c = arg;
	struct pollfd fds[2] = {{.fd = roce_client_fd(c->client), .events = POLLIN},
				{.fd = c->stop_fd, .events = POLLIN}};
	int timeout_ms = -1;

	pthread_setname_np(pthread_self(), "uroce-cm");
	for (;;) {
		poll(fds, 2, timeout_ms);
		if (fds[1].revents)
			return NULL;
		pthread_mutex_lock(&c->lock);
		roce_client_on_readable(c->client);
		watch(c);
		timeout_ms = c->is_settled && c->client->state == ROCE_CLIENT_READY ? -1 : TICK_MS;
		pthread_mutex_unlock(&c->lock);
	}
}

static int start_thread(struct roce_cm_client *c)
{
	sigset_t all, old;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = pthread_create(&c->thread, NULL, run_thread, c);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	c->has_thread = error == 0;
	return -error;
}

/* ---- calls ---- */

int roce_cm_client_open(struct roce_cm_client **out, const struct roce_cm_client_config *cfg,
			char *err, size_t err_size)
{
	struct roce_cm_client *c = calloc(1, sizeof(*c));
	struct roce_client_config client = {
		.may_start = true, .ctx = c, .on_cm = on_cm, .on_reconnected = on_reconnected};
	int error;

	if (!c)
		return -ENOMEM;
	c->cfg = *cfg;
	c->is_settled = true;
	pthread_mutex_init(&c->lock, NULL);
	roce_cm_held_init(&c->held);
	roce_list_init(&c->restore_list);
	roce_list_init(&c->unanswered);
	c->stop_fd = eventfd(0, EFD_CLOEXEC);
	error = c->stop_fd < 0 ? -errno : roce_client_open(&c->client, &client, err, err_size);
	if (!error) {
		error = start_thread(c);
		if (error)
			snprintf(err, err_size, "cannot start a thread: %s", strerror(-error));
	}
	if (error) {
		roce_cm_client_close(c);
		return error;
	}
	*out = c;
	return 0;
}

uint32_t roce_cm_client_new_handle(struct roce_cm_client *c)
{
	uint32_t handle;

	pthread_mutex_lock(&c->lock);
	do
		handle = ++c->next_handle & ~ROCE_CM_HANDLE_CHILD;
	while (!handle || roce_cm_held_find(&c->held, handle));
	pthread_mutex_unlock(&c->lock);
	return handle;
}

/* The daemon is there and knows all our ids. */
static int wait_settled(struct roce_cm_client *c, roce_ns_t until)
{
	for (;;) {
		int error = roce_client_wait_ready(c->client, until, &c->packet);

		if (error || c->is_settled)
			return error;
		roce_client_step(c->client, 0, &c->packet);
		pump_restores(c);
		if (c->client->state != ROCE_CLIENT_READY || c->is_settled)
			continue;
		if (roce_clock_now() >= until)
			return -ETIMEDOUT;
		roce_client_wait_event(c->client, until);
	}
}

/* Until the answer is in c->packet. A daemon that dies meanwhile is asked again when it is back. */
static int transact(struct roce_cm_client *c, struct roce_message *m)
{
	roce_ns_t until = roce_clock_now() + ROCE_CLIENT_ANSWER_NS_MAX;
	uint32_t generation;
	int error;

again:
	if (m->cm.op == ROCE_CM_DESTROY) { /* needs no daemon: it forgot the id when it went */
		roce_client_step(c->client, 0, &c->packet);
		if (c->client->state != ROCE_CLIENT_READY)
			return -ECONNRESET;
	}
	error = wait_settled(c, until);
	if (error)
		return error;
	generation = c->client->generation;
	error = roce_channel_send(c->client->sock, m, NULL, 0);
	if (error == -EAGAIN) {
		roce_client_wait_event(c->client, roce_clock_now() + ROCE_NS_PER_MS);
		if (roce_clock_now() >= until)
			return -ETIMEDOUT;
		roce_client_step(c->client, 0, &c->packet);
		goto again;
	}
	if (error) {
		roce_client_on_lost(c->client);
		goto again;
	}
	if (m->cm.op == ROCE_CM_TAKEN)
		return 0;
	while (!roce_client_step(c->client, m->sequence, &c->packet)) {
		if (c->client->state != ROCE_CLIENT_READY || c->client->generation != generation) {
			if (m->cm.op == ROCE_CM_DESTROY)
				return -ECONNRESET;
			goto again;
		}
		if (roce_clock_now() >= until)
			return -ETIMEDOUT;
		roce_client_wait_event(c->client, until);
	}
	roce_channel_close_fds(&c->packet);
	return 0;
}

/* An established connection that the daemon could not take up again ends here, when asked to. */
static bool end_forgotten(struct roce_cm_client *c, const struct roce_cm_request *r)
{
	struct roce_cm_held *h = roce_cm_held_find(&c->held, r->handle);

	if (r->op != ROCE_CM_DISCONNECT || !h || h->dialogue != ROCE_CM_DIALOGUE_ESTABLISHED)
		return false;
	end_dialogue(c, h);
	return true;
}

static int finish(struct roce_cm_client *c, const struct roce_cm_request *r,
		  struct roce_cm_ok *out_ok, char *err, size_t err_size)
{
	const struct roce_message *m = &c->packet.message;
	int error;

	if (m->type == ROCE_MESSAGE_CM_OK) {
		error = roce_cm_held_on_ok(&c->held, r, &m->cm_ok);
		if (out_ok && !error)
			*out_ok = m->cm_ok;
		return error;
	}
	error = roce_client_check_answer(&c->packet, err, err_size);
	if (!error) {
		snprintf(err, err_size, "uroced answered %s by %s", roce_cm_op_str(r->op),
			 roce_message_type_str(m->type));
		return -EPROTO;
	}
	return end_forgotten(c, r) ? 0 : error;
}

int roce_cm_client_request(struct roce_cm_client *c, const struct roce_cm_request *request,
			   struct roce_cm_ok *out_ok, char *err, size_t err_size)
{
	struct roce_message m = {.type = ROCE_MESSAGE_CM, .cm = *request};
	bool is_destroy = request->op == ROCE_CM_DESTROY;
	int error;

	pthread_mutex_lock(&c->lock);
	if (c->client->state == ROCE_CLIENT_FORKED) {
		pthread_mutex_unlock(&c->lock);
		snprintf(err, err_size, "the id belongs to the parent process");
		return -ENOTCONN;
	}
	c->client->sequence = c->client->sequence % (ROCE_SEQUENCE_CLAIM - 1) + 1;
	m.sequence = c->client->sequence;
	error = is_destroy && c->client->state != ROCE_CLIENT_READY ? -ECONNRESET : transact(c, &m);
	if (error) {
		snprintf(err, err_size, "%s",
			 error == c->client->error ? c->client->text : "uroced does not answer");
	} else if (request->op != ROCE_CM_TAKEN) {
		error = finish(c, request, out_ok, err, err_size);
	}
	if (request->op == ROCE_CM_TAKEN)
		roce_cm_held_on_taken(&c->held, request->handle);
	if (is_destroy) {
		roce_cm_held_drop(&c->held, request->handle);
		error = 0;
	}
	pthread_mutex_unlock(&c->lock);
	return error;
}

void roce_cm_client_close(struct roce_cm_client *c)
{
	if (!c)
		return;
	if (c->has_thread) {
		eventfd_write(c->stop_fd, 1);
		pthread_join(c->thread, NULL);
	}
	roce_client_close(c->client);
	if (c->stop_fd >= 0)
		close(c->stop_fd);
	roce_cm_held_fini(&c->held);
	pthread_mutex_destroy(&c->lock);
	free(c);
}
