/* SPDX-License-Identifier: BSD-2-Clause */
/* What travels on an event of its own: a free list, and a list of all for the end. */
#include "fabric/state.h"

#include "base/assert.h"

#include <stdlib.h>

struct roce_fabric_late *roce_fabric_late_get(struct roce_fabric *f,
					      void (*fire)(struct roce_event *ev))
{
	struct roce_fabric_late *late = f->late_free;

	if (late) {
		f->late_free = late->next_free;
	} else {
		late = malloc(sizeof(*late));
		ROCE_ASSERT(late);
		late->next_made = f->late_made;
		f->late_made = late;
	}
	roce_event_init(&late->ev, fire);
	late->frame = NULL;
	return late;
}

void roce_fabric_late_put(struct roce_fabric *f, struct roce_fabric_late *late)
{
	late->next_free = f->late_free;
	f->late_free = late;
}

void roce_fabric_late_free_all(struct roce_fabric *f)
{
	while (f->late_made) {
		struct roce_fabric_late *late = f->late_made;

		f->late_made = late->next_made;
		free(late);
	}
	f->late_free = NULL;
}
