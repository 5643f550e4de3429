// SPDX-License-Identifier: MIT
#include "join/opencl/tokens.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	struct gp__tokens *tokens;
	const char *p, *end;
	uint32_t nr_directives, directive;
	bool line_begins; /* no token of the line was read yet */
	bool no_memory;
};

static bool starts_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) ||
	       c == '$';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool goes_on(char c)
{
	return starts_name(c) || is_digit(c);
}

/* The character @ahead of here; '\0' behind the end. */
static char look(const struct reader *r, size_t ahead)
{
	return (size_t)(r->end - r->p) > ahead ? r->p[ahead] : '\0';
}

static bool make_room(struct gp__tokens *t)
{
	size_t room = t->room ? 2 * t->room : 256;
	struct gp__token *list;

	if (t->n < t->room)
		return true;
	list = realloc(t->list, room * sizeof(*list));
	if (!list)
		return false;
	t->list = list;
	t->room = room;
	return true;
}

static void add(struct reader *r, enum gp__token_kind kind, const char *end)
{
	if (!make_room(r->tokens)) {
		r->no_memory = true;
		r->p = r->end;
		return;
	}
	r->tokens->list[r->tokens->n++] = (struct gp__token){
		.at = r->p, .n = (uint32_t)(end - r->p), .directive = r->directive, .kind = kind
	};
	r->p = end;
	r->line_begins = false;
}

/* The length of a backslash and line end that begin here; 0: there are none. */
static size_t splice_at(const struct reader *r)
{
	if (look(r, 0) != '\\')
		return 0;
	if (look(r, 1) == '\n')
		return 2;
	return look(r, 1) == '\r' && look(r, 2) == '\n' ? 3 : 0;
}

static bool skip_comment(struct reader *r)
{
	if (look(r, 0) != '/')
		return false;
	if (look(r, 1) == '/') {
		while (r->p < r->end && *r->p != '\n')
			r->p += splice_at(r) ? splice_at(r) : 1;
		return true;
	}
	if (look(r, 1) != '*')
		return false;
	for (r->p += 2; r->p < r->end; r->p++) {
		if (look(r, 0) == '*' && look(r, 1) == '/') {
			r->p += 2;
			return true;
		}
	}
	r->tokens->odd = true;
	return true;
}

static bool skip_space(struct reader *r)
{
	char c = look(r, 0);

	if (splice_at(r)) {
		/* A name may continue behind it. */
		if (r->tokens->n &&
		    r->tokens->list[r->tokens->n - 1].at + r->tokens->list[r->tokens->n - 1].n ==
			    r->p &&
		    goes_on(look(r, splice_at(r))))
			r->tokens->odd = true;
		r->p += splice_at(r);
		return true;
	}
	if (c == '\n') {
		r->line_begins = true;
		r->directive = 0;
	} else if (c != ' ' && c != '\t' && c != '\r' && c != '\v' && c != '\f') {
		return skip_comment(r);
	}
	r->p++;
	return true;
}

static void read_name(struct reader *r)
{
	const char *end = r->p;

	while (end < r->end && goes_on(*end))
		end++;
	add(r, GP__TOKEN_NAME, end);
}

/* A preprocessing number, which need not be a valid number. */
static void read_number(struct reader *r)
{
	const char *end = r->p;

	for (; end < r->end && (goes_on(*end) || *end == '.'); end++) {
		bool exponent = strchr("eEpP", *end) != NULL;

		if (exponent && end + 1 < r->end && (end[1] == '+' || end[1] == '-'))
			end++;
	}
	add(r, GP__TOKEN_OTHER, end);
}

static void read_quoted(struct reader *r, char quote)
{
	const char *end = r->p + 1;

	while (end < r->end && *end != quote && *end != '\n')
		end += *end == '\\' && end + 1 < r->end ? 2 : 1;
	/* A directive such as #error may have a single quote. */
	if (end < r->end && *end == quote)
		end++;
	else if (!r->directive)
		r->tokens->odd = true;
	add(r, GP__TOKEN_OTHER, end);
}

static bool is_digraph(const struct reader *r)
{
	static const char *const digraphs[] = { "<%", "%>", "<:", ":>", "%:", "??" };

	for (size_t i = 0; i < sizeof(digraphs) / sizeof(digraphs[0]); i++) {
		if (look(r, 0) == digraphs[i][0] && look(r, 1) == digraphs[i][1])
			return true;
	}
	return false;
}

static void read_mark(struct reader *r)
{
	if (is_digraph(r))
		r->tokens->odd = true;
	if (*r->p == '#' && r->line_begins)
		r->directive = ++r->nr_directives;
	add(r, GP__TOKEN_MARK, r->p + 1);
}

static void read_token(struct reader *r)
{
	char c = *r->p;

	if (starts_name(c))
		read_name(r);
	else if (is_digit(c) || (c == '.' && is_digit(look(r, 1))))
		read_number(r);
	else if (c == '"' || c == '\'')
		read_quoted(r, c);
	else
		read_mark(r);
}

int gp__tokens_read(struct gp__tokens *tokens, const char *text, size_t size)
{
	struct reader r = { .tokens = tokens, .p = text, .end = text + size, .line_begins = true };

	memset(tokens, 0, sizeof(*tokens));
	/* Also for an empty source: callers point to the end of the list. */
	if (size > UINT32_MAX || !make_room(tokens))
		return -ENOMEM;
	while (r.p < r.end) {
		if (!skip_space(&r))
			read_token(&r);
	}
	if (!r.no_memory)
		return 0;
	gp__tokens_free(tokens);
	return -ENOMEM;
}

void gp__tokens_free(struct gp__tokens *tokens)
{
	free(tokens->list);
	memset(tokens, 0, sizeof(*tokens));
}

bool gp__token_is(const struct gp__token *token, const char *text)
{
	return strlen(text) == token->n && !memcmp(token->at, text, token->n);
}

bool gp__token_is_mark(const struct gp__token *token, char mark)
{
	return token->kind == GP__TOKEN_MARK && *token->at == mark;
}

bool gp__token_begins(const struct gp__token *token, const char *prefix)
{
	return token->n >= strlen(prefix) && !memcmp(token->at, prefix, strlen(prefix));
}

bool gp__token_is_among(const struct gp__token *token, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (gp__token_is(token, list[i]))
			return true;
	}
	return false;
}

int gp__token_depth(const struct gp__token *t)
{
	if (gp__token_is_mark(t, '(') || gp__token_is_mark(t, '{'))
		return 1;
	return gp__token_is_mark(t, ')') || gp__token_is_mark(t, '}') ? -1 : 0;
}

const struct gp__token *gp__token_partner(const struct gp__token *t, const struct gp__token *end)
{
	char opens = *t->at, closes = opens == '(' ? ')' : '}';
	size_t depth = 0;

	for (; t < end; t++) {
		if (gp__token_is_mark(t, opens))
			depth++;
		else if (gp__token_is_mark(t, closes) && !--depth)
			return t;
	}
	return end;
}

const struct gp__token *gp__token_before_parentheses(const struct gp__token *t,
						     const struct gp__token *from)
{
	size_t depth = 0;

	for (; t > from; t--) {
		if (gp__token_is_mark(t, ')'))
			depth++;
		else if (gp__token_is_mark(t, '(') && !--depth)
			return t - 1;
	}
	return NULL;
}
