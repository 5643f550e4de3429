// SPDX-License-Identifier: MIT
#include "join/hsa/table.h"

#include "device/kfd/backend.h"
#include "join/preload.h"

static struct gp__kfd_join *queues(void)
{
	struct gp__process *p = gp__preload_process();

	return p ? gp__process_use(p, &gp__backend_amd) : NULL;
}

static struct gp__kfd_owner *owner(void)
{
	return gp__kfd_join_owner(queues());
}

static size_t list_queues(struct gp__kfd_owned *list, size_t max)
{
	return gp__kfd_owner_list(owner(), list, max);
}

static int set_queues(enum gp__kfd_verb verb, const uint32_t *ids, int *results, size_t n)
{
	return gp__kfd_owner_set(owner(), verb, ids, results, n);
}

static const char *name_way(char *why, size_t size)
{
	gp__kfd_owner_explain_way(owner(), why, size);
	return gp__kfd_way_name(gp__kfd_owner_way(owner(), NULL));
}

static void explain(enum gp__kfd_verb verb, int error, char *text, size_t size)
{
	const struct gp__kfd_control c = { .way = gp__kfd_owner_way(owner(), NULL),
					   .runtime = GP__KFD_RUNTIME_UNKNOWN };

	gp__kfd_explain(&c, verb, error, text, size);
}

static int watch(const struct gp__kfd_owner_events *observer)
{
	return gp__kfd_join_watch(queues(), observer);
}

GP__PUBLIC const struct gp_join_table *gp_join_table(uint32_t version)
{
	static const struct gp_join_table table = {
		.version = GP_JOIN_VERSION,
		.list = list_queues,
		.set = set_queues,
		.way = name_way,
		.explain = explain,
		.watch = watch,
	};

	return version == GP_JOIN_VERSION && queues() ? &table : NULL;
}
