/* SPDX-License-Identifier: MIT */
/* The commands of gpreempt, one file each; main.c lists them. */
#ifndef GP_CLI_COMMANDS_H
#define GP_CLI_COMMANDS_H

#include "base/cmd.h"
#include "device/backend.h"

int cmd_bench(struct gp__env *env, int argc, char **argv);
int cmd_cdi(struct gp__env *env, int argc, char **argv);
int cmd_cgroup(struct gp__env *env, int argc, char **argv);
int cmd_certify(struct gp__env *env, int argc, char **argv);
int cmd_demo(struct gp__env *env, int argc, char **argv);
int cmd_emu(struct gp__env *env, int argc, char **argv);
int cmd_metrics(struct gp__env *env, int argc, char **argv);
int cmd_policy(struct gp__env *env, int argc, char **argv);
int cmd_report(struct gp__env *env, int argc, char **argv);
int cmd_resume(struct gp__env *env, int argc, char **argv);
int cmd_run(struct gp__env *env, int argc, char **argv);
int cmd_set(struct gp__env *env, int argc, char **argv);
int cmd_sim(struct gp__env *env, int argc, char **argv);
int cmd_suspend(struct gp__env *env, int argc, char **argv);
int cmd_top(struct gp__env *env, int argc, char **argv);
int cmd_trace(struct gp__env *env, int argc, char **argv);
int cmd_why(struct gp__env *env, int argc, char **argv);

/* These loop over @backends, which ends with NULL. */
int cmd_doctor(struct gp__env *env, const struct gp__backend *const *backends, int argc,
	       char **argv);
int cmd_off(struct gp__env *env, const struct gp__backend *const *backends, int argc, char **argv);
int cmd_on(struct gp__env *env, const struct gp__backend *const *backends, int argc, char **argv);
int cmd_probe(struct gp__env *env, const struct gp__backend *const *backends, int argc,
	      char **argv);
int cmd_ps(struct gp__env *env, const struct gp__backend *const *backends, int argc, char **argv);
int cmd_summary(struct gp__env *env, const struct gp__backend *const *backends, int argc,
		char **argv);

#endif
