/* SPDX-License-Identifier: MIT */
/*
 * Splits a C source into tokens, before the preprocessor: names, punctuation marks, and all others
 * (numbers, strings, characters). Comments are skipped. The tokens of a directive carry its number.
 */
#ifndef GP__JOIN_OPENCL_TOKENS_H
#define GP__JOIN_OPENCL_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gp__token_kind { GP__TOKEN_NAME, GP__TOKEN_MARK, GP__TOKEN_OTHER };

struct gp__token {
	const char *at; /* in the source */
	uint32_t n; /* bytes; a mark has 1 */
	uint32_t directive; /* 0: not in a directive */
	enum gp__token_kind kind;
};

struct gp__tokens {
	struct gp__token *list;
	size_t n, room;
	/* The source has something that only a compiler can follow: digraphs, names that continue
	 * in the next line, an unterminated string or comment. */
	bool odd;
};

/* 0 or -ENOMEM. */
int gp__tokens_read(struct gp__tokens *tokens, const char *text, size_t size);
void gp__tokens_free(struct gp__tokens *tokens);

bool gp__token_is(const struct gp__token *token, const char *text);
bool gp__token_is_mark(const struct gp__token *token, char mark);
bool gp__token_begins(const struct gp__token *token, const char *prefix);
bool gp__token_is_among(const struct gp__token *token, const char *const *list, size_t n);
#define GP__TOKEN_IS_AMONG(token, list) \
	gp__token_is_among(token, list, sizeof(list) / sizeof((list)[0]))

/* 1 at an opening parenthesis or brace, -1 at a closing one, else 0. */
int gp__token_depth(const struct gp__token *token);
/* The partner of the opening bracket at @token; @end: there is none. */
const struct gp__token *gp__token_partner(const struct gp__token *token,
					  const struct gp__token *end);
/* The token before the parentheses that end at @token; NULL: there is none after @from. */
const struct gp__token *gp__token_before_parentheses(const struct gp__token *token,
						     const struct gp__token *from);

#endif
