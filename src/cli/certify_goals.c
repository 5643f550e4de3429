// SPDX-License-Identifier: MIT
/* The goals of the design that gpreempt began with, and the figure that each is compared with. */
#include "cli/certify.h"

#define PROBED(way_name, verb)                              \
	.stage = CERTIFY_PROBE, .list = "gpus.0.abilities", \
	.where = "way=" way_name ",verb=" verb, .way = way_name
#define NVIDIA(way_name) \
	.stage = CERTIFY_PROBE, .list = "gpus.0.abilities", .where = "way=" way_name
/* The last row of a way is the one with the most waves. */
#define MANY(verb, way_name)                         \
	.stage = CERTIFY_PREEMPT, .list = "results", \
	.where = "what=" verb " by " way_name ",through=owner", .way = way_name
#define ONE_WAVE(way_name)                           \
	.stage = CERTIFY_PREEMPT, .list = "results", \
	.where = "what=stop by " way_name ",through=ioctl,waves=1", .way = way_name
#define AT_LEVEL(name)                                                      \
	.stage = CERTIFY_LEVELS, .list = "results", .where = "level=" name, \
	.absent = "this driver and its scheduler do not have this level"
#define STAGE1(name) .stage = CERTIFY_STAGE1, .list = "results", .where = "situation=" name
#define BY_SERIES STAGE1("the same by ioctl"), .way = "preempt"
#define CASE(name) .stage = CERTIFY_CASES, .list = "cases", .where = "case=" name, .key = "passed"
#define BESIDE(name) .stage = CERTIFY_BESIDE, .list = "modes", .where = "name=" name
#define IDLE_MONITOR(name) \
	.stage = CERTIFY_MONITOR, .list = "results", .where = "queues=1,state=" name

#define US(op, us) .is = op, .limit = us, .unit = "us", .kind = CERTIFY_TIME
/* Of a figure in microseconds. */
#define US_AS_MS(op, ms) .is = op, .limit = ms, .unit = "ms", .scale = 1e-3, .kind = CERTIFY_TIME
#define MS(op, ms) .is = op, .limit = ms, .unit = "ms", .kind = CERTIFY_TIME
#define PERCENT(op, percent) .is = op, .limit = percent, .unit = "%", .kind = CERTIFY_TIME
#define TIMES(op, times) .is = op, .limit = times, .unit = "times", .kind = CERTIFY_RATIO
#define WORKS .is = CERTIFY_YES, .unit = "", .kind = CERTIFY_WORKS

/* A goal is a line or two. */
/* clang-format off */

/* The 50th and the 99th percentile. */
#define LEVEL_US(id_text, name, text, us)                                                        \
	{ id_text "-p50", CERTIFY_THREE_LEVELS, text ": until nothing runs, p50",                \
	  US(CERTIFY_AT_MOST, us), AT_LEVEL(name), .key = "preempt_p50_us" },                    \
	{ id_text "-p99", CERTIFY_THREE_LEVELS, text ": until nothing runs, p99",                \
	  US(CERTIFY_AT_MOST, us), AT_LEVEL(name), .key = "preempt_p99_us" }
#define LEVEL_RATIO(id_text, name, text, op, times)                                              \
	{ id_text "-ratio", CERTIFY_THREE_LEVELS, text ": patient to urgent latency, p50",       \
	  TIMES(op, times), AT_LEVEL(name), .key = "ratio" }
#define HOLD_US(way_name)                                                                        \
	{ "hold-" way_name "-p50", CERTIFY_THREE_LEVELS,                                         \
	  "Lv3 by " way_name ": hold of one wave, p50", US(CERTIFY_AT_MOST, 10),                 \
	  ONE_WAVE(way_name), .key = "wall_p50_us" },                                            \
	{ "hold-" way_name "-p99", CERTIFY_THREE_LEVELS,                                         \
	  "Lv3 by " way_name ": hold of one wave, p99", US(CERTIFY_AT_MOST, 10),                 \
	  ONE_WAVE(way_name), .key = "wall_p99_us" }
#define MANY_MS(verb, word, way_name)                                                            \
	{ word "-many-" way_name "-p50", CERTIFY_ONLINE_OFFLINE,                                 \
	  word " of up to 1024 waves by " way_name ", p50", US_AS_MS(CERTIFY_BELOW, 5),                   \
	  MANY(verb, way_name), .key = "wall_p50_us" },                                          \
	{ word "-many-" way_name "-p99", CERTIFY_ONLINE_OFFLINE,                                 \
	  word " of up to 1024 waves by " way_name ", p99", US_AS_MS(CERTIFY_BELOW, 5),                   \
	  MANY(verb, way_name), .key = "wall_p99_us" }
#define TEST_CASE(name, text)                                                                    \
	{ "case-" name, CERTIFY_ONLINE_OFFLINE, text, WORKS, CASE(name) }
#define BESIDE_TRAINING(name, text)                                                              \
	{ "beside-" name "-online", CERTIFY_ONLINE_OFFLINE,                                      \
	  "inference beside training, " text ": request, p99", MS(CERTIFY_BELOW, 50),            \
	  BESIDE(name), .key = "online.p99_ms" },                                                \
	{ "beside-" name "-kept", CERTIFY_ONLINE_OFFLINE,                                        \
	  "inference beside training, " text ": speed kept in the time left",                    \
	  PERCENT(CERTIFY_AT_LEAST, 95), BESIDE(name),                             \
	  .key = "offline.kept_pct" },                                                           \
	{ "beside-" name "-identical", CERTIFY_ONLINE_OFFLINE,                                   \
	  "inference beside training, " text ": results as undisturbed", WORKS, BESIDE(name),     \
	  .key = "offline.identical" }

/* clang-format on */

const struct certify_section_text certify_sections[CERTIFY_SECTIONS] = {
	[CERTIFY_CONTEXT_SAVE] = { "000", "Context save and restore",
				   "Which ways the driver has, the three types of preemption, "
				   "and what a queue's save area costs." },
	[CERTIFY_THREE_LEVELS] = { "001", "Three levels of preemption",
				   "How soon nothing of a queue runs, and what the urgent one of "
				   "two streams of equal work gains." },
	[CERTIFY_TRAP_HANDLERS] = { "002", "Trap handlers",
				    "A second-level handler of one's own." },
	[CERTIFY_SCHEDULING] = { "003", "Scheduling in software",
				 "What it costs to see work, and the scheduler in the kernel." },
	[CERTIFY_ONLINE_OFFLINE] = { "004", "Online and offline programs",
				     "A server with short kernels preempts a trainer that fills "
				     "the GPU." },
	[CERTIFY_RUNS] = { "", "The measurements",
			   "Whether each came to its end: one that did not is a failure." },
	[CERTIFY_NVIDIA] = { "004", "A GPU without AMD's context save",
			     "What of the goals applies to an NVIDIA GPU and takes a moment." },
};

/* clang-format off */
const struct certify_goal certify_goals[] = {
	/* 000 */
	{ "cwsr", CERTIFY_CONTEXT_SAVE, "cwsr_enable is 1", WORKS,
	  .stage = CERTIFY_PROBE, .list = "gpus.0", .key = "cwsr_enable",
	  .absent = "the driver does not say so" },
	{ "holds", CERTIFY_CONTEXT_SAVE, "running work can be held in one way at least", WORKS,
	  .stage = CERTIFY_PROBE, .list = "gpus.0", .key = "holds" },
	{ "way-update", CERTIFY_CONTEXT_SAVE, "UPDATE_QUEUE holds and releases", WORKS,
	  PROBED("update", "save"), .key = "works" },
	{ "way-dbgtrap", CERTIFY_CONTEXT_SAVE, "DBG_TRAP suspends and resumes", WORKS,
	  PROBED("dbgtrap", "save"), .key = "works" },
	{ "way-preempt", CERTIFY_CONTEXT_SAVE, "the series' ioctl saves and restores (SAVE)", WORKS,
	  PROBED("preempt", "save"), .key = "works" },
	{ "way-drain", CERTIFY_CONTEXT_SAVE, "the series' ioctl drains (DRAIN)", WORKS,
	  PROBED("preempt", "drain"), .key = "works" },
	{ "way-reset", CERTIFY_CONTEXT_SAVE, "the series' ioctl resets (RESET)", WORKS,
	  PROBED("preempt", "reset"), .key = "works" },
	{ "save-us", CERTIFY_CONTEXT_SAVE, "SAVE of an idle queue, p50",
	  US(CERTIFY_AT_MOST, 10), PROBED("preempt", "save"), .key = "stop_us" },
	{ "drain-us", CERTIFY_CONTEXT_SAVE, "DRAIN of an idle queue, p50",
	  US_AS_MS(CERTIFY_AT_MOST, 10), PROBED("preempt", "drain"), .key = "stop_us" },
	{ "reset-us", CERTIFY_CONTEXT_SAVE, "RESET of an idle queue, p50",
	  US(CERTIFY_AT_MOST, 50), PROBED("preempt", "reset"), .key = "stop_us" },
	{ "save-memory", CERTIFY_CONTEXT_SAVE,
	  "save area of a queue, for each compute unit (186 MB with 304)",
	  .is = CERTIFY_AT_MOST, .limit = 0.65, .unit = "MB", .kind = CERTIFY_RATIO,
	  .stage = CERTIFY_PROBE, .list = "gpus.0", .key = "save_mb_per_cu" },
	{ "five-steps", CERTIFY_CONTEXT_SAVE,
	  "submit, preempt, see it stopped, resume, see it go on, results right", WORKS,
	  CASE("basic") },

	/* 001 */
	LEVEL_US("lv1", "Lv1", "Lv1, launch window", 800),
	LEVEL_US("lv2-drain", "Lv2 drain", "Lv2, draining", 80),
	LEVEL_US("lv2-flush", "Lv2 flush", "Lv2, flushing", 80),
	LEVEL_US("lv3", "Lv3", "Lv3, waves saved", 10),
	HOLD_US("update"),
	HOLD_US("dbgtrap"),
	HOLD_US("preempt"),
	LEVEL_RATIO("lv1", "Lv1", "Lv1", CERTIFY_AT_LEAST, 1.1),
	LEVEL_RATIO("lv2-drain", "Lv2 drain", "Lv2, draining", CERTIFY_AT_LEAST, 2),
	LEVEL_RATIO("lv2-flush", "Lv2 flush", "Lv2, flushing", CERTIFY_AT_LEAST, 2),
	LEVEL_RATIO("lv3", "Lv3", "Lv3", CERTIFY_ABOVE, 3),
	{ "lv3-overhead", CERTIFY_THREE_LEVELS, "Lv3: share of the time that switching takes",
	  PERCENT(CERTIFY_BELOW, 5), AT_LEVEL("Lv3"), .key = "switching_percent" },
	{ "lv2-guardian", CERTIFY_THREE_LEVELS, "Lv2, guarded kernels: time added",
	  PERCENT(CERTIFY_AT_MOST, 4), .stage = CERTIFY_STAGES,
	  .absent = "guards are in OpenCL kernels: 'gpreempt bench opencl' measures them" },

	/* 002 */
	{ "second-level", CERTIFY_TRAP_HANDLERS, "SET_TRAP_HANDLER takes a handler of one's own",
	  WORKS, .stage = CERTIFY_STAGES,
	  .absent = "no program here installs a trap handler on a GPU: the tests of the emulated "
		    "machine do" },

	/* 003 */
	{ "monitor-idle", CERTIFY_SCHEDULING, "monitor, one idle queue: share of a CPU",
	  PERCENT(CERTIFY_AT_MOST, 0.001), IDLE_MONITOR("idle"), .key = "cpu_percent",
	  .absent = "no look was made in the time" },
	{ "monitor-reported", CERTIFY_SCHEDULING, "monitor, launches reported: looks a second",
	  .is = CERTIFY_AT_MOST, .limit = 0, .unit = "/s", .kind = CERTIFY_TIME,
	  IDLE_MONITOR("reported"), .key = "looks_per_s" },
	{ "doorbell", CERTIFY_SCHEDULING, "a doorbell of a joined program",
	  .is = CERTIFY_AT_MOST, .limit = 100, .unit = "ns", .kind = CERTIFY_TIME,
	  .stage = CERTIFY_STAGES,
	  .absent = "'gpreempt bench launch' measures it, on an emulated machine only" },
	{ "kernel-scheduler", CERTIFY_SCHEDULING, "the scheduler in the kernel", WORKS,
	  .stage = CERTIFY_STAGES,
	  .absent = "the tests of the kernel series measure its scheduler, not certify" },

	/* 004 */
	{ "online-p50", CERTIFY_ONLINE_OFFLINE, "a request, from arrival to answer, p50",
	  MS(CERTIFY_BELOW, 50), STAGE1("preempted"), .key = "online_p50_ms" },
	{ "online-max", CERTIFY_ONLINE_OFFLINE, "the slowest request", MS(CERTIFY_BELOW, 50),
	  STAGE1("preempted"), .key = "online_max_ms" },
	{ "loss", CERTIFY_ONLINE_OFFLINE, "what the trainer loses beyond the time of requests",
	  PERCENT(CERTIFY_BELOW, 5), .stage = CERTIFY_STAGE1,
	  .key = "offline_loss_percent" },
	/* Too few for a 99th percentile: case 2 has that. */
	{ "suspend", CERTIFY_ONLINE_OFFLINE, "suspend by libgpreempt_poc, p50",
	  MS(CERTIFY_BELOW, 5), STAGE1("preempted"), .key = "suspend_p50_ms" },
	{ "resume", CERTIFY_ONLINE_OFFLINE, "resume by libgpreempt_poc, p50",
	  MS(CERTIFY_BELOW, 5), STAGE1("preempted"), .key = "resume_p50_ms" },
	{ "suspend-series", CERTIFY_ONLINE_OFFLINE, "suspend by the series' ioctl, p50",
	  MS(CERTIFY_BELOW, 5), BY_SERIES, .key = "suspend_p50_ms" },
	{ "resume-series", CERTIFY_ONLINE_OFFLINE, "resume by the series' ioctl, p50",
	  MS(CERTIFY_BELOW, 5), BY_SERIES, .key = "resume_p50_ms" },
	MANY_MS("stop", "hold", "update"),
	MANY_MS("start", "release", "update"),
	MANY_MS("stop", "hold", "dbgtrap"),
	MANY_MS("start", "release", "dbgtrap"),
	MANY_MS("stop", "hold", "preempt"),
	MANY_MS("start", "release", "preempt"),
	TEST_CASE("identification", "queues are found by priority and by tag"),
	TEST_CASE("basic", "case 1: requests now and then"),
	TEST_CASE("no_offline_queue", "case 3: there is no offline queue"),
	TEST_CASE("both_at_once", "case 3: both programs submit at once"),
	TEST_CASE("many_at_once", "case 3: many requests in one moment"),
	TEST_CASE("queue_destroyed", "case 3: a program ends while it is suspended"),
	TEST_CASE("program_killed", "case 3: a program is killed while it is suspended"),
	TEST_CASE("scheduler_killed", "case 3: the scheduler is killed"),
	TEST_CASE("nobody_ends", "case 3: the end of a request is never told"),
	TEST_CASE("seed_program", "the published test program, unchanged"),
	{ "frequent", CERTIFY_ONLINE_OFFLINE,
	  "case 2: a request every 100 ms; all results as undisturbed", WORKS,
	  .stage = CERTIFY_FREQUENT, .key = "passed" },
	{ "frequent-minutes", CERTIFY_ONLINE_OFFLINE, "case 2: how long", .is = CERTIFY_FOR,
	  .limit = 10, .unit = "min", .kind = CERTIFY_WORKS, .stage = CERTIFY_FREQUENT,
	  .key = "minutes" },
	{ "frequent-online", CERTIFY_ONLINE_OFFLINE, "case 2: request, p99", MS(CERTIFY_BELOW, 50),
	  .stage = CERTIFY_FREQUENT, .key = "online_p99_ms" },
	{ "frequent-suspend", CERTIFY_ONLINE_OFFLINE, "case 2: suspend, p99", MS(CERTIFY_BELOW, 5),
	  .stage = CERTIFY_FREQUENT, .key = "suspend_p99_ms" },
	{ "frequent-resume", CERTIFY_ONLINE_OFFLINE, "case 2: resume, p99", MS(CERTIFY_BELOW, 5),
	  .stage = CERTIFY_FREQUENT, .key = "resume_p99_ms" },
	BESIDE_TRAINING("lv1", "Lv1"),
	BESIDE_TRAINING("lv2", "Lv2"),
	BESIDE_TRAINING("lv3", "Lv3"),
	{ "beside-gain", CERTIFY_ONLINE_OFFLINE,
	  "inference beside training: p99 without gpreempt to p99 at Lv3",
	  .is = CERTIFY_ABOVE, .limit = 1, .unit = "times", .kind = CERTIFY_TIME,
	  .stage = CERTIFY_BESIDE, .key = "native_over_lv3" },
	{ "kernel-log", CERTIFY_ONLINE_OFFLINE, "faults, hangs and resets in the kernel's log",
	  .is = CERTIFY_AT_MOST, .limit = 0, .unit = "lines", .kind = CERTIFY_WORKS,
	  .stage = CERTIFY_LOG, .key = "lines" },

	/* Each stage */
	{ "run-preempt", CERTIFY_RUNS, "holds and releases: no wave is lost", WORKS,
	  .stage = CERTIFY_PREEMPT },
	{ "run-levels", CERTIFY_RUNS, "two streams at each level", WORKS, .stage = CERTIFY_LEVELS },
	{ "run-stage1", CERTIFY_RUNS, "a server beside a trainer, by libgpreempt_poc", WORKS,
	  .stage = CERTIFY_STAGE1 },
	{ "run-beside", CERTIFY_RUNS, "inference beside training, by gpreemptd", WORKS,
	  .stage = CERTIFY_BESIDE },
	{ "run-monitor", CERTIFY_RUNS, "polling for work", WORKS, .stage = CERTIFY_MONITOR },

	/* On an NVIDIA GPU, only these */
	{ "nvidia-hold", CERTIFY_NVIDIA, "a context is held and released", WORKS, NVIDIA("hold"),
	  .key = "works" },
	{ "nvidia-drain", CERTIFY_NVIDIA, "a context is drained (Lv2)", WORKS, NVIDIA("drain"),
	  .key = "works" },
	{ "nvidia-hold-us", CERTIFY_NVIDIA, "hold, p50", US_AS_MS(CERTIFY_BELOW, 5), NVIDIA("hold"),
	  .key = "stop_us" },
	{ "nvidia-release-us", CERTIFY_NVIDIA, "release, p50", US_AS_MS(CERTIFY_BELOW, 5),
	  NVIDIA("hold"), .key = "start_us" },
	{ 0 },
};
/* clang-format on */
