// SPDX-License-Identifier: MIT
/*
 * Claims of work: a program that has no GPU open holds no other user's program, nor does one that
 * is stopped or frozen. /dev/full stands for a GPU.
 */
#include "two.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "policy/policy.h"

#define ALICE 65533
#define MALLORY 65534
#define GPU "/dev/full"
#define PATIENCE_MS 20000

/* Without guarantees and ageing, so that a program is released for one reason only. */
#define FOR_EVER "[core]\nmax_hold_ms = 0\nmin_share_pct = 0\n[policy]\nage_ms = 0\n"
#define CONFIG "[daemon]\ndevices = /dev/kfd " GPU "\n" FOR_EVER

#define NEEDS_ROOT()                                                \
	do {                                                        \
		if (geteuid()) {                                    \
			print_message("only root can be others\n"); \
			skip();                                     \
		}                                                   \
	} while (0)

/*
 * Programs of users, each in a process of its own that does what it is told
 */

enum deed { OPEN, CLOSE, JOIN, WORK, REST, IS_HELD, IS_RELEASED, HAS_NO_ORDER };

struct user {
	pid_t pid;
	int fd;
};

struct order {
	enum deed deed;
	s32 prio; /* to JOIN with, and to add another queue later */
};

#define EXPECT(truth)                                                                    \
	do {                                                                             \
		if (!(truth)) {                                                          \
			fprintf(stderr, "%s:%d: not: %s\n", __FILE__, __LINE__, #truth); \
			_exit(1);                                                        \
		}                                                                        \
	} while (0)

static void join(struct rig *r, struct agent *a, s32 prio)
{
	struct gp__wire_queue_add q = queue_of(prio, "gpu-a", "");
	char text[GP__WIRE_TEXT_MAX];

	if (!a->nr_queues)
		EXPECT(!gp__wire_client_open(&a->client, r->socket, "program", 64, text));
	q.slot = a->nr_queues++;
	EXPECT(!gp__wire_client_request(&a->client, &q, NULL));
}

/* Waits for the order and carries it out. */
static void obey(struct agent *a, enum gp__wire_verb verb)
{
	struct pollfd p = { .fd = a->client.notify_fd, .events = POLLIN };
	u64 order;
	char byte;

	for (int ms = 0; ms < PATIENCE_MS; ms += 50) {
		order = atomic_load(&a->client.order->slot[0].order);
		if (gp__wire_order_number(order) && gp__wire_order_verb(order) == verb) {
			gp__wire_client_done(&a->client, 0, gp__wire_order_number(order), 0,
					     gp__clock_ns(), 1000);
			return;
		}
		poll(&p, 1, 50);
		while (read(p.fd, &byte, 1) == 1)
			;
	}
	EXPECT(!"the order came");
}

static void act(struct rig *r, struct agent *a, const struct order *o)
{
	static int gpu = -1;

	switch (o->deed) {
	case OPEN:
		gpu = open(GPU, O_RDWR | O_CLOEXEC);
		EXPECT(gpu >= 0);
		break;
	case CLOSE:
		EXPECT(!close(gpu));
		break;
	case JOIN:
		join(r, a, o->prio);
		break;
	case WORK:
	case REST:
		agent_work(a, 0, o->deed == WORK);
		break;
	case IS_HELD:
	case IS_RELEASED:
		obey(a, o->deed == IS_HELD ? GP__WIRE_HOLD : GP__WIRE_RELEASE);
		break;
	case HAS_NO_ORDER:
		EXPECT(!atomic_load(&a->client.order->slot[0].order));
	}
}

static void live(struct rig *r, int fd)
{
	struct agent a = { 0 };
	struct order o;

	while (read(fd, &o, sizeof(o)) == sizeof(o)) {
		act(r, &a, &o);
		EXPECT(write(fd, "", 1) == 1);
	}
	_exit(0);
}

static void user_begin(struct user *u, struct rig *r, uid_t uid)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	u->pid = rig_fork(r);
	assert_true(u->pid >= 0);
	if (!u->pid) {
		close(fds[0]);
		if (setgroups(0, NULL) || setgid(uid) || setuid(uid))
			_exit(100);
		live(r, fds[1]);
	}
	close(fds[1]);
	u->fd = fds[0];
}

static void tell(struct user *u, enum deed deed, s32 prio)
{
	struct order o = { deed, prio };
	char byte;

	assert_int_equal(write(u->fd, &o, sizeof(o)), sizeof(o));
	assert_int_equal(read(u->fd, &byte, 1), 1);
}

static void user_end(struct user *u)
{
	int status;

	/* A later user's process has a copy of the descriptor. */
	shutdown(u->fd, SHUT_RDWR);
	close(u->fd);
	assert_int_equal(waitpid(u->pid, &status, 0), u->pid);
	assert_int_equal(status, 0);
}

/* A program with work: @device: it has the GPU open. */
static void user_work(struct user *u, struct rig *r, uid_t uid, s32 prio, bool device)
{
	user_begin(u, r, uid);
	if (device)
		tell(u, OPEN, 0);
	tell(u, JOIN, prio);
	tell(u, WORK, 0);
}

/* Alice's patient program is held for Mallory's urgent one; both have the GPU open. */
struct pair {
	struct rig rig;
	struct user alice, mallory;
};

static void pair_up(struct pair *p)
{
	rig_up(&p->rig, CONFIG);
	user_work(&p->alice, &p->rig, ALICE, OFFLINE, true);
	user_work(&p->mallory, &p->rig, MALLORY, NORMAL, true);
	tell(&p->alice, IS_HELD, 0);
}

static void pair_down(struct pair *p)
{
	user_end(&p->alice);
	user_end(&p->mallory);
	rig_down(&p->rig);
}

/* Of the first GPU with programs of one user only. -1: all GPUs are shared. */
static json_int_t only_user(struct rig *r)
{
	json_t *answer = rig_ask(r, "{\"op\":\"list\"}"), *gpu;
	json_int_t uid = -1;
	size_t i;

	json_array_foreach (json_object_get(answer, "gpus"), i, gpu) {
		const json_t *user = json_object_get(gpu, "only_user");

		uid = uid < 0 && json_is_integer(user) ? json_integer_value(user) : uid;
	}
	json_decref(answer);
	return uid;
}

/*
 * Devices
 */

static void work_without_the_device_costs_no_other_user(void **state)
{
	struct user alice, mallory, other;
	struct rig r;

	(void)state;
	NEEDS_ROOT();
	rig_up(&r, CONFIG);
	user_work(&alice, &r, ALICE, OFFLINE, true);
	user_work(&mallory, &r, MALLORY, NORMAL, false);
	/* His own programs are scheduled as ever. */
	user_work(&other, &r, MALLORY, OFFLINE, false);
	tell(&other, IS_HELD, 0);
	tell(&alice, HAS_NO_ORDER, 0);
	assert_int_equal(only_user(&r), MALLORY);
	user_end(&other);
	user_end(&mallory);
	tell(&alice, HAS_NO_ORDER, 0);
	user_end(&alice);
	rig_down(&r);
}

static void a_program_with_the_device_is_scheduled_among_all(void **state)
{
	struct pair p;

	(void)state;
	NEEDS_ROOT();
	pair_up(&p);
	assert_int_equal(only_user(&p.rig), -1);
	tell(&p.mallory, REST, 0);
	tell(&p.alice, IS_RELEASED, 0);
	pair_down(&p);
}

/* Asked again when it adds a queue. */
static void a_device_that_is_opened_late_is_found(void **state)
{
	struct user alice, mallory;
	struct rig r;

	(void)state;
	NEEDS_ROOT();
	rig_up(&r, CONFIG);
	user_work(&alice, &r, ALICE, OFFLINE, true);
	user_work(&mallory, &r, MALLORY, NORMAL, false);
	tell(&mallory, OPEN, 0);
	tell(&mallory, JOIN, NORMAL);
	tell(&alice, IS_HELD, 0);
	user_end(&mallory);
	user_end(&alice);
	rig_down(&r);
}

static void a_device_that_is_closed_holds_no_other(void **state)
{
	struct pair p;

	(void)state;
	NEEDS_ROOT();
	pair_up(&p);
	tell(&p.mallory, CLOSE, 0);
	tell(&p.alice, IS_RELEASED, 0);
	assert_int_equal(only_user(&p.rig), MALLORY);
	pair_down(&p);
}

/* The daemon takes its time to believe it again, and does so without another message. */
static void a_device_that_is_opened_again_counts_again(void **state)
{
	struct pair p;

	(void)state;
	NEEDS_ROOT();
	pair_up(&p);
	tell(&p.mallory, CLOSE, 0);
	tell(&p.mallory, JOIN, NORMAL);
	tell(&p.alice, IS_RELEASED, 0);
	tell(&p.mallory, OPEN, 0);
	tell(&p.mallory, JOIN, NORMAL);
	tell(&p.alice, IS_HELD, 0);
	pair_down(&p);
}

static void other_devices_are_configured_while_it_runs(void **state)
{
	struct user alice, mallory;
	struct rig r;
	FILE *f;

	(void)state;
	NEEDS_ROOT();
	rig_up(&r, "[daemon]\ndevices =\n" FOR_EVER);
	user_work(&alice, &r, ALICE, OFFLINE, true);
	user_work(&mallory, &r, MALLORY, NORMAL, true);
	assert_true(only_user(&r) >= 0);
	f = fopen(r.config, "we");
	assert_non_null(f);
	fputs(CONFIG, f);
	fclose(f);
	kill(getpid(), SIGHUP);
	tell(&alice, IS_HELD, 0);
	assert_int_equal(only_user(&r), -1);
	user_end(&mallory);
	user_end(&alice);
	rig_down(&r);
}

static void devices_without_a_path_are_refused(void **state)
{
	char path[] = "/tmp/gpreemptd-test-XXXXXX", error[GP__CONFIG_ERROR_MAX];
	static const char text[] = "[daemon]\ndevices = /dev/kfd  renderD128\n";
	static struct gp__config config;
	int fd = mkstemp(path);

	(void)state;
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	gp__config_defaults(&config);
	assert_non_null(strstr(config.devices, "/dev/dri/renderD*"));
	assert_int_equal(gp__config_read(&config, path, true, error), -EINVAL);
	assert_non_null(strstr(error, ":2: devices: 'renderD128' is not an absolute path"));
	unlink(path);
}

/*
 * The daemon's own look at GPUs
 */

static struct gp__devices *devices_of(bool is_open)
{
	struct gp__devices *d = calloc(1, sizeof(*d) + sizeof(d->device[0]));

	assert_non_null(d);
	d->nr = 1;
	d->device[0] = (struct gp__device){ .key = "amd-1",
					    .name = "as the driver calls it",
					    .memory = 64ull << 30,
					    .is_open = is_open };
	return d;
}

static void ignore_order(void *data, struct gp__program_queue *q, const struct gp__action *a)
{
	(void)data;
	(void)q;
	(void)a;
}

static void enter(struct gp__registry *r, struct gp__program *p)
{
	p->owner = p->uid;
	p->user = gp__user_get(&r->users, p->owner);
	assert_non_null(p->user);
	gp__program_enter(r, p, 1);
}

/* Adds a queue of a program that describes the GPU in its own way. */
static struct gp__program_queue *describe(struct gp__registry *r, struct gp__program *p, u64 memory)
{
	struct gp__wire_queue_add add = queue_of(OFFLINE, "amd-1", "");
	struct gp__program_queue *q;
	const char *why;

	gp__wire_text(add.device_name, sizeof(add.device_name), p->name);
	add.device_memory = memory;
	add.flags = memory % 2 ? GP__WIRE_CAN_WEIGH : 0;
	assert_int_equal(gp__program_queue_add(r, p, &add, true, &q, 1, &why), 0);
	return q;
}

static void the_daemon_names_and_measures_a_gpu_itself(void **state)
{
	struct gp__program first = { .uid = MALLORY, .name = "a toaster" };
	struct gp__program second = { .uid = ALICE, .name = "another" };
	struct gp__program without = { .uid = ALICE, .name = "none" };
	struct gp__program_queue *a, *b, *c;
	struct gp__registry r;

	(void)state;
	gp__registry_init(&r, gp__policies[0], ignore_order, NULL);
	enter(&r, &first);
	enter(&r, &second);
	enter(&r, &without);
	first.devices = devices_of(true);
	second.devices = devices_of(true);
	without.devices = devices_of(false);
	a = describe(&r, &first, 1);
	b = describe(&r, &second, 2);
	c = describe(&r, &without, 64ull << 30);
	assert_string_equal(a->group->gpu->name, "as the driver calls it");
	assert_int_equal(a->group->gpu->dev.memory, 64ull << 30);
	assert_int_equal(a->group->gpu->dev.can_weigh, GP__WEIGHS_NOT);
	assert_ptr_equal(b->group->gpu, a->group->gpu);
	assert_ptr_not_equal(c->group->gpu, a->group->gpu);
	assert_false(c->group->gpu->is_shared);
	gp__program_queue_remove(&r, a, 2);
	gp__program_queue_remove(&r, b, 2);
	gp__program_queue_remove(&r, c, 2);
	gp__registry_close(&r);
	free(first.devices);
	free(second.devices);
	free(without.devices);
}

/* People refer to the group and the GPU by their numbers. */
static void a_group_keeps_its_number_and_settings_on_the_shared_gpu(void **state)
{
	struct gp__program p = { .uid = ALICE, .name = "program" };
	struct gp__program_queue *q, *second;
	struct gp__registry r;
	struct gp__group *g;
	u32 id;

	(void)state;
	gp__registry_init(&r, gp__policies[0], ignore_order, NULL);
	enter(&r, &p);
	q = describe(&r, &p, 2);
	second = describe(&r, &p, 2);
	g = q->group;
	id = g->entity.id;
	q->work = 1;
	gp__queue_ready(&q->core, 3, 2);
	gp__entity_suspend(&g->entity, true, 2);
	gp__registry_settle(&r, 2);
	p.devices = devices_of(true);
	gp__program_place(&r, &p, 3);
	gp__registry_settle(&r, 3);
	assert_ptr_equal(q->group, g);
	assert_ptr_equal(second->group, g);
	assert_int_equal(g->entity.id, id);
	assert_int_equal(g->gpu->dev.id, 0);
	assert_true(g->gpu->is_shared);
	assert_true(g->entity.suspended);
	assert_true(q->core.ready);
	assert_false(second->core.ready);
	assert_int_equal(q->core.pending, 3);
	assert_ptr_equal(r.gpus.next, r.gpus.prev);
	gp__program_queue_remove(&r, q, 4);
	gp__program_queue_remove(&r, second, 4);
	gp__registry_close(&r);
	free(p.devices);
}

static void write_file(const char *root, const char *path, const char *text)
{
	char name[256], *slash;
	FILE *f;

	snprintf(name, sizeof(name), "%s/%s", root, path);
	for (slash = strchr(name + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		assert_true(!mkdir(name, 0755) || errno == EEXIST);
		*slash = '/';
	}
	f = fopen(name, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* Folders that stand for /sys and /proc, and device files that are never opened. */
static void gpus_are_found_with_key_name_and_memory(void **state)
{
	static const char node[] = "sys/class/kfd/kfd/topology/nodes/";
	char root[] = "/tmp/gpreemptd-test-XXXXXX", path[128], command[128];
	const struct gp__device *d;
	struct gp__devices *found;

	(void)state;
	assert_non_null(mkdtemp(root));
	snprintf(path, sizeof(path), "%s/renderD129", root);
	if (mknod(path, S_IFCHR | 0600, makedev(226, 129))) {
		rmdir(root);
		print_message("device files cannot be made: %s\n", strerror(errno));
		skip();
	}
	snprintf(path, sizeof(path), "%s/nvidia3", root);
	assert_int_equal(mknod(path, S_IFCHR | 0600, makedev(195, 3)), 0);
	write_file(root, "nvidia-file", "not a device");
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s%d/gpu_id", node, i);
		write_file(root, path, i ? "4660\n" : "0\n");
		snprintf(path, sizeof(path), "%s%d/name", node, i);
		write_file(root, path, "gfx90a\n");
		snprintf(path, sizeof(path), "%s%d/properties", node, i);
		write_file(root, path, "simd_count 440\ndrm_render_minor 129\nunique_id 255\n");
		snprintf(path, sizeof(path), "%s%d/mem_banks/0/properties", node, i);
		write_file(root, path, "heap_type 1\nsize_in_bytes 68702699520\nflags 0\n");
	}
	write_file(
		root, "proc/driver/nvidia/gpus/0000:01:00.0/information",
		"Model: \t\t NVIDIA H200\nGPU UUID: \t GPU-01234567-89ab-cdef-0123-456789abcdef\n"
		"Device Minor: \t 3\n");
	snprintf(path, sizeof(path), "%s/renderD*  %s/nvidia*\t/nowhere/*", root, root);
	found = gp__devices_find(path, root);
	assert_non_null(found);
	assert_int_equal(found->nr, 2);
	d = gp__devices_by_key(found, "amd-00000000000000ff");
	assert_non_null(d);
	assert_string_equal(d->name, "gfx90a");
	assert_int_equal(d->memory, 68702699520);
	assert_int_equal(d->number, makedev(226, 129));
	for (u32 i = 0; i < found->nr; i++)
		found->device[i].is_open = true;
	write_file(root, "sys/class/kfd/kfd/proc/77/vram_4660", "3000000000\n");
	gp__devices_measure(found, 76, root);
	assert_false(d->is_used_known);
	gp__devices_measure(found, 77, root);
	assert_true(d->is_used_known);
	assert_int_equal(d->used, 3000000000);
	d = gp__devices_by_key(found, "nvidia-0123456789abcdef0123456789abcdef");
	assert_false(d->is_used_known);
	assert_non_null(d);
	assert_string_equal(d->name, "NVIDIA H200");
	assert_int_equal(d->weighing, GP__WEIGHS_YIELDING);
	assert_null(gp__devices_by_key(found, ""));
	/* AMD's GPUs come before NVIDIA's. */
	assert_int_equal(gp__devices_nr_known(found), 2);
	assert_int_equal(gp__devices_place(found, "amd-00000000000000ff"), 0);
	assert_int_equal(gp__devices_place(found, d->key), 1);
	assert_int_equal(gp__devices_place(found, "amd-1"), -1);
	assert_ptr_equal(gp__devices_at(found, 1), d);
	assert_null(gp__devices_at(found, 2));
	free(found);
	snprintf(command, sizeof(command), "rm -r %s", root);
	assert_int_equal(system(command), 0);
}

/*
 * Processes
 */

static int open_pidfd(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static bool has_gpu_open(void)
{
	struct gp__devices *d = gp__devices_find(GPU, "");
	int pidfd = open_pidfd(getpid()), proc;
	bool is_open;

	assert_non_null(d);
	assert_int_equal(d->nr, 1);
	assert_true(pidfd >= 0);
	proc = gp__procfs_open(getpid(), pidfd);
	assert_true(proc >= 0);
	assert_true(gp__procfs_find_devices(proc, d) >= 0);
	is_open = gp__devices_any_open(d);
	close(proc);
	close(pidfd);
	free(d);
	return is_open;
}

/* Another file of the same name is not taken for it. */
static void only_the_device_itself_is_found(void **state)
{
	char folder[] = "/tmp/gpreemptd-test-XXXXXX", path[64];
	int fd;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/full", folder);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_false(has_gpu_open());
	close(fd);
	unlink(path);
	rmdir(folder);
	fd = open(GPU, O_RDWR | O_CLOEXEC);
	assert_true(has_gpu_open());
	close(fd);
	assert_false(has_gpu_open());
}

static void a_process_with_many_descriptors_costs_a_bounded_time(void **state)
{
	struct rlimit before, more;
	int fd;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	more = before;
	more.rlim_cur = GP__PROCFS_FILES_MAX + 100;
	if (before.rlim_max < more.rlim_cur || setrlimit(RLIMIT_NOFILE, &more)) {
		print_message("this process may have only %lu files open\n",
			      (unsigned long)before.rlim_max);
		skip();
	}
	/* The device is behind all others. */
	fd = open(GPU, O_RDWR | O_CLOEXEC);
	assert_int_equal(dup2(fd, GP__PROCFS_FILES_MAX + 50), GP__PROCFS_FILES_MAX + 50);
	for (int i = fd; i < GP__PROCFS_FILES_MAX + 50; i++)
		assert_true(dup2(STDERR_FILENO, i) == i);
	assert_false(has_gpu_open());
	for (int i = fd; i <= GP__PROCFS_FILES_MAX + 50; i++)
		close(i);
	setrlimit(RLIMIT_NOFILE, &before);
}

/* Its pid may be that of another process by now. */
static void a_process_that_has_ended_is_not_inspected(void **state)
{
	pid_t pid = fork();
	int pidfd;

	(void)state;
	assert_true(pid >= 0);
	if (!pid)
		_exit(0);
	pidfd = open_pidfd(pid);
	assert_true(pidfd >= 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(gp__procfs_open(getpid(), pidfd), -ESRCH);
	close(pidfd);
}

/* Many processes of one user do not delay another's. All of them are this process. */
static void users_take_turns_in_being_inspected(void **state)
{
	enum { MANY = 50 };
	static struct gp__inspector in;
	struct gp__inspection *of[MANY + 1];
	struct gp__inspection_answer a;
	int pidfd = open_pidfd(getpid()), answers = 0, before = -1;

	(void)state;
	assert_true(pidfd >= 0);
	assert_int_equal(gp__inspector_open(&in), 0);
	gp__inspector_configure(&in, GPU);
	for (int i = 0; i <= MANY; i++) {
		of[i] = gp__inspection_begin(&in, getpid(), pidfd, i < MANY ? MALLORY : ALICE,
					     &of[i]);
		assert_non_null(of[i]);
		gp__inspection_ask(&in, of[i], GP__ASK_DEVICES);
	}
	while (answers <= MANY) {
		struct pollfd p = { .fd = in.answers_fd, .events = POLLIN };
		u64 count;

		assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
		assert_int_equal(read(in.answers_fd, &count, sizeof(count)), sizeof(count));
		for (; gp__inspection_take(&in, &a); answers++) {
			assert_int_equal(a.what, GP__ASK_DEVICES);
			assert_int_equal(a.err, 0);
			if (a.program == &of[MANY])
				before = answers;
			free(a.devices);
		}
	}
	assert_in_range(before, 0, MANY / 2);
	for (int i = 0; i <= MANY; i++)
		gp__inspection_end(&in, of[i]);
	gp__inspector_close(&in);
	close(pidfd);
}

/* Processes are inspected and end at any time; a leak or a use after free shows in a sanitizer. */
static void an_inspection_may_end_at_any_time(void **state)
{
	static struct gp__inspector in;
	struct gp__inspection_answer a;
	int pidfd = open_pidfd(getpid());

	(void)state;
	assert_true(pidfd >= 0);
	memset(&in, 0, sizeof(in));
	assert_int_equal(gp__inspector_open(&in), 0);
	gp__inspector_configure(&in, GPU);
	for (int i = 0; i < 300; i++) {
		struct gp__inspection *of =
			gp__inspection_begin(&in, getpid(), pidfd, (uid_t)i, &in);

		assert_non_null(of);
		gp__inspection_ask(&in, of, GP__ASK_STOPPED);
		gp__inspection_ask(&in, of, GP__ASK_DEVICES);
		if (i % 2)
			usleep((useconds_t)i);
		while (i % 3 && gp__inspection_take(&in, &a)) {
			assert_false(a.stopped);
			free(a.what & GP__ASK_DEVICES ? a.devices : NULL);
		}
		gp__inspection_end(&in, of);
	}
	gp__inspector_close(&in);
	close(pidfd);
}

/*
 * Stopped and frozen
 */

static void a_stopped_program_holds_no_other(void **state)
{
	struct pair p;

	(void)state;
	NEEDS_ROOT();
	pair_up(&p);
	for (int i = 0; i < 2; i++) {
		kill(p.mallory.pid, SIGSTOP);
		tell(&p.alice, IS_RELEASED, 0);
		kill(p.mallory.pid, SIGCONT);
		tell(&p.alice, IS_HELD, 0);
	}
	/* Reports after that count. */
	tell(&p.mallory, REST, 0);
	tell(&p.alice, IS_RELEASED, 0);
	pair_down(&p);
}

static void a_stopped_program_that_ends_is_forgotten(void **state)
{
	struct pair p;

	(void)state;
	NEEDS_ROOT();
	pair_up(&p);
	kill(p.mallory.pid, SIGSTOP);
	tell(&p.alice, IS_RELEASED, 0);
	kill(p.mallory.pid, SIGKILL);
	assert_int_equal(waitpid(p.mallory.pid, NULL, 0), p.mallory.pid);
	close(p.mallory.fd);
	/* Although Alice's program has work. */
	rig_expect_asleep(&p.rig);
	user_end(&p.alice);
	rig_down(&p.rig);
}

static void nothing_ticks_for_a_stopped_program_while_no_other_has_work(void **state)
{
	struct pair p;

	(void)state;
	NEEDS_ROOT();
	pair_up(&p);
	kill(p.mallory.pid, SIGSTOP);
	tell(&p.alice, IS_RELEASED, 0);
	tell(&p.alice, REST, 0);
	rig_expect_asleep(&p.rig);
	tell(&p.alice, WORK, 0);
	kill(p.mallory.pid, SIGCONT);
	tell(&p.alice, IS_HELD, 0);
	pair_down(&p);
}

/* A file of a control group. False: it cannot be written. */
static bool write_group(const char *group, const char *file, const char *text)
{
	char path[PATH_MAX + 64];
	int fd, n;

	snprintf(path, sizeof(path), "%s/%s", group, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : (int)write(fd, text, strlen(text));
	if (fd >= 0)
		close(fd);
	return n == (int)strlen(text);
}

static void hold_while_frozen(const char *mount, const char *file, const char *freeze,
			      const char *thaw)
{
	char group[PATH_MAX], pid[16];
	struct pair p;

	NEEDS_ROOT();
	snprintf(group, sizeof(group), "%.4000s/gpreempt-test-%d", mount, (int)getpid());
	if (!*mount || mkdir(group, 0755)) {
		print_message("no control group can be made: %s\n",
			      *mount ? strerror(errno) : "that hierarchy is not mounted");
		skip();
	}
	if (!write_group(group, file, thaw)) {
		rmdir(group);
		print_message("%s/%s cannot be written\n", group, file);
		skip();
	}
	pair_up(&p);
	snprintf(pid, sizeof(pid), "%d", (int)p.mallory.pid);
	assert_true(write_group(group, "cgroup.procs", pid));
	assert_true(write_group(group, file, freeze));
	tell(&p.alice, IS_RELEASED, 0);
	assert_true(write_group(group, file, thaw));
	tell(&p.alice, IS_HELD, 0);
	pair_down(&p);
	assert_int_equal(rmdir(group), 0);
}

static void a_frozen_program_holds_no_other(void **state)
{
	struct gp__freezers f;

	(void)state;
	gp__freezers_find(&f);
	hold_while_frozen(f.unified, "cgroup.freeze", "1", "0");
}

static void a_program_frozen_by_version_1_holds_no_other(void **state)
{
	struct gp__freezers f;

	(void)state;
	gp__freezers_find(&f);
	hold_while_frozen(f.freezer, "freezer.state", "FROZEN", "THAWED");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_without_the_device_costs_no_other_user),
		cmocka_unit_test(a_program_with_the_device_is_scheduled_among_all),
		cmocka_unit_test(a_device_that_is_opened_late_is_found),
		cmocka_unit_test(a_device_that_is_closed_holds_no_other),
		cmocka_unit_test(a_device_that_is_opened_again_counts_again),
		cmocka_unit_test(other_devices_are_configured_while_it_runs),
		cmocka_unit_test(devices_without_a_path_are_refused),
		cmocka_unit_test(the_daemon_names_and_measures_a_gpu_itself),
		cmocka_unit_test(a_group_keeps_its_number_and_settings_on_the_shared_gpu),
		cmocka_unit_test(gpus_are_found_with_key_name_and_memory),
		cmocka_unit_test(only_the_device_itself_is_found),
		cmocka_unit_test(a_process_with_many_descriptors_costs_a_bounded_time),
		cmocka_unit_test(a_process_that_has_ended_is_not_inspected),
		cmocka_unit_test(users_take_turns_in_being_inspected),
		cmocka_unit_test(an_inspection_may_end_at_any_time),
		cmocka_unit_test(a_stopped_program_holds_no_other),
		cmocka_unit_test(a_stopped_program_that_ends_is_forgotten),
		cmocka_unit_test(nothing_ticks_for_a_stopped_program_while_no_other_has_work),
		cmocka_unit_test(a_frozen_program_holds_no_other),
		cmocka_unit_test(a_program_frozen_by_version_1_holds_no_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
