// SPDX-License-Identifier: MIT
/* The table of all metrics. docs/metrics.md has the same, and a test compares them. */
#include "metrics/buckets.h"
#include "metrics/metrics.h"

#include <stddef.h>

#define US UINT64_C(1000)
#define MS (1000 * US)
#define S (1000 * MS)

const uint64_t gp__bucket_bound[GP__BUCKETS - 1] = {
	1 * US, 5 * US,	   10 * US, 25 * US, 50 * US, 100 * US, 250 * US, 500 * US,
	1 * MS, 2500 * US, 5 * MS,  10 * MS, 25 * MS, 100 * MS, 1 * S,
};

#define COUNTER GP__METRIC_COUNTER
#define GAUGE GP__METRIC_GAUGE
#define HISTOGRAM GP__METRIC_HISTOGRAM

#define DAEMON(name, type, member, label, help)                               \
	{                                                                     \
		"gpreempt_" name, help, type, GP__SCOPE_DAEMON, member, label \
	}
#define GPU(name, type, member, label, help)                                   \
	{                                                                      \
		"gpreempt_gpu_" name, help, type, GP__SCOPE_GPU, member, label \
	}
#define CLASS(name, type, member, label, help)                                     \
	{                                                                          \
		"gpreempt_class_" name, help, type, GP__SCOPE_CLASS, member, label \
	}
#define PROGRAM(name, type, member, label, help)                                       \
	{                                                                              \
		"gpreempt_program_" name, help, type, GP__SCOPE_PROGRAM, member, label \
	}
#define USER(name, type, member, label, help)                                    \
	{                                                                        \
		"gpreempt_user_" name, help, type, GP__SCOPE_USER, member, label \
	}

const struct gp__metric gp__metrics[] = {
	DAEMON("build_info", GAUGE, "build", "*", "The version of gpreemptd; always 1."),
	DAEMON("policy_info", GAUGE, "policy", "*", "The scheduling policy in force; always 1."),
	DAEMON("daemon_start_time_seconds", GAUGE, "started", NULL,
	       "When gpreemptd started, in seconds since 1970."),
	DAEMON("daemon_connections", GAUGE, "connections", NULL,
	       "Connections of programs and commands."),
	DAEMON("daemon_held_queues", GAUGE, "held_queues", NULL,
	       "Queues whose latest order is to hold."),
	DAEMON("daemon_orders_total", COUNTER, "orders", NULL,
	       "Orders to hold, release or weigh a queue."),
	DAEMON("daemon_late_acknowledgements_total", COUNTER, "late", NULL,
	       "Acknowledgements of orders that were not the latest of their queue."),
	DAEMON("daemon_refused_total", COUNTER, "refused", NULL,
	       "Connections and requests that were refused."),
	DAEMON("daemon_turn_seconds", HISTOGRAM, "turn", NULL,
	       "How long turns of the scheduling thread took."),

	GPU("info", GAUGE, "info", "*", "The name of the GPU; always 1."),
	GPU("memory_bytes", GAUGE, "memory_bytes", NULL, "The size of the GPU's memory."),
	GPU("groups", GAUGE, "groups", NULL, "Groups of queues on the GPU."),
	GPU("groups_with_work", GAUGE, "with_work", NULL, "Groups of queues that have work."),
	GPU("off", GAUGE, "off", NULL, "1 if scheduling is switched off on the GPU, otherwise 0."),
	GPU("lost", GAUGE, "lost", NULL, "1 if the GPU does not answer, otherwise 0."),
	GPU("switches_total", COUNTER, "switches", NULL,
	    "Decisions to hold running groups for others, as the switch rate counts them."),
	GPU("inversions_total", COUNTER, "inversions", NULL,
	    "Groups that ran while a more urgent one had work, and were held for it."),
	GPU("wasted_seconds_total", COUNTER, "wasted_ns", NULL,
	    "Time in which the GPU was idle while a group with work was held."),
	GPU("stop_seconds", HISTOGRAM, "stop", NULL,
	    "How long it took to hold a queue, as its program reports."),
	GPU("start_seconds", HISTOGRAM, "start", NULL,
	    "How long it took to release a queue, as its program reports."),
	GPU("order_seconds", HISTOGRAM, "order", NULL,
	    "Time from an order to its acknowledgement."),
	GPU("work_to_order_seconds", HISTOGRAM, "work_to_order", NULL,
	    "Time from the arrival of work to the order to hold another group for it."),

	CLASS("groups", GAUGE, "groups", NULL, "Groups of queues."),
	CLASS("groups_joined_total", COUNTER, "joined", NULL, "Groups of queues that have joined."),
	CLASS("run_seconds_total", COUNTER, "run_ns", NULL,
	      "GPU time, also of programs that have ended."),
	CLASS("held_seconds_total", COUNTER, "held_ns", NULL,
	      "Time under a hold, with work or without, also of programs that have ended."),
	CLASS("waiting_seconds_total", COUNTER, "waiting_ns", NULL,
	      "Time under a hold with work, also of programs that have ended."),
	CLASS("wasted_seconds_total", COUNTER, "wasted_ns", NULL,
	      "Idle time of the GPU that lingering has cost others, also of programs that have "
	      "ended."),
	CLASS("holds_total", COUNTER, "holds", "rule",
	      "Holds by the rule that caused them, also of programs that have ended."),
	CLASS("releases_total", COUNTER, "releases", "rule",
	      "Releases by the rule that caused them, also of programs that have ended."),

	PROGRAM("groups", GAUGE, "groups", NULL, "Groups of queues."),
	PROGRAM("run_seconds_total", COUNTER, "run_ns", NULL, "GPU time."),
	PROGRAM("held_seconds_total", COUNTER, "held_ns", NULL,
		"Time under a hold, with work or without."),
	PROGRAM("waiting_seconds_total", COUNTER, "waiting_ns", NULL,
		"Time under a hold with work."),
	PROGRAM("wasted_seconds_total", COUNTER, "wasted_ns", NULL,
		"Idle time of the GPU that lingering has cost others."),
	PROGRAM("holds_total", COUNTER, "holds", "rule", "Holds by the rule that caused them."),
	PROGRAM("releases_total", COUNTER, "releases", "rule",
		"Releases by the rule that caused them."),
	PROGRAM("memory_bytes", GAUGE, "memory_bytes", NULL,
		"GPU memory in use, where it is measured."),
	PROGRAM("queues", GAUGE, "queues", "state",
		"Queues: free, holding, held, releasing, failed or unresponsive."),
	PROGRAM("queues_with_work", GAUGE, "with_work", NULL, "Queues that have work."),

	USER("connections", GAUGE, "connections", NULL, "Connections of programs and commands."),
	USER("programs", GAUGE, "programs", NULL, "Programs that have joined."),
	USER("groups", GAUGE, "groups", NULL, "Groups of queues."),
	USER("queues", GAUGE, "queues", NULL, "Queues."),
	USER("unsent_bytes", GAUGE, "unsent_bytes", NULL,
	     "Answers that the user has not read yet."),
	USER("daemon_seconds_total", COUNTER, "time_ns", NULL,
	     "Time that the scheduling thread has spent on the user, who is no administrator."),
	USER("log_lines_total", COUNTER, "log_lines", NULL, "Lines in the decision log."),
	USER("gpu_time_spent_seconds", GAUGE, "gpu_spent_ns", "tag",
	     "GPU time that is gone from the user's gpu_time, or from that of a tag."),
	USER("gpu_time_limit_seconds", GAUGE, "gpu_quota_ns", "tag",
	     "The user's gpu_time, or that of a tag, without its period."),
	USER("refused_total", COUNTER, "refused", "budget",
	     "How often a budget was exceeded: refused, or served later."),
	{ 0 },
};

const char *gp__metric_type_name(enum gp__metric_type type)
{
	static const char *const names[] = {
		[GP__METRIC_COUNTER] = "counter",
		[GP__METRIC_GAUGE] = "gauge",
		[GP__METRIC_HISTOGRAM] = "histogram",
	};

	return names[type];
}

const char *const *gp__scope_labels(enum gp__metric_scope scope)
{
	static const char *const labels[GP__SCOPES][9] = {
		[GP__SCOPE_DAEMON] = { NULL },
		[GP__SCOPE_GPU] = { "gpu", "key", NULL },
		[GP__SCOPE_CLASS] = { "gpu", "key", "user", "class", NULL },
		[GP__SCOPE_PROGRAM] = { "gpu", "user", "class", "program", "tag", "job_id",
					"pod_uid", "container_id", NULL },
		[GP__SCOPE_USER] = { "user", NULL },
	};

	return labels[scope];
}
