// SPDX-License-Identifier: MIT
/*
 * What a program meets on an emulated machine: how long a packet takes there and back, how many
 * dispatches a second it does, and what it takes to stop a queue and start it again, by each way
 * the driver has and by the waves that are resident. Beside wall time stands the device's own,
 * which a slow host does not distort. Nothing here is what a GPU would show.
 *
 * Outside a machine it starts one for itself: the same command on 'gpreempt emu exec'.
 */
#include "benches.h"
#include "machine.h"
#include "tennis.h"

#include "base/clock.h"
#include "device/kfd/user.h"
#include "base/object.h"
#include "emu/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#ifdef GP_EMU_KERNELS

#define RING 4096u
#define BATCH 512u
#define CUS "8"
#define SPINS 1024
#define SECOND_NS 1000000000ull
#define PATIENCE_NS (20 * SECOND_NS)

struct client {
	struct gp__kfd_user u;
	struct gp__kfd_queue q;
	struct gp__kfd_memory code, data;
	struct gp__object object;
	struct gp__kfd_signal *signal;
	/* For the kernels "gate" and "knock". */
	struct {
		uint64_t arrived, open, left, turn;
	} * gate_args;
	_Atomic uint32_t *arrived, *open, *left;
};

static int wait_below(struct gp__kfd_signal *s, int64_t value)
{
	uint64_t deadline = gp__clock_ns() + PATIENCE_NS;

	for (unsigned int n = 1; atomic_load(&s->value) >= value; n++) {
		if (n % SPINS)
			continue;
		/* On a host with few processors the machine may be waiting for ours. */
		sched_yield();
		if (gp__clock_ns() > deadline)
			return -ETIME;
	}
	return 0;
}

static int barrier_round_trip(void *arg, uint64_t times)
{
	struct client *c = arg;
	int err = 0;

	while (!err && times--) {
		atomic_store(&c->signal->value, 1);
		gp__kfd_barrier(&c->q, c->signal);
		err = wait_below(c->signal, 1);
	}
	return err;
}

static uint64_t kernel(const struct client *c, const char *name)
{
	uint64_t offset;

	return gp__object_symbol(&c->object, name, &offset) ? (uint64_t)c->code.at + offset : 0;
}

static int dispatch_batch(void *arg, uint64_t times)
{
	struct client *c = arg;
	struct gp__kfd_dispatch d = { .kernel = kernel(c, "knock.kd"),
				      .kernarg = &c->gate_args->open,
				      .grid = 64,
				      .group = 64 };
	int err = 0;

	while (!err && times--) {
		for (unsigned int i = 0; i < BATCH; i++)
			gp__kfd_launch(&c->q, &d, NULL);
		err = barrier_round_trip(c, 1);
	}
	return err;
}

/*
 * Stopping: each way takes the queue off the GPU when it returns, and puts it back.
 */

struct way {
	const char *name;
	int (*stop)(struct client *c);
	int (*start)(struct client *c);
};

static int update_stop(struct client *c)
{
	return gp__kfd_queue_set_percentage(&c->q, 0);
}

static int update_start(struct client *c)
{
	return gp__kfd_queue_set_percentage(&c->q, GP_KFD_PERCENTAGE_MAX);
}

static int debug_queues(struct client *c, uint32_t op)
{
	uint32_t id = c->q.id;
	struct gp_kfd_dbg_trap args = { .pid = (uint32_t)getpid(), .op = op };
	int n;

	if (op == GP_KFD_DBG_SUSPEND_QUEUES) {
		args.suspend_queues.queue_array_ptr = (uint64_t)&id;
		args.suspend_queues.num_queues = 1;
	} else {
		args.resume_queues.queue_array_ptr = (uint64_t)&id;
		args.resume_queues.num_queues = 1;
	}
	n = gp__kfd_ioctl(c->u.kfd, GP_KFD_DBG_TRAP, &args);
	if (n < 0)
		return n;
	return n == 1 ? 0 : -EIO;
}

static int debug_stop(struct client *c)
{
	return debug_queues(c, GP_KFD_DBG_SUSPEND_QUEUES);
}

static int debug_start(struct client *c)
{
	return debug_queues(c, GP_KFD_DBG_RESUME_QUEUES);
}

static int preempt_stop(struct client *c)
{
	struct gp_kfd_preempt_queue args = { .queue_id = c->q.id,
					     .preempt_type = GP_KFD_PREEMPT_SAVE };

	return gp__kfd_ioctl(c->u.kfd, GP_KFD_PREEMPT_QUEUE, &args);
}

static int preempt_start(struct client *c)
{
	struct gp_kfd_resume_queue args = { .queue_id = c->q.id };

	return gp__kfd_ioctl(c->u.kfd, GP_KFD_RESUME_QUEUE, &args);
}

static const struct way ways[] = {
	{ "update", update_stop, update_start },
	{ "dbgtrap", debug_stop, debug_start },
	{ "preempt", preempt_stop, preempt_start },
};

/* The device's clock in nanoseconds. */
static uint64_t device_ns(struct client *c)
{
	struct gp_kfd_get_clock_counters args = { .gpu_id = c->u.node.gpu_id };

	return gp__kfd_ioctl(c->u.kfd, GP_KFD_GET_CLOCK_COUNTERS, &args)
		       ? 0
		       : args.gpu_clock_counter * 10;
}

struct cycle {
	double stop_wall, stop_device, start_wall, start_device;
};

/* A clock read is a call too, and no part of what is measured. */
static int timed(struct client *c, int (*call)(struct client *c), double *wall, double *device)
{
	uint64_t device_start = device_ns(c), start = gp__clock_ns();
	int err = call(c);

	*wall = (double)(gp__clock_ns() - start);
	*device = (double)(device_ns(c) - device_start);
	return err;
}

static int gate_closes(struct client *c, uint32_t waves)
{
	struct gp__kfd_dispatch d = { .kernel = kernel(c, "gate.kd"),
				      .kernarg = c->gate_args,
				      .grid = waves * 64,
				      .group = 64 };
	uint64_t deadline = gp__clock_ns() + PATIENCE_NS;

	*c->arrived = *c->open = *c->left = 0;
	atomic_store(&c->signal->value, 1);
	if (waves)
		gp__kfd_launch(&c->q, &d, c->signal);
	while (atomic_load(c->arrived) < waves) {
		if (gp__clock_ns() > deadline)
			return -ETIME;
		usleep(100);
	}
	return 0;
}

static int gate_opens(struct client *c, uint32_t waves)
{
	int err;

	atomic_store(c->open, 1);
	err = waves ? wait_below(c->signal, 1) : 0;
	if (!err && *c->left != waves)
		err = -EILSEQ; /* somebody was lost, or came twice */
	return err;
}

/* Sorts them. */
static double median(double *v, unsigned int n)
{
	struct gp__stats stats = { 0 };

	gp__stats_of(v, n, &stats);
	return stats.median;
}

static int measure_way(struct gp__bench_run *run, struct client *c, const struct way *way,
		       uint32_t waves, struct cycle *result)
{
	enum { MAX = 64 };
	unsigned int n = gp__bench_repeats(run) < MAX ? gp__bench_repeats(run) : MAX;
	double v[4][MAX];
	int err = gate_closes(c, waves);

	for (unsigned int i = 0; !err && i < n; i++) {
		err = timed(c, way->stop, &v[0][i], &v[1][i]);
		if (!err)
			err = timed(c, way->start, &v[2][i], &v[3][i]);
		usleep(500);
	}
	if (!err)
		err = gate_opens(c, waves);
	if (!err)
		*result = (struct cycle){ median(v[0], n), median(v[1], n), median(v[2], n),
					  median(v[3], n) };
	return err;
}

static void add_row(struct gp__bench_run *run, const char *what, const char *state, uint32_t waves,
		    double wall_ns, double device_ns)
{
	json_t *row = json_pack("{s:s, s:s, s:i, s:f}", "what", what, "state", state, "waves",
				(int)waves, "wall_us", wall_ns / 1e3);

	json_object_set_new(row, "device_us",
			    device_ns < 0 ? json_null() : json_real(device_ns / 1e3));
	gp__bench_row(run, row);
}

static int bench_stops(struct gp__bench_run *run, struct client *c)
{
	static const uint32_t waves[] = { 0, 1, 32, 256 };
	char what[64];

	for (size_t k = 0; k < sizeof(ways) / sizeof(ways[0]); k++) {
		for (size_t i = 0; i < sizeof(waves) / sizeof(waves[0]); i++) {
			struct cycle cycle;
			int err = measure_way(run, c, &ways[k], waves[i], &cycle);

			if (err)
				return gp__bench_fail(run, err, "stopping by %s with %u waves",
						      ways[k].name, waves[i]);
			snprintf(what, sizeof(what), "stop by %s", ways[k].name);
			add_row(run, what, "resident", waves[i], cycle.stop_wall,
				cycle.stop_device);
			snprintf(what, sizeof(what), "start by %s", ways[k].name);
			add_row(run, what, "resident", waves[i], cycle.start_wall,
				cycle.start_device);
		}
	}
	return 0;
}

/*
 * Packets
 */

static void let_machine_sleep(void *arg)
{
	(void)arg;
	usleep(20000);
}

static int bench_packets(struct gp__bench_run *run, struct client *c)
{
	struct table_tennis futex;
	struct gp__bench_pair pair;
	struct gp__stats ns;
	int err = tennis_start(&futex, true);

	if (err)
		return gp__bench_fail(run, err, "starting a second thread");
	err = gp__bench_compare(run, barrier_round_trip, c, tennis_round_trip, &futex, &pair);
	if (!err) {
		add_row(run, "barrier packet", "hot", 0, pair.a_ns.median, -1);
		add_row(run, "futex ping-pong", "hot", 0, pair.b_ns.median, -1);
		err = gp__bench_cold(run, barrier_round_trip, let_machine_sleep, c, &ns);
	}
	if (!err) {
		add_row(run, "barrier packet", "cold", 0, ns.median, -1);
		err = gp__bench_cold(run, tennis_round_trip, let_machine_sleep, &futex, &ns);
	}
	tennis_end(&futex);
	if (err)
		return gp__bench_fail(run, err, "sending barrier packets");
	add_row(run, "futex ping-pong", "cold", 0, ns.median, -1);
	err = gp__bench_hot(run, dispatch_batch, c, &ns);
	if (err)
		return gp__bench_fail(run, err, "dispatching");
	add_row(run, "dispatch of one wave", "hot", 1, ns.median / BATCH, -1);
	return 0;
}

/*
 * An idle machine
 */

/* The process at the other end of the machine's socket. */
static pid_t machine_pid(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(struct ucred);
	struct ucred peer = { 0 };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/" EMU_SOCKET,
		 getenv(EMU_DIR_VARIABLE));
	if (fd >= 0 && !connect(fd, (struct sockaddr *)&address, sizeof(address)))
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len);
	if (fd >= 0)
		close(fd);
	return peer.pid;
}

/* Nanoseconds of CPU time; 0: not to be known. */
static uint64_t cpu_ns(pid_t pid)
{
	clockid_t clock;
	struct timespec ts;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * SECOND_NS + (uint64_t)ts.tv_nsec;
}

static void bench_idle(struct gp__bench_run *run)
{
	pid_t pid = machine_pid();
	uint64_t start, cpu, seconds = gp__bench_quick(run) ? 1 : 5;
	double percent;

	usleep(500000); /* what is hot may cool down */
	start = gp__clock_ns();
	cpu = cpu_ns(pid);
	if (!cpu)
		return;
	sleep((unsigned int)seconds);
	cpu = cpu_ns(pid) - cpu;
	percent = 100.0 * (double)cpu / (double)(gp__clock_ns() - start);
	gp__bench_summary(run, "idle_cpu_percent", json_real(percent),
			  "an idle machine with an idle client on it: %.3f %% of a CPU", percent);
}

/*
 * The client
 */

/* So that the debugger's way is open: before there is a queue. */
static int enable_runtime(struct client *c)
{
	struct gp_kfd_runtime_enable args = { .mode_mask = GP_KFD_RUNTIME_ENABLE_MODE };

	return gp__kfd_ioctl(c->u.kfd, GP_KFD_RUNTIME_ENABLE, &args);
}

static int enable_debug(struct client *c)
{
	struct gp_kfd_runtime_info info;
	struct gp_kfd_dbg_trap args = { .pid = (uint32_t)getpid(), .op = GP_KFD_DBG_ENABLE };
	struct gp_kfd_queue_snapshot snapshot[8];
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	args.enable = (struct gp_kfd_dbg_enable){ .rinfo_ptr = (uint64_t)&info,
						  .rinfo_size = sizeof(info),
						  .dbg_fd = (uint32_t)fd };
	err = gp__kfd_ioctl(c->u.kfd, GP_KFD_DBG_TRAP, &args);
	close(fd);
	if (err)
		return err;
	/* A queue is new until somebody has looked at it. */
	args = (struct gp_kfd_dbg_trap){ .pid = (uint32_t)getpid(),
					 .op = GP_KFD_DBG_GET_QUEUE_SNAPSHOT };
	args.snapshot = (struct gp_kfd_dbg_snapshot){
		.exception_mask = GP_KFD_EC_MASK(GP_KFD_EC_QUEUE_NEW),
		.snapshot_buf_ptr = (uint64_t)snapshot,
		.num_entries = 8,
		.entry_size = sizeof(snapshot[0]),
	};
	return gp__kfd_ioctl(c->u.kfd, GP_KFD_DBG_TRAP, &args);
}

static int disable_debug(struct client *c)
{
	struct gp_kfd_dbg_trap args = { .pid = (uint32_t)getpid(), .op = GP_KFD_DBG_DISABLE };

	return gp__kfd_ioctl(c->u.kfd, GP_KFD_DBG_TRAP, &args);
}

static int load_kernels(struct client *c)
{
	int err = gp__object_read(&c->object, GP_EMU_KERNELS);

	if (!err)
		err = gp__kfd_alloc(&c->u, &c->code, gp__object_bytes(&c->object),
				    GP_KFD_MEM_GTT | GP_KFD_MEM_EXECUTABLE);
	if (!err)
		gp__object_load(&c->object, c->code.at);
	return err;
}

static int make_data(struct client *c)
{
	int err = gp__kfd_alloc(&c->u, &c->data, 8192, GP_KFD_MEM_GTT | GP_KFD_MEM_COHERENT);
	char *at = c->data.at;

	if (err)
		return err;
	c->signal = (void *)at;
	c->signal->kind = GP__KFD_SIGNAL_USER;
	c->gate_args = (void *)(at + 128);
	c->arrived = (void *)(at + 256);
	c->open = c->arrived + 1;
	c->left = c->arrived + 2;
	c->gate_args->arrived = (uint64_t)c->arrived;
	c->gate_args->open = (uint64_t)c->open;
	c->gate_args->left = (uint64_t)c->left;
	c->gate_args->turn = (uint64_t)(c->arrived + 3);
	return 0;
}

static int begin(struct client *c)
{
	struct gp__kfd_node node[GP__KFD_NODES_MAX];
	int n = gp__kfd_nodes(node), err;

	if (n <= 0)
		return n ? n : -ENODEV;
	err = gp__kfd_open(&c->u, &node[0]);
	if (err)
		return err;
	err = enable_runtime(c);
	if (!err)
		err = load_kernels(c);
	if (!err)
		err = make_data(c);
	if (!err)
		err = gp__kfd_queue_create(&c->u, &c->q, RING);
	return err ? err : enable_debug(c);
}

static void end(struct client *c)
{
	disable_debug(c);
	if (c->q.doorbell)
		gp__kfd_queue_destroy(&c->q);
	gp__kfd_free(&c->u, &c->data);
	gp__kfd_free(&c->u, &c->code);
	gp__object_free(&c->object);
	gp__kfd_close(&c->u);
}

int bench_emu_kfd(struct gp__bench_run *run)
{
	struct client c = { .u = { .kfd = -1, .render = -1 } };
	int err;

	if (!bench_is_on_machine())
		return gp__bench_fail(run, bench_run_on_machine(CUS), "no machine can be started");
	gp__bench_device(run, "emulated gfx90a, " CUS " compute units");
	err = begin(&c);
	if (err)
		err = gp__bench_fail(run, err, "a queue on the emulated machine");
	if (!err)
		err = bench_packets(run, &c);
	if (!err)
		err = bench_stops(run, &c);
	if (!err)
		bench_idle(run);
	end(&c);
	return err;
}

#else

int bench_emu_kfd(struct gp__bench_run *run)
{
	return gp__bench_fail(
		run, -ENOENT,
		"this build has no kernels for the emulated GPU: it was made without a clang and "
		"lld that know AMD's GPUs (version 17 or later)");
}

#endif
