// SPDX-License-Identifier: MIT
#include "emu/kfd/trace.h"

#include <inttypes.h>

#include "base/clock.h"
#include "emu/kfd/node.h"
#include "emu/kfd/queue.h"

/* A single call for each line: the stream's lock keeps it whole. */
void emu_trace_change(void *ctx, struct emu_hw_queue *hw, bool on, uint64_t device_ns)
{
	const struct emu_node *n = ctx;
	const struct emu_queue *q;
	FILE *out = n->m->config.trace;

	if (!hw) {
		fprintf(out, "%" PRIu64 " %" PRIu64 " %u %s\n", gp__clock_ns(), device_ns, n->index,
			on ? "busy" : "idle");
		return;
	}
	q = hw->owner;
	fprintf(out, "%" PRIu64 " %" PRIu64 " %u %s %d %u\n", gp__clock_ns(), device_ns, n->index,
		on ? "on" : "off", (int)q->process->pid, q->id);
}

void emu_trace_work(struct emu_queue *q)
{
	FILE *out = q->node->m->config.trace;
	bool work = q->rung || q->nr_running;

	if (!out || work == q->traced_work)
		return;
	q->traced_work = work;
	fprintf(out, "%" PRIu64 " %" PRIu64 " %u %s %d %u\n", gp__clock_ns(),
		q->node->engine->gpu_clock(q->node->gpu), q->node->index, work ? "work" : "done",
		(int)q->process->pid, q->id);
}

void emu_trace_end(struct emu_machine *m)
{
	FILE *out = m->config.trace;

	m->config.trace = NULL;
	if (!out)
		return;
	/* A reader must be able to see that something is missing. */
	if (!fflush(out) && !ferror(out))
		fputs("end\n", out);
	fclose(out);
}
