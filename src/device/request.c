// SPDX-License-Identifier: MIT
#include "device/request.h"

#include <stdlib.h>

#include "base/units.h"

#define PRIORITY_MOST 1000000

/* The value of a variable; NULL if it is unset or empty. */
static const char *value_of(const char *variable)
{
	const char *text = getenv(variable);

	return text && *text ? text : NULL;
}

static bool read_window(struct gp__request *r)
{
	const char *text = value_of(GP__ENV_WINDOW);
	u64 packets;

	if (!text)
		return true;
	if (gp__parse_u64(text, 1, UINT32_MAX, &packets))
		return !gp__parse_duration(text, &r->window_ns) && r->window_ns;
	r->window = (u32)packets;
	return true;
}

static bool read_deadline(struct gp__request *r)
{
	const char *text = value_of(GP__ENV_DEADLINE);

	return !text || !gp__parse_duration(text, &r->hints.deadline_ns);
}

bool gp__gang_name_ok(const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < n; i++) {
		if (name[i] <= ' ' || name[i] >= 0x7f || name[i] == ':' || name[i] == '=')
			return false;
	}
	return n > 0 && n < GP__WIRE_TAG_MAX;
}

bool gp__request_gang(const char *text, char name[GP__WIRE_TAG_MAX], u32 *members)
{
	const char *colon = strchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : strlen(text);
	u64 number = 0;

	memset(name, 0, GP__WIRE_TAG_MAX);
	if (n >= GP__WIRE_TAG_MAX)
		return false;
	memcpy(name, text, n);
	if (colon && gp__parse_u64(colon + 1, 2, GP__WIRE_GANG_MEMBERS_MAX, &number))
		return false;
	*members = (u32)number;
	return gp__gang_name_ok(name);
}

static bool read_gang(struct gp__request *r)
{
	const char *text = value_of(GP__ENV_GANG);

	return !text || gp__request_gang(text, r->gang, &r->gang_members);
}

bool gp__request_read(struct gp__request *r, const char **bad, const char **expected)
{
	int64_t prio = 0, level = 0, share = 0, copies = 0, idempotent = 0, splits = 0;
	int64_t any_driver = 0;
	int64_t observed = 0, independent = 0;
	const struct {
		const char *variable;
		int64_t min, max, *value;
		const char *expected;
	} numbers[] = {
		{ GP__ENV_PRIORITY, -PRIORITY_MOST, PRIORITY_MOST, &prio,
		  "a priority, or " GP__PRIORITY_DEFAULT },
		{ GP__ENV_LEVEL, 0, 3, &level, "a level (1, 2 or 3)" },
		{ GP__ENV_SHARE, 0, 100, &share, "a percentage (0 to 100)" },
		{ GP__ENV_COPIES, 0, 1, &copies, "0 or 1" },
		{ GP__ENV_IDEMPOTENT, 0, 1, &idempotent, "0 or 1" },
		{ GP__ENV_SPLIT, 0, 1, &splits, "0 or 1" },
		{ GP__ENV_ANY_DRIVER, 0, 1, &any_driver, "0 or 1" },
		{ GP__ENV_OBSERVE, 0, 1, &observed, "0 or 1" },
		{ GP__ENV_INDEPENDENT, 0, 1, &independent, "0 or 1" },
	};
	const char *tag = getenv(GP__ENV_TAG), *priority = value_of(GP__ENV_PRIORITY);

	memset(r, 0, sizeof(*r));
	r->joined = priority;
	if (!r->joined)
		return true;
	r->by_default = !strcmp(priority, GP__PRIORITY_DEFAULT);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const char *text = value_of(numbers[i].variable);

		*bad = numbers[i].variable;
		*expected = numbers[i].expected;
		if (text && !(r->by_default && text == priority) &&
		    gp__parse_i64(text, numbers[i].min, numbers[i].max, numbers[i].value))
			return false;
	}
	*expected = "possible without " GP__ENV_LEVEL "=2";
	if (idempotent && level != 2)
		return false;
	*bad = GP__ENV_WINDOW;
	*expected = "a number of packets or a time such as 2ms";
	if (!read_window(r))
		return false;
	*bad = GP__ENV_DEADLINE;
	*expected = "a time such as 5ms";
	if (!read_deadline(r))
		return false;
	*bad = GP__ENV_GANG;
	*expected = GP__EXPECT_GANG;
	if (!read_gang(r))
		return false;
	r->hints.prio = r->by_default ? GP__PRIO_NORMAL : (s32)prio;
	r->hints.share_pct = (u32)share;
	r->level = (u32)level;
	r->idempotent = idempotent;
	r->splits = splits;
	r->copies = copies;
	r->any_driver = any_driver;
	r->observed = observed;
	r->independent = independent;
	gp__wire_text(r->tag, sizeof(r->tag), tag ? tag : "");
	return true;
}
