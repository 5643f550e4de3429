/* SPDX-License-Identifier: MIT */
/*
 * The programs that gpreempt bench llm measures: a server whose kernels come as those of llama.cpp
 * do, and a trainer. Each of their kernels fills the GPU: its workgroups need all LDS of a compute
 * unit.
 *
 * A request has a long kernel, for the prompt, and then tokens of several small kernels. The server
 * waits for each token, and is on the CPU for a while before the next. The trainer always has
 * kernels enqueued.
 *
 * Usage: hsa_llm serve|train FILE	FILE is mapped: bench/llm.h
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/llm.h"
#include "device_clock.h"
#include "hsa_test.h"

enum {
	RING = 64,
	LDS_BYTES = 65536,
	GROUP = 64,
	TOKEN_KERNELS = 4,
	AHEAD = 3, /* kernels that the trainer keeps enqueued */
	TRAINER_GROUPS = 16, /* of a kernel */
	/* A round takes about 6 ns of device time. */
	PROMPT_ROUNDS = 500000,
	TOKEN_ROUNDS = 15000,
	TRAINER_ROUNDS = 40000,
};

#define GAP_MIN_NS (20 * GP__US)
#define GAP_MAX_NS (2 * GP__MS)
#define LOOK_NS (200 * GP__US)
#define PAUSE_MOST 4.0 /* times the mean */

struct arguments {
	uint32_t rounds;
};

struct program {
	struct lab lab;
	struct lab_kernel toil;
	struct device_clock clock;
	hsa_queue_t *queue;
	struct llm_page *page;
};

static void map_page(struct program *p, const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	lab_check(fd >= 0, "%s: %s", path, strerror(errno));
	p->page = mmap(NULL, sizeof(*p->page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	lab_check(p->page != MAP_FAILED, "%s: %s", path, strerror(errno));
	close(fd);
}

static void open_program(struct program *p, const char *path)
{
	map_page(p, path);
	prctl(PR_SET_TIMERSLACK, 1000ul);
	lab_open(&p->lab);
	p->toil = lab_find(&p->lab, "toil");
	p->toil.group_size = LDS_BYTES;
	device_clock_open(&p->clock, p->lab.gpu);
	p->queue = lab_queue(&p->lab, RING);
	/* For the times of its signals. */
	lab_must(hsa_amd_profiling_set_profiler_enabled(p->queue, 1));
}

static struct arguments *make_arguments(struct program *p, uint32_t rounds)
{
	struct arguments *a = lab_alloc(&p->lab, p->lab.kernarg, 4096);

	a->rounds = rounds;
	return a;
}

static void launch(struct program *p, const struct arguments *a, uint32_t groups, hsa_signal_t done)
{
	if (done.handle)
		hsa_signal_store_screlease(done, 1);
	lab_dispatch(p->queue, &p->toil, lab_line_in_order(groups * GROUP), a, done);
}

/*
 * The server
 */

struct server {
	struct program p;
	struct arguments *prompt, *token;
	hsa_signal_t ended; /* of a token */
	uint64_t random;
};

/* From 0 to 1, without 0. */
static double draw(struct server *s)
{
	return ((double)lab_random(&s->random) + 1) / 2147483648.0;
}

/* As many short gaps as long ones, by orders of magnitude. */
static uint64_t draw_gap(struct server *s)
{
	return (uint64_t)((double)GAP_MIN_NS *
			  pow((double)GAP_MAX_NS / (double)GAP_MIN_NS, draw(s)));
}

/*
 * Until the next request: random, by the device's clock, so that a slow host does not give the
 * trainer less time. The host's clock is never slower.
 */
static void pause_until_next(struct server *s)
{
	double times = fmin(-log(draw(s)), PAUSE_MOST);
	uint64_t now = device_clock_ns(&s->p.clock);
	uint64_t until = now + (uint64_t)(times * (double)s->p.page->pause_ns);

	for (; now < until; now = device_clock_ns(&s->p.clock))
		gp__sleep_ns(until - now > LOOK_NS ? until - now : LOOK_NS);
}

/* The last of its kernels signals the end. */
static void make_token(struct server *s, struct llm_token *t, const struct arguments *a,
		       int kernels)
{
	t->launched_ns = device_clock_ns(&s->p.clock);
	for (int i = 1; i < kernels; i++)
		launch(&s->p, a, 1, (hsa_signal_t){ 0 });
	launch(&s->p, a, 1, s->ended);
	lab_wait(s->ended, HSA_WAIT_STATE_BLOCKED, "a token");
	t->wall_ended_ns = gp__clock_ns();
	t->ended_ns = device_clock_end_ns(s->ended);
}

static void answer(struct server *s, struct llm_request *r)
{
	r->wall_arrived_ns = gp__clock_ns();
	r->arrived_ns = device_clock_ns(&s->p.clock);
	make_token(s, &r->token[0], s->prompt, 1);
	for (int i = 1; i < LLM_TOKENS; i++) {
		r->token[i].gap_ns = draw_gap(s);
		gp__sleep_ns(r->token[i].gap_ns);
		make_token(s, &r->token[i], s->token, TOKEN_KERNELS);
	}
}

static void serve(struct server *s)
{
	struct llm_page *page = s->p.page;

	for (;;) {
		uint32_t done = atomic_load(&page->done);

		while (atomic_load(&page->go) == done)
			gp__sleep_ns(GP__MS);
		s->random = page->seed;
		for (uint32_t i = 0; i < page->nr_requests; i++) {
			pause_until_next(s);
			answer(s, &page->request[i]);
		}
		atomic_store(&page->done, done + 1);
	}
}

static void run_server(const char *path)
{
	struct server s = { 0 };

	open_program(&s.p, path);
	s.prompt = make_arguments(&s.p, PROMPT_ROUNDS);
	s.token = make_arguments(&s.p, TOKEN_ROUNDS);
	s.ended = lab_signal(1);
	atomic_store(&s.p.page->ready, 1);
	serve(&s);
}

/*
 * The trainer
 */

static void run_trainer(const char *path)
{
	hsa_signal_t ended[AHEAD];
	struct program p = { 0 };
	uint64_t begun = 0, n = 0;
	struct arguments *a;

	open_program(&p, path);
	a = make_arguments(&p, TRAINER_ROUNDS);
	for (int i = 0; i < AHEAD; i++)
		ended[i] = lab_signal(1);
	atomic_store(&p.page->ready, 1);
	for (;;) {
		for (; begun < n + AHEAD && atomic_load(&p.page->go); begun++)
			launch(&p, a, TRAINER_GROUPS, ended[begun % AHEAD]);
		atomic_store(&p.page->busy, begun > n);
		if (begun == n) {
			gp__sleep_ns(GP__MS);
			continue;
		}
		lab_wait(ended[n % AHEAD], HSA_WAIT_STATE_BLOCKED, "a kernel");
		atomic_store(&p.page->ended_ns, device_clock_end_ns(ended[n % AHEAD]));
		atomic_store(&p.page->nr_kernels, ++n);
	}
}

int main(int argc, char **argv)
{
	lab_check(argc == 3, "usage: hsa_llm serve|train FILE");
	if (!strcmp(argv[1], "serve"))
		run_server(argv[2]);
	else if (!strcmp(argv[1], "train"))
		run_trainer(argv[2]);
	lab_fail("'%s' is neither serve nor train", argv[1]);
}
