/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An established connection as bytes that its program keeps for us, so that a uroced that was
 * started anew can be told. Only uroced reads them; they are checked all the same, since a program
 * hands them in.
 */
#ifndef ROCE_DAEMON_CM_SAVED_H
#define ROCE_DAEMON_CM_SAVED_H

#include <stdbool.h>

#include "cm/cm.h"
#include "control/cm_message.h"

/* Length 0 when the connection is in a state that cannot be brought back. */
void roce_cm_saved_encode(const struct roce_cm_info *info, struct roce_cm_saved *out);

/* False: nothing that this version has written. */
bool roce_cm_saved_decode(const struct roce_cm_saved *saved, struct roce_cm_info *out);

#endif
