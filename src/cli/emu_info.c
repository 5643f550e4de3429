// SPDX-License-Identifier: MIT
/* gpreempt emu info: how far the results of each instruction can be trusted. */
#include "cli/emu.h"

#include "base/json.h"
#include "base/table.h"

static const char *const trust_names[] = {
	[EMU_EXACT] = "exact",
	[EMU_APPROXIMATE] = "approximate",
	[EMU_UNSUPPORTED] = "unsupported",
};

#define NR_TRUSTS (sizeof(trust_names) / sizeof(trust_names[0]))

struct census {
	unsigned int nr[NR_TRUSTS];
};

static struct census count(const struct emu_chip *chip)
{
	struct census c = { 0 };
	struct emu_opcode op;

	for (uint32_t i = 0; i < chip->engine->nr_opcodes; i++) {
		if (chip->engine->opcode(chip->target, i, &op))
			c.nr[op.trust]++;
	}
	return c;
}

static int print_json(struct gp__env *env, const struct emu_chip *chip)
{
	struct census c = count(chip);
	json_t *root = gp__json_envelope(), *list = json_array();
	struct emu_opcode op;

	for (uint32_t i = 0; i < chip->engine->nr_opcodes; i++) {
		if (chip->engine->opcode(chip->target, i, &op))
			json_array_append_new(list, json_pack("{s:s, s:s, s:s?}", "name", op.name,
							      "trust", trust_names[op.trust],
							      "note", op.note));
	}
	json_object_set_new(root, "gpu", json_string(chip->name));
	for (unsigned int t = 0; t < NR_TRUSTS; t++)
		json_object_set_new(root, trust_names[t], json_integer(c.nr[t]));
	json_object_set_new(root, "instructions", list);
	return gp__json_print(env, root) ? GP__EXIT_FAILURE : GP__EXIT_OK;
}

int emu_info_print(struct gp__env *env, const struct emu_chip *chip, bool all)
{
	struct census c = count(chip);
	struct gp__table *table;
	struct emu_opcode op;

	if (env->json)
		return print_json(env, chip);
	table = gp__table_new(env);
	gp__table_column(table, "INSTRUCTION", GP__LEFT);
	gp__table_column(table, "TRUST", GP__LEFT);
	gp__table_column(table, "NOTE", GP__LEFT);
	for (uint32_t i = 0; i < chip->engine->nr_opcodes; i++) {
		if (!chip->engine->opcode(chip->target, i, &op) || (op.trust == EMU_EXACT && !all))
			continue;
		gp__table_row(table);
		gp__table_cell(table, op.name);
		gp__table_cell(table, trust_names[op.trust]);
		gp__table_cell(table, op.note ? op.note : "");
	}
	if (gp__table_print(table))
		return GP__EXIT_FAILURE;
	fprintf(env->out,
		"%s: %u instructions are exact (tests compare them with the host bit by bit), %u "
		"approximate, %u unsupported\n",
		chip->name, c.nr[EMU_EXACT], c.nr[EMU_APPROXIMATE], c.nr[EMU_UNSUPPORTED]);
	return GP__EXIT_OK;
}
