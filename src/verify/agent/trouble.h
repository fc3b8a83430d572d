/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trouble that a case makes on purpose. Impairing is done by uroce's own wrapper around its socket
 * (UROCE_IMPAIR), so other devices skip what needs it; interfaces are touched only where they are
 * the run's own.
 */
#ifndef VERIFY_AGENT_TROUBLE_H
#define VERIFY_AGENT_TROUBLE_H

#include "verify/agent/device.h"

/* The case's parameter `impair`, if it has a value, for devices that are opened from now on; on the
 * sides that `impaired` names. va_skip() on both sides where such a device is not uroce's, or does
 * not show what it counts. */
void va_impair(struct va_run *run);

/* The code of the local ACK timeout of queue pairs whose packets are lost on purpose: they shall
 * not wait as long as others are ordered to. 0: nothing is lost. */
uint8_t va_impair_timeout(const struct va_run *run);

/* After the traffic, on both sides: va_fail() unless packets came to the harm that was asked for.
 * What each side did is its detail `harm`. `is_noticed`: the packets were of a transport that sees
 * what is lost, doubled or late. */
void va_impair_check(struct va_run *run, bool is_noticed);

/* va_skip() where the link is not the run's own. The two below ask for it too; a case that has
 * something to do before does it on both sides at its beginning. */
void va_link_need(struct va_run *run);

/* Takes the interface of the run's own namespace down or up. va_skip() where there is none. */
void va_link_set(struct va_run *run, bool is_up);

/* Makes the run's own link as slow as this in the direction from this side, bit/s, as long as the
 * case runs. va_skip() where there is none, or no `tc`. */
void va_link_shape(struct va_run *run, uint64_t rate);
void va_link_unshape(void);

#endif
