// SPDX-License-Identifier: MIT
/*
 * Switches scheduling off and on, for all GPUs or for one.
 *
 * It takes effect in the same turn. The file that keeps it is written afterwards, by a thread.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "daemon/server.h"

static void kept(struct gp__server *s, struct gp__source *source, u32 events)
{
	(void)source;
	(void)events;
	gp__keeper_done(&s->off);
	if (!s->off.runs && s->off.result)
		gp__log_error(s->log,
			      "cannot write %s: %s; after a restart gpreemptd does not know what "
			      "is off",
			      s->off.path, strerror(-s->off.result));
	gp__answers_go_on(s);
}

static void tell(const struct gp__server *s)
{
	const struct gp__off *off = &s->registry.off;

	if (off->all)
		gp__log_warning(s->log,
				"scheduling is off on all GPUs, as %s says; 'gpreempt on' "
				"switches it on",
				s->off.path);
	for (u32 i = 0; i < off->nr && !off->all; i++)
		gp__log_warning(s->log,
				"scheduling is off on %s, as %s says; 'gpreempt on' switches it on",
				off->key[i], s->off.path);
}

int gp__switch_open(struct gp__server *s, const char *socket_path)
{
	char path[PATH_MAX];
	int err;

	gp__keep_path(path, sizeof(path), "off", socket_path);
	err = gp__keeper_open(&s->off, path);
	if (err)
		return err;
	s->off_kept = (struct gp__source){ s->off.done_fd, kept };
	err = gp__off_read(&s->registry.off, path);
	if (err == -EPERM)
		gp__log_error(
			s->log,
			"%s is not a file that only gpreemptd can write; it is ignored: remove "
			"it, or choose a folder that is not shared with --socket",
			path);
	else if (err)
		gp__log_error(s->log, "cannot read %s: %s; so nothing is scheduled", path,
			      strerror(-err));
	tell(s);
	return gp__server_watch(s, &s->off_kept, EPOLLIN);
}

static int change(struct gp__off *o, const char *key, bool off, char error[GP__WIRE_TEXT_MAX])
{
	if (!key) {
		*o = (struct gp__off){ .all = off };
		return 0;
	}
	if (!off && o->all) {
		snprintf(error, GP__WIRE_TEXT_MAX,
			 "scheduling is off on all GPUs: 'gpreempt on' without a GPU switches it "
			 "on");
		return -EBUSY;
	}
	if (!off) {
		gp__off_remove(o, key);
		return 0;
	}
	if (gp__off_add(o, key))
		return 0;
	snprintf(error, GP__WIRE_TEXT_MAX, "scheduling is off on %u GPUs, which is the most",
		 o->nr);
	return -ENOSPC;
}

int gp__switch_turn(struct gp__server *s, const char *key, bool off, char error[GP__WIRE_TEXT_MAX])
{
	int err = change(&s->registry.off, key, off, error);

	if (err)
		return err;
	gp__registry_switch(&s->registry, s->now);
	gp__keeper_put(&s->off, gp__off_text(&s->registry.off));
	return 0;
}

json_t *gp__switch_saved(const struct gp__server *s, const char **why)
{
	*why = s->off.runs || !s->off.result ? NULL : strerror(-s->off.result);
	return s->off.runs ? json_null() : json_boolean(!s->off.result);
}

void gp__switch_close(struct gp__server *s)
{
	gp__keeper_close(&s->off);
}
