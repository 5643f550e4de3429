// SPDX-License-Identifier: MIT
/* The JSON document and the two files of a report. */
#include "cli/certify.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/certify_page.h"

#define NEW ".new"

/*
 * JSON
 */

/* A figure of an emulated machine has a key of its own: "measured" is a GPU's. */
static json_t *row_json(const struct certify *c, const struct certify_row *row)
{
	const struct certify_goal *goal = row->goal;
	char text[64];
	json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:s}", "id", goal->id, "seed",
			      certify_sections[goal->section].seed, "what", goal->what, "goal",
			      certify_goal_text(goal, text, sizeof(text)), "unit", goal->unit);

	gp__json_set_real(o, "measured", row->has_value && !c->emulated, row->value);
	gp__json_set_real(o, "emulated", row->has_value && c->emulated, row->value);
	json_object_set_new(o, "verdict", json_string(certify_verdict_name(row->verdict)));
	json_object_set_new(o, "why", *row->why ? gp__json_text(row->why) : json_null());
	return o;
}

static json_t *rows_json(const struct certify *c)
{
	json_t *list = json_array();

	for (size_t i = 0; i < c->nr_rows; i++)
		json_array_append_new(list, row_json(c, &c->row[i]));
	return list;
}

/* The document of each stage, for readers who want more than the verdicts. */
static json_t *documents_json(const struct certify *c)
{
	json_t *o = json_object();

	for (int i = 0; i < CERTIFY_STAGES; i++) {
		if (c->outcome[i].document)
			json_object_set(o, certify_stage_name((enum certify_stage)i),
					c->outcome[i].document);
	}
	return o;
}

json_t *certify_json(const struct certify *c)
{
	json_t *root = gp__json_envelope(), *notes = json_array();

	for (size_t i = 0; i < c->nr_notes; i++)
		json_array_append_new(notes, gp__json_text(c->note[i]));
	json_object_set_new(root, "hardware", json_boolean(!c->emulated));
	json_object_set_new(root, "gpu", gp__json_text(c->gpu));
	json_object_set_new(root, "driver", gp__json_text(c->driver));
	json_object_set_new(root, "date", json_string(c->date));
	json_object_set_new(root, "version", json_string(GP_VERSION));
	json_object_set_new(root, "quick", json_boolean(c->options.quick));
	json_object_set_new(root, "verdict", json_string(certify_verdict_name(certify_overall(c))));
	gp__json_set_u64(root, "passed", true, certify_count(c, CERTIFY_PASSED));
	gp__json_set_u64(root, "failed", true, certify_count(c, CERTIFY_FAILED));
	gp__json_set_u64(root, "not_measured", true, certify_count(c, CERTIFY_NOT_MEASURED));
	json_object_set_new(root, "rows", rows_json(c));
	json_object_set_new(root, "notes", notes);
	json_object_set_new(root, "documents", documents_json(c));
	return root;
}

/*
 * Files
 */

static FILE *open_new(struct certify_report *r, const char *path)
{
	snprintf(r->path, sizeof(r->path), "%s" NEW, path);
	return fopen(r->path, "we");
}

int certify_report_open(struct certify_report *r, const char *name)
{
	*r = (struct certify_report){ 0 };
	snprintf(r->html_path, sizeof(r->html_path), "%s.html", name);
	snprintf(r->json_path, sizeof(r->json_path), "%s.json", name);
	r->html = open_new(r, r->html_path);
	if (!r->html)
		return -errno;
	r->json = open_new(r, r->json_path);
	return r->json ? 0 : -errno;
}

static int write_json(FILE *out, const struct certify *c)
{
	json_t *root = certify_json(c);
	int err = root ? json_dumpf(root, out, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : -1;

	json_decref(root);
	return err || fputc('\n', out) == EOF ? -EIO : 0;
}

/* Replaces the older file. */
static int finish(struct certify_report *r, FILE **out, const char *path, int err)
{
	FILE *file = *out;

	*out = NULL;
	snprintf(r->path, sizeof(r->path), "%s" NEW, path);
	errno = 0;
	if ((fflush(file) || ferror(file)) && !err)
		err = errno ? -errno : -EIO;
	if (fclose(file) && !err)
		err = -errno;
	if (!err && rename(r->path, path))
		err = -errno;
	if (err)
		unlink(r->path);
	snprintf(r->path, sizeof(r->path), "%s", path);
	return err;
}

int certify_report_write(struct certify_report *r, const struct certify *c)
{
	int err;

	certify_page_write(r->html, c);
	err = finish(r, &r->html, r->html_path, 0);
	if (err)
		return err;
	return finish(r, &r->json, r->json_path, write_json(r->json, c));
}

static void forget(struct certify_report *r, FILE **out, const char *path)
{
	if (!*out)
		return;
	fclose(*out);
	*out = NULL;
	snprintf(r->path, sizeof(r->path), "%s" NEW, path);
	unlink(r->path);
}

void certify_report_close(struct certify_report *r)
{
	forget(r, &r->html, r->html_path);
	forget(r, &r->json, r->json_path);
}
