// SPDX-License-Identifier: MIT
#include "emu/kfd/report.h"

#include "emu/kfd/node.h"
#include "emu/kfd/process.h"
#include "emu/kfd/queue.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A single write, so that lines of several threads and machines stay whole. */
__attribute__((format(printf, 3, 4))) static void say(const struct emu_process *p, bool console,
						      const char *format, ...)
{
	static const char prefix[] = "gpreempt emu: ";
	const size_t skip = sizeof(prefix) - 1;
	char line[640];
	int n = snprintf(line, sizeof(line), "%spid %d: ", prefix, (int)p->pid), fd;
	va_list ap;

	va_start(ap, format);
	n += vsnprintf(line + n, sizeof(line) - (size_t)n - 1, format, ap);
	va_end(ap);
	if (n > (int)sizeof(line) - 2)
		n = (int)sizeof(line) - 2;
	line[n++] = '\n';
	fd = console ? p->m->config.console_fd : 0;
	/* If the log cannot be written, the line is lost. */
	if (write(STDERR_FILENO, line + skip, (size_t)n - skip) < 0 ||
	    (fd > 0 && write(fd, line, (size_t)n) < 0))
		return;
}

void emu_report_approximate(void *process, uint32_t opcode, const char *text)
{
	struct emu_process *p = process;
	uint64_t bit = (uint64_t)1 << opcode % 64;

	if (!(atomic_fetch_or(&p->met[opcode / 64], bit) & bit))
		say(p, p->m->config.strict, "approximate instruction %s", text);
}

void emu_report_illegal(const struct emu_queue *q, const struct emu_failure *f)
{
	say(q->process, true, "queue %u stops at an instruction that cannot be executed: %s", q->id,
	    f->text);
}
