/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Port configurations, one copy for all ports that have the same: a large fabric has few, and they
 * stay in the cache. Beside each stands what the scheduler needs of it.
 */
#include "fabric/state.h"

#include <stdlib.h>
#include <string.h>

/* A round gives the smallest weight a quarter of the longest frame: no class waits for many rounds,
 * and no class sends many frames in a row. */
#define QUANTUM_SHARE 4u

static void prepare(struct roce_fabric_profile *p)
{
	const struct roce_fabric_qos *qos = &p->cfg.qos;
	uint32_t weight_min = UINT8_MAX;

	for (uint32_t prio = 0; prio < ROCE_FABRIC_PRIOS; prio++)
		p->tc_prios[qos->prio_to_tc[prio]] |= (uint8_t)(1u << prio);
	for (uint32_t set = 0; set < 1u << ROCE_FABRIC_PRIOS; set++)
		for (uint32_t bits = set; bits; bits &= bits - 1)
			p->tcs_of_prios[set] |=
				(uint8_t)(1u << qos->prio_to_tc[__builtin_ctz(bits)]);
	for (uint32_t tc = 0; tc < ROCE_FABRIC_PRIOS; tc++) {
		if (qos->tc_scheduler[tc] == ROCE_FABRIC_STRICT)
			p->strict_tcs |= (uint8_t)(1u << tc);
		else if (p->tc_prios[tc] && qos->tc_weight[tc] < weight_min)
			weight_min = qos->tc_weight[tc];
	}
	for (uint32_t tc = 0; tc < ROCE_FABRIC_PRIOS; tc++)
		p->quantum_bytes[tc] =
			(int32_t)(qos->tc_weight[tc] * (p->cfg.mtu_bytes / QUANTUM_SHARE) /
					  weight_min +
				  1);
}

struct roce_fabric_profile *roce_fabric_profile_get(struct roce_fabric *f,
						    const struct roce_fabric_port_config *cfg)
{
	struct roce_fabric_profile *p;

	for (p = f->profiles; p; p = p->next)
		if (memcmp(&p->cfg, cfg, sizeof(*cfg)) == 0)
			return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	/* Padding too, which memcmp() sees. */
	memcpy(&p->cfg, cfg, sizeof(*cfg));
	p->next = f->profiles;
	f->profiles = p;
	prepare(p);
	return p;
}
