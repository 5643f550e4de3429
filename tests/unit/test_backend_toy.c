// SPDX-License-Identifier: MIT
/*
 * A backend in one file: a table of its own brings it into every command that concerns all
 * backends, without a change elsewhere. It has two GPUs; the second one does not answer.
 */
#include "test.h"
#include "capture.h"

#include "../daemon/rig.h"
#include "cli/commands.h"
#include "join/process.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The backend
 */

static int nr_gpus;

static int count(void)
{
	return nr_gpus;
}

static void probe(int nth, const struct gp__files *files, struct gp__probe_report *report)
{
	char path[PATH_MAX];

	snprintf(report->title, sizeof(report->title), "Toy %d, 3 wheels", nth);
	gp__report_line(report, "driver", "toy %d", 7);
	gp__report_text(report, "name", "Toy");
	gp__report_text(report, "driver.name", "toy");
	gp__report_number(report, "driver.version", true, 7);
	gp__report_list(report, "driver.features", "spin,jump");
	gp__report_list(report, "wishes", "");
	gp__report_bool(report, "has_file", files->find("no-such-file", "no-such-file", path));
	gp__report_number(report, "wheels", true, 3);
	report->nr_facts_first = report->nr_facts;
	gp__report_number(report, "age", false, 0);
	if (nth) {
		snprintf(report->error, sizeof(report->error), "the toy does not answer");
		return;
	}
	gp__report_ability(report, &(struct gp__ability){ .way = "weigh",
							  .call = "TOY_WEIGH",
							  .works = true,
							  .has_hold = true,
							  .hold_us = 5 });
	gp__report_ability(report, &(struct gp__ability){ .level = 2,
							  .way = "toy",
							  .verb = "drain",
							  .call = "TOY_DRAIN",
							  .has_error = true,
							  .error = -EPERM,
							  .reason = "toys do not drain" });
	gp__report_ability(report, &(struct gp__ability){ .level = 3,
							  .way = "toy",
							  .verb = "save",
							  .call = "TOY_HOLD",
							  .works = true,
							  .has_hold = true,
							  .has_release = true,
							  .hold_us = 12.5,
							  .release_us = 2000,
							  .has_error = true });
	gp__report_ability(report, &(struct gp__ability){ .level = 1,
							  .way = "window",
							  .call = "none",
							  .works = true,
							  .untried = true,
							  .reason = "toys do not drain" });
	snprintf(report->conclusion, sizeof(report->conclusion), "The toy can be held.");
	snprintf(report->conditions, sizeof(report->conditions), "on a carpet");
}

static void doctor(struct gp__checks *checks)
{
	gp__check(checks, "toy", GP__CHECK_WARN, "Wind it up.", "the toy has %d wheels", 3);
}

static void kernel_queues(gp__kernel_queue_fn *add, void *data)
{
	const struct gp__kernel_queue queue = {
		.pid = getpid(), .queue = 9, .state = "running", .priority = -1, .held_ms = 4
	};

	add(data, &queue);
}

/*
 * In a program: its calls on the toy's device make queues and work
 */

#define TOY_DEVICE "/dev/zero"
enum { TOY_MAKE_QUEUE = 0x70, TOY_WORK, TOY_REST, TOY_DESTROY_QUEUE, TOY_NOT_OURS };

struct toy_program {
	struct gp__port *port;
	gp__ioctl_fn *next;
	_Atomic bool held;
	_Atomic int nr_holds;
};

static struct toy_program *latest; /* that has begun */

static bool toy_wants(unsigned long request)
{
	return request >= TOY_MAKE_QUEUE && request < TOY_NOT_OURS;
}

static bool toy_is_device(int fd)
{
	struct stat st, device;

	return !fstat(fd, &st) && !stat(TOY_DEVICE, &device) && st.st_rdev == device.st_rdev;
}

static int toy_create(struct gp__port *port, gp__ioctl_fn *next, void **state,
		      char why[GP__WIRE_TEXT_MAX])
{
	struct toy_program *t = calloc(1, sizeof(*t));

	(void)why;
	assert_non_null(t);
	t->port = port;
	t->next = next;
	*state = latest = t;
	return 0;
}

static int toy_ioctl(void *state, int fd, unsigned long request, void *argument)
{
	const struct gp__queue_desc queue = {
		.id = 1, .level = 3, .device = "toy-0", .device_name = "Toy 0"
	};
	struct toy_program *t = state;

	if (request == TOY_MAKE_QUEUE)
		assert_int_equal(gp__port_add(t->port, &queue), 0);
	else if (request == TOY_DESTROY_QUEUE)
		gp__port_remove(t->port, 1);
	else
		gp__port_work(t->port, 1, request == TOY_WORK, 1, 1);
	return t->next(fd, request, argument);
}

static void toy_forget(void *state)
{
	(void)state;
}

static void toy_hold(void *state, const u32 *ids, int *results, size_t n)
{
	struct toy_program *t = state;

	assert_int_equal(n, 1);
	assert_int_equal(ids[0], 1);
	results[0] = 0;
	t->held = true;
	t->nr_holds++;
}

static void toy_release(void *state, const u32 *ids, int *results, size_t n)
{
	struct toy_program *t = state;

	(void)ids, (void)n;
	results[0] = 0;
	t->held = false;
}

static const struct gp__program_ops toy_program = {
	.wants = toy_wants,
	.is_device = toy_is_device,
	.create = toy_create,
	.ioctl = toy_ioctl,
	.forget = toy_forget,
	.queue = { .hold = toy_hold, .release = toy_release },
};

static const struct gp__backend toy = {
	.name = "toy",
	.text = "toys are held by hand",
	.program = &toy_program,
	.count = count,
	.probe = probe,
	.doctor = doctor,
	.kernel_queues = kernel_queues,
};

static const struct gp__backend broken = {
	.name = "broken",
	.text = "broken toys",
	.missing = "built without glue",
};

static const struct gp__backend *const backends[] = { &broken, &toy, NULL };

/*
 * Running commands
 */

typedef int command_fn(struct gp__env *env, const struct gp__backend *const *backends, int argc,
		       char **argv);

static struct capture c;

static void begin_capture(void)
{
	static const struct gp__cmd no_commands[] = { { NULL, NULL, NULL } };

	capture_start(&c);
	c.env.commands = no_commands;
}

static int setup(void **state)
{
	(void)state;
	nr_gpus = 2;
	setenv("GPREEMPT_SOCKET", "/nonexistent/socket", 1);
	unsetenv("GPREEMPT_EMU_DIR");
	begin_capture();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	capture_end(&c);
	return 0;
}

static int run(command_fn *command, const char *first, const char *second)
{
	char *argv[] = { "command", (char *)first, (char *)second, NULL };
	int status = command(&c.env, backends, !first ? 1 : !second ? 2 : 3, argv);

	capture_flush(&c);
	return status;
}

static json_t *run_json(command_fn *command, int status, const char *option)
{
	json_t *root;

	assert_int_equal(run(command, "--json", option), status);
	root = json_loads(c.out, 0, NULL);
	assert_non_null(root);
	return root;
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in:\n%s", part, text);
}

/* The text of a JSON document in one form. */
static void assert_json(const json_t *value, const char *expected)
{
	char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

	assert_string_equal(text, expected);
	free(text);
}

/*
 * gpreempt probe
 */

static void test_probe_prints_it(void **state)
{
	(void)state;
	assert_int_equal(run(cmd_probe, NULL, NULL), GP__EXIT_OK);
	assert_string_equal(c.out, "gpu0: Toy 0, 3 wheels\n"
				   "  driver  toy 7\n"
				   "\n"
				   "LEVEL WAY    CALL      WORKS      HOLD RELEASE\n"
				   "Lv3   toy    TOY_HOLD  yes     12.5 us 2.00 ms\n"
				   "Lv2   toy    TOY_DRAIN no (1)        -       -\n"
				   "Lv1   window none      yes (1)       -       -\n"
				   "-     weigh  TOY_WEIGH yes     5.00 us       -\n"
				   "  1) toys do not drain\n"
				   "\n"
				   "The toy can be held.\n"
				   "\n"
				   "gpu1: Toy 1, 3 wheels\n"
				   "  driver  toy 7\n"
				   "  nothing can be done: the toy does not answer\n"
				   "\n"
				   "HOLD and RELEASE: medians on a carpet.\n");
}

static void test_probe_has_it_in_json(void **state)
{
	json_t *root = run_json(cmd_probe, GP__EXIT_OK, NULL);
	const json_t *gpus = json_object_get(root, "gpus");

	(void)state;
	assert_int_equal(json_array_size(gpus), 2);
	assert_json(
		json_array_get(gpus, 0),
		"{\"index\":0,\"name\":\"Toy\","
		"\"driver\":{\"name\":\"toy\",\"version\":7,\"features\":[\"spin\",\"jump\"]},"
		"\"wishes\":[],\"has_file\":false,\"wheels\":3,\"abilities\":["
		"{\"way\":\"weigh\",\"level\":null,\"works\":true,\"stop_us\":5.0,"
		"\"start_us\":null,\"reason\":null},"
		"{\"way\":\"toy\",\"verb\":\"drain\",\"level\":2,\"works\":false,"
		"\"stop_us\":null,\"start_us\":null,\"error\":\"EPERM\","
		"\"reason\":\"toys do not drain\"},"
		"{\"way\":\"toy\",\"verb\":\"save\",\"level\":3,\"works\":true,\"stop_us\":12.5,"
		"\"start_us\":2000.0,\"error\":null,\"reason\":null}],"
		"\"age\":null,\"error\":null}");
	assert_json(json_object_get(json_array_get(gpus, 1), "abilities"), "[]");
	assert_json(json_object_get(json_array_get(gpus, 1), "error"),
		    "\"the toy does not answer\"");
	json_decref(root);
}

static void test_probe_takes_one(void **state)
{
	json_t *root = run_json(cmd_probe, GP__EXIT_FAILURE, "--gpu=1");

	(void)state;
	assert_json(json_object_get(json_array_get(json_object_get(root, "gpus"), 0), "index"),
		    "1");
	json_decref(root);
}

static void test_probe_says_why_there_is_none(void **state)
{
	(void)state;
	nr_gpus = -ENODEV;
	assert_int_equal(run(cmd_probe, NULL, NULL), GP__EXIT_FAILURE);
	assert_has(c.err, "there is no GPU here (toy: its driver is not loaded)");
	nr_gpus = 0;
	assert_int_equal(run(cmd_probe, NULL, NULL), GP__EXIT_FAILURE);
	assert_has(c.err, "(toy: its driver has found no GPU that can compute)");
	nr_gpus = -EACCES;
	assert_int_equal(run(cmd_probe, NULL, NULL), GP__EXIT_FAILURE);
	assert_has(c.err, "(toy: Permission denied)");
}

/*
 * gpreempt doctor, and the summary
 */

static void test_doctor_asks_it(void **state)
{
	json_t *root;

	(void)state;
	/* No daemon answers, which is bad. */
	assert_int_equal(run(cmd_doctor, NULL, NULL), GP__EXIT_FAILURE);
	assert_has(c.out, "\nwarn  toy          the toy has 3 wheels\n"
			  "                   -> Wind it up.\n");
	teardown(NULL);
	setup(NULL);
	root = run_json(cmd_doctor, GP__EXIT_FAILURE, NULL);
	assert_has(c.out, "\"the toy has 3 wheels\"");
	json_decref(root);
}

static void test_summary_lists_it(void **state)
{
	json_t *root;

	(void)state;
	assert_int_equal(run(cmd_summary, NULL, NULL), GP__EXIT_OK);
	assert_has(c.out, "\nBackends:\n"
			  "  broken   not in this build: built without glue\n"
			  "  toy      toys are held by hand\n");
	teardown(NULL);
	setup(NULL);
	root = run_json(cmd_summary, GP__EXIT_OK, NULL);
	assert_json(json_object_get(root, "backends"),
		    "[{\"name\":\"broken\",\"text\":\"broken toys\",\"built\":false,"
		    "\"missing\":\"built without glue\"},"
		    "{\"name\":\"toy\",\"text\":\"toys are held by hand\",\"built\":true,"
		    "\"missing\":null}]");
	assert_true(json_is_true(json_object_get(json_object_get(root, "works"), "toy")));
	assert_true(json_is_false(json_object_get(json_object_get(root, "works"), "broken")));
	json_decref(root);
}

/*
 * A joined program
 */

static _Atomic int nr_passed_on;

static int pass_on(int fd, unsigned long request, void *argument)
{
	(void)fd, (void)request, (void)argument;
	nr_passed_on++;
	return 0;
}

static void hear(const char *text, bool unscheduled)
{
	(void)unscheduled;
	fail_msg("a program said: %s", text);
}

/* A program that `gpreempt run` started, with its first queue on the toy. */
static struct toy_program *join(struct gp__process *p, const char *priority, int fd)
{
	*p = (struct gp__process)GP__PROCESS_INIT(backends, pass_on, hear);
	setenv(GP__ENV_PRIORITY, priority, 1);
	latest = NULL;
	assert_true(gp__process_wants(p, TOY_MAKE_QUEUE));
	assert_false(gp__process_wants(p, TOY_NOT_OURS));
	assert_int_equal(gp__process_ioctl(p, fd, TOY_MAKE_QUEUE, NULL), 0);
	assert_non_null(latest);
	return latest;
}

static void leave(struct gp__process *p, struct toy_program *t)
{
	gp__process_end(p);
	free(t);
}

#define EVENTUALLY(condition)                                           \
	do {                                                            \
		for (int i_ = 0; !(condition); i_++, usleep(1000)) {    \
			if (i_ > 20000)                                 \
				fail_msg("never true: %s", #condition); \
		}                                                       \
	} while (0)

/* A list of `gpreempt ps --json`, for json_decref(). */
static json_t *list_of(const char *key)
{
	json_t *root, *list;

	teardown(NULL);
	begin_capture();
	root = run_json(cmd_ps, GP__EXIT_OK, NULL);
	list = json_incref(json_object_get(root, key));
	json_decref(root);
	return list;
}

static bool has_groups(size_t n)
{
	json_t *list = list_of("groups");
	bool has = json_array_size(list) == n;

	json_decref(list);
	return has;
}

static void test_ps_shows_it_and_it_is_held(void **state)
{
	int fd = open(TOY_DEVICE, O_RDONLY | O_CLOEXEC), other = open("/dev/null", O_RDONLY);
	struct gp__process patient, urgent;
	struct toy_program *train, *serve;
	struct rig r;
	json_t *list;

	(void)state;
	rig_up(&r, NULL);
	setenv("GPREEMPT_SOCKET", r.socket, 1);
	train = join(&patient, "2", fd);
	serve = join(&urgent, "15", fd);
	/* Calls of theirs on other devices are none of the toy's. */
	assert_int_equal(gp__process_ioctl(&patient, other, TOY_DESTROY_QUEUE, NULL), 0);
	EVENTUALLY(has_groups(2));
	list = list_of("gpus");
	assert_int_equal(json_array_size(list), 1);
	assert_json(json_object_get(json_array_get(list, 0), "name"), "\"Toy 0\"");
	json_decref(list);
	list = list_of("kernel_queues");
	assert_int_equal(json_array_size(list), 1);
	assert_json(json_object_get(json_array_get(list, 0), "queue"), "9");
	assert_json(json_object_get(json_array_get(list, 0), "priority"), "null");
	json_decref(list);
	gp__process_ioctl(&patient, fd, TOY_WORK, NULL);
	for (int round = 1; round <= 3; round++) {
		gp__process_ioctl(&urgent, fd, TOY_WORK, NULL);
		EVENTUALLY(train->held);
		gp__process_ioctl(&urgent, fd, TOY_REST, NULL);
		EVENTUALLY(!train->held);
		assert_int_equal(train->nr_holds, round);
	}
	assert_int_equal(serve->nr_holds, 0);
	gp__process_ioctl(&urgent, fd, TOY_DESTROY_QUEUE, NULL);
	EVENTUALLY(has_groups(1));
	assert_int_equal(nr_passed_on, 2 + 1 + 1 + 6 + 1);
	leave(&patient, train);
	leave(&urgent, serve);
	rig_down(&r);
	close(fd);
	close(other);
	unsetenv(GP__ENV_PRIORITY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ps_shows_it_and_it_is_held, setup, teardown),
		cmocka_unit_test_setup_teardown(test_probe_prints_it, setup, teardown),
		cmocka_unit_test_setup_teardown(test_probe_has_it_in_json, setup, teardown),
		cmocka_unit_test_setup_teardown(test_probe_takes_one, setup, teardown),
		cmocka_unit_test_setup_teardown(test_probe_says_why_there_is_none, setup, teardown),
		cmocka_unit_test_setup_teardown(test_doctor_asks_it, setup, teardown),
		cmocka_unit_test_setup_teardown(test_summary_lists_it, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
