// SPDX-License-Identifier: MIT
/*
 * Buffer instructions with a format: elements of up to four components, which become floats or
 * integers in registers. MUBUF takes the format and the order of components from the descriptor,
 * MTBUF takes the format from the instruction and keeps the order.
 *
 * An element is within the buffer as a whole or not at all. Components that the format does not
 * have are loaded as 0, and those that the instruction does not have are stored as 0. Halves of
 * registers (d16) hold f16 where others hold f32; a load clears a half that it does not fill.
 *
 * Not documented, so chosen: floats are rounded to the nearest, to scaled integers towards zero;
 * integers that are too large become the largest.
 */
#include "emu/gfx9/buffer.h"

#include <math.h>

#define LANE(mask) gfx9_first_lane(mask)
#define COMPONENTS 4
#define ELEMENT_MAX 16 /* bytes */

enum number { UNORM, SNORM, USCALED, SSCALED, UINT, SINT, RESERVED, FLOAT };

/* The bits of the components of each data format, the lowest first. */
static const uint8_t widths[16][COMPONENTS] = {
	[1] = { 8 },
	[2] = { 16 },
	[3] = { 8, 8 },
	[4] = { 32 },
	[5] = { 16, 16 },
	[6] = { 11, 11, 10 },
	[7] = { 10, 11, 11 },
	[8] = { 2, 10, 10, 10 },
	[9] = { 10, 10, 10, 2 },
	[10] = { 8, 8, 8, 8 },
	[11] = { 32, 32 },
	[12] = { 16, 16, 16, 16 },
	[13] = { 32, 32, 32 },
	[14] = { 32, 32, 32, 32 },
};

/* The components of an opcode. */
struct typed {
	uint8_t components;
	bool store, d16, hi;
};

#define FAMILY(fam)                                                                            \
	[GFX9_##fam##_LOAD_FORMAT_X] = { .components = 1 },                                    \
	[GFX9_##fam##_LOAD_FORMAT_XY] = { .components = 2 },                                   \
	[GFX9_##fam##_LOAD_FORMAT_XYZ] = { .components = 3 },                                  \
	[GFX9_##fam##_LOAD_FORMAT_XYZW] = { .components = 4 },                                 \
	[GFX9_##fam##_STORE_FORMAT_X] = { .components = 1, .store = true },                    \
	[GFX9_##fam##_STORE_FORMAT_XY] = { .components = 2, .store = true },                   \
	[GFX9_##fam##_STORE_FORMAT_XYZ] = { .components = 3, .store = true },                  \
	[GFX9_##fam##_STORE_FORMAT_XYZW] = { .components = 4, .store = true },                 \
	[GFX9_##fam##_LOAD_FORMAT_D16_X] = { .components = 1, .d16 = true },                   \
	[GFX9_##fam##_LOAD_FORMAT_D16_XY] = { .components = 2, .d16 = true },                  \
	[GFX9_##fam##_LOAD_FORMAT_D16_XYZ] = { .components = 3, .d16 = true },                 \
	[GFX9_##fam##_LOAD_FORMAT_D16_XYZW] = { .components = 4, .d16 = true },                \
	[GFX9_##fam##_STORE_FORMAT_D16_X] = { .components = 1, .store = true, .d16 = true },   \
	[GFX9_##fam##_STORE_FORMAT_D16_XY] = { .components = 2, .store = true, .d16 = true },  \
	[GFX9_##fam##_STORE_FORMAT_D16_XYZ] = { .components = 3, .store = true, .d16 = true }, \
	[GFX9_##fam##_STORE_FORMAT_D16_XYZW] = { .components = 4, .store = true, .d16 = true }

static const struct typed typed_ops[GFX9_OPS] = {
	FAMILY(BUFFER),
	FAMILY(TBUFFER),
	[GFX9_BUFFER_LOAD_FORMAT_D16_HI_X] = { .components = 1, .d16 = true, .hi = true },
	[GFX9_BUFFER_STORE_FORMAT_D16_HI_X] = { .components = 1,
						.store = true,
						.d16 = true,
						.hi = true },
};

/* The format of an element; dst_sel: 0, 1, or 4 to 7 for a component. */
struct format {
	const uint8_t *width;
	enum number number;
	uint8_t sel[COMPONENTS];
	unsigned int bytes; /* 0: there is no such format */
};

static struct format read_format(const struct gfx9_wave *w, const struct gfx9_inst *in)
{
	uint32_t word = gfx9_sreg(w, in->sdst + 3u);
	bool own = in->format == GFX9_MTBUF;
	struct format f = { .width = widths[own ? in->dfmt : word >> 15 & 15],
			    .number = own ? in->nfmt : word >> 12 & 7 };

	for (unsigned int i = 0; i < COMPONENTS; i++) {
		f.sel[i] = (uint8_t)(own ? 4 + i : word >> 3 * i & 7);
		f.bytes += f.width[i];
	}
	f.bytes /= 8;
	return f;
}

/*
 * Components
 */

static float float_of(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

static uint32_t bits_of(double d)
{
	float f = (float)d;
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

/* Floats of 16, 11 and 10 bits have an exponent of five; only the first have a sign. */
static unsigned int mantissa(unsigned int width)
{
	return width == 16 ? 10 : width - 5;
}

static uint32_t widen(uint32_t raw, unsigned int width)
{
	unsigned int m = mantissa(width), e = raw >> m & 31;
	uint32_t sign = width == 16 ? raw >> 15 << 31 : 0, low = raw & ((1u << m) - 1);

	if (width == 32)
		return raw;
	if (e == 31)
		return sign | 0x7f800000 | low << (23 - m);
	if (!e)
		return sign | bits_of(ldexp(low, -14 - (int)m));
	return sign | (e + 112) << 23 | low << (23 - m);
}

static uint32_t narrow(uint32_t bits, unsigned int width)
{
	unsigned int m = mantissa(width);
	uint32_t sign = width == 16 ? bits >> 31 << 15 : 0, infinite = 31u << m;
	float size = fabsf(float_of(bits));
	double units;
	int e;

	if (width == 32)
		return bits;
	if (size != size)
		return sign | infinite | 1u << (m - 1);
	if (size == 0 || (width != 16 && bits >> 31))
		return sign;
	frexpf(size, &e);
	e = e - 1 < -14 ? -14 : e - 1;
	if (isinf(size) || e > 15)
		return sign | infinite;
	units = rint(ldexp(size, (int)m - e));
	/* A carry goes into the exponent, and finally to infinity. */
	return sign | (((uint32_t)(e + 14) << m) + (uint32_t)units);
}

static int32_t extend(uint32_t raw, unsigned int width)
{
	return (int32_t)(raw << (32 - width)) >> (32 - width);
}

static double largest(enum number number, unsigned int width)
{
	bool is_signed = number == SNORM || number == SSCALED || number == SINT;

	return ldexp(1, (int)width - is_signed) - 1;
}

/* From memory to a register. */
static uint32_t load_component(enum number number, uint32_t raw, unsigned int width)
{
	double n;

	switch (number) {
	case UNORM:
		return bits_of(raw / largest(number, width));
	case SNORM:
		n = extend(raw, width) / largest(number, width);
		return bits_of(n < -1 ? -1 : n);
	case USCALED:
		return bits_of(raw);
	case SSCALED:
		return bits_of(extend(raw, width));
	case UINT:
		return raw;
	case SINT:
		return (uint32_t)extend(raw, width);
	case FLOAT:
		return width < 10 ? 0 : widen(raw, width);
	default:
		return 0;
	}
}

static double limit(double v, double low, double high)
{
	if (v != v)
		return 0;
	return v < low ? low : v > high ? high : v;
}

/* From a register to memory. */
static uint32_t store_component(enum number number, uint32_t bits, unsigned int width)
{
	double v = (double)float_of(bits), max = largest(number, width);

	switch (number) {
	case UNORM:
		return (uint32_t)rint(limit(v, 0, 1) * max);
	case SNORM:
		return (uint32_t)(int32_t)rint(limit(v, -1, 1) * max);
	case USCALED:
		return (uint32_t)limit(v, 0, max);
	case SSCALED:
		return (uint32_t)(int32_t)limit(v, -max - 1, max);
	case UINT:
		return (uint32_t)limit(bits, 0, max);
	case SINT:
		return (uint32_t)(int32_t)limit((int32_t)bits, -max - 1, max);
	case FLOAT:
		return width < 10 ? 0 : narrow(bits, width);
	default:
		return 0;
	}
}

static bool is_float(enum number number)
{
	return number != UINT && number != SINT;
}

static uint32_t to_half(enum number number, uint32_t value)
{
	return is_float(number) ? narrow(value, 16) : value & 0xffff;
}

static uint32_t from_half(enum number number, uint32_t value)
{
	if (is_float(number))
		return widen(value & 0xffff, 16);
	return number == SINT ? (uint32_t)extend(value & 0xffff, 16) : value & 0xffff;
}

/*
 * Elements
 */

/* @width bits of an element from bit @at on. */
static uint32_t take(const uint8_t *bytes, unsigned int at, unsigned int width)
{
	uint64_t word = 0;

	memcpy(&word, bytes + at / 8, at / 8 + 8 <= ELEMENT_MAX ? 8 : ELEMENT_MAX - at / 8);
	return (uint32_t)(word >> at % 8) & (uint32_t)(((uint64_t)1 << width) - 1);
}

static void put(uint8_t *bytes, unsigned int at, unsigned int width, uint32_t value)
{
	size_t n = at / 8 + 8 <= ELEMENT_MAX ? 8 : ELEMENT_MAX - at / 8;
	uint64_t word = 0, mask = ((uint64_t)1 << width) - 1;

	memcpy(&word, bytes + at / 8, n);
	word |= (value & mask) << at % 8;
	memcpy(bytes + at / 8, &word, n);
}

static void unpack(const struct format *f, const uint8_t *bytes, uint32_t out[COMPONENTS])
{
	uint32_t component[COMPONENTS] = { 0 };

	for (unsigned int i = 0, at = 0; i < COMPONENTS; at += f->width[i++]) {
		if (f->width[i])
			component[i] = load_component(f->number, take(bytes, at, f->width[i]),
						      f->width[i]);
	}
	for (unsigned int i = 0; i < COMPONENTS; i++) {
		out[i] = f->sel[i] >= 4 ? component[f->sel[i] - 4] : 0;
		if (f->sel[i] == 1)
			out[i] = is_float(f->number) ? 0x3f800000 : 1;
	}
}

/* Of @n candidates for a component, the first is taken. */
static void pack(const struct format *f, const uint32_t *in, unsigned int n, uint8_t *bytes)
{
	memset(bytes, 0, ELEMENT_MAX);
	for (unsigned int i = 0, at = 0; i < COMPONENTS; at += f->width[i++]) {
		for (unsigned int k = 0; f->width[i] && k < n; k++) {
			if (f->sel[k] != 4 + i)
				continue;
			put(bytes, at, f->width[i], store_component(f->number, in[k], f->width[i]));
			break;
		}
	}
}

/* Finds the pieces of @lane's element; 0: it is not within the buffer. */
static unsigned int pieces(const struct gfx9_site *s, unsigned int lane, uint64_t *at,
			   unsigned int *size)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < s->a->bytes; i += size[n++]) {
		if (s->find(s, lane, i, &at[n], &size[n]) == GFX9_NOWHERE)
			return 0;
		if (size[n] > s->a->bytes - i)
			size[n] = s->a->bytes - i;
	}
	return n;
}

static bool load_element(const struct gfx9_site *s, unsigned int lane, uint8_t *bytes)
{
	uint64_t at[ELEMENT_MAX], bad;
	unsigned int size[ELEMENT_MAX], n = pieces(s, lane, at, size);

	memset(bytes, 0, ELEMENT_MAX);
	for (unsigned int i = 0; i < n; bytes += size[i++]) {
		if (!gfx9_tlb_read(s->w->tlb, at[i], bytes, size[i], &bad)) {
			gfx9_fail(s->w, bad, false, lane);
			return false;
		}
	}
	return true;
}

static bool store_element(const struct gfx9_site *s, unsigned int lane, const uint8_t *bytes)
{
	uint64_t at[ELEMENT_MAX], bad;
	unsigned int size[ELEMENT_MAX], n = pieces(s, lane, at, size);

	for (unsigned int i = 0; i < n; bytes += size[i++]) {
		if (!gfx9_tlb_write(s->w->tlb, at[i], bytes, size[i], &bad)) {
			gfx9_fail(s->w, bad, true, lane);
			return false;
		}
	}
	return true;
}

/*
 * Registers
 */

static unsigned int rows_of(const struct typed *t)
{
	return t->d16 ? (t->components + 1u) / 2 : t->components;
}

static void put_lane(const struct gfx9_site *s, const struct typed *t, const struct format *f,
		     unsigned int lane, const uint32_t *component)
{
	for (unsigned int i = 0; i < t->components; i++) {
		uint32_t *to = &gfx9_row(s->w, s->in->dst + (t->d16 ? i / 2 : i))[lane];
		uint32_t half;

		if (!t->d16) {
			*to = component[i];
			continue;
		}
		half = to_half(f->number, component[i]) << (t->hi || i % 2 ? 16 : 0);
		*to = i % 2 ? *to | half : half;
	}
}

static void get_lane(const struct gfx9_site *s, const struct typed *t, const struct format *f,
		     unsigned int lane, uint32_t *component)
{
	for (unsigned int i = 0; i < t->components; i++) {
		uint32_t from = gfx9_row(s->w, s->in->src[1] + (t->d16 ? i / 2 : i))[lane];

		component[i] = from;
		if (t->d16)
			component[i] = from_half(f->number, t->hi || i % 2 ? from >> 16 : from);
	}
}

static enum gfx9_stop load(const struct gfx9_site *s, const struct typed *t, const struct format *f)
{
	uint32_t component[GFX9_LANES][COMPONENTS];
	uint8_t bytes[ELEMENT_MAX];

	for (uint64_t m = s->exec; m; m &= m - 1) {
		if (!load_element(s, LANE(m), bytes))
			return GFX9_FAULT;
		unpack(f, bytes, component[LANE(m)]);
	}
	for (uint64_t m = s->exec; m; m &= m - 1)
		put_lane(s, t, f, LANE(m), component[LANE(m)]);
	return GFX9_GO;
}

static enum gfx9_stop store(const struct gfx9_site *s, const struct typed *t,
			    const struct format *f)
{
	uint32_t component[COMPONENTS];
	uint8_t bytes[ELEMENT_MAX];

	s->w->stored = true;
	for (uint64_t m = s->exec; m; m &= m - 1) {
		get_lane(s, t, f, LANE(m), component);
		pack(f, component, t->components, bytes);
		if (!store_element(s, LANE(m), bytes))
			return GFX9_FAULT;
	}
	return GFX9_GO;
}

enum gfx9_stop GFX9_V(buffer_format)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	const struct typed *t = &typed_ops[in->op];
	struct format f = read_format(w, in);
	struct gfx9_access a = { t->store ? GFX9_STORE : GFX9_LOAD, (uint8_t)f.bytes, 0, 0 };
	struct gfx9_site s = { .w = w, .in = in, .a = &a, .exec = gfx9_exec(w) };
	struct gfx9_buffer b;

	if (!GFX9_V(buffer_address_exists)(w, in) || !gfx9_has_rows(w, in->dst, rows_of(t)) ||
	    in->lds)
		return GFX9_ILLEGAL;
	GFX9_V(buffer_open)(&s, &b);
	return t->store ? store(&s, t, &f) : load(&s, t, &f);
}
