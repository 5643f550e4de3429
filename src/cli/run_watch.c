// SPDX-License-Identifier: MIT
/*
 * A process beside the command of gpreempt run: it finds descendants that compute on a GPU without
 * having joined, and reads what joined ones have to say.
 *
 * It sleeps until a device file of a GPU is opened, and looks by itself at intervals that grow to
 * half a minute: a container has device files of its own. It ends with the command, and keeps none
 * of its files open but standard error.
 */
#include "cli/run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/fd.h"
#include "base/units.h"
#include "cli/child.h"
#include "daemon/census.h"
#include "device/request.h"

#define ENVIRON_MAX (1u << 20)
#define NOTE_MAX 512 /* bytes of a line */
/* Intervals between looks; the longest one applies where opens are not noticed, too. */
#define SOON_MS 100
#define WAITING_MS 500
#define LATE_MS 30000
#define UNNOTICED_MS 2000
/* A process may be seen while it executes another program: it is looked at twice. */
#define TWICE_NS (50 * GP__MS)
/* A program opens a GPU some time before its first call on it. */
#define JOINING_NS (3 * GP__S)

#define ENV_REMEDY "put 'gpreempt run' directly in front of it"

/* A process of the machine. */
struct process {
	pid_t pid, parent;
	u64 start;
};

/* A descendant of the command, or the command. */
struct member {
	pid_t pid;
	u64 start;
	u64 open_since; /* a GPU; 0: it has none open */
	bool alive, told; /* told: the user, that it has not joined */
	char name[GP__WIRE_NAME_MAX], why[128];
	const char *remedy;
};

static struct {
	struct gp__env *env;
	struct run_watch_options options;
	pid_t root, watcher;
	struct gp__devices *devices;
	struct member *member;
	size_t nr, room;
	int notes; /* a memfd that programs append lines to */
	int life, signals, opens; /* the command's pidfd, or -1; an inotify, or -1 */
	bool undecided; /* a program may still be joining */
	int ready[2]; /* a pipe: the watcher tells the path of its notes */
} w;

/*
 * The command and its descendants
 */

static struct member *find_member(pid_t pid)
{
	for (size_t i = 0; i < w.nr; i++) {
		if (w.member[i].pid == pid && w.member[i].alive)
			return &w.member[i];
	}
	return NULL;
}

/* Reads a file of a process as text, whose length this returns. */
static size_t read_proc(pid_t pid, const char *file, char *text, size_t size)
{
	char path[64];
	size_t len = 0;
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && len < size - 1 && (n = read(fd, text + len, size - 1 - len)) > 0)
		len += (size_t)n;
	if (fd >= 0)
		close(fd);
	text[len] = '\0';
	return len;
}

static bool read_process(pid_t pid, struct process *p)
{
	unsigned long long ticks;
	char text[512];
	const char *end;
	int parent;

	if (!read_proc(pid, "stat", text, sizeof(text)))
		return false;
	end = strrchr(text, ')');
	if (!end || sscanf(end + 1,
			   " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
			   "%*d %*d %llu",
			   &parent, &ticks) != 2)
		return false;
	*p = (struct process){ .pid = pid, .parent = parent, .start = ticks };
	return true;
}

/* The caller frees the list. */
static struct process *list_processes(size_t *nr)
{
	struct process *list = NULL, *more, p;
	const struct dirent *entry;
	DIR *proc = opendir("/proc");
	size_t room = 0;
	u64 pid;

	*nr = 0;
	/* cppcheck-suppress readdirCalled; the stream is this call's own */
	while (proc && (entry = readdir(proc))) {
		if (gp__parse_u64(entry->d_name, 1, INT32_MAX, &pid) ||
		    !read_process((pid_t)pid, &p))
			continue;
		if (*nr == room) {
			room = room ? 2 * room : 256;
			more = realloc(list, room * sizeof(*list));
			if (!more)
				break;
			list = more;
		}
		list[(*nr)++] = p;
	}
	if (proc)
		closedir(proc);
	return list;
}

static void add_member(const struct process *p)
{
	size_t room = w.room ? 2 * w.room : 16;
	struct member *more = w.member;

	if (w.nr == w.room) {
		more = realloc(w.member, room * sizeof(*more));
		if (!more)
			return;
		w.member = more;
		w.room = room;
	}
	w.member[w.nr++] = (struct member){ .pid = p->pid, .start = p->start, .alive = true };
}

/* Forgets members that have ended, unless they are in the summary. */
static void drop_ended(void)
{
	size_t kept = 0;

	for (size_t i = 0; i < w.nr; i++) {
		struct member *m = &w.member[i];
		struct process p;

		m->alive = m->alive && read_process(m->pid, &p) && p.start == m->start;
		if (m->alive || m->told)
			w.member[kept++] = *m;
	}
	w.nr = kept;
}

/* Whoever was seen as a descendant remains one when its parent ends. */
static void find_members(void)
{
	size_t nr, before;
	struct process *list = list_processes(&nr);

	drop_ended();
	do {
		before = w.nr;
		for (size_t i = 0; i < nr; i++) {
			if (list[i].pid != w.watcher && !find_member(list[i].pid) &&
			    (list[i].pid == w.root || find_member(list[i].parent)))
				add_member(&list[i]);
		}
	} while (w.nr > before);
	free(list);
}

/*
 * Notes of programs
 */

struct notes {
	char text[GP__NOTES_MAX + NOTE_MAX];
	char *rest;
};

/* The texts are in a struct notes. */
struct note {
	pid_t pid;
	const char *word, *text;
};

static void read_notes(struct notes *n)
{
	ssize_t len = pread(w.notes, n->text, sizeof(n->text) - 1, 0);

	n->text[len > 0 ? len : 0] = '\0';
	n->rest = n->text;
}

/* False: there are no more. Skips lines that are none. */
static bool next_note(struct notes *n, struct note *note)
{
	char *line, *pid;
	u64 value;

	while ((line = strsep(&n->rest, "\n"))) {
		pid = strsep(&line, " ");
		note->word = strsep(&line, " ");
		note->text = line;
		if (line && !gp__parse_u64(pid, 1, INT32_MAX, &value)) {
			note->pid = (pid_t)value;
			return true;
		}
	}
	return false;
}

/* Whether a process has written a note with @word; the text of the latest one is put into @text,
 * unless that is NULL. */
static bool find_note(pid_t pid, const char *word, char text[NOTE_MAX])
{
	struct notes n;
	struct note note;
	bool found = false;

	read_notes(&n);
	while (next_note(&n, &note)) {
		if (note.pid != pid || strcmp(note.word, word) != 0)
			continue;
		found = true;
		if (text)
			snprintf(text, NOTE_MAX, "%s", note.text);
	}
	return found;
}

/*
 * Why a program has not joined
 */

/* The value of a variable in a block of settings that end with NUL. NULL: it is not set. */
static const char *get_setting(const char *block, size_t len, const char *name)
{
	size_t n = strlen(name);

	for (const char *s = block; s < block + len; s += strlen(s) + 1) {
		if (!strncmp(s, name, n) && s[n] == '=')
			return s + n + 1;
	}
	return NULL;
}

/* @name: of a file, without its folder. */
static bool maps_file(pid_t pid, const char *name)
{
	char path[32], line[PATH_MAX];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, name);
	if (f)
		fclose(f);
	return found;
}

GP__PRINTF(3, 4)
static bool explain(struct member *m, const char *remedy, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(m->why, sizeof(m->why), fmt, args);
	va_end(args);
	m->remedy = remedy;
	return true;
}

/*
 * Whether another library has the program's calls and passes none of them on. The program has some
 * time for its first call.
 */
static bool is_hidden(struct member *m)
{
	char name[NOTE_MAX];

	if (!find_note(m->pid, GP__NOTE_HIDDEN, name) ||
	    find_note(m->pid, GP__NOTE_REACHED, NULL) || !maps_file(m->pid, name))
		return false;
	if (gp__clock_ns() - m->open_since < JOINING_NS) {
		w.undecided = true;
		return false;
	}
	return explain(m, "preload that library after gpreempt's, or run the program without it",
		       "%s has its calls first and does not pass them on", name);
}

static bool explain_file(struct member *m)
{
	struct run_obstacle o;
	char path[32];
	bool found;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)m->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	found = fd >= 0 && run_file_obstacle(fd, &o);
	if (fd >= 0)
		close(fd);
	return found && explain(m, o.remedy, "it %s", o.why);
}

/* The program may have overwritten its environment, as some do to change their title. */
static bool explain_environment(struct member *m, const char *block, size_t len)
{
	const char *preloads = get_setting(block, len, "LD_PRELOAD");
	bool preloaded = preloads && strstr(preloads, GP__JOIN_LIBRARY);

	if (maps_file(m->pid, GP__JOIN_LIBRARY)) {
		if (preloaded && !get_setting(block, len, GP__ENV_PRIORITY))
			return explain(m, ENV_REMEDY, "it was started without " GP__ENV_PRIORITY);
		return is_hidden(m);
	}
	if (explain_file(m))
		return true;
	if (!preloaded)
		return explain(m, ENV_REMEDY, "it was started without gpreempt's LD_PRELOAD");
	return explain(m, "start it as that user, behind 'gpreempt run'",
		       "it got the rights of another user or of its file when it was started, so "
		       "LD_PRELOAD was ignored");
}

/* False: it has joined, or is about to. */
static bool has_reason(struct member *m)
{
	char *block = malloc(ENVIRON_MAX);
	size_t len = block ? read_proc(m->pid, "environ", block, ENVIRON_MAX) : 0;
	bool found = block && explain_environment(m, block, len);

	free(block);
	return found;
}

/*
 * Telling
 */

static void terminate_all(void)
{
	for (size_t i = 0; i < w.nr; i++) {
		if (w.member[i].alive && w.member[i].pid != w.root)
			kill(w.member[i].pid, SIGTERM);
	}
}

static void tell(struct member *m)
{
	m->told = true;
	if (!w.options.quiet || w.options.require)
		fprintf(w.env->err,
			"gpreempt: %s (pid %d) uses a GPU and has not joined, so it has no "
			"priority: %s; %s\n",
			m->name, (int)m->pid, m->why, m->remedy);
	if (w.options.require) {
		fprintf(w.env->err, "gpreempt: the command is ended, because of --require\n");
		terminate_all();
	}
}

static bool is_unjoined(struct member *m)
{
	struct gp__holder h;
	bool computes;

	if (gp__holder_look(m->pid, w.devices, "", &h) != 1) {
		m->open_since = 0;
		return false;
	}
	computes = h.computes;
	snprintf(m->name, sizeof(m->name), "%s", h.name);
	gp__holder_free(&h);
	if (computes && !m->open_since)
		m->open_since = gp__clock_ns();
	return computes && has_reason(m);
}

static void look(void)
{
	w.undecided = false;
	find_members();
	for (size_t i = 0; i < w.nr; i++) {
		struct member *m = &w.member[i];

		if (!m->alive || m->told || !is_unjoined(m))
			continue;
		gp__sleep_ns(TWICE_NS);
		if (is_unjoined(m))
			tell(m);
	}
}

/* Whether a joined program has said that it is not scheduled. Prints such notes if @print. */
static bool read_unscheduled(bool print)
{
	struct notes n;
	struct note note;
	bool any = false;

	read_notes(&n);
	while (next_note(&n, &note)) {
		if (strcmp(note.word, GP__NOTE_UNSCHEDULED) != 0)
			continue;
		any = true;
		if (print)
			fprintf(w.env->err, "gpreempt: pid %d %s\n", (int)note.pid, note.text);
	}
	return any;
}

static bool summarise(void)
{
	bool any = false;

	for (size_t i = 0; i < w.nr; i++) {
		const struct member *m = &w.member[i];

		if (m->told)
			fprintf(w.env->err,
				"gpreempt: in summary, %s (pid %d) used a GPU without a priority: "
				"%s; %s\n",
				m->name, (int)m->pid, m->why, m->remedy);
		any |= m->told;
	}
	return read_unscheduled(true) || any;
}

/*
 * The process
 */

static int notice_opens(const char *patterns)
{
	char *words = strdup(patterns), *rest = words, *word;
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	bool any = false;
	glob_t found;

	while (fd >= 0 && words && (word = strsep(&rest, " \t"))) {
		if (*word != '/' || glob(word, 0, NULL, &found))
			continue;
		for (size_t i = 0; i < found.gl_pathc; i++)
			any |= inotify_add_watch(fd, found.gl_pathv[i], IN_OPEN) >= 0;
		globfree(&found);
	}
	free(words);
	if (any)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Forgets opens up to now. True: there were some. */
static bool take_opens(void)
{
	char events[4096];
	bool any = false;

	while (w.opens >= 0 && read(w.opens, events, sizeof(events)) > 0)
		any = true;
	return any;
}

static bool has_to_end(void)
{
	bool unscheduled = w.options.require && read_unscheduled(false);

	if (unscheduled)
		terminate_all();
	return unscheduled;
}

static void watch_all(void)
{
	struct pollfd fds[] = { { .fd = w.life, .events = POLLIN },
				{ .fd = w.signals, .events = POLLIN },
				{ .fd = w.opens, .events = POLLIN } };
	int longest = w.opens >= 0 ? LATE_MS : UNNOTICED_MS, interval = SOON_MS;

	do {
		poll(fds, 3, w.undecided && interval > WAITING_MS ? WAITING_MS : interval);
		interval = take_opens() ? SOON_MS : 2 * interval < longest ? 2 * interval : longest;
		look();
	} while (!(fds[0].revents | fds[1].revents) && !has_to_end());
}

/* Leaves descriptors alone that the client of an emulated machine has moved up. */
static void close_files(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	for (int fd = STDERR_FILENO + 1; fd < GP__FD_LOWEST; fd++)
		close(fd);
}

static _Noreturn void be_watcher(void)
{
	int ready = gp__fd_move_up(w.ready[1]);
	sigset_t set;
	bool any;

	w.watcher = getpid();
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	w.notes = gp__fd_move_up(w.notes);
	w.life = gp__fd_move_up(w.life);
	close_files();
	w.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	w.opens = notice_opens(w.options.devices);
	dprintf(ready, "/proc/%d/fd/%d", (int)getpid(), w.notes);
	close(ready);
	watch_all();
	any = summarise();
	fflush(NULL);
	_exit(any);
}

/*
 * Beginning and ending
 */

/* Whether the command of an outer gpreempt run is watched, and with it this one. */
static bool is_watched(void)
{
	const char *path = getenv(GP__ENV_NOTES);
	char file[64];
	ssize_t n = path ? readlink(path, file, sizeof(file) - 1) : -1;

	file[n > 0 ? n : 0] = '\0';
	return strstr(file, GP__NOTES_FILE);
}

/* Returns 0 in this process when the watcher is ready, and has its notes in the environment. */
static int start(bool ends)
{
	char path[64] = "";
	pid_t pid;

	if (pipe2(w.ready, O_CLOEXEC))
		return -errno;
	fflush(NULL);
	pid = fork();
	/* The program will not wait for a child that it has not started. */
	if (!pid && (ends || !fork()))
		be_watcher();
	if (!pid)
		_exit(0);
	close(w.ready[1]);
	if (pid > 0 && !ends)
		waitpid(pid, NULL, 0);
	w.watcher = pid > 0 && ends ? pid : 0;
	if (pid < 0 || read(w.ready[0], path, sizeof(path) - 1) <= 0)
		pid = -1;
	close(w.ready[0]);
	return pid < 0 ? -EAGAIN : setenv(GP__ENV_NOTES, path, 1) ? -ENOMEM : 0;
}

int run_watch_begin(struct gp__env *env, const struct run_watch_options *o, bool ends)
{
	int err;

	if (!o->require && is_watched())
		return 0;
	w.env = env;
	w.options = *o;
	w.root = getpid();
	w.devices = gp__devices_find(o->devices, "");
	if (!w.devices)
		return -ENOMEM;
	if (!w.devices->nr && !o->require)
		return 0;
	w.notes = memfd_create(GP__NOTES_FILE, MFD_CLOEXEC);
	w.life = ends ? -1 : (int)syscall(SYS_pidfd_open, getpid(), 0);
	err = w.notes < 0 || (!ends && w.life < 0) ? -errno : start(ends);
	if (w.notes >= 0)
		close(w.notes);
	if (w.life >= 0)
		close(w.life);
	return err;
}

bool run_watch_end(void)
{
	int status = 0;

	if (w.watcher <= 0)
		return true;
	kill(w.watcher, SIGTERM);
	while (waitpid(w.watcher, &status, 0) < 0 && errno == EINTR)
		;
	return !status;
}
