// SPDX-License-Identifier: MIT
#include "base/cmd.h"

#include "base/json.h"
#include "base/table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
	KEY_HELP = 'h',
	KEY_JSON = 0x1000,
	KEY_NO_HEADERS,
	KEY_USAGE,
};

static const struct argp_option common_options[] = {
	{ "json", KEY_JSON, NULL, 0, "print one JSON document instead of text", -1 },
	{ "no-headers", KEY_NO_HEADERS, NULL, 0, "leave out the first line of tables", -1 },
	{ "help", KEY_HELP, NULL, 0, "show this help", -1 },
	{ "usage", KEY_USAGE, NULL, 0, "show the options in short", -1 },
	{ 0 },
};

/* The state of one parse besides the command's own input. */
struct parse {
	struct gp__env *env;
	void *input;
	FILE *messages;
};

static error_t show_help(struct argp_state *state, unsigned int what)
{
	const struct parse *p = state->input;

	argp_state_help(state, p->env->out, what);
	return ECANCELED;
}

static error_t parse_common(int key, char *arg, struct argp_state *state)
{
	struct parse *p = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = p->input;
		state->err_stream = p->messages;
		return 0;
	case KEY_JSON:
		p->env->json = true;
		return 0;
	case KEY_NO_HEADERS:
		p->env->headers = false;
		return 0;
	case KEY_HELP:
		return show_help(state, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC);
	case KEY_USAGE:
		return show_help(state, ARGP_HELP_USAGE);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* An error before --json on the command line is told in JSON as well. */
static bool asks_for_json(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "--json"))
			return true;
	}
	return false;
}

/* argp's first line is "NAME: what is wrong"; getopt writes its own, past the stream. */
static void tell_usage_json(struct gp__env *env, const char *name, char *messages)
{
	size_t prefix = strlen(name) + 2;
	const char *message = "the command line has an unknown or incomplete option";

	messages[strcspn(messages, "\n")] = '\0';
	if (strlen(messages) > prefix && !strncmp(messages, name, strlen(name)) &&
	    messages[prefix - 2] == ':')
		message = messages + prefix;
	gp__json_print_error(env, GP__EXIT_USAGE, message, NULL);
}

static error_t run_argp(struct parse *p, const struct argp *argp, int argc, char **argv,
			unsigned int flags)
{
	struct argp own = *argp;
	const struct argp_child children[] = { { &own, 0, NULL, 0 }, { 0 } };
	const struct argp whole = {
		.options = common_options,
		.parser = parse_common,
		.args_doc = argp->args_doc,
		.doc = argp->doc,
		.children = children,
	};

	own.args_doc = NULL;
	own.doc = NULL;
	return argp_parse(&whole, argc, argv, flags | ARGP_NO_EXIT | ARGP_NO_HELP, NULL, p);
}

static bool parse_with(struct gp__env *env, const struct argp *argp, int argc, char **argv,
		       void *input, int *status, unsigned int flags)
{
	struct parse p = { .env = env, .input = input };
	char *command = argv[0];
	char *messages = NULL;
	size_t len = 0;
	char name[128];
	error_t err;

	snprintf(name, sizeof(name), "%s%s%s", env->program,
		 strcmp(command, env->program) ? " " : "",
		 strcmp(command, env->program) ? command : "");
	p.messages = open_memstream(&messages, &len);
	if (!p.messages) {
		*status = gp__env_fail(env, GP__EXIT_FAILURE, NULL, "out of memory");
		return false;
	}
	argv[0] = name;
	err = run_argp(&p, argp, argc, argv, flags);
	argv[0] = command;
	fclose(p.messages);
	fwrite(messages, 1, len, env->err);
	*status = err == ECANCELED ? GP__EXIT_OK : GP__EXIT_USAGE;
	if (err && err != ECANCELED && asks_for_json(argc, argv))
		tell_usage_json(env, name, messages);
	free(messages);
	return !err;
}

bool gp__cmd_parse(struct gp__env *env, const struct argp *argp, int argc, char **argv, void *input,
		   int *status)
{
	return parse_with(env, argp, argc, argv, input, status, 0);
}

bool gp__cmd_parse_prefix(struct gp__env *env, const struct argp *argp, int argc, char **argv,
			  void *input, int *status)
{
	return parse_with(env, argp, argc, argv, input, status, ARGP_IN_ORDER);
}

error_t gp__cmd_usage(struct argp_state *state, const char *fmt, ...)
{
	char message[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	argp_error(state, "%s", message);
	return EINVAL;
}

static const struct gp__cmd *find_command(const struct gp__cmd *table, const char *name)
{
	for (; table->name; table++) {
		if (!strcmp(table->name, name))
			return table;
	}
	return NULL;
}

#define WORD_MAX 32u

static unsigned int lesser(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/*
 * How many letters were added, dropped, changed or swapped with their neighbour
 * between two words, neither longer than WORD_MAX. cost[i][j] is for the first i
 * letters of a and j of b.
 */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int cost[WORD_MAX + 1][WORD_MAX + 1];
	size_t a_len = strlen(a), b_len = strlen(b);
	unsigned int c;

	for (size_t i = 0; i <= a_len; i++)
		cost[i][0] = (unsigned int)i;
	for (size_t j = 0; j <= b_len; j++)
		cost[0][j] = (unsigned int)j;
	for (size_t i = 1; i <= a_len; i++) {
		for (size_t j = 1; j <= b_len; j++) {
			c = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			c = lesser(c, cost[i - 1][j] + 1);
			c = lesser(c, cost[i][j - 1] + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				c = lesser(c, cost[i - 2][j - 2] + 1);
			cost[i][j] = c;
		}
	}
	return cost[a_len][b_len];
}

const char *gp__nearest(const char *word, const char *(*name_at)(const void *table, size_t i),
			const void *table)
{
	unsigned int best_distance = 3;
	const char *best = NULL;
	const char *name;

	if (strlen(word) > WORD_MAX)
		return NULL;
	for (size_t i = 0; (name = name_at(table, i)); i++) {
		unsigned int d = strlen(name) > WORD_MAX ? WORD_MAX : distance(word, name);

		/* A name all of whose letters had to change is no suggestion. */
		if (d < best_distance && d < strlen(name)) {
			best_distance = d;
			best = name;
		}
	}
	return best;
}

static const char *command_name(const void *table, size_t i)
{
	return ((const struct gp__cmd *)table)[i].name;
}

static int unknown_command(struct gp__env *env, const char *word)
{
	const char *nearest = gp__nearest(word, command_name, env->commands);
	char remedy[128];

	snprintf(remedy, sizeof(remedy), "Try '%s help' for the list of commands.", env->program);
	if (nearest)
		return gp__env_fail(env, GP__EXIT_USAGE, remedy,
				    "'%s' is not a command; did you mean '%s'?", word, nearest);
	return gp__env_fail(env, GP__EXIT_USAGE, remedy, "'%s' is not a command", word);
}

int gp__cmd_main(struct gp__env *env, int argc, char **argv,
		 int (*bare)(struct gp__env *env, int argc, char **argv))
{
	char *bare_argv[] = { (char *)env->program, NULL };
	const struct gp__cmd *command;
	const char *word;

	if (argc < 2)
		return bare(env, 1, bare_argv);
	word = argv[1];
	if (!strcmp(word, "--version") || !strcmp(word, "-V"))
		word = "version";
	else if (!strcmp(word, "--help") || !strcmp(word, "-h"))
		word = "help";
	else if (word[0] == '-') {
		argv[0] = (char *)env->program;
		return bare(env, argc, argv);
	}
	command = find_command(env->commands, word);
	if (!command) {
		env->json = asks_for_json(argc, argv);
		return unknown_command(env, word);
	}
	argv[1] = (char *)command->name;
	return command->run(env, argc - 1, argv + 1);
}

static int list_json(struct gp__env *env)
{
	json_t *root = gp__json_envelope();
	json_t *list = json_array();

	for (const struct gp__cmd *c = env->commands; c->name; c++)
		json_array_append_new(
			list, json_pack("{s:s, s:s}", "name", c->name, "summary", c->summary));
	json_object_set_new(root, "commands", list);
	return gp__json_print(env, root) ? GP__EXIT_FAILURE : GP__EXIT_OK;
}

static int list_text(struct gp__env *env)
{
	fprintf(env->out, "Usage: %s COMMAND [OPTION...]\n\n", env->program);
	for (const struct gp__cmd *c = env->commands; c->name; c++)
		fprintf(env->out, "  %-10s %s\n", c->name, c->summary);
	fprintf(env->out,
		"\n'%s help COMMAND' explains a command. Each has --json for programs and\n"
		"--no-headers for scripts. Exit status: 0 done, 1 failed, 2 wrong usage,\n"
		"3 no daemon, 4 no permission.\n",
		env->program);
	return GP__EXIT_OK;
}

static error_t parse_help(int key, char *arg, struct argp_state *state)
{
	const char **command = state->input;

	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (*command)
		return gp__cmd_usage(state, "one command at a time, not '%s' as well", arg);
	*command = arg;
	return 0;
}

int gp__cmd_help(struct gp__env *env, int argc, char **argv)
{
	static const struct argp argp = {
		.parser = parse_help,
		.args_doc = "[COMMAND]",
		.doc = "Explain a command, or list them all.",
	};
	const struct gp__cmd *command;
	const char *word = NULL;
	char *help_argv[] = { NULL, "--help", NULL };
	int status;

	if (!gp__cmd_parse(env, &argp, argc, argv, &word, &status))
		return status;
	if (!word)
		return env->json ? list_json(env) : list_text(env);
	command = find_command(env->commands, word);
	if (!command)
		return unknown_command(env, word);
	help_argv[0] = (char *)command->name;
	return command->run(env, 2, help_argv);
}

int gp__cmd_version(struct gp__env *env, int argc, char **argv)
{
	static const struct argp argp = { .doc = "Show the version of this program." };
	json_t *root;
	int status;

	if (!gp__cmd_parse(env, &argp, argc, argv, NULL, &status))
		return status;
	if (!env->json) {
		fprintf(env->out, "%s %s\n", env->program, env->version);
		return GP__EXIT_OK;
	}
	root = gp__json_envelope();
	json_object_set_new(root, "version", json_string(env->version));
	return gp__json_print(env, root) ? GP__EXIT_FAILURE : GP__EXIT_OK;
}
