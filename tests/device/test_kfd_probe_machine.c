// SPDX-License-Identifier: MIT
/* A probe on an emulated machine where everything works, and on one that holds queues very
 * slowly. */
#include "device/kfd/list.h"
#include "device/kfd/probe.h"
#include "device/kfd/user.h"
#include "../unit/test.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static struct gp__kfd_node node[GP__KFD_NODES_MAX];
static struct gp__kfd_probe probe;
static char reason[GP__KFD_REASON_MAX];

static void each_way_of_the_series_works(void **state)
{
	(void)state;
	assert_int_equal(gp__kfd_probe(&node[0], 0, &probe, reason), 0);
	assert_int_equal(probe.cwsr_enable, 1);
	assert_int_equal(probe.series.version, GP_KFD_PREEMPT_VERSION);
	assert_int_equal(probe.series.gpu_id, node[0].gpu_id);
	assert_int_equal(probe.save_bytes,
			 (node[0].save_bytes + node[0].debug_bytes) * node[0].nr_xccs);
	assert_in_range(probe.best, 0, GP__KFD_WAYS - 1);
	for (int way = 0; way < GP__KFD_WAYS; way++) {
		for (int verb = 0; verb < GP__KFD_RELEASE; verb++) {
			const struct gp__kfd_ability *a = &probe.way[way][verb];
			bool can = verb == GP__KFD_SAVE;

			assert_int_equal(a->works, can);
			assert_int_equal(a->error, can ? 0 : -EOPNOTSUPP);
			assert_false(a->drains);
			assert_int_equal(a->hold_us > 0 && a->release_us > 0, can);
		}
	}
}

/* Nothing of it stays in this process, which can use the GPU itself afterwards. */
static void queues_of_others_are_counted(void **state)
{
	struct gp__kfd_user u;
	struct gp__kfd_queue q;
	struct gp__kfd_list list;

	(void)state;
	assert_int_equal(probe.nr_queues, 0);
	assert_int_equal(gp__kfd_open(&u, &node[0]), 0);
	assert_false(u.shared);
	assert_int_equal(gp__kfd_queue_create(&u, &q, 64), 0);
	assert_int_equal(gp__kfd_probe(&node[0], 0, &probe, reason), 0);
	assert_int_equal(probe.nr_queues, 1);
	assert_int_equal(gp__kfd_list(&list, 0), 0);
	assert_int_equal(list.nr, 1);
	assert_int_equal(list.queue[0].pid, getpid());
	gp__kfd_list_free(&list);
	gp__kfd_queue_destroy(&q);
	gp__kfd_close(&u);
}

static void a_probe_that_takes_too_long_is_given_up(void **state)
{
	(void)state;
	assert_int_equal(gp__kfd_probe(&node[0], 1000, &probe, reason), -ETIME);
	assert_non_null(strstr(reason, "did not end within"));
	assert_int_equal(probe.best, -1);
	assert_false(probe.way[0][GP__KFD_SAVE].works);
}

static void a_gpu_that_cannot_be_opened_is_explained(void **state)
{
	struct gp__kfd_node wrong = node[0];

	(void)state;
	wrong.render_minor = 99;
	assert_int_equal(gp__kfd_probe(&wrong, 0, &probe, reason), -ENOENT);
	assert_non_null(strstr(reason, "/dev/dri/renderD99"));
	wrong = node[0];
	wrong.gpu_id++;
	assert_int_equal(gp__kfd_probe(&wrong, 0, &probe, reason), -EINVAL);
	assert_non_null(strstr(reason, "cannot use the GPU in this process"));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_way_of_the_series_works),
		cmocka_unit_test(a_gpu_that_cannot_be_opened_is_explained),
		cmocka_unit_test(each_way_of_the_series_works),
		cmocka_unit_test(queues_of_others_are_counted),
	};
	const struct CMUnitTest slow[] = {
		cmocka_unit_test(a_probe_that_takes_too_long_is_given_up),
	};

	if (gp__kfd_nodes(node) <= 0)
		return 1;
	if (argc > 1 && !strcmp(argv[1], "slow"))
		return cmocka_run_group_tests_name("kfd_probe_slow", slow, NULL, NULL);
	return cmocka_run_group_tests_name("kfd_probe", tests, NULL, NULL);
}
