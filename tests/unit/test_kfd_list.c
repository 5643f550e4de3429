// SPDX-License-Identifier: MIT
/* Lists queues from files of sysfs, debugfs and /proc with any contents. */
#include "device/kfd/list.h"
#include "device/kfd/queue.h"
#include "test.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GPU 0xfa4e
#define OTHER_GPU 0x1234
#define OLD_GPU 0x800
#define RING_BYTES 65536
#define DEFAULT_PRIORITY 7

/*
 * A tree of files
 */

struct tree {
	char root[64], kfd[96], debugfs[96], proc[96];
	struct gp__kfd_node node[3];
	struct gp__kfd_places from;
};

static void put_bytes(struct tree *t, const char *text, size_t size, const char *path)
{
	char full[PATH_MAX];
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", t->root, path);
	for (char *slash = strchr(full + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(full, 0700);
		*slash = '/';
	}
	f = fopen(full, "we");
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

static void put(struct tree *t, const char *path, const char *text)
{
	put_bytes(t, text, strlen(text), path);
}

static void put_queue(struct tree *t, int pid, int id, const char *gpu, const char *size,
		      const char *type)
{
	char path[128];

	snprintf(path, sizeof(path), "kfd/proc/%d/queues/%d/gpuid", pid, id);
	put(t, path, gpu);
	snprintf(path, sizeof(path), "kfd/proc/%d/queues/%d/size", pid, id);
	put(t, path, size);
	snprintf(path, sizeof(path), "kfd/proc/%d/queues/%d/type", pid, id);
	put(t, path, type);
}

static int set_up(void **state)
{
	struct tree *t = calloc(1, sizeof(*t));

	strcpy(t->root, "/tmp/test_kfd_list.XXXXXX");
	if (!mkdtemp(t->root))
		return -1;
	snprintf(t->kfd, sizeof(t->kfd), "%s/kfd", t->root);
	snprintf(t->debugfs, sizeof(t->debugfs), "%s/debug", t->root);
	snprintf(t->proc, sizeof(t->proc), "%s/proc", t->root);
	t->node[0] = (struct gp__kfd_node){ .gpu_id = GPU, .gfx_version = 90010 };
	t->node[1] = (struct gp__kfd_node){ .gpu_id = OTHER_GPU, .gfx_version = 90402 };
	t->node[2] = (struct gp__kfd_node){ .gpu_id = OLD_GPU, .gfx_version = 80003 };
	t->from = (struct gp__kfd_places){ .kfd = t->kfd,
					   .debugfs = t->debugfs,
					   .proc = t->proc,
					   .node = t->node,
					   .nr_nodes = 3 };
	*state = t;
	return 0;
}

static int tear_down(void **state)
{
	struct tree *t = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", t->root);
	free(t);
	return system(command);
}

/*
 * debugfs' text
 */

struct dump {
	char *text;
	size_t len;
	FILE *out;
	const char *eol;
};

static void start_dump(struct dump *d, const char *eol)
{
	*d = (struct dump){ .eol = eol };
	d->out = open_memstream(&d->text, &d->len);
	assert_non_null(d->out);
}

static void put_dump(struct dump *d, struct tree *t, const char *path)
{
	fclose(d->out);
	put_bytes(t, d->text, d->len, path);
	free(d->text);
}

static void words(struct dump *d, const uint32_t *word, unsigned int nr, uint32_t first)
{
	for (unsigned int i = 0; i < nr; i++) {
		if (i % 8 == 0)
			fprintf(d->out, "    %08x:", first + 4 * i);
		fprintf(d->out, " %08x", word[i]);
		if (i % 8 == 7 || i == nr - 1)
			fputs(d->eol, d->out);
	}
}

static void compute_words(uint32_t w[512], uint64_t address, uint64_t ring, uint32_t priority,
			  bool aql, bool active)
{
	memset(w, 0, 512 * sizeof(*w));
	w[0] = 0xc0310800;
	w[128] = (uint32_t)address;
	w[129] = (uint32_t)(address >> 32);
	w[130] = active;
	w[134] = priority;
	w[136] = (uint32_t)(ring >> 8);
	w[137] = (uint32_t)(ring >> 40);
	w[145] = 0x18000500 | (__builtin_ctz(RING_BYTES / 4) - 1);
	w[181] = aql;
}

static void compute(struct dump *d, uint32_t gpu, uint64_t address, uint64_t ring,
		    uint32_t priority)
{
	uint32_t w[512];

	compute_words(w, address, ring, priority, true, false);
	fprintf(d->out, "  Compute queue on device %x%s", gpu, d->eol);
	words(d, w, 512, 0);
}

static void slot(struct dump *d, const char *heading, uint64_t address, uint64_t ring, bool active)
{
	uint32_t w[512];

	compute_words(w, address, ring, 7, true, active);
	fprintf(d->out, "%s%s", heading, d->eol);
	words(d, w + 128, 56, 0xc914);
}

static void sdma_words(struct dump *d, uint64_t ring, bool enabled, unsigned int nr, uint32_t first)
{
	uint32_t w[128] = { 0x61000 | (__builtin_ctz(RING_BYTES / 4) << 1) | enabled,
			    (uint32_t)(ring >> 8), (uint32_t)(ring >> 40) };

	words(d, w, nr, first);
}

static struct gp__kfd_list list_of(struct tree *t)
{
	struct gp__kfd_list list;

	assert_int_equal(gp__kfd_list_from(&t->from, &list, DEFAULT_PRIORITY), 0);
	return list;
}

/*
 * sysfs
 */

static void no_driver_is_told_from_no_queues(void **state)
{
	struct tree *t = *state;
	struct gp__kfd_list list;

	assert_int_equal(gp__kfd_list_from(&t->from, &list, 0), -ENODEV);
	put(t, "kfd/topology/generation_id", "1\n");
	list = list_of(t);
	assert_int_equal(list.nr, 0);
	assert_null(list.queue);
	put(t, "kfd/proc/7/pasid", "32769\n");
	list = list_of(t);
	assert_int_equal(list.nr, 0);
	gp__kfd_list_free(&list);
}

static void queues_come_in_the_order_of_processes_and_ids(void **state)
{
	struct tree *t = *state;
	struct gp__kfd_list list;

	put_queue(t, 200, 11, "64078", "65536", "0");
	put_queue(t, 200, 2, "64078", "1048576", "1");
	put_queue(t, 3, 5, "4660\n", "4096\n", "4\n");
	put_queue(t, 3, 6, "4660\r\n", " 4096", "5");
	list = list_of(t);
	assert_int_equal(list.nr, 4);
	assert_int_equal(list.queue[0].pid, 3);
	assert_int_equal(list.queue[0].type, GP_KFD_QUEUE_SDMA_XGMI);
	assert_int_equal(list.queue[0].gpu_id, OTHER_GPU);
	assert_int_equal(list.queue[1].type, GP_KFD_QUEUE_SDMA_BY_ENGINE);
	assert_int_equal(list.queue[1].ring_bytes, 4096);
	assert_int_equal(list.queue[2].queue_id, 2);
	assert_int_equal(list.queue[2].type, GP_KFD_QUEUE_SDMA);
	assert_int_equal(list.queue[3].queue_id, 11);
	assert_int_equal(list.queue[3].gpu_id, GPU);
	assert_int_equal(list.queue[3].type, GP_KFD_QUEUE_COMPUTE);
	assert_int_equal(list.queue[3].priority, DEFAULT_PRIORITY);
	assert_int_equal(list.queue[3].priority_from, GP__KFD_FROM_CALLER);
	assert_int_equal(list.queue[3].hw_priority, -1);
	assert_false(list.queue[3].active_known);
	gp__kfd_list_free(&list);
}

static void a_kernel_that_schedules_queues_says_how(void **state)
{
	struct tree *t = *state;
	const struct gp__kfd_kernel_state *s;
	struct gp__kfd_list list;

	put_queue(t, 10, 0, "64078", "4096", "0");
	put_queue(t, 10, 1, "64078", "4096", "0");
	put(t, "kfd/proc/10/queues/0/state", "excluded\n");
	put(t, "kfd/proc/10/queues/0/logical_priority", "2\n");
	put(t, "kfd/proc/10/queues/0/effective_priority", "9\n");
	put(t, "kfd/proc/10/queues/0/own_priority", "-1\n");
	put(t, "kfd/proc/10/queues/0/pending", "17\n");
	put(t, "kfd/proc/10/queues/0/preempted_ms", "1234\n");
	put(t, "kfd/proc/10/queues/0/preemptions", "5\n");
	/* An unexpected and unknown word. */
	put(t, "kfd/proc/10/queues/1/state", "admitted");
	put(t, "kfd/proc/10/queues/1/logical_priority", "-1\n");
	put(t, "kfd/proc/10/queues/1/own_priority", "8\n"); /* no kernel writes this */
	put_queue(t, 11, 0, "64078", "4096", "1");
	list = list_of(t);
	assert_int_equal(list.nr, 3);
	s = &list.queue[0].kernel;
	assert_string_equal(s->state, "excluded");
	assert_int_equal(s->priority, 2);
	assert_int_equal(s->effective, 9);
	assert_true(s->has_own);
	assert_int_equal(s->own, -1);
	assert_int_equal(s->pending, 17);
	assert_int_equal(s->preempted_ms, 1234);
	assert_int_equal(s->preemptions, 5);
	s = &list.queue[1].kernel;
	assert_string_equal(s->state, "admitted");
	assert_int_equal(s->priority, -1);
	assert_false(s->has_own);
	assert_int_equal(s->pending, -1);
	assert_int_equal(s->preempted_ms, -1);
	assert_int_equal(s->preemptions, -1);
	assert_string_equal(list.queue[2].kernel.state, "");
	gp__kfd_list_free(&list);
}

/* Each of these vanished during the listing, or is what no kernel writes. */
static void what_is_not_whole_is_left_out(void **state)
{
	struct tree *t = *state;
	struct gp__kfd_list list;

	put(t, "kfd/proc/10/queues/0/gpuid", "64078");
	put_queue(t, 10, 1, "", "65536", "0");
	put_queue(t, 10, 2, "64078", "-1", "0");
	put_queue(t, 10, 3, "64078", "65536", "2");
	put_queue(t, 10, 4, "64078", "65536", "99999999999999999999");
	put_queue(t, 10, 5, "fa4e", "65536", "0");
	put_queue(t, 10, 6, "64078 64078", "65536", "0");
	put(t, "kfd/proc/10/queues/x/gpuid", "64078");
	put(t, "kfd/proc/10/queues/7", "a file");
	put(t, "kfd/proc/11", "a file");
	put(t, "kfd/proc/99999999999/queues/0/gpuid", "1");
	put_queue(t, 12, 0, "64078", "65536", "0");
	list = list_of(t);
	assert_int_equal(list.nr, 1);
	assert_int_equal(list.queue[0].pid, 12);
	gp__kfd_list_free(&list);
}

static void a_thousand_queues(void **state)
{
	struct tree *t = *state;
	struct gp__kfd_list list;

	for (int i = 0; i < 1000; i++)
		put_queue(t, 1 + i % 7, i / 7, "64078", "65536", "0");
	list = list_of(t);
	assert_int_equal(list.nr, 1000);
	for (size_t i = 1; i < list.nr; i++) {
		const struct gp__kfd_listed *a = &list.queue[i - 1], *b = &list.queue[i];

		assert_true(a->pid < b->pid || (a->pid == b->pid && a->queue_id < b->queue_id));
	}
	gp__kfd_list_free(&list);
}

/*
 * Environments
 */

#define ENVIRON(text) (text), sizeof(text) - 1

static void programs_say_their_priority_and_tag(void **state)
{
	struct tree *t = *state;
	struct gp__kfd_list list;

	put_queue(t, 10, 0, "64078", "65536", "0");
	put_queue(t, 10, 1, "64078", "65536", "0");
	put_queue(t, 11, 0, "64078", "65536", "0");
	put_bytes(t, ENVIRON("A=1\0AMD_QUEUE_PRIORITY=15\0AMD_QUEUE_TAG=ONLINE_AI\0B=2\0"),
		  "proc/10/environ");
	put_bytes(t, ENVIRON("AMD_QUEUE_TAG=x"), "proc/11/environ");
	list = list_of(t);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(list.queue[i].priority, 15);
		assert_int_equal(list.queue[i].priority_from, GP__KFD_FROM_ENVIRON);
		assert_string_equal(list.queue[i].tag, "ONLINE_AI");
	}
	assert_int_equal(list.queue[2].priority, DEFAULT_PRIORITY);
	assert_int_equal(list.queue[2].priority_from, GP__KFD_FROM_CALLER);
	assert_string_equal(list.queue[2].tag, "x");
	assert_int_equal(list.environ_error, 0);
	gp__kfd_list_free(&list);
}

static void ones_own_environment_is_the_live_one(void **state)
{
	struct tree *t = *state;
	struct gp__kfd_list list;
	char path[64];

	put_queue(t, getpid(), 0, "64078", "65536", "0");
	snprintf(path, sizeof(path), "proc/%d/environ", getpid());
	put_bytes(t, ENVIRON("AMD_QUEUE_PRIORITY=3\0AMD_QUEUE_TAG=old\0"), path);
	setenv("AMD_QUEUE_PRIORITY", "12", 1);
	list = list_of(t);
	assert_int_equal(list.queue[0].priority, 12);
	assert_int_equal(list.queue[0].priority_from, GP__KFD_FROM_AGENT);
	assert_string_equal(list.queue[0].tag, "");
	gp__kfd_list_free(&list);
	unsetenv("AMD_QUEUE_PRIORITY");
	list = list_of(t);
	assert_int_equal(list.queue[0].priority_from, GP__KFD_FROM_CALLER);
	gp__kfd_list_free(&list);
}

static void an_environment_that_may_not_be_read_is_told(void **state)
{
	struct tree *t = *state;
	struct gp__kfd_list list;

	put_queue(t, 10, 0, "64078", "65536", "0");
	/* A folder cannot be read either, not even by root. */
	put(t, "proc/10/environ/x", "");
	list = list_of(t);
	assert_int_equal(list.nr, 1);
	assert_int_equal(list.environ_error, -EISDIR);
	gp__kfd_list_free(&list);
}

static void wishes_of_any_environment(void **state)
{
	static const struct {
		const char *text;
		size_t size;
		int priority; /* INT_MIN: none */
		const char *tag; /* NULL: none */
	} cases[] = {
		{ ENVIRON(""), INT_MIN, NULL },
		{ ENVIRON("\0\0\0"), INT_MIN, NULL },
		{ ENVIRON("AMD_QUEUE_PRIORITY"), INT_MIN, NULL },
		{ ENVIRON("AMD_QUEUE_PRIORITY="), INT_MIN, NULL },
		{ ENVIRON("AMD_QUEUE_PRIORITY=7x"), INT_MIN, NULL },
		{ ENVIRON("AMD_QUEUE_PRIORITY=-3"), -3, NULL },
		{ ENVIRON("AMD_QUEUE_PRIORITY=-"), INT_MIN, NULL },
		{ ENVIRON("AMD_QUEUE_PRIORITY=--3"), INT_MIN, NULL },
		{ ENVIRON("AMD_QUEUE_PRIORITY=2147483647"), INT_MAX, NULL },
		{ ENVIRON("AMD_QUEUE_PRIORITY=2147483648"), INT_MIN, NULL },
		{ ENVIRON("AMD_QUEUE_PRIORITY=99999999999999999999999"), INT_MIN, NULL },
		{ ENVIRON("AMD_QUEUE_PRIORITY=online"), 15, NULL },
		{ ENVIRON("AMD_QUEUE_PRIORITY=offline\0"), 2, NULL },
		{ ENVIRON("AMD_QUEUE_PRIORITY=onlin"), INT_MIN, NULL },
		/* The first counts, as for the program itself, though it is none. */
		{ ENVIRON("AMD_QUEUE_PRIORITY=?\0AMD_QUEUE_PRIORITY=3"), INT_MIN, NULL },
		{ ENVIRON("AMD_QUEUE_PRIORITY=5\0AMD_QUEUE_PRIORITY=3"), 5, NULL },
		{ ENVIRON("XAMD_QUEUE_PRIORITY=5\0AMD_QUEUE_PRIORITYX=5"), INT_MIN, NULL },
		{ ENVIRON("AMD_QUEUE_TAG="), INT_MIN, NULL },
		{ ENVIRON("AMD_QUEUE_TAG=\033[2Ja\nb\377"), INT_MIN, "?[2Ja?b?" },
		{ ENVIRON("AMD_QUEUE_TAG=a b"), INT_MIN, "a b" },
	};
	struct gp__kfd_wishes w;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		gp__kfd_wishes_parse(cases[i].text, cases[i].size, &w);
		assert_int_equal(w.has_priority, cases[i].priority != INT_MIN);
		if (w.has_priority)
			assert_int_equal(w.priority, cases[i].priority);
		assert_int_equal(w.has_tag, cases[i].tag != NULL);
		assert_string_equal(w.tag, cases[i].tag ? cases[i].tag : "");
	}
}

static void a_long_tag_is_cut(void **state)
{
	char text[512] = "AMD_QUEUE_TAG=";
	struct gp__kfd_wishes w;

	(void)state;
	memset(text + 14, 'x', sizeof(text) - 14);
	gp__kfd_wishes_parse(text, sizeof(text), &w);
	assert_int_equal(strlen(w.tag), GP__KFD_TAG_MAX - 1);
}

/*
 * debugfs
 */

#define RING_A 0x7f0000100000ull
#define RING_B 0x7f0000200000ull
#define MQD_A 0x7fff00401000ull
#define MQD_B 0x7fff00402000ull

static void put_debugfs(struct tree *t, const char *eol)
{
	struct dump d;

	start_dump(&d, eol);
	fprintf(d.out, "Process 9 PASID 0x1:%s", eol);
	fprintf(d.out, "Process 10 PASID 0x2:%s", eol);
	compute(&d, GPU, MQD_A, RING_A, 11);
	fprintf(d.out, "  SDMA queue on device %x%s", GPU, eol);
	sdma_words(&d, RING_B, false, 128, 0);
	fprintf(d.out, "Process 11 PASID 0x3:%s", eol);
	compute(&d, OTHER_GPU, MQD_B, RING_A, 3);
	put_dump(&d, t, "debug/mqds");
	start_dump(&d, eol);
	fprintf(d.out, "Node 1, gpu_id %x:%s", GPU, eol);
	slot(&d, "   Inst 0, HIQ on MEC 2 Pipe 0 Queue 0", 0x1000, 0x2000, true);
	slot(&d, " Inst 0,  CP Pipe 0, Queue 2", MQD_A, RING_A, true);
	slot(&d, " Inst 0,  CP Pipe 0, Queue 3", 0, 0, false);
	fprintf(d.out, "  SDMA Engine 0, RLC 0%s", eol);
	sdma_words(&d, RING_B, true, 42, 0x4e80);
	fprintf(d.out, "Node 2, gpu_id %x:%s", OTHER_GPU, eol);
	/* As older kernels have it; of another queue, and one that has been taken off. */
	slot(&d, "  CP Pipe 0, Queue 0", MQD_A, RING_A, true);
	slot(&d, "  CP Pipe 0, Queue 1", MQD_B, RING_A, false);
	put_dump(&d, t, "debug/hqds");
}

static void put_three_queues(struct tree *t)
{
	put_queue(t, 10, 0, "64078", "65536", "0");
	put_queue(t, 10, 1, "64078", "65536", "1");
	put_queue(t, 11, 0, "4660", "65536", "0");
}

static void check_three_queues(struct gp__kfd_list *list)
{
	assert_int_equal(list->nr, 3);
	assert_int_equal(list->debugfs_error, 0);
	assert_int_equal(list->queue[0].type, GP_KFD_QUEUE_COMPUTE_AQL);
	assert_int_equal(list->queue[0].hw_priority, 11);
	assert_int_equal(list->queue[0].priority, 11);
	assert_int_equal(list->queue[0].priority_from, GP__KFD_FROM_QUEUE);
	assert_true(list->queue[0].active_known && list->queue[0].active);
	assert_int_equal(list->queue[1].type, GP_KFD_QUEUE_SDMA);
	assert_int_equal(list->queue[1].hw_priority, -1);
	assert_int_equal(list->queue[1].priority, DEFAULT_PRIORITY);
	assert_true(list->queue[1].active_known && list->queue[1].active);
	assert_int_equal(list->queue[2].hw_priority, 3);
	assert_true(list->queue[2].active_known);
	assert_false(list->queue[2].active);
}

static void debugfs_tells_activity_and_priority(void **state)
{
	static const char *const eols[] = { "\n", "\r\n", "  \n\n" };
	struct tree *t = *state;

	put_three_queues(t);
	for (int i = 0; i < 3; i++) {
		struct gp__kfd_list list;

		put_debugfs(t, eols[i]);
		list = list_of(t);
		check_three_queues(&list);
		gp__kfd_list_free(&list);
	}
}

static void what_a_program_says_goes_before_its_queues_priority(void **state)
{
	struct tree *t = *state;
	struct gp__kfd_list list;

	put_three_queues(t);
	put_debugfs(t, "\n");
	put_bytes(t, ENVIRON("AMD_QUEUE_PRIORITY=1\0"), "proc/10/environ");
	list = list_of(t);
	assert_int_equal(list.queue[0].priority, 1);
	assert_int_equal(list.queue[0].priority_from, GP__KFD_FROM_ENVIRON);
	assert_int_equal(list.queue[0].hw_priority, 11);
	gp__kfd_list_free(&list);
}

static void without_hqds_activity_is_unknown(void **state)
{
	struct tree *t = *state;
	struct gp__kfd_list list;
	char path[128];

	put_three_queues(t);
	put_debugfs(t, "\n");
	snprintf(path, sizeof(path), "%s/debug/hqds", t->root);
	assert_int_equal(unlink(path), 0);
	list = list_of(t);
	assert_false(list.queue[0].active_known);
	assert_int_equal(list.queue[0].hw_priority, 11);
	assert_int_equal(list.debugfs_error, 0);
	gp__kfd_list_free(&list);
	/* The device is stopped, and has no slots to show. */
	put(t, "debug/hqds", "Node 1, gpu_id fa4e:\n Device is stopped\n");
	list = list_of(t);
	assert_false(list.queue[0].active_known);
	assert_int_equal(list.debugfs_error, 0);
	gp__kfd_list_free(&list);
	/* A file that cannot be read is reported. */
	unlink(path);
	put(t, "debug/hqds/x", "");
	list = list_of(t);
	assert_false(list.queue[0].active_known);
	assert_int_equal(list.debugfs_error, -EIO);
	gp__kfd_list_free(&list);
}

static void only_sysfs_where_that_is_enough(void **state)
{
	struct tree *t = *state;
	struct gp__kfd_list list;

	put_three_queues(t);
	put_debugfs(t, "\n");
	put_bytes(t, ENVIRON("AMD_QUEUE_PRIORITY=1\0"), "proc/10/environ");
	t->from.debugfs = t->from.proc = NULL;
	list = list_of(t);
	assert_int_equal(list.nr, 3);
	assert_int_equal(list.queue[0].priority_from, GP__KFD_FROM_CALLER);
	assert_int_equal(list.queue[0].hw_priority, -1);
	assert_false(list.queue[0].active_known);
	assert_int_equal(list.mqds.nr, 0);
	gp__kfd_list_free(&list);
}

/* Two queues that look alike are only known as far as both are alike. */
static void queues_that_cannot_be_told_apart(void **state)
{
	struct tree *t = *state;
	struct gp__kfd_list list;
	struct dump d;

	put_queue(t, 10, 4, "64078", "65536", "0");
	put_queue(t, 10, 5, "64078", "65536", "0");
	start_dump(&d, "\n");
	fprintf(d.out, "Process 10 PASID 0x2:\n");
	compute(&d, GPU, MQD_B, RING_B, 3);
	compute(&d, GPU, MQD_A, RING_A, 11);
	put_dump(&d, t, "debug/mqds");
	start_dump(&d, "\n");
	fprintf(d.out, "Node 1, gpu_id %x:\n", GPU);
	slot(&d, "  CP Pipe 0, Queue 2", MQD_A, RING_A, true);
	put_dump(&d, t, "debug/hqds");
	list = list_of(t);
	assert_int_equal(list.queue[0].type, GP_KFD_QUEUE_COMPUTE_AQL);
	assert_false(list.queue[0].active_known);
	assert_int_equal(list.queue[0].hw_priority, -1);
	assert_int_equal(list.queue[0].priority, DEFAULT_PRIORITY);
	gp__kfd_list_free(&list);
}

static void descriptors_of_other_generations_are_not_read(void **state)
{
	struct tree *t = *state;
	struct gp__kfd_list list;
	struct dump d;

	put_queue(t, 10, 0, "2048", "65536", "0");
	start_dump(&d, "\n");
	fprintf(d.out, "Process 10 PASID 0x2:\n");
	compute(&d, OLD_GPU, MQD_A, RING_A, 11);
	put_dump(&d, t, "debug/mqds");
	put(t, "debug/hqds", "");
	list = list_of(t);
	assert_int_equal(list.queue[0].hw_priority, -1);
	assert_false(list.queue[0].active_known);
	assert_true(gp__kfd_mqd_known(90402) && gp__kfd_mqd_known(120001));
	gp__kfd_list_free(&list);
}

static struct gp__kfd_mqds read_text(const char *text, size_t size, bool hqds)
{
	struct gp__kfd_mqds mqds;
	FILE *f = fmemopen((void *)text, size, "r");

	assert_non_null(f);
	assert_int_equal(hqds ? gp__kfd_hqds_read(f, &mqds) : gp__kfd_mqds_read(f, &mqds), 0);
	fclose(f);
	return mqds;
}

/* Of several XCCs the first counts; lines and words of later kernels do no harm. */
static void several_xccs_and_unknown_lines(void **state)
{
	struct gp__kfd_mqds mqds;
	struct dump d;
	uint32_t w[512];

	(void)state;
	start_dump(&d, "\n");
	fprintf(d.out, "# version 9\nProcess 10 (python3) PASID 0x2:\n  Debugged: no\n");
	fprintf(d.out, "  Compute queue on device fa4e, new in 7.0\n");
	compute_words(w, MQD_A, RING_A, 11, true, true);
	words(&d, w, 512, 0);
	compute_words(w, MQD_B, RING_A, 3, false, false);
	words(&d, w, 512, 0);
	fprintf(d.out, "  HIQ queue on device fa4e\n");
	fprintf(d.out, "%0*d", 100000, 0);
	fclose(d.out);
	mqds = read_text(d.text, d.len, false);
	assert_int_equal(mqds.nr, 1);
	assert_int_equal(mqds.mqd[0].priority, 11);
	assert_int_equal(mqds.mqd[0].address, MQD_A);
	assert_int_equal(mqds.mqd[0].ring, RING_A);
	assert_int_equal(mqds.mqd[0].ring_bytes, RING_BYTES);
	assert_int_equal(mqds.mqd[0].gpu_id, GPU);
	assert_int_equal(mqds.mqd[0].pid, 10);
	gp__kfd_mqds_free(&mqds);
	free(d.text);
}

/* Cut off anywhere, a descriptor is whole or left out, and never another one. */
static void a_dump_that_is_cut_off(void **state)
{
	struct dump d;

	(void)state;
	start_dump(&d, "\n");
	fprintf(d.out, "Process 10 PASID 0x2:\n");
	compute(&d, GPU, MQD_A, RING_A, 11);
	fclose(d.out);
	for (size_t len = 1; len < d.len; len++) {
		struct gp__kfd_mqds mqds = read_text(d.text, len, false);

		assert_true(mqds.nr <= 1);
		if (mqds.nr) {
			assert_int_equal(mqds.mqd[0].address, MQD_A);
			assert_int_equal(mqds.mqd[0].priority, 11);
		}
		gp__kfd_mqds_free(&mqds);
	}
	free(d.text);
}

static void dumps_of_nonsense(void **state)
{
	static const char *const texts[] = {
		"\n",
		"    00000000: 00000000\n",
		"  Compute queue on device fa4e\n    00000200: 1 2 3\n",
		"Process x PASID\nProcess -4 PASID\n  Compute queue on device\n",
		"Process 99999999999999999999999 PASID 0x1:\n  Compute queue on device 1\n",
		"Node 1, gpu_id\n  CP Pipe 0, Queue 0\n    0000: 1ffffffff 2\n   :\n",
		"SDMA RLC \n ffffffffffffffffffff: 1 2 3\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		for (int hqds = 0; hqds < 2; hqds++) {
			struct gp__kfd_mqds mqds = read_text(texts[i], strlen(texts[i]), hqds);

			assert_int_equal(mqds.nr, 0);
			gp__kfd_mqds_free(&mqds);
		}
	}
}

#define in_a_tree(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_a_tree(no_driver_is_told_from_no_queues),
		in_a_tree(queues_come_in_the_order_of_processes_and_ids),
		in_a_tree(a_kernel_that_schedules_queues_says_how),
		in_a_tree(what_is_not_whole_is_left_out),
		in_a_tree(a_thousand_queues),
		in_a_tree(programs_say_their_priority_and_tag),
		in_a_tree(ones_own_environment_is_the_live_one),
		in_a_tree(an_environment_that_may_not_be_read_is_told),
		cmocka_unit_test(wishes_of_any_environment),
		cmocka_unit_test(a_long_tag_is_cut),
		in_a_tree(debugfs_tells_activity_and_priority),
		in_a_tree(what_a_program_says_goes_before_its_queues_priority),
		in_a_tree(without_hqds_activity_is_unknown),
		in_a_tree(only_sysfs_where_that_is_enough),
		in_a_tree(queues_that_cannot_be_told_apart),
		in_a_tree(descriptors_of_other_generations_are_not_read),
		cmocka_unit_test(several_xccs_and_unknown_lines),
		cmocka_unit_test(a_dump_that_is_cut_off),
		cmocka_unit_test(dumps_of_nonsense),
	};

	return cmocka_run_group_tests_name("kfd_list", tests, NULL, NULL);
}
