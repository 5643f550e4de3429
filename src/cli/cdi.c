// SPDX-License-Identifier: MIT
/* gpreempt cdi: prints the CDI specification with which container engines let programs join. */
#include "cli/commands.h"

#include <string.h>

#include "oci/edit.h"

#define CONFIG "/etc/gpreempt/oci.conf"

static error_t parse(int key, char *arg, struct argp_state *state)
{
	bool *said = state->input;

	if (key == ARGP_KEY_ARG && !*said && !strcmp(arg, "generate")) {
		*said = true;
		return 0;
	}
	if (key == ARGP_KEY_ARG)
		return gp__cmd_usage(state, "'%s' is not generate", arg);
	if (key == ARGP_KEY_END && !*said)
		return gp__cmd_usage(state, "say what to do: generate");
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	.parser = parse,
	.args_doc = "generate",
	.doc = "Print a specification of the Container Device Interface, for /etc/cdi. Its "
	       "devices, "
	       "gpreempt.dev/class=online, normal, offline and default, let the programs of a "
	       "container join.",
};

int cmd_cdi(struct gp__env *env, int argc, char **argv)
{
	static struct oci_node node;
	const char *path = getenv("GPREEMPT_OCI_CONF");
	char error[OCI_ERROR_MAX];
	bool said = false;
	json_t *spec;
	int status;

	if (!gp__cmd_parse(env, &argp, argc, argv, &said, &status))
		return status;
	if (oci_node_read(&node, path ? path : CONFIG, GP_LIB_DIR, error))
		return gp__env_fail(env, GP__EXIT_FAILURE, NULL, "%s", error);
	spec = oci_cdi(&node);
	if (!spec || json_dumpf(spec, env->out, JSON_INDENT(2)) || fputc('\n', env->out) < 0) {
		json_decref(spec);
		return gp__env_fail(env, GP__EXIT_FAILURE, NULL,
				    "cannot write the specification to standard output");
	}
	json_decref(spec);
	return GP__EXIT_OK;
}
