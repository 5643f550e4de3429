// SPDX-License-Identifier: MIT
/*
 * Tells which programs are not to be watched, because gpreempt is in them already, and reads what a
 * program asks for in its environment. The owner of a process can stretch these reads, which delays
 * only its own helper.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/kfd/list.h"
#include "watch/watch.h"

#define ENVIRON_MAX (4u << 20)
#define NORMAL 7

/* Libraries of gpreempt: those that join a program, and those with which it schedules itself. */
static const char *const joining[] = { "/libgpreempt-join.so", "/libgpreempt-opencl.so" };
static const char *const scheduling[] = { "/libgpreempt.so", "/libgpreempt-kfd.so",
					  "/libgpreempt_poc.so" };

static FILE *open_file(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return fopen(path, "re");
}

static bool names_any(const char *line, const char *const *library, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (strstr(line, library[i]))
			return true;
	}
	return false;
}

static void find_libraries(pid_t pid, bool *joins, bool *schedules)
{
	FILE *maps = open_file(pid, "maps");
	char line[PATH_MAX + 128];

	*joins = *schedules = false;
	while (maps && fgets(line, sizeof(line), maps)) {
		*joins |= names_any(line, joining, sizeof(joining) / sizeof(joining[0]));
		*schedules |=
			names_any(line, scheduling, sizeof(scheduling) / sizeof(scheduling[0]));
	}
	if (maps)
		fclose(maps);
}

/* Returns the number of bytes in *@text, which the caller frees. */
static size_t read_environ(pid_t pid, char **text)
{
	FILE *file = open_file(pid, "environ");
	size_t n = 0;

	*text = malloc(ENVIRON_MAX);
	if (file && *text)
		n = fread(*text, 1, ENVIRON_MAX, file);
	if (file)
		fclose(file);
	return n;
}

/* Without the variable the library in a program leaves it alone. */
static bool asks_to_join(pid_t pid)
{
	static const char name[] = GP__ENV_PRIORITY "=";
	bool found = false;
	char *text;
	size_t n = read_environ(pid, &text);

	for (size_t at = 0; at < n && !found; at += strnlen(text + at, n - at) + 1)
		found = n - at > sizeof(name) - 1 && !memcmp(text + at, name, sizeof(name) - 1);
	free(text);
	return found;
}

static bool is_our_command(pid_t pid)
{
	char path[64], file[PATH_MAX];
	const char *name;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, file, sizeof(file) - 1);
	file[n > 0 ? n : 0] = '\0';
	name = strrchr(file, '/');
	return name && !strcmp(name + 1, "gpreempt");
}

bool watch_is_joined(pid_t pid, char why[GP__WIRE_TEXT_MAX])
{
	bool joins, schedules;

	find_libraries(pid, &joins, &schedules);
	if (joins && asks_to_join(pid))
		snprintf(why, GP__WIRE_TEXT_MAX, "it joins by itself");
	else if (schedules)
		snprintf(why, GP__WIRE_TEXT_MAX,
			 "it uses a library of gpreempt, and may schedule its queues itself");
	else if (is_our_command(pid))
		snprintf(why, GP__WIRE_TEXT_MAX, "it is gpreempt's own command");
	else
		return false;
	return true;
}

void watch_read_wishes(struct watch *w)
{
	struct gp__kfd_wishes wishes;
	char *text;
	size_t n = read_environ(w->pid, &text);

	gp__kfd_wishes_parse(text ? text : "", n, &wishes);
	free(text);
	w->request.hints.prio = wishes.has_priority ? wishes.priority : NORMAL;
	w->request.by_default = !wishes.has_priority;
	gp__wire_text(w->request.tag, sizeof(w->request.tag), wishes.has_tag ? wishes.tag : "");
}
