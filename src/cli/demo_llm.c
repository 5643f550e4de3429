// SPDX-License-Identifier: MIT
/* Finds llama.cpp for gpreempt demo --llm, and downloads its packages with --download. */
#include "cli/demo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/child.h"

#define DOWNLOAD_MB 480
#define DISK_GB "2.5"

int demo_llm_default_folder(struct gp__env *env, char folder[PATH_MAX])
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (cache && *cache == '/')
		snprintf(folder, PATH_MAX, "%s/gpreempt/llama", cache);
	else if (home && *home == '/')
		snprintf(folder, PATH_MAX, "%s/.cache/gpreempt/llama", home);
	else
		return gp__env_fail(env, GP__EXIT_FAILURE, "Name one with --llm=FOLDER.",
				    "neither XDG_CACHE_HOME nor HOME names a folder for llama.cpp");
	return 0;
}

static int find_files(struct demo_llm *l, struct gp__env *env)
{
	const struct {
		const char *name;
		char *path;
	} files[] = { { "llama", l->runner },
		      { "llm_driver", l->driver },
		      { "llm_model", l->maker } };
	int status = 0;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && !status; i++) {
		char built[64], installed[PATH_MAX];

		snprintf(built, sizeof(built), "../demo/%s", files[i].name);
		snprintf(installed, sizeof(installed), GP_LIBEXEC_DIR "/%s", files[i].name);
		status = child_find_file(env, built, installed, files[i].path);
	}
	return status;
}

static bool has_packages(const struct demo_llm *l)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/complete", l->folder);
	return !access(path, R_OK);
}

static int download_packages(struct demo_llm *l, struct gp__env *env)
{
	char get[] = "get";
	char *const argv[] = { l->runner, get, l->folder, NULL };
	int status;

	fprintf(env->err,
		"gpreempt: downloading llama.cpp from Debian sid: about %d MB, which take " DISK_GB
		" GB in %s\n",
		DOWNLOAD_MB, l->folder);
	status = child_run(env, (char **)argv);
	if (!status || status > 128)
		return status;
	return gp__env_fail(env, DEMO_NO_PACKAGES,
			    "It needs Debian's package mirror, apt, dpkg and "
			    "debian-archive-keyring, on amd64.",
			    "cannot download the packages of llama.cpp");
}

int demo_llm_open(struct demo_llm *l, struct gp__env *env, const char *folder, bool download)
{
	char hint[PATH_MAX + 160];
	int status = 0;

	if (folder && !realpath(folder, l->folder))
		snprintf(l->folder, sizeof(l->folder), "%s", folder);
	else if (!folder)
		status = demo_llm_default_folder(env, l->folder);
	if (!status)
		status = find_files(l, env);
	if (!status && download && !has_packages(l))
		status = download_packages(l, env);
	if (status || has_packages(l))
		return status;
	snprintf(hint, sizeof(hint), "'gpreempt demo --llm%s%s --download' fetches them: %d MB.",
		 folder ? "=" : "", folder ? folder : "", DOWNLOAD_MB);
	return gp__env_fail(env, DEMO_NO_PACKAGES, hint, "%s has no packages of llama.cpp",
			    l->folder);
}
