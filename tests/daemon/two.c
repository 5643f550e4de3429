// SPDX-License-Identifier: MIT
#include "two.h"

u32 add(struct agent *a, s32 prio)
{
	struct gp__wire_queue_add q = queue_of(prio, "gpu-a", "");

	return agent_add(a, &q);
}

void two_up(struct two *t, const char *config)
{
	rig_up(&t->rig, config);
	agent_join(&t->rig, &t->offline, "train");
	agent_join(&t->rig, &t->online, "serve");
	add(&t->offline, OFFLINE);
	add(&t->online, ONLINE);
	rig_wait_judged(&t->rig);
}

void two_down(struct two *t)
{
	agent_leave(&t->offline);
	agent_leave(&t->online);
	rig_down(&t->rig);
}

void preempt(struct two *t)
{
	agent_work(&t->offline, 0, true);
	rig_sync(&t->rig);
	agent_work(&t->online, 0, true);
	agent_obey(&t->offline, 0, GP__WIRE_HOLD);
}

void release(struct two *t)
{
	agent_work(&t->online, 0, false);
	agent_obey(&t->offline, 0, GP__WIRE_RELEASE);
}
