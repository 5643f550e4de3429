// SPDX-License-Identifier: MIT
#include "emu/kfd/tracer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct status {
	int process, tracer;
	unsigned long long capabilities;
	bool has_memory; /* a zombie or a kernel thread has none and runs no program */
};

static bool read_status(pid_t tid, struct status *s)
{
	char name[40], *line = NULL;
	size_t room = 0;
	FILE *f;

	*s = (struct status){ 0 };
	snprintf(name, sizeof(name), "/proc/%d/status", (int)tid);
	f = tid > 0 ? fopen(name, "re") : NULL;
	if (!f)
		return false;
	while (getline(&line, &room, f) > 0) {
		long kib;

		if (sscanf(line, "Tgid: %d", &s->process) == 1 ||
		    sscanf(line, "TracerPid: %d", &s->tracer) == 1 ||
		    sscanf(line, "CapEff: %llx", &s->capabilities) == 1)
			continue;
		s->has_memory |= sscanf(line, "VmSize: %ld", &kib) == 1;
	}
	free(line);
	fclose(f);
	return s->process > 0;
}

pid_t emu_tracer_process(pid_t tid)
{
	struct status s;

	return read_status(tid, &s) && s.has_memory ? s.process : -ESRCH;
}

bool emu_tracer_is(pid_t tracer, pid_t thread, pid_t pid)
{
	struct status target, s;

	if (!read_status(pid, &target) || !read_status(target.tracer, &s) || s.process != tracer)
		return false;
	return thread == target.tracer || !read_status(thread, &s) || s.process != tracer;
}

bool emu_tracer_can(pid_t process, pid_t thread, uint64_t capabilities)
{
	struct status s;

	if ((!read_status(thread, &s) || s.process != process) && !read_status(process, &s))
		return false;
	return s.capabilities & capabilities;
}
