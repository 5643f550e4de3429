// SPDX-License-Identifier: MIT
#include "device/kfd/list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/kfd/queue.h"

#define KFD "/sys/class/kfd/kfd"
#define ENVIRON_MAX (4u << 20)
/* The driver's own numbers for queue types, which differ from the ioctl's. */
#define DRIVER_COMPUTE 0
#define DRIVER_SDMA 1
#define DRIVER_SDMA_XGMI 4
#define DRIVER_SDMA_BY_ENGINE 5

/*
 * Files
 */

/* Reads up to @size bytes. Returns how many, or -errno. */
static ssize_t read_at(int dir, const char *path, char *text, size_t size)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = 1;

	if (fd < 0)
		return -errno;
	while (len < size && n > 0) {
		n = read(fd, text + len, size - len);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0)
			len += (size_t)n;
	}
	if (n < 0)
		n = -errno;
	close(fd);
	return n < 0 ? n : (ssize_t)len;
}

static bool read_number(int dir, const char *path, uint64_t max, uint64_t *value)
{
	char text[64];
	ssize_t n = read_at(dir, path, text, sizeof(text));

	return n > 0 && gp__kfd_number_parse(text, (size_t)n, max, value);
}

/* Calls @each with every number that is a folder's name in @path. 0 or -errno. */
static int for_numbers(const char *path, uint64_t max, int (*each)(void *arg, uint32_t number),
		       void *arg)
{
	DIR *dir = opendir(path);
	struct dirent *d;
	uint64_t number;
	int err = 0;

	if (!dir)
		return -errno;
	/* cppcheck-suppress readdirCalled; the stream is this call's own */
	while (!err && (d = readdir(dir))) {
		if (gp__kfd_number_parse(d->d_name, strlen(d->d_name), max, &number))
			err = each(arg, (uint32_t)number);
	}
	closedir(dir);
	return err;
}

/*
 * sysfs
 */

struct walk {
	const struct gp__kfd_places *from;
	struct gp__kfd_list *list;
	size_t room;
	pid_t pid;
	int priority;
};

static bool type_of(uint64_t driver, uint32_t *type)
{
	switch (driver) {
	case DRIVER_COMPUTE:
		*type = GP_KFD_QUEUE_COMPUTE;
		return true;
	case DRIVER_SDMA:
		*type = GP_KFD_QUEUE_SDMA;
		return true;
	case DRIVER_SDMA_XGMI:
		*type = GP_KFD_QUEUE_SDMA_XGMI;
		return true;
	case DRIVER_SDMA_BY_ENGINE:
		*type = GP_KFD_QUEUE_SDMA_BY_ENGINE;
		return true;
	default:
		return false;
	}
}

static int append(struct walk *w, const struct gp__kfd_listed *q)
{
	struct gp__kfd_list *list = w->list;

	if (list->nr == w->room) {
		size_t room = w->room ? 2 * w->room : 64;
		struct gp__kfd_listed *more = realloc(list->queue, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		list->queue = more;
		w->room = room;
	}
	list->queue[list->nr++] = *q;
	return 0;
}

/* -1: the kernel does not show the number, or shows -1. */
static int64_t number_or_none(int dir, const char *path)
{
	uint64_t value;

	return read_number(dir, path, INT64_MAX, &value) ? (int64_t)value : -1;
}

static bool read_own_priority(int dir, int *own)
{
	char text[8];
	ssize_t n = read_at(dir, "own_priority", text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	*own = atoi(text);
	return n > 0 && *own >= -1 && *own <= 1;
}

/* Reads a word; "": there is none. */
static void read_word(int dir, const char *path, char *word, size_t size)
{
	ssize_t n = read_at(dir, path, word, size - 1);

	word[n > 0 ? n : 0] = '\0';
	word[strspn(word, "abcdefghijklmnopqrstuvwxyz-")] = '\0';
}

static void read_kernel_state(int dir, struct gp__kfd_kernel_state *s)
{
	*s = (struct gp__kfd_kernel_state){ .priority = -1,
					    .effective = -1,
					    .pending = -1,
					    .preempted_ms = -1,
					    .preemptions = -1 };
	read_word(dir, "state", s->state, sizeof(s->state));
	if (!*s->state)
		return;
	s->priority = (int)number_or_none(dir, "logical_priority");
	s->effective = (int)number_or_none(dir, "effective_priority");
	s->has_own = read_own_priority(dir, &s->own);
	s->pending = number_or_none(dir, "pending");
	s->preempted_ms = number_or_none(dir, "preempted_ms");
	s->preemptions = number_or_none(dir, "preemptions");
}

static int look_at_queue(void *arg, uint32_t id)
{
	struct walk *w = arg;
	uint64_t gpu_id, size, type;
	struct gp__kfd_listed q = { .pid = w->pid,
				    .queue_id = id,
				    .priority = w->priority,
				    .priority_from = GP__KFD_FROM_CALLER,
				    .hw_priority = -1 };
	char path[PATH_MAX];
	bool there;
	int dir;

	snprintf(path, sizeof(path), "%s/proc/%d/queues/%u", w->from->kfd, (int)w->pid, id);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0) /* it has gone */
		return 0;
	there = read_number(dir, "gpuid", UINT32_MAX, &gpu_id) &&
		read_number(dir, "size", UINT64_MAX, &size) &&
		read_number(dir, "type", UINT32_MAX, &type) && type_of(type, &q.type);
	read_kernel_state(dir, &q.kernel);
	close(dir);
	if (!there)
		return 0;
	q.gpu_id = (uint32_t)gpu_id;
	q.ring_bytes = size;
	return append(w, &q);
}

static int look_at_process(void *arg, uint32_t pid)
{
	struct walk *w = arg;
	char path[PATH_MAX];
	int err;

	w->pid = (pid_t)pid;
	snprintf(path, sizeof(path), "%s/proc/%u/queues", w->from->kfd, pid);
	err = for_numbers(path, UINT32_MAX, look_at_queue, w);
	/* A queue that is gone or unreadable does not end the walk. */
	return err == -ENOMEM ? err : 0;
}

static int look_at_all(struct walk *w)
{
	char path[PATH_MAX];
	int err;

	snprintf(path, sizeof(path), "%s/proc", w->from->kfd);
	err = for_numbers(path, INT_MAX, look_at_process, w);
	if (err != -ENOENT)
		return err;
	/* Old drivers show no processes. */
	return access(w->from->kfd, F_OK) ? -ENODEV : 0;
}

static int compare(const void *a, const void *b)
{
	const struct gp__kfd_listed *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->queue_id < y->queue_id ? -1 : x->queue_id > y->queue_id;
}

/*
 * Environments
 */

static int read_environ(const struct gp__kfd_places *from, pid_t pid, struct gp__kfd_wishes *wishes)
{
	char path[PATH_MAX], *text = malloc(ENVIRON_MAX);
	ssize_t n;

	*wishes = (struct gp__kfd_wishes){ 0 };
	if (!text)
		return -ENOMEM;
	snprintf(path, sizeof(path), "%s/%d/environ", from->proc, (int)pid);
	n = read_at(AT_FDCWD, path, text, ENVIRON_MAX);
	if (n > 0)
		gp__kfd_wishes_parse(text, (size_t)n, wishes);
	free(text);
	if (n == -ENOENT || n == -ESRCH) /* it has gone */
		n = 0;
	return n < 0 ? (int)n : 0;
}

static void apply(struct gp__kfd_listed *q, const struct gp__kfd_wishes *wishes,
		  enum gp__kfd_source source)
{
	if (wishes->has_priority) {
		q->priority = wishes->priority;
		q->priority_from = source;
	}
	if (wishes->has_tag)
		memcpy(q->tag, wishes->tag, sizeof(q->tag));
}

static void read_wishes(const struct gp__kfd_places *from, struct gp__kfd_list *list)
{
	struct gp__kfd_wishes wishes;
	pid_t pid = -1;
	int err;

	for (size_t i = 0; i < list->nr; i++) {
		struct gp__kfd_listed *q = &list->queue[i];
		bool own = q->pid == getpid();

		if (q->pid != pid) {
			pid = q->pid;
			err = 0;
			if (own)
				gp__kfd_wishes_own(&wishes);
			else
				err = read_environ(from, pid, &wishes);
			if (err)
				list->environ_error = err;
		}
		apply(q, &wishes, own ? GP__KFD_FROM_AGENT : GP__KFD_FROM_ENVIRON);
	}
}

/*
 * debugfs
 */

static bool may_be(const struct gp__kfd_listed *q, const struct gp__kfd_mqd *mqd)
{
	return mqd->pid == q->pid && mqd->gpu_id == q->gpu_id &&
	       mqd->sdma != gp__kfd_is_compute(q->type) && mqd->ring_bytes == q->ring_bytes;
}

/*
 * Debugfs does not name the queue of a descriptor. A property is known if all descriptors agree on
 * it that can belong to the queue.
 */
static void resolve(const struct gp__kfd_list *list, struct gp__kfd_listed *q)
{
	const struct gp__kfd_mqd *first = NULL;
	bool same_mapped = true, same_priority = true, all_aql = true;

	for (size_t i = 0; i < list->mqds.nr; i++) {
		const struct gp__kfd_mqd *mqd = &list->mqds.mqd[i];

		if (!may_be(q, mqd))
			continue;
		if (!first)
			first = mqd;
		same_mapped &= mqd->mapped == first->mapped;
		same_priority &= mqd->priority == first->priority;
		all_aql &= mqd->aql;
	}
	if (!first)
		return;
	q->active_known = same_mapped && first->mapped >= 0;
	q->active = q->active_known && first->mapped;
	if (!gp__kfd_is_compute(q->type))
		return;
	if (all_aql)
		q->type = GP_KFD_QUEUE_COMPUTE_AQL;
	if (!same_priority)
		return;
	q->hw_priority = (int)first->priority;
	if (q->priority_from > GP__KFD_FROM_QUEUE) {
		q->priority = q->hw_priority;
		q->priority_from = GP__KFD_FROM_QUEUE;
	}
}

static bool is_known(const struct gp__kfd_places *from, uint32_t gpu_id)
{
	for (size_t i = 0; i < from->nr_nodes; i++) {
		if (from->node[i].gpu_id == gpu_id)
			return gp__kfd_mqd_known(from->node[i].gfx_version);
	}
	return false;
}

/* 1: it was read; 0: it does not exist; or -errno. */
static int read_dump(const char *folder, const char *name,
		     int (*reader)(FILE *in, struct gp__kfd_mqds *mqds), struct gp__kfd_mqds *mqds)
{
	char path[PATH_MAX];
	FILE *f;
	int err;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "re");
	if (!f)
		return errno == ENOENT ? 0 : -errno;
	err = reader(f, mqds);
	if (!err && ferror(f))
		err = -EIO;
	fclose(f);
	return err ? err : 1;
}

static void read_debugfs(const struct gp__kfd_places *from, struct gp__kfd_list *list)
{
	struct gp__kfd_mqds hqds = { 0 };
	int err = read_dump(from->debugfs, "mqds", gp__kfd_mqds_read, &list->mqds);
	size_t kept = 0;

	if (err > 0)
		err = read_dump(from->debugfs, "hqds", gp__kfd_hqds_read, &hqds);
	if (err < 0)
		list->debugfs_error = err;
	for (size_t i = 0; i < list->mqds.nr; i++) {
		struct gp__kfd_mqd mqd = list->mqds.mqd[i];

		mqd.mapped = gp__kfd_mqd_mapped(&mqd, &hqds);
		if (is_known(from, mqd.gpu_id))
			list->mqds.mqd[kept++] = mqd;
	}
	list->mqds.nr = kept;
	gp__kfd_mqds_free(&hqds);
	for (size_t i = 0; i < list->nr; i++)
		resolve(list, &list->queue[i]);
}

/*
 * The list
 */

int gp__kfd_list_from(const struct gp__kfd_places *from, struct gp__kfd_list *list, int priority)
{
	struct walk w = { .from = from, .list = list, .priority = priority };
	int err;

	*list = (struct gp__kfd_list){ 0 };
	err = look_at_all(&w);
	if (err) {
		gp__kfd_list_free(list);
		return err;
	}
	if (!list->nr)
		return 0;
	qsort(list->queue, list->nr, sizeof(*list->queue), compare);
	if (from->proc)
		read_wishes(from, list);
	if (from->debugfs)
		read_debugfs(from, list);
	return 0;
}

int gp__kfd_list(struct gp__kfd_list *list, int priority)
{
	struct gp__kfd_node node[GP__KFD_NODES_MAX];
	int nr = gp__kfd_nodes(node);
	const struct gp__kfd_places from = { .kfd = KFD,
					     .debugfs = "/sys/kernel/debug/kfd",
					     .proc = "/proc",
					     .node = node,
					     .nr_nodes = nr > 0 ? (size_t)nr : 0 };

	return gp__kfd_list_from(&from, list, priority);
}

int gp__kfd_list_plain(struct gp__kfd_list *list)
{
	const struct gp__kfd_places from = { .kfd = KFD };

	return gp__kfd_list_from(&from, list, 0);
}

void gp__kfd_list_free(struct gp__kfd_list *list)
{
	free(list->queue);
	gp__kfd_mqds_free(&list->mqds);
	*list = (struct gp__kfd_list){ 0 };
}
