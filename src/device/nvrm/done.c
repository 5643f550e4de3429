// SPDX-License-Identifier: MIT
#include "device/nvrm/done.h"

#include <string.h>

/*
 * A command is a header (the format of its words, their number, the engine and its method) and its
 * words. The table has the last commands of a kernel's launch: a number is written into memory, the
 * kernel is launched, which increments it at its end, and a sequence number is written, which only
 * says that the commands were read.
 */
static const struct {
	uint8_t at; /* among the last words */
	uint32_t word;
} launch[] = {
	{ 1, 0x20022062 }, /* the address: two words, the upper half first */
	{ 4, 0x20022060 }, /* one line of four bytes */
	{ 5, 4 },	    { 6, 1 }, { 7, 0x2001206c }, /* go */
	{ 9, 0x6001206d }, /* the number itself */
	{ 11, 0x200120ad }, /* the kernel's description */
	{ 13, 0x200120b0 }, /* launch it */
	{ 15, 0x200426c0 }, /* the sequence number: four words */
};

enum { UPPER = 2, LOWER = 3, NUMBER = 10 };

void gp__nvrm_entry_decode(uint64_t entry, uint64_t *at, uint32_t *words)
{
	*at = entry & 0xfffffffffcull;
	*words = (uint32_t)(entry >> 42) & 0x1fffff;
}

bool gp__nvrm_end_parse(const uint32_t w[GP__NVRM_END_WORDS], struct gp__nvrm_end *end)
{
	for (size_t i = 0; i < sizeof(launch) / sizeof(launch[0]); i++) {
		if (w[launch[i].at] != launch[i].word)
			return false;
	}
	*end = (struct gp__nvrm_end){ (uint64_t)w[UPPER] << 32 | w[LOWER], w[NUMBER] + 1 };
	return end->at && end->at % 4 == 0;
}

void gp__nvrm_end_find(struct gp__peek *peek, const struct gp__nvrm_ring *ring, uint32_t put,
		       struct gp__nvrm_end *end)
{
	struct gp__word word[GP__NVRM_END_WORDS / 2];
	uint32_t words[GP__NVRM_END_WORDS], nr;
	uint64_t at;

	end->at = 0;
	if (!ring->at || !ring->entries || put > ring->entries)
		return;
	word[0].at = ring->at + 8ull * ((put ? put : ring->entries) - 1);
	if (gp__peek(peek, word, 1) != 1)
		return;
	gp__nvrm_entry_decode(word[0].value, &at, &nr);
	if (nr < GP__NVRM_END_WORDS)
		return;
	for (uint32_t i = 0; i < GP__NVRM_END_WORDS / 2; i++)
		word[i].at = at + 4ull * (nr - GP__NVRM_END_WORDS) + 8ull * i;
	if (gp__peek(peek, word, GP__NVRM_END_WORDS / 2) != GP__NVRM_END_WORDS / 2)
		return;
	for (uint32_t i = 0; i < GP__NVRM_END_WORDS / 2; i++)
		memcpy(&words[2 * i], &word[i].value, sizeof(word[i].value));
	if (!gp__nvrm_end_parse(words, end))
		end->at = 0;
}

int gp__nvrm_end_reached(struct gp__peek *peek, const struct gp__nvrm_end *end)
{
	/* Eight bytes are read, and must not cross into unmapped memory. */
	bool upper = end->at % 8;
	struct gp__word word = { .at = end->at - (upper ? 4 : 0) };
	uint32_t is;

	if (gp__peek(peek, &word, 1) != 1)
		return -1;
	is = (uint32_t)(upper ? word.value >> 32 : word.value);
	/* Later kernels reuse the place, with larger numbers. */
	return (int32_t)(is - end->number) >= 0;
}
