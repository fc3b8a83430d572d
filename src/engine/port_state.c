/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The link's state follows the stream of news and never what was read, or a link that goes down
 * between the two would be told twice. Only when news was lost the two are made to agree again: by
 * reading until nothing comes in meanwhile.
 */
#include "engine/port_state.h"

#include "verbs/limits.h"
#include "wire/mtu.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define SETTLE_TRIES_MAX 16u

_Static_assert(ROCE_NETDEV_GIDS_MAX == ROCE_GID_TABLE, "query_port tells how long the table is");

/* ---- what changed ---- */

/* A link whose MTU is too small carries no packet of ours. */
static bool is_port_up(const struct roce_port_state *p)
{
	return p->facts.is_up && roce_mtu_enum_from_netdev(p->facts.mtu) != 0;
}

static void note_link(struct roce_port_state *p, bool is_up)
{
	bool was_port_up = is_port_up(p);

	p->facts.is_up = is_up;
	if (is_port_up(p) != was_port_up && was_port_up != p->change.was_up)
		p->change.is_flapped = true;
}

static void note_gids(struct roce_port_state *p)
{
	if (roce_gid_table_update(&p->table, p->facts.gids, p->facts.gid_count))
		p->change.is_gid_changed = true;
}

static void note_gone(struct roce_port_state *p)
{
	p->is_gone = true;
	p->must_read = false;
	p->change.is_gone = true;
	note_link(p, false);
	p->facts.gid_count = 0;
	note_gids(p);
}

static bool has_changed(const struct roce_port_state *p)
{
	const struct roce_port_change *c = &p->change;

	return is_port_up(p) != c->was_up || c->is_flapped || c->is_gid_changed ||
	       c->is_mtu_changed || c->is_gone;
}

/* ---- reading ---- */

/* All facts but the link's state, which goes to *out_is_up. */
static int read_facts(struct roce_port_state *p, bool *out_is_up)
{
	bool was_up = p->facts.is_up;
	uint32_t old_mtu = p->facts.mtu;
	struct roce_netdev fresh;
	int err = roce_netdev_read(p->source, p->ifindex, &fresh);

	p->must_read = err != 0;
	if (err)
		return err;
	*out_is_up = fresh.is_up;
	p->facts = fresh;
	p->facts.is_up = was_up;
	if (fresh.mtu != old_mtu)
		p->change.is_mtu_changed = true;
	note_gids(p);
	return 0;
}

/* False when the device is gone. */
static bool skip_news(struct roce_port_state *p, bool *out_is_any)
{
	*out_is_any = false;
	for (;;) {
		switch (roce_netdev_news_next(&p->news)) {
		case ROCE_NETDEV_NOTHING:
			return true;
		case ROCE_NETDEV_GONE:
			return false;
		case ROCE_NETDEV_CHANGED:
		case ROCE_NETDEV_LINK_UP:
		case ROCE_NETDEV_LINK_DOWN:
		case ROCE_NETDEV_LOST:
			*out_is_any = true;
			break;
		}
	}
}

/* Reads until what was read and the news agree. -ENODEV when the device is gone. */
static int settle(struct roce_port_state *p)
{
	bool is_up = false;
	bool is_any;

	if (!skip_news(p, &is_any))
		return -ENODEV;
	for (uint32_t i = 0; i < SETTLE_TRIES_MAX; i++) {
		int err = read_facts(p, &is_up);

		if (err)
			return err;
		if (!skip_news(p, &is_any))
			return -ENODEV;
		if (!is_any)
			break;
	}
	note_link(p, is_up);
	return 0;
}

static int read_after_news(struct roce_port_state *p)
{
	bool is_up;

	return read_facts(p, &is_up);
}

/* Takes in what was told. 0 or -errno. */
static int refresh(struct roce_port_state *p)
{
	bool is_any = p->must_read;
	bool is_lost = false;
	bool is_end = false;
	int err = 0;

	if (p->is_gone)
		return 0;
	while (!is_end && !p->is_gone) {
		switch (roce_netdev_news_next(&p->news)) {
		case ROCE_NETDEV_NOTHING:
			is_end = true;
			continue;
		case ROCE_NETDEV_LINK_UP:
			note_link(p, true);
			break;
		case ROCE_NETDEV_LINK_DOWN:
			note_link(p, false);
			break;
		case ROCE_NETDEV_GONE:
			note_gone(p);
			break;
		case ROCE_NETDEV_LOST:
			is_lost = true;
			break;
		case ROCE_NETDEV_CHANGED:
			break;
		}
		is_any = true;
	}
	if (is_any && !p->is_gone)
		err = is_lost ? settle(p) : read_after_news(p);
	if (err == -ENODEV) {
		note_gone(p);
		err = 0;
	}
	return err;
}

/* For a question: whoever takes the changes hears of those that it found. */
static int refresh_and_wake(struct roce_port_state *p)
{
	int err = refresh(p);

	if (has_changed(p)) {
		uint64_t one = 1;

		if (write(p->wake_fd, &one, sizeof(one)) < 0)
			return err; /* it is readable, that is all that counts */
	}
	return err;
}

/* ---- life ---- */

int roce_port_state_open(struct roce_port_state *p, uint32_t ifindex)
{
	int err;

	*p = (struct roce_port_state){.ifindex = ifindex, .news.fd = -1};
	pthread_mutex_init(&p->lock, NULL);
	p->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->wake_fd < 0)
		return -errno;
	err = roce_netdev_source_open(&p->source);
	if (!err)
		err = roce_netdev_news_open(&p->news, ifindex);
	if (!err)
		err = settle(p);
	p->change = (struct roce_port_change){.was_up = is_port_up(p)};
	return err;
}

void roce_port_state_close(struct roce_port_state *p)
{
	if (p->wake_fd >= 0)
		close(p->wake_fd);
	roce_netdev_news_close(&p->news);
	roce_netdev_source_close(p->source);
	pthread_mutex_destroy(&p->lock);
}

void roce_port_state_abandon(struct roce_port_state *p)
{
	close(p->wake_fd);
	roce_netdev_news_close(&p->news);
	roce_netdev_source_abandon(p->source);
}

/* ---- questions ---- */

int roce_port_state_query(struct roce_port_state *p, struct roce_port_info *out)
{
	int err;

	pthread_mutex_lock(&p->lock);
	err = refresh_and_wake(p);
	if (!err) {
		out->is_up = is_port_up(p);
		out->netdev_mtu = p->facts.mtu;
		out->active_mtu = roce_mtu_enum_from_netdev(p->facts.mtu);
		out->speed_mbps = p->facts.speed_mbps;
		out->gid_count = roce_gid_table_end(&p->table);
		memcpy(out->mac, p->facts.mac, sizeof(out->mac));
	}
	pthread_mutex_unlock(&p->lock);
	return err;
}

int roce_port_state_gid(struct roce_port_state *p, uint32_t index, struct roce_gid *out)
{
	const struct roce_gid *gid;
	int err;

	pthread_mutex_lock(&p->lock);
	err = refresh_and_wake(p);
	if (!err) {
		gid = roce_gid_table_at(&p->table, index);
		if (gid)
			*out = *gid;
		else
			err = -ENOENT;
	}
	pthread_mutex_unlock(&p->lock);
	return err;
}

int roce_port_state_hold_gid(struct roce_port_state *p, uint32_t index, const struct roce_gid *gid)
{
	int err;

	pthread_mutex_lock(&p->lock);
	err = roce_gid_table_hold(&p->table, index, gid);
	pthread_mutex_unlock(&p->lock);
	return err;
}

void roce_port_state_release_gid(struct roce_port_state *p, uint32_t index)
{
	pthread_mutex_lock(&p->lock);
	roce_gid_table_release(&p->table, index);
	pthread_mutex_unlock(&p->lock);
}

bool roce_port_state_take(struct roce_port_state *p, struct roce_port_change *out)
{
	uint64_t count;
	bool is_any;

	pthread_mutex_lock(&p->lock);
	if (read(p->wake_fd, &count, sizeof(count)) < 0)
		count = 0; /* nobody woke us */
	(void)refresh(p);
	is_any = has_changed(p);
	*out = p->change;
	out->is_up = is_port_up(p);
	p->change = (struct roce_port_change){.was_up = is_port_up(p)};
	pthread_mutex_unlock(&p->lock);
	return is_any;
}

bool roce_port_state_must_read(struct roce_port_state *p)
{
	bool must_read;

	pthread_mutex_lock(&p->lock);
	must_read = p->must_read;
	pthread_mutex_unlock(&p->lock);
	return must_read;
}

bool roce_port_state_is_gone(struct roce_port_state *p)
{
	bool is_gone;

	pthread_mutex_lock(&p->lock);
	is_gone = p->is_gone;
	pthread_mutex_unlock(&p->lock);
	return is_gone;
}
