// SPDX-License-Identifier: MIT
/* Any lines give a trace: of decisions, of an emulated machine and of the kernel's tracepoints. */
#include <stdlib.h>
#include <string.h>

#include "trace/decisions.h"
#include "trace/kernel.h"
#include "trace/machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take_lines(char *text, struct gp__perfetto *w)
{
	struct gp__trace *t = gp__trace_open(w, "log", NULL, NULL);
	struct gp__trace_machine *m = gp__trace_machine_open(w, "machine");
	struct gp__trace_kernel *k = gp__trace_kernel_open(w, "kernel");
	const char *expected;
	char *rest = text, *line;

	if (!t || !m || !k)
		abort();
	while ((line = strsep(&rest, "\n"))) {
		gp__trace_line(t, line, strlen(line), &expected);
		gp__trace_machine_line(m, line);
		gp__trace_kernel_line(k, line);
	}
	gp__trace_close(t, 0);
	gp__trace_machine_close(m);
	gp__trace_kernel_close(k);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *out;
	struct gp__perfetto w;
	char *text = malloc(size + 1);

	if (!out)
		out = fopen("/dev/null", "we");
	if (!text || !out)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	gp__perfetto_open(&w, out, 1);
	take_lines(text, &w);
	if (gp__perfetto_close(&w))
		abort();
	free(text);
	return 0;
}
