/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loop of cm-check: one epoll set with the event channel, the completion channels and signals.
 * SIGTERM ends a server, and makes a client that holds its connections close them; SIGUSR1 makes
 * such a client exchange data on each.
 */
#include "check.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define EVENTS_AT_ONCE 16
#define RATE_TICK_MS   1

static void add_to_epoll(struct check *k, int fd)
{
	struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};

	if (epoll_ctl(k->epoll, EPOLL_CTL_ADD, fd, &e)) {
		perror("epoll_ctl");
		exit(1);
	}
}

static int take_signals(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (fd < 0) {
		perror("signalfd");
		exit(1);
	}
	return fd;
}

static void close_all(struct check *k)
{
	struct conn *next;

	for (struct conn *c = k->first; c; c = next) {
		next = c->next;
		if (c->stage == STAGE_UP)
			conn_close(k, c);
	}
}

static void on_signals(struct check *k, int fd)
{
	struct signalfd_siginfo info;

	while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGTERM) {
			k->is_over = true;
			if (!k->options.is_server)
				close_all(k);
			continue;
		}
		for (struct conn *c = k->first; c; c = c->next)
			if (c->stage == STAGE_UP && !c->has_asked)
				device_ask(k, c);
	}
}

static bool may_start(const struct check *k)
{
	const struct options *o = &k->options;

	if (o->is_server || k->is_over || k->count[COUNT_started] >= o->count ||
	    k->open >= o->at_once)
		return false;
	return !o->rate ||
	       (double)k->count[COUNT_started] <= (seconds_now() - k->begun) * (double)o->rate;
}

static bool is_done(const struct check *k)
{
	const struct options *o = &k->options;

	if (o->is_server)
		return k->is_over || (o->count && k->count[COUNT_ended] >= o->count);
	return (k->is_over || k->count[COUNT_started] >= o->count) && !k->alive;
}

static void look_back(struct check *k)
{
	const struct options *o = &k->options;

	if (!k->warm.descriptors && o->count &&
	    k->count[COUNT_ended] * 100 >= (unsigned long)o->count * PERCENT_WARM)
		k->warm = usage_now(k);
	if (o->is_held && !k->is_all_up && k->count[COUNT_started] == o->count &&
	    k->open == k->count[COUNT_established]) {
		k->is_all_up = true;
		printf("all up: %u\n", k->open);
	}
}

static void turn(struct check *k, int signals)
{
	struct epoll_event events[EVENTS_AT_ONCE];
	bool is_paced = k->options.rate && k->count[COUNT_started] < k->options.count;
	int n = epoll_wait(k->epoll, events, EVENTS_AT_ONCE, is_paced ? RATE_TICK_MS : -1);

	for (int i = 0; i < n; i++) {
		if (events[i].data.fd == signals) {
			events_read(k); /* what came before the signal counts */
			on_signals(k, signals);
		} else if (events[i].data.fd == k->channel->fd) {
			events_read(k);
		}
	}
	device_poll(k);
}

static void run(struct check *k)
{
	int signals = take_signals();

	add_to_epoll(k, k->channel->fd);
	add_to_epoll(k, signals);
	k->begun = seconds_now();
	if (k->options.is_server)
		conn_listen(k);
	while (!is_done(k)) {
		while (may_start(k))
			conn_start(k);
		look_back(k);
		if (is_done(k))
			break;
		turn(k, signals);
	}
	while (k->first)
		conn_destroy(k, k->first);
	if (k->listener)
		rdma_destroy_id(k->listener);
	close(signals);
}

int main(int argc, char **argv)
{
	struct check *k = calloc(1, sizeof(*k));

	if (!k)
		return 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	options_read(&k->options, argc, argv);
	if (k->options.is_quiet_check)
		return check_refused(&k->options);
	while (k->free_slots < SLOTS_MAX) {
		k->free_slot[k->free_slots] = SLOTS_MAX - 1 - k->free_slots;
		k->free_slots++;
	}
	k->channel = rdma_create_event_channel();
	k->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!k->channel || k->epoll < 0) {
		perror("rdma_create_event_channel");
		return 1;
	}
	run(k);
	report_print(k);
	return k->count[COUNT_complaints] ? 1 : 0;
}
