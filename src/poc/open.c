// SPDX-License-Identifier: MIT
/* Opens the driver, chooses the way to hold queues, and finds out what is wrong with the
 * machine. */
#include "poc/poc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/kfd/topology.h"

#define CWSR "/sys/module/amdgpu/parameters/cwsr_enable"

static bool drains(void)
{
	char text[16] = "";
	FILE *f = fopen(CWSR, "re");
	bool off;

	if (!f)
		return false;
	off = fgets(text, sizeof(text), f) && *text == '0';
	fclose(f);
	return off;
}

/* Chooses the series' ioctls if the kernel has them, as they need no debugger; or what the user
 * asks for. */
static int choose_way(struct gp__poc *p, struct gp__poc_error *e)
{
	const char *wanted = getenv("GPREEMPT_POC_WAY");
	struct gp__kfd_control own;
	int way;

	if (wanted && *wanted) {
		way = gp__kfd_way_parse(wanted);
		if (way != GP__KFD_WAY_DBGTRAP && way != GP__KFD_WAY_PREEMPT)
			return gp__poc_fail(e, EINVAL,
					    "GPREEMPT_POC_WAY is '%s'; it can be dbgtrap or "
					    "preempt (EINVAL)",
					    wanted);
		p->way = (enum gp__kfd_way)way;
		return 0;
	}
	p->way = GP__KFD_WAY_DBGTRAP;
	if (!gp__kfd_control_open(&own, p->kfd, 0, GP__KFD_WAY_PREEMPT)) {
		/* Without context save the series offers nothing under a hardware scheduler. */
		if (own.series.types)
			p->way = GP__KFD_WAY_PREEMPT;
		gp__kfd_control_close(&own);
	}
	return 0;
}

static int look_around(struct gp__poc *p, struct gp__poc_error *e)
{
	struct gp__kfd_node node[GP__KFD_NODES_MAX];
	int nr = gp__kfd_nodes(node);

	if (nr <= 0)
		return gp__poc_fail_plain(e, ENODEV,
					  "amdkfd shows no GPU; 'rocminfo' should list one");
	for (int i = 0; i < nr; i++) {
		if (node[i].clock_mhz > p->clock_mhz)
			p->clock_mhz = node[i].clock_mhz;
	}
	p->verb = GP__KFD_SAVE;
	if (drains())
		snprintf(p->warning, sizeof(p->warning),
			 "context save is off (" CWSR
			 " is 0): a suspend drains, waiting until running work has ended; load "
			 "amdgpu with cwsr_enable=1");
	if (choose_way(p, e))
		return -1;
	/* The debugger interface drains under the name of saving. */
	if (*p->warning && p->way == GP__KFD_WAY_PREEMPT)
		p->verb = GP__KFD_DRAIN;
	return 0;
}

struct gp__poc *gp__poc_open(struct gp__poc_error *e)
{
	struct gp__poc *p = calloc(1, sizeof(*p));
	char reason[GP__KFD_EXPLAIN_MAX];

	if (!p) {
		gp__poc_fail_plain(e, ENOMEM, "no memory");
		return NULL;
	}
	p->kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	if (p->kfd < 0) {
		int err = errno;

		gp__kfd_explain(NULL, GP__KFD_SAVE, err, reason, sizeof(reason));
		gp__poc_fail(e, err, "%s", reason);
		goto free_poc;
	}
	if (look_around(p, e) || gp__poc_start_worker(p, e))
		goto close_kfd;
	return p;

close_kfd:
	close(p->kfd);
free_poc:
	free(p);
	return NULL;
}

void gp__poc_close(struct gp__poc *p)
{
	gp__poc_stop_worker(p);
	close(p->kfd);
	free(p);
}

void gp__poc_abandon(struct gp__poc *p)
{
	/* Holds on other programs end with the open file, of which the child must not have a
	 * copy. */
	close(p->kfd);
	close(p->wake);
	for (size_t i = 0; i < p->nr_targets; i++) {
		close(p->target[i]->pidfd);
		if (p->target[i]->control.events >= 0)
			close(p->target[i]->control.events);
		free(p->target[i]);
	}
	gp__poc_watched_close(p);
	free(p);
}
