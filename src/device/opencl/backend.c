// SPDX-License-Identifier: MIT
/* Checks whether OpenCL programs are joined: loads the loader in a child process, since a driver
 * may crash or hang. */
#include "device/opencl/backend.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LAYER "libgpreempt-opencl.so"
#define LOADER "libOpenCL.so.1"
#define PLATFORMS_MAX 16
#define SECONDS_MAX 20 /* slow drivers take several seconds */
#define DEVICE_TYPE_ALL 0xffffffffull
#ifdef GP__OPENCL_MISSING
#define NO_LAYER "gpreempt was " GP__OPENCL_MISSING ", so OpenCL programs are not joined"
#define NO_LAYER_REMEDY \
	"Install opencl-headers, and build and install gpreempt with -Dopencl=enabled."
#else
#define NO_LAYER LAYER " was not found, so OpenCL programs are not joined"
#define NO_LAYER_REMEDY "Install gpreempt again."
#endif

struct answer {
	bool has_loader, has_layer;
	uint32_t nr_platforms, nr_devices;
};

typedef int32_t platforms_fn(uint32_t max, void **platforms, uint32_t *nr);
typedef int32_t devices_fn(void *platform, uint64_t type, uint32_t max, void **devices,
			   uint32_t *nr);

/* Finds a function of the loader; memcpy(), since dlsym() returns no pointer to a function. */
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
	unsetenv(GP__ENV_PRIORITY); /* this process must not join */
	answer = ask_loader(layer);
	_exit(write(to, &answer, sizeof(answer)) == sizeof(answer) ? 0 : 1);
}

/* False: the loader, or a driver in it, crashed or hung. */
static bool ask(const char *layer, struct answer *answer)
{
	int ends[2], status = -1;
	pid_t pid;
	bool answered;

	if (pipe(ends))
		return false;
	pid = fork();
	if (!pid)
		become_asker(layer, ends[1]);
	close(ends[1]);
	answered = pid > 0 && read(ends[0], answer, sizeof(*answer)) == sizeof(*answer);
	close(ends[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return answered;
}

static void doctor(struct gp__checks *checks)
{
	struct answer answer = { 0 };
	char layer[PATH_MAX] = "";
	bool is_built = checks->files->find("../join/" LAYER, LAYER, layer);

	if (!ask(layer, &answer))
		gp__check(checks, "OpenCL", GP__CHECK_WARN, "Try clinfo.",
			  "OpenCL's loader, or a driver in it, fails while listing its devices");
	else if (!answer.has_loader)
		gp__check(checks, "OpenCL", GP__CHECK_OK, NULL,
			  "there is no OpenCL loader (%s), so there are no OpenCL programs",
			  LOADER);
	else if (!answer.nr_devices)
		gp__check(checks, "OpenCL", GP__CHECK_OK, NULL, "there is no OpenCL device");
	else if (!is_built)
		gp__check(checks, "OpenCL", GP__CHECK_WARN, NO_LAYER_REMEDY, NO_LAYER);
	else if (!answer.has_layer)
		gp__check(checks, "OpenCL", GP__CHECK_WARN,
			  "Use ocl-icd 2.3 or later, or Khronos' loader with layers.",
			  "the OpenCL loader does not support OPENCL_LAYERS, so OpenCL programs "
			  "are not joined");
	else
		gp__check(checks, "OpenCL", GP__CHECK_OK, NULL,
			  "programs are joined, on %u device%s; work enqueued by extension "
			  "functions or by kernels is neither seen nor held",
			  answer.nr_devices, answer.nr_devices == 1 ? "" : "s");
}

const struct gp__backend gp__backend_opencl = {
	.name = "opencl",
	.text = "command queues of OpenCL programs are held by a layer of the loader",
#ifdef GP__OPENCL_MISSING
	.missing = GP__OPENCL_MISSING,
#endif
	.doctor = doctor,
};
