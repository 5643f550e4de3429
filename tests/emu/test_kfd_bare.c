// SPDX-License-Identifier: MIT
/*
 * A machine that has the driver and no GPU: permissions of mmap and checkpoints, and the files of
 * sysfs. The answers of a kernel are in tests/kernel/answers-*.
 */
#include "../unit/host.h"
#include "kfd_server.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#define EVENTS (2ULL << 62)
#define KFD "sys/devices/virtual/kfd/kfd"

struct world {
	struct server s;
	struct client c;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	w->s.config.kernel = EMU_KERNEL_GPREEMPT;
	w->s.has_no_gpu = true;
	server_start(&w->s);
	client_setup(&w->s, &w->c, 1);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	client_close(&w->c);
	server_stop(&w->s);
	free(w);
	return 0;
}

static void nothing_has_a_gpu(void **state)
{
	struct world *w = *state;
	struct gp_kfd_get_apertures apertures = { .num_of_nodes = 1 };
	struct gp_kfd_get_dmabuf_info info = { .dmabuf_fd = UINT32_MAX };
	struct gp_kfd_create_queue queue = { .queue_percentage = 100 };
	struct gp_kfd_preempt query = { .op = GP_KFD_OP_QUERY };
	struct gp_kfd_create_event event = { 0 };

	assert_int_equal(client_kfd(&w->c, GP_KFD_GET_APERTURES, &apertures), 0);
	assert_int_equal(apertures.num_of_nodes, 0);
	assert_int_equal(client_kfd(&w->c, GP_KFD_GET_DMABUF_INFO, &info), -EINVAL);
	assert_int_equal(client_kfd(&w->c, GP_KFD_CREATE_QUEUE, &queue), -EINVAL);
	assert_int_equal(client_kfd(&w->c, GP_KFD_PREEMPT, &query), -EINVAL);
	assert_int_equal(client_open(&w->c, "/dev/dri/renderD128"), -ENOENT);
	assert_int_equal(client_kfd(&w->c, GP_KFD_CREATE_EVENT, &event), 0);
	assert_int_equal(event.event_id, 1);
}

/* Without a GPU, nothing refuses these. */
static void debugger_without_a_gpu(void **state)
{
	struct world *w = *state;
	struct gp_kfd_runtime_enable runtime = { .mode_mask = GP_KFD_RUNTIME_ENABLE_MODE };
	struct gp_kfd_runtime_info info;
	struct gp_kfd_dbg_trap t = { .pid = (uint32_t)getpid() };
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(client_kfd(&w->c, GP_KFD_RUNTIME_ENABLE, &runtime), 0);
	t.enable = (struct gp_kfd_dbg_enable){ .rinfo_ptr = (uintptr_t)&info,
					       .rinfo_size = sizeof(info),
					       .dbg_fd = (uint32_t)ends[1] };
	assert_int_equal(client_kfd(&w->c, GP_KFD_DBG_TRAP, &t), 0);
	t.op = GP_KFD_DBG_SET_WAVE_LAUNCH_OVERRIDE;
	t.launch_override = (struct gp_kfd_dbg_launch_override){ .support_request_mask = 1 };
	assert_int_equal(client_kfd(&w->c, GP_KFD_DBG_TRAP, &t), 0);
	assert_int_equal(t.launch_override.support_request_mask, ~0u);
	t.op = GP_KFD_DBG_SET_WAVE_LAUNCH_MODE;
	t.launch_mode.launch_mode = GP_KFD_DBG_LAUNCH_HALT;
	assert_int_equal(client_kfd(&w->c, GP_KFD_DBG_TRAP, &t), 0);
	t.launch_mode.launch_mode = 2;
	assert_int_equal(client_kfd(&w->c, GP_KFD_DBG_TRAP, &t), -EINVAL);
	t.op = GP_KFD_DBG_SET_FLAGS;
	t.set_flags.flags = GP_KFD_DBG_FLAG_SINGLE_ALU_OP;
	assert_int_equal(client_kfd(&w->c, GP_KFD_DBG_TRAP, &t), 0);
	t.op = GP_KFD_DBG_DISABLE;
	assert_int_equal(client_kfd(&w->c, GP_KFD_DBG_TRAP, &t), 0);
	close(ends[0]);
	close(ends[1]);
}

static int map_as(struct world *w, int open_flags, int prot)
{
	int err, fd = client_open_with(&w->c, "/dev/kfd", open_flags);
	void *at = client_mmap(&w->c, fd, EVENTS, 4096, prot, &err);

	if (at)
		munmap(at, 4096);
	return err;
}

static void mapped_as_it_was_opened(void **state)
{
	struct world *w = *state;
	struct gp_kfd_create_event event = { 0 };

	assert_int_equal(client_kfd(&w->c, GP_KFD_CREATE_EVENT, &event), 0);
	assert_int_equal(map_as(w, O_RDWR, PROT_READ | PROT_WRITE), 0);
	assert_int_equal(map_as(w, O_RDONLY, PROT_READ), 0);
	assert_int_equal(map_as(w, O_RDONLY, PROT_READ | PROT_WRITE), -EACCES);
	assert_int_equal(map_as(w, O_WRONLY, PROT_WRITE), -EACCES);
}

/* As the kernel has them: any user may run this test. */
static bool may_checkpoint(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	assert_int_equal(syscall(SYS_capget, &header, data), 0);
	return data[CAP_SYS_ADMIN / 32].effective & 1u << CAP_SYS_ADMIN % 32 ||
	       data[CAP_CHECKPOINT_RESTORE / 32].effective & 1u << CAP_CHECKPOINT_RESTORE % 32;
}

static void checkpoints_are_refused(void **state)
{
	struct world *w = *state;
	struct gp_kfd_criu args = { .op = GP_KFD_CRIU_PROCESS_INFO };
	bool may = may_checkpoint();

	assert_int_equal(client_kfd(&w->c, GP_KFD_CRIU, &args), may ? -ENODEV : -EACCES);
	/* A caller without permission is refused before its arguments are checked. */
	assert_int_equal(client_kfd(&w->c, GP_KFD_CRIU, NULL), may ? -EFAULT : -EACCES);
	if (!may)
		return;
	args.op = GP_KFD_CRIU_CHECKPOINT;
	assert_int_equal(client_kfd(&w->c, GP_KFD_CRIU, &args), -EINVAL);
	args.devices = args.bos = args.priv_data = 4096;
	assert_int_equal(client_kfd(&w->c, GP_KFD_CRIU, &args), -ENODEV);
	args.op = GP_KFD_CRIU_UNPAUSE;
	assert_int_equal(client_kfd(&w->c, GP_KFD_CRIU, &args), -EINVAL);
	args.op = GP_KFD_CRIU_RESUME;
	args.pid = INT32_MAX;
	assert_int_equal(client_kfd(&w->c, GP_KFD_CRIU, &args), -ESRCH);
	args.pid = (uint32_t)getpid();
	assert_int_equal(client_kfd(&w->c, GP_KFD_CRIU, &args), -EINVAL);
	args.op = 99;
	assert_int_equal(client_kfd(&w->c, GP_KFD_CRIU, &args), -EINVAL);
}

static unsigned int mode_of(struct world *w, const char *path)
{
	char full[PATH_MAX + 128];
	struct stat st;

	snprintf(full, sizeof(full), "%s/%s", w->s.config.dir, path);
	assert_int_equal(lstat(full, &st), 0);
	return st.st_mode & 0777;
}

static void files_are_to_read(void **state)
{
	struct world *w = *state;

	assert_int_equal(mode_of(w, KFD "/topology/generation_id"), 0444);
	assert_int_equal(mode_of(w, KFD "/uevent"), 0644);
	assert_int_equal(mode_of(w, KFD "/subsystem"), 0777);
	assert_int_equal(mode_of(w, "sys/module/amdgpu/parameters/cwsr_enable"), 0444);
	assert_int_equal(mode_of(w, "sys/module/amdgpu/parameters/halt_if_hws_hang"), 0644);
	assert_int_equal(mode_of(w, "sys/kernel/debug/kfd/mem_limit"), 0200);
	/* A device cannot be executed. */
	assert_int_equal(mode_of(w, "socket"), 0600);
}

static void memory_limits(void **state)
{
	struct world *w = *state;
	int fd = client_open_with(&w->c, "/sys/kernel/debug/kfd/mem_limit", O_RDONLY);
	char text[128] = "";

	if (getuid()) {
		assert_int_equal(fd, -EACCES);
		return;
	}
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	assert_memory_equal(text, "System mem used 0M out of ", 26);
	assert_non_null(strstr(text, "M\nTTM mem used 0M out of "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_has_a_gpu, setup, teardown),
		cmocka_unit_test_setup_teardown(debugger_without_a_gpu, setup, teardown),
		cmocka_unit_test_setup_teardown(mapped_as_it_was_opened, setup, teardown),
		cmocka_unit_test_setup_teardown(checkpoints_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(files_are_to_read, setup, teardown),
		cmocka_unit_test_setup_teardown(memory_limits, setup, teardown),
	};

	signal(SIGPIPE, SIG_IGN);
	if (!host_has_process_vm())
		return TEST_SKIPPED;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
