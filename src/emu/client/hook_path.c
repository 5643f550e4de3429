// SPDX-License-Identifier: MIT
/* Functions that take a path and open nothing. */
#include "emu/client/client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "emu/client/hook.h"
#include "emu/client/next.h"
#include "emu/client/raw.h"

/* The path for the next definition. */
static const char *redirect(int dir, const char *path, struct client_path *p)
{
	return client_on() && client_path_find(dir, path, p) ? p->real : path;
}

HOOK(int, access, const char *path, int how)
{
	struct client_path p;
	const char *real = redirect(AT_FDCWD, path, &p);

	return client_next.access(real, how);
}

HOOK(int, faccessat, int dir, const char *path, int how, int flags)
{
	struct client_path p;
	const char *real = redirect(dir, path, &p);

	return client_next.faccessat(dir, real, how, flags);
}

HOOK(int, eaccess, const char *path, int how)
{
	struct client_path p;
	const char *real = redirect(AT_FDCWD, path, &p);

	return client_next.eaccess(real, how);
}

HOOK(int, euidaccess, const char *path, int how)
{
	struct client_path p;
	const char *real = redirect(AT_FDCWD, path, &p);

	return client_next.euidaccess(real, how);
}

HOOK(ssize_t, readlink, const char *path, char *to, size_t len)
{
	struct client_path p;
	const char *real = redirect(AT_FDCWD, path, &p);

	return client_next.readlink(real, to, len);
}

HOOK(ssize_t, __readlink_chk, const char *path, char *to, size_t len, size_t room)
{
	struct client_path p;
	const char *real = redirect(AT_FDCWD, path, &p);

	return client_next.__readlink_chk(real, to, len, room);
}

HOOK(ssize_t, readlinkat, int dir, const char *path, char *to, size_t len)
{
	struct client_path p;
	const char *real = redirect(dir, path, &p);

	return client_next.readlinkat(dir, real, to, len);
}

HOOK(ssize_t, __readlinkat_chk, int dir, const char *path, char *to, size_t len, size_t room)
{
	struct client_path p;
	const char *real = redirect(dir, path, &p);

	return client_next.__readlinkat_chk(dir, real, to, len, room);
}

/* The real path of a file in the tree, as the program should see it. */
static char *realpath_here(const struct client_path *p, char *to)
{
	char real[PATH_MAX];

	if (p->where == CLIENT_DEVICE) {
		memcpy(real, p->name, strlen(p->name) + 1);
	} else {
		if (!client_next.realpath(p->real, real))
			return NULL;
		client_path_strip(real);
	}
	return to ? strcpy(to, real) : strdup(real);
}

HOOK(char *, realpath, const char *path, char *to)
{
	struct client_path p;

	if (client_on() && client_path_find(AT_FDCWD, path, &p))
		return realpath_here(&p, to);
	return client_next.realpath(path, to);
}

HOOK(char *, __realpath_chk, const char *path, char *to, size_t room)
{
	struct client_path p;

	/*
	 * It must have room for the longest path: otherwise the next definition aborts the program.
	 */
	if (room >= PATH_MAX && client_on() && client_path_find(AT_FDCWD, path, &p))
		return realpath_here(&p, to);
	client_on();
	return client_next.__realpath_chk(path, to, room);
}

HOOK(char *, canonicalize_file_name, const char *path)
{
	struct client_path p;

	if (client_on() && client_path_find(AT_FDCWD, path, &p))
		return realpath_here(&p, NULL);
	return client_next.canonicalize_file_name(path);
}

HOOK(ssize_t, getxattr, const char *path, const char *name, void *to, size_t len)
{
	struct client_path p;
	const char *real = redirect(AT_FDCWD, path, &p);

	return client_next.getxattr(real, name, to, len);
}

HOOK(ssize_t, lgetxattr, const char *path, const char *name, void *to, size_t len)
{
	struct client_path p;
	const char *real = redirect(AT_FDCWD, path, &p);

	return client_next.lgetxattr(real, name, to, len);
}

HOOK(ssize_t, listxattr, const char *path, char *to, size_t len)
{
	struct client_path p;
	const char *real = redirect(AT_FDCWD, path, &p);

	return client_next.listxattr(real, to, len);
}

HOOK(ssize_t, llistxattr, const char *path, char *to, size_t len)
{
	struct client_path p;
	const char *real = redirect(AT_FDCWD, path, &p);

	return client_next.llistxattr(real, to, len);
}

HOOK(int, chdir, const char *path)
{
	struct client_path p;
	const char *real = redirect(AT_FDCWD, path, &p);

	return client_next.chdir(real);
}

HOOK(char *, getcwd, char *to, size_t len)
{
	bool on = client_on();
	char *here = client_next.getcwd(to, len);

	if (on && here)
		client_path_strip(here);
	return here;
}
