/* SPDX-License-Identifier: MIT */
/*
 * Random programs that use every way of submitting work to AMD queues at once: kernels, copies,
 * barriers of all kinds between queues, threads that share a queue, full rings, indices that are
 * added to, exchanged or stored, packets that are published one by one, together, late or
 * backwards. Each program knows the final content of its memory, as every step depends on the one
 * before. An idempotent program never writes memory that it reads, so that a kernel may run twice.
 *
 * Usage: hsa_mix [PROGRAMS [SEED [idempotent]]]
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "hsa_test.h"

enum {
	QUEUES = 4,
	PACKETS = 256, /* more than a program puts into one queue */
	SHARED_PACKETS = 64, /* less than the threads do */
	BUFFERS = 4,
	CELLS = 64,
	STEPS = 40,
	BURST = 12,
	THREADS = 3,
	ROUNDS = 50, /* of each thread; even */
};

struct stir_arguments {
	uint32_t *to;
	const uint32_t *from;
	uint32_t with, pad;
};

/* A step on a buffer. */
struct step {
	bool copies; /* instead of being stirred */
	uint32_t to, from, with;
	uint32_t queue;
	hsa_signal_t done;
	int needs[2 * BUFFERS]; /* steps that must have ended */
	int nr_needs;
};

struct mix {
	struct lab *lab;
	struct lab_kernel stir;
	hsa_queue_t *queue[QUEUES], *shared;
	bool single[QUEUES]; /* has one producer, which stores the write index */
	uint32_t *memory; /* BUFFERS times CELLS */
	uint32_t expected[BUFFERS][CELLS];
	struct stir_arguments *args;
	struct step step[STEPS];
	int nr_steps;
	int last_write[BUFFERS], reads[BUFFERS][STEPS], nr_reads[BUFFERS];
	uint64_t random;
	bool idempotent;
	/* Packets that are written and not published yet. */
	struct {
		uint64_t packet[BURST][8];
		uint16_t header[BURST];
		int nr;
	} burst[QUEUES];
};

static uint32_t draw(struct mix *m, uint32_t below)
{
	return lab_random(&m->random) % below;
}

static uint32_t *buffer(struct mix *m, uint32_t i)
{
	return m->memory + i * CELLS;
}

/*
 * Submitting
 */

static uint64_t reserve(struct mix *m, uint32_t q, uint32_t n)
{
	hsa_queue_t *queue = m->queue[q];
	uint64_t at, seen;

	if (m->single[q]) {
		at = hsa_queue_load_write_index_relaxed(queue);
		hsa_queue_store_write_index_screlease(queue, at + n);
		return at;
	}
	switch (draw(m, 4)) {
	case 0:
		return hsa_queue_add_write_index_scacq_screl(queue, n);
	case 1:
		return hsa_queue_add_write_index_relaxed(queue, n);
	case 2:
		return hsa_queue_add_write_index_screlease(queue, n);
	default:
		at = hsa_queue_load_write_index_scacquire(queue);
		while ((seen = hsa_queue_cas_write_index_scacq_screl(queue, at, at + n)) != at)
			at = seen;
		return at;
	}
}

static void wait_for_room(hsa_queue_t *queue, uint64_t end)
{
	while (end - hsa_queue_load_read_index_scacquire(queue) > queue->size)
		usleep(20);
}

static void announce(struct mix *m, uint32_t q, uint64_t index)
{
	if (draw(m, 2))
		hsa_signal_store_screlease(m->queue[q]->doorbell_signal, (int64_t)index);
	else
		hsa_signal_store_relaxed(m->queue[q]->doorbell_signal, (int64_t)index);
}

static void write_packet(hsa_queue_t *queue, uint64_t index, const uint64_t packet[8],
			 uint16_t header)
{
	char *slot = (char *)queue->base_address + index % queue->size * 64;
	uint16_t setup;

	memcpy(&setup, (const char *)packet + 2, 2);
	memcpy(slot + 4, (const char *)packet + 4, 60);
	__atomic_store_n((uint32_t *)slot, header | (uint32_t)setup << 16, __ATOMIC_RELEASE);
}

/* A program sees its queue as it would without gpreempt. */
static void check_indices(hsa_queue_t *queue, uint64_t end)
{
	uint64_t read = hsa_queue_load_read_index_scacquire(queue);
	uint64_t write = hsa_queue_load_write_index_scacquire(queue);

	lab_check(write >= end, "the write index is %lu after packets up to %lu",
		  (unsigned long)write, (unsigned long)end);
	lab_check(read <= write, "the read index, %lu, is beyond the write index, %lu",
		  (unsigned long)read, (unsigned long)write);
}

static void flush(struct mix *m, uint32_t q)
{
	int n = m->burst[q].nr, how = (int)draw(m, 4);
	uint64_t at;

	if (!n)
		return;
	m->burst[q].nr = 0;
	at = reserve(m, q, (uint32_t)n);
	wait_for_room(m->queue[q], at + (uint64_t)n);
	for (int i = 0; i < n; i++) {
		int k = how == 1 ? n - 1 - i : i; /* backwards */

		write_packet(m->queue[q], at + (uint64_t)k, m->burst[q].packet[k],
			     m->burst[q].header[k]);
		if (how == 0 || how == 1) /* one by one */
			announce(m, q, at + (uint64_t)k);
	}
	if (how == 3)
		usleep(draw(m, 200));
	if (how >= 2)
		announce(m, q, at + (uint64_t)n - 1);
	check_indices(m->queue[q], at + (uint64_t)n);
}

static void flush_all(struct mix *m)
{
	for (uint32_t q = 0; q < QUEUES; q++)
		flush(m, q);
}

static void push(struct mix *m, uint32_t q, const void *packet, uint16_t header)
{
	int n = m->burst[q].nr++;

	memcpy(m->burst[q].packet[n], packet, 64);
	m->burst[q].header[n] = header;
	if (n + 1 == BURST || !draw(m, 3))
		flush(m, q);
}

/*
 * Steps
 */

/*
 * Two equivalent barriers: all of these signals, or any of those, of which the second follows the
 * first.
 */
static void push_barrier(struct mix *m, uint32_t q, const hsa_signal_t *deps, int nr)
{
	hsa_barrier_and_packet_t p = { 0 };
	hsa_amd_barrier_value_packet_t v = { 0 };

	if (nr == 1 && !draw(m, 3)) {
		v.header.AmdFormat = HSA_AMD_PACKET_TYPE_BARRIER_VALUE;
		v.signal = deps[0];
		v.value = 1;
		v.mask = -1;
		v.cond = HSA_SIGNAL_CONDITION_LT;
		push(m, q, &v, lab_header(HSA_PACKET_TYPE_VENDOR_SPECIFIC, true));
		return;
	}
	for (int i = 0; i < nr; i++)
		p.dep_signal[i] = deps[i];
	push(m, q, &p,
	     lab_header(nr == 1 && draw(m, 2) ? HSA_PACKET_TYPE_BARRIER_OR
					      : HSA_PACKET_TYPE_BARRIER_AND,
			true));
}

static void need(struct step *s, int other)
{
	if (other < 0)
		return;
	for (int i = 0; i < s->nr_needs; i++) {
		if (s->needs[i] == other)
			return;
	}
	lab_check(s->nr_needs < 2 * BUFFERS, "a step needs too much");
	s->needs[s->nr_needs++] = other;
}

static void push_stir(struct mix *m, struct step *s)
{
	hsa_signal_t deps[5];
	const hsa_kernel_dispatch_packet_t p =
		lab_packet(&m->stir, lab_line(CELLS), &m->args[s - m->step], s->done);
	bool in_order = false;
	int nr = 0;

	m->args[s - m->step] =
		(struct stir_arguments){ buffer(m, s->to), buffer(m, s->from), s->with, 0 };
	for (int i = 0; i < s->nr_needs; i++) {
		const struct step *other = &m->step[s->needs[i]];

		if (!other->copies && other->queue == s->queue && draw(m, 4)) {
			in_order = true;
			continue;
		}
		deps[nr++] = other->done;
		if (nr == 5 || i + 1 == s->nr_needs) {
			push_barrier(m, s->queue, deps, nr);
			nr = 0;
			in_order = true; /* not before the barrier has ended */
		}
	}
	if (nr) {
		push_barrier(m, s->queue, deps, nr);
		in_order = true;
	}
	push(m, s->queue, &p, lab_header(HSA_PACKET_TYPE_KERNEL_DISPATCH, in_order));
}

static void push_copy(struct mix *m, struct step *s)
{
	hsa_signal_t deps[2 * BUFFERS];

	for (int i = 0; i < s->nr_needs; i++)
		deps[i] = m->step[s->needs[i]].done;
	lab_must(hsa_amd_memory_async_copy(buffer(m, s->to), m->lab->gpu, buffer(m, s->from),
					   m->lab->gpu, CELLS * sizeof(uint32_t),
					   (uint32_t)s->nr_needs, s->nr_needs ? deps : NULL,
					   s->done));
}

static void expect(struct mix *m, const struct step *s)
{
	if (s->copies) {
		memcpy(m->expected[s->to], m->expected[s->from], sizeof(m->expected[0]));
		return;
	}
	for (uint32_t i = 0; i < CELLS; i++)
		m->expected[s->to][i] = m->expected[s->from][i] * 1664525 + s->with + i;
}

/* After all writers of what it reads or writes, and all readers of what it writes. */
static void add_step(struct mix *m)
{
	struct step *s = &m->step[m->nr_steps];
	uint32_t to = draw(m, BUFFERS);

	*s = (struct step){ .copies = !draw(m, 6),
			    .to = to,
			    .from = (to + 1 + draw(m, BUFFERS - 1)) % BUFFERS,
			    .with = lab_random(&m->random),
			    .queue = draw(m, QUEUES),
			    .done = lab_signal(1) };
	if (!s->copies && !m->idempotent)
		s->from = to;
	need(s, m->last_write[to]);
	need(s, m->last_write[s->from]);
	/* If there are more dependencies than fit, wait here. */
	if (m->nr_reads[to] > BUFFERS) {
		flush_all(m);
		for (int i = 0; i < m->nr_reads[to]; i++)
			lab_wait(m->step[m->reads[to][i]].done, HSA_WAIT_STATE_BLOCKED, "a reader");
		m->nr_reads[to] = 0;
	}
	for (int i = 0; i < m->nr_reads[to]; i++)
		need(s, m->reads[to][i]);
	if (s->copies)
		push_copy(m, s);
	else
		push_stir(m, s);
	expect(m, s);
	m->last_write[to] = m->nr_steps;
	m->nr_reads[to] = 0;
	if (s->from != to)
		m->reads[s->from][m->nr_reads[s->from]++] = m->nr_steps;
	m->nr_steps++;
}

static void run_steps(struct mix *m)
{
	int nr = 1 + (int)draw(m, STEPS);

	m->nr_steps = 0;
	for (int b = 0; b < BUFFERS; b++) {
		m->last_write[b] = -1;
		m->nr_reads[b] = 0;
	}
	while (m->nr_steps < nr)
		add_step(m);
	flush_all(m);
	for (int i = 0; i < nr; i++)
		lab_wait(m->step[i].done,
			 draw(m, 2) ? HSA_WAIT_STATE_BLOCKED : HSA_WAIT_STATE_ACTIVE, "a step");
	for (int i = 0; i < nr; i++)
		lab_must(hsa_signal_destroy(m->step[i].done));
}

/*
 * Threads that share a queue, each with its own buffer
 */

struct producer {
	struct mix *m;
	uint32_t which;
	uint64_t random;
};

/* Back and forth between the buffer and another one, if it may not be in place. */
static struct stir_arguments own_round(const struct producer *p, uint32_t *other, uint32_t i)
{
	uint32_t *own = buffer(p->m, p->which);

	if (!p->m->idempotent)
		return (struct stir_arguments){ own, own, i, 0 };
	return i % 2 ? (struct stir_arguments){ own, other, i, 0 }
		     : (struct stir_arguments){ other, own, i, 0 };
}

static void *stir_own(void *data)
{
	struct producer *p = data;
	struct mix *m = p->m;
	struct stir_arguments *args =
		lab_alloc(m->lab, m->lab->kernarg, ROUNDS * sizeof(struct stir_arguments));
	uint32_t *other = lab_alloc(m->lab, m->lab->fine, CELLS * sizeof(*other));
	hsa_signal_t done = lab_signal(ROUNDS);

	for (uint32_t i = 0; i < ROUNDS; i++) {
		args[i] = own_round(p, other, i);
		if (!(lab_random(&p->random) % 4))
			usleep(lab_random(&p->random) % 50);
		lab_dispatch(m->shared, &m->stir, lab_line_in_order(CELLS), &args[i], done);
	}
	lab_wait(done, HSA_WAIT_STATE_BLOCKED, "a thread's last dispatch");
	lab_must(hsa_signal_destroy(done));
	lab_free(other);
	lab_free(args);
	return NULL;
}

static void run_threads(struct mix *m)
{
	struct producer producer[THREADS];
	pthread_t thread[THREADS];

	for (uint32_t t = 0; t < THREADS; t++) {
		producer[t] = (struct producer){ m, t, lab_random(&m->random) };
		lab_check(!pthread_create(&thread[t], NULL, stir_own, &producer[t]),
			  "no thread can be made");
	}
	for (uint32_t t = 0; t < THREADS; t++) {
		pthread_join(thread[t], NULL);
		for (uint32_t i = 0; i < ROUNDS; i++)
			expect(m, &(struct step){ .to = t, .from = t, .with = i });
	}
}

/*
 * Programs
 */

static void make_queues(struct mix *m)
{
	m->shared = lab_queue(m->lab, SHARED_PACKETS);
	for (uint32_t q = 0; q < QUEUES; q++) {
		m->single[q] = q == QUEUES - 1;
		lab_must(hsa_queue_create(m->lab->gpu, PACKETS,
					  m->single[q] ? HSA_QUEUE_TYPE_SINGLE
						       : HSA_QUEUE_TYPE_MULTI,
					  NULL, NULL, UINT32_MAX, UINT32_MAX, &m->queue[q]));
	}
}

static void check(struct mix *m, unsigned long program, unsigned long seed)
{
	for (uint32_t b = 0; b < BUFFERS; b++) {
		for (uint32_t i = 0; i < CELLS; i++)
			lab_check(buffer(m, b)[i] == m->expected[b][i],
				  "program %lu of seed %lu: cell %u of buffer %u is %u, not %u",
				  program, seed, i, b, buffer(m, b)[i], m->expected[b][i]);
	}
}

int main(int argc, char **argv)
{
	unsigned long programs = argc > 1 ? strtoul(argv[1], NULL, 10) : 200;
	unsigned long seed = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	static struct mix m;
	struct lab lab;
	uint64_t sum = 0;

	m.idempotent = argc > 3 && !strcmp(argv[3], "idempotent");
	lab_open(&lab);
	m.lab = &lab;
	m.stir = lab_find(&lab, "stir");
	m.memory = lab_alloc(&lab, lab.fine, sizeof(m.expected));
	m.args = lab_alloc(&lab, lab.kernarg, STEPS * sizeof(*m.args));
	memset(m.memory, 0, sizeof(m.expected));
	make_queues(&m);
	for (unsigned long i = 0; i < programs; i++) {
		m.random = seed * 1000003 + i;
		if (i % 8 == 7)
			run_threads(&m);
		else
			run_steps(&m);
		check(&m, i, seed);
		sum = gp__hash(sum, m.expected, sizeof(m.expected));
	}
	for (uint32_t q = 0; q < QUEUES; q++)
		lab_must(hsa_queue_destroy(m.queue[q]));
	lab_must(hsa_queue_destroy(m.shared));
	lab_free(m.args);
	lab_free(m.memory);
	lab_close(&lab);
	printf("%lu programs, memory %016lx\n", programs, (unsigned long)sum);
	return 0;
}
