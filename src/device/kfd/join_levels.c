// SPDX-License-Identifier: MIT
/* Decides the level at which a program's queues are held, from what the kernel can do and what the
 * program asks for. */
#include "device/kfd/can.h"
#include "device/kfd/join.h"
#include "device/level.h"

/* The kernel series as far as it is used: the owner gives it up where the program uses it. */
static struct gp_kfd_preempt_query series_of(struct gp__kfd_join *j)
{
	bool is_used = gp__kfd_owner_way(j->owner, NULL) == GP__KFD_WAY_PREEMPT;

	return is_used ? j->series : (struct gp_kfd_preempt_query){ 0 };
}

static bool series_can(struct gp__kfd_join *j, u32 type)
{
	const struct gp_kfd_preempt_query series = series_of(j);

	return gp__kfd_series_can(&series, type);
}

bool gp__kfd_join_sees_launches(struct gp__kfd_join *j)
{
	const struct gp__kfd_launches *l = atomic_load(&j->launches);

	return l && l->is_loaded();
}

bool gp__kfd_join_can_drain(struct gp__kfd_join *j)
{
	return series_can(j, GP_KFD_PREEMPT_DRAIN);
}

bool gp__kfd_join_can_drop(struct gp__kfd_join *j)
{
	return j->port->request->idempotent && series_can(j, GP_KFD_PREEMPT_RESET);
}

static u32 available_levels(struct gp__kfd_join *j)
{
	const struct gp_kfd_preempt_query series = series_of(j);
	u32 levels = gp__kfd_levels(gp__kfd_cwsr_enable() != 0, &series);

	if (j->port->request->level == 1 && gp__kfd_join_sees_launches(j))
		levels |= GP__HAS_LEVEL(1);
	if (gp__kfd_join_can_drop(j))
		levels |= GP__HAS_LEVEL(2);
	return levels;
}

static const char *why_not(struct gp__kfd_join *j)
{
	switch (j->port->request->level) {
	case 1:
		return "the program does not launch through the HSA runtime";
	case 2:
		return series_of(j).version ? "this kernel's scheduler cannot drain queues"
					    : "it needs gpreempt's kernel series and "
					      "amdgpu.sched_policy=2";
	default:
		return "amdgpu was loaded with cwsr_enable=0, so waves cannot be saved";
	}
}

static void say_level(struct gp__kfd_join *j, u32 level)
{
	if (gp__port_say_level(j->port, level, why_not(j)) || !j->port->request->idempotent)
		return;
	if (!gp__kfd_join_sees_launches(j))
		gp__port_say(j->port, "kernels finish instead of being dropped, as the program "
				      "does not launch through the HSA runtime");
	else if (!gp__kfd_join_can_drop(j))
		gp__port_say(j->port, "kernels finish instead of being dropped, as dropping needs "
				      "gpreempt's kernel series and amdgpu.sched_policy=2");
}

bool gp__kfd_join_has_windows(struct gp__kfd_join *j)
{
	return (j->level ? j->level : j->port->request->level) == 1 || gp__kfd_join_can_drop(j);
}

u32 gp__kfd_join_level(struct gp__kfd_join *j)
{
	u32 level;
	bool first;

	pthread_mutex_lock(&j->lock);
	first = !j->level;
	if (first)
		j->level = gp__port_level(j->port, available_levels(j));
	level = j->level;
	pthread_mutex_unlock(&j->lock);
	if (first)
		say_level(j, level);
	return level;
}
