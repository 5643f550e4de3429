/* SPDX-License-Identifier: MIT */
/*
 * The container, pod or job that a process belongs to, by the path of its control group: what
 * Docker, Podman, containerd, CRI-O, Kubernetes and Slurm name there. Users may make control groups
 * with such names, too, so this is a hint for people and decides nothing.
 */
#ifndef GP__DAEMON_WORKLOAD_H
#define GP__DAEMON_WORKLOAD_H

/* Each is "" if it is in none. */
struct gp__workload {
	char job_id[21]; /* Slurm's number */
	char pod_uid[37]; /* in Kubernetes' spelling */
	char container_id[65]; /* 64 hexadecimal digits */
};

void gp__workload_of(struct gp__workload *w, const char *cgroup);

#endif
