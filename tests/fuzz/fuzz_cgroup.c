// SPDX-License-Identifier: MIT
/* No name of a control group may crash the search for a container, pod or job, or lead to labels
 * that are more than digits and dashes. */
#include "daemon/workload.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
	if (!truth)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gp__workload w;
	char text[256];

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	gp__workload_of(&w, text);
	require(strspn(w.job_id, "0123456789") == strlen(w.job_id));
	require(strspn(w.pod_uid, "0123456789abcdef-") == strlen(w.pod_uid));
	require(!*w.pod_uid || strlen(w.pod_uid) == 36);
	require(strspn(w.container_id, "0123456789abcdef") == strlen(w.container_id));
	require(!*w.container_id || strlen(w.container_id) == 64);
	return 0;
}
