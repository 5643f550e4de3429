/* SPDX-License-Identifier: MIT */
/*
 * A file that `gpreempt bench llm` and one of its programs map. The program knows nothing of
 * gpreempt. Times are in nanoseconds, by the device's clock unless they say otherwise.
 */
#ifndef GP_BENCH_LLM_H
#define GP_BENCH_LLM_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/bench.h"
#include "base/hist.h"

#define LLM_TOKENS 12 /* of an answer */
#define LLM_REQUESTS_MAX 64

struct llm_token {
	uint64_t launched_ns, ended_ns;
	uint64_t wall_ended_ns; /* CLOCK_MONOTONIC */
	uint64_t gap_ns; /* before it, by the host's clock, as it was drawn */
};

struct llm_request {
	uint64_t arrived_ns;
	uint64_t wall_arrived_ns;
	struct llm_token token[LLM_TOKENS];
};

struct llm_page {
	_Atomic uint32_t ready; /* the program is set up */
	/* From the benchmark: to a server, the number of orders so far; to a trainer, 1: train. */
	_Atomic uint32_t go;
	_Atomic uint32_t done; /* of a server: the number of orders carried out */
	/* An order to a server. */
	uint64_t seed, pause_ns;
	uint32_t nr_requests;
	struct llm_request request[LLM_REQUESTS_MAX];
	/* Of a trainer. */
	_Atomic uint32_t busy; /* it has kernels enqueued */
	_Atomic uint64_t ended_ns; /* the end of the last kernel; written before nr_kernels */
	_Atomic uint64_t nr_kernels; /* that ended */
};

/*
 * Times of the requests of one situation. Of a gap between two tokens the time that was drawn
 * counts: the rest is that of a busy host.
 */

enum llm_what { LLM_FIRST, LLM_NEXT, LLM_REQUEST, LLM_WHATS };

struct llm_times {
	struct gp__hist device[LLM_WHATS], wall[LLM_WHATS];
	struct gp__hist gap; /* its real length */
};

void llm_note(struct llm_times *t, const struct llm_request *r);
/* A row for each of first token, next token and request; the ratios are to @alone. */
void llm_add_rows(struct gp__bench_run *run, const char *situation, const struct llm_times *t,
		  const struct llm_times *alone);

/*
 * The daemon's decisions during requests
 */

struct llm_span {
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
};

struct llm_decisions {
	unsigned int holds, releases; /* of the trainer, with all its queues, in requests */
	/* The time for which the trainer was held although the server had no work: in requests,
	 * and up to the beginning of the next. */
	uint64_t inside_ns, outside_ns;
};

/* The requests are in the order of time. 0 or -errno. */
int llm_read_log(const char *path, const struct llm_span *request, size_t n,
		 struct llm_decisions *d);

#endif
