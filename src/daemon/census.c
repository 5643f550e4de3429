// SPDX-License-Identifier: MIT
#include "daemon/census.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/emulated.h"
#include "base/global_pid.h"
#include "base/units.h"
#include "daemon/procfs.h"

/* To look at a process costs as much as to look at so many files. */
#define PROCESS_COST 16

/*
 * amdkfd's sysfs
 */

/* Whether pids here are those of sysfs; on an emulated machine they always are. */
static bool sysfs_has_our_pids(void)
{
	return gp__is_emulated() || gp__pid_is_global();
}

/* Marks the GPUs that amdkfd has for the process. False: it knows no such process. */
static bool find_in_sysfs(pid_t pid, const char *root, struct gp__devices *d)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.2000s/sys/class/kfd/kfd/proc/%d", root, (int)pid);
	if (!sysfs_has_our_pids() || access(path, F_OK))
		return false;
	for (u32 i = 0; i < d->nr; i++) {
		struct gp__device *device = &d->device[i];

		snprintf(path, sizeof(path), "%.2000s/sys/class/kfd/kfd/proc/%d/vram_%u", root,
			 (int)pid, device->kfd_id);
		if (device->kfd_id && !access(path, F_OK))
			device->is_open = true;
	}
	gp__devices_measure(d, pid, root);
	return true;
}

/*
 * A process
 */

static int open_process(pid_t pid)
{
	char path[32];
	int proc;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	return proc;
}

static int look(int proc, const char *root, struct gp__holder *h)
{
	int result = gp__procfs_find_devices(proc, h->devices);
	bool listed = find_in_sysfs(h->pid, root, h->devices);

	h->nr_files = result > 0 ? (u32)result : 0;
	if (result < 0 && !listed)
		return result;
	if (!gp__devices_any_open(h->devices))
		return 0;
	h->computes = listed || h->devices->computes;
	h->parent = gp__procfs_parent(proc);
	/* Last, so that a process that has executed another program since has that one's name. */
	return gp__procfs_describe(proc, &h->start, &h->uid, h->name, sizeof(h->name)) ? 1 : -ESRCH;
}

int gp__holder_look(pid_t pid, const struct gp__devices *machine, const char *root,
		    struct gp__holder *h)
{
	int proc = open_process(pid), result;

	if (proc < 0)
		return proc;
	*h = (struct gp__holder){ .pid = pid, .devices = gp__devices_copy(machine) };
	result = h->devices ? look(proc, root, h) : -ENOMEM;
	close(proc);
	if (result <= 0)
		gp__holder_free(h);
	return result;
}

void gp__holder_free(struct gp__holder *h)
{
	free(h->devices);
	h->devices = NULL;
}

bool gp__holder_memory(const struct gp__holder *h, u64 *used)
{
	bool known = false;

	*used = 0;
	for (u32 i = 0; i < h->devices->nr; i++) {
		const struct gp__device *d = &h->devices->device[i];

		known |= d->is_open && d->is_used_known;
		*used += d->is_open && d->is_used_known ? d->used : 0;
	}
	return known;
}

/*
 * All processes
 */

/* A user of the census, and how much of it the user's processes have used. */
struct share {
	uid_t uid;
	u32 nr, cost;
};

/* The users that have a share of their own; others have the last one together. */
#define SHARES_MAX 256

struct shares {
	u32 nr;
	struct share share[SHARES_MAX];
};

static struct share *share_of(struct shares *all, uid_t uid)
{
	u32 i = 0;

	while (i < all->nr && all->share[i].uid != uid)
		i++;
	if (i == SHARES_MAX)
		return &all->share[SHARES_MAX - 1];
	if (i == all->nr)
		all->share[all->nr++].uid = uid;
	return &all->share[i];
}

/* Reads the user of a process, who owns its folder. False: the process has ended. */
static bool get_user(pid_t pid, uid_t *uid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (stat(path, &st))
		return false;
	*uid = st.st_uid;
	return true;
}

static int append(struct gp__census *c, const struct gp__holder *h)
{
	struct gp__holder *more = c->holder;

	/* The room doubles when the number is a power of two. */
	if (!(c->nr & (c->nr - 1)))
		more = realloc(c->holder, (c->nr ? 2 * c->nr : 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	c->holder = more;
	c->holder[c->nr++] = *h;
	return 0;
}

static bool has_room(const struct gp__census *c, const struct share *s)
{
	return c->nr < GP__CENSUS_MAX && s->nr < GP__CENSUS_PER_USER &&
	       s->cost < GP__CENSUS_COST_PER_USER;
}

static int add_process(pid_t pid, const struct gp__devices *machine, const char *root,
		       struct gp__census *c, struct shares *shares)
{
	struct gp__holder h;
	struct share *share;
	uid_t uid;
	int result;

	if (!get_user(pid, &uid))
		return 0;
	share = share_of(shares, uid);
	if (!has_room(c, share)) {
		c->nr_unlisted++;
		return 0;
	}
	h.nr_files = 0;
	result = gp__holder_look(pid, machine, root, &h);
	share->cost += PROCESS_COST + h.nr_files;
	if (result == -EACCES || result == -EPERM)
		c->nr_unread++;
	if (result != 1)
		return result == -ENOMEM ? result : 0;
	share->nr++;
	result = append(c, &h);
	if (result)
		gp__holder_free(&h);
	return result;
}

int gp__census_take(const struct gp__devices *machine, const char *root, struct gp__census *c)
{
	struct shares *shares = calloc(1, sizeof(*shares));
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	u64 pid;
	int err = proc ? 0 : -errno;

	*c = (struct gp__census){ 0 };
	if (!shares)
		err = -ENOMEM;
	/* cppcheck-suppress readdirCalled; the stream is this call's own */
	while (!err && (entry = readdir(proc))) {
		if (!gp__parse_u64(entry->d_name, 1, INT32_MAX, &pid))
			err = add_process((pid_t)pid, machine, root, c, shares);
	}
	if (proc)
		closedir(proc);
	free(shares);
	if (err)
		gp__census_free(c);
	return err;
}

void gp__census_free(struct gp__census *c)
{
	for (u32 i = 0; i < c->nr; i++)
		gp__holder_free(&c->holder[i]);
	free(c->holder);
	*c = (struct gp__census){ 0 };
}
