/* SPDX-License-Identifier: MIT */
/*
 * The tokens of a C source as it is written, before the preprocessor: names, marks, and all else
 * (numbers, strings, characters). Comments are none. A directive's tokens carry its number.
 */
#ifndef GP__JOIN_OPENCL_TOKENS_H
#define GP__JOIN_OPENCL_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gp__token_kind { GP__TOKEN_NAME, GP__TOKEN_MARK, GP__TOKEN_OTHER };

struct gp__token {
	const char *at; /* in the source */
	uint32_t n; /* bytes; of a mark, 1 */
	uint32_t directive; /* 0: it is in none */
	enum gp__token_kind kind;
};

struct gp__tokens {
	struct gp__token *list;
	size_t n, room;
	/* What only a compiler could follow: digraphs, names that go on in the next line, a string
	 * or a comment without an end. */
	bool odd;
};

/* 0 or -ENOMEM. */
int gp__tokens_read(struct gp__tokens *tokens, const char *text, size_t size);
void gp__tokens_free(struct gp__tokens *tokens);

bool gp__token_is(const struct gp__token *token, const char *text);
/* Of which kind of `mark`. */
bool gp__token_is_mark(const struct gp__token *token, char mark);

#endif
