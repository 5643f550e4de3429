// SPDX-License-Identifier: MIT
#include "cli/log_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "policy/policy.h"

#define CONTINUED "# gpreempt decision log 2, continued\n"

static int cannot_read(struct gp__env *env, const char *path)
{
	bool denied = errno == EACCES;

	return gp__env_fail(env, denied ? GP__EXIT_NO_PERMISSION : GP__EXIT_FAILURE,
			    denied ? "Only administrators may read gpreemptd's log." : NULL,
			    "cannot read the log %s: %m", path);
}

/* Appends the file to @out. False, with errno: it cannot be read. */
static bool copy(FILE *in, FILE *out)
{
	char part[65536];
	size_t n;

	errno = 0;
	while ((n = fread(part, 1, sizeof(part), in)) > 0) {
		if (fwrite(part, 1, n, out) != n)
			return false;
	}
	return !ferror(in);
}

/* The log that this one continues: the daemon has renamed it to PATH.1. NULL: there is none. */
static FILE *open_before(struct log_file *f, FILE *in)
{
	char line[sizeof(CONTINUED)] = "";
	struct stat st;
	bool is;

	/* A pipe is read once. */
	if (fstat(fileno(in), &st) || !S_ISREG(st.st_mode))
		return NULL;
	is = fread(line, 1, sizeof(CONTINUED) - 1, in) == sizeof(CONTINUED) - 1 &&
	     !strcmp(line, CONTINUED);

	if (fseek(in, 0, SEEK_SET))
		return NULL;
	if (!is || snprintf(f->before, sizeof(f->before), "%s.1", f->path) >= PATH_MAX)
		return NULL;
	return fopen(f->before, "re");
}

static u64 count_lines(const char *text, size_t size)
{
	u64 n = 0;

	for (size_t i = 0; i < size; i++)
		n += text[i] == '\n';
	return n;
}

static bool read_before(struct log_file *f, FILE *in, FILE *out)
{
	FILE *before = open_before(f, in);
	bool ok;

	if (!before) {
		f->before[0] = '\0';
		return true;
	}
	ok = copy(before, out) && !fflush(out);
	fclose(before);
	if (ok)
		f->lines_before = count_lines(f->text, f->size);
	return ok;
}

int log_file_open(struct gp__env *env, struct log_file *f, const char *path)
{
	FILE *in = fopen(path, "re"), *out;
	bool ok;

	*f = (struct log_file){ .path = path };
	if (!in)
		return cannot_read(env, path);
	out = open_memstream(&f->text, &f->size);
	ok = out && read_before(f, in, out) && copy(in, out);
	if (out && fclose(out))
		ok = false;
	fclose(in);
	if (ok)
		return 0;
	log_file_close(f);
	return cannot_read(env, path);
}

void log_file_close(struct log_file *f)
{
	int err = errno;

	free(f->text);
	f->text = NULL;
	errno = err;
}

/* The line of an error counts in the file that it is in. */
static int is_no_log(struct gp__env *env, const struct log_file *f,
		     const struct gp__history_error *why)
{
	bool is_before = why->line <= f->lines_before;

	return gp__env_fail(env, GP__EXIT_USAGE,
			    "A decision log is written by gpreemptd (gpreemptd.conf(5), log) or "
			    "'gpreempt sim --log'.",
			    "%s:%llu: %s", is_before && *f->before ? f->before : f->path,
			    (unsigned long long)(why->line - (is_before ? 0 : f->lines_before)),
			    why->text);
}

int log_file_read(struct gp__env *env, const struct log_file *f, u64 begin, struct gp__history *h)
{
	FILE *in = fmemopen(f->size ? f->text : (char[]){ "" }, f->size ? f->size : 1, "r");
	struct gp__history_error why = { .text = "expected a decision log, but the file is empty" };
	int err;

	gp__history_init(h, begin);
	if (!in)
		return gp__env_fail(env, GP__EXIT_FAILURE, NULL, "out of memory");
	err = f->size ? gp__history_read(h, in, gp__policies, &why) : -EINVAL;
	fclose(in);
	if (err == -EINVAL)
		return is_no_log(env, f, &why);
	if (err)
		return gp__env_fail(env, GP__EXIT_FAILURE, NULL, "out of memory");
	gp__history_finish(h, 0);
	return 0;
}
