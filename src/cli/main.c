// SPDX-License-Identifier: MIT
/* gpreempt: runs the command that the first argument names. This table is the list of commands. */
#include "cli/commands.h"

#include "join/backends.h"

#include <locale.h>
#include <signal.h>

static int doctor(struct gp__env *env, int argc, char **argv)
{
	return cmd_doctor(env, gp__backends, argc, argv);
}

static int off(struct gp__env *env, int argc, char **argv)
{
	return cmd_off(env, gp__backends, argc, argv);
}

static int on(struct gp__env *env, int argc, char **argv)
{
	return cmd_on(env, gp__backends, argc, argv);
}

static int probe(struct gp__env *env, int argc, char **argv)
{
	return cmd_probe(env, gp__backends, argc, argv);
}

static int ps(struct gp__env *env, int argc, char **argv)
{
	return cmd_ps(env, gp__backends, argc, argv);
}

static int summary(struct gp__env *env, int argc, char **argv)
{
	return cmd_summary(env, gp__backends, argc, argv);
}

static const struct gp__cmd commands[] = {
	{ "bench", cmd_bench, "measure this build on this machine" },
	{ "certify", cmd_certify, "compare the GPU here with the goals of gpreempt's design" },
	{ "cdi", cmd_cdi, "print a CDI specification for container engines" },
	{ "cgroup", cmd_cgroup, "list and register rules about control groups" },
	{ "demo", cmd_demo, "run an online and an offline program on one emulated GPU" },
	{ "doctor", doctor, "find problems of this machine's setup, with remedies" },
	{ "emu", cmd_emu, "start and stop emulated AMD machines for ROCm programs" },
	{ "help", gp__cmd_help, "explain a command, or list them" },
	{ "metrics", cmd_metrics, "print the metrics of gpreemptd for Prometheus" },
	{ "off", off, "switch scheduling off: programs run as without gpreempt" },
	{ "on", on, "switch scheduling on again" },
	{ "policy", cmd_policy, "show or change the scheduling policy of gpreemptd" },
	{ "probe", probe, "try and measure each way of holding queues on the GPUs here" },
	{ "ps", ps, "list the programs that have joined gpreemptd" },
	{ "report", cmd_report, "make a page of a decision log: who ran, who was held, for whom" },
	{ "resume", cmd_resume, "resume suspended programs" },
	{ "run", cmd_run, "run a program with a priority on the GPUs it uses" },
	{ "set", cmd_set, "change the priority, share or guarantee of joined programs" },
	{ "sim", cmd_sim, "simulate programs on modelled GPUs under the real scheduler" },
	{ "suspend", cmd_suspend, "suspend joined programs: keep them off the GPU until resumed" },
	{ "top", cmd_top, "live view of GPU scheduling" },
	{ "trace", cmd_trace, "write a Perfetto trace of decisions" },
	{ "version", gp__cmd_version, "show the version" },
	{ "why", cmd_why, "show when a program was held, for whom and why" },
	{ NULL, NULL, NULL },
};

int main(int argc, char **argv)
{
	struct gp__env env;

	/* Characters only: numbers look the same in every locale. */
	setlocale(LC_CTYPE, "");
	/* A closed pipe is an error to report, not a reason to be killed. */
	signal(SIGPIPE, SIG_IGN);
	gp__env_init(&env, "gpreempt", GP_VERSION);
	env.commands = commands;
	return gp__env_finish(&env, gp__cmd_main(&env, argc, argv, summary));
}
