// SPDX-License-Identifier: MIT
/* Replaces functions of the HSA runtime, so that launches are seen and can be withheld. */
#include "join/hsa/tools.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "join/hsa/address_map.h"
#include "join/hsa/wait.h"

#define HSA_SUCCESS 0

struct queue {
	struct gp__address_entry entry; /* by the address of the runtime's queue */
	struct queue *next; /* in the list of all; under the lock */
	struct gp__hsa_queue *hsa;
	uint32_t id;
	atomic_bool busy; /* arrivals need not be reported */
	bool has_window;
	bool held;
	bool told_foreign;
	struct gp__aql_ring ring;
	/* NULL: packets are not retained. */
	struct gp__aql_retained *retained;
	void *program_ring, *queue_ring;
};

typedef uint32_t create_fn(uint64_t agent, uint32_t size, uint32_t type, void *callback, void *data,
			   uint32_t private_bytes, uint32_t group_bytes,
			   struct gp__hsa_queue **queue);
typedef uint32_t destroy_fn(struct gp__hsa_queue *queue);
typedef uint64_t load_fn(const struct gp__hsa_queue *queue);
typedef void store_fn(const struct gp__hsa_queue *queue, uint64_t value);
typedef uint64_t cas_fn(const struct gp__hsa_queue *queue, uint64_t expected, uint64_t value);
typedef uint64_t add_fn(const struct gp__hsa_queue *queue, uint64_t value);
typedef uint32_t signal_create_fn(int64_t value, uint32_t nr_consumers, const uint64_t *consumers,
				  uint64_t *signal);
typedef uint32_t signal_destroy_fn(uint64_t signal);
typedef void signal_subtract_fn(uint64_t signal, int64_t value);
typedef void signal_store_fn(uint64_t signal, int64_t value);

static struct {
	struct gp__hsa_host host;
	pthread_mutex_t lock; /* of the list, of changes to the map, and of `loaded` and `narrow` */
	struct gp__address_map queues;
	struct queue *first;
	const struct gp__hsa_table *table; /* the one with our functions; valid while loaded */
	bool loaded;
	bool narrow; /* windows of queues that are not held */
	gp__hsa_fn *core[GP__HSA_CORE_FNS];
	struct gp__hsa_waits waits;
} hsa = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The runtime's own function, with its type. */
#define NEXT(which, type) ((type *)hsa.core[which])

static struct queue *find(const struct gp__hsa_queue *hsa_queue)
{
	return (struct queue *)gp__address_map_find(&hsa.queues, hsa_queue);
}

/* Under the lock. */
static struct queue *find_id(uint32_t id)
{
	struct queue *q = hsa.first;

	while (q && q->id != id)
		q = q->next;
	return q;
}

/*
 * Queues
 */

static void ring_doorbell(void *data, uint64_t index)
{
	const struct queue *q = data;

	NEXT(GP__HSA_SIGNAL_STORE_SCRELEASE, signal_store_fn)(q->hsa->doorbell, (int64_t)index);
}

/* Under the lock, or before the queue is in the list. */
static void set_gate(struct queue *q)
{
	enum gp__aql_gate gate = hsa.narrow ? GP__AQL_NARROW : GP__AQL_OPEN;

	gp__aql_ring_set_gate(&q->ring, q->held ? GP__AQL_HELD : gate);
}

/*
 * Retained packets
 */

static void end_packet(void *data, uint64_t signal)
{
	(void)data;
	NEXT(GP__HSA_SIGNAL_SUBTRACT_SCRELEASE, signal_subtract_fn)(signal, 1);
}

static void destroy_signals(const uint64_t *signal, uint32_t n)
{
	while (n)
		NEXT(GP__HSA_SIGNAL_DESTROY, signal_destroy_fn)(signal[--n]);
}

/* Only the GPU uses these signals, so they raise no interrupts. */
static bool make_signals(uint64_t agent, uint64_t signal[GP__AQL_RETAINED_MAX])
{
	for (uint32_t i = 0; i < GP__AQL_RETAINED_MAX; i++) {
		if (NEXT(GP__HSA_SIGNAL_CREATE, signal_create_fn)(0, 1, &agent, &signal[i])) {
			destroy_signals(signal, i);
			return false;
		}
	}
	return true;
}

static void free_retained(struct queue *q)
{
	free(q->program_ring);
	free(q->retained);
	q->program_ring = NULL;
	q->retained = NULL;
}

/* Without memory for it, packets of the queue are not dropped. */
static void retain_packets(struct queue *q, uint64_t agent)
{
	uint64_t own[GP__AQL_RETAINED_MAX];

	q->retained = malloc(sizeof(*q->retained));
	q->program_ring = aligned_alloc(64, q->hsa->size * sizeof(struct gp__aql_packet));
	if (!q->retained || !q->program_ring || !make_signals(agent, own)) {
		free_retained(q);
		return;
	}
	q->queue_ring = q->hsa->ring;
	memset(q->program_ring, 0, q->hsa->size * sizeof(struct gp__aql_packet));
	gp__aql_retained_init(q->retained, q->program_ring, q->queue_ring, q->hsa->size,
			      atomic_load(&q->hsa->write_index), own);
	q->retained->end = end_packet;
	gp__aql_ring_retain(&q->ring, q->retained);
	q->hsa->ring = q->program_ring;
}

/* Reports packets that have ended, before the queue is destroyed. */
static void stop_retaining(struct queue *q)
{
	gp__aql_ring_set_gate(&q->ring, GP__AQL_HELD);
	q->hsa->ring = q->queue_ring;
}

/*
 * Windows
 */

static void add_window(struct queue *q, uint64_t agent)
{
	q->has_window = true;
	gp__aql_ring_init(&q->ring, &q->hsa->read_index, &q->hsa->write_index, ring_doorbell, q);
	if (hsa.host.retains)
		retain_packets(q, agent);
	else if (hsa.host.width)
		gp__aql_ring_set_width(&q->ring, hsa.host.width);
	else if (hsa.host.budget_ns)
		gp__aql_ring_set_budget(&q->ring, hsa.host.budget_ns);
	set_gate(q);
}

/* The GPU no longer writes the queue's signals. */
static void free_queue(struct queue *q)
{
	if (q->retained)
		destroy_signals(q->retained->own, GP__AQL_RETAINED_MAX);
	free_retained(q);
	if (q->has_window)
		gp__aql_ring_destroy(&q->ring);
	free(q);
}

static void add_queue(struct gp__hsa_queue *hsa_queue, uint64_t agent)
{
	struct queue *q;
	uint32_t id;
	bool known;

	if (!hsa.host.find(hsa.host.data, (const void *)&hsa_queue->write_index, &id))
		return;
	q = calloc(1, sizeof(*q));
	if (!q)
		return;
	q->entry.address = q->hsa = hsa_queue;
	q->id = id;
	pthread_mutex_lock(&hsa.lock);
	if (hsa.host.windows)
		add_window(q, agent);
	known = gp__address_map_add(&hsa.queues, &q->entry);
	if (known) {
		q->next = hsa.first;
		hsa.first = q;
	}
	pthread_mutex_unlock(&hsa.lock);
	if (known) {
		hsa.host.added(hsa.host.data, id, (const void *)&hsa_queue->write_index);
		return;
	}
	if (q->retained)
		stop_retaining(q);
	free_queue(q);
}

/* NULL: the queue is not known. */
static struct queue *remove_queue(const struct gp__hsa_queue *hsa_queue)
{
	struct queue *q, **link = &hsa.first;

	pthread_mutex_lock(&hsa.lock);
	q = (struct queue *)gp__address_map_remove(&hsa.queues, hsa_queue);
	while (q && *link != q)
		link = &(*link)->next;
	if (q)
		*link = q->next;
	pthread_mutex_unlock(&hsa.lock);
	if (q && q->retained)
		stop_retaining(q);
	return q;
}

static uint32_t queue_create(uint64_t agent, uint32_t size, uint32_t type, void *callback,
			     void *data, uint32_t private_bytes, uint32_t group_bytes,
			     struct gp__hsa_queue **queue)
{
	uint32_t status = NEXT(GP__HSA_QUEUE_CREATE, create_fn)(agent, size, type, callback, data,
								private_bytes, group_bytes, queue);

	if (status == HSA_SUCCESS)
		add_queue(*queue, agent);
	return status;
}

static uint32_t queue_destroy(struct gp__hsa_queue *queue)
{
	struct queue *q = queue ? remove_queue(queue) : NULL;
	uint32_t status = NEXT(GP__HSA_QUEUE_DESTROY, destroy_fn)(queue);

	if (q)
		free_queue(q);
	return status;
}

/*
 * The doorbell
 */

/* Initial-exec, so that noting it costs a launch two stores. */
static _Thread_local struct gp__hsa_rung rung __attribute__((tls_model("initial-exec")));

struct gp__hsa_rung gp__hsa_rung(void)
{
	return rung;
}

/* A launch is no cancellation point, and the report takes locks. */
static void tell_arrived(const struct queue *q)
{
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	hsa.host.arrived(hsa.host.data, q->id);
	pthread_setcancelstate(before, NULL);
}

static void ring(struct queue *q, uint64_t signal, int64_t value, signal_store_fn *store)
{
	rung.nr++;
	rung.id = q->id;
	if (q->has_window)
		gp__aql_ring_announce(&q->ring, (uint64_t)value);
	else
		store(signal, value);
	/*
	 * gp__hsa_rest() clears `busy` and then makes every thread pass a barrier: so either that
	 * is seen here, or the work is seen there.
	 */
	atomic_signal_fence(memory_order_seq_cst);
	if (!atomic_load_explicit(&q->busy, memory_order_relaxed) &&
	    !atomic_exchange(&q->busy, true))
		tell_arrived(q);
}

static void store_signal(uint64_t signal, int64_t value, signal_store_fn *store)
{
	const struct gp__hsa_signal *s = (const struct gp__hsa_signal *)(uintptr_t)signal;
	struct queue *q = s && s->kind < 0 ? find(s->queue) : NULL;

	if (q)
		ring(q, signal, value, store);
	else
		store(signal, value);
}

static void signal_store_relaxed(uint64_t signal, int64_t value)
{
	store_signal(signal, value, NEXT(GP__HSA_SIGNAL_STORE_RELAXED, signal_store_fn));
}

static void signal_store_screlease(uint64_t signal, int64_t value)
{
	store_signal(signal, value, NEXT(GP__HSA_SIGNAL_STORE_SCRELEASE, signal_store_fn));
}

/*
 * Waiting for signals
 */

#define WAIT(name, which)                                                                       \
	static int64_t wait_##name(uint64_t signal, uint32_t condition, int64_t value,          \
				   uint64_t timeout, uint32_t state)                            \
	{                                                                                       \
		return gp__hsa_wait(&hsa.waits, NEXT(GP__HSA_SYSTEM_GET_INFO, gp__hsa_info_fn), \
				    NEXT(GP__HSA_SIGNAL_WAIT_##which, gp__hsa_wait_fn), signal, \
				    condition, value, timeout, state);                          \
	}
WAIT(relaxed, RELAXED)
WAIT(scacquire, SCACQUIRE)

void gp__hsa_set_held(bool held)
{
	atomic_store_explicit(&hsa.waits.held, held, memory_order_relaxed);
}

/*
 * Indices of queues that have a window
 */

#define LOAD_READ(name, which)                                                             \
	static uint64_t load_read_##name(const struct gp__hsa_queue *queue)                \
	{                                                                                  \
		struct queue *q = find(queue);                                             \
                                                                                           \
		return q && q->retained ? gp__aql_ring_read(&q->ring)                      \
					: NEXT(GP__HSA_LOAD_READ_##which, load_fn)(queue); \
	}
LOAD_READ(scacquire, SCACQUIRE)
LOAD_READ(relaxed, RELAXED)

static _Atomic uint64_t *program_index(const struct gp__hsa_queue *queue)
{
	struct queue *q = find(queue);

	if (!q || !q->has_window)
		return NULL;
	gp__aql_ring_look(&q->ring);
	return &q->ring.write;
}

#define LOAD(name, which, order)                                                 \
	static uint64_t load_write_##name(const struct gp__hsa_queue *queue)     \
	{                                                                        \
		const _Atomic uint64_t *write = program_index(queue);            \
                                                                                 \
		return write ? atomic_load_explicit(write, order)                \
			     : NEXT(GP__HSA_LOAD_WRITE_##which, load_fn)(queue); \
	}
LOAD(scacquire, SCACQUIRE, memory_order_acquire)
LOAD(relaxed, RELAXED, memory_order_relaxed)

#define STORE(name, which, order)                                                         \
	static void store_write_##name(const struct gp__hsa_queue *queue, uint64_t value) \
	{                                                                                 \
		_Atomic uint64_t *write = program_index(queue);                           \
                                                                                          \
		if (write)                                                                \
			atomic_store_explicit(write, value, order);                       \
		else                                                                      \
			NEXT(GP__HSA_STORE_WRITE_##which, store_fn)(queue, value);        \
	}
STORE(relaxed, RELAXED, memory_order_relaxed)
STORE(screlease, SCRELEASE, memory_order_release)

#define CAS(name, which, order)                                                                 \
	static uint64_t cas_write_##name(const struct gp__hsa_queue *queue, uint64_t expected,  \
					 uint64_t value)                                        \
	{                                                                                       \
		_Atomic uint64_t *write = program_index(queue);                                 \
                                                                                                \
		if (!write)                                                                     \
			return NEXT(GP__HSA_CAS_WRITE_##which, cas_fn)(queue, expected, value); \
		atomic_compare_exchange_strong_explicit(write, &expected, value, order,         \
							memory_order_relaxed);                  \
		return expected;                                                                \
	}
CAS(scacq_screl, SCACQ_SCREL, memory_order_acq_rel)
CAS(scacquire, SCACQUIRE, memory_order_acquire)
CAS(relaxed, RELAXED, memory_order_relaxed)
CAS(screlease, SCRELEASE, memory_order_release)

#define ADD(name, which, order)                                                             \
	static uint64_t add_write_##name(const struct gp__hsa_queue *queue, uint64_t value) \
	{                                                                                   \
		_Atomic uint64_t *write = program_index(queue);                             \
                                                                                            \
		return write ? atomic_fetch_add_explicit(write, value, order)               \
			     : NEXT(GP__HSA_ADD_WRITE_##which, add_fn)(queue, value);       \
	}
ADD(scacq_screl, SCACQ_SCREL, memory_order_acq_rel)
ADD(scacquire, SCACQUIRE, memory_order_acquire)
ADD(relaxed, RELAXED, memory_order_relaxed)
ADD(screlease, SCRELEASE, memory_order_release)

/*
 * The tables
 */

enum for_whom { FOR_ALL, FOR_WINDOWS, FOR_RETAINED };

static const struct {
	enum gp__hsa_core_fn which;
	enum for_whom whom;
	gp__hsa_fn *ours;
} replaced[] = {
	{ GP__HSA_QUEUE_CREATE, FOR_ALL, (gp__hsa_fn *)queue_create },
	{ GP__HSA_QUEUE_DESTROY, FOR_ALL, (gp__hsa_fn *)queue_destroy },
	{ GP__HSA_SIGNAL_STORE_RELAXED, FOR_ALL, (gp__hsa_fn *)signal_store_relaxed },
	{ GP__HSA_SIGNAL_STORE_SCRELEASE, FOR_ALL, (gp__hsa_fn *)signal_store_screlease },
	{ GP__HSA_SIGNAL_WAIT_RELAXED, FOR_ALL, (gp__hsa_fn *)wait_relaxed },
	{ GP__HSA_SIGNAL_WAIT_SCACQUIRE, FOR_ALL, (gp__hsa_fn *)wait_scacquire },
	{ GP__HSA_LOAD_READ_SCACQUIRE, FOR_RETAINED, (gp__hsa_fn *)load_read_scacquire },
	{ GP__HSA_LOAD_READ_RELAXED, FOR_RETAINED, (gp__hsa_fn *)load_read_relaxed },
	{ GP__HSA_LOAD_WRITE_SCACQUIRE, FOR_WINDOWS, (gp__hsa_fn *)load_write_scacquire },
	{ GP__HSA_LOAD_WRITE_RELAXED, FOR_WINDOWS, (gp__hsa_fn *)load_write_relaxed },
	{ GP__HSA_STORE_WRITE_RELAXED, FOR_WINDOWS, (gp__hsa_fn *)store_write_relaxed },
	{ GP__HSA_STORE_WRITE_SCRELEASE, FOR_WINDOWS, (gp__hsa_fn *)store_write_screlease },
	{ GP__HSA_CAS_WRITE_SCACQ_SCREL, FOR_WINDOWS, (gp__hsa_fn *)cas_write_scacq_screl },
	{ GP__HSA_CAS_WRITE_SCACQUIRE, FOR_WINDOWS, (gp__hsa_fn *)cas_write_scacquire },
	{ GP__HSA_CAS_WRITE_RELAXED, FOR_WINDOWS, (gp__hsa_fn *)cas_write_relaxed },
	{ GP__HSA_CAS_WRITE_SCRELEASE, FOR_WINDOWS, (gp__hsa_fn *)cas_write_screlease },
	{ GP__HSA_ADD_WRITE_SCACQ_SCREL, FOR_WINDOWS, (gp__hsa_fn *)add_write_scacq_screl },
	{ GP__HSA_ADD_WRITE_SCACQUIRE, FOR_WINDOWS, (gp__hsa_fn *)add_write_scacquire },
	{ GP__HSA_ADD_WRITE_RELAXED, FOR_WINDOWS, (gp__hsa_fn *)add_write_relaxed },
	{ GP__HSA_ADD_WRITE_SCRELEASE, FOR_WINDOWS, (gp__hsa_fn *)add_write_screlease },
};

static const char *obstacle(const struct gp__hsa_table *table)
{
	const struct gp__hsa_version *root = &table->version, *core = &table->core->version;

	if (root->major > GP__HSA_TABLE_MAJOR_MAX || root->bytes < sizeof(*table) ||
	    core->major > GP__HSA_CORE_MAJOR_MAX || core->bytes < sizeof(*table->core))
		return "its tables of functions have an unknown version";
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0))
		return "the kernel has no membarrier()";
	return NULL;
}

bool gp__hsa_load(struct gp__hsa_table *table, const struct gp__hsa_host *host, const char **why)
{
	enum for_whom whom = host->retains ? FOR_RETAINED : host->windows ? FOR_WINDOWS : FOR_ALL;

	*why = obstacle(table);
	if (*why)
		return false;
	hsa.host = *host;
	for (int i = 0; i < GP__HSA_CORE_FNS; i++)
		hsa.core[i] = table->core->fn[i];
	for (size_t i = 0; i < sizeof(replaced) / sizeof(replaced[0]); i++) {
		if (replaced[i].whom <= whom)
			table->core->fn[replaced[i].which] = replaced[i].ours;
	}
	hsa.table = table;
	hsa.loaded = true;
	return true;
}

/* Removes a queue without calling the runtime, which may be shutting down. Under the lock. */
static void abandon(struct queue **link)
{
	struct queue *q = *link;

	*link = q->next;
	gp__address_map_remove(&hsa.queues, q->hsa);
	if (q->retained)
		stop_retaining(q);
	free_retained(q);
	free(q);
}

/* Queues that were not destroyed vanish with the runtime. */
void gp__hsa_unload(void)
{
	pthread_mutex_lock(&hsa.lock);
	while (hsa.first)
		abandon(&hsa.first);
	hsa.loaded = false;
	pthread_mutex_unlock(&hsa.lock);
}

void gp__hsa_renew(const struct gp__hsa_table *table)
{
	bool fresh = table->core->fn[GP__HSA_QUEUE_CREATE] != (gp__hsa_fn *)queue_create;

	if (fresh && gp__hsa_is_loaded() && table == hsa.table)
		gp__hsa_unload();
}

void gp__hsa_removed(uint32_t id)
{
	struct queue **link = &hsa.first;

	pthread_mutex_lock(&hsa.lock);
	while (*link && (*link)->id != id)
		link = &(*link)->next;
	if (*link)
		abandon(link);
	pthread_mutex_unlock(&hsa.lock);
}

/* Threads that the child does not have may have held locks, so memory is not freed but left. */
void gp__hsa_forget(void)
{
	pthread_mutex_init(&hsa.lock, NULL);
	memset(&hsa.queues, 0, sizeof(hsa.queues));
	hsa.first = NULL;
	hsa.loaded = hsa.narrow = false;
	gp__hsa_set_held(false);
}

/*
 * For the backend
 */

bool gp__hsa_is_loaded(void)
{
	bool loaded;

	pthread_mutex_lock(&hsa.lock);
	loaded = hsa.loaded;
	pthread_mutex_unlock(&hsa.lock);
	return loaded;
}

/* Takes the lock; NULL: there is no such queue, but the lock is taken, too. */
static struct queue *lock_id(uint32_t id)
{
	pthread_mutex_lock(&hsa.lock);
	return find_id(id);
}

void gp__hsa_rest(uint32_t id)
{
	struct queue *q = lock_id(id);

	if (q)
		atomic_store(&q->busy, false);
	pthread_mutex_unlock(&hsa.lock);
	if (q)
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

bool gp__hsa_waits(uint32_t id)
{
	struct queue *q = lock_id(id);
	bool waits = q && q->has_window && gp__aql_ring_waits(&q->ring);

	pthread_mutex_unlock(&hsa.lock);
	return waits;
}

int gp__hsa_hold(uint32_t id, bool held)
{
	struct queue *q = lock_id(id);
	int err = -ENOENT;

	if (q && q->has_window) {
		q->held = held;
		set_gate(q);
		err = 0;
	}
	pthread_mutex_unlock(&hsa.lock);
	return err;
}

bool gp__hsa_hold_to_drop(uint32_t id)
{
	struct queue *q = lock_id(id);
	bool can = false;

	if (q && q->retained && !q->held) {
		q->held = true;
		set_gate(q);
		can = gp__aql_ring_can_drop(&q->ring);
	}
	pthread_mutex_unlock(&hsa.lock);
	return can;
}

void gp__hsa_dropped(uint32_t id)
{
	struct queue *q = lock_id(id);

	if (q && q->retained)
		gp__aql_ring_drop(&q->ring);
	pthread_mutex_unlock(&hsa.lock);
}

void gp__hsa_narrow(bool narrow)
{
	pthread_mutex_lock(&hsa.lock);
	hsa.narrow = narrow;
	for (struct queue *q = hsa.first; q; q = q->next) {
		if (q->has_window)
			set_gate(q);
	}
	pthread_mutex_unlock(&hsa.lock);
}

bool gp__hsa_advance(uint64_t now)
{
	bool waits = false, foreign = false;
	uint32_t id = 0;

	pthread_mutex_lock(&hsa.lock);
	for (struct queue *q = hsa.first; q; q = q->next) {
		if (!q->has_window)
			continue;
		waits |= gp__aql_ring_advance(&q->ring, now);
		/* The others are reported with the next calls. */
		if (!foreign && !q->told_foreign && gp__aql_ring_is_foreign(&q->ring)) {
			q->told_foreign = foreign = true;
			id = q->id;
		}
	}
	pthread_mutex_unlock(&hsa.lock);
	if (foreign)
		hsa.host.foreign(hsa.host.data, id);
	return waits;
}
