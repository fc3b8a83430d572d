/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the library has once: its lock, the connection to uroced (made when the first id needs it)
 * and the errno style. A forked child starts afresh: the parent's ids answer ENOTCONN there.
 */
#include "compat/librdmacm/rdmacm.h"

#include "control/port_owner.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pthread_mutex_t cm_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t cm_acked = PTHREAD_COND_INITIALIZER;

static pthread_mutex_t client_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static struct roce_cm_client *client;

int cm_fail(int err)
{
	errno = err < 0 ? -err : err;
	return -1;
}

static void on_fork_prepare(void)
{
	pthread_mutex_lock(&client_lock);
	pthread_mutex_lock(&cm_lock);
}

static void on_fork_parent(void)
{
	pthread_mutex_unlock(&cm_lock);
	pthread_mutex_unlock(&client_lock);
}

/* The parent's client stays as it is: another thread may have held its lock. */
static void on_fork_child(void)
{
	client = NULL;
	cm_devices_forget();
	pthread_mutex_unlock(&cm_lock);
	pthread_mutex_unlock(&client_lock);
}

static void register_atfork(void)
{
	pthread_atfork(on_fork_prepare, on_fork_parent, on_fork_child);
}

int cm_library_init(void)
{
	static _Atomic bool has_devices; /* listing costs; who has seen one need not look again */
	struct ibv_device **list;
	int count = 0;

	pthread_once(&fork_once, register_atfork);
	if (has_devices)
		return 0;
	list = ibv_get_device_list(&count);
	if (!list)
		return errno ? -errno : -ENODEV;
	ibv_free_device_list(list);
	has_devices = count > 0;
	return count ? 0 : -ENODEV;
}

/* Refused calls are told of when asked for; that the port cannot be had at all always, but once. */
static void show(const char *text)
{
	const char *debug = secure_getenv("UROCE_DEBUG");
	bool is_asked = debug && *debug && strcmp(debug, "0") != 0;
	static atomic_flag is_said = ATOMIC_FLAG_INIT;

	if (is_asked ||
	    (!debug &&
	     strncmp(text, ROCE_PORT_OWNER_TEXT_START, strlen(ROCE_PORT_OWNER_TEXT_START)) == 0 &&
	     !atomic_flag_test_and_set(&is_said)))
		fprintf(stderr, "uroce: %s\n", text);
}

static int get_client(struct roce_cm_client **out)
{
	static const struct roce_cm_client_config cfg = {.on_event = cm_on_event};
	char err[512] = "";
	int error = 0;

	pthread_mutex_lock(&client_lock);
	if (!client) {
		error = roce_cm_client_open(&client, &cfg, err, sizeof(err));
		if (error)
			show(err);
	}
	*out = client;
	pthread_mutex_unlock(&client_lock);
	return error;
}

int cm_request(const struct roce_cm_request *r, struct roce_cm_ok *out_ok)
{
	struct roce_cm_client *c;
	char err[512] = "";
	int error = get_client(&c);

	if (error)
		return error;
	error = roce_cm_client_request(c, r, out_ok, err, sizeof(err));
	if (error)
		show(err);
	return error;
}

int cm_new_handle(uint32_t *out_handle)
{
	struct roce_cm_client *c;
	int error = get_client(&c);

	if (!error)
		*out_handle = roce_cm_client_new_handle(c);
	return error;
}

int cm_start_thread(void *(*run)(void *arg), void *arg, const char *name)
{
	sigset_t all, old;
	pthread_t thread;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = pthread_create(&thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (error)
		return -error;
	pthread_setname_np(thread, name);
	pthread_detach(thread);
	return 0;
}
