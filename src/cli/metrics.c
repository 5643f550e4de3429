// SPDX-License-Identifier: MIT
/* gpreempt metrics: prints gpreemptd's metrics as Prometheus reads them. */
#include "cli/commands.h"

#include <stdlib.h>

#include "base/json.h"
#include "cli/daemon.h"
#include "metrics/metrics.h"

static const struct argp argp = {
	.doc = "Print the metrics of gpreemptd as text for Prometheus, as the textfile collector "
	       "of "
	       "the node exporter reads it. An administrator gets those of all programs, other "
	       "users those of their own.",
};

static int print_text(struct gp__env *env, json_t *document)
{
	size_t size;
	char *text = gp__metrics_text(document, &size);

	json_decref(document);
	if (!text)
		return gp__env_fail(env, GP__EXIT_FAILURE, NULL, "out of memory");
	fwrite(text, 1, size, env->out);
	free(text);
	return GP__EXIT_OK;
}

int cmd_metrics(struct gp__env *env, int argc, char **argv)
{
	json_t *document;
	int status;

	if (!gp__cmd_parse(env, &argp, argc, argv, NULL, &status))
		return status;
	document = daemon_query(env, json_pack("{s:s}", "op", "metrics"), &status);
	if (!document)
		return status;
	if (env->json)
		return gp__json_print(env, document) ? GP__EXIT_FAILURE : GP__EXIT_OK;
	return print_text(env, document);
}
