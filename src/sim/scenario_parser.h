/* SPDX-License-Identifier: MIT */
/* The state of reading a scenario file: lines (scenario.c) and their meaning (scenario_keys.c). */
#ifndef GP_SIM_SCENARIO_PARSER_H
#define GP_SIM_SCENARIO_PARSER_H

#include "sim/scenario_draft.h"

#define GP__PARSER_MAX_LINE 190

struct gp__section;

struct gp__parser {
	struct gp__draft draft;
	const char *pos;
	const char *end;
	unsigned int line;
	int ret;

	const struct gp__section *section;
	void *target; /* the struct the section's keys are stored in */
	unsigned int section_line;
	unsigned int key_line[GP__PROGRAM_KEYS]; /* of the section with the most keys */
	bool have_scenario;
};

/* Reports an error in the current line. */
#define fail(p, ...) gp__draft_fail(&(p)->draft, (p)->line, __VA_ARGS__)
#define fail_at(p, line, ...) gp__draft_fail(&(p)->draft, (line), __VA_ARGS__)

/* @header is a line that begins with '['. Ends the section before it. */
int gp__parser_begin_section(struct gp__parser *p, const char *header);
/* Check the section as a whole; at the end of the file too. */
int gp__parser_end_section(struct gp__parser *p);
int gp__parser_set(struct gp__parser *p, const char *name, const char *value);

#endif
