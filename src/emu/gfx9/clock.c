// SPDX-License-Identifier: MIT
#include "emu/gfx9/clock.h"

#include "base/clock.h"

void gfx9_clock_init(struct gfx9_clock *c, void (*changed)(void *ctx, bool busy, uint64_t ns),
		     void *ctx)
{
	*c = (struct gfx9_clock){ .changed = changed, .ctx = ctx, .idle_since = gp__clock_ns() };
	c->ns = c->idle_since;
	pthread_mutex_init(&c->lock, NULL);
}

void gfx9_clock_destroy(struct gfx9_clock *c)
{
	pthread_mutex_destroy(&c->lock);
}

static void follow_host(struct gfx9_clock *c)
{
	uint64_t now = gp__clock_ns();

	c->ns += now - c->idle_since;
	c->idle_since = now;
}

static void tell(const struct gfx9_clock *c, bool busy)
{
	if (c->changed)
		c->changed(c->ctx, busy, c->ns);
}

uint64_t gfx9_clock_now(struct gfx9_clock *c)
{
	uint64_t ns;

	pthread_mutex_lock(&c->lock);
	if (!c->nr_busy)
		follow_host(c);
	ns = c->ns;
	pthread_mutex_unlock(&c->lock);
	return ns;
}

void gfx9_clock_begin(struct gfx9_clock *c)
{
	pthread_mutex_lock(&c->lock);
	if (!c->nr_busy++) {
		follow_host(c);
		tell(c, true);
	}
	pthread_mutex_unlock(&c->lock);
}

void gfx9_clock_end(struct gfx9_clock *c)
{
	pthread_mutex_lock(&c->lock);
	if (!--c->nr_busy) {
		c->idle_since = gp__clock_ns();
		tell(c, false);
	}
	pthread_mutex_unlock(&c->lock);
}

void gfx9_clock_ran(struct gfx9_clock *c, uint64_t ns)
{
	pthread_mutex_lock(&c->lock);
	c->parts += ns;
	c->ns += c->parts / c->nr_busy;
	c->parts %= c->nr_busy;
	pthread_mutex_unlock(&c->lock);
}
