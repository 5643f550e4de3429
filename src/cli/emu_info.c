// SPDX-License-Identifier: MIT
/* gpreempt emu info: how far the results of each instruction can be trusted. */
#include "cli/emu.h"

#include "base/json.h"
#include "base/table.h"
#include "emu/gfx9/trust.h"

struct census {
	unsigned int nr[GFX9_UNSUPPORTED + 1];
};

static struct census count(enum gfx9_target target)
{
	struct census c = { 0 };
	const char *note;

	for (uint16_t op = 1; op < GFX9_OPS; op++) {
		if (gfx9_target_has(target, op))
			c.nr[gfx9_trust(op, &note)]++;
	}
	return c;
}

static int print_json(struct gp__env *env, enum gfx9_target target, const char *name)
{
	struct census c = count(target);
	json_t *root = gp__json_envelope(), *list = json_array();
	const char *note;

	for (uint16_t op = 1; op < GFX9_OPS; op++) {
		enum gfx9_trust trust = gfx9_trust(op, &note);

		if (gfx9_target_has(target, op))
			json_array_append_new(
				list, json_pack("{s:s, s:s, s:s?}", "name", gfx9_op_name(op),
						"trust", gfx9_trust_name(trust), "note", note));
	}
	json_object_set_new(root, "gpu", json_string(name));
	for (unsigned int t = 0; t <= GFX9_UNSUPPORTED; t++)
		json_object_set_new(root, gfx9_trust_name(t), json_integer(c.nr[t]));
	json_object_set_new(root, "instructions", list);
	return gp__json_print(env, root) ? GP__EXIT_FAILURE : GP__EXIT_OK;
}

int emu_info_print(struct gp__env *env, enum gfx9_target target, const char *name, bool all)
{
	struct census c = count(target);
	struct gp__table *table;
	const char *note;

	if (env->json)
		return print_json(env, target, name);
	table = gp__table_new(env);
	gp__table_column(table, "INSTRUCTION", GP__LEFT);
	gp__table_column(table, "TRUST", GP__LEFT);
	gp__table_column(table, "NOTE", GP__LEFT);
	for (uint16_t op = 1; op < GFX9_OPS; op++) {
		enum gfx9_trust trust = gfx9_trust(op, &note);

		if (!gfx9_target_has(target, op) || (trust == GFX9_EXACT && !all))
			continue;
		gp__table_row(table);
		gp__table_cell(table, gfx9_op_name(op));
		gp__table_cell(table, gfx9_trust_name(trust));
		gp__table_cell(table, note ? note : "");
	}
	if (gp__table_print(table))
		return GP__EXIT_FAILURE;
	fprintf(env->out,
		"%s: %u instructions are exact (tests compare them with the host bit by bit), %u "
		"approximate, %u unsupported\n",
		name, c.nr[GFX9_EXACT], c.nr[GFX9_APPROXIMATE], c.nr[GFX9_UNSUPPORTED]);
	return GP__EXIT_OK;
}
