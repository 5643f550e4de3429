// SPDX-License-Identifier: MIT
/*
 * Vector memory instructions against a model that knows an opcode by its name alone and moves one
 * byte at a time. Every opcode of the engine is tested, with random registers, EXEC and addresses:
 * all lanes contiguous, with a stride, at one address, scattered, and unmapped.
 */
#include "../unit/test.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/gfx9/wave.h"

#define PAGES 12
#define BASE 0x7f1234560000u
#define LDS 2048
#define VGPRS 24
#define AGPRS 12
#define ROWS (VGPRS + AGPRS)
#define SHARED 0x10000
#define PRIVATE 0x20000
#define ROUNDS 120

/* 'w' writable, 'r' readable only, '-' nothing */
static const char layout[PAGES + 1] = "wwww-rw-wwww";

struct world {
	struct gfx9_wave *w;
	struct emu_vm vm;
	struct gfx9_tlb tlb;
	/* each allocated alone, so that a sanitizer sees accesses beyond it */
	uint8_t *host[PAGES];
};

/* The model's copy of everything an instruction may change. */
struct image {
	uint8_t page[PAGES][EMU_PAGE], lds[LDS];
	uint32_t v[ROWS][GFX9_LANES];
};

static uint64_t seed = 88172645463325252;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed * 0x2545f4914f6cdd1d >> 8;
}

static uint32_t below(uint32_t n)
{
	return (uint32_t)(rnd() % n);
}

static void *find_page(void *ctx, uint64_t va, bool write)
{
	struct world *t = ctx;
	uint64_t n = (va - BASE) / EMU_PAGE;

	if (va < BASE || n >= PAGES || layout[n] == '-' || (write && layout[n] == 'r'))
		return NULL;
	return t->host[n];
}

static void *allocate(size_t align, size_t size)
{
	void *p = aligned_alloc(align, (size + align - 1) / align * align);

	assert_non_null(p);
	return memset(p, 0, size);
}

static void fill(void *p, size_t n)
{
	uint8_t *to = p;

	for (size_t i = 0; i < n; i++)
		to[i] = (uint8_t)rnd();
}

static int setup(void **state)
{
	struct world *t = allocate(64, sizeof(*t));

	for (unsigned int i = 0; i < PAGES; i++) {
		t->host[i] = allocate(64, EMU_PAGE);
		fill(t->host[i], EMU_PAGE);
	}
	t->vm.page = find_page;
	t->vm.ctx = t;
	gfx9_tlb_init(&t->tlb, &t->vm);
	t->w = allocate(64, sizeof(*t->w));
	t->w->v = allocate(64, ROWS * sizeof(*t->w->v));
	t->w->lds = allocate(64, LDS);
	t->w->lds_bytes = LDS;
	fill(t->w->lds, LDS);
	t->w->tlb = &t->tlb;
	t->w->nr_sgprs = 96;
	t->w->nr_vgprs = VGPRS;
	t->w->nr_agprs = AGPRS;
	t->w->shared_base = SHARED;
	t->w->private_base = PRIVATE;
	t->w->mode = 0xf0;
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct world *t = *state;

	for (unsigned int i = 0; i < PAGES; i++)
		free(t->host[i]);
	free(t->w->v);
	free(t->w->lds);
	free(t->w);
	free(t);
	return 0;
}

/*
 * The meaning of a name
 */

enum verb { LOAD, STORE, ATOMIC, CACHE, PAIR_READ, PAIR_WRITE, PAIR_SWAP, OTHER };

struct meaning {
	enum verb verb;
	unsigned int bytes; /* of an element */
	bool sign, d16, hi, to_lds, returns, st64, two_operands;
	char op[16], type; /* atomics: add, ... of 'u', 'i', 'b', 'f', 'h' (packed) or 'H' */
};

static bool take(const char **s, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(*s, word, n))
		return false;
	*s += n;
	return true;
}

static bool read_size(const char *s, struct meaning *m)
{
	if (take(&s, "ubyte") || take(&s, "byte"))
		m->bytes = 1;
	else if (take(&s, "sbyte"))
		m->bytes = 1, m->sign = true;
	else if (take(&s, "ushort") || take(&s, "short"))
		m->bytes = 2;
	else if (take(&s, "sshort"))
		m->bytes = 2, m->sign = true;
	else if (take(&s, "dwordx"))
		m->bytes = 4u * (unsigned int)(*s++ - '0');
	else if (take(&s, "dword"))
		m->bytes = 4;
	m->d16 = take(&s, "_d16");
	m->hi = take(&s, "_hi");
	return m->bytes && !*s;
}

static bool read_atomic(const char *s, struct meaning *m)
{
	const char *end;

	m->verb = ATOMIC;
	m->bytes = strstr(s, "_x2") || strstr(s, "f64") ? 8 : 4;
	m->type = 'u';
	if (take(&s, "pk_add_")) {
		m->type = strcmp(s, "f16") ? 'H' : 'h';
		strcpy(m->op, "add");
		return true;
	}
	if (strstr(s, "_f"))
		m->type = 'f';
	if (!take(&s, "swap") && strlen(s) > 3 && (s[0] == 's' || s[0] == 'u') && s[1] == 'm')
		m->type = *s++ == 's' ? 'i' : 'u';
	else if (s[-1] == 'p' && s[-2] == 'a')
		s -= 4;
	end = strchr(s, '_');
	snprintf(m->op, sizeof(m->op), "%.*s", (int)(end ? end - s : (long)strlen(s)), s);
	m->two_operands = !strcmp(m->op, "cmpswap");
	return true;
}

static bool read_ds_size(const char *s, struct meaning *m)
{
	m->sign = *s == 'i';
	m->bytes = (unsigned int)strtoul(s + 1, (char **)&s, 10) / 8;
	m->d16 = take(&s, "_d16");
	m->hi = take(&s, "_hi");
	return m->bytes && !*s;
}

static bool read_ds(const char *s, struct meaning *m)
{
	static const char *const names[] = { "add",   "sub",   "rsub",	 "inc",	 "dec",
					     "min",   "max",   "and",	 "or",	 "xor",
					     "mskor", "cmpst", "wrxchg", "wrap", "condxchg32" };
	enum verb pair = take(&s, "read2")     ? PAIR_READ
			 : take(&s, "write2")  ? PAIR_WRITE
			 : take(&s, "wrxchg2") ? PAIR_SWAP
					       : OTHER;

	m->verb = pair;
	if (pair != OTHER) {
		m->st64 = take(&s, "st64");
		m->returns = take(&s, "_rtn");
		return take(&s, "_") && read_ds_size(s, m);
	}
	if (!strcmp(s, "nop")) {
		m->verb = CACHE;
		return true;
	}
	if (!strncmp(s, "read_addtid", 11) || !strncmp(s, "write_addtid", 12))
		return true;
	m->verb = *s == 'r' ? LOAD : STORE;
	if (take(&s, "read_") || take(&s, "write_"))
		return read_ds_size(s, m);
	m->verb = ATOMIC;
	m->bytes = 4;
	if (take(&s, "pk_add_")) {
		m->returns = take(&s, "rtn_");
		m->type = strcmp(s, "f16") ? 'H' : 'h';
		strcpy(m->op, "add");
		return true;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *rest = s;

		if (!take(&rest, names[i]) || !take(&rest, "_"))
			continue;
		strcpy(m->op, names[i]);
		m->returns = take(&rest, "rtn_");
		m->type = *rest;
		m->bytes = (unsigned int)atoi(rest + 1) / 8;
		m->two_operands = !strcmp(m->op, "mskor") || !strcmp(m->op, "cmpst") ||
				  !strcmp(m->op, "wrap");
		return true;
	}
	m->verb = OTHER;
	return true;
}

static bool read_name(const char *s, struct meaning *m)
{
	memset(m, 0, sizeof(*m));
	if (take(&s, "ds_"))
		return read_ds(s, m);
	if (!take(&s, "flat_") && !take(&s, "global_") && !take(&s, "scratch_") &&
	    !take(&s, "buffer_"))
		return false;
	if (take(&s, "load_")) {
		m->to_lds = take(&s, "lds_");
		return read_size(s, m);
	}
	m->verb = STORE;
	if (take(&s, "store_"))
		return read_size(s, m);
	if (take(&s, "atomic_"))
		return read_atomic(s, m);
	m->verb = CACHE;
	return !strncmp(s, "wb", 2) || !strncmp(s, "inv", 3);
}

/*
 * Arithmetic of the model: floats through the nearest value there is
 */

static double half_at(uint32_t h)
{
	uint32_t exponent = h >> 10 & 31;
	double v = exponent ? ldexp(1.0 + (h & 1023) / 1024.0, (int)exponent - 15)
			    : ldexp((h & 1023) / 1024.0, -14);

	return h & 0x8000 ? -v : v;
}

/* Whether a sum with infinities or NaNs; the sum. */
static bool add_special(uint64_t a, uint64_t b, uint64_t infinite, unsigned int bits, uint64_t *sum)
{
	uint64_t sign = (uint64_t)1 << (bits - 1), quiet = (infinite & ~(infinite << 1)) >> 1;
	uint64_t x = a & ~sign, y = b & ~sign;

	if (x < infinite && y < infinite)
		return false;
	if (x > infinite)
		*sum = a | quiet;
	else if (y > infinite)
		*sum = b | quiet;
	else if (x == y && a != b)
		*sum = sign | infinite | quiet;
	else
		*sum = x == infinite ? a : b;
	return true;
}

static double brain_at(uint32_t h)
{
	uint32_t bits = h << 16;
	float v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

/* Of values that rise with their code: the nearest, and of two the even one. */
static uint32_t nearest(double v, double (*at)(uint32_t), uint32_t infinite)
{
	uint32_t low = 0, high = infinite, sign = signbit(v) ? 0x8000 : 0;
	double below_it, above;

	v = fabs(v);
	while (high - low > 1) {
		uint32_t middle = (low + high) / 2;

		if (at(middle) <= v)
			low = middle;
		else
			high = middle;
	}
	below_it = v - at(low);
	/* Beyond the largest, as if there were a next. */
	above = (high == infinite ? 2 * at(low) - at(low - 1) : at(high)) - v;
	if (above < below_it || (above == below_it && (low & 1)))
		low = high;
	return sign | low;
}

static uint32_t add_packed(uint32_t a, uint32_t b, char type)
{
	double (*at)(uint32_t) = type == 'h' ? half_at : brain_at;
	uint32_t infinite = type == 'h' ? 0x7c00 : 0x7f80, r = 0;

	for (unsigned int i = 0; i < 32; i += 16) {
		uint32_t x = a >> i & 0xffff, y = b >> i & 0xffff;
		uint64_t sum;

		if (!add_special(x, y, infinite, 16, &sum))
			sum = nearest(at(x) + at(y), at, infinite);
		r |= (uint32_t)sum << i;
	}
	return r;
}

static double float_from(uint64_t bits, unsigned int bytes)
{
	float f;
	double d;

	if (bytes == 4) {
		memcpy(&f, &bits, 4);
		return f;
	}
	memcpy(&d, &bits, 8);
	return d;
}

static uint64_t float_to(double v, unsigned int bytes)
{
	float f = (float)v;
	uint64_t bits = 0;

	if (bytes == 4)
		memcpy(&bits, &f, 4);
	else
		memcpy(&bits, &v, 8);
	return bits;
}

static uint64_t model_float(const struct meaning *m, uint64_t old, uint64_t x, uint64_t y)
{
	double a = float_from(old, m->bytes), b = float_from(x, m->bytes);
	uint64_t infinite = m->bytes == 4 ? 0x7f800000 : 0x7ff0000000000000, sum;

	if (!strcmp(m->op, "add") && add_special(old, x, infinite, 8 * m->bytes, &sum))
		return sum;
	if (!strcmp(m->op, "cmpst"))
		return a == float_from(y, m->bytes) ? x : old;
	if (!strcmp(m->op, "add"))
		return m->bytes == 4 ? float_to((float)a + (float)b, 4) : float_to(a + b, 8);
	if (!strcmp(m->op, "min"))
		return float_to(fmin(a, b), m->bytes);
	assert_string_equal(m->op, "max");
	return float_to(fmax(a, b), m->bytes);
}

static uint64_t model_alu(const struct meaning *m, uint64_t old, uint64_t x, uint64_t y)
{
	unsigned int unused = 64 - 8 * m->bytes;
	int64_t a = (int64_t)(old << unused) >> unused, b = (int64_t)(x << unused) >> unused;
	uint64_t mask = ~(uint64_t)0 >> unused;
	const char *op = m->op;

	if (m->type == 'h' || m->type == 'H')
		return add_packed((uint32_t)old, (uint32_t)x, m->type);
	if (m->type == 'f')
		return model_float(m, old, x, y);
	if (!strcmp(op, "swap") || !strcmp(op, "wrxchg"))
		return x;
	if (!strcmp(op, "cmpswap") || !strcmp(op, "cmpst"))
		return old == y ? x : old;
	if (!strcmp(op, "add"))
		return (old + x) & mask;
	if (!strcmp(op, "sub"))
		return (old - x) & mask;
	if (!strcmp(op, "rsub"))
		return (x - old) & mask;
	if (!strcmp(op, "and"))
		return old & x;
	if (!strcmp(op, "or"))
		return old | x;
	if (!strcmp(op, "xor"))
		return old ^ x;
	if (!strcmp(op, "inc"))
		return old < x ? old + 1 : 0;
	if (!strcmp(op, "dec"))
		return old == 0 || old > x ? x : old - 1;
	if (!strcmp(op, "condxchg32"))
		return (x & 0x80000000 ? x & 0x7fffffff : old & 0xffffffff) |
		       (x >> 63 ? x >> 32 & 0x7fffffff : old >> 32) << 32;
	if (!strcmp(op, "mskor"))
		return (old & ~x & mask) | y;
	if (!strcmp(op, "wrap"))
		return (old < x ? old + y : old - x) & mask;
	if (m->type == 'i')
		return !strcmp(op, "min") ? (a < b ? old : x) : (a > b ? old : x);
	if (!strcmp(op, "min"))
		return old < x ? old : x;
	assert_string_equal(op, "max");
	return old > x ? old : x;
}

/*
 * The place of a byte
 */

struct place {
	enum { PAGE, LDS_BYTE, NOTHING } kind;
	bool private; /* interleaved: an atomic needs no more than dword alignment */
	uint64_t at;
};

struct run {
	struct world *t;
	struct gfx9_inst in;
	struct meaning m;
	struct image before, after;
	uint64_t exec;
	bool fault;
	struct gfx9_fault where;
};

static uint32_t *row(struct image *i, unsigned int code)
{
	return i->v[code >= GFX9_AGPR ? VGPRS + code - GFX9_AGPR : code - GFX9_VGPR];
}

static uint64_t scratch_va(struct run *r, unsigned int lane, uint32_t offset)
{
	uint64_t dword = offset >> 2;

	return gfx9_get64(r->t->w, GFX9_FLAT_SCRATCH) + (dword * 64 + lane) * 4 + (offset & 3);
}

/* An element of at most a dword, or an atomic, is in LDS as a whole or not at all. */
static struct place lds_place(struct run *r, uint32_t start, unsigned int byte)
{
	unsigned int unit = r->m.verb == ATOMIC || r->m.bytes < 4 ? r->m.bytes : 4;
	uint64_t first = (uint64_t)start + byte / unit * unit;

	if (first + unit > LDS)
		return (struct place){ .kind = NOTHING };
	return (struct place){ .kind = LDS_BYTE, .at = (uint64_t)start + byte };
}

static struct place flat_place(struct run *r, unsigned int lane, unsigned int byte)
{
	const struct gfx9_inst *in = &r->in;
	uint64_t va = row(&r->before, in->src[0])[lane] + (uint64_t)(int64_t)in->offset;

	if (in->sdst != GFX9_OFF)
		va += gfx9_get64(r->t->w, in->sdst);
	else
		va += (uint64_t)row(&r->before, in->src[0] + 1u)[lane] << 32;
	if (in->format == GFX9_FLAT && va >> 32 == SHARED)
		return lds_place(r, (uint32_t)va, byte);
	if (in->format == GFX9_FLAT && va >> 32 == PRIVATE)
		return (struct place){ .kind = PAGE,
				       .private = true,
				       .at = scratch_va(r, lane, (uint32_t)va + byte) };
	return (struct place){ .kind = PAGE, .at = va + byte };
}

static struct place scratch_place(struct run *r, unsigned int lane, unsigned int byte)
{
	const struct gfx9_inst *in = &r->in;
	uint32_t offset = (uint32_t)in->offset + byte;

	if (in->sve)
		offset += row(&r->before, in->src[0])[lane];
	if (in->sdst != GFX9_OFF)
		offset += r->t->w->s[in->sdst];
	return (struct place){ .kind = PAGE, .private = true, .at = scratch_va(r, lane, offset) };
}

static struct place buffer_place(struct run *r, unsigned int lane, unsigned int byte)
{
	const struct gfx9_inst *in = &r->in;
	const uint32_t *d = &r->t->w->s[in->sdst];
	bool swizzle = d[1] & 0x80000000, tid = d[3] & 0x800000, in_range;
	uint64_t base = d[0] | (uint64_t)(d[1] & 0xffff) << 32, stride = d[1] >> 16 & 0x3fff;
	uint64_t block = 8u << (d[3] >> 21 & 3), soffset = r->t->w->s[in->src[2]];
	uint64_t index = 0, offset = (uint64_t)in->offset, at;
	unsigned int unit = r->m.verb == ATOMIC || r->m.bytes < 4 ? r->m.bytes : 4;

	if (in->idxen)
		index = row(&r->before, in->src[0])[lane];
	if (in->offen)
		offset += row(&r->before, in->src[0] + (in->idxen ? 1u : 0u))[lane];
	if (tid) {
		index = (uint32_t)(index + lane);
		stride |= (uint64_t)(d[3] >> 15 & 15) << 14;
	}
	if (!swizzle) {
		at = offset + index * stride;
		in_range = at + byte / unit * unit + unit + soffset <= d[2];
		at += byte;
	} else {
		offset += byte;
		at = index / block * stride * block + offset / 4 * 4 * block + index % block * 4 +
		     offset % 4;
		/* Bytes up to the end of their dword. */
		in_range = stride ? index < d[2] : (offset | 3) + 1 + soffset <= d[2];
	}
	if (!in_range)
		return (struct place){ .kind = NOTHING };
	return (struct place){ .kind = PAGE,
			       .private = swizzle && r->m.bytes == 8,
			       .at = base + soffset + at };
}

static struct place ds_place(struct run *r, unsigned int lane, unsigned int byte)
{
	uint32_t offset = (uint32_t)r->in.offset | (uint32_t)r->in.offset1 << 8;

	/* A dword may begin behind the end of the address space. */
	offset += row(&r->before, r->in.src[0])[lane];
	if (r->m.verb != ATOMIC && r->m.bytes > 4)
		return lds_place(r, offset + byte / 4 * 4, byte % 4);
	return lds_place(r, offset, byte);
}

static struct place find(struct run *r, unsigned int lane, unsigned int byte)
{
	switch (r->in.format) {
	case GFX9_SCRATCH:
		return scratch_place(r, lane, byte);
	case GFX9_MUBUF:
		return buffer_place(r, lane, byte);
	case GFX9_DS:
		return ds_place(r, lane, byte);
	default:
		return flat_place(r, lane, byte);
	}
}

static uint8_t *byte_of(struct image *i, struct place p, bool write)
{
	uint64_t n = (p.at - BASE) / EMU_PAGE;

	if (p.kind == LDS_BYTE)
		return &i->lds[p.at];
	if (p.at < BASE || n >= PAGES || layout[n] == '-' || (write && layout[n] == 'r'))
		return NULL;
	return &i->page[n][p.at % EMU_PAGE];
}

/* The first byte that is not mapped. */
static void look_for_fault(struct run *r)
{
	bool write = r->m.verb == STORE || r->m.verb == ATOMIC;

	for (unsigned int lane = 0; lane < GFX9_LANES; lane++) {
		struct place first = find(r, lane, 0);
		unsigned int align = first.private ? 4 : r->m.bytes;

		if (!(r->exec >> lane & 1))
			continue;
		for (unsigned int i = 0; i < r->m.bytes; i++) {
			struct place p = find(r, lane, i);
			bool odd = r->m.verb == ATOMIC && p.kind == PAGE && i == 0 &&
				   (p.at % align || find(r, lane, 3).at != p.at + 3);

			if (p.kind == NOTHING || (!odd && byte_of(&r->after, p, write)))
				continue;
			r->fault = true;
			r->where.address = p.at;
			r->where.lane = lane;
			r->where.write = write;
			return;
		}
	}
}

static void model_load(struct run *r, unsigned int lane)
{
	uint8_t bytes[16] = { 0 };
	uint32_t value = 0, *dst;

	for (unsigned int i = 0; i < r->m.bytes; i++) {
		struct place p = find(r, lane, i);

		if (p.kind != NOTHING)
			bytes[i] = *byte_of(&r->before, p, false);
	}
	for (unsigned int i = r->m.bytes; i-- > 0 && r->m.bytes <= 4;)
		value = value << 8 | bytes[i];
	if (r->m.sign && value >> (8 * r->m.bytes - 1))
		value |= ~0u << 8 * r->m.bytes;
	if (r->m.to_lds || r->in.lds) {
		uint32_t at = (r->t->w->s[GFX9_M0] & 0xffff) + (uint32_t)r->in.offset + 4 * lane;

		for (unsigned int i = 0; i < 4 && (uint64_t)at + 4 <= LDS; i++)
			r->after.lds[at + i] = (uint8_t)(value >> 8 * i);
		return;
	}
	dst = &row(&r->after, r->in.dst)[lane];
	if (r->m.bytes > 4) {
		for (unsigned int i = 0; i < r->m.bytes; i++)
			((uint8_t *)&row(&r->after, r->in.dst + i / 4)[lane])[i % 4] = bytes[i];
	} else if (!r->m.d16) {
		*dst = value;
	} else if (r->m.hi) {
		*dst = value << 16;
	} else {
		*dst = value & 0xffff;
	}
}

static void model_store(struct run *r, unsigned int lane)
{
	for (unsigned int i = 0; i < r->m.bytes; i++) {
		uint32_t value = row(&r->before, r->in.src[1] + i / 4)[lane];
		unsigned int shift = 8 * (i % 4) + (r->m.hi ? 16 : 0);
		struct place p = find(r, lane, i);

		if (p.kind != NOTHING)
			*byte_of(&r->after, p, true) = (uint8_t)(value >> shift);
	}
}

static uint64_t operand(struct run *r, unsigned int code, unsigned int lane)
{
	uint64_t v = row(&r->before, code)[lane];

	return r->m.bytes == 8 ? v | (uint64_t)row(&r->before, code + 1)[lane] << 32 : v;
}

static void model_atomic(struct run *r, unsigned int lane)
{
	uint64_t old = 0, now, x = operand(r, r->in.src[1], lane), y = 0;
	bool ds = r->in.format == GFX9_DS;

	if (r->m.two_operands && ds)
		y = operand(r, r->in.src[2], lane);
	else if (r->m.two_operands)
		y = operand(r, r->in.src[1] + r->m.bytes / 4, lane);
	if (ds && !strcmp(r->m.op, "cmpst")) {
		now = x;
		x = y;
		y = now;
	}
	if (find(r, lane, 0).kind != NOTHING && (find(r, lane, r->m.bytes - 1).kind != NOTHING)) {
		for (unsigned int i = 0; i < r->m.bytes; i++)
			old |= (uint64_t)*byte_of(&r->after, find(r, lane, i), true) << 8 * i;
		now = model_alu(&r->m, old, x, y);
		for (unsigned int i = 0; i < r->m.bytes; i++)
			*byte_of(&r->after, find(r, lane, i), true) = (uint8_t)(now >> 8 * i);
	}
	if (ds ? !r->m.returns : !r->in.glc)
		return;
	for (unsigned int k = 0; k < r->m.bytes / 4; k++)
		row(&r->after, r->in.dst + k)[lane] = (uint32_t)(old >> 32 * k);
}

/* The two elements of a pair instruction, one after the other. */
static void model_pair(struct run *r, unsigned int lane, unsigned int which)
{
	unsigned int n = r->m.bytes / 4;
	uint32_t unit = r->m.bytes * (r->m.st64 ? 64 : 1);
	uint32_t at = row(&r->before, r->in.src[0])[lane] +
		      unit * (which ? r->in.offset1 : (uint32_t)r->in.offset);

	for (unsigned int k = 0; k < n; k++, at += 4) {
		bool there = (uint64_t)at + 4 <= LDS;
		uint32_t data = row(&r->before, r->in.src[1 + which] + k)[lane], old = 0;

		if (there)
			memcpy(&old, &r->after.lds[at], 4);
		if (r->m.verb != PAIR_READ && there)
			memcpy(&r->after.lds[at], &data, 4);
		if (r->m.verb != PAIR_WRITE)
			row(&r->after, r->in.dst + n * which + k)[lane] = old;
	}
}

static unsigned int swizzle_from(uint32_t how, unsigned int i)
{
	unsigned int from = 0;

	if (how >= 0xe000) {
		unsigned int keep = how & 31, shift = 0;

		for (unsigned int b = 0; b < 5; b++) {
			from |= (i >> b & 1) << (4 - b);
			shift += keep >> b & 1;
		}
		return (from >> shift | (i & keep)) + (i & 32);
	}
	if (how >= 0xc000) {
		unsigned int by = how >> 5 & 31, keep = how & 31;

		by = how & 0x400 ? 32 - by : by;
		return ((i & keep) | ((i % 32 + by) % 32 & ~keep)) + (i & 32);
	}
	if (how >= 0x8000)
		return i / 4 * 4 + (how >> 2 * (i % 4)) % 4;
	for (unsigned int b = 0; b < 5; b++) {
		unsigned int bit = i >> b & 1 & how >> b;

		bit = (bit | (how >> (5 + b) & 1)) ^ (how >> (10 + b) & 1);
		from |= bit << b;
	}
	return from + (i & 32);
}

static void model_other(struct run *r, const char *name)
{
	uint32_t offset = (uint32_t)r->in.offset | (uint32_t)r->in.offset1 << 8;
	uint32_t at = (r->t->w->s[GFX9_M0] & 0xffff) + offset, old = 0, now;
	uint32_t *addr = row(&r->before, r->in.src[0]), *data = row(&r->before, r->in.src[1]);
	uint32_t *dst = row(&r->after, r->in.dst), moved[GFX9_LANES] = { 0 };
	bool append = !strcmp(name, "ds_append");

	if (append || !strcmp(name, "ds_consume")) {
		now = (uint32_t)__builtin_popcountll(r->exec);
		if ((uint64_t)at + 4 <= LDS) {
			memcpy(&old, &r->after.lds[at], 4);
			now = append ? old + now : old - now;
			memcpy(&r->after.lds[at], &now, 4);
		}
	}
	for (unsigned int i = 0; i < GFX9_LANES; i++)
		if (r->exec >> i & 1)
			moved[(addr[i] + offset) >> 2 & 63] = data[i];
	for (unsigned int i = 0; i < GFX9_LANES; i++) {
		unsigned int from = swizzle_from(offset, i), back = (addr[i] + offset) >> 2 & 63;

		if (!(r->exec >> i & 1))
			continue;
		if (append || !strcmp(name, "ds_consume"))
			dst[i] = old;
		else if (!strcmp(name, "ds_swizzle_b32"))
			dst[i] = r->exec >> from & 1 ? addr[from] : 0;
		else if (!strcmp(name, "ds_permute_b32"))
			dst[i] = moved[i];
		else if (!strcmp(name, "ds_bpermute_b32"))
			dst[i] = r->exec >> back & 1 ? data[back] : 0;
		else if (!strcmp(name, "ds_write_addtid_b32") && at + 4 * i + 4ull <= LDS)
			memcpy(&r->after.lds[at + 4 * i], &data[i], 4);
		else if (!strcmp(name, "ds_read_addtid_b32")) {
			dst[i] = 0;
			if (at + 4 * i + 4ull <= LDS)
				memcpy(&dst[i], &r->before.lds[at + 4 * i], 4);
		} else if (strcmp(name, "ds_write_addtid_b32"))
			fail_msg("no model of %s", name);
	}
}

static void model_lane(struct run *r, unsigned int lane)
{
	switch (r->m.verb) {
	case LOAD:
		model_load(r, lane);
		break;
	case STORE:
		model_store(r, lane);
		break;
	case ATOMIC:
		model_atomic(r, lane);
		break;
	case PAIR_SWAP:
		model_pair(r, lane, 0);
		model_pair(r, lane, 1);
		break;
	default:
		break;
	}
}

static void model(struct run *r)
{
	r->after = r->before;
	r->fault = false;
	if (r->m.verb == LOAD || r->m.verb == STORE || r->m.verb == ATOMIC)
		look_for_fault(r);
	if (r->fault)
		return;
	if (r->m.verb == OTHER)
		model_other(r, gfx9_op_name(r->in.op));
	for (unsigned int lane = 0; lane < GFX9_LANES; lane++)
		if (r->exec >> lane & 1)
			model_lane(r, lane);
	/* All lanes of the first element, then of the second. */
	for (unsigned int i = 0; i < 2 * GFX9_LANES; i++)
		if ((r->m.verb == PAIR_READ || r->m.verb == PAIR_WRITE) && r->exec >> i % 64 & 1)
			model_pair(r, i % GFX9_LANES, i / GFX9_LANES);
}

static void capture(struct world *t, struct image *i)
{
	for (unsigned int n = 0; n < PAGES; n++)
		memcpy(i->page[n], t->host[n], EMU_PAGE);
	memcpy(i->lds, t->w->lds, LDS);
	memcpy(i->v, t->w->v, sizeof(i->v));
}

/*
 * Random instructions that are mostly valid
 */

static void set_exec(struct world *t, uint64_t exec)
{
	gfx9_set64(t->w, GFX9_EXEC, exec);
}

static uint64_t some_exec(void)
{
	switch (below(6)) {
	case 0:
		return (uint64_t)1 << below(64);
	case 1:
		return rnd() << 40 ^ rnd();
	case 2:
		return below(20) ? ~(uint64_t)0 >> below(64) : 0;
	default:
		return GFX9_ALL_LANES;
	}
}

/* Small numbers and special ones among the random, so that comparisons have both results. */
static uint32_t some_value(const struct meaning *m)
{
	static const uint32_t odd[] = { 0, 1, 0x7fffffff, 0x80000000, ~0u, 0x3f800000, 0xbf800000 };

	/* Finite, also where an address is odd; test_float_rules() has the others. */
	if (m->type == 'h')
		return (uint32_t)rnd() & 0xbbbbbbbb;
	if (m->type == 'f' || m->type == 'H')
		return (uint32_t)rnd() & 0xbfbfbfbf;
	switch (below(4)) {
	case 0:
		return odd[below(sizeof(odd) / sizeof(odd[0]))];
	case 1:
		return below(4);
	default:
		return (uint32_t)rnd();
	}
}

static void fill_values(void *p, size_t n, const struct meaning *m)
{
	uint32_t *to = p;

	for (size_t i = 0; i < n / 4; i++)
		to[i] = some_value(m);
}

static uint16_t some_row(unsigned int n)
{
	if (below(3) == 0)
		return (uint16_t)(GFX9_AGPR + below(AGPRS - n + 1));
	return (uint16_t)(GFX9_VGPR + below(VGPRS - n + 1));
}

/* Addresses of 64 lanes: @start is any, @room is how far they may go. */
static void some_pattern(uint64_t *addr, uint64_t start, uint64_t room, unsigned int bytes)
{
	unsigned int kind = below(7);
	uint64_t block = start, step = kind == 0 ? bytes : kind == 1 ? bytes * (1 + below(20)) : 0;
	uint64_t align = below(4) ? bytes : 1;

	start = start / align * align;
	for (unsigned int i = 0; i < GFX9_LANES; i++) {
		addr[i] = start + step * i;
		if (kind == 2)
			addr[i] = start + rnd() % (room + 1) / align * align;
		if (kind == 3)
			addr[i] = start + below(8) * bytes;
		/* Eight lanes at a time contiguous, or at one address. */
		if (i % 8 == 0)
			block = start + rnd() % (room + 1) / align * align;
		if (kind == 4)
			addr[i] = block + i % 8 * bytes;
		if (kind == 5)
			addr[i] = block;
	}
	if (below(12) == 0)
		addr[below(64)] = below(2) ? rnd() : start + EMU_PAGE * below(PAGES);
}

static void put_addresses(struct run *r, const uint64_t *addr, uint64_t minus, bool wide)
{
	for (unsigned int i = 0; i < GFX9_LANES; i++) {
		uint64_t va = addr[i] - minus;

		row(&r->before, r->in.src[0])[i] = (uint32_t)va;
		if (wide)
			row(&r->before, r->in.src[0] + 1u)[i] = (uint32_t)(va >> 32);
	}
}

static uint64_t some_start(void)
{
	static const unsigned int good[] = { 0, 1, 2, 8, 9, 10 };
	uint64_t page = good[below(6)];

	if (below(8) == 0)
		page = below(PAGES);
	return BASE + page * EMU_PAGE + below(below(3) ? 2048 : 4096);
}

static void flat_operands(struct run *r)
{
	struct gfx9_inst *in = &r->in;
	bool flat = in->format == GFX9_FLAT;
	uint32_t aperture = below(3) ? 0 : below(2) ? SHARED : PRIVATE;
	uint64_t addr[GFX9_LANES], minus;

	in->sdst = flat || below(2) ? GFX9_OFF : 20;
	in->offset = flat ? (int32_t)below(4096) : (int32_t)below(8192) - 4096;
	minus = (uint64_t)(int64_t)in->offset;
	some_pattern(addr, some_start(), 3000, r->m.bytes);
	if (flat && aperture) {
		some_pattern(addr, below(256), aperture == SHARED ? LDS / 2 : 40, r->m.bytes);
		for (unsigned int i = 0; i < GFX9_LANES; i++)
			addr[i] = (uint64_t)aperture << 32 | (uint32_t)addr[i];
	}
	for (unsigned int i = 0; flat && !aperture && i < GFX9_LANES && below(2); i++) {
		if (i % 3 == 0)
			addr[i] = (uint64_t)SHARED << 32 | below(LDS + 8);
		else if (i % 3 == 1)
			addr[i] = (uint64_t)PRIVATE << 32 | below(64);
	}
	if (in->sdst != GFX9_OFF) {
		gfx9_set64(r->t->w, in->sdst, BASE - below(5000) - (uint64_t)(int64_t)in->offset);
		minus += gfx9_get64(r->t->w, in->sdst);
	}
	put_addresses(r, addr, minus, in->sdst == GFX9_OFF);
}

static void scratch_operands(struct run *r)
{
	uint32_t same = below(80), saddr = below(64), kind = below(3);

	r->in.offset = (int32_t)below(8192) - 4096;
	r->in.sve = below(2);
	r->in.sdst = below(2) ? 30 : GFX9_OFF;
	r->t->w->s[30] = r->in.sve ? saddr : (uint32_t)-r->in.offset + saddr;
	if (!r->in.sve && r->in.sdst == GFX9_OFF)
		r->in.offset = (int32_t)saddr;
	if (below(2)) {
		r->in.offset &= ~3;
		same &= ~3u;
		r->t->w->s[30] &= ~3u;
	}
	for (unsigned int i = 0; i < GFX9_LANES; i++)
		row(&r->before, r->in.src[0])[i] =
			(kind ? same : below(100)) - (uint32_t)r->in.offset -
			(r->in.sdst == GFX9_OFF ? 0 : saddr) + (below(4000) ? 0 : (uint32_t)rnd());
}

static void buffer_operands(struct run *r)
{
	struct gfx9_inst *in = &r->in;
	uint32_t *d = &r->t->w->s[40], stride = 4 * below(10), aligned = below(2) ? ~3u : ~0u;
	bool tid = below(2), swizzle = below(2), ahead = below(4) == 0;

	in->sdst = 40;
	in->src[2] = 60;
	in->offset = (int32_t)(below(64) & aligned);
	in->offen = below(2);
	in->idxen = below(2);
	r->t->w->s[60] = below(2) ? 0 : below(64) & aligned;
	d[0] = (uint32_t)BASE + (ahead ? below(20000) : below(8)) * 4;
	d[1] = (uint32_t)(BASE >> 32) | stride << 16 | (swizzle ? 0x80000000 : 0);
	d[2] = swizzle && stride ? below(80) + 8 : below(4096);
	if (below(2))
		d[2] = 100000;
	d[3] = below(4) << 21 | (tid ? 0x800000 : 0) | (tid ? 0 : below(16) << 15);
	for (unsigned int i = 0; i < GFX9_LANES; i++) {
		uint32_t index = below(8) ? i : below(80), offset = below(200) & aligned;

		if (in->idxen)
			row(&r->before, in->src[0])[i] = index;
		if (in->offen && !below(1000))
			offset = (uint32_t)rnd();
		if (in->offen)
			row(&r->before, in->src[0] + (in->idxen ? 1u : 0u))[i] = offset;
	}
}

static void ds_operands(struct run *r)
{
	uint64_t addr[GFX9_LANES];

	r->in.offset = (int32_t)(below(3) ? below(16) : below(256));
	r->in.offset1 = (uint8_t)(below(3) ? 0 : below(256));
	if (!strcmp(gfx9_op_name(r->in.op), "ds_swizzle_b32"))
		r->in.offset1 = (uint8_t)rnd();
	r->t->w->s[GFX9_M0] = below(2) ? below(2048) : (uint32_t)rnd();
	some_pattern(addr, below(3) ? below(256) : below(LDS + 16), LDS / 2,
		     r->m.bytes ? r->m.bytes : 4);
	put_addresses(r, addr, below(10) ? 0 : (uint32_t)r->in.offset + 4, false);
}

static void make(struct run *r, enum gfx9_op op)
{
	struct gfx9_inst *in = &r->in;
	unsigned int n = (r->m.bytes + 3) / 4;

	memset(in, 0, sizeof(*in));
	in->op = (uint16_t)op;
	in->dwords = 2;
	fill_values(r->before.v, sizeof(r->before.v), &r->m);
	fill_values(r->before.lds, LDS, &r->m);
	fill_values(r->before.page, sizeof(r->before.page), &r->m);
	in->src[0] = (uint16_t)(GFX9_VGPR + below(VGPRS - 1));
	in->src[1] = some_row(4);
	in->src[2] = some_row(4);
	in->dst = some_row(4);
	in->glc = below(2);
	gfx9_set64(r->t->w, GFX9_FLAT_SCRATCH,
		   BASE + (below(3) ? 8 : 3) * EMU_PAGE + (below(5) ? 0 : 4 * below(100)));
	r->t->w->s[GFX9_M0] = below(LDS + 8);
	switch (gfx9_op_name(op)[0]) {
	case 'f':
		in->format = GFX9_FLAT;
		flat_operands(r);
		break;
	case 'g':
		in->format = GFX9_GLOBAL;
		flat_operands(r);
		in->lds = r->m.verb == LOAD && n == 1 && !r->m.d16 && below(8) == 0;
		break;
	case 's':
		in->format = GFX9_SCRATCH;
		scratch_operands(r);
		break;
	case 'b':
		in->format = GFX9_MUBUF;
		buffer_operands(r);
		in->dst = in->src[1];
		in->lds = r->m.verb == LOAD && n == 1 && !r->m.d16 && below(4) == 0;
		break;
	default:
		in->format = GFX9_DS;
		ds_operands(r);
	}
	r->exec = some_exec();
	set_exec(r->t, r->exec);
}

static void load_world(struct world *t, const struct image *i)
{
	for (unsigned int n = 0; n < PAGES; n++)
		memcpy(t->host[n], i->page[n], EMU_PAGE);
	memcpy(t->w->lds, i->lds, LDS);
	memcpy(t->w->v, i->v, sizeof(i->v));
}

static void expect_same(struct run *r, const struct image *now, const char *name)
{
	for (unsigned int k = 0; k < ROWS; k++)
		for (unsigned int i = 0; i < GFX9_LANES; i++)
			if (now->v[k][i] != r->after.v[k][i])
				fail_msg("%s: row %u lane %u: %#x, not %#x (dst %u src %u %u)",
					 name, k, i, now->v[k][i], r->after.v[k][i], r->in.dst,
					 r->in.src[0], r->in.src[1]);
	if (r->fault && r->m.verb == STORE)
		return;
	for (unsigned int i = 0; i < LDS; i++)
		if (now->lds[i] != r->after.lds[i])
			fail_msg("%s: LDS %u: %#x, not %#x", name, i, now->lds[i], r->after.lds[i]);
	for (unsigned int n = 0; n < PAGES; n++)
		if (memcmp(now->page[n], r->after.page[n], EMU_PAGE))
			fail_msg("%s: page %u differs", name, n);
}

static void one(struct run *r, enum gfx9_op op)
{
	static struct image now;
	const char *name = gfx9_op_name(op);
	enum gfx9_stop stop;

	make(r, op);
	load_world(r->t, &r->before);
	model(r);
	stop = gfx9_memory_op(op)(r->t->w, &r->in);
	capture(r->t, &now);
	if ((stop == GFX9_FAULT) != r->fault)
		fail_msg("%s: stop %d, fault expected: %d (lane %u, %#llx)", name, stop, r->fault,
			 r->where.lane, (unsigned long long)r->where.address);
	if (r->fault) {
		assert_int_equal(r->t->w->fault.lane, r->where.lane);
		assert_int_equal(r->t->w->fault.address, r->where.address);
		assert_int_equal(r->t->w->fault.write, r->where.write);
	} else {
		assert_int_equal(stop, GFX9_GO);
	}
	expect_same(r, &now, name);
}

/* Instructions with a format have another test. */
static bool is_met(enum gfx9_op op)
{
	const char *name = gfx9_op_name(op);

	return gfx9_memory_op(op) && !strstr(name, "_format_") && !strstr(name, "store_lds");
}

static void test_every_opcode(void **state)
{
	struct run *r = allocate(64, sizeof(*r));
	unsigned int nr = 0, done, faults[GFX9_FORMATS] = { 0 };

	r->t = *state;
	for (enum gfx9_op op = 1; op < GFX9_OPS; op++) {
		if (!is_met(op))
			continue;
		nr++;
		if (!read_name(gfx9_op_name(op), &r->m))
			fail_msg("what is %s?", gfx9_op_name(op));
		done = 0;
		for (unsigned int i = 0; i < ROUNDS; i++) {
			one(r, op);
			done += !r->fault;
			faults[r->in.format] += r->fault;
		}
		assert_true(done >= ROUNDS / 6);
	}
	assert_true(nr > 300);
	/* Checks the test: both outcomes occur. */
	for (unsigned int f = GFX9_FLAT; f <= GFX9_MUBUF; f++)
		assert_true(faults[f] > 50);
	assert_int_equal(faults[GFX9_DS], 0);
	free(r);
}

/*
 * Registers that the wave does not have
 */

static void test_missing_registers(void **state)
{
	struct run *r = allocate(64, sizeof(*r));
	static struct image now;

	r->t = *state;
	for (enum gfx9_op op = 1; op < GFX9_OPS; op++) {
		unsigned int last;

		if (!is_met(op))
			continue;
		read_name(gfx9_op_name(op), &r->m);
		if (r->m.verb == CACHE)
			continue;
		make(r, op);
		load_world(r->t, &r->before);
		r->after = r->before;
		r->in.lds = false;
		r->in.glc = true;
		last = below(2) ? GFX9_VGPR + VGPRS : GFX9_AGPR + AGPRS;
		r->in.dst = r->in.src[1] = (uint16_t)(last + below(100));
		if (r->m.bytes > 4 && below(2))
			r->in.dst = r->in.src[1] = (uint16_t)(last - 1);
		if (r->m.to_lds || r->in.op == GFX9_DS_SWIZZLE_B32)
			r->in.src[0] = GFX9_VGPR + VGPRS, r->in.sve = true;
		assert_int_equal(gfx9_memory_op(op)(r->t->w, &r->in), GFX9_ILLEGAL);
		capture(r->t, &now);
		expect_same(r, &now, gfx9_op_name(op));
	}
	free(r);
}

/*
 * Accesses that cross from page to page
 */

static struct gfx9_inst global_inst(enum gfx9_op op)
{
	return (struct gfx9_inst){ .op = (uint16_t)op,
				   .format = GFX9_GLOBAL,
				   .dwords = 2,
				   .src = { GFX9_VGPR, GFX9_VGPR + 4 },
				   .dst = GFX9_VGPR + 8,
				   .sdst = GFX9_OFF };
}

static void set_addresses(struct gfx9_wave *w, uint64_t va, uint64_t step)
{
	for (unsigned int i = 0; i < GFX9_LANES; i++, va += step) {
		w->v[0][i] = (uint32_t)va;
		w->v[1][i] = (uint32_t)(va >> 32);
	}
}

static void test_page_crossing(void **state)
{
	struct gfx9_inst in = global_inst(GFX9_GLOBAL_LOAD_DWORDX4);
	struct world *t = *state;

	/* 64 lanes of 16 bytes, 6 into the page before; lane 0 itself crosses. */
	set_exec(t, GFX9_ALL_LANES);
	set_addresses(t->w, BASE + EMU_PAGE - 6, 16);
	assert_int_equal(gfx9_memory_op(in.op)(t->w, &in), GFX9_GO);
	for (unsigned int i = 0; i < 16; i++) {
		const uint8_t *from = i < 6 ? t->host[0] + EMU_PAGE - 6 + i : t->host[1] + i - 6;

		assert_int_equal(((uint8_t *)&t->w->v[8 + i / 4][0])[i % 4], *from);
	}
}

static void expect_fault(struct world *t, const struct gfx9_inst *in, uint64_t va,
			 unsigned int lane)
{
	static uint32_t before[ROWS][GFX9_LANES];

	memcpy(before, t->w->v, sizeof(before));
	assert_int_equal(gfx9_memory_op(in->op)(t->w, in), GFX9_FAULT);
	assert_int_equal(t->w->fault.address, va);
	assert_int_equal(t->w->fault.lane, lane);
	assert_memory_equal(before, t->w->v, sizeof(before));
}

static void test_faults(void **state)
{
	struct gfx9_inst load = global_inst(GFX9_GLOBAL_LOAD_DWORD);
	struct gfx9_inst store = global_inst(GFX9_GLOBAL_STORE_DWORDX2);
	struct gfx9_inst add = global_inst(GFX9_GLOBAL_ATOMIC_ADD);
	struct world *t = *state;
	uint8_t before[EMU_PAGE];

	set_exec(t, GFX9_ALL_LANES);
	/* Into the hole of page 4: lane 60 is the first beyond. */
	set_addresses(t->w, BASE + 4 * EMU_PAGE - 240, 4);
	expect_fault(t, &load, BASE + 4 * EMU_PAGE, 60);
	assert_false(t->w->fault.write);
	/* Half of lane 3. */
	set_addresses(t->w, BASE + 4 * EMU_PAGE - 28, 8);
	expect_fault(t, &store, BASE + 4 * EMU_PAGE, 3);
	assert_true(t->w->fault.write);
	/* Reading is allowed in page 5, writing is not; nothing is added before. */
	set_addresses(t->w, BASE + 5 * EMU_PAGE, 4);
	assert_int_equal(gfx9_memory_op(load.op)(t->w, &load), GFX9_GO);
	expect_fault(t, &add, BASE + 5 * EMU_PAGE, 0);
	memcpy(before, t->host[3], sizeof(before));
	set_addresses(t->w, BASE + 4 * EMU_PAGE - 4, 4);
	expect_fault(t, &add, BASE + 4 * EMU_PAGE, 1);
	assert_memory_equal(before, t->host[3], sizeof(before));
	/* Inactive lanes have no address. */
	set_exec(t, 1);
	assert_int_equal(gfx9_memory_op(add.op)(t->w, &add), GFX9_GO);
	set_exec(t, 0);
	set_addresses(t->w, 12345, 4);
	assert_int_equal(gfx9_memory_op(add.op)(t->w, &add), GFX9_GO);
	assert_int_equal(gfx9_memory_op(load.op)(t->w, &load), GFX9_GO);
}

/* Every lane writes all of its scratch, then reads it back. */
static void test_scratch_is_private(void **state)
{
	struct gfx9_inst in = { .op = GFX9_SCRATCH_STORE_BYTE,
				.format = GFX9_SCRATCH,
				.sve = true,
				.sdst = GFX9_OFF,
				.src = { GFX9_VGPR, GFX9_VGPR + 4 },
				.dst = GFX9_VGPR + 5 };
	struct world *t = *state;
	unsigned int size = EMU_PAGE / 64;

	set_exec(t, GFX9_ALL_LANES);
	gfx9_set64(t->w, GFX9_FLAT_SCRATCH, BASE);
	for (unsigned int i = 0; i < size; i++) {
		for (unsigned int lane = 0; lane < GFX9_LANES; lane++) {
			t->w->v[0][lane] = (i + lane) % size;
			t->w->v[4][lane] = (7 * ((i + lane) % size) + 13 * lane) & 255;
		}
		assert_int_equal(gfx9_memory_op(in.op)(t->w, &in), GFX9_GO);
	}
	in.op = GFX9_SCRATCH_LOAD_UBYTE;
	for (unsigned int i = 0; i < size; i++) {
		for (unsigned int lane = 0; lane < GFX9_LANES; lane++)
			t->w->v[0][lane] = i;
		assert_int_equal(gfx9_memory_op(in.op)(t->w, &in), GFX9_GO);
		for (unsigned int lane = 0; lane < GFX9_LANES; lane++)
			assert_int_equal(t->w->v[5][lane], (7 * i + 13 * lane) & 255);
	}
}

/* Reads beyond the workgroup's LDS return 0; neighbouring memory is unchanged. */
static void test_lds_bounds(void **state)
{
	struct gfx9_inst in = { .op = GFX9_DS_WRITE_B128,
				.format = GFX9_DS,
				.src = { GFX9_VGPR, GFX9_VGPR + 4 },
				.dst = GFX9_VGPR + 8 };
	struct world *t = *state;

	set_exec(t, 1);
	t->w->v[0][0] = LDS - 8;
	for (unsigned int k = 0; k < 4; k++)
		t->w->v[4 + k][0] = 0x1111 * (k + 1);
	assert_int_equal(gfx9_memory_op(in.op)(t->w, &in), GFX9_GO);
	in.op = GFX9_DS_READ_B128;
	assert_int_equal(gfx9_memory_op(in.op)(t->w, &in), GFX9_GO);
	assert_int_equal(t->w->v[8][0], 0x1111);
	assert_int_equal(t->w->v[9][0], 0x2222);
	assert_int_equal(t->w->v[10][0], 0);
	assert_int_equal(t->w->v[11][0], 0);
	in.gds = true;
	assert_int_equal(gfx9_memory_op(in.op)(t->w, &in), GFX9_ILLEGAL);
}

struct float_rule {
	enum gfx9_op op;
	uint64_t old, x, now;
};

/* NaN, infinities, signed zeros, ties and denormal values */
static const struct float_rule float_rules[] = {
	{ GFX9_GLOBAL_ATOMIC_ADD_F32, 0x7f800000, 0x3f800000, 0x7f800000 },
	{ GFX9_GLOBAL_ATOMIC_ADD_F32, 0x3f800000, 0x33800000, 0x3f800000 },
	{ GFX9_GLOBAL_ATOMIC_ADD_F32, 0x00000001, 0x00000001, 0x00000002 },
	{ GFX9_GLOBAL_ATOMIC_MIN_F64, 0x7ff8000000000000, 0x4000000000000000, 0x4000000000000000 },
	{ GFX9_GLOBAL_ATOMIC_MIN_F64, 0x4000000000000000, 0x7ff8000000000000, 0x4000000000000000 },
	{ GFX9_GLOBAL_ATOMIC_MAX_F64, 0x7ff8000000000000, 0xc000000000000000, 0xc000000000000000 },
	{ GFX9_GLOBAL_ATOMIC_MIN_F64, 0, 0x8000000000000000, 0x8000000000000000 },
	{ GFX9_GLOBAL_ATOMIC_MAX_F64, 0x8000000000000000, 0, 0 },
	{ GFX9_GLOBAL_ATOMIC_PK_ADD_F16, 0x7bff3c00, 0x7bff3c00, 0x7c004000 },
	{ GFX9_GLOBAL_ATOMIC_PK_ADD_F16, 0x00018000, 0x00018000, 0x00028000 },
	{ GFX9_GLOBAL_ATOMIC_PK_ADD_F16, 0x3c003c01, 0x10001000, 0x3c003c02 },
	{ GFX9_GLOBAL_ATOMIC_PK_ADD_F16, 0xfc007c00, 0x3c003c00, 0xfc007c00 },
	{ GFX9_GLOBAL_ATOMIC_PK_ADD_BF16, 0x7f7f3f80, 0x7f7f3b80, 0x7f803f80 },
	{ GFX9_GLOBAL_ATOMIC_PK_ADD_BF16, 0x3f813f80, 0x3b803b81, 0x3f823f81 },
};

static void test_float_rules(void **state)
{
	struct world *t = *state;

	set_exec(t, 1);
	set_addresses(t->w, BASE, 0);
	for (size_t i = 0; i < sizeof(float_rules) / sizeof(float_rules[0]); i++) {
		const struct float_rule *f = &float_rules[i];
		struct gfx9_inst in = global_inst(f->op);
		uint64_t now;

		memcpy(t->host[0], &f->old, sizeof(f->old));
		t->w->v[4][0] = (uint32_t)f->x;
		t->w->v[5][0] = (uint32_t)(f->x >> 32);
		assert_int_equal(gfx9_memory_op(in.op)(t->w, &in), GFX9_GO);
		memcpy(&now, t->host[0], sizeof(now));
		if (now != f->now)
			fail_msg("%s, line %zu: %#llx", gfx9_op_name(f->op), i,
				 (unsigned long long)now);
	}
}

/* LDS follows MODE: denormal values are flushed where it says so. */
static void test_lds_denormals(void **state)
{
	struct gfx9_inst in = { .op = GFX9_DS_ADD_F32,
				.format = GFX9_DS,
				.src = { GFX9_VGPR, GFX9_VGPR + 4 } };
	struct world *t = *state;
	uint32_t now;

	set_exec(t, 1);
	t->w->v[0][0] = 0;
	t->w->v[4][0] = 1;
	for (unsigned int keep = 0; keep < 2; keep++) {
		memset(t->w->lds, 0, 4);
		t->w->mode = keep ? 0xf0 : 0xc0;
		assert_int_equal(gfx9_memory_op(in.op)(t->w, &in), GFX9_GO);
		memcpy(&now, t->w->lds, sizeof(now));
		assert_int_equal(now, keep);
	}
}

/*
 * Two host threads on the same memory
 */

#define TURNS 2000

struct hammer {
	struct world *t;
	pthread_t thread;
};

static void hammer_once(struct gfx9_wave *w, enum gfx9_op op, uint64_t va, uint32_t x, uint32_t y)
{
	struct gfx9_inst in = global_inst(op);

	set_addresses(w, va, 0);
	for (unsigned int i = 0; i < GFX9_LANES; i++) {
		w->v[4][i] = x;
		w->v[5][i] = y;
	}
	if (gfx9_memory_op(op)(w, &in) != GFX9_GO)
		abort();
}

static void *hammer(void *arg)
{
	struct hammer *h = arg;
	struct gfx9_tlb tlb;
	struct gfx9_wave *w = allocate(64, sizeof(*w));

	w->v = allocate(64, 12 * sizeof(*w->v));
	w->nr_vgprs = 12;
	w->tlb = &tlb;
	gfx9_tlb_init(&tlb, &h->t->vm);
	gfx9_set64(w, GFX9_EXEC, GFX9_ALL_LANES);
	for (unsigned int i = 0; i < TURNS; i++) {
		hammer_once(w, GFX9_GLOBAL_ATOMIC_ADD, BASE, 3, 0);
		hammer_once(w, GFX9_GLOBAL_ATOMIC_ADD_X2, BASE + 8, ~0u, ~0u);
		hammer_once(w, GFX9_GLOBAL_ATOMIC_INC, BASE + 16, ~0u, 0);
		hammer_once(w, GFX9_GLOBAL_ATOMIC_ADD_F32, BASE + 20, 0x3f800000, 0);
		hammer_once(w, GFX9_GLOBAL_ATOMIC_ADD_F64, BASE + 24, 0, 0x3ff00000);
		hammer_once(w, GFX9_GLOBAL_ATOMIC_XOR, BASE + 32, 1u << i % 32, 0);
	}
	free(w->v);
	free(w);
	return NULL;
}

static void test_two_threads(void **state)
{
	struct world *t = *state;
	struct hammer h[2] = { { .t = t }, { .t = t } };
	uint32_t n = 2 * 64 * TURNS, at[10];
	float f;
	double d;

	memset(t->host[0], 0, EMU_PAGE);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&h[i].thread, NULL, hammer, &h[i]), 0);
	for (unsigned int i = 0; i < 2; i++)
		pthread_join(h[i].thread, NULL);
	memcpy(at, t->host[0], sizeof(at));
	memcpy(&f, &at[5], sizeof(f));
	memcpy(&d, &at[6], sizeof(d));
	assert_int_equal(at[0], 3 * n);
	assert_int_equal(at[2], 0u - n);
	assert_int_equal(at[3], ~0u);
	assert_int_equal(at[4], n);
	assert_true(f == (float)n);
	assert_true(d == n);
	assert_int_equal(at[8], 0);
}

/*
 * Any instruction that decodes, on any state
 */

static void random_words(uint32_t *words)
{
	static const uint32_t heads[] = { 0x36u << 26, 0x37u << 26, 0x38u << 26 };

	words[0] = heads[below(3)] | ((uint32_t)rnd() & 0x3ffffff);
	words[1] = (uint32_t)rnd();
	/* Registers that the wave has, more often than not. */
	if (below(4))
		words[1] &= 0x0f7f0f0f;
}

static void random_wave(struct world *t)
{
	fill(t->w->s, sizeof(t->w->s));
	fill(t->w->v, ROWS * sizeof(*t->w->v));
	for (unsigned int i = 0; i < 100; i += 2)
		if (below(2))
			gfx9_set64(t->w, i, BASE + below(PAGES * EMU_PAGE));
	for (unsigned int k = 0; k + 1 < VGPRS; k += 2)
		for (unsigned int i = 0; i < GFX9_LANES && below(8); i++) {
			uint64_t va = BASE + below(PAGES * EMU_PAGE);

			if (!below(8))
				va = (uint64_t)(below(2) ? SHARED : PRIVATE) << 32 | below(4000);
			t->w->v[k][i] = (uint32_t)va;
			t->w->v[k + 1][i] = (uint32_t)(va >> 32);
		}
	gfx9_set64(t->w, GFX9_FLAT_SCRATCH, below(2) ? BASE : rnd());
	set_exec(t, some_exec());
}

static void test_random_words(void **state)
{
	struct world *t = *state;
	unsigned int ran = 0, went = 0;

	for (unsigned int i = 0; i < 100000; i++) {
		struct gfx9_inst in;
		uint32_t words[2];
		enum gfx9_stop stop;

		random_words(words);
		if (gfx9_decode(below(2), words, 2, &in) < 0 || !gfx9_memory_op(in.op))
			continue;
		if (i % 8 == 0)
			random_wave(t);
		stop = gfx9_memory_op(in.op)(t->w, &in);
		assert_true(stop == GFX9_GO || stop == GFX9_FAULT || stop == GFX9_ILLEGAL);
		ran++;
		went += stop == GFX9_GO;
	}
	assert_true(ran > 1000 && went > 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_every_opcode, setup, teardown),
		cmocka_unit_test_setup_teardown(test_missing_registers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_page_crossing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_faults, setup, teardown),
		cmocka_unit_test_setup_teardown(test_scratch_is_private, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lds_bounds, setup, teardown),
		cmocka_unit_test_setup_teardown(test_float_rules, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lds_denormals, setup, teardown),
		cmocka_unit_test_setup_teardown(test_two_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(test_random_words, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
