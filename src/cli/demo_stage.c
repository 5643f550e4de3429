// SPDX-License-Identifier: MIT
/*
 * Runs the machine, the scheduler and the two programs as a user would from a shell, and reads
 * their output. Each mode has its own machine and scheduler.
 *
 * process.c starts and ends them. Waiting ends after STALL_MS without output.
 */
#include "cli/demo.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/progress.h"
#include "cli/child.h"
#include "cli/emu.h"
#include "emu/kfd/tree.h"
#include "device/request.h"
#include "wire/client.h"

#define STALL_MS 60000
#define DAEMON_MS 10000
#define LOOK_MS 20
#define ARGS_MAX 40
#define CUS 4
/* Programs and scheduler have a better priority than the threads that emulate the GPU: a real GPU
 * takes no CPU time from them. */
#define GPU_NICE 5
#define VRAM_BYTES (1ull << 30)
/*
 * The offline program fills the GPU; its step is one long kernel, with the next ones queued behind
 * it. A request of the online program is a short kernel, every PERIOD_MS.
 */
#define PERIOD_MS 80
#define WARM_STEPS 2
/* The time that the offline program is alone, as a part of the time of the requests. */
#define ALONE_PART 2
/* The number of steps that a language model is alone: they are few and long. */
#define ALONE_STEPS 6

static const char *const names[DEMO_PROGRAMS] = { "online_server", "offline_trainer" };
static const char *const llm_names[DEMO_PROGRAMS] = { "online_llama", "offline_llama" };
#define GROUPS "64"
#define ROUNDS "2400"
static const char *const online_work[] = { "--groups", "8", "--rounds", "1500", NULL };

static void add_words(const char **argv, const char *const *words)
{
	while (*argv)
		argv++;
	while (*words)
		*argv++ = *words++;
}

/*
 * Their output
 */

static bool take_request(struct demo_mode *m, const char *line)
{
	struct demo_request r = { 0 };

	if (sscanf(line,
		   "request %*u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64 " %" SCNu64 " %" SCNx64,
		   &r.arrived, &r.answered, &r.device_arrived, &r.device_answered, &r.first,
		   &r.device_first, &r.tokens, &r.digest) < 4)
		return true; /* the summary at its end */
	if (!DEMO_APPEND(&m->requests))
		return false;
	*DEMO_LAST(&m->requests) = r;
	return true;
}

static bool take_step(struct demo_steps *steps, const char *line)
{
	struct demo_step step;

	if (sscanf(line, "step %*u %" SCNu64 " %" SCNx64, &step.ended, &step.digest) != 2)
		return true;
	if (!DEMO_APPEND(steps))
		return false;
	*DEMO_LAST(steps) = step;
	return true;
}

static bool take_line(struct demo_mode *m, enum demo_who who, const char *line)
{
	int pid;

	/* The process that uses the GPU is a child of the one that was started. */
	if (sscanf(line, "pid %d", &pid) == 1) {
		m->pid[who] = pid;
		return true;
	}
	return who == DEMO_ONLINE ? take_request(m, line) : take_step(&m->steps, line);
}

/* False: out of memory. Overlong lines are not ours and are ignored. */
static bool take_bytes(struct process *p, struct demo_mode *m, enum demo_who who, const char *bytes,
		       ssize_t n)
{
	for (ssize_t i = 0; i < n; i++) {
		if (bytes[i] != '\n') {
			if (p->used < sizeof(p->line) - 1)
				p->line[p->used++] = bytes[i];
			continue;
		}
		p->line[p->used] = '\0';
		p->used = 0;
		if (!take_line(m, who, p->line))
			return false;
	}
	return true;
}

/*
 * Waiting for them
 */

enum need {
	NEED_STEPS, /* the offline program has done enough steps */
	NEED_TIME, /* time has passed */
	NEED_ANSWERS, /* the online program has ended */
	NEED_END, /* the offline program has ended */
};

struct wait {
	enum need need;
	uint64_t until; /* of NEED_TIME */
	uint64_t steps; /* of NEED_STEPS */
	uint64_t alive; /* the time of the latest output */
	struct gp__progress progress;
};

static bool is_met(const struct demo_stage *s, const struct demo_mode *m, const struct wait *w)
{
	switch (w->need) {
	case NEED_STEPS:
		return m->steps.n >= w->steps;
	case NEED_TIME:
		return gp__clock_ns() >= w->until;
	case NEED_ANSWERS:
		return !s->program[DEMO_ONLINE].pid;
	default:
		return !s->program[DEMO_OFFLINE].pid;
	}
}

static int has_ended(struct demo_stage *s, struct process *p, bool may)
{
	int status = process_reap(p);
	char how[64];

	if (!status && may)
		return 0;
	snprintf(how, sizeof(how), status ? "ended with status %d" : "ended too early", status);
	return process_failed(s->env, p, how);
}

static int read_some(struct demo_stage *s, struct demo_mode *m, enum demo_who who, struct wait *w)
{
	struct process *p = &s->program[who];
	char bytes[4096];
	ssize_t n = read(p->out, bytes, sizeof(bytes));

	if (n < 0)
		return 0;
	if (!n)
		return has_ended(s, p, w->need == (who == DEMO_ONLINE ? NEED_ANSWERS : NEED_END));
	w->alive = gp__clock_ns();
	if (!take_bytes(p, m, who, bytes, n))
		return gp__env_fail(s->env, GP__EXIT_FAILURE, NULL, "out of memory");
	return 0;
}

static int look(struct demo_stage *s, struct demo_mode *m, struct wait *w)
{
	struct pollfd fds[DEMO_PROGRAMS];
	int status = 0;

	for (int i = 0; i < DEMO_PROGRAMS; i++)
		fds[i] = (struct pollfd){ .fd = s->program[i].out, .events = POLLIN };
	if (poll(fds, DEMO_PROGRAMS, LOOK_MS) < 0 && errno != EINTR)
		return gp__env_fail(s->env, GP__EXIT_FAILURE, NULL, "poll: %s", strerror(errno));
	for (int i = 0; i < DEMO_PROGRAMS && !status; i++) {
		if (s->program[i].out >= 0 && fds[i].revents)
			status = read_some(s, m, (enum demo_who)i, w);
	}
	if (process_signal())
		return process_interrupted();
	if (!status && gp__clock_ns() - w->alive > (uint64_t)STALL_MS * GP__MS)
		status = gp__env_fail(
			s->env, GP__EXIT_FAILURE, NULL,
			"the programs printed nothing for %d s: the host is too slow, or "
			"one of them hangs",
			STALL_MS / 1000);
	return status;
}

/* @amount: milliseconds of NEED_TIME, or the steps of NEED_STEPS. */
static int wait_for(struct demo_stage *s, struct demo_mode *m, enum need need, uint64_t amount)
{
	struct wait w = { .need = need, .alive = gp__clock_ns(), .steps = amount };
	int status = 0;

	w.until = w.alive + amount * GP__MS;
	if (need == NEED_ANSWERS)
		gp__progress_start(&w.progress, s->env->err, m->title, "requests", s->requests);
	while (!status && !is_met(s, m, &w)) {
		status = look(s, m, &w);
		gp__progress_update(&w.progress, m->requests.n);
	}
	gp__progress_end(&w.progress);
	return status;
}

/*
 * The machine
 */

static int start_machine(struct demo_stage *s, const struct demo_mode *m)
{
	struct emu_config config = { .chip = emu_chip_find("gfx90a"),
				     .nr_gpus = 1,
				     .nr_xccs = 1,
				     .xcc_cus = CUS,
				     .vram_bytes = VRAM_BYTES,
				     .kernel =
					     m->needs_drain ? EMU_KERNEL_GPREEMPT : EMU_KERNEL_6_12,
				     .sched = m->needs_drain ? EMU_SCHED_NONE : EMU_SCHED_HWS,
				     .cwsr = true,
				     .seed = 1 };
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int lock;

	config.nice = GPU_NICE;
	config.threads = cpus > 0 && cpus < CUS ? (int)cpus : CUS;
	snprintf(config.name, sizeof(config.name), "%s", s->machine);
	lock = emu_folder_make(s->env, config.name, config.dir);
	if (lock < 0)
		return -lock;
	memcpy(s->machine_dir, config.dir, sizeof(s->machine_dir));
	config.trace = fopen(s->trace, "we");
	if (config.trace)
		s->machine_pid = emu_machine_start(s->env, &config, lock, false);
	else
		gp__env_fail(s->env, GP__EXIT_FAILURE, NULL, "%s: %s", s->trace, strerror(errno));
	close(lock);
	if (config.trace)
		fclose(config.trace);
	if (config.trace && s->machine_pid > 0)
		return 0;
	s->machine_pid = 0;
	emu_folder_remove(s->machine_dir);
	return GP__EXIT_FAILURE;
}

/* Its trace is complete afterwards. */
static void stop_machine(struct demo_stage *s)
{
	if (s->machine_pid > 0)
		emu_machine_stop(s->machine_dir, s->machine_pid);
	s->machine_pid = 0;
}

/*
 * The scheduler
 */

static int write_config(struct demo_stage *s, char path[PATH_MAX])
{
	FILE *out;

	snprintf(path, PATH_MAX, "%s/gpreemptd.conf", s->folder);
	snprintf(s->decisions, sizeof(s->decisions), "%s/decisions", s->folder);
	unlink(s->decisions);
	out = fopen(path, "we");
	if (out && fprintf(out, "[daemon]\nlog = %s\n", s->decisions) > 0 && !fclose(out))
		return 0;
	return gp__env_fail(s->env, GP__EXIT_FAILURE, NULL, "%s: %s", path, strerror(errno));
}

static bool answers(const char *socket)
{
	char text[GP__WIRE_TEXT_MAX];
	int fd = gp__wire_control(socket, text);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int start_daemon(struct demo_stage *s)
{
	char config[PATH_MAX], socket[PATH_MAX];
	const char *argv[] = { s->daemon_file, "--config", config, "--socket", socket, NULL };
	int status = write_config(s, config);

	snprintf(socket, sizeof(socket), "%s/control.sock", s->folder);
	if (!status && setenv(GP__ENV_SOCKET, socket, 1))
		status = gp__env_fail(s->env, GP__EXIT_FAILURE, NULL, "out of memory");
	if (!status)
		status = process_start(s->env, s->folder, &s->daemon, argv, false);
	for (int ms = 0; !status && !answers(socket); ms += LOOK_MS) {
		if (process_signal())
			return process_interrupted();
		if (ms > DAEMON_MS)
			return process_failed(s->env, &s->daemon, "does not answer");
		gp__sleep_ns(LOOK_MS * GP__MS);
	}
	return status;
}

/*
 * The programs
 */

/* llm_driver's arguments; on the GPU the offline program works until it is told to end. */
static void add_llm(struct demo_stage *s, enum demo_who who, bool on_gpu, const char *count,
		    const char **argv)
{
	const struct demo_llm *l = s->llm;
	const char *const words[] = { l->driver,
				      who == DEMO_ONLINE ? "online" : "offline",
				      on_gpu ? "gpu" : "host",
				      on_gpu && who == DEMO_OFFLINE ? "0" : count,
				      s->socket[who],
				      l->runner,
				      l->folder,
				      s->model,
				      NULL };

	add_words(argv, words);
}

static void add_offline_work(const struct demo_stage *s, const char **argv)
{
	const char *const work[] = { "--queues", "1",	    "--groups", s->groups, "--rounds",
				     s->rounds,	 "--ahead", "4",	NULL };

	add_words(argv, work);
}

static void add_own(struct demo_stage *s, enum demo_who who, const char *requests,
		    const char *period, const char **argv)
{
	const char *const program[] = { s->file[who], "--each", NULL };
	const char *const serve[] = { "--requests", requests, "--period", period, NULL };

	add_words(argv, program);
	if (who == DEMO_ONLINE)
		add_words(argv, serve);
	if (who == DEMO_ONLINE)
		add_words(argv, online_work);
	else
		add_offline_work(s, argv);
}

/* gpreempt run -c online -- gpreempt emu exec --name NAME -- PROGRAM ...; or without a machine. */
static int start_program(struct demo_stage *s, struct demo_mode *m, enum demo_who who)
{
	bool online = who == DEMO_ONLINE;
	char level[8], requests[24], period[16];
	const char *const run[] = { s->self, "run", "-c", online ? "online" : "offline", NULL };
	const char *const at_level[] = { "--level", level, NULL };
	const char *const on_machine[] = {
		s->self, "emu", "exec", "--name", s->machine, "--", NULL
	};
	const char *const dashes[] = { "--", NULL };
	const char *argv[ARGS_MAX] = { NULL };
	int status;

	snprintf(level, sizeof(level), "%d", m->level);
	snprintf(requests, sizeof(requests), "%" PRIu64, s->requests);
	snprintf(period, sizeof(period), "%dms", PERIOD_MS);
	if (m->level) {
		add_words(argv, run);
		if (!online)
			add_words(argv, at_level);
		add_words(argv, dashes);
	}
	if (!s->on_gpu)
		add_words(argv, on_machine);
	if (s->llm)
		add_llm(s, who, true, requests, argv);
	else
		add_own(s, who, requests, period, argv);
	status = process_start(s->env, s->folder, &s->program[who], argv, true);
	m->pid[who] = s->program[who].pid;
	return status;
}

static int end_offline(struct demo_stage *s, struct demo_mode *m)
{
	kill(s->program[DEMO_OFFLINE].pid, SIGTERM);
	return wait_for(s, m, NEED_END, 0);
}

/* Reads from its output whether it was joined at the requested level. */
static bool is_unsupported(struct demo_stage *s, struct demo_mode *m)
{
	static const char prefix[] = "gpreempt: ";
	const char *end = "\n:";
	char text[2048], *line;

	if (!m->level)
		return false;
	process_errors(&s->program[DEMO_OFFLINE], text, sizeof(text));
	line = strstr(text, "without a priority");
	if (!line) {
		line = strstr(text, " is not available: ");
		end = "\n;";
	}
	if (!line)
		return false;
	while (line > text && line[-1] != '\n')
		line--;
	if (!strncmp(line, prefix, sizeof(prefix) - 1))
		line += sizeof(prefix) - 1;
	line[strcspn(line, end)] = '\0';
	snprintf(m->unsupported, sizeof(m->unsupported), "%.*s", (int)sizeof(m->unsupported) - 1,
		 line);
	return true;
}

static int run_apart(struct demo_stage *s, struct demo_mode *m)
{
	int status = start_program(s, m, DEMO_ONLINE);

	if (!status)
		status = wait_for(s, m, NEED_ANSWERS, 0);
	if (!status)
		status = start_program(s, m, DEMO_OFFLINE);
	if (!status)
		status = wait_for(s, m, NEED_STEPS, WARM_STEPS);
	if (!status && s->llm)
		status = wait_for(s, m, NEED_STEPS, WARM_STEPS + ALONE_STEPS);
	else if (!status)
		status = wait_for(s, m, NEED_TIME, s->requests * PERIOD_MS / ALONE_PART);
	return status ? status : end_offline(s, m);
}

static int run_together(struct demo_stage *s, struct demo_mode *m)
{
	int status = start_program(s, m, DEMO_OFFLINE);

	if (!status)
		status = wait_for(s, m, NEED_STEPS, WARM_STEPS);
	if (!status && is_unsupported(s, m)) {
		process_end(&s->program[DEMO_OFFLINE], SIGKILL);
		return 0;
	}
	if (!status)
		status = start_program(s, m, DEMO_ONLINE);
	if (!status)
		status = wait_for(s, m, NEED_ANSWERS, 0);
	return status ? status : end_offline(s, m);
}

static int stop_daemon(struct demo_stage *s)
{
	if (!s->daemon.pid)
		return 0;
	if (waitpid(s->daemon.pid, NULL, WNOHANG)) {
		s->daemon.pid = 0;
		return process_failed(s->env, &s->daemon, "ended too early");
	}
	process_end(&s->daemon, SIGTERM);
	return 0;
}

static int read_all(struct demo_stage *s, struct demo_mode *m)
{
	char why[PATH_MAX + 128];

	if (*m->unsupported)
		return 0;
	if (!s->on_gpu && !demo_trace_read(m, s->trace, why, sizeof(why)))
		return gp__env_fail(s->env, GP__EXIT_FAILURE, NULL, "%s", why);
	if (m->level && !demo_decisions_read(m, s->decisions))
		return gp__env_fail(s->env, GP__EXIT_FAILURE, NULL, "cannot read %s", s->decisions);
	return 0;
}

int demo_stage_run(struct demo_stage *s, struct demo_mode *m)
{
	int status = s->on_gpu ? 0 : start_machine(s, m);

	m->on_gpu = s->on_gpu;
	if (!status && m->level)
		status = start_daemon(s);
	if (!status)
		status = m->apart ? run_apart(s, m) : run_together(s, m);
	if (!status)
		status = stop_daemon(s);
	stop_machine(s);
	return status ? status : read_all(s, m);
}

static int expect_answers(struct demo_stage *s, struct demo_mode *host)
{
	const char *argv[ARGS_MAX] = { NULL };
	char number[24];
	int status;

	snprintf(number, sizeof(number), "%" PRIu64, s->requests);
	add_llm(s, DEMO_ONLINE, false, number, argv);
	status = process_start(s->env, s->folder, &s->program[DEMO_ONLINE], argv, true);
	return status ? status : wait_for(s, host, NEED_ANSWERS, 0);
}

int demo_stage_expect(struct demo_stage *s, uint64_t steps, struct demo_mode *host)
{
	char number[24];
	/* Work that is long on a GPU is too long for the host: the GPU does it again, undisturbed.
	 */
	const char *const again[] = { s->file[DEMO_OFFLINE],
				      "--each",
				      "--on",
				      s->step_ns ? "gpu" : "host",
				      "--steps",
				      number,
				      NULL };
	const char *argv[ARGS_MAX] = { NULL };
	int status;

	host->title = "checking the results";
	snprintf(number, sizeof(number), "%" PRIu64, steps);
	if (s->llm) {
		add_llm(s, DEMO_OFFLINE, false, number, argv);
	} else {
		add_words(argv, again);
		add_offline_work(s, argv);
	}
	status = process_start(s->env, s->folder, &s->program[DEMO_OFFLINE], argv, true);
	if (!status)
		status = wait_for(s, host, NEED_END, 0);
	return status || !s->llm ? status : expect_answers(s, host);
}

/*
 * Setup
 */

static int find_files(struct demo_stage *s)
{
	ssize_t n = readlink("/proc/self/exe", s->self, sizeof(s->self) - 1);

	if (n < 0)
		return gp__env_fail(s->env, GP__EXIT_FAILURE, NULL, "/proc/self/exe: %s",
				    strerror(errno));
	for (int i = 0; i < DEMO_PROGRAMS && !s->llm; i++) {
		char built[64], installed[PATH_MAX];

		snprintf(built, sizeof(built), "../demo/%s", names[i]);
		snprintf(installed, sizeof(installed), GP_LIBEXEC_DIR "/%s", names[i]);
		if (!child_has_file(built, installed, s->file[i]))
			return gp__env_fail(s->env, GP__EXIT_FAILURE,
					    "On Debian and Ubuntu: apt-get install "
					    "libhsa-runtime-dev; then 'meson setup --reconfigure "
					    "build' and 'make'.",
					    "this build has no programs for the demo: ROCr was "
					    "missing (package libhsa-runtime-dev)");
	}
	return child_find_file(s->env, "../daemon/gpreemptd", GP_SBIN_DIR "/gpreemptd",
			       s->daemon_file);
}

static int make_folder(struct demo_stage *s)
{
	const char *base = getenv("XDG_RUNTIME_DIR");

	/* The path of a socket must be short. */
	if (!base || *base != '/' || strlen(base) > 32 || access(base, W_OK))
		base = "/tmp";
	snprintf(s->folder, sizeof(s->folder), "%s/gpreempt-demo-XXXXXX", base);
	if (mkdtemp(s->folder)) {
		snprintf(s->trace, sizeof(s->trace), "%s/trace", s->folder);
		return 0;
	}
	gp__env_fail(s->env, GP__EXIT_FAILURE, NULL, "%s: %s", s->folder, strerror(errno));
	s->folder[0] = '\0';
	return GP__EXIT_FAILURE;
}

/* Writes the model into the folder of this run. */
static int make_model(struct demo_stage *s)
{
	struct demo_mode nothing = { 0 };
	const char *const argv[] = { s->llm->maker, s->model, NULL };
	int status;

	snprintf(s->model, sizeof(s->model), "%s/model.gguf", s->folder);
	for (int i = 0; i < DEMO_PROGRAMS; i++)
		snprintf(s->socket[i], sizeof(s->socket[i]), "%s/%d.sock", s->folder, i);
	status = process_start(s->env, s->folder, &s->program[DEMO_OFFLINE], argv, true);
	return status ? status : wait_for(s, &nothing, NEED_END, 0);
}

/* Asks the trainer for the work that fills this GPU with steps of the wanted length. */
static int size_work(struct demo_stage *s)
{
	struct process *p = &s->program[DEMO_OFFLINE];
	char length[32];
	const char *const argv[] = {
		s->file[DEMO_OFFLINE], "--fill", length, "--queues", "1", NULL
	};
	json_int_t groups = 0, rounds = 0;
	json_t *size;
	int status;
	FILE *in;

	snprintf(length, sizeof(length), "%lluus", s->step_ns / GP__US);
	status = process_start(s->env, s->folder, p, argv, true);
	if (status)
		return status;
	in = fdopen(dup(p->out), "re");
	size = in ? json_loadf(in, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
	if (in)
		fclose(in);
	if (process_reap(p) ||
	    json_unpack(size, "{s:I, s:I}", "groups", &groups, "rounds", &rounds))
		status = process_failed(s->env, p, "cannot find the size of its work");
	json_decref(size);
	snprintf(s->groups, sizeof(s->groups), "%" JSON_INTEGER_FORMAT, groups);
	snprintf(s->rounds, sizeof(s->rounds), "%" JSON_INTEGER_FORMAT, rounds);
	return status;
}

int demo_stage_open(struct demo_stage *s, struct gp__env *env, const struct demo_llm *llm,
		    uint64_t requests, bool on_gpu, uint64_t step_ns)
{
	int status;

	*s = (struct demo_stage){ .env = env,
				  .llm = llm,
				  .requests = requests,
				  .on_gpu = on_gpu,
				  .step_ns = step_ns,
				  .groups = GROUPS,
				  .rounds = ROUNDS };
	for (int i = 0; i < DEMO_PROGRAMS; i++)
		s->program[i] = (struct process){ .name = (llm ? llm_names : names)[i], .out = -1 };
	s->daemon = (struct process){ .name = "gpreemptd", .out = -1 };
	snprintf(s->machine, sizeof(s->machine), "demo-%d", (int)getpid());
	status = find_files(s);
	if (!status)
		status = make_folder(s);
	/* The environment of this command must not affect how its programs are scheduled. */
	unsetenv(GP__ENV_PRIORITY);
	unsetenv(GP__ENV_LEVEL);
	if (!status && step_ns)
		status = size_work(s);
	return status || !llm ? status : make_model(s);
}

void demo_stage_close(struct demo_stage *s)
{
	for (int i = 0; i < DEMO_PROGRAMS; i++)
		process_end(&s->program[i], SIGKILL);
	process_end(&s->daemon, SIGTERM);
	stop_machine(s);
	if (*s->folder)
		emu_tree_remove(s->folder, "");
	s->folder[0] = '\0';
}
