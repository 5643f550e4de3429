// SPDX-License-Identifier: MIT
#include "join/hsa/streams.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/api.h"
#include "device/kfd/backend.h"
#include "join/hsa/tools.h"
#include "join/preload.h"

#define STREAMS_MAX 1024 /* that are remembered; a later one replaces the oldest */
#define HIP "libamdhip64.so"
#define HIP_SUCCESS 0
#define HIP_CAPTURING 1
#define NOT_JOINED "this program was not started by 'gpreempt run', which has to see its queues"

/*
 * HIP, as the program has loaded it
 */

struct hip {
	int (*event_create)(void **event, unsigned int flags);
	int (*event_record)(void *event, void *stream);
	int (*event_destroy)(void *event);
	int (*stream_get_flags)(void *stream, unsigned int *flags);
	int (*stream_is_capturing)(void *stream, int *status);
	int (*get_device)(int *device);
	int (*set_device)(int device);
	int (*get_device_count)(int *count);
	int (*peek_at_last_error)(void);
	int (*get_last_error)(void);
	const char *(*get_error_string)(int error);
};

static int note_path(struct dl_phdr_info *info, size_t size, void *data)
{
	const char *name = strrchr(info->dlpi_name, '/');

	(void)size;
	if (!name || strncmp(name + 1, HIP, strlen(HIP)) != 0)
		return 0;
	snprintf(data, PATH_MAX, "%s", info->dlpi_name);
	return 1;
}

/* Its symbols may not be global, as in Python. False: there is no HIP, or none that is known. */
static bool find_hip(struct hip *hip)
{
	const struct {
		const char *name;
		void *to;
	} functions[] = {
		{ "hipEventCreateWithFlags", &hip->event_create },
		{ "hipEventRecord", &hip->event_record },
		{ "hipEventDestroy", &hip->event_destroy },
		{ "hipStreamGetFlags", &hip->stream_get_flags },
		{ "hipStreamIsCapturing", &hip->stream_is_capturing },
		{ "hipGetDevice", &hip->get_device },
		{ "hipSetDevice", &hip->set_device },
		{ "hipGetDeviceCount", &hip->get_device_count },
		{ "hipPeekAtLastError", &hip->peek_at_last_error },
		{ "hipGetLastError", &hip->get_last_error },
		{ "hipGetErrorString", &hip->get_error_string },
	};
	char path[PATH_MAX] = "";
	size_t found = 0;
	void *library;

	dl_iterate_phdr(note_path, path);
	library = *path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
	if (!library)
		return false;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *symbol = dlsym(library, functions[i].name);

		memcpy(functions[i].to, &symbol, sizeof(symbol));
		found += symbol != NULL;
	}
	dlclose(library); /* the program's own handle keeps it */
	return found == sizeof(functions) / sizeof(functions[0]);
}

/* The program's hipGetLastError() does not return an error of our calls. */
static void forget_error(const struct hip *hip, int before)
{
	if (before == HIP_SUCCESS && hip->peek_at_last_error() != HIP_SUCCESS)
		hip->get_last_error();
}

/*
 * Streams that were asked, and their queues then
 */

static struct {
	pthread_mutex_t lock;
	uint32_t nr, next;
	struct {
		void *stream;
		uint32_t queue;
	} known[STREAMS_MAX];
} streams = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void drop(uint32_t i)
{
	streams.known[i] = streams.known[--streams.nr];
	streams.next = 0;
}

static void remember(void *stream, uint32_t queue)
{
	uint32_t i = 0;

	while (i < streams.nr && streams.known[i].stream != stream)
		i++;
	if (i == STREAMS_MAX)
		i = streams.next++ % STREAMS_MAX;
	else if (i == streams.nr)
		streams.nr++;
	streams.known[i].stream = stream;
	streams.known[i].queue = queue;
}

void gp__hsa_streams_removed(uint32_t id)
{
	pthread_mutex_lock(&streams.lock);
	for (uint32_t i = streams.nr; i-- > 0;) {
		if (streams.known[i].queue == id)
			drop(i);
	}
	pthread_mutex_unlock(&streams.lock);
}

void gp__hsa_streams_forget(void)
{
	pthread_mutex_init(&streams.lock, NULL);
	streams.nr = streams.next = 0;
}

/* HIP does not report that a stream was destroyed. The default stream never is. */
static bool exists(const struct hip *hip, void *stream)
{
	int before = hip->peek_at_last_error();
	unsigned int flags;
	bool valid = !stream || hip->stream_get_flags(stream, &flags) == HIP_SUCCESS;

	if (!valid)
		forget_error(hip, before);
	return valid;
}

static size_t copy_known(uint32_t queue, void *found[STREAMS_MAX])
{
	size_t n = 0;

	pthread_mutex_lock(&streams.lock);
	for (uint32_t i = 0; i < streams.nr; i++) {
		if (streams.known[i].queue == queue)
			found[n++] = streams.known[i].stream;
	}
	pthread_mutex_unlock(&streams.lock);
	return n;
}

/* HIP is called without the lock: it may call back through the runtime's tables. */
static void list_sharers(const struct hip *hip, const void *stream, bool is_stream,
			 struct gp_kfd_runtime_queue *q)
{
	void *known[STREAMS_MAX];
	size_t n = copy_known(q->queue_id, known);

	for (size_t i = 0; i < n; i++) {
		if ((is_stream && known[i] == stream) || !exists(hip, known[i]))
			continue;
		if (q->nr_sharers < GP_KFD_SHARERS_MAX)
			q->sharers[q->nr_sharers] = known[i];
		q->nr_sharers++;
	}
}

/*
 * Asking a stream
 */

/* Records an event in the stream, on the current device. A HIP error, and in *@id the queue. */
static int ask(const struct hip *hip, void *stream, bool *rang, uint32_t *id)
{
	struct gp__hsa_rung before = gp__hsa_rung(), after;
	void *event;
	int error = hip->event_create(&event, 0);

	if (error)
		return error;
	error = hip->event_record(event, stream);
	after = gp__hsa_rung();
	hip->event_destroy(event);
	/* The default stream waits for others, so their doorbells may come first. */
	*rang = after.nr != before.nr;
	*id = after.id;
	return error;
}

/* An event belongs to a device, and so does a stream: the one of the stream is looked for. */
static int ask_devices(const struct hip *hip, void *stream, bool *rang, uint32_t *id)
{
	int current, n = 0, error = ask(hip, stream, rang, id);

	if (!error || !stream || hip->get_device(&current) || hip->get_device_count(&n))
		return error;
	for (int i = 0; i < n && error; i++) {
		if (i != current && !hip->set_device(i))
			error = ask(hip, stream, rang, id);
	}
	hip->set_device(current);
	return error;
}

static int find_by_id(struct gp__kfd_join *j, uint32_t id, struct gp_kfd_runtime_queue *q,
		      struct gp_error *err)
{
	struct gp__kfd_queue_info info;

	if (!gp__kfd_owner_get(gp__kfd_join_owner(j), id, &info))
		return gp__fail(err, -ENOENT, "queue %u of this process is gone", id);
	q->size = sizeof(*q);
	q->queue_id = info.id;
	q->gpu_id = info.gpu_id;
	return 0;
}

static int ask_hip(const struct hip *hip, void *stream, uint32_t *id, struct gp_error *err)
{
	int before = hip->peek_at_last_error(), status = 0, error;
	bool rang = false;

	error = hip->stream_is_capturing(stream, &status);
	if (!error && status == HIP_CAPTURING)
		return gp__fail(err, -EBUSY,
				"the stream is being captured into a graph, so its queue cannot be "
				"found; call this before or after");
	if (!error)
		error = ask_devices(hip, stream, &rang, id);
	if (error)
		gp__fail(err, -EINVAL, "HIP refuses stream %p: %s", stream,
			 hip->get_error_string(error));
	/* Also a success may come after refusals, one for each other device. */
	forget_error(hip, before);
	if (error)
		return -EINVAL;
	if (!rang)
		return gp__fail(err, -EOPNOTSUPP,
				"the runtime does not submit work of stream %p from the calling "
				"thread, so its queue is not seen; unset AMD_DIRECT_DISPATCH",
				stream);
	return 0;
}

static struct gp__kfd_join *joined(void)
{
	struct gp__process *p = gp__preload_process();

	return p ? gp__process_use(p, &gp__backend_amd) : NULL;
}

GP__PUBLIC int gp_join_queue_of_stream(void *stream, struct gp_kfd_runtime_queue *found,
				       struct gp_error *err)
{
	struct gp_kfd_runtime_queue q = { .size = sizeof(q) };
	struct gp__kfd_join *j = joined();
	struct hip hip;
	uint32_t id;
	int rc;

	if (!found)
		return gp__fail(err, -EINVAL, "the pointer for the queue is NULL");
	if (!j || !gp__kfd_join_port(j))
		return gp__fail(err, -ENOTCONN, NOT_JOINED);
	if (!find_hip(&hip))
		return gp__fail(err, -ENOENT, "this program has not loaded HIP (" HIP ")");
	/* Also brings the runtime up, which loads this library as its tool. */
	rc = ask_hip(&hip, stream, &id, err);
	if (!rc)
		rc = find_by_id(j, id, &q, err);
	if (rc)
		return rc;
	pthread_mutex_lock(&streams.lock);
	remember(stream, id);
	pthread_mutex_unlock(&streams.lock);
	list_sharers(&hip, stream, true, &q);
	return gp__struct_out(found, &q, sizeof(q));
}

GP__PUBLIC int gp_join_queue_of_hsa(const void *hsa_queue, struct gp_kfd_runtime_queue *found,
				    struct gp_error *err)
{
	const struct gp__hsa_queue *hsa = hsa_queue;
	struct gp_kfd_runtime_queue q = { .size = sizeof(q) };
	struct gp__kfd_queue_info info;
	struct gp__kfd_join *j = joined();
	struct hip hip;

	if (!found || !hsa)
		return gp__fail(err, -EINVAL, "the pointer %s is NULL",
				found ? "to the HSA queue" : "for the queue");
	if (!j)
		return gp__fail(err, -ENOTCONN, NOT_JOINED);
	if (!gp__kfd_owner_find(gp__kfd_join_owner(j), (const void *)&hsa->write_index, &info))
		return gp__fail(
			err, -ENOENT,
			"no queue of this process has its indices at %p: it was destroyed, or "
			"a profiler stands between",
			hsa_queue);
	q.queue_id = info.id;
	q.gpu_id = info.gpu_id;
	if (find_hip(&hip))
		list_sharers(&hip, NULL, false, &q);
	return gp__struct_out(found, &q, sizeof(q));
}
