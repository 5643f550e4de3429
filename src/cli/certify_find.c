// SPDX-License-Identifier: MIT
#include "cli/certify_find.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 64

static json_t *step(const json_t *at, const char *name)
{
	if (isdigit((unsigned char)*name))
		return json_array_get(at, (size_t)atoi(name));
	return json_object_get(at, name);
}

json_t *certify_member(const json_t *at, const char *path)
{
	char name[NAME_MAX_BYTES];
	json_t *found = (json_t *)at;

	while (found && *path) {
		size_t len = strcspn(path, ".");

		snprintf(name, sizeof(name), "%.*s", (int)len, path);
		found = step(found, name);
		path += len + (path[len] == '.');
	}
	return found;
}

/* Whether the member has this text, or this number. */
static bool is_member(const json_t *row, const char *name, const char *text)
{
	const json_t *value = json_object_get(row, name);

	if (json_is_integer(value))
		return json_integer_value(value) == atoll(text);
	return json_is_string(value) && !strcmp(json_string_value(value), text);
}

static bool matches(const json_t *row, const char *where)
{
	while (*where) {
		size_t name_len = strcspn(where, "="), len;
		char name[NAME_MAX_BYTES], text[NAME_MAX_BYTES];

		snprintf(name, sizeof(name), "%.*s", (int)name_len, where);
		where += name_len + (where[name_len] == '=');
		len = strcspn(where, ",");
		snprintf(text, sizeof(text), "%.*s", (int)len, where);
		where += len + (where[len] == ',');
		if (!is_member(row, name, text))
			return false;
	}
	return true;
}

json_t *certify_find_row(const json_t *list, const char *where)
{
	json_t *found = NULL, *row;
	size_t i;

	json_array_foreach (list, i, row) {
		if (!where || matches(row, where))
			found = row;
	}
	return found;
}
