// SPDX-License-Identifier: MIT
/* Whether OpenCL programs are joined here: asked of the loader itself, in a process of its own. */
#include "cli/doctor.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/child.h"
#include "join/wish.h"

#define LAYER "libgpreempt-opencl.so"
#define LOADER "libOpenCL.so.1"
#define PLATFORMS_MAX 16
#define SECONDS_MAX 20 /* for drivers that take their time */
#define DEVICE_TYPE_ALL 0xffffffffull

struct answer {
	bool has_loader, has_layer;
	uint32_t nr_platforms, nr_devices;
};

typedef int32_t platforms_fn(uint32_t max, void **platforms, uint32_t *nr);
typedef int32_t devices_fn(void *platform, uint64_t type, uint32_t max, void **devices,
			   uint32_t *nr);

/* A function of the loader's; dlsym() has no pointers to functions. */
static void find(void *loader, const char *name, void *fn)
{
	void *found = dlsym(loader, name);

	memcpy(fn, &found, sizeof(found));
}

static struct answer ask_loader(const char *layer)
{
	void *loader = dlopen(LOADER, RTLD_NOW), *platforms[PLATFORMS_MAX];
	struct answer answer = { .has_loader = loader };
	platforms_fn *get_platforms = NULL;
	devices_fn *get_devices = NULL;
	uint32_t nr = 0;
	void *found;

	if (!loader)
		return answer;
	find(loader, "clGetPlatformIDs", &get_platforms);
	find(loader, "clGetDeviceIDs", &get_devices);
	if (!get_platforms || !get_devices)
		return answer;
	if (!get_platforms(PLATFORMS_MAX, platforms, &nr))
		answer.nr_platforms = nr;
	for (uint32_t i = 0; i < answer.nr_platforms && i < PLATFORMS_MAX; i++) {
		if (!get_devices(platforms[i], DEVICE_TYPE_ALL, 0, NULL, &nr))
			answer.nr_devices += nr;
	}
	found = *layer ? dlopen(layer, RTLD_NOW | RTLD_NOLOAD) : NULL;
	answer.has_layer = found;
	return answer;
}

static _Noreturn void become_asker(const char *layer, int to)
{
	struct answer answer;

	alarm(SECONDS_MAX);
	if (*layer)
		setenv("OPENCL_LAYERS", layer, 1);
	unsetenv(GP__WISH_PRIORITY); /* nobody is to be joined */
	answer = ask_loader(layer);
	_exit(write(to, &answer, sizeof(answer)) == sizeof(answer) ? 0 : 1);
}

/* False: the loader, or a driver in it, has not lived to tell. */
static bool ask(const char *layer, struct answer *answer)
{
	int ends[2], status = -1;
	pid_t pid;
	bool told;

	if (pipe(ends))
		return false;
	pid = fork();
	if (!pid)
		become_asker(layer, ends[1]);
	close(ends[1]);
	told = pid > 0 && read(ends[0], answer, sizeof(*answer)) == sizeof(*answer);
	close(ends[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return told;
}

void doctor_opencl(struct doctor *d)
{
	struct answer answer = { 0 };
	char layer[PATH_MAX] = "";
	bool is_built = child_has_file("../join/" LAYER, GP_LIB_DIR "/" LAYER, layer);

	if (!ask(layer, &answer))
		doctor_say(d, "OpenCL", DOCTOR_WARN, "Try clinfo.",
			   "OpenCL's loader, or a driver in it, fails before it has listed its "
			   "devices");
	else if (!answer.has_loader)
		doctor_say(d, "OpenCL", DOCTOR_OK, NULL,
			   "there is no OpenCL loader (%s), so there are no OpenCL programs",
			   LOADER);
	else if (!answer.nr_devices)
		doctor_say(d, "OpenCL", DOCTOR_OK, NULL, "there is no OpenCL device");
	else if (!is_built)
		doctor_say(d, "OpenCL", DOCTOR_WARN,
			   "Install opencl-headers, and build and install gpreempt again.",
			   "%s is not to be found, so OpenCL programs are not joined", LAYER);
	else if (!answer.has_layer)
		doctor_say(d, "OpenCL", DOCTOR_WARN,
			   "Use ocl-icd 2.3 or later, or Khronos' loader with layers.",
			   "the OpenCL loader takes no layers from OPENCL_LAYERS: OpenCL programs "
			   "are not joined");
	else
		doctor_say(d, "OpenCL", DOCTOR_OK, NULL,
			   "programs are joined, on %u device%s; what functions of extensions "
			   "enqueue, and kernels themselves, is neither seen nor held",
			   answer.nr_devices, answer.nr_devices == 1 ? "" : "s");
}
