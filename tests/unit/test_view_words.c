// SPDX-License-Identifier: MIT
/* What the daemon says, in words. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "view/words.h"

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

static void every_state_has_words(void **state)
{
	static const struct {
		const char *json, *words;
	} cases[] = {
		{ "{'state': 'admitted', 'has_work': true}", "running" },
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
		/* Another user's. */
		{ "{'state': 'admitted'}", "not held" },
		{ "{'state': 'excluded'}", "held" },
	};
	char words[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *json = parse(cases[i].json);

		gp__view_state_words(words, sizeof(words), json);
		assert_string_equal(words, cases[i].words);
		json_decref(json);
	}
}

static void every_rule_has_a_sentence(void **state)
{
	static const struct {
		const char *json, *words;
	} cases[] = {
		{ "{'rule': 'priority', 'ended': true, 'by_group': 1, 'by_priority': 15, 'by_pid': "
		  "9,"
		  " 'by_program': 'serve'}",
		  "serve (pid 9, priority 15) had work and is more urgent (rule: priority)" },
		{ "{'rule': 'priority', 'ended': false, 'by_group': 1, 'by_priority': 15, "
		  "'by_pid': 9,"
		  " 'by_program': 'serve'}",
		  "serve (pid 9, priority 15) has work and is more urgent (rule: priority)" },
		{ "{'rule': 'slice', 'ended': true, 'by_group': 4, 'by_priority': 7, 'by_pid': "
		  "null,"
		  " 'by_program': null}",
		  "its turn was over, and another user's program (group 4, priority 7) had the "
		  "next "
		  "(rule: slice)" },
		{ "{'rule': 'deadline', 'ended': true, 'by_group': null}",
		  "somebody had the earlier deadline (rule: deadline)" },
		{ "{'rule': 'operator', 'ended': false, 'by_group': null}",
		  "it is suspended by hand (rule: operator)" },
		{ "{'rule': 'gang', 'ended': true, 'by_group': null}",
		  "another member of its gang could not run (rule: gang)" },
		{ "{'rule': 'what-comes-later', 'ended': true, 'by_group': null}",
		  "somebody was preferred (rule: what-comes-later)" },
	};
	char words[256];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *json = parse(cases[i].json);

		gp__view_why(words, sizeof(words), json);
		assert_string_equal(words, cases[i].words);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_state_has_words),
		cmocka_unit_test(every_rule_has_a_sentence),
		cmocka_unit_test(ages_are_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
