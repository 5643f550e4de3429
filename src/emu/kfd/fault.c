// SPDX-License-Identifier: MIT
#include "emu/kfd/fault.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

#define VALUE_BYTES 32

enum kind { CHANCE, DURATION, COUNT };

struct fault {
	const char *name;
	enum kind kind;
	size_t offset;
};

#define AT(member) offsetof(struct emu_faults, member)

static const struct fault known[] = {
	{ "preempt-timeout", CHANCE, AT(preempt_timeout) },
	{ "preempt-slow", DURATION, AT(preempt_slow_ns) },
	{ "ioctl-eintr", CHANCE, AT(ioctl_eintr) },
	{ "ioctl-enomem", CHANCE, AT(ioctl_enomem) },
	{ "late-slot", CHANCE, AT(late_slot) },
	{ "hang-queue", COUNT, AT(hang_queue) },
	{ "gpu-reset", DURATION, AT(gpu_reset_ns) },
};
#define NR_KNOWN (sizeof(known) / sizeof(known[0]))

static const char *const expected[] = {
	[CHANCE] = GP__EXPECT_PERCENT,
	[DURATION] = GP__EXPECT_DURATION,
	[COUNT] = "how many dispatches are executed before the one that hangs, 1 or more",
};

static const struct fault *find(const char *name, size_t len)
{
	for (size_t i = 0; i < NR_KNOWN; i++) {
		if (strlen(known[i].name) == len && !memcmp(known[i].name, name, len))
			return &known[i];
	}
	return NULL;
}

static int set(struct emu_faults *faults, const struct fault *f, const char *value)
{
	void *at = (char *)faults + f->offset;
	uint64_t number;
	int err;

	switch (f->kind) {
	case CHANCE:
		return gp__parse_percent(value, at);
	case DURATION:
		return gp__parse_duration(value, at);
	case COUNT:
		err = gp__parse_u64(value, 1, UINT32_MAX, &number);
		if (!err)
			*(uint32_t *)at = (uint32_t)number;
		return err;
	}
	return -EINVAL;
}

static int say_unknown(const char *name, int len, char *why, size_t n)
{
	size_t done =
		(size_t)snprintf(why, n, "there is no fault '%.*s'; expected one of ", len, name);

	for (size_t i = 0; i < NR_KNOWN && done < n; i++)
		done += (size_t)snprintf(why + done, n - done, "%s%s", i ? ", " : "",
					 known[i].name);
	return -EINVAL;
}

/* Parses NAME=VALUE, @len characters of a list. */
static int parse_one(const char *text, size_t len, struct emu_faults *faults, char *why, size_t n)
{
	const char *equals = memchr(text, '=', len);
	size_t name_len = equals ? (size_t)(equals - text) : len;
	const struct fault *f = find(text, name_len);
	size_t value_len = equals ? len - name_len - 1 : 0;
	char value[VALUE_BYTES];

	if (!f)
		return say_unknown(text, (int)name_len, why, n);
	if (!value_len) {
		snprintf(why, n, "the fault %s has no value: %s=VALUE, expected %s", f->name,
			 f->name, expected[f->kind]);
		return -EINVAL;
	}
	if (value_len < sizeof(value)) {
		memcpy(value, equals + 1, value_len);
		value[value_len] = '\0';
		if (!set(faults, f, value))
			return 0;
	}
	snprintf(why, n, "the fault %s cannot be '%.*s'; expected %s", f->name, (int)value_len,
		 equals + 1, expected[f->kind]);
	return -EINVAL;
}

int emu_faults_parse(const char *list, struct emu_faults *faults, char *why, size_t n)
{
	struct emu_faults wanted = *faults;

	for (const char *text = list;;) {
		size_t len = strcspn(text, ",");
		int err = parse_one(text, len, &wanted, why, n);

		if (err)
			return err;
		if (!text[len])
			break;
		text += len + 1;
	}
	*faults = wanted;
	return 0;
}
