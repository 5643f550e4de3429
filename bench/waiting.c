// SPDX-License-Identifier: MIT
#include "waiting.h"

#include "join/hsa/abi.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define RUNTIME "libhsa-runtime64.so.1"
#define SIGNALS 6144 /* in a resident's memory */
#define RING 64u
#define PACKET_WORDS 8
#define DEPENDENCY_WORD 1
#define DEVICE_INFO 17 /* HSA_AGENT_INFO_DEVICE */
#define DEVICE_GPU 1
#define FOUND 1 /* HSA_STATUS_INFO_BREAK */
#define LESS 2 /* HSA_SIGNAL_CONDITION_LT */
#define PATIENCE_TICKS UINT64_MAX

/* The functions of the HSA runtime that are used; handles are numbers, and 0 is success. */
struct waiting_runtime {
	int (*init)(void);
	int (*shut_down)(void);
	int (*iterate_agents)(int (*fn)(uint64_t agent, void *data), void *data);
	int (*agent_get_info)(uint64_t agent, int what, void *value);
	int (*queue_create)(uint64_t agent, uint32_t size, int type, void *callback, void *data,
			    uint32_t private_bytes, uint32_t group_bytes,
			    struct gp__hsa_queue **queue);
	int (*queue_destroy)(struct gp__hsa_queue *queue);
	uint64_t (*add_write)(struct gp__hsa_queue *queue, uint64_t n);
	int (*signal_create)(int64_t value, uint32_t n, const void *consumers, uint64_t *signal);
	void (*signal_store)(uint64_t signal, int64_t value);
	int (*signal_destroy)(uint64_t signal);
	int64_t (*signal_wait)(uint64_t signal, int condition, int64_t value, uint64_t timeout,
			       int state);
};

static const struct {
	const char *name;
	size_t at;
} functions[] = {
	{ "hsa_init", offsetof(struct waiting_runtime, init) },
	{ "hsa_shut_down", offsetof(struct waiting_runtime, shut_down) },
	{ "hsa_iterate_agents", offsetof(struct waiting_runtime, iterate_agents) },
	{ "hsa_agent_get_info", offsetof(struct waiting_runtime, agent_get_info) },
	{ "hsa_queue_create", offsetof(struct waiting_runtime, queue_create) },
	{ "hsa_queue_destroy", offsetof(struct waiting_runtime, queue_destroy) },
	{ "hsa_queue_add_write_index_scacq_screl", offsetof(struct waiting_runtime, add_write) },
	{ "hsa_signal_create", offsetof(struct waiting_runtime, signal_create) },
	{ "hsa_signal_destroy", offsetof(struct waiting_runtime, signal_destroy) },
	{ "hsa_signal_store_screlease", offsetof(struct waiting_runtime, signal_store) },
	{ "hsa_signal_wait_scacquire", offsetof(struct waiting_runtime, signal_wait) },
};

bool waiting_has_hsa(void)
{
	void *library = dlopen(RUNTIME, RTLD_LAZY | RTLD_LOCAL);
	bool there = library != NULL;

	if (there)
		dlclose(library);
	return there;
}

/* NULL: there is no runtime, or a function is missing. It is never unloaded. */
static const struct waiting_runtime *find_runtime(void)
{
	static struct waiting_runtime runtime;
	void *library = dlopen(RUNTIME, RTLD_NOW | RTLD_GLOBAL);

	for (size_t i = 0; library && i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *found = dlsym(library, functions[i].name);

		if (!found)
			return NULL;
		memcpy((char *)&runtime + functions[i].at, &found, sizeof(found));
	}
	return library ? &runtime : NULL;
}

struct search {
	const struct waiting_runtime *hsa;
	uint64_t agent;
};

static int is_gpu(uint64_t agent, void *data)
{
	struct search *s = data;
	int type = 0;

	if (s->hsa->agent_get_info(agent, DEVICE_INFO, &type) || type != DEVICE_GPU)
		return 0;
	s->agent = agent;
	return FOUND;
}

static int begin_hsa(struct waiting *w)
{
	struct search search = { .hsa = w->hsa };

	if (w->hsa->init())
		return -EIO;
	if (w->hsa->iterate_agents(is_gpu, &search) != FOUND)
		return -ENODEV;
	if (w->hsa->queue_create(search.agent, RING, 0, NULL, NULL, UINT32_MAX, UINT32_MAX,
				 &w->queue) ||
	    w->hsa->signal_create(1, 0, NULL, &w->go) ||
	    w->hsa->signal_create(1, 0, NULL, &w->ended))
		return -EIO;
	return 0;
}

/* The signal @n places behind the first. */
static struct gp__kfd_signal *signal_at(struct waiting *w, unsigned int n)
{
	struct gp__kfd_signal *s = (struct gp__kfd_signal *)((char *)w->r.data.at + SIGNALS) + n;

	s->kind = GP__KFD_SIGNAL_USER;
	return s;
}

int waiting_begin(struct waiting *w, bool hsa, const char *kernels)
{
	int err;

	*w = (struct waiting){ 0 };
	if (hsa) {
		w->hsa = find_runtime();
		return w->hsa ? begin_hsa(w) : -ENOPKG;
	}
	err = resident_begin(&w->r, kernels);
	if (err)
		return err;
	for (int i = 0; i < 2; i++) {
		w->dependency[i] = signal_at(w, 2 * (unsigned int)i);
		w->end[i] = i ? signal_at(w, 1) : w->r.signal;
	}
	return 0;
}

void waiting_end(struct waiting *w)
{
	if (!w->hsa) {
		resident_end(&w->r);
		return;
	}
	if (w->queue)
		w->hsa->queue_destroy(w->queue);
	if (w->go)
		w->hsa->signal_destroy(w->go);
	if (w->ended)
		w->hsa->signal_destroy(w->ended);
	w->hsa->shut_down();
}

static void ring_hsa(struct waiting *w)
{
	struct gp__kfd_packet packet = gp__kfd_pack_barrier((void *)w->ended);
	uint64_t n, header;
	_Atomic uint64_t *slot;

	w->hsa->signal_store(w->go, 1);
	w->hsa->signal_store(w->ended, 1);
	packet.word[DEPENDENCY_WORD] = w->go;
	n = w->hsa->add_write(w->queue, 1);
	slot = (_Atomic uint64_t *)w->queue->ring + n % w->queue->size * PACKET_WORDS;
	for (int i = 1; i < PACKET_WORDS; i++)
		atomic_store_explicit(&slot[i], packet.word[i], memory_order_relaxed);
	/* The header last, with release: it makes the packet valid. */
	header = packet.word[0];
	atomic_store_explicit(&slot[0], header, memory_order_release);
	w->hsa->signal_store(w->queue->doorbell, (int64_t)n);
}

void waiting_ring(struct waiting *w)
{
	struct gp__kfd_packet packet;

	if (w->hsa) {
		ring_hsa(w);
		return;
	}
	packet = gp__kfd_pack_barrier(w->end[w->n % 2]);
	packet.word[DEPENDENCY_WORD] = (uint64_t)w->dependency[w->n % 2];
	atomic_store(&w->dependency[w->n % 2]->value, 1);
	atomic_store(&w->end[w->n % 2]->value, 1);
	w->n++;
	gp__kfd_put(&w->r.q, &packet);
	gp__kfd_ring(&w->r.q);
}

/* Ends the packet @ago before the next one. */
static int end_packet(struct waiting *w, unsigned int ago)
{
	atomic_store(&w->dependency[(w->n - ago) % 2]->value, 0);
	return resident_wait(w->end[(w->n - ago) % 2], 1);
}

int waiting_renew(struct waiting *w)
{
	waiting_ring(w);
	return end_packet(w, 2);
}

int waiting_release(struct waiting *w)
{
	if (w->hsa) {
		w->hsa->signal_store(w->go, 0);
		return w->hsa->signal_wait(w->ended, LESS, 1, PATIENCE_TICKS, 0) < 1 ? 0 : -ETIME;
	}
	return end_packet(w, 1);
}
