/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Membership of one SO_REUSEPORT group; group.h has the rules. The order inside each operation
 * matters: a slot is mapped only when its socket is known to be in place, and unmapped before its
 * socket goes. Probes towards numbers that surely exist disturb nobody (leased sockets drop them);
 * a probe beyond the end would be spread by hash, so only resync, which stops at the last member,
 * walks upwards.
 */
#include "daemon/group.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "daemon/member.h"

#define WAIT_MS_EXPECTED  300 /* for a probe that should arrive at once, and does so mostly */
#define WAIT_MS_MAYBE	  4   /* for one that may go to somebody else */
#define SCAN_BATCH	  16
#define SCAN_MAX	  320 /* then probes do not arrive here at all */
#define WALK_BEYOND_MAX	  64  /* members that joined behind our back */
#define JOIN_ATTEMPTS_MAX 10
#define JOIN_ATTEMPT_MS	  5
#define PROBERS_COUNT	  3 /* source ports that must agree on the number of a new member */

static struct roce_group_member *append(struct roce_group *g, enum roce_member_kind kind,
					uint8_t slot, int fd)
{
	struct roce_group_member *m = &g->member[g->count++];

	ROCE_ASSERT(g->count <= ROCE_GROUP_MEMBERS_MAX);
	*m = (struct roce_group_member){
		.kind = kind, .slot = slot, .fd = fd, .kept_index = ROCE_MEMBER_NOT_KEPT};
	m->inode = fd >= 0 ? roce_member_get_inode(fd) : 0;
	return m;
}

static void close_member(struct roce_group *g, struct roce_group_member *m)
{
	if (m->fd < 0)
		return;
	if (m->kept_index != ROCE_MEMBER_NOT_KEPT) {
		ROCE_ASSERT(g->gone_count < ROCE_GROUP_MEMBERS_MAX);
		g->gone[g->gone_count++] = m->inode;
	}
	if (g->on_close)
		g->on_close(g->ctx, m->fd);
	close(m->fd);
	m->fd = -1;
}

unsigned roce_group_count(const struct roce_group *g, enum roce_member_kind kind)
{
	unsigned n = 0;

	for (unsigned i = 0; i < g->count; i++)
		n += g->member[i].kind == kind;
	return n;
}

int roce_group_find(const struct roce_group *g, uint8_t slot)
{
	for (unsigned i = 0; i < g->count; i++)
		if (g->member[i].kind == ROCE_MEMBER_LEASED && g->member[i].slot == slot)
			return (int)i;
	return -1;
}

static int find_daemon(const struct roce_group *g)
{
	for (unsigned i = 0; i < g->count; i++)
		if (g->member[i].kind == ROCE_MEMBER_DAEMON)
			return (int)i;
	return -1;
}

int roce_group_get_daemon_fd(const struct roce_group *g)
{
	int i = find_daemon(g);

	return i < 0 ? -1 : g->member[i].fd;
}

int roce_group_attach(struct roce_group *g)
{
	int16_t map[256];
	int daemon = find_daemon(g);

	if (daemon < 0)
		return -ENOENT;
	memset(map, 0xff, sizeof(map));
	for (unsigned i = 0; i < g->count; i++)
		if (g->member[i].kind == ROCE_MEMBER_LEASED)
			map[g->member[i].slot] = (int16_t)i;
	return roce_member_attach_program(g->member[daemon].fd, g->nonce, map, (uint16_t)daemon);
}

static void probe(struct roce_group *g, unsigned index)
{
	roce_member_send_probe(g->prober_fd, &g->address, g->nonce, (uint16_t)index, g->round);
}

/* Is an unfiltered socket of ours the member `index`, which surely exists? */
static bool is_at(struct roce_group *g, int fd, unsigned index, int wait_ms)
{
	uint16_t got;

	g->round++;
	probe(g, index);
	return roce_member_receive_probe(fd, g->nonce, g->round, wait_ms, &got) && got == index;
}

/*
 * The same, from more than one source port: if the group is shorter than we think, the probe is
 * spread by hash and may reach the right socket by chance.
 */
static bool is_surely_at(struct roce_group *g, int fd, unsigned index)
{
	int saved = g->prober_fd;
	bool is_right = is_at(g, fd, index, WAIT_MS_EXPECTED);

	for (int i = 1; is_right && i < PROBERS_COUNT; i++) {
		int prober = roce_member_open_prober(&g->address);

		if (prober < 0)
			break;
		g->prober_fd = prober;
		is_right = is_at(g, fd, index, WAIT_MS_EXPECTED);
		g->prober_fd = saved;
		close(prober);
	}
	return is_right;
}

/* The number of an unfiltered socket, by walking upwards; -1: probes do not arrive. */
static int scan(struct roce_group *g, int fd)
{
	uint16_t got;

	g->round++;
	for (unsigned i = 0; i < SCAN_MAX; i += SCAN_BATCH) {
		for (unsigned k = i; k < i + SCAN_BATCH; k++)
			probe(g, k);
		if (roce_member_receive_probe(fd, g->nonce, g->round,
					      i ? WAIT_MS_MAYBE : WAIT_MS_EXPECTED, &got))
			return got;
	}
	return -1;
}

/* ---- spares ---- */

static unsigned count_tail_spares(const struct roce_group *g)
{
	unsigned n = 0;

	while (n < g->count && g->member[g->count - 1 - n].kind == ROCE_MEMBER_SPARE)
		n++;
	return n;
}

/* A spare was the last member when the UNKNOWN one at `gap` went, and took its number. */
static void fill_gap(struct roce_group *g, unsigned gap, unsigned spare)
{
	g->member[gap] = g->member[spare];
	g->count--;
	/* Those behind it came later. */
	memmove(&g->member[spare], &g->member[spare + 1],
		(g->count - spare) * sizeof(g->member[0]));
}

/* Which spare is the member `index`, which surely exists? -1 none. */
static int find_spare_at(struct roce_group *g, unsigned index)
{
	uint16_t got;

	g->round++;
	probe(g, index);
	for (unsigned i = g->count; i-- > 0;)
		if (g->member[i].kind == ROCE_MEMBER_SPARE && i > index &&
		    roce_member_receive_probe(g->member[i].fd, g->nonce, g->round, 0, &got))
			return (int)i;
	return -1;
}

bool roce_group_check_unknown(struct roce_group *g)
{
	for (unsigned i = 0; g->can_probe && i < g->count; i++) {
		int spare = g->member[i].kind == ROCE_MEMBER_UNKNOWN ? find_spare_at(g, i) : -1;

		if (spare >= 0)
			fill_gap(g, i, (unsigned)spare);
	}
	return roce_group_count(g, ROCE_MEMBER_UNKNOWN) > 0;
}

static int append_spare(struct roce_group *g)
{
	int fd;

	if (g->count == ROCE_GROUP_MEMBERS_MAX)
		return -ENOBUFS;
	fd = roce_member_open(&g->address, false);
	if (fd < 0)
		return fd;
	append(g, ROCE_MEMBER_SPARE, 0, fd);
	return 0;
}

static int ensure_tail_spares(struct roce_group *g, unsigned wanted)
{
	int error = 0;

	while (!error && count_tail_spares(g) < wanted)
		error = append_spare(g);
	return error;
}

/* ---- repair ---- */

static uint32_t drops_of(const struct roce_group_member *m)
{
	return m->kind == ROCE_MEMBER_LEASED || m->kind == ROCE_MEMBER_DAEMON
		       ? roce_member_get_drops(m->fd)
		       : 0;
}

struct survey {
	struct roce_group_member old[ROCE_GROUP_MEMBERS_MAX];
	uint32_t drops[ROCE_GROUP_MEMBERS_MAX];
	bool is_placed[ROCE_GROUP_MEMBERS_MAX];
	unsigned old_count;
};

/* Did the probe sent last reach this socket of ours? */
static bool has_hit(struct roce_group *g, struct survey *s, unsigned i)
{
	uint16_t got;

	if (s->is_placed[i] || s->old[i].fd < 0)
		return false;
	if (s->old[i].kind == ROCE_MEMBER_SPARE)
		return roce_member_receive_probe(s->old[i].fd, g->nonce, g->round, 0, &got);
	return drops_of(&s->old[i]) != s->drops[i];
}

/*
 * Which old member is number `index` now; -1 none of ours. A socket that overflows at this moment
 * drops packets too, so several candidates are asked again until one is left.
 */
static int find_at(struct roce_group *g, struct survey *s, unsigned index)
{
	bool is_candidate[ROCE_GROUP_MEMBERS_MAX];
	unsigned count = 0;
	int found = -1;

	memset(is_candidate, 1, sizeof(is_candidate));
	for (int attempt = 0; attempt < 6; attempt++) {
		for (unsigned i = 0; i < s->old_count; i++)
			if (s->old[i].fd >= 0 && !s->is_placed[i])
				s->drops[i] = drops_of(&s->old[i]);
		g->round++;
		probe(g, index);
		for (int wait = 0; wait < 4; wait++) {
			count = 0;
			if (wait)
				poll(NULL, 0, 1);
			/* Nearly always it is where it was. */
			if (index < s->old_count && is_candidate[index] && has_hit(g, s, index))
				count = 1, found = (int)index;
			for (unsigned i = 0; !count && i < s->old_count; i++)
				if (is_candidate[i] && has_hit(g, s, i))
					count++, found = (int)i;
			if (count)
				break;
		}
		if (count == 0)
			return -1;
		/* Sure when it was only this one; a spare never errs. */
		for (unsigned i = 0; i < s->old_count; i++) {
			is_candidate[i] = is_candidate[i] && ((int)i == found || has_hit(g, s, i));
			count += is_candidate[i] && (int)i != found;
		}
		if (count == 1 || s->old[found].kind == ROCE_MEMBER_SPARE)
			break;
	}
	return found;
}

static int found_daemon(struct roce_group *g)
{
	int fd = roce_member_open(&g->address, false);

	if (fd < 0)
		return fd;
	append(g, ROCE_MEMBER_DAEMON, 0, fd);
	return 0;
}

static void replace_leased(struct roce_group *g, uint8_t slot)
{
	int fd, error = roce_group_add(g, slot, false, &fd);

	if (!error && g->on_replaced)
		g->on_replaced(g->ctx, g, slot, fd);
}

/* Spares and UNKNOWN members move by themselves, the others never do. */
static bool is_same_order(const struct roce_group *g, const struct survey *s)
{
	for (unsigned i = 0; i < s->old_count; i++) {
		const struct roce_group_member *m = &s->old[i];

		if ((m->kind == ROCE_MEMBER_LEASED || m->kind == ROCE_MEMBER_DAEMON) &&
		    (i >= g->count || g->member[i].inode != m->inode))
			return false;
	}
	return true;
}

/*
 * The newest socket ends the walk: numbers below its own all exist. Returns false when probes do
 * not arrive at all.
 */
static bool walk(struct roce_group *g, struct survey *s, int newest_fd)
{
	uint16_t got;

	g->count = 0;
	for (unsigned k = 0; k < ROCE_GROUP_MEMBERS_MAX && k < s->old_count + WALK_BEYOND_MAX;
	     k++) {
		int i;

		if (is_at(g, newest_fd, k, 0) ||
		    (k >= s->old_count && is_at(g, newest_fd, k, WAIT_MS_MAYBE))) {
			append(g, ROCE_MEMBER_SPARE, 0, newest_fd);
			return true;
		}
		i = find_at(g, s, k);
		/* The first probe may have been slow on its way to the newest. */
		if (i < 0 && roce_member_receive_probe(newest_fd, g->nonce, g->round, 0, &got)) {
			append(g, ROCE_MEMBER_SPARE, 0, newest_fd);
			return true;
		}
		if (i < 0) {
			append(g, ROCE_MEMBER_UNKNOWN, 0, -1);
		} else {
			s->is_placed[i] = true;
			g->member[g->count++] = s->old[i];
		}
	}
	return false;
}

bool roce_group_resync(struct roce_group *g)
{
	struct survey s = {.old_count = g->count};
	uint8_t lost[256];
	unsigned lost_count = 0;
	bool was_right;
	int fd;

	g->resync_count++;
	roce_group_attach(g);
	if (!g->can_probe || g->count >= ROCE_GROUP_MEMBERS_MAX - 2)
		return false;
	fd = roce_member_open(&g->address, false);
	if (fd < 0)
		return false;
	memcpy(s.old, g->member, sizeof(s.old));
	if (!walk(g, &s, fd)) {
		close(fd);
		memcpy(g->member, s.old, sizeof(s.old));
		g->count = s.old_count;
		return false;
	}
	was_right = is_same_order(g, &s);
	for (unsigned i = 0; i < s.old_count; i++) {
		if (s.is_placed[i] || s.old[i].fd < 0)
			continue;
		if (s.old[i].kind == ROCE_MEMBER_LEASED)
			lost[lost_count++] = s.old[i].slot;
		close_member(g, &s.old[i]);
	}
	if (find_daemon(g) < 0 && !found_daemon(g)) {
		ensure_tail_spares(g, 1);
		roce_group_attach(g);
		roce_member_set_filter(roce_group_get_daemon_fd(g), g->nonce, false);
	}
	ensure_tail_spares(g, roce_group_count(g, ROCE_MEMBER_UNKNOWN));
	roce_group_attach(g);
	for (unsigned i = 0; i < lost_count; i++)
		replace_leased(g, lost[i]);
	if (!was_right)
		g->repair_count++;
	return !was_right;
}

/* ---- leases ---- */

/* A spare that no UNKNOWN member needs as a guard; -1 none. */
static int find_free_spare(const struct roce_group *g)
{
	unsigned unknown = roce_group_count(g, ROCE_MEMBER_UNKNOWN);

	for (unsigned i = 0; i + unknown < g->count; i++)
		if (g->member[i].kind == ROCE_MEMBER_SPARE)
			return (int)i;
	return -1;
}

/*
 * The index of a spare that is ready to be leased, or -errno. It has as many spares behind it as
 * there are UNKNOWN members, so it does not move while it is verified.
 */
static int take_spare(struct roce_group *g)
{
	for (int attempt = 0; attempt < 4; attempt++) {
		int i, error = 0;

		roce_group_check_unknown(g);
		if (find_free_spare(g) < 0)
			error = ensure_tail_spares(g, roce_group_count(g, ROCE_MEMBER_UNKNOWN) + 1);
		if (error)
			return error;
		i = find_free_spare(g);
		if (i >= 0 && (!g->can_probe || is_surely_at(g, g->member[i].fd, (unsigned)i)))
			return i;
		if (attempt % 2)
			roce_group_resync(g);
	}
	return -EAGAIN;
}

int roce_group_add(struct roce_group *g, uint8_t slot, bool without_gro, int *out_fd)
{
	int i = roce_group_find(g, slot), error;
	struct roce_group_member *m;

	if (i < 0) {
		i = take_spare(g);
		if (i < 0)
			return i;
		m = &g->member[i];
		roce_member_set_gro(m->fd, !without_gro);
		roce_member_drain(m->fd);
		error = roce_member_set_filter(m->fd, g->nonce, true);
		if (error)
			return error;
		m->kind = ROCE_MEMBER_LEASED;
		m->slot = slot;
		if (m->kept_index != ROCE_MEMBER_NOT_KEPT)
			m->kept_index = ROCE_MEMBER_CHANGED;
		error = roce_group_attach(g);
		if (error)
			return error;
	}
	*out_fd = g->member[i].fd;
	return 0;
}

int roce_group_adopt(struct roce_group *g, uint8_t slot, int fd)
{
	struct survey s = {.old_count = 1};
	uint64_t inode = roce_member_get_inode(fd);
	int at = roce_group_find(g, slot);

	if (at >= 0)
		return g->member[at].inode == inode ? -EEXIST : -ESTALE;
	if (!g->can_probe)
		return -ESTALE;
	s.old[0] = (struct roce_group_member){.kind = ROCE_MEMBER_LEASED, .fd = fd};
	for (unsigned i = 0; i < g->count; i++) {
		if (g->member[i].kind != ROCE_MEMBER_UNKNOWN || find_at(g, &s, i) < 0)
			continue;
		g->member[i] = (struct roce_group_member){.kind = ROCE_MEMBER_LEASED,
							  .slot = slot,
							  .fd = fd,
							  .inode = inode,
							  .kept_index = ROCE_MEMBER_NOT_KEPT};
		return roce_group_attach(g);
	}
	return -ESTALE;
}

void roce_group_remove(struct roce_group *g, uint8_t slot)
{
	int i = roce_group_find(g, slot);
	struct roce_group_member *m;

	if (i < 0)
		return;
	m = &g->member[i];
	m->kind = ROCE_MEMBER_UNKNOWN;
	m->slot = 0;
	roce_group_attach(g);
	if (ensure_tail_spares(g, roce_group_count(g, ROCE_MEMBER_UNKNOWN)))
		return; /* no guard to be had: it stays open, unused, as long as the group */
	close_member(g, m);
	m->inode = 0;
	if (!g->can_probe) { /* nothing can be found out: believe that we were the last holder */
		fill_gap(g, (unsigned)i, g->count - 1);
		return;
	}
	roce_group_check_unknown(g);
}

/* ---- beginning and end ---- */

void roce_group_restore_begin(struct roce_group *g, const struct roce_address *a, uint32_t nonce)
{
	memset(g, 0, sizeof(*g));
	g->address = *a;
	g->nonce = nonce;
	g->guard_fd = -1;
	g->prober_fd = roce_member_open_prober(a);
	g->can_probe = g->prober_fd >= 0;
}

/*
 * Joins; those before us are strangers so far. One of them may go before the guards are there, and
 * then it is us who move: -EAGAIN.
 */
static int join(struct roce_group *g)
{
	int error = found_daemon(g), at;
	struct roce_group_member self;

	if (!error)
		error = roce_group_attach(g);
	if (error)
		return error;
	at = g->can_probe ? scan(g, g->member[0].fd) : 0;
	if (at < 0) {
		g->can_probe = false;
		at = 0;
	}
	self = g->member[0];
	g->count = 0;
	for (int i = 0; i < at; i++)
		append(g, ROCE_MEMBER_UNKNOWN, 0, -1);
	g->member[g->count++] = self;
	error = ensure_tail_spares(g, (unsigned)at);
	if (!error && at && !is_at(g, self.fd, (unsigned)at, WAIT_MS_EXPECTED))
		error = -EAGAIN;
	if (!error)
		error = roce_group_attach(g);
	if (!error)
		error = roce_member_set_filter(self.fd, g->nonce, false);
	return error;
}

int roce_group_init(struct roce_group *g, const struct roce_address *a, uint32_t nonce)
{
	int error = -EAGAIN;

	for (int attempt = 0; error == -EAGAIN && attempt < JOIN_ATTEMPTS_MAX; attempt++) {
		if (attempt)
			poll(NULL, 0, JOIN_ATTEMPT_MS);
		roce_group_restore_begin(g, a, nonce);
		error = join(g);
		if (error)
			roce_group_fini(g);
	}
	return error;
}

int roce_group_restore_member(struct roce_group *g, enum roce_member_kind kind, uint8_t slot,
			      int fd, unsigned index)
{
	if (index >= ROCE_GROUP_MEMBERS_MAX - 1)
		return -EINVAL;
	while (g->count <= index)
		append(g, ROCE_MEMBER_UNKNOWN, 0, -1);
	if (g->member[index].fd >= 0)
		return -EEXIST;
	g->member[index] = (struct roce_group_member){.kind = kind,
						      .slot = slot,
						      .fd = fd,
						      .inode = roce_member_get_inode(fd),
						      .kept_index = (int32_t)index};
	return 0;
}

int roce_group_restore_finish(struct roce_group *g)
{
	bool is_right = find_daemon(g) >= 0;
	unsigned unknown;

	roce_group_check_unknown(g);
	unknown = roce_group_count(g, ROCE_MEMBER_UNKNOWN);
	/* One that nobody knows yet must become the last: else something is missing. */
	is_right = is_right && !ensure_tail_spares(g, unknown + 1);
	for (unsigned i = 0; is_right && g->can_probe && i + unknown < g->count; i++)
		if (g->member[i].kind == ROCE_MEMBER_SPARE)
			is_right = is_surely_at(g, g->member[i].fd, i);
	if (!is_right)
		roce_group_resync(g);
	return find_daemon(g) < 0 ? -EIO : roce_group_attach(g);
}

void roce_group_leave(struct roce_group *g)
{
	for (unsigned i = g->count; i-- > 0;) {
		if (g->member[i].kind != ROCE_MEMBER_SPARE)
			continue;
		close_member(g, &g->member[i]);
		g->member[i] = g->member[--g->count];
		roce_group_attach(g);
	}
	for (unsigned i = 0; i < g->count; i++) {
		struct roce_group_member self = g->member[i];
		int16_t map[256];

		if (self.kind != ROCE_MEMBER_DAEMON)
			continue;
		/* Attach what will be right as soon as our socket is gone. */
		g->member[i] = g->member[--g->count];
		memset(map, 0xff, sizeof(map));
		for (unsigned k = 0; k < g->count; k++)
			if (g->member[k].kind == ROCE_MEMBER_LEASED)
				map[g->member[k].slot] = (int16_t)k;
		roce_member_attach_program(self.fd, g->nonce, map, UINT16_MAX);
		close_member(g, &self);
		break;
	}
}

void roce_group_fini(struct roce_group *g)
{
	for (unsigned i = 0; i < g->count; i++)
		close_member(g, &g->member[i]);
	g->count = 0;
	if (g->prober_fd >= 0)
		close(g->prober_fd);
	if (g->guard_fd >= 0)
		close(g->guard_fd);
	g->prober_fd = g->guard_fd = -1;
}
