// SPDX-License-Identifier: MIT
/*
 * No bytes may crash the check of a message, and what it lets through is what it says: of the right
 * size, with texts that end within their fields and command no terminal.
 */
#include "wire/wire.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth)
{
	if (!truth)
		abort();
}

static void check_text(const char *field, size_t size)
{
	size_t n = strnlen(field, size);

	require(n < size);
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)field[i];

		require(c >= 0x20 && c != 0x7f);
		require(!i || (unsigned char)field[i - 1] != 0xc2 || c < 0x80 || c >= 0xa0);
	}
}

static void check_message(const void *message, size_t size, int type)
{
	const struct gp__wire_queue_add *add = message;
	const struct gp__wire_hello *hello = message;
	const struct gp__wire_reply *reply = message;
	const struct gp__wire_gang *gang = message;

	require(type > 0 && type < GP__WIRE_TYPES);
	require(hello->head.size == size && hello->head.type == type);
	if (type == GP__WIRE_HELLO) {
		require(size == sizeof(*hello));
		check_text(hello->program, sizeof(hello->program));
	} else if (type == GP__WIRE_REPLY) {
		require(size == sizeof(*reply));
		check_text(reply->text, sizeof(reply->text));
	} else if (type == GP__WIRE_GANG) {
		require(size == sizeof(*gang));
		check_text(gang->name, sizeof(gang->name));
	} else if (type == GP__WIRE_QUEUE_ADD) {
		require(size == sizeof(*add));
		check_text(add->device, sizeof(add->device));
		check_text(add->device_name, sizeof(add->device_name));
		check_text(add->tag, sizeof(add->tag));
	}
}

/* Cleaned text is valid text. */
static void check_made(const uint8_t *data, size_t size)
{
	char text[64] = "", field[16];

	memcpy(text, data, size < sizeof(text) - 1 ? size : sizeof(text) - 1);
	gp__wire_text(field, sizeof(field), text);
	check_text(field, sizeof(field));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Aligned as a message is, and not a byte longer. */
	void *message = malloc(size ? size : 1);
	const char *why;
	int type;

	if (!message)
		return 0;
	memcpy(message, data, size);
	type = gp__wire_check(message, size, &why);
	if (type >= 0)
		check_message(message, size, type);
	else
		require(why && *why);
	free(message);
	check_made(data, size);
	return 0;
}
