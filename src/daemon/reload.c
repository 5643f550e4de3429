// SPDX-License-Identifier: MIT
/*
 * Reads the configuration again, in a thread, since looking up the names of users and groups may
 * take long. One reload runs at a time; a request meanwhile has it repeated.
 */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/thread.h"
#include "daemon/server.h"

int gp__reload_open(struct gp__reload *r)
{
	r->done.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return r->done.fd < 0 ? -errno : 0;
}

static void *run(void *data)
{
	struct gp__reload *r = data;
	ssize_t n;

	*r->error = '\0';
	gp__config_defaults(&r->config);
	r->result = r->path ? gp__config_read(&r->config, r->path, r->required, r->error) : 0;
	n = write(r->done.fd, &(u64){ 1 }, sizeof(u64));
	(void)n; /* it has room */
	return NULL;
}

int gp__reload_begin(struct gp__reload *r, const char *path, bool required)
{
	int err;

	if (r->runs) {
		r->again = true;
		return 0;
	}
	r->path = path;
	r->required = required;
	err = gp__thread_start(&r->thread, 0, run, r);
	r->runs = !err;
	return err;
}

static void join(struct gp__reload *r)
{
	if (r->runs)
		pthread_join(r->thread, NULL);
	r->runs = false;
}

int gp__reload_end(struct gp__reload *r, struct gp__config *config,
		   char error[GP__CONFIG_ERROR_MAX])
{
	u64 times;

	if (read(r->done.fd, &times, sizeof(times)) != sizeof(times))
		return -EAGAIN;
	join(r);
	if (r->again) {
		r->again = false;
		if (!gp__reload_begin(r, r->path, r->required))
			return -EAGAIN;
	}
	memcpy(error, r->error, GP__CONFIG_ERROR_MAX);
	if (!r->result)
		*config = r->config;
	return r->result;
}

void gp__reload_close(struct gp__reload *r)
{
	join(r);
	if (r->done.fd >= 0)
		close(r->done.fd);
}
