/* SPDX-License-Identifier: MIT */
/* An environment whose output and messages end in memory. */
#ifndef GP_TEST_CAPTURE_H
#define GP_TEST_CAPTURE_H

#include "base/env.h"

#include <stdlib.h>

struct capture {
	struct gp__env env;
	char *out;
	char *err;
	size_t out_len;
	size_t err_len;
};

static inline void capture_start(struct capture *c)
{
	*c = (struct capture){ 0 };
	gp__env_init(&c->env, "prog", "1.2.3");
	c->env.out = open_memstream(&c->out, &c->out_len);
	c->env.err = open_memstream(&c->err, &c->err_len);
	assert_non_null(c->env.out);
	assert_non_null(c->env.err);
	c->env.color = false;
	gp__log_init(&c->env.log, "prog", c->env.err);
}

/* Makes out and err readable. */
static inline void capture_flush(struct capture *c)
{
	fflush(c->env.out);
	fflush(c->env.err);
}

static inline void capture_end(struct capture *c)
{
	fclose(c->env.out);
	fclose(c->env.err);
	free(c->out);
	free(c->err);
}

#endif
