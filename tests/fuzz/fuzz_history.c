// SPDX-License-Identifier: MIT
/* Any file may be given to gpreempt report: it is refused, or its history keeps what must always
 * hold: nobody has work for longer than the log lasts, or runs or waits for longer than that. */
#include "policy/policy.h"
#include "view/history.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct gp__history *h)
{
	u64 all = h->end - h->begin;

	for (size_t i = 0; i < h->nr_groups; i++) {
		const struct gp__history_group *g = h->group[i];
		u64 spent = 0, last = 0;

		if (g->used > all || g->waited > all || g->used + g->waited > all ||
		    g->longest_wait > g->waited)
			abort();
		for (size_t k = 0; k < g->spans.n; k++) {
			const struct gp__history_span *s = &g->spans.at[k];

			if (s->from < last || s->to <= s->from || s->to > h->end)
				abort();
			last = s->to;
			spent += s->to - s->from;
		}
		if (spent > all)
			abort();
	}
	for (size_t i = 0; i < h->gpus.n; i++) {
		if (h->gpus.at[i]->busy + h->gpus.at[i]->wasted > all)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gp__history_error err;
	struct gp__history h;
	FILE *in;

	if (!size)
		return 0;
	in = fmemopen((void *)data, size, "r");
	if (!in)
		return 0;
	/* The first byte chooses what is counted. */
	gp__history_init(&h, data[size - 1] & 1 ? 1000000 : 0);
	if (!gp__history_read(&h, in, gp__policies, &err)) {
		gp__history_finish(&h, 0);
		check(&h);
	}
	gp__history_free(&h);
	fclose(in);
	return 0;
}
