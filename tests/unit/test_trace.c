// SPDX-License-Identifier: MIT
/* The bytes of a trace, and lines that no trace is made of. */
#include "trace/decisions.h"
#include "trace/kernel.h"
#include "trace/machine.h"
#include "trace/perfetto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unit/test.h"

struct room {
	char *text;
	size_t size;
	FILE *out;
	struct gp__perfetto w;
};

static void room_open(struct room *r)
{
	r->out = open_memstream(&r->text, &r->size);
	assert_non_null(r->out);
	gp__perfetto_open(&r->w, r->out, 1);
}

static void room_close(struct room *r)
{
	assert_int_equal(gp__perfetto_close(&r->w), 0);
	fclose(r->out);
	free(r->text);
}

static void assert_bytes(const struct gp__proto *p, const void *bytes, size_t n)
{
	assert_int_equal(p->used, n);
	assert_memory_equal(p->at, bytes, n);
}

static void test_numbers(void **state)
{
	struct gp__proto p = { 0 };

	(void)state;
	gp__proto_u64(&p, 1, 0);
	gp__proto_u64(&p, 1, 127);
	gp__proto_u64(&p, 1, 128);
	gp__proto_u64(&p, 58, 300);
	assert_bytes(&p, "\x08\x00\x08\x7f\x08\x80\x01\xd0\x03\xac\x02", 11);
	p.used = 0;
	gp__proto_s64(&p, 4, -1);
	assert_bytes(&p, "\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
	p.used = 0;
	gp__proto_fixed64(&p, 47, 0x0102030405060708);
	assert_bytes(&p, "\xf9\x02\x08\x07\x06\x05\x04\x03\x02\x01", 10);
	gp__proto_free(&p);
}

static void test_nesting(void **state)
{
	struct gp__proto p = { 0 };
	char text[201];
	size_t outer, inner;

	(void)state;
	memset(text, 'x', 200);
	text[200] = '\0';
	outer = gp__proto_begin(&p, 1);
	gp__proto_end(&p, gp__proto_begin(&p, 8));
	inner = gp__proto_begin(&p, 11);
	gp__proto_text(&p, 23, text);
	gp__proto_end(&p, inner);
	gp__proto_end(&p, outer);
	/* 200 bytes with a key and a length of two bytes each; then two more of each kind. */
	assert_int_equal(p.used, 1 + 2 + 2 + 1 + 2 + 204);
	assert_memory_equal(p.at, "\x0a\xd1\x01\x42\x00\x5a\xcc\x01\xba\x01\xc8\x01x", 13);
	gp__proto_free(&p);
}

static void test_first_packet(void **state)
{
	struct room r;

	(void)state;
	room_open(&r);
	gp__perfetto_clocks(&r.w, 5, 0, 0);
	gp__perfetto_end(&r.w, 2, 7);
	fflush(r.out);
	assert_int_equal(r.size, 19 + 15);
	assert_memory_equal(r.text,
			    "\x0a\x11\x50\x01\xb8\x05\x01\x68\x01\x32\x08\x0a\x04\x08\x03\x10\x05"
			    "\x10\x03"
			    "\x0a\x0d\x50\x01\x40\x07\xd0\x03\x03\x5a\x04\x48\x02\x58\x02",
			    r.size);
	room_close(&r);
}

static void test_tracks_differ(void **state)
{
	(void)state;
	assert_int_equal(gp__perfetto_uuid("a", "gpu", 1), gp__perfetto_uuid("a", "gpu", 1));
	assert_int_not_equal(gp__perfetto_uuid("a", "gpu", 1), gp__perfetto_uuid("a", "gpu", 2));
	assert_int_not_equal(gp__perfetto_uuid("a", "gpu", 1), gp__perfetto_uuid("b", "gpu", 1));
	assert_int_not_equal(gp__perfetto_uuid("ag", "pu", 1), gp__perfetto_uuid("a", "gpu", 1));
}

static void test_full_disk(void **state)
{
	FILE *full = fopen("/dev/full", "we");
	struct gp__perfetto w;

	(void)state;
	assert_non_null(full);
	setvbuf(full, NULL, _IONBF, 0);
	gp__perfetto_open(&w, full, 1);
	gp__perfetto_end(&w, 1, 1);
	gp__perfetto_end(&w, 1, 2);
	assert_int_equal(w.nr_packets, 0);
	assert_int_equal(gp__perfetto_close(&w), -ENOSPC);
	fclose(full);
}

static void test_machine_lines(void **state)
{
	struct gp__trace_machine *m;
	struct room r;

	(void)state;
	room_open(&r);
	m = gp__trace_machine_open(&r.w, "machine");
	assert_int_equal(gp__trace_machine_line(m, "10 20 0 busy"), 0);
	assert_int_equal(gp__trace_machine_line(m, "10 20 0 on 7 1"), 0);
	assert_int_equal(gp__trace_machine_line(m, "end"), 0);
	assert_int_equal(gp__trace_machine_line(m, ""), -EINVAL);
	assert_int_equal(gp__trace_machine_line(m, "10 20 0"), -EINVAL);
	assert_int_equal(gp__trace_machine_line(m, "10 20 0 on"), -EINVAL);
	assert_int_equal(gp__trace_machine_line(m, "10 20 0 busy 7 1"), -EINVAL);
	assert_int_equal(gp__trace_machine_line(m, "10 20 0 on 7 1 9"), -EINVAL);
	assert_int_equal(gp__trace_machine_line(m, "10 20 0 dances 7 1"), -EINVAL);
	/* Two begin, and end with the trace. */
	assert_int_equal(r.w.nr_packets, 4);
	gp__trace_machine_close(m);
	assert_int_equal(r.w.nr_packets, 6);
	room_close(&r);
}

static void test_kernel_lines(void **state)
{
	static const char ring[] = " k-1 [0] d.. 1.5: kfd_sched_ring: gpu_id=1 pid=2 queue=3 ready";
	struct gp__trace_kernel *k;
	struct room r;

	(void)state;
	room_open(&r);
	k = gp__trace_kernel_open(&r.w, "kernel");
	assert_int_equal(gp__trace_kernel_line(k, "# tracer: nop"), 0);
	assert_int_equal(gp__trace_kernel_line(k, " k-1 [0] 1.5: sched_switch: x"), 0);
	assert_int_equal(r.w.nr_packets, 0);
	assert_int_equal(gp__trace_kernel_line(k, ring), 0);
	assert_int_equal(r.w.nr_packets, 4);
	assert_int_equal(gp__trace_kernel_line(k, "x: kfd_sched_ring: gpu_id=1"), -EINVAL);
	assert_int_equal(gp__trace_kernel_line(k, " 1.5: kfd_sched_ring: gpu_id=1"), -EINVAL);
	assert_int_equal(gp__trace_kernel_line(k, " 1.5: kfd_sched_action: gpu_id=1"), -EINVAL);
	gp__trace_kernel_close(k);
	assert_int_equal(r.w.nr_packets, 5);
	room_close(&r);
}

/* Lines whose beginning is not in the log, in any order. */
static void test_log_from_the_middle(void **state)
{
	static const char *const lines[] = {
		"5 > gpu0 e2 admit q=5 level=3 why=idle by=e3",
		"6 < gpu0 e2 idle q=5 since=1 sees_ns=0",
		"7 > gpu0 e2 exclude q=5 level=3 why=priority by=e9",
		"8 > gpu0 e2 exclude q=5 level=3 why=priority by=e9",
		"9 < gpu0 e3 ready q=5 pending=1",
		"10 < gpu0 e2 entity-remove",
		"10 < gpu0 e2 entity-remove",
		"11 < gpu0 - device-remove",
		"# gpreempt decision log 2",
		"# 3 lines are missing here",
		"",
	};
	const char *expected;
	struct gp__trace *t;
	struct room r;

	(void)state;
	room_open(&r);
	t = gp__trace_open(&r.w, "log", NULL, NULL);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_int_equal(gp__trace_line(t, lines[i], strlen(lines[i]), &expected), 0);
	assert_int_equal(gp__trace_line(t, "12 < gpu0 e2 dance", 18, &expected), -EINVAL);
	gp__trace_close(t, 20);
	room_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),	     cmocka_unit_test(test_nesting),
		cmocka_unit_test(test_first_packet), cmocka_unit_test(test_tracks_differ),
		cmocka_unit_test(test_full_disk),    cmocka_unit_test(test_machine_lines),
		cmocka_unit_test(test_kernel_lines), cmocka_unit_test(test_log_from_the_middle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
