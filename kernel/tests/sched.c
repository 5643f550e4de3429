// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests the kernel's scheduler with programs whose queues have different priorities on a fake GPU.
 * The kernel learns of their work from their rings alone.
 *
 * Usage: sched hws|mes|nohws
 *
 * Runs as root in the kernel of `make kernel-test`, which has amdgpu.kfd_sched=1. Prints a line for
 * each case.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common.h"
#include "gpreempt/uapi/gpreempt_kfd.h"

#define PAGE BUFFER_BYTES
#define PACKET_BYTES 64
#define COMPLETION_SIGNAL 56
#define HIGH 15
#define LOW 2
#define NORMAL 7
#define PATIENCE_S 60
#define STAYS_MS 300 /* three times as long as the scheduler waits for work that has no signal */

/* A program's memory that the scheduler looks at. */
struct memory {
	volatile uint64_t rptr, wptr;
	volatile uint64_t signal[8]; /* the value is the second one */
	uint8_t ring[PAGE] __attribute__((aligned(PAGE)));
};

enum wish {
	PLAIN,
	WITH_RING, /* a packet can have a signal */
	BY_IOCTL, /* CREATE_QUEUE */
	BEHIND_USERFAULTFD, /* its write pointer is in a page that nobody ever brings */
	WITHOUT_RIGHT, /* to be more urgent than others */
	WITHOUT_LOGICAL_PRIORITY,
};

struct program {
	pid_t pid;
	struct memory *memory;
	int orders, answers;
};

/*
 * In the program
 */

static int kfd;
static int fault_fd;

static void *page_that_never_comes(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	fault_fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	reg.range.start = (uintptr_t)page;
	reg.range.len = PAGE;
	if (page == MAP_FAILED || fault_fd < 0 || ioctl(fault_fd, UFFDIO_API, &api) ||
	    ioctl(fault_fd, UFFDIO_REGISTER, &reg))
		die("userfaultfd");
	return page;
}

/* The same memory once more. Pages are there once they were used. */
static void map_again(void *page, unsigned long address)
{
	void *at = mremap(page, 0, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, address);

	if (at == MAP_FAILED)
		die("ring");
	memset(at, 0, PAGE);
}

static void create_by_ioctl(struct memory *m, int priority)
{
	struct gp_kfd_create_queue args = usual_queue();

	map_again(m->ring, RING_ADDRESS);
	map_again(m, POINTERS_ADDRESS);
	control("prepare %d", (int)getpid());
	args.logical_priority = (uint32_t)priority + 1;
	if (call(kfd, GP_KFD_CREATE_QUEUE, &args))
		die("CREATE_QUEUE");
}

static void give_up_right(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, data))
		die("capget");
	data[CAP_TO_INDEX(CAP_SYS_NICE)].effective &= ~CAP_TO_MASK(CAP_SYS_NICE);
	if (syscall(SYS_capset, &header, data))
		die("capset");
}

static void create(struct memory *m, int priority, enum wish wish)
{
	volatile uint64_t *wptr = wish == BEHIND_USERFAULTFD ? page_that_never_comes() : &m->wptr;

	if (wish == BY_IOCTL) {
		create_by_ioctl(m, priority);
		return;
	}
	if (wish == WITH_RING)
		map_again(m->ring, RING_ADDRESS);
	if (wish == WITHOUT_RIGHT)
		give_up_right();
	control("create %d %d %lx %lx", (int)getpid(),
		wish == WITHOUT_LOGICAL_PRIORITY ? 0 : priority + 1, (unsigned long)&m->rptr,
		(unsigned long)wptr);
}

static int obey(char order)
{
	uint32_t id = 0;
	struct gp_kfd_preempt preempt = {
		.op = order == 'p' ? GP_KFD_OP_PREEMPT : GP_KFD_OP_RESUME,
		.queues = { .queue_array_ptr = (uintptr_t)&id,
			    .num_queues = 1,
			    .type = order == 'p' ? GP_KFD_PREEMPT_SAVE : 0 },
	};
	struct gp_kfd_destroy_queue destroy = { .queue_id = 0 };
	struct gp_kfd_update_queue update = {
		.ring_base_address = RING_ADDRESS,
		.ring_size = PAGE,
		.queue_percentage = 100,
		.queue_priority = HIGH,
	};
	struct pollfd fault = { .fd = fault_fd, .events = POLLIN };

	switch (order) {
	case 'p':
	case 'r':
		return call(kfd, GP_KFD_PREEMPT, &preempt) == 1 ? 0 : -1;
	case 'd':
		return call(kfd, GP_KFD_DESTROY_QUEUE, &destroy);
	case 'u':
		return call(kfd, GP_KFD_UPDATE_QUEUE, &update);
	case 'f':
		return poll(&fault, 1, 0);
	default:
		return -1;
	}
}

static _Noreturn void be_program(struct memory *m, int priority, enum wish wish, int in, int out)
{
	int result = 0;
	char order;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	m->rptr = m->wptr = 0;
	m->signal[1] = 0;
	kfd = open_kfd();
	create(m, priority, wish);
	do {
		if (write(out, &result, sizeof(result)) != sizeof(result))
			_exit(1);
		if (read(in, &order, 1) != 1)
			_exit(0);
		result = obey(order);
	} while (true);
}

/*
 * Outside
 */

static struct program start(int priority, enum wish wish)
{
	int orders[2], answers[2], result;
	struct program p;

	p.memory = mmap(NULL, sizeof(*p.memory), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (p.memory == MAP_FAILED || pipe2(orders, O_CLOEXEC) || pipe2(answers, O_CLOEXEC))
		die("program");
	p.pid = fork();
	if (!p.pid) {
		close(orders[1]);
		be_program(p.memory, priority, wish, orders[0], answers[1]);
	}
	close(orders[0]);
	close(answers[1]);
	p.orders = orders[1];
	p.answers = answers[0];
	if (p.pid < 0 || read(p.answers, &result, sizeof(result)) != sizeof(result))
		die("program");
	return p;
}

static int order(const struct program *p, char what)
{
	int result;

	if (write(p->orders, &what, 1) != 1 ||
	    read(p->answers, &result, sizeof(result)) != sizeof(result))
		die("order");
	return result;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool runs(const struct program *p)
{
	return state_of(p->pid, 0).mapped;
}

#define EXPECT_SOON(p, running) expect_soon(p, running, #p, __LINE__)
#define EXPECT_STAYS(p, running) expect_stays(p, running, #p, __LINE__)

static void expect_soon(const struct program *p, bool running, const char *who, int line)
{
	double end = seconds() + PATIENCE_S;
	char text[64];

	while (runs(p) != running && seconds() < end)
		usleep(1000);
	snprintf(text, sizeof(text), "%s %s", who, running ? "runs" : "is stopped");
	expect(runs(p) == running, text, line);
}

static void expect_stays(const struct program *p, bool running, const char *who, int line)
{
	double end = seconds() + STAYS_MS / 1e3;
	bool stayed = true;
	char text[64];

	do {
		stayed &= runs(p) == running;
		usleep(1000);
	} while (seconds() < end);
	snprintf(text, sizeof(text), "%s still %s", who, running ? "runs" : "is stopped");
	expect(stayed, text, line);
}

static void end(struct program *p)
{
	kill(p->pid, SIGKILL);
	/* Its queue goes when the last reference to it does. It has its pid until it is reaped. */
	while (state_of(p->pid, 0).exists)
		usleep(1000);
	waitpid(p->pid, NULL, 0);
	close(p->orders);
	close(p->answers);
	munmap(p->memory, sizeof(*p->memory));
}

static void submit(struct program *p, uint64_t packets)
{
	p->memory->wptr += packets;
}

/* How many packets the GPU has consumed of up to @packets: none where the queue does not run. */
static uint64_t consume(struct program *p, unsigned int packets)
{
	uint64_t before = p->memory->rptr;

	control("advance %d %u", (int)p->pid, packets);
	return p->memory->rptr - before;
}

/*
 * The scheduler's files
 */

static unsigned int gpu_id;

static void node_path(char *path, size_t size, const char *name)
{
	snprintf(path, size, "/sys/class/kfd/kfd/sched_%u/%s", gpu_id, name);
}

/* 0 or -errno. */
static int read_text(const char *path, char *text, size_t size)
{
	ssize_t n = -1;
	int fd = open(path, O_RDONLY | O_CLOEXEC), error;

	if (fd >= 0)
		n = read(fd, text, size - 1);
	error = errno;
	if (fd >= 0)
		close(fd);
	if (n < 0)
		return -error;
	text[n] = '\0';
	return 0;
}

static int set(const char *name, const char *value)
{
	ssize_t size = (ssize_t)strlen(value), n;
	char path[96];
	int fd, error;

	node_path(path, sizeof(path), name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		die(path);
	n = write(fd, value, (size_t)size);
	error = errno;
	close(fd);
	return n == size ? 0 : -error;
}

static long node_number(const char *name)
{
	char path[96], text[32];

	node_path(path, sizeof(path), name);
	if (read_text(path, text, sizeof(text)))
		die(path);
	return atol(text);
}

static int queue_text(const struct program *p, const char *name, char *text, size_t size)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/queues/0/%s", (int)p->pid, name);
	return read_text(path, text, size);
}

static long queue_number(const struct program *p, const char *name)
{
	char text[32];
	int error = queue_text(p, name, text, sizeof(text));

	return error ? error : atol(text);
}

static bool queue_says(const struct program *p, const char *name, const char *want)
{
	char text[32];

	return !queue_text(p, name, text, sizeof(text)) && !strcmp(text, want);
}

/* The files show what was seen when the thread looked last. */
static void expect_number_soon(const struct program *p, const char *name, long want, int line)
{
	double end = seconds() + PATIENCE_S;

	while (queue_number(p, name) != want && seconds() < end)
		usleep(1000);
	expect_eq(queue_number(p, name), want, name, line);
}

#define EXPECT_NUMBER_SOON(p, name, want) expect_number_soon(p, name, want, __LINE__)

static void expect_text_soon(const struct program *p, const char *name, const char *want, int line)
{
	double end = seconds() + PATIENCE_S;

	while (!queue_says(p, name, want) && seconds() < end)
		usleep(1000);
	expect(queue_says(p, name, want), name, line);
}

#define EXPECT_TEXT_SOON(p, name, want) expect_text_soon(p, name, want, __LINE__)

/* Of a file that may be longer than what there is to find in it. */
static bool file_has(const char *path, const char *what)
{
	static char text[1 << 20];
	size_t size = 0;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		die(path);
	while ((n = read(fd, text + size, sizeof(text) - 1 - size)) > 0)
		size += (size_t)n;
	close(fd);
	text[size] = '\0';
	return strstr(text, what);
}

/*
 * Cases
 */

static void urgent_work_goes_first(void)
{
	struct program low = start(LOW, PLAIN), high = start(HIGH, PLAIN);

	submit(&low, 10);
	EXPECT_EQ(consume(&low, 2), 2);
	EXPECT_STAYS(&low, true);
	for (int i = 0; i < 3; i++) {
		submit(&high, 3);
		EXPECT_SOON(&low, false);
		EXPECT_EQ(runs(&high), true);
		EXPECT_EQ(consume(&low, 2), 0);
		expect_consistent();
		EXPECT_EQ(consume(&high, 3), 3);
		EXPECT_SOON(&low, true);
		EXPECT_EQ(consume(&low, 2), 2);
		expect_consistent();
	}
	end(&low);
	end(&high);
}

static void equals_run_together(void)
{
	struct program a = start(NORMAL, PLAIN), b = start(NORMAL, WITHOUT_LOGICAL_PRIORITY);
	struct program high = start(HIGH, PLAIN);

	submit(&a, 1);
	submit(&b, 1);
	EXPECT_STAYS(&a, true);
	EXPECT_STAYS(&b, true);
	submit(&high, 1);
	EXPECT_SOON(&a, false);
	EXPECT_SOON(&b, false);
	consume(&high, 1);
	EXPECT_SOON(&a, true);
	EXPECT_SOON(&b, true);
	end(&a);
	end(&b);
	end(&high);
}

/* A consumed packet has not ended: the signal of the last packet says when it has. */
static void work_ends_with_its_signal(void)
{
	struct program low = start(LOW, PLAIN), high = start(HIGH, WITH_RING);
	uint64_t signal = (uintptr_t)high.memory->signal;

	submit(&low, 1);
	high.memory->signal[1] = 1;
	memcpy(high.memory->ring + COMPLETION_SIGNAL, &signal, sizeof(signal));
	submit(&high, 1);
	EXPECT_SOON(&low, false);
	EXPECT_EQ(consume(&high, 1), 1);
	EXPECT_STAYS(&low, false);
	high.memory->signal[1] = 0;
	EXPECT_SOON(&low, true);
	end(&low);
	end(&high);
}

/*
 * The signal was armed again, and then the write index moved without a doorbell. Only the hardware
 * knows that the work has ended.
 */
static void expect_doubt(unsigned int xcc)
{
	struct program low = start(LOW, PLAIN), high = start(HIGH, WITH_RING);
	uint64_t signal = (uintptr_t)high.memory->signal;

	control("waves 1 %u", xcc);
	submit(&low, 1);
	high.memory->signal[1] = 1;
	memcpy(high.memory->ring + COMPLETION_SIGNAL, &signal, sizeof(signal));
	submit(&high, 1);
	EXPECT_SOON(&low, false);
	EXPECT_EQ(consume(&high, 1), 1);
	EXPECT_STAYS(&low, false);
	control("waves 0");
	EXPECT_SOON(&low, true);
	submit(&high, 2);
	EXPECT_SOON(&low, false);
	EXPECT_SOON(&low, true);
	control("waves -1");
	end(&low);
	end(&high);
}

static void work_without_progress_is_doubted(void)
{
	expect_doubt(0);
}

/* All waves of the queue are on one of them. */
static void waves_of_every_xcc_count(void)
{
	control("xccs 3");
	expect_doubt(2);
	control("xccs 1");
}

/* A run list unmaps and maps every queue of the GPU, so few of them matter. */
#define PIECES 3
#define PERIOD_MS 20

static void prepare_signals(struct program *p)
{
	uint64_t signal = (uintptr_t)p->memory->signal;

	for (int i = 0; i < PIECES; i++)
		memcpy(p->memory->ring + (size_t)(PACKET_BYTES * i + COMPLETION_SIGNAL), &signal,
		       sizeof(signal));
}

/* Returns when it was submitted. The scheduler has seen it. */
static double begin_piece(struct program *p)
{
	double at;

	p->memory->signal[1] = 1;
	submit(p, 1);
	at = seconds();
	EXPECT_NUMBER_SOON(p, "pending", 1);
	return at;
}

/* The scheduler has seen that it is over. */
static void end_piece(struct program *p)
{
	p->memory->signal[1] = 0;
	EXPECT_EQ(consume(p, 1), 1);
	EXPECT_NUMBER_SOON(p, "rptr", (long)p->memory->rptr);
}

struct cost {
	int all, inside;
	double longest_gap;
};

/* Pieces of work with gaps between them that the scheduler sees. */
static struct cost burst(const struct program *low, struct program *high)
{
	struct cost cost = { .all = number("runlists"), .longest_gap = 0 };
	double since, gap;

	begin_piece(high);
	EXPECT_SOON(low, false);
	cost.inside = number("runlists");
	for (int i = 1; i < PIECES; i++) {
		since = seconds();
		end_piece(high);
		gap = begin_piece(high) - since;
		if (gap > cost.longest_gap)
			cost.longest_gap = gap;
	}
	cost.inside = number("runlists") - cost.inside;
	end_piece(high);
	EXPECT_SOON(low, true);
	cost.all = number("runlists") - cost.all;
	return cost;
}

/* A gap that is longer than twice the period may end a burst: on a slow host, try again. */
static void a_burst_is_two_run_lists(void)
{
	struct program low = start(LOW, PLAIN);
	struct cost cost = { .longest_gap = 1 };
	int want = strcmp(scheduler, "hws") ? 0 : 2;

	EXPECT_EQ(set("period_us", "20000"), 0);
	EXPECT_EQ(set("waste_pct", "50"), 0);
	for (int i = 0; i < 20 && cost.longest_gap > 2e-3 * PERIOD_MS; i++) {
		/* A new program's gaps are not known. */
		struct program high = start(HIGH, WITH_RING);

		consume(&low, 1);
		submit(&low, 1);
		prepare_signals(&high);
		cost = burst(&low, &high);
		end(&high);
	}
	EXPECT(cost.longest_gap <= 2e-3 * PERIOD_MS);
	EXPECT_EQ(cost.all, want);
	EXPECT_EQ(cost.inside, 0);
	printf("# %s: %d run lists for a burst, %d inside it\n", scheduler, cost.all, cost.inside);
	EXPECT_EQ(set("period_us", "1000"), 0);
	EXPECT_EQ(set("waste_pct", "5"), 0);
	end(&low);
}

static int set_logical_priority(const struct program *p, uint32_t logical)
{
	uint32_t id = 0;
	struct gp_kfd_preempt args = {
		.op = GP_KFD_OP_SET_PRIORITY,
		.flags = GP_KFD_PREEMPT_TARGET,
		.pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0),
		.queues = { .queue_array_ptr = (uintptr_t)&id,
			    .num_queues = 1,
			    .logical_priority = logical },
	};
	int fd = open_kfd(), result = call(fd, GP_KFD_PREEMPT, &args);

	close(args.pidfd);
	close(fd);
	return result;
}

/* A program is held and the other released: the one that ran is less urgent from now on. */
static void a_handover_is_one_run_list(void)
{
	struct program low = start(LOW, PLAIN), high = start(HIGH, PLAIN);
	int before, cost, want = strcmp(scheduler, "hws") ? 0 : 1;

	submit(&low, 1);
	submit(&high, 1);
	EXPECT_SOON(&low, false);
	before = number("runlists");
	EXPECT_EQ(set_logical_priority(&high, LOW), 1);
	EXPECT_SOON(&low, true);
	EXPECT_SOON(&high, false);
	EXPECT_STAYS(&low, true);
	cost = number("runlists") - before;
	EXPECT_EQ(cost, want);
	printf("# %s: %d run lists for a handover\n", scheduler, cost);
	end(&low);
	end(&high);
}

/* How often the thread looks in a second. */
static long ticks_a_second(void)
{
	double begun;
	long before;

	usleep(100000); /* what has just changed is looked at once */
	begun = seconds();
	before = node_number("ticks");
	usleep(500000);
	return (long)((double)(node_number("ticks") - before) / (seconds() - begun) + 0.5);
}

static void one_priority_costs_nothing(void)
{
	struct program a = start(LOW, PLAIN), b = start(LOW, PLAIN), high;
	long one, idle, busy;

	submit(&a, 1);
	one = ticks_a_second();
	EXPECT_EQ(one, 0);
	EXPECT_EQ(node_number("interval_us"), 0);
	high = start(HIGH, PLAIN);
	busy = ticks_a_second();
	EXPECT_EQ(node_number("interval_us"), node_number("period_us"));
	consume(&a, 1);
	EXPECT_NUMBER_SOON(&a, "pending", 0);
	usleep(1000L * STAYS_MS);
	idle = ticks_a_second();
	EXPECT_EQ(node_number("interval_us"), 10 * node_number("period_us"));
	EXPECT(idle > 0 && idle <= 110);
	/* How many more than without work depends on the host. */
	EXPECT(busy > 0);
	printf("# %s: ticks a second: %ld with one priority; with two %ld, without work %ld\n",
	       scheduler, one, busy, idle);
	end(&high);
	EXPECT_EQ(ticks_a_second(), 0);
	end(&a);
	end(&b);
}

/* The scheduler neither waits for a page that is not there nor has it fetched. */
static void page_that_does_not_come(void)
{
	struct program stuck = start(HIGH, BEHIND_USERFAULTFD);

	urgent_work_goes_first();
	EXPECT_EQ(runs(&stuck), true);
	EXPECT_EQ(order(&stuck, 'f'), 0);
	end(&stuck);
}

static void urgent_program_dies(void)
{
	struct program low = start(LOW, PLAIN), high = start(HIGH, PLAIN);

	submit(&low, 1);
	submit(&high, 1);
	EXPECT_SOON(&low, false);
	end(&high);
	EXPECT_SOON(&low, true);
	expect_consistent();
	end(&low);
}

static void held_program_dies(void)
{
	struct program low = start(LOW, PLAIN), high = start(HIGH, PLAIN);

	submit(&low, 1);
	submit(&high, 1);
	EXPECT_SOON(&low, false);
	end(&low);
	EXPECT_EQ(runs(&high), true);
	expect_consistent();
	end(&high);
}

static void held_queue_is_destroyed(void)
{
	struct program low = start(LOW, PLAIN), high = start(HIGH, PLAIN);

	submit(&low, 1);
	submit(&high, 1);
	EXPECT_SOON(&low, false);
	EXPECT_EQ(order(&low, 'd'), 0);
	EXPECT_EQ(state_of(low.pid, 0).exists, false);
	expect_consistent();
	end(&low);
	end(&high);
}

static void its_owner_holds_it_too(void)
{
	struct program low = start(LOW, PLAIN), high = start(HIGH, PLAIN);

	submit(&low, 1);
	submit(&high, 1);
	EXPECT_SOON(&low, false);
	EXPECT_EQ(order(&low, 'p'), 0);
	consume(&high, 1);
	EXPECT_STAYS(&low, false);
	expect_consistent();
	EXPECT_EQ(order(&low, 'r'), 0);
	EXPECT_EQ(runs(&low), true);
	submit(&high, 1);
	EXPECT_SOON(&low, false);
	EXPECT_EQ(order(&low, 'p'), 0);
	EXPECT_EQ(order(&low, 'r'), 0);
	EXPECT_EQ(runs(&low), false);
	expect_consistent();
	end(&low);
	end(&high);
}

/* The GPU is for others as long as the urgent program itself keeps its queue off it. */
static void urgent_owner_holds_its_own(void)
{
	struct program low = start(LOW, PLAIN), high = start(HIGH, PLAIN);

	submit(&low, 1);
	submit(&high, 1);
	EXPECT_SOON(&low, false);
	EXPECT_EQ(order(&high, 'p'), 0);
	EXPECT_SOON(&low, true);
	EXPECT_STAYS(&low, true);
	EXPECT_EQ(order(&high, 'r'), 0);
	EXPECT_SOON(&low, false);
	EXPECT_EQ(consume(&high, 1), 1);
	EXPECT_SOON(&low, true);
	expect_consistent();
	end(&low);
	end(&high);
}

static void being_urgent_needs_a_right(void)
{
	struct program low = start(LOW, PLAIN), normal = start(NORMAL, PLAIN);
	struct program bold = start(HIGH, WITHOUT_RIGHT);

	submit(&low, 1);
	submit(&normal, 1);
	submit(&bold, 1);
	EXPECT_SOON(&low, false);
	EXPECT_STAYS(&normal, true);
	EXPECT_EQ(runs(&bold), true);
	/* Others see what it got. */
	EXPECT_EQ(queue_number(&bold, "logical_priority"), NORMAL);
	EXPECT_EQ(queue_number(&bold, "effective_priority"), NORMAL);
	end(&low);
	end(&normal);
	end(&bold);
}

static void priority_of_the_hardware_counts(void)
{
	struct program a = start(NORMAL, PLAIN), b = start(NORMAL, WITHOUT_LOGICAL_PRIORITY);

	submit(&a, 1);
	submit(&b, 1);
	EXPECT_STAYS(&a, true);
	EXPECT_EQ(order(&b, 'u'), 0);
	EXPECT_SOON(&a, false);
	EXPECT_EQ(runs(&b), true);
	expect_consistent();
	end(&a);
	end(&b);
}

static void nothing_happens_in_a_pause(void)
{
	struct program low = start(LOW, PLAIN), high = start(HIGH, PLAIN);

	submit(&low, 1);
	control("pause 1");
	submit(&high, 1);
	EXPECT_STAYS(&low, true);
	control("pause 0");
	EXPECT_SOON(&low, false);
	control("pause 1");
	consume(&high, 1);
	EXPECT_STAYS(&low, false);
	control("pause 0");
	EXPECT_SOON(&low, true);
	end(&low);
	end(&high);
}

static void evicted_while_it_is_held(void)
{
	struct program low = start(LOW, PLAIN), high = start(HIGH, PLAIN);

	submit(&low, 1);
	submit(&high, 1);
	EXPECT_SOON(&low, false);
	control("evict %d", (int)low.pid);
	consume(&high, 1);
	EXPECT_STAYS(&low, false);
	expect_consistent();
	control("restore %d", (int)low.pid);
	EXPECT_SOON(&low, true);
	end(&low);
	end(&high);
}

static void unmaps_take_time(void)
{
	control("slow 1000000 20");
	urgent_work_goes_first();
	control("slow 0 0");
}

static void created_by_the_ioctl(void)
{
	struct program low = start(LOW, BY_IOCTL), high = start(HIGH, BY_IOCTL);

	EXPECT_EQ(queue_number(&high, "logical_priority"), HIGH);
	submit(&low, 1);
	EXPECT_STAYS(&low, true);
	submit(&high, 1);
	EXPECT_SOON(&low, false);
	EXPECT_EQ(consume(&high, 1), 1);
	EXPECT_SOON(&low, true);
	expect_consistent();
	end(&low);
	end(&high);
}

/* It goes on where it was. The programs come back one by one. */
static void machine_sleeps(void)
{
	struct program low = start(LOW, PLAIN), high = start(HIGH, PLAIN);
	int fd = open_kfd();

	/* Without firmware the driver wakes only programs that have a page table: this one, too. */
	control("prepare %d", (int)getpid());
	close(fd);
	submit(&low, 1);
	submit(&high, 1);
	EXPECT_SOON(&low, false);
	control("suspend 1");
	EXPECT_EQ(node_number("paused"), 1);
	EXPECT_EQ(runs(&high), false);
	EXPECT_STAYS(&low, false);
	control("suspend 0");
	EXPECT_EQ(node_number("paused"), 0);
	EXPECT_SOON(&high, true);
	EXPECT_SOON(&low, false);
	EXPECT_STAYS(&low, false);
	EXPECT_EQ(consume(&high, 1), 1);
	EXPECT_SOON(&low, true);
	expect_consistent();
	end(&low);
	end(&high);
}

/* Programs of before never run again, and others do not wait for their work. */
static void gpu_is_reset(void)
{
	struct program low = start(LOW, PLAIN), high = start(HIGH, PLAIN), next;

	submit(&low, 1);
	submit(&high, 1);
	EXPECT_SOON(&low, false);
	control("reset 1");
	EXPECT_EQ(node_number("paused"), 1);
	EXPECT_EQ(runs(&high), false);
	control("reset 0");
	EXPECT_EQ(node_number("paused"), 0);
	next = start(LOW, PLAIN);
	submit(&next, 1);
	EXPECT_STAYS(&next, true);
	EXPECT_STAYS(&low, false);
	EXPECT_EQ(runs(&high), false);
	expect_consistent();
	end(&high);
	high = start(HIGH, PLAIN);
	submit(&high, 1);
	EXPECT_SOON(&next, false);
	EXPECT_EQ(consume(&high, 1), 1);
	EXPECT_SOON(&next, true);
	expect_consistent();
	end(&low);
	end(&next);
	end(&high);
}

static void a_failure_is_tried_again(void)
{
	struct program low = start(LOW, PLAIN), high = start(HIGH, PLAIN);

	submit(&low, 1);
	control("fail_unmap 1");
	submit(&high, 1);
	EXPECT_SOON(&low, false);
	expect_consistent();
	consume(&high, 1);
	EXPECT_SOON(&low, true);
	end(&low);
	end(&high);
}

static unsigned int queue_file_mode(const struct program *p, const char *name)
{
	struct stat st = { 0 };
	char path[96];

	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/queues/0/%s", (int)p->pid, name);
	return stat(path, &st) ? 0 : st.st_mode & 07777;
}

static void files_of_a_queue(void)
{
	struct program low = start(LOW, PLAIN), high = start(HIGH, PLAIN);
	struct program stuck = start(HIGH, BEHIND_USERFAULTFD);
	long switches = node_number("switches"), inversions = node_number("inversions");

	submit(&low, 10);
	consume(&low, 4);
	EXPECT_NUMBER_SOON(&low, "rptr", 4);
	EXPECT_NUMBER_SOON(&low, "wptr", 10);
	EXPECT_NUMBER_SOON(&low, "pending", 6);
	EXPECT_EQ(queue_file_mode(&low, "rptr"), 0400);
	EXPECT_EQ(queue_file_mode(&low, "state"), 0400);
	EXPECT_EQ(queue_number(&low, "logical_priority"), LOW);
	EXPECT_EQ(queue_number(&low, "effective_priority"), LOW);
	EXPECT_EQ(queue_number(&low, "preemptions"), 0);
	EXPECT_EQ(queue_number(&low, "preempted_ms"), 0);
	EXPECT_TEXT_SOON(&low, "state", "admitted\n");
	EXPECT_EQ(queue_number(&stuck, "wptr"), -ENODATA);
	EXPECT_EQ(queue_number(&stuck, "pending"), -ENODATA);
	submit(&high, 1);
	EXPECT_SOON(&low, false);
	EXPECT_TEXT_SOON(&low, "state", "excluded\n");
	EXPECT_TEXT_SOON(&high, "state", "admitted\n");
	EXPECT_NUMBER_SOON(&low, "preemptions", 1);
	EXPECT_STAYS(&low, false);
	EXPECT(queue_number(&low, "preempted_ms") >= STAYS_MS);
	EXPECT_EQ(node_number("switches"), switches + 1);
	EXPECT_EQ(node_number("inversions"), inversions + 1);
	end(&low);
	end(&high);
	end(&stuck);
}

/* Thirteen levels below, it catches up by ageing, and runs beside the urgent one. */
static void waiting_long_enough_runs(void)
{
	struct program low = start(LOW, PLAIN), high = start(HIGH, PLAIN);

	EXPECT_EQ(set("grant_ms", "500"), 0);
	EXPECT_EQ(set("age_ms", "50"), 0);
	submit(&low, 1);
	submit(&high, 1);
	EXPECT_SOON(&low, false);
	while (!runs(&low) && queue_number(&low, "effective_priority") <= LOW)
		usleep(1000);
	EXPECT_SOON(&low, true);
	EXPECT_EQ(runs(&high), true);
	EXPECT_SOON(&low, false);
	EXPECT_EQ(set("age_ms", "0"), 0);
	end(&low);
	end(&high);
}

static void disabled_and_enabled(void)
{
	struct program low = start(LOW, PLAIN), high = start(HIGH, PLAIN);

	submit(&low, 1);
	submit(&high, 1);
	EXPECT_SOON(&low, false);
	EXPECT_EQ(set("enable", "0"), 0);
	EXPECT_EQ(runs(&low), true);
	EXPECT_STAYS(&low, true);
	expect_consistent();
	EXPECT_EQ(queue_number(&low, "effective_priority"), -ENODATA);
	EXPECT_EQ(queue_number(&low, "logical_priority"), LOW);
	/* Programs come and go meanwhile. */
	end(&high);
	high = start(HIGH, PLAIN);
	submit(&high, 1);
	EXPECT_EQ(set("max_hold_ms", "0"), 0);
	EXPECT_EQ(set("enable", "1"), 0);
	EXPECT_SOON(&low, false);
	EXPECT_EQ(node_number("max_hold_ms"), 0);
	end(&low);
	end(&high);
}

static bool policy_is(const char *want)
{
	char path[96], text[32];

	node_path(path, sizeof(path), "policy");
	return !read_text(path, text, sizeof(text)) && !strcmp(text, want);
}

/* At one moment, which may be short. */
static bool has_turn(const struct program *p, const struct program *other)
{
	struct look now;

	look(&now);
	return state_in(&now, p->pid, 0).mapped && !state_in(&now, other->pid, 0).mapped;
}

static void expect_turn(const struct program *p, const struct program *other, int line)
{
	double end = seconds() + PATIENCE_S;
	bool had = has_turn(p, other);

	while (!had && seconds() < end) {
		usleep(1000);
		had = has_turn(p, other);
	}
	expect(had, "it has its turn", line);
}

#define EXPECT_TURN(p, other) expect_turn(p, other, __LINE__)

/* Under hpf equals run together. */
static void equals_take_turns_under(const char *policy)
{
	struct program a = start(NORMAL, PLAIN), b = start(NORMAL, PLAIN);
	char line[16];

	snprintf(line, sizeof(line), "%s\n", policy);
	submit(&a, 1);
	submit(&b, 1);
	EXPECT_STAYS(&a, true);
	EXPECT_STAYS(&b, true);
	EXPECT_EQ(set("policy", policy), 0);
	EXPECT(policy_is(line));
	for (int i = 0; i < 2; i++) {
		EXPECT_TURN(&a, &b);
		EXPECT_TURN(&b, &a);
		expect_consistent();
	}
	EXPECT_EQ(set("policy", "hpf"), 0);
	EXPECT_SOON(&a, true);
	EXPECT_SOON(&b, true);
	EXPECT_STAYS(&a, true);
	EXPECT_STAYS(&b, true);
	end(&a);
	end(&b);
}

static void policies_are_switched(void)
{
	equals_take_turns_under("fair");
	equals_take_turns_under("share");
}

static void values_that_are_none(void)
{
	EXPECT_EQ(set("policy", "none"), -EINVAL);
	EXPECT_EQ(set("policy", "1"), -EINVAL);
	EXPECT(policy_is("hpf\n"));
	EXPECT_EQ(set("enable", "2"), -EINVAL);
	EXPECT_EQ(set("enable", "yes"), -EINVAL);
	EXPECT_EQ(set("period_us", "0"), -ERANGE);
	EXPECT_EQ(set("grace_us", "100000000"), -ERANGE);
	EXPECT_EQ(set("min_share_pct", "51"), -ERANGE);
	EXPECT_EQ(set("age_ms", "-1"), -EINVAL);
	EXPECT_EQ(set("age_ms", "600001"), -ERANGE);
	EXPECT_EQ(node_number("enable"), 1);
	EXPECT_EQ(node_number("paused"), 0);
	EXPECT(node_number("ticks") > 0);
}

/* The log is replayed outside, so it begins here, and no case comes after that adds to it. */
static void decisions_are_logged(void)
{
	char path[64];

	EXPECT_EQ(set("enable", "1"), 0);
	urgent_work_goes_first();
	snprintf(path, sizeof(path), "/sys/kernel/debug/kfd/sched_%u", gpu_id);
	EXPECT(file_has(path, "# gpreempt decision log 2\n"));
	EXPECT(file_has(path, " exclude q="));
	EXPECT(file_has(path, " why=priority by=e"));
	EXPECT(file_has(path, " admit q="));
	EXPECT(!file_has(path, "not kept"));
}

#define TRACING "/sys/kernel/tracing/"

static void decisions_are_traced(void)
{
	EXPECT(file_has(TRACING "trace", "kfd_sched_ring"));
	EXPECT(file_has(TRACING "trace", " ready rptr="));
	EXPECT(file_has(TRACING "trace", " preempt why=priority result=0 "));
	EXPECT(file_has(TRACING "trace", " resume why=chosen result=0 "));
}

static void start_tracing(void)
{
	int fd = open(TRACING "events/amdkfd/enable", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "1", 1) != 1)
		die("tracing");
	close(fd);
}

/* On a slow host, guarantees would fall due in the middle of a case. */
static void guarantee_nothing(void)
{
	if (set("min_share_pct", "0") || set("max_hold_ms", "0") || set("age_ms", "0"))
		die("parameters");
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: sched hws|mes|nohws\n");
		return 2;
	}
	scheduler = argv[1];
	current_case = "start";
	control("present 1");
	gpu_id = fake_gpu_id();
	start_tracing();
	guarantee_nothing();
	RUN(urgent_work_goes_first);
	RUN(equals_run_together);
	RUN(work_ends_with_its_signal);
	RUN(work_without_progress_is_doubted);
	RUN(waves_of_every_xcc_count);
	RUN(a_burst_is_two_run_lists);
	RUN(a_handover_is_one_run_list);
	RUN(one_priority_costs_nothing);
	RUN(page_that_does_not_come);
	RUN(urgent_program_dies);
	RUN(held_program_dies);
	RUN(held_queue_is_destroyed);
	RUN(its_owner_holds_it_too);
	RUN(urgent_owner_holds_its_own);
	RUN(being_urgent_needs_a_right);
	RUN(priority_of_the_hardware_counts);
	RUN(nothing_happens_in_a_pause);
	RUN(evicted_while_it_is_held);
	RUN(unmaps_take_time);
	RUN(machine_sleeps);
	RUN(gpu_is_reset);
	if (strcmp(scheduler, "mes"))
		RUN(created_by_the_ioctl);
	RUN(a_failure_is_tried_again);
	RUN(files_of_a_queue);
	RUN(waiting_long_enough_runs);
	RUN(disabled_and_enabled);
	RUN(policies_are_switched);
	RUN(values_that_are_none);
	RUN(decisions_are_logged);
	RUN(decisions_are_traced);
	control("present 0");
	return failures ? 1 : 0;
}
