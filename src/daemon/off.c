// SPDX-License-Identifier: MIT
#include "daemon/off.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/keep.h"

#define HEADER "# GPUs on which 'gpreempt off' has switched scheduling off\n"
#define ALL "all"
#define GPU "gpu " /* and its key */

/*
 * The list
 */

static u32 find(const struct gp__off *o, const char *key)
{
	u32 i = 0;

	while (i < o->nr && strcmp(o->key[i], key) != 0)
		i++;
	return i;
}

bool gp__off_has(const struct gp__off *o, const char *key)
{
	return o->all || find(o, key) < o->nr;
}

bool gp__off_add(struct gp__off *o, const char *key)
{
	if (find(o, key) < o->nr)
		return true;
	if (o->nr == GP__OFF_MAX)
		return false;
	gp__wire_text(o->key[o->nr++], sizeof(o->key[0]), key);
	return true;
}

void gp__off_remove(struct gp__off *o, const char *key)
{
	u32 i = find(o, key);

	if (i < o->nr)
		memmove(o->key[i], o->key[i + 1], (--o->nr - i) * sizeof(o->key[0]));
}

/*
 * The file
 */

static bool read_line(struct gp__off *o, const char *line)
{
	const char *key = line + strlen(GPU);

	if (!strcmp(line, ALL)) {
		o->all = true;
		return true;
	}
	if (!*line || *line == '#')
		return true;
	return !strncmp(line, GPU, strlen(GPU)) && *key && strlen(key) < sizeof(o->key[0]) &&
	       gp__off_add(o, key);
}

static int read_lines(struct gp__off *o, FILE *f)
{
	char line[256];

	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (!read_line(o, line))
			return -EINVAL;
	}
	return ferror(f) ? -EIO : 0;
}

int gp__off_read(struct gp__off *o, const char *path)
{
	int err;
	FILE *f = gp__keep_read(path, &err);

	*o = (struct gp__off){ 0 };
	if (!f && (err == -ENOENT || err == -EPERM))
		return err == -ENOENT ? 0 : err;
	if (f) {
		err = read_lines(o, f);
		fclose(f);
	}
	o->all |= err != 0;
	return err;
}

char *gp__off_text(const struct gp__off *o)
{
	char *text = NULL;
	size_t size;
	FILE *f;

	if (!gp__off_any(o))
		return strdup("");
	f = open_memstream(&text, &size);
	if (!f)
		return NULL;
	fputs(HEADER, f);
	if (o->all)
		fputs(ALL "\n", f);
	for (u32 i = 0; i < o->nr; i++)
		fprintf(f, GPU "%s\n", o->key[i]);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}
