// SPDX-License-Identifier: MIT
/* No bytes may crash the reader of gpreemptd.conf; what it accepts is within its bounds, and what
 * it refuses has a sentence that begins with the file. */
#include "daemon/address.h"
#include "daemon/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth)
{
	if (!truth)
		abort();
}

static void check_limit(const struct gp__limit *l)
{
	require(l->max_priority >= -GP__PRIO_LIMIT && l->max_priority <= GP__PRIO_LIMIT);
	require(l->max_queues <= 1024);
}

static void check_config(const struct gp__config *c)
{
	const struct gp__choice *choice = &c->choice;

	require(c->ttl_ns >= 100 * GP__MS && c->ttl_ns <= 10 * GP__S);
	require(!*c->log || *c->log == '/');
	if (*c->metrics) {
		struct gp__address address;

		require(!gp__address_parse(&address, c->metrics));
		require(c->metrics_anywhere || gp__address_is_local(&address));
	}
	require(choice->policy && c->limits.nr_sections <= GP__LIMITS_MAX);
	for (u32 i = 0; i < choice->policy->nr_params; i++)
		require(!gp__param_check(&choice->policy->params[i], choice->values[i]));
	for (u32 i = 0; i < GP__CFG_COUNT; i++)
		require(!gp__param_check(&gp__core_params[i], choice->cfg[i]));
	check_limit(&c->limits.everybody);
	require(c->limits.nr_limits <= c->limits.nr_sections);
	for (u32 i = 0; i < c->limits.nr_limits; i++)
		check_limit(&c->limits.limit[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct gp__config config;
	char path[64], error[GP__CONFIG_ERROR_MAX] = "";
	int fd = memfd_create("conf", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!gp__config_read(&config, path, true, error))
		check_config(&config);
	else
		require(!strncmp(error, path, strlen(path)));
	close(fd);
	return 0;
}
