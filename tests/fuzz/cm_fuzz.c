/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The connection manager against anything: two hosts whose packets the input delivers, loses,
 * doubles, changes byte by byte, or makes up; whose programs do what the input says, at any time.
 * Whatever comes in: no report comes twice, no ID reports that its owner has given up, and
 * once all owners have gone and time has passed the tables are empty.
 */
#include "fuzz.h"

#include "cm/cm_internal.h"

#define STEPS_MAX   400u
#define WIRE_MAX    64u
#define IDS_MAX	    24u
#define IDS_OF_HOST 32u

struct end {
	struct roce_cm_id *id; /* NULL: free place */
	uint32_t told;	       /* bit by report */
};

struct peer {
	struct roce_cm *cm;
	struct roce_cm_owner owner;
	struct roce_cm_listener *listener[2]; /* RC, UD */
	struct roce_gid gid;
	struct end end[IDS_MAX];
	uint64_t counter; /* behind the numbers that the CM draws */
};

struct world {
	struct peer peer[2];
	struct roce_cm_packet wire[WIRE_MAX];
	unsigned to[WIRE_MAX];
	unsigned wire_count;
	roce_ns_t now;
};

static uint64_t draw(void *ctx)
{
	struct peer *p = ctx;

	p->counter += UINT64_C(0x9e3779b97f4a7c15);
	return p->counter ^ p->counter >> 31;
}

static const struct roce_cm_ops ops = {.random = draw};

static void listen_on(struct peer *p, unsigned kind)
{
	const struct roce_cm_listen l = {
		.owner = &p->owner,
		.qp_type = kind ? ROCE_CM_QP_UD : ROCE_CM_QP_ANY,
		.port_space = kind ? ROCE_PORT_SPACE_UDP : ROCE_PORT_SPACE_TCP,
		.port = 7471,
		.is_wildcard = true,
		.takes_v4 = true,
		.backlog = 4,
	};

	if (!p->listener[kind] && roce_cm_listen(p->cm, &l, &p->listener[kind]))
		fuzz_require(false, "a free port can be listened on");
}

static void open_peer(struct peer *p, uint8_t number)
{
	const struct roce_cm_config cfg = {
		.ops = &ops,
		.ctx = p,
		.id_max = IDS_OF_HOST,
		.held_max = 4,
		.reply_max = 8,
		.listener_max = 2,
		.half_open_max = 16,
		.owner_id_max = IDS_MAX,
		.owner_half_open_max = 12,
		.owner_listener_max = 2,
	};
	void *storage = calloc(1, roce_cm_storage_bytes(&cfg));

	fuzz_require(storage != NULL, "memory");
	p->gid = (struct roce_gid){{[10] = 0xff, 0xff, 10, 0, 0, number}};
	p->counter = number;
	p->cm = roce_cm_init(storage, &cfg);
	roce_cm_owner_init(&p->owner);
}

/* ---- reports ---- */

static struct end *find_end(struct peer *p, const struct roce_cm_id *id)
{
	for (unsigned i = 0; i < IDS_MAX; i++)
		if (p->end[i].id == id)
			return &p->end[i];
	return NULL;
}

static void pull(struct peer *p)
{
	struct roce_cm_report r;

	while (roce_cm_next_report(p->cm, &r)) {
		struct end *e = find_end(p, r.id);

		if (r.type == ROCE_CM_REPORT_CONNECT_REQUEST) {
			fuzz_require(!e, "a child is new");
			e = find_end(p, NULL);
			fuzz_require(e != NULL, "the owner has no more ids than it may");
			*e = (struct end){.id = r.id};
		}
		fuzz_require(e != NULL, "no report of an ID that was given up");
		fuzz_require(!(e->told >> r.type & 1), "no report twice");
		fuzz_require(r.owner == &p->owner, "reports go to the owner");
		fuzz_require(r.private_len <= ROCE_CM_PRIVATE_BYTES_MAX, "a length that can be");
		e->told |= 1u << r.type;
	}
}

/* ---- packets ---- */

static void collect(struct world *w)
{
	for (unsigned h = 0; h < 2; h++) {
		struct roce_cm_packet p;

		while (roce_cm_tx(w->peer[h].cm, &p, 1)) {
			struct roce_cm_message m;

			fuzz_require(roce_cm_message_decode(p.mad, ROCE_MAD_BYTES, &m) ==
					     ROCE_CM_DECODE_OK,
				     "what is sent can be read");
			if (w->wire_count < WIRE_MAX) {
				w->to[w->wire_count] = 1 - h;
				w->wire[w->wire_count++] = p;
			}
		}
	}
}

static void receive(struct world *w, unsigned to, const struct roce_cm_route *route,
		    const uint8_t *mad, size_t length)
{
	enum roce_cm_verdict verdict = roce_cm_rx(w->peer[to].cm, route, mad, length, w->now);

	fuzz_require(verdict < ROCE_CM_VERDICT_COUNT, "a verdict that exists");
	pull(&w->peer[to]);
}

static void deliver(struct world *w, unsigned index, bool stays)
{
	struct roce_cm_packet p = w->wire[index];
	unsigned to = w->to[index];
	const struct roce_cm_route route = {.local = p.route.remote, .remote = p.route.local};

	if (!stays) {
		w->wire[index] = w->wire[--w->wire_count];
		w->to[index] = w->to[w->wire_count];
	}
	receive(w, to, &route, p.mad, sizeof(p.mad));
}

static void make_up(struct world *w, struct fuzz_input *in)
{
	unsigned to = fuzz_u8(in) & 1;
	uint8_t mad[ROCE_MAD_BYTES] = {1, 7, 2, 3};
	struct roce_cm_route route = {.local = w->peer[to].gid, .remote = w->peer[1 - to].gid};
	size_t length = fuzz_u8(in);

	fuzz_bytes(in, mad + 4, length < sizeof(mad) - 4 ? length : sizeof(mad) - 4);
	receive(w, to, &route, mad, sizeof(mad));
}

static void raw(struct world *w, struct fuzz_input *in)
{
	uint8_t mad[300];
	unsigned to = fuzz_u8(in) & 1;
	struct roce_cm_route route = {.local = w->peer[to].gid, .scope = fuzz_u8(in)};
	size_t length = fuzz_u16(in) % sizeof(mad);

	fuzz_bytes(in, route.remote.raw, 16);
	fuzz_bytes(in, mad, length);
	receive(w, to, &route, mad, length);
}

static void change(struct world *w, struct fuzz_input *in, unsigned index)
{
	uint8_t at = fuzz_u8(in);

	w->wire[index].mad[at] ^= fuzz_u8(in);
}

/* ---- programs ---- */

static void start(struct world *w, unsigned h, uint8_t choice)
{
	struct peer *p = &w->peer[h];
	struct end *e = find_end(p, NULL);
	const struct roce_cm_route route = {
		.local = p->gid, .remote = w->peer[1 - h].gid, .hop_limit = 64};
	const struct roce_cm_connect c = {
		.owner = &p->owner,
		.qp_type = choice & 2 ? ROCE_CM_QP_XRC_SEND : ROCE_CM_QP_RC,
		.route = route,
		.port_space = ROCE_PORT_SPACE_TCP,
		.src_port = 40000,
		.dst_port = 7471,
		.params = {.qpn.v = 0x10000u + (choice >> 3), .ca_guid = 1 + h},
		.mtu = 3,
		.packet_lifetime = 10,
		.ack_timeout = 11,
		.response_timeout = 12,
		.max_retries = 3,
	};
	const struct roce_cm_sidr_connect sidr = {
		.owner = &p->owner,
		.route = route,
		.port_space = ROCE_PORT_SPACE_UDP,
		.src_port = 40000,
		.dst_port = 7471,
		.response_timeout = 12,
		.max_retries = 3,
	};
	struct roce_cm_id *id;

	if (!e)
		return;
	if (choice & 1 ? roce_cm_sidr_connect(p->cm, &sidr, w->now, &id)
		       : roce_cm_connect(p->cm, &c, w->now, &id))
		return;
	*e = (struct end){.id = id};
}

static void call(struct world *w, struct peer *p, struct end *e, uint8_t what)
{
	const struct roce_cm_params params = {.qpn.v = 0x20000u + what,
					      .ca_guid = 1 + (p == &w->peer[1])};
	int error = 0;

	if (!e->id)
		return;
	switch (what % 7) {
	case 0:
		error = roce_cm_accept(p->cm, e->id, &params, NULL, w->now);
		break;
	case 1:
		error = roce_cm_reject(p->cm, e->id, ROCE_CM_REJ_CONSUMER, NULL, w->now);
		break;
	case 2:
		error = roce_cm_establish(p->cm, e->id, w->now);
		break;
	case 3:
		error = roce_cm_notify(p->cm, e->id, w->now);
		break;
	case 4:
		error = roce_cm_disconnect(p->cm, e->id, w->now);
		break;
	case 5:
		roce_cm_take(p->cm, e->id);
		break;
	default:
		roce_cm_destroy(p->cm, e->id, w->now);
		e->id = NULL;
		break;
	}
	fuzz_require(error <= 0, "errors are negative");
	pull(p);
}

/* Children that were not taken go with their listener. */
static void unlisten(struct world *w, struct peer *p, unsigned kind)
{
	if (!p->listener[kind])
		return;
	for (unsigned i = 0; i < IDS_MAX; i++)
		if (p->end[i].id && p->end[i].id->listener == p->listener[kind])
			p->end[i].id = NULL;
	roce_cm_unlisten(p->cm, p->listener[kind], w->now);
	p->listener[kind] = NULL;
}

static void pass_time(struct world *w, roce_ns_t ns)
{
	w->now += ns;
	for (unsigned h = 0; h < 2; h++) {
		roce_cm_on_deadline(w->peer[h].cm, w->now);
		fuzz_require(roce_cm_deadline(w->peer[h].cm) > w->now, "no deadline has passed");
		pull(&w->peer[h]);
	}
}

static void step(struct world *w, struct fuzz_input *in)
{
	uint8_t op = fuzz_u8(in);
	struct peer *p = &w->peer[op >> 7];
	unsigned index = w->wire_count ? fuzz_u8(in) % w->wire_count : 0;

	switch (op & 15) {
	case 0:
		start(w, op >> 7, fuzz_u8(in));
		break;
	case 1:
		listen_on(p, op >> 4 & 1);
		break;
	case 2:
		unlisten(w, p, op >> 4 & 1);
		break;
	case 3:
		pass_time(w, (roce_ns_t)1 << (fuzz_u8(in) % 40));
		break;
	case 4:
		make_up(w, in);
		break;
	case 5:
		raw(w, in);
		break;
	case 6:
	case 7:
		if (w->wire_count)
			change(w, in, index);
		break;
	case 8:
		if (w->wire_count)
			deliver(w, index, true);
		break;
	case 9:
	case 10:
	case 11:
		if (w->wire_count)
			deliver(w, index, false);
		break;
	default:
		call(w, p, &p->end[fuzz_u8(in) % IDS_MAX], fuzz_u8(in));
		break;
	}
	collect(w);
}

/* ---- the end ---- */

static void check_empty(struct peer *p)
{
	unsigned free_ids = 0;
	struct roce_list *pos;

	roce_list_for_each (pos, &p->cm->free_ids)
		free_ids++;
	fuzz_require(free_ids == p->cm->ids_used, "all ids are free");
	fuzz_require(p->cm->half_open_count == 0 && p->cm->held_count == 0, "no count is left");
	fuzz_require(p->cm->dreq_sent_count == 0 && p->cm->timers.count == 0, "nothing is due");
	for (uint32_t i = 0; i <= p->cm->table_mask; i++)
		fuzz_require(!p->cm->local_table[i] && !p->cm->peer_table[i] &&
				     !p->cm->qpn_table[i] && !p->cm->service_table[i],
			     "the tables are empty");
}

static void finish(struct world *w)
{
	for (unsigned h = 0; h < 2; h++) {
		struct peer *p = &w->peer[h];
		roce_ns_t end = w->now + UINT64_C(20000) * ROCE_NS_PER_S;

		roce_cm_owner_fini(p->cm, &p->owner, w->now);
		fuzz_require(p->owner.id_count == 0 && p->owner.half_open_count == 0 &&
				     p->owner.listener_count == 0,
			     "an owner that has gone has nothing");
		while (roce_cm_deadline(p->cm) != ROCE_NEVER) {
			struct roce_cm_packet packet;
			struct roce_cm_report r;

			w->now = roce_cm_deadline(p->cm);
			fuzz_require(w->now < end, "all ends some time");
			roce_cm_on_deadline(p->cm, w->now);
			fuzz_require(!roce_cm_next_report(p->cm, &r), "nobody is told");
			while (roce_cm_tx(p->cm, &packet, 1))
				;
		}
		check_empty(p);
		free(p->cm);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct world w;
	struct fuzz_input in = {data, size};

	memset(&w, 0, sizeof(w));
	w.now = ROCE_NS_PER_S;
	open_peer(&w.peer[0], 1);
	open_peer(&w.peer[1], 2);
	listen_on(&w.peer[1], 0);
	listen_on(&w.peer[1], 1);
	for (unsigned i = 0; i < STEPS_MAX && in.left; i++)
		step(&w, &in);
	finish(&w);
	return 0;
}
