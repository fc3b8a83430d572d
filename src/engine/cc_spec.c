/* SPDX-License-Identifier: BSD-2-Clause */
/* Parsing of UROCE_CC. Names and ranges are those of the controller's own table. */
#include "engine/cc_spec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_TEXT "np"

/* An item of the list. */
struct item {
	const char *text;
	size_t length;
	size_t name_length; /* before '='; `length` without one */
};

static struct item next_item(const char **at)
{
	struct item item = {.text = *at, .length = strcspn(*at, ",")};
	const char *equal = memchr(item.text, '=', item.length);

	item.name_length = equal ? (size_t)(equal - item.text) : item.length;
	*at += item.length;
	if (**at == ',')
		++*at;
	return item;
}

static bool is_word(const struct item *item, const char *word)
{
	return item->length == strlen(word) && memcmp(item->text, word, item->length) == 0;
}

/* Digits only, to the end of the item. */
static bool parse_value(const struct item *item, uint64_t *out)
{
	const char *digits = item->text + item->name_length + 1;
	size_t length = item->length - item->name_length - 1;

	if (item->name_length == item->length || length == 0 || length > 10 ||
	    strspn(digits, "0123456789") < length)
		return false;
	*out = strtoull(digits, NULL, 10);
	return true;
}

static int take_item(const struct roce_cc_ops *ops, const struct item *item,
		     struct roce_cc_params *params, char *err, size_t err_size)
{
	const struct roce_cc_param *param = NULL;
	const char *value = item->text + item->name_length + 1;
	const struct roce_cc_set *set;
	uint64_t number = UINT64_MAX;
	bool has_number = parse_value(item, &number);

	if (item->name_length == 3 && item->length > 4 && memcmp(item->text, "set", 3) == 0) {
		set = roce_cc_find_set(ops, value, item->length - 4);
		if (!set) {
			snprintf(err, err_size, "UROCE_CC: no set '%.*s'; there are",
				 (int)(item->length - 4), value);
			for (uint32_t i = 0; i < ops->set_count; i++) {
				size_t used = strlen(err);

				snprintf(err + used, err_size - used, " %s", ops->sets[i].name);
			}
			return -EINVAL;
		}
		*params = set->params;
		return 0;
	}
	switch (roce_cc_set_param(ops, params, item->text, item->name_length, number, &param)) {
	case ROCE_CC_SET_OK:
		return 0;
	case ROCE_CC_SET_UNKNOWN:
		snprintf(err, err_size, "UROCE_CC: %s has no parameter '%.*s'", ops->name,
			 (int)item->name_length, item->text);
		return -EINVAL;
	case ROCE_CC_SET_RANGE:
		break;
	}
	if (has_number)
		snprintf(err, err_size, "UROCE_CC: %.*s is not %u to %u%s%s", (int)item->length,
			 item->text, param->min, param->max, *param->unit ? " " : "", param->unit);
	else
		snprintf(err, err_size, "UROCE_CC: '%.*s' needs a whole number, %u to %u%s%s",
			 (int)item->length, item->text, param->min, param->max,
			 *param->unit ? " " : "", param->unit);
	return -EINVAL;
}

int roce_cc_spec_parse(const char *text, struct roce_cc_spec *out, char *err, size_t err_size)
{
	const struct roce_cc_ops *ops = &roce_cc_dcqcn; /* whose numbers `np` goes by */
	struct roce_cc_spec spec = {0};
	const char *at = text && *text ? text : DEFAULT_TEXT;
	struct item word = next_item(&at);

	if (is_word(&word, "off")) {
		if (*at) {
			snprintf(err, err_size, "UROCE_CC: off takes no parameters");
			return -EINVAL;
		}
		*out = spec;
		return 0;
	}
	if (!is_word(&word, "np")) {
		spec.ops = ops = roce_cc_find(word.text, word.length);
		if (!ops) {
			snprintf(err, err_size,
				 "UROCE_CC: '%.*s' is none of off np"
#define X(object, name) " " name
				 ROCE_CC_LIST(X),
#undef X
				 (int)word.length, word.text);
			return -EINVAL;
		}
	}
	spec.params = ops->sets[0].params;
	while (*at) {
		struct item item = next_item(&at);
		int r = take_item(ops, &item, &spec.params, err, err_size);

		if (r)
			return r;
	}
	ops->notify_config(&spec.params, &spec.notify);
	*out = spec;
	return 0;
}
