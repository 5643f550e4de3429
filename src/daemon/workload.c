// SPDX-License-Identifier: MIT
#include "daemon/workload.h"

#include <stdbool.h>
#include <string.h>

#define DIGITS "0123456789"
#define HEX "0123456789abcdef"
#define UID_CHARS 36 /* 8-4-4-4-12 */

static void copy(char *to, const char *from, size_t n)
{
	memcpy(to, from, n);
	to[n] = '\0';
}

/* .../slurm.../job_123/step_0 */
static void find_job(struct gp__workload *w, const char *cgroup)
{
	const char *job = strstr(cgroup, "/slurm");

	while (job && (job = strstr(job, "/job_"))) {
		size_t n = strspn(job += 5, DIGITS);

		if (n && n < sizeof(w->job_id) && (job[n] == '/' || !job[n])) {
			copy(w->job_id, job, n);
			return;
		}
	}
}

static bool is_uid(const char *text)
{
	for (size_t i = 0; i < UID_CHARS; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? text[i] != '-' && text[i] != '_' : !text[i] || !strchr(HEX, text[i]))
			return false;
	}
	return true;
}

/* systemd's slices have no dash in a name: there it is an underscore. */
static void find_pod(struct gp__workload *w, const char *cgroup)
{
	const char *pod = strstr(cgroup, "/kubepods");

	while (pod && (pod = strstr(pod, "pod"))) {
		pod += 3;
		if (!is_uid(pod))
			continue;
		copy(w->pod_uid, pod, UID_CHARS);
		for (char *c = w->pod_uid; *c; c++)
			*c = *c == '_' ? '-' : *c;
		return;
	}
}

/* .../docker-ID.scope, .../libpod-ID.scope/container, .../cri-containerd-ID.scope, .../ID */
static void find_container(struct gp__workload *w, const char *cgroup)
{
	const char *at = cgroup;

	while (*at) {
		size_t n = strspn(at, HEX);

		if (n == sizeof(w->container_id) - 1)
			copy(w->container_id, at, n);
		at += n ? n : 1;
	}
}

void gp__workload_of(struct gp__workload *w, const char *cgroup)
{
	memset(w, 0, sizeof(*w));
	find_job(w, cgroup);
	find_pod(w, cgroup);
	find_container(w, cgroup);
}
