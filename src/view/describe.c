// SPDX-License-Identifier: MIT
#include "view/describe.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"

static const char *text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

static long long int_of(const json_t *o, const char *key)
{
	return (long long)json_integer_value(json_object_get(o, key));
}

const char *gp__view_user(char *buf, size_t n, uid_t uid)
{
	struct passwd entry, *found = NULL;
	char room[4096];

	if (!getpwuid_r(uid, &entry, room, sizeof(room), &found) && found)
		snprintf(buf, n, "%s", entry.pw_name);
	else
		snprintf(buf, n, "%u", uid);
	return buf;
}

const char *gp__view_group(char *buf, size_t n, const json_t *group)
{
	if (json_object_get(group, "program"))
		snprintf(buf, n, "%s (pid %lld, group %lld)", text_of(group, "program"),
			 int_of(group, "pid"), int_of(group, "group"));
	else
		snprintf(buf, n, "another user's group %lld", int_of(group, "group"));
	return buf;
}

/*
 * States
 */

enum gp__view_state gp__view_state_of(const json_t *group)
{
	const char *state = text_of(group, "state");
	const json_t *has_work = json_object_get(group, "has_work");
	bool off = json_is_true(json_object_get(group, "off"));

	if (json_is_true(json_object_get(group, "lost")))
		return GP__VIEW_LOST;
	if (!strcmp(state, "failed"))
		return GP__VIEW_FAILED;
	if (!strcmp(state, "unresponsive"))
		return GP__VIEW_SILENT;
	if (json_is_true(json_object_get(group, "observed")) && !off)
		return json_is_true(has_work) ? GP__VIEW_OBSERVED : GP__VIEW_IDLE;
	if (json_is_true(json_object_get(group, "suspended")) && !off)
		return GP__VIEW_SUSPENDED;
	if (json_is_true(json_object_get(group, "over_quota")) && !off)
		return GP__VIEW_OVER;
	if (has_work && !json_is_true(has_work))
		return GP__VIEW_IDLE;
	if (!strcmp(state, "excluding"))
		return GP__VIEW_STOPPING;
	if (!strcmp(state, "excluded"))
		return GP__VIEW_HELD;
	if (!strcmp(state, "admitting"))
		return GP__VIEW_STARTING;
	if (off)
		return GP__VIEW_OFF;
	if (json_is_true(json_object_get(group, "yielding")))
		return GP__VIEW_YIELDING;
	if (json_is_true(json_object_get(group, "lingering")))
		return GP__VIEW_LINGERING;
	return has_work ? GP__VIEW_RUNNING : GP__VIEW_UNKNOWN;
}

const char *gp__view_state_name(enum gp__view_state s)
{
	static const char *const names[] = {
		[GP__VIEW_UNKNOWN] = "not held",    [GP__VIEW_IDLE] = "idle",
		[GP__VIEW_RUNNING] = "running",	    [GP__VIEW_YIELDING] = "yielding",
		[GP__VIEW_LINGERING] = "lingering", [GP__VIEW_STOPPING] = "stopping",
		[GP__VIEW_HELD] = "held",	    [GP__VIEW_STARTING] = "starting",
		[GP__VIEW_SUSPENDED] = "suspended", [GP__VIEW_FAILED] = "unstoppable",
		[GP__VIEW_SILENT] = "silent",	    [GP__VIEW_OFF] = "off",
		[GP__VIEW_OVER] = "quota",	    [GP__VIEW_OBSERVED] = "observed",
		[GP__VIEW_LOST] = "lost",
	};

	return (size_t)s < sizeof(names) / sizeof(names[0]) ? names[s] : "?";
}

const char *gp__view_state_text(char *buf, size_t n, const json_t *group)
{
	enum gp__view_state state = gp__view_state_of(group);
	const char *because = state == GP__VIEW_HELD ? "by" : "for";
	const json_t *hold = json_object_get(group, "hold");
	const char *by = text_of(hold, "by_program");

	if (state == GP__VIEW_HELD && !strcmp(text_of(hold, "rule"), "gang")) {
		bool waits = json_is_true(json_object_get(hold, "gang_waits"));

		snprintf(buf, n, "%s", waits ? "waits for its gang" : "held with its gang");
		return buf;
	}
	snprintf(buf, n, "%s", gp__view_state_name(state));
	if (state != GP__VIEW_HELD && state != GP__VIEW_STOPPING)
		return buf;
	if (*by)
		snprintf(buf, n, "%s %s %s", gp__view_state_name(state), because, by);
	else if (json_is_integer(json_object_get(hold, "by_group")))
		snprintf(buf, n, "%s %s group %lld", gp__view_state_name(state), because,
			 int_of(hold, "by_group"));
	return buf;
}

/*
 * Reasons
 */

/* %s: the program that caused the hold. @gap: now, and that program lingers. */
static const struct {
	const char *rule, *past, *present, *gap;
} reasons[] = {
	{ "priority", "%s had work and is more urgent", "%s has work and is more urgent",
	  "%s is more urgent and between two pieces of its work" },
	{ "slice", "its turn was over, and %s had the next", "its turn is over, and %s has it",
	  "its turn is over, and %s has it, between two pieces of its work" },
	{ "deadline", "%s had the earlier deadline", "%s has the earlier deadline",
	  "%s has the earlier deadline and is between two pieces of its work" },
	{ "gang", "another member of its gang could not run",
	  "another member of its gang cannot run", NULL },
	{ "gang-wait", "not all members of its gang had joined",
	  "not all members of its gang have joined", NULL },
	{ "operator", "it was suspended by hand", "it is suspended by hand", NULL },
	{ "quota", "the GPU time of its user or tag was used up",
	  "the GPU time of its user or tag is used up", NULL },
	{ "new-queue", "it got a new queue while %s was preferred",
	  "it got a new queue while %s is preferred", NULL },
	{ "retry", "an earlier attempt to stop it had failed; %s was preferred",
	  "an earlier attempt to stop it failed; %s is preferred", NULL },
};

static const char *reason_text(const json_t *hold)
{
	bool ended = json_is_true(json_object_get(hold, "ended"));
	bool gap = json_is_true(json_object_get(hold, "by_lingering"));
	const char *rule = text_of(hold, "rule");

	if (json_is_true(json_object_get(hold, "gang_waits")))
		rule = "gang-wait";
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (strcmp(reasons[i].rule, rule) != 0)
			continue;
		if (!ended && gap && reasons[i].gap)
			return reasons[i].gap;
		return ended ? reasons[i].past : reasons[i].present;
	}
	return "%s was preferred";
}

static void name_cause(char *buf, size_t n, const json_t *hold)
{
	const char *program = text_of(hold, "by_program");

	if (!json_is_integer(json_object_get(hold, "by_group")))
		snprintf(buf, n, "another program");
	else if (*program)
		snprintf(buf, n, "%s (pid %lld, priority %lld)", program, int_of(hold, "by_pid"),
			 int_of(hold, "by_priority"));
	else
		snprintf(buf, n, "another user's program (group %lld, priority %lld)",
			 int_of(hold, "by_group"), int_of(hold, "by_priority"));
}

const char *gp__view_why(char *buf, size_t n, const json_t *hold)
{
	const char *rule = text_of(hold, "rule"), *before = reason_text(hold), *after;
	char who[160];

	name_cause(who, sizeof(who), hold);
	after = strstr(before, "%s");
	if (after)
		snprintf(buf, n, "%.*s%s%s (rule: %s)", (int)(after - before), before, who,
			 after + 2, rule);
	else
		snprintf(buf, n, "%s (rule: %s)", before, rule);
	return buf;
}

const char *gp__view_hold(char *buf, size_t n, const json_t *hold)
{
	char held[32], ago[32], why[256];

	gp__view_why(why, sizeof(why), hold);
	gp__view_ms(held, sizeof(held), json_object_get(hold, "held_ms"));
	gp__view_ms(ago, sizeof(ago), json_object_get(hold, "ago_ms"));
	if (json_is_true(json_object_get(hold, "ended")))
		snprintf(buf, n, "held %s, %s ago: %s", held, ago, why);
	else
		snprintf(buf, n, "held for %s now: %s", held, why);
	return buf;
}

const char *gp__view_gang(char *buf, size_t n, const json_t *group)
{
	const json_t *gang = json_object_get(group, "gang");
	const char *state = text_of(gang, "state");
	bool is_outside =
		!strcmp(state, "together") && !json_is_true(json_object_get(gang, "member"));
	char size[24] = "";

	if (!json_is_object(gang)) {
		if (!*text_of(group, "not_held"))
			return NULL;
		snprintf(buf, n, "not held: %s", text_of(group, "not_held"));
		return buf;
	}
	if (json_is_integer(json_object_get(gang, "size")))
		snprintf(size, sizeof(size), " of %lld", int_of(gang, "size"));
	if (!strcmp(state, "free"))
		snprintf(buf, n, "%s %lld%s, not held: %s", text_of(gang, "name"),
			 int_of(gang, "programs"), size, text_of(group, "not_held"));
	else
		snprintf(buf, n, "%s %lld%s%s", text_of(gang, "name"), int_of(gang, "programs"),
			 size, !strcmp(state, "gave-up") || is_outside ? ", not in it" : "");
	return buf;
}

/* "gpu0", or the key if no program is there. */
static void name_gpu(char *buf, size_t n, const json_t *gpus, const char *key)
{
	const json_t *gpu;
	size_t i;

	json_array_foreach ((json_t *)gpus, i, gpu) {
		if (!strcmp(text_of(gpu, "key"), key)) {
			snprintf(buf, n, "gpu%lld", int_of(gpu, "gpu"));
			return;
		}
	}
	snprintf(buf, n, "%s", key);
}

const char *gp__view_off(char *buf, size_t n, const json_t *off, const json_t *gpus)
{
	const json_t *key;
	char name[64];
	size_t i, len = 0;

	*buf = '\0';
	if (json_is_true(json_object_get(off, "all"))) {
		snprintf(buf, n, "all GPUs");
		return buf;
	}
	json_array_foreach (json_object_get(off, "gpus"), i, key) {
		name_gpu(name, sizeof(name), gpus, json_string_value(key));
		len += (size_t)snprintf(buf + len, n - len, "%s%s", i ? ", " : "", name);
		len = len < n ? len : n - 1;
	}
	return *buf ? buf : NULL;
}

/*
 * Processes with GPUs open
 */

/* A daemon that cannot watch programs only says that they are joined. */
bool gp__view_is_scheduled(const json_t *process)
{
	return json_is_true(json_object_get(process, "scheduled")) ||
	       json_is_true(json_object_get(process, "joined"));
}

const char *gp__view_role(const json_t *process)
{
	if (json_is_true(json_object_get(process, "joined")))
		return "joined";
	if (gp__view_is_scheduled(process))
		return "watched";
	if (json_is_true(json_object_get(process, "child_of_joined")))
		return "child";
	return json_is_true(json_object_get(process, "computes")) ? "unjoined" : "watches";
}

static bool has_known_gpu(const json_t *devices)
{
	const json_t *device;
	size_t i;

	json_array_foreach ((json_t *)devices, i, device) {
		if (json_is_string(json_object_get(device, "key")))
			return true;
	}
	return false;
}

const char *gp__view_gpus(char *buf, size_t n, const json_t *process)
{
	const json_t *devices = json_object_get(process, "devices"), *device;
	bool known = has_known_gpu(devices);
	size_t i, len = 0;

	*buf = '\0';
	json_array_foreach ((json_t *)devices, i, device) {
		const char *between = len ? ", " : "";

		/* Such as /dev/kfd, which is of all AMD GPUs. */
		if (known && !json_is_string(json_object_get(device, "key")))
			continue;
		if (json_is_integer(json_object_get(device, "gpu")))
			len += (size_t)snprintf(buf + len, n - len, "%sgpu%lld", between,
						int_of(device, "gpu"));
		else
			len += (size_t)snprintf(buf + len, n - len, "%s%s", between,
						text_of(device, "file"));
		len = len < n ? len : n - 1;
	}
	return buf;
}

const char *gp__view_priority(char *buf, size_t n, const json_t *group)
{
	const json_t *priority = json_object_get(group, "priority");
	const json_t *effective = json_object_get(group, "effective");

	if (!json_is_integer(priority))
		return NULL;
	if (json_is_integer(effective) && !json_equal(effective, priority))
		snprintf(buf, n, "%lld (now %lld)", int_of(group, "priority"),
			 int_of(group, "effective"));
	else
		snprintf(buf, n, "%lld", int_of(group, "priority"));
	return buf;
}

/*
 * Times
 */

const char *gp__view_ms(char *buf, size_t n, const json_t *ms)
{
	double value = json_number_value(ms);

	return gp__format_duration(buf, n, value > 0 ? (uint64_t)(value * GP__MS) : 0);
}

const char *gp__view_age(char *buf, size_t n, double ms)
{
	unsigned long long s = ms > 0 ? (unsigned long long)(ms / 1e3) : 0;

	if (s < 60)
		snprintf(buf, n, "%llus", s);
	else if (s < 3600)
		snprintf(buf, n, "%llum%02llu", s / 60, s % 60);
	else if (s < 86400)
		snprintf(buf, n, "%lluh%02llu", s / 3600, s / 60 % 60);
	else
		snprintf(buf, n, "%llud%02llu", s / 86400, s / 3600 % 24);
	return buf;
}
