// SPDX-License-Identifier: MIT
/* How long the monitor waits before it looks again. */
#include "device/kfd/spell.h"
#include "test.h"

static void a_pause_is_a_64th_of_the_spell(void **state)
{
	struct gp__kfd_spell s = { 0 };
	uint64_t begin = 1000000, now = begin;

	(void)state;
	gp__kfd_spell_note(&s, false, now);
	assert_int_equal(gp__kfd_spell_pause(&s, true, now), 0);
	assert_int_equal(gp__kfd_spell_pause(&s, false, now + 6400), 100);
	/* It lasts. */
	now += 64000;
	gp__kfd_spell_note(&s, true, now);
	assert_int_equal(gp__kfd_spell_pause(&s, true, now), 1000);
	assert_int_equal(gp__kfd_spell_pause(&s, false, now), 0);
	/* A gap that is short beside it belongs to it. */
	now += 64000 / 16;
	gp__kfd_spell_note(&s, false, now);
	assert_int_equal(gp__kfd_spell_pause(&s, true, now), (now - begin) / 64);
	/* Not one in which nothing is launched any more, however long it was. */
	now += 1000000000;
	gp__kfd_spell_note(&s, true, now);
	now += 1000000;
	gp__kfd_spell_note(&s, false, now);
	assert_int_equal(gp__kfd_spell_pause(&s, true, now), (now - begin) / 64);
	now += 1000001;
	gp__kfd_spell_note(&s, false, now);
	assert_int_equal(gp__kfd_spell_pause(&s, true, now), 0);
	begin = now;
	now += 64000;
	gp__kfd_spell_note(&s, true, now);
	/* After a longer one it begins anew. */
	now += (now - begin) / 16 + 1;
	gp__kfd_spell_note(&s, false, now);
	assert_int_equal(gp__kfd_spell_pause(&s, true, now), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pause_is_a_64th_of_the_spell),
	};

	return cmocka_run_group_tests_name("kfd_spell", tests, NULL, NULL);
}
