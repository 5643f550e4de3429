// SPDX-License-Identifier: MIT
#include "base/env.h"

#include "base/json.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool wants_color(FILE *out)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (no_color && *no_color)
		return false;
	return isatty(fileno(out)) && term && strcmp(term, "dumb");
}

void gp__env_init(struct gp__env *env, const char *program, const char *version)
{
	*env = (struct gp__env){
		.program = program,
		.version = version,
		.out = stdout,
		.err = stderr,
		.headers = true,
		.color = wants_color(stdout),
	};
	gp__log_init(&env->log, program, stderr);
}

int gp__env_fail(struct gp__env *env, int status, const char *remedy, const char *fmt, ...)
{
	char message[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	fprintf(env->err, "%s: %s\n", env->program, message);
	if (remedy)
		fprintf(env->err, "%s\n", remedy);
	if (env->json)
		gp__json_print_error(env, status, message, remedy);
	return status;
}

/* fflush() tells why a write failed now, but not one that failed before: errno is gone. */
static const char *write_error(FILE *out)
{
	bool failed_before = ferror(out);

	errno = 0;
	if (!fflush(out) && !failed_before)
		return NULL;
	return errno ? strerror(errno) : "an earlier write failed";
}

int gp__env_finish(struct gp__env *env, int status)
{
	const char *why = write_error(env->out);

	if (!why)
		return status;
	fprintf(env->err, "%s: cannot write the output: %s\n", env->program, why);
	return status ? status : GP__EXIT_FAILURE;
}
