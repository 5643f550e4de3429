// SPDX-License-Identifier: MIT
/*
 * A process beside the command of gpreempt run: it finds descendants that compute on a GPU without
 * having joined, and reads what joined ones have to say.
 *
 * It says nothing of a program that it cannot read, or that is starting or ending: --require must
 * not end a program that has joined.
 *
 * It sleeps until a device file of a GPU is opened or a program has something to say, and looks by
 * itself at intervals that grow to half a minute: a container has device files of its own. It ends
 * with the command, and keeps none of its files open but standard error.
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
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/emulated.h"
#include "base/fd.h"
#include "base/units.h"
#include "cli/child.h"
#include "cli/run_members.h"
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

/* From SIGTERM to SIGKILL, and until this gives up. */
#define TERM_NS (5 * GP__S)
#define KILL_NS (8 * GP__S)

#define NO_PRELOAD "it was started without gpreempt's LD_PRELOAD"
#define ENV_REMEDY "put 'gpreempt run' directly in front of it"

static struct {
	struct gp__env *env;
	struct run_watch_options options;
	struct run_members members;
	pid_t watcher; /* if it is a child that is to be waited for */
	struct gp__devices *devices;
	u64 found_at; /* the devices */
	int notes; /* a memfd that programs append lines to */
	int life; /* the pidfd of the command, or of gpreempt run as its parent */
	int signals, events; /* events: an inotify */
	bool notices_opens; /* by events */
	bool undecided; /* a program may still be joining */
	bool failed; /* a program has not joined or is not scheduled, and --require was given */
	int ready[2]; /* a pipe: the watcher tells the path of its notes */
} w;

/*
 * Notes of programs
 */

struct notes {
	char text[GP__NOTES_MAX + NOTE_MAX];
	char *rest;
	bool full; /* later ones are lost */
};

/* The texts are in a struct notes. */
struct note {
	pid_t pid;
	const char *word, *text;
};

static void read_notes(struct notes *n)
{
	ssize_t len = pread(w.notes, n->text, sizeof(n->text) - 1, 0);

	n->full = len >= (ssize_t)GP__NOTES_MAX;
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

/* Whether a process has written a note with @word, the text of which is put into @text. The latest
 * one counts. */
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
		snprintf(text, NOTE_MAX, "%s", note.text);
	}
	return found;
}

/* Whether a process may have written a note with @word. */
static bool may_have_note(pid_t pid, const char *word)
{
	char text[NOTE_MAX];
	struct notes n;

	read_notes(&n);
	return n.full || find_note(pid, word, text);
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

/* Found in /proc/PID/maps. */
struct maps {
	bool any; /* none: it cannot be read, or the process is ending */
	bool join_library, libc;
	bool text; /* that is searched for */
};

static void read_maps(pid_t pid, const char *text, struct maps *m)
{
	char path[32], line[PATH_MAX];
	FILE *f;

	*m = (struct maps){ .any = false };
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		m->any = true;
		m->join_library |= strstr(line, GP__JOIN_LIBRARY) != NULL;
		m->libc |= strstr(line, "/libc.so.6") || strstr(line, "/libc-2.");
		m->text |= text && strstr(line, text);
	}
	if (f)
		fclose(f);
}

/* Not true of an earlier program of the process, whose notes count no longer. */
static bool still_maps(pid_t pid, const char *text)
{
	struct maps maps;

	read_maps(pid, text, &maps);
	return maps.text;
}

GP__PRINTF(3, 4)
static bool explain(struct run_member *m, const char *remedy, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(m->why, sizeof(m->why), fmt, args);
	va_end(args);
	m->remedy = remedy;
	return true;
}

/* Whether the library was loaded by a runtime, as a tool, and does not see the program's calls. */
static bool is_late(struct run_member *m)
{
	char address[NOTE_MAX];

	return find_note(m->pid, GP__NOTE_LATE, address) && still_maps(m->pid, address) &&
	       explain(m, ENV_REMEDY, NO_PRELOAD);
}

/*
 * Whether another library has the program's calls and passes none of them on. The program has some
 * time for its first call.
 */
static bool is_hidden(struct run_member *m)
{
	char name[NOTE_MAX];

	if (!find_note(m->pid, GP__NOTE_HIDDEN, name) || may_have_note(m->pid, GP__NOTE_REACHED) ||
	    !still_maps(m->pid, name))
		return false;
	if (gp__clock_ns() - m->open_since < JOINING_NS) {
		w.undecided = true;
		return false;
	}
	return explain(m, "preload that library after gpreempt's, or run the program without it",
		       "%s has its calls first and does not pass them on", name);
}

static bool explain_file(struct run_member *m)
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

/* Whether the library that LD_PRELOAD names is missing where the program sees files. */
static bool is_out_of_reach(pid_t pid, const char *preloads)
{
	const char *end = strstr(preloads, GP__JOIN_LIBRARY), *begin = end;
	char path[PATH_MAX];

	while (begin > preloads && !strchr(": ", begin[-1]))
		begin--;
	snprintf(path, sizeof(path), "/proc/%d/root%.*s", (int)pid,
		 (int)(end + strlen(GP__JOIN_LIBRARY) - begin), begin);
	return *begin == '/' && access(path, F_OK) && errno == ENOENT;
}

/* The cause only: the program may have overwritten its environment. */
static bool explain_environment(struct run_member *m, const char *block, size_t len)
{
	const char *preloads = get_setting(block, len, "LD_PRELOAD");

	if (!preloads || !strstr(preloads, GP__JOIN_LIBRARY))
		return explain(m, ENV_REMEDY, NO_PRELOAD);
	if (is_out_of_reach(m->pid, preloads))
		return explain(m,
			       "have gpreempt and the folder of the daemon's socket in it, and "
			       "'gpreempt run' in front of the program there",
			       "gpreempt's library is not in its container or root folder");
	return explain(m, "start it as that user, behind 'gpreempt run'",
		       "it got the rights of another user or of its file when it was started, so "
		       "LD_PRELOAD was ignored");
}

static bool explain_preload(struct run_member *m)
{
	char *block = malloc(ENVIRON_MAX);
	bool found =
		block &&
		explain_environment(m, block, run_read_proc(m->pid, "environ", block, ENVIRON_MAX));

	free(block);
	return found;
}

/*
 * False: it has joined, or is about to, or cannot be told. The dynamic loader maps preloaded
 * libraries before the libraries of the program, such as libc.
 */
static bool has_reason(struct run_member *m)
{
	struct maps maps;

	read_maps(m->pid, NULL, &maps);
	if (maps.join_library)
		return is_late(m) || is_hidden(m);
	return maps.any && (explain_file(m) || (maps.libc && explain_preload(m)));
}

/*
 * Telling
 */

static void tell(struct run_member *m)
{
	m->told = true;
	w.failed |= w.options.require;
	if (!w.options.quiet || w.options.require)
		fprintf(w.env->err,
			"gpreempt: %s (pid %d) uses a GPU and has not joined, so it has no "
			"priority: %s; %s\n",
			m->name, (int)m->pid, m->why, m->remedy);
}

static bool is_unjoined(struct run_member *m)
{
	struct gp__holder h;
	bool computes;

	if (gp__holder_look(m->pid, w.devices, "", &h) != 1) {
		m->open_since = 0;
		return false;
	}
	computes = h.computes && h.start == m->start;
	snprintf(m->name, sizeof(m->name), "%s", h.name);
	gp__holder_free(&h);
	if (computes && !m->open_since)
		m->open_since = gp__clock_ns();
	return computes && has_reason(m);
}

static void look(void)
{
	bool any = false;

	w.undecided = false;
	run_members_find(&w.members);
	for (size_t i = 0; i < w.members.nr; i++) {
		struct run_member *m = &w.members.member[i];

		m->suspected = m->alive && !m->told && !m->foreign && is_unjoined(m);
		any |= m->suspected;
	}
	if (any)
		gp__sleep_ns(TWICE_NS);
	for (size_t i = 0; any && i < w.members.nr; i++) {
		struct run_member *m = &w.members.member[i];

		if (m->suspected && is_unjoined(m))
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

	for (size_t i = 0; i < w.members.nr; i++) {
		const struct run_member *m = &w.members.member[i];

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
 * Ending the command
 */

/* Processes that do not end by SIGTERM get SIGKILL. */
static void end_command(void)
{
	u64 begin = gp__clock_ns(), passed;

	fprintf(w.env->err, "gpreempt: the command is ended, because of --require\n");
	run_members_find(&w.members);
	run_members_signal(&w.members, SIGTERM);
	while (run_members_any(&w.members)) {
		passed = gp__clock_ns() - begin;
		if (passed > TERM_NS)
			run_members_signal(&w.members, SIGKILL);
		if (passed > KILL_NS) {
			fprintf(w.env->err,
				"gpreempt: not all processes of the command could be ended\n");
			return;
		}
		gp__sleep_ns(SOON_MS * GP__MS);
		run_members_find(&w.members);
	}
}

/*
 * The process
 */

/* Has opens of files that match the patterns noticed. False: of none. */
static bool notice_opens(const char *patterns)
{
	char *words = strdup(patterns), *rest = words, *word;
	bool any = false;
	glob_t found;

	while (words && (word = strsep(&rest, " \t"))) {
		if (*word != '/' || glob(word, 0, NULL, &found))
			continue;
		for (size_t i = 0; i < found.gl_pathc; i++)
			any |= inotify_add_watch(w.events, found.gl_pathv[i], IN_OPEN) >= 0;
		globfree(&found);
	}
	free(words);
	return any;
}

static void notice_notes(void)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", w.notes);
	inotify_add_watch(w.events, path, IN_MODIFY);
}

/* NVIDIA's driver creates device files when the first program needs them. */
static void find_devices(void)
{
	struct gp__devices *found = gp__devices_find(w.options.devices, "");

	w.found_at = gp__clock_ns();
	if (found) {
		free(w.devices);
		w.devices = found;
	}
	/* Programs do not open an emulated machine's files. */
	w.notices_opens = notice_opens(w.options.devices) && !gp__is_emulated();
}

/* Forgets events up to now. True: there were some. */
static bool take_events(void)
{
	char events[4096];
	bool any = false;

	while (read(w.events, events, sizeof(events)) > 0)
		any = true;
	return any;
}

static int next_interval(int interval)
{
	int longest = w.undecided ? WAITING_MS : w.notices_opens ? LATE_MS : UNNOTICED_MS;

	return 2 * interval < longest ? 2 * interval : longest;
}

static void watch_all(void)
{
	struct pollfd fds[] = { { .fd = w.life, .events = POLLIN },
				{ .fd = w.signals, .events = POLLIN },
				{ .fd = w.events, .events = POLLIN } };
	int interval = SOON_MS;

	do {
		poll(fds, 3, interval);
		interval = next_interval(interval);
		if (take_events()) {
			/* GPUs that are opened all the time cost one look in this time. */
			poll(fds, 2, SOON_MS);
			take_events();
			interval = SOON_MS;
		}
		if (!w.devices->nr || gp__clock_ns() - w.found_at > LATE_MS * GP__MS)
			find_devices();
		look();
		w.failed |= w.options.require && read_unscheduled(false);
	} while (!(fds[0].revents | fds[1].revents) && !w.failed);
	if (w.failed)
		end_command();
}

static bool is_kept(int fd)
{
	/* The client of an emulated machine has its files there, and this process needs them. */
	bool is_clients = gp__is_emulated() && fd >= GP__FD_LOWEST;

	return fd <= STDERR_FILENO || fd == w.notes || fd == w.life || fd == w.ready[1] ||
	       is_clients;
}

static void close_files(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	DIR *folder = opendir("/proc/self/fd");
	const struct dirent *entry;
	u64 fd;

	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	/* cppcheck-suppress readdirCalled; the stream is this call's own */
	while (folder && (entry = readdir(folder))) {
		if (!gp__parse_u64(entry->d_name, 0, INT32_MAX, &fd) && (int)fd != dirfd(folder) &&
		    !is_kept((int)fd))
			close((int)fd);
	}
	if (folder)
		closedir(folder);
}

static void take_signals(void)
{
	sigset_t set;

	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	w.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static _Noreturn void be_watcher(void)
{
	bool any;

	close_files();
	take_signals();
	w.events = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	notice_notes();
	find_devices();
	w.members.self = getpid();
	run_members_find(&w.members);
	if (!w.devices || w.signals < 0 ||
	    dprintf(w.ready[1], "/proc/%d/fd/%d", (int)getpid(), w.notes) < 0)
		_exit(GP__EXIT_FAILURE);
	close(w.ready[1]);
	watch_all();
	any = summarise();
	fflush(NULL);
	_exit(any ? 1 : 0);
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

/*
 * As fork(), for a process that the program, which this one will execute, does not wait for when it
 * waits for all of its children: one that belongs to another process, or, since orphans belong to
 * the first process, one that wait() does not see.
 */
static pid_t fork_unseen(void)
{
	int adopts = 0;
	pid_t pid;

	if (getpid() == 1)
		return (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, 0);
	prctl(PR_GET_CHILD_SUBREAPER, &adopts);
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	pid = fork();
	if (!pid && fork())
		_exit(0);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	if (pid)
		prctl(PR_SET_CHILD_SUBREAPER, adopts);
	return pid;
}

/* Returns 0 in this process when the watcher is ready, and has its notes in the environment. */
static int start(bool ends)
{
	char path[64] = "";
	bool is_ready;
	pid_t pid;

	if (pipe2(w.ready, O_CLOEXEC))
		return -errno;
	fflush(NULL);
	pid = ends ? fork() : fork_unseen();
	if (!pid)
		be_watcher();
	close(w.ready[1]);
	is_ready = pid > 0 && read(w.ready[0], path, sizeof(path) - 1) > 0;
	close(w.ready[0]);
	if (!is_ready && pid > 0)
		waitpid(pid, NULL, __WALL); /* it has closed the pipe: it ends */
	if (!is_ready)
		return -EAGAIN;
	w.watcher = ends ? pid : 0;
	return setenv(GP__ENV_NOTES, path, 1) ? -ENOMEM : 0;
}

int run_watch_begin(struct gp__env *env, const struct run_watch_options *o, bool ends)
{
	int err;

	if (!o->require && is_watched())
		return 0;
	w.env = env;
	w.options = *o;
	w.members.root = getpid();
	w.notes = memfd_create(GP__NOTES_FILE, MFD_CLOEXEC);
	w.life = (int)syscall(SYS_pidfd_open, getpid(), 0);
	err = w.notes < 0 || w.life < 0 ? -errno : start(ends);
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
	if (WIFSIGNALED(status))
		fprintf(w.env->err,
			"gpreempt: the process that watches the command was ended by signal %d, so "
			"it is not known whether all programs have joined\n",
			WTERMSIG(status));
	return !status;
}
