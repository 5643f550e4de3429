// SPDX-License-Identifier: MIT
/* How the daemon's answers are described to people. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "view/describe.h"

/* With ' for ". */
static json_t *parse(const char *text)
{
	char copy[512];
	json_t *json;

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *c = copy; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	json = json_loads(copy, 0, NULL);
	assert_non_null(json);
	return json;
}

static void every_state_has_a_description(void **state)
{
	static const struct {
		const char *json, *text;
	} cases[] = {
		{ "{'state': 'admitted', 'has_work': true}", "running" },
		{ "{'state': 'admitted', 'has_work': true, 'yielding': true}", "yielding" },
		{ "{'state': 'excluding', 'has_work': true, 'yielding': true}", "stopping" },
		{ "{'state': 'admitted', 'has_work': true, 'lingering': true}", "lingering" },
		{ "{'state': 'admitted', 'has_work': false}", "idle" },
		{ "{'state': 'excluded', 'has_work': false}", "idle" },
		{ "{'state': 'excluded', 'has_work': true, 'hold': {'by_group': 3,"
		  " 'by_program': 'serve'}}",
		  "held by serve" },
		{ "{'state': 'excluded', 'has_work': true, 'hold': {'by_group': 3,"
		  " 'by_program': null}}",
		  "held by group 3" },
		{ "{'state': 'excluded', 'has_work': true, 'hold': null}", "held" },
		{ "{'state': 'excluding', 'has_work': true, 'hold': {'by_group': 3,"
		  " 'by_program': 'serve'}}",
		  "stopping for serve" },
		{ "{'state': 'admitting', 'has_work': true}", "starting" },
		{ "{'state': 'excluded', 'has_work': true, 'suspended': true}", "suspended" },
		{ "{'state': 'failed', 'has_work': true, 'suspended': true}", "unstoppable" },
		{ "{'state': 'unresponsive', 'has_work': true}", "silent" },
		/* Scheduling is off. */
		{ "{'state': 'admitted', 'has_work': true, 'off': true, 'suspended': true}",
		  "off" },
		{ "{'state': 'admitted', 'has_work': false, 'off': true}", "idle" },
		{ "{'state': 'admitting', 'has_work': true, 'off': true}", "starting" },
		/* Another user's. */
		{ "{'state': 'admitted'}", "not held" },
		{ "{'state': 'excluded'}", "held" },
	};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *json = parse(cases[i].json);

		gp__view_state_text(text, sizeof(text), json);
		assert_string_equal(text, cases[i].text);
		json_decref(json);
	}
}

static void every_rule_has_a_sentence(void **state)
{
	static const struct {
		const char *json, *text;
	} cases[] = {
		{ "{'rule': 'priority', 'ended': true, 'by_group': 1, 'by_priority': 15, 'by_pid': "
		  "9,"
		  " 'by_program': 'serve'}",
		  "serve (pid 9, priority 15) had work and is more urgent (rule: priority)" },
		{ "{'rule': 'priority', 'ended': false, 'by_group': 1, 'by_priority': 15, "
		  "'by_pid': 9,"
		  " 'by_program': 'serve'}",
		  "serve (pid 9, priority 15) has work and is more urgent (rule: priority)" },
		{ "{'rule': 'priority', 'ended': false, 'by_group': 1, 'by_priority': 15, "
		  "'by_pid': 9, 'by_program': 'serve', 'by_lingering': true}",
		  "serve (pid 9, priority 15) is more urgent and between two pieces of its work "
		  "(rule: priority)" },
		{ "{'rule': 'priority', 'ended': true, 'by_group': 1, 'by_priority': 15, "
		  "'by_pid': 9, 'by_program': 'serve', 'by_lingering': true}",
		  "serve (pid 9, priority 15) had work and is more urgent (rule: priority)" },
		{ "{'rule': 'slice', 'ended': false, 'by_group': 1, 'by_priority': 7, "
		  "'by_pid': 9, 'by_program': 'serve', 'by_lingering': true}",
		  "its turn is over, and serve (pid 9, priority 7) has it, between two pieces of "
		  "its work (rule: slice)" },
		{ "{'rule': 'operator', 'ended': false, 'by_group': null, 'by_lingering': true}",
		  "it is suspended by hand (rule: operator)" },
		{ "{'rule': 'slice', 'ended': true, 'by_group': 4, 'by_priority': 7, 'by_pid': "
		  "null,"
		  " 'by_program': null}",
		  "its turn was over, and another user's program (group 4, priority 7) had the "
		  "next "
		  "(rule: slice)" },
		{ "{'rule': 'deadline', 'ended': true, 'by_group': null}",
		  "another program had the earlier deadline (rule: deadline)" },
		{ "{'rule': 'operator', 'ended': false, 'by_group': null}",
		  "it is suspended by hand (rule: operator)" },
		{ "{'rule': 'gang', 'ended': true, 'by_group': null}",
		  "another member of its gang could not run (rule: gang)" },
		{ "{'rule': 'what-comes-later', 'ended': true, 'by_group': null}",
		  "another program was preferred (rule: what-comes-later)" },
	};
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *json = parse(cases[i].json);

		gp__view_why(text, sizeof(text), json);
		assert_string_equal(text, cases[i].text);
		json_decref(json);
	}
}

static void an_unknown_priority_is_not_0(void **state)
{
	static const struct {
		const char *json, *text;
	} cases[] = {
		{ "{'priority': 2, 'effective': 9}", "2 (now 9)" },
		{ "{'priority': 0, 'effective': 0}", "0" },
		{ "{'priority': 0, 'effective': 1}", "0 (now 1)" },
		/* Another user's. */
		{ "{'priority': 7}", "7" },
		{ "{'priority': 7, 'effective': null}", "7" },
		{ "{'priority': null, 'effective': 9}", NULL },
		{ "{'priority': null, 'effective': null}", NULL },
		{ "{}", NULL },
	};
	char buf[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *json = parse(cases[i].json);
		const char *text = gp__view_priority(buf, sizeof(buf), json);

		if (cases[i].text)
			assert_string_equal(text, cases[i].text);
		else
			assert_null(text);
		json_decref(json);
	}
}

static void ages_are_short(void **state)
{
	static const struct {
		double ms;
		const char *text;
	} cases[] = { { -1, "0s" },	  { 59999, "59s" },	{ 61000, "1m01" },
		      { 3600e3, "1h00" }, { 86399e3, "23h59" }, { 90000e3, "1d01" } };
	char text[32];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(gp__view_age(text, sizeof(text), cases[i].ms), cases[i].text);
}

static void processes_are_described(void **state)
{
	static const struct {
		const char *json, *role, *gpus;
	} cases[] = {
		{ "{'joined': false, 'computes': true, 'devices': [{'file': 'kfd', 'gpu': null,"
		  " 'key': null}, {'file': 'renderD128', 'gpu': 0, 'key': 'amd-1'},"
		  " {'file': 'renderD129', 'gpu': null, 'key': 'amd-2'}]}",
		  "unjoined", "gpu0, renderD129" },
		{ "{'joined': false, 'computes': false, 'devices': [{'file': 'card9', 'gpu': null,"
		  " 'key': null}]}",
		  "watches", "card9" },
		{ "{'joined': false, 'child_of_joined': true, 'computes': true, 'devices': []}",
		  "child", "" },
		{ "{'joined': true, 'computes': true}", "joined", "" },
	};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *json = parse(cases[i].json);

		assert_string_equal(gp__view_role(json), cases[i].role);
		assert_string_equal(gp__view_gpus(text, sizeof(text), json), cases[i].gpus);
		json_decref(json);
	}
}

static void what_is_off_is_named(void **state)
{
	json_t *gpus = parse("[{'gpu': 3, 'key': 'amd-1'}]");
	json_t *all = parse("{'all': true, 'gpus': []}"), *on = parse("{'all': false, 'gpus': []}");
	json_t *some = parse("{'all': false, 'gpus': ['amd-1', 'amd-2']}");
	char text[12];

	(void)state;
	assert_string_equal(gp__view_off(text, sizeof(text), all, gpus), "all GPUs");
	assert_null(gp__view_off(text, sizeof(text), on, gpus));
	assert_string_equal(gp__view_off(text, sizeof(text), some, gpus), "gpu3, amd-2");
	/* Room for a part. */
	assert_string_equal(gp__view_off(text, 8, some, NULL), "amd-1, ");
	json_decref(gpus);
	json_decref(all);
	json_decref(on);
	json_decref(some);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_state_has_a_description),
		cmocka_unit_test(every_rule_has_a_sentence),
		cmocka_unit_test(an_unknown_priority_is_not_0),
		cmocka_unit_test(ages_are_short),
		cmocka_unit_test(processes_are_described),
		cmocka_unit_test(what_is_off_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
