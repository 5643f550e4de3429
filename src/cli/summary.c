// SPDX-License-Identifier: MIT
/* gpreempt without arguments: what this is, what works in this build, what to try. */
#include "cli/commands.h"

#include "base/json.h"

static const struct {
	const char *name;
	bool works;
	const char *text;
} parts[] = {
	{ "sim", true, "modelled GPUs and programs around the real scheduling core" },
	{ "emu", true, "an emulated AMD machine for unmodified ROCm programs" },
	{ "amd", false, "stopping queues through amdkfd" },
	{ "nvidia", false, "stopping channels through NVIDIA's driver" },
	{ "opencl", false, "programs that use OpenCL" },
	{ "daemon", false, "scheduling the programs of this machine" },
};

#define N_PARTS (sizeof(parts) / sizeof(parts[0]))

static int print_json(struct gp__env *env)
{
	json_t *root = gp__json_envelope();
	json_t *list = json_object();

	for (size_t i = 0; i < N_PARTS; i++)
		json_object_set_new(list, parts[i].name, json_boolean(parts[i].works));
	json_object_set_new(root, "version", json_string(env->version));
	json_object_set_new(root, "works", list);
	return gp__json_print(env, root) ? GP__EXIT_FAILURE : GP__EXIT_OK;
}

static void print_parts(struct gp__env *env, bool works)
{
	for (size_t i = 0; i < N_PARTS; i++) {
		if (parts[i].works == works)
			fprintf(env->out, "  %-8s %s\n", parts[i].name, parts[i].text);
	}
}

static int print_text(struct gp__env *env)
{
	fprintf(env->out,
		"gpreempt %s: priority-preemptive scheduling of GPUs by software. An urgent\n"
		"program gets the GPU at once; the others keep what is left and lose no work.\n\n"
		"In this build:\n",
		env->version);
	print_parts(env, true);
	fputs("Not yet:\n", env->out);
	print_parts(env, false);
	fputs("\nTry:\n"
	      "  gpreempt sim seed004-basic --compare none,hpf\n"
	      "  gpreempt emu exec -- rocminfo\n"
	      "  gpreempt bench --list\n"
	      "  gpreempt help\n",
	      env->out);
	return GP__EXIT_OK;
}

int cmd_summary(struct gp__env *env, int argc, char **argv)
{
	static const struct argp argp = {
		.args_doc = "COMMAND [OPTION...]",
		.doc = "Say what this build can do. 'gpreempt help' lists the commands.",
	};
	int status;

	if (!gp__cmd_parse(env, &argp, argc, argv, NULL, &status))
		return status;
	return env->json ? print_json(env) : print_text(env);
}
