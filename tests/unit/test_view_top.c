// SPDX-License-Identifier: MIT
/* The live view: what it makes of lists and lines, and what of it is on the screen. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "view/top.h"

/* Two on gpu0, of which train is held by serve, and another user's on gpu1. */
static const char list_text[] =
	"{\"daemon\": {\"policy\": \"hpf\", \"version\": \"1\", \"up_ms\": 61000.0},"
	" \"gpus\": [{\"gpu\": 1, \"name\": \"small\", \"groups\": 1, \"switches\": 0,"
	"             \"order\": {\"p50_us\": null}},"
	"            {\"gpu\": 0, \"name\": \"big\", \"groups\": 2, \"switches\": 10,"
	"             \"wasted_ms\": 8.0,"
	"             \"order\": {\"p50_us\": 20.0, \"p99_us\": 50.0}}],"
	" \"groups\": ["
	"  {\"group\": 1, \"gpu\": 0, \"user\": 0, \"priority\": 2, \"state\": \"excluded\","
	"   \"pid\": 100, \"program\": \"train\", \"tag\": \"batch\", \"effective\": 2,"
	"   \"suspended\": false, \"has_work\": true, \"used_ms\": 10.0, \"held_ms\": 5.0,"
	"   \"hold\": {\"by_program\": \"serve\", \"by_group\": 3, \"rule\": \"priority\"},"
	"   \"queues\": [{\"queue\": 2, \"state\": \"excluded\", \"has_work\": true,"
	"                 \"level\": 1, \"level_requested\": 3}]},"
	"  {\"group\": 3, \"gpu\": 0, \"user\": 0, \"priority\": 15, \"state\": \"admitted\","
	"   \"pid\": 200, \"program\": \"serve\", \"tag\": \"\", \"effective\": 15,"
	"   \"suspended\": false, \"has_work\": true, \"used_ms\": 10.0, \"held_ms\": 0.0,"
	"   \"hold\": null, \"wasted_ms\": 7.0, \"memory_used_bytes\": 734027776,"
	"   \"queues\": [{\"queue\": 4, \"state\": \"admitted\", \"has_work\": true,"
	"                 \"level\": 3, \"level_requested\": 3}]},"
	"  {\"group\": 5, \"gpu\": 1, \"user\": 12345, \"priority\": 7, \"state\": \"admitted\","
	"   \"nr_queues\": 1}]}";

static void list(struct gp__top *t, const char *text, uint64_t now)
{
	json_t *json = json_loads(text, 0, NULL);

	assert_non_null(json);
	assert_int_equal(gp__top_list(t, json, now), 0);
	json_decref(json);
}

static void line(struct gp__top *t, const char *text)
{
	gp__top_line(t, text, strlen(text));
}

/* The printed text, for free(). */
static char *picture(struct gp__top *t, struct gp__top_look *look, uint32_t rows, uint32_t cols)
{
	struct gp__screen screen = { 0 };
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_int_equal(gp__screen_resize(&screen, rows, cols), 0);
	gp__top_sort(t, look->sort, look->reversed);
	gp__top_select(t, look, 0);
	gp__top_draw(t, look, &screen);
	gp__screen_print(&screen, f);
	gp__screen_free(&screen);
	fclose(f);
	return text;
}

static void expect(struct gp__top *t, struct gp__top_look *look, const char *wanted)
{
	char *text = picture(t, look, 24, 80);

	if (!strstr(text, wanted))
		fail_msg("'%s' is not in:\n%s", wanted, text);
	free(text);
}

static struct gp__top_group *group(const struct gp__top *t, uint32_t id)
{
	for (uint32_t i = 0; i < t->nr_groups; i++) {
		if (t->group[i]->id == id)
			return t->group[i];
	}
	fail_msg("no group %u", id);
	return NULL;
}

static void up(struct gp__top *t)
{
	gp__top_init(t, GP__S);
	t->watching = true;
	list(t, list_text, 100 * GP__S);
}

static void lines_say_when_it_ran(void **state)
{
	struct gp__top t;

	(void)state;
	up(&t);
	line(&t, "100200000000 < gpu0 e3 idle q=4 since=100200000000 sees_ns=0");
	line(&t, "100200000000 > gpu0 e1 admit q=2 level=1 why=chosen by=-");
	assert_int_equal(group(&t, 1)->lane.kind, GP__LANE_RUN);
	gp__top_advance(&t, 100 * GP__S + 400 * GP__MS);
	assert_int_equal((int)gp__top_run_pct(group(&t, 1)), 50);
	assert_int_equal((int)gp__top_held_pct(group(&t, 1)), 50);
	assert_int_equal((int)gp__top_run_pct(group(&t, 3)), 50);
	assert_int_equal((int)gp__top_held_pct(group(&t, 3)), 0);
	assert_int_equal(gp__lane_sum(&group(&t, 1)->lane).longest_wait, 200 * GP__MS);
	assert_false(t.stale);
	gp__top_free(&t);
}

static double run(const struct gp__top *t, uint32_t id)
{
	return gp__top_run_pct(group(t, id));
}

/* train has the least weight: while serve works, it gets nothing. */
static void what_yields_gets_what_the_others_leave(void **state)
{
	struct gp__top_look look = { .once = true };
	struct gp__top t;

	(void)state;
	up(&t);
	line(&t, "100000000000 > gpu0 e1 weigh q=2 weight=16777214 why=weight by=-");
	line(&t, "100000000000 > gpu0 e1 admit q=2 level=1 why=chosen by=-");
	assert_int_equal(group(&t, 1)->lane.kind, GP__LANE_YIELD);
	line(&t, "100440000000 < gpu0 e3 idle q=4 since=100440000000 sees_ns=0");
	assert_int_equal(group(&t, 1)->lane.kind, GP__LANE_RUN);
	gp__top_advance(&t, 101 * GP__S);
	assert_int_equal((int)(run(&t, 1) + 0.5), 56);
	assert_int_equal((int)(run(&t, 3) + 0.5), 44);
	assert_int_equal((int)(gp__top_yielding_pct(group(&t, 1)) + 0.5), 44);
	assert_true(gp__top_held_pct(group(&t, 1)) < 0.5);
	assert_false(t.stale);
	expect(&t, &look, "yyy");
	gp__top_free(&t);
}

/* At its own weight it has half of the time. */
static void those_that_run_together_divide_the_time(void **state)
{
	struct gp__top t;

	(void)state;
	up(&t);
	line(&t, "100000000000 > gpu0 e1 admit q=2 level=1 why=min-share by=e3");
	line(&t, "100000000000 > gpu0 e1 weigh q=2 weight=0 why=weight by=-");
	gp__top_advance(&t, 100 * GP__S + 500 * GP__MS);
	assert_int_equal((int)(run(&t, 1) + 0.5), 50);
	assert_int_equal((int)(run(&t, 3) + 0.5), 50);
	gp__top_free(&t);
}

static void an_order_that_failed_wants_a_list(void **state)
{
	struct gp__top t;

	(void)state;
	up(&t);
	line(&t, "100000000000 < gpu0 e1 ack q=2 result=0");
	line(&t, "100000000000 ! gpu0 e3 lingered ns=50000");
	assert_false(t.stale);
	line(&t, "100000000000 < gpu0 e1 ack q=2 result=-5");
	assert_true(t.stale);
	gp__top_free(&t);
}

/* Without lines, others' programs are not seen, and the daemon's word counts. */
static void a_list_says_that_it_yields(void **state)
{
	struct gp__top t;
	json_t *json, *train, *queue;

	(void)state;
	gp__top_init(&t, GP__S);
	json = json_loads(list_text, 0, NULL);
	train = json_array_get(json_object_get(json, "groups"), 0);
	queue = json_array_get(json_object_get(train, "queues"), 0);
	json_array_remove(json_object_get(json, "groups"), 1);
	json_object_set_new(train, "state", json_string("admitted"));
	json_object_set_new(train, "yielding", json_true());
	json_object_set_new(queue, "state", json_string("admitted"));
	json_object_set_new(queue, "weight", json_string("least"));
	assert_int_equal(gp__top_list(&t, json, 100 * GP__S), 0);
	assert_int_equal(group(&t, 1)->lane.kind, GP__LANE_YIELD);
	assert_int_equal(group(&t, 1)->state, GP__VIEW_YIELDING);
	json_object_set_new(train, "yielding", json_false());
	assert_int_equal(gp__top_list(&t, json, 101 * GP__S), 0);
	assert_int_equal(group(&t, 1)->lane.kind, GP__LANE_RUN);
	json_decref(json);
	gp__top_free(&t);
}

static void what_no_line_explains_wants_a_list(void **state)
{
	static const char *const lines[] = {
		"100200000000 < gpu0 e9 ready q=10 pending=1",
		"100200000000 < gpu0 e1 entity-remove",
		"100200000000 < gpu0 e1 suspend",
		"100200000000 < policy fair quantum_ms=3",
		"garbage",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct gp__top t;

		up(&t);
		line(&t, lines[i]);
		assert_true(t.stale);
		list(&t, list_text, 101 * GP__S);
		assert_false(t.stale);
		gp__top_free(&t);
	}
}

static void a_group_that_ends_leaves_the_other_lanes(void **state)
{
	struct gp__top t;
	json_t *json;

	(void)state;
	up(&t);
	json = json_loads(list_text, 0, NULL);
	json_array_remove(json_object_get(json, "groups"), 1);
	assert_int_equal(gp__top_list(&t, json, 100 * GP__S + 500 * GP__MS), 0);
	json_decref(json);
	assert_int_equal(t.nr_groups, 2);
	assert_int_equal(gp__lane_sum(&group(&t, 1)->lane).held, 500 * GP__MS);
	gp__top_free(&t);
}

static void each_group_has_a_line_below_its_gpu(void **state)
{
	struct gp__top_look look = { 0 };
	struct gp__top t;
	char *text, *gpu0, *serve, *train, *gpu1;

	(void)state;
	up(&t);
	text = picture(&t, &look, 24, 80);
	gpu0 = strstr(text, "gpu0 big");
	serve = strstr(text, "200 serve");
	train = strstr(text, "100 train");
	gpu1 = strstr(text, "gpu1 small");
	assert_true(gpu0 && gpu0 < serve && serve < train && train < gpu1);
	assert_non_null(strstr(gpu1, "(12345)"));
	assert_non_null(strstr(text, "hpf, up 1m01; 3 groups: 1 running, 1 held"));
	assert_non_null(strstr(text, "orders done in 20.0 us (p99 50.0 us)"));
	free(text);
	gp__top_free(&t);
}

static void the_selected_one_is_explained(void **state)
{
	struct gp__top_look look = { 0 };
	struct gp__top t;

	(void)state;
	up(&t);
	expect(&t, &look, "group 3 serve (level 3): running");
	expect(&t, &look, "wasted 7.00 ms");
	gp__top_select(&t, &look, 1);
	expect(&t, &look, "group 1 train (level 1 of 3): held by serve; used 10.0 ms");
	gp__top_select(&t, &look, 1);
	expect(&t, &look, "group 5 of 12345: not held");
	gp__top_select(&t, &look, 5);
	assert_int_equal(look.selected, 5);
	gp__top_select(&t, &look, -50);
	assert_int_equal(look.selected, 3);
	gp__top_free(&t);
}

static void a_filter_leaves_out_the_others(void **state)
{
	struct gp__top_look look = { .filter = "BATCH" };
	struct gp__top t;
	char *text;

	(void)state;
	up(&t);
	text = picture(&t, &look, 24, 80);
	assert_non_null(strstr(text, "train"));
	assert_null(strstr(text, "200 serve"));
	assert_int_equal(look.selected, 1);
	free(text);
	strcpy(look.filter, "nobody has this");
	text = picture(&t, &look, 24, 80);
	assert_int_equal(look.selected, 0);
	free(text);
	gp__top_free(&t);
}

static void any_size_will_do(void **state)
{
	struct gp__top_look look = { 0 };
	struct gp__top t;

	(void)state;
	up(&t);
	for (int help = 0; help < 2; help++) {
		look.help = help;
		for (uint32_t rows = 0; rows < 12; rows++) {
			for (uint32_t cols = 0; cols < 200; cols += 7)
				free(picture(&t, &look, rows, cols));
		}
	}
	gp__top_free(&t);
}

static void a_wide_screen_shows_memory(void **state)
{
	struct gp__top_look look = { .once = true };
	struct gp__top t;
	char *text;

	(void)state;
	up(&t);
	text = picture(&t, &look, 24, 119);
	assert_null(strstr(text, "MEMORY"));
	free(text);
	text = picture(&t, &look, 24, 120);
	assert_non_null(strstr(text, "   WAIT   MEMORY "));
	assert_non_null(strstr(text, "  700 MiB\n"));
	free(text);
	gp__top_free(&t);
}

static void a_small_screen_follows_the_selection(void **state)
{
	struct gp__top_look look = { 0 };
	struct gp__top t;
	char *text;

	(void)state;
	up(&t);
	gp__top_select(&t, &look, 0);
	gp__top_select(&t, &look, 2);
	text = picture(&t, &look, 6, 80);
	assert_non_null(strstr(text, "(12345)"));
	assert_null(strstr(text, "gpu0"));
	free(text);
	gp__top_select(&t, &look, -2);
	text = picture(&t, &look, 6, 80);
	assert_non_null(strstr(text, "gpu0"));
	assert_non_null(strstr(text, "200 serve"));
	free(text);
	gp__top_free(&t);
}

static void a_lane_shows_running_waiting_and_nothing(void **state)
{
	struct gp__top_look look = { .once = true };
	struct gp__top t;

	(void)state;
	up(&t);
	line(&t, "100500000000 < gpu0 e3 idle q=4 since=100500000000 sees_ns=0");
	line(&t, "100500000000 > gpu0 e1 admit q=2 level=1 why=chosen by=-");
	gp__top_advance(&t, 100 * GP__S + 950 * GP__MS);
	/* serve ran and has nothing to do; train was held and runs. */
	expect(&t, &look, "###+______");
	expect(&t, &look, "xxx=####");
	gp__top_free(&t);
}

static void the_document_has_null_for_what_is_not_known(void **state)
{
	struct gp__top t;
	json_t *doc, *g;

	(void)state;
	up(&t);
	gp__top_advance(&t, 100 * GP__S + 500 * GP__MS);
	doc = gp__top_json(&t);
	assert_int_equal(json_integer_value(json_object_get(doc, "schema")), 1);
	g = json_array_get(json_object_get(doc, "groups"), 2);
	assert_true(json_is_null(json_object_get(g, "pid")));
	assert_true(json_is_null(json_object_get(g, "run_pct")));
	g = json_array_get(json_object_get(doc, "groups"), 0);
	assert_true(json_number_value(json_object_get(g, "held_pct")) > 99);
	assert_true(json_is_null(json_object_get(g, "wait_max_ms")));
	assert_true(json_is_null(json_object_get(g, "wasted_ms")));
	assert_true(json_is_null(json_object_get(g, "memory_used_bytes")));
	g = json_array_get(json_object_get(doc, "groups"), 1);
	assert_true(json_number_value(json_object_get(g, "wasted_ms")) == 7);
	assert_int_equal(json_integer_value(json_object_get(g, "memory_used_bytes")), 734027776);
	g = json_array_get(json_object_get(doc, "gpus"), 0);
	assert_true(json_number_value(json_object_get(g, "wasted_ms")) == 8);
	assert_true(json_is_null(
		json_object_get(json_array_get(json_object_get(doc, "gpus"), 1), "wasted_ms")));
	json_decref(doc);
	gp__top_free(&t);
}

static void names_of_users_are_looked_up_once(void **state)
{
	struct gp__top t;

	(void)state;
	up(&t);
	strcpy(group(&t, 5)->user, "cached");
	list(&t, list_text, 101 * GP__S);
	assert_string_equal(group(&t, 5)->user, "cached");
	gp__top_free(&t);
}

/* Both are on the GPU: neither is held, and the device divides the time by their weights. */
static void time_slices_are_told(void **state)
{
	struct gp__top_look look = { 0 };
	struct gp__top t;
	json_t *json, *train, *queue;

	(void)state;
	gp__top_init(&t, GP__S);
	t.watching = true;
	json = json_loads(list_text, 0, NULL);
	train = json_array_get(json_object_get(json, "groups"), 0);
	queue = json_array_get(json_object_get(train, "queues"), 0);
	json_object_set_new(train, "state", json_string("admitted"));
	json_object_set_new(queue, "state", json_string("admitted"));
	assert_int_equal(gp__top_list(&t, json, 100 * GP__S), 0);
	json_decref(json);
	gp__top_advance(&t, 100 * GP__S + 500 * GP__MS);
	assert_int_equal((int)(run(&t, 1) + 0.5), 50);
	expect(&t, &look, "serve          15 sharing    50%");
	expect(&t, &look, "train           2 sharing    50%");
	look.detail = true;
	expect(&t, &look, "1 other group runs at the same time: the GPU takes turns");
	/* train at a third of serve's weight has a quarter of the time. */
	line(&t, "100500000000 > gpu0 e1 weigh q=2 weight=33 why=weight by=-");
	line(&t, "100500000000 > gpu0 e3 weigh q=4 weight=99 why=weight by=-");
	gp__top_advance(&t, 102 * GP__S);
	assert_int_equal((int)(run(&t, 1) + 0.5), 25);
	assert_int_equal((int)(run(&t, 3) + 0.5), 75);
	/* The most weight lets no other progress. */
	line(&t, "102000000000 > gpu0 e3 weigh q=4 weight=16777215 why=weight by=-");
	assert_int_equal(group(&t, 1)->lane.kind, GP__LANE_YIELD);
	assert_int_equal(group(&t, 3)->beside, 0);
	gp__top_free(&t);
}

static void the_detail_has_the_why(void **state)
{
	static const char why[] =
		"{\"groups\": [{\"holds\": 7, \"held_ms\": 5.0, \"longest_hold_ms\": 4.0,"
		" \"used_ms\": 10.0, \"history\": [{\"rule\": \"priority\", \"ago_ms\": 9.0,"
		" \"held_ms\": 4.0, \"ended\": true, \"by_group\": 3, \"by_program\": \"serve\","
		" \"by_pid\": 200, \"by_priority\": 15}]}]}";
	struct gp__top_look look = { 0 };
	struct gp__top t;

	(void)state;
	up(&t);
	free(picture(&t, &look, 24, 80));
	gp__top_select(&t, &look, 1);
	look.detail = true;
	expect(&t, &look, "train (pid 100, group 1)");
	expect(&t, &look, "held by serve; gpu0, priority 2, level 1 of 3");
	gp__top_explain(&t, json_loads(why, 0, NULL));
	expect(&t, &look, "held 7 times, waited 5.00 ms, at most 4.00 ms at a time; used 10.0 ms");
	expect(&t, &look,
	       "  held 4.00 ms, 9.00 ms ago: serve (pid 200, priority 15) had work and is");
	expect(&t, &look, "urgent (rule: priority)\n");
	for (uint32_t rows = 0; rows < 24; rows++) {
		for (uint32_t cols = 0; cols < 200; cols += 7)
			free(picture(&t, &look, rows, cols));
	}
	gp__top_free(&t);
}

static void a_click_selects_or_sorts(void **state)
{
	struct gp__top_look look = { 0 };
	struct gp__top t;

	(void)state;
	up(&t);
	free(picture(&t, &look, 24, 80));
	assert_int_equal(look.selected, 3);
	/* Title, headings, gpu0, serve, train, gpu1, the other user's. */
	assert_int_equal(gp__top_click(&t, &look, 24, 80, 4, 30), GP__TOP_HIT_GROUP);
	assert_int_equal(look.selected, 1);
	assert_int_equal(gp__top_click(&t, &look, 24, 80, 2, 5), GP__TOP_HIT_NOTHING);
	assert_int_equal(gp__top_click(&t, &look, 24, 80, 12, 5), GP__TOP_HIT_NOTHING);
	assert_int_equal(gp__top_click(&t, &look, 24, 80, 23, 5), GP__TOP_HIT_NOTHING);
	assert_int_equal(look.selected, 1);
	assert_int_equal(gp__top_click(&t, &look, 24, 80, 1, 10), GP__TOP_HIT_HEADING);
	assert_int_equal(look.sort, GP__TOP_BY_PROGRAM);
	assert_false(look.reversed);
	gp__top_click(&t, &look, 24, 80, 1, 10);
	assert_true(look.reversed);
	gp__top_click(&t, &look, 24, 80, 1, 3);
	assert_int_equal(look.sort, GP__TOP_BY_PID);
	assert_false(look.reversed);
	gp__top_free(&t);
}

static void each_order_has_an_opposite(void **state)
{
	struct gp__top t;

	(void)state;
	up(&t);
	gp__top_advance(&t, 100 * GP__S + 500 * GP__MS);
	for (int sort = 0; sort < GP__TOP_SORTS; sort++) {
		uint32_t first;

		/* train and serve are the groups of gpu0. */
		gp__top_sort(&t, (enum gp__top_sort)sort, false);
		first = t.group[0]->id;
		assert_int_equal(t.group[2]->id, 5);
		gp__top_sort(&t, (enum gp__top_sort)sort, true);
		assert_int_equal(t.group[2]->id, 5);
		/* Neither has waited to the end. */
		if (sort != GP__TOP_BY_WAIT)
			assert_int_not_equal(t.group[0]->id, first);
	}
	gp__top_free(&t);
}

static void a_filter_may_be_a_gpu(void **state)
{
	struct gp__top_look look = { .filter = "gpu1" };
	struct gp__top t;
	char *text;

	(void)state;
	up(&t);
	text = picture(&t, &look, 24, 80);
	assert_non_null(strstr(text, "gpu1 small"));
	assert_null(strstr(text, "gpu0 big"));
	assert_null(strstr(text, "200 serve"));
	free(text);
	gp__top_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_say_when_it_ran),
		cmocka_unit_test(what_yields_gets_what_the_others_leave),
		cmocka_unit_test(those_that_run_together_divide_the_time),
		cmocka_unit_test(an_order_that_failed_wants_a_list),
		cmocka_unit_test(a_list_says_that_it_yields),
		cmocka_unit_test(what_no_line_explains_wants_a_list),
		cmocka_unit_test(a_group_that_ends_leaves_the_other_lanes),
		cmocka_unit_test(each_group_has_a_line_below_its_gpu),
		cmocka_unit_test(the_selected_one_is_explained),
		cmocka_unit_test(a_filter_leaves_out_the_others),
		cmocka_unit_test(any_size_will_do),
		cmocka_unit_test(a_wide_screen_shows_memory),
		cmocka_unit_test(a_small_screen_follows_the_selection),
		cmocka_unit_test(a_lane_shows_running_waiting_and_nothing),
		cmocka_unit_test(names_of_users_are_looked_up_once),
		cmocka_unit_test(time_slices_are_told),
		cmocka_unit_test(the_detail_has_the_why),
		cmocka_unit_test(a_click_selects_or_sorts),
		cmocka_unit_test(each_order_has_an_opposite),
		cmocka_unit_test(a_filter_may_be_a_gpu),
		cmocka_unit_test(the_document_has_null_for_what_is_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
