// SPDX-License-Identifier: MIT
/* Carries out the agent's orders: holds and releases a program's queues at their level. */
#include <errno.h>
#include <string.h>

#include "device/kfd/join.h"

/* Withholds launches; -ENOENT: the queue has no window. */
static int withhold(struct gp__kfd_join *j, u32 id, bool held)
{
	const struct gp__kfd_launches *l = atomic_load(&j->launches);

	return l ? l->hold(id, held) : -ENOENT;
}

/* At level 1 launches are withheld; above, the driver acts. */
static void set(struct gp__kfd_join *j, enum gp__kfd_verb verb, const u32 *ids, int *results,
		size_t n)
{
	if (j->level != 1) {
		gp__kfd_owner_set(j->owner, verb, ids, results, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		results[i] = withhold(j, ids[i], verb != GP__KFD_RELEASE);
}

/* Draining takes a verb of its own with CWSR; without it, the driver drains for every hold. */
static bool drains(struct gp__kfd_join *j)
{
	return gp__kfd_join_can_drain(j) && !j->saves;
}

/* Applies @verb to the chosen queues, in one step. */
static void set_some(struct gp__kfd_join *j, enum gp__kfd_verb verb, const u32 *ids,
		     const bool *chosen, int *results, size_t n)
{
	int some_results[GP__WIRE_SLOTS_MAX];
	u32 some[GP__WIRE_SLOTS_MAX];
	size_t nr = 0, at = 0;

	for (size_t i = 0; i < n; i++) {
		if (chosen[i])
			some[nr++] = ids[i];
	}
	if (nr)
		gp__kfd_owner_set(j->owner, verb, some, some_results, nr);
	for (size_t i = 0; i < n; i++) {
		if (chosen[i])
			results[i] = some_results[at++];
	}
}

/*
 * Lets kernels finish. One of them may wait for a kernel of another queue that is held: then the
 * driver gives up after its timeout and lets it run on. The urgent program waits for that only
 * once: from then on waves are saved.
 */
static void drain(struct gp__kfd_join *j, const u32 *ids, bool *chosen, int *results, size_t n)
{
	bool failed = false;

	set_some(j, drains(j) ? GP__KFD_DRAIN : GP__KFD_SAVE, ids, chosen, results, n);
	if (!drains(j))
		return;
	for (size_t i = 0; i < n; i++) {
		chosen[i] &= results[i] && results[i] != -ENOENT;
		failed |= chosen[i];
	}
	if (!failed)
		return;
	j->saves = true;
	gp__port_say(j->port, "kernels did not drain in time; falling back to level 3");
	set_some(j, GP__KFD_SAVE, ids, chosen, results, n);
}

/* Drops kernels that can be handed over again, and lets the others finish. */
static void drop(struct gp__kfd_join *j, const u32 *ids, int *results, size_t n)
{
	const struct gp__kfd_launches *l = atomic_load(&j->launches);
	bool chosen[GP__WIRE_SLOTS_MAX] = { false };

	for (size_t i = 0; l && i < n; i++)
		chosen[i] = l->hold_to_drop(ids[i]);
	set_some(j, GP__KFD_RESET, ids, chosen, results, n);
	for (size_t i = 0; i < n; i++) {
		bool dropped = chosen[i] && !results[i];

		if (dropped)
			l->dropped(ids[i]);
		chosen[i] = !dropped;
	}
	drain(j, ids, chosen, results, n);
	for (size_t i = 0; i < n; i++) {
		if (results[i])
			withhold(j, ids[i], false);
	}
}

static void tell_held(struct gp__kfd_join *j, bool held)
{
	const struct gp__kfd_launches *l = atomic_load(&j->launches);

	if (l)
		l->set_held(held);
}

static bool any_succeeded(const int *results, size_t n)
{
	size_t i = 0;

	while (i < n && results[i])
		i++;
	return i < n;
}

void gp__kfd_join_hold(void *state, const u32 *ids, int *results, size_t n)
{
	bool all[GP__WIRE_SLOTS_MAX];
	struct gp__kfd_join *j = state;

	gp__watch_hold(&j->watch, ids, n);
	if (gp__kfd_join_can_drop(j)) {
		drop(j, ids, results, n);
	} else if (j->level == 2) {
		memset(all, true, n * sizeof(all[0]));
		drain(j, ids, all, results, n);
	} else {
		set(j, GP__KFD_SAVE, ids, results, n);
	}
	gp__watch_hold_done(&j->watch, ids, results, n);
	gp__kfd_owner_expect_reset(j->owner);
	tell_held(j, any_succeeded(results, n));
}

void gp__kfd_join_release(void *state, const u32 *ids, int *results, size_t n)
{
	struct gp__kfd_join *j = state;

	set(j, GP__KFD_RELEASE, ids, results, n);
	tell_held(j, false);
	gp__kfd_owner_note_reset(j->owner, ids, results, n);
	/* Also where kernels could be dropped when the hold began, and no longer can. */
	for (size_t i = 0; j->port->request->idempotent && i < n; i++) {
		if (!results[i])
			withhold(j, ids[i], false);
	}
	gp__watch_release_done(&j->watch, ids, results, n);
}

void gp__kfd_join_set_alone(void *state, bool alone)
{
	struct gp__kfd_join *j = state;
	const struct gp__kfd_launches *l;

	gp__watch_set_calm(&j->watch, alone);
	pthread_mutex_lock(&j->lock);
	l = atomic_load(&j->launches);
	j->narrow = !alone;
	if (l)
		l->narrow(!alone);
	pthread_mutex_unlock(&j->lock);
}
