// SPDX-License-Identifier: MIT
/* The syntax of faults on demand. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "emu/kfd/fault.h"

static void lists_are_read(void **unused)
{
	struct emu_faults f = { .ioctl_eintr = 7 };
	char why[256];

	assert_int_equal(
		emu_faults_parse(
			"preempt-timeout=5%,preempt-slow=150us,ioctl-enomem=0.5%,late-slot=2%,"
			"hang-queue=3,gpu-reset=1.5s",
			&f, why, sizeof(why)),
		0);
	assert_int_equal(f.preempt_timeout, 50000);
	assert_int_equal(f.preempt_slow_ns, 150000);
	assert_int_equal(f.ioctl_enomem, 5000);
	assert_int_equal(f.ioctl_eintr, 7);
	assert_int_equal(f.late_slot, 20000);
	assert_int_equal(f.hang_queue, 3);
	assert_int_equal(f.gpu_reset_ns, 1500000000);
	(void)unused;
}

static void errors_are_explained(void **unused)
{
	static const struct {
		const char *list, *why;
	} cases[] = {
		{ "", "there is no fault ''; expected one of preempt-timeout, preempt-slow, "
		      "ioctl-eintr, ioctl-enomem, late-slot, hang-queue, gpu-reset" },
		{ "preempt=1%", "there is no fault 'preempt'; expected one of preempt-timeout, " },
		{ "preempt-timeout",
		  "the fault preempt-timeout has no value: preempt-timeout=VALUE, "
		  "expected a percentage" },
		{ "gpu-reset=", "the fault gpu-reset has no value: gpu-reset=VALUE, expected a "
				"duration" },
		{ "preempt-timeout=5%,", "there is no fault ''" },
		{ "preempt-timeout=101%",
		  "the fault preempt-timeout cannot be '101%'; expected a" },
		{ "gpu-reset=3", "the fault gpu-reset cannot be '3'; expected a duration such as" },
		{ "hang-queue=0", "the fault hang-queue cannot be '0'; expected how many" },
		{ "hang-queue=4294967296", "the fault hang-queue cannot be '4294967296'" },
		{ "ioctl-eintr=1%,hang-queue=x", "the fault hang-queue cannot be 'x'" },
		{ "ioctl-eintr=0000000000000000000000000000000000001%",
		  "the fault ioctl-eintr cannot be '00000" },
	};
	const struct emu_faults none = { 0 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct emu_faults f = { 0 };
		char why[256];

		assert_int_equal(emu_faults_parse(cases[i].list, &f, why, sizeof(why)), -EINVAL);
		assert_int_equal(strncmp(why, cases[i].why, strlen(cases[i].why)), 0);
		assert_memory_equal(&f, &none, sizeof(f));
	}
	(void)unused;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_are_read),
		cmocka_unit_test(errors_are_explained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
