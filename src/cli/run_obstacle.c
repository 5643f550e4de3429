// SPDX-License-Identifier: MIT
/*
 * Recognises commands that a preloaded library does not reach: programs that cannot load it, and
 * launchers that start their command elsewhere or without the environment.
 */
#include "cli/run.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define PROGRAM_HEADERS_MAX 64
/* The kernel follows as many interpreters of scripts. */
#define SCRIPTS_MAX 4

/*
 * Files
 */

/* Finds the file as execvp() does. */
static bool find_command(const char *command, char path[PATH_MAX])
{
	const char *folders = getenv("PATH");
	char *all, *rest, *folder;
	bool found = false;

	if (strchr(command, '/')) {
		snprintf(path, PATH_MAX, "%s", command);
		return !access(path, X_OK);
	}
	all = rest = strdup(folders ? folders : "/bin:/usr/bin");
	while (all && !found && (folder = strsep(&rest, ":"))) {
		snprintf(path, PATH_MAX, "%s/%s", *folder ? folder : ".", command);
		found = !access(path, X_OK);
	}
	free(all);
	return found;
}

/* How a program is linked, by its ELF headers. */
struct linkage {
	char loader[PATH_MAX]; /* the dynamic loader; "": none is named */
	bool is_library; /* as the dynamic loader itself is, which can be called with a program */
};

static bool has_soname(int fd, const Elf64_Phdr *segment)
{
	Elf64_Dyn entry;

	for (size_t at = 0; at + sizeof(entry) <= segment->p_filesz; at += sizeof(entry)) {
		if (pread(fd, &entry, sizeof(entry), (off_t)(segment->p_offset + at)) !=
		    sizeof(entry))
			return false;
		if (entry.d_tag == DT_SONAME || entry.d_tag == DT_NULL)
			return entry.d_tag == DT_SONAME;
	}
	return false;
}

/* False: no 64-bit ELF. */
static bool read_linkage(int fd, struct linkage *l)
{
	Elf64_Phdr program[PROGRAM_HEADERS_MAX];
	Elf64_Ehdr head;
	ssize_t size;

	*l = (struct linkage){ .is_library = false };
	if (pread(fd, &head, sizeof(head), 0) != sizeof(head) ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(program[0]) ||
	    head.e_phnum > PROGRAM_HEADERS_MAX)
		return false;
	size = (ssize_t)(head.e_phnum * sizeof(program[0]));
	if (pread(fd, program, (size_t)size, (off_t)head.e_phoff) != size)
		return false;
	for (int i = 0; i < head.e_phnum; i++) {
		size_t n = program[i].p_filesz;

		if (program[i].p_type == PT_DYNAMIC)
			l->is_library = has_soname(fd, &program[i]);
		if (program[i].p_type != PT_INTERP || !n || n > PATH_MAX)
			continue;
		if (pread(fd, l->loader, n, (off_t)program[i].p_offset) != (ssize_t)n)
			return false;
		l->loader[n - 1] = '\0';
	}
	return true;
}

bool run_file_obstacle(int fd, struct run_obstacle *o)
{
	char magic[EI_NIDENT] = "";
	struct linkage l;

	if (pread(fd, magic, sizeof(magic), 0) != sizeof(magic) || memcmp(magic, ELFMAG, SELFMAG))
		return false;
	if (magic[EI_CLASS] != ELFCLASS64)
		*o = (struct run_obstacle){ "is a 32-bit program", "run its 64-bit build" };
	else if (!read_linkage(fd, &l))
		return false;
	else if (!*l.loader && !l.is_library)
		*o = (struct run_obstacle){ "is linked statically", "link it dynamically" };
	else if (strstr(l.loader, "ld-musl"))
		*o = (struct run_obstacle){ "is linked with musl, not with glibc",
					    "run a build of it for glibc" };
	else
		return false;
	return true;
}

/* The dynamic loader ignores LD_PRELOAD if a program gets rights that its caller does not have. */
static bool raises_rights(int fd, struct run_obstacle *o)
{
	struct stat st;

	if (!fstat(fd, &st) && (((st.st_mode & S_ISUID) && st.st_uid != getuid()) ||
				((st.st_mode & S_ISGID) && st.st_gid != getgid())))
		*o = (struct run_obstacle){ "runs as another user than you",
					    "start it as that user, behind 'gpreempt run'" };
	else if (getuid() && fgetxattr(fd, "security.capability", NULL, 0) > 0)
		*o = (struct run_obstacle){ "has file capabilities",
					    "take them from it with 'setcap -r', or start it as "
					    "root, behind 'gpreempt run'" };
	else
		return false;
	return true;
}

/* Replaces the path of a script by that of its interpreter. */
static bool follow_script(int fd, char path[PATH_MAX])
{
	char line[256];
	ssize_t n = pread(fd, line, sizeof(line) - 1, 0);
	const char *begin;

	if (n < 3 || memcmp(line, "#!", 2))
		return false;
	line[n] = '\0';
	begin = line + 2 + strspn(line + 2, " \t");
	snprintf(path, PATH_MAX, "%.*s", (int)strcspn(begin, " \t\n"), begin);
	return *path == '/';
}

static bool command_obstacle(const char *command, struct run_obstacle *o)
{
	bool found = false, more = true;
	char path[PATH_MAX];

	/* If it is not found, starting it fails with a message. */
	if (!find_command(command, path))
		return false;
	for (int i = 0; !found && more && i < SCRIPTS_MAX; i++) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			return false;
		found = raises_rights(fd, o) || run_file_obstacle(fd, o);
		more = follow_script(fd, path);
		close(fd);
	}
	return found;
}

/*
 * Launchers
 */

#define BEHIND "put 'gpreempt run' behind it, directly in front of the program"
#define INSIDE                                                                           \
	"have gpreempt and the folder of the daemon's socket in it, and 'gpreempt run' " \
	"in front of the program there"

#define AS_USER "starts its command as another user, without LD_PRELOAD"
#define ELSEWHERE "starts its command on another machine"
#define CONTAINER "starts its command in a container, without this environment"
#define SERVICE "has its command started by a service, without this environment"

static const struct {
	const char *name;
	struct run_obstacle obstacle;
} launchers[] = {
	{ "sudo", { AS_USER, BEHIND } },	{ "doas", { AS_USER, BEHIND } },
	{ "su", { AS_USER, BEHIND } },		{ "runuser", { AS_USER, BEHIND } },
	{ "pkexec", { AS_USER, BEHIND } },	{ "ssh", { ELSEWHERE, BEHIND } },
	{ "docker", { CONTAINER, INSIDE } },	{ "podman", { CONTAINER, INSIDE } },
	{ "nerdctl", { CONTAINER, INSIDE } },	{ "kubectl", { CONTAINER, INSIDE } },
	{ "apptainer", { CONTAINER, INSIDE } }, { "singularity", { CONTAINER, INSIDE } },
	{ "flatpak", { CONTAINER, INSIDE } },	{ "lxc-attach", { CONTAINER, INSIDE } },
	{ "systemd-run", { SERVICE, BEHIND } }, { "at", { SERVICE, BEHIND } },
	{ "batch", { SERVICE, BEHIND } },	{ "machinectl", { CONTAINER, INSIDE } },
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_preload(const char *text)
{
	return !strncmp(text, "LD_PRELOAD", 10) && (!text[10] || text[10] == '=');
}

/* Whether env(1) with these arguments starts its command without our LD_PRELOAD. */
static bool env_clears(char *const *argument)
{
	for (; *argument; argument++) {
		const char *a = *argument;

		if (!strcmp(a, "-") || !strcmp(a, "--ignore-environment") || is_preload(a))
			return true;
		if (!strncmp(a, "--unset=", 8) && is_preload(a + 8))
			return true;
		if (a[0] == '-' && a[1 + strspn(a + 1, "i0v")] == '\0')
			return strchr(a, 'i');
		if (!strncmp(a, "-u", 2) && is_preload(a[2]	     ? a + 2
						       : argument[1] ? argument[1]
								     : ""))
			return true;
		if (!strcmp(a, "-u") && argument[1])
			argument++;
		else if (a[0] != '-' && !strchr(a, '='))
			return false; /* the command */
	}
	return false;
}

/* Rather than a program of the user that has the name of one. */
static bool may_be_launcher(const char *command)
{
	return !strchr(command, '/') || !strncmp(command, "/usr/", 5) ||
	       !strncmp(command, "/bin/", 5) || !strncmp(command, "/sbin/", 6);
}

/*
 * Whether su(1) or runuser(1) with these arguments starts a login shell: "-", "-l", "--login". With
 * "-u", runuser starts none, and a command with its own arguments follows.
 */
static bool is_login(char *const *argument)
{
	for (; *argument && strcmp(*argument, "--") != 0; argument++) {
		const char *a = *argument;
		/* Behind one of these letters is the value of the option. */
		char option = a[0] == '-' ? a[1 + strcspn(a + 1, "lucgGsw-")] : '\0';

		if (option == 'u' || !strncmp(a, "--user", 6))
			return false;
		if (option == 'l' || !strcmp(a, "-") || !strcmp(a, "--login"))
			return true;
	}
	return false;
}

/* Root's su and runuser keep the environment, except for a login. */
static bool keeps_environment(const char *name, char *const *argument)
{
	return (!strcmp(name, "su") || !strcmp(name, "runuser")) && !getuid() &&
	       !is_login(argument);
}

static bool launcher_obstacle(char *const *command, struct run_obstacle *o)
{
	const char *name = base_name(command[0]);

	if (!may_be_launcher(command[0]) || keeps_environment(name, command + 1))
		return false;

	/* Then it is there that the program is joined. */
	for (char *const *argument = command + 1; *argument; argument++) {
		if (!strcmp(base_name(*argument), "gpreempt"))
			return false;
	}
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
		if (strcmp(name, launchers[i].name) != 0)
			continue;
		*o = launchers[i].obstacle;
		return true;
	}
	if (strcmp(name, "env") != 0 || !env_clears(command + 1))
		return false;
	*o = (struct run_obstacle){ "starts its command without this LD_PRELOAD", BEHIND };
	return true;
}

bool run_find_obstacle(char *const *command, struct run_obstacle *o)
{
	return launcher_obstacle(command, o) || command_obstacle(command[0], o);
}
