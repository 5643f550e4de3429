// SPDX-License-Identifier: MIT
/* gpreempt: finds the command and reports what became of its output. */
#include "cli/commands.h"

#include <locale.h>
#include <signal.h>

static const struct gp__cmd commands[] = {
	{ "bench", cmd_bench, "measure what this build costs on this machine" },
	{ "demo", cmd_demo, "an online and an offline program share an emulated GPU" },
	{ "doctor", cmd_doctor, "what is wrong here, and what to do about it" },
	{ "emu", cmd_emu, "emulated AMD machines for ROCm programs" },
	{ "help", gp__cmd_help, "explain a command, or list them" },
	{ "policy", cmd_policy, "by which rule gpreemptd decides; change it" },
	{ "probe", cmd_probe, "what can be done with the GPUs here, tried and measured" },
	{ "ps", cmd_ps, "the programs that are joined to gpreemptd" },
	{ "resume", cmd_resume, "let suspended programs take part again" },
	{ "run", cmd_run, "run a program with a priority on the GPUs it uses" },
	{ "set", cmd_set, "another priority, share or guarantee for joined programs" },
	{ "sim", cmd_sim, "run programs on modelled GPUs under the real scheduler" },
	{ "suspend", cmd_suspend, "take joined programs off the GPU by hand" },
	{ "top", cmd_top, "live: who runs when, who is held" },
	{ "version", gp__cmd_version, "show the version" },
	{ "why", cmd_why, "who held a program, when, for how long and why" },
	{ NULL, NULL, NULL },
};

int main(int argc, char **argv)
{
	struct gp__env env;

	/* Characters only: numbers look the same in every locale. */
	setlocale(LC_CTYPE, "");
	/* A reader that went away is an error to report, not a death to explain. */
	signal(SIGPIPE, SIG_IGN);
	gp__env_init(&env, "gpreempt", GP_VERSION);
	env.commands = commands;
	return gp__env_finish(&env, gp__cmd_main(&env, argc, argv, cmd_summary));
}
