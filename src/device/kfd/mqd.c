// SPDX-License-Identifier: MIT
#include "device/kfd/mqd.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Offsets of words in a compute queue's descriptor, from its first register; all generations from
 * gfx9 to gfx12 have the same, in memory and in the slots.
 */
enum {
	AT_ADDRESS = 0,
	AT_ACTIVE = 2,
	AT_PRIORITY = 6,
	AT_RING = 8,
	SLOT_REGISTERS = 10, /* the part that is read in a slot */
	AT_CONTROL = 17,
	AT_AQL = 53,
	REGISTERS = 54,
};
#define MQD_FIRST_REGISTER 128 /* in memory */
#define PRIORITY_MASK 0xf
#define RING_ORDER_MASK 0x3f

/* The same of an SDMA queue. */
enum {
	AT_SDMA_CONTROL = 0,
	AT_SDMA_RING = 1,
	SDMA_REGISTERS = 3,
};
#define SDMA_ENABLED 1u
#define SDMA_ORDER(control) ((control) >> 1 & 0x1f)

#define RING_SHIFT 8
#define LINE_MAX_BYTES 256

struct reader {
	struct gp__kfd_mqds *list;
	bool slots; /* hqds */
	/* The heading that the text is below. */
	pid_t pid;
	uint32_t gpu_id;
	bool in_queue, sdma;
	/* The registers read so far, in order. */
	uint64_t first; /* offset of register 0 in the dump, in bytes */
	uint32_t seen;
	uint32_t word[REGISTERS];
};

bool gp__kfd_mqd_known(uint32_t gfx_version)
{
	return gfx_version >= 90000 && gfx_version < 130000;
}

/*
 * Lists
 */

static int append(struct gp__kfd_mqds *list, const struct gp__kfd_mqd *mqd)
{
	if (list->nr == list->room) {
		size_t room = list->room ? 2 * list->room : 64;
		struct gp__kfd_mqd *more = realloc(list->mqd, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		list->mqd = more;
		list->room = room;
	}
	list->mqd[list->nr++] = *mqd;
	return 0;
}

void gp__kfd_mqds_free(struct gp__kfd_mqds *mqds)
{
	free(mqds->mqd);
	*mqds = (struct gp__kfd_mqds){ 0 };
}

int gp__kfd_mqd_mapped(const struct gp__kfd_mqd *mqd, const struct gp__kfd_mqds *hqds)
{
	int mapped = -1;

	for (size_t i = 0; i < hqds->nr; i++) {
		const struct gp__kfd_mqd *slot = &hqds->mqd[i];

		if (slot->gpu_id != mqd->gpu_id || slot->sdma != mqd->sdma)
			continue;
		mapped = 0;
		if (slot->active &&
		    (mqd->sdma ? slot->ring == mqd->ring : slot->address == mqd->address))
			return 1;
	}
	return mapped;
}

/*
 * Words
 */

static uint64_t pair(const uint32_t *word)
{
	return word[0] | (uint64_t)word[1] << 32;
}

static struct gp__kfd_mqd compute_of(const struct reader *r)
{
	const uint32_t *w = r->word;

	return (struct gp__kfd_mqd){
		.pid = r->pid,
		.gpu_id = r->gpu_id,
		.aql = w[AT_AQL] & 1,
		.active = w[AT_ACTIVE] & 1,
		.priority = w[AT_PRIORITY] & PRIORITY_MASK,
		.address = pair(w + AT_ADDRESS),
		.ring = pair(w + AT_RING) << RING_SHIFT,
		/* The size in words is twice the power of two that the register has. */
		.ring_bytes = (w[AT_CONTROL] & RING_ORDER_MASK) < 32
				      ? 8ull << (w[AT_CONTROL] & RING_ORDER_MASK)
				      : 0,
	};
}

static struct gp__kfd_mqd sdma_of(const struct reader *r)
{
	const uint32_t *w = r->word;

	return (struct gp__kfd_mqd){
		.pid = r->pid,
		.gpu_id = r->gpu_id,
		.sdma = true,
		.active = w[AT_SDMA_CONTROL] & SDMA_ENABLED,
		.ring = pair(w + AT_SDMA_RING) << RING_SHIFT,
		.ring_bytes = 4ull << SDMA_ORDER(w[AT_SDMA_CONTROL]),
	};
}

/* Adds the queue that was read, if it is complete. */
static int finish(struct reader *r)
{
	uint32_t whole = r->slots ? SLOT_REGISTERS : REGISTERS;
	bool was_in_queue = r->in_queue;
	struct gp__kfd_mqd mqd;

	r->in_queue = false;
	if (!was_in_queue || r->seen < (r->sdma ? SDMA_REGISTERS : whole))
		return 0;
	mqd = r->sdma ? sdma_of(r) : compute_of(r);
	mqd.mapped = -1;
	if (r->slots)
		mqd.ring_bytes = 0;
	return append(r->list, &mqd);
}

static void begin(struct reader *r, bool sdma)
{
	r->in_queue = true;
	r->sdma = sdma;
	r->seen = 0;
	r->first = r->slots || sdma ? 0 : 4 * MQD_FIRST_REGISTER;
	memset(r->word, 0, sizeof(r->word));
}

/* Reads a line of a dump, "OFFSET: WORD WORD ...": the next words in order. */
static void take_words(struct reader *r, uint64_t offset, const char *text)
{
	char *end;

	/* In a slot, the dump's first address is the first register's. */
	if (r->slots && !r->seen)
		r->first = offset;
	for (;; text = end, offset += 4) {
		unsigned long long word = strtoull(text, &end, 16);

		if (end == text || word > UINT32_MAX)
			return;
		if (r->seen < REGISTERS && offset == r->first + 4ull * r->seen)
			r->word[r->seen++] = (uint32_t)word;
	}
}

/*
 * Lines
 */

/* Whether the line is part of a dump; its offset, and the rest of the line. */
static bool is_dump(const char *line, uint64_t *offset, const char **words)
{
	char *end;

	while (*line == ' ')
		line++;
	if (!isxdigit((unsigned char)*line))
		return false;
	*offset = strtoull(line, &end, 16);
	if (*end != ':' || *offset > UINT32_MAX)
		return false;
	*words = end + 1;
	return true;
}

/* Reads the number after @name, in @base; false: there is none. */
static bool number_after(const char *line, const char *name, int base, uint64_t *value)
{
	const char *at = strstr(line, name);
	char *end;

	if (!at)
		return false;
	at += strlen(name);
	if (!isxdigit((unsigned char)*at))
		return false;
	errno = 0;
	*value = strtoull(at, &end, base);
	return end != at && !errno;
}

/* Reads a heading of a process, a node, a queue or a slot. */
static int take_heading(struct reader *r, const char *line)
{
	uint64_t value;
	int err = finish(r);

	if (!r->slots && number_after(line, "Process ", 10, &value)) {
		r->pid = value <= INT32_MAX ? (pid_t)value : 0;
	} else if (number_after(line, "gpu_id ", 16, &value)) {
		r->gpu_id = (uint32_t)value;
	} else if (number_after(line, " queue on device ", 16, &value)) {
		r->gpu_id = (uint32_t)value;
		if (!r->slots && r->pid)
			begin(r, strstr(line, "SDMA") != NULL);
	} else if (r->slots && strstr(line, "Pipe ") && strstr(line, "Queue ")) {
		begin(r, false);
	} else if (r->slots && strstr(line, "SDMA") && strstr(line, "RLC ")) {
		begin(r, true);
	}
	return err;
}

static int take_line(struct reader *r, const char *line)
{
	const char *words;
	uint64_t offset;

	if (!is_dump(line, &offset, &words))
		return line[strspn(line, " \t\r\n")] ? take_heading(r, line) : 0;
	if (r->in_queue)
		take_words(r, offset, words);
	return 0;
}

static int read_all(FILE *in, struct reader *r)
{
	char line[LINE_MAX_BYTES];
	bool cut = false; /* the next text is the rest of a line that was too long */
	int err = 0, last;

	while (!err && fgets(line, sizeof(line), in)) {
		size_t len = strlen(line);

		if (!cut)
			err = take_line(r, line);
		cut = len && line[len - 1] != '\n';
	}
	last = finish(r);
	return err ? err : last;
}

int gp__kfd_mqds_read(FILE *in, struct gp__kfd_mqds *mqds)
{
	struct reader r = { .list = mqds };

	*mqds = (struct gp__kfd_mqds){ 0 };
	return read_all(in, &r);
}

int gp__kfd_hqds_read(FILE *in, struct gp__kfd_mqds *hqds)
{
	struct reader r = { .list = hqds, .slots = true };

	*hqds = (struct gp__kfd_mqds){ 0 };
	return read_all(in, &r);
}
