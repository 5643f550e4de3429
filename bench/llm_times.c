// SPDX-License-Identifier: MIT
#include "llm.h"

#include "base/json.h"

static const char *const names[LLM_WHATS] = { "first token", "next token", "request" };

/* The time in which the server was on the CPU before a token. */
static int64_t gap_ns(const struct llm_token *k)
{
	return (int64_t)(k->launched_ns - k[-1].ended_ns);
}

void llm_note(struct llm_times *t, const struct llm_request *r)
{
	const struct llm_token *last = &r->token[LLM_TOKENS - 1];
	int64_t ns = (int64_t)(last->ended_ns - r->arrived_ns);

	gp__hist_record(&t->device[LLM_FIRST], r->token[0].ended_ns - r->arrived_ns);
	gp__hist_record(&t->wall[LLM_FIRST], r->token[0].wall_ended_ns - r->wall_arrived_ns);
	for (const struct llm_token *k = &r->token[1]; k <= last; k++) {
		int64_t late_ns = gap_ns(k) - (int64_t)k->gap_ns;

		ns -= late_ns;
		gp__hist_record(&t->device[LLM_NEXT], k->ended_ns - k->launched_ns + k->gap_ns);
		gp__hist_record(&t->wall[LLM_NEXT], k->wall_ended_ns - k[-1].wall_ended_ns);
		gp__hist_record(&t->gap, (uint64_t)gap_ns(k));
	}
	gp__hist_record(&t->device[LLM_REQUEST], (uint64_t)ns);
	gp__hist_record(&t->wall[LLM_REQUEST], last->wall_ended_ns - r->wall_arrived_ns);
}

static void set_ms(json_t *row, const char *key, const struct gp__hist *h, double q)
{
	uint64_t ns = 0;
	bool known = !gp__hist_quantile(h, q, &ns);

	gp__json_set_real(row, key, known, (double)ns / 1e6);
}

static void set_ratio(json_t *row, const char *key, const char *of, const json_t *alone)
{
	double ms = json_number_value(json_object_get(row, of));
	double base = json_number_value(json_object_get(alone, of));

	gp__json_set_real(row, key, base > 0, base > 0 ? ms / base : 0);
}

static json_t *make_row(const char *situation, enum llm_what what, const struct llm_times *t)
{
	const struct gp__hist *h = &t->device[what];
	json_t *row = json_pack("{s:s, s:s, s:I}", "situation", situation, "time_of", names[what],
				"samples", (json_int_t)h->count);

	set_ms(row, "p50_ms", h, 0.50);
	set_ms(row, "p95_ms", h, 0.95);
	set_ms(row, "p99_ms", h, 0.99);
	return row;
}

void llm_add_rows(struct gp__bench_run *run, const char *situation, const struct llm_times *t,
		  const struct llm_times *alone)
{
	for (int i = 0; i < LLM_WHATS; i++) {
		json_t *row = make_row(situation, (enum llm_what)i, t);
		json_t *base = make_row(situation, (enum llm_what)i, alone);

		set_ratio(row, "p50_ratio", "p50_ms", base);
		set_ratio(row, "p95_ratio", "p95_ms", base);
		set_ratio(row, "p99_ratio", "p99_ms", base);
		set_ms(row, "wall_p50_ms", &t->wall[i], 0.50);
		set_ms(row, "gap_p50_ms", &t->gap, 0.50);
		json_decref(base);
		gp__bench_row(run, row);
	}
}
