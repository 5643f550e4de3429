// SPDX-License-Identifier: MIT
/*
 * Maps paths. Names are taken as they are written: symbolic links of the host that lead into the
 * machine's tree are not followed, except through the current folder and open ones.
 */
#include "emu/client/client.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "emu/client/raw.h"

#define DEVICE_KFD "/dev/kfd"
#define DEVICE_RENDER "/dev/dri/renderD"
#define MINOR_MAX 4095

/* A name that is built from components. */
struct walk {
	char *name;
	size_t len;
	/*
	 * The point where the path first entered a prefix, the rest of the path from there, and
	 * whether it left the prefix again.
	 */
	size_t entered;
	const char *rest;
	bool left;
};

static const struct client_prefix *prefix_of(const char *name, size_t len)
{
	const struct client_machine *m = &client_machine;
	const struct client_prefix *best = NULL;

	for (uint32_t i = 0; i < m->nr_prefixes; i++) {
		const struct client_prefix *p = &m->prefix[i];

		if (len >= p->len && !memcmp(name, p->path, p->len) &&
		    (len == p->len || name[p->len] == '/') && (!best || p->len > best->len))
			best = p;
	}
	return best;
}

static void step_back(struct walk *w)
{
	while (w->len && w->name[w->len - 1] != '/')
		w->len--;
	if (w->len)
		w->len--;
	w->name[w->len] = '\0';
	if (w->rest && w->len < w->entered)
		w->left = true;
}

static bool walk_path(struct walk *w, const char *path)
{
	while (*path) {
		size_t n = strcspn(path, "/");

		if (n == 2 && !memcmp(path, "..", 2)) {
			step_back(w);
		} else if (n && !(n == 1 && *path == '.')) {
			if (w->len + 1 + n >= PATH_MAX)
				return false;
			w->name[w->len] = '/';
			memcpy(w->name + w->len + 1, path, n);
			w->len += 1 + n;
			w->name[w->len] = '\0';
			if (!w->rest && prefix_of(w->name, w->len)) {
				w->entered = w->len;
				w->rest = path + n;
			}
		}
		path += n;
		path += *path == '/';
	}
	return true;
}

static size_t print_number(char *to, unsigned int number)
{
	char digits[12];
	size_t n = 0, len = 0;

	do
		digits[n++] = (char)('0' + number % 10);
	while (number /= 10);
	while (n)
		to[len++] = digits[--n];
	to[len] = '\0';
	return len;
}

/* The folder that a relative path starts from, as the program would write it. */
static bool read_base(int dir, char *base)
{
	char link[40] = "/proc/thread-self/";
	long n;

	if (dir == AT_FDCWD) {
		strcat(link, "cwd");
	} else {
		strcat(link, "fd/");
		if (dir < 0)
			return false;
		print_number(link + strlen(link), (unsigned int)dir);
	}
	n = raw_readlinkat(AT_FDCWD, link, base, PATH_MAX - 1);
	if (n <= 0 || *base != '/')
		return false;
	base[n] = '\0';
	client_path_strip(base);
	return true;
}

static void set_real(struct client_path *p, const char *a, size_t a_len, const char *b)
{
	const struct client_machine *m = &client_machine;
	size_t b_len = strlen(b);

	/* A path that is too long fails in the kernel. */
	if (m->dir_len + a_len + b_len >= sizeof(p->real)) {
		memset(p->real, 'x', sizeof(p->real) - 1);
		p->real[sizeof(p->real) - 1] = '\0';
		return;
	}
	memcpy(p->real, m->dir, m->dir_len);
	memcpy(p->real + m->dir_len, a, a_len);
	memcpy(p->real + m->dir_len + a_len, b, b_len + 1);
}

static bool render_minor(const char *name, unsigned int *minor_out)
{
	const char *digit = name + strlen(DEVICE_RENDER);
	unsigned int number = 0;

	if (strncmp(name, DEVICE_RENDER, strlen(DEVICE_RENDER)) || !*digit)
		return false;
	for (; *digit; digit++) {
		if (*digit < '0' || *digit > '9' || number > MINOR_MAX)
			return false;
		number = number * 10 + (unsigned int)(*digit - '0');
	}
	*minor_out = number;
	return true;
}

static bool is_there(const struct client_path *p)
{
	struct stat st;

	return !raw_fstatat(AT_FDCWD, p->real, &st, 0);
}

/*
 * A device of the machine is as accessible as the machine's socket. Others get the name of a file
 * that does not exist.
 */
static bool find_device(struct client_path *p, bool as_folder)
{
	char node[64] = "/" EMU_SYSFS "/dev/char/";
	unsigned int number = EMU_KFD_MINOR;

	if (!strncmp(p->name, DEVICE_KFD "/", sizeof(DEVICE_KFD))) {
		as_folder = true;
	} else if (!strcmp(p->name, DEVICE_KFD)) {
		p->rdev = makedev(EMU_KFD_MAJOR, EMU_KFD_MINOR);
	} else if (render_minor(p->name, &number)) {
		size_t len = strlen(node);

		p->rdev = makedev(EMU_DRM_MAJOR, number);
		len += print_number(node + len, EMU_DRM_MAJOR);
		node[len++] = ':';
		print_number(node + len, number);
		set_real(p, node, strlen(node), "");
		if (!is_there(p)) {
			p->where = CLIENT_TREE;
			p->dynamic = false;
			return true;
		}
	} else {
		return false;
	}
	/* The socket is not a folder, either. */
	p->where = as_folder ? CLIENT_TREE : CLIENT_DEVICE;
	p->dynamic = false;
	set_real(p, "/" EMU_SOCKET, strlen("/" EMU_SOCKET), as_folder ? "/" : "");
	return true;
}

/* A slash at the end is significant: the last name is followed if it is a symbolic link. */
static void set_tree(struct client_path *p, const struct walk *w, const char *path)
{
	size_t len = strlen(path);

	/* The kernel resolves .. behind a symbolic link, as long as it stays in the tree. */
	if (*path == '/' && !w->left && strstr(w->rest, ".."))
		set_real(p, p->name, w->entered, w->rest);
	else
		set_real(p, p->name, w->len, len && path[len - 1] == '/' ? "/" : "");
}

/* Files that change: of a scheduler, of its queues, of a process. */
static bool is_live(const char *name)
{
	static const char *const fixed[] = { "/gpuid", "/size", "/type", "/logical_priority" };
	const char *last = strrchr(name, '/');

	if (strstr(name, "/kfd/kfd/sched_"))
		return true;
	if (!last || !strstr(name, "/kfd/kfd/proc/"))
		return false;
	if (!strstr(name, "/queues/"))
		return !strcmp(last, "/cu_occupancy") || !strncmp(last, "/sdma_", strlen("/sdma_"));
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		if (!strcmp(last, fixed[i]))
			return false;
	}
	return true;
}

bool client_path_find(int dir, const char *path, struct client_path *p)
{
	struct walk w = { .name = p->name };
	const struct client_prefix *prefix;

	if (!path || !*path)
		return false;
	p->name[0] = '\0';
	if (*path != '/' && (!read_base(dir, p->real) || !walk_path(&w, p->real)))
		return false;
	if (!walk_path(&w, path))
		return false;
	if (find_device(p, path[strlen(path) - 1] == '/'))
		return true;
	prefix = prefix_of(p->name, w.len);
	p->dynamic = prefix && (prefix->dynamic || is_live(p->name));
	if (prefix) {
		p->where = CLIENT_TREE;
		set_tree(p, &w, path);
		return true;
	}
	/* A path through a folder that the host may not have, and out again. */
	if (!w.rest)
		return false;
	p->where = CLIENT_HOST;
	memcpy(p->real, w.len ? p->name : "/", w.len ? w.len + 1 : sizeof("/"));
	return true;
}

void client_path_strip(char *path)
{
	const struct client_machine *m = &client_machine;

	if (!strncmp(path, m->dir, m->dir_len) && path[m->dir_len] == '/')
		memmove(path, path + m->dir_len, strlen(path + m->dir_len) + 1);
}

void client_path_stat(struct stat *st, dev_t rdev)
{
	st->st_mode = S_IFCHR | 0666;
	st->st_nlink = 1;
	st->st_uid = 0;
	st->st_gid = 0;
	st->st_rdev = rdev;
	st->st_dev = makedev(0, 5); /* devtmpfs */
	st->st_ino = rdev;
	st->st_size = 0;
	st->st_blocks = 0;
	st->st_blksize = 4096;
}
