// SPDX-License-Identifier: MIT
/*
 * gpreempt-nvidia-try: tries each way of holding and weighing on a scratch context of one NVIDIA
 * GPU. `gpreempt probe` starts it, and ends it if it hangs.
 *
 * It is a program of its own, since it replaces ioctl(): it sees libcuda's calls as the preload
 * sees those of a joined program. It loads libcuda at run time, which compiles its kernels. It
 * prints each result on a line, so that the results before a hang are kept:
 *
 *	WHAT yes|no HOLD_US RELEASE_US SENTENCE
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/median.h"
#include "device/nvrm/abi.h"
#include "device/nvrm/done.h"
#include "device/nvrm/gpus.h"
#include "device/nvrm/owner.h"

#define SAMPLES 21
#define STILL_US 2000 /* a held kernel makes no progress for this time */
#define HELD_BACK_US 20000 /* no new kernel begins for this time */
#define GO_ON_NS 2000000000ull /* a released kernel makes progress within this time */
#define CHANNELS_MAX 64
#define HOST_MAPPED 2 /* CU_MEMHOSTALLOC_DEVICEMAP */
#define STREAM_NON_BLOCKING 1

/* spin counts in host memory until it is told to stop; mark writes once. */
static const char kernels[] = ".version 6.0\n.target sm_70\n.address_size 64\n"
			      ".visible .entry spin(.param .u64 at) {\n"
			      "	.reg .pred %p<2>; .reg .b32 %r<3>; .reg .b64 %d<2>;\n"
			      "	ld.param.u64 %d0, [at];\n"
			      "	mov.u32 %r0, 0;\n"
			      "AGAIN:	add.u32 %r0, %r0, 1;\n"
			      "	st.volatile.global.u32 [%d0], %r0;\n"
			      "	ld.volatile.global.u32 %r1, [%d0+64];\n"
			      "	setp.eq.u32 %p0, %r1, 0;\n"
			      "	@%p0 bra AGAIN;\n"
			      "	ret;\n"
			      "}\n"
			      ".visible .entry mark(.param .u64 at) {\n"
			      "	.reg .b32 %r<1>; .reg .b64 %d<1>;\n"
			      "	ld.param.u64 %d0, [at];\n"
			      "	mov.u32 %r0, 1;\n"
			      "	st.volatile.global.u32 [%d0+128], %r0;\n"
			      "	ret;\n"
			      "}\n";

static struct gp__nvrm_owner *owner;
static const char *refused = "libcuda created no channel group that computes";

/* Functions of libcuda, by their exported names. */
static struct {
	int (*init)(unsigned int flags);
	int (*context)(void **context, unsigned int flags, int device);
	int (*module)(void **module, const void *image);
	int (*function)(void **function, void *module, const char *name);
	int (*host)(void **memory, size_t bytes, unsigned int flags);
	int (*address)(uint64_t *address, void *memory, unsigned int flags);
	int (*stream)(void **stream, unsigned int flags);
	int (*launch)(void *function, unsigned int gx, unsigned int gy, unsigned int gz,
		      unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
		      void *stream, void **params, void **extra);
	int (*sync)(void *stream);
} cu;

static struct {
	volatile uint32_t *memory; /* progress, stop, mark: 64 bytes apart */
	uint64_t address;
	void *spin, *mark, *stream[2];
	uint32_t id;
} scene;

/*
 * Seeing
 */

static int kernel_ioctl(int fd, unsigned long request, void *argument)
{
	return (int)syscall(SYS_ioctl, fd, request, argument);
}

static bool is_nvidia(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISCHR(st.st_mode) && major(st.st_rdev) == GP__NVRM_MAJOR;
}

int try_ioctl(int fd, unsigned long request, ...) __asm__("ioctl");
__attribute__((visibility("default"))) int try_ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *argument;

	va_start(args, request);
	argument = va_arg(args, void *);
	va_end(args);
	if (owner && gp__nvrm_owner_wants(request) && is_nvidia(fd))
		return gp__nvrm_owner_ioctl(owner, fd, request, argument);
	return kernel_ioctl(fd, request, argument);
}

static void cannot(void *data, const char *why)
{
	(void)data;
	refused = strdup(why);
}

/*
 * Saying
 */

static void say(const char *what, bool works, double hold_us, double release_us, const char *text)
{
	printf("%s %s %.1f %.1f %s\n", what, works ? "yes" : "no", hold_us, release_us, text);
	fflush(stdout);
}

static int fail(const char *text)
{
	say("context", false, 0, 0, text);
	return 1;
}

/*
 * The scratch context
 */

static bool load(void)
{
	static const struct {
		const char *name;
		void *at;
	} functions[] = {
		{ "cuInit", &cu.init },
		{ "cuCtxCreate_v2", &cu.context },
		{ "cuModuleLoadData", &cu.module },
		{ "cuModuleGetFunction", &cu.function },
		{ "cuMemHostAlloc", &cu.host },
		{ "cuMemHostGetDevicePointer_v2", &cu.address },
		{ "cuStreamCreate", &cu.stream },
		{ "cuLaunchKernel", &cu.launch },
		{ "cuStreamSynchronize", &cu.sync },
	};
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; library && i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *found = dlsym(library, functions[i].name);

		if (!found)
			return false;
		memcpy(functions[i].at, &found, sizeof(found));
	}
	return library != NULL;
}

static bool make_context(void)
{
	void *context, *module, *memory;

	if (cu.init(0) || cu.context(&context, 0, 0) || cu.module(&module, kernels) ||
	    cu.function(&scene.spin, module, "spin") || cu.function(&scene.mark, module, "mark") ||
	    cu.host(&memory, 4096, HOST_MAPPED) || cu.address(&scene.address, memory, 0) ||
	    cu.stream(&scene.stream[0], STREAM_NON_BLOCKING) ||
	    cu.stream(&scene.stream[1], STREAM_NON_BLOCKING))
		return false;
	memset(memory, 0, 4096);
	scene.memory = memory;
	return true;
}

static bool launch(void *kernel, void *stream)
{
	void *params[] = { &scene.address };

	return !cu.launch(kernel, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

static uint32_t progress(void)
{
	return scene.memory[0];
}

static void tell_to_stop(bool stop)
{
	scene.memory[16] = stop;
}

static bool has_marked(void)
{
	return scene.memory[32];
}

/* Whether the kernel makes progress within its time. */
static bool goes_on(void)
{
	uint64_t end = gp__clock_ns() + GO_ON_NS;
	uint32_t before = progress();

	while (progress() == before) {
		if (gp__clock_ns() > end)
			return false;
		usleep(50);
	}
	return true;
}

static int set(enum gp__nvrm_verb verb, double *us)
{
	uint64_t start = gp__clock_ns();
	int result;

	gp__nvrm_owner_set(owner, verb, &scene.id, &result, 1);
	*us = (double)(gp__clock_ns() - start) / 1e3;
	return result;
}

/*
 * Attempts
 */

static const char *hold_and_release(double *hold, double *release)
{
	uint32_t before;

	if (set(GP__NVRM_HOLD, hold))
		return "the driver refuses FIFO_DISABLE_CHANNELS";
	before = progress();
	usleep(STILL_US);
	if (progress() != before)
		return "the kernel ran on while it was held";
	if (set(GP__NVRM_RELEASE, release))
		return "the driver refuses to release it";
	return goes_on() ? NULL : "the kernel did not run after its release";
}

static void try_hold(void)
{
	double hold[SAMPLES], release[SAMPLES];
	const char *why = NULL;

	tell_to_stop(false);
	if (!launch(scene.spin, scene.stream[0]) || !goes_on())
		why = "cannot run a kernel";
	for (int i = 0; i < SAMPLES && !why; i++)
		why = hold_and_release(&hold[i], &release[i]);
	say("hold", !why, why ? 0 : gp__median(hold, SAMPLES),
	    why ? 0 : gp__median(release, SAMPLES), why ? why : "");
}

static void try_slice(void)
{
	uint64_t own = 0, is = 0, back = 0, start = gp__clock_ns(), end;
	char text[128] = "";
	int err = gp__nvrm_owner_get_slice(owner, scene.id, &own);

	if (!err)
		err = gp__nvrm_owner_slice(owner, scene.id, 1);
	end = gp__clock_ns();
	if (!err)
		err = gp__nvrm_owner_get_slice(owner, scene.id, &is);
	gp__nvrm_owner_slice(owner, scene.id, 0);
	gp__nvrm_owner_get_slice(owner, scene.id, &back);
	if (err)
		snprintf(text, sizeof(text), "the driver refuses SET_TIMESLICE");
	else if (is != 1 || back != own)
		snprintf(text, sizeof(text),
			 "a time slice of 1 us reads back as %llu, and %llu as %llu",
			 (unsigned long long)is, (unsigned long long)own, (unsigned long long)back);
	say("slice", !*text, (double)(end - start) / 1e3, 0, text);
}

/* Checks that a running kernel and its end are seen. */
static bool sees_end(struct gp__peek *peek, const struct gp__nvrm_ring *ring, int nr)
{
	struct gp__nvrm_end end;

	for (int i = 0; i < nr; i++) {
		gp__nvrm_end_find(peek, &ring[i], ring[i].userd[GP__NVRM_USERD_PUT / 4], &end);
		if (!end.at || gp__nvrm_end_reached(peek, &end))
			continue;
		tell_to_stop(true);
		return !cu.sync(scene.stream[0]) && gp__nvrm_end_reached(peek, &end) == 1;
	}
	return false;
}

static void try_work(const char *node)
{
	struct gp__nvrm_ring ring[CHANNELS_MAX];
	struct gp__peek peek;
	int nr = gp__nvrm_owner_map(owner, scene.id, node, ring, CHANNELS_MAX);

	if (nr <= 0 || gp__peek_open(&peek)) {
		say("work", false, 0, 0,
		    "the channels' indices cannot be mapped, so a program counts as having work "
		    "while it exists");
		return;
	}
	say("work", true, 0, 0,
	    sees_end(&peek, ring, nr) ? ""
				      : "the end of a kernel is not seen, so a grace time decides "
					"when a program is idle");
	gp__peek_close(&peek);
}

/* A running kernel finishes; a kernel launched meanwhile waits. */
static const char *drain_and_release(double *hold, double *release)
{
	uint64_t end;

	tell_to_stop(true);
	cu.sync(scene.stream[0]);
	tell_to_stop(false);
	if (!launch(scene.spin, scene.stream[0]) || !goes_on())
		return "cannot run a kernel";
	if (set(GP__NVRM_DRAIN, hold))
		return "the driver refuses FIFO_DISABLE_CHANNELS with only scheduling disabled";
	if (!goes_on())
		return "the running kernel was held, too";
	launch(scene.mark, scene.stream[1]);
	usleep(HELD_BACK_US);
	if (has_marked())
		return "a new kernel began although it should wait";
	tell_to_stop(true);
	usleep(HELD_BACK_US);
	if (set(GP__NVRM_RELEASE, release))
		return "the driver refuses to release it";
	end = gp__clock_ns() + GO_ON_NS;
	while (!has_marked()) {
		if (gp__clock_ns() > end)
			return "the waiting kernel did not begin after its release";
		usleep(50);
	}
	return NULL;
}

static void try_drain(void)
{
	double hold = 0, release = 0;
	const char *why = drain_and_release(&hold, &release);

	say("drain", !why, why ? 0 : hold, why ? 0 : release, why ? why : "");
}

static int try_all(const char *node)
{
	struct gp__nvrm_owned list[1];

	if (!gp__nvrm_owner_list(owner, list, 1))
		return fail(refused);
	scene.id = list[0].group.id;
	say("context", true, 0, 0, "");
	try_hold();
	try_slice();
	try_work(node);
	try_drain();
	return 0;
}

int main(int argc, char **argv)
{
	const struct gp__nvrm_owner_events events = { .cannot = cannot };
	int status;

	if (argc != 3)
		return fail("usage: gpreempt-nvidia-try UUID DEVICE; 'gpreempt probe' runs it");
	setenv("CUDA_VISIBLE_DEVICES", argv[1], 1);
	if (gp__nvrm_owner_create(kernel_ioctl, &events, &owner))
		return fail("out of memory");
	gp__nvrm_owner_take_any(owner); /* it is asked to try */
	if (!load())
		return fail("cannot load libcuda.so.1; install NVIDIA's driver libraries");
	status = make_context()
			 ? try_all(argv[2])
			 : fail("CUDA cannot create a context here, or cannot compile a kernel");
	/* The driver cleans up what hangs. */
	_exit(status);
}
