/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of transport.h as functions; called by the options and the reports. */
#include "tools/verbs_check/transport.h"

#include <stdio.h>
#include <string.h>

#define VC_NAME(id, name) name,

const char *vc_transport_str(uint32_t transport)
{
	static const char *const names[] = {VC_TRANSPORTS(VC_NAME)};

	return transport < VC_TRANSPORT_COUNT ? names[transport] : "?";
}

const char *vc_feature_str(uint32_t feature)
{
	static const char *const names[] = {VC_FEATURES(VC_NAME)};

	return feature < VC_FEATURE_COUNT ? names[feature] : "?";
}

const char *vc_link_str(uint32_t link)
{
	static const char *const names[] = {VC_LINKS(VC_NAME)};

	return link < VC_LINK_COUNT ? names[link] : "?";
}

bool vc_names_parse(const char *list, vc_name_function *name, uint32_t count, uint32_t *out_mask,
		    char *out_bad, size_t out_bad_size)
{
	uint32_t mask = 0;
	char copy[512];
	char *rest = NULL;

	(void)snprintf(copy, sizeof(copy), "%s", list);
	for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		uint32_t i = 0;

		while (i < count && strcmp(word, name(i)) != 0)
			i++;
		if (i == count) {
			(void)snprintf(out_bad, out_bad_size, "%s", word);
			return false;
		}
		mask |= 1u << i;
	}
	*out_mask = mask;
	return true;
}
