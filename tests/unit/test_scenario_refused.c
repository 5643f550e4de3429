// SPDX-License-Identifier: MIT
/* Every error in a scenario file, with its line and its message. */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/scenario.h"
#include "sim/scenario_value.h"

static struct gp__scenario *parse(const char *text)
{
	struct gp__scenario_error err;
	struct gp__scenario *sc;

	if (gp__scenario_parse("x.ini", text, strlen(text), &sc, &err))
		fail_msg("%s", err.text);
	assert_string_equal(err.text, "");
	return sc;
}

struct complaint {
	const char *text;
	const char *message;
};

static void check_complaint(const struct complaint *c)
{
	struct gp__scenario_error err;
	struct gp__scenario *sc = NULL;
	int ret = gp__scenario_parse("x.ini", c->text, strlen(c->text), &sc, &err);

	if (ret != -EINVAL || strcmp(err.text, c->message))
		fail_msg("'%s'\n gave %d: %s\n expected: %s", c->text, ret, err.text, c->message);
	assert_null(sc);
}

#define HEAD "[scenario]\nduration=1s\n[gpu g]\n"
#define JOB "arrivals=closed\nkernel=1ms\n"

static const struct complaint text_complaints[] = {
	{ "", "x.ini: there is no [scenario]; expected one" },
	{ "[scenario]\nduration=1s\n", "x.ini: there is no GPU; expected at least one [gpu NAME]" },
	{ HEAD, "x.ini: there is no program; expected at least one [program NAME]" },
	{ "\nseed=1\n", "x.ini:2: 'seed' comes before any section; expected [scenario], [gpu NAME] "
			"or [program NAME]" },
	{ "[scenario]\nduration\n", "x.ini:2: there is no '='; expected 'key = value'" },
	{ "[scenario]\nduration\nbogus=1\n", "x.ini:2: there is no '='; expected 'key = value'" },
	{ "[scenario]\nbogus=1\nduration\n", "x.ini:2: 'bogus' is not a key of [scenario]; "
					     "expected one that gpreempt-scenario(5) has" },
	{ "[scenario]\n= 1\n",
	  "x.ini:2: there is nothing before '='; expected a key of [scenario]" },
	{ "[scenario]\ntitle=\x1b[1m\n", "x.ini:2: byte 0x1b cannot be here; expected UTF-8 text" },
	{ "[scenario]\ntitle=\xff\n", "x.ini:2: byte 0xff cannot be here; expected UTF-8 text" },
	{ "[scenario]\ntitle=\xc0\x80\n",
	  "x.ini:2: byte 0xc0 cannot be here; expected UTF-8 text" },
	{ "[scenario]\ntitle=\xed\xa0\x80\n",
	  "x.ini:2: byte 0xed cannot be here; expected UTF-8 text" },
	{ "[scenario]\ntitle=\xe2\x9c", "x.ini:2: byte 0xe2 cannot be here; expected UTF-8 text" },
	{ "[scenario\n",
	  "x.ini:1: the section has no ']'; expected [scenario], [gpu NAME] or [program NAME]" },
	{ "[ ]\n",
	  "x.ini:1: the section has no name; expected [scenario], [gpu NAME] or [program NAME]" },
	{ "[scenario] x\n",
	  "x.ini:1: there is something behind ']'; expected the end of the line" },
	{ "[scenario x]\n", "x.ini:1: [scenario] takes no name; expected just [scenario]" },
	{ "[gpu]\n", "x.ini:1: this [gpu] has no name; expected [gpu NAME]" },
	{ "[program 1st]\n",
	  "x.ini:1: '1st' cannot be a name; expected a letter followed by at most 35 letters, "
	  "digits, '-' or '_'" },
	{ "[program a.b]\n",
	  "x.ini:1: 'a.b' cannot be a name; expected a letter followed by at most 35 letters, "
	  "digits, '-' or '_'" },
	{ "[gpu a2345678901234567890123456789012345678]\n",
	  "x.ini:1: 'a2345678901234567890123456789012345678' cannot be a name; expected a letter "
	  "followed by at most 35 letters, digits, '-' or '_'" },
	{ "[gpus g]\n",
	  "x.ini:1: [gpus] is not a section; expected [scenario], [gpu NAME] or [program NAME]" },
	{ "[scenario]\nduration=1s\n[scenario]\n",
	  "x.ini:3: [scenario] was already given; expected it once" },
	{ HEAD "[program p]\npriorty=1\n",
	  "x.ini:5: 'priorty' is not a key of [program]; did you mean 'priority'?" },
	{ HEAD "[program p]\nvram=1G\n",
	  "x.ini:5: 'vram' is not a key of [program]; expected it in "
	  "[gpu]" },
	{ HEAD "[program p]\nx=1\n",
	  "x.ini:5: 'x' is not a key of [program]; expected one that gpreempt-scenario(5) has" },
	{ HEAD "[program p]\npolicy.x=1\n", "x.ini:5: 'policy.x' is not a key of [program]; "
					    "expected one that gpreempt-scenario(5) has" },
	{ "[scenario]\nseed=1\nduration=1s\nseed=2\n",
	  "x.ini:4: 'seed' was already given on line 2; expected it once" },
	{ "[scenario]\nseed=1\n[gpu g]\n",
	  "x.ini:1: this [scenario] has no 'duration'; expected one" },
	{ HEAD "\n[program p]\nkernel=1ms\n",
	  "x.ini:5: this [program] has no 'arrivals'; expected one" },
	{ HEAD "[program p]\narrivals=closed\n[program q]\n",
	  "x.ini:4: this [program] has no 'kernel'; expected one" },
	{ HEAD "[program p]\n", "x.ini:4: this [program] has no 'arrivals'; expected one" },
};

static const struct complaint value_complaints[] = {
	{ "[scenario]\nduration=0\n", "x.ini:2: 'duration' is zero; expected a time above 0" },
	{ "[scenario]\nduration=8761h\n",
	  "x.ini:2: 'duration' is too long; expected at most 8760h" },
	{ "[scenario]\nduration=99999999999999h\n",
	  "x.ini:2: '99999999999999h' is out of range for 'duration'; expected 1ns to 8760h" },
	{ "[scenario]\nduration=10\n",
	  "x.ini:2: '10' is no value for 'duration'; expected a duration such as 10us, 1.5ms or 2s "
	  "(units: ns, us, ms, s, min, h)" },
	{ "[scenario]\nduration=1s\nwarmup=1s\n",
	  "x.ini:3: 'warmup' takes the whole scenario; expected less than 'duration'" },
	{ "[scenario]\nseed=-1\n",
	  "x.ini:2: '-1' is no value for 'seed'; expected a whole number of at least 0" },
	{ "[scenario]\npolicy=a b\n",
	  "x.ini:2: 'a b' is no value for 'policy'; expected a letter followed by at most 30 "
	  "letters, digits, '-' or '_'" },
	{ "[scenario]\ntitle=\n", "x.ini:2: 'title' has no value; expected a text" },
	{ "[scenario]\npolicy.=1\n", "x.ini:2: 'policy.' is no parameter; expected 'policy.NAME'" },
	{ "[scenario]\ncore.a=\n", "x.ini:2: 'core.a' has no value; expected one" },
	{ "[scenario]\ncore.a=1\ncore.b=1\ncore.a=2\n",
	  "x.ini:4: 'core.a' was already given on line 2; expected it once" },
	{ "[gpu g]\ncount=0\n",
	  "x.ini:2: '0' is no value for 'count'; expected a whole number from 1 to 4096" },
	{ "[gpu g]\nvram=1X\n",
	  "x.ini:2: '1X' is no value for 'vram'; expected a size such as 512M or "
	  "16G (units: K, M, G, T, powers of 1024)" },
	{ "[gpu g]\nlevels=1,4\n",
	  "x.ini:2: '1,4' is no value for 'levels'; expected levels from 1 to 3, such as '1,3'" },
	{ "[gpu g]\nlevels=1,\n",
	  "x.ini:2: '1,' is no value for 'levels'; expected levels from 1 to 3, such as '1,3'" },
	{ "[gpu g]\nfail=1.5\n",
	  "x.ini:2: '1.5' is no value for 'fail'; expected a probability from 0 to 1" },
	{ "[program p]\ngang=maybe\n",
	  "x.ini:2: 'maybe' is no value for 'gang'; expected 'yes' or 'no'" },
	{ "[program p]\nclass=high\n",
	  "x.ini:2: 'high' is no value for 'class'; expected 'online', 'normal' or 'offline'" },
	{ "[program p]\npriority=1.5\n",
	  "x.ini:2: '1.5' is no value for 'priority'; expected a whole "
	  "number from -1000000 to 1000000" },
	{ "[program p]\nstreams=0\n",
	  "x.ini:2: '0' is no value for 'streams'; expected a whole number from 1 to 1024" },
	{ "[program p]\nlevel=4\n",
	  "x.ini:2: '4' is no value for 'level'; expected a whole number from 1 to 3" },
	{ "[program p]\nwindow=0\n", "x.ini:2: '0' is no value for 'window'; expected 'auto' or a "
				     "whole number from 1 to 65536" },
	{ "[program p]\nshare=101%\n",
	  "x.ini:2: '101%' is no value for 'share'; expected a whole percentage from 1% to 100%" },
	{ "[program p]\nmin_share=0\n",
	  "x.ini:2: '0' is no value for 'min_share'; expected a whole percentage from 1% to 100%" },
	{ "[program p]\nshare=2.5%\n",
	  "x.ini:2: '2.5%' is no value for 'share'; expected a whole percentage from 1% to 100%" },
	{ "[program p]\ndeadline=0s\n", "x.ini:2: 'deadline' is zero; expected a time above 0" },
	{ "[program p]\nkernel=0\n", "x.ini:2: 'kernel' is zero; expected a time above 0" },
	{ "[program p]\nkernel=uniform 0 1ms\n",
	  "x.ini:2: 'kernel' is zero; expected a time above 0" },
	{ "[program p]\ntag=a123456789b123456789c123456789d1\n",
	  "x.ini:2: 'a123456789b123456789c123456789d1' is no value for 'tag'; expected a letter "
	  "followed by at most 30 letters, digits, '-' or '_'" },
};

#define EXPECT_DIST "'; expected " GP__EXPECT_DIST
#define EXPECT_ARRIVALS "' is no value for 'arrivals'; expected " GP__EXPECT_ARRIVALS

static void test_refused_dist(void **state)
{
	static const char *const values[] = {
		"",
		"fast",
		"normal 1ms 2ms",
		"fixed",
		"fixed 1ms 2ms",
		"uniform 1ms",
		"uniform 2ms 1ms",
		"lognormal 1ms",
		"lognormal 0 1",
		"exp 0",
		"exp",
		"lognormal 1ms 6",
		"lognormal 1ms nan",
		"1ms 2ms",
		"exp 9000h",
		"fixed 1ms x y z",
	};
	char text[200], message[400];

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		snprintf(text, sizeof(text), "[program p]\nkernel=%s\n", values[i]);
		snprintf(message, sizeof(message),
			 "x.ini:2: '%s' is no value for 'kernel" EXPECT_DIST, values[i]);
		check_complaint(&(struct complaint){ text, message });
	}
}

static void test_refused_arrivals(void **state)
{
	static const char *const values[] = {
		"",
		"often",
		"periodic",
		"periodic 0",
		"periodic 1ms 2ms",
		"poisson 5",
		"poisson 0/s",
		"poisson -1/s",
		"poisson 5/day",
		"poisson 1e10/s",
		"trace",
		"trace 1ms,",
		"trace 5ms,1ms",
		"trace 1ms;2ms",
		"closed 1ms",
		"trace 1ms,,2ms",
	};
	char text[200], message[400];

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		snprintf(text, sizeof(text), "[program p]\narrivals=%s\n", values[i]);
		snprintf(message, sizeof(message), "x.ini:2: '%s" EXPECT_ARRIVALS, values[i]);
		check_complaint(&(struct complaint){ text, message });
	}
}

static const struct complaint meaning_complaints[] = {
	{ HEAD "[program p]\nclass=online\npriority=3\n" JOB,
	  "x.ini:6: 'class' and 'priority' contradict each other; expected one of them" },
	{ HEAD "[program p]\npriority=3\n" JOB "class=online\n",
	  "x.ini:8: 'class' and 'priority' contradict each other; expected one of them" },
	{ HEAD "[program p]\nthink=1ms\narrivals=periodic 1ms\nkernel=1ms\n",
	  "x.ini:5: 'think' is for a program that waits for its last job; expected 'arrivals = "
	  "closed' with it" },
	{ HEAD "[program p]\nhint=1ms\n" JOB, "x.ini:5: 'hint' announces arrivals, but the next "
					      "job comes at once; expected 'think' with "
					      "it, or other 'arrivals'" },
	{ HEAD "[program p]\nfirst=1ms\nstreams=2\n" JOB,
	  "x.ini:5: 'first' is for a program with one stream; expected neither 'streams' nor "
	  "'gang' with it" },
	{ HEAD "[program p]\ngang=yes\nfirst=1ms\n" JOB,
	  "x.ini:6: 'first' is for a program with one stream; expected neither 'streams' nor "
	  "'gang' with it" },
	{ HEAD "[program p]\nconcurrent=2\n" JOB,
	  "x.ini:5: 'concurrent' is for a program that serves requests; expected 'first' with it" },
	{ HEAD "[program p]\nfirst=0\n" JOB, "x.ini:5: 'first' is zero; expected a time above 0" },
	{ HEAD "[program p]\nbatch=9\nwindow=8\n" JOB,
	  "x.ini:5: 'batch' is larger than 'window'; expected at most 8" },
	{ HEAD "[program p]\narrivals=closed\narrivals=periodic 1s\nkernel=1ms\n",
	  "x.ini:6: 'arrivals' was already given on line 5; only a trace may go on" },
	{ HEAD "[program p]\narrivals=trace 1s\narrivals=closed\nkernel=1ms\n",
	  "x.ini:6: 'arrivals' was already given on line 5; only a trace may go on" },
	{ HEAD "[program p]\narrivals=closed\narrivals=trace 1s\nkernel=1ms\n",
	  "x.ini:6: 'arrivals' was already given on line 5; only a trace may go on" },
	{ HEAD "[program p]\ngpu=h\n" JOB, "x.ini:5: there is no GPU 'h'; expected 'g'" },
	{ HEAD "[program p]\ngpu=h*\n" JOB, "x.ini:5: there is no GPU 'h*'; expected 'g'" },
	{ HEAD "count=2\n[program p]\n" JOB "gpu=g2\n",
	  "x.ini:8: there is no GPU 'g2'; expected one of 'g0' to 'g1'" },
	{ HEAD "count=2\n[program p]\n" JOB,
	  "x.ini:5: this [program] has no 'gpu'; expected one, as there are 2 GPUs" },
	{ HEAD "count=2\n[program p]\ngpu=g*,g0\n" JOB,
	  "x.ini:6: the GPU 'g0' is named twice; expected each once" },
	{ HEAD "[program p]\ngpu=g,\n" JOB,
	  "x.ini:5: 'gpu' has an empty or overlong name; expected names separated by commas" },
	{ HEAD "[program p]\ngang=yes\n" JOB,
	  "x.ini:5: a gang on one GPU ties nothing; expected at least two in 'gpu'" },
	{ HEAD "[gpu g]\n[program p]\n" JOB,
	  "x.ini:4: the GPU 'g' is already made by line 3; expected another name" },
	{ HEAD "count=2\n[gpu g1]\n[program p]\ngpu=g1\n" JOB,
	  "x.ini:5: the GPU 'g1' is already made by line 3; expected another name" },
	{ HEAD "[program p]\n" JOB "[program p]\ncount=2\n" JOB,
	  "x.ini:7: the program 'p' is already made by line 4; expected another name" },
	{ HEAD "[program p]\nstart=1s\n" JOB,
	  "x.ini:5: the scenario is over at 'start'; expected less than its 'duration'" },
	{ HEAD "[program p]\nstart=500ms\nstop=500ms\n" JOB,
	  "x.ini:6: 'stop' is not after 'start'; expected a later time" },
	{ HEAD "[program p]\nshare=60\n" JOB "[program q]\nshare=41\n" JOB,
	  "x.ini:9: with this 'share' the programs on GPU 'g' ask for 101%; expected at most "
	  "100%" },
	{ HEAD "[program p]\nmin_share=40\ncount=3\n" JOB,
	  "x.ini:5: with this 'min_share' the programs on GPU 'g' ask for 120%; expected at most "
	  "100%" },
	{ HEAD "vram=16G\n[program p]\nmemory=17G\n" JOB,
	  "x.ini:6: 'memory' is 17.0 GiB but GPU 'g' has 16.0 GiB; expected no more than that" },
	{ HEAD "[program p]\nprocess=x\n" JOB "[program q]\nprocess=x\n" JOB,
	  "x.ini:9: 'q' has process, GPU, priority and tag in common with 'p' and would be one "
	  "with "
	  "it; expected 'streams' instead, or another 'tag'" },
	{ "[scenario]\nduration=1s\n[gpu a]\ncount=4096\n[gpu b]\n[program p]\n" JOB,
	  "x.ini:5: too many GPUs; expected at most 4096 in all" },
	{ HEAD "[program p]\ncount=100000\n" JOB "[program q]\n" JOB,
	  "x.ini:8: too many programs; expected at most 100000 in all" },
	{ HEAD "[program p]\ncount=10000\nstreams=101\n" JOB,
	  "x.ini:4: too many queues (programs x streams x GPUs of a gang); expected at most "
	  "1000000 "
	  "in all" },
};

static void check_complaints(const struct complaint *c, size_t n)
{
	for (; n--; c++)
		check_complaint(c);
}

static void test_refused_text(void **state)
{
	(void)state;
	check_complaints(text_complaints, sizeof(text_complaints) / sizeof(text_complaints[0]));
}

static void test_refused_values(void **state)
{
	(void)state;
	check_complaints(value_complaints, sizeof(value_complaints) / sizeof(value_complaints[0]));
}

static void test_refused_meaning(void **state)
{
	(void)state;
	check_complaints(meaning_complaints,
			 sizeof(meaning_complaints) / sizeof(meaning_complaints[0]));
}

static void test_shares_are_per_gpu(void **state)
{
	(void)state;
	gp__scenario_free(parse("[scenario]\nduration=1s\n[gpu g]\ncount=2\n"
				"[program p]\ngpu=g*\nshare=60%\n" JOB
				"[program q]\ngpu=g0\nshare=40%\n" JOB));
}

/* A level the GPU has not is no mistake: the queue falls back. */
static void test_level_may_fall_back(void **state)
{
	(void)state;
	gp__scenario_free(parse(HEAD "levels=1\n[program p]\nlevel=3\n" JOB));
}

static void test_nul_byte(void **state)
{
	static const char text[] = "[scenario]\nduration=1s\0\n";
	struct gp__scenario_error err;
	struct gp__scenario *sc;

	(void)state;
	assert_int_equal(gp__scenario_parse("x.ini", text, sizeof(text) - 1, &sc, &err), -EINVAL);
	assert_string_equal(err.text, "x.ini:2: byte 0x00 cannot be here; expected UTF-8 text");
	assert_int_equal(err.line, 2);
}

static void test_line_length(void **state)
{
	char text[300] = "[scenario]\nduration=1s\ntitle=";
	size_t head = strlen(text);
	struct gp__scenario *sc;

	(void)state;
	memset(text + head, 'x', 191 - strlen("title="));
	check_complaint(&(struct complaint){
		text, "x.ini:3: the line is too long; expected at most 190 bytes" });
	strcpy(text + head + 190 - strlen("title="), "\n[gpu g]\n[program p]\n" JOB);
	sc = parse(text);
	assert_int_equal(strlen(sc->title), 184);
	gp__scenario_free(sc);
}

static void test_file_size(void **state)
{
	size_t size = GP__SCENARIO_MAX_BYTES + 1;
	char *text = calloc(1, size);
	struct gp__scenario_error err;
	struct gp__scenario *sc;

	(void)state;
	memset(text, '\n', size);
	assert_int_equal(gp__scenario_parse("x.ini", text, size, &sc, &err), -EINVAL);
	assert_string_equal(err.text,
			    "x.ini: the file is too large; expected at most 1048576 bytes");
	free(text);
}

static void test_too_many_params(void **state)
{
	char text[2048] = "[scenario]\n";
	size_t len = strlen(text);

	(void)state;
	for (int i = 0; i < 65; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "core.p%d=1\n", i);
	check_complaint(
		&(struct complaint){ text, "x.ini:66: too many parameters; expected at most 64" });
}

static void test_load_errors(void **state)
{
	struct gp__scenario_error err;
	struct gp__scenario *sc;

	(void)state;
	assert_int_equal(gp__scenario_load("/nonexistent.ini", &sc, &err), -ENOENT);
	assert_string_equal(err.text,
			    "/nonexistent.ini: cannot be opened: No such file or directory");
	assert_int_equal(gp__scenario_load("/", &sc, &err), -EISDIR);
	assert_string_equal(err.text, "/: cannot be read: Is a directory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused_text),
		cmocka_unit_test(test_refused_values),
		cmocka_unit_test(test_refused_dist),
		cmocka_unit_test(test_refused_arrivals),
		cmocka_unit_test(test_refused_meaning),
		cmocka_unit_test(test_shares_are_per_gpu),
		cmocka_unit_test(test_level_may_fall_back),
		cmocka_unit_test(test_nul_byte),
		cmocka_unit_test(test_line_length),
		cmocka_unit_test(test_file_size),
		cmocka_unit_test(test_too_many_params),
		cmocka_unit_test(test_load_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
