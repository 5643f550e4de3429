// SPDX-License-Identifier: MIT
/* Finds the driver's queues beneath those of HSA and HIP, with the preload's help. */
#include <errno.h>
#include <gpreempt/kfd.h>

#include "base/api.h"

/* The preload defines them in programs that `gpreempt run` started (join/hsa/streams.h). */
__attribute__((weak, visibility("default"))) int
gp_join_queue_of_hsa(const void *hsa_queue, struct gp_kfd_runtime_queue *found,
		     struct gp_error *err);
__attribute__((weak, visibility("default"))) int
gp_join_queue_of_stream(void *stream, struct gp_kfd_runtime_queue *found, struct gp_error *err);

static int fail_unjoined(struct gp_error *err)
{
	return gp__fail(err, -ENOTCONN,
			"this program is not joined, so its queues are not seen; start it with "
			"'gpreempt run'");
}

int gp_kfd_queue_of_hsa(const void *hsa_queue, struct gp_kfd_runtime_queue *found,
			struct gp_error *err)
{
	return gp_join_queue_of_hsa ? gp_join_queue_of_hsa(hsa_queue, found, err)
				    : fail_unjoined(err);
}

int gp_kfd_queue_of_stream(void *stream, struct gp_kfd_runtime_queue *found, struct gp_error *err)
{
	return gp_join_queue_of_stream ? gp_join_queue_of_stream(stream, found, err)
				       : fail_unjoined(err);
}
