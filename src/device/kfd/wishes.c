// SPDX-License-Identifier: MIT
/* Parses the wishes of programs in their environment, and numbers in the driver's files. */
#include "device/kfd/list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpreempt/gpreempt.h"

/* The value of the setting @name; NULL: it is another one. */
static const char *value_of(const char *setting, size_t size, const char *name, size_t *value_size)
{
	size_t len = strlen(name);

	if (size <= len || memcmp(setting, name, len) || setting[len] != '=')
		return NULL;
	*value_size = size - len - 1;
	return setting + len + 1;
}

bool gp__kfd_number_parse(const char *text, size_t size, uint64_t max, uint64_t *value)
{
	const char *end = text + size;
	uint64_t v = 0;
	bool digits = false;

	while (text < end && (*text == ' ' || *text == '\t'))
		text++;
	for (; text < end && *text >= '0' && *text <= '9'; text++) {
		unsigned int digit = (unsigned int)(*text - '0');

		if (digit > max || v > (max - digit) / 10)
			return false;
		v = 10 * v + digit;
		digits = true;
	}
	while (text < end && memchr(" \t\r\n", *text, 4))
		text++;
	if (!digits || v > max || (text < end && *text))
		return false;
	*value = v;
	return true;
}

static bool parse_priority(const char *text, size_t size, int *priority)
{
	static const struct {
		const char *name;
		int priority;
	} names[] = { { "offline", GP_PRIORITY_OFFLINE },
		      { "normal", GP_PRIORITY_NORMAL },
		      { "online", GP_PRIORITY_ONLINE } };
	bool negative = size && *text == '-';
	uint64_t value;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strlen(names[i].name) == size && !memcmp(names[i].name, text, size)) {
			*priority = names[i].priority;
			return true;
		}
	}
	if (!gp__kfd_number_parse(text + negative, size - negative, INT32_MAX, &value))
		return false;
	*priority = negative ? -(int)value : (int)value;
	return true;
}

/* Tags are printed on terminals and into logs, so control characters are removed. */
static void copy_tag(char tag[GP__KFD_TAG_MAX], const char *text, size_t size)
{
	size_t n = size < GP__KFD_TAG_MAX - 1 ? size : GP__KFD_TAG_MAX - 1;

	for (size_t i = 0; i < n; i++)
		tag[i] = text[i] >= ' ' && text[i] < 0x7f ? text[i] : '?';
	tag[n] = '\0';
}

/* The first setting of a name counts, as for getenv(). */
void gp__kfd_wishes_parse(const char *environ, size_t size, struct gp__kfd_wishes *wishes)
{
	const char *end = environ + size;
	bool saw_priority = false;

	memset(wishes, 0, sizeof(*wishes));
	while (environ < end) {
		size_t len = strnlen(environ, (size_t)(end - environ)), n;
		const char *value = value_of(environ, len, "AMD_QUEUE_PRIORITY", &n);

		if (value && !saw_priority) {
			saw_priority = true;
			wishes->has_priority = parse_priority(value, n, &wishes->priority);
		}
		value = value_of(environ, len, "AMD_QUEUE_TAG", &n);
		if (value && n && !wishes->has_tag) {
			wishes->has_tag = true;
			copy_tag(wishes->tag, value, n);
		}
		environ += len + 1;
	}
}

/* Not /proc/self/environ: the environment may have changed since execve(). */
void gp__kfd_wishes_own(struct gp__kfd_wishes *wishes)
{
	static const char *const names[] = { "AMD_QUEUE_PRIORITY", "AMD_QUEUE_TAG" };
	char text[256];
	size_t len = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		/* Values longer than half the buffer are cut; no tag is that long. */
		if (value)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s=%.96s",
						names[i], value) +
			       1;
	}
	gp__kfd_wishes_parse(text, len, wishes);
}
