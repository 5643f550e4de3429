// SPDX-License-Identifier: MIT
#include "join/say.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void gp__join_say(const char *text)
{
	char line[512];
	int n = snprintf(line, sizeof(line), "gpreempt: %s\n", text);

	if (n > 0 && write(STDERR_FILENO, line, strlen(line)) < 0)
		return;
}

void gp__join_step_aside(const char *why, const char *what)
{
	char text[256];

	snprintf(text, sizeof(text), "%s%s: this program is not joined", why, what);
	gp__join_say(text);
}
