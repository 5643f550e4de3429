// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "core/log.h"

#define MAX_FIELDS 10

static const char *const field_names[GP__F_COUNT] = {
	[GP__F_QUEUE] = "q",
	[GP__F_PROCESS] = "process",
	[GP__F_CLASS] = "class",
	[GP__F_PRIO] = "prio",
	[GP__F_WEIGHT] = "weight",
	[GP__F_SHARE] = "share_pct",
	[GP__F_MIN_SHARE] = "min_share_pct",
	[GP__F_DEADLINE] = "deadline_ns",
	[GP__F_MAX_HOLD] = "max_hold_ns",
	[GP__F_MEMORY] = "memory",
	[GP__F_CAN_WEIGH] = "can_weigh",
	[GP__F_REQUESTED] = "requested",
	[GP__F_LEVEL] = "level",
	[GP__F_PENDING] = "pending",
	[GP__F_RESULT] = "result",
	[GP__F_AT] = "at",
	[GP__F_SINCE] = "since",
	[GP__F_SEES] = "sees_ns",
	[GP__F_NS] = "ns",
	[GP__F_GANG] = "gang",
	[GP__F_FROM] = "from",
	[GP__F_WHY] = "why",
	[GP__F_BY] = "by",
	[GP__F_USER] = "user",
};

struct form {
	const char *name;
	char sign;
	bool has_tag;
	u8 nr;
	u8 fields[MAX_FIELDS];
};

#define EVENT(what, name, ...) \
	[GP__WHAT_##what] = { name, '<', false, sizeof((u8[]){ __VA_ARGS__ }), { __VA_ARGS__ } }
#define ACTION(what, name, ...) \
	[GP__WHAT_##what] = { name, '>', false, sizeof((u8[]){ __VA_ARGS__ }), { __VA_ARGS__ } }
#define REPORT(what, name, ...) \
	[GP__WHAT_##what] = { name, '!', false, sizeof((u8[]){ __VA_ARGS__ }), { __VA_ARGS__ } }
#define BARE(what, name) [GP__WHAT_##what] = { name, '<', false, 0, { 0 } }

#define HINT_FIELDS                                                                             \
	GP__F_PRIO, GP__F_WEIGHT, GP__F_SHARE, GP__F_MIN_SHARE, GP__F_DEADLINE, GP__F_MAX_HOLD, \
		GP__F_MEMORY

static const struct form forms[GP__WHAT_COUNT] = {
	BARE(CONFIG, "config"),
	BARE(POLICY, "policy"),
	EVENT(DEVICE_ADD, "device-add", GP__F_MEMORY, GP__F_CAN_WEIGH),
	BARE(DEVICE_REMOVE, "device-remove"),
	BARE(DEVICE_OFF, "device-off"),
	BARE(DEVICE_ON, "device-on"),
	[GP__WHAT_ENTITY_ADD] = { "entity-add",
				  '<',
				  true,
				  10,
				  { GP__F_PROCESS, GP__F_CLASS, HINT_FIELDS, GP__F_USER } },
	BARE(ENTITY_REMOVE, "entity-remove"),
	EVENT(HINT, "hint", HINT_FIELDS),
	EVENT(DEADLINE, "deadline", GP__F_AT),
	EVENT(ARRIVING, "arriving", GP__F_AT),
	BARE(SUSPEND, "suspend"),
	BARE(RESUME, "resume"),
	EVENT(EXEMPT, "exempt", GP__F_FROM),
	EVENT(QUEUE_ADD, "queue-add", GP__F_QUEUE, GP__F_REQUESTED, GP__F_LEVEL),
	EVENT(QUEUE_REMOVE, "queue-remove", GP__F_QUEUE),
	EVENT(READY, "ready", GP__F_QUEUE, GP__F_PENDING),
	EVENT(IDLE, "idle", GP__F_QUEUE, GP__F_SINCE, GP__F_SEES),
	EVENT(LEVEL, "level", GP__F_QUEUE, GP__F_LEVEL),
	EVENT(ACK, "ack", GP__F_QUEUE, GP__F_RESULT),
	EVENT(GANG_ADD, "gang-add", GP__F_GANG),
	EVENT(GANG_REMOVE, "gang-remove", GP__F_GANG),
	EVENT(GANG_JOIN, "gang-join", GP__F_GANG),
	EVENT(GANG_WAIT, "gang-wait", GP__F_GANG),
	EVENT(GANG_GO, "gang-go", GP__F_GANG),
	EVENT(GANG_BOUND, "gang-bound", GP__F_GANG, GP__F_MAX_HOLD),
	BARE(TICK, "tick"),
	ACTION(HOLD, "exclude", GP__F_QUEUE, GP__F_LEVEL, GP__F_WHY, GP__F_BY),
	ACTION(RELEASE, "admit", GP__F_QUEUE, GP__F_LEVEL, GP__F_WHY, GP__F_BY),
	ACTION(WEIGH, "weigh", GP__F_QUEUE, GP__F_WEIGHT, GP__F_WHY, GP__F_BY),
	REPORT(UNRESPONSIVE, "unresponsive", GP__F_QUEUE),
	REPORT(RECOVERED, "recovered", GP__F_QUEUE),
	REPORT(FAILED, "failed", GP__F_QUEUE, GP__F_RESULT),
	REPORT(INVERSION, "inversion", GP__F_BY),
	REPORT(LINGERED, "lingered", GP__F_NS),
};

static const char *const rule_names[GP__RULE_COUNT] = {
	[GP__RULE_NONE] = "none",
	[GP__RULE_PRIORITY] = "priority",
	[GP__RULE_SLICE] = "slice",
	[GP__RULE_DEADLINE] = "deadline",
	[GP__RULE_CHOSEN] = "chosen",
	[GP__RULE_IDLE] = "idle",
	[GP__RULE_AGEING] = "ageing",
	[GP__RULE_MAX_HOLD] = "max-hold",
	[GP__RULE_MIN_SHARE] = "min-share",
	[GP__RULE_GANG] = "gang",
	[GP__RULE_OPERATOR] = "operator",
	[GP__RULE_NEW_QUEUE] = "new-queue",
	[GP__RULE_RETRY] = "retry",
	[GP__RULE_OUT_OF_PLAN] = "out-of-plan",
	[GP__RULE_OFF] = "off",
	[GP__RULE_WEIGHT] = "weight",
};

const char *gp__rule_name(enum gp__rule r)
{
	return (u32)r < GP__RULE_COUNT ? rule_names[r] : "?";
}

char gp__what_sign(enum gp__what what)
{
	return forms[what].sign;
}

/* Appends without checking for room: the longest possible line is well under GP__LOG_LINE_MAX,
 * which a test checks. */
static char *put(char *p, const char *s)
{
	while (*s)
		*p++ = *s++;
	return p;
}

static char *put_u64(char *p, u64 v)
{
	char buf[20];
	int n = 0;

	do {
		buf[n++] = '0' + (char)(v % 10);
		v /= 10;
	} while (v);
	while (n)
		*p++ = buf[--n];
	return p;
}

static char *put_s64(char *p, s64 v)
{
	if (v < 0) {
		*p++ = '-';
		return put_u64(p, 0 - (u64)v);
	}
	return put_u64(p, (u64)v);
}

static char *put_target(char *p, const char *prefix, u32 id)
{
	if (id == GP__NOBODY)
		return put(p, "-");
	return put_u64(put(p, prefix), id);
}

static bool is_absent(enum gp__field f, s64 v)
{
	return f == GP__F_USER && v == GP__NOBODY;
}

static char *put_field(char *p, enum gp__field f, s64 v)
{
	if (is_absent(f, v))
		return p;
	*p++ = ' ';
	p = put(p, field_names[f]);
	*p++ = '=';
	switch (f) {
	case GP__F_WHY:
		return put(p, gp__rule_name((enum gp__rule)v));
	case GP__F_CLASS:
		return put(p, gp__class_name((enum gp__class)v));
	case GP__F_BY:
		return put_target(p, "e", v ? (u32)v : GP__NOBODY);
	case GP__F_PRIO:
	case GP__F_RESULT:
		return put_s64(p, v);
	default:
		return put_u64(p, (u64)v);
	}
}

size_t gp__record_format(const struct gp__record *r, char *line)
{
	const struct form *form = &forms[r->what];
	char *p = put_u64(line, r->time);
	u32 i;

	*p++ = ' ';
	*p++ = form->sign;
	*p++ = ' ';
	p = put_target(p, "gpu", r->dev);
	*p++ = ' ';
	p = put_target(p, "e", r->entity);
	*p++ = ' ';
	p = put(p, form->name);
	if (r->what == GP__WHAT_POLICY) {
		*p++ = ' ';
		p = put(p, r->text);
	}
	for (i = 0; i < r->nr_params; i++) {
		*p++ = ' ';
		p = put(p, r->params[i].name);
		*p++ = '=';
		p = put_u64(p, r->values[i]);
	}
	for (i = 0; i < form->nr; i++)
		p = put_field(p, form->fields[i], r->f[form->fields[i]]);
	if (form->has_tag)
		p = put(put(p, " tag="), r->text);
	*p++ = '\n';
	*p = '\0';
	return (size_t)(p - line);
}

/* Drops many lines at once, so that it happens seldom. */
static void drop_oldest(struct gp__log_keep *keep)
{
	size_t least = keep->size / 4, end = 0;

	while (end < least) {
		while (keep->text[end] != '\n')
			end++;
		end++;
		keep->nr_dropped++;
	}
	keep->size -= end;
	memmove(keep->text, keep->text + end, keep->size);
}

void gp__log_keep_add(void *data, const struct gp__record *r)
{
	struct gp__log_keep *keep = data;

	if (!keep->text)
		return;
	while (keep->size && keep->room - keep->size < GP__LOG_LINE_MAX)
		drop_oldest(keep);
	keep->size += gp__record_format(r, keep->text + keep->size);
}

void gp__log_keep_clear(struct gp__log_keep *keep)
{
	keep->size = 0;
	keep->nr_dropped = 0;
}

/* The rest of the line being parsed. */
struct text {
	const char *p, *end;
};

static size_t word_len(const struct text *t)
{
	const char *p = t->p;

	while (p < t->end && *p != ' ' && *p != '=')
		p++;
	return (size_t)(p - t->p);
}

static bool take(struct text *t, const char *s)
{
	size_t n = strlen(s);

	if ((size_t)(t->end - t->p) < n || memcmp(t->p, s, n) != 0)
		return false;
	t->p += n;
	return true;
}

/* Takes a whole word equal to one of @names; its index or -1. */
static int take_name(struct text *t, const char *const *names, size_t n)
{
	size_t len = word_len(t), i;

	for (i = 0; i < n; i++) {
		if (strlen(names[i]) == len && memcmp(names[i], t->p, len) == 0) {
			t->p += len;
			return (int)i;
		}
	}
	return -1;
}

static bool take_class(struct text *t, s64 *v)
{
	for (*v = 0; *v < GP__CLASS_COUNT; ++*v) {
		const char *name = gp__class_name((enum gp__class) * v);

		if (take_name(t, &name, 1) == 0)
			return true;
	}
	return false;
}

static bool take_u64(struct text *t, u64 *v)
{
	const char *start = t->p;

	*v = 0;
	while (t->p < t->end && *t->p >= '0' && *t->p <= '9') {
		u64 digit = (u64)(*t->p - '0');

		if (*v > (GP__NEVER - digit) / 10)
			return false;
		*v = *v * 10 + digit;
		t->p++;
	}
	/* No leading zeros: a line that is parsed and formatted again stays the same. */
	return t->p > start && (t->p == start + 1 || *start != '0');
}

static bool take_s64(struct text *t, s64 *v)
{
	bool negative = take(t, "-");
	u64 u;

	if (!take_u64(t, &u) || u > (u64)1 << 62 || (negative && !u))
		return false;
	*v = negative ? -(s64)u : (s64)u;
	return true;
}

static bool take_target(struct text *t, const char *prefix, u32 *id)
{
	u64 v;

	if (take(t, "-")) {
		*id = GP__NOBODY;
		return true;
	}
	if (!take(t, prefix) || !take_u64(t, &v) || v >= GP__NOBODY)
		return false;
	*id = (u32)v;
	return true;
}

/* The largest value that the field can hold. */
static u64 largest_value(enum gp__field f)
{
	switch (f) {
	case GP__F_DEADLINE:
	case GP__F_MAX_HOLD:
	case GP__F_MEMORY:
	case GP__F_AT:
	case GP__F_SINCE:
	case GP__F_SEES:
	case GP__F_NS:
		return GP__NEVER;
	case GP__F_REQUESTED:
	case GP__F_LEVEL:
		return 0xff;
	case GP__F_CAN_WEIGH:
		return GP__WEIGHS_YIELDING;
	case GP__F_FROM:
		return GP__EXEMPT_COUNT - 1;
	default:
		return 0xffffffff;
	}
}

static bool take_value(struct text *t, enum gp__field f, s64 *v)
{
	u64 u;
	u32 id;
	int i;

	switch (f) {
	case GP__F_WHY:
		i = take_name(t, rule_names, GP__RULE_COUNT);
		*v = i;
		return i >= 0;
	case GP__F_CLASS:
		return take_class(t, v);
	case GP__F_BY:
		if (!take_target(t, "e", &id))
			return false;
		*v = id == GP__NOBODY ? 0 : id;
		return id != 0;
	case GP__F_PRIO:
	case GP__F_RESULT:
		return take_s64(t, v) && *v >= -(s64)0x80000000 && *v <= 0x7fffffff;
	default:
		if (!take_u64(t, &u) || u > largest_value(f))
			return false;
		*v = (s64)u;
		return true;
	}
}

static bool take_text(struct text *t, char *buf, size_t size)
{
	size_t n = 0;

	while (t->p < t->end && gp__tag_char(*t->p)) {
		if (n + 1 >= size)
			return false;
		buf[n++] = *t->p++;
	}
	buf[n] = '\0';
	return true;
}

static bool take_param(struct text *t, const struct gp__param *p, u64 *value)
{
	return take(t, " ") && take(t, p->name) && take(t, "=") && take_u64(t, value) &&
	       gp__param_check(p, *value) == 0;
}

static const char *parse_config(struct text *t, struct gp__record *r, struct gp__record_room *room)
{
	struct text name = *t;
	int i;

	if (!take(&name, " "))
		return "a parameter after 'config'";
	i = gp__param_find(gp__core_params, GP__CFG_COUNT, name.p, word_len(&name));
	if (i < 0)
		return "a parameter of the core after 'config'";
	r->params = &gp__core_params[i];
	r->nr_params = 1;
	return take_param(t, r->params, &room->values[0]) ? NULL
							  : "a value in the parameter's range";
}

static const char *parse_policy(struct text *t, struct gp__record *r, struct gp__record_room *room,
				const struct gp__policy *const *policies)
{
	u32 i;

	if (!take(t, " "))
		return "the name of a policy";
	for (; *policies; policies++) {
		const char *name = (*policies)->name;

		if (take_name(t, &name, 1) == 0)
			break;
	}
	if (!*policies)
		return "the name of a policy";
	r->text = (*policies)->name;
	r->params = (*policies)->params;
	r->nr_params = (*policies)->nr_params;
	for (i = 0; i < r->nr_params; i++) {
		if (!take_param(t, &r->params[i], &room->values[i]))
			return "the policy's parameters in order, each in its range";
	}
	return NULL;
}

static bool take_field(struct text *t, enum gp__field f, s64 *v)
{
	const struct text before = *t;

	if (take(t, " ") && take(t, field_names[f]) && take(t, "="))
		return take_value(t, f, v) && !is_absent(f, *v);
	*t = before;
	*v = GP__NOBODY;
	return is_absent(f, *v);
}

static const char *parse_fields(struct text *t, const struct form *form, struct gp__record *r,
				struct gp__record_room *room)
{
	u32 i;

	for (i = 0; i < form->nr; i++) {
		enum gp__field f = form->fields[i];

		if (!take_field(t, f, &r->f[f]))
			return field_names[f];
	}
	if (!form->has_tag)
		return NULL;
	r->text = room->text;
	return take(t, " tag=") && take_text(t, room->text, sizeof(room->text)) ? NULL : "tag";
}

static const struct form *take_form(struct text *t, char sign)
{
	u32 i;

	for (i = 0; i < GP__WHAT_COUNT; i++) {
		if (forms[i].sign == sign && take_name(t, &forms[i].name, 1) == 0)
			return &forms[i];
	}
	return NULL;
}

static const char *parse_head(struct text *t, struct gp__record *r, char *sign)
{
	if (!take_u64(t, &r->time) || r->time >= GP__TIME_END || !take(t, " "))
		return "a time in nanoseconds";
	if (t->p == t->end)
		return "<, > or !";
	*sign = *t->p++;
	if ((*sign != '<' && *sign != '>' && *sign != '!') || !take(t, " "))
		return "<, > or !";
	if (!take_target(t, "gpu", &r->dev) || !take(t, " "))
		return "a device (gpuN or -)";
	if (!take_target(t, "e", &r->entity) || !take(t, " "))
		return "an entity (eN or -)";
	return NULL;
}

int gp__record_parse(const char *line, size_t len, const struct gp__policy *const *policies,
		     struct gp__record *r, struct gp__record_room *room, const char **expected)
{
	struct text t = { line, line + len };
	const struct form *form;
	char sign = 0;

	memset(r, 0, sizeof(*r));
	memset(room, 0, sizeof(*room));
	r->values = room->values;
	if (!len || *line == '#')
		return -ENODATA;
	*expected = parse_head(&t, r, &sign);
	if (*expected)
		return -EINVAL;
	form = take_form(&t, sign);
	if (!form) {
		*expected = "what happened (ready, exclude, ...)";
		return -EINVAL;
	}
	r->what = (u8)(form - forms);
	if (r->what == GP__WHAT_CONFIG)
		*expected = parse_config(&t, r, room);
	else if (r->what == GP__WHAT_POLICY)
		*expected = parse_policy(&t, r, room, policies);
	else
		*expected = parse_fields(&t, form, r, room);
	if (!*expected && t.p != t.end)
		*expected = "the end of the line";
	return *expected ? -EINVAL : 0;
}
