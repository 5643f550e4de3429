// SPDX-License-Identifier: MIT
#include "emu/kfd/report.h"

#include "emu/gfx9/format.h"
#include "emu/gfx9/trust.h"
#include "emu/kfd/node.h"
#include "emu/kfd/process.h"
#include "emu/kfd/queue.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WORDS_TEXT (GFX9_INST_MAX * 9)

/* One write, so that lines of several threads and machines stay whole. */
__attribute__((format(printf, 3, 4))) static void say(const struct emu_process *p, bool console,
						      const char *format, ...)
{
	static const char who[] = "gpreempt emu: ";
	const size_t skip = sizeof(who) - 1;
	char line[640];
	int n = snprintf(line, sizeof(line), "%spid %d: ", who, (int)p->pid), fd;
	va_list ap;

	va_start(ap, format);
	n += vsnprintf(line + n, sizeof(line) - (size_t)n - 1, format, ap);
	va_end(ap);
	if (n > (int)sizeof(line) - 2)
		n = (int)sizeof(line) - 2;
	line[n++] = '\n';
	fd = console ? p->m->config.console_fd : 0;
	/* A log that cannot be written loses a line, and the program nothing. */
	if (write(STDERR_FILENO, line + skip, (size_t)n - skip) < 0 ||
	    (fd > 0 && write(fd, line, (size_t)n) < 0))
		return;
}

static const char *put_words(char text[WORDS_TEXT + 1], const uint32_t *words, unsigned int n)
{
	text[0] = 0;
	for (unsigned int i = 0; i < n; i++)
		sprintf(text + strlen(text), "%s%08x", i ? " " : "", words[i]);
	return text;
}

/* True: it was not met before by this process. */
static bool meet(struct emu_process *p, uint16_t op)
{
	uint64_t bit = (uint64_t)1 << op % 64;

	return !(atomic_fetch_or(&p->met[op / 64], bit) & bit);
}

void emu_report_approximate(void *process, const struct gfx9_inst *in, uint64_t pc,
			    const uint32_t *words)
{
	struct emu_process *p = process;
	char text[WORDS_TEXT + 1];
	const char *note;

	if (gfx9_trust(in->op, &note) != GFX9_APPROXIMATE || !meet(p, in->op))
		return;
	say(p, p->m->config.strict, "approximate instruction %s (%s) at pc %#llx: %s",
	    gfx9_op_name(in->op), put_words(text, words, in->dwords), (unsigned long long)pc, note);
}

void emu_report_illegal(const struct emu_queue *q, const struct gfx9_report *r)
{
	enum gfx9_target target = q->node->m->config.target;
	char words[WORDS_TEXT + 1], text[GFX9_TEXT_SIZE] = "unknown to the decoder";
	const char *note = "no instruction of this GPU";
	struct gfx9_inst in;
	unsigned int n = GFX9_INST_MAX;

	if (gfx9_decode(target, r->words, GFX9_INST_MAX, &in) > 0) {
		n = in.dwords;
		gfx9_format_inst(target, &in, text, sizeof(text));
		if (gfx9_trust(in.op, &note) != GFX9_UNSUPPORTED)
			note = "its registers or modifiers do not exist here";
	}
	say(q->process, true,
	    "queue %u stops at an instruction that cannot be executed: %s (%s) at pc %#llx, "
	    "workgroup %u,%u,%u, wave %u: %s",
	    q->id, text, put_words(words, r->words, n), (unsigned long long)r->pc, r->group[0],
	    r->group[1], r->group[2], r->wave, note);
}
