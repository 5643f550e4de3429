// SPDX-License-Identifier: MIT
#include "base/log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* $JOURNAL_STREAM is inherited; only the stream it names is the journal's. */
static bool is_journal(FILE *stream)
{
	const char *name = getenv("JOURNAL_STREAM");
	uintmax_t dev, ino;
	struct stat st;

	if (!name || sscanf(name, "%ju:%ju", &dev, &ino) != 2)
		return false;
	return !fstat(fileno(stream), &st) && st.st_dev == dev && st.st_ino == ino;
}

void gp__log_init(struct gp__log *log, const char *program, FILE *stream)
{
	*log = (struct gp__log){
		.level = GP__LOG_WARNING,
		.program = program,
		.stream = stream,
		.journal = is_journal(stream),
	};
}

static void write_line(const struct gp__log *log, enum gp__log_level level, const char *line,
		       int len)
{
	static const char *const names[] = {
		[GP__LOG_ERROR] = "error: ",
		[GP__LOG_WARNING] = "warning: ",
		[GP__LOG_INFO] = "",
		[GP__LOG_DEBUG] = "debug: ",
	};

	if (log->journal)
		fprintf(log->stream, "<%d>%.*s\n", level, len, line);
	else
		fprintf(log->stream, "%s: %s%.*s\n", log->program, names[level], len, line);
}

static void write_lines(const struct gp__log *log, enum gp__log_level level, const char *message)
{
	flockfile(log->stream);
	for (;;) {
		size_t len = strcspn(message, "\n");

		write_line(log, level, message, (int)len);
		if (!message[len])
			break;
		message += len + 1;
	}
	fflush(log->stream);
	funlockfile(log->stream);
}

static void log_message(const struct gp__log *log, enum gp__log_level level,
			const struct gp__log_field *fields, size_t n, const char *fmt, va_list ap)
{
	char message[1024];

	if (vsnprintf(message, sizeof(message), fmt, ap) >= (int)sizeof(message))
		strcpy(message + sizeof(message) - 4, "...");
	if (log->fn)
		log->fn(log->data, level, message);
	else if (!log->entry || !log->entry(log->entry_data, level, message, fields, n))
		write_lines(log, level, message);
}

void gp__log(const struct gp__log *log, enum gp__log_level level, const char *fmt, ...)
{
	va_list ap;

	if (level > log->level)
		return;
	va_start(ap, fmt);
	log_message(log, level, NULL, 0, fmt, ap);
	va_end(ap);
}

void gp__log_about(const struct gp__log *log, enum gp__log_level level,
		   const struct gp__log_field *fields, size_t n, const char *fmt, ...)
{
	va_list ap;

	if (level > log->level)
		return;
	va_start(ap, fmt);
	log_message(log, level, fields, n, fmt, ap);
	va_end(ap);
}
