// SPDX-License-Identifier: MIT
/*
 * Reads a scenario file, line by line.
 *
 * inih splits the lines, but it truncates long ones, does not report an empty section, and does not
 * tell the number of the first bad line. So a reader here hands over one line at a time, refuses
 * lines that inih would mangle, keeps track of sections and counts lines. It stops at the first
 * error.
 */
#include "sim/scenario.h"

#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/scenario_parser.h"

int gp__draft_fail(struct gp__draft *draft, unsigned int line, const char *fmt, ...)
{
	struct gp__scenario_error *err = draft->err;
	va_list ap;
	int n;

	if (err->text[0])
		return -EINVAL;
	err->line = line;
	n = line ? snprintf(err->text, sizeof(err->text), "%.160s:%u: ", draft->file, line)
		 : snprintf(err->text, sizeof(err->text), "%.160s: ", draft->file);
	va_start(ap, fmt);
	vsnprintf(err->text + n, sizeof(err->text) - (size_t)n, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static int on_pair(void *user, const char *section, const char *name, const char *value)
{
	struct gp__parser *p = user;

	(void)section;
	if (!p->ret)
		p->ret = gp__parser_set(p, name, value);
	return !p->ret;
}

/* Length of the UTF-8 sequence at @s, 0 if it is none or a control character. */
static size_t printable(const unsigned char *s, size_t n)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t len = *s < 0x80 ? 1 : *s >> 5 == 6 ? 2 : *s >> 4 == 14 ? 3 : *s >> 3 == 30 ? 4 : 0;
	uint32_t c;

	if (len == 1)
		return *s == '\t' || (*s >= 0x20 && *s != 0x7f);
	if (!len || len > n)
		return 0;
	c = *s & (0x7fu >> len);
	for (size_t i = 1; i < len; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[len] || c < 0xa0 || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	return len;
}

static int check_line(struct gp__parser *p, const char *s, size_t len)
{
	size_t step;

	for (size_t i = 0; i < len; i += step) {
		step = printable((const unsigned char *)s + i, len - i);
		if (!step)
			return fail(p, "byte 0x%02x cannot be here; expected UTF-8 text",
				    (unsigned char)s[i]);
	}
	if (len > GP__PARSER_MAX_LINE)
		return fail(p, "the line is too long; expected at most %d bytes",
			    GP__PARSER_MAX_LINE);
	return 0;
}

/*
 * The reader for inih. It strips leading blanks, because inih would append the line to the value
 * before, and handles section headers itself, because inih would truncate their names.
 */
static char *next_line(char *buf, int size, void *stream)
{
	struct gp__parser *p = stream;
	const char *start = p->pos, *end;
	size_t len;

	if (p->ret || p->pos == p->end)
		return NULL;
	p->line++;
	end = memchr(start, '\n', (size_t)(p->end - start));
	p->pos = end ? end + 1 : p->end;
	end = end ? end : p->end;
	if (end > start && end[-1] == '\r')
		end--;
	while (start < end && (*start == ' ' || *start == '\t'))
		start++;
	len = (size_t)(end - start);
	p->ret = check_line(p, start, len);
	if (!p->ret && len >= (size_t)size)
		p->ret = fail(p, "the line is too long; expected at most %d bytes", size - 1);
	if (p->ret)
		return NULL;
	memcpy(buf, start, len);
	buf[len] = '\0';
	if (*buf == '[') {
		p->ret = gp__parser_begin_section(p, buf);
		*buf = '\0';
	}
	return p->ret ? NULL : buf;
}

static void skip_byte_order_mark(struct gp__parser *p)
{
	if (p->end - p->pos >= 3 && !memcmp(p->pos, "\xef\xbb\xbf", 3))
		p->pos += 3;
}

static int check_present(struct gp__parser *p)
{
	const struct gp__scenario *sc = p->draft.scenario;

	if (!p->have_scenario)
		return fail_at(p, 0, "there is no [scenario]; expected one");
	if (!sc->n_gpu_specs)
		return fail_at(p, 0, "there is no GPU; expected at least one [gpu NAME]");
	if (!sc->n_program_specs)
		return fail_at(p, 0, "there is no program; expected at least one [program NAME]");
	return 0;
}

static int read_sections(struct gp__parser *p)
{
	int bad_line;

	skip_byte_order_mark(p);
	bad_line = ini_parse_stream(next_line, p, on_pair, p);
	if (bad_line < 0)
		return -ENOMEM;
	/* inih goes on after a line it cannot split, so this line may be before our error. */
	if (bad_line && (!p->ret || (unsigned int)bad_line < p->line)) {
		p->draft.err->text[0] = '\0';
		return fail_at(p, (unsigned int)bad_line,
			       "there is no '='; expected 'key = value'");
	}
	if (p->ret)
		return p->ret;
	p->ret = gp__parser_end_section(p);
	return p->ret ? p->ret : check_present(p);
}

static int name_scenario(struct gp__scenario *sc, const char *file)
{
	sc->file = strdup(file);
	if (!sc->title)
		sc->title = strdup(file);
	return sc->file && sc->title ? 0 : -ENOMEM;
}

static void free_draft(struct gp__draft *draft, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(draft->programs[i].gpu);
	free(draft->programs);
}

int gp__scenario_parse(const char *file, const char *text, size_t len, struct gp__scenario **out,
		       struct gp__scenario_error *err)
{
	struct gp__parser p = {
		.draft = { .file = file, .err = err },
		.pos = text,
		.end = text + len,
	};
	struct gp__scenario *sc;
	int ret;

	*err = (struct gp__scenario_error){ 0 };
	if (len > GP__SCENARIO_MAX_BYTES)
		return fail_at(&p, 0, "the file is too large; expected at most %d bytes",
			       GP__SCENARIO_MAX_BYTES);
	sc = calloc(1, sizeof(*sc));
	if (!sc)
		return -ENOMEM;
	p.draft.scenario = sc;
	ret = read_sections(&p);
	if (!ret)
		ret = gp__draft_resolve(&p.draft);
	if (!ret)
		ret = name_scenario(sc, file);
	free_draft(&p.draft, sc->n_program_specs);
	if (ret == -ENOMEM)
		fail_at(&p, 0, "not enough memory");
	if (ret)
		gp__scenario_free(sc);
	else
		*out = sc;
	return ret;
}

/* Reads at most one byte more than is allowed. */
static int read_all(FILE *f, char **text, size_t *len)
{
	size_t size = GP__SCENARIO_MAX_BYTES + 1;
	char *buf = malloc(size);

	if (!buf)
		return -ENOMEM;
	*len = fread(buf, 1, size, f);
	if (ferror(f)) {
		int ret = -errno;

		free(buf);
		return ret;
	}
	*text = buf;
	return 0;
}

int gp__scenario_load(const char *path, struct gp__scenario **out, struct gp__scenario_error *err)
{
	bool is_stdin = !strcmp(path, "-");
	struct gp__draft draft = { .file = path, .err = err };
	FILE *f = is_stdin ? stdin : fopen(path, "re");
	char *text = NULL;
	size_t len;
	int ret;

	*err = (struct gp__scenario_error){ 0 };
	if (!f) {
		ret = -errno;
		gp__draft_fail(&draft, 0, "cannot be opened: %s", strerror(-ret));
		return ret;
	}
	ret = read_all(f, &text, &len);
	if (!is_stdin)
		fclose(f);
	if (ret) {
		gp__draft_fail(&draft, 0, "cannot be read: %s", strerror(-ret));
		return ret;
	}
	ret = gp__scenario_parse(is_stdin ? "standard input" : path, text, len, out, err);
	free(text);
	return ret;
}

static void free_params(struct gp__scenario_params *params)
{
	for (size_t i = 0; i < params->n; i++) {
		free(params->v[i].name);
		free(params->v[i].value);
	}
	free(params->v);
}

void gp__scenario_free(struct gp__scenario *sc)
{
	if (!sc)
		return;
	for (size_t i = 0; i < sc->n_notes; i++)
		free(sc->notes[i]);
	for (size_t i = 0; i < sc->n_program_specs; i++) {
		free(sc->program_specs[i].gpus);
		free(sc->program_specs[i].arrivals.trace_ns);
	}
	free_params(&sc->policy_params);
	free_params(&sc->core_params);
	free(sc->notes);
	free(sc->title);
	free(sc->file);
	free(sc->gpu_specs);
	free(sc->program_specs);
	free(sc->gpus);
	free(sc->programs);
	free(sc);
}
